/* Parses the rules of `--keep`. */
#include "rules/keep_rule.h"

#include "base/compat.h"
#include "rules/capture.h"
#include "rules/comparison.h"
#include "rules/condition.h"
#include "rules/error_at.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 4096, SLOWEST_MOST = 16 };

struct parser {
    const char *text;
    size_t at, length;
    struct sprof_error *error;
};

/* == Errors == */

/* At a word with a comma behind it, which joins conditions elsewhere, the comma is named. */
static int refuse(const struct parser *parser, size_t at, const char *wanted)
{
    const size_t last = parser->at + parser->length - 1;
    if (parser->length > 1 && at == parser->at && strchr(",;&", parser->text[last])) {
        at = last;
        wanted = "`and`, or a colon and the function";
    }
    return rules_error_at(parser->text, at, "this is no rule; at ^ give ", wanted, parser->error);
}

/* == Words == */

static bool is_end(char c)
{
    return !c || c == ':';
}

static void skip_blanks(struct parser *parser)
{
    while (parser->text[parser->at] == ' ' || parser->text[parser->at] == '\t')
        parser->at++;
}

/* A word of length 0 is the end, or a colon outside of a name. */
static void next_word(struct parser *parser)
{
    parser->at += parser->length;
    skip_blanks(parser);
    const char *text = parser->text + parser->at;
    size_t length = strncmp(text, "::", 2) ? 0 : 2;
    length += strcspn(text + length, " \t:");
    while (length && text[length] == ':' && text[length + 1] == ':')
        length += 2 + strcspn(text + length + 2, " \t:");
    parser->length = length;
}

static bool is_word(const struct parser *parser, const char *word)
{
    return strlen(word) == parser->length &&
           !memcmp(parser->text + parser->at, word, parser->length);
}

static int expect_word(struct parser *parser, const char *word, const char *wanted)
{
    if (!is_word(parser, word))
        return refuse(parser, parser->at, wanted);
    next_word(parser);
    return 0;
}

static int read_time(struct parser *parser, uint64_t *time_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    static const char wanted[] = "a time with its unit: ns, us, ms or s, as in 20ms";
    const char *text = parser->text + parser->at;
    char *end = NULL;
    const double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
    double ns = -1;
    for (size_t i = 0; end && i < sizeof units / sizeof *units; i++)
        if ((size_t)(text + parser->length - end) == strlen(units[i].name) &&
            !memcmp(end, units[i].name, strlen(units[i].name)))
            ns = value * units[i].ns;
    if (!(ns >= 0 && ns <= 1e18))
        return refuse(parser, parser->at, wanted);
    *time_ns = (uint64_t)ceil(ns);
    next_word(parser);
    return 0;
}

static int read_number(struct parser *parser, uint64_t *number, uint64_t most, const char *wanted)
{
    const char *text = parser->text + parser->at;
    char *end = NULL;
    errno = 0;
    const unsigned long long value = *text >= '1' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!value || errno || value > most || end != text + parser->length)
        return refuse(parser, parser->at, wanted);
    *number = value;
    next_word(parser);
    return 0;
}

/* == Values == */

/* `is_beyond` excludes the bound itself. */
static void set_low(struct rules_keep_test *test, long double bound, bool is_beyond)
{
    test->low = is_beyond ? (int64_t)floorl(bound) + 1 : (int64_t)ceill(bound);
    test->low_real = is_beyond ? nextafter((double)bound, INFINITY) : (double)bound;
}

static void set_high(struct rules_keep_test *test, long double bound, bool is_beyond)
{
    test->high = is_beyond ? (int64_t)ceill(bound) - 1 : (int64_t)floorl(bound);
    test->high_real = is_beyond ? nextafter((double)bound, -INFINITY) : (double)bound;
}

/* Returns the number of an error such as "ENOENT" in a test of errno; 0: none. */
static int error_of(const struct parser *parser, const struct rules_keep_test *test)
{
    enum { ERRORS = 256 };
    int found = 0;
    if (!rules_keep_is_errno(test))
        return 0;
    for (int i = 1; i < ERRORS && !found; i++) {
        const char *name = strerrorname_np(i);
        found = name && is_word(parser, name) ? i : 0;
    }
    return found;
}

/* Whether a value is compared that is called as the condition on time. */
static bool is_over(const struct rules_keep_test *test)
{
    return test->name && test->name_length == 4 && !memcmp(test->name, "over", 4);
}

