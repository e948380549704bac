/* trace, inside: what a process has mapped as code, now and when it was last read. */
#ifndef SPROF_TRACE_MAPPED_FILES_H
#define SPROF_TRACE_MAPPED_FILES_H

#include "trace/tracing.h"

/* An executable mapping of a file. */
struct trace_mapped {
    uint64_t address, size, file_offset;
    struct sprof_file_id file; /* its path is one of trace_mapped_files.paths */
    bool is_early;             /* the loader is mapping it, and will report it as new */
};

/* Zero but for the session, which it borrows, is a valid start. */
struct trace_mapped_files {
    struct trace_session *session;
    SPROF_VEC(struct trace_mapped) before, now;
    SPROF_VEC(uint64_t) linked;    /* address - vaddr of what the loader has loaded */
    SPROF_VEC(const char *) paths; /* of all mappings so far */
};

bool trace_mapped_is_of(const struct trace_mapped *mapped, const struct trace_file *file);
struct model_mmap trace_mapped_as_model(const struct trace_mapped *mapped);

/* Reads the present mappings. 0 or SPROF_ENOMEM. */
int trace_mapped_files_read(struct trace_mapped_files *files);

/* Makes the present mappings, but for early ones, the earlier ones. */
void trace_mapped_files_keep(struct trace_mapped_files *files);

/* Whether the earlier ones had such a mapping. */
bool trace_mapped_files_had(const struct trace_mapped_files *files,
                            const struct trace_mapped *mapped);

/* Whether another mapping of its file in `now` counts. A library may have several executable
 * mappings, and be loaded into several namespaces: the first one that is loaded counts. */
bool trace_mapped_files_has_other(const struct trace_mapped_files *files, size_t index);

/* Reads the loader's own list. Code that something else has mapped may run already. 0 or
 * SPROF_ENOMEM. */
int trace_mapped_files_read_linked(struct trace_mapped_files *files);

/* Whether that list has an entry with this bias for the file. */
bool trace_mapped_files_is_linked(const struct trace_mapped_files *files, uint64_t bias);

void trace_mapped_files_release(struct trace_mapped_files *files);

#endif
