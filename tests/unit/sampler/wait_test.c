#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that does nothing. */
static pid_t idle_process(void)
{
    const pid_t pid = fork();
    if (!pid) {
        pause();
        _exit(0);
    }
    live_wait_for(pid, 'S');
    return pid;
}

static struct sampler *sampler_of(const pid_t *pid)
{
    const struct sampler_options options = {
        .event = "cpu-clock", .pids = pid, .pid_count = 1, .minimum_scope = SAMPLER_SCOPE_TASK};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    for (const struct model_record *record; !sampler_next(sampler, &record);)
        ;
    return sampler;
}

static struct sampler *idle_sampler(pid_t *pid)
{
    *pid = idle_process();
    return sampler_of(pid);
}

static double wait_ms(struct sampler *sampler, int timeout_ms, int extra_fd)
{
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(sampler_wait(sampler, timeout_ms, extra_fd), 0);
    return (double)(sprof_clock_monotonic_ns() - before_ns) / 1e6;
}

static void test_timeouts(void)
{
    pid_t pid;
    struct sampler *sampler = idle_sampler(&pid);
    wait_ms(sampler, 10, -1); /* what the start itself left */
    CU_ASSERT_TRUE(wait_ms(sampler, 60, -1) >= 59);
    double shortest_ms = 1000;
    for (int i = 0; i < 20; i++)
        shortest_ms = fmin(shortest_ms, wait_ms(sampler, 0, -1));
    CU_ASSERT_TRUE(shortest_ms < 20);
    sampler_free(sampler);
    live_end(pid);
}

static void *interrupt_soon(void *sampler)
{
    usleep(50000);
    sampler_interrupt(sampler);
    return NULL;
}

static void test_interrupts(void)
{
    pid_t pid;
    struct sampler *sampler = idle_sampler(&pid);
    sampler_interrupt(sampler);
    CU_ASSERT_TRUE(wait_ms(sampler, 10000, -1) < 5000);
    wait_ms(sampler, 10, -1);
    pthread_t thread;
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, interrupt_soon, sampler), 0);
    CU_ASSERT_TRUE(wait_ms(sampler, 10000, -1) < 5000);
    CU_ASSERT_TRUE(sprof_clock_monotonic_ns() - before_ns >= 49000000);
    pthread_join(thread, NULL);
    sampler_free(sampler);
    live_end(pid);
}

static void test_an_extra_descriptor(void)
{
    pid_t pid;
    struct sampler *sampler = idle_sampler(&pid);
    wait_ms(sampler, 10, -1);
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_TRUE(wait_ms(sampler, 40, ends[0]) >= 39);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    CU_ASSERT_TRUE(wait_ms(sampler, 10000, ends[0]) < 5000);
    close(ends[0]);
    close(ends[1]);
    sampler_free(sampler);
    live_end(pid);
}

static void test_the_end_of_the_target(void)
{
    pid_t pid;
    struct sampler *sampler = idle_sampler(&pid);
    CU_ASSERT_FALSE(sampler_targets_ended(sampler, NULL));
    kill(pid, SIGKILL);
    int rounds = 0;
    while (!sampler_targets_ended(sampler, NULL) && rounds++ < 1000) {
        for (const struct model_record *record; !sampler_next(sampler, &record);)
            ; /* its last records come before its end is seen */
        sampler_wait(sampler, 10000, -1);
    }
    CU_ASSERT_TRUE(sampler_targets_ended(sampler, NULL));
    CU_ASSERT_TRUE(rounds < 100);
    sampler_free(sampler);
    waitpid(pid, NULL, 0);
}

/* A command may go on after its recording: whoever waits for it then must not be woken for nothing.
 */
static void test_waiting_goes_on_after_the_stop(void)
{
    pid_t pid;
    struct sampler *sampler = idle_sampler(&pid);
    sampler_stop(sampler);
    for (const struct model_record *record; !sampler_next(sampler, &record);)
        ;
    CU_ASSERT_TRUE(wait_ms(sampler, 60, -1) >= 59);
    kill(pid, SIGKILL);
    CU_ASSERT_TRUE(wait_ms(sampler, 10000, -1) < 5000);
    sampler_free(sampler);
    waitpid(pid, NULL, 0);
}

/* Busy targets wake us hundreds of times a second, not thousands. */
static void test_naps_bound_the_wakeups(void)
{
    const pid_t pid = live_spin("2", "100000", NULL);
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_PC,
                                            .event = "cpu-clock",
                                            .frequency_hz = 9973,
                                            .pids = &pid,
                                            .pid_count = 1};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    unsigned waits = 0;
    for (; sprof_clock_monotonic_ns() - begun_ns < 500000000 ||
           (sampler_counters(sampler).samples <= 500 && waits < 10000);
         waits++) {
        for (const struct model_record *record; !sampler_next(sampler, &record);)
            ;
        sampler_wait(sampler, 100, -1);
    }
    CU_ASSERT_TRUE(waits < (double)(sprof_clock_monotonic_ns() - begun_ns) / 1e9 * 600);
    CU_ASSERT_TRUE(sampler_counters(sampler).samples > 500);
    CU_ASSERT_EQUAL(sampler_counters(sampler).lost, 0);
    sampler_free(sampler);
    live_end(pid);
}

static void *open_sampler(void *pid)
{
    return sampler_of(pid);
}

/* The events on ourselves that own the rings end with the thread that opened them. */
static void test_opened_by_a_thread_that_ended(void)
{
    pid_t pid = idle_process();
    pthread_t thread;
    void *sampler;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, open_sampler, &pid), 0);
    pthread_join(thread, &sampler);
    unsigned waits = 0;
    for (const uint64_t end_ns = sprof_clock_monotonic_ns() + 200000000;
         sprof_clock_monotonic_ns() < end_ns; waits++)
        sampler_wait(sampler, 50, -1);
    CU_ASSERT_TRUE(waits < 100);
    sampler_free(sampler);
    live_end(pid);
}

void sprof_suite_sampler_wait(void);
void sprof_suite_sampler_wait(void)
{
    CU_pSuite suite = CU_add_suite("sampler/wait", NULL, NULL);
    CU_add_test(suite, "timeouts", test_timeouts);
    CU_add_test(suite, "interrupts", test_interrupts);
    CU_add_test(suite, "an extra descriptor", test_an_extra_descriptor);
    CU_add_test(suite, "waiting goes on after the stop", test_waiting_goes_on_after_the_stop);
    CU_add_test(suite, "the end of the target", test_the_end_of_the_target);
    CU_add_test(suite, "opened by a thread that ended", test_opened_by_a_thread_that_ended);
    CU_add_test(suite, "naps bound the wake-ups", test_naps_bound_the_wakeups);
}
