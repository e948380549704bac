/* Imports through GOT slots. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_PROBING_IMPORTS_H
#define SPROF_PROBING_IMPORTS_H

#include "probing/mapped_files.h"
#include "probing/outside_slots.h"

/* Initialize `program`, zero the rest. */
struct probing_imports {
    struct probing_program *program;
    bool is_read;
    struct sprof_map defined; /* import → address; 1: ambiguous or by resolver */
    struct sprof_map owners;  /* hash of name → file's; 1: ambiguous */
};

/* Lists slots that are only called. */
int probing_imports_slots(struct probing_program *program, uint32_t file,
                          struct probing_outside_slots *slots);

int probing_imports_read(struct probing_imports *imports, const struct probing_mapped_files *look);

/* Returns 0 for an unknown address. */
uint64_t probing_imports_find(const struct probing_imports *imports,
                              const struct probing_outside_slot *slot);

void probing_imports_release(struct probing_imports *imports);

#endif
