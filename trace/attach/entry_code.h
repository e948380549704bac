/* System calls in a process that no loader can be asked for anything: code of a few bytes at the
 * program's entry point, which nobody comes to once the program has begun. */
#ifndef SPROF_TRACE_ATTACH_ENTRY_CODE_H
#define SPROF_TRACE_ATTACH_ENTRY_CODE_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    TRACE_ENTRY_CODE_BYTES = 14,
    TRACE_ENTRY_CODE_WORDS = 8, /* of one system call on the stack, see trace_entry_code_call */
};

struct trace_entry_code {
    uint64_t at;                              /* the program's entry point, in the process */
    uint8_t original[TRACE_ENTRY_CODE_BYTES]; /* what the program's file has there */
};

/* Finds where it can be, and what the file has there. SPROF_EUNSUPPORTED: there is no room before
 * the program's code ends, or that is not what the file has. */
int trace_entry_code_find(struct trace_entry_code *entry, pid_t pid, struct sprof_error *error);

/* Through /proc/PID/mem. False: that could not be written. */
bool trace_entry_code_write(const struct trace_entry_code *entry, int memory_fd);
bool trace_entry_code_restore(const struct trace_entry_code *entry, int memory_fd);

/* A thread whose instruction pointer is entry->at pops a system call's number and its six
 * arguments, makes it, and returns to the next word: which is entry->at again, in front of another
 * call, or where it is to go on. Writes the words of one call, `next` the last of them.
 * rt_sigreturn(2), as the last, finds its frame behind its seven words, instead of `next`. */
void trace_entry_code_call(uint64_t words[TRACE_ENTRY_CODE_WORDS], uint64_t number,
                           const uint64_t arguments[6], uint64_t next);

#endif
