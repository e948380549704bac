/* Divides demangled names into their parts. */
#include "names/parse.h"

#include <string.h>

enum { NESTED_MOST = 200 };

static bool is_word(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '$' ||
           (unsigned char)letter >= 0x80;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

size_t names_operator(const char *text, size_t at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                          "<=", "<",  ">>",  ">=",  "->",  ">",   ","};
    static const char word[] = "operator";
    enum { WORD = sizeof word - 1 };
    if (!begins(text + at, word) || is_word(text[at + WORD]) || (at && is_word(text[at - 1])))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (begins(text + at + WORD, symbols[i]))
            return WORD + strlen(symbols[i]);
    return WORD;
}

/* Bytes of a quoted text such as clang's 'lambda'; 0: there is none. */
static size_t quoted(const char *text, size_t at)
{
    const char *end = text[at] == '\'' || text[at] == '"' ? strchr(text + at + 1, text[at]) : NULL;
    return end ? (size_t)(end - text) + 1 - at : 0;
}

size_t names_closing(const char *text, size_t at)
{
    static const char opening[] = "(<[{", closing[] = ")>]}";
    char open[NESTED_MOST];
    size_t depth = 0;
    while (text[at]) {
        const size_t skipped = names_operator(text, at) + quoted(text, at);
        if (skipped || begins(text + at, "->")) {
            at += skipped ? skipped : 2;
            continue;
        }
        const char *opens = strchr(opening, text[at]), *closes = strchr(closing, text[at]);
        if (opens) {
            if (depth == NESTED_MOST)
                return 0;
            open[depth++] = *opens;
        }
        const char wanted = closes ? opening[closes - closing] : '\0';
        if (closes && (wanted != '<' || open[depth - 1] == '<')) {
            /* "<" may stand for less. */
            while (depth && open[depth - 1] == '<' && wanted != '<')
                depth--;
            if (!depth || open[depth - 1] != wanted)
                return 0;
            depth--;
        }
        at++;
        if (!depth)
            return at;
    }
    return 0;
}

/* == One name == */

struct parser {
    const char *text;
    struct names_parsed *parsed;
    struct names_part part; /* the one at work; its `end` grows */
    size_t at;
    bool has_prefix; /* words stand before the name: it must have parameters */
    size_t symbol;   /* where that of the last operator stands */
    bool wrapped;    /* the name stands in "(*…)(…)", of which the rest is left out */
    bool failed;
};

static void begin_part(struct parser *parser)
{
    parser->part = (struct names_part){
        .begin = parser->at, .end = parser->at, .first_hole = parser->parsed->hole_count};
}

static bool has_parameters(const struct parser *parser)
{
    return parser->part.parameters != parser->part.behind;
}

static void end_part(struct parser *parser)
{
    struct names_parsed *parsed = parser->parsed;
    struct names_part *part = &parser->part;
    part->holes = parsed->hole_count - part->first_hole;
    if (part->begin == part->end || parsed->count == NAMES_PARTS)
        parser->failed = true;
    else
        parsed->parts[parsed->count++] = *part;
}

static void take(struct parser *parser, size_t bytes)
{
    parser->at += bytes;
    parser->part.end = parser->at;
}

/* Takes what is between brackets as part of the name, or leaves it out. */
static void take_region(struct parser *parser, bool hole, bool noise)
{
    struct names_parsed *parsed = parser->parsed;
    const size_t end = names_closing(parser->text, parser->at);
    if (!end || parsed->hole_count == NAMES_HOLES) {
        parser->failed = true;
        return;
    }
    if (hole)
        parsed->holes[parsed->hole_count++] = (struct names_hole){parser->at, end, noise};
    take(parser, end - parser->at);
}

/* Leaves out the brackets that follow `bytes` of text, with these. */
static void take_behind(struct parser *parser, size_t bytes)
{
    const size_t hole = parser->parsed->hole_count;
    parser->at += bytes;
    take_region(parser, true, false);
    if (!parser->failed)
        parser->parsed->holes[hole].begin -= bytes;
}

/* What compilers and linkers set behind a whole name. */
static bool begins_suffix(const char *text)
{
    return begins(text, " [clone ") || !strcmp(text, "@plt");
}

