/* Why a program cannot be traced in some way, and which limits and options stand against it. */
#include "calls/calls.h"
#include "probing/probing.h"
#include "tests/unit/trace/made.h"
#include "trace/obstacles.h"
#include "trace/uprobe/uprobes.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};

static void test_files(void)
{
    static const struct {
        enum agent_file kind;
        const char *part;
    } cases[] = {
        {AGENT_FILE_STATIC, "linked statically"},
        {AGENT_FILE_SETUID, "other rights"},
        {AGENT_FILE_GO, "Go"},
        {AGENT_FILE_SANITIZER, "sanitizer"},
        {AGENT_FILE_LOADER, "no program follows"},
    };
    struct sprof_error error = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *reason = trace_obstacle_of_file(cases[i].kind, "/no/such/file");
        CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
        CU_ASSERT_PTR_NOT_NULL(strstr(reason, cases[i].part));
        CU_ASSERT_EQUAL(trace_refuse(cases[i].kind, "/no/such/file", &error), SPROF_EUNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, reason));
    }
    CU_ASSERT_PTR_NULL(trace_obstacle_of_file(AGENT_FILE_GOOD, "/proc/self/exe"));
    CU_ASSERT_PTR_NULL(trace_obstacle_of_file(AGENT_FILE_DAMAGED, "/no/such/file"));
    CU_ASSERT_EQUAL(trace_refuse(AGENT_FILE_DAMAGED, "x", &error), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(trace_refuse(AGENT_FILE_CLASS, "x", &error), SPROF_EUNSUPPORTED);
}

static pid_t begin_child(__rlimit_resource_t resource, rlim_t most)
{
    const pid_t pid = fork();
    if (!pid)
        for (;;)
            pause();
    CU_ASSERT_FATAL(pid > 0);
    const struct rlimit limit = {most, most};
    CU_ASSERT_EQUAL(prlimit(pid, resource, &limit, NULL), 0);
    return pid;
}

/* A machine that overcommits no memory has that reason for all of them. */
static void test_limits(void)
{
    static const struct {
        __rlimit_resource_t resource;
        rlim_t most;
        const char *part;
    } cases[] = {
        {RLIMIT_AS, 1 << 30, "ulimit -v"},
        {RLIMIT_DATA, 1 << 30, "ulimit -d"},
        {RLIMIT_NOFILE, 0, "ulimit -n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pid_t pid = begin_child(cases[i].resource, cases[i].most);
        const char *reason = trace_obstacle_of_room(pid);
        CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
        CU_ASSERT(strstr(reason, cases[i].part) || strstr(reason, "overcommit"));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void test_options_of_uprobes(void)
{
    static const struct trace_limit limit = {.ns = 1};
    static const struct trace_heap_limit heap = {.bytes = 1, .function = "."};
    const struct {
        struct trace_options options;
        const char *flag;
    } cases[] = {
        {{.mode = TRACE_LOG}, "mode"},
        {{.mode = TRACE_COVERAGE}, "mode"},
        {{.paths = true}, "paths"},
        {{.callers = true}, "callers"},
        {{.memory = 1}, "memory"},
        {{.children = true}, "children"},
        {{.all_points = true}, "all-points"},
        {{.warn = {.over = &limit, .over_count = 1}}, "warn-over"},
        {{.warn = {.watchdog = &limit, .watchdog_count = 1}}, "watchdog"},
        {{.warn = {.stack_percent = 50}}, "stack-check"},
        {{.warn = {.heap = &heap, .heap_count = 1}}, "heap-check"},
        {{.kept.rule_count = 1}, "keep"},
    };
    const struct trace_options plain = {0};
    struct sprof_error error = {0};
    CU_ASSERT_PTR_NULL(trace_uprobes_excluded(&plain));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *flag = trace_uprobes_excluded(&cases[i].options);
        CU_ASSERT_PTR_NOT_NULL_FATAL(flag);
        CU_ASSERT_STRING_EQUAL(flag, cases[i].flag);
        CU_ASSERT_EQUAL(trace_uprobes_check(&cases[i].options, &error), SPROF_EUSAGE);
        CU_ASSERT_EQUAL(calls_warns(&cases[i].options), i >= 7 && i <= 10);
    }
}

static void test_explained(void)
{
    const struct trace_options options = {.pid = 12};
    struct sprof_error error = {.code = SPROF_EPERMISSION, .message = "only root may"};
    CU_ASSERT_EQUAL(trace_explain_uprobes(&options, NULL, &error), SPROF_EPERMISSION);
    CU_ASSERT_STRING_EQUAL(error.message, "only root may");
    CU_ASSERT_EQUAL(trace_explain_uprobes(&options, "is linked statically", &error),
                    SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "cannot trace process 12: it is linked "
                                                 "statically, so nothing can be put into it, and "
                                                 "only root may"));
}

/* The shortest limit of a function counts; a function that is not chosen has none. */
static void test_limits_of_calls(void)
{
    static const struct trace_limit over[] = {
        {.ns = 1000, .function = "a"}, {.ns = 500, .function = "^ab"}, {.ns = 9000}};
    static const struct trace_heap_limit heap[] = {{4096, "a"}, {0, "^ab"}};
    static const char *const names[] = {"a", "ab", "c", "a_not_chosen"};
    static const uint64_t slow[] = {1001, 501, 9001, 0}, bytes[] = {4097, 1, 0, 0};
    static struct plan_function functions[4];
    struct sprof_error error = {0};
    struct made made;
    made_begin(&made, &in_memory, 4);
    struct trace_session *session = &made.session;
    for (size_t i = 0; i < 4; i++)
        functions[i] = (struct plan_function){.name = names[i], .start = 0x100 * (i + 1)};
    made_file(&made, "/app/program", 0, functions, 4);
    for (size_t i = 0; i < 4; i++)
        made_probe(&made, (struct probing_probe){
                              .function = &functions[i], .tier = PROBE_FULL, .is_chosen = i < 3});
    session->trace->clock.tick_ns = 1;
    session->options.warn = (struct trace_warn_options){
        .over = over, .over_count = 3, .heap = heap, .heap_count = 2, .stack_percent = 50};
    CU_ASSERT_EQUAL(calls_warnings_check(&session->options, &error), 0);
    CU_ASSERT_EQUAL_FATAL(calls_warnings_begin(&session->calls, 0, &error), 0);
    CU_ASSERT_EQUAL_FATAL(probing_heap_begin(&session->probing, 0, &error), 0);
    CU_ASSERT_EQUAL(session->process.shared->heap.are_checked, 1);
    const struct probe_shared *shared = session->process.shared;
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(atomic_load(&shared->warnings.slow[i]), slow[i]);
        CU_ASSERT_EQUAL(atomic_load(&shared->heap.limits[i]), bytes[i]);
    }
    CU_ASSERT_EQUAL(atomic_load(&shared->warnings.stack_part), 129);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    calls_warnings_free(&session->calls);
    made_end(&made);
}

