/* Puts the agent into a running process, and takes it out, by a borrowed thread. */
#include "inject/attachment.h"
#include "inject/inside.h"
#include "inject/leaving.h"
#include "inject/lock.h"

#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LOAD_NOW = 2,      /* RTLD_NOW */
    THREADS_MS = 5000, /* for all threads to stop */
    BETWEEN_MS = 250,  /* between two tries */
};

int inject_take_thread(struct inject_attachment *attachment, pid_t pid, bool any_place,
                       struct sprof_error *error)
{
    return inject_borrowed_take(&attachment->borrowed, pid, attachment->memory_fd,
                                &attachment->entrance, any_place, error);
}

int64_t inject_request(struct inject_process *process, const struct probe_request *request,
                       struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    struct probe_asked *asked = calloc(1, sizeof *asked);
    if (!asked)
        return -ENOMEM;
    asked->request = *request;
    snprintf(asked->path, sizeof asked->path, "%s", attachment->library);
    const int result = inject_borrowed_call(&attachment->borrowed, attachment->asked, asked,
                                            sizeof *asked, 0, error);
    const int64_t answer = result ? -EIO : asked->answer.result;
    if (!result && request->kind == PROBE_HELLO)
        process->hello = asked->hello;
    free(asked);
    return answer;
}

static int explain_load(pid_t pid, const char *library, struct sprof_error *error)
{
    const int closed = inject_explain_closed(pid, library, error);
    if (closed)
        return closed;
    return sprof_error_set(
        error, SPROF_EUNSUPPORTED, 0,
        "process %d could not load %s: it may not be allowed to read or to execute that file, or "
        "has no room left for thread-local data, or for one more descriptor (`ulimit -n`)%s",
        (int)pid, library, inject_lock_advice(pid));
}

static int load_raw(struct inject_process *process, struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    int result = inject_raw_load(attachment->entrance.raw, &attachment->borrowed,
                                 attachment->library, &attachment->mapped, error);
    attachment->asked = result ? 0 : inject_find_asked(process->pid, attachment->library);
    if (result)
        return result;
    if (!attachment->asked)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "the tracing agent cannot be found in process %d, into which it "
                               "was mapped",
                               (int)process->pid);
    result = inject_raw_register(attachment->entrance.raw, &attachment->borrowed,
                                 &attachment->mapped, attachment->asked, error);
    if (result) /* it stays: the unwinder may have its tables */
        attachment->mapped = (struct inject_raw_agent){0};
    return result;
}

static int load(struct inject_process *process, struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    char library[TARGET_PATH_MAX] = "";
    if (attachment->entrance.raw)
        return load_raw(process, error);
    snprintf(library, sizeof library, "%s", attachment->library);
    int result =
        inject_borrowed_call(&attachment->borrowed, inject_code_dlopen(attachment->entrance.code),
                             library, (strlen(library) + 8) & ~(size_t)7, LOAD_NOW, error);
    if (!result)
        attachment->asked = inject_find_asked(process->pid, attachment->library);
    if (!result && !attachment->asked)
        result = explain_load(process->pid, attachment->library, error);
    return result;
}

static uint64_t find_handle(struct inject_process *process, struct sprof_error *error)
{
    const struct inject_code *code = process->attachment->entrance.code;
    if (!code)
        return 0;
    const struct probe_request find = {.kind = PROBE_FIND_HANDLE,
                                       .address = inject_code_dlopen(code),
                                       .size = inject_code_dlclose(code)};
    const int64_t handle = inject_request(process, &find, error);
    return handle > 0 || handle < -4096 ? (uint64_t)handle : 0;
}

int inject_say_hello(struct inject_process *process, struct sprof_error *error)
{
    struct inject_attachment *attachment = process->attachment;
    const struct probe_request hello = {.kind = PROBE_HELLO};
    attachment->handle = find_handle(process, error);
    const int64_t said = inject_request(process, &hello, error);
    if (said == -EOPNOTSUPP)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot trace process %d: it may not read the processor's counter "
                               "(prctl PR_SET_TSC), by which calls are timed\n`--backend uprobe`, "
                               "as root, has the kernel count them",
                               (int)process->pid);
    if (said == -ESRCH)
        return sprof_error_set(
            error, SPROF_EUNSUPPORTED, 0,
            "cannot trace process %d: its threads have no control blocks as its C "
            "library makes them, by which sprof would tell them apart\n"
            "`--backend uprobe`, as root, has the kernel count its calls",
            (int)process->pid);
    if (said == -ENOMEM)
        return sprof_error_set(error, SPROF_ELIMIT, ENOMEM,
                               "there is no memory for probes in process %d", (int)process->pid);
    return said ? SPROF_ESTATE : inject_hello_check(process, error);
}

