/* Writes rows of kept calls. A caller has a number at once and a row after its end. The command can
 * overwrite rings, so numbers are checked. */
#include "calls/keep.h"
#include "calls/keep_late.h"
#include "calls/keep_load.h"
#include "calls/keep_quick.h"
#include "calls/keep_requests.h"
#include "calls/log.h"
#include "calls/program.h"
#include "calls/remarks.h"
#include "calls/states.h"
#include "calls/values.h"

#include <string.h>

enum { OPEN_CALLS = 1 << 20 /* per thread */ };

/* == Rows == */

/* Creates missing callers. NULL: out of memory. Usually it is one of the last. */
static struct calls_open_caller *caller_of(struct calls_program *program,
                                           struct calls_thread *thread, uint32_t number)
{
    for (size_t i = thread->callers.count; i-- > 0;)
        if (thread->callers.items[i].number == number)
            return &thread->callers.items[i];
    const struct calls_open_caller caller = {.number = number, .row = ++program->all->kept.rows};
    if (thread->callers.count >= OPEN_CALLS) /* only if the ring was overwritten */
        thread->callers.count = 0;
    if (sprof_vec_push(&thread->callers, caller))
        return NULL;
    return &thread->callers.items[thread->callers.count - 1];
}

/* A kept call's own entry, and the row of its caller; 0: none. NULL: no memory. */
static struct calls_open_caller *entry_of(struct calls_program *program,
                                          struct calls_thread *thread,
                                          const struct probe_kept *kept, uint32_t *row)
{
    *row = 0;
    if (kept->caller) {
        const struct calls_open_caller *caller = caller_of(program, thread, kept->caller);
        if (!caller)
            return NULL;
        *row = caller->row;
    }
    return caller_of(program, thread, kept->number);
}

static int put_row(struct calls_program *program, const struct calls_thread *thread,
                   uint32_t function, const struct store_kept_call *call)
{
    struct store_kept_call row = *call;
    const int result = calls_node_of(program, function, 0, &row.node_id);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    struct calls_kept *kept = &program->all->kept;
    row.run_id = program->run->id;
    row.thread_id = thread->shares ? program->threads.others.row : thread->row;
    kept->calls += row.rules != 0;
    kept->callers += !row.rules;
    for (uint64_t left = row.rules; left; left &= left - 1)
        kept->fired[__builtin_ctzll(left)]++;
    return sprof_vec_push(&recording_batch(program->recording)->kept_calls, row) ? SPROF_ENOMEM : 0;
}

/* A call that is also in the log starts there at the same time. */
static uint64_t start_of(const struct calls_program *program, const struct calls_thread *thread,
                         uint32_t function, uint64_t begin, uint16_t depth)
{
    const uint64_t ticks =
        begin < program->times.cleared.ticks ? program->times.cleared.ticks : begin;
    for (size_t i = depth ? thread->open.count : 0;
         i-- > 0 && thread->open.items[i].begin >= ticks;)
        if (thread->open.items[i].begin == ticks && thread->open.items[i].depth == depth &&
            thread->open.items[i].function == function)
            return thread->open.items[i].start_ns;
    return calls_time_of(program, ticks);
}

static int take_caller(struct calls_program *program, struct calls_thread *thread,
                       const struct probe_kept *kept, const struct calls_taken_values *values)
{
    uint32_t above;
    struct calls_open_caller *caller = entry_of(program, thread, kept, &above);
    if (!caller)
        return SPROF_ENOMEM;
    caller->is_known = true;
    caller->begin = kept->begin;
    caller->function = PROBE_LOG_FUNCTION(kept->header);
    caller->depth = kept->depth;
    caller->caller_row = above;
    calls_requests_name(program, caller, caller->function, values);
    return 0;
}

static uint64_t duration_of(const struct calls_program *program, int64_t ticks)
{
    return calls_length_of(program, ticks > 0 ? (uint64_t)ticks : 0);
}

/* Whether the tracer tests a rule. Then rings also contain callers of calls that are not kept. */
static bool decides(const struct calls_program *program)
{
    bool does = false;
    for (size_t i = 0; i < program->all->kept.rules.count; i++)
        does |= rules_keep_is_late(&program->all->kept.rules.items[i].rule);
    return does;
}

/* A call has ended without a row: those of its coroutines that are suspended have no caller, and it
 * is no request. A later call may have its number. */
