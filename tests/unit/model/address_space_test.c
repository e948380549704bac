#include "model/process_table.h"

#include <CUnit/CUnit.h>

static const struct sprof_file_id prog = {.path = "/opt/prog", .inode = 1, .device_major = 8};
static const struct sprof_file_id libc = {.path = "/lib/libc.so.6", .inode = 2, .device_major = 8};
static const struct sprof_file_id loader = {.path = "/lib64/ld-linux-x86-64.so.2", .inode = 3};
static const struct sprof_file_id anon = {.path = "//anon"};

static void map(struct model_process_table *table, int pid, uint64_t start, uint64_t end,
                const struct sprof_file_id *identity, uint64_t time_ns)
{
    CU_ASSERT_EQUAL(
        model_process_table_map(table, pid, start, end - start, start, identity, time_ns), 0);
}

/* The path that a process has at an address, "-" for none. */
static const char *at(struct model_process_table *table, int pid, uint64_t address,
                      uint64_t time_ns)
{
    struct model_process *process = pid < 0 ? NULL : model_process_table_process(table, pid, 0);
    const struct model_mapping *mapping =
        model_process_table_find(table, process, address, time_ns);
    return mapping ? model_process_table_module_by_id(table, mapping->module)->identity.path : "-";
}

static void test_a_mapping_is_found_in_its_bounds(void)
{
    struct model_process_table table = {0};
    map(&table, 1, 0x1000, 0x2000, &prog, 1);
    map(&table, 1, 0x5000, 0x6000, &libc, 2);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0xfff, 0), "-");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x1000, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x1fff, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x2000, 0), "-");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x5800, 0), "/lib/libc.so.6");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x1000, 0), "-");
    model_process_table_release(&table);
}

static void test_a_mapping_in_the_middle_splits_the_old_one(void)
{
    struct model_process_table table = {0};
    map(&table, 1, 0x1000, 0x9000, &prog, 1);
    map(&table, 1, 0x3000, 0x5000, &libc, 10);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x2fff, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x3000, 0), "/lib/libc.so.6");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x5000, 0), "/opt/prog");
    const struct model_process *process = model_process_table_process(&table, 1, 0);
    const struct model_mapping *right = model_process_table_find(&table, process, 0x5000, 0);
    CU_ASSERT_EQUAL(right->start, 0x5000);
    CU_ASSERT_EQUAL(right->end, 0x9000);
    CU_ASSERT_EQUAL(right->file_offset, 0x5000);
    CU_ASSERT_EQUAL(table.mappings.rows.items[0]->end_ns, 10);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x3000, 9), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x3000, 10), "/lib/libc.so.6");
    model_process_table_release(&table);
}

static void test_a_mapping_over_several(void)
{
    struct model_process_table table = {0};
    map(&table, 1, 0x1000, 0x3000, &prog, 1);
    map(&table, 1, 0x3000, 0x4000, &libc, 1);
    map(&table, 1, 0x4000, 0x6000, &loader, 1);
    map(&table, 1, 0x2000, 0x5000, &anon, 2);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x1800, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x2000, 0), "//anon");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x3800, 0), "//anon");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x4fff, 0), "//anon");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x5000, 0), "/lib64/ld-linux-x86-64.so.2");
    CU_ASSERT_EQUAL(model_process_table_process(&table, 1, 0)->space.mapped.count, 3);
    model_process_table_release(&table);
}

static void test_random_mappings_against_a_page_array(void)
{
    enum { PAGES = 64, STEPS = 2000 };
    const struct sprof_file_id *const identities[] = {&prog, &libc, &loader, &anon};
    const char *pages[PAGES];
    struct model_process_table table = {0};
    unsigned seed = 20240611;
    for (int i = 0; i < PAGES; i++)
        pages[i] = "-";
    for (unsigned step = 1; step <= STEPS; step++) {
        seed = seed * 1103515245u + 12345u;
        const unsigned from = seed >> 16 & (PAGES - 1), size = 1 + (seed >> 24) % 9;
        const unsigned to = from + size < PAGES ? from + size : PAGES;
        const struct sprof_file_id *identity = identities[seed >> 12 & 3];
        map(&table, 1, from * 0x1000ull, to * 0x1000ull, identity, step);
        for (unsigned i = from; i < to; i++)
            pages[i] = identity->path;
        for (unsigned i = 0; i < PAGES; i++) {
            CU_ASSERT_STRING_EQUAL_FATAL(at(&table, 1, i * 0x1000ull + 0x10, 0), pages[i]);
            if (step % 50 == 0)
                CU_ASSERT_STRING_EQUAL_FATAL(at(&table, 1, i * 0x1000ull + 0x10, step), pages[i]);
        }
    }
    model_process_table_release(&table);
}

