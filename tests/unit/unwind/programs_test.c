/* Real programs, stopped now and then and walked by sprof and by libdwfl: the same frames, except
 * where no call frame information exists and both can only guess. */
#include "tests/unit/skip.h"
#include "tests/unit/unwind/elf_source.h"
#include "tests/unit/unwind/process_space.h"

#include <CUnit/CUnit.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOPS = 20, SLICE = 16 << 10, PEER_FRAMES = 4096 };

/* == The target == */

static void become(char *const *arguments)
{
    const int null = open("/dev/null", O_RDWR);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(127);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execvp(arguments[0], arguments);
    _exit(127);
}

/* Lets the target run for a while and stops it; false where it has ended. */
static bool run_and_stop(pid_t pid, int *signal_number)
{
    int status;
    const struct timespec pause = {.tv_nsec = 4000000};
    const int forwarded =
        *signal_number == SIGSTOP || *signal_number == SIGTRAP ? 0 : *signal_number;
    if (ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)forwarded))
        return false;
    nanosleep(&pause, NULL);
    kill(pid, SIGSTOP);
    if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
        return false;
    *signal_number = WSTOPSIG(status);
    return true;
}

static bool registers_of(pid_t pid, struct unwind_registers *registers)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r))
        return false;
    *registers =
        (struct unwind_registers){{r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                                   r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip}};
    return true;
}

/* == libdwfl's view == */

struct peer {
    uint64_t addresses[PEER_FRAMES];
    size_t count;
};

static int peer_frame(Dwfl_Frame *frame, void *context)
{
    struct peer *peer = context;
    Dwarf_Addr address;
    if (peer->count == PEER_FRAMES || !dwfl_frame_pc(frame, &address, NULL))
        return DWARF_CB_ABORT;
    peer->addresses[peer->count++] = address;
    return DWARF_CB_OK;
}

static int no_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word checksum, char **found)
{
    (void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)checksum;
    (void)found;
    return -1;
}

static void peer_walk(struct peer *peer, pid_t pid)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = no_debug_file};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    peer->count = 0;
    if (dwfl && !dwfl_linux_proc_report(dwfl, pid) && !dwfl_report_end(dwfl, NULL, NULL) &&
        !dwfl_linux_proc_attach(dwfl, pid, true))
        dwfl_getthread_frames(dwfl, pid, peer_frame, peer);
    dwfl_end(dwfl);
}

/* == Comparing == */

struct tally {
    size_t stacks, frames, ruled, wrong;
    size_t at_start; /* ended in _start of the program, and without a scan */
};

/* From the first frame that had no rule on, libdwfl has none either, and stops or guesses. */
static bool has_rule(const struct unwind_frame *frame)
{
    return frame->found_by <= MODEL_BY_SIGNAL;
}

static void compare(struct tally *tally, const struct unwind_stack *stack, const struct peer *peer)
{
    size_t same = 0;
    bool ruled = true;
    while (same < stack->count && same < peer->count &&
           stack->frames[same].address == peer->addresses[same])
        same++;
    for (size_t i = 0; i < stack->count && i <= same; i++)
        ruled &= has_rule(&stack->frames[i]);
    const bool equal = same == stack->count && same == peer->count;
    tally->stacks++;
    tally->frames += stack->count;
    tally->ruled += ruled;
    tally->wrong += ruled && !(equal && stack->end == MODEL_END_ROOT);
    if (!equal && ruled)
        printf("\n    %zu of our %zu and libdwfl's %zu frames agree, end %s at %#llx", same,
               stack->count, peer->count, model_end_text(stack->end),
               (unsigned long long)stack->stopped_at);
}

/* `start`: where _start is, 0 where nobody asks. */
static bool is_at_start(const struct unwind_stack *stack, uint64_t start)
{
    bool scanned = false;
    for (size_t i = 0; i < stack->count; i++)
        scanned |= stack->frames[i].found_by == MODEL_BY_SCAN;
    return !scanned && stack->end == MODEL_END_ROOT && stack->stopped_at - start < 64;
}

struct watch {
    uint64_t start_vaddr;
    struct process_space process;
    struct unwind_walker *walker;
    uint8_t slice[SLICE];
    struct peer peer;
};

static void watch_stop(struct watch *watch, pid_t pid, struct tally *tally)
{
    struct unwind_registers registers;
    if (!process_space_update(&watch->process, pid) || !registers_of(pid, &registers))
        return;
    const uint64_t sp = registers.value[ARCH_SP];
    const struct unwind_memory memory = {.slice = watch->slice,
                                         .slice_address = sp,
                                         .slice_size =
                                             process_space_copy(pid, sp, watch->slice, SLICE),
                                         .read = process_space_read,
                                         .context = &watch->process};
    const struct unwind_stack stack =
        unwind_walk(watch->walker, &watch->process.space, &memory, &registers);
    const struct unwind_region *last = watch->process.space.find(&watch->process, stack.stopped_at);
    tally->at_start += last && is_at_start(&stack, watch->start_vaddr + last->bias);
    peer_walk(&watch->peer, pid);
    compare(tally, &stack, &watch->peer);
}

