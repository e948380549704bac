/* Evaluates rules by debug information and values of calls. The command can overwrite values, so
 * lengths are checked. */
#include "calls/keep_late.h"
#include "calls/program.h"
#include "names/names.h"
#include "plan/expressions.h"
#include "rules/rules.h"

#include <string.h>

static const struct rules_keep *rule_of(const struct calls_program *program, uint32_t number)
{
    return &program->all->kept.rules.items[number].rule;
}

/* == Paths == */

uint64_t calls_late_rules(const struct calls_program *program, uint64_t rules)
{
    uint64_t late = 0;
    for (uint64_t left = rules; left; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        late |= (uint64_t)(rule_of(program, number)->late_count != 0) << number;
    }
    return late;
}

uint32_t calls_late_paths(const struct calls_program *program, uint64_t rules,
                          const struct symbolize_path **list, uint32_t count)
{
    for (; rules; rules &= rules - 1) {
        const struct rules_keep *rule = rule_of(program, (uint32_t)__builtin_ctzll(rules));
        for (uint32_t i = 0; i < rule->late_count && count < CALLS_CAPTURED_MOST; i++)
            if (rule->late[i].path.name)
                list[count++] = &rule->late[i].path;
    }
    return count;
}

/* == Classes == */

/* Finds "store::Query" in "store::Query::run(int)". */
static size_t scope_length(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t scope = 0;
    int depth = 0;
    for (size_t i = 0; name[i]; i++) {
        if (!strncmp(name + i, anonymous, sizeof anonymous - 1))
            i += sizeof anonymous - 2;
        else if (!depth && name[i] == '(')
            break;
        depth += name[i] == '<' ? 1 : name[i] == '>' && depth ? -1 : 0;
        if (!depth && name[i] == ':' && name[i + 1] == ':')
            scope = i;
    }
    return scope;
}

static int matches(const struct plan_expressions *expressions, const char *class)
{
    const struct plan_function named = {.name = class};
    return class ? plan_expressions_match(expressions, &named, NULL) : SPROF_ENOMEM;
}

void calls_late_offer(struct calls_program *program, uint32_t number, const char *wanted,
                      const char *name)
{
    struct calls_kept *kept = &program->all->kept;
    struct sprof_suggestions *near = &kept->near[number];
    sprof_suggest_offer(near, wanted, name);
    for (size_t i = 0; i < near->count; i++)
        if (near->names[i] == name) {
            const char *copy = sprof_arena_copy(&kept->names, name, strlen(name));
            near->names[i] = copy ? copy : "";
        }
}

/* Also tests base classes. Without debug information, the scope of the name is the class. */
static int is_of_class(struct calls_program *program, uint32_t number,
                       const struct plan_function *function,
                       const struct symbolize_signature *signature)
{
    const struct plan_expressions *expressions =
        program->all->kept.rules.items[number].by[RULES_KEEP_BY_CLASS];
    const size_t scope = scope_length(function->name);
    const bool is_method = signature ? signature->class_count > 0 : scope > 0;
    int is = 0;
    if (!expressions)
        return 1;
    for (uint32_t i = 0; signature && i < signature->class_count && !is; i++) {
        is = matches(expressions, signature->classes[i]);
        calls_late_offer(program, number,
                         rule_of(program, number)->expressions[RULES_KEEP_BY_CLASS],
                         signature->classes[i]);
    }
    if (is || !is_method || !scope)
        return is;
    return matches(expressions, sprof_arena_copy(&program->arena, function->name, scope));
}

/* == Functions == */

/* What a late test needs that a function has not; NULL: it has all. */
static const char *problem_of(const struct rules_keep_late *late, const struct calls_noted *noted,
                              const struct symbolize_located *located)
{
    const struct symbolize_type *type = located ? located->type : noted->signature.result.type;
    const struct symbolize_type *to =
        type->to && (late->text || type->kind == SYMBOLIZE_REFERENCE) ? type->to : type;
    if (located && !calls_captured_has_words(noted, located))
        return "it is in none of the six words that are read of a call";
    if (late->has_changed)
        return calls_captured_is_word(located) && !type->to
                   ? "it is passed in registers, so it cannot change"
                   : NULL;
    if (late->text)
        return to->kind == SYMBOLIZE_STRING || to->kind == SYMBOLIZE_CHARACTERS ||
                       (to->kind == SYMBOLIZE_CHARACTER && to != type)
                   ? NULL
                   : "it is no text";
    return calls_values_number(to) ? NULL : "it is no integer of up to 8 bytes, float or double";
}

