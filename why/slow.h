/* why: which calls of a function are slow, with which values, and what makes them so.
 *
 *     struct why_calls calls = {.of = "^handle$"};
 *     int result = report_why_calls(trace, recording, &table, &calls, error);
 *     if (!result)
 *         result = why_judge_slow(&verdict, &table, &calls);
 *     …
 *     why_calls_release(&calls);
 *
 * The verdict borrows texts of the calls. */
#ifndef SPROF_WHY_SLOW_H
#define SPROF_WHY_SLOW_H

#include "base/base.h"

#include <stdbool.h>

struct why_table;
struct why_verdict;

/* An argument of a call. */
struct why_value {
    const char *name, *text;
};

struct why_call {
    uint64_t start_ns, end_ns; /* by the clock of the table's samples */
    uint64_t time_ns;          /* without that in which it had no CPU, once it is judged */
    uint32_t thread;           /* of the table */
    uint32_t first_value, value_count;
    bool is_sample;  /* it was chosen without regard to how long it took */
    bool is_slow;    /* set by why_judge_slow */
    bool has_states; /* it is known how long it was ready and had no CPU: */
    uint64_t ready_ns;
};

/* Calls of some functions, none within another. Zero is valid and empty. */
struct why_calls {
    struct sprof_arena texts;
    const char *of;   /* the expression that names the functions; borrowed */
    uint64_t over_ns; /* a call is slow that takes longer; 0: that is found out */
    SPROF_VEC(struct why_call) list;
    SPROF_VEC(struct why_value) values;
    SPROF_VEC(uint32_t) functions; /* numbers of the table */
    uint64_t count;                /* of all calls, also those that are not in the list … */
    uint64_t complete_ns;          /* … which take less than this */
    uint64_t from_ns, to_ns;       /* they were counted between these times of the table's clock */
};

/* Judges what slow calls spend their time on that usual ones do not. Sorts the calls, and changes
 * the weights of the table's samples. 0 or SPROF_ENOMEM. Release also on failure. */
int why_judge_slow(struct why_verdict *verdict, struct why_table *table, struct why_calls *calls);

void why_calls_release(struct why_calls *calls);

#endif
