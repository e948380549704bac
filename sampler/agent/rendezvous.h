/* Where agents inside targets find the recorder: a socket in a directory of its user alone. */
#ifndef SPROF_SAMPLER_AGENT_RENDEZVOUS_H
#define SPROF_SAMPLER_AGENT_RENDEZVOUS_H

#include "agent/agent.h"
#include "base/base.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* A client that is connected and has said nothing so far. */
struct sigprof_silent {
    int fd;
    uint64_t since_ns;
};

enum { SIGPROF_SILENT_MAX = 256 };

struct sigprof_rendezvous {
    char directory[80], path[108];
    int directory_fd;       /* … locked as long as the recorder lives */
    int listener;           /* becomes readable when an agent calls */
    int owner_fd;           /* a page that agents can only read … */
    pthread_mutex_t *owner; /* … with a robust mutex: held as long as a recording runs */
    struct sigprof_silent silent[SIGPROF_SILENT_MAX]; /* by time */
    size_t silent_count;
};

#define SIGPROF_RENDEZVOUS_NONE                                                                    \
    ((struct sigprof_rendezvous){.directory_fd = -1, .listener = -1, .owner_fd = -1})

/* An agent that calls. `pid` and `uid` are its identity as the kernel reports it, in the namespaces
 * of the recorder. */
struct sigprof_caller {
    int fd;
    pid_t pid;
    uid_t uid;
    struct agent_hello hello;
};

/* Removes, too, what recorders of this user that were killed have left. Fails with
 * SPROF_EPERMISSION, SPROF_EIO or SPROF_ELIMIT; then nothing is left behind. */
int sigprof_rendezvous_open(struct sigprof_rendezvous *rendezvous, struct sprof_error *error);

/* Lets go of the mutex, so that every agent stops its timers with its next expiry; removes the
 * socket and its directory. */
void sigprof_rendezvous_close(struct sigprof_rendezvous *rendezvous);

/* Takes one caller that has identified itself, and waits for those that have just connected for a
 * moment. A silent one is kept until the agent would give up (on a busy machine it may not get
 * a CPU between its two system calls): as long as silent_count is not 0, the next call may find
 * one. False: none. The caller closes caller->fd. */
bool sigprof_rendezvous_accept(struct sigprof_rendezvous *rendezvous,
                               struct sigprof_caller *caller);

/* Gives the caller its memory. Returns whether it was still there. */
bool sigprof_rendezvous_welcome(const struct sigprof_rendezvous *rendezvous,
                                const struct sigprof_caller *caller, int memory_fd,
                                unsigned ring_shift);

#endif
