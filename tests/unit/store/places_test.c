/* Costs of stack nodes in blocks: packed and unpacked, whatever they are, and bytes that are none.
 */
#include "store/places.h"
#include "tests/unit/store/recording.h"

#include <stdlib.h>

enum { ENTRIES = 20000 };

static uint64_t dice = 1;

static uint64_t random_below(uint64_t limit)
{
    dice = sprof_hash_mix(dice);
    return dice % limit;
}

static uint64_t random_number(void)
{
    const uint64_t number = sprof_hash_mix(++dice);
    return number >> random_below(64);
}

static void check(const struct store_place_entry *entries, uint32_t count)
{
    struct store_place_packer packer = {0};
    struct store_place_unpacker unpacker;
    struct store_place_entry entry;
    for (uint32_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(store_place_pack(&packer, &entries[i]), 0);
    CU_ASSERT_EQUAL(packer.entries, count);
    store_place_unpack_begin(&unpacker,
                             (struct sprof_bytes){packer.bytes.items, packer.bytes.count}, count);
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL_FATAL(store_place_unpack(&unpacker, &entry), 0);
        CU_ASSERT_EQUAL(entry.node_id, entries[i].node_id);
        CU_ASSERT_EQUAL(entry.thread_id, entries[i].thread_id);
        CU_ASSERT_EQUAL(entry.cost.samples, entries[i].cost.samples);
        CU_ASSERT_EQUAL(entry.cost.weight, entries[i].cost.weight);
    }
    CU_ASSERT_EQUAL(store_place_unpack(&unpacker, &entry), 1);
    store_place_packer_release(&packer);
}

static void test_any_numbers(void)
{
    static struct store_place_entry entries[ENTRIES];
    for (uint32_t i = 0; i < ENTRIES; i++)
        entries[i] = (struct store_place_entry){(uint32_t)random_number(),
                                                (uint32_t)random_number(),
                                                {random_number(), random_number()}};
    check(entries, ENTRIES);
    check(entries, 1);
    check(entries, 0);
}

/* Nodes that follow each other, whose samples weigh the same, take four bytes each. */
static void test_usual_ones_are_short(void)
{
    static struct store_place_entry entries[ENTRIES];
    struct store_place_packer packer = {0};
    for (uint32_t i = 0; i < ENTRIES; i++) {
        entries[i] =
            (struct store_place_entry){i + 1, 7 + i % 2, {1 + i % 9, (1 + i % 9) * 1000000}};
        CU_ASSERT_EQUAL_FATAL(store_place_pack(&packer, &entries[i]), 0);
    }
    CU_ASSERT_TRUE(packer.bytes.count < 4 * ENTRIES + 16);
    store_place_packer_release(&packer);
    check(entries, ENTRIES);
}

/* Bytes may be anything: reading them ends, and says where they are no block. */
static void test_damage(void)
{
    uint8_t bytes[64];
    struct store_place_entry entry;
    for (int turn = 0; turn < 20000; turn++) {
        struct store_place_unpacker unpacker;
        const uint32_t count = (uint32_t)random_below(40);
        const size_t size = random_below(sizeof bytes);
        uint32_t read = 0;
        int status;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)random_below(256);
        store_place_unpack_begin(&unpacker, (struct sprof_bytes){bytes, size}, count);
        while (!(status = store_place_unpack(&unpacker, &entry)))
            read++;
        CU_ASSERT_TRUE(read <= count);
        CU_ASSERT_TRUE(status == SPROF_EFORMAT || (status == 1 && read == count));
    }
}

void sprof_suite_store_places(void);
void sprof_suite_store_places(void)
{
    CU_pSuite suite = CU_add_suite("store/places", NULL, NULL);
    CU_add_test(suite, "any numbers", test_any_numbers);
    CU_add_test(suite, "usual ones are short", test_usual_ones_are_short);
    CU_add_test(suite, "damage", test_damage);
}
