/* The program that a process runs. */
#ifndef SPROF_INJECT_PROGRAM_FILE_H
#define SPROF_INJECT_PROGRAM_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Its executable, or what that loads (`ld.so ./program`). False, and "": ended or forbidden. */
bool inject_program_file(pid_t pid, char path[PATH_MAX]);

#endif
