/* Waits for an agent's hello, shares memory with it, and lets the command go. */
#include "trace/handshake.h"
#include "calls/calls.h"
#include "inject/inject.h"
#include "probing/probing.h"
#include "trace/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SLOW_START_MS = 10000, /* then a message reports the wait */
};
/* Address space. Only pages of called functions take memory. With --children sprof maps one per
 * program. */
#define SHARED_BYTES_MAX (UINT64_C(512) << 30)
#define SHARED_BYTES_MAX_OF_MANY (UINT64_C(64) << 30)
#define LATER_PROBES_OF_MANY 16384
#define STACK_BYTES_DEFAULT (UINT64_C(8) << 20)
#define STACK_BYTES_MOST (UINT64_C(1) << 30)

/* == The agent == */

static int no_agent(struct sprof_error *error, const char *command)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "%s was not traced: it ended, or ran, without the tracing agent, which "
                           "its loader should have put into it",
                           command);
}

int trace_handshake(struct trace_session *session, struct sprof_error *error)
{
    const char *command = *session->options.command;
    struct pollfd polls[4] = {{.fd = session->process.agent_fd, .events = POLLIN}};
    bool blind, reported = false;
    size_t count = 1;
    if (target_poll_count(session->trace->target) < sizeof polls / sizeof *polls)
        count += target_polls(session->trace->target, polls + 1, &blind);
    for (;;) {
        const int ready = poll(polls, count, SLOW_START_MS);
        if (polls[0].revents & (POLLIN | POLLHUP))
            break;
        if (target_ended(session->trace->target, NULL))
            return no_agent(error, command);
        if (!ready && !reported) {
            sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                              "%s has not loaded the tracing agent yet: sprof waits for that",
                              command);
            reported = true;
        }
    }
    struct probe_hello *hello = &session->process.hello;
    if (recv(session->process.agent_fd, hello, sizeof *hello, 0) != sizeof *hello)
        return no_agent(error, command);
    return inject_hello_check(&session->process, error);
}

int trace_send_off(struct trace_session *session, struct sprof_error *error)
{
    const struct probe_request go = {.kind = PROBE_GO};
    return sprof_message_send(session->process.agent_fd, &go, sizeof go, -1, 0)
               ? 0
               : no_agent(error, session->options.command ? *session->options.command
                                                          : session->executable.path);
}

/* == Shared memory == */

