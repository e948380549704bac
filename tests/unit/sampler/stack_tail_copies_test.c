#include "sampler/stack_tail_copies.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* This process's own memory stands for a stack. */
static uint8_t memory[3 * STACK_TAIL_BYTES_MAX];

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

static bool holds(const struct stack_tail_copies *copies, const struct stack_tail_copy *copy,
                  const uint8_t *from)
{
    return copy->address == (uint64_t)(uintptr_t)from &&
           !memcmp(copies->bytes + copy->start, from, copy->size);
}

static void test_copies_are_of_the_size_wanted(void)
{
    struct stack_tail_copies copies = {0};
    fill();
    const struct sampler_stack stack = stack_at(memory, 7);
    CU_ASSERT_EQUAL(sampler_stack_tail_copies_make(&copies, 0, 100, &stack, STACK_TAIL_BYTES_MAX),
                    STACK_TAIL_BYTES_MAX);
    CU_ASSERT_EQUAL(sampler_stack_tail_copies_make(&copies, 0, 200, &stack, 5000), 5000);
    CU_ASSERT_EQUAL(sampler_stack_tail_copies_make(&copies, 0, 400, &stack, 0), 0);
    const struct stack_tail_copy *copy = sampler_stack_tail_copies_take(&copies, 0, 200);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT_EQUAL(copy->size, 5000);
    CU_ASSERT_TRUE(holds(&copies, copy, memory));
    sampler_stack_tail_copies_release(&copies);
}

static void test_copies_end_where_memory_does(void)
{
    struct stack_tail_copies copies = {0};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(pages, MAP_FAILED);
    munmap(pages + 3 * page, page);
    const struct sampler_stack stack = stack_at(pages + 100, 7),
                               gone = stack_at(pages + 3 * page, 7);
    CU_ASSERT_EQUAL(sampler_stack_tail_copies_make(&copies, 0, 1, &stack, STACK_TAIL_BYTES_MAX),
                    3 * page - 100);
    CU_ASSERT_EQUAL(sampler_stack_tail_copies_make(&copies, 0, 2, &gone, STACK_TAIL_BYTES_MAX), 0);
    CU_ASSERT_PTR_NULL(sampler_stack_tail_copies_take(&copies, 0, 2));
    munmap(pages, 3 * page);
    sampler_stack_tail_copies_release(&copies);
}

/* Each record gets its own copy, once; the ones passed over are given up. */
static void test_rings_are_told_apart(void)
{
    struct stack_tail_copies copies = {0};
    fill();
    for (size_t i = 0; i < 4; i++) {
        const struct sampler_stack stack = stack_at(memory + 1000 * i, (pid_t)i);
        CU_ASSERT_EQUAL(sampler_stack_tail_copies_make(&copies, i % 2, 100 + i, &stack, 500), 500);
    }
    CU_ASSERT_PTR_NULL(sampler_stack_tail_copies_take(&copies, 1, 100));
    const struct stack_tail_copy *copy = sampler_stack_tail_copies_take(&copies, 1, 103);
    CU_ASSERT_TRUE(copy && holds(&copies, copy, memory + 3000));
    CU_ASSERT_PTR_NULL(sampler_stack_tail_copies_take(&copies, 1, 103));
    CU_ASSERT_PTR_NULL(sampler_stack_tail_copies_take(&copies, 1, 101)); /* passed over */
    copy = sampler_stack_tail_copies_take(&copies, 0, 100);
    CU_ASSERT_TRUE(copy && holds(&copies, copy, memory));
    sampler_stack_tail_copies_drop_taken(&copies);
    CU_ASSERT_EQUAL(copies.count, 2); /* the last of ring 0, and behind it what was taken */
    sampler_stack_tail_copies_take(&copies, 0, UINT64_MAX);
    sampler_stack_tail_copies_drop_taken(&copies);
    CU_ASSERT_EQUAL(copies.count, 0);
    sampler_stack_tail_copies_release(&copies);
}

/* Whatever goes in and out: copies that wait never overlap, and a full pool refuses. */
static void test_a_full_pool_refuses_and_recovers(void)
{
    struct stack_tail_copies copies = {0};
    fill();
    uint64_t seed = 1, next = 0, oldest = 0;
    size_t refused = 0, wrong = 0;
    for (int i = 0; i < 3000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint8_t *start = memory + (seed >> 40) % STACK_TAIL_BYTES_MAX;
        const struct sampler_stack stack = stack_at(start, 9);
        const size_t wanted = (size_t)(1 + (seed >> 33) % (STACK_TAIL_BYTES_MAX - 1));
        sampler_stack_tail_copies_make(&copies, 0, next, &stack, wanted) ? next++ : refused++;
        if (seed >> 62 && oldest < next) {
            sampler_stack_tail_copies_drop_taken(&copies);
            const struct stack_tail_copy *copy =
                sampler_stack_tail_copies_take(&copies, 0, oldest++);
            wrong += !copy || !holds(&copies, copy, (const uint8_t *)(uintptr_t)copy->address);
        }
    }
    CU_ASSERT_TRUE(refused > 100);
    CU_ASSERT_TRUE(oldest > 1000);
    CU_ASSERT_EQUAL(wrong, 0);
    sampler_stack_tail_copies_release(&copies);
}

void sprof_suite_sampler_stack_tail_copies(void);
void sprof_suite_sampler_stack_tail_copies(void)
{
    CU_pSuite suite = CU_add_suite("sampler/stack_tail_copies", NULL, NULL);
    CU_add_test(suite, "copies are of the size wanted", test_copies_are_of_the_size_wanted);
    CU_add_test(suite, "copies end where memory does", test_copies_end_where_memory_does);
    CU_add_test(suite, "rings are told apart", test_rings_are_told_apart);
    CU_add_test(suite, "a full pool refuses and recovers", test_a_full_pool_refuses_and_recovers);
}
