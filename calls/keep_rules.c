/* Writes rules of --keep for the agent, and changes them during a trace. */
#include "calls/keep_rules.h"
#include "calls/keep.h"
#include "calls/keep_quick.h"
#include "calls/log.h"
#include "calls/program.h"
#include "calls/values.h"
#include "probing/probing.h"

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

static void free_expressions(struct calls_rule *rule)
{
    plan_expressions_free(rule->functions);
    rule->functions = NULL;
    for (size_t i = 0; i < RULES_KEEP_EXPRESSIONS; i++) {
        plan_expressions_free(rule->by[i]);
        rule->by[i] = NULL;
    }
}

/* The caller frees, also on failure. */
static int make_expressions(struct calls_rule *rule, struct sprof_error *error)
{
    int result = rule->rule.function
                     ? plan_expressions_make(&rule->functions, &rule->rule.function, 1, error)
                     : 0;
    for (size_t i = 0; i < RULES_KEEP_EXPRESSIONS && !result; i++)
        if (rule->rule.expressions[i])
            result = plan_expressions_make(
                &rule->by[i], (const char *const *)&rule->rule.expressions[i], 1, error);
    return result;
}

static int check_expressions(const struct rules_keep *rule, struct sprof_error *error)
{
    struct calls_rule made = {.rule = *rule};
    const int result = make_expressions(&made, error);
    free_expressions(&made);
    return result;
}

static int matches_name(const struct calls_rule *rule, const struct plan_function *function,
                        struct sprof_error *error)
{
    const int result =
        rule->functions ? plan_expressions_match(rule->functions, function, error) : 1;
    return result > 0 && rule->by[RULES_KEEP_BY_CALL]
               ? plan_expressions_match(rule->by[RULES_KEEP_BY_CALL], function, error)
               : result;
}

/* Whether the function is the `below` of a rule. */
static int matches_above(const struct calls_rule *rule, const struct plan_function *function,
                         struct sprof_error *error)
{
    return rule->by[RULES_KEEP_BY_BELOW]
               ? plan_expressions_match(rule->by[RULES_KEEP_BY_BELOW], function, error)
               : 0;
}

int calls_keep_check(const struct trace_options *options, struct sprof_error *error)
{
    int result = 0;
    if (options->kept.rule_count > PROBE_KEEP_RULES)
        return refuse_more(options->kept.rule_count, error);
    for (size_t i = 0; i < options->kept.rule_count && !result; i++)
        result = check_expressions(&options->kept.rules[i], error);
    return result;
}

static int append(struct calls_trace *trace, const char *text, uint64_t from_ns,
                  struct sprof_error *error)
{
    struct calls_rule rule = {.text = strdup(text), .from_ns = from_ns};
    for (char *at = rule.text; at && *at; at++)
        *at = *at == '\t' || *at == '\n' ? ' ' : *at; /* for tables */
    int result =
        rule.text ? rules_keep_parse(&rule.rule, rule.text, error) : sprof_error_memory(error);
    if (!result)
        result = make_expressions(&rule, error);
    if (!result && sprof_vec_push(&trace->kept.rules, rule))
        result = sprof_error_memory(error);
    if (!result)
        return 0;
    free_expressions(&rule);
    rules_keep_release(&rule.rule);
    free(rule.text);
    return result;
}

int calls_keep_open(struct calls_trace *trace, const struct trace_options *options,
                    struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < options->kept.rule_count && !result; i++)
        result = append(trace, options->kept.rules[i].text, 0, error);
    return result;
}

void calls_keep_release(struct calls_trace *trace)
{
    for (size_t i = 0; i < trace->kept.rules.count; i++) {
        free_expressions(&trace->kept.rules.items[i]);
        rules_keep_release(&trace->kept.rules.items[i].rule);
        free(trace->kept.rules.items[i].text);
    }
    sprof_vec_release(&trace->kept.rules);
    sprof_arena_release(&trace->kept.names);
}

/* == For the agent == */

static void allow_none(struct calls_program *program)
{
    struct probe_shared *shared = program->process.shared;
    for (uint32_t i = 0; i <= program->capacity; i++)
        atomic_store_explicit(&shared->keep_of.quick[i].least, INT64_MAX, memory_order_relaxed);
}