static void test_the_same_mapping_again_changes_nothing(void)
{
    struct model_process_table table = {0};
    map(&table, 1, 0x1000, 0x2000, &prog, 1);
    const uint32_t generation = model_process_table_process(&table, 1, 0)->space.generation;
    map(&table, 1, 0x1000, 0x2000, &prog, 2);
    CU_ASSERT_EQUAL(model_process_table_process(&table, 1, 0)->space.generation, generation);
    CU_ASSERT_EQUAL(table.mappings.rows.count, 1);
    map(&table, 1, 0x2000, 0x3000, &libc, 3);
    CU_ASSERT_NOT_EQUAL(model_process_table_process(&table, 1, 0)->space.generation, generation);
    model_process_table_release(&table);
}

static void test_generations_never_repeat(void)
{
    struct model_process_table table = {.mappings.newest_generation = UINT32_MAX - 1};
    const uint32_t first = model_process_table_process(&table, 1, 0)->space.generation;
    const uint32_t second = model_process_table_process(&table, 2, 0)->space.generation;
    map(&table, 1, 0x1000, 0x2000, &prog, 1);
    const uint32_t third = model_process_table_process(&table, 1, 0)->space.generation;
    CU_ASSERT_TRUE(first && second && third);
    CU_ASSERT_TRUE(first != second && second != third && first != third);
    model_process_table_release(&table);
}

static void test_a_fork_shares_until_it_changes(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 1, 1, "prog", true, 1);
    map(&table, 1, 0x1000, 0x9000, &prog, 1);
    model_process_table_fork(&table, 1, 1, 2, 2, 10);
    map(&table, 2, 0x3000, 0x4000, &libc, 20);
    map(&table, 1, 0x5000, 0x6000, &anon, 30);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x3000, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x3000, 0), "/lib/libc.so.6");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x5000, 0), "//anon");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x5000, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x3000, 15), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x3000, 25), "/lib/libc.so.6");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x5000, 40), "/opt/prog");
    CU_ASSERT_EQUAL(table.mappings.rows.items[0]->end_ns, 30);
    model_process_table_release(&table);
}

static void test_a_chain_of_forks_remembers(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 1, 1, "prog", true, 1);
    map(&table, 1, 0x1000, 0x9000, &prog, 1);
    for (int pid = 2; pid < 3000; pid++) {
        model_process_table_fork(&table, pid - 1, pid - 1, pid, pid, (uint64_t)pid);
        model_process_table_exit(&table, pid - 1, pid - 1, (uint64_t)pid + 1);
    }
    CU_ASSERT_STRING_EQUAL(at(&table, 2999, 0x1000, 0), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 2999, 0x1000, 2999), "/opt/prog");
    CU_ASSERT_EQUAL(model_process_table_process(&table, 2999, 0)->space.heir_of->process, 1);
    model_process_table_release(&table);
}

static void test_exec_drops_the_old_mappings(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 1, 1, "sh", true, 1);
    map(&table, 1, 0x1000, 0x2000, &prog, 1);
    model_process_table_fork(&table, 1, 1, 2, 2, 5);
    const uint32_t generation = model_process_table_process(&table, 2, 0)->space.generation;
    model_process_table_comm(&table, 2, 2, "libc", true, 10);
    CU_ASSERT_NOT_EQUAL(model_process_table_process(&table, 2, 0)->space.generation, generation);
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x1000, 0), "-");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0x1000, 0), "/opt/prog");
    map(&table, 2, 0x7000, 0x8000, &loader, 11);
    CU_ASSERT_EQUAL(model_process_table_process(&table, 2, 0)->main_module, 0);
    map(&table, 2, 0x4000, 0x5000, &libc, 12);
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x1000, 6), "/opt/prog");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x1000, 11), "-");
    CU_ASSERT_STRING_EQUAL(at(&table, 2, 0x4000, 12), "/lib/libc.so.6");
    model_process_table_release(&table);
}

