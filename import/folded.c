/* Reads folded stacks. The grammar is FlameGraph's: frames from the root to the leaf, separated by
 * semicolons, a space, and a count; empty lines and lines that begin with '#' are passed over. Two
 * counts are a comparison's, before and after: the second is taken. A frame may be
 * "module!function". */
#include "import/parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char form[] = "a line is `frame;frame;frame COUNT`";

/* Whether a function's name can begin so. Behind a mark that is part of a name, as of Ruby, Elixir
 * and Julia, there stand blanks, "/2", or "(": a list of parameters. */
static bool begins_function(const char *text, bool of_file)
{
    static const char *const unnamed[] = {"(anonymous", "{{", "{lambda", "-[", "+["};
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++)
        if (!strncmp(text, unnamed[i], strlen(unnamed[i])))
            return true;
    const unsigned char first = (unsigned char)*text;
    return isalnum(first) || first >= 0x80 || (first && strchr("_~<[$.@?", first)) ||
           (of_file && (first == '(' || first == '{'));
}

/* Where the function begins in "module!function": 0 when there is no module. A C++ operator that
 * holds the mark is a function. A module is the name or path of a file: it has no scopes. */
static size_t module_length(const char *frame)
{
    const bool is_path = *frame == '/' || *frame == '[';
    const size_t length = strcspn(frame, is_path ? "!" : "! (<");
    const bool is_operator = length >= 8 && strncmp(frame + length - 8, "operator", 8) == 0;
    const char *colon = memchr(frame, ':', length);
    const bool is_scoped = !is_path && colon && !(colon == frame + 1 && colon[1] == '\\');
    const bool of_file = is_path || memchr(frame, '.', length);
    return frame[length] == '!' && !is_operator && !is_scoped &&
                   begins_function(frame + length + 1, of_file)
               ? length
               : 0;
}

/* Functions are addresses of their own: nothing else distinguishes them. */
static int add_frame(struct import *import, char *text, uint32_t *node)
{
    const size_t length = module_length(text);
    const char *function = length ? text + length + 1 : text;
    if (length)
        text[length] = '\0';
    uint32_t number;
    if (sprof_intern_put(&import->keys, function, &number))
        return SPROF_ENOMEM;
    const struct recording_level level = {.name = sprof_intern_text(&import->keys, number)};
    if (number > import->names.addresses.count && import_address(import, &level, 1, 0, &number))
        return SPROF_ENOMEM;
    const struct import_module module = {.path = length ? text : NULL,
                                         .in_kernel = length && !strncmp(text, "[kernel", 7)};
    return import_node(import, *node, &module, number, node);
}

static bool has_empty_frame(const char *stack)
{
    return !*stack || *stack == ';' || strstr(stack, ";;") || stack[strlen(stack) - 1] == ';';
}

static bool is_too_deep(const char *stack)
{
    size_t frames = 1;
    for (const char *at = stack; (at = strchr(at, ';')) && frames <= IMPORT_FRAMES_MAX; at++)
        frames++;
    return frames > IMPORT_FRAMES_MAX;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts the count and the blanks around it off the end of a line; returns what is wrong with it, or
 * NULL. */
static const char *take_count(char *line, uint64_t *count)
{
    size_t length = strlen(line);
    while (length && is_blank(line[length - 1]))
        line[--length] = '\0';
    while (length && !is_blank(line[length - 1]))
        length--;
    char *space = length ? line + length - 1 : NULL;
    if (!space)
        return "no count: a line is `frame;frame;frame COUNT`";
    char *end;
    errno = 0;
    *count = strtoull(space + 1, &end, 10);
    if (end == space + 1 || *end || !isdigit((unsigned char)space[1]))
        return "the count after the last space is not a whole number";
    if (errno || *count > INT64_MAX)
        return "the count is too large";
    *space = '\0';
    return NULL;
}

/* Splits "STACK COUNT"; returns what is wrong with it, or NULL. *two is set where there are two
 * counts. */
static const char *split_line(char *line, uint64_t *count, bool *two)
{
    uint64_t before;
    const char *wrong = take_count(line, count);
    if (wrong)
        return wrong;
    *two = !take_count(line, &before);
    if (!*count && !*two)
        return "the count is zero";
    if (has_empty_frame(line))
        return "a frame has no name";
    return is_too_deep(line) ? IMPORT_TOO_DEEP : NULL;
}

/* Returns 0, SPROF_ENOMEM, or 1 with *wrong saying what is. */
static int add_line(struct import *import, char *line, uint32_t thread, size_t *with_two,
                    const char **wrong)
{
    struct import_sample sample = {.thread = thread, .cpu = -1};
    uint64_t count;
    bool two = false;
    *wrong = split_line(line, &count, &two);
    if (*wrong)
        return 1;
    *with_two += two;
    import->good_lines++;
    if (!count) /* gone in the second of two profiles */
        return 0;
    sample.cost = (struct model_cost){count, count};
    for (char *rest = line, *frame = strsep(&rest, ";"); frame; frame = strsep(&rest, ";"))
        if (add_frame(import, frame, &sample.node))
            return SPROF_ENOMEM;
    int result;
    *wrong = import_sample(import, &sample, &result);
    return *wrong ? 1 : result;
}

bool import_folded_recognizes(struct sprof_bytes head)
{
    (void)head; /* every text that is nothing else */
    return true;
}

int import_folded_read(struct import *import, struct import_input *input, struct sprof_error *error)
{
    uint32_t thread, event;
    import->whole_stacks = import->any_text = true;
    int result = import_event(import, "samples", false, &event);
    if (!result)
        result = import_thread(import, 0, 0, NULL, "import", &thread);
    char *line;
    size_t length, with_two = 0;
    while (!result && (result = import_input_line(input, &line, &length, error)) == 0) {
        const char *wrong = "the line holds a NUL byte";
        import->line++;
        if (strlen(line) == length && (!length || *line == '#'))
            continue;
        result = strlen(line) == length ? add_line(import, line, thread, &with_two, &wrong) : 1;
        if (result == 1)
            import_complain(import, wrong);
        result = result == SPROF_ENOMEM ? result : 0;
    }
    if (result == 1 && with_two)
        sprof_log_message(import->options->log, SPROF_LOG_WARNING,
                          "%s: %zu line%s end%s with two counts, as of a comparison: the second is "
                          "taken",
                          import->name, with_two, with_two == 1 ? "" : "s",
                          with_two == 1 ? "s" : "");
    return result == 1 ? import_check(import, "stacks", form, error) : result;
}
