/* What files of programs have for names and unwinding, built with and without it. */
#include "doctor/doctor.h"
#include "tests/unit/image/fixture.h"

#include <CUnit/CUnit.h>
#include <unistd.h>

static struct fixture fixture;

static const struct doctor_module *check(struct doctor_modules *modules, const char *name)
{
    CU_ASSERT_EQUAL(
        doctor_check_module(modules, fixture.directory, fixture_path(&fixture, name), 0, 3), 0);
    return &modules->list.items[modules->list.count - 1];
}

static void test_files(void)
{
    struct doctor_modules modules = {0};
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    fixture_open(&fixture);
    fixture_text(&fixture, "main.c", "int main(void) { return 0; }\n");
    fixture_run(&fixture, "cc -g -Wl,--build-id main.c -o whole\n"
                          "strip whole -o stripped\n"
                          "objcopy --remove-section=.note.gnu.build-id --strip-debug whole bare");
    const struct doctor_module *module = check(&modules, "whole");
    CU_ASSERT_STRING_EQUAL(module->name, "whole");
    CU_ASSERT_PTR_NOT_NULL(module->build_id);
    CU_ASSERT_STRING_EQUAL(module->call_frames, ".eh_frame");
    CU_ASSERT_STRING_EQUAL(module->symbols, ".symtab");
    CU_ASSERT_STRING_EQUAL(module->lines, "own");
    CU_ASSERT_PTR_NULL(module->cure);
    module = check(&modules, "stripped");
    CU_ASSERT_PTR_NULL(module->symbols);
    CU_ASSERT_PTR_NULL(module->lines);
    CU_ASSERT_STRING_EQUAL(module->cure,
                           "stripped has no symbols: build it with -g, and do not strip it");
    module = check(&modules, "bare");
    CU_ASSERT_PTR_NULL(module->build_id);
    CU_ASSERT_STRING_EQUAL(module->symbols, ".symtab");
    CU_ASSERT_STRING_EQUAL(module->cure,
                           "bare has no debug information: build it with -g, and do not strip it");
    module = check(&modules, "main.c");
    CU_ASSERT_PTR_NOT_NULL(module->problem);
    module = check(&modules, "stripped (deleted)"); /* replaced since, by an upgrade */
    CU_ASSERT_STRING_EQUAL(module->cure,
                           "stripped has no symbols: build it with -g, and do not strip it");
    CU_ASSERT_EQUAL(modules.list.count, 5);
    check(&modules, "whole"); /* again: its samples count */
    CU_ASSERT_EQUAL(modules.list.count, 5);
    CU_ASSERT_EQUAL(modules.list.items[0].samples, 6);
    doctor_modules_release(&modules);
    fixture_close(&fixture);
    unsetenv("XDG_CACHE_HOME");
}

/* debuginfod's client has the debug information of this build already. */
static void test_debuginfod(void)
{
    struct doctor_modules modules = {0};
    fixture_open(&fixture);
    fixture_text(&fixture, "main.c", "int main(void) { return 0; }\n");
    fixture_run(&fixture, "cc -s -Wl,--build-id=0xab12cd main.c -o stripped\n"
                          "mkdir -p cache/ab12cd && touch cache/ab12cd/debuginfo");
    setenv("DEBUGINFOD_CACHE_PATH", fixture_path(&fixture, "cache"), 1);
    const struct doctor_module *module = check(&modules, "stripped");
    CU_ASSERT_STRING_EQUAL(module->build_id, "ab12cd");
    CU_ASSERT_STRING_EQUAL(module->lines, "cache of debuginfod");
    CU_ASSERT_PTR_NULL(module->cure);
    unsetenv("DEBUGINFOD_CACHE_PATH");
    doctor_modules_release(&modules);
    fixture_close(&fixture);
}

static void test_own_process(void)
{
    struct doctor_modules modules = {0};
    bool has_c_library = false;
    CU_ASSERT_EQUAL(doctor_check_process(&modules, "", getpid()), 0);
    for (size_t i = 0; i < modules.list.count; i++)
        has_c_library |= !strncmp(modules.list.items[i].name, "libc.so", 7);
    CU_ASSERT_TRUE(has_c_library);
    doctor_modules_release(&modules);
}

void sprof_suite_doctor_modules(void);
void sprof_suite_doctor_modules(void)
{
    CU_pSuite suite = CU_add_suite("doctor/modules", NULL, NULL);
    CU_add_test(suite, "files", test_files);
    CU_add_test(suite, "debuginfod", test_debuginfod);
    CU_add_test(suite, "own process", test_own_process);
}