static void test_the_first_file_after_exec_is_the_program(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 1, 1, "x", true, 1);
    map(&table, 1, 0x7000, 0x8000, &loader, 2);
    map(&table, 1, 0x9000, 0xa000, &anon, 2);
    map(&table, 1, 0x4000, 0x5000, &libc, 3); /* run as a program */
    map(&table, 1, 0x1000, 0x2000, &prog, 4);
    const struct model_process *process = model_process_table_process(&table, 1, 0);
    struct model_module *module = model_process_table_module_by_id(&table, process->main_module);
    CU_ASSERT_STRING_EQUAL(module->identity.path, "/lib/libc.so.6");
    CU_ASSERT_TRUE(module->main_executable);
    CU_ASSERT_EQUAL(module->kind, MODEL_KIND_APP);
    CU_ASSERT_FALSE(table.modules.items[0]->main_executable);
    CU_ASSERT_EQUAL(table.modules.items[0]->kind, MODEL_KIND_SYSTEM);
    model_process_table_release(&table);
}

static void test_the_kernel_is_seen_from_everywhere(void)
{
    const struct sprof_file_id kernel = {.path = "[kernel]"};
    struct model_process_table table = {0};
    map(&table, -1, 0xffffffff81000000, 0xffffffff82000000, &kernel, 1);
    map(&table, 1, 0x1000, 0x2000, &prog, 1);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0xffffffff81000010, 0), "[kernel]");
    CU_ASSERT_STRING_EQUAL(at(&table, -1, 0xffffffff81000010, 0), "[kernel]");
    CU_ASSERT_STRING_EQUAL(at(&table, 1, 0xffffffff81000010, 5), "[kernel]");
    CU_ASSERT_STRING_EQUAL(at(&table, -1, 0x1000, 0), "-");
    model_process_table_release(&table);
}

static void test_impossible_sizes(void)
{
    struct model_process_table table = {0};
    CU_ASSERT_EQUAL(model_process_table_map(&table, 1, 0x1000, 0, 0, &prog, 1), 0);
    CU_ASSERT_EQUAL(table.mappings.rows.count, 0);
    CU_ASSERT_EQUAL(model_process_table_map(&table, 1, 0x1000, UINT64_MAX, 0, &prog, 1), 0);
    CU_ASSERT_STRING_EQUAL(at(&table, 1, UINT64_MAX - 1, 0), "/opt/prog");
    model_process_table_release(&table);
}

void sprof_suite_model_address_space(void);
void sprof_suite_model_address_space(void)
{
    CU_pSuite suite = CU_add_suite("model/address_space", NULL, NULL);
    CU_add_test(suite, "found in its bounds", test_a_mapping_is_found_in_its_bounds);
    CU_add_test(suite, "one in the middle splits", test_a_mapping_in_the_middle_splits_the_old_one);
    CU_add_test(suite, "one over several", test_a_mapping_over_several);
    CU_add_test(suite, "random ones against a page array",
                test_random_mappings_against_a_page_array);
    CU_add_test(suite, "the same one again changes nothing",
                test_the_same_mapping_again_changes_nothing);
    CU_add_test(suite, "generations never repeat", test_generations_never_repeat);
    CU_add_test(suite, "a fork shares until it changes", test_a_fork_shares_until_it_changes);
    CU_add_test(suite, "a chain of forks remembers", test_a_chain_of_forks_remembers);
    CU_add_test(suite, "exec drops the old mappings", test_exec_drops_the_old_mappings);
    CU_add_test(suite, "the first file after exec is the program",
                test_the_first_file_after_exec_is_the_program);
    CU_add_test(suite, "the kernel is seen from everywhere",
                test_the_kernel_is_seen_from_everywhere);
    CU_add_test(suite, "impossible sizes", test_impossible_sizes);
}