/* Reads "7", "3..9", "null", "true", "false", or an error's name. */
static int read_value(struct parser *parser, struct rules_keep_test *test, enum comparison how)
{
    static const char wanted[] = "a number, a range as in 3..9, `null`, `true` or `false`",
                      over[] = "a number; a time stands without the sign: `over 20ms`";
    const char *text = parser->text + parser->at, *end = text + parser->length,
               *dots = parser->length ? memmem(text, parser->length, "..", 2) : NULL;
    const bool is_true = is_word(parser, "true"),
               is_zero = is_true || is_word(parser, "false") || is_word(parser, "null");
    const int error = error_of(parser, test);
    long double low = error, high = 0;
    test->low = INT64_MIN;
    test->high = INT64_MAX;
    test->low_real = -INFINITY;
    test->high_real = INFINITY;
    const bool is_equal = how == EQUAL || how == NOT_EQUAL;
    if ((is_zero || dots) && !is_equal)
        return refuse(parser, parser->at, "a number");
    if (dots ? !rules_number(text, (size_t)(dots - text), &low) ||
                   !rules_number(dots + 2, (size_t)(end - dots) - 2, &high) || low > high
             : !is_zero && !error && !rules_number(text, parser->length, &low))
        return refuse(parser, parser->at,
                      rules_keep_is_errno(test) ? "a number, or an error's name as in ENOENT"
                      : is_over(test)           ? over
                                                : wanted);
    if (is_equal || how == MORE || how == AT_LEAST)
        set_low(test, low, how == MORE);
    if (is_equal || how == LESS || how == AT_MOST)
        set_high(test, dots ? high : low, how == LESS);
    test->is_outside = (how == NOT_EQUAL) != is_true;
    next_word(parser);
    return 0;
}

/* Reads quoted text; \\ escapes a quotation mark. The caller frees *copy. */
static int read_text(struct parser *parser, size_t most, const char *wanted, char **copy)
{
    const char *begin = parser->text + parser->at + 1, *text = begin;
    size_t length = 0;
    free(*copy);
    *copy = malloc(strlen(text) + 1);
    if (!*copy)
        return sprof_error_memory(parser->error);
    while (*text && *text != '"') {
        text += *text == '\\' && text[1] == '"';
        (*copy)[length++] = *text++;
    }
    (*copy)[length] = '\0';
    if (!*text)
        return refuse(parser, parser->at + strlen(parser->text + parser->at),
                      "the second quotation mark");
    if (length > most || !length)
        return refuse(parser, parser->at, wanted);
    parser->length = (size_t)(text - begin) + 2;
    next_word(parser);
    return 0;
}

static int add_late(struct parser *parser, struct rules_keep *rule,
                    const struct rules_keep_late *late, size_t at)
{
    if (rule->late_count == RULES_KEEP_TESTS)
        return refuse(parser, at, "at most four conditions on fields and texts");
    rule->late[rule->late_count++] = *late;
    return 0;
}

/* A test of what the agent has in words. */
static int add_test(struct parser *parser, struct rules_keep *rule,
                    const struct rules_keep_test *test, size_t at)
{
    if (rule->test_count == RULES_KEEP_TESTS)
        return refuse(parser, at, "at most four conditions on values");
    rule->tests[rule->test_count++] = *test;
    return 0;
}

/* The length of the path of a value at a place, "exit." before it; 0: there is none. */
static size_t read_path(const char *text, struct rules_keep_late *late)
{
    static const char exit[] = "exit.";
    struct symbolize_path path = {0};
    late->at_exit = !strncmp(text, exit, sizeof exit - 1);
    const size_t before = late->at_exit ? sizeof exit - 1 : 0,
                 length = rules_capture_path(text + before, &path);
    late->path = path;
    return length ? before + length : 0;
}

/* Reads the name of a value as a word, and what comes next: a comparison, perhaps without blanks.
 */
static enum comparison read_name(struct parser *parser)
{
    const size_t name = read_path(parser->text + parser->at, &(struct rules_keep_late){0});
    const bool is_joined = name && name < parser->length;
    if (is_joined)
        parser->length = name;
    next_word(parser);
    size_t length;
    const enum comparison how = rules_comparison(parser->text + parser->at, &length);
    if (!how ||
        (!is_joined && !rules_comparison_ends(parser->text + parser->at, parser->length, length)))
        return NO_COMPARISON;
    parser->length = length;
    return how;
}

