/* Records in a child process, for `sprof top`. */
#include "cli/top_recorder.h"

#include "base/command.h"

#include "cli/signals.h"
#include "cli/terminal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* == The child == */

/* A write is whole, as it is smaller than PIPE_BUF; it fails where the reader is gone. */
static void send_end(int fd, const struct cli_top_end *end)
{
    static_assert(sizeof *end <= 4096, "a message is written whole");
    if (write(fd, end, sizeof *end) < 0)
        errno = 0;
}

static void on_message(void *context, enum sprof_log_level level, const char *text)
{
    const int fd = *(const int *)context;
    if (level > SPROF_LOG_DEBUG)
        dprintf(fd, "%s\n", text);
}

struct pipes {
    int state[2], message[2], output[2];
};

/* Its own group, so that Ctrl-C ends the screen, and the screen the recording. */
static void settle(const struct pipes *pipes, pid_t parent)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(pipes->output[1], STDOUT_FILENO);
    dup2(pipes->output[1], STDERR_FILENO);
}

static void take_error(struct cli_top_end *end, int code, const struct sprof_error *error)
{
    end->code = code;
    snprintf(end->message, sizeof end->message, "%s", error->message);
}

static void record(const struct pipes *pipes, const struct record_options *given)
{
    const struct sprof_log log = {on_message, NULL, (void *)(uintptr_t)&pipes->message[1]};
    struct record_options options = *given;
    struct record_session *session;
    struct record_result result = {0};
    struct cli_top_end end = {0};
    struct sprof_error error = {0};
    options.log = &log;
    int status = record_open(&session, &options, &error);
    take_error(&end, status, &error);
    send_end(pipes->state[1], &end);
    if (status)
        return;
    cli_signals_catch(session, 0);
    status = record_run(session, &result, &error);
    cli_signals_forget_session();
    take_error(&end, status, &error);
    end.has_wait_status = result.has_wait_status;
    end.wait_status = result.wait_status;
    record_free(session);
    send_end(pipes->state[1], &end);
}

/* == The parent == */

static int open_pipes(struct pipes *pipes, struct sprof_error *error)
{
    int *const all[] = {pipes->state, pipes->message, pipes->output};
    for (int i = 0; i < 3; i++)
        if (pipe2(all[i], O_CLOEXEC)) {
            const int errnum = errno;
            while (i-- > 0) {
                close(all[i][0]);
                close(all[i][1]);
            }
            return sprof_error_set(error, SPROF_EIO, errnum, "cannot make a pipe: %s",
                                   strerror(errnum));
        }
    return 0;
}

/* False: the recorder has ended without a word. */
static bool receive_end(int fd, struct cli_top_end *end)
{
    ssize_t size;
    do
        size = read(fd, end, sizeof *end);
    while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof *end;
}

int cli_top_recorder_start(struct cli_top_recorder *recorder, const struct record_options *options,
                           struct sprof_error *error)
{
    struct pipes pipes;
    const pid_t parent = getpid();
    *recorder = CLI_TOP_RECORDER_NONE;
    int status = open_pipes(&pipes, error);
    if (status)
        return status;
    recorder->pid = fork();
    if (!recorder->pid) {
        settle(&pipes, parent);
        record(&pipes, options);
        _exit(0);
    }
    const int errnum = errno;
    close(pipes.state[1]);
    close(pipes.message[1]);
    close(pipes.output[1]);
    recorder->state_fd = pipes.state[0];
    recorder->message_fd = pipes.message[0];
    recorder->output_fd = pipes.output[0];
    fcntl(recorder->message_fd, F_SETFL, O_NONBLOCK);
    fcntl(recorder->output_fd, F_SETFL, O_NONBLOCK);
    if (recorder->pid < 0) {
        recorder->pid = 0;
        return sprof_error_set(error, SPROF_EIO, errnum, "cannot start a process that records: %s",
                               strerror(errnum));
    }
    struct cli_top_end opened = {0};
    if (!receive_end(recorder->state_fd, &opened))
        return sprof_error_set(error, SPROF_EIO, 0, "the process that records has ended");
    return opened.code ? sprof_error_set(error, opened.code, 0, "%s", opened.message) : 0;
}

static void reap(struct cli_top_recorder *recorder)
{
    if (recorder->pid > 0)
        sprof_command_wait(recorder->pid);
    recorder->pid = 0;
}

void cli_top_recorder_wait(struct cli_top_recorder *recorder)
{
    if (recorder->pid <= 0)
        return;
    if (!receive_end(recorder->state_fd, &recorder->end))
        recorder->end = (struct cli_top_end){
            .code = SPROF_EIO,
            .message = "the process that records was ended: what it wrote can still be read"};
    reap(recorder);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void cli_top_recorder_release(struct cli_top_recorder *recorder)
{
    if (recorder->pid > 0)
        kill(recorder->pid, SIGTERM);
    close_end(&recorder->output_fd);
    close_end(&recorder->message_fd);
    reap(recorder);
    close_end(&recorder->state_fd);
}
