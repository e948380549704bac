#include "base/command.h"

#include <CUnit/CUnit.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
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

static int end_of_child = -1;

static void let_child_end(int signal)
{
    (void)signal;
    close(end_of_child);
}

/* The child ends when a signal has come while it was waited for. */
static void test_signals_end_no_wait(void)
{
    int pipes[2];
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    const pid_t child = fork();
    if (!child) {
        char byte;
        close(pipes[1]);
        _exit(read(pipes[0], &byte, 1) == 0 ? 7 : 1);
    }
    close(pipes[0]);
    end_of_child = pipes[1];
    struct sigaction before;
    const struct sigaction taken = {.sa_handler = let_child_end};
    CU_ASSERT_EQUAL_FATAL(sigaction(SIGALRM, &taken, &before), 0);
    const struct itimerval soon = {.it_value.tv_usec = 20000};
    setitimer(ITIMER_REAL, &soon, NULL);
    const int status = sprof_command_wait(child);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    CU_ASSERT_EQUAL(sprof_command_wait(child), -1);
    sigaction(SIGALRM, &before, NULL);
}

void sprof_suite_base_command(void);
void sprof_suite_base_command(void)
{
    CU_pSuite suite = CU_add_suite("base/command", NULL, NULL);
    CU_add_test(suite, "words are quoted where need be", test_words_are_quoted_where_need_be);
    CU_add_test(suite, "a live process", test_a_live_process);
    CU_add_test(suite, "signals end no wait", test_signals_end_no_wait);
}
