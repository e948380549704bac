/* Packs costs of stack nodes and unpacks them again. An entry is, each number as LEB128 (DWARF 5,
 * section 7.6), and differences with their sign in the lowest bit:
 *
 *     node and thread, less those of the entry before (0 for the first)
 *     samples
 *     weight, less samples times what a sample weighs in the first entry whose samples weigh
 *     anything (0 up to that one) */
#include "store/places.h"

#include "store/leb128.h"

#include <string.h>

enum { ENTRY_BYTES = 4 * STORE_NUMBER_BYTES };

static void keep(struct store_place_before *before, const struct store_place_entry *entry)
{
    before->node_id = entry->node_id;
    before->thread_id = entry->thread_id;
    if (!before->each && entry->cost.samples)
        before->each = entry->cost.weight / entry->cost.samples;
}

int store_place_pack(struct store_place_packer *packer, const struct store_place_entry *entry)
{
    uint8_t bytes[ENTRY_BYTES], *at = bytes;
    const struct store_place_before *before = &packer->before;
    at = store_put_difference(at, entry->node_id, before->node_id);
    at = store_put_difference(at, entry->thread_id, before->thread_id);
    at = store_put_number(at, entry->cost.samples);
    at = store_put_difference(at, entry->cost.weight, entry->cost.samples * before->each);
    const size_t size = (size_t)(at - bytes);
    if (sprof_vec_reserve(&packer->bytes, packer->bytes.count + size))
        return SPROF_ENOMEM;
    memcpy(packer->bytes.items + packer->bytes.count, bytes, size);
    packer->bytes.count += size;
    packer->entries++;
    keep(&packer->before, entry);
    return 0;
}

void store_place_packer_clear(struct store_place_packer *packer)
{
    packer->bytes.count = 0;
    packer->entries = 0;
    packer->before = (struct store_place_before){0};
}

void store_place_packer_release(struct store_place_packer *packer)
{
    sprof_vec_release(&packer->bytes);
    store_place_packer_clear(packer);
}

void store_place_unpack_begin(struct store_place_unpacker *unpacker, struct sprof_bytes bytes,
                              uint32_t entries)
{
    *unpacker = (struct store_place_unpacker){.reader = sprof_reader_of(bytes), .left = entries};
}

int store_place_unpack(struct store_place_unpacker *unpacker, struct store_place_entry *entry)
{
    struct sprof_reader *reader = &unpacker->reader;
    struct store_place_before *before = &unpacker->before;
    if (!unpacker->left)
        return sprof_reader_left(reader) ? SPROF_EFORMAT : 1;
    unpacker->left--;
    const uint64_t node = store_take_difference(reader, before->node_id);
    const uint64_t thread = store_take_difference(reader, before->thread_id);
    entry->node_id = (uint32_t)node;
    entry->thread_id = (uint32_t)thread;
    entry->cost.samples = sprof_reader_uleb(reader);
    entry->cost.weight = store_take_difference(reader, entry->cost.samples * before->each);
    keep(before, entry);
    return reader->failed || node > UINT32_MAX || thread > UINT32_MAX ? SPROF_EFORMAT : 0;
}
