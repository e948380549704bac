/* Shows a report anew while its recording goes on, as top does. */
#include "cli/follow.h"

#include "cli/commands.h"
#include "cli/open.h"
#include "recording/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { INTERVAL_NS = 2000000000 };

static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
    (void)number;
    asked_to_end = 1;
}

/* As much as fits a screen: whole lines, and none of them may make it scroll. */
static void put_screen(const char *text, size_t length)
{
    struct winsize size = {0};
    unsigned lines = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ? 24 : size.ws_row;
    fputs("\033[H", stdout);
    for (const char *end = text + length; text < end && lines-- > 1;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t count = stop ? (size_t)(stop - text) : (size_t)(end - text);
        fwrite(text, 1, count, stdout);
        fputs("\033[K\n", stdout); /* and erase what was there before */
        text += count + 1;
    }
    fputs("\033[J", stdout);
}

struct following {
    const struct cli_follow *asked;
    const char *path;
    struct recording_live *live;
    bool is_terminal;
    size_t shown;
    char *text; /* the report shown last */
    size_t length;
};

/* One report of the recording as it is now. *running: there will be more. */
static int refresh(struct following *follow, struct cli_terminal *terminal, bool *running,
                   struct sprof_error *error)
{
    struct store *store;
    /* What has no names and why is said once, not with every screen. */
    const struct sprof_log *log = follow->shown ? NULL : &terminal->log;
    int status = follow->live ? recording_live_look(follow->live, log, &store, error)
                              : cli_open_running(&store, follow->path, log, error);
    if (status)
        return status;
    *running = store_running(store);
    free(follow->text);
    follow->text = NULL;
    FILE *out = open_memstream(&follow->text, &follow->length);
    status = out ? follow->asked->show(follow->asked->context, out, store, error)
                 : sprof_error_memory(error);
    if (out && fclose(out) && !status)
        status = sprof_error_memory(error);
    if (!follow->live)
        store_close(store, NULL);
    if (status)
        return status;
    if (follow->is_terminal) {
        put_screen(follow->text, follow->length);
    } else {
        fputs(follow->shown ? "\n" : "", stdout);
        fwrite(follow->text, 1, follow->length, stdout);
    }
    follow->shown++;
    return cli_finish_output(error);
}

static void pause_for(uint64_t time_ns)
{
    const struct timespec time = {.tv_sec = (time_t)(time_ns / 1000000000),
                                  .tv_nsec = (long)(time_ns % 1000000000)};
    nanosleep(&time, NULL); /* a signal ends it */
}

int cli_follow(const struct cli_follow *asked, struct cli_terminal *terminal,
               struct sprof_error *error)
{
    struct following follow = {.asked = asked,
                               .path = asked->path ? asked->path : CLI_DEFAULT_RECORDING,
                               .is_terminal = isatty(STDOUT_FILENO)};
    const struct sigaction action = {.sa_handler = on_signal};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    bool running = true;
    int status =
        asked->sql ? 0 : recording_live_open(&follow.live, follow.path, asked->lines, error);
    if (follow.is_terminal)
        fputs("\033[?1049h\033[?25l", stdout); /* another screen, without a cursor */
    while (!asked_to_end && running && !status) {
        status = refresh(&follow, terminal, &running, error);
        if (!status && running && !asked_to_end)
            pause_for(asked->interval_ns ? asked->interval_ns : INTERVAL_NS);
    }
    if (follow.is_terminal) {
        fputs("\033[?25h\033[?1049l", stdout);
        if (!status && follow.text) /* the last one stays */
            fwrite(follow.text, 1, follow.length, stdout);
        fflush(stdout);
    }
    recording_live_free(follow.live);
    free(follow.text);
    return status;
}
