#include "tests/unit/symbolize/naming.h"

static const char program[] = "#include <stdio.h>\n"
                              "#include <stdlib.h>\n"
                              "int main(int argc, char **argv)\n"
                              "{\n"
                              "    printf(\"%p\\n\", (void *)atexit);\n"
                              "    puts(argv[argc - 1]);\n"
                              "    return abs(atoi(argv[0])) + rand();\n"
                              "}\n";

/* objdump names the entries too: "0000000000001030 <puts@plt>:". */
static void check_entries(struct fixture *fixture, const char *options, unsigned wanted)
{
    char command[256];
    snprintf(command, sizeof command, "cc -O0 %s a.c -o a && strip a", options);
    fixture_run(fixture, command);
    char *entries = fixture_output(
        fixture, "objdump -d a | sed -n 's/^\\([0-9a-f]*\\) <\\([a-z_]*@plt\\)>:$/\\1 \\2/p'");
    struct naming naming = {.image = naming_image(fixture_path(fixture, "a"))};
    naming_add_lines(&naming, entries);
    const size_t count = naming.addresses.count;
    CU_ASSERT_TRUE(count >= wanted);
    for (size_t i = 0; i < count; i++) /* inside the entries as well */
        CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, naming.addresses.items[i] + 6), 0);
    naming_add_lines(&naming, NULL);
    naming_run(&naming, NULL, NULL);
    for (const char *line = entries; *line; line = strchr(line, '\n') + 1) {
        char *name;
        const uint64_t address = strtoull(line, &name, 16);
        const struct symbolize_function *function = naming_function(&naming, address);
        CU_ASSERT_EQUAL(strncmp(function->name, name + 1, strcspn(name + 1, "\n")), 0);
        CU_ASSERT_EQUAL(function->start, address);
        CU_ASSERT_TRUE(function->named);
        CU_ASSERT_PTR_EQUAL(function, naming_function(&naming, address + 6));
    }
    free(entries);
    naming_close(&naming);
}

static void test_entries_of_every_kind(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    check_entries(&fixture, "-Wl,-z,lazy", 3);
    check_entries(&fixture, "-Wl,-z,now", 3);
    check_entries(&fixture, "-no-pie -Wl,-z,lazy", 3);
    check_entries(&fixture, "-fcf-protection -Wl,-z,ibtplt", 3);
    fixture_close(&fixture);
}

/* Calls inside a library to a function that it picks when it is loaded, as libc does with strlen.
 */
static void test_entry_of_a_resolved_function(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(
        &fixture, "a.c",
        "static int plain(int a) { return a; }\n"
        "static int (*resolve(void))(int) { return plain; }\n"
        "int picked(int) __attribute__((ifunc(\"resolve\")));\n"
        "extern __typeof(picked) own __attribute__((alias(\"picked\"), visibility(\"hidden\")));\n"
        "int caller(int a) { return own(a) + 1; }\n");
    fixture_run(&fixture, "cc -shared -fPIC -O1 a.c -o a && strip a");
    char *call =
        fixture_output(&fixture, "objdump -d -j .text a | sed -n 's/.*call *\\([0-9a-f]*\\) "
                                 "<[*]ABS.*@plt>/\\1/p'");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    naming_add_lines(&naming, call);
    CU_ASSERT_EQUAL_FATAL(naming.addresses.count, 1);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_STRING_EQUAL(naming_function(&naming, naming.addresses.items[0])->name, "picked@plt");
    free(call);
    naming_close(&naming);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_plt(void);
void sprof_suite_symbolize_plt(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/plt", NULL, NULL);
    CU_add_test(suite, "entries of every kind", test_entries_of_every_kind);
    CU_add_test(suite, "a entry of a resolved function", test_entry_of_a_resolved_function);
}
