/* Folded stacks as a recording. The grammar is FlameGraph's: frames from the root to the leaf,
 * separated by semicolons, a space, and a count; empty lines and lines that begin with '#' are
 * passed over. */
#include "record/record.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where frames without a module belong. */
static const char no_module[] = "[application]";

enum { MAX_LINE_ERRORS = 20 };

struct import {
    const struct record_import_options *options;
    struct recording *recording;
    uint32_t event;
    const struct model_thread *thread;
    struct sprof_intern names; /* functions, by number: the frame's offset */
    size_t line, bad_lines, samples;
    uint64_t total; /* of all counts: the database's integers end at INT64_MAX */
};

/* == Parsing == */

static int complain(struct import *import, const char *what)
{
    if (++import->bad_lines <= MAX_LINE_ERRORS)
        sprof_log_message(import->options->log, SPROF_LOG_WARNING, "%s:%zu: %s",
                          import->options->input, import->line, what);
    return 0;
}

/* Where the function begins in "module!function": 0 when there is no module. A C++ operator that
 * holds the mark is a function. */
static size_t module_length(const char *frame)
{
    const size_t length = strcspn(frame, "! (<");
    const bool is_operator = length >= 8 && strncmp(frame + length - 8, "operator", 8) == 0;
    return frame[length] == '!' && frame[length + 1] && !is_operator ? length : 0;
}

static int add_frame(struct import *import, char *text, uint32_t parent, uint32_t *node)
{
    const size_t length = module_length(text);
    const char *function = length ? text + length + 1 : text;
    uint32_t number;
    if (length)
        text[length] = '\0';
    return sprof_intern_put(&import->names, function, &number)
               ? SPROF_ENOMEM
               : recording_child(import->recording, parent, length ? text : no_module, number,
                                 node);
}

static bool has_empty_frame(const char *stack)
{
    return !*stack || *stack == ';' || strstr(stack, ";;") || stack[strlen(stack) - 1] == ';';
}

static int add_stack(struct import *import, char *stack, uint64_t count)
{
    uint32_t node = 0;
    for (char *rest = stack, *frame = strsep(&rest, ";"); frame; frame = strsep(&rest, ";"))
        if (add_frame(import, frame, node, &node))
            return SPROF_ENOMEM;
    const struct store_sample row = {
        .event_id = import->event,
        .thread_id = import->thread->id,
        .node_id = node,
        .weight = count,
        .count = count,
        .cpu = -1,
        .end_reason = MODEL_END_ROOT,
        .user_stack = true,
    };
    import->samples++;
    return recording_add_sample(import->recording, &row);
}

/* Splits "STACK COUNT"; returns what is wrong with it, or NULL. */
static const char *split_line(char *line, char **stack, uint64_t *count)
{
    char *space = strrchr(line, ' ');
    if (!space)
        return "no count: a line is `frame;frame;frame COUNT`";
    char *end;
    errno = 0;
    *count = strtoull(space + 1, &end, 10);
    if (end == space + 1 || *end || space[1] == '-' || space[1] == '+')
        return "the count after the last space is not a whole number";
    if (errno || *count > INT64_MAX)
        return "the count is too large";
    if (!*count)
        return "the count is zero";
    *space = '\0';
    *stack = line;
    return has_empty_frame(line) ? "a frame has no name" : NULL;
}

static int add_line(struct import *import, char *line, size_t length)
{
    if (strlen(line) != length)
        return complain(import, "the line holds a NUL byte");
    line[strcspn(line, "\r\n")] = '\0';
    if (!*line || *line == '#')
        return 0;
    char *stack;
    uint64_t count;
    const char *wrong = split_line(line, &stack, &count);
    if (!wrong && count > INT64_MAX - import->total)
        wrong = "the counts add up to more than fits";
    if (!wrong)
        import->total += count;
    return wrong ? complain(import, wrong) : add_stack(import, stack, count);
}

static int read_input(struct import *import, FILE *input, struct sprof_error *error)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int result = 0;
    while (!result && (length = getline(&line, &capacity, input)) >= 0) {
        import->line++;
        result = add_line(import, line, (size_t)length);
    }
    free(line);
    const char *name = import->options->input;
    if (result)
        return sprof_error_memory(error);
    if (ferror(input))
        return sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", name,
                               strerror(errno));
    if (import->bad_lines)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s: %zu malformed line%s; nothing was imported: mend or remove %s",
                               name, import->bad_lines, import->bad_lines == 1 ? "" : "s",
                               import->bad_lines == 1 ? "it" : "them");
    if (!import->samples)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s holds no stacks: a line is `frame;frame;frame COUNT`", name);
    return 0;
}

static int parse(struct import *import, struct sprof_error *error)
{
    const char *path = import->options->input;
    const bool standard = strcmp(path, "-") == 0;
    FILE *input = standard ? stdin : fopen(path, "re");
    if (!input)
        return sprof_error_set(error, SPROF_ENOTFOUND, errno, "cannot open %s: %s", path,
                               strerror(errno));
    const int result = read_input(import, input, error);
    if (!standard)
        fclose(input);
    return result;
}

/* == The recording == */

static int open_recording(struct import *import, struct sprof_error *error)
{
    const struct store_event event = {.name = "samples", .period = 1};
    const struct recording_options options = {.view = {.mode = MODEL_MODE_FULL},
                                              .rules = import->options->rules,
                                              .no_cache = true,
                                              .log = import->options->log};
    const int result = recording_open(&import->recording, &options, error);
    if (result)
        return result;
    struct store_run *run = recording_run(import->recording);
    run->sprof_version = import->options->sprof_version;
    run->command = import->options->input;
    run->source = MODEL_SOURCE_IMPORT;
    run->start_realtime_ns = sprof_clock_realtime_ns();
    import->thread = recording_thread(import->recording, 0, 0, "import", 0);
    if (!import->thread || recording_add_event(import->recording, &event, &import->event))
        return sprof_error_memory(error);
    return 0;
}

int record_import_folded(const struct record_import_options *options, struct sprof_error *error)
{
    struct import import = {.options = options};
    const struct recording_end end = {.names = &import.names};
    int result = open_recording(&import, error);
    if (!result)
        result = parse(&import, error);
    if (!result)
        result = recording_create(import.recording, options->output, error);
    if (!result)
        result = recording_start(import.recording, 0, 0, error);
    if (!result)
        result = recording_finish(import.recording, &end, error);
    recording_free(import.recording);
    sprof_intern_release(&import.names);
    return result;
}
