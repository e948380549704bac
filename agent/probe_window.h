/* Where the tracing agent keeps its records, and what it tells those who look at a traced thread
 * from outside: sprof's sampler, in the kernel (sampler/bpf/sampling.bpf.c), which reads the calls
 * in flight with a sample. Constants and words alone. */
#ifndef SPROF_AGENT_PROBE_WINDOW_H
#define SPROF_AGENT_PROBE_WINDOW_H

/* The record of a call stands at an address that follows from where the call's return address is
 * on its stack, whichever stack that is: PROBE_RECORDS + 8 · (slot mod 2^41). So a return address
 * is found without any bookkeeping that could be wrong. The addresses are fixed, because the rules
 * for unwinding through a thunk (agent/probe/area.S) hold them. They lie between those that
 * JavaScript engines, Java's ZGC and allocators draw by lot (46 bits and less) and the lowest
 * address of a position-independent program (2/3 of all, 0x555555554000): what Linux places by
 * itself comes from there, or from the top, whatever vm.mmap_rnd_bits is and however many TiB a
 * program reserves. */
#define PROBE_RECORDS 0x440000000000ULL
#define PROBE_RECORDS_BYTES (1ULL << 44)
#define PROBE_SLOT_MASK ((1ULL << 41) - 1)

/* Where things stand in a record. */
enum {
    PROBE_RECORD_BYTES = 64,
    PROBE_RECORD_RETURN = 0, /* the address that the call returns to */
    PROBE_RECORD_BEGAN = 8,  /* ticks */
    PROBE_RECORD_PARENT = 16,
    PROBE_RECORD_SLOT = 40,   /* where the return address stood; 0: the record was never used */
    PROBE_RECORD_SERIAL = 56, /* 32 bits: 0 when the call is over */
};

/* A call whose function has jumped to another at its end (a tail call) goes on until that returns,
 * but the record of their one slot is the other's, whose PROBE_RECORD_PARENT is this one's then:
 * one of so many of its thread, by the number of the thread's slab (PROBE_SLABS). They stand where
 * Linux has no stack whose slots lead there. Such a record holds PROBE_JUMPER_… instead of when it
 * began, and that in the place of its return address. */
#define PROBE_JUMPERS_AT (PROBE_RECORDS + (1ULL << 42))
#define PROBE_JUMPERS_BYTES (4096ULL * PROBE_JUMPERS * PROBE_RECORD_BYTES)
enum {
    PROBE_JUMPERS = 4096,
    PROBE_JUMPER_IN_CHAIN = 0,
    PROBE_JUMPER_APART = 1, /* it was suspended with its coroutine before it jumped */
};

/* Where an agent without thread-local storage keeps what its threads have: see agent/probe/table.h.
 * A thread's pointer leads to a place, from which on its slot is the first with that pointer; it is
 * the thread's where its id is the one that the thread's control block has. None is behind a free
 * slot, nor so many looks away. */
struct probe_table {
    unsigned long long address; /* 0: there is none, but thread-local storage */
    unsigned int mask;          /* slots, less one: a power of two */
    unsigned int slot_bytes;
    unsigned int owner; /* where in a slot struct probe_table_owner is */
    unsigned int tid;   /* added to a thread's pointer: where its id is, 32 bits */
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

/* At the beginning of the window, where the record of no stack's slot is: what is told, and behind
 * that a page that cannot be touched (agent/probe/start.c). */
#define PROBE_WINDOW_BYTES (2 * 4096ULL)
#define PROBE_WINDOW_MAGIC 0x776f646e69775053ULL
struct probe_window {
    unsigned long long magic;
    unsigned long long innermost; /* added to a thread's pointer, or to its slot: where the address
                                     of its innermost open call's record is */
    unsigned long long code, code_end; /* of the agent, with its thunks */
    struct probe_table table;
};

#endif