static void capture(struct calls_noted *noted, const char *name,
                    const struct symbolize_located *located, bool at_entry, bool is_pair)
{
    noted->captured[noted->captured_count++] =
        (struct calls_captured){.name = name,
                                .located = located,
                                .at_entry = at_entry,
                                .is_half = is_pair && at_entry,
                                .is_second = is_pair && !at_entry};
}

/* Makes "entry r->status". */
static const char *name_of(struct calls_program *program, const struct rules_keep_late *late)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%s%.*s", late->at_exit || late->has_changed ? "" : "entry ",
                      (int)late->path.length, late->path.text);
    const char *name = text.failed ? NULL : sprof_arena_text(&program->arena, text.text);
    sprof_str_release(&text);
    return name;
}

/* *unmet: why no call can meet the test. */
static int note_test(struct calls_program *program, uint32_t number, uint32_t test,
                     const struct symbolize_located *located, struct calls_noted *noted,
                     struct calls_unmet *unmet)
{
    const struct rules_keep_late *late = &rule_of(program, number)->late[test];
    const uint32_t needed = late->has_changed ? 2 : 1;
    const bool has_path = late->path.name != NULL;
    unmet->at = late->at;
    unmet->what = located && located->problem ? located->problem : NULL;
    if (unmet->what)
        unmet->at = located->problem_at;
    else if (noted->late_count == CALLS_CAPTURED_MOST ||
             (has_path && (!located || noted->captured_count + needed > CALLS_CAPTURED_MOST)))
        unmet->what = "it is one value more than the sixteen that are read of a call";
    else
        unmet->what = problem_of(late, noted, located);
    if (unmet->what)
        return 0;
    const char *name = has_path ? name_of(program, late) : "";
    if (!name)
        return SPROF_ENOMEM;
    if (has_path && (late->has_changed || !late->at_exit))
        capture(noted, name, located, true, late->has_changed);
    if (has_path && (late->has_changed || late->at_exit))
        capture(noted, name, located, false, late->has_changed);
    noted->has_result |= !has_path;
    noted->late[noted->late_count++] = (struct calls_noted_late){
        (uint8_t)number, (uint8_t)test,
        has_path ? (uint8_t)(noted->captured_count - 1) : (uint8_t)CALLS_RESULT};
    return 0;
}

int calls_late_note(struct calls_program *program, uint64_t rules, uint32_t captures,
                    const struct plan_function *function,
                    const struct symbolize_signature *signature, struct calls_noted *noted,
                    uint64_t *unmet)
{
    const struct symbolize_path *list[CALLS_CAPTURED_MOST];
    uint32_t at = calls_captures_paths(program, captures, list);
    *unmet = 0;
    for (; rules; rules &= rules - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(rules);
        const struct rules_keep *rule = rule_of(program, number);
        const int is_of = is_of_class(program, number, function, signature);
        if (is_of < 0)
            return SPROF_ENOMEM;
        bool can = is_of && (signature || !rule->late_count);
        for (uint32_t i = 0; i < rule->late_count && signature; i++) {
            const bool has_path = rule->late[i].path.name != NULL;
            const struct symbolize_located *located =
                has_path && at < signature->located_count ? &signature->located[at] : NULL;
            struct calls_unmet why = {.function = function};
            at += has_path;
            if (can && note_test(program, number, i, located, noted, &why))
                return SPROF_ENOMEM;
            if (can && why.what)
                program->values.unmet[number] = why;
            can &= !why.what;
        }
        *unmet |= (uint64_t)!can << number;
    }
    return 0;
}

int calls_late_explain(const struct calls_program *program, size_t rule, struct sprof_error *error)
{
    const struct calls_unmet *unmet = &program->values.unmet[rule];
    const char *text = rule_of(program, (uint32_t)rule)->text;
    char before[256];
    if (!unmet->what)
        return 0;
    snprintf(before, sizeof before, "--keep: no call meets the rule; in %.150s: ",
             names_screen_show(program->options.names, unmet->function->name));
    return rules_error_at(text, (size_t)(unmet->at - text), before, unmet->what, error);
}

