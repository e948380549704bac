/* Handles prctl for the tracing agent. A thread that gives up the processor's counter (PR_SET_TSC)
 * or most system calls (strict seccomp) would be killed in a probe, so its timing ends. Thread
 * names are noted, as a thread may end before the tracer reads its name. */
#include "agent/probe/call.h"
#include "agent/probe/thread.h"

enum {
    SET_NAME = 15,    /* PR_SET_NAME */
    SET_SECCOMP = 22, /* PR_SET_SECCOMP */
    STRICT = 1,       /* SECCOMP_MODE_STRICT */
    GET_TSC = 25,     /* PR_GET_TSC */
    SET_TSC = 26,     /* PR_SET_TSC */
    TSC_SIGSEGV = 2,  /* PR_TSC_SIGSEGV */
};

bool probe_clock_is_there(void)
{
    uint32_t state = 0;
    return inside_call(SYS_prctl, GET_TSC, (long)&state, 0, 0, 0, 0) || state != TSC_SIGSEGV;
}

/* Restores a return address that leads to a thunk. */
static void give_back(uint64_t slot)
{
    uint64_t *at = (uint64_t *)(uintptr_t)slot;
    if (is_in_thunks(*at, probe_thunks, PROBE_THUNKS))
        *at = record_of(slot)->return_address;
    if (is_in_thunks(*at, probe_points, PROBE_POINTS))
        *at = record_of(slot | POINT)->return_address;
}

/* Its calls count as open but are closed, as a later thread may have the same stack. */
SAVES_ALL void probe_leave_chain(struct thread *thread)
{
    struct record *record = thread->innermost;
    thread->innermost = &thread->root;
    while (record && record != &thread->root) {
        give_back(record->slot & ~(uint64_t)POINT);
        record->serial = 0;
        record = record->parent;
    }
}

/* Uses edge.S's system call. */
static bool can_be_read(uint64_t address)
{
    enum { NO_SUCH_WAY = -1, EINVAL = 22, BYTES = 8 };
    return inside_call(SYS_rt_sigprocmask, NO_SUCH_WAY, (long)(address & ~UINT64_C(7)), 0, BYTES, 0,
                       0) == -EINVAL;
}

static void note_name(struct thread *thread, uint64_t address)
{
    enum { LONGEST = 15 };
    uint64_t words[2] = {0, 0};
    if (!has_begun(thread) && !probe_begin_thread(thread))
        return;
    for (uint32_t i = 0; i < LONGEST; i++) {
        if ((!i || (address + i) % 8 == 0) && !can_be_read(address + i))
            return;
        const uint8_t byte = *(const uint8_t *)(uintptr_t)(address + i);
        if (!byte)
            break;
        words[i / 8] |= (uint64_t)byte << i % 8 * 8;
    }
    _Atomic uint64_t *name = probe_inside.shared->names[thread->slab];
    atomic_store(&name[1], words[1]);
    atomic_store(&name[0], words[0]);
}

/* Threads and forks to come lack the counter, too; strict seccomp forbids both. No system calls at
 * the stack's end from now on. */
SAVES_ALL void probe_clock_goes(struct thread *thread, uint64_t option, uint64_t value)
{
    const bool is_strict = option == SET_SECCOMP && value == STRICT;
    const bool is_tsc = option == SET_TSC && value == TSC_SIGSEGV;
    if (option == SET_NAME)
        note_name(thread, value);
    if (option == SET_SECCOMP)
        probe_note_filter();
    if (!is_strict && !is_tsc)
        return;
    const bool had_begun = has_begun(thread);
    thread->has_no_clock = true;
    probe_inside.has_no_clock |= is_tsc;
    probe_inside.loses_clock = true;
    thread->generation = 0;
    thread->edge_low = 0;
    thread->edge_high = UINT64_MAX;
    atomic_store(&probe_inside.shared->has_ends, 1);
    if (had_begun)
        probe_leave_chain(thread);
}
