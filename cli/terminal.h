/* What sprof says, and where: messages and progress on standard error, reports on standard output.
 */
#ifndef SPROF_CLI_TERMINAL_H
#define SPROF_CLI_TERMINAL_H

#include "base/base.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

/* Made by main, handed to every command. */
struct cli_terminal {
    struct sprof_log log; /* for the other libraries; its context is this struct */
    bool verbose;         /* debug messages too */
    bool shows_progress;  /* standard error is a terminal */
    pthread_mutex_t lock; /* guards what follows: the libraries may call from any thread */
    bool line_shown;      /* a progress line stands there and must be erased first */
    uint64_t phase_start_ns, last_shown_ns;
    char phase[64];
};

void cli_terminal_init(struct cli_terminal *terminal);

/* Erases what is left of progress. */
void cli_terminal_release(struct cli_terminal *terminal);

/* One message, "sprof: " before each of its lines. */
void cli_say(struct cli_terminal *terminal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes standard output. Returns 0, or SPROF_EIO or SPROF_EFULL with *error filled where it could
 * not be written; a reader that went away ends sprof quietly instead. */
int cli_finish_output(struct sprof_error *error);

/* The width for tables on a stream: `asked`, or its terminal's; 100 where it is none. */
unsigned cli_columns(FILE *out, uint64_t asked);

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* Whether standard output is to be coloured; by itself a terminal is, unless NO_COLOR is set
 * (no-color.org). */
bool cli_wants_color(enum cli_color wanted);

#endif
