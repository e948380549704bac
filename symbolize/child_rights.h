/* symbolize, inside: what a process that reads foreign files gives up before it reads the first. */
#ifndef SPROF_SYMBOLIZE_CHILD_RIGHTS_H
#define SPROF_SYMBOLIZE_CHILD_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* Opens a file for this process: a descriptor, or minus an errno. Async-signal-safe. */
typedef int symbolize_child_opener(const char *path);

/* Closes what was inherited but the socket, and gives up the user, the groups and all capabilities.
 * False: a right could not be given up. */
bool symbolize_child_drop_rights(void);

/* Limits time, memory and files, and leaves the system calls that reading takes: no socket, no
 * program, no other process, no file for writing. Each open of a file becomes a call of `open`. */
bool symbolize_child_confine(uint64_t cpu_s, uint64_t memory_bytes, symbolize_child_opener *open);

#endif
