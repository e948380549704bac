/* The kernel's tracepoints, by the names that tracefs has for them. */
#ifndef SPROF_SAMPLER_PERF_TRACEFS_H
#define SPROF_SAMPLER_PERF_TRACEFS_H

#include "base/base.h"

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

/* Where a number lies in what a tracepoint writes. */
struct perf_field {
    uint16_t offset, bytes; /* 1, 2, 4 or 8; 0: none */
    bool is_signed;
};

/* Finds a field in the text of the file `format` of a tracepoint; false: there is none of that
 * name that is a number. */
bool perf_field_parse(const char *format, const char *name, struct perf_field *field);

/* The same of the tracepoint "SYSTEM:NAME". Fails with SPROF_EUSAGE, with the names of its fields
 * near it. */
int perf_tracefs_field(const struct perf_tracefs *tracefs, const char *tracepoint, const char *name,
                       struct perf_field *field, struct sprof_error *error);

#endif
