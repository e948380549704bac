#include "base/command.h"

#include <CUnit/CUnit.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_words_are_quoted_where_need_be(void)
{
    struct sprof_arena arena = {0};
    char *const words[] = {"g++", "-O2", "a b", "", "it's", "$HOME", NULL};
    CU_ASSERT_STRING_EQUAL(sprof_command_text(&arena, words),
                           "g++ -O2 'a b' '' 'it'\\''s' '$HOME'");
    CU_ASSERT_PTR_NULL(sprof_command_text(&arena, (char *const[]){NULL}));
    CU_ASSERT_PTR_NULL(sprof_command_text(&arena, NULL));
    sprof_arena_release(&arena);
}

static void test_a_live_process(void)
{
    struct sprof_arena arena = {0};
    const pid_t child = fork();
    if (!child) {
        execl("/bin/sleep", "a sleep", "60", NULL);
        _exit(127);
    }
    const char *command = NULL;
    for (int i = 0; i < 2000 && (!command || !strstr(command, "sleep")); i++) {
        usleep(2000);
        command = sprof_command_of_process(&arena, child);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(command);
    CU_ASSERT_STRING_EQUAL(command, "'a sleep' 60");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CU_ASSERT_PTR_NULL(sprof_command_of_process(&arena, child));
    sprof_arena_release(&arena);
}

void sprof_suite_base_command(void);
void sprof_suite_base_command(void)
{
    CU_pSuite suite = CU_add_suite("base/command", NULL, NULL);
    CU_add_test(suite, "words are quoted where need be", test_words_are_quoted_where_need_be);
    CU_add_test(suite, "a live process", test_a_live_process);
}