/* == Values == */

enum answer { NO, YES, UNKNOWN };

static enum answer answer_of(bool is)
{
    return is ? YES : NO;
}

struct compared {
    const struct symbolize_type *type;
    const uint8_t *bytes; /* NULL: unknown */
    size_t length;
    bool is_cut; /* more bytes exist */
};

static struct compared piece_of(const struct calls_call_values *call, uint32_t value,
                                const struct symbolize_type *type)
{
    const uint32_t piece = calls_values_piece(call, value, CALLS_WHOLE);
    const bool is_there =
        piece < call->noted->piece_count && call->pieces[piece].length < PROBE_PIECE_ABSENT;
    return (struct compared){type, is_there ? call->pieces[piece].bytes : NULL,
                             is_there ? call->pieces[piece].length : 0,
                             is_there && call->pieces[piece].is_cut};
}

static struct compared word_of(const struct calls_call_values *call, uint32_t word, bool is_known,
                               const struct symbolize_type *type)
{
    const bool is_there = is_known && word < PROBE_WORDS_ALL;
    return (struct compared){type, is_there ? (const uint8_t *)&call->kept->words[word] : NULL,
                             is_there ? sizeof call->kept->words[word] : 0, false};
}

static struct compared captured_of(const struct calls_call_values *call, uint32_t captured,
                                   bool is_text)
{
    const struct symbolize_located *located = call->noted->captured[captured].located;
    const struct symbolize_type *type = located->type;
    const uint32_t value = CALLS_CAPTURED + 2 * captured;
    if (type->to && (is_text || type->kind == SYMBOLIZE_REFERENCE))
        return piece_of(call, value + 1, type->to);
    const bool is_word = calls_captured_is_word(located) && type->kind != SYMBOLIZE_STRING;
    return is_word ? word_of(call, call->noted->words[located->parameter][0], call->kept->has_words,
                             type)
                   : piece_of(call, value, type);
}

static struct compared result_of(const struct calls_call_values *call)
{
    const struct symbolize_value *result = &call->noted->signature.result;
    return piece_of(call, CALLS_RESULT,
                    result->is_by_address || !result->type->to ? result->type : result->type->to);
}

static enum answer is_text(const struct compared *value, const struct rules_keep_late *late)
{
    const size_t wanted = strlen(late->text);
    const size_t length = value->bytes && value->type->kind == SYMBOLIZE_CHARACTERS
                              ? strnlen((const char *)value->bytes, value->length)
                              : value->length;
    const size_t compared = length < wanted ? length : wanted;
    if (!value->bytes)
        return UNKNOWN;
    const bool begins = !memcmp(value->bytes, late->text, compared),
               is_cut = value->is_cut && length == value->length;
    if (is_cut && begins && length < wanted)
        return UNKNOWN;
    return answer_of((begins && length == wanted && !is_cut) != late->range.is_outside);
}

static bool is_real_in(double value, const struct rules_keep_test *range)
{
    return value >= range->low_real && value <= range->high_real;
}

static enum answer is_number(const struct compared *value, const struct rules_keep_late *late)
{
    const struct rules_keep_test *range = &late->range;
    const struct symbolize_type *type = value->type;
    uint64_t word = 0;
    float single;
    double real;
    if (!value->bytes || !type->bytes || type->bytes > 8 || type->bytes > value->length)
        return UNKNOWN;
    memcpy(&word, value->bytes, type->bytes);
    memcpy(&single, value->bytes, type->bytes < 4 ? type->bytes : sizeof single);
    memcpy(&real, &word, sizeof real);
    const unsigned unused = 64 - 8 * type->bytes;
    const int64_t number = (int64_t)(word << unused) >> unused;
    bool is;
    switch (calls_values_number(type)) {
    case PROBE_SINGLE: is = is_real_in((double)single, range); break;
    case PROBE_DOUBLE: is = is_real_in(real, range); break;
    case PROBE_SIGNED: is = number >= range->low && number <= range->high; break;
    case PROBE_UNSIGNED:
        is = word > INT64_MAX ? range->high == INT64_MAX
                              : (int64_t)word >= range->low && (int64_t)word <= range->high;
        break;
    default: return UNKNOWN;
    }
    return answer_of(is != range->is_outside);
}