/* Whether the next word is that name, perhaps with a comparison behind it. */
static bool is_name(const struct parser *parser, const char *name)
{
    const char *text = parser->text + parser->at, *behind = text + strlen(name);
    return is_word(parser, name) ||
           (!strncmp(text, name, strlen(name)) && rules_comparison(behind, &(size_t){0}));
}

/* Whether the test needs more than the agent's words of a call. */
static bool needs_memory(const struct rules_keep_late *late)
{
    const struct symbolize_path *path = &late->path;
    return late->at_exit || late->text || path->step_count || path->is_followed ||
           (path->name && memchr(path->name, ':', path->name_length));
}

static int read_compared(struct parser *parser, struct rules_keep *rule,
                         struct rules_keep_late *late, enum comparison how, size_t at)
{
    const bool is_text = parser->text[parser->at] == '"';
    if (is_text && how != EQUAL && how != NOT_EQUAL)
        return refuse(parser, parser->at, "a number; texts are compared by = and !=");
    late->range.is_outside = how == NOT_EQUAL;
    const int result =
        is_text ? read_text(parser, RULES_KEEP_TEXT_BYTES, "a text of 1 to 255 bytes", &late->text)
                : read_value(parser, &late->range, how);
    if (result)
        return result;
    if (needs_memory(late))
        return add_late(parser, rule, late, at);
    return add_test(parser, rule, &late->range, at);
}

/* Reads "returns OP V", "returns V", "errno", "errno V" or "EXPR OP V". */
static int read_test(struct parser *parser, struct rules_keep *rule)
{
    struct rules_keep_late late = {.at = parser->text + parser->at};
    const bool is_result = is_name(parser, "returns"), is_error = is_name(parser, "errno");
    const size_t at = parser->at;
    if (!is_result) {
        read_path(late.at, &late);
        late.range.name = late.path.name;
        late.range.name_length = late.path.name_length;
    }
    const enum comparison how = read_name(parser);
    if (is_error && !how &&
        (!parser->length || is_word(parser, "and") || is_word(parser, "while"))) {
        late.range.low_real = late.range.high_real = 0;
        late.range.is_outside = true; /* any error */
        return add_test(parser, rule, &late.range, at);
    }
    if (!how && !is_result && !is_error)
        return refuse(parser, parser->at, "a comparison: = != < <= > or >=");
    if (how)
        next_word(parser);
    const int result = read_compared(parser, rule, &late, how ? how : EQUAL, at);
    if (result)
        free(late.text);
    return result;
}

static bool begins_test(const struct parser *parser)
{
    struct parser next = *parser;
    struct rules_keep_late late;
    return is_name(parser, "returns") ||
           (parser->length && read_path(parser->text + parser->at, &late) &&
            (read_name(&next) || is_word(parser, "errno")));
}

static int read_changed(struct parser *parser, struct rules_keep *rule)
{
    struct rules_keep_late late = {.at = parser->text + parser->at, .has_changed = true};
    const size_t at = parser->at, length = rules_capture_path(late.at, &late.path);
    if (!length || length != parser->length)
        return refuse(parser, at, "a value, as in `changed q->state`");
    next_word(parser);
    return add_late(parser, rule, &late, at);
}

bool rules_keep_is_of_results(const struct rules_keep *rule)
{
    bool is = false;
    for (uint32_t i = 0; i < rule->test_count; i++)
        is |= !rule->tests[i].name;
    for (uint32_t i = 0; i < rule->late_count; i++)
        is |= !rule->late[i].path.name;
    return is;
}

bool rules_keep_is_errno(const struct rules_keep_test *test)
{
    return test->name && test->name_length == 5 && !memcmp(test->name, "errno", 5);
}

/* == Conditions == */

static int read_over(struct parser *parser, struct rules_keep *rule)
{
    rule->has_over = true;
    return read_time(parser, &rule->over_ns);
}

static int read_self(struct parser *parser, struct rules_keep *rule)
{
    rule->has_self = true;
    const int result = expect_word(parser, "over", "`over T`");
    return result ? result : read_time(parser, &rule->self_ns);
}

static int read_expression(struct parser *parser, struct rules_keep *rule,
                           enum rules_keep_expression which)
{
    static const char wanted[] = "a regular expression; one with a blank or a colon in quotes";
    const char *text = parser->text + parser->at;
    if (*text == '"')
        return read_text(parser, TEXT_MOST, wanted, &rule->expressions[which]);
    if (!parser->length || is_word(parser, "and") || is_word(parser, "while"))
        return refuse(parser, parser->at, wanted);
    rule->expressions[which] = strndup(text, parser->length);
    next_word(parser);
    return rule->expressions[which] ? 0 : sprof_error_memory(parser->error);
}

