/* Finds functions whose values are recorded or tested. */
#include "calls/values.h"
#include "calls/keep_late.h"
#include "calls/keep_quick.h"
#include "calls/keep_requests.h"
#include "plan/expressions.h"
#include "probing/probing.h"

#include "calls/program.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_A_SECOND = 20000 };

/* == Tests == */

/* Accepts "arg2", too. Returns `count` if there is none. */
static uint32_t parameter_of(const struct calls_noted *noted, const struct rules_keep_test *test)
{
    const struct symbolize_signature *signature = &noted->signature;
    const uint32_t count = noted->is_known ? signature->count : PROBE_WORDS;
    uint32_t found = count;
    for (uint32_t i = 0; i < count && found == count; i++) {
        const char *name = noted->is_known ? signature->parameters[i].name : NULL;
        if (name && strlen(name) == test->name_length &&
            !memcmp(name, test->name, test->name_length))
            found = i;
    }
    if (found == count && test->name_length == 4 && !memcmp(test->name, "arg", 3) &&
        test->name[3] >= '1' && test->name[3] - '1' < (int)count)
        found = (uint32_t)(test->name[3] - '1');
    return found;
}

/* Returns false if the value is missing or was optimized away. */
static bool find_binding(const struct calls_noted *noted, const struct rules_keep_test *test,
                         struct probe_binding *binding)
{
    static const struct symbolize_type word = {.kind = SYMBOLIZE_SIGNED, .bytes = 8, .name = ""};
    const struct symbolize_signature *signature = &noted->signature;
    const uint32_t count = noted->is_known ? signature->count : PROBE_WORDS,
                   at = test->name ? parameter_of(noted, test) : SYMBOLIZE_PARAMETERS;
    if (rules_keep_is_errno(test)) {
        binding->word = PROBE_WORD_ERROR;
        binding->number = PROBE_SIGNED;
        binding->bytes = 4;
        return true;
    }
    if (test->name ? at == count : !noted->is_known)
        return false;
    const struct symbolize_value *value =
        test->name ? &signature->parameters[at] : &signature->result;
    const struct symbolize_type *type = noted->is_known ? value->type : &word;
    if (type->kind == SYMBOLIZE_REFERENCE)
        return false; /* only `*name` can be tested */
    binding->word = noted->is_known ? noted->words[at][0] : (uint8_t)at;
    binding->number = calls_values_number(type);
    binding->bytes = (uint8_t)type->bytes;
    return binding->word != CALLS_NO_WORD && binding->number &&
           !(noted->is_known && (value->is_by_address || value->is_constant));
}

bool calls_values_bind(struct calls_noted *noted, const struct rules_keep *rule, uint32_t number)
{
    const uint32_t before = noted->binding_count;
    for (uint32_t i = 0; i < rule->test_count; i++) {
        struct probe_binding binding = {.rule = (uint8_t)number, .test = (uint8_t)i};
        if (noted->binding_count == PROBE_BINDINGS ||
            !find_binding(noted, &rule->tests[i], &binding)) {
            noted->binding_count = before;
            return false;
        }
        noted->bindings[noted->binding_count++] = binding;
    }
    return true;
}

/* == Functions == */

bool calls_values_needs(const struct rules_keep *rule)
{
    return rule->test_count || rule->late_count || rule->expressions[RULES_KEEP_BY_CLASS];
}

const char *calls_values_lack(const struct rules_keep *rule)
{
    return rule->late_count                          ? "has all these values"
           : !rule->expressions[RULES_KEEP_BY_CLASS] ? "has all these values as numbers"
           : rule->test_count ? "is of such a class and has all these values as numbers"
                              : "is a method of such a class, or of one that derives from it";
}

static uint64_t tested_by(const struct calls_program *program, uint32_t function)
{
    const struct calls_kept *kept = &program->all->kept;
    uint64_t rules = 0;
    for (size_t i = 0; i < kept->rules.count; i++)
        if (calls_values_needs(&kept->rules.items[i].rule) && !kept->rules.items[i].is_over)
            rules |= UINT64_C(1) << i;
    return rules ? rules & atomic_load(&program->process.shared->keep_of.masks[function]) : 0;
}

static void offer_parameters(struct calls_program *program, const struct calls_noted *noted,
                             const struct rules_keep_test *test, uint32_t number)
{
    char wanted[128]; /* longer ones are near nothing */
    if (test->name_length >= sizeof wanted)
        return;
    memcpy(wanted, test->name, test->name_length);
    wanted[test->name_length] = '\0';
    for (uint32_t i = 0; i < noted->signature.count; i++)
        if (noted->signature.parameters[i].name)
            calls_late_offer(program, number, wanted, noted->signature.parameters[i].name);
}