static void forget_call(struct calls_program *program, struct calls_thread *thread,
                        const struct probe_kept *kept, uint32_t row)
{
    for (size_t i = 0; i < thread->callers.count; i++) {
        struct calls_open_caller *caller = &thread->callers.items[i];
        if (caller->caller_row == row)
            caller->caller_row = 0;
        if (caller->request == row && !caller->is_named)
            caller->has_request = false;
    }
    program->all->kept.rows -= row == program->all->kept.rows;
    calls_remarks_put_notes(program, thread, PROBE_LOG_FUNCTION(kept->header), kept->begin, 0);
    calls_remarks_drop_notes(thread, kept->begin);
}

/* Marks all callers of a call with a row, which get rows, too. */
static void note_below(struct calls_thread *thread, uint32_t caller)
{
    size_t near = thread->callers.count;
    struct calls_open_caller *open;
    while ((open = calls_requests_open(thread, near, caller)) && !open->has_below) {
        open->has_below = true;
        caller = open->caller_row;
        near = (size_t)(open - thread->callers.items);
    }
}

/* CPU time is the rest of the duration, which excludes probes. */
static void add_states(const struct calls_program *program, const struct calls_thread *thread,
                       uint64_t end_ns, struct store_kept_call *row)
{
    const struct calls_call_states states =
        calls_states_between(program, thread, row->start_ns, end_ns, row->duration_ns);
    const uint64_t off_ns = states.waiting_ns + states.ready_ns;
    if (!states.is_known)
        return;
    row->running_ns = row->duration_ns > off_ns ? row->duration_ns - off_ns : 1;
    row->waiting_ns = states.waiting_ns;
    row->ready_ns = states.ready_ns;
}

static void note_result(struct calls_program *program, uint32_t function, uint64_t rules)
{
    const struct calls_kept *kept = &program->all->kept;
    bool is_bad = false;
    for (size_t i = 0; i < kept->rules.count && !is_bad; i++)
        is_bad = rules >> i & 1 && rules_keep_is_of_results(&kept->rules.items[i].rule);
    program->probes.items[function].bad_results += is_bad;
}

/* Calls from before the last question answer an earlier one. */
static void note_answers(struct calls_program *program, uint64_t rules, uint64_t begin)
{
    for (uint64_t left = rules; left; left &= left - 1) {
        struct calls_rule *rule = &program->all->kept.rules.items[__builtin_ctzll(left)];
        rule->is_answered |= begin >= rule->asked_ticks;
    }
}

static int take_end(struct calls_program *program, struct calls_thread *thread,
                    const struct probe_kept *kept, const struct calls_taken_values *values)
{
    uint64_t unread;
    const uint64_t rules = calls_late_meets(program, kept, values, kept->rules, &unread);
    uint32_t above;
    struct calls_open_caller *caller = entry_of(program, thread, kept, &above);
    if (!caller)
        return SPROF_ENOMEM;
    calls_requests_name(program, caller, PROBE_LOG_FUNCTION(kept->header), values);
    const uint64_t duration_ns = duration_of(program, kept->total),
                   self_ns = duration_of(program, kept->self);
    struct store_kept_call row = {
        .number = caller->row,
        .caller = above ? above : caller->caller_row,
        .start_ns =
            start_of(program, thread, PROBE_LOG_FUNCTION(kept->header), kept->begin, kept->depth),
        .duration_ns = duration_ns,
        .self_ns = self_ns < duration_ns ? self_ns : duration_ns,
        .exit = (uint8_t)calls_log_exit(kept->header),
        .rules = rules,
        .is_apart = kept->is_apart != 0,
        .request = calls_remarks_request(thread, kept->begin, kept->end),
        .asked_id = caller->asked_id,
    };
    if (!row.request)
        row.request = calls_requests_of(program, thread, caller, PROBE_LOG_FUNCTION(kept->header),
                                        row.caller);
    const bool decided = decides(program), is_wanted = rules || caller->has_below || !decided;
    const size_t at = (size_t)(caller - thread->callers.items);
    memmove(&thread->callers.items[at], &thread->callers.items[at + 1],
            (thread->callers.count - at - 1) * sizeof *caller);
    thread->callers.count--;
    const bool was_cleared = kept->end < program->times.cleared.ticks;
    for (; unread && !was_cleared; unread &= unread - 1)
        program->all->kept.unread[__builtin_ctzll(unread)]++;
    note_result(program, PROBE_LOG_FUNCTION(kept->header), rules);
    note_answers(program, rules, kept->begin);
    if (was_cleared || !is_wanted) {
        forget_call(program, thread, kept, row.number);
        return 0;
    }
    if (!row.is_apart)
        add_states(program, thread, calls_time_of(program, kept->end), &row);
    if (decided)
        note_below(thread, row.caller);
    int result = put_row(program, thread, PROBE_LOG_FUNCTION(kept->header), &row);
    if (!result)
        result =
            calls_requests_put(program, thread, PROBE_LOG_FUNCTION(kept->header), &row, values);
    if (!result)
        result = calls_remarks_put_notes(program, thread, PROBE_LOG_FUNCTION(kept->header),
                                         kept->begin, row.number);
    calls_remarks_drop_notes(thread, kept->begin);
    return result || !values
               ? result
               : calls_values_take(program, PROBE_LOG_FUNCTION(kept->header), row.number, values);
}

