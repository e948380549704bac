#include "sampler/stack_mapping.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char maps[] =
    "555555554000-555555555000 r--p 00000000 fe:00 1234                       /bin/deep\n"
    "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
    "7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n"
    "not a mapping\n"
    "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n";

static void test_text(void)
{
    uint64_t low, end;
    CU_ASSERT_TRUE(sampler_stack_mapping_find(maps, 0x7f0000001000, &low, &end));
    CU_ASSERT_EQUAL(low, 0x7f0000001000);
    CU_ASSERT_EQUAL(end, 0x7f0000801000);
    CU_ASSERT_TRUE(sampler_stack_mapping_find(maps, 0x7ffffffdf000, &low, &end));
    CU_ASSERT_TRUE(low < 0x7ffffffde000 - (8 << 20)); /* it grows */
    CU_ASSERT_EQUAL(end, 0x7ffffffff000);
    CU_ASSERT_FALSE(sampler_stack_mapping_find(maps, 0x7f0000801000, &low, &end));
    CU_ASSERT_FALSE(sampler_stack_mapping_find("", 0x1000, &low, &end));
    char cut[sizeof maps];
    for (size_t size = 0; size < sizeof maps; size++) {
        memcpy(cut, maps, size);
        cut[size] = '\0';
        if (sampler_stack_mapping_find(cut, 0x7f0000002000, &low, &end))
            CU_ASSERT_EQUAL(low, 0x7f0000001000);
    }
}

/* Asks until there is an answer: what was asked twice before is answered once. */
static struct stack_mapping ask(struct stack_mapper *mapper, pid_t pid, const void *address)
{
    struct stack_mapping mapping = {0}, more;
    sampler_stack_mapper_ask(mapper, pid, 7, (uint64_t)(uintptr_t)address);
    sampler_stack_mapper_ask(mapper, pid, 7, 0);
    while (!sampler_stack_mapper_take(mapper, &mapping))
        usleep(1000);
    CU_ASSERT_FALSE(sampler_stack_mapper_take(mapper, &more));
    CU_ASSERT_EQUAL(mapping.tid, 7);
    CU_ASSERT_EQUAL(mapping.stack_pointer, (uint64_t)(uintptr_t)address);
    return mapping;
}

static void test_live(void)
{
    struct stack_mapper *mapper = sampler_stack_mapper_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(mapper);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = mmap(NULL, 6 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(pages, MAP_FAILED);
    CU_ASSERT_EQUAL(mprotect(pages + page, 4 * page, PROT_READ | PROT_WRITE), 0);
    struct stack_mapping mapping = ask(mapper, getpid(), pages + 2 * page + 8);
    CU_ASSERT_EQUAL(mapping.low, (uint64_t)(uintptr_t)(pages + page));
    CU_ASSERT_EQUAL(mapping.end, (uint64_t)(uintptr_t)(pages + 5 * page));
    munmap(pages, 6 * page);
    mapping = ask(mapper, getpid(), (const void *)8);
    CU_ASSERT_TRUE(!mapping.low && !mapping.end);
    for (uint32_t i = 0; i < 1000; i++) /* more than it keeps */
        sampler_stack_mapper_ask(mapper, getpid(), (pid_t)i, i);
    sampler_stack_mapper_free(mapper);
    sampler_stack_mapper_free(NULL);
}

void sprof_suite_sampler_stack_mapping(void);
void sprof_suite_sampler_stack_mapping(void)
{
    CU_pSuite suite = CU_add_suite("sampler/stack_mapping", NULL, NULL);
    CU_add_test(suite, "the text of maps", test_text);
    CU_add_test(suite, "a live process", test_live);
}
