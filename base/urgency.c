/* Makes the scheduler run a thread of sprof's sooner than others. */
#include "base/urgency.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_NICE = -20, SLICE_NS = 100000 /* the least that the kernel accepts */ };

static bool get(struct sprof_scheduling *scheduling)
{
    *scheduling = (struct sprof_scheduling){.size = sizeof *scheduling};
    return !syscall(SYS_sched_getattr, 0, scheduling, sizeof *scheduling, 0);
}

static bool set(const struct sprof_scheduling *scheduling)
{
    return !syscall(SYS_sched_setattr, 0, scheduling, 0);
}

/* A thread to which the user gave another policy or a positive nice value keeps it. */
static bool is_usual(const struct sprof_scheduling *scheduling)
{
    return scheduling->policy == SCHED_OTHER && scheduling->nice <= 0;
}

void sprof_urgency_wake_soon(void)
{
    struct sprof_scheduling soon;
    if (!get(&soon) || !is_usual(&soon))
        return;
    soon.runtime_ns = SLICE_NS;
    set(&soon);
}

void sprof_urgency_raise(struct sprof_urgency *urgency)
{
    *urgency = (struct sprof_urgency){0};
    if (!get(&urgency->before) || !is_usual(&urgency->before))
        return;
    struct sprof_scheduling raised = urgency->before;
    raised.nice = MOST_NICE;
    urgency->is_raised = set(&raised);
}

void sprof_urgency_raise_most(struct sprof_urgency *urgency)
{
    *urgency = (struct sprof_urgency){0};
    if (!get(&urgency->before) || !is_usual(&urgency->before))
        return;
    const struct sprof_scheduling most = {.size = sizeof most,
                                          .policy = SCHED_RR,
                                          .priority = (uint32_t)sched_get_priority_min(SCHED_RR)};
    urgency->is_raised = set(&most);
    if (!urgency->is_raised)
        sprof_urgency_raise(urgency);
}

void sprof_urgency_restore(struct sprof_urgency *urgency)
{
    if (urgency->is_raised)
        set(&urgency->before);
    urgency->is_raised = false;
}
