/* Starts and ends the process that sends segments. */
#include "cli/pusher.h"

#include "base/command.h"
#include "cli/export_rows.h"
#include "cli/output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct words {
    SPROF_VEC(char *) list;
};

static int add(struct words *words, const char *word)
{
    return sprof_vec_push(&words->list, (char *)(uintptr_t)word);
}

/* With the NULL at the end. `spool` must live as long. */
static int command_line(struct words *words, const struct cli_pusher_options *options,
                        const char *directory, const char *spool)
{
    const char *const fixed[] = {"sprof",     "push",    "--follow", "--to",
                                 options->to, "--spool", spool};
    int result = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed && !result; i++)
        result = add(words, fixed[i]);
    if (!result && options->credentials)
        result = add(words, "--credentials") || add(words, options->credentials);
    for (size_t i = 0; i < options->labels.list.count && !result; i++)
        result = add(words, "--label") || add(words, options->labels.list.items[i]);
    for (size_t i = 0; i < CLI_LEFT_OUT_WORDS && !result; i++)
        if (options->without & 1u << i)
            result = add(words, "--without") || add(words, cli_left_out_words[i]);
    return result || add(words, "--") || add(words, directory) || add(words, NULL);
}

static _Noreturn void become(char *const *words, const sigset_t *mask, pid_t parent)
{
    enum { NICE = 10, FAILED = 127 };
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    setpriority(PRIO_PROCESS, 0, NICE);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    execv("/proc/self/exe", words);
    _exit(FAILED);
}

pid_t cli_pusher_start(const struct cli_pusher_options *options, const char *directory,
                       const sigset_t *mask, struct sprof_error *error)
{
    struct words words = {.list = {0}};
    struct sprof_str spool = {0};
    const pid_t parent = getpid();
    pid_t pusher = -1;
    int result = cli_make_directory(directory, error);
    if (result)
        return result;
    if (sprof_str_appendf(&spool, "%s/spool", directory) ||
        command_line(&words, options, directory, spool.text))
        result = sprof_error_memory(error);
    else if ((pusher = fork()) < 0)
        result = sprof_error_set(error, SPROF_ELIMIT, errno, "cannot start a process: %s",
                                 strerror(errno));
    else if (!pusher)
        become(words.list.items, mask, parent);
    sprof_vec_release(&words.list);
    sprof_str_release(&spool);
    return result ? result : pusher;
}

void cli_pusher_end(pid_t pusher)
{
    kill(pusher, SIGTERM);
    sprof_command_wait(pusher);
}