/* Whether a piece of memory is another one when the call ends. */
static enum answer is_other(const struct calls_call_values *call, uint32_t before, uint32_t after)
{
    const uint16_t length = call->pieces[before].length, length_after = call->pieces[after].length;
    if (length >= PROBE_PIECE_ABSENT || length_after >= PROBE_PIECE_ABSENT)
        return length == PROBE_PIECE_UNREADABLE && length_after == length ? NO : UNKNOWN;
    if (memcmp(call->pieces[before].bytes, call->pieces[after].bytes,
               length < length_after ? length : length_after))
        return YES;
    return call->pieces[before].is_cut || call->pieces[after].is_cut
               ? UNKNOWN
               : answer_of(length != length_after);
}

/* Compares what was copied of a value when the call began and, as the captured value behind it,
 * when the call ended. */
static enum answer has_changed(const struct calls_call_values *call, uint32_t second)
{
    const struct calls_noted *noted = call->noted;
    const uint32_t first = CALLS_CAPTURED + 2 * (second - 1);
    enum answer all = UNKNOWN;
    bool is_unsure = !call->kept->has_words;
    for (uint32_t i = 0; i < noted->piece_count && all != YES; i++) {
        const uint32_t value = noted->pieces[i].value;
        if (value != first && value != first + 1)
            continue;
        const uint32_t after = calls_values_piece(call, value + 2, noted->pieces[i].member);
        const enum answer one = after < noted->piece_count ? is_other(call, i, after) : UNKNOWN;
        is_unsure |= one == UNKNOWN;
        all = one == YES || call->pieces[i].length < PROBE_PIECE_ABSENT ? one : all;
    }
    return all == NO && is_unsure ? UNKNOWN : all;
}

static enum answer meets_test(const struct calls_call_values *call,
                              const struct calls_noted_late *noted,
                              const struct rules_keep_late *late)
{
    if (late->has_changed)
        return has_changed(call, noted->captured);
    if (noted->captured == CALLS_RESULT && !call->kept->has_result)
        return NO;
    const struct compared value = noted->captured == CALLS_RESULT
                                      ? result_of(call)
                                      : captured_of(call, noted->captured, late->text != NULL);
    return late->text ? is_text(&value, late) : is_number(&value, late);
}

static enum answer meets_tests(const struct calls_program *program,
                               const struct calls_call_values *call, uint32_t number)
{
    const struct rules_keep *rule = rule_of(program, number);
    const struct calls_noted *noted = call->noted;
    enum answer all = YES;
    uint32_t tests = 0;
    for (uint32_t i = 0; i < noted->late_count; i++) {
        if (noted->late[i].rule != number)
            continue;
        const enum answer one = meets_test(call, &noted->late[i], &rule->late[noted->late[i].test]);
        all = all == NO || one == NO ? NO : one == UNKNOWN ? UNKNOWN : all;
        tests++;
    }
    return tests == rule->late_count ? all : UNKNOWN;
}

bool calls_late_number(const struct calls_call_values *call, uint32_t captured, uint64_t *number,
                       struct sprof_str *text)
{
    enum { NUMBER_BITS = 52 }; /* readers of JSON have no more */
    const bool has_text = calls_values_is_text(call->noted->captured[captured].located->type);
    const struct compared value = captured_of(call, captured, has_text);
    const struct symbolize_type *type = value.type;
    *number = 0;
    if (!value.bytes)
        return false;
    if (has_text) {
        const size_t length = strnlen((const char *)value.bytes, value.length);
        *number = sprof_hash_bytes(value.bytes, length) >> (64 - NUMBER_BITS);
        sprof_str_appendf(text, "%.*s", (int)length, (const char *)value.bytes);
        return true;
    }
    if (!type->bytes || type->bytes > 8 || type->bytes > value.length)
        return false;
    memcpy(number, value.bytes, type->bytes);
    const unsigned unused = 64 - 8 * type->bytes;
    if (calls_values_number(type) == PROBE_SIGNED)
        *number = (uint64_t)((int64_t)(*number << unused) >> unused);
    return true;
}

/* == Calls == */

