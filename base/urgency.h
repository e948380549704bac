/* How soon a thread of sprof's gets a processor where others compute on all of them. It gets no
 * more time by that than its work takes. What is not permitted, or unknown to the kernel, is left
 * out. */
#ifndef SPROF_BASE_URGENCY_H
#define SPROF_BASE_URGENCY_H

#include <stdbool.h>
#include <stdint.h>

/* struct sched_attr of sched_setattr(2), which glibc 2.36 does not declare. */
struct sprof_scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Zero is a valid value: nothing to restore. */
struct sprof_urgency {
    bool is_raised;
    struct sprof_scheduling before;
};

/* The calling thread runs soon after it wakes, in slices of 0.1 ms (Linux 6.12 and later; needs no
 * rights). What the thread forks from then on inherits it. */
void sprof_urgency_wake_soon(void);

/* Nice -20 for the calling thread, so that by the kernel's weights (not measured) it gets half of a
 * processor at least where 64 others compute on two; needs CAP_SYS_NICE or RLIMIT_NICE. */
void sprof_urgency_raise(struct sprof_urgency *urgency);

/* Before all others, in real time, else as above: only while others stand still for it, since on
 * one processor they do now. */
void sprof_urgency_raise_most(struct sprof_urgency *urgency);

/* As it was before that. */
void sprof_urgency_restore(struct sprof_urgency *urgency);

#endif
