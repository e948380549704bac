/* A small recorder for tests of the preloaded part: it welcomes processes and counts their records.
 */
#ifndef SPROF_TESTS_AGENT_CONSUMER_H
#define SPROF_TESTS_AGENT_CONSUMER_H

#include "agent/agent.h"

#include <stdbool.h>
#include <sys/types.h>

struct consumer_settings {
    const char *program;  /* NULL: AGENT_SUBJECT */
    uint64_t period_ns;   /* 0: 1 ms */
    uint32_t slice_bytes; /* of stack; 0: bare samples */
    unsigned ring_shift;
    uint32_t tails; /* of struct agent_control */
    enum agent_clock clock;
    bool ends_early; /* stops being there once 20 samples have come */
    uint32_t pauses; /* samples after which the agent is paused for 200 ms; 0: never */
};

struct consumed {
    unsigned processes, forked, own_handler; /* hellos */
    unsigned samples, forks, exits, names, malformed;
    unsigned late_samples; /* half a second after the end of a consumer that ends early, or later */
    unsigned threads_with_samples;
    unsigned cut, with_stack; /* samples whose slice was filled; those with any */
    uint64_t weight_ns, paused_ns;
    uint64_t ended_ns;   /* CPU time of threads that said so at their end */
    uint64_t process_ns; /* CPU time since their hellos of processes that called exit */
    uint64_t refused[AGENT_REFUSALS], lost, maps_changes;
    uint32_t slots_used;    /* of one process at most */
    unsigned tails;         /* samples with what follows their slice */
    uint64_t largest_whole; /* slice and tail together */
    uint64_t largest_stack, first_weight_ns;
    uint32_t tick_ns;
    unsigned late_answers; /* to hellos: the agent may have gone without one */
    int status;            /* as from waitpid */
    char output[512];      /* of the program */
};

/* Runs the subject with one task and a number. Returns 0, or -1 when the test itself failed. */
int consumer_run(struct consumed *consumed, const struct consumer_settings *settings,
                 const char *task, int number);

#endif
