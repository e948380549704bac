#include "sampler/rest.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* This process's own memory stands for a stack. */
static uint8_t memory[3 * REST_BYTES_MAX];

static struct sampler_stack stack_at(const uint8_t *start, pid_t tid)
{
    return (struct sampler_stack){
        .pid = getpid(), .tid = tid, .pointer = (uint64_t)(uintptr_t)start, .captured = 0};
}

static void fill(void)
{
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (uint8_t)(i * 31 >> 4);
}

static bool holds(const struct rests *rests, const struct rest *rest, const uint8_t *from)
{
    return rest->address == (uint64_t)(uintptr_t)from &&
           !memcmp(rests->bytes + rest->start, from, rest->size);
}

static void test_copies_are_of_the_size_wanted(void)
{
    struct rests rests = {0};
    fill();
    const struct sampler_stack stack = stack_at(memory, 7);
    CU_ASSERT_EQUAL(rests_copy(&rests, 0, 100, &stack, REST_BYTES_MAX), REST_BYTES_MAX);
    CU_ASSERT_EQUAL(rests_copy(&rests, 0, 200, &stack, 5000), 5000);
    CU_ASSERT_EQUAL(rests_copy(&rests, 0, 400, &stack, 0), 0);
    const struct rest *rest = rests_take(&rests, 0, 200);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
    CU_ASSERT_EQUAL(rest->size, 5000);
    CU_ASSERT_TRUE(holds(&rests, rest, memory));
    rests_release(&rests);
}

static void test_copies_end_where_memory_does(void)
{
    struct rests rests = {0};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(pages, MAP_FAILED);
    munmap(pages + 3 * page, page);
    const struct sampler_stack stack = stack_at(pages + 100, 7),
                               gone = stack_at(pages + 3 * page, 7);
    CU_ASSERT_EQUAL(rests_copy(&rests, 0, 1, &stack, REST_BYTES_MAX), 3 * page - 100);
    CU_ASSERT_EQUAL(rests_copy(&rests, 0, 2, &gone, REST_BYTES_MAX), 0);
    CU_ASSERT_PTR_NULL(rests_take(&rests, 0, 2));
    munmap(pages, 3 * page);
    rests_release(&rests);
}

/* Each record gets its own copy, once; the ones passed over are given up. */
static void test_rings_are_told_apart(void)
{
    struct rests rests = {0};
    fill();
    for (size_t i = 0; i < 4; i++) {
        const struct sampler_stack stack = stack_at(memory + 1000 * i, (pid_t)i);
        CU_ASSERT_EQUAL(rests_copy(&rests, i % 2, 100 + i, &stack, 500), 500);
    }
    CU_ASSERT_PTR_NULL(rests_take(&rests, 1, 100));
    const struct rest *rest = rests_take(&rests, 1, 103);
    CU_ASSERT_TRUE(rest && holds(&rests, rest, memory + 3000));
    CU_ASSERT_PTR_NULL(rests_take(&rests, 1, 103));
    CU_ASSERT_PTR_NULL(rests_take(&rests, 1, 101)); /* passed over */
    rest = rests_take(&rests, 0, 100);
    CU_ASSERT_TRUE(rest && holds(&rests, rest, memory));
    rests_drop_taken(&rests);
    CU_ASSERT_EQUAL(rests.count, 2); /* the last of ring 0, and behind it what was taken */
    rests_take(&rests, 0, UINT64_MAX);
    rests_drop_taken(&rests);
    CU_ASSERT_EQUAL(rests.count, 0);
    rests_release(&rests);
}

/* Whatever goes in and out: copies that wait never overlap, and a full pool refuses. */
static void test_a_full_pool_refuses_and_recovers(void)
{
    struct rests rests = {0};
    fill();
    uint64_t seed = 1, next = 0, oldest = 0;
    size_t refused = 0, wrong = 0;
    for (int i = 0; i < 3000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint8_t *start = memory + (seed >> 40) % REST_BYTES_MAX;
        const struct sampler_stack stack = stack_at(start, 9);
        const size_t wanted = (size_t)(1 + (seed >> 33) % (REST_BYTES_MAX - 1));
        rests_copy(&rests, 0, next, &stack, wanted) ? next++ : refused++;
        if (seed >> 62 && oldest < next) {
            rests_drop_taken(&rests);
            const struct rest *rest = rests_take(&rests, 0, oldest++);
            wrong += !rest || !holds(&rests, rest, (const uint8_t *)(uintptr_t)rest->address);
        }
    }
    CU_ASSERT_TRUE(refused > 100);
    CU_ASSERT_TRUE(oldest > 1000);
    CU_ASSERT_EQUAL(wrong, 0);
    rests_release(&rests);
}

void sprof_suite_sampler_rest(void);
void sprof_suite_sampler_rest(void)
{
    CU_pSuite suite = CU_add_suite("sampler/rest", NULL, NULL);
    CU_add_test(suite, "copies are of the size wanted", test_copies_are_of_the_size_wanted);
    CU_add_test(suite, "copies end where memory does", test_copies_end_where_memory_does);
    CU_add_test(suite, "rings are told apart", test_rings_are_told_apart);
    CU_add_test(suite, "a full pool refuses and recovers", test_a_full_pool_refuses_and_recovers);
}
