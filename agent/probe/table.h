/* The tracing agent, inside: what the thread that runs has of its own. That is thread-local
 * storage. Where no loader has put the agent into the program there is none (PROBE_MAPPED): it is
 * in a table then, by the thread's pointer and its id, as its control block has it. */
#ifndef SPROF_AGENT_PROBE_TABLE_H
#define SPROF_AGENT_PROBE_TABLE_H

#include "agent/probe/thread.h"

/* Half of them for threads that run at the same time, so that looks are few. */
enum { PROBE_SLOTS = 16384 };

/* A slot that was taken once is never free again, but another thread's: so none is behind a free
 * one. */
struct probe_slot {
    struct thread thread;
    struct probe_table_owner owner __attribute__((aligned(16))); /* changed as a whole */
} __attribute__((aligned(512)));

#ifdef PROBE_MAPPED

extern struct probe_slot probe_table[PROBE_SLOTS] __attribute__((visibility("hidden")));

/* Of threads that have no slot: it is never begun, as somebody else runs with it, too. */
extern struct thread probe_nobody __attribute__((visibility("hidden")));

/* The thread's slot, which it takes where it has none yet; a signal's handler may come at any
 * instruction, and do the same. Where there is none to be had, that of nobody. An id of 0 is that
 * of a thread that ends, and takes none. */
struct thread *probe_find_thread(uint64_t pointer, uint32_t tid)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Two run with the data of this thread, if that is nobody's: neither may take a slot later. */
void probe_give_no_more(const struct thread *thread) __attribute__((visibility("hidden")));

/* Where the data of the thread with this pointer is; 0: nowhere. */
uint64_t probe_address_of(uint64_t pointer) __attribute__((visibility("hidden")));

static inline struct probe_table probe_describe_table(void)
{
    return (struct probe_table){.address = (uint64_t)(uintptr_t)probe_table,
                                .mask = PROBE_SLOTS - 1,
                                .slot_bytes = sizeof(struct probe_slot),
                                .owner = offsetof(struct probe_slot, owner),
                                .tid = probe_inside.tid_offset};
}

/* Where struct thread is, from the thread's slot. */
static inline int64_t probe_thread_at(void)
{
    return offsetof(struct probe_slot, thread);
}

/* Whether the C library is musl, whose control blocks are short, with nothing behind them. */
static inline bool probe_is_musl(void)
{
    return probe_inside.tid_offset < 0x100;
}

/* Whether threads can be told apart. */
static inline bool probe_has_ids(void)
{
    return probe_find_ids();
}

static inline struct thread *probe_own_thread(void)
{
    const uint64_t pointer = probe_thread_pointer();
    const uint32_t tid = *(const uint32_t *)(uintptr_t)(pointer + probe_inside.tid_offset);
    struct probe_slot *slot = &probe_table[probe_table_place(pointer, 0, PROBE_SLOTS - 1)];
    return slot->owner.pointer == pointer && slot->owner.tid == tid
               ? &slot->thread
               : probe_find_thread(pointer, tid);
}

#else

#define TLS_MODEL __attribute__((tls_model("initial-exec")))
extern _Thread_local TLS_MODEL struct thread probe_thread __attribute__((visibility("hidden")));

static inline void probe_give_no_more(const struct thread *thread)
{
    (void)thread;
}

/* … from the thread's pointer. */
static inline int64_t probe_thread_at(void)
{
    return (int64_t)((uint64_t)(uintptr_t)&probe_thread - probe_thread_pointer());
}

static inline uint64_t probe_address_of(uint64_t pointer)
{
    return pointer + (uint64_t)probe_thread_at();
}

static inline struct probe_table probe_describe_table(void)
{
    return (struct probe_table){0};
}

static inline bool probe_is_musl(void)
{
    return false;
}

static inline bool probe_has_ids(void)
{
    return true;
}

static inline struct thread *probe_own_thread(void)
{
    return &probe_thread;
}

#endif

#endif
