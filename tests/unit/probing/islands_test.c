/* Islands near a file of the test's own process, which maps them as an agent would. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

#include <errno.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PAGE = 4096, FUNCTIONS = 3 };
#define REACH INT64_C(0x7fffffff) /* of a jump */

static struct {
    int maps, unmaps, refusals;
    int64_t refuse_by; /* the answer of the next `refusals` requests */
} asked;

static int64_t ask(struct probing_program *program, enum probe_request_kind kind, uint64_t address,
                   uint64_t size, int fd)
{
    (void)program;
    CU_ASSERT_EQUAL(fd, -1);
    if (kind == PROBE_UNMAP) {
        asked.unmaps++;
        return munmap((void *)address, size) ? -errno : 0;
    }
    CU_ASSERT_EQUAL(kind, PROBE_MAP_ISLAND);
    asked.maps++;
    if (asked.refusals-- > 0)
        return asked.refuse_by;
    void *at = mmap((void *)address, size, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return at == MAP_FAILED ? -errno : (int64_t)(uintptr_t)at;
}

static const struct probing_way asks = {.has_agent = true, .ask = ask};

/* A file whose functions are where the test's own code is. */
static void make(struct made *made, struct plan_function functions[FUNCTIONS], int refusals,
                 int64_t refuse_by)
{
    made_begin(made, &asks, FUNCTIONS);
    asked.maps = asked.unmaps = 0;
    asked.refusals = refusals;
    asked.refuse_by = refuse_by;
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct plan_function){.name = "f", .start = PAGE * i, .site = PAGE * i};
    made_file(made, "/app/program", (uintptr_t)make / PAGE * PAGE, functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(made, (struct probing_probe){.function = &functions[i]});
}

static uint32_t noted_islands(const struct made *made)
{
    return made->session.process.shared->owner.island_count;
}

static bool is_near(const struct probing_file *file, const struct plan_function *function)
{
    const int64_t site = (int64_t)(file->bias + function->site), island = (int64_t)file->island;
    const int64_t first = island - site, last = first + (int64_t)file->island_bytes;
    return first > -REACH && last < REACH;
}

/* Jumps of all functions reach it, there and back; it has whole pages, and is noted. */
static void test_near(void)
{
    struct plan_function functions[FUNCTIONS];
    struct sprof_error error = {0};
    struct made made;
    make(&made, functions, 0, 0);
    struct probing_file *file = made.session.files.items;
    CU_ASSERT_EQUAL_FATAL(probing_make_islands(&made.session, &error), 0);
    CU_ASSERT_NOT_EQUAL_FATAL(file->island, 0);
    CU_ASSERT_EQUAL(file->island % PAGE, 0);
    CU_ASSERT(file->island_bytes >= FUNCTIONS * PROBING_ISLAND_EACH);
    for (size_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_TRUE(is_near(file, &functions[i]));
    CU_ASSERT_EQUAL(noted_islands(&made), 1);
    CU_ASSERT_EQUAL(probing_make_islands(&made.session, &error), 0); /* it keeps it */
    CU_ASSERT_EQUAL(asked.maps, 1);
    file->bias += UINT64_C(1) << 40; /* loaded again, elsewhere */
    const int result = probing_make_islands(&made.session, &error);
    CU_ASSERT_EQUAL(asked.unmaps, 1);
    CU_ASSERT(result || is_near(file, &functions[0]));
    if (!result)
        munmap((void *)file->island, file->island_bytes);
    made_end(&made);
}

/* Where the program has mapped something meanwhile, another room is looked for. */
static void test_again(void)
{
    struct plan_function functions[FUNCTIONS];
    struct sprof_error error = {0};
    struct made made;
    make(&made, functions, 2, -EEXIST);
    CU_ASSERT_EQUAL_FATAL(probing_make_islands(&made.session, &error), 0);
    CU_ASSERT_EQUAL(asked.maps, 3);
    CU_ASSERT_EQUAL(noted_islands(&made), 1);
    munmap((void *)made.session.files.items->island, made.session.files.items->island_bytes);
    made_end(&made);
}

static void test_refused(void)
{
    static const int64_t answers[] = {-EEXIST, -ENOMEM, -EPIPE};
    struct plan_function functions[FUNCTIONS];
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct sprof_error error = {0};
        struct made made;
        make(&made, functions, 100, answers[i]);
        CU_ASSERT_EQUAL(probing_make_islands(&made.session, &error), SPROF_ELIMIT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no room for probes near /app/program"));
        CU_ASSERT_EQUAL(made.session.files.items->island, 0);
        CU_ASSERT_EQUAL(noted_islands(&made), 0);
        CU_ASSERT(answers[i] == -EEXIST ? asked.maps > 1 : asked.maps == 1);
        made_end(&made);
    }
}

void sprof_suite_probing_islands(void);

void sprof_suite_probing_islands(void)
{
    CU_pSuite suite = CU_add_suite("probing/islands", NULL, NULL);
    CU_add_test(suite, "near all functions", test_near);
    CU_add_test(suite, "room that is taken", test_again);
    CU_add_test(suite, "no room", test_refused);
}
