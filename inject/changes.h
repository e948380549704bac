/* Jumps to probes in the code of a process, and their removal. */
#ifndef SPROF_INJECT_CHANGES_H
#define SPROF_INJECT_CHANGES_H

#include "inject/process.h"
#include "plan/plan.h"

/* A place that was changed. */
struct inject_changed {
    uint64_t address;
    uint8_t jump[PLAN_JUMP_BYTES], original[PLAN_JUMP_BYTES];
};

/* A vector (base/vec.h). */
struct inject_changes {
    struct inject_changed *items;
    size_t count, capacity;
};

/* Sorts by address, before the threads are stopped. */
void inject_changes_sort(struct inject_changes *changes);

/* Restores the code of all changes, which are sorted, while all threads stand: no thread is within
 * a jump, which is one instruction. Other bytes than the jump are left alone. False: a write
 * failed. */
bool inject_changes_restore(const struct inject_changes *changes, int memory_fd);

/* What is in a process because of a trace. Everything is borrowed. */
struct inject_trace {
    const struct inject_changes *changes;
    const struct inject_span *islands; /* mapped for the beginnings of functions */
    size_t island_count;
    uint32_t functions; /* that have thunks */
};

/* Takes all of it out, and the agent. Threads stand still for milliseconds. Open calls stay open.
 * SPROF_EPERMISSION, SPROF_ESTATE or SPROF_ENOTFOUND (as inject_stop_while): the probes stay,
 * switched off. 0: the code is as before; a note says where something that a thread still needs has
 * stayed. */
int inject_take_out(struct inject_process *process, const struct inject_trace *trace,
                    struct sprof_error *error);

/* The same for one of several processes of a program, by what is noted in the shared memory.
 * *stopped_ns: the longest stop. */
int inject_take_out_of(pid_t pid, uint64_t *stopped_ns, const struct sprof_log *log,
                       struct sprof_error *error);

#endif