static bool is_thrown(const struct plan_expressions *expressions,
                      const struct calls_taken_values *values)
{
    struct sprof_str type = {0};
    const bool is = values && calls_values_thrown_type(values, &type) && !type.failed &&
                    matches(expressions, type.text) == 1;
    sprof_str_release(&type);
    return is;
}

/* The last start before a call; 0: the rule has none. */
static uint64_t start_before(const struct probe_keep_starts *starts, uint64_t begin)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < PROBE_KEEP_STARTS; i++) {
        const uint64_t one = atomic_load(&starts->ticks[i]);
        last = one <= begin && one > last ? one : last;
    }
    return last;
}

/* Calls by start. A new one replaces the oldest one. */
static struct calls_late_taken *taken_since(struct calls_late_counts *counts, uint64_t start)
{
    struct calls_late_taken *oldest = counts->taken;
    for (uint32_t i = 0; i <= PROBE_KEEP_STARTS; i++) {
        if (counts->taken[i].start == start)
            return &counts->taken[i];
        if (counts->taken[i].start < oldest->start)
            oldest = &counts->taken[i];
    }
    *oldest = (struct calls_late_taken){.start = start};
    return oldest;
}

/* The program may start the rule at any moment, also again while calls wait in the rings. */
static bool takes_next(struct calls_program *program, uint32_t number, uint64_t begin)
{
    struct probe_keep *keep = &program->process.shared->keep;
    const struct rules_keep *of = rule_of(program, number);
    const struct probe_keep_starts *starts = &keep->starts[number];
    const uint64_t start = start_before(starts, begin), bit = UINT64_C(1) << number;
    if (!start && atomic_load(&starts->count) > PROBE_KEEP_STARTS)
        return false; /* of a start that is no longer known */
    struct calls_late_taken *taken = taken_since(&program->kept.late[number], start);
    if (taken->calls + 1 >= of->next && !of->load && start == start_before(starts, UINT64_MAX)) {
        atomic_fetch_or(&keep->resting, bit);
        if (start != start_before(starts, UINT64_MAX))
            probe_keep_wake(program->process.shared, bit);
    }
    return taken->calls++ < of->next;
}

/* Whether a rule takes one more call: as takes_call() in the agent. */
static bool takes_one_more(struct calls_program *program, uint32_t number,
                           const struct probe_kept *call)
{
    const struct rules_keep *of = rule_of(program, number);
    struct calls_late_counts *counts = &program->kept.late[number];
    const uint64_t second = (uint64_t)((double)call->end * program->all->clock.tick_ns / 1e9);
    if (of->every && ++counts->seen % of->every)
        return false;
    if (counts->seconds[second & 1].number != second) {
        counts->seconds[second & 1].number = second;
        counts->seconds[second & 1].calls = 0;
    }
    if (of->first && counts->seconds[second & 1].calls++ >= of->first)
        return false;
    return !of->next || takes_next(program, number, call->begin);
}

uint64_t calls_late_meets(struct calls_program *program, const struct probe_kept *call,
                          const struct calls_taken_values *values, uint64_t met, uint64_t *unread)
{
    const uint32_t function = PROBE_LOG_FUNCTION(call->header);
    struct calls_call_values cut = {
        .noted = calls_values_noted(&program->values, function, values ? values->place : 0),
        .kept = values ? &values->kept : NULL};
    uint64_t rules = 0;
    bool is_cut = false;
    *unread = 0;
    for (uint64_t left = met; left; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        const uint64_t bit = UINT64_C(1) << number;
        const size_t count = program->all->kept.rules.count;
        const struct calls_rule *rule =
            number < count ? &program->all->kept.rules.items[number] : NULL;
        if (!rule ||
            (rule->by[RULES_KEEP_BY_THROWN] && !is_thrown(rule->by[RULES_KEEP_BY_THROWN], values)))
            continue;
        if (rule->rule.late_count && values && cut.noted && !is_cut) {
            calls_values_cut(&cut, values->pieces, values->bytes);
            is_cut = true;
        }
        const enum answer answer = !rule->rule.late_count ? YES
                                   : is_cut               ? meets_tests(program, &cut, number)
                                                          : UNKNOWN;
        *unread |= answer == UNKNOWN ? bit : 0;
        if (answer == YES &&
            (!rules_keep_is_late(&rule->rule) || takes_one_more(program, number, call)))
            rules |= bit;
    }
    return rules;
}
