/* Long output on a terminal goes through a pager, as git's does. */
#ifndef SPROF_CLI_PAGER_H
#define SPROF_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/* A pager at work; zero is none. */
struct cli_pager {
    pid_t process;
};

/* Where standard output is a terminal: starts SPROF_PAGER, PAGER or less, and sends standard output
 * to it. `cat` or an empty value means none; nothing happens where none can be started. */
void cli_pager_start(struct cli_pager *pager);

/* Ends the output and waits until the person has left the pager. */
void cli_pager_finish(struct cli_pager *pager);

#endif