static int open_entrance(struct inject_entrance *entrance, pid_t pid, struct cache *cache,
                         struct sprof_error *error)
{
    return inject_is_raw(pid) ? inject_raw_open(&entrance->raw, pid, cache, error)
                              : inject_code_open(&entrance->code, pid, cache, error);
}

static void free_entrance(struct inject_entrance *entrance)
{
    inject_code_free(entrance->code);
    inject_raw_free(entrance->raw);
}

int inject_attach(struct inject_process *process, struct sprof_error *error)
{
    struct inject_attachment *attachment = calloc(1, sizeof *attachment);
    if (!attachment)
        return sprof_error_memory(error);
    process->attachment = attachment;
    int result = inject_memory_open(process->pid, &attachment->memory_fd, error);
    if (result)
        return result == SPROF_ENOTFOUND ? inject_refuse_ended(process->pid, error) : result;
    if (inject_lock_is_stale(process->pid, process->lock_fd))
        return inject_refuse_executed(process->pid, error);
    struct cache *cache = process->no_cache ? NULL : cache_open(NULL);
    result = inject_find_library(process->pid, attachment->library, error);
    if (!result)
        result = open_entrance(&attachment->entrance, process->pid, cache, error);
    cache_free(cache, 0);
    return result;
}

struct borrowing {
    struct inject_process *process;
    inject_act *act;
    void *context;
    struct sprof_error *error;
};

static int borrow_and_act(void *context)
{
    const struct borrowing *borrowing = context;
    struct inject_process *process = borrowing->process;
    const int result = borrowing->act(process, borrowing->context, borrowing->error);
    if (process->attachment)
        inject_borrowed_release(&process->attachment->borrowed);
    return result;
}

int inject_borrow_and_act(struct inject_process *process, inject_act *act, void *context,
                          struct sprof_error *error)
{
    struct borrowing borrowing = {process, act, context, error};
    return inject_apart(borrow_and_act, &borrowing, error);
}

static void do_nothing(void *unused)
{
    (void)unused;
}

/* Nothing is changed yet. Probes are placed in a stop of all threads, which one that waits in the
 * kernel may delay for long. */
