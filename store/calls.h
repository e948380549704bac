/* Calls in blocks: packed, a call takes some ten bytes and a fraction of a microsecond, a row of
 * its own would take ten times as much of both. */
#ifndef SPROF_STORE_CALLS_H
#define SPROF_STORE_CALLS_H

#include "base/base.h"

#include <stdbool.h>

enum {
    STORE_CALL_WORDS = 6,
    STORE_BLOCK_CALLS = 4096, /* at most; an id of a call is its block's, times this, and its place
                                 in the block */
    STORE_CALL_SLOTS = 64,
};

/* One call. */
struct store_call {
    uint64_t start_ns;
    uint64_t duration_ns; /* as it passed, with what probes took; 0: not known */
    uint64_t self_ns;     /* without the probed functions that it called, and their probes */
    uint32_t function;    /* struct store_call_function has its number */
    uint32_t depth;       /* 1: outermost */
    uint8_t exit;         /* enum store_exit */
    uint64_t words[STORE_CALL_WORDS]; /* what was in the registers of the first integer arguments */
    bool has_states;                  /* the next two are known; the rest of the duration it ran */
    uint64_t waiting_ns, ready_ns;
};

/* What a call is stored relative to: both sides keep the same. */
struct store_call_before {
    uint64_t start_ns;
    uint32_t depth;
    uint64_t words[STORE_CALL_SLOTS][STORE_CALL_WORDS]; /* of the last, by functions' numbers */
};

/* A block that is being filled. Zero is a valid empty one. */
struct store_call_packer {
    uint8_t *bytes; /* owned, with room for a whole block */
    size_t size;
    uint32_t calls;
    uint64_t first_ns; /* the smallest start */
    struct store_call_before before;
};

/* Adds a call, in the order of their ends; the block must not be full. Returns 0 or SPROF_ENOMEM.
 */
int store_call_pack(struct store_call_packer *packer, const struct store_call *call);

/* Begins the next block. */
void store_call_packer_clear(struct store_call_packer *packer);
void store_call_packer_release(struct store_call_packer *packer);

/* Reads the calls of a block again; the bytes may be anything. */
struct store_call_unpacker {
    struct sprof_reader reader;
    uint32_t left;
    struct store_call_before before;
};
void store_call_unpack_begin(struct store_call_unpacker *unpacker, struct sprof_bytes bytes,
                             uint32_t calls);

/* Returns 0, 1 behind the last, or SPROF_EFORMAT. */
int store_call_unpack(struct store_call_unpacker *unpacker, struct store_call *call);

#endif
