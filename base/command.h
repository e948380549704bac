/* Commands as a POSIX shell would read them back, and their end. */
#ifndef SPROF_BASE_COMMAND_H
#define SPROF_BASE_COMMAND_H

#include "base/arena.h"
#include "base/str.h"

#include <sys/types.h>

/* A NULL-terminated argument vector, in the arena; NULL when it is empty or memory ran out. */
const char *sprof_command_text(struct sprof_arena *arena, char *const *arguments);

/* Appends what names a target in a shell: "-p PID" or, where that is 0, the file of the command's
 * program; "FILE" where both are unknown. Returns 0 or SPROF_ENOMEM. */
int sprof_command_append_target(struct sprof_str *out, pid_t pid, char *const *command);

/* The arguments of a live process, by /proc, at most 4 KiB of them; NULL where it has none or is
 * gone. */
const char *sprof_command_of_process(struct sprof_arena *arena, pid_t pid);

/* Waits for the end of a child, also when signals come meanwhile. Returns its status as waitpid
 * does; -1 where there is no such child. */
int sprof_command_wait(pid_t child);

#endif
