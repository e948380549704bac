/* Makes system calls in a process without a loader, by code at its entry point, which no thread
 * runs any more. */
#ifndef SPROF_INJECT_ENTRY_CODE_H
#define SPROF_INJECT_ENTRY_CODE_H

#include "arch/arch.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    INJECT_ENTRY_CODE_WORDS = 8,
};

struct inject_entry_code {
    uint64_t at;
    uint8_t original[ARCH_CALLS_CODE_BYTES];
};

/* SPROF_EUNSUPPORTED: no room, or other bytes than the file's. */
int inject_entry_code_find(struct inject_entry_code *entry, pid_t pid, struct sprof_error *error);

/* False: writing failed. */
bool inject_entry_code_write(const struct inject_entry_code *entry, int memory_fd);
bool inject_entry_code_restore(const struct inject_entry_code *entry, int memory_fd);

/* The code pops number and arguments, makes the call, and returns to `next`: entry->at for another
 * call, or any address. rt_sigreturn(2) comes last, with its frame at `next`. */
void inject_entry_code_call(uint64_t words[INJECT_ENTRY_CODE_WORDS], uint64_t number,
                            const uint64_t arguments[6], uint64_t next);

#endif
