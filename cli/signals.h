/* Signals while recording. What the person sends to sprof is meant for the program being recorded:
 * it is passed on, and the recording ends in order when the program does.
 *
 * Attached, or once the command has ended, a first SIGINT, SIGQUIT, SIGTERM or SIGHUP ends the
 * recording in order. A second one ends it without what takes long: tables that are being built,
 * and names. Where that is not over within seconds, where only names are missing, and at a third
 * one, sprof ends by the signal; the file keeps all that was written.
 */
/* clang-format off */
/*   SIGINT, SIGQUIT   the terminal sends them to the command as well, so only those that come from
 *                     elsewhere are passed on.
 *   SIGTERM, SIGHUP   passed on to the command.
 *   SIGTSTP, SIGCONT  as always: the terminal stops and continues both.
 *   SIGPIPE           ignored: a closed standard error does not end a recording. */
/* clang-format on */
#ifndef SPROF_CLI_SIGNALS_H
#define SPROF_CLI_SIGNALS_H

#include "record/record.h"

#include <signal.h>

/* Installs the handlers. `command` is the launched process, 0 when attached; `session` NULL:
 * signals go to the command alone. After record_open, so that the command starts with the
 * dispositions sprof was started with. */
void cli_signals_catch(struct record_session *session, pid_t command);

/* Signals that come when the command has ended make this eventfd readable. */
void cli_signals_end_by(int fd);

/* Signals that end the trace of a running process in order: SIGINT, SIGQUIT, SIGTERM and SIGHUP do
 * nothing from now on but to make the descriptor readable that is returned (-1: none is left).
 * Threads that are made later block them, too. The caller closes it. */
int cli_signals_end_fd(void);

/* The session is about to be freed: signals no longer reach it. The command still gets them. */
void cli_signals_forget_session(void);

/* The signals that end a recording arrive at the descriptor that this returns (-1: errno says why),
 * whatever thread runs; SIGPIPE is ignored. */
int cli_signals_open(sigset_t *before);

/* The exit status of a command; where a signal ended it, sprof ends the same way, without a core of
 * its own, and this does not return. */
int cli_end_as(int wait_status);

#endif