/* Includes the room into which the main thread's stack may grow. */
static void find_stack(struct trace_session *session)
{
    char path[64], line[512];
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    prlimit(session->process.pid, RLIMIT_STACK, NULL, &limit);
    uint64_t bytes = STACK_BYTES_MOST;
    if (limit.rlim_cur < STACK_BYTES_MOST)
        bytes = limit.rlim_cur < STACK_BYTES_DEFAULT ? STACK_BYTES_DEFAULT : limit.rlim_cur;
    session->process.shared->stacks.bytes = bytes == STACK_BYTES_MOST ? STACK_BYTES_DEFAULT : bytes;
    sprof_proc_shared_path(path, sizeof path, session->process.pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (!strstr(line, "[stack]") || sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        session->process.shared->stacks.high = end;
        session->process.shared->stacks.low = end - bytes;
        session->process.shared->stack_end =
            end - (limit.rlim_cur < STACK_BYTES_MOST ? limit.rlim_cur : STACK_BYTES_MOST);
    }
    if (maps)
        fclose(maps);
}

static uint64_t mask_of(uint64_t bytes)
{
    uint64_t mask = 1;
    while (mask < bytes)
        mask = mask << 1 | 1;
    return mask;
}

/* Leaves room for later libraries, up to the number of thunks. Listening processes need none. */
static uint32_t capacity_of(const struct trace_session *session)
{
    const struct trace_options *options = &session->options;
    const uint32_t most = PROBE_THUNKS - 1, points = probing_points_count(&session->probing);
    const size_t known = session->probes.count + points;
    if (session->backend->only_embedded)
        return session->capacity;
    return options->children && !options->module_count && known < most - LATER_PROBES_OF_MANY
               ? (uint32_t)known + LATER_PROBES_OF_MANY
               : most;
}

static const char *cure_of_memory(int errnum)
{
    return errnum == EFBIG    ? "raise `ulimit -f`, which holds for memory that has a descriptor"
           : errnum == EMFILE ? "raise `ulimit -n`"
           : errnum == EPERM || errnum == ENOSYS
               ? "run sprof where seccomp, as of a container, lets it call memfd_create"
               : "see `ulimit -v`, which sprof is under, too";
}

/* The process can change the size until the seal, so the size is checked after it. */
static int make_memory(struct trace_session *session, struct sprof_error *error)
{
    if (!session->backend->borrows)
        session->process.memory_fd =
            memfd_create(PROBE_MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    else if (inject_make_memory(&session->process, error))
        return error->code;
    if (session->process.memory_fd < 0 ||
        ftruncate(session->process.memory_fd, (off_t)session->process.shared_bytes) ||
        fcntl(session->process.memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return sprof_error_set(error, SPROF_ELIMIT, errno, "cannot make shared memory: %s\n%s",
                               strerror(errno), cure_of_memory(errno));
    return inject_memory_is_sealed(session->process.memory_fd, session->process.shared_bytes)
               ? 0
               : inject_refuse_memory(&session->process, error);
}

int trace_share_memory(struct trace_session *session, struct sprof_error *error)
{
    const size_t probes = session->probes.count;
    const size_t points = probing_points_count(&session->probing);
    if (probes + points >= PROBE_THUNKS)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "%zu functions and %zu places that call are too many to be probed "
                               "at once, at most %d are possible: choose with --function or "
                               "--module",
                               probes, points, PROBE_THUNKS - 1);
    const uint32_t functions = session->capacity = capacity_of(session);
    const uint64_t slab_bytes = probe_slab_bytes(functions);
    const uint64_t most =
        (session->options.children ? SHARED_BYTES_MAX_OF_MANY : SHARED_BYTES_MAX) / slab_bytes;
    const uint32_t slabs = most < PROBE_SLABS ? (uint32_t)most : PROBE_SLABS;
    session->slab_count = slabs;
    session->process.shared_bytes = probe_shared_bytes(slabs, slab_bytes);
    const int made = make_memory(session, error);
    if (made)
        return made;
    void *mapped = mmap(NULL, session->process.shared_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, session->process.memory_fd, 0);
    if (mapped == MAP_FAILED)
        return sprof_error_set(
            error, SPROF_ELIMIT, errno,
            "cannot map the shared memory, %llu GiB of addresses of which little "
            "is in memory: %s\nraise sprof's own `ulimit -v`",
            (unsigned long long)(session->process.shared_bytes >> 30), strerror(errno));
    session->process.shared = mapped;
    trace_lease_make(session);
    session->process.shared->slab_bytes = slab_bytes;
    session->process.shared->slab_count = slabs;
    calls_log_begin(&session->calls);
    calls_set_extras(&session->calls);
    calls_keep_make(&session->calls);
    session->process.shared->function_count = functions;
    session->process.shared->histograms = mask_of(slab_bytes);
    session->process.shared->cleared = PROBE_CLEARED_NOTHING;
    session->process.shared->main_tid = (uint32_t)session->process.pid;
    session->process.shared->follows_forks = session->options.children;
    session->process.shared->cost = session->trace->known_cost;
    probing_points_number(&session->probing, functions - (uint32_t)points);
    probing_outside_number(&session->probing);
    find_stack(session);
    for (size_t i = 0; i < probes; i++)
        session->process.shared->tiers[i] = session->probes.items[i].tier;
    inject_owner_write(&session->process, session->options.output,
                       session->common->options.other_count != 0);
    inject_keeper_share(&session->trace->keeper, session->process.pid, session->process.memory_fd);
    const int64_t there = trace_ask(&session->probing, PROBE_MAP_SHARED, 0,
                                    session->process.shared_bytes, session->process.memory_fd);
    session->process.shared_at = there > 0 ? (uint64_t)there : 0;
    return there > 0 ? 0
                     : sprof_error_set(error, SPROF_ELIMIT, (int)-there,
                                       "the shared memory cannot be mapped into the command: %s; "
                                       "see `ulimit -%c`",
                                       there == -EBADF ? "it has no descriptor free"
                                                       : strerror((int)-there),
                                       there == -EBADF ? 'n' : 'v');
}