void calls_keep_make(struct calls_program *program)
{
    if (calls_keeps(program))
        allow_none(program);
}

static int64_t ticks_of(const struct calls_program *program, bool has, uint64_t ns)
{
    return has && ns ? (int64_t)ceil((double)ns / program->all->clock.tick_ns) : INT64_MIN;
}

/* Rounds a number that no single equals toward `inside`, into the range. */
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

static void write_tests(struct probe_keep_rule *to, const struct rules_keep *rule)
{
    to->test_count = rule->test_count;
    for (uint32_t i = 0; i < rule->test_count; i++) {
        const struct rules_keep_test *test = &rule->tests[i];
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

/* Whether it needs data from a call's start. */
static bool needs_beginning(const struct rules_keep *rule)
{
    bool tests = rule->late_count > 0 || rule->expressions[RULES_KEEP_BY_CLASS];
    for (uint32_t i = 0; i < rule->test_count; i++)
        tests |= rule->tests[i].name != NULL;
    return tests;
}

/* Whether a program has kept the call for which `sprof ctl keep-next RE` has asked, or has it in a
 * ring. Programs can write `resting`: it counts only until their rings are read. */
static bool has_next(const struct calls_program *program, size_t i)
{
    const struct calls_rule *rule = &program->all->kept.rules.items[i];
    bool has = rule->is_answered;
    for (size_t p = 0; rule->asked_ticks && p < program->all->programs.count; p++) {
        const struct calls_program *other = calls_program_at(program->all, p);
        const struct probe_shared *shared = other->process.shared; /* NULL: not yet set up */
        has |= shared && (atomic_load(&shared->keep.resting) & ~other->kept.rested) >> i & 1;
    }
    return rule->asked_ticks && has;
}

/* The agent saves arguments for a late rule only after `since` is written. */
static void write_rule(struct calls_program *program, size_t i, bool is_late)
{
    const struct rules_keep *rule = &program->all->kept.rules.items[i].rule;
    struct probe_keep *keep = &program->process.shared->keep;
    const bool counts = !rules_keep_is_late(rule); /* otherwise the tracer counts */
    keep->second_ticks = (uint64_t)(1e9 / program->all->clock.tick_ns);
    keep->rules[i] = (struct probe_keep_rule){
        .over = ticks_of(program, rule->has_over, rule->over_ns),
        .self = ticks_of(program, rule->has_self, rule->self_ns),
        .every = counts ? rule->every : 0,
        .first = counts ? rule->first : 0,
        .throws = rule->throws,
        .slowest = (uint32_t)rule->slowest,
        .next = counts ? rule->next : 0,
        .waits = rule->waits,
        .rests_by_load = rule->load != RULES_LOAD_ANY,
        .since = rule->waits || (is_late && (needs_beginning(rule) || rule->next)) ? UINT64_MAX : 0,
    };
    write_tests(&keep->rules[i], rule);
    if (rule->expressions[RULES_KEEP_BY_BELOW])
        atomic_fetch_or(&program->process.shared->keep_within.rules, UINT64_C(1) << i);
    if (rule->load || rule->waits || has_next(program, i))
        atomic_fetch_or(&keep->resting, UINT64_C(1) << i);
}

static bool may_apply(const struct probing_probe *probe)
{
    return probe->is_chosen || probe->is_spare;
}

static int set_function(struct calls_program *program, uint32_t function, struct sprof_error *error)
{
    const struct plan_function *named = program->probes.items[function].function;
    uint64_t mask = 0, above = 0;
    for (size_t i = 0; i < program->all->kept.rules.count; i++) {
        const struct calls_rule *rule = &program->all->kept.rules.items[i];
        const bool is_on = calls_keep_is_on(program, i);
        const int found = is_on ? matches_name(rule, named, error) : 0,
                  is_above = is_on ? matches_above(rule, named, error) : 0;
        if (found < 0 || is_above < 0)
            return found < 0 ? found : is_above;
        mask |= (uint64_t)(found != 0) << i;
        above |= (uint64_t)(is_above != 0) << i;
    }
    atomic_store(&program->process.shared->keep_within.of[function], above);
    calls_keep_write(program, function, mask);
    return 0;
}

static int report_unfound(const struct calls_program *program, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < program->all->kept.rules.count && !result; i++) {
        const struct calls_rule *rule = &program->all->kept.rules.items[i];
        const struct {
            const char *option, *text;
            const struct plan_expressions *expressions;
        } each[] = {{"keep", rule->rule.function, rule->functions},
                    {"keep: call", rule->rule.expressions[RULES_KEEP_BY_CALL],
                     rule->by[RULES_KEEP_BY_CALL]},
                    {"keep: below", rule->rule.expressions[RULES_KEEP_BY_BELOW],
                     rule->by[RULES_KEEP_BY_BELOW]}};
        for (size_t k = 0; k < sizeof each / sizeof *each && !result; k++)
            if (each[k].text)
                result = probing_report_unfound(&program->probing, each[k].option, each[k].text,
                                                each[k].expressions, true, error);
    }
    return result;
}

int calls_keep_begin(struct calls_program *program, size_t first, struct sprof_error *error)
{
    const size_t count = program->all->kept.rules.count;
    int result = 0;
    calls_find_tick(program);
    for (size_t i = 0; i < count && !first; i++)
        write_rule(program, i, false);
    for (size_t i = first; i < program->probes.count && !result && count; i++)
        if (may_apply(&program->probes.items[i]))
            result = set_function(program, (uint32_t)i, error);
    if (!result && !first && !program->options.children && !probing_has_others(&program->probing))
        result = report_unfound(program, error);
    return result;
}

/* == Changes while a trace runs == */

/* Kept calls need the number in each open call. */
static int refuse_rules(const struct calls_program *program, struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    const char *reason =
        !program->way->has_agent    ? "by uprobes, which count calls without their callers"
        : options->all_points       ? "with --all-points, whose places are no calls"
        : program->points           ? "with call points, which are no calls"
        : options->max_overhead > 0 ? "with --max-overhead, which leaves some calls without times"
        : program->mode == TRACE_COVERAGE
            ? "in mode coverage, which sees only first calls: run `sprof ctl mode stats` before"
        : program->log.has_rings && !calls_keeps(program)
            ? "that began to log without a rule: give the first rule at its start (`sprof trace "
              "--mode log --keep RULE`)"
            : NULL;
    return reason
               ? sprof_error_set(error, SPROF_EUSAGE, 0, "no calls are kept in a trace %s", reason)
               : 0;
}

struct found {
    size_t functions, above; /* of the rule; of `below` */
};

static int add_to(struct calls_program *program, size_t i, struct found *found,
                  struct sprof_error *error)
{
    struct probe_shared *shared = program->process.shared;
    const struct calls_rule *rule = &program->all->kept.rules.items[i];
    const uint64_t bit = UINT64_C(1) << i;
    int result = 0;
    write_rule(program, i, true);
    for (size_t f = 0; f < program->probes.count && !result; f++) {
        const struct probing_probe *probe = &program->probes.items[f];
        const int is_above = may_apply(probe) ? matches_above(rule, probe->function, error) : 0,
                  matches = may_apply(probe) ? matches_name(rule, probe->function, error) : 0;
        result = matches < 0 ? matches : is_above < 0 ? is_above : 0;
        if (is_above > 0) {
            found->above += probing_may_be_chosen(&program->probing, probe);
            atomic_fetch_or(&shared->keep_within.of[f], bit);
        }
        if (matches > 0) {
            found->functions += probing_may_be_chosen(&program->probing, probe);
            calls_keep_write(program, (uint32_t)f, atomic_load(&shared->keep_of.masks[f]) | bit);
        }
    }
    if (!result)
        result = calls_values_add(program, (uint32_t)i, error);
    program->kept.tested[i] = calls_keep_count_tested(program, bit);
    calls_set_extras(program);
    if (shared->keep.rules[i].since && !rule->rule.waits)
        shared->keep.rules[i].since = probe_ticks();
    return result;
}

static void end_rule(struct calls_program *common, size_t i)
{
    struct calls_rule *rule = &common->all->kept.rules.items[i];
    rule->is_over = true;
    rule->to_ns = sprof_clock_monotonic_ns() - common->run->start_monotonic_ns;
    for (size_t p = 0; p < common->all->programs.count; p++) {
        struct calls_program *program = calls_program_at(common->all, p);
        calls_keep_read(program);
        for (size_t f = 0; f < program->probes.count; f++) {
            const uint64_t mask = atomic_load(&program->process.shared->keep_of.masks[f]);
            if (mask >> i & 1)
                calls_keep_write(program, (uint32_t)f, mask & ~(UINT64_C(1) << i));
            atomic_fetch_and(&program->process.shared->keep_within.of[f], ~(UINT64_C(1) << i));
        }
    }
}

static int refuse_expression(const struct calls_program *common, const char *expression,
                             const char *what, struct sprof_error *error)
{
    struct sprof_suggestions near = {0};
    struct sprof_str text = {0};
    for (size_t p = 0; p < common->all->programs.count; p++) {
        const struct calls_program *program = calls_program_at(common->all, p);
        for (size_t f = 0; f < program->probes.count; f++)
            if (probing_may_be_chosen(&program->probing, &program->probes.items[f]))
                sprof_suggest_offer(&near, expression, program->probes.items[f].function->name);
    }
    sprof_suggest_append(&text, &near);
    const int result = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                       "%s'%.200s' finds none of the functions that have probes, "
                                       "so the rule is dropped%s",
                                       what, expression, text.text ? text.text : "");
    sprof_str_release(&text);
    return result;
}

