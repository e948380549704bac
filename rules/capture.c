/* Parses the argument of --capture. */
#include "rules/capture.h"
#include "rules/error_at.h"

#include <stdlib.h>
#include <string.h>

struct parser {
    const char *text;
    size_t at;
    struct sprof_error *error;
};

static int refuse(const struct parser *parser, const char *wanted)
{
    return rules_error_at(parser->text, parser->at, "this names no values; at ^ give ", wanted,
                          parser->error);
}

/* == Words == */

static void skip_blanks(struct parser *parser)
{
    parser->at += strspn(parser->text + parser->at, " \t");
}

static bool is_letter(char c, bool is_first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80 || (!is_first && c >= '0' && c <= '9');
}

/* 0: none. */
static size_t name_length(const char *text)
{
    size_t length = 0;
    while (is_letter(text[length], !length))
        length++;
    return length;
}

/* Returns the length of a name with its scopes; 0: none. */
static size_t scoped_length(const char *text)
{
    size_t length = strncmp(text, "::", 2) ? 0 : 2;
    for (;;) {
        const size_t name = name_length(text + length);
        if (!name || strncmp(text + length + name, "::", 2) ||
            !name_length(text + length + name + 2))
            return name ? length + name : 0;
        length += name + 2;
    }
}

/* == Expressions == */

static int read_steps(struct parser *parser, struct symbolize_path *path)
{
    for (;;) {
        const char *text = parser->text + parser->at;
        const size_t mark = *text == '.' ? 1 : !strncmp(text, "->", 2) ? 2 : 0;
        if (!mark)
            return 0;
        parser->at += mark;
        const size_t length = name_length(text + mark);
        if (!length)
            return refuse(parser, "the name of a field");
        if (path->step_count == SYMBOLIZE_STEPS)
            return refuse(parser, "at most eight fields");
        path->steps[path->step_count].name = text + mark;
        path->steps[path->step_count++].length = (uint32_t)length;
        parser->at += length;
    }
}

static int read_path(struct parser *parser, struct symbolize_path *path)
{
    const size_t begin = parser->at;
    path->is_followed = parser->text[begin] == '*';
    parser->at += path->is_followed;
    const size_t length = scoped_length(parser->text + parser->at);
    if (!length)
        return refuse(parser,
                      "the name of a parameter, of a field of `this`, or of a static or global "
                      "variable, as in `r->host` or `config.level`");
    path->name = parser->text + parser->at;
    path->name_length = (uint32_t)length;
    parser->at += length;
    const int result = read_steps(parser, path);
    path->text = parser->text + begin;
    path->length = (uint32_t)(parser->at - begin);
    return result;
}

size_t rules_capture_path(const char *text, struct symbolize_path *path)
{
    struct parser parser = {.text = text};
    *path = (struct symbolize_path){0};
    return read_path(&parser, path) ? 0 : parser.at;
}

static int read_paths(struct parser *parser, struct rules_capture *capture)
{
    int result = 0;
    do {
        skip_blanks(parser);
        if (capture->path_count == RULES_CAPTURE_PATHS)
            return refuse(parser, "at most eight values; others belong into another --capture");
        result = read_path(parser, &capture->paths[capture->path_count++]);
        skip_blanks(parser);
    } while (!result && parser->text[parser->at] == ',' && parser->at++ < SIZE_MAX);
    if (!result && parser->text[parser->at])
        result = refuse(parser, "a comma and another value, `.` or `->` and a field, or the end");
    return result;
}

/* == All == */

/* Returns the length of the bracket expression, escaped character or beginning of a group that
 * `text` begins with; 0: none. All may hold colons: "[[:digit:]]", "\:", "(?i:". */
