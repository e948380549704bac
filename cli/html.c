/* sprof html: a page to look at. */
#include "base/command.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/values.h"
#include "report/report.h"

#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Each has its share of the page's size. */
enum { INPUTS_MOST = 8 };

struct arguments {
    const char *input, *output, *source;
    bool open, no_source, parts_apart;
    struct cli_texts renamed; /* ended by a NULL once it is complete */
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"output", 'o', "FILE", "the page (sprof.html); - writes to standard output", FIELD(output),
     cli_set_text},
    {"source", 0, "DIR", "where source files lie that are not where they were", FIELD(source),
     cli_set_text},
    {"no-source", 0, NULL, "neither source lines nor instructions: for pages that others will see",
     FIELD(no_source), cli_set_flag},
    {"map", 0, "OLD=NEW", "this module of the first recording has another name in the last",
     FIELD(renamed), cli_add_renamed},
    {"no-join-parts", 0, NULL, "show f.cold, f.part.0, f.constprop.0 beside f, not in it",
     FIELD(parts_apart), cli_set_flag},
    {"open", 0, NULL, "show it in the browser", FIELD(open), cli_set_flag},
    {0},
};

/* Whether a browser was started; its own output would only disturb. */
static bool open_in_browser(const char *path)
{
    char program[] = "xdg-open";
    char *arguments[] = {program, (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t child;
    if (posix_spawn_file_actions_init(&quiet))
        return false;
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const bool started = !posix_spawnp(&child, program, &quiet, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&quiet);
    return started && !sprof_command_wait(child);
}

static int write_page(const struct arguments *arguments, const char *path,
                      const struct report_html_input *inputs, size_t count,
                      struct sprof_error *error)
{
    const struct report_html_options html = {.no_source = arguments->no_source,
                                             .parts_apart = arguments->parts_apart,
                                             .source_directory = arguments->source,
                                             .renamed = arguments->renamed.list.items};
    struct cli_output output = {0};
    int status = 0;
    for (size_t i = 0; i < count && !status && strcmp(path, "-") != 0; i++)
        status = cli_output_check(path, inputs[i].name, error);
    if (!status)
        status = cli_output_open(&output, path, NULL, error);
    if (status)
        return status;
    return cli_output_close(&output, report_html(output.file, inputs, count, &html, error), error);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct report_html_input inputs[INPUTS_MOST] = {0};
    size_t count = 0, opened = 0;
    if (operands->count + (arguments->input != NULL) > INPUTS_MOST)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a page holds at most %d recordings",
                               INPUTS_MOST);
    if (arguments->input)
        inputs[count++].name = arguments->input;
    for (int i = 0; i < operands->count; i++)
        inputs[count++].name = operands->items[i];
    if (!count)
        inputs[count++].name = CLI_DEFAULT_RECORDING;
    const char *path = arguments->output ? arguments->output : "sprof.html";
    int status = sprof_vec_push(&arguments->renamed.list, NULL) ? sprof_error_memory(error) : 0;
    for (; opened < count && !status; opened += !status)
        status = cli_open_recording(&inputs[opened].store, inputs[opened].name, terminal, error);
    if (!status)
        status = write_page(arguments, path, inputs, count, error);
    while (opened > 0)
        store_close(inputs[--opened].store, NULL);
    if (status || !strcmp(path, "-"))
        return status;
    if (arguments->open && !open_in_browser(path))
        cli_say(terminal, "no browser could be started: open %s", path);
    else
        cli_say(terminal, "%s", path);
    return 0;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->renamed.list);
}

const struct cli_command cli_html_command = {
    .name = "html",
    .summary = "Write a page with flame graph, tables and time line",
    .operands = "[RECORDING…]",
    .options = options,
    .details =
        "The page is one file that loads nothing: it can be opened from disk, mailed and kept.\n"
        "It holds all runs of the recording. With several recordings it shows the last one, "
        "compared\n"
        "with the first: `sprof html before.db after.db`. Source lines and instructions of the\n"
        "hottest functions are in it, unless --no-source is given.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
    .release = release,
};
