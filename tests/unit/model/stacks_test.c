#include "model/stacks.h"

#include <CUnit/CUnit.h>

static uint32_t frame(struct model_stacks *stacks, uint32_t module, uint64_t offset)
{
    uint32_t id = 0;
    CU_ASSERT_EQUAL(model_stacks_frame(stacks, module, offset, &id), 0);
    return id;
}

static uint32_t node(struct model_stacks *stacks, uint32_t parent, uint32_t frame_id,
                     uint8_t found_by, uint32_t guessed)
{
    uint32_t id = 0;
    CU_ASSERT_EQUAL(model_stacks_node(stacks, parent, frame_id, found_by, guessed, &id), 0);
    return id;
}

static void test_frames_are_found_again(void)
{
    struct model_stacks stacks = {.first_frame = 100};
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++)
            CU_ASSERT_EQUAL(frame(&stacks, i % 7, i / 7), 101 + i);
    CU_ASSERT_EQUAL(stacks.frames.count, 1000);
    CU_ASSERT_EQUAL(stacks.frames.items[999].id, 1100);
    CU_ASSERT_EQUAL(stacks.frames.items[999].module, 999 % 7);
    CU_ASSERT_EQUAL(stacks.frames.items[999].offset, 999 / 7);
    model_stacks_release(&stacks);
}

static void test_nodes_are_found_again(void)
{
    struct model_stacks stacks = {.first_node = 10};
    uint32_t ids[2][500];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0, parent = 0; i < 500; i++)
            parent = ids[round][i] = node(&stacks, parent, 1 + i % 3, 0, 0);
    for (uint32_t i = 0; i < 500; i++) {
        CU_ASSERT_EQUAL(ids[0][i], 11 + i);
        CU_ASSERT_EQUAL(ids[1][i], ids[0][i]);
        CU_ASSERT_EQUAL(stacks.nodes.items[i].depth, i + 1);
    }
    model_stacks_release(&stacks);
}

/* The index is larger than the processor's caches: nodes that were made one after the other are
 * found without it. */
static void test_nodes_of_one_stack_need_no_index(void)
{
    struct model_stacks stacks = {.first_node = 10};
    const uint32_t root = node(&stacks, 0, 1, 0, 0);
    for (uint32_t i = 0, parent = root; i < 500; i++)
        parent = node(&stacks, parent, 2 + i % 3, 0, 0);
    sprof_map_clear(&stacks.node_index);
    for (uint32_t i = 0, parent = root; i < 500; i++) {
        parent = node(&stacks, parent, 2 + i % 3, 0, 0);
        CU_ASSERT_EQUAL(parent, root + 1 + i);
    }
    CU_ASSERT_EQUAL(stacks.nodes.count, 501);
    model_stacks_release(&stacks);
}

static void test_how_a_frame_was_found_tells_nodes_apart(void)
{
    struct model_stacks stacks = {0};
    const uint32_t root = node(&stacks, 0, 1, 0, 0);
    const uint32_t by_cfi = node(&stacks, root, 2, 0, 0);
    const uint32_t by_scan = node(&stacks, root, 2, 4, 1);
    const uint32_t below_scan = node(&stacks, root, 2, 0, 1);
    CU_ASSERT_NOT_EQUAL(by_cfi, by_scan);
    CU_ASSERT_NOT_EQUAL(by_scan, below_scan);
    CU_ASSERT_EQUAL(node(&stacks, root, 2, 0, 0), by_cfi);
    CU_ASSERT_EQUAL(node(&stacks, root, 2, 4, 1), by_scan);
    CU_ASSERT_EQUAL(node(&stacks, root, 2, 0, 1), below_scan);
    CU_ASSERT_EQUAL(stacks.nodes.count, 4);
    CU_ASSERT_EQUAL(stacks.nodes.items[by_scan - 1].guessed, 1);
    CU_ASSERT_EQUAL(stacks.nodes.items[by_scan - 1].found_by, 4);
    model_stacks_release(&stacks);
}

static void test_nothing_is_allocated_when_warm(void)
{
    struct model_stacks stacks = {0};
    for (uint32_t i = 0, parent = 0; i < 100; i++)
        parent = node(&stacks, parent, frame(&stacks, 1, i), 0, 0);
    const struct model_frame *frames = stacks.frames.items;
    const struct sprof_map_slot *slots = stacks.node_index.slots;
    for (uint32_t i = 0, parent = 0; i < 100; i++)
        parent = node(&stacks, parent, frame(&stacks, 1, i), 0, 0);
    CU_ASSERT_PTR_EQUAL(stacks.frames.items, frames);
    CU_ASSERT_PTR_EQUAL(stacks.node_index.slots, slots);
    CU_ASSERT_EQUAL(stacks.nodes.count, 100);
    model_stacks_release(&stacks);
}

static void test_keys_depend_on_order(void)
{
    CU_ASSERT_NOT_EQUAL(model_frame_key(1, 2), model_frame_key(2, 1));
}

/* Whatever node is thought likely, the one that is meant is found. */
static void test_a_guess_does_not_mislead(void)
{
    struct model_stacks stacks = {.first_node = 10};
    const uint32_t root = node(&stacks, 0, 1, 0, 0), child = node(&stacks, root, 2, 3, 1);
    const struct {
        uint32_t parent, frame, found_by, guessed, is;
    } cases[] = {{0, 1, 0, 0, root},  {root, 2, 3, 1, child}, {0, 2, 3, 1, 13},
                 {root, 1, 3, 1, 14}, {root, 2, 0, 1, 15},    {root, 2, 3, 0, 16}};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint32_t found = round ? 16 : child;
            CU_ASSERT_EQUAL(model_stacks_node(&stacks, cases[i].parent, cases[i].frame,
                                              (uint8_t)cases[i].found_by, cases[i].guessed, &found),
                            0);
            CU_ASSERT_EQUAL(found, cases[i].is);
        }
    CU_ASSERT_EQUAL(stacks.nodes.count, 6);
    model_stacks_release(&stacks);
}

void sprof_suite_model_stacks(void);
void sprof_suite_model_stacks(void)
{
    CU_pSuite suite = CU_add_suite("model/stacks", NULL, NULL);
    CU_add_test(suite, "frames are found again", test_frames_are_found_again);
    CU_add_test(suite, "nodes are found again", test_nodes_are_found_again);
    CU_add_test(suite, "nodes of one stack need no index", test_nodes_of_one_stack_need_no_index);
    CU_add_test(suite, "a guess does not mislead", test_a_guess_does_not_mislead);
    CU_add_test(suite, "how a frame was found tells nodes apart",
                test_how_a_frame_was_found_tells_nodes_apart);
    CU_add_test(suite, "nothing is allocated when warm", test_nothing_is_allocated_when_warm);
    CU_add_test(suite, "keys depend on order", test_keys_depend_on_order);
}
