/* The rules of --keep: writes them for the agent, and changes them while a trace runs. */
#include "trace/figures/keep_rules.h"
#include "trace/figures/keep.h"
#include "trace/figures/keep_quick.h"
#include "trace/figures/log.h"
#include "trace/figures/values.h"
#include "trace/probes/probes.h"
#include "trace/several.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* == Rules of a trace == */

static int refuse_more(size_t count, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "a trace has at most %d rules of --keep, but this would be rule %zu",
                           PROBE_KEEP_RULES, count);
}

static int check_expressions(const struct trace_keep_rule *rule, struct sprof_error *error)
{
    const char *const texts[] = {rule->function, rule->thrown};
    int result = 0;
    for (size_t i = 0; i < 2 && !result; i++) {
        struct plan_expressions *expressions = NULL;
        if (texts[i])
            result = plan_expressions_make(&expressions, &texts[i], 1, error);
        plan_expressions_free(expressions);
    }
    return result;
}

int trace_keep_check(const struct trace_options *options, struct sprof_error *error)
{
    int result = 0;
    if (options->keep_count > PROBE_KEEP_RULES)
        return refuse_more(options->keep_count, error);
    for (size_t i = 0; i < options->keep_count && !result; i++)
        result = check_expressions(&options->keep[i], error);
    return result;
}

/* Appends a rule, with a copy of its text. */
static int append(struct trace *trace, const char *text, uint64_t from_ns,
                  struct sprof_error *error)
{
    struct trace_rule rule = {.text = strdup(text), .from_ns = from_ns};
    for (char *at = rule.text; at && *at; at++)
        *at = *at == '\t' || *at == '\n' ? ' ' : *at; /* they are cells of tables */
    int result =
        rule.text ? trace_keep_rule_parse(&rule.rule, rule.text, error) : sprof_error_memory(error);
    if (!result)
        result = check_expressions(&rule.rule, error);
    if (!result && rule.rule.thrown)
        result =
            plan_expressions_make(&rule.thrown, (const char *const *)&rule.rule.thrown, 1, error);
    if (!result && sprof_vec_push(&trace->kept.rules, rule))
        result = sprof_error_memory(error);
    if (!result)
        return 0;
    plan_expressions_free(rule.thrown);
    trace_keep_rule_release(&rule.rule);
    free(rule.text);
    return result;
}

int trace_keep_open(struct trace *trace, const struct trace_options *options,
                    struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < options->keep_count && !result; i++)
        result = append(trace, options->keep[i].text, 0, error);
    return result;
}

void trace_keep_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->kept.rules.count; i++) {
        trace_keep_rule_release(&trace->kept.rules.items[i].rule);
        plan_expressions_free(trace->kept.rules.items[i].thrown);
        free(trace->kept.rules.items[i].text);
    }
    sprof_vec_release(&trace->kept.rules);
}

/* == For the agent == */

/* No call is long enough. */
static void allow_none(struct trace_session *session)
{
    struct probe_shared *shared = session->process.shared;
    for (uint32_t i = 0; i <= session->capacity; i++)
        atomic_store_explicit(&shared->keep_quick[i].least, INT64_MAX, memory_order_relaxed);
}

void trace_keep_make(struct trace_session *session)
{
    if (trace_keeps(session))
        allow_none(session);
}

static int64_t ticks_of(const struct trace_session *session, bool has, uint64_t ns)
{
    return has && ns ? (int64_t)ceil((double)ns / session->trace->clock.tick_ns) : INT64_MIN;
}

/* Of a number that is none of single precision, the next one toward the inside of the range. */
static int64_t order_of_single(double value, double inside)
{
    float single = (float)value;
    uint32_t bits;
    if ((inside > 0 && single < value) || (inside < 0 && single > value))
        single = nextafterf(single, (float)inside);
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
            .low_single = order_of_single(test->low_real, INFINITY),
            .high_single = order_of_single(test->high_real, -INFINITY),
            .low_double = order_of_double(test->low_real),
            .high_double = order_of_double(test->high_real),
            .is_outside = test->is_outside,
        };
    }
}

