/* Copies memory that arguments point to at a traced call's entry, where wanted. */
#ifndef SPROF_AGENT_PROBE_EARLY_H
#define SPROF_AGENT_PROBE_EARLY_H

#include "agent/probe/values.h"

/* A call that no rule can keep is written for its value where it is a request. */
static inline bool may_be_written(uint32_t function)
{
    return rules_in_force(function) ||
           atomic_load_explicit(&probe_inside.shared->keep_of.values[function],
                                memory_order_relaxed) &
               PROBE_VALUES_REQUEST;
}

/* Call it after save_words(). NULL: no pieces, or none are written. */
static SAVES_ALL __attribute__((noinline)) struct early *
copy_early(struct thread *thread, const struct record *record, uint32_t function)
{
    const struct probe_values *values = values_of(function);
    struct valued *valued = valued_of(thread);
    if (!values || !values->early || !may_be_written(function))
        return NULL;
    const uint64_t slot = record->slot & ~(uint64_t)POINT, now = probe_ticks();
    while (valued->next_early && early_of(thread, valued->next_early - 1)->slot <= slot)
        valued->next_early--;
    struct early *early = early_of(thread, valued->next_early++);
    struct piece_words of = {.words = words_of(record), .has_words = true, .slot = slot};
    early->slot = slot;
    early->begin = now;
    early->place = place_of(values);
    valued->reads_early = 1;
    early->bytes = copy_pieces(thread, values, 0, early_count(values), &of, now, early->pieces,
                               PROBE_EARLY_BYTES);
    valued->reads_early = 0;
    return early;
}

#endif
