/* Imports through GOT slots. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_PROBING_IMPORTS_H
#define SPROF_PROBING_IMPORTS_H

#include "probing/mapped_files.h"
#include "probing/outside_slots.h"

/* Initialize `session`, zero the rest. */
struct trace_imports {
    struct probing_program *session;
    bool is_read;
    struct sprof_map defined; /* import → address; 1: ambiguous or by resolver */
    struct sprof_map owners;  /* hash of name → file's; 1: ambiguous */
};

/* Lists slots that are only called. */
int trace_imports_slots(struct probing_program *session, uint32_t file,
                        struct trace_outside_slots *slots);

int trace_imports_read(struct trace_imports *imports, const struct trace_mapped_files *look);

/* Returns 0 for an unknown address. */
uint64_t trace_imports_find(const struct trace_imports *imports,
                            const struct trace_outside_slot *slot);

void trace_imports_release(struct trace_imports *imports);

#endif
