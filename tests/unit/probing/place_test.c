/* Probes placed in code of the test's own process, as in a command that waits. */
#include "probing/probes.h"
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

#include "arch/arch.h"

#include <errno.h>
#include <fcntl.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { FUNCTIONS = 64, LENGTH = 48, PAGE = 4096, NOP = 0x90 };

static int open_own(struct probing_program *program, struct sprof_error *error)
{
    (void)program;
    (void)error;
    return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static int64_t ask(struct probing_program *program, enum probe_request_kind kind, uint64_t address,
                   uint64_t size, int fd)
{
    (void)program;
    (void)fd;
    CU_ASSERT_EQUAL(kind, PROBE_MAP_ISLAND);
    void *at = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return at == MAP_FAILED ? -errno : (int64_t)(uintptr_t)at;
}

static const struct probing_way way = {.has_agent = true, .open_code = open_own, .ask = ask};

/* Thunks are out of the reach of jumps. For each distance of the code from its island, one byte of
 * a jump selects thunk or copy, but for the first, which has no room before it. */
static void test_one_byte_selects(void)
{
    static uint8_t thunks[(FUNCTIONS + 1) * ARCH_THUNK_BYTES];
    static struct plan_function functions[FUNCTIONS];
    static struct made made;
    struct sprof_error error = {0};
    struct probing_program *program = &made.session;
    uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(code, MAP_FAILED);
    memset(code, NOP, PAGE);
    made_begin(&made, &way, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        functions[i] = (struct plan_function){.name = "f",
                                              .start = i * LENGTH,
                                              .end = (i + 1) * LENGTH,
                                              .site = i * LENGTH,
                                              .displaced = PLAN_JUMP_BYTES};
        memset(functions[i].original, NOP, PLAN_JUMP_BYTES);
    }
    made_file(&made, "/app/program", (uintptr_t)code, functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&made, (struct probing_probe){
                              .function = &functions[i], .tier = PROBE_FULL, .is_chosen = true});
    program->process.hello.thunks = (uintptr_t)thunks;
    CU_ASSERT_EQUAL_FATAL(probing_place_files(program, &error), 0);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        CU_ASSERT_TRUE(probe->is_placed);
        CU_ASSERT_EQUAL(memcmp(code + i * LENGTH, probe->jump, PLAN_JUMP_BYTES), 0);
        CU_ASSERT_TRUE(!i || probe->pass_at);
    }
    const struct probing_file *file = program->files.items;
    munmap((void *)(uintptr_t)file->island, file->island_bytes);
    munmap(code, PAGE);
    made_end(&made);
}

void sprof_suite_probing_place(void);
void sprof_suite_probing_place(void)
{
    CU_pSuite suite = CU_add_suite("probing/place", NULL, NULL);
    CU_add_test(suite, "one byte selects", test_one_byte_selects);
}
