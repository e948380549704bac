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
    struct model_world world;
    struct model_stacks stacks;
    struct sprof_intern names; /* functions, by number: the frame's offset */
    struct store_batch batch;
    struct store_run run;
    struct store_event event;
    size_t line, bad_lines;
    uint64_t total; /* of all counts: the database's integers end at INT64_MAX */
};

static void release(struct import *import)
{
    model_world_release(&import->world);
    model_stacks_release(&import->stacks);
    sprof_intern_release(&import->names);
    store_batch_release(&import->batch);
}

/* ---- Parsing -----------------------------------------------------------------------------------
 */

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

static struct model_module *find_module(struct import *import, const char *name)
{
    const struct sprof_file_id identity = {.path = name};
    const bool in_kernel = strncmp(name, "[kernel", 7) == 0;
    return model_world_module(&import->world, &identity, in_kernel, 0);
}

static int add_frame(struct import *import, char *text, uint32_t parent, uint32_t *node)
{
    const size_t length = module_length(text);
    const char *function = length ? text + length + 1 : text;
    if (length)
        text[length] = '\0';
    const struct model_module *module = find_module(import, length ? text : no_module);
    uint32_t number, frame;
    if (!module || sprof_intern_put(&import->names, function, &number) ||
        model_stacks_frame(&import->stacks, module->id, number, &frame))
        return SPROF_ENOMEM;
    return model_stacks_node(&import->stacks, parent, frame, MODEL_BY_CFI, false, node);
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
        .run_id = 1,
        .event_id = 1,
        .thread_id = 1,
        .node_id = node,
        .time_ns = 0,
        .weight = count,
        .count = count,
        .cpu = -1,
        .end_reason = MODEL_END_ROOT,
        .user_stack = true,
    };
    return sprof_vec_push(&import->batch.samples, row);
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
    if (!import->batch.samples.count)
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

/* ---- Writing -----------------------------------------------------------------------------------
 */

static int fill_batch(struct import *import)
{
    struct store_batch *batch = &import->batch;
    const struct store_process process = {.id = 1, .run_id = 1, .name = "import"};
    const struct store_thread thread = {.id = 1, .process_id = 1, .name = "import"};
    const struct store_phase phase = {
        .id = 1, .run_id = 1, .mode = import->run.mode, .app_interior = import->run.app_interior};
    if (sprof_vec_push(&batch->events, import->event) || sprof_vec_push(&batch->phases, phase) ||
        sprof_vec_push(&batch->processes, process) || sprof_vec_push(&batch->threads, thread))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < import->world.modules.count; i++) {
        const struct model_module *module = import->world.modules.items[i];
        const struct store_module row = {.id = module->id,
                                         .path = module->identity.path,
                                         .name = module->name,
                                         .kind = module->kind};
        if (sprof_vec_push(&batch->modules, row))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < import->stacks.frames.count; i++) {
        const struct model_frame *frame = &import->stacks.frames.items[i];
        const struct store_frame row = {
            .id = frame->id, .module_id = frame->module, .file_offset = frame->offset};
        if (sprof_vec_push(&batch->frames, row))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < import->stacks.nodes.count; i++) {
        const struct model_node *node = &import->stacks.nodes.items[i];
        const struct store_node row = {.id = node->id,
                                       .parent_id = node->parent,
                                       .frame_id = node->frame,
                                       .depth = node->depth,
                                       .found_by = node->found_by};
        if (sprof_vec_push(&batch->nodes, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static void describe(struct import *import)
{
    import->run = (struct store_run){
        .id = 1,
        .key = sprof_hash_pair(sprof_clock_realtime_ns(), sprof_hash_text(import->options->input)),
        .state = STORE_COMPLETE,
        .sprof_version = import->options->sprof_version,
        .command = import->options->input,
        .mode = model_mode_text(MODEL_MODE_FULL),
        .app_interior = "keep",
        .source = MODEL_SOURCE_IMPORT,
        .start_realtime_ns = sprof_clock_realtime_ns(),
        .wait_status = -1,
    };
    import->event = (struct store_event){.id = 1, .run_id = 1, .name = "samples", .period = 1};
    import->batch.run = &import->run;
}

static int write_recording(struct import *import, struct sprof_error *error)
{
    struct store *store;
    describe(import);
    if (fill_batch(import))
        return sprof_error_memory(error);
    int result = store_create(&store, import->options->output, error);
    if (result)
        return result;
    result = store_write(store, &import->batch, error);
    if (!result)
        result = record_derive_import(store, &import->names, error);
    const int closed = store_close(store, result ? NULL : error);
    return result ? result : closed;
}

int record_import_folded(const struct record_import_options *options, struct sprof_error *error)
{
    struct import import = {.options = options};
    import.world.rules = options->rules;
    int result = parse(&import, error);
    if (!result)
        result = write_recording(&import, error);
    release(&import);
    return result;
}
