/* The code that a process runs, and whether a thread of it stands where it can be borrowed: where
 * it holds no lock of the loader or of malloc, by its stack. */
#ifndef SPROF_TRACE_ATTACH_CODE_H
#define SPROF_TRACE_ATTACH_CODE_H

#include "base/base.h"
#include "cache/cache.h"
#include "trace/attach/raw.h"

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

struct trace_code;

/* Reads the mappings of a process and opens the unwind tables of its files. SPROF_EUNSUPPORTED
 * where there is no glibc in it, or where that has no functions to load a library. The caller
 * frees. */
int trace_code_open(struct trace_code **code, pid_t pid, struct cache *cache,
                    struct sprof_error *error);
void trace_code_free(struct trace_code *code);

/* Where a function of libc is, that trace_code_open has seen to be there. */
uint64_t trace_code_dlopen(const struct trace_code *code);
uint64_t trace_code_dlclose(const struct trace_code *code);

/* Code of libc to which signal handlers return: it calls rt_sigreturn(2). No other way is known. */
const struct trace_ways *trace_code_ways(const struct trace_code *code);

/* Whether a stopped thread may call the loader, by its registers and its stack. NULL: it may; else
 * why not. */
const char *trace_code_unfit(struct trace_code *code, const struct user_regs_struct *registers);

#endif
