/* Writes types and template arguments without what is noise. */
#include "names/parse.h"
#include "names/write.h"

#include <string.h>

enum { DEPTH_MOST = 24 };

static const char *const noise[] = {
    "__cxx11", "__1",         "__ndk1",      "_V2",
    "__debug", "__detail",    "__gnu_cxx",   "(anonymous namespace)",
    "__8",     "{anonymous}", "_GLOBAL__N_1"};

/* What libraries add to the arguments that a person wrote. */
static const char *const usual[] = {
    "std::allocator<", "std::char_traits<",    "std::less<",           "std::hash<",
    "std::equal_to<",  "std::default_delete<", "std::__1::allocator<", "alloc::alloc::Global"};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

bool names_is_noise(const char *scope, size_t length)
{
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (strlen(noise[i]) == length && !memcmp(noise[i], scope, length))
            return true;
    return false;
}

size_t names_noise(const char *text)
{
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (begins(text, noise[i]) && begins(text + strlen(noise[i]), "::"))
            return strlen(noise[i]) + 2;
    return 0;
}

bool names_of_char(const char *arguments)
{
    return begins(arguments, "<char, std::char_traits<char>") || begins(arguments, "<char>") ||
           begins(arguments, "<char, std::__1::char_traits<char>");
}

static bool is_word(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '$' ||
           (unsigned char)letter >= 0x80;
}

struct writer {
    struct sprof_str *out;
    const char *text;
    size_t end;
    bool deep;
    unsigned depth;
};

static bool is_usual(const char *text)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (begins(text, usual[i]))
            return true;
    return false;
}

static void put_range(struct writer *writer, size_t at, size_t end);

/* Where the argument that begins at `at` ends: a comma, or the end. */
static size_t argument_end(const struct writer *writer, size_t at, size_t end)
{
    while (at < end && writer->text[at] != ',') {
        const size_t word = names_operator(writer->text, at);
        const size_t closing =
            strchr("(<[{", writer->text[at]) ? names_closing(writer->text, at) : 0;
        at = word ? at + word : closing ? closing : at + 1;
    }
    return at < end ? at : end;
}

static size_t without_spaces(const char *text, size_t begin, size_t end)
{
    while (end > begin && text[end - 1] == ' ')
        end--;
    return end;
}

static void put_arguments(struct writer *writer, size_t at, size_t end)
{
    for (bool first = true; at < end; first = false) {
        const size_t behind = argument_end(writer, at, end);
        if (first || !is_usual(writer->text + at)) {
            sprof_str_append(writer->out, first ? "" : ", ");
            put_range(writer, at, without_spaces(writer->text, at, behind));
        }
        at = behind < end ? behind + 1 : end;
        while (at < end && writer->text[at] == ' ')
            at++;
    }
}

/* "basic_string" in front of arguments of char is "string". */
static size_t basic(const struct writer *writer, size_t at)
{
    static const char word[] = "basic_";
    size_t end = at + sizeof word - 1;
    if (!begins(writer->text + at, word))
        return 0;
    while (is_word(writer->text[end]))
        end++;
    return names_of_char(writer->text + end) ? end : 0;
}

static size_t put_angles(struct writer *writer, size_t at, size_t closing)
{
    if (writer->deep && writer->depth < DEPTH_MOST) {
        writer->depth++;
        sprof_str_append(writer->out, "<");
        put_arguments(writer, at + 1, closing - 1);
        sprof_str_append(writer->out, ">");
        writer->depth--;
    }
    return closing;
}

/* Bytes of "{lambda" and the like in front of a lambda's parameters; else 0. */
static size_t lambda(const char *text)
{
    const char *end = begins(text, "{lambda(")  ? text + strlen("{lambda")
                      : begins(text, "'lambda") ? strchr(text + 1, '\'')
                                                : NULL;
    return !end ? 0 : *end == '\'' ? (size_t)(end - text) + 1 : (size_t)(end - text);
}

/* "{lambda(int)#1}" is "λ(int)", with its number where arguments are shown in depth. */
static size_t put_lambda(struct writer *writer, size_t at, size_t word)
{
    const bool braces = writer->text[at] == '{';
    const size_t closing = braces ? names_closing(writer->text, at) : at + word;
    const size_t parameters = braces ? names_closing(writer->text, at + word) : at + word;
    if (!closing || !parameters || parameters > closing)
        return 0;
    sprof_str_append(writer->out, "λ");
    if (braces && writer->depth < DEPTH_MOST) {
        writer->depth++;
        put_range(writer, at + word, parameters);
        writer->depth--;
    }
    if (writer->deep && braces)
        sprof_str_append_bytes(writer->out, writer->text + parameters, closing - 1 - parameters);
    return closing;
}

static void put_range(struct writer *writer, size_t at, size_t end)
{
    const char *text = writer->text;
    struct sprof_str *out = writer->out;
    bool after_word = false;
    while (at < end) {
        const size_t word = names_operator(text, at);
        const size_t scope = after_word ? 0 : names_noise(text + at);
        const size_t character = after_word ? 0 : basic(writer, at);
        const size_t closing = text[at] == '<' && !word ? names_closing(text, at) : 0;
        const size_t closure = after_word ? 0 : lambda(text + at);
        const size_t behind = closure ? put_lambda(writer, at, closure) : 0;
        after_word = is_word(text[at]);
        if (behind) {
            at = behind;
            after_word = true;
        } else if (word) {
            sprof_str_append_bytes(out, text + at, word);
            at += word;
        } else if (scope && at + scope < end) {
            at += scope;
            after_word = false;
        } else if (character && character < end) {
            sprof_str_append_bytes(out, text + at + strlen("basic_"),
                                   character - at - strlen("basic_"));
            at = names_closing(text, character);
            at = at ? at : character;
        } else if (closing && closing <= end && out->length) {
            at = put_angles(writer, at, closing);
        } else {
            sprof_str_append_bytes(out, text + at++, 1);
        }
    }
}

void names_put_types(struct sprof_str *out, const char *text, size_t begin, size_t end, bool deep)
{
    struct writer writer = {out, text, end, deep, 0};
    put_arguments(&writer, begin, end);
}
