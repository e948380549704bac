/* The processes of a program, with children of the test. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

#include <signal.h>
#include <sys/wait.h>

static const struct made_way in_memory = {.has_agent = true};

static pid_t begin_child(void)
{
    const pid_t pid = fork();
    if (!pid)
        for (;;)
            pause();
    CU_ASSERT_FATAL(pid > 0);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_lives_and_ends(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct calls_program *session = &made.session;
    const pid_t first = begin_child(), second = begin_child();
    CU_ASSERT_EQUAL(calls_process_add(session, first), 0);
    CU_ASSERT_EQUAL(calls_process_add_forked(session, second), 0);
    CU_ASSERT_PTR_NULL(calls_process_find(session, getpid()));
    CU_ASSERT_PTR_NOT_NULL_FATAL(calls_process_find(session, second));
    CU_ASSERT_FALSE(calls_processes_are_over(session));
    end_child(first);
    CU_ASSERT_FALSE(calls_processes_are_over(session));
    CU_ASSERT_TRUE(calls_process_find(session, first)->is_over);
    CU_ASSERT_FALSE(calls_process_find(session, second)->is_over);
    end_child(second);
    CU_ASSERT_TRUE(calls_processes_are_over(session));
    made_end(&made);
}

/* A number that comes again stands for the newest process. */
static void test_number_again(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct calls_program *session = &made.session;
    CU_ASSERT_EQUAL(calls_process_add(session, getpid()), 0);
    CU_ASSERT_EQUAL(calls_process_add(session, getpid()), 0);
    CU_ASSERT_EQUAL(session->processes.list.count, 2);
    CU_ASSERT_PTR_EQUAL(calls_process_find(session, getpid()), &session->processes.list.items[1]);
    made_end(&made);
}

/* Only what a process that was there before has used since counts. */
static void test_cpu_time(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct calls_program *session = &made.session;
    session->options.pid = getpid();
    CU_ASSERT_EQUAL(calls_process_add(session, getpid()), 0);
    struct calls_process *own = calls_process_find(session, getpid());
    CU_ASSERT(own->before_ns > 0);
    const uint64_t used_ns = calls_program_cpu_ns(session);
    CU_ASSERT(own->cpu_ns >= own->before_ns && used_ns == own->cpu_ns - own->before_ns);
    own->is_over = true; /* the last value that was read stays */
    own->cpu_ns = own->before_ns + 5;
    made.trace.ended.cpu_ns = 100;
    CU_ASSERT_EQUAL(calls_program_cpu_ns(session), 5);
    CU_ASSERT_EQUAL(calls_command_cpu_ns(&made.trace), 105);
    made_end(&made);
}

/* The program can write any number there. */
static void test_seen(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct calls_program *session = &made.session;
    const pid_t child = begin_child();
    session->process.hello.pid = (uint32_t)getpid();
    CU_ASSERT_EQUAL(calls_process_seen(session, (uint32_t)child), getpid());
    session->options.children = true;
    CU_ASSERT_EQUAL(calls_process_seen(session, 0), getpid());
    CU_ASSERT_EQUAL(calls_process_seen(session, UINT32_MAX), getpid());
    CU_ASSERT_EQUAL(calls_process_seen(session, (uint32_t)getpid()), getpid());
    CU_ASSERT_EQUAL(calls_process_seen(session, (uint32_t)child), child);
    CU_ASSERT_PTR_NOT_NULL(calls_process_find(session, child));
    end_child(child);
    made_end(&made);
}

static void test_mappings(void)
{
    struct made made, other;
    made_begin(&made, &in_memory, 1);
    made_begin(&other, &in_memory, 1);
    struct calls_program *session = &made.session;
    struct sprof_str maps = {0};
    CU_ASSERT_PTR_NOT_NULL(calls_maps_read(getpid(), &maps));
    CU_ASSERT_FALSE(calls_maps_hold_program(maps.text, session)); /* it has another name */
    close(session->process.memory_fd);
    session->process.memory_fd = memfd_create(PROBE_MEMORY_NAME, MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(session->process.memory_fd, 4096), 0);
    void *mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, session->process.memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(mapped, MAP_FAILED);
    CU_ASSERT_TRUE(calls_program_is_mapped(session, getpid()));
    CU_ASSERT_FALSE(calls_program_is_mapped(&other.session, getpid()));
    munmap(mapped, 4096);
    CU_ASSERT_FALSE(calls_program_is_mapped(session, getpid()));
    sprof_str_release(&maps);
    made_end(&other);
    made_end(&made);
}

void sprof_suite_calls_processes(void);

void sprof_suite_calls_processes(void)
{
    CU_pSuite suite = CU_add_suite("calls/processes", NULL, NULL);
    CU_add_test(suite, "processes that live and end", test_lives_and_ends);
    CU_add_test(suite, "a number that comes again", test_number_again);
    CU_add_test(suite, "CPU time", test_cpu_time);
    CU_add_test(suite, "numbers that the program wrote", test_seen);
    CU_add_test(suite, "the program's memory", test_mappings);
}
