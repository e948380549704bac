/* Puts the tracing agent into a running process, and takes it out again: a borrowed thread calls
 * the loader. */
#include "trace/attach/attachment.h"
#include "trace/attach/inside.h"
#include "trace/attach/leaving.h"
#include "trace/attach/lock.h"
#include "trace/meet.h"

#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOAD_NOW = 2,      /* RTLD_NOW */
    THREADS_MS = 5000, /* for all threads to stop, in several tries */
    BETWEEN_MS = 250,  /* between two tries, in which they run */
};

int trace_attach_take(struct trace_attachment *attachment, pid_t pid, bool any_place,
                      struct sprof_error *error)
{
    return trace_hand_take(&attachment->hand, pid, attachment->memory_fd, &attachment->entrance,
                           any_place, error);
}

int64_t trace_attached_ask(struct trace_session *session, const struct probe_request *request,
                           struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    struct probe_asked *asked = calloc(1, sizeof *asked);
    if (!asked)
        return -ENOMEM;
    asked->request = *request;
    snprintf(asked->path, sizeof asked->path, "%s", attachment->library);
    const int result =
        trace_hand_call(&attachment->hand, attachment->asked, asked, sizeof *asked, 0, error);
    const int64_t answer = result ? -EIO : asked->answer.result;
    if (!result && request->kind == PROBE_HELLO)
        session->hello = asked->hello;
    free(asked);
    return answer;
}

const char *trace_attach_lock_advice(pid_t pid)
{
    char locked[64];
    trace_attach_read_status(pid, "VmLck", locked, sizeof locked);
    return strtoull(locked, NULL, 10)
               ? "\nit locks its memory: after mlockall all that is loaded counts, see `ulimit -l`"
               : "";
}

static int explain_load(pid_t pid, const char *library, struct sprof_error *error)
{
    const int closed = trace_attach_explain_closed(pid, library, error);
    if (closed)
        return closed;
    return sprof_error_set(
        error, SPROF_EUNSUPPORTED, 0,
        "process %d could not load %s: it may not be allowed to read or to execute that file, or "
        "has no room left for thread-local data, or for one more descriptor (`ulimit -n`)%s",
        (int)pid, library, trace_attach_lock_advice(pid));
}

static int load_raw(struct trace_session *session, struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    int result = trace_raw_load(attachment->entrance.raw, &attachment->hand, attachment->library,
                                &attachment->mapped, error);
    attachment->asked = result ? 0 : trace_attach_find_asked(session->pid, attachment->library);
    if (result)
        return result;
    if (!attachment->asked)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "the tracing agent cannot be found in process %d, into which it "
                               "was mapped",
                               (int)session->pid);
    result = trace_raw_register(attachment->entrance.raw, &attachment->hand, &attachment->mapped,
                                attachment->asked, error);
    if (result) /* the unwinder may have its tables, so it stays */
        attachment->mapped = (struct trace_raw_agent){0};
    return result;
}

static int load(struct trace_session *session, struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    char library[TARGET_PATH_MAX] = "";
    if (attachment->entrance.raw)
        return load_raw(session, error);
    snprintf(library, sizeof library, "%s", attachment->library);
    int result = trace_hand_call(&attachment->hand, trace_code_dlopen(attachment->entrance.code),
                                 library, (strlen(library) + 8) & ~(size_t)7, LOAD_NOW, error);
    if (!result)
        attachment->asked = trace_attach_find_asked(session->pid, attachment->library);
    if (!result && !attachment->asked)
        result = explain_load(session->pid, attachment->library, error);
    return result;
}

/* The loader's handle of the agent; 0: none. */
static uint64_t find_handle(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_code *code = session->attachment->entrance.code;
    if (!code)
        return 0;
    const struct probe_request find = {.kind = PROBE_FIND_HANDLE,
                                       .address = trace_code_dlopen(code),
                                       .size = trace_code_dlclose(code)};
    const int64_t handle = trace_attached_ask(session, &find, error);
    return handle > 0 || handle < -4096 ? (uint64_t)handle : 0;
}

