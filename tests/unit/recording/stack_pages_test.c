#include "recording/stack_pages.h"

#include <CUnit/CUnit.h>
#include <string.h>

enum { STACK_BYTES = 200000, SAMPLES = 400 };

static uint8_t stack[STACK_BYTES];
static uint8_t back[STACK_BYTES];
static const uint64_t stack_address = 0x7ffffff01238;

static bool reads_back(const struct stack_copy *copy, size_t from)
{
    recording_stack_copy_read(copy, back);
    return copy->address == stack_address + from && copy->size == STACK_BYTES - from &&
           !memcmp(back, stack + from, copy->size);
}

static void test_only_what_changed_takes_memory(void)
{
    size_t held = 0;
    for (size_t i = 0; i < STACK_BYTES; i++)
        stack[i] = (uint8_t)(i * 7 >> 3);
    struct stack_copy *first =
        recording_stack_copy_new(NULL, stack_address, stack, STACK_BYTES, &held);
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    const size_t alone = held;
    CU_ASSERT_TRUE(alone >= STACK_BYTES && alone < STACK_BYTES + STACK_BYTES / 50);
    stack[100]++;
    struct stack_copy *second =
        recording_stack_copy_new(first, stack_address, stack, STACK_BYTES, &held);
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_TRUE(held - alone < 8192);
    CU_ASSERT_TRUE(reads_back(second, 0));
    recording_stack_copy_free(first, &held);
    CU_ASSERT_TRUE(reads_back(second, 0)); /* what was shared stays */
    recording_stack_copy_free(second, &held);
    recording_stack_copy_free(NULL, &held);
    CU_ASSERT_EQUAL(held, 0);
}

/* Stacks of any depth, each changed a little after the last: every copy is what the stack was. */
static void test_stacks_that_come_and_go(void)
{
    static struct {
        struct stack_copy *copy;
        size_t from;
        uint64_t hash;
    } kept[8];
    memset(kept, 0, sizeof kept);
    size_t held = 0, most = 0, wrong = 0;
    uint64_t seed = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const size_t from = (seed >> 40) % STACK_BYTES, slot = i % 8;
        const struct stack_copy *before = kept[(i + 7) % 8].copy;
        for (size_t at = from; at < STACK_BYTES && at < from + 3000; at++)
            stack[at] = (uint8_t)(seed >> 33) ^ (uint8_t)at;
        if (kept[slot].copy) {
            recording_stack_copy_read(kept[slot].copy, back);
            wrong += sprof_hash_bytes(back, kept[slot].copy->size) != kept[slot].hash;
        }
        recording_stack_copy_free(kept[slot].copy, &held);
        kept[slot].copy = recording_stack_copy_new(before, stack_address + from, stack + from,
                                                   STACK_BYTES - from, &held);
        CU_ASSERT_PTR_NOT_NULL_FATAL(kept[slot].copy);
        kept[slot].hash = sprof_hash_bytes(stack + from, STACK_BYTES - from);
        wrong += !reads_back(kept[slot].copy, from);
        most = held > most ? held : most;
    }
    for (size_t i = 0; i < 8; i++)
        recording_stack_copy_free(kept[i].copy, &held);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(held, 0);
    CU_ASSERT_TRUE(most < 4 * STACK_BYTES); /* eight copies, half as deep on average, unshared */
}

void sprof_suite_recording_stack_pages(void);
void sprof_suite_recording_stack_pages(void)
{
    CU_pSuite suite = CU_add_suite("recording/stack_pages", NULL, NULL);
    CU_add_test(suite, "only what changed takes memory", test_only_what_changed_takes_memory);
    CU_add_test(suite, "stacks that come and go", test_stacks_that_come_and_go);
}
