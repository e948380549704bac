/* trace, inside: what a process has mapped to execute, at one time and at the next. */
#ifndef SPROF_TRACE_LOOK_H
#define SPROF_TRACE_LOOK_H

#include "trace/tracing.h"

/* An executable mapping of a file. */
struct trace_mapped {
    uint64_t address, size, file_offset;
    struct sprof_file_id file; /* its path is of trace_look.paths */
    bool is_early;             /* the loader is at it, and will tell: then it is new */
};

/* Zero but for the session, which it borrows, is a valid start. */
struct trace_look {
    struct trace_session *session;
    SPROF_VEC(struct trace_mapped) before, now;
    SPROF_VEC(uint64_t) linked;    /* address - vaddr of what the loader has loaded */
    SPROF_VEC(const char *) paths; /* of all that was ever mapped */
};

bool trace_mapped_is_of(const struct trace_mapped *mapped, const struct trace_file *file);
struct model_mmap trace_mapped_as_model(const struct trace_mapped *mapped);

/* What is mapped now. 0 or SPROF_ENOMEM. */
int trace_look_again(struct trace_look *look);

/* What is mapped now is what there was before, from here on, but for what is early. */
void trace_look_keep(struct trace_look *look);

/* Whether there was such a mapping before. */
bool trace_look_had(const struct trace_look *look, const struct trace_mapped *mapped);

/* A library may have more than one executable mapping, and be loaded into several namespaces: the
 * first one counts that is loaded. Whether that is another than this one of `now`. */
bool trace_look_has_other(const struct trace_look *look, size_t index);

/* Reads what the loader has loaded from its own list: code of a file that somebody else has mapped
 * may run already. 0 or SPROF_ENOMEM. */
int trace_look_read_linked(struct trace_look *look);

/* Whether that has one with this difference of addresses and those of its file. */
bool trace_look_is_linked(const struct trace_look *look, uint64_t bias);

void trace_look_release(struct trace_look *look);

#endif
