/* Where the tracing agent keeps call records in a traced program. A BPF program
 * (sampler/bpf/sampling.bpf.c) includes this, so it has only constants and words. */
#ifndef SPROF_AGENT_PROBE_WINDOW_H
#define SPROF_AGENT_PROBE_WINDOW_H

/* A record is at PROBE_RECORDS + 8 · (slot mod 2^41); the slot is the return address's address, so
 * no bookkeeping can fail. The window is fixed: unwind rules (arch/x86_64/probe/area.S) contain it.
 * It is above random addresses of JavaScript engines, ZGC and allocators (46 bits), and below
 * position-independent programs (0x555555554000); Linux places the rest from there or from the top.
 */
#define PROBE_RECORDS 0x440000000000ULL
#define PROBE_RECORDS_BYTES (1ULL << 44)
#define PROBE_SLOT_MASK ((1ULL << 41) - 1)

enum {
    PROBE_RECORD_BYTES = 64,
    PROBE_RECORD_RETURN = 0,
    PROBE_RECORD_BEGAN = 8, /* ticks */
    PROBE_RECORD_PARENT = 16,
    PROBE_RECORD_SLOT = 40,   /* 0: never used */
    PROBE_RECORD_SERIAL = 56, /* 32 bits; 0: ended */
};

/* After a tail call the callee takes the slot's record. The caller's moves to one of its slab's
 * PROBE_JUMPERS positions, to which no slot maps, and becomes the callee's parent. Its
 * PROBE_RECORD_BEGAN is PROBE_JUMPER_IN_CHAIN or PROBE_JUMPER_APART. */
#define PROBE_JUMPERS_AT (PROBE_RECORDS + (1ULL << 42))
#define PROBE_JUMPERS_BYTES (4096ULL * PROBE_JUMPERS * PROBE_RECORD_BYTES)
enum {
    PROBE_JUMPERS = 4096,
    PROBE_JUMPER_IN_CHAIN = 0,
    PROBE_JUMPER_APART = 1, /* suspended with its coroutine */
};

/* Thread data without thread-local storage (agent/probe/table.h). Slots are found by a hash of the
 * thread pointer, and match by pointer and id. None is after a free one, or over PROBE_TABLE_LOOKS
 * away. */
struct probe_table {
    unsigned long long address; /* 0: thread-local */
    unsigned int mask;          /* slots - 1 */
    unsigned int slot_bytes;
    unsigned int owner; /* offset in a slot */
    unsigned int tid;   /* offset from the thread pointer, 32 bits */
};

struct probe_table_owner {
    unsigned long long pointer; /* 0: free */
    unsigned int tid, reserved;
};

#define PROBE_TABLE_FACTOR 0x61c88647ULL
enum { PROBE_TABLE_LOOKS = 64 };

static inline unsigned int probe_table_place(unsigned long long pointer, unsigned int look,
                                             unsigned int mask)
{
    return ((unsigned int)(pointer * PROBE_TABLE_FACTOR >> 32) + look) & mask;
}

/* At the window's beginning, where no record is. A guard page follows. */
#define PROBE_WINDOW_BYTES (2 * 4096ULL)
#define PROBE_WINDOW_MAGIC 0x776f646e69775053ULL
struct probe_window {
    unsigned long long magic;
    /* The innermost open call's record: offset of its address from thread pointer or slot. */
    unsigned long long innermost;
    unsigned long long code, code_end; /* of the agent */
    struct probe_table table;
};

#endif
