/* Where the tracing agent keeps its records, and how open calls are found from outside. The
 * sampler's BPF program (sampler/bpf/sampling.bpf.c) reads them with a sample. Constants and words
 * alone. */
#ifndef SPROF_AGENT_PROBE_WINDOW_H
#define SPROF_AGENT_PROBE_WINDOW_H

/* The record of a call stands at PROBE_RECORDS + 8 · (slot mod 2^41); the slot is where its return
 * address is, on any stack. So no bookkeeping can be wrong. The addresses are fixed, because the
 * unwind rules of thunks (arch/x86_64/probe/area.S) hold them. They lie above what JavaScript engines,
 * ZGC and allocators draw by lot (46 bits and less) and below position-independent programs (from
 * 0x555555554000 on); Linux places everything else from there or from the top. */
#define PROBE_RECORDS 0x440000000000ULL
#define PROBE_RECORDS_BYTES (1ULL << 44)
#define PROBE_SLOT_MASK ((1ULL << 41) - 1)

/* Offsets in a record. */
enum {
    PROBE_RECORD_BYTES = 64,
    PROBE_RECORD_RETURN = 0, /* the address that the call returns to */
    PROBE_RECORD_BEGAN = 8,  /* ticks */
    PROBE_RECORD_PARENT = 16,
    PROBE_RECORD_SLOT = 40,   /* 0: the record was never used */
    PROBE_RECORD_SERIAL = 56, /* 32 bits: 0 when the call is over */
};

/* A call whose function jumped to another at its end (a tail call) goes on until that returns. Both
 * have one slot, so its record is the other's, and this one moves to one of the PROBE_JUMPERS
 * places of its thread, by the number of the slab. It is the other's parent. No stack of Linux has
 * slots that lead to these places. Such a record holds PROBE_JUMPER_… in the place of its
 * beginning. */
#define PROBE_JUMPERS_AT (PROBE_RECORDS + (1ULL << 42))
#define PROBE_JUMPERS_BYTES (4096ULL * PROBE_JUMPERS * PROBE_RECORD_BYTES)
enum {
    PROBE_JUMPERS = 4096,
    PROBE_JUMPER_IN_CHAIN = 0,
    PROBE_JUMPER_APART = 1, /* it was suspended with its coroutine before it jumped */
};

/* The table of an agent without thread-local storage: see agent/probe/table.h. A hash of the thread
 * pointer gives the first slot to try. A slot is the thread's where its pointer and its id are
 * those of the control block. No slot lies behind a free one, or PROBE_TABLE_LOOKS slots away. */
struct probe_table {
    unsigned long long address; /* 0: the data is thread-local */
    unsigned int mask;          /* number of slots - 1; a power of two */
    unsigned int slot_bytes;
    unsigned int owner; /* offset of struct probe_table_owner in a slot */
    unsigned int tid;   /* offset of the id (32 bits) from the thread pointer */
};

struct probe_table_owner {
    unsigned long long pointer; /* 0: the slot is free */
    unsigned int tid, reserved;
};

#define PROBE_TABLE_FACTOR 0x61c88647ULL
enum { PROBE_TABLE_LOOKS = 64 };

static inline unsigned int probe_table_place(unsigned long long pointer, unsigned int look,
                                             unsigned int mask)
{
    return ((unsigned int)(pointer * PROBE_TABLE_FACTOR >> 32) + look) & mask;
}

/* The beginning of the window, which no record uses. A guard page follows (agent/probe/serve.c). */
#define PROBE_WINDOW_BYTES (2 * 4096ULL)
#define PROBE_WINDOW_MAGIC 0x776f646e69775053ULL
struct probe_window {
    unsigned long long magic;
    unsigned long long innermost; /* offset from the thread pointer, or from its slot: the address
                                     of the record of its innermost open call */
    unsigned long long code, code_end; /* of the agent, with its thunks */
    struct probe_table table;
};

#endif
