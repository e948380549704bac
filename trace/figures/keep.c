/* Kept calls: writes the rules for the agent, and makes rows of the calls that it keeps. A caller
 * of a kept call is known by its number from then on, and has its row when it has ended. The
 * command can write anything into a ring, so numbers are checked. */
#include "trace/figures/keep.h"
#include "trace/figures/log.h"
#include "trace/figures/values.h"
#include "trace/probes/probes.h"
#include "trace/several.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_CALLS = 1 << 20 /* of a thread, at most */ };

/* == Rules == */

int trace_keep_check(const struct trace_options *options, struct sprof_error *error)
{
    int result = 0;
    if (options->keep_count > PROBE_KEEP_RULES)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "there are %zu rules of --keep: give at "
                               "most %d",
                               options->keep_count, PROBE_KEEP_RULES);
    for (size_t i = 0; i < options->keep_count && !result; i++) {
        struct plan_expressions *expressions = NULL;
        if (options->keep[i].function)
            result = plan_expressions_make(&expressions, &options->keep[i].function, 1, error);
        plan_expressions_free(expressions);
    }
    return result;
}

void trace_keep_make(struct trace_session *session)
{
    struct probe_shared *shared = session->process.shared;
    for (uint32_t i = 0; session->options.keep_count && i <= session->capacity; i++)
        atomic_store_explicit(&shared->keep_least[i], INT64_MAX, memory_order_relaxed);
}

static int64_t ticks_of(const struct trace_session *session, bool has, uint64_t ns)
{
    return has && ns ? (int64_t)ceil((double)ns / session->trace->clock.tick_ns) : INT64_MIN;
}

static int64_t order_of_single(double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return probe_order_of_single(bits);
}

static int64_t order_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return probe_order_of_double(bits);
}

static void write_tests(struct probe_keep_rule *to, const struct trace_keep_rule *rule)
{
    to->test_count = rule->test_count;
    for (uint32_t i = 0; i < rule->test_count; i++) {
        const struct trace_keep_test *test = &rule->tests[i];
        to->tests[i] = (struct probe_keep_test){
            .low = test->low,
            .high = test->high,
            .low_single = order_of_single(test->low_real),
            .high_single = order_of_single(test->high_real),
            .low_double = order_of_double(test->low_real),
            .high_double = order_of_double(test->high_real),
            .is_outside = test->is_outside,
        };
    }
}

static void write_rules(struct trace_session *session)
{
    const struct trace_options *options = &session->options;
    struct probe_keep *keep = &session->process.shared->keep;
    keep->second_ticks = (uint64_t)(1e9 / session->trace->clock.tick_ns);
    for (size_t i = 0; i < options->keep_count; i++) {
        const struct trace_keep_rule *rule = &options->keep[i];
        keep->rules[i] = (struct probe_keep_rule){
            .over = ticks_of(session, rule->has_over, rule->over_ns),
            .self = ticks_of(session, rule->has_self, rule->self_ns),
            .every = rule->every,
            .first = rule->first,
            .throws = rule->throws,
            .slowest = (uint32_t)rule->slowest,
        };
        write_tests(&keep->rules[i], rule);
    }
}

/* Of a call that returns. */
static int64_t least_of(const struct probe_keep_rule *rule)
{
    return rule->throws ? INT64_MAX : rule->over > rule->self ? rule->over : rule->self;
}

static int set_function(struct trace_session *session, uint32_t function,
                        struct plan_expressions *const *each, struct sprof_error *error)
{
    struct probe_shared *shared = session->process.shared;
    int64_t least = INT64_MAX;
    uint64_t mask = 0;
    for (size_t i = 0; i < session->options.keep_count; i++) {
        const int found =
            each[i]
                ? plan_expressions_match(each[i], session->probes.items[function].function, error)
                : 1;
        if (found < 0)
            return found;
        if (!found)
            continue;
        mask |= UINT64_C(1) << i;
        least = least_of(&shared->keep.rules[i]) < least ? least_of(&shared->keep.rules[i]) : least;
    }
    atomic_store(&shared->keep_masks[function], mask);
    atomic_store(&shared->keep_least[function], least);
    return 0;
}

static int tell_unfound(const struct trace_session *session, struct plan_expressions *const *each,
                        struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    int result = 0;
    for (size_t i = 0; i < options->keep_count && !result; i++)
        if (each[i])
            result = trace_tell_unfound(session, "keep", options->keep[i].function, each[i], true,
                                        error);
    return result;
}

int trace_keep_begin(struct trace_session *session, size_t first, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    struct plan_expressions **each = calloc(options->keep_count + 1, sizeof *each);
    int result = each ? 0 : sprof_error_memory(error);
    for (size_t i = 0; i < options->keep_count && !result; i++)
        if (options->keep[i].function)
            result = plan_expressions_make(&each[i], &options->keep[i].function, 1, error);
    trace_find_tick(session);
    if (!result && !first && options->keep_count)
        write_rules(session);
    for (size_t i = first; i < session->probes.count && !result && options->keep_count; i++)
        if (session->probes.items[i].is_chosen || session->probes.items[i].is_spare)
            result = set_function(session, (uint32_t)i, each, error);
    if (!result && !first && !options->children && !trace_has_others(session))
        result = tell_unfound(session, each, error);
    for (size_t i = 0; i < options->keep_count && each; i++)
        plan_expressions_free(each[i]);
    free(each);
    return result;
}

