/* What was there before the recording began, as the records the kernel would have written. */
#ifndef SPROF_SAMPLER_SNAPSHOT_H
#define SPROF_SAMPLER_SNAPSHOT_H

#include "sampler/sampler.h"

/* Zero is a valid empty snapshot. */
struct snapshot {
    struct sprof_arena arena; /* of the names */
    SPROF_VEC(struct model_record) records;
    size_t next; /* the first that was not handed out */
};

/* Appends the threads, their names and the executable mappings of a process. One that ends
 * meanwhile is no error. Returns 0 or SPROF_ENOMEM. */
int snapshot_add_process(struct snapshot *snapshot, pid_t pid, uint64_t time_ns);

/* The same from the text of a /proc/PID/maps. Lines that cannot be understood are passed over. */
int snapshot_add_maps(struct snapshot *snapshot, pid_t pid, uint64_t time_ns, char *maps);

/* Appends the text of the kernel and of its modules, as far as the system shows their addresses.
 * Returns 0 or SPROF_ENOMEM. */
int snapshot_add_kernel(struct snapshot *snapshot, uint64_t time_ns);

/* Appends one record, marked before_start. Its name, if any, is copied by snapshot_name. */
int snapshot_push(struct snapshot *snapshot, const struct model_record *record);
const char *snapshot_name(struct snapshot *snapshot, const char *name);

/* The next record in the order of appending, or NULL. */
const struct model_record *snapshot_next(struct snapshot *snapshot);

void snapshot_release(struct snapshot *snapshot);

#endif
