/* Allocators of a program, and what the agent is to do at their functions. */
#include "probing/heap.h"
#include "probing/probing.h"
#include "tests/unit/plan/fixture.h"
#include "tests/unit/probing/made.h"

static const struct probing_way agent = {.has_agent = true};

/* An allocator of its own, as jemalloc is. */
static const char allocator[] = ".text\n" FUNCTION("malloc", "mov %rdi,%rax\nnop\nnop\nret")
    FUNCTION("free", "mov %rdi,%rax\nnop\nnop\nret")
        FUNCTION("malloc_usable_size", "mov %rdi,%rax\nnop\nnop\nret")
            FUNCTION("posix_memalign", "mov %rdi,%rax\nnop\nnop\nret")
                FUNCTION("other", "mov %rdi,%rax\nnop\nnop\nret");
static const char incomplete[] = ".text\n" FUNCTION("malloc", "mov %rdi,%rax\nnop\nnop\nret")
    FUNCTION("free", "mov %rdi,%rax\nnop\nnop\nret");

enum { BIAS = 0x7000 };

static struct made made;
static struct fixture fixture;
static struct sprof_error error;
static const struct trace_heap_limit limits[] = {
    {.bytes = 4096, .function = "^o"}, {.bytes = 100, .function = "other"}, {0, "^none$"}};

static void begin(const char *source)
{
    fixture_make(&fixture, ".s", source, "gcc -shared -nostdlib");
    made_begin(&made, &agent, 16);
    made_file(&made, fixture.path, BIAS, fixture.plan.functions, fixture.plan.function_count);
    for (size_t i = 0; i < fixture.plan.function_count; i++)
        made_probe(&made, (struct probing_probe){.function = &fixture.plan.functions[i],
                                                 .tier = PROBE_FULL,
                                                 .is_chosen = true});
    error = (struct sprof_error){0};
}

static void end(void)
{
    made_end(&made);
    fixture_release(&fixture);
}

static size_t probe_of(const char *name)
{
    return (size_t)(fixture_function(&fixture, name) - fixture.plan.functions);
}

static uint8_t operation_of(const char *name)
{
    return probing_heap_operation(&made.session.options, &made.session.files.items[0],
                                  fixture_function(&fixture, name));
}

/* Probes get the operations of their functions, as when they are chosen. */
static void set_operations(void)
{
    for (size_t i = 0; i < made.session.probes.count; i++)
        made.session.probes.items[i].operation = probing_heap_operation(
            &made.session.options, &made.session.files.items[0], &fixture.plan.functions[i]);
}

static void test_operations(void)
{
    begin(allocator);
    made.session.options.heap = true;
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), 0);
    /* the first one that is not glibc's */
    CU_ASSERT_EQUAL(operation_of("malloc"), 1 << PROBE_HEAP_SHIFT | PROBE_HEAP_ALLOCATE);
    CU_ASSERT_EQUAL(operation_of("posix_memalign"), 1 << PROBE_HEAP_SHIFT | PROBE_HEAP_PUT);
    CU_ASSERT_EQUAL(operation_of("free"), 0); /* what is freed does not count by function */
    CU_ASSERT_EQUAL(operation_of("malloc_usable_size"), 0);
    CU_ASSERT_EQUAL(operation_of("other"), 0);
    made.session.options.warn.heap = limits;
    made.session.options.warn.heap_count = 1;
    CU_ASSERT_EQUAL(operation_of("free"), 1 << PROBE_HEAP_SHIFT | PROBE_HEAP_FREE);
    fixture.plan.functions[probe_of("malloc")].entry_only = true; /* its result is not seen */
    CU_ASSERT_EQUAL(operation_of("malloc"), 0);
    end();
}

static void test_not_wanted(void)
{
    const struct image_request request = {.file = {.path = fixture.path}};
    begin(allocator);
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), 0);
    CU_ASSERT_PTR_NULL(made.session.files.items[0].allocator);
    CU_ASSERT_FALSE(probing_heap_is_allocator(&made.session, &request));
    CU_ASSERT_EQUAL(probing_heap_check_probes(&made.session, &error), 0);
    CU_ASSERT_EQUAL(probing_heap_begin(&made.session, 0, &error), 0);
    CU_ASSERT_EQUAL(made.session.process.shared->heap.epoch, 0);
    made.session.options.heap = true;
    CU_ASSERT_TRUE(probing_heap_is_allocator(&made.session, &request));
    end();
}

