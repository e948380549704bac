/* The tracing agent's thread table, for programs without a loader. No libc, no lock, only general
 * registers; a signal may interrupt and re-enter it anywhere. */
#include "agent/probe/table.h"

#ifdef PROBE_MAPPED

#include <errno.h>

struct probe_slot probe_table[PROBE_SLOTS] __attribute__((aligned(4096)));
struct thread probe_nobody = {.is_shared = true};

enum { CALLS_BETWEEN_LOOKS = 256 };

/* A bit of owners' ids: the slot may hold another thread's data. */
enum { TAKING = 1u << 31 };

/* == Slots that change hands == */

static struct probe_table_owner owner_of(const struct probe_slot *slot)
{
    return (struct probe_table_owner){.pointer =
                                          __atomic_load_n(&slot->owner.pointer, __ATOMIC_RELAXED),
                                      .tid = __atomic_load_n(&slot->owner.tid, __ATOMIC_RELAXED)};
}

static bool change_owner(struct probe_table_owner *owner, struct probe_table_owner from,
                         struct probe_table_owner to)
{
    uint64_t low = from.pointer, high = from.tid;
    bool is_done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(is_done), "+m"(*owner), "+a"(low), "+d"(high)
                     : "b"(to.pointer), "c"((uint64_t)to.tid)
                     : "memory");
    return is_done;
}

static void renew(struct thread *thread)
{
    thread->generation = 0;
    thread->untracked_in = 0;
    thread->claim = 0;
    thread->is_shared = false;
}

/* A handler may reset and begin the thread, and another rely on that, so pointers stay valid. */
static void reset(struct thread *thread)
{
    thread->innermost = &thread->root;
    thread->low = thread->high = 0;
    thread->stack_bottom = 0;
    thread->stack_mark = 0;
    thread->open_logged = 0;
    thread->edge_low = thread->edge_high = thread->edge_floor = 0;
    thread->untracked_calls = 0;
    thread->has_no_clock = false;
    atomic_signal_fence(memory_order_seq_cst);
    renew(thread);
}

/* False: another thread was faster. In a forked process that has not begun, the forking thread has
 * a new id. */
static bool take(struct probe_slot *slot, struct probe_table_owner before, uint64_t pointer,
                 uint32_t tid)
{
    if (!change_owner(&slot->owner, before, (struct probe_table_owner){pointer, tid | TAKING, 0}))
        return false;
    if (before.pointer == pointer && !*probe_inside.alive)
        renew(&slot->thread);
    else
        reset(&slot->thread);
    atomic_signal_fence(memory_order_seq_cst);
    __atomic_store_n(&slot->owner.tid, tid, __ATOMIC_RELEASE);
    return true;
}

/* == Threads that have ended == */

struct vector {
    void *base;
    uint64_t size;
};

/* Threads without libc can have any id in their control block, so both are checked. */
static bool has_ended(struct probe_table_owner owner)
{
    const uint32_t tid = owner.tid & ~(uint32_t)TAKING;
    uint32_t there = 0;
    const struct vector local = {&there, sizeof there},
                        remote = {(void *)(uintptr_t)(owner.pointer + probe_inside.tid_offset),
                                  sizeof there};
    if (inside_call(SYS_tgkill, probe_inside.pid, tid, 0, 0, 0, 0) != -ESRCH)
        return false;
    const long got =
        inside_call(SYS_process_vm_readv, probe_inside.pid, (long)&local, 1, (long)&remote, 1, 0);
    return got == -EFAULT || (got == sizeof there && there != tid);
}

/* None, if a process shares the memory: ids are ambiguous. */
static struct probe_slot *find_ended(uint64_t pointer, struct probe_table_owner *owner)
{
    if (__atomic_fetch_add(&probe_nobody.untracked_calls, 1, __ATOMIC_RELAXED) %
            CALLS_BETWEEN_LOOKS ||
        !probe_inside.shared || atomic_load(&probe_inside.shared->sharing.has_processes))
        return NULL;
    for (uint32_t look = 0; look < PROBE_TABLE_LOOKS; look++) {
        struct probe_slot *slot = &probe_table[probe_table_place(pointer, look, PROBE_SLOTS - 1)];
        *owner = owner_of(slot);
        if (has_ended(*owner))
            return slot;
    }
    return NULL;
}

/* == Threads == */

/* No thread takes one in an unmeasured fork, or after a thread without a slot lost the counter. */
static bool may_take(uint32_t tid)
{
    return tid && !probe_nobody.has_no_clock && (*probe_inside.alive || probe_inside.follows_forks);
}

static struct thread *find_nobody(void)
{
    struct probe_shared *shared = probe_inside.shared;
    if (*probe_inside.alive && probe_nobody.untracked_in != shared->generation) {
        probe_nobody.untracked_in = shared->generation;
        atomic_fetch_add(&shared->untracked, 1);
    }
    return &probe_nobody;
}

void probe_give_no_more(const struct thread *thread)
{
    if (thread == &probe_nobody)
        probe_nobody.has_no_clock = true;
}

uint64_t probe_address_of(uint64_t pointer)
{
    for (uint32_t look = 0; look < PROBE_TABLE_LOOKS; look++) {
        struct probe_slot *slot = &probe_table[probe_table_place(pointer, look, PROBE_SLOTS - 1)];
        if (owner_of(slot).pointer == pointer)
            return (uint64_t)(uintptr_t)&slot->thread;
    }
    return 0;
}

SAVES_ALL struct thread *probe_find_thread(uint64_t pointer, uint32_t tid)
{
    struct probe_slot *slot;
    struct probe_table_owner owner;
    do {
        uint32_t look = 0;
        do {
            slot = &probe_table[probe_table_place(pointer, look, PROBE_SLOTS - 1)];
            owner = owner_of(slot);
        } while (owner.pointer && owner.pointer != pointer && ++look < PROBE_TABLE_LOOKS);
        if (owner.pointer == pointer && (owner.tid == tid || !tid))
            return &slot->thread;
        if (!may_take(tid))
            return &probe_nobody;
        if (look == PROBE_TABLE_LOOKS) {
            slot = find_ended(pointer, &owner);
            if (!slot)
                return find_nobody();
        }
    } while (!take(slot, owner, pointer, tid));
    return &slot->thread;
}

#endif
