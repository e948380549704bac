/* why, inside: what the files of the decision share. */
#ifndef SPROF_WHY_PARTS_H
#define SPROF_WHY_PARTS_H

#include "why/why.h"

/* The class of a cause: all causes of threads with a CPU are one, each wait is one. */
static inline enum why_cause why_kind(enum why_cause cause)
{
    return cause < WHY_READY ? WHY_COMPUTES : cause;
}

/* Neither a wait for work nor time without a CPU. */
static inline bool why_is_useful(const struct why_sample *sample)
{
    return !sample->is_idle && sample->cause != WHY_READY;
}

/* How much of its thread's time before its end a sample stands for: its weight, unless that is of
 * other threads, too. Looks come up to twice as late as they should. */
static inline uint64_t why_length_ns(const struct why_sample *sample)
{
    return sample->look_ns && sample->look_ns <= sample->weight_ns / 2 ? sample->look_ns
                                                                       : sample->weight_ns;
}

/* A wait that was chosen by chance weighs more than it lasted, and at most that. */
enum { WHY_CHANCE_NS = 1050000 };

/* A stack's functions, innermost first; NULL where it has none, for then there may be no array. */
static inline const struct why_place *why_frames(const struct why_table *table,
                                                 const struct why_stack *stack)
{
    return stack->depth ? table->frames.items + stack->first : NULL;
}

/* idle.c: sets `is_idle` of all samples. 0 or SPROF_ENOMEM. */
int why_mark_idle(struct why_table *table);

/* What of the useful time is looked at. */
struct why_picking {
    uint32_t function;
    enum why_cause kind;
    uint32_t thread; /* UINT32_MAX: of all */
    uint32_t also;   /* another function, whose time counts for the first; 0: none */
};

/* share.c: the share of a function's time of one kind in useful time, and its interval. */
void why_share_of(const struct why_table *table, const struct why_picking *picking,
                  struct why_share *share);

/* Zero is valid and empty. */
struct why_candidates {
    SPROF_VEC(struct why_candidate) list;
};

/* rank.c: functions by what they do in useful time, the largest first; `thread` UINT32_MAX: in all
 * threads. 0 or SPROF_ENOMEM. The caller releases the list. */
int why_rank(const struct why_table *table, uint32_t thread, struct why_candidates *candidates);

/* judge.c: judges two functions as one, where neither is clear by itself: what computes in
 * `function` and in `caller`, which calls it all the time. Leaves the verdict where they are not
 * clear either. 0 or SPROF_ENOMEM. */
int why_judge_pair(struct why_verdict *verdict, const struct why_table *table, uint32_t function,
                   uint32_t caller);

/* holder.c: finds which function is on other threads' stacks while one waits for the lock in
 * `function`, and not else. For the function `suspect` (0: none) less is required. Leaves `holder`
 * zero where none is. 0 or SPROF_ENOMEM. */
int why_find_holder(const struct why_table *table, uint32_t function, uint32_t suspect,
                    struct why_holder *holder);

/* threads.c: of each thread, the outermost function of most of its useful samples; 0: none. The
 * caller frees; NULL when out of memory. */
uint32_t *why_thread_roots(const struct why_table *table);

/* threads.c: finds a function that stands out in one of several threads alike. `function` of
 * *found 0: none does. 0 or SPROF_ENOMEM. */
struct why_outlier {
    uint32_t function, thread;
    enum why_cause kind;
    size_t alike; /* threads with the same root, that one included */
    struct why_share share;
    double others;
};
int why_find_outlier(const struct why_table *table, struct why_outlier *found);

/* way.c: describes the chosen function of a verdict: its most frequent way, callers, entry, cause,
 * word, and whether it is one thread alone. 0 or SPROF_ENOMEM. */
int why_describe(struct why_verdict *verdict, const struct why_table *table);

/* way.c: the deepest function below which most of the useful time lies. 0 or SPROF_ENOMEM. */
int why_find_below(struct why_verdict *verdict, const struct why_table *table);

/* slow_value.c: marks as slow the calls with a value nearly all of whose calls take over three
 * times the median, if there is such a value. */
int why_choose_by_value(struct why_calls *calls, uint64_t median_ns, struct why_slow *slow);

/* slow_value.c: finds a value, or a least one, that slow calls have and usual ones have not. */
int why_find_value(const struct why_calls *calls, struct why_slow *slow);

/* words.c: what lines of text have in common. */
int why_percent(double share);
const char *why_name_of(const struct why_table *table, uint32_t function);

/* "36 % ± 8": never without doubt. */
void why_append_share(struct sprof_str *text, const struct why_share *share);
void why_append_time(struct sprof_str *text, double ns);
void why_append_thread(struct sprof_str *text, const struct why_table *table, uint32_t thread);

#endif
