/* Jumps to probes in a process's code, and their removal. */
#ifndef SPROF_INJECT_CHANGES_H
#define SPROF_INJECT_CHANGES_H

#include "inject/process.h"
#include "plan/plan.h"

struct inject_changed {
    uint64_t address;
    uint8_t jump[PLAN_JUMP_BYTES], original[PLAN_JUMP_BYTES];
};

/* A vector (base/vec.h). */
struct inject_changes {
    struct inject_changed *items;
    size_t count, capacity;
};

/* Sorts by address, before the stop. */
void inject_changes_sort(struct inject_changes *changes);

/* Restores sorted changes while all threads stand still. Other bytes than jumps stay. False: a
 * write failed. */
bool inject_changes_restore(const struct inject_changes *changes, int memory_fd);

/* What a trace has put into a process; not owned. */
struct inject_trace {
    const struct inject_changes *changes;
    const struct inject_span *islands;
    size_t island_count;
    uint32_t functions; /* with thunks */
};

/* Takes a trace and the agent out, in stops of milliseconds. Open calls stay open. Errors as of
 * inject_stop_while: then probes stay, but off. 0: code is as before; a note names what had to
 * stay. */
int inject_take_out(struct inject_process *process, const struct inject_trace *trace,
                    struct sprof_error *error);

/* The same for one of several processes, by the shared memory. `lock_fd`: the caller's lock of it;
 * -1: none. */
int inject_take_out_of(pid_t pid, int lock_fd, uint64_t *stopped_ns, const struct sprof_log *log,
                       struct sprof_error *error);

#endif
