/* Probes that are passed while they are off, in code and thunks of the test itself. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

#include "arch/arch.h"

#include <fcntl.h>
#include <signal.h>

static const struct probing_way live = {.has_agent = true, .is_live = true},
                                embedded = {.has_agent = true, .only_embedded = true},
                                borrowing = {.has_agent = true, .borrows = true};

enum { PAGE = 4096, SITE = 0x10, FUNCTIONS = 2, NEAR = 0, FAR = 1 };

/* The copy of function NEAR differs in one byte of the jump from its thunk; that of FAR in more. */
struct code {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    uint8_t *pages; /* code, then thunks */
    struct sigaction saved[2];
};

static const int faults[] = {SIGSEGV, SIGBUS};

static void make(struct code *code, const struct probing_way *way)
{
    struct probing_program *program = &code->made.session;
    made_begin(&code->made, way, FUNCTIONS);
    for (size_t i = 0; i < 2; i++) /* a sanitizer has handlers */
        sigaction(faults[i], &(struct sigaction){.sa_handler = SIG_DFL}, &code->saved[i]);
    code->pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(code->pages, MAP_FAILED);
    for (size_t i = 0; i < FUNCTIONS; i++)
        code->functions[i] =
            (struct plan_function){.name = "f", .start = SITE * (i + 1), .site = SITE * (i + 1)};
    made_file(&code->made, "/app/program", (uintptr_t)code->pages, code->functions, FUNCTIONS);
    program->process.hello.thunks = (uintptr_t)code->pages + PAGE;
    probing_passed_check_file(program, program->files.items);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const uint64_t site = (uintptr_t)code->pages + SITE * (i + 1), thunk = site + 0x205;
        struct probing_probe *probe =
            made_probe(&code->made, (struct probing_probe){.function = &code->functions[i],
                                                           .tier = PROBE_FULL,
                                                           .is_placed = true});
        CU_ASSERT_EQUAL_FATAL(arch_jump_write(probe->jump, site, thunk), PLAN_JUMP_BYTES);
        memcpy((void *)site, probe->jump, PLAN_JUMP_BYTES);
        probing_passed_note(program, probe, thunk + (i == NEAR ? 0x40 : 0x140));
        code->pages[PAGE + i * ARCH_THUNK_BYTES + ARCH_THUNK_ENTRY] = ARCH_THUNK_ON;
        atomic_store(&program->process.shared->tiers[i], PROBE_FULL);
    }
    program->process.code_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static void end(struct code *code)
{
    for (size_t i = 0; i < 2; i++)
        sigaction(faults[i], &code->saved[i], NULL);
    munmap(code->pages, 2 * PAGE);
    close(code->made.session.process.code_fd);
    made_end(&code->made);
}

static void turn_off(struct code *code)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        atomic_store(&code->made.session.process.shared->tiers[i], PROBE_OFF);
}

static uint8_t thunk_byte(const struct code *code, size_t number)
{
    return code->pages[PAGE + number * ARCH_THUNK_BYTES + ARCH_THUNK_ENTRY];
}

/* The byte by which the jump leads elsewhere is found only where one is enough. */
static void test_byte(void)
{
    static struct code code;
    make(&code, &live);
    const struct probing_probe *probes = code.made.session.probes.items;
    CU_ASSERT_NOT_EQUAL(probes[NEAR].pass_at, 0);
    CU_ASSERT_EQUAL(probes[FAR].pass_at, 0);
    end(&code);
}

