/* The agent in a process without glibc's loader: a borrowed thread maps the agent's file by system
 * calls, as a loader would. */
#ifndef SPROF_INJECT_RAW_H
#define SPROF_INJECT_RAW_H

#include "arch/arch.h"
#include "cache/cache.h"
#include "inject/entry_code.h"

struct inject_borrowed;
struct inject_raw; /* facts of such a process */

/* Code in a process by which a thread makes system calls and comes back. */
struct inject_ways {
    uint64_t signal_return; /* "mov $15, %rax; syscall": calls rt_sigreturn */
    uint64_t system_call;   /* "syscall; ret" */
    struct inject_entry_code
        entry; /* or both in one, at the program's entry point; at 0: not needed */
};

/* Finds such code, and the unwinder of the program. SPROF_EUNSUPPORTED, with the reason and the
 * cure: nothing may be put into the process. */
int inject_raw_open(struct inject_raw **raw, pid_t pid, struct cache *cache,
                    struct sprof_error *error);
void inject_raw_free(struct inject_raw *raw);

const struct inject_ways *inject_raw_ways(const struct inject_raw *raw);

/* Why a stopped thread cannot be borrowed to call the program's unwinder; NULL: it can. */
const char *inject_raw_unfit(const struct inject_raw *raw, const struct arch_remote *registers);

/* A mapped agent. */
struct inject_raw_agent {
    uint64_t base, bytes; /* of all of it */
};

/* By what the agent is unloaded: the handle for dlclose, at `close`, or where it is mapped. All 0:
 * it stays. */
struct inject_agent_location {
    uint64_t handle, close;
    struct inject_raw_agent mapped;
};

/* Maps the agent by a borrowed thread. After a failure nothing of it is left. */
int inject_raw_load(struct inject_raw *raw, struct inject_borrowed *borrowed, const char *library,
                    struct inject_raw_agent *agent, struct sprof_error *error);

/* Has the agent, whose sprof_probe_asked is at `asked_at`, register its tables with the program's
 * unwinder. SPROF_ESTATE: the unwinder may have them, and the agent stays. */
int inject_raw_register(const struct inject_raw *raw, struct inject_borrowed *borrowed,
                        const struct inject_raw_agent *agent, uint64_t asked_at,
                        struct sprof_error *error);

/* Undoes both; no thread may be in the agent, or come to it. SPROF_ESTATE: it stays. */
int inject_raw_unload(struct inject_raw *raw, struct inject_borrowed *borrowed,
                      const struct inject_raw_agent *agent, uint64_t asked_at,
                      struct sprof_error *error);

/* The descriptor by which a killed tracer was mapping the agent's file; -1: none. Descriptors of
 * the program itself are others. */
int inject_raw_left_open(pid_t pid, const char *library);
int inject_raw_close(struct inject_raw *raw, struct inject_borrowed *borrowed, int fd,
                     struct sprof_error *error);

/* Finds what is left of an agent that begins at `base`, after a kill. False: it was not mapped as a
 * whole, and must not be called. */
bool inject_raw_find(pid_t pid, const char *library, uint64_t base, struct inject_raw_agent *agent);

#endif
