/* Keeps traced calls that meet a rule, with their callers, in the thread's ring. A kept call's
 * number is in its record's `node`; other calls write nothing. Callers are numbered and written as
 * open, and again at their end. */
#ifndef SPROF_AGENT_PROBE_INSIDE_KEEP_H
#define SPROF_AGENT_PROBE_INSIDE_KEEP_H

#include "agent/probe/thrown.h"

/* == Rules == */

static inline bool is_among_first(struct probe_keep_rule *rule, uint64_t now)
{
    uint64_t before = atomic_load_explicit(&rule->lately, memory_order_relaxed), after;
    do {
        after = probe_keep_count(&probe_inside.shared->keep, before, now);
        if ((uint32_t)after > rule->first)
            return false;
    } while (!atomic_compare_exchange_weak(&rule->lately, &before, after));
    return true;
}

/* The number of longer or equal calls. */
static inline uint32_t rank_of(const struct probe_slowest *slowest, int64_t total)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < PROBE_KEEP_SLOWEST; i++)
        rank += atomic_load_explicit(&slowest->ticks[i], memory_order_relaxed) >= total;
    return rank;
}

static inline uint32_t slowest_needed(uint64_t rules)
{
    uint32_t most = 0;
    for (; rules; rules &= rules - 1) {
        const uint32_t one = probe_inside.shared->keep.rules[__builtin_ctzll(rules)].slowest;
        most = one > most ? one : most;
    }
    return most < PROBE_KEEP_SLOWEST ? most : PROBE_KEEP_SLOWEST;
}

static inline uint32_t shortest_place(const struct probe_slowest *slowest, uint32_t places)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < places; i++)
        if (slowest->ticks[i] < slowest->ticks[found])
            found = i;
    return found;
}

static SAVES_ALL __attribute__((noinline)) void note_slow(struct probe_slowest *slowest,
                                                          uint32_t places, int64_t total)
{
    enum { TRIES = 64 };
    for (uint32_t i = 0; i < TRIES; i++) {
        const uint32_t at = shortest_place(slowest, places);
        int64_t before = slowest->ticks[at];
        if (before >= total || atomic_compare_exchange_strong(&slowest->ticks[at], &before, total))
            return;
    }
}

/* The fewest ticks with which a call meets a rule in force, now or later, other than by its range.
 */
static inline int64_t least_now(uint32_t function)
{
    const struct probe_shared *shared = probe_inside.shared;
    const struct probe_keep_quick *quick = &shared->keep_of.quick[function];
    const struct probe_slowest *slowest = &shared->keep_of.slowest[function];
    uint64_t rules = rules_in_force(function);
    const uint32_t places = slowest_needed(rules);
    int64_t least = INT64_MAX;
    for (; rules; rules &= rules - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(rules);
        const struct probe_keep_rule *rule = &shared->keep.rules[number];
        int64_t one = rule->over > rule->self ? rule->over : rule->self;
        const int64_t shortest = slowest->ticks[shortest_place(slowest, places)];
        if (rule->slowest && shortest > 0 && shortest > one)
            one = shortest;
        if (!rule->throws && !(quick->word && quick->rule == number) && one < least)
            least = one;
    }
    return least;
}

/* Rules may be added or wake meanwhile, and then write `least` last, so it is read before the
 * rules. An equal value may have been written, so they are read again. */
static SAVES_ALL __attribute__((noinline)) void raise_least(uint32_t function)
{
    struct probe_keep_quick *quick = &probe_inside.shared->keep_of.quick[function];
    int64_t before = atomic_load(&quick->least);
    if (before == INT64_MIN || least_now(function) <= before)
        return;
    atomic_fetch_or(&quick->lowered, 1);
    int64_t least = least_now(function);
    if (least <= before || !atomic_compare_exchange_strong(&quick->least, &before, least))
        return;
    const int64_t again = least_now(function);
    if (again < least)
        atomic_compare_exchange_strong(&quick->least, &least,
                                       again == INT64_MIN ? probe_keep_lowest(quick) : again);
}