/* Records that references need a `*`, and names like that of a missing parameter. */
static void note_problems(struct calls_program *program, uint32_t function,
                          const struct calls_noted *noted, const struct rules_keep *rule,
                          uint32_t number)
{
    for (uint32_t i = 0; i < rule->test_count && noted->is_known; i++) {
        const uint32_t at =
            rule->tests[i].name ? parameter_of(noted, &rule->tests[i]) : noted->signature.count;
        if (rule->tests[i].name && at == noted->signature.count)
            offer_parameters(program, noted, &rule->tests[i], number);
        if (at < noted->signature.count &&
            noted->signature.parameters[at].type->kind == SYMBOLIZE_REFERENCE)
            program->values.unmet[number] =
                (struct calls_unmet){"it is a reference: a * before it means what it refers to",
                                     rule->tests[i].name, program->probes.items[function].function};
    }
}

/* `unmet`: rules that no call of the function can meet. Nor can those for which it has no values.
 */
static uint64_t bind_rules(struct calls_program *program, uint32_t function, uint64_t unmet,
                           struct calls_noted *noted)
{
    uint64_t bound = 0;
    for (uint64_t rules = tested_by(program, function) & ~unmet; rules; rules &= rules - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(rules);
        const struct rules_keep *rule = &program->all->kept.rules.items[number].rule;
        if (calls_values_bind(noted, rule, number))
            bound |= UINT64_C(1) << number;
        else
            note_problems(program, function, noted, rule, number);
    }
    atomic_fetch_and(&program->process.shared->keep_of.masks[function], ~unmet);
    return bound;
}

static bool needs_words(const struct calls_noted *noted)
{
    bool needs = !noted->is_hidden;
    for (uint32_t i = 0; i < noted->binding_count; i++)
        needs |= noted->bindings[i].word < PROBE_WORDS;
    return needs;
}

/* Writes for the agent what is noted. Returns 0, SPROF_ENOTFOUND where its room is used up, or
 * SPROF_ENOMEM. */
static int write_values(struct calls_program *program, uint32_t function,
                        const struct calls_noted *noted)
{
    struct probe_shared *shared = program->process.shared;
    struct calls_values *values = &program->values;
    const uint64_t at = values->used ? values->used : 1;
    struct probe_values *to = (struct probe_values *)&shared->keep.values[at];
    struct probe_piece *pieces = (struct probe_piece *)(to + 1);
    const uint64_t end =
        at + sizeof *to / sizeof *pieces + noted->piece_count + noted->binding_count;
    if (end > PROBE_VALUE_ROOM - PROBE_PIECES - PROBE_BINDINGS)
        return SPROF_ENOTFOUND;
    if (sprof_vec_push(&values->places, ((struct calls_noted_place){at, noted})))
        return SPROF_ENOMEM;
    memcpy(to->words, noted->from, sizeof to->words);
    to->pieces = (uint8_t)noted->piece_count;
    for (uint32_t i = 0; i < noted->piece_count; i++)
        pieces[i] = noted->pieces[i].piece;
    to->bindings = (uint8_t)noted->binding_count;
    to->early = (uint8_t)noted->early_count;
    memcpy(pieces + noted->piece_count, noted->bindings,
           noted->binding_count * sizeof *noted->bindings);
    values->used = end;
    const bool has_words = needs_words(noted);
    atomic_store(
        &shared->keep_of.values[function],
        (uint32_t)at | (noted->request ? PROBE_VALUES_REQUEST : 0) |
            ((noted->is_chosen && has_words) || noted->early_count ? PROBE_VALUES_CHOSEN : 0) |
            (has_words ? PROBE_VALUES_WORDS : 0) | (noted->is_hidden ? PROBE_VALUES_HIDDEN : 0));
    return 0;
}

/* What the agent goes on to note where it has no room for what would be. */
static const struct calls_noted *written_now(const struct calls_program *program, uint32_t function)
{
    const uint32_t place =
        atomic_load(&program->process.shared->keep_of.values[function]) & PROBE_VALUES_PLACE;
    return place ? calls_values_noted(&program->values, function, place) : NULL;
}

struct shown {
    struct plan_expressions *arguments; /* NULL: all or none */
    struct calls_capture_expressions captures;
};

