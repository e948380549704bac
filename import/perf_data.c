/* Reads perf.data through `perf script`: only perf reliably reads what its version wrote. */
#include "import/parts.h"

#include "base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool import_perf_data_recognizes(struct sprof_bytes head)
{
    static const char magics[][9] = {"PERFILE2", "2ELIFREP", "PERFFILE"};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (head.size >= 8 && !memcmp(head.data, magics[i], 8))
            return true;
    return false;
}

/* Starts perf with its standard output in a pipe, and its messages in a file. */
static int start(const char *path, FILE *messages, pid_t *child, int *output,
                 struct sprof_error *error)
{
    const char *const arguments[] = {"perf",        "script",  "--fields", "+pid",
                                     "--no-inline", "--input", path,       NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return sprof_error_set(error, SPROF_EIO, errno, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDERR_FILENO);
    const int failure =
        posix_spawnp(child, "perf", &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = ends[0];
    if (!failure)
        return 0;
    close(ends[0]);
    return sprof_error_set(error, SPROF_EUNSUPPORTED, failure,
                           "%s is read by perf, which cannot be run: %s\n"
                           "install it (Debian: linux-perf), or import the output of `perf script` "
                           "from where it was recorded",
                           path, strerror(failure));
}

/* The first line that perf said which is no mere warning. */
static void first_message(FILE *messages, char *line, size_t size)
{
    rewind(messages);
    *line = '\0';
    while (fgets(line, (int)size, messages)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line && strncasecmp(line, "warning", 7) != 0)
            return;
    }
}

int import_perf_data_read(struct import *import, struct import_input *input,
                          struct sprof_error *error)
{
    const char *path = import->options->input;
    struct import_input script;
    struct sprof_error wrong = {0};
    pid_t child = -1;
    int output = -1;
    if (!strcmp(path, "-") || input->is_packed)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is a perf.data, which perf reads from a file of its own: %s",
                               path, input->is_packed ? "unpack it" : "give its name");
    FILE *messages = tmpfile();
    if (!messages)
        return sprof_error_set(error, SPROF_EIO, errno, "cannot make a temporary file: %s",
                               strerror(errno));
    int result = start(path, messages, &child, &output, error);
    if (result) {
        fclose(messages);
        return result;
    }
    result = import_input_adopt(&script, output, path, &wrong);
    if (!result) {
        import->name = "perf script";
        result = import_perf_script_read(import, &script, &wrong);
        import_input_close(&script); /* perf ends when its output is closed */
    }
    const int status = sprof_command_wait(child);
    const bool cut_short = WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE;
    char line[512];
    first_message(messages, line, sizeof line);
    fclose(messages);
    if (status > 0 && !cut_short)
        return sprof_error_set(
            error, SPROF_EUNSUPPORTED, 0,
            "perf cannot read %s: %s\n"
            "it may be of another version than the perf that recorded it: import the "
            "output of `perf script` from there",
            path, *line ? line : "it says nothing");
    if (result && error)
        *error = wrong;
    return result;
}