/* == Callers that are open == */

/* Callers numbered at a time. Those above follow when the last of these ends. */
static inline uint32_t marks_most(const struct thread *thread)
{
    return (uint32_t)(thread->ring_mask + 1) / 16;
}

/* Records without a serial: a signal handler interrupted the probe. */
static inline struct record *open_at(struct thread *thread, struct record *record)
{
    for (uint32_t steps = 0; record != &thread->root &&
                             (record->serial != thread->serial || is_outside(thread, record)) &&
                             steps <= marks_most(thread);
         steps++)
        record = above(thread, record);
    return record->serial == thread->serial && !is_outside(thread, record) ? record : &thread->root;
}

static inline struct record *caller_of(struct thread *thread, const struct record *record)
{
    return open_at(thread, above(thread, record));
}

/* == Calls that have ended == */

struct ended {
    int64_t total, self;
    uint64_t begin, now;
    enum probe_exit exit;
    uint32_t rank;
    const struct probe_values *values; /* NULL: none are compared */
    struct probe_kept_values kept;
};

static inline bool meets_tests(uint32_t number, const struct ended *call)
{
    const struct probe_keep_rule *rule = &probe_inside.shared->keep.rules[number];
    for (uint32_t i = 0; i < rule->test_count && i < PROBE_KEEP_TESTS; i++)
        if (!call->values || !holds(call->values, &call->kept, &rule->tests[i], number, i))
            return false;
    return true;
}

/* Whether a call may meet a rule, by itself. */
static inline bool may_meet(uint32_t number, const struct ended *call)
{
    const struct probe_keep_rule *rule = &probe_inside.shared->keep.rules[number];
    return call->total >= rule->over && call->self >= rule->self &&
           (!rule->throws || call->exit == PROBE_EXIT_EXCEPTION) &&
           (!rule->slowest || call->rank < rule->slowest) && call->begin >= rule->since &&
           meets_tests(number, call);
}

/* Of the calls that meet its other conditions. */
static inline bool takes_call(uint32_t number, const struct ended *call)
{
    struct probe_keep_rule *rule = &probe_inside.shared->keep.rules[number];
    if (rule->every && (atomic_fetch_add(&rule->seen, 1) + 1) % rule->every)
        return false;
    if (rule->first && !is_among_first(rule, call->now))
        return false;
    if (!rule->next)
        return true;
    uint64_t taken = atomic_load(&rule->taken);
    do
        if (call->begin < rule->since || (uint32_t)taken >= rule->next)
            return false; /* it has begun again, or has all */
    while (!atomic_compare_exchange_weak(&rule->taken, &taken, taken + 1));
    if ((uint32_t)taken + 1 >= rule->next && !rule->rests_by_load) {
        atomic_fetch_or(&probe_inside.shared->keep.resting, UINT64_C(1) << number);
        if ((uint32_t)atomic_load(&rule->taken) < rule->next)
            probe_keep_wake(probe_inside.shared, UINT64_C(1) << number);
    }
    return true;
}

static inline void take_next(void)
{
    uint64_t rules = 0;
    for (uint32_t i = 0; i < PROBE_KEEP_RULES; i++)
        rules |= (uint64_t)(probe_inside.shared->keep.rules[i].waits != 0) << i;
    probe_keep_take_next(probe_inside.shared, rules);
}

/* Rules for calls inside certain functions, none of which is open. */
static inline uint64_t rules_without_caller(struct thread *thread, const struct record *record,
                                            uint64_t rules)
{
    enum { CALLERS = 1 << 16 };
    const struct probe_shared *shared = probe_inside.shared;
    rules &= atomic_load_explicit(&shared->keep_within.rules, memory_order_relaxed);
    for (uint32_t i = 0; i < CALLERS && rules; i++) {
        record = caller_of(thread, record);
        const uint64_t function = (uint64_t)(stat_of(record) - thread->stats);
        if (record == &thread->root)
            break;
        if (function < PROBE_THUNKS)
            rules &= ~atomic_load_explicit(&shared->keep_within.of[function], memory_order_relaxed);
    }
    return rules;
}

