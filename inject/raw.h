/* Maps the agent into a process without glibc's loader, by system calls of a borrowed thread. */
#ifndef SPROF_INJECT_RAW_H
#define SPROF_INJECT_RAW_H

#include "arch/arch.h"
#include "cache/cache.h"
#include "inject/entry_code.h"

struct inject_borrowed;
struct inject_raw;

/* Code for system calls. */
struct inject_ways {
    uint64_t signal_return;         /* "mov $15, %rax; syscall": rt_sigreturn */
    uint64_t system_call;           /* "syscall; ret" */
    struct inject_entry_code entry; /* replaces both, unless at 0 */
};

/* SPROF_EUNSUPPORTED: nothing may be put into the process. */
int inject_raw_open(struct inject_raw **raw, pid_t pid, struct cache *cache,
                    struct sprof_error *error);
void inject_raw_free(struct inject_raw *raw);

const struct inject_ways *inject_raw_ways(const struct inject_raw *raw);

/* Why a stopped thread cannot call the program's unwinder, or NULL. */
const char *inject_raw_unfit(const struct inject_raw *raw, const struct arch_remote *registers);

struct inject_raw_agent {
    uint64_t base, bytes;
};

/* The agent is unloaded by dlclose, at `close`, or unmapped. All 0: it stays. */
struct inject_agent_location {
    uint64_t handle, close;
    struct inject_raw_agent mapped;
};

/* After a failure nothing is mapped. */
int inject_raw_load(struct inject_raw *raw, struct inject_borrowed *borrowed, const char *library,
                    struct inject_raw_agent *agent, struct sprof_error *error);

/* Registers the agent's tables with the program's unwinder. asked_at: sprof_probe_asked.
 * SPROF_ESTATE: the agent must stay. */
int inject_raw_register(const struct inject_raw *raw, struct inject_borrowed *borrowed,
                        const struct inject_raw_agent *agent, uint64_t asked_at,
                        struct sprof_error *error);

/* Undoes both. No thread may be in the agent. SPROF_ESTATE: it stays. */
int inject_raw_unload(struct inject_raw *raw, struct inject_borrowed *borrowed,
                      const struct inject_raw_agent *agent, uint64_t asked_at,
                      struct sprof_error *error);

/* A killed tracer's descriptor of the agent's file, or -1. */
int inject_raw_left_open(pid_t pid, const char *library);
int inject_raw_close(struct inject_raw *raw, struct inject_borrowed *borrowed, int fd,
                     struct sprof_error *error);

/* Finds an agent that a killed tracer left. False: it is incomplete; do not call it. */
bool inject_raw_find(pid_t pid, const char *library, uint64_t base, struct inject_raw_agent *agent);

#endif
