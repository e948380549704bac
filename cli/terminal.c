/* Shows messages, progress and output as the terminal takes them. */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL_COLUMNS 100
enum { MESSAGE_MOST = 2048 }; /* bytes */
/* Short phases show nothing; long ones a line ten times a second. */
#define PROGRESS_AFTER_NS 300000000u
#define PROGRESS_EVERY_NS 100000000u

static void erase_line(struct cli_terminal *terminal)
{
    if (terminal->line_shown)
        fputs("\r\033[K", stderr);
    terminal->line_shown = false;
}

static void print_lines(const char *text)
{
    do {
        const size_t length = strcspn(text, "\n");
        char line[MESSAGE_MOST];
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        fputs("sprof: ", stderr);
        sprof_utf8_put(stderr, line);
        fputc('\n', stderr);
        text += length + (text[length] == '\n');
    } while (*text);
}

static void show_text(struct cli_terminal *terminal, const char *text)
{
    pthread_mutex_lock(&terminal->lock);
    erase_line(terminal);
    print_lines(text);
    pthread_mutex_unlock(&terminal->lock);
}

static void on_message(void *context, enum sprof_log_level level, const char *text)
{
    struct cli_terminal *terminal = context;
    if (level > SPROF_LOG_DEBUG || terminal->verbose)
        show_text(terminal, text);
}

static void show_progress(struct cli_terminal *terminal, uint64_t done, uint64_t total)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (now_ns - terminal->phase_start_ns < PROGRESS_AFTER_NS ||
        now_ns - terminal->last_shown_ns < PROGRESS_EVERY_NS)
        return;
    terminal->last_shown_ns = now_ns;
    terminal->line_shown = true;
    fprintf(stderr, "\r\033[Ksprof: %s", terminal->phase);
    if (total)
        fprintf(stderr, " %.0f %%", 100.0 * (double)(done < total ? done : total) / (double)total);
    else if (done)
        fprintf(stderr, " %llu", (unsigned long long)done);
}

static void on_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct cli_terminal *terminal = context;
    if (!terminal->shows_progress)
        return;
    pthread_mutex_lock(&terminal->lock);
    if (strncmp(terminal->phase, phase, sizeof terminal->phase - 1) != 0) {
        erase_line(terminal);
        snprintf(terminal->phase, sizeof terminal->phase, "%s", phase);
        terminal->phase_start_ns = sprof_clock_monotonic_ns();
    }
    if (total && done >= total)
        erase_line(terminal);
    else
        show_progress(terminal, done, total);
    pthread_mutex_unlock(&terminal->lock);
}

void cli_terminal_init(struct cli_terminal *terminal)
{
    *terminal = (struct cli_terminal){
        .log = {on_message, on_progress, terminal},
        .shows_progress = isatty(STDERR_FILENO),
    };
    pthread_mutex_init(&terminal->lock, NULL);
}

void cli_terminal_release(struct cli_terminal *terminal)
{
    erase_line(terminal);
    pthread_mutex_destroy(&terminal->lock);
}

void cli_say(struct cli_terminal *terminal, const char *format, ...)
{
    char text[MESSAGE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    show_text(terminal, text);
}

int cli_finish_output(struct sprof_error *error)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return 0;
    const int errnum = errno;
    if (errnum == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return sprof_error_set(error, errnum == ENOSPC ? SPROF_EFULL : SPROF_EIO, errnum,
                           "cannot write the output: %s",
                           errnum ? strerror(errnum) : "part of it is missing");
}

unsigned cli_columns(FILE *out, uint64_t asked)
{
    if (asked)
        return asked < 10000 ? (unsigned)asked : 10000;
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
        return USUAL_COLUMNS;
    return size.ws_col;
}

bool cli_wants_color(enum cli_color wanted)
{
    const char *no_color = getenv("NO_COLOR");
    if (wanted != CLI_COLOR_AUTO)
        return wanted == CLI_COLOR_ALWAYS;
    return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}