static inline uint64_t rules_met(struct thread *thread, struct record *record, uint32_t function,
                                 int64_t total, int64_t self, uint64_t now, bool has_words,
                                 enum probe_exit exit)
{
    struct probe_shared *shared = probe_inside.shared;
    const uint64_t all = rules_in_force(function);
    const uint32_t needed = slowest_needed(all);
    const int64_t length = total > 0 ? total : 1; /* short calls may be below zero */
    struct ended call = {
        .total = total, .self = self, .begin = *begin_of(record), .now = now, .exit = exit};
    call.rank = needed ? rank_of(&shared->keep_of.slowest[function], length) : 0;
    call.values = values_of(function);
    if (call.values && call.values->bindings)
        take_words(record, exit, has_words && !is_jumper(record), &call.kept);
    uint64_t may = 0, met = 0;
    for (uint64_t left = all; left; left &= left - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(left);
        may |= (uint64_t)may_meet(bit, &call) << bit;
    }
    may &= ~rules_without_caller(thread, record, may); /* last, because callers may be many */
    for (; may; may &= may - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(may);
        met |= (uint64_t)takes_call(bit, &call) << bit;
    }
    if (call.rank < needed)
        note_slow(&shared->keep_of.slowest[function], needed, length);
    if (call.rank < needed || all != atomic_load(&shared->keep_of.masks[function]) ||
        atomic_load(&shared->keep_of.quick[function].lowered) & 1)
        raise_least(function);
    return met;
}

/* == Room == */

/* Leaves room for ends of numbered calls. */
static inline uint64_t kept_room(const struct thread *thread)
{
    const uint64_t units = thread->ring_mask + 1, ends = thread->open_logged * PROBE_KEPT_UNITS;
    const uint64_t used = __atomic_load_n(&thread->ring->head, __ATOMIC_RELAXED) -
                          atomic_load_explicit(&thread->ring->tail, memory_order_acquire) +
                          (ends < units / 4 ? ends : units / 4) + RING_MARGIN;
    return used < units ? units - used : 0;
}

/* == Numbers == */

static inline uint32_t count_unmarked(struct thread *thread, struct record *record)
{
    uint32_t count = 0;
    for (; record != &thread->root && !record->node && count < marks_most(thread); count++)
        record = caller_of(thread, record);
    return count;
}

/* Single instructions: a handler may number the call in between. */
static inline uint32_t number_of(struct thread *thread, struct record *record)
{
    uint32_t none = 0, number = 1;
    if (record->node)
        return record->node;
    __asm__ volatile("xaddl %0, %1" : "+r"(number), "+m"(thread->kept) : : "cc");
    number++;
    __asm__ volatile("cmpxchgl %2, %1" : "+a"(none), "+m"(record->node) : "r"(number) : "cc");
    return none ? none : number;
}

static inline uint32_t units_of(const struct valued *valued)
{
    const uint32_t bytes =
        valued->values.bytes + valued->values.type_bytes + valued->values.text_bytes;
    return PROBE_VALUES_UNITS + (bytes + PROBE_UNIT_BYTES - 1) / PROBE_UNIT_BYTES;
}