int trace_attach_say_hello(struct trace_session *session, struct sprof_error *error)
{
    struct trace_attachment *attachment = session->attachment;
    const struct probe_request hello = {.kind = PROBE_HELLO};
    attachment->handle = find_handle(session, error);
    const int64_t said = trace_attached_ask(session, &hello, error);
    if (said == -EOPNOTSUPP)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot trace process %d: it may not read the processor's counter "
                               "(prctl PR_SET_TSC), by which calls are timed\n`--backend uprobe`, "
                               "as root, has the kernel count them",
                               (int)session->pid);
    if (said == -ESRCH)
        return sprof_error_set(
            error, SPROF_EUNSUPPORTED, 0,
            "cannot trace process %d: its threads have no control blocks as its C "
            "library makes them, by which sprof would tell them apart\n"
            "`--backend uprobe`, as root, has the kernel count its calls",
            (int)session->pid);
    if (said == -ENOMEM)
        return sprof_error_set(error, SPROF_ELIMIT, ENOMEM,
                               "there is no memory for probes in process %d", (int)session->pid);
    return said ? SPROF_ESTATE : trace_hello_check(session, error);
}

static int open_entrance(struct trace_entrance *entrance, pid_t pid, struct cache *cache,
                         struct sprof_error *error)
{
    return trace_attach_is_raw(pid) ? trace_raw_open(&entrance->raw, pid, cache, error)
                                    : trace_code_open(&entrance->code, pid, cache, error);
}

static void free_entrance(struct trace_entrance *entrance)
{
    trace_code_free(entrance->code);
    trace_raw_free(entrance->raw);
}

int trace_attach_open(struct trace_session *session, struct sprof_error *error)
{
    struct trace_attachment *attachment = calloc(1, sizeof *attachment);
    if (!attachment)
        return sprof_error_memory(error);
    session->attachment = attachment;
    int result = trace_memory_open(session->pid, &attachment->memory_fd, error);
    if (result)
        return result == SPROF_ENOTFOUND ? trace_refuse_ended(session->pid, error) : result;
    if (trace_lock_is_stale(session->pid, session->lock_fd))
        return trace_refuse_executed(session->pid, error);
    struct cache *cache = session->options.no_cache ? NULL : cache_open(NULL);
    result = trace_attach_find_library(session->pid, attachment->library, error);
    if (!result)
        result = open_entrance(&attachment->entrance, session->pid, cache, error);
    cache_free(cache, 0);
    return result;
}

struct borrowing {
    struct trace_session *session;
    trace_borrowing *act;
    void *context;
    struct sprof_error *error;
};

static int borrow_and_act(void *context)
{
    const struct borrowing *borrowing = context;
    struct trace_session *session = borrowing->session;
    const int result = borrowing->act(session, borrowing->context, borrowing->error);
    if (session->attachment)
        trace_hand_release(&session->attachment->hand);
    return result;
}

int trace_attach_with_hand(struct trace_session *session, trace_borrowing *act, void *context,
                           struct sprof_error *error)
{
    struct borrowing borrowing = {session, act, context, error};
    return trace_apart(borrow_and_act, &borrowing, error);
}

static void do_nothing(void *unused)
{
    (void)unused;
}

/* Waits until all threads can be stopped, before anything is changed: probes are placed in a stop,
 * and a thread that waits in the kernel may hinder that for long. */
static int wait_for_threads(pid_t pid, struct sprof_error *error)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_MS * 1000000};
    const uint64_t until_ns = sprof_clock_monotonic_ns() + THREADS_MS * UINT64_C(1000000);
    while (trace_stop_would_wait(pid)) {
        struct trace_stop stop = {0};
        struct sprof_error why = {0};
        const int result = trace_stop_while(&stop, pid, do_nothing, NULL, &why);
        if (result == SPROF_ESTATE && sprof_clock_monotonic_ns() < until_ns) {
            nanosleep(&pause, NULL);
            continue;
        }
        return result == SPROF_ESTATE
                   ? sprof_error_set(error, SPROF_ESTATE, 0,
                                     "cannot trace process %d: its %s\nthaw its cgroup (see "
                                     "/proc/%d/cgroup), or try again when that is over",
                                     (int)pid, why.message, (int)pid)
               : result ? sprof_error_set(error, result, why.errnum, "%s", why.message)
                        : 0;
    }
    return 0;
}

int trace_attach_enter(struct trace_session *session, struct sprof_error *error)
{
    int result = wait_for_threads(session->pid, error);
    if (!result)
        result = trace_attach_open(session, error);
    if (!result)
        result = trace_attach_take(session->attachment, session->pid, false, error);
    if (!result)
        result = load(session, error);
    return result ? result : trace_attach_say_hello(session, error);
}

int trace_attach_borrow(struct trace_session *session, struct sprof_error *error)
{
    return trace_attach_take(session->attachment, session->pid, true, error);
}

static int have_begin(struct trace_session *session, void *unused, struct sprof_error *error)
{
    const struct probe_request go = {.kind = PROBE_GO}, calibrate = {.kind = PROBE_CALIBRATE};
    (void)unused;
    const int result = trace_attach_borrow(session, error);
    if (result)
        return result;
    const bool began =
        !trace_attached_ask(session, &go, error) && !trace_attached_ask(session, &calibrate, error);
    return began ? 0 : SPROF_ESTATE;
}

