/* What agents copied beyond slices, and what a hostile target may say of it. */
#include "sampler/agent/rests.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_POINTER = 0x7f0000001000, CAPTURED = 512, REST_AT = 44 };

static struct agent_shared *make_shared(void)
{
    void *memory = mmap(NULL, AGENT_SHARED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(memory, MAP_FAILED);
    return memory;
}

static bool take(struct sigprof_rests *rests, struct agent_shared *shared, uint32_t number)
{
    _Alignas(8) uint8_t sample[64] = {0};
    memcpy(sample + REST_AT, &number, sizeof number);
    return sigprof_rests_take(rests, shared, (const void *)sample);
}

static bool provides(struct sigprof_rests *rests, uint64_t captured,
                     struct sampler_stack_tail *tail)
{
    const struct sampler_stack stack = {.pointer = STACK_POINTER, .captured = captured};
    return sigprof_rests_provide(rests, &stack, 0, 0, tail);
}

static void test_rest(void)
{
    struct agent_shared *shared = make_shared();
    struct sigprof_rests rests = {0};
    struct sampler_stack_tail tail;
    struct agent_rest *rest = &shared->control.rest[5];
    *rest = (struct agent_rest){.taken = 1, .address = STACK_POINTER + CAPTURED, .bytes = 3};
    memcpy((uint8_t *)shared + agent_rest_offset(5), "abc", 3);
    CU_ASSERT_TRUE_FATAL(take(&rests, shared, 6));
    CU_ASSERT_EQUAL(rest->taken, 0);
    CU_ASSERT_TRUE_FATAL(provides(&rests, CAPTURED, &tail));
    CU_ASSERT_EQUAL(tail.size, 3);
    CU_ASSERT_EQUAL(memcmp(tail.bytes, "abc", 3), 0);
    CU_ASSERT_EQUAL(tail.address, STACK_POINTER + CAPTURED);
    CU_ASSERT_TRUE(tail.with_sample);
    CU_ASSERT_FALSE(take(&rests, shared, 0)); /* the next sample has none */
    CU_ASSERT_FALSE(provides(&rests, CAPTURED, &tail));
    sigprof_rests_release(&rests);
    munmap(shared, AGENT_SHARED_BYTES);
}

static void test_hostile_rests(void)
{
    struct agent_shared *shared = make_shared();
    struct sigprof_rests rests = {0};
    struct sampler_stack_tail tail;
    struct agent_rest *rest = &shared->control.rest[0];
    CU_ASSERT_FALSE(take(&rests, shared, AGENT_RESTS + 1));
    CU_ASSERT_FALSE(take(&rests, shared, UINT32_MAX));
    *rest =
        (struct agent_rest){.taken = 1, .address = STACK_POINTER, .bytes = AGENT_REST_BYTES + 1};
    CU_ASSERT_FALSE(take(&rests, shared, 1));
    *rest = (struct agent_rest){.taken = 1, .address = STACK_POINTER, .bytes = UINT64_MAX};
    CU_ASSERT_FALSE(take(&rests, shared, 1));
    *rest = (struct agent_rest){.taken = 1, .address = STACK_POINTER, .bytes = AGENT_REST_BYTES};
    CU_ASSERT_TRUE(take(&rests, shared, 1));
    CU_ASSERT_FALSE(provides(&rests, CAPTURED, &tail)); /* it is not what follows */
    sigprof_rests_release(&rests);
    munmap(shared, AGENT_SHARED_BYTES);
}

void sprof_suite_sampler_sigprof_rests(void);

void sprof_suite_sampler_sigprof_rests(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sigprof_rests", NULL, NULL);
    CU_ADD_TEST(suite, test_rest);
    CU_ADD_TEST(suite, test_hostile_rests);
}