static int refuse_useless(const struct calls_program *program, size_t i, const struct found *found,
                          struct sprof_error *error)
{
    const struct rules_keep *rule = &program->all->kept.rules.items[i].rule;
    const char *const below = rule->expressions[RULES_KEEP_BY_BELOW];
    const char *const call =
        rule->function ? rule->function : rule->expressions[RULES_KEEP_BY_CALL];
    /* A drill-down finds values once functions have probes. */
    const bool is_bound = !calls_values_needs(rule) || program->options.drill.adaptive ||
                          program->all->kept.bound >> i & 1;
    if (program->all->may_grow)
        return 0;
    if (!found->functions)
        return refuse_expression(program, call ? call : "", "", error);
    if (below && !found->above)
        return refuse_expression(program, below, "below: ", error);
    return is_bound ? 0
                    : sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                      "by debug information none of these functions %s, so the "
                                      "rule is dropped: %.200s",
                                      calls_values_lack(rule), rule->text);
}

static int add_rule(struct calls_program *program, const char *text, struct sprof_str *answer,
                    struct sprof_error *error)
{
    const size_t i = program->all->kept.rules.count;
    struct found found = {0};
    int result = refuse_rules(program, error);
    if (!result && i == PROBE_KEEP_RULES)
        result = refuse_more(i + 1, error);
    if (!result && !i)
        for (size_t p = 0; p < program->all->programs.count; p++)
            allow_none(calls_program_at(program->all, p));
    if (!result)
        result = append(program->all, text,
                        sprof_clock_monotonic_ns() - program->run->start_monotonic_ns, error);
    if (result)
        return result;
    for (size_t p = 0; p < program->all->programs.count && !result; p++)
        result = add_to(calls_program_at(program->all, p), i, &found, error);
    if (!result)
        result = refuse_useless(program, i, &found, error);
    if (result)
        end_rule(program, i);
    else
        sprof_str_appendf(answer, "rule %zu holds for %zu function%s", i + 1, found.functions,
                          sprof_plural(found.functions));
    return result;
}

