/* Reads the rules of `--keep`. */
#include "trace/keep_rule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 4096, SHOWN_BEFORE = 60, SHOWN_BEHIND = 40, SLOWEST_MOST = 16 };

static const char conditions[] =
    "a condition: `over T`, `self over T`, `throws`, `slowest N`, `every N` or `first N a second`";

struct parser {
    const char *text;
    size_t at, length; /* of the word that is read */
    struct sprof_error *error;
};

/* == Errors == */

/* How many columns a stretch of UTF-8 takes. */
static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Shows the place in the rule, with what fits there. */
static int refuse(const struct parser *parser, size_t at, const char *wanted)
{
    size_t first = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    while (first && ((unsigned char)parser->text[first] & 0xc0) == 0x80)
        first--;
    const size_t shown = at - first + strnlen(parser->text + at, SHOWN_BEHIND);
    struct sprof_str rule = {0};
    char part[SHOWN_BEFORE + SHOWN_BEHIND + 8];
    snprintf(part, sizeof part, "%.*s", (int)shown, parser->text + first);
    if (sprof_utf8_clean(&rule, part)) {
        sprof_str_release(&rule);
        return sprof_error_memory(parser->error);
    }
    const int code = sprof_error_set(
        parser->error, SPROF_EUSAGE, 0, "this is no rule; at ^ give %s\n  %s\n  %*s^", wanted,
        rule.text ? rule.text : "", columns_of(parser->text + first, at - first), "");
    sprof_str_release(&rule);
    return code;
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

/* Reads the condition that begins with the present word. */
static int read_condition(struct parser *parser, struct trace_keep_rule *rule)
{
    const size_t at = parser->at;
    const bool is_self = is_word(parser, "self");
    bool is_again = false;
    int result = 0;
    if (is_self) {
        next_word(parser);
        if (!is_word(parser, "over"))
            return refuse(parser, parser->at, "`over T`");
    }
    const bool is_over = is_word(parser, "over"), is_throws = is_word(parser, "throws"),
               is_every = is_word(parser, "every"), is_first = is_word(parser, "first"),
               is_slowest = is_word(parser, "slowest");
    if (!is_over && !is_throws && !is_every && !is_first && !is_slowest)
        return refuse(parser, parser->at, conditions);
    next_word(parser);
    if (is_over) {
        is_again = is_self ? rule->has_self : rule->has_over;
        result = is_self ? read_over(parser, &rule->has_self, &rule->self_ns)
                         : read_over(parser, &rule->has_over, &rule->over_ns);
    } else if (is_throws) {
        is_again = rule->throws;
        rule->throws = true;
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

/* == Functions == */

/* Reads the expression behind the colon: all of it, or what is in quotes. */
static int read_function(struct parser *parser, struct trace_keep_rule *rule)
{
    parser->at++;
    skip_blanks(parser);
    const char *text = parser->text + parser->at;
    const size_t length = strlen(text);
    if (!length)
        return refuse(parser, parser->at, "a regular expression for functions");
    rule->function = text;
    if (*text != '"')
        return 0;
    if (length < 3 || text[length - 1] != '"')
        return refuse(parser, parser->at + length, "the second quotation mark");
    rule->function = rule->quoted = strndup(text + 1, length - 2);
    return rule->quoted ? 0 : sprof_error_memory(parser->error);
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
    if (!result && !is_end(text[parser.at]))
        result = refuse(&parser, parser.at, "`and` with a further condition, or `: RE`");
    if (!result && text[parser.at] == ':')
        result = read_function(&parser, rule);
    if (result)
        trace_keep_rule_release(rule);
    return result;
}

void trace_keep_rule_release(struct trace_keep_rule *rule)
{
    free(rule->quoted);
    rule->quoted = NULL;
}