static bool tests_arguments(const struct trace_keep_rule *rule)
{
    bool tests = false;
    for (uint32_t i = 0; i < rule->test_count; i++)
        tests |= rule->tests[i].name != NULL;
    return tests;
}

/* Arguments are saved for a rule that comes later only once `since` is written. */
static void write_rule(struct trace_session *session, size_t i, bool is_late)
{
    const struct trace_keep_rule *rule = &session->trace->kept.rules.items[i].rule;
    struct probe_keep *keep = &session->process.shared->keep;
    const bool counts = !rule->thrown; /* by type they are counted here: see keep.c */
    keep->second_ticks = (uint64_t)(1e9 / session->trace->clock.tick_ns);
    keep->rules[i] = (struct probe_keep_rule){
        .over = ticks_of(session, rule->has_over, rule->over_ns),
        .self = ticks_of(session, rule->has_self, rule->self_ns),
        .every = counts ? rule->every : 0,
        .first = counts ? rule->first : 0,
        .throws = rule->throws,
        .slowest = (uint32_t)rule->slowest,
        .next = counts ? rule->next : 0,
        .since = is_late && tests_arguments(rule) ? UINT64_MAX : 0,
    };
    write_tests(&keep->rules[i], rule);
    if (rule->load)
        atomic_fetch_or(&keep->resting, UINT64_C(1) << i);
}

static bool may_apply(const struct trace_probe *probe)
{
    return probe->is_chosen || probe->is_spare;
}

static int set_function(struct trace_session *session, uint32_t function,
                        struct plan_expressions *const *each, struct sprof_error *error)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < session->trace->kept.rules.count; i++) {
        const int found =
            !trace_keep_is_on(session, i) ? 0
            : each[i]
                ? plan_expressions_match(each[i], session->probes.items[function].function, error)
                : 1;
        if (found < 0)
            return found;
        mask |= (uint64_t)(found != 0) << i;
    }
    trace_keep_write(session, function, mask);
    return 0;
}

static int report_unfound(const struct trace_session *session, struct plan_expressions *const *each,
                          struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < session->trace->kept.rules.count && !result; i++)
        if (each[i])
            result = trace_report_unfound(session, "keep",
                                          session->trace->kept.rules.items[i].rule.function,
                                          each[i], true, error);
    return result;
}

int trace_keep_begin(struct trace_session *session, size_t first, struct sprof_error *error)
{
    const size_t count = session->trace->kept.rules.count;
    struct plan_expressions *each[PROBE_KEEP_RULES] = {NULL};
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        const struct trace_keep_rule *rule = &session->trace->kept.rules.items[i].rule;
        if (rule->function)
            result = plan_expressions_make(&each[i], &rule->function, 1, error);
    }
    trace_find_tick(session);
    for (size_t i = 0; i < count && !result && !first; i++)
        write_rule(session, i, false);
    for (size_t i = first; i < session->probes.count && !result && count; i++)
        if (may_apply(&session->probes.items[i]))
            result = set_function(session, (uint32_t)i, each, error);
    if (!result && !first && !session->options.children && !trace_has_others(session))
        result = report_unfound(session, each, error);
    for (size_t i = 0; i < count; i++)
        plan_expressions_free(each[i]);
    return result;
}

/* == Changes while a trace runs == */

