/* Costs of stack nodes on one CPU in one phase, packed: there are as many of them as of nodes,
 * times CPUs, times phases. A row of their own would take five times the room, and thirty times as
 * long to read. */
#ifndef SPROF_STORE_PLACES_H
#define SPROF_STORE_PLACES_H

#include "base/base.h"
#include "model/model.h"

enum { STORE_PLACE_ENTRIES = 4096 }; /* of a block, at most */

/* Exclusive, of a stack node in a thread. */
struct store_place_entry {
    uint32_t node_id, thread_id;
    struct model_cost cost;
};

/* What an entry is stored relative to: both sides keep the same. */
struct store_place_before {
    uint32_t node_id, thread_id;
    uint64_t each; /* weight of a sample, of the first entry that has samples */
};

/* A block that is being filled. Zero is a valid empty one. */
struct store_place_packer {
    SPROF_VEC(uint8_t) bytes;
    uint32_t entries;
    struct store_place_before before;
};

/* Adds an entry: any order will do, that of nodes takes the least room. Returns 0 or SPROF_ENOMEM.
 */
int store_place_pack(struct store_place_packer *packer, const struct store_place_entry *entry);

/* Begins the next block. */
void store_place_packer_clear(struct store_place_packer *packer);
void store_place_packer_release(struct store_place_packer *packer);

/* Reads the entries of a block again; the bytes may be anything. */
struct store_place_unpacker {
    struct sprof_reader reader;
    uint32_t left;
    struct store_place_before before;
};
void store_place_unpack_begin(struct store_place_unpacker *unpacker, struct sprof_bytes bytes,
                              uint32_t entries);

/* Returns 0, 1 behind the last, or SPROF_EFORMAT. */
int store_place_unpack(struct store_place_unpacker *unpacker, struct store_place_entry *entry);

#endif
