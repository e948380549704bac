/* trace, inside: what modules import through slots of the GOT, and where that is defined. */
#ifndef SPROF_TRACE_PROBES_IMPORTS_H
#define SPROF_TRACE_PROBES_IMPORTS_H

#include "trace/figures/outside.h"
#include "trace/mapped_files.h"

/* Functions that loaded files define. Zero but for the session is a valid start. */
struct trace_imports {
    struct trace_session *session;
    bool is_read;
    struct sprof_map defined; /* import → address; 1: it has several, or a resolver finds it */
    struct sprof_map owners;  /* hash of a name → of its file; 1: several define it */
};

/* Lists the slots of a file that are used for calls alone. Returns 0 or SPROF_ENOMEM. */
int trace_imports_slots(struct trace_session *session, uint32_t file,
                        struct trace_outside_slots *slots);

/* Reads the dynamic symbols of all files that are mapped. Returns 0 or SPROF_ENOMEM. */
int trace_imports_read(struct trace_imports *imports, const struct trace_mapped_files *look);

/* The address of an import; 0: it is not known for sure. */
uint64_t trace_imports_find(const struct trace_imports *imports,
                            const struct trace_outside_slot *slot);

void trace_imports_release(struct trace_imports *imports);

#endif
