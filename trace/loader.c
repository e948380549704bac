/* Serves the thread of the program's loader that waits in the agent: the beat, requests, and the
 * end of its wait. */
#include "trace/loader.h"
#include "trace/tracing.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    BEAT_MS = 100,
    ANSWER_MS = 5000, /* for a mapping by the waiting thread */
};

static void wait_on(_Atomic uint32_t *word, uint32_t value, int ms)
{
    const struct timespec timeout = {ms / 1000, ms % 1000 * 1000000L};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void set_state(struct probe_loading *loading, uint32_t state)
{
    atomic_store(&loading->state, state);
    syscall(SYS_futex, &loading->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Raises the beat, by which the command sees that sprof lives, and wakes sprof for requests. */
static void *watch(void *context)
{
    struct trace_loader *loader = context;
    const uint64_t one = 1;
    uint64_t beat_ns = 0;
    while (!atomic_load(&loader->ends)) {
        const uint32_t state = atomic_load(&loader->shared->state);
        const uint64_t now_ns = sprof_clock_monotonic_ns();
        if (state == PROBE_LOADING_ASKED && write(loader->event_fd, &one, sizeof one) < 0)
            break;
        if (now_ns - beat_ns >= BEAT_MS * UINT64_C(900000)) {
            atomic_fetch_add(&loader->shared->beat, 1);
            beat_ns = now_ns;
        }
        wait_on(&loader->shared->state, state, BEAT_MS);
    }
    return NULL;
}

int trace_loader_begin(struct trace_loader *loader, struct probe_loading *shared,
                       struct sprof_error *error)
{
    loader->shared = shared;
    loader->shared->tracer = (uint32_t)getpid();
    loader->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loader->has_thread =
        loader->event_fd >= 0 && !sprof_thread_create(&loader->thread, watch, loader);
    return loader->has_thread
               ? 0
               : sprof_error_set(error, SPROF_ELIMIT, errno,
                                 "cannot make a thread or a descriptor: see `ulimit -u` and "
                                 "`ulimit -n`");
}

int trace_loader_take(struct trace_loader *loader)
{
    uint64_t events;
    if (!loader->shared || atomic_load(&loader->shared->state) != PROBE_LOADING_ASKED)
        return 0;
    if (read(loader->event_fd, &events, sizeof events) < 0 && errno != EAGAIN)
        return SPROF_ENOMEM;
    loader->is_serving = true;
    return 1;
}

void trace_loader_done(struct trace_loader *loader)
{
    loader->is_serving = false;
    set_state(loader->shared, PROBE_LOADING_DONE);
}

int64_t trace_loader_ask(struct trace_session *session, const struct probe_request *request)
{
    struct probe_loading *loading = session->loader.shared;
    const uint64_t end_ns = sprof_clock_monotonic_ns() + ANSWER_MS * UINT64_C(1000000);
    loading->request = *request;
    set_state(loading, PROBE_LOADING_REQUEST);
    while (atomic_load(&loading->state) == PROBE_LOADING_REQUEST) {
        wait_on(&loading->state, PROBE_LOADING_REQUEST, BEAT_MS);
        if (sprof_clock_monotonic_ns() > end_ns || calls_processes_are_over(&session->calls))
            return -EPIPE;
    }
    return loading->answer.result;
}

int trace_loader_fd(const struct trace_loader *loader)
{
    return loader->shared ? loader->event_fd : -1;
}

void trace_loader_close(struct trace_loader *loader)
{
    if (loader->shared)
        set_state(loader->shared, PROBE_LOADING_CLOSED);
}

void trace_loader_release(struct trace_loader *loader)
{
    atomic_store(&loader->ends, true);
    trace_loader_close(loader);
    if (loader->has_thread)
        pthread_join(loader->thread, NULL);
    if (loader->shared && loader->event_fd >= 0)
        close(loader->event_fd);
    loader->shared = NULL;
    loader->has_thread = false;
}
