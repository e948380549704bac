/* Reads the rules of `--keep`. */
#include "trace/keep_rule.h"
#include "trace/condition.h"
#include "trace/shown_place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 4096, SLOWEST_MOST = 16 };

static const char conditions[] =
    "a condition: `over T`, `self over T`, `throws`, `slowest N`, `every N`, `first N a second`, "
    "`next N`, `returns < 0`, `errno = ENOENT`, or a parameter as in `id = 7`";

struct parser {
    const char *text;
    size_t at, length; /* of the word that is read */
    struct sprof_error *error;
};

/* == Errors == */

/* Shows the place in the rule, with what fits there. */
static int refuse(const struct parser *parser, size_t at, const char *wanted)
{
    return trace_show_place(parser->text, at, "this is no rule; at ^ give ", wanted, parser->error);
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

/* Reads the next word; its length is 0 at the end, and at a colon. */
static void next_word(struct parser *parser)
{
    parser->at += parser->length;
    skip_blanks(parser);
    parser->length = strcspn(parser->text + parser->at, " \t:");
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

/* "20ms" */
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

/* == Conditions == */

static int read_over(struct parser *parser, bool *has, uint64_t *time_ns)
{
    *has = true;
    return read_time(parser, time_ns);
}

static int read_first(struct parser *parser, uint64_t *first)
{
    int result =
        read_number(parser, first, UINT32_MAX, "a number from 1 on, as in `first 5 a second`");
    if (!result)
        result = expect_word(parser, "a", "`a second`");
    return result ? result : expect_word(parser, "second", "`second`");
}

/* == Values == */

enum comparison { NO_COMPARISON, EQUAL, NOT_EQUAL, LESS, AT_MOST, MORE, AT_LEAST };

static enum comparison comparison_of(const struct parser *parser)
{
    static const char *const words[] = {[EQUAL] = "=",    [NOT_EQUAL] = "!=", [LESS] = "<",
                                        [AT_MOST] = "<=", [MORE] = ">",       [AT_LEAST] = ">="};
    for (int i = EQUAL; i <= AT_LEAST; i++)
        if (is_word(parser, words[i]))
            return (enum comparison)i;
    return is_word(parser, "==") ? EQUAL : NO_COMPARISON;
}

/* "-7", "0x10", "2.5": false where a text of that length is none that a range can have. */
static bool is_number(const char *text, size_t length, long double *number)
{
    char copy[64], *stop = NULL;
    const size_t sign = *text == '-';
    if (length >= sizeof copy || length <= sign || text[sign] < '0' || text[sign] > '9')
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *number = strtold(copy, &stop);
    return stop == copy + length && *number > -9e18L && *number < 9e18L;
}

/* Integers and other numbers that are at least, or at most, a bound, or beyond it. */
static void set_low(struct trace_keep_test *test, long double bound, bool is_beyond)
{
    test->low = is_beyond ? (int64_t)floorl(bound) + 1 : (int64_t)ceill(bound);
    test->low_real = is_beyond ? nextafter((double)bound, INFINITY) : (double)bound;
}

static void set_high(struct trace_keep_test *test, long double bound, bool is_beyond)
{
    test->high = is_beyond ? (int64_t)ceill(bound) - 1 : (int64_t)floorl(bound);
    test->high_real = is_beyond ? nextafter((double)bound, -INFINITY) : (double)bound;
}

/* The number of "ENOENT", of a test of errno; 0: it is none. */
static int error_of(const struct parser *parser, const struct trace_keep_test *test)
{
    enum { ERRORS = 256 };
    int found = 0;
    if (!trace_keep_is_errno(test))
        return 0;
    for (int i = 1; i < ERRORS && !found; i++) {
        const char *name = strerrorname_np(i);
        found = name && is_word(parser, name) ? i : 0;
    }
    return found;
}

/* Reads "7", "3..9", "null", "true", "false", or an error's name. */
static int read_value(struct parser *parser, struct trace_keep_test *test, enum comparison how)
{
    static const char wanted[] = "a number, a range as in 3..9, `null`, `true` or `false`";
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
    if (dots ? !is_number(text, (size_t)(dots - text), &low) ||
                   !is_number(dots + 2, (size_t)(end - dots) - 2, &high) || low > high
             : !is_zero && !error && !is_number(text, parser->length, &low))
        return refuse(parser, parser->at,
                      trace_keep_is_errno(test) ? "a number, or an error's name as in ENOENT"
                                                : wanted);
    if (is_equal || how == MORE || how == AT_LEAST)
        set_low(test, low, how == MORE);
    if (is_equal || how == LESS || how == AT_MOST)
        set_high(test, dots ? high : low, how == LESS);
    test->is_outside = (how == NOT_EQUAL) != is_true;
    next_word(parser);
    return 0;
}

static bool is_name(const struct parser *parser)
{
    const char *text = parser->text + parser->at;
    for (size_t i = 0; i < parser->length; i++)
        if (text[i] != '_' && (unsigned char)text[i] < 0x80 &&
            !(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= 'A' && text[i] <= 'Z') &&
            (!i || text[i] < '0' || text[i] > '9'))
            return false;
    return parser->length > 0;
}

/* Reads "returns OP V", "returns V" or "NAME OP V", at its first word. */
static int read_test(struct parser *parser, struct trace_keep_rule *rule)
{
    struct trace_keep_test test = {0};
    const bool is_result = is_word(parser, "returns");
    if (rule->test_count == TRACE_KEEP_TESTS)
        return refuse(parser, parser->at, "at most four conditions on values");
    if (!is_result) {
        test.name = parser->text + parser->at;
        test.name_length = (uint32_t)parser->length;
    }
    next_word(parser);
    enum comparison how = comparison_of(parser);
    if (!how && !is_result)
        return refuse(parser, parser->at, "a comparison: = != < <= > or >=");
    if (how)
        next_word(parser);
    const int result = read_value(parser, &test, how ? how : EQUAL);
    if (!result)
        rule->tests[rule->test_count++] = test;
    return result;
}

/* Whether the word before a comparison is a parameter's name. */
static bool begins_test(const struct parser *parser)
{
    struct parser next = *parser;
    if (is_word(parser, "returns"))
        return true;
    next_word(&next);
    return is_name(parser) && comparison_of(&next) != NO_COMPARISON;
}

bool trace_keep_is_errno(const struct trace_keep_test *test)
{
    return test->name && test->name_length == 5 && !memcmp(test->name, "errno", 5);
}

/* Reads an expression for types, if one follows: a word, or what is in quotes. */
static int read_thrown(struct parser *parser, struct trace_keep_rule *rule)
{
    const char *text = parser->text + parser->at;
    if (!parser->length || is_word(parser, "and") || is_word(parser, "while"))
        return 0;
    const bool is_quoted = *text == '"';
    const char *end = is_quoted ? strchr(text + 1, '"') : text + parser->length;
    if (!end || end == text + is_quoted)
        return refuse(parser, parser->at, "an expression for types; one with a colon in quotes");
    rule->thrown = strndup(text + is_quoted, (size_t)(end - text) - is_quoted);
    parser->length = (size_t)(end - text) + is_quoted;
    next_word(parser);
    return rule->thrown ? 0 : sprof_error_memory(parser->error);
}

/* Reads the condition that begins with the present word. */
static int read_condition(struct parser *parser, struct trace_keep_rule *rule)
{
    const size_t at = parser->at;
    const bool is_self = is_word(parser, "self");
    bool is_again = false;
    int result = 0;
    if (begins_test(parser))
        return read_test(parser, rule);
    if (is_self) {
        next_word(parser);
        if (!is_word(parser, "over"))
            return refuse(parser, parser->at, "`over T`");
    }
    const bool is_over = is_word(parser, "over"), is_throws = is_word(parser, "throws"),
               is_every = is_word(parser, "every"), is_first = is_word(parser, "first"),
               is_slowest = is_word(parser, "slowest"), is_next = is_word(parser, "next");
    if (!is_over && !is_throws && !is_every && !is_first && !is_slowest && !is_next)
        return refuse(parser, parser->at, conditions);
    next_word(parser);
    if (is_over) {
        is_again = is_self ? rule->has_self : rule->has_over;
        result = is_self ? read_over(parser, &rule->has_self, &rule->self_ns)
                         : read_over(parser, &rule->has_over, &rule->over_ns);
    } else if (is_throws) {
        is_again = rule->throws;
        rule->throws = true;
        result = is_again ? 0 : read_thrown(parser, rule);
    } else if (is_next) {
        is_again = rule->next;
        result = read_number(parser, &rule->next, UINT32_MAX, "a number from 1 on, as in `next 5`");
    } else if (is_slowest) {
        is_again = rule->slowest;
        result = read_number(parser, &rule->slowest, SLOWEST_MOST,
                             "a number from 1 to 16, as in `slowest 10`");
    } else if (is_every) {
        is_again = rule->every;
        result =
            read_number(parser, &rule->every, UINT32_MAX, "a number from 1 on, as in `every 100`");
    } else {
        is_again = rule->first;
        result = read_first(parser, &rule->first);
    }
    return result || !is_again ? result : refuse(parser, at, "each condition once");
}

/* == Load == */

/* Reads "p99 > 20ms". False: it is something else. */
static bool read_quantile(const char *text, struct trace_keep_rule *rule)
{
    struct trace_condition condition;
    if (*text != 'p' || trace_condition_parse(&condition, text, NULL) || condition.function)
        return false;
    rule->load = TRACE_LOAD_QUANTILE;
    rule->load_over = condition.limit;
    rule->quantile = condition.quantile;
    return true;
}

/* Reads "cpu > 80 %", "calls/s > 1000", "open > 64", "rss > 2GiB" or "p99 > 20ms", behind "while".
 */
static int read_load(struct parser *parser, struct trace_keep_rule *rule)
{
    static const char wanted[] =
        "`cpu > N %`, `calls/s > N`, `open > N`, `rss > NMiB`, or of its calls `p99 > T`";
    static const struct {
        const char *name;
        enum trace_keep_load load;
        const char *unit; /* that may stand behind the number, or apart */
        double factor;
    } loads[] = {{"cpu", TRACE_LOAD_CPU, "%", 0.01},      {"calls/s", TRACE_LOAD_CALLS, "", 1},
                 {"open", TRACE_LOAD_OPEN, "", 1},        {"rss", TRACE_LOAD_RSS, "KiB", 1024},
                 {"rss", TRACE_LOAD_RSS, "MiB", 1 << 20}, {"rss", TRACE_LOAD_RSS, "GiB", 1 << 30}};
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

/* Reads the expression behind the colon, all of it or what is in quotes, and a load behind it. */
static int read_function(struct parser *parser, struct trace_keep_rule *rule)
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

int trace_keep_rule_parse(struct trace_keep_rule *rule, const char *text, struct sprof_error *error)
{
    struct parser parser = {.text = text, .error = error};
    *rule = (struct trace_keep_rule){.text = text};
    if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a rule has at most %d bytes", TEXT_MOST);
    next_word(&parser);
    int result = read_condition(&parser, rule);
    while (!result && is_word(&parser, "and")) {
        next_word(&parser);
        result = read_condition(&parser, rule);
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
        trace_keep_rule_release(rule);
    return result;
}

void trace_keep_rule_release(struct trace_keep_rule *rule)
{
    free(rule->quoted);
    free(rule->thrown);
    rule->quoted = rule->thrown = NULL;
}
