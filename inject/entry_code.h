/* System calls in a process without a loader: a few bytes of code at the program's entry point,
 * which no thread runs any more. */
#ifndef SPROF_INJECT_ENTRY_CODE_H
#define SPROF_INJECT_ENTRY_CODE_H

#include "arch/arch.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    INJECT_ENTRY_CODE_WORDS = 8, /* of one system call on the stack, see inject_entry_code_call */
};

struct inject_entry_code {
    uint64_t at;                             /* the entry point in the process */
    uint8_t original[ARCH_CALLS_CODE_BYTES]; /* the file's bytes there */
};

/* Finds the place, and the file's bytes. SPROF_EUNSUPPORTED: there is no room before the code ends,
 * or the process has other bytes. */
int inject_entry_code_find(struct inject_entry_code *entry, pid_t pid, struct sprof_error *error);

/* Writes the code through /proc/PID/mem. False: that failed. */
bool inject_entry_code_write(const struct inject_entry_code *entry, int memory_fd);
bool inject_entry_code_restore(const struct inject_entry_code *entry, int memory_fd);

/* A thread at entry->at pops a system call's number and its six arguments, makes the call, and
 * returns to the next word: entry->at again for another call, or the address where it goes on.
 * Writes the words of one call, `next` the last. rt_sigreturn(2), as the last call, finds its frame
 * in the place of `next`. */
void inject_entry_code_call(uint64_t words[INJECT_ENTRY_CODE_WORDS], uint64_t number,
                            const uint64_t arguments[6], uint64_t next);

#endif