static int open_shown(const struct trace_options *options, struct shown *shown,
                      struct sprof_error *error)
{
    *shown = (struct shown){0};
    const int result =
        options->kept.arguments && options->kept.arguments_of
            ? plan_expressions_make(&shown->arguments, &options->kept.arguments_of, 1, error)
            : 0;
    return result ? result : calls_captures_open(options, &shown->captures, error);
}

static void close_shown(struct shown *shown)
{
    plan_expressions_free(shown->arguments);
    calls_captures_close(&shown->captures);
}

struct finding {
    struct calls_program *program;
    uint64_t rules;  /* whose functions are wanted */
    bool added_only; /* functions that were added */
    SPROF_VEC(uint64_t) starts;
    SPROF_VEC(uint32_t) functions;
    SPROF_VEC(uint32_t) captures;
    SPROF_VEC(struct symbolize_paths) paths;
};

static bool is_request(const struct calls_program *program, uint32_t function)
{
    return calls_requests_by_value(&program->options) && calls_requests_is(program, function);
}

/* Lists the paths of captures and rules, unless `list` is NULL. Returns their count, which is the
 * number of the path of a request. */
static uint32_t request_path(const struct calls_program *program, uint32_t function,
                             uint32_t captures, const struct symbolize_path **list)
{
    const struct symbolize_path *scratch[CALLS_CAPTURED_MOST], **to = list ? list : scratch;
    const uint32_t count = calls_captures_paths(program, captures, to);
    return calls_late_paths(program, calls_late_rules(program, tested_by(program, function)), to,
                            count);
}

static int note(struct calls_program *program, uint32_t function, uint32_t captures,
                const struct symbolize_signature *signature)
{
    const struct probing_probe *probe = &program->probes.items[function];
    struct calls_noted *noted = sprof_arena_alloc(&program->arena, sizeof *noted);
    uint64_t unmet = 0;
    if (!noted)
        return SPROF_ENOMEM;
    *noted = (struct calls_noted){.function = function,
                                  .is_known = signature != NULL,
                                  .has_arguments = !program->values.hides.items[function],
                                  .text_bytes = (uint16_t)program->options.kept.text_bytes,
                                  .bias = program->files.items[probe->file].bias};
    noted->has_both = program->options.kept.arguments_both && noted->has_arguments;
    program->all->kept.has_described |= signature != NULL;
    if (signature) {
        noted->signature = *signature;
        calls_values_plan_words(noted);
        calls_captures_note(program, captures, probe->function, signature, noted);
    }
    if (calls_late_note(program, tested_by(program, function), captures, probe->function, signature,
                        noted, &unmet))
        return SPROF_ENOMEM;
    if (signature && is_request(program, function))
        calls_captures_note_request(program, request_path(program, function, captures, NULL),
                                    probe->function, signature, noted);
    noted->is_hidden = !noted->has_arguments && !noted->captured_count && !noted->has_result;
    if (signature) {
        calls_values_plan(noted);
    } else {
        for (uint8_t i = 0; i < PROBE_WORDS; i++)
            noted->from[i] = (uint8_t)(PROBE_WORD_INTEGER + i);
    }
    program->values.noted.items[function] = NULL;
    if (noted->has_arguments || noted->captured_count || noted->late_count ||
        tested_by(program, function) & ~unmet) {
        const uint64_t bound = bind_rules(program, function, unmet, noted);
        const int result = write_values(program, function, noted);
        if (result == SPROF_ENOMEM)
            return result;
        program->values.is_full |= result != 0;
        program->all->kept.bound |= bound; /* the function has the values, though none are noted */
        program->values.noted.items[function] = result ? written_now(program, function) : noted;
        unmet = 0;
    }
    calls_keep_write(program, function,
                     atomic_load(&program->process.shared->keep_of.masks[function]) & ~unmet);
    return 0;
}

static int found(void *context, size_t index, const struct symbolize_signature *signature)
{
    const struct finding *finding = context;
    return note(finding->program, finding->functions.items[index], finding->captures.items[index],
                signature);
}

/* Probes of a file are ordered by address. */
static int find_in_file(struct finding *finding, const struct probing_file *file)
{
    struct calls_program *program = finding->program;
    struct image_request request;
    struct image *image;
    int result = 0;
    if (!finding->starts.count)
        return 0;
    if (plan_request_find(&request, program->process.pid, file->identity, file->path))
        return SPROF_ENOMEM;
    if (!image_open(&image, &request, NULL)) {
        result = symbolize_signatures(image, NULL, finding->starts.items, finding->starts.count,
                                      finding->paths.items, &program->arena, found, finding);
        image_free(image);
    }
    for (size_t i = 0; i < finding->functions.count && !result; i++)
        if (!program->values.noted.items[finding->functions.items[i]])
            result = note(program, finding->functions.items[i], 0, NULL);
    finding->starts.count = finding->functions.count = finding->captures.count =
        finding->paths.count = 0;
    return result;
}