int calls_keep_ask(struct calls_program *program, struct calls_thread *thread, uint32_t number,
                   uint64_t id)
{
    struct calls_open_caller *caller = caller_of(program, thread, number);
    if (!caller)
        return SPROF_ENOMEM;
    caller->asked_id = id;
    note_below(thread, caller->row);
    return 0;
}

int calls_keep_take(struct calls_program *program, struct calls_thread *thread,
                    const struct probe_kept *unit, uint32_t more)
{
    const struct probe_kept kept = *unit; /* the program can change it */
    struct calls_taken_values values;
    if (PROBE_LOG_FUNCTION(kept.header) >= program->probes.count || !kept.number)
        return 0;
    const bool has_values = more >= PROBE_VALUES_UNITS && more <= PROBE_VALUED_UNITS;
    if (has_values) {
        memcpy(&values, unit + 1, more * PROBE_UNIT_BYTES);
        values.bytes = (more - PROBE_VALUES_UNITS) * PROBE_UNIT_BYTES;
        values.all = values.bytes;
        values.place = kept.place;
        if (values.kept.bytes < values.bytes)
            values.bytes = values.kept.bytes;
    }
    return PROBE_LOG_KIND(kept.header) == PROBE_LOG_BEGIN
               ? take_caller(program, thread, &kept, has_values ? &values : NULL)
               : take_end(program, thread, &kept, has_values ? &values : NULL);
}

int calls_keep_end(struct calls_program *program, struct calls_thread *thread, enum store_exit exit)
{
    int result = 0;
    for (size_t i = 0; i < thread->callers.count && !result; i++) {
        const struct calls_open_caller *caller = &thread->callers.items[i];
        struct store_kept_call row = {
            .number = caller->row,
            .caller = caller->caller_row,
            .start_ns = start_of(program, thread, caller->function, caller->begin, caller->depth),
            .exit = (uint8_t)exit,
            .request = calls_remarks_request(thread, caller->begin, caller->begin),
            .asked_id = caller->asked_id,
        };
        if (!caller->is_known || !(caller->has_below || !decides(program)))
            continue;
        if (!row.request)
            row.request = calls_requests_of(program, thread, caller, caller->function, row.caller);
        result = put_row(program, thread, caller->function, &row);
        if (!result)
            result = calls_requests_put(program, thread, caller->function, &row, NULL);
        if (!result)
            result = calls_remarks_put_notes(program, thread, caller->function, caller->begin,
                                             row.number);
    }
    calls_remarks_drop_notes(thread, 0);
    thread->callers.count = 0;
    return result;
}

/* == Rules that have fired == */

uint64_t calls_keep_count_tested(const struct calls_program *program, uint64_t rule)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < program->probes.count; i++)
        if (atomic_load(&program->process.shared->keep_of.masks[i]) & rule)
            calls += program->probes.items[i].sums.calls;
    return calls;
}

static void add_tested(struct calls_program *program)
{
    struct calls_kept *kept = &program->all->kept;
    uint64_t tested[PROBE_KEEP_RULES] = {0};
    for (size_t i = 0; i < program->probes.count; i++)
        for (uint64_t left = atomic_load(&program->process.shared->keep_of.masks[i]); left;
             left &= left - 1)
            tested[__builtin_ctzll(left)] += program->probes.items[i].sums.calls;
    for (size_t i = 0; i < kept->rules.count; i++) {
        if (kept->rules.items[i].is_over)
            continue;
        const uint64_t before = program->kept.tested[i];
        kept->tested[i] += tested[i] > before ? tested[i] - before : 0;
        program->kept.tested[i] = tested[i];
    }
}

