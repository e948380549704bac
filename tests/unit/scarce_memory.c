#include "tests/unit/scarce_memory.h"

#include "base/error.h"

#include <CUnit/CUnit.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

static long allocations_left = -1;
static bool ran_out;

void scarce_memory_set(long allocations)
{
    allocations_left = allocations;
    if (allocations >= 0)
        ran_out = false;
}

bool scarce_memory_ran_out(void)
{
    return ran_out;
}

bool scarce_memory_allows(void)
{
    if (allocations_left > 0)
        allocations_left--;
    ran_out |= allocations_left == 0;
    return allocations_left != 0;
}

void scarce_memory_fail_each(int (*use)(void), long min_failures)
{
    enum { MOST_CALLS = 3000 };
    int result = SPROF_ENOMEM;
    long calls = 0;
    while (calls < MOST_CALLS && result) {
        scarce_memory_set(++calls);
        result = use();
        scarce_memory_set(-1);
        CU_ASSERT_EQUAL(result, scarce_memory_ran_out() ? SPROF_ENOMEM : 0);
    }
    CU_ASSERT_TRUE(calls > min_failures);
    CU_ASSERT_EQUAL(result, 0);
}

void *__wrap_malloc(size_t size)
{
    return scarce_memory_allows() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return scarce_memory_allows() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return scarce_memory_allows() ? __real_realloc(memory, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return scarce_memory_allows() ? __real_strdup(text) : NULL;
}
