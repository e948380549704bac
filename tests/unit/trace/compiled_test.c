/* Whether a process compiles code: this one, with memory as a compiler makes it. */
#include "tests/unit/trace/made.h"
#include "trace/compiled.h"

#include <sys/mman.h>

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};

enum { MANY = 1 << 20, FEW = 64 << 10 };

static void *make_code(size_t size)
{
    void *code =
        mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(code, MAP_FAILED);
    return code;
}

/* Looks now, however long ago the last look was. */
static bool reports(struct made *made)
{
    made->session.compiled.next_ns = 0;
    trace_compiled_refresh(&made->session);
    return made_said(made, "for code that it compiles while it runs");
}

static void test_bytes(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    CU_ASSERT_FALSE(reports(&made));
    void *few = make_code(FEW);
    CU_ASSERT_FALSE(reports(&made)); /* as regular expressions have */
    void *many = make_code(MANY);
    CU_ASSERT_TRUE(reports(&made));
    CU_ASSERT_TRUE(made.trace.has_reported_compiled);
    CU_ASSERT_FALSE(reports(&made)); /* once */
    munmap(few, FEW);
    munmap(many, MANY);
    made_end(&made);
}

/* A runtime that is known to compile needs no minimum. */
static void test_runtime(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    void *few = make_code(FEW);
    CU_ASSERT_FALSE(reports(&made));
    made.session.untimed.runtime = "Go";
    CU_ASSERT_TRUE(reports(&made));
    munmap(few, FEW);
    made_end(&made);
}

/* What sprof itself has put into the process does not count. */
static void test_islands(void)
{
    static struct plan_function functions[1];
    struct made made;
    made_begin_with(&made, &in_memory, functions, 1);
    char *code = make_code(MANY);
    struct probing_file *file = &made.session.files.items[0];
    file->island = (uint64_t)(uintptr_t)code - FEW; /* it begins in front of the mapping */
    file->island_bytes = MANY + FEW;
    CU_ASSERT_FALSE(reports(&made));
    file->island_bytes = MANY / 2;
    CU_ASSERT_TRUE(reports(&made));
    munmap(code, MANY);
    made_end(&made);
}

/* Mappings are read at growing intervals. */
static void test_intervals(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct trace_compiled *compiled = &made.session.compiled;
    CU_ASSERT_FALSE(reports(&made));
    const uint64_t first_ns = compiled->wait_ns;
    CU_ASSERT(first_ns > 0);
    void *many = make_code(MANY);
    compiled->next_ns = sprof_clock_monotonic_ns() + UINT64_C(3600000000000);
    trace_compiled_refresh(&made.session); /* too early */
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    CU_ASSERT_EQUAL(compiled->wait_ns, first_ns);
    CU_ASSERT_TRUE(reports(&made));
    CU_ASSERT_EQUAL(compiled->wait_ns, 2 * first_ns);
    CU_ASSERT(compiled->next_ns > sprof_clock_monotonic_ns());
    munmap(many, MANY);
    made_end(&made);
}

void sprof_suite_trace_compiled(void);

void sprof_suite_trace_compiled(void)
{
    CU_pSuite suite = CU_add_suite("trace/compiled", NULL, NULL);
    CU_add_test(suite, "bytes", test_bytes);
    CU_add_test(suite, "a runtime", test_runtime);
    CU_add_test(suite, "islands", test_islands);
    CU_add_test(suite, "intervals", test_intervals);
}
