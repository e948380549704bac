#include "model/process_table.h"

#include <CUnit/CUnit.h>

static uint32_t module_of(struct model_process_table *table, struct sprof_file_id identity,
                          uint32_t process)
{
    const struct model_module *module =
        model_process_table_module(table, &identity, false, process);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    return module->id;
}

static void test_a_build_id_decides_alone(void)
{
    struct model_process_table table = {.first_module = 3};
    const uint32_t first = module_of(
        &table, (struct sprof_file_id){.path = "/a", .build_id = {1, 2}, .build_id_size = 2}, 1);
    const uint32_t same = module_of(
        &table,
        (struct sprof_file_id){.path = "/b", .build_id = {1, 2}, .build_id_size = 2, .inode = 9},
        2);
    const uint32_t longer = module_of(
        &table, (struct sprof_file_id){.path = "/a", .build_id = {1, 2}, .build_id_size = 3}, 1);
    CU_ASSERT_EQUAL(first, 4);
    CU_ASSERT_EQUAL(same, first);
    CU_ASSERT_NOT_EQUAL(longer, first);
    model_process_table_release(&table);
}

static void test_without_it_the_file_decides(void)
{
    struct model_process_table table = {0};
    const struct sprof_file_id base = {.path = "/a", .device_major = 1, .inode = 7};
    struct sprof_file_id changed[4] = {base, base, base, base};
    changed[0].path = "/b";
    changed[1].device_minor = 2;
    changed[2].inode = 8;
    changed[3].inode_generation = 1;
    const uint32_t first = module_of(&table, base, 1);
    CU_ASSERT_EQUAL(module_of(&table, base, 2), first);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_NOT_EQUAL(module_of(&table, changed[i], 1), first);
    CU_ASSERT_EQUAL(table.modules.count, 5);
    model_process_table_release(&table);
}

static void test_made_up_code_belongs_to_its_process(void)
{
    struct model_process_table table = {0};
    const struct sprof_file_id anon = {.path = "//anon"}, vdso = {.path = "[vdso]"};
    CU_ASSERT_NOT_EQUAL(module_of(&table, anon, 1), module_of(&table, anon, 2));
    CU_ASSERT_EQUAL(module_of(&table, anon, 2), module_of(&table, anon, 2));
    CU_ASSERT_EQUAL(module_of(&table, vdso, 1), module_of(&table, vdso, 2));
    CU_ASSERT_EQUAL(table.modules.items[1]->process, 2);
    CU_ASSERT_EQUAL(table.modules.items[2]->process, 0);
    model_process_table_release(&table);
}

static void test_names(void)
{
    static const char *const cases[][2] = {
        {"/usr/lib/libc.so.6", "libc.so.6"},
        {"//anon", "//anon"},
        {"[anon:a/b]", "[anon:a/b]"},
        {"plain", "plain"},
        {"/", "/"},
    };
    struct model_process_table table = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sprof_file_id identity = {.path = cases[i][0]};
        CU_ASSERT_STRING_EQUAL(model_process_table_module(&table, &identity, false, 0)->name,
                               cases[i][1]);
    }
    model_process_table_release(&table);
}

static void test_rules_reach_the_modules(void)
{
    const struct model_kind_rule rule = {MODEL_KIND_APP, "libcrypto*"};
    struct model_process_table table = {.rules = {&rule, 1}};
    const struct sprof_file_id crypto = {.path = "/usr/lib/libcrypto.so.3"};
    const struct sprof_file_id kernel_module = {.path = "[ext4]"};
    CU_ASSERT_EQUAL(model_process_table_module(&table, &crypto, false, 0)->kind, MODEL_KIND_APP);
    CU_ASSERT_EQUAL(model_process_table_module(&table, &kernel_module, true, 0)->kind,
                    MODEL_KIND_KERNEL);
    CU_ASSERT_PTR_NULL(model_process_table_module_by_id(&table, 0));
    CU_ASSERT_PTR_NULL(model_process_table_module_by_id(&table, 3));
    CU_ASSERT_EQUAL(model_process_table_module_by_id(&table, 2)->id, 2);
    model_process_table_release(&table);
}

void sprof_suite_model_process_table_modules(void);
void sprof_suite_model_process_table_modules(void)
{
    CU_pSuite suite = CU_add_suite("model/process_table_modules", NULL, NULL);
    CU_add_test(suite, "a build id decides alone", test_a_build_id_decides_alone);
    CU_add_test(suite, "without it the file decides", test_without_it_the_file_decides);
    CU_add_test(suite, "made-up code belongs to its process",
                test_made_up_code_belongs_to_its_process);
    CU_add_test(suite, "names", test_names);
    CU_add_test(suite, "rules reach the modules", test_rules_reach_the_modules);
}
