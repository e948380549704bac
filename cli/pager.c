/* Sends long output on a terminal through a pager. */
#include "cli/pager.h"

#include "base/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pager_command(void)
{
    const char *command = getenv("SPROF_PAGER");
    if (!command)
        command = getenv("PAGER");
    if (!command)
        command = access("/usr/bin/less", X_OK) ? "" : "less";
    return strcmp(command, "cat") ? command : "";
}

static void run_pager(const char *command, int input)
{
    dup2(input, STDIN_FILENO);
    close(input);
    /* Leave where it fits one screen, show colours, do not clear: git's choice. */
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void cli_pager_start(struct cli_pager *pager)
{
    const char *command = pager_command();
    int ends[2];
    *pager = (struct cli_pager){0};
    if (!isatty(STDOUT_FILENO) || !*command || pipe(ends))
        return;
    fflush(stdout);
    const pid_t process = fork();
    if (!process) {
        close(ends[1]);
        run_pager(command, ends[0]);
    }
    close(ends[0]);
    if (process > 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
        pager->process = process;
    close(ends[1]);
}

void cli_pager_finish(struct cli_pager *pager)
{
    if (!pager->process)
        return;
    fflush(stdout);
    close(STDOUT_FILENO);
    sprof_command_wait(pager->process);
    pager->process = 0;
}
