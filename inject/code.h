/* Checks by a thread's stack that it holds no lock of the loader or malloc. */
#ifndef SPROF_INJECT_CODE_H
#define SPROF_INJECT_CODE_H

#include "arch/arch.h"
#include "base/base.h"
#include "cache/cache.h"
#include "inject/raw.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_code;

/* SPROF_EUNSUPPORTED: no glibc, or no functions to load libraries. The caller frees. */
int inject_code_open(struct inject_code **code, pid_t pid, struct cache *cache,
                     struct sprof_error *error);
void inject_code_free(struct inject_code *code);

uint64_t inject_code_dlopen(const struct inject_code *code);
uint64_t inject_code_dlclose(const struct inject_code *code);

/* Code that calls rt_sigreturn(2). */
const struct inject_ways *inject_code_ways(const struct inject_code *code);

/* Why a stopped thread may not call the loader, or NULL. */
const char *inject_code_unfit(struct inject_code *code, const struct arch_remote *registers);

#endif
