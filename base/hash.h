/* 64-bit hashes. They are stored in recordings as identity, so they never change. */
#ifndef SPROF_BASE_HASH_H
#define SPROF_BASE_HASH_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

/* A bijection that spreads every input bit over all output bits (the finalizer of MurmurHash3,
 * Austin Appleby, public domain). */
static inline uint64_t sprof_hash_mix(uint64_t value)
{
    value ^= value >> 33;
    value *= UINT64_C(0xff51afd7ed558ccd);
    value ^= value >> 33;
    value *= UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 33;
}

/* The key of a thing inside another: order matters, (a, b) and (b, a) differ. */
static inline uint64_t sprof_hash_pair(uint64_t outer, uint64_t inner)
{
    return sprof_hash_mix(outer * UINT64_C(0x9e3779b97f4a7c15) + sprof_hash_mix(inner));
}

/* XXH3, 64 bits (Yann Collet's xxHash; its values are fixed since version 0.8). */
uint64_t sprof_hash_bytes(const void *data, size_t size);

/* As sprof_hash_bytes, of pieces as if they stood one after the other. */
uint64_t sprof_hash_pieces(const struct sprof_bytes *pieces, size_t count);

/* As sprof_hash_bytes, of a NUL-terminated string. */
uint64_t sprof_hash_text(const char *text);

/* 128 bits that stand for any number of bytes. Zero is the digest of nothing yet. */
struct sprof_digest {
    uint64_t low, high;
};

/* Adds one piece: XXH3-128 of it, chained to what came before, so that the order and the borders of
 * the pieces matter. */
void sprof_digest_add(struct sprof_digest *digest, const void *data, size_t size);

/* The same in two steps, of which the first needs no order: the XXH3-128 of a piece, and adding a
 * piece of `size` bytes by it. */
struct sprof_digest sprof_digest_of_piece(const void *data, size_t size);
void sprof_digest_chain(struct sprof_digest *digest, struct sprof_digest piece, size_t size);

void sprof_digest_add_number(struct sprof_digest *digest, uint64_t number);

static inline int sprof_digest_equal(struct sprof_digest a, struct sprof_digest b)
{
    return a.low == b.low && a.high == b.high;
}

#endif
