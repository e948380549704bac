/* A child that ptrace stops: its registers, and calls that it makes. */
#include "arch/arch.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile struct shared {
    uint64_t first, second, ends, thread_pointer;
} * shared;

/* What the child runs: it has a stack, and the first two arguments. It stops in the end. */
static void called(uint64_t first, uint64_t second)
{
    shared->first = first;
    shared->second = second;
    raise(SIGSTOP);
}

static bool waits_for(pid_t pid, int signal)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
}

/* A child that stands behind a raise of SIGSTOP, and ends with 7 when it goes on. */
static pid_t make_child(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL((void *)shared, MAP_FAILED);
    const pid_t pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        shared->thread_pointer = (uintptr_t)pthread_self();
        raise(SIGSTOP);
        _exit(7);
    }
    CU_ASSERT_FATAL(pid > 0 && waits_for(pid, SIGSTOP));
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap((void *)shared, sizeof *shared);
}

static void test_registers(void)
{
    struct arch_remote remote;
    uint64_t registers[ARCH_REGISTERS];
    const pid_t pid = make_child();
    CU_ASSERT_FATAL(arch_remote_read(pid, &remote));
    arch_remote_registers(&remote, registers);
    CU_ASSERT_EQUAL(registers[ARCH_PC], arch_remote_pc(&remote));
    CU_ASSERT_EQUAL(registers[ARCH_SP], arch_remote_sp(&remote));
    CU_ASSERT_EQUAL(arch_remote_thread_pointer(&remote), shared->thread_pointer);
    CU_ASSERT_TRUE(arch_remote_is_wide(&remote));
    CU_ASSERT_EQUAL(registers[ARCH_RESULT], arch_remote_result(&remote));
    CU_ASSERT_TRUE(arch_remote_call_number(&remote) >= 0); /* tgkill(2) */
    CU_ASSERT_EQUAL(arch_remote_result(&remote), 0);
    end_child(pid);
    CU_ASSERT_FALSE(arch_remote_read(pid, &remote));
}

/* The child calls a function, and goes on where it was. */
static void test_call(void)
{
    struct arch_remote own, entry;
    int status;
    const pid_t pid = make_child();
    CU_ASSERT_FATAL(arch_remote_read(pid, &own));
    entry = own;
    arch_remote_enter(&entry, (uintptr_t)called,
                      ((arch_remote_sp(&own) - 4096) & ~UINT64_C(15)) - ARCH_CALL_PUSHES);
    arch_remote_set_arguments(&entry, 5, 6);
    CU_ASSERT_TRUE(arch_remote_call_number(&entry) < 0);
    CU_ASSERT_TRUE(arch_remote_write(pid, &entry));
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    CU_ASSERT_FATAL(waits_for(pid, SIGSTOP));
    CU_ASSERT_EQUAL(shared->first, 5);
    CU_ASSERT_EQUAL(shared->second, 6);
    arch_remote_leave_call(&own);
    CU_ASSERT_TRUE(arch_remote_write(pid, &own));
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    munmap((void *)shared, sizeof *shared);
}

