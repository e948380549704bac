/* The file of the program that a process runs. */
#ifndef SPROF_INJECT_PROGRAM_FILE_H
#define SPROF_INJECT_PROGRAM_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Finds the path of the program's file: the process's executable, or the program that its arguments
 * name where that is a dynamic loader (`ld.so ./program`). False, and "", where it has ended or may
 * not be seen. */
bool inject_program_file(pid_t pid, char path[PATH_MAX]);

#endif