/* == Rows == */

/* An open caller, and where it is in the list of its thread; made where there is none. NULL: out of
 * memory. The one that is looked for is nearly always among the last. */
static struct trace_open_caller *caller_of(struct trace_session *session,
                                           struct trace_thread *thread, uint32_t number)
{
    for (size_t i = thread->callers.count; i-- > 0;)
        if (thread->callers.items[i].number == number)
            return &thread->callers.items[i];
    const struct trace_open_caller caller = {.number = number, .row = ++session->trace->kept.rows};
    if (thread->callers.count >= OPEN_CALLS) /* only the command can have written so many */
        thread->callers.count = 0;
    if (sprof_vec_push(&thread->callers, caller))
        return NULL;
    return &thread->callers.items[thread->callers.count - 1];
}

/* *row: the number of the row of a call, which is open; 0 of none. */
static int row_of(struct trace_session *session, struct trace_thread *thread, uint32_t number,
                  uint32_t *row)
{
    const struct trace_open_caller *caller = number ? caller_of(session, thread, number) : NULL;
    *row = caller ? caller->row : 0;
    return number && !caller ? SPROF_ENOMEM : 0;
}

static int put_row(struct trace_session *session, const struct trace_thread *thread,
                   uint32_t function, const struct store_kept_call *call)
{
    struct store_kept_call row = *call;
    const int result = trace_node_of(session, function, 0, &row.node_id);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    struct trace_kept *kept = &session->trace->kept;
    row.run_id = session->run->id;
    row.thread_id = thread->shares ? session->threads.others.row : thread->row;
    kept->calls += row.rules != 0;
    kept->callers += !row.rules;
    for (uint64_t left = row.rules; left; left &= left - 1)
        kept->fired[__builtin_ctzll(left)]++;
    return sprof_vec_push(&recording_batch(session->recording)->kept_calls, row) ? SPROF_ENOMEM : 0;
}

static uint64_t start_of(const struct trace_session *session, uint64_t begin)
{
    return trace_time_of(session, begin < session->cleared.ticks ? session->cleared.ticks : begin);
}

static int take_caller(struct trace_session *session, struct trace_thread *thread,
                       const struct probe_kept *kept)
{
    uint32_t above;
    if (row_of(session, thread, kept->caller, &above))
        return SPROF_ENOMEM;
    struct trace_open_caller *caller = caller_of(session, thread, kept->number);
    if (!caller)
        return SPROF_ENOMEM;
    caller->is_known = true;
    caller->begin = kept->begin;
    caller->function = PROBE_LOG_FUNCTION(kept->header);
    caller->caller_row = above;
    return 0;
}

static uint64_t duration_of(const struct trace_session *session, int64_t ticks)
{
    return trace_length_of(session, ticks > 0 ? (uint64_t)ticks : 0);
}

/* `values` may be NULL. */
static int take_end(struct trace_session *session, struct trace_thread *thread,
                    const struct probe_kept *kept, const struct trace_taken_values *values)
{
    const struct trace_options *options = &session->options;
    const uint64_t rules = options->keep_count < PROBE_KEEP_RULES
                               ? (UINT64_C(1) << options->keep_count) - 1
                               : UINT64_MAX;
    uint32_t above;
    if (row_of(session, thread, kept->caller, &above))
        return SPROF_ENOMEM;
    const struct trace_open_caller *caller = caller_of(session, thread, kept->number);
    if (!caller)
        return SPROF_ENOMEM;
    const uint64_t duration_ns = duration_of(session, kept->total),
                   self_ns = duration_of(session, kept->self);
    const struct store_kept_call row = {
        .number = caller->row,
        .caller = above ? above : caller->caller_row,
        .start_ns = start_of(session, kept->begin),
        .duration_ns = duration_ns,
        .self_ns = self_ns < duration_ns ? self_ns : duration_ns,
        .exit = (uint8_t)trace_log_exit(kept->header),
        .rules = kept->rules & rules,
        .is_apart = kept->is_apart != 0,
    };
    const size_t at = (size_t)(caller - thread->callers.items);
    memmove(&thread->callers.items[at], &thread->callers.items[at + 1],
            (thread->callers.count - at - 1) * sizeof *caller);
    thread->callers.count--;
    if (kept->end < session->cleared.ticks)
        return 0;
    const int result = put_row(session, thread, PROBE_LOG_FUNCTION(kept->header), &row);
    return result || !values
               ? result
               : trace_values_take(session, PROBE_LOG_FUNCTION(kept->header), row.number, values);
}