/* Code that pops a call's number and arguments, twice: getppid(2), then exit_group(2). */
static void test_calls_code(void)
{
    struct arch_remote remote;
    int status;
    const pid_t pid = make_child();
    uint8_t *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(code, MAP_FAILED);
    CU_ASSERT_FATAL(arch_remote_read(pid, &remote));
    /* it has no such page, so the code takes the place of a function */
    const uint64_t at = (uintptr_t)called, sp = (arch_remote_sp(&remote) - 4096) & ~UINT64_C(15);
    const uint64_t words[] = {SYS_getppid, 0, 0, 0, 0, 0, 0, at, SYS_exit_group, 41, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)(sp + i * sizeof *words), words[i]);
    memset(code, 0, 16);
    memcpy(code, arch_calls_code, ARCH_CALLS_CODE_BYTES);
    for (size_t i = 0; i < 16; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, code + i, sizeof word);
        ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)(at + i), word);
    }
    arch_remote_enter(&remote, at, sp);
    CU_ASSERT_TRUE(arch_remote_write(pid, &remote));
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    for (int stop = 0; stop < 3; stop++) {
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        CU_ASSERT_FATAL(waits_for(pid, SIGTRAP | 0x80));
        CU_ASSERT_FATAL(arch_remote_read(pid, &remote));
        const long number = stop < 2 ? SYS_getppid : SYS_exit_group;
        CU_ASSERT_EQUAL(arch_remote_call_number(&remote), number);
        CU_ASSERT_EQUAL(arch_remote_is_entering(&remote, number), stop != 1);
        if (stop == 1)
            CU_ASSERT_EQUAL(arch_remote_result(&remote), getpid());
    }
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 41);
    munmap(code, 4096);
    munmap((void *)shared, sizeof *shared);
}

/* A call that was cut short is made again: the child sleeps until it is killed. */
static void test_repeat(void)
{
    struct arch_remote remote;
    const uint64_t none[6] = {0};
    const pid_t pid = make_child();
    CU_ASSERT_FATAL(arch_remote_read(pid, &remote));
    const uint64_t behind = arch_remote_pc(&remote);
    arch_remote_repeat_call(&remote, SYS_pause);
    CU_ASSERT(arch_remote_pc(&remote) < behind);
    arch_remote_set_call(&remote, SYS_pause, none);
    CU_ASSERT_TRUE(arch_remote_write(pid, &remote));
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
    CU_ASSERT_FATAL(waits_for(pid, SIGTRAP | 0x80));
    CU_ASSERT_FATAL(arch_remote_read(pid, &remote));
    CU_ASSERT_TRUE(arch_remote_is_entering(&remote, SYS_pause));
    CU_ASSERT_EQUAL(arch_remote_pc(&remote), behind);
    arch_remote_set_result(&remote, -EINTR);
    CU_ASSERT_EQUAL(arch_remote_result(&remote), -EINTR);
    end_child(pid);
}

/* By rt_sigreturn(2) the child gets all registers of a frame, and its signal mask. */
static void test_frame(void)
{
    struct arch_remote own, remote;
    struct arch_vectors vectors, after;
    uint8_t frame[ARCH_FRAME_BYTES], state[ARCH_VECTORS_BYTES];
    uint64_t before[ARCH_REGISTERS], now[ARCH_REGISTERS], mask = UINT64_C(1) << (SIGUSR2 - 1);
    const uint64_t none[6] = {0};
    const pid_t pid = make_child();
    CU_ASSERT_FATAL(arch_remote_read(pid, &own) && arch_vectors_read(pid, &vectors));
    const size_t size = arch_vectors_frame(&vectors, state);
    CU_ASSERT_FATAL(size && size <= vectors.size + sizeof(uint32_t));
    const uint64_t vectors_at = (arch_remote_sp(&own) - ARCH_VECTORS_BYTES) & ~UINT64_C(63),
                   at = (vectors_at - ARCH_FRAME_ROOM) & ~UINT64_C(63);
    arch_frame_write(&own, vectors_at, 0, mask, frame);
    for (size_t i = 0; i < size; i += sizeof(long)) {
        long word;
        memcpy(&word, state + i, sizeof word);
        ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)(vectors_at + i), word);
    }
    for (size_t i = 0; i < sizeof frame; i += sizeof(long)) {
        long word;
        memcpy(&word, frame + i, sizeof word);
        ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)(at + i), word);
    }
    remote = own;
    arch_remote_repeat_call(&remote, SYS_rt_sigreturn);
    const uint64_t call = arch_remote_pc(&remote);
    arch_remote_enter(&remote, call, at);
    arch_remote_set_call(&remote, SYS_rt_sigreturn, none);
    CU_ASSERT_TRUE(arch_remote_write(pid, &remote));
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    for (int stop = 0; stop < 2; stop++) {
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        CU_ASSERT_FATAL(waits_for(pid, SIGTRAP | 0x80));
    }
    CU_ASSERT_FATAL(arch_remote_read(pid, &remote) && arch_vectors_read(pid, &after));
    arch_remote_registers(&own, before);
    arch_remote_registers(&remote, now);
    CU_ASSERT_EQUAL(memcmp(before, now, sizeof now), 0);
    CU_ASSERT_EQUAL(after.size, vectors.size);
    CU_ASSERT_TRUE(arch_vectors_write(pid, &vectors));
    mask = 0;
    ptrace(PTRACE_GETSIGMASK, pid, (void *)sizeof mask, &mask);
    CU_ASSERT_EQUAL(mask, UINT64_C(1) << (SIGUSR2 - 1));
    end_child(pid);
}

