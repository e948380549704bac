/* Replaces the loader's function for debuggers: called after libraries are mapped, before
 * relocation and constructors, and after unmapping. The thread waits until the tracer has placed
 * probes. */
#include "agent/probe/inside.h"

#include <errno.h>

enum {
    COMPLETE = 0, /* RT_CONSISTENT */
    FUTEX_WAIT_SHARED = 0,
    FUTEX_WAKE_SHARED = 1,
    LOOK_NS = 100000000, /* between two checks */
    DEAD_LOOKS = 20,     /* checks without a beat if its process is gone */
    SILENT_LOOKS = 100,  /* checks without a beat otherwise */
};

/* struct r_debug of <link.h> */
struct debug {
    int version;
    void *map;
    uint64_t notify;
    int state;
};
extern const struct debug _r_debug __attribute__((weak));

void probe_find_loader(struct probe_hello *hello)
{
    hello->debug = (uint64_t)(uintptr_t)&_r_debug;
    hello->notify = hello->debug ? _r_debug.notify : 0;
    hello->loaded = (uint64_t)(uintptr_t)probe_loaded;
}

static void wake(_Atomic uint32_t *state)
{
    inside_call(SYS_futex, (long)state, FUTEX_WAKE_SHARED, INT32_MAX, 0, 0, 0);
}

static long wait_while(_Atomic uint32_t *state, uint32_t value)
{
    const struct {
        int64_t seconds, nanoseconds;
    } timeout = {0, LOOK_NS};
    return inside_call(SYS_futex, (long)state, FUTEX_WAIT_SHARED, value, (long)&timeout, 0, 0);
}

/* Serves mapping requests. After the tracer's death later threads do not wait. */
static void wait_for_tracer(struct probe_loading *loading)
{
    uint32_t beat = atomic_load(&loading->beat), looks = 0;
    for (;;) {
        uint32_t state = atomic_load(&loading->state);
        if (state == PROBE_LOADING_DONE || state == PROBE_LOADING_CLOSED)
            return;
        if (state == PROBE_LOADING_REQUEST) {
            loading->answer.result = probe_answer_of(&loading->request, -1);
            atomic_store(&loading->state, PROBE_LOADING_ANSWERED);
            wake(&loading->state);
            continue;
        }
        if (wait_while(&loading->state, state) != -ETIMEDOUT)
            continue;
        const uint32_t now = atomic_load(&loading->beat);
        looks = now == beat ? looks + 1 : 0;
        beat = now;
        const bool is_gone = inside_call(SYS_kill, (long)loading->tracer, 0, 0, 0, 0, 0) == -ESRCH;
        if (looks >= (is_gone ? DEAD_LOOKS : SILENT_LOOKS) &&
            atomic_compare_exchange_strong(&loading->state, &state, PROBE_LOADING_CLOSED))
            return;
    }
}

__attribute__((no_caller_saved_registers)) void probe_loaded(void)
{
    struct probe_shared *shared = probe_inside.shared;
    /* the tracer follows only the first process */
    if (!*probe_inside.alive || probe_inside.is_forked || _r_debug.state != COMPLETE)
        return;
    struct probe_loading *loading = &shared->loading;
    uint32_t state = PROBE_LOADING_DONE;
    const uint64_t begin = probe_now();
    if (!atomic_compare_exchange_strong(&loading->state, &state, PROBE_LOADING_ASKED))
        return;
    wake(&loading->state);
    wait_for_tracer(loading);
    probe_take_off(probe_now() - begin);
}