static int read_throws(struct parser *parser, struct rules_keep *rule)
{
    rule->throws = true;
    return !parser->length || is_word(parser, "and") || is_word(parser, "while")
               ? 0
               : read_expression(parser, rule, RULES_KEEP_BY_THROWN);
}

static int read_call(struct parser *parser, struct rules_keep *rule)
{
    return read_expression(parser, rule, RULES_KEEP_BY_CALL);
}

static int read_below(struct parser *parser, struct rules_keep *rule)
{
    return read_expression(parser, rule, RULES_KEEP_BY_BELOW);
}

static int read_class(struct parser *parser, struct rules_keep *rule)
{
    return read_expression(parser, rule, RULES_KEEP_BY_CLASS);
}

static int read_slowest(struct parser *parser, struct rules_keep *rule)
{
    return read_number(parser, &rule->slowest, SLOWEST_MOST,
                       "a number from 1 to 16, as in `slowest 10`");
}

static int read_every(struct parser *parser, struct rules_keep *rule)
{
    return read_number(parser, &rule->every, UINT32_MAX, "a number from 1 on, as in `every 100`");
}

static int read_first(struct parser *parser, struct rules_keep *rule)
{
    int result = read_number(parser, &rule->first, UINT32_MAX,
                             "a number from 1 on, as in `first 5 a second`");
    if (!result)
        result = expect_word(parser, "a", "`a second`");
    return result ? result : expect_word(parser, "second", "`second`");
}

static int read_next(struct parser *parser, struct rules_keep *rule)
{
    rule->waits =
        is_end(parser->text[parser->at]) || is_word(parser, "and") || is_word(parser, "while");
    rule->next = 1;
    return rule->waits
               ? 0
               : read_number(parser, &rule->next, UINT32_MAX,
                             "a number from 1 on, as in `next 5`, or `next` alone: the first call "
                             "after each `sprof ctl keep-next`");
}

/* Conditions that begin with a word of their own. */
static const struct {
    const char *word, *shown;
    int (*read)(struct parser *parser, struct rules_keep *rule);
    bool may_repeat;
} conditions[] = {
    {"over", "over T", read_over, false},
    {"self", "self over T", read_self, false},
    {"throws", "throws", read_throws, false},
    {"call", "call RE", read_call, false},
    {"below", "below RE", read_below, false},
    {"class", "class RE", read_class, false},
    {"changed", "changed q->state", read_changed, true},
    {"slowest", "slowest N", read_slowest, false},
    {"every", "every N", read_every, false},
    {"first", "first N a second", read_first, false},
    {"next", "next N", read_next, false},
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

static int refuse_condition(const struct parser *parser)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, "a condition: ");
    for (size_t i = 0; i < CONDITIONS; i++)
        sprof_str_appendf(&text, "`%s`, ", conditions[i].shown);
    sprof_str_append(&text, "`returns < 0`, `errno = ENOENT`, or a value as in `id = 7`");
    const int result =
        text.failed ? sprof_error_memory(parser->error) : refuse(parser, parser->at, text.text);
    sprof_str_release(&text);
    return result;
}

/* *had: one bit for each condition read so far. */
static int read_condition(struct parser *parser, struct rules_keep *rule, uint32_t *had)
{
    const size_t at = parser->at;
    size_t i = 0;
    if (begins_test(parser))
        return read_test(parser, rule);
    while (i < CONDITIONS && !is_word(parser, conditions[i].word))
        i++;
    if (i == CONDITIONS)
        return refuse_condition(parser);
    if (*had >> i & 1 && !conditions[i].may_repeat)
        return refuse(parser, at, "each condition once");
    *had |= UINT32_C(1) << i;
    next_word(parser);
    return conditions[i].read(parser, rule);
}

/* == Load == */

/* Reads "p99 > 20ms". False: something else. */
static bool read_quantile(const char *text, struct rules_keep *rule)
{
    struct rules_condition condition;
    if (*text != 'p' || rules_condition_parse(&condition, text, NULL) || condition.function)
        return false;
    rule->load = RULES_LOAD_QUANTILE;
    rule->load_over = condition.limit;
    rule->quantile = condition.quantile;
    return true;
}