/* *hides: arguments are not shown. */
static int wants(const struct calls_program *program, uint32_t function,
                 const struct shown *expressions, bool *hides, uint32_t *captures,
                 struct sprof_error *error)
{
    const struct probing_probe *probe = &program->probes.items[function];
    *hides = false;
    *captures = 0;
    if (!probe->is_chosen || probe->is_unplaced || !probe->function)
        return 0;
    const int shown = !program->options.kept.arguments ? 0
                      : expressions->arguments
                          ? plan_expressions_match(expressions->arguments, probe->function, error)
                          : 1;
    const int result =
        calls_captures_of(program, &expressions->captures, probe->function, captures, error);
    *hides = !shown;
    return shown < 0 || result < 0 ? SPROF_ENOMEM
                                   : shown || *captures || is_request(program, function) ||
                                         tested_by(program, function) != 0;
}

static int want(struct finding *finding, uint32_t function, uint32_t captures)
{
    struct calls_program *program = finding->program;
    struct symbolize_paths paths = {0};
    program->values.noted.items[function] = NULL;
    const bool names_request = is_request(program, function);
    const uint64_t tested = tested_by(program, function), rules = calls_late_rules(program, tested);
    program->all->kept.looked_up |= tested;
    if (captures || rules || names_request) {
        const struct symbolize_path **list =
            sprof_arena_alloc(&program->arena, CALLS_CAPTURED_MOST * sizeof *list);
        if (!list)
            return SPROF_ENOMEM;
        paths = (struct symbolize_paths){list, request_path(program, function, captures, list)};
        if (names_request && paths.count < CALLS_CAPTURED_MOST)
            list[paths.count++] = &program->options.kept.requests_of->paths[0];
    }
    return sprof_vec_push(&finding->starts, program->probes.items[function].function->start) ||
                   sprof_vec_push(&finding->functions, function) ||
                   sprof_vec_push(&finding->captures, captures) ||
                   sprof_vec_push(&finding->paths, paths)
               ? SPROF_ENOMEM
               : 0;
}

static int find_wanted(struct finding *finding, size_t first, const struct shown *expressions,
                       struct sprof_error *error)
{
    struct calls_program *program = finding->program;
    int result = 0;
    for (size_t i = first; i < program->probes.count && !result; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        const bool is_meant = !finding->added_only || probe->is_added;
        bool *hides = &program->values.hides.items[i];
        const uint64_t rules = atomic_load(&program->process.shared->keep_of.masks[i]);
        uint32_t captures = 0;
        const int wanted = is_meant && (finding->rules == UINT64_MAX || rules & finding->rules)
                               ? wants(program, (uint32_t)i, expressions, hides, &captures, error)
                               : 0;
        if (wanted < 0 || (wanted && want(finding, (uint32_t)i, captures)))
            return SPROF_ENOMEM;
        probe->is_added &= !is_meant;
        if (i + 1 == program->probes.count || program->probes.items[i + 1].file != probe->file)
            result = find_in_file(finding, &program->files.items[probe->file]);
    }
    return result;
}

bool calls_values_are_wanted(const struct calls_program *program)
{
    const struct calls_kept *kept = &program->all->kept;
    bool wanted = (program->options.kept.arguments || program->options.kept.capture_count ||
                   calls_requests_by_value(&program->options)) &&
                  kept->rules.count;
    for (size_t i = 0; i < kept->rules.count; i++)
        wanted |= calls_values_needs(&kept->rules.items[i].rule);
    return wanted;
}

static void report_unbound(const struct calls_program *program, size_t rule)
{
    const struct calls_rule *of = &program->all->kept.rules.items[rule];
    struct sprof_error error = {0};
    struct sprof_str near = {0};
    if (calls_late_explain(program, rule, &error)) {
        sprof_log_message(program->options.log, SPROF_LOG_WARNING, "%s", error.message);
        return;
    }
    sprof_suggest_append(&near, &program->all->kept.near[rule]);
    if (!program->all->kept.has_described && (of->rule.test_count || of->rule.late_count))
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "--keep '%s' keeps no call: no function has debug information, and rules "
                          "without it can test only arg1 to arg6 and errno",
                          of->text);
    else
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "--keep '%s' keeps no call: by debug information no function %s%s",
                          of->text, calls_values_lack(&of->rule), near.text ? near.text : "");
    sprof_str_release(&near);
}

