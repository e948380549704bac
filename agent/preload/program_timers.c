/* Detects programs with their own SIGPROF timers. */
#include "agent/preload/preload.h"

AGENT_EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict value,
                           struct itimerval *restrict old)
{
    if ((int)which == ITIMER_PROF && value && (value->it_value.tv_sec || value->it_value.tv_usec))
        agent_stand_back();
    return agent_next()->setitimer((int)which, value, old);
}

/* Before glibc 2.34 its library may load after the agent. */
AGENT_EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event,
                              timer_t *restrict timer)
{
    if (event && event->sigev_signo == SIGPROF && event->sigev_notify != SIGEV_NONE &&
        event->sigev_notify != SIGEV_THREAD)
        agent_stand_back();
    return agent_next_timer_create(clock, event, timer);
}