/* Without all three functions blocks have no known size. */
static void test_incomplete(void)
{
    begin(incomplete);
    made.session.options.heap = true;
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), 0);
    CU_ASSERT_PTR_NULL(made.session.files.items[0].allocator);
    CU_ASSERT_EQUAL(probing_heap_check_probes(&made.session, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--heap is not possible: no file"));
    end();
}

/* A function without a probe would let bytes pass unseen. */
static void test_without_probe(void)
{
    begin(allocator);
    made.session.options.heap = true;
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), 0);
    set_operations();
    CU_ASSERT_EQUAL(probing_heap_check_probes(&made.session, &error), 0);
    CU_ASSERT_TRUE(probing_heap_measures_allocators(&made.session));
    made.session.probes.items[probe_of("posix_memalign")].operation = 0;
    CU_ASSERT_EQUAL(probing_heap_check_probes(&made.session, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "posix_memalign of "));
    made.session.probes.items[probe_of("malloc")].is_chosen = false; /* it is spare */
    CU_ASSERT_FALSE(probing_heap_measures_allocators(&made.session));
    end();
}

/* The smallest limit of a function holds, and one byte more is too many. */
static void test_limits(void)
{
    begin(allocator);
    made.session.options.warn.heap = limits;
    made.session.options.warn.heap_count = 3;
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), 0);
    set_operations();
    CU_ASSERT_EQUAL(probing_heap_begin(&made.session, 0, &error), 0);
    const struct probe_heap *heap = &made.session.process.shared->heap;
    CU_ASSERT_EQUAL(heap->limits[probe_of("other")], 101);
    CU_ASSERT_EQUAL(heap->limits[probe_of("malloc")], 0);
    CU_ASSERT_EQUAL(heap->operations[probe_of("malloc")], operation_of("malloc"));
    CU_ASSERT_EQUAL(heap->usable[1],
                    BIAS + fixture_function(&fixture, "malloc_usable_size")->start);
    CU_ASSERT_EQUAL(heap->usable[0], 0);
    CU_ASSERT_EQUAL(heap->are_checked, 1);
    CU_ASSERT_EQUAL(heap->epoch, 1);
    CU_ASSERT_TRUE(made_said(&made, "--heap-check '^none$' finds none of the functions that are "
                                    "timed"));
    CU_ASSERT_EQUAL(probing_heap_begin(&made.session, 1, &error), 0); /* of later files */
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    end();
}

static void test_bad_limit(void)
{
    static const struct trace_heap_limit bad[] = {{1, "."}, {1, "(["}};
    const struct trace_options options = {.warn = {.heap = bad, .heap_count = 2}},
                               good = {.warn = {.heap = bad, .heap_count = 1}};
    CU_ASSERT_EQUAL(probing_heap_check_options(&good, &error), 0);
    CU_ASSERT_EQUAL(probing_heap_check_options(&options, &error), SPROF_EUSAGE);
}

static void test_too_many(void)
{
    begin(allocator);
    made.session.options.heap = true;
    for (size_t i = 1; i < PROBE_HEAP_ALLOCATORS - 1; i++)
        made_file(&made, fixture.path, i * 0x10000, fixture.plan.functions, 0);
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), 0);
    made_file(&made, fixture.path, 0x1000000, fixture.plan.functions, 0);
    CU_ASSERT_EQUAL(probing_heap_find(&made.session, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "more than 7 allocators"));
    end();
}

static void test_glibc(void)
{
    CU_ASSERT_TRUE(probing_is_glibc("/lib/libc.so.6"));
    CU_ASSERT_TRUE(probing_is_glibc("libc.so.6 (deleted)"));
    CU_ASSERT_TRUE(probing_is_glibc("/lib/x86_64-linux-gnu/libc-2.31.so"));
    CU_ASSERT_FALSE(probing_is_glibc("/lib/libc.musl-x86_64.so.1"));
    CU_ASSERT_FALSE(probing_is_glibc("/libc.so.6/libjemalloc.so.2"));
}

void sprof_suite_probing_heap(void);
void sprof_suite_probing_heap(void)
{
    CU_pSuite suite = CU_add_suite("probing/heap", NULL, NULL);
    CU_add_test(suite, "operations", test_operations);
    CU_add_test(suite, "nothing is wanted", test_not_wanted);
    CU_add_test(suite, "an incomplete allocator", test_incomplete);
    CU_add_test(suite, "a function without a probe", test_without_probe);
    CU_add_test(suite, "limits", test_limits);
    CU_add_test(suite, "a limit for no expression", test_bad_limit);
    CU_add_test(suite, "too many allocators", test_too_many);
    CU_add_test(suite, "glibc", test_glibc);
}