void calls_keep_read(struct calls_program *program)
{
    const struct probe_keep *keep = &program->process.shared->keep;
    struct calls_kept *kept = &program->all->kept;
    for (size_t i = 0; i < kept->rules.count; i++) {
        const uint64_t dropped = atomic_load(&keep->rules[i].dropped);
        kept->dropped[i] += dropped - program->kept.dropped[i];
        kept->fired[i] += dropped - program->kept.dropped[i];
        program->kept.dropped[i] = dropped;
    }
    const uint64_t lost = atomic_load(&keep->lost);
    kept->lost += lost - program->kept.lost;
    program->kept.lost = lost;
    const uint64_t cut = atomic_load(&keep->cut);
    kept->cut += cut - program->kept.cut;
    program->kept.cut = cut;
    const uint64_t remarks = atomic_load(&program->process.shared->remarks_lost);
    kept->remarks_lost +=
        remarks > program->kept.remarks_lost ? remarks - program->kept.remarks_lost : 0;
    program->kept.remarks_lost = remarks;
    add_tested(program);
}

int calls_keep_serve(struct calls_program *program)
{
    const struct calls_kept *kept = &program->all->kept;
    int result = 0;
    if (kept->rules.count)
        calls_keep_read(program);
    calls_keep_check_load(program);
    calls_values_check_filter(program);
    for (size_t i = 0; i < kept->rules.count && !result; i++) {
        const struct calls_rule *rule = &kept->rules.items[i];
        const struct store_keep_rule row = {
            .run_id = program->run->id,
            .number = (uint32_t)i + 1,
            .text = rule->text,
            .function = rule->rule.function,
            .fired = kept->fired[i],
            .dropped = kept->dropped[i],
        };
        const struct store_keep_span span = {
            .run_id = program->run->id,
            .number = (uint32_t)i + 1,
            .from_ns = rule->from_ns,
            .to_ns = rule->to_ns,
            .tested = kept->tested[i],
        };
        result = sprof_vec_push(&recording_batch(program->recording)->keep_rules, row) ||
                 sprof_vec_push(&recording_batch(program->recording)->keep_spans, span);
    }
    return result ? SPROF_ENOMEM : 0;
}

void calls_keep_describe(const struct calls_program *program, struct sprof_str *text)
{
    const struct calls_kept *kept = &program->all->kept;
    if (!kept->rules.count)
        return;
    sprof_str_appendf(text, ", %s call%s kept (", sprof_digits_of(kept->calls).text,
                      sprof_plural(kept->calls));
    for (size_t i = 0; i < kept->rules.count; i++) {
        sprof_str_appendf(text, "%s%s: %s", i ? ", " : "", kept->rules.items[i].text,
                          sprof_digits_of(kept->fired[i]).text);
        if (kept->dropped[i])
            sprof_str_appendf(text, ", of which %s had no room",
                              sprof_digits_of(kept->dropped[i]).text);
        if (kept->unread[i])
            sprof_str_appendf(text, ", of %s the values could not be read",
                              sprof_digits_of(kept->unread[i]).text);
    }
    sprof_str_append(text, ")");
    if (kept->cut)
        sprof_str_appendf(text, ", of %s of these the callers had no room",
                          sprof_digits_of(kept->cut).text);
    if (kept->lost)
        sprof_str_appendf(text, ", of %s callers the ends had no room",
                          sprof_digits_of(kept->lost).text);
}

/* Rows of calls that have ended are gone: those of their coroutines that are suspended have no
 * caller. */
static void forget_ended(struct calls_thread *thread)
{
    for (size_t i = 0; i < thread->callers.count; i++) {
        struct calls_open_caller *caller = &thread->callers.items[i];
        if (caller->caller_row && !calls_requests_open(thread, i, caller->caller_row))
            caller->caller_row = 0;
        if (caller->request && !caller->is_named &&
            !calls_requests_open(thread, i, (uint32_t)caller->request))
            caller->has_request = false;
    }
}

void calls_keep_clear(struct calls_program *program)
{
    struct calls_kept *kept = &program->all->kept;
    if (!kept->rules.count)
        return;
    calls_keep_read(program);
    calls_keep_clear_slowest(program);
    for (size_t i = 0; i < PROBE_SLABS; i++)
        if (program->threads.of_slab[i]) {
            forget_ended(program->threads.of_slab[i]);
            calls_remarks_drop_notes(program->threads.of_slab[i], 0);
        }
    memset(program->kept.tested, 0, sizeof program->kept.tested);
    memset(kept->fired, 0, sizeof kept->fired);
    memset(kept->dropped, 0, sizeof kept->dropped);
    memset(kept->tested, 0, sizeof kept->tested);
    memset(kept->unread, 0, sizeof kept->unread);
    kept->calls = kept->callers = kept->lost = kept->cut = kept->remarks_lost =
        kept->requests_unread = 0;
}