static void test_limits_of_nothing(void)
{
    static const struct trace_limit bad = {.ns = 1, .function = "("},
                                    lost = {.ns = 1, .function = "^nonw$"};
    static struct plan_function function = {.name = "none", .start = 0x100};
    struct sprof_error error = {0};
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct trace_session *session = &made.session;
    made.trace.membership = &trace_of_one;
    made_file(&made, "/app/program", 0, &function, 1);
    made_probe(&made, (struct probing_probe){
                          .function = &function, .tier = PROBE_FULL, .is_chosen = true});
    session->trace->clock.tick_ns = 1;
    session->options.warn = (struct trace_warn_options){.over = &bad, .over_count = 1};
    CU_ASSERT_EQUAL(calls_warnings_check(&session->options, &error), SPROF_EUSAGE);
    session->options.warn.over = &lost;
    CU_ASSERT_EQUAL(calls_warnings_check(&session->options, &error), 0);
    CU_ASSERT_EQUAL(calls_warnings_begin(&session->calls, 0, &error), 0);
    CU_ASSERT_TRUE(made_said(&made, "warn-over"));
    calls_warnings_free(&session->calls);
    made_end(&made);
}

/* What an allocator's functions do with bytes, by where they begin. */
static void test_heap_of_no_allocator(void)
{
    static struct plan_function function = {.name = "malloc", .start = 0x100};
    static const struct trace_heap_limit heap = {.bytes = 1, .function = "."};
    struct sprof_error error = {0};
    struct made made;
    made_begin(&made, &in_memory, 1);
    made_file(&made, "/app/program", 0, &function, 1);
    CU_ASSERT_EQUAL(
        probing_heap_operation(&made.session.options, &made.session.files.items[0], &function), 0);
    CU_ASSERT_EQUAL(probing_heap_check_probes(&made.session.probing, &error), 0);
    made.session.options.warn = (struct trace_warn_options){.heap = &heap, .heap_count = 1};
    CU_ASSERT_EQUAL(probing_heap_check_probes(&made.session.probing, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no file of the program has malloc"));
    made_end(&made);
}

void sprof_suite_trace_obstacles(void);

void sprof_suite_trace_obstacles(void)
{
    CU_pSuite suite = CU_add_suite("trace/obstacles", NULL, NULL);
    CU_add_test(suite, "files", test_files);
    CU_add_test(suite, "limits of processes", test_limits);
    CU_add_test(suite, "options of uprobes", test_options_of_uprobes);
    CU_add_test(suite, "why uprobes are needed", test_explained);
    CU_add_test(suite, "limits of calls", test_limits_of_calls);
    CU_add_test(suite, "limits of no function", test_limits_of_nothing);
    CU_add_test(suite, "the heap without an allocator", test_heap_of_no_allocator);
}
