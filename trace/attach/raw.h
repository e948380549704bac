/* The agent in a process whose loader cannot be asked for it, because there is none, or another
 * than glibc's: a borrowed thread maps the agent's file, as a loader would, by system calls. */
#ifndef SPROF_TRACE_ATTACH_RAW_H
#define SPROF_TRACE_ATTACH_RAW_H

#include "cache/cache.h"
#include "trace/attach/entry_code.h"

#include <sys/user.h>

struct trace_hand;
struct trace_raw; /* what is known of such a process */

/* Code in a process by which a thread that is led there makes system calls, and comes back. */
struct trace_ways {
    uint64_t signal_return; /* "mov $15, %rax; syscall", in front of what rt_sigreturn takes … */
    uint64_t system_call;   /* "syscall; ret" */
    struct trace_entry_code
        entry; /* … or both in one, at the program's entry point; at 0: not needed */
};

/* Looks for that, and for how the program's functions are unwound. SPROF_EUNSUPPORTED: nothing may
 * be put into such a process, with the reason and the cure. */
int trace_raw_open(struct trace_raw **raw, pid_t pid, struct cache *cache,
                   struct sprof_error *error);
void trace_raw_free(struct trace_raw *raw);

/* Whether that is how a file is to be entered: it is linked statically, or for a loader that is not
 * glibc's. */
bool trace_raw_is_for(const char *path);

/* Why nothing can be put into such a process, as what it "has"; or, with pid 0, into a program of
 * such a file, as far as that tells. NULL: it can. */
const char *trace_raw_obstacle(pid_t pid, const char *path);

const struct trace_ways *trace_raw_ways(const struct trace_raw *raw);

/* Why a stopped thread cannot be borrowed to call the program's unwinder; NULL: it can. */
const char *trace_raw_unfit(const struct trace_raw *raw, const struct user_regs_struct *registers);

/* An agent that is mapped. */
struct trace_raw_agent {
    uint64_t base, bytes; /* of all of it */
};

/* What the agent is unloaded by: what dlclose, at `close`, takes, or where it is mapped. All 0: it
 * stays. */
struct trace_agent_place {
    uint64_t handle, close;
    struct trace_raw_agent mapped;
};

/* Maps the agent by a thread that is borrowed. On failure nothing of it is left. */
int trace_raw_load(struct trace_raw *raw, struct trace_hand *hand, const char *library,
                   struct trace_raw_agent *agent, struct sprof_error *error);

/* Has the agent, whose sprof_probe_asked is at `asked_at`, tell the program's unwinder of its
 * tables. SPROF_ESTATE: the unwinder may know it, and it stays. */
int trace_raw_register(const struct trace_raw *raw, struct trace_hand *hand,
                       const struct trace_raw_agent *agent, uint64_t asked_at,
                       struct sprof_error *error);

/* The opposite of both; nobody may be in it, or come to it. SPROF_ESTATE: it stays. */
int trace_raw_unload(struct trace_raw *raw, struct trace_hand *hand,
                     const struct trace_raw_agent *agent, uint64_t asked_at,
                     struct sprof_error *error);

/* The descriptor of the agent's file by which a tracer that was killed was mapping it; -1: there is
 * none. Those by which the program itself reads that file are others. */
int trace_raw_left_open(pid_t pid, const char *library);
int trace_raw_close(struct trace_raw *raw, struct trace_hand *hand, int fd,
                    struct sprof_error *error);

/* Finds what is left of an agent that began at `base`, where who mapped it was killed. False:
 * nothing may be called in it, for it was not mapped as a whole. */
bool trace_raw_find(pid_t pid, const char *library, uint64_t base, struct trace_raw_agent *agent);

#endif