/* Each rule that no function of those that `are_looked_up` can meet, once. */
static void report_all_unbound(const struct calls_program *program, uint64_t are_looked_up)
{
    struct calls_kept *kept = &program->all->kept;
    for (size_t i = 0; i < kept->rules.count; i++) {
        const uint64_t rule = UINT64_C(1) << i;
        if (!calls_values_needs(&kept->rules.items[i].rule) || kept->rules.items[i].is_over ||
            !(are_looked_up & rule) || (kept->bound | kept->unbound_told) & rule)
            continue;
        kept->unbound_told |= rule;
        report_unbound(program, i);
    }
}

void calls_values_end(const struct calls_program *program)
{
    report_all_unbound(program, program->all->kept.looked_up);
}

int calls_values_check(const struct trace_options *options, struct sprof_error *error)
{
    struct shown shown;
    const int result = open_shown(options, &shown, error);
    close_shown(&shown);
    return result;
}

/* Limits functions to those with one of `rules`. */
static int find_values(struct calls_program *program, size_t first, uint64_t rules, bool added_only,
                       struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    struct finding finding = {.program = program, .rules = rules, .added_only = added_only};
    struct shown expressions;
    calls_values_check_filter(program);
    if (!calls_values_are_wanted(program))
        return 0;
    int result = open_shown(options, &expressions, error);
    while (!result && program->values.noted.count < program->probes.count)
        if (sprof_vec_push(&program->values.noted, NULL) ||
            sprof_vec_push(&program->values.hides, false))
            result = SPROF_ENOMEM;
    if (!result)
        result = find_wanted(&finding, first, &expressions, error);
    if (program->values.is_full && !program->values.is_full_reported) {
        program->values.is_full_reported = true;
        sprof_log_message(options->log, SPROF_LOG_WARNING,
                          "the program's room for what is noted of values is used up: some "
                          "functions have none, and new rules on them keep no call");
    }
    const bool is_first = !first && rules == UINT64_MAX && !added_only && !options->children &&
                          !probing_has_others(&program->probing);
    if (!result && is_first && expressions.arguments)
        result = probing_report_unfound(&program->probing, "args", options->kept.arguments_of,
                                        expressions.arguments, false, error);
    if (!result && is_first) {
        if (!options->drill.adaptive) /* whose functions have probes later */
            report_all_unbound(program, UINT64_MAX);
        calls_captures_report(program);
    }
    close_shown(&expressions);
    sprof_vec_release(&finding.captures);
    sprof_vec_release(&finding.paths);
    sprof_vec_release(&finding.starts);
    sprof_vec_release(&finding.functions);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int calls_values_begin(struct calls_program *program, size_t first, struct sprof_error *error)
{
    return find_values(program, first, UINT64_MAX, false, error);
}

int calls_values_serve(struct calls_program *program)
{
    struct sprof_error error = {0};
    bool has_added = false;
    if (!calls_values_are_wanted(program))
        return 0;
    for (size_t i = 0; i < program->probes.count && !has_added; i++)
        has_added = program->probes.items[i].is_added;
    return has_added ? find_values(program, 0, UINT64_MAX, true, &error) : 0;
}

int calls_values_add(struct calls_program *program, uint32_t rule, struct sprof_error *error)
{
    const bool is_first = program->all->kept.rules.count == 1; /* now values are shown, too */
    if (!is_first && !calls_values_needs(&program->all->kept.rules.items[rule].rule))
        return 0;
    return find_values(program, 0, is_first ? UINT64_MAX : UINT64_C(1) << rule, false, error);
}

void calls_values_release(struct calls_values *values)
{
    sprof_vec_release(&values->noted);
    sprof_vec_release(&values->places);
    sprof_vec_release(&values->hides);
}

void calls_values_check_filter(struct calls_program *program)
{
    struct sprof_proc_status status;
    const uint32_t both = 2 * program->options.kept.text_bytes; /* two long texts a call */
    if (!program->all->kept.rules.count)
        return;
    program->process.shared->keep.pieces_bytes = both;
    const bool may = sprof_proc_status_read(program->process.pid, &status) && !status.has_seccomp &&
                     !atomic_load(&program->process.shared->keep.is_filtered);
    atomic_store(&program->process.shared->keep.pieces_most, may ? PIECES_A_SECOND : 0);
}