/* Reads "cpu > 80 %", "calls/s > 1000", "open > 64", "rss > 2GiB" or "p99 > 20ms". */
static int read_load(struct parser *parser, struct rules_keep *rule)
{
    static const char wanted[] =
        "`cpu > N %`, `calls/s > N`, `open > N`, `rss > NMiB`, or of its calls `p99 > T`";
    static const struct {
        const char *name;
        enum rules_keep_load load;
        const char *unit; /* after the number; blanks may precede */
        double factor;
    } loads[] = {{"cpu", RULES_LOAD_CPU, "%", 0.01},      {"calls/s", RULES_LOAD_CALLS, "", 1},
                 {"open", RULES_LOAD_OPEN, "", 1},        {"rss", RULES_LOAD_RSS, "KiB", 1024},
                 {"rss", RULES_LOAD_RSS, "MiB", 1 << 20}, {"rss", RULES_LOAD_RSS, "GiB", 1 << 30}};
    char name[16] = "", unit[8] = "";
    double bound = -1;
    int end = 0;
    next_word(parser);
    const char *text = parser->text + parser->at;
    if (read_quantile(text, rule))
        return 0;
    if (sscanf(text, "%15[a-z/] > %lf%n", name, &bound, &end) < 2 || !(bound >= 0 && bound < 1e18))
        return refuse(parser, parser->at, wanted);
    sscanf(text + end, "%7s", unit);
    if (strlen(text + end) != strspn(text + end, " ") + strlen(unit))
        return refuse(parser, parser->at, wanted);
    for (size_t i = 0; i < sizeof loads / sizeof *loads && !rule->load; i++)
        if (!strcmp(name, loads[i].name) && !strcmp(unit, loads[i].unit)) {
            rule->load = loads[i].load;
            rule->load_over = bound * loads[i].factor;
        }
    return rule->load ? 0 : refuse(parser, parser->at, wanted);
}

/* == Functions == */

/* Reads what follows the colon: an expression, perhaps quoted, and an optional load. */
static int read_function(struct parser *parser, struct rules_keep *rule)
{
    parser->at++;
    skip_blanks(parser);
    const char *text = parser->text + parser->at;
    const size_t length = strlen(text);
    const bool is_quoted = *text == '"';
    const char *load = strstr(text, is_quoted ? "\" while " : " while ");
    const size_t end = load ? (size_t)(load - text) + is_quoted : length;
    if (!end)
        return refuse(parser, parser->at, "a regular expression for functions");
    if (is_quoted && (end < 3 || text[end - 1] != '"'))
        return refuse(parser, parser->at + length, "the second quotation mark");
    rule->function = text;
    if (is_quoted || load) {
        rule->function = rule->quoted = strndup(text + is_quoted, end - 2 * (size_t)is_quoted);
        if (!rule->quoted)
            return sprof_error_memory(parser->error);
    }
    parser->at += end;
    parser->length = 0;
    next_word(parser);
    return load ? read_load(parser, rule) : 0;
}

int rules_keep_parse(struct rules_keep *rule, const char *text, struct sprof_error *error)
{
    struct parser parser = {.text = text, .error = error};
    *rule = (struct rules_keep){.text = text};
    if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a rule has at most %d bytes", TEXT_MOST);
    next_word(&parser);
    uint32_t had = 0;
    int result = read_condition(&parser, rule, &had);
    while (!result && is_word(&parser, "and")) {
        next_word(&parser);
        result = read_condition(&parser, rule, &had);
    }
    const bool has_load = !result && is_word(&parser, "while");
    if (!result && !has_load && !is_end(text[parser.at]))
        result =
            refuse(&parser, parser.at, "`and` with a further condition, `: RE`, or `while LOAD`");
    if (has_load)
        result = read_load(&parser, rule);
    else if (!result && text[parser.at] == ':')
        result = read_function(&parser, rule);
    if (result)
        rules_keep_release(rule);
    return result;
}

bool rules_keep_is_late(const struct rules_keep *rule)
{
    return rule->late_count || rule->expressions[RULES_KEEP_BY_THROWN];
}

void rules_keep_release(struct rules_keep *rule)
{
    free(rule->quoted);
    rule->quoted = NULL;
    for (size_t i = 0; i < RULES_KEEP_EXPRESSIONS; i++) {
        free(rule->expressions[i]);
        rule->expressions[i] = NULL;
    }
    for (uint32_t i = 0; i < rule->late_count; i++)
        free(rule->late[i].text);
    rule->late_count = 0;
}