static struct tally watch_program(char *const *arguments, uint64_t start_vaddr)
{
    struct tally tally = {0};
    struct watch *watch = calloc(1, sizeof *watch);
    CU_ASSERT_PTR_NOT_NULL_FATAL(watch);
    watch->start_vaddr = start_vaddr;
    watch->walker = unwind_walker_new(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(watch->walker);
    const pid_t pid = fork();
    if (!pid)
        become(arguments);
    int status, signal_number = SIGTRAP;
    waitpid(pid, &status, __WALL);
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
    for (int i = 0; i < STOPS && WIFSTOPPED(status) && run_and_stop(pid, &signal_number); i++)
        watch_stop(watch, pid, &tally);
    kill(pid, SIGKILL);
    waitpid(pid, &status, __WALL);
    process_space_release(&watch->process);
    unwind_walker_free(watch->walker);
    free(watch);
    return tally;
}

static void expect_agreement(const char *name, const char *const *arguments)
{
    const struct tally tally = watch_program((char *const *)arguments, 0);
    printf("\n    %s: %zu stacks, %zu frames, %zu by rules alone, %zu wrong", name, tally.stacks,
           tally.frames, tally.ruled, tally.wrong);
    if (!tally.stacks) {
        sprof_test_skip("%s is absent or not to be traced", name);
        return;
    }
    CU_ASSERT_EQUAL(tally.wrong, 0);
    CU_ASSERT(tally.ruled * 4 >= tally.stacks * 3);
}
#define PROGRAM(name, ...)                                                                         \
    static void test_##name(void)                                                                  \
    {                                                                                              \
        expect_agreement(#name, (const char *const[]){__VA_ARGS__, NULL});                         \
    }

PROGRAM(openssl_aes, "openssl", "speed", "-seconds", "1", "aes-128-cbc", "sha256")
PROGRAM(openssl_rsa, "openssl", "speed", "-seconds", "1", "rsa2048", "ecdsap256")
PROGRAM(python, "/usr/bin/python3", "-c",
        "import json\nwhile 1: json.dumps([{'a': i} for i in range(99)]); sorted('sprof' * 9)")
PROGRAM(xz, "xz", "-9", "-c", "/bin/bash")
PROGRAM(sqlite, "sqlite3", ":memory:",
        "with recursive c(x) as (select 1 union all select x+1 from c where x<100000000) "
        "select sum(x*x%7) from c;")
PROGRAM(perl, "perl", "-e", "for(;;){@a=sort {$a cmp $b} map {$_*7} 1..200; $h{$_}.='x' for @a}")
PROGRAM(bash, "bash", "-c", "while :; do x=$((x+1)); y=${x//1/2}; done")
PROGRAM(gzip, "gzip", "-9", "-c", SPROF_TEST_CC1PLUS)
PROGRAM(awk, "awk",
        "BEGIN { for (;;) { x[i++ % 1000] = sprintf(\"%d\", i); gsub(/1/, \"2\", x[5]) } }")
PROGRAM(cc1plus, SPROF_TEST_CC1PLUS, "-quiet", "-O2", SPROF_TEST_CPP, "-o", "/dev/null")

/* libdwfl can tell little of musl; the start is known by its symbol. */
static void test_musl(void)
{
    struct elf_source file;
    if (elf_source_open(&file, SPROF_TEST_MUSL_PROGRAM)) {
        sprof_test_skip("no musl-gcc");
        return;
    }
    const uint64_t start = elf_source_symbol(&file, "_start");
    elf_source_close(&file);
    CU_ASSERT_NOT_EQUAL_FATAL(start, 0);
    const struct tally tally =
        watch_program((char *[]){(char *)SPROF_TEST_MUSL_PROGRAM, NULL}, start);
    printf("\n    musl: %zu stacks, %zu frames, %zu from _start", tally.stacks, tally.frames,
           tally.at_start);
    CU_ASSERT(tally.at_start * 10 >= tally.stacks * 8); /* a program may be stopped as it starts */
    CU_ASSERT(tally.frames >= tally.stacks * 5);
}

void sprof_suite_unwind_programs(void);
void sprof_suite_unwind_programs(void)
{
    CU_pSuite suite = CU_add_suite("unwind/programs", NULL, NULL);
    CU_add_test(suite, "openssl: AES, SHA", test_openssl_aes);
    CU_add_test(suite, "openssl: RSA, ECDSA", test_openssl_rsa);
    CU_add_test(suite, "python", test_python);
    CU_add_test(suite, "xz", test_xz);
    CU_add_test(suite, "sqlite", test_sqlite);
    CU_add_test(suite, "perl", test_perl);
    CU_add_test(suite, "bash", test_bash);
    CU_add_test(suite, "gzip", test_gzip);
    CU_add_test(suite, "awk", test_awk);
    CU_add_test(suite, "the C++ compiler", test_cc1plus);
    CU_add_test(suite, "static-pie with musl", test_musl);
}