/* A probe is passed once it was off for a whole round, and no longer when it is to be on. */
static void test_passed(void)
{
    static struct code code;
    make(&code, &live);
    struct probing_program *program = &code.made.session;
    const struct probing_probe *probes = program->probes.items;
    uint8_t before[PLAN_JUMP_BYTES], after[PLAN_JUMP_BYTES];
    memcpy(before, code.pages + SITE, sizeof before);
    probing_passed_refresh(program);
    probing_passed_refresh(program);
    CU_ASSERT_FALSE(probes[NEAR].is_passed || probes[FAR].is_passed); /* they are on */
    turn_off(&code);
    probing_passed_refresh(program);
    CU_ASSERT_FALSE(probes[NEAR].is_passed || probes[FAR].is_passed);
    probing_passed_refresh(program);
    CU_ASSERT_TRUE(probes[NEAR].is_passed && probes[FAR].is_passed);
    CU_ASSERT_EQUAL(
        arch_jump_write(after, (uintptr_t)code.pages + SITE, (uintptr_t)code.pages + SITE + 0x245),
        sizeof after);
    CU_ASSERT_EQUAL(memcmp(code.pages + SITE, after, sizeof after), 0);
    CU_ASSERT_EQUAL(memcmp(code.pages + SITE, probes[NEAR].jump, sizeof after), 0);
    CU_ASSERT_EQUAL(thunk_byte(&code, NEAR), ARCH_THUNK_ON);
    CU_ASSERT_EQUAL(thunk_byte(&code, FAR), ARCH_THUNK_OFF);
    for (size_t i = 0; i < FUNCTIONS; i++)
        probing_passed_end(program, i);
    CU_ASSERT_FALSE(probes[NEAR].is_passed || probes[FAR].is_passed);
    CU_ASSERT_EQUAL(memcmp(code.pages + SITE, before, sizeof before), 0);
    CU_ASSERT_EQUAL(thunk_byte(&code, FAR), ARCH_THUNK_ON);
    end(&code);
}

/* Other bytes at the site, as after an execve, are not written to. */
static void test_other_code(void)
{
    static struct code code;
    make(&code, &live);
    struct probing_program *program = &code.made.session;
    turn_off(&code);
    memset(code.pages + SITE, 0x90, PLAN_JUMP_BYTES);
    probing_passed_refresh(program);
    probing_passed_refresh(program);
    CU_ASSERT_FALSE(program->probes.items[NEAR].is_passed);
    CU_ASSERT_EQUAL(code.pages[SITE + program->probes.items[NEAR].pass_at], 0x90);
    end(&code);
}

/* A handler of faults may look at the address: nothing is passed while there is one. */
static void test_fault_handler(void)
{
    static struct code code;
    make(&code, &live);
    const struct probing_probe *probe = &code.made.session.probes.items[FAR];
    turn_off(&code);
    probing_passed_refresh(&code.made.session);
    probing_passed_refresh(&code.made.session);
    CU_ASSERT_TRUE(probe->is_passed);
    sigaction(SIGBUS, &(struct sigaction){.sa_handler = _exit}, NULL);
    probing_passed_refresh(&code.made.session);
    CU_ASSERT_FALSE(probe->is_passed);
    CU_ASSERT_EQUAL(thunk_byte(&code, FAR), ARCH_THUNK_ON);
    sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    probing_passed_refresh(&code.made.session);
    CU_ASSERT_TRUE(probe->is_passed);
    end(&code);
}

/* Files that can be unloaded are never passed by their jumps. */
static void test_files(void)
{
    struct made made;
    made_begin(&made, &live, 1);
    struct probing_file loaded = {.path = "/app/library", .is_loaded = true},
                        own = {.path = "/app/program"};
    probing_passed_check_file(&made.session, &loaded);
    probing_passed_check_file(&made.session, &own);
    CU_ASSERT_FALSE(loaded.stays);
    CU_ASSERT_TRUE(own.stays);
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    made.session.way = &borrowing; /* what was there before may be a plugin */
    probing_passed_check_file(&made.session, &own);
    CU_ASSERT_FALSE(own.stays);
    own.path = path;
    probing_passed_check_file(&made.session, &own);
    CU_ASSERT_TRUE(own.stays);
    made_end(&made);
}

/* Forked children share the switches of thunks; embedded probes have no jump. */
static void test_permitted(void)
{
    struct made made;
    made_begin(&made, &embedded, 1);
    probing_passed_begin(&made.session);
    CU_ASSERT(made.session.process.code_fd <= 0);
    made.session.way = &live;
    made.session.options.children = true;
    probing_passed_begin(&made.session);
    CU_ASSERT(made.session.process.code_fd <= 0);
    made.session.options.children = false;
    probing_passed_begin(&made.session);
    CU_ASSERT(made.session.process.code_fd > 0);
    close(made.session.process.code_fd);
    made_end(&made);
}

void sprof_suite_probing_passed(void);

void sprof_suite_probing_passed(void)
{
    CU_pSuite suite = CU_add_suite("probing/passed", NULL, NULL);
    CU_add_test(suite, "the byte of a jump", test_byte);
    CU_add_test(suite, "passed and back", test_passed);
    CU_add_test(suite, "other code", test_other_code);
    CU_add_test(suite, "handlers of faults", test_fault_handler);
    CU_add_test(suite, "files", test_files);
    CU_add_test(suite, "where it is permitted", test_permitted);
}