int trace_keep_take(struct trace_session *session, struct trace_thread *thread,
                    const struct probe_kept *unit, uint32_t more)
{
    const struct probe_kept kept = *unit; /* the program may change it */
    struct trace_taken_values values;
    if (PROBE_LOG_FUNCTION(kept.header) >= session->probes.count || !kept.number)
        return 0;
    if (PROBE_LOG_KIND(kept.header) == PROBE_LOG_BEGIN)
        return take_caller(session, thread, &kept);
    const bool has_values = more >= PROBE_VALUES_UNITS && more <= PROBE_VALUED_UNITS;
    if (has_values) {
        memcpy(&values, unit + 1, more * PROBE_UNIT_BYTES);
        values.bytes = (more - PROBE_VALUES_UNITS) * PROBE_UNIT_BYTES;
        values.all = values.bytes;
        if (values.kept.bytes < values.bytes)
            values.bytes = values.kept.bytes;
    }
    return take_end(session, thread, &kept, has_values ? &values : NULL);
}

int trace_keep_end(struct trace_session *session, struct trace_thread *thread, enum store_exit exit)
{
    int result = 0;
    for (size_t i = 0; i < thread->callers.count && !result; i++) {
        const struct trace_open_caller *caller = &thread->callers.items[i];
        const struct store_kept_call row = {
            .number = caller->row,
            .caller = caller->caller_row,
            .start_ns = start_of(session, caller->begin),
            .exit = (uint8_t)exit,
        };
        if (caller->is_known)
            result = put_row(session, thread, caller->function, &row);
    }
    thread->callers.count = 0;
    return result;
}

/* == Rules that have fired == */

/* Adds what the program's threads have dropped since the last time. */
static void add_dropped(struct trace_session *session)
{
    const struct probe_keep *keep = &session->process.shared->keep;
    struct trace_kept *kept = &session->trace->kept;
    for (size_t i = 0; i < session->options.keep_count; i++) {
        const uint64_t dropped = atomic_load(&keep->rules[i].dropped);
        kept->dropped[i] += dropped - session->kept.dropped[i];
        kept->fired[i] += dropped - session->kept.dropped[i];
        session->kept.dropped[i] = dropped;
    }
    const uint64_t lost = atomic_load(&keep->lost);
    kept->lost += lost - session->kept.lost;
    session->kept.lost = lost;
}

int trace_keep_tick(struct trace_session *session)
{
    const struct trace_options *options = &session->options;
    const struct trace_kept *kept = &session->trace->kept;
    int result = 0;
    if (options->keep_count)
        add_dropped(session);
    trace_values_look(session);
    for (size_t i = 0; i < options->keep_count && !result; i++) {
        const struct store_keep_rule row = {
            .run_id = session->run->id,
            .number = (uint32_t)i + 1,
            .text = options->keep[i].text,
            .function = options->keep[i].function,
            .fired = kept->fired[i],
            .dropped = kept->dropped[i],
        };
        result = sprof_vec_push(&recording_batch(session->recording)->keep_rules, row);
    }
    return result ? SPROF_ENOMEM : 0;
}

void trace_keep_describe(const struct trace_session *session, struct sprof_str *text)
{
    const struct trace_options *options = &session->options;
    const struct trace_kept *kept = &session->trace->kept;
    if (!options->keep_count)
        return;
    sprof_str_appendf(text, ", %s call%s kept (", sprof_digits_of(kept->calls).text,
                      sprof_plural(kept->calls));
    for (size_t i = 0; i < options->keep_count; i++) {
        sprof_str_appendf(text, "%s%s: %s", i ? ", " : "", options->keep[i].text,
                          sprof_digits_of(kept->fired[i]).text);
        if (kept->dropped[i])
            sprof_str_appendf(text, ", of which %s had no room",
                              sprof_digits_of(kept->dropped[i]).text);
    }
    sprof_str_append(text, ")");
}

/* The longest calls so far are those from now on. */
static void clear_slowest(struct trace_session *session)
{
    struct probe_shared *shared = session->process.shared;
    for (size_t i = 0; i < session->probes.count; i++) {
        uint64_t rules = atomic_load(&shared->keep_masks[i]);
        int64_t least = INT64_MAX;
        bool has_list = false;
        for (; rules; rules &= rules - 1) {
            const struct probe_keep_rule *rule = &shared->keep.rules[__builtin_ctzll(rules)];
            has_list |= rule->slowest != 0;
            least = least_of(rule) < least ? least_of(rule) : least;
        }
        for (size_t k = 0; has_list && k < PROBE_KEEP_SLOWEST; k++)
            atomic_store(&shared->keep_slowest[i].ticks[k], 0);
        if (has_list)
            atomic_store(&shared->keep_least[i], least);
    }
}

void trace_keep_clear(struct trace_session *session)
{
    const uint32_t rows = session->trace->kept.rows;
    if (!session->options.keep_count)
        return;
    add_dropped(session);
    clear_slowest(session);
    session->trace->kept = (struct trace_kept){.rows = rows};
}
