/* Finds the running thread's data: thread-local, or without a loader (PROBE_MAPPED) in a table by
 * thread pointer and id. */
#ifndef SPROF_AGENT_PROBE_TABLE_H
#define SPROF_AGENT_PROBE_TABLE_H

#include "agent/probe/thread.h"

/* Twice the concurrent threads: short searches. */
enum { PROBE_SLOTS = 16384 };

/* Never becomes free again, so none is after a free one. */
struct probe_slot {
    struct thread thread;
    struct probe_table_owner owner __attribute__((aligned(16))); /* changed by one instruction */
} __attribute__((aligned(512)));

#ifdef PROBE_MAPPED

extern struct probe_slot probe_table[PROBE_SLOTS] __attribute__((visibility("hidden")));

/* For threads without a slot: shared, so it never begins. */
extern struct thread probe_nobody __attribute__((visibility("hidden")));

/* Takes a slot if needed; signal handlers may re-enter it. probe_nobody: no slot, or id 0 (an
 * ending thread). */
struct thread *probe_find_thread(uint64_t pointer, uint32_t tid)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Two threads use this data. If it is probe_nobody, neither takes a slot later. */
void probe_give_no_more(const struct thread *thread) __attribute__((visibility("hidden")));

/* 0: none. */
uint64_t probe_address_of(uint64_t pointer) __attribute__((visibility("hidden")));

static inline struct probe_table probe_describe_table(void)
{
    return (struct probe_table){.address = (uint64_t)(uintptr_t)probe_table,
                                .mask = PROBE_SLOTS - 1,
                                .slot_bytes = sizeof(struct probe_slot),
                                .owner = offsetof(struct probe_slot, owner),
                                .tid = probe_inside.tid_offset};
}

/* From the thread's slot to its struct thread. */
static inline int64_t probe_thread_at(void)
{
    return offsetof(struct probe_slot, thread);
}

/* Nothing may be mapped after its short control blocks. */
static inline bool probe_is_musl(void)
{
    return probe_inside.tid_offset < 0x100;
}

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

/* From the thread pointer to struct thread. */
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