int trace_attach_begin(struct trace_session *session, struct sprof_error *error)
{
    return trace_attach_with_hand(session, have_begin, NULL, error);
}

int trace_attach_memory(struct trace_session *session, struct sprof_error *error)
{
    const struct probe_request make = {.kind = PROBE_MAKE_MEMORY};
    const int64_t there = trace_attached_ask(session, &make, error);
    if (there == -EIO && error->code) /* the agent was not reached */
        return error->code;
    if (there < 0 || there > INT_MAX)
        return sprof_error_set(error, SPROF_ELIMIT, (int)-there,
                               "process %d cannot make shared memory: %s; see its `ulimit -n`",
                               (int)session->pid, strerror((int)-there));
    const int result = trace_memory_copy(session, (int)there, error);
    return result == SPROF_ENOTFOUND ? trace_refuse_ended(session->pid, error) : result;
}

int trace_attach_memory_fd(const struct trace_attachment *attachment)
{
    return fcntl(attachment->memory_fd, F_DUPFD_CLOEXEC, 0);
}

struct trace_agent_place trace_attach_place(const struct trace_session *session)
{
    const struct trace_attachment *attachment = session->attachment;
    struct trace_agent_place place = {0};
    if (attachment && attachment->entrance.code) {
        place.handle = attachment->handle;
        place.close = trace_code_dlclose(attachment->entrance.code);
    } else if (attachment)
        place.mapped = attachment->mapped;
    return place;
}

/* == Out again == */

struct unloading {
    const struct trace_session *session;
    const struct trace_agent_place *place;
    struct trace_entrance entrance;
    int memory_fd;
    struct sprof_error *error;
};

static int unload(void *context)
{
    const struct unloading *unloading = context;
    const struct trace_session *session = unloading->session;
    const struct trace_agent_place *place = unloading->place;
    const struct trace_entrance *entrance = &unloading->entrance;
    const int memory_fd = unloading->memory_fd;
    struct sprof_error *error = unloading->error;
    struct trace_hand *hand = calloc(1, sizeof *hand);
    char library[TARGET_PATH_MAX];
    const uint64_t asked_at =
        place->mapped.base && !trace_attach_find_agent(session->pid, library, NULL)
            ? trace_attach_find_asked(session->pid, library)
            : 0;
    int result = hand ? trace_hand_take(hand, session->pid, memory_fd, entrance, false, error)
                      : sprof_error_memory(error);
    if (!result && trace_attach_stays(session))
        result = place->mapped.base
                     ? trace_raw_unload(entrance->raw, hand, &place->mapped, asked_at, error)
                     : trace_hand_call_plainly(hand, place->close, place->handle, error);
    if (hand)
        trace_hand_release(hand);
    const struct trace_ways *ways = entrance->raw ? trace_raw_ways(entrance->raw) : NULL;
    if (!result && ways && ways->entry.at)
        trace_entry_code_restore(&ways->entry, memory_fd);
    free(hand);
    return result;
}

bool trace_attach_unload(const struct trace_session *session, const struct trace_agent_place *place,
                         struct sprof_error *error)
{
    const pid_t pid = session->pid;
    if (trace_attach_has_collector(pid)) {
        sprof_error_set(error, SPROF_ESTATE, 0,
                        "the garbage collector of process %d (libgc) may be reading the data of "
                        "all its libraries",
                        (int)pid);
        return false;
    }
    struct unloading unloading = {.session = session, .place = place, .error = error};
    struct cache *cache = cache_open(NULL);
    int result = trace_memory_open(pid, &unloading.memory_fd, error);
    if (!result)
        result = open_entrance(&unloading.entrance, pid, cache, error);
    cache_free(cache, 0);
    if (!result)
        result = trace_apart(unload, &unloading, error);
    free_entrance(&unloading.entrance);
    if (unloading.memory_fd >= 0)
        close(unloading.memory_fd);
    return !result;
}

int trace_attach_give_up(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_agent_place place = trace_attach_place(session);
    const bool is_there = place.handle || place.mapped.base;
    return !is_there || trace_attach_unload(session, &place, error) ? 0 : SPROF_ESTATE;
}

void trace_attach_free(struct trace_attachment *attachment)
{
    if (!attachment)
        return;
    if (attachment->memory_fd >= 0)
        close(attachment->memory_fd);
    free_entrance(&attachment->entrance);
    free(attachment);
}
