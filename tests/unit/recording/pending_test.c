#include "recording/pending.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 100, REST_BYTES = 50, CHAIN = 3 };

static struct model_thread thread; /* of all samples */

/* Adds a sample whose address is its number and whose stack (slice and rest) and chain are full of
 * it, from memory that is gone afterwards. */
static void add(struct recording_pending *pending, uint64_t number)
{
    uint8_t *stack = malloc(STACK_BYTES + REST_BYTES);
    uint64_t *chain = malloc(CHAIN * sizeof *chain);
    memset(stack, (int)number, STACK_BYTES);
    memset(stack + STACK_BYTES, (int)number + 100, REST_BYTES);
    for (int i = 0; i < CHAIN; i++)
        chain[i] = number * 10 + (uint64_t)i;
    const struct recording_pending_sample taken = {
        .thread = &thread,
        .time_ns = number * 1000,
        .cpu = (int)number,
        .sample = {.ip = number,
                   .weight = 7,
                   .kernel_chain = chain,
                   .kernel_chain_count = CHAIN,
                   .stack = stack,
                   .stack_size = STACK_BYTES,
                   .tail = stack + STACK_BYTES,
                   .tail_size = REST_BYTES,
                   .tail_address = number + 5},
    };
    CU_ASSERT_EQUAL(recording_pending_add(pending, &taken), 0);
    memset(stack, 0xee, STACK_BYTES + REST_BYTES);
    memset(chain, 0xee, CHAIN * sizeof *chain);
    free(stack);
    free(chain);
}

/* What a round saw, and what it is to answer. */
struct round {
    char seen[64];
    const char *keep; /* digits of the samples that go on waiting */
    uint64_t fail_at; /* 0: never */
};

static int take(void *context, const struct recording_pending_sample *sample)
{
    struct round *round = context;
    const char digit = (char)('0' + sample->sample.ip);
    strncat(round->seen, &digit, 1);
    if (round->fail_at == sample->sample.ip)
        return SPROF_ENOMEM;
    return round->keep && strchr(round->keep, digit) ? 1 : 0;
}

static void test_order_is_kept(void)
{
    struct recording_pending pending;
    recording_pending_init(&pending);
    for (uint64_t i = 1; i <= 6; i++)
        add(&pending, i);
    struct round first = {.keep = "2456"}, second = {.keep = "6"}, third = {0}, last = {0};
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &first), 0);
    CU_ASSERT_STRING_EQUAL(first.seen, "123456");
    CU_ASSERT_EQUAL(pending.count, 4);
    add(&pending, 7);
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &second), 0);
    CU_ASSERT_STRING_EQUAL(second.seen, "24567");
    add(&pending, 8); /* behind one that was not the last before */
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &third), 0);
    CU_ASSERT_STRING_EQUAL(third.seen, "68");
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &last), 0);
    CU_ASSERT_STRING_EQUAL(last.seen, "");
    add(&pending, 9);
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &last), 0);
    CU_ASSERT_STRING_EQUAL(last.seen, "9");
    recording_pending_release(&pending);
}

static int check_copy(void *context, const struct recording_pending_sample *waiting)
{
    const struct model_sample *sample = &waiting->sample;
    ++*(int *)context;
    CU_ASSERT_EQUAL(waiting->time_ns, sample->ip * 1000);
    CU_ASSERT_EQUAL(waiting->cpu, (int)sample->ip);
    CU_ASSERT_EQUAL(sample->weight, 7);
    CU_ASSERT_EQUAL(sample->stack_size, STACK_BYTES);
    CU_ASSERT_EQUAL(sample->stack[0], sample->ip);
    CU_ASSERT_EQUAL(sample->stack[STACK_BYTES - 1], sample->ip);
    CU_ASSERT_EQUAL(sample->tail_size, REST_BYTES);
    CU_ASSERT_EQUAL(sample->tail_address, sample->ip + 5);
    CU_ASSERT_EQUAL(sample->tail[0], sample->ip + 100);
    CU_ASSERT_EQUAL(sample->tail[REST_BYTES - 1], sample->ip + 100);
    CU_ASSERT_EQUAL(sample->kernel_chain[0], sample->ip * 10);
    CU_ASSERT_EQUAL(sample->kernel_chain[CHAIN - 1], sample->ip * 10 + CHAIN - 1);
    return 0;
}

