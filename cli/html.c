/* sprof html: a page to look at. */
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
#include <sys/wait.h>
#include <unistd.h>

struct arguments {
    const char *input, *output;
    bool open;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"output", 'o', "FILE", "the page (sprof.html); - writes to standard output", FIELD(output),
     cli_set_text},
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
    int status;
    if (posix_spawn_file_actions_init(&quiet))
        return false;
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const bool started = !posix_spawnp(&child, program, &quiet, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&quiet);
    return started && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           !WEXITSTATUS(status);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    int status = cli_take_input(&arguments->input, operands, error);
    if (status)
        return status;
    const char *input = arguments->input ? arguments->input : CLI_DEFAULT_RECORDING;
    const char *path = arguments->output ? arguments->output : "sprof.html";
    struct store *store;
    status = cli_open_recording(&store, input, terminal, error);
    if (status)
        return status;
    struct cli_output output;
    status = cli_output_open(&output, path, input, error);
    if (!status)
        status = cli_output_close(&output, report_html(output.file, store, error), error);
    store_close(store, NULL);
    if (status || !strcmp(path, "-"))
        return status;
    if (arguments->open && !open_in_browser(path))
        cli_say(terminal, "no browser could be started: open %s", path);
    else
        cli_say(terminal, "%s", path);
    return 0;
}

const struct cli_command cli_html_command = {
    .name = "html",
    .summary = "Write a page with flame graph, tables and timeline",
    .operands = "[RECORDING]",
    .options = options,
    .details =
        "The page is one file that loads nothing: it can be opened from disk, mailed and kept.\n"
        "It holds all runs of the recording.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