/* Whether a list that ends there can be one of parameters. */
static bool may_follow_parameters(const char *text)
{
    static const char *const words[] = {"::",        " const", " volatile", " restrict",
                                        " noexcept", " &",     " [",        " requires",
                                        " mutable",  ".",      " shared",   " immutable"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (begins(text, words[i]))
            return true;
    return !*text || begins_suffix(text);
}

static void take_parameters(struct parser *parser, size_t end)
{
    const char *text = parser->text;
    parser->part.parameters = parser->at;
    parser->part.behind = parser->at = end;
    while (text[parser->at] && !begins(text + parser->at, "::") &&
           !begins_suffix(text + parser->at) && !(parser->wrapped && text[parser->at] == ')'))
        parser->at++;
    parser->part.behind_end = parser->at;
    if (parser->wrapped && text[parser->at] == ')')
        parser->at += strlen(text + parser->at);
}

/* Enters the bracket around the name of a function that returns one: "(*f(int))(char)". */
static bool enter_wrapper(struct parser *parser)
{
    const char next = parser->text[parser->at + 1];
    if ((next != '*' && next != '&') || parser->part.begin < parser->part.end || parser->wrapped)
        return false;
    parser->wrapped = parser->has_prefix = true;
    parser->at++;
    while (strchr("*& ", parser->text[parser->at]) && parser->text[parser->at])
        parser->at++;
    begin_part(parser);
    return true;
}

/* The arguments of D's templates: "f!(int)". */
static void take_mark(struct parser *parser)
{
    parser->at--;
    take_behind(parser, 1);
}

static void take_parenthesis(struct parser *parser)
{
    const char *text = parser->text;
    const size_t at = parser->at, end = names_closing(text, at);
    const bool inside = at > parser->part.begin && (text[at - 1] == '.' || text[at - 1] == '!') &&
                        at - 1 != parser->symbol;
    if (!end)
        parser->failed = true;
    else if (enter_wrapper(parser))
        return;
    else if (inside && text[at - 1] == '!')
        take_mark(parser);
    else if (inside)
        take_region(parser, false, false);
    else if (parser->part.begin < parser->part.end &&
             (may_follow_parameters(text + end) || (parser->wrapped && text[end] == ')')))
        take_parameters(parser, end);
    else
        take_region(parser, false, false);
}

size_t names_trait(const char *text, size_t at)
{
    static const char opening[] = "(<[{";
    const size_t end = names_closing(text, at);
    for (size_t i = at + 1; i < end; i++) {
        const size_t inner = strchr(opening, text[i]) ? names_closing(text, i) : 0;
        if (begins(text + i, " as "))
            return i;
        i = inner ? inner - 1 : i;
    }
    return 0;
}

/* Rust writes "f::<T>" for what C++ writes as "f<T>". */
static void take_separator(struct parser *parser)
{
    const bool begun = parser->part.begin < parser->part.end;
    const size_t angle = parser->at + 2;
    if (begun && parser->text[angle] == '<' && !begins(parser->text + angle, "<impl ") &&
        !names_trait(parser->text, angle)) {
        take_behind(parser, 2);
        return;
    }
    if (begun)
        end_part(parser);
    else
        parser->failed = parser->at > 0;
    parser->at += 2;
    begin_part(parser);
}

static bool is_hash(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr("0123456789abcdef", text[i]))
            return false;
    return length > 8;
}

/* "[abi:cxx11]" of C++, "[0123456789abcdef]" of Rust's crates, "[int]" of Go's generics. */
static void take_square(struct parser *parser)
{
    const char *text = parser->text;
    const size_t end = names_closing(text, parser->at);
    const bool tag = begins(text + parser->at, "[abi:");
    const bool noise = tag || (end && is_hash(text + parser->at + 1, end - parser->at - 2));
    const bool behind = parser->at > parser->part.begin && is_word(text[parser->at - 1]);
    take_region(parser, behind, noise);
}

/* What stood before a space is no part of the name: a return type, or words of the demangler. */
static void take_space(struct parser *parser)
{
    static const char *const kept[] = {" for ", " to "};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const size_t length = strlen(kept[i]);
        if (parser->at + 1 >= length && begins(parser->text + parser->at + 1 - length, kept[i]))
            parser->parsed->prefix = parser->at + 1;
    }
    parser->has_prefix = parser->parsed->prefix != parser->at + 1;
    parser->parsed->count = parser->parsed->hole_count = 0;
    parser->at++;
    begin_part(parser);
}

/* "operator new[]", "operator bool": up to the parameters. */
static void take_conversion(struct parser *parser)
{
    const char *text = parser->text;
    while (text[parser->at] && !parser->failed) {
        const size_t end = text[parser->at] == '(' ? names_closing(text, parser->at) : 0;
        if (end && text[parser->at + 1] != '*' && text[parser->at + 1] != '&' &&
            may_follow_parameters(text + end))
            return;
        if (begins_suffix(text + parser->at))
            return;
        if (text[parser->at] == '<' || text[parser->at] == '(')
            take_region(parser, text[parser->at] == '<', false);
        else
            take(parser, 1);
    }
}

static void take_operator(struct parser *parser, size_t length)
{
    const char *text = parser->text;
    take(parser, length);
    parser->symbol = parser->at;
    if (begins(text + parser->at, "\"\" "))
        take(parser, 3);
    else if (begins(text + parser->at, " <"))
        take_behind(parser, 1);
    else if (text[parser->at] == ' ' && !begins_suffix(text + parser->at))
        take_conversion(parser);
}

/* Words before the name are left out only where what they stand before must be a name. */
static bool is_whole(const struct parser *parser)
{
    const struct names_parsed *parsed = parser->parsed;
    const struct names_part *last = parsed->count ? &parsed->parts[parsed->count - 1] : NULL;
    return !parser->failed && last && (!parser->has_prefix || last->parameters != last->behind);
}

bool names_parse(const char *text, struct names_parsed *parsed)
{
    struct parser parser = {.text = text, .parsed = parsed};
    parsed->count = parsed->hole_count = parsed->prefix = 0;
    begin_part(&parser);
    while (text[parser.at] && !begins_suffix(text + parser.at) && !parser.failed) {
        const char letter = text[parser.at];
        const size_t word = names_operator(text, parser.at), quote = quoted(text, parser.at);
        const bool begun = parser.part.begin < parser.part.end;
        if (has_parameters(&parser) && !begins(text + parser.at, "::"))
            parser.failed = true;
        else if (word)
            take_operator(&parser, word);
        else if (quote)
            take(&parser, quote);
        else if (begins(text + parser.at, "::"))
            take_separator(&parser);
        else if (letter == '<')
            take_region(&parser, begun, false);
        else if (begins(text + parser.at, "(anonymous namespace)") || letter == '{')
            take_region(&parser, false, false);
        else if (letter == '(')
            take_parenthesis(&parser);
        else if (letter == '[')
            take_square(&parser);
        else if (letter == ' ')
            take_space(&parser);
        else if (strchr(")>]}", letter))
            parser.failed = true;
        else
            take(&parser, 1);
    }
    parsed->suffix = parser.at;
    if (!parser.failed)
        end_part(&parser);
    parser.failed |= parser.wrapped && text[parser.at];
    return is_whole(&parser);
}
