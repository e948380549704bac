/* The kernel's tracepoints, by the names that tracefs has for them. */
#ifndef SPROF_SAMPLER_PERF_TRACEFS_H
#define SPROF_SAMPLER_PERF_TRACEFS_H

#include "base/base.h"
#include "model/fields.h"

/* The directory `events` of tracefs. */
struct perf_tracefs {
    int events_fd; /* -1: none */
};

#define PERF_TRACEFS_NONE ((struct perf_tracefs){-1})

/* Opens it where tracefs is mounted; else, which needs root, through a mount of its own that no
 * directory shows. Fails with SPROF_EPERMISSION, or SPROF_EUNSUPPORTED where the kernel has no
 * tracefs; messages name the cure. perf_tracefs_close is safe after a failure. */
int perf_tracefs_open(struct perf_tracefs *tracefs, struct sprof_error *error);
void perf_tracefs_close(struct perf_tracefs *tracefs);

/* The names "SYSTEM:NAME" that a pattern of that form matches (fnmatch(3) on both parts), sorted.
 * The caller frees each, and the list. Returns 0 or SPROF_ENOMEM. */
struct perf_tracepoints {
    char **items;
    size_t count, capacity;
};
int perf_tracefs_match(const struct perf_tracefs *tracefs, const char *pattern,
                       struct perf_tracepoints *names);
void perf_tracepoints_release(struct perf_tracepoints *names);

/* The number by which perf_event_open(2) takes the tracepoint "SYSTEM:NAME". Returns 0, or a
 * negative errno: -ENOENT where there is none, -EACCES where it may not be read. */
int perf_tracefs_id(const struct perf_tracefs *tracefs, const char *name, uint64_t *id);

/* Adds the fields that the text of a tracepoint's file `format` describes, without those that all
 * tracepoints have, and without arrays of numbers. The caller releases the list. 0 or SPROF_ENOMEM.
 */
int perf_fields_parse(const char *format, struct model_fields *fields);

/* The same of the tracepoint "SYSTEM:NAME"; none where its format cannot be read. */
int perf_tracefs_fields(const struct perf_tracefs *tracefs, const char *tracepoint,
                        struct model_fields *fields);

/* Finds the field of that name that is a number. Fails with SPROF_EUSAGE, with the names near it. */
int perf_fields_find_number(const struct model_fields *fields, const char *tracepoint,
                            const char *name, struct model_field *found, struct sprof_error *error);

#endif