/* Calls that are open must not have a number for another purpose. */
static int refuse_rules(const struct trace_session *session, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    const char *reason =
        !session->backend->has_agent ? "by uprobes, which know no callers of calls"
        : options->paths || options->callers
            ? "with --paths, --callers or --adaptive, which need the same room in each open call"
        : options->all_points       ? "with --all-points, whose places are no calls"
        : session->points           ? "with call points, which are no calls"
        : options->max_overhead > 0 ? "with --max-overhead, which takes the time from some calls"
        : session->mode != TRACE_STATS
            ? "in another mode than stats: `sprof ctl mode stats` comes first"
        : session->log.has_rings && !trace_keeps(session)
            ? "that has logged calls, of which some may be open"
            : NULL;
    return reason
               ? sprof_error_set(error, SPROF_EUSAGE, 0, "no calls are kept in a trace %s", reason)
               : 0;
}

/* Applies the last rule to the functions of a program. *found: how many those are. */
static int add_to(struct trace_session *program, size_t i, struct plan_expressions *expressions,
                  size_t *found, struct sprof_error *error)
{
    struct probe_shared *shared = program->process.shared;
    const uint64_t bit = UINT64_C(1) << i;
    int result = 0;
    write_rule(program, i, true);
    for (size_t f = 0; f < program->probes.count && !result; f++) {
        const struct trace_probe *probe = &program->probes.items[f];
        const int matches = !may_apply(probe) ? 0
                            : expressions
                                ? plan_expressions_match(expressions, probe->function, error)
                                : 1;
        result = matches < 0 ? matches : 0;
        if (matches > 0) {
            *found += probe->is_chosen;
            trace_keep_write(program, (uint32_t)f, atomic_load(&shared->keep_masks[f]) | bit);
        }
    }
    if (!result)
        result = trace_values_add(program, (uint32_t)i, error);
    program->kept.tested[i] = trace_keep_count_tested(program, bit);
    trace_set_extras(program);
    if (shared->keep.rules[i].since)
        shared->keep.rules[i].since = probe_ticks();
    return result;
}

static void end_rule(struct trace_session *session, size_t i)
{
    struct trace_rule *rule = &session->trace->kept.rules.items[i];
    rule->is_over = true;
    rule->to_ns = sprof_clock_monotonic_ns() - session->run->start_monotonic_ns;
    for (size_t p = 0; p < session->trace->programs.count; p++) {
        struct trace_session *program = session->trace->programs.items[p];
        trace_keep_read(program);
        for (size_t f = 0; f < program->probes.count; f++) {
            const uint64_t mask = atomic_load(&program->process.shared->keep_masks[f]);
            if (mask >> i & 1)
                trace_keep_write(program, (uint32_t)f, mask & ~(UINT64_C(1) << i));
        }
    }
}

/* Why a rule that was just added can keep no call. */
static int refuse_useless(const struct trace_session *session, size_t i, size_t found,
                          struct plan_expressions *expressions, struct sprof_error *error)
{
    const struct trace_keep_rule *rule = &session->trace->kept.rules.items[i].rule;
    bool is_bound = !rule->test_count;
    struct sprof_suggestions near = {0};
    struct sprof_str text = {0};
    for (size_t p = 0; p < session->trace->programs.count; p++) {
        const struct trace_session *program = session->trace->programs.items[p];
        is_bound |= program->values.bound >> i & 1;
        for (size_t f = 0; f < program->probes.count && rule->function; f++)
            if (program->probes.items[f].is_chosen)
                sprof_suggest_offer(&near, rule->function, program->probes.items[f].function->name);
    }
    if ((found && is_bound) || session->trace->membership->may_grow)
        return 0;
    if (!found && expressions)
        sprof_suggest_append(&text, &near);
    const int result =
        found ? sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                "by debug information none of these functions has all these values "
                                "as numbers, so the rule is dropped: %.200s",
                                rule->text)
              : sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                "'%.200s' finds none of the functions that have probes, so the "
                                "rule is dropped%s",
                                rule->function ? rule->function : "", text.text ? text.text : "");
    sprof_str_release(&text);
    return result;
}

