/* The code of a process, and whether one of its threads can be borrowed: by its stack, it holds no
 * lock of the loader or of malloc. */
#ifndef SPROF_INJECT_CODE_H
#define SPROF_INJECT_CODE_H

#include "arch/arch.h"
#include "base/base.h"
#include "cache/cache.h"
#include "inject/raw.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_code;

/* Reads the mappings of a process and opens the unwind tables of its files. SPROF_EUNSUPPORTED
 * without glibc, or without functions to load a library. The caller frees. */
int inject_code_open(struct inject_code **code, pid_t pid, struct cache *cache,
                     struct sprof_error *error);
void inject_code_free(struct inject_code *code);

/* Address of a function of libc, which inject_code_open has found. */
uint64_t inject_code_dlopen(const struct inject_code *code);
uint64_t inject_code_dlclose(const struct inject_code *code);

/* Code of libc that calls rt_sigreturn(2), to which signal handlers return. */
const struct inject_ways *inject_code_ways(const struct inject_code *code);

/* Whether a stopped thread may call the loader, by its registers and its stack. NULL: it may; else
 * why not. */
const char *inject_code_unfit(struct inject_code *code, const struct arch_remote *registers);

#endif