/* Finds "#3" or a text. Returns rules.count if there is none. */
static size_t find_rule(const struct calls_program *program, const char *named)
{
    const struct calls_kept *kept = &program->all->kept;
    char *end = NULL;
    const unsigned long number = *named == '#' ? strtoul(named + 1, &end, 10) : 0;
    if (end)
        return !*end && number && number <= kept->rules.count ? number - 1 : kept->rules.count;
    for (size_t i = 0; i < kept->rules.count; i++)
        if (!kept->rules.items[i].is_over && !strcmp(kept->rules.items[i].text, named))
            return i;
    return kept->rules.count;
}

static int take_back(struct calls_program *program, const char *named, struct sprof_str *answer,
                     struct sprof_error *error)
{
    const size_t i = find_rule(program, named), count = program->all->kept.rules.count;
    if (i == count || program->all->kept.rules.items[i].is_over)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               i == count ? "there is no rule %.200s: `sprof ctl keep` lists them"
                                          : "rule %.200s is over: `sprof ctl keep` lists them",
                               named);
    end_rule(program, i);
    sprof_str_appendf(answer, "rule %zu is over; it has kept %s call%s", i + 1,
                      sprof_digits_of(program->all->kept.fired[i]).text,
                      sprof_plural(program->all->kept.fired[i]));
    return 0;
}