static int wait_for_threads(pid_t pid, struct sprof_error *error)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_MS * 1000000};
    const uint64_t until_ns = sprof_clock_monotonic_ns() + THREADS_MS * UINT64_C(1000000);
    while (inject_stop_would_wait(pid)) {
        struct inject_stop stop = {0};
        struct sprof_error why = {0};
        const int result = inject_stop_while(&stop, pid, do_nothing, NULL, &why);
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

int inject_enter(struct inject_process *process, struct sprof_error *error)
{
    int result = wait_for_threads(process->pid, error);
    if (!result)
        result = inject_attach(process, error);
    if (!result)
        result = inject_take_thread(process->attachment, process->pid, false, error);
    if (!result)
        result = load(process, error);
    return result ? result : inject_say_hello(process, error);
}

int inject_borrow(struct inject_process *process, struct sprof_error *error)
{
    return inject_take_thread(process->attachment, process->pid, true, error);
}

static int have_begin(struct inject_process *process, void *unused, struct sprof_error *error)
{
    const struct probe_request go = {.kind = PROBE_GO}, calibrate = {.kind = PROBE_CALIBRATE};
    (void)unused;
    const int result = inject_borrow(process, error);
    if (result)
        return result;
    const bool began =
        !inject_request(process, &go, error) && !inject_request(process, &calibrate, error);
    return began ? 0 : SPROF_ESTATE;
}

int inject_begin(struct inject_process *process, struct sprof_error *error)
{
    return inject_borrow_and_act(process, have_begin, NULL, error);
}

int inject_make_memory(struct inject_process *process, struct sprof_error *error)
{
    const struct probe_request make = {.kind = PROBE_MAKE_MEMORY};
    const int64_t there = inject_request(process, &make, error);
    if (there == -EIO && error->code) /* the agent was not reached */
        return error->code;
    if (there < 0 || there > INT_MAX)
        return sprof_error_set(error, SPROF_ELIMIT, (int)-there,
                               "process %d cannot make shared memory: %s; see its `ulimit -n`",
                               (int)process->pid, strerror((int)-there));
    const int result = inject_memory_copy(process, (int)there, error);
    return result == SPROF_ENOTFOUND ? inject_refuse_ended(process->pid, error) : result;
}

int inject_open_code(const struct inject_process *process)
{
    return fcntl(process->attachment->memory_fd, F_DUPFD_CLOEXEC, 0);
}

struct inject_agent_location inject_agent_location_of(const struct inject_process *process)
{
    const struct inject_attachment *attachment = process->attachment;
    struct inject_agent_location location = {0};
    if (attachment && attachment->entrance.code) {
        location.handle = attachment->handle;
        location.close = inject_code_dlclose(attachment->entrance.code);
    } else if (attachment)
        location.mapped = attachment->mapped;
    return location;
}

/* == Out again == */

struct unloading {
    const struct inject_process *process;
    const struct inject_agent_location *location;
    struct inject_entrance entrance;
    int memory_fd;
    struct sprof_error *error;
};

static int unload(void *context)
{
    const struct unloading *unloading = context;
    const struct inject_process *process = unloading->process;
    const struct inject_agent_location *location = unloading->location;
    const struct inject_entrance *entrance = &unloading->entrance;
    const int memory_fd = unloading->memory_fd;
    struct sprof_error *error = unloading->error;
    struct inject_borrowed *borrowed = calloc(1, sizeof *borrowed);
    char library[TARGET_PATH_MAX];
    const uint64_t asked_at =
        location->mapped.base && !inject_find_agent(process->pid, library, NULL)
            ? inject_find_asked(process->pid, library)
            : 0;
    int result =
        borrowed ? inject_borrowed_take(borrowed, process->pid, memory_fd, entrance, false, error)
                 : sprof_error_memory(error);
    if (!result && inject_agent_stays(process))
        result =
            location->mapped.base
                ? inject_raw_unload(entrance->raw, borrowed, &location->mapped, asked_at, error)
                : inject_borrowed_call_plainly(borrowed, location->close, location->handle, error);
    if (borrowed)
        inject_borrowed_release(borrowed);
    const struct inject_ways *ways = entrance->raw ? inject_raw_ways(entrance->raw) : NULL;
    if (!result && ways && ways->entry.at)
        inject_entry_code_restore(&ways->entry, memory_fd);
    free(borrowed);
    return result;
}

bool inject_unload_agent(const struct inject_process *process,
                         const struct inject_agent_location *location, struct sprof_error *error)
{
    const pid_t pid = process->pid;
    if (inject_has_collector(pid)) {
        sprof_error_set(error, SPROF_ESTATE, 0,
                        "the garbage collector of process %d (libgc) may be reading the data of "
                        "all its libraries",
                        (int)pid);
        return false;
    }
    struct unloading unloading = {.process = process, .location = location, .error = error};
    struct cache *cache = cache_open(NULL);
    int result = inject_memory_open(pid, &unloading.memory_fd, error);
    if (!result)
        result = open_entrance(&unloading.entrance, pid, cache, error);
    cache_free(cache, 0);
    if (!result)
        result = inject_apart(unload, &unloading, error);
    free_entrance(&unloading.entrance);
    if (unloading.memory_fd >= 0)
        close(unloading.memory_fd);
    return !result;
}

int inject_give_up(struct inject_process *process, struct sprof_error *error)
{
    const struct inject_agent_location location = inject_agent_location_of(process);
    const bool is_there = location.handle || location.mapped.base;
    return !is_there || inject_unload_agent(process, &location, error) ? 0 : SPROF_ESTATE;
}

static void free_attachment(struct inject_attachment *attachment)
{
    if (!attachment)
        return;
    if (attachment->memory_fd >= 0)
        close(attachment->memory_fd);
    free_entrance(&attachment->entrance);
    free(attachment);
}

void inject_process_release(struct inject_process *process)
{
    inject_close(&process->agent_fd); /* before the next tracer may come */
    inject_close(&process->lock_fd);
    inject_close(&process->memory_fd);
    inject_close(&process->code_fd);
    if (process->shared)
        munmap(process->shared, process->shared_bytes);
    process->shared = NULL;
    free_attachment(process->attachment);
    process->attachment = NULL;
}