/* The header is last: it validates the rest. */
static inline void put_kept(struct thread *thread, const struct probe_kept *kept,
                            const struct valued *valued, const struct record *record, uint32_t kind,
                            enum probe_exit exit)
{
    const uint32_t function = (uint32_t)(stat_of(record) - thread->stats);
    const uint32_t more = valued ? units_of(valued) : 0;
    const uint64_t position = take_room(&thread->ring->head, PROBE_KEPT_UNITS + more);
    struct probe_kept *to = (struct probe_kept *)unit_at(thread, position);
    for (uint32_t i = 0; i < more * (PROBE_UNIT_BYTES / 8); i++)
        ((uint64_t *)(to + 1))[i] = ((const uint64_t *)&valued->values)[i];
    to->begin = kept->begin;
    to->end = kept->end;
    to->total = kept->total;
    to->self = kept->self;
    to->number = kept->number;
    to->caller = kept->caller;
    to->rules = kept->rules;
    to->is_apart = kept->is_apart;
    to->depth = is_logged(record) ? (uint16_t)depth_of(record) : 0;
    to->place = valued ? (uint32_t)valued->place : 0;
    put_header(&to->header, probe_log_header(position, kind, exit, more, function));
}

/* `frame`: where the call's frame was, below; 0: it is open. NULL: no values, or no room. */
static SAVES_ALL __attribute__((noinline)) struct valued *
take_values(struct thread *thread, struct record *record, uint64_t now, bool has_words,
            enum probe_exit exit, uint64_t frame)
{
    const uint32_t function = (uint32_t)(stat_of(record) - thread->stats);
    const bool is_hidden = probe_inside.shared->keep_of.values[function] & PROBE_VALUES_HIDDEN;
    const struct probe_values *values = is_hidden ? NULL : values_of(function);
    struct valued *valued = valued_of(thread);
    const uint64_t thrown = exit == PROBE_EXIT_EXCEPTION ? valued->thrown : 0;
    if ((!values && !thrown) || valued->is_busy)
        return NULL;
    valued->is_busy = 1;
    valued->values = (struct probe_kept_values){0};
    valued->place = values ? place_of(values) : 0;
    if (values) {
        take_words(record, exit, has_words && !is_jumper(record), &valued->values);
        struct piece_words of = {.words = valued->values.words,
                                 .has_words = valued->values.has_words,
                                 .has_result = valued->values.has_result,
                                 .slot = frame};
        const uint32_t early = put_early(thread, record, values, *begin_of(record), valued->pieces);
        valued->values.bytes =
            early + copy_pieces(thread, values, early_count(values),
                                values->pieces < PROBE_PIECES ? values->pieces : PROBE_PIECES, &of,
                                now, valued->pieces + early, pieces_most() - early);
    }
    if (thrown)
        take_thrown(thread, thrown, now, &valued->values, valued->pieces + valued->values.bytes,
                    PROBE_PIECES_BYTES - valued->values.bytes);
    if (kept_room(thread) >= PROBE_KEPT_UNITS + units_of(valued))
        return valued;
    valued->is_busy = 0;
    return NULL;
}

/* Values of an open call that make it a request. NULL: none, or no room. */
static inline struct valued *take_request(struct thread *thread, struct record *record,
                                          uint32_t count)
{
    const uint32_t function = (uint32_t)(stat_of(record) - thread->stats);
    const bool is_wanted =
        probe_inside.shared->keep_of.values[function] & PROBE_VALUES_REQUEST &&
        kept_room(thread) > 2 * PROBE_KEPT_UNITS * (uint64_t)count + 2 * PROBE_VALUED_UNITS;
    return is_wanted ? take_values(thread, record, probe_ticks(), true, PROBE_EXIT_LEFT, 0) : NULL;
}

/* Returns the first number; 0: the root's. */
static SAVES_ALL __attribute__((noinline)) uint32_t mark(struct thread *thread,
                                                         struct record *record, uint32_t count)
{
    const uint32_t first = count ? number_of(thread, record) : record->node;
    uint32_t number = first;
    for (; count; count--) {
        struct record *caller = caller_of(thread, record);
        const bool is_next = count > 1 && caller != &thread->root && !caller->node;
        const uint32_t above_it = is_next ? number_of(thread, caller) : caller->node;
        struct valued *request = take_request(thread, record, count);
        put_kept(
            thread,
            &(struct probe_kept){.begin = *begin_of(record), .number = number, .caller = above_it},
            request, record, PROBE_LOG_BEGIN, PROBE_EXIT_RETURN);
        if (request)
            request->is_busy = 0;
        add(&thread->open_logged, 1);
        if (!is_next)
            break;
        record = caller;
        number = above_it;
    }
    return first;
}