static bool waits(const struct calls_program *program, size_t i)
{
    bool does = program->all->kept.rules.items[i].rule.waits;
    for (size_t p = 0; p < program->all->programs.count; p++) {
        const struct probe_shared *shared = calls_program_at(program->all, p)->process.shared;
        does &= !shared || atomic_load(&shared->keep.resting) >> i & 1;
    }
    return does;
}

static int list_rules(struct calls_program *program, struct sprof_str *answer)
{
    const struct calls_kept *kept = &program->all->kept;
    for (size_t p = 0; p < program->all->programs.count; p++)
        calls_keep_read(calls_program_at(program->all, p));
    sprof_str_append(answer, "number#\tstate\tsince#\ttested#\tmet#\tkept#\tdropped#\trule\n");
    for (size_t i = 0; i < kept->rules.count; i++)
        sprof_str_appendf(answer, "%zu\t%s\t%.1f\t%llu\t%llu\t%llu\t%llu\t%s\n", i + 1,
                          kept->rules.items[i].is_over ? "over"
                          : waits(program, i)          ? "waits"
                                                       : "on",
                          (double)kept->rules.items[i].from_ns / 1e9,
                          (unsigned long long)kept->tested[i], (unsigned long long)kept->fired[i],
                          (unsigned long long)(kept->fired[i] - kept->dropped[i]),
                          (unsigned long long)kept->dropped[i], kept->rules.items[i].text);
    return 0;
}

static void take_next(struct calls_program *program, size_t i)
{
    const uint64_t bit = UINT64_C(1) << i;
    for (size_t p = 0; p < program->all->programs.count; p++) {
        struct calls_program *other = calls_program_at(program->all, p);
        other->kept.rested &= ~bit;
        probe_keep_take_next(other->process.shared, bit);
    }
}

static int take_waiting(struct calls_program *program, struct sprof_str *answer,
                        struct sprof_error *error)
{
    const struct calls_kept *kept = &program->all->kept;
    size_t count = 0;
    for (size_t i = 0; i < kept->rules.count; i++) {
        if (!kept->rules.items[i].rule.waits || kept->rules.items[i].is_over)
            continue;
        take_next(program, i);
        count++;
    }
    if (!count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "no rule waits: begin with --keep 'next : RE', or say of which "
                               "functions: `sprof ctl keep-next '^handle_'`");
    sprof_str_appendf(answer, "%zu rule%s take%s the next call", count, sprof_plural(count),
                      count == 1 ? "s" : "");
    return 0;
}

int calls_keep_next(struct calls_program *program, const char *function, struct sprof_str *answer,
                    struct sprof_error *error)
{
    struct sprof_str rule = {0};
    const char *quote = strstr(function, " while ") ? "\"" : "";
    if (!*function)
        return take_waiting(program, answer, error);
    sprof_str_appendf(&rule, "next 1 : %s%s%s", quote, function, quote);
    if (rule.failed)
        return sprof_error_memory(error);
    const size_t i = find_rule(program, rule.text);
    const uint64_t now = probe_ticks();
    int result = 0;
    if (i == program->all->kept.rules.count) {
        result = add_rule(program, rule.text, answer, error);
    } else {
        take_next(program, i);
        sprof_str_appendf(answer, "rule %zu takes the next call", i + 1);
    }
    if (!result) {
        program->all->kept.rules.items[i].asked_ticks = now;
        program->all->kept.rules.items[i].is_answered = false;
    }
    sprof_str_release(&rule);
    return result;
}

int calls_keep_change(struct calls_program *program, const char *change, struct sprof_str *answer,
                      struct sprof_error *error)
{
    return *change == '-' ? take_back(program, change + 1, answer, error)
           : *change      ? add_rule(program, change + (*change == '+'), answer, error)
                          : list_rules(program, answer);
}