static size_t skipped_length(const char *text)
{
    if (*text == '\\' && text[1])
        return 2;
    if (!strncmp(text, "(?", 2)) {
        const size_t flags = 2 + strspn(text + 2, "^-abcdefghijklmnopqrstuvwxyz");
        return text[flags] == ':' ? flags + 1 : 2;
    }
    if (*text != '[')
        return 0;
    size_t at = text[1] == '^' ? 2 : 1;
    at += text[at] == ']'; /* the first one is a character */
    while (text[at] && text[at] != ']') {
        const char *class_end = strncmp(text + at, "[:", 2) ? NULL : strstr(text + at, ":]");
        at = class_end                          ? (size_t)(class_end - text) + 2
             : text[at] == '\\' && text[at + 1] ? at + 2
                                                : at + 1;
    }
    return text[at] ? at + 1 : 0;
}

/* Returns the position of the colon after the expression for functions; without one, the length. */
static size_t find_colon(const char *text)
{
    const bool is_quoted = *text == '"';
    const char *quote = is_quoted ? strchr(text + 1, '"') : NULL;
    size_t at = quote ? (size_t)(quote - text) + 1 : 0;
    while (text[at]) {
        const bool is_colon = text[at] == ':', is_scope = is_colon && text[at + 1] == ':';
        const size_t skipped = skipped_length(text + at);
        if (is_colon && !is_scope)
            break;
        at += skipped ? skipped : is_scope ? 2U : 1U;
    }
    return at;
}

/* Without blanks at its end and quotes around it. */
static int take_function(struct parser *parser, const char *begin, size_t length,
                         struct rules_capture *capture)
{
    while (length && (begin[length - 1] == ' ' || begin[length - 1] == '\t'))
        length--;
    if (length >= 2 && *begin == '"' && begin[length - 1] == '"') {
        begin++;
        length -= 2;
    }
    if (!length)
        return refuse(parser, "an expression for functions before the colon");
    capture->function = strndup(begin, length);
    return capture->function ? 0 : sprof_error_memory(parser->error);
}

static int read_function(struct parser *parser, struct rules_capture *capture)
{
    const size_t colon = find_colon(parser->text);
    const int result =
        parser->text[colon] ? take_function(parser, parser->text, colon, capture) : 0;
    parser->at = parser->text[colon] && !result ? colon + 1 : 0;
    return result;
}

/* "entry" and "exit" are keywords only before a value. */
static bool takes_word(struct parser *parser, const char *word)
{
    const char *text = parser->text + parser->at;
    const size_t length = strlen(word);
    const size_t blanks = strncmp(text, word, length) ? 0 : strspn(text + length, " \t");
    const char *value = blanks ? text + length + blanks : "";
    parser->at += *value && *value != ',' ? length + blanks : 0;
    return *value && *value != ',';
}

int rules_capture_parse(struct rules_capture *capture, const char *text, struct sprof_error *error)
{
    enum { TEXT_MOST = 4096 };
    struct parser parser = {.text = text, .error = error};
    *capture = (struct rules_capture){.text = text};
    if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "names of values have at most %d bytes",
                               (int)TEXT_MOST);
    int result = read_function(&parser, capture);
    skip_blanks(&parser);
    capture->at_entry = !result && takes_word(&parser, "entry");
    if (!result && !capture->at_entry)
        takes_word(&parser, "exit");
    if (!result)
        result = read_paths(&parser, capture);
    if (result)
        rules_capture_release(capture);
    return result;
}

int rules_request_parse(struct rules_capture *request, const char *text, struct sprof_error *error)
{
    const size_t colon = find_colon(text);
    if (text[colon]) {
        const int result = rules_capture_parse(request, text, error);
        if (result || request->path_count == 1)
            return result;
        rules_capture_release(request);
        return rules_error_at(text, (size_t)(request->paths[1].text - text),
                              "this names no request; at ^ give ", "the end: one value names it",
                              error);
    }
    *request = (struct rules_capture){.text = text};
    return take_function(&(struct parser){.text = text, .error = error}, text, colon, request);
}

void rules_capture_release(struct rules_capture *capture)
{
    free(capture->function);
    capture->function = NULL;
}
