/* What agents copied beyond slices, and what a hostile target may say of it. */
#include "sampler/agent/shared_tails.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_POINTER = 0x7f0000001000, CAPTURED = 512, TAIL_AT = 44 };

static struct agent_shared *make_shared(void)
{
    void *memory = mmap(NULL, AGENT_SHARED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(memory, MAP_FAILED);
    return memory;
}

static bool take(struct sigprof_tails *tails, struct agent_shared *shared, uint32_t number)
{
    _Alignas(8) uint8_t sample[64] = {0};
    memcpy(sample + TAIL_AT, &number, sizeof number);
    return sigprof_tails_take(tails, shared, (const void *)sample);
}

static bool provides(struct sigprof_tails *tails, uint64_t captured,
                     struct sampler_stack_tail *tail)
{
    const struct sampler_stack stack = {.pointer = STACK_POINTER, .captured = captured};
    return sigprof_tails_provide(tails, &stack, 0, 0, tail);
}

static void test_tail(void)
{
    struct agent_shared *shared = make_shared();
    struct sigprof_tails tails = {0};
    struct sampler_stack_tail tail;
    struct agent_tail *shared_tail = &shared->control.tail[5];
    *shared_tail = (struct agent_tail){.taken = 1, .address = STACK_POINTER + CAPTURED, .bytes = 3};
    memcpy((uint8_t *)shared + agent_tail_offset(5), "abc", 3);
    CU_ASSERT_TRUE_FATAL(take(&tails, shared, 6));
    CU_ASSERT_EQUAL(shared_tail->taken, 0);
    CU_ASSERT_TRUE_FATAL(provides(&tails, CAPTURED, &tail));
    CU_ASSERT_EQUAL(tail.size, 3);
    CU_ASSERT_EQUAL(memcmp(tail.bytes, "abc", 3), 0);
    CU_ASSERT_EQUAL(tail.address, STACK_POINTER + CAPTURED);
    CU_ASSERT_TRUE(tail.with_sample);
    CU_ASSERT_FALSE(take(&tails, shared, 0)); /* the next sample has none */
    CU_ASSERT_FALSE(provides(&tails, CAPTURED, &tail));
    sigprof_tails_release(&tails);
    munmap(shared, AGENT_SHARED_BYTES);
}

static void test_hostile_tails(void)
{
    struct agent_shared *shared = make_shared();
    struct sigprof_tails tails = {0};
    struct sampler_stack_tail tail;
    struct agent_tail *shared_tail = &shared->control.tail[0];
    CU_ASSERT_FALSE(take(&tails, shared, AGENT_TAILS + 1));
    CU_ASSERT_FALSE(take(&tails, shared, UINT32_MAX));
    *shared_tail =
        (struct agent_tail){.taken = 1, .address = STACK_POINTER, .bytes = AGENT_TAIL_BYTES + 1};
    CU_ASSERT_FALSE(take(&tails, shared, 1));
    *shared_tail = (struct agent_tail){.taken = 1, .address = STACK_POINTER, .bytes = UINT64_MAX};
    CU_ASSERT_FALSE(take(&tails, shared, 1));
    *shared_tail =
        (struct agent_tail){.taken = 1, .address = STACK_POINTER, .bytes = AGENT_TAIL_BYTES};
    CU_ASSERT_TRUE(take(&tails, shared, 1));
    CU_ASSERT_FALSE(provides(&tails, CAPTURED, &tail)); /* it is not what follows */
    sigprof_tails_release(&tails);
    munmap(shared, AGENT_SHARED_BYTES);
}

void sprof_suite_sampler_sigprof_tails(void);

void sprof_suite_sampler_sigprof_tails(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sigprof_tails", NULL, NULL);
    CU_ADD_TEST(suite, test_tail);
    CU_ADD_TEST(suite, test_hostile_tails);
}