static void test_copies_are_deep(void)
{
    struct recording_pending pending;
    int seen = 0;
    recording_pending_init(&pending);
    add(&pending, 1);
    add(&pending, 2);
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, check_copy, &seen), 0);
    CU_ASSERT_EQUAL(seen, 2);
    recording_pending_release(&pending);
}

static void test_without_stack_and_chain(void)
{
    struct recording_pending pending;
    struct round round = {0};
    recording_pending_init(&pending);
    const struct recording_pending_sample taken = {.thread = &thread, .sample = {.ip = 5}};
    CU_ASSERT_EQUAL(recording_pending_add(&pending, &taken), 0);
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &round), 0);
    CU_ASSERT_STRING_EQUAL(round.seen, "5");
    recording_pending_release(&pending);
}

static void test_bytes_are_counted(void)
{
    struct recording_pending pending;
    struct round round = {.keep = "2"};
    recording_pending_init(&pending);
    add(&pending, 1);
    const size_t one = pending.bytes;
    CU_ASSERT_TRUE(one >= STACK_BYTES + REST_BYTES + CHAIN * sizeof(uint64_t));
    add(&pending, 2);
    add(&pending, 3);
    CU_ASSERT_EQUAL(pending.bytes, 3 * one);
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &round), 0);
    CU_ASSERT_EQUAL(pending.bytes, one);
    CU_ASSERT_EQUAL(pending.count, 1);
    CU_ASSERT_EQUAL(pending.most_bytes, 3 * one);
    recording_pending_release(&pending);
    CU_ASSERT_EQUAL(pending.bytes, 0);
    CU_ASSERT_PTR_NULL(pending.first);
}

/* The stacks of a thread's samples share what is the same; beyond a bound, tails are given up. */
static void test_deep_stacks_are_bounded(void)
{
    enum { TAIL_BYTES = 1 << 20 };
    static uint8_t tail[TAIL_BYTES];
    struct recording_pending pending;
    struct model_thread threads[2] = {0};
    struct recording_pending_sample taken = {.thread = &thread,
                                             .sample = {.tail = tail, .tail_size = TAIL_BYTES}};
    recording_pending_init(&pending);
    for (size_t i = 0; i < 200; i++) {
        tail[i * 8] = (uint8_t)i;
        taken.thread = &threads[0];
        CU_ASSERT_EQUAL(recording_pending_add(&pending, &taken), 0);
    }
    CU_ASSERT_TRUE(pending.bytes < 3 * TAIL_BYTES);
    CU_ASSERT_EQUAL(pending.dropped_tails, 0);
    for (size_t i = 0; i < 200; i++) {
        for (size_t at = 0; at < TAIL_BYTES; at += 512)
            tail[at] = (uint8_t)(i + 1);
        taken.thread = &threads[1];
        CU_ASSERT_EQUAL(recording_pending_add(&pending, &taken), 0);
    }
    CU_ASSERT_TRUE(pending.bytes < 64 * TAIL_BYTES);
    CU_ASSERT_TRUE(pending.dropped_tails > 130 && pending.dropped_tails < 200);
    CU_ASSERT_EQUAL(pending.count, 400);
    recording_pending_release(&pending);
    CU_ASSERT_EQUAL(pending.bytes, 0);
}

static void test_a_failure_ends_the_round(void)
{
    struct recording_pending pending;
    struct round round = {.fail_at = 2}, next = {0};
    recording_pending_init(&pending);
    for (uint64_t i = 1; i <= 3; i++)
        add(&pending, i);
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &round), SPROF_ENOMEM);
    CU_ASSERT_STRING_EQUAL(round.seen, "12");
    CU_ASSERT_EQUAL(recording_pending_retry(&pending, take, &next), 0);
    CU_ASSERT_STRING_EQUAL(next.seen, "23");
    recording_pending_release(&pending);
}

void sprof_suite_recording_pending(void);
void sprof_suite_recording_pending(void)
{
    CU_pSuite suite = CU_add_suite("recording/pending", NULL, NULL);
    CU_add_test(suite, "order is kept", test_order_is_kept);
    CU_add_test(suite, "copies are deep", test_copies_are_deep);
    CU_add_test(suite, "without stack and chain", test_without_stack_and_chain);
    CU_add_test(suite, "bytes are counted", test_bytes_are_counted);
    CU_add_test(suite, "deep stacks are bounded", test_deep_stacks_are_bounded);
    CU_add_test(suite, "a failure ends the round", test_a_failure_ends_the_round);
}
