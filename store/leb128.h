/* store, inside: numbers as LEB128 (DWARF 5, section 7.6), and differences with their sign in the
 * lowest bit. */
#ifndef SPROF_STORE_LEB128_H
#define SPROF_STORE_LEB128_H

#include "base/base.h"

enum { STORE_NUMBER_BYTES = 10 }; /* that a number takes, at most */

/* Both return where the next number goes. */
static inline uint8_t *store_put_number(uint8_t *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *at++ = (uint8_t)(number | 0x80);
    *at++ = (uint8_t)number;
    return at;
}

static inline uint8_t *store_put_difference(uint8_t *at, uint64_t number, uint64_t before)
{
    const uint64_t difference = number - before;
    return store_put_number(at, difference << 1 ^ (0 - (difference >> 63)));
}

static inline uint64_t store_take_difference(struct sprof_reader *reader, uint64_t before)
{
    const uint64_t folded = sprof_reader_uleb(reader);
    return before + (folded >> 1 ^ (0 - (folded & 1)));
}

#endif
