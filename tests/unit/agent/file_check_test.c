#include "agent/agent.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static int make_directory(void)
{
    strcpy(directory, "/tmp/sprof-file-check-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static const char *in_directory(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    const char *path = in_directory(name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fwrite(bytes, 1, size, file);
    fclose(file);
    chmod(path, 0755);
    return path;
}

static void test_kinds_of_programs(void)
{
    errno = 5;
    CU_ASSERT_EQUAL(agent_check_file(AGENT_SUBJECT), AGENT_FILE_GOOD);
    CU_ASSERT_EQUAL(agent_check_file(AGENT_STATIC), AGENT_FILE_STATIC);
    CU_ASSERT_EQUAL(agent_check_file(AGENT_GO), AGENT_FILE_GO);
    CU_ASSERT_EQUAL(agent_check_file(AGENT_SANITIZED), AGENT_FILE_SANITIZER);
    CU_ASSERT_EQUAL(agent_check_file("/nowhere/at/all"), AGENT_FILE_MISSING);
    CU_ASSERT_EQUAL(errno, 5);
}

static void test_scripts_are_their_interpreters(void)
{
    char line[512];
    const char *good = "#! /bin/sh -e\n", *nobody = "#!/nowhere\n", *plain = "echo\n";
    CU_ASSERT_EQUAL(agent_check_file(write_file("good", good, strlen(good))), AGENT_FILE_GOOD);
    CU_ASSERT_EQUAL(agent_check_file(write_file("none", nobody, strlen(nobody))),
                    AGENT_FILE_MISSING);
    CU_ASSERT_EQUAL(agent_check_file(write_file("plain", plain, strlen(plain))), AGENT_FILE_GOOD);
    CU_ASSERT_EQUAL(agent_check_file(write_file("empty", "", 0)), AGENT_FILE_GOOD);
    CU_ASSERT_EQUAL(agent_check_file(write_file("bare", "#!", 2)), AGENT_FILE_GOOD);
    snprintf(line, sizeof line, "#!%.200s\n", AGENT_STATIC);
    CU_ASSERT_EQUAL(agent_check_file(write_file("static", line, strlen(line))), AGENT_FILE_STATIC);
    snprintf(line, sizeof line, "#!%s\n", in_directory("self"));
    CU_ASSERT_EQUAL(agent_check_file(write_file("self", line, strlen(line))), AGENT_FILE_MISSING);
}

static void test_damaged_files_are_of_no_class(void)
{
    uint8_t elf[64] = {0x7f, 'E', 'L', 'F', 1};
    CU_ASSERT_EQUAL(agent_check_file(write_file("32", elf, sizeof elf)), AGENT_FILE_CLASS);
    CU_ASSERT_EQUAL(agent_check_file(write_file("cut", elf, 6)), AGENT_FILE_DAMAGED);
    elf[4] = 2;
    CU_ASSERT_EQUAL(agent_check_file(write_file("64", elf, 40)), AGENT_FILE_DAMAGED);
    FILE *subject = fopen(AGENT_SUBJECT, "r");
    static uint8_t bytes[8192];
    CU_ASSERT_PTR_NOT_NULL_FATAL(subject);
    const size_t size = fread(bytes, 1, sizeof bytes, subject);
    fclose(subject);
    CU_ASSERT_EQUAL(agent_check_file(write_file("headers", bytes, 100)), AGENT_FILE_DAMAGED);
    CU_ASSERT_EQUAL(agent_check_file(write_file("half", bytes, 5000)), AGENT_FILE_DAMAGED);
    unsigned seed = 1;
    for (int round = 0; round < 300; round++) { /* no crash, and an answer, whatever is in it */
        for (int i = 0; i < 8; i++)
            bytes[5 + (unsigned)rand_r(&seed) % 800] = (uint8_t)rand_r(&seed);
        const enum agent_file kind = agent_check_file(write_file("garbled", bytes, size));
        CU_ASSERT_TRUE(kind >= AGENT_FILE_GOOD && kind <= AGENT_FILE_LOADER);
    }
}

static void test_privileged_programs(void)
{
    char command[512];
    snprintf(command, sizeof command, "cp %.200s %s", AGENT_SUBJECT, in_directory("privileged"));
    CU_ASSERT_EQUAL(system(command), 0);
    const char *path = in_directory("privileged");
    CU_ASSERT_EQUAL(chmod(path, 04755), 0);
    CU_ASSERT_EQUAL(agent_check_file(path), AGENT_FILE_GOOD); /* it would run as who we are */
    if (chown(path, geteuid() + 1, getegid()) == 0) {         /* only root may give files away */
        CU_ASSERT_EQUAL(chmod(path, 04755), 0);
        CU_ASSERT_EQUAL(agent_check_file(path), AGENT_FILE_SETUID);
    }
}

/* The loader of the test itself. */
static const char *find_loader(void)
{
    static Dl_info info;
    const uintptr_t base = getauxval(AT_BASE);
    return base && dladdr((const void *)(base + 1), &info) ? info.dli_fname : NULL;
}

static void test_a_loader_runs_the_program_of_its_arguments(void)
{
    const char *path = find_loader();
    if (!path) {
        sprof_test_skip("this program has no loader");
        return;
    }
    char loader[AGENT_PATH_MAX], found[AGENT_PATH_MAX];
    snprintf(loader, sizeof loader, "%s", path);
    CU_ASSERT_EQUAL(agent_check_file(loader), AGENT_FILE_LOADER);
    char *good[] = {loader, "--argv0", "name", AGENT_SUBJECT, "argument", NULL};
    char *fixed[] = {loader, AGENT_STATIC, NULL}, *alone[] = {loader, "--version", NULL};
    CU_ASSERT_EQUAL(agent_check_program(loader, good), AGENT_FILE_GOOD);
    CU_ASSERT_EQUAL(agent_check_program(loader, fixed), AGENT_FILE_STATIC);
    CU_ASSERT_EQUAL(agent_check_program(loader, alone), AGENT_FILE_LOADER);
    CU_ASSERT_EQUAL(agent_check_program(AGENT_STATIC, good), AGENT_FILE_STATIC);
    CU_ASSERT_EQUAL(agent_check_command(loader, good, NULL, found), AGENT_FILE_GOOD);
    CU_ASSERT_STRING_EQUAL(found, AGENT_SUBJECT);
    CU_ASSERT_EQUAL(agent_check_command(loader, NULL, NULL, found), AGENT_FILE_LOADER);
    CU_ASSERT_STRING_EQUAL(found, loader);
}

static void test_commands_are_looked_up_as_execvp_does(void)
{
    char found[AGENT_PATH_MAX], search[300];
    write_file("command", "#!/bin/sh\n", 10);
    snprintf(search, sizeof search, "/nowhere::%s:/bin", directory);
    CU_ASSERT_EQUAL(agent_check_command("command", NULL, search, found), AGENT_FILE_GOOD);
    CU_ASSERT_STRING_EQUAL(found, in_directory("command"));
    CU_ASSERT_EQUAL(agent_check_command("no-such-command", NULL, search, found),
                    AGENT_FILE_MISSING);
    CU_ASSERT_EQUAL(agent_check_command("sh", NULL, NULL, found), AGENT_FILE_GOOD);
    CU_ASSERT_EQUAL(agent_check_command(AGENT_STATIC, NULL, NULL, found), AGENT_FILE_STATIC);
    CU_ASSERT_STRING_EQUAL(found, AGENT_STATIC);
    CU_ASSERT_EQUAL(agent_check_command("", NULL, "/bin", found), AGENT_FILE_MISSING);
    static char endless[5000];
    memset(endless, 'x', sizeof endless - 1);
    CU_ASSERT_EQUAL(agent_check_command(endless, NULL, "/bin", found), AGENT_FILE_MISSING);
    CU_ASSERT_EQUAL(agent_check_command("sh", NULL, endless, found), AGENT_FILE_MISSING);
}

void sprof_suite_agent_file_check(void);

void sprof_suite_agent_file_check(void)
{
    CU_pSuite suite = CU_add_suite("agent/file_check", make_directory, remove_directory);
    CU_ADD_TEST(suite, test_kinds_of_programs);
    CU_ADD_TEST(suite, test_scripts_are_their_interpreters);
    CU_ADD_TEST(suite, test_damaged_files_are_of_no_class);
    CU_ADD_TEST(suite, test_privileged_programs);
    CU_ADD_TEST(suite, test_a_loader_runs_the_program_of_its_arguments);
    CU_ADD_TEST(suite, test_commands_are_looked_up_as_execvp_does);
}