/* == Ends == */

static inline void count_dropped(uint64_t rules)
{
    for (; rules; rules &= rules - 1)
        atomic_fetch_add(&probe_inside.shared->keep.rules[__builtin_ctzll(rules)].dropped, 1);
}

/* Writes it if it meets a rule or has a number. */
static SAVES_ALL __attribute__((noinline)) void keep_end(struct thread *thread,
                                                         struct record *record, uint64_t now,
                                                         int64_t total, int64_t self,
                                                         bool is_in_chain, enum probe_exit exit)
{
    const uint32_t function = (uint32_t)(stat_of(record) - thread->stats);
    const uint64_t rules = rules_met(thread, record, function, total, self, now, is_in_chain, exit);
    const bool is_caller = record->node != 0;
    if (!rules && !is_caller)
        return;
    struct record *caller = caller_of(thread, record);
    /* Its coroutine may go on in a call that is below it in the rows: the written caller stays. */
    const bool has_caller = is_caller && !is_in_chain;
    const uint32_t unmarked = has_caller ? 0 : count_unmarked(thread, caller);
    const uint64_t room = kept_room(thread), needed = 2 * PROBE_KEPT_UNITS * (uint64_t)unmarked;
    const uint64_t fits = room / (2 * PROBE_KEPT_UNITS); /* the others follow, as others do */
    const bool has_room = is_caller ? thread->ring->head - thread->ring->tail + PROBE_KEPT_UNITS <=
                                          thread->ring_mask + 1
                                    : room >= needed + PROBE_KEPT_UNITS;
    thread->open_logged -= is_caller && thread->open_logged > 0;
    if (!has_room) {
        atomic_fetch_add(&probe_inside.shared->keep.lost, is_caller);
        count_dropped(rules);
        record->node = 0;
        return;
    }
    if (unmarked && !fits)
        atomic_fetch_add(&probe_inside.shared->keep.cut, 1);
    const struct probe_kept kept = {
        .begin = *begin_of(record),
        .end = now,
        .total = total,
        .self = self,
        .caller =
            has_caller ? 0 : mark(thread, caller, unmarked < fits ? unmarked : (uint32_t)fits),
        .number = number_of(thread, record),
        .rules = rules,
        .is_apart = !is_in_chain,
    };
    struct valued *valued =
        take_values(thread, record, now, is_in_chain, exit, record->slot & ~(uint64_t)POINT);
    record->node = 0; /* first: a handler that leaves must not repeat it */
    put_kept(thread, &kept, valued, record, PROBE_LOG_END, exit);
    if (!valued)
        return;
    valued->is_busy = 0;
    /* Reading memory takes microseconds that are not the caller's. */
    const uint64_t took = probe_ticks() - now, usual = probe_inside.shared->cost.whole;
    if (exit == PROBE_EXIT_RETURN) /* others subtract it together */
        add(&caller->probe_ticks, took > usual ? took - usual : 0);
}

static inline void keep_mend(struct thread *thread)
{
    const uint64_t head = thread->ring->head;
    uint64_t position = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    valued_of(thread)->is_busy = valued_of(thread)->reads_early = 0;
    if (head - position > thread->ring_mask + 1)
        return;
    for (uint32_t units; position < head; position += units) {
        uint64_t *unit = unit_at(thread, position);
        const bool is_there = PROBE_LOG_KIND(*unit) && PROBE_LOG_IS_AT(*unit, position);
        units = is_there ? probe_kept_units(*unit) : 1;
        if (!is_there)
            put_header(unit, probe_log_header(position, PROBE_LOG_END, 0, 0, PROBE_LOG_NOBODY));
    }
}

#endif