static int add_rule(struct trace_session *session, const char *text, struct sprof_str *answer,
                    struct sprof_error *error)
{
    struct plan_expressions *expressions = NULL;
    const size_t i = session->trace->kept.rules.count;
    size_t found = 0;
    int result = refuse_rules(session, error);
    if (!result && i == PROBE_KEEP_RULES)
        result = refuse_more(i + 1, error);
    if (!result && !i)
        for (size_t p = 0; p < session->trace->programs.count; p++)
            allow_none(session->trace->programs.items[p]);
    if (!result)
        result = append(session->trace, text,
                        sprof_clock_monotonic_ns() - session->run->start_monotonic_ns, error);
    if (result)
        return result;
    const struct trace_keep_rule *rule = &session->trace->kept.rules.items[i].rule;
    if (rule->function)
        result = plan_expressions_make(&expressions, &rule->function, 1, error);
    for (size_t p = 0; p < session->trace->programs.count && !result; p++)
        result = add_to(session->trace->programs.items[p], i, expressions, &found, error);
    if (!result)
        result = refuse_useless(session, i, found, expressions, error);
    plan_expressions_free(expressions);
    if (result)
        end_rule(session, i);
    else
        sprof_str_appendf(answer, "rule %zu holds for %zu function%s", i + 1, found,
                          sprof_plural(found));
    return result;
}

/* The rule of "#3" or of a text; the number of rules where there is none. */
static size_t find_rule(const struct trace_session *session, const char *named)
{
    const struct trace_kept *kept = &session->trace->kept;
    char *end = NULL;
    const unsigned long number = *named == '#' ? strtoul(named + 1, &end, 10) : 0;
    if (end)
        return !*end && number && number <= kept->rules.count ? number - 1 : kept->rules.count;
    for (size_t i = 0; i < kept->rules.count; i++)
        if (!kept->rules.items[i].is_over && !strcmp(kept->rules.items[i].text, named))
            return i;
    return kept->rules.count;
}

static int take_back(struct trace_session *session, const char *named, struct sprof_str *answer,
                     struct sprof_error *error)
{
    const size_t i = find_rule(session, named), count = session->trace->kept.rules.count;
    if (i == count || session->trace->kept.rules.items[i].is_over)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               i == count ? "there is no rule %.200s: `sprof ctl keep` lists them"
                                          : "rule %.200s is over: `sprof ctl keep` lists them",
                               named);
    end_rule(session, i);
    sprof_str_appendf(answer, "rule %zu is over; it has kept %s call%s", i + 1,
                      sprof_digits_of(session->trace->kept.fired[i]).text,
                      sprof_plural(session->trace->kept.fired[i]));
    return 0;
}

static int list_rules(struct trace_session *session, struct sprof_str *answer)
{
    const struct trace_kept *kept = &session->trace->kept;
    for (size_t p = 0; p < session->trace->programs.count; p++)
        trace_keep_read(session->trace->programs.items[p]);
    sprof_str_append(answer, "number#\tstate\tsince#\ttested#\tmet#\tkept#\tdropped#\trule\n");
    for (size_t i = 0; i < kept->rules.count; i++)
        sprof_str_appendf(answer, "%zu\t%s\t%.1f\t%llu\t%llu\t%llu\t%llu\t%s\n", i + 1,
                          kept->rules.items[i].is_over ? "over" : "on",
                          (double)kept->rules.items[i].from_ns / 1e9,
                          (unsigned long long)kept->tested[i], (unsigned long long)kept->fired[i],
                          (unsigned long long)(kept->fired[i] - kept->dropped[i]),
                          (unsigned long long)kept->dropped[i], kept->rules.items[i].text);
    return 0;
}

int trace_keep_change(struct trace_session *session, const char *change, struct sprof_str *answer,
                      struct sprof_error *error)
{
    return *change == '-' ? take_back(session, change + 1, answer, error)
           : *change      ? add_rule(session, change + (*change == '+'), answer, error)
                          : list_rules(session, answer);
}