/* Such a frame is recognized, and read, by what it holds; the words of another are none. */
static void test_read_frame(void)
{
    struct arch_remote remote;
    uint8_t frame[ARCH_FRAME_BYTES];
    uint64_t words[ARCH_FRAME_MARK_WORDS], pc, stack, stack_bytes;
    const pid_t pid = make_child();
    CU_ASSERT_FATAL(arch_remote_read(pid, &remote));
    arch_frame_write(&remote, 0x1000, 0, 0, frame);
    arch_frame_read(frame, &pc, &stack, &stack_bytes);
    CU_ASSERT_EQUAL(pc, arch_remote_pc(&remote));
    CU_ASSERT_EQUAL(stack, 0);
    CU_ASSERT_EQUAL(stack_bytes, 0);
    memcpy(words, frame, sizeof words);
    CU_ASSERT_TRUE(arch_frame_is_ours(words));
    for (size_t i = 0; i < ARCH_FRAME_MARK_WORDS; i++) {
        words[i] ^= 1;
        CU_ASSERT_FALSE(arch_frame_is_ours(words));
        words[i] ^= 1;
    }
    end_child(pid);
}

/* The end of the registers in a frame: stack, code, flags, and selectors. */
static void test_frame_ends(void)
{
    uint64_t words[ARCH_FRAME_END_WORDS] = {0x7fff0000, 0x400000, 0x246, 0x002b000000000033};
    CU_ASSERT_TRUE(arch_frame_ends(words));
    words[2] = 0x244; /* bit 1 of flags is always set */
    CU_ASSERT_FALSE(arch_frame_ends(words));
    words[2] = 0x246;
    words[3] = 0x33;
    CU_ASSERT_FALSE(arch_frame_ends(words));
}

/* What a borrowed thread pops to go on holds each register once. */
static void test_resume_words(void)
{
    struct arch_remote remote;
    uint64_t words[ARCH_RESUME_WORDS], registers[ARCH_REGISTERS];
    for (size_t i = 0; i < ARCH_REMOTE_WORDS; i++)
        remote.words[i] = 1000 + i;
    arch_remote_resume_words(&remote, words);
    arch_remote_registers(&remote, registers);
    for (size_t i = 0; i < ARCH_REGISTERS; i++) {
        int found = 0;
        for (size_t k = 0; k < ARCH_RESUME_WORDS; k++)
            found += words[k] == registers[i];
        CU_ASSERT_EQUAL(found, 1);
    }
}

void sprof_suite_arch_remote(void);

void sprof_suite_arch_remote(void)
{
    CU_pSuite suite = CU_add_suite("arch/remote", NULL, NULL);
    CU_add_test(suite, "registers", test_registers);
    CU_add_test(suite, "a call", test_call);
    CU_add_test(suite, "code that makes system calls", test_calls_code);
    CU_add_test(suite, "a call that is made again", test_repeat);
    CU_add_test(suite, "a frame to return by", test_frame);
    CU_add_test(suite, "a frame is read", test_read_frame);
    CU_add_test(suite, "the end of a frame", test_frame_ends);
    CU_add_test(suite, "words to go on by", test_resume_words);
}
