/* Jumps that go with their page, in code of the test itself. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

#include <fcntl.h>
#include <stdio.h>

static const struct probing_way can_rest = {.has_agent = true, .can_rest = true, .is_live = true};

enum { PAGE = 4096, FUNCTIONS = 2, SITE = 0x10 };
static const uint8_t original[PLAN_JUMP_BYTES] = {0x90, 0x90, 0x90, 0x90, 0x90};
static const uint8_t jump[PLAN_JUMP_BYTES] = {0xe9, 1, 2, 3, 4};

/* Two functions in two pages of a file that is mapped. Both have their jumps. */
struct code {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    uint8_t *pages;
    FILE *file;
};

static void make(struct code *code)
{
    made_begin(&code->made, &can_rest, FUNCTIONS);
    code->file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(code->file);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fileno(code->file), FUNCTIONS * PAGE), 0);
    for (size_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_EQUAL_FATAL(
            pwrite(fileno(code->file), original, sizeof original, (off_t)(i * PAGE + SITE)),
            sizeof original);
    code->pages =
        mmap(NULL, FUNCTIONS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(code->file), 0);
    CU_ASSERT_NOT_EQUAL_FATAL(code->pages, MAP_FAILED);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        code->functions[i] = (struct plan_function){.name = "f",
                                                    .start = i * PAGE + SITE,
                                                    .site = i * PAGE + SITE,
                                                    .displaced = PLAN_JUMP_BYTES};
        memcpy(code->functions[i].original, original, sizeof original);
    }
    made_file(&code->made, "/app/program", (uintptr_t)code->pages, code->functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        struct probing_probe probe = {
            .function = &code->functions[i], .tier = PROBE_FULL, .is_placed = true};
        memcpy(probe.jump, jump, sizeof jump);
        made_probe(&code->made, probe);
        memcpy(code->pages + i * PAGE + SITE, jump, sizeof jump);
    }
    code->made.session.process.code_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static void look(struct code *code)
{
    code->made.session.times.now_ns += UINT64_C(2000000000);
    probing_gone_jumps_refresh(&code->made.session);
}

static void end(struct code *code)
{
    munmap(code->pages, FUNCTIONS * PAGE);
    fclose(code->file);
    close(code->made.session.process.code_fd);
    made_end(&code->made);
}

static void test_gone(void)
{
    static struct code code;
    make(&code);
    const struct probing_probe *probes = code.made.session.probes.items;
    look(&code);
    CU_ASSERT_FALSE(probes[0].rests || probes[1].rests);
    CU_ASSERT_EQUAL_FATAL(madvise(code.pages + PAGE, PAGE, MADV_DONTNEED), 0);
    look(&code);
    CU_ASSERT_FALSE(probes[0].rests);
    CU_ASSERT_TRUE(probes[1].rests);
    CU_ASSERT_TRUE(made_said(&code.made, "the probes of 1 function:"));
    CU_ASSERT_EQUAL_FATAL(madvise(code.pages, PAGE, MADV_DONTNEED), 0);
    look(&code);
    CU_ASSERT_TRUE(probes[0].rests);
    CU_ASSERT_EQUAL(code.made.log.said.length, 0); /* that was reported */
    end(&code);
}

/* Another debugger may have put the bytes back: the page is the process's own then. */
static void test_written(void)
{
    static struct code code;
    make(&code);
    memcpy(code.pages + SITE, original, sizeof original);
    look(&code);
    CU_ASSERT_FALSE(code.made.session.probes.items[0].rests);
    end(&code);
}

static void test_too_soon(void)
{
    static struct code code;
    make(&code);
    struct probing_program *session = &code.made.session;
    look(&code);
    CU_ASSERT_EQUAL_FATAL(madvise(code.pages, PAGE, MADV_DONTNEED), 0);
    session->times.now_ns += 1000;
    probing_gone_jumps_refresh(session);
    CU_ASSERT_FALSE(session->probes.items[0].rests); /* once a second is enough */
    session->options.rest_ns = TRACE_NEVER;
    look(&code);
    CU_ASSERT_FALSE(session->probes.items[0].rests);
    end(&code);
}

void sprof_suite_probing_gone_jumps(void);

void sprof_suite_probing_gone_jumps(void)
{
    CU_pSuite suite = CU_add_suite("probing/gone_jumps", NULL, NULL);
    CU_add_test(suite, "a page that was given back", test_gone);
    CU_add_test(suite, "bytes that something has written", test_written);
    CU_add_test(suite, "between two looks", test_too_soon);
}
