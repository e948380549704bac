/* Registers, vectors and signal frames of a stopped thread on x86-64 (Intel SDM volume 1, chapter
 * 13; arch/x86/include/uapi/asm/sigcontext.h of the kernel). */
#include "arch/arch.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

enum {
    CODE_64 = 0x33, /* selector of code of 64 bits */
    DATA_64 = 0x2b,
    FLAG_TRAP = 0x100,
    FLAG_DIRECTION = 0x400,
    SYSCALL_BYTES = 2,
    LEGACY_BYTES = 576,  /* of vectors: the legacy area and its header */
    MAGIC1 = 0x46505853, /* of an extended frame */
    MAGIC2 = 0x46505845,
    SOFTWARE_BYTES = 464,         /* offset of the kernel's own words in the legacy area */
    FEATURES_AT = 512,            /* offset of the features in use */
    FEATURE_TILES = 18,           /* too large for usual frames */
    STACK_UNCHANGED = 0x7fffffff, /* as ss_flags: the alternate stack stays */
    CONTEXT_FLAGS = 1 | 2 | 4,    /* an extended frame follows, and ss is valid */
};
_Static_assert(sizeof(struct arch_remote) == sizeof(struct user_regs_struct), "NT_PRSTATUS");
_Static_assert(ARCH_FRAME_BYTES == offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t) &&
                   ARCH_FRAME_ROOM >= sizeof(ucontext_t),
               "ucontext_t");

/* == Registers == */

static const struct user_regs_struct *of(const struct arch_remote *remote)
{
    return (const struct user_regs_struct *)remote->words;
}

static struct user_regs_struct *in(struct arch_remote *remote)
{
    return (struct user_regs_struct *)remote->words;
}

bool arch_remote_read(pid_t tid, struct arch_remote *remote)
{
    return !ptrace(PTRACE_GETREGS, tid, NULL, remote->words);
}

bool arch_remote_write(pid_t tid, const struct arch_remote *remote)
{
    return !ptrace(PTRACE_SETREGS, tid, NULL, remote->words);
}

uint64_t arch_remote_pc(const struct arch_remote *remote)
{
    return of(remote)->rip;
}

uint64_t arch_remote_sp(const struct arch_remote *remote)
{
    return of(remote)->rsp;
}

uint64_t arch_remote_thread_pointer(const struct arch_remote *remote)
{
    return of(remote)->fs_base;
}

void arch_remote_registers(const struct arch_remote *remote, uint64_t registers[ARCH_REGISTERS])
{
    const struct user_regs_struct *r = of(remote);
    const uint64_t all[ARCH_REGISTERS] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                          r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                          r->r12, r->r13, r->r14, r->r15, r->rip};
    memcpy(registers, all, sizeof all);
}

bool arch_remote_is_wide(const struct arch_remote *remote)
{
    return of(remote)->cs == CODE_64;
}

/* == System calls == */

int64_t arch_remote_call_number(const struct arch_remote *remote)
{
    return (int64_t)of(remote)->orig_rax;
}

int64_t arch_remote_result(const struct arch_remote *remote)
{
    return (int64_t)of(remote)->rax;
}

void arch_remote_set_result(struct arch_remote *remote, int64_t result)
{
    in(remote)->rax = (unsigned long long)result;
}

bool arch_remote_is_entering(const struct arch_remote *remote, long number)
{
    return arch_remote_call_number(remote) == number && arch_remote_result(remote) == -ENOSYS;
}

void arch_remote_leave_call(struct arch_remote *remote)
{
    in(remote)->orig_rax = UINT64_MAX;
}

void arch_remote_repeat_call(struct arch_remote *remote, uint64_t number)
{
    in(remote)->rax = number;
    in(remote)->rip -= SYSCALL_BYTES;
    arch_remote_leave_call(remote);
}

/* == Calls for sprof == */

void arch_remote_enter(struct arch_remote *remote, uint64_t function, uint64_t sp)
{
    struct user_regs_struct *r = in(remote);
    r->rip = function;
    r->rax = 0;
    r->rsp = sp;
    r->eflags &= ~(unsigned long long)(FLAG_TRAP | FLAG_DIRECTION);
    arch_remote_leave_call(remote);
}

void arch_remote_set_arguments(struct arch_remote *remote, uint64_t first, uint64_t second)
{
    in(remote)->rdi = first;
    in(remote)->rsi = second;
}

void arch_remote_set_call(struct arch_remote *remote, long number, const uint64_t arguments[6])
{
    struct user_regs_struct *r = in(remote);
    r->rax = (unsigned long long)number;
    r->rdi = arguments[0];
    r->rsi = arguments[1];
    r->rdx = arguments[2];
    r->r10 = arguments[3];
    r->r8 = arguments[4];
    r->r9 = arguments[5];
}

/* pop rax, rdi, rsi, rdx, r10, r8, r9; syscall; ret. */
const uint8_t arch_calls_code[ARCH_CALLS_CODE_BYTES] = {0x58, 0x5f, 0x5e, 0x5a, 0x41, 0x5a, 0x41,
                                                        0x58, 0x41, 0x59, 0x0f, 0x05, 0xc3, 0xcc};

void arch_remote_resume_words(const struct arch_remote *remote, uint64_t words[ARCH_RESUME_WORDS])
{
    const struct user_regs_struct *r = of(remote);
    const uint64_t all[ARCH_RESUME_WORDS] = {
        r->r15, r->r14, r->r13, r->r12, r->rbp, r->rbx, r->r11, r->r10,    r->r9,  r->r8,
        r->rcx, r->rdx, r->rsi, r->rdi, r->rax, r->rip, r->cs,  r->eflags, r->rsp, r->ss};
    memcpy(words, all, sizeof all);
}

/* == Vector registers == */

bool arch_vectors_read(pid_t tid, struct arch_vectors *vectors)
{
    struct iovec vector = {vectors->bytes, sizeof vectors->bytes};
    uint64_t in_use;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &vector) ||
        vector.iov_len < LEGACY_BYTES)
        return false;
    vectors->size = vector.iov_len;
    memcpy(&in_use, vectors->bytes + FEATURES_AT, sizeof in_use);
    return !(in_use >> FEATURE_TILES & 1);
}

bool arch_vectors_write(pid_t tid, const struct arch_vectors *vectors)
{
    struct iovec vector = {(void *)vectors->bytes, vectors->size};
    return !ptrace(PTRACE_SETREGSET, tid, (void *)NT_X86_XSTATE, &vector);
}

/* How much of the state a usual signal frame holds. */
static size_t frame_bytes(uint64_t features)
{
    size_t bytes = LEGACY_BYTES;
    for (unsigned i = 2; i < FEATURE_TILES; i++) {
        uint32_t size = 0xd, at = 0, c = i, d; /* CPUID leaf 13: the layout of states */
        if (!(features >> i & 1))
            continue;
        __asm__ volatile("cpuid" : "+a"(size), "=b"(at), "+c"(c), "=d"(d));
        if (size && at + size > bytes)
            bytes = at + size;
    }
    return bytes;
}

size_t arch_vectors_frame(const struct arch_vectors *vectors, uint8_t frame[ARCH_VECTORS_BYTES])
{
    uint64_t features;
    memcpy(frame, vectors->bytes, vectors->size);
    memcpy(&features, frame + SOFTWARE_BYTES, sizeof features);
    features &= ~(UINT64_C(1) << FEATURE_TILES);
    const uint32_t size = (uint32_t)frame_bytes(features);
    struct {
        uint32_t magic, extended_size;
        uint64_t features;
        uint32_t size, padding[7];
    } words = {MAGIC1, size + 4, features, size, {0}};
    const uint32_t end = MAGIC2;
    if (size + sizeof end > ARCH_VECTORS_BYTES || size > vectors->size)
        return 0;
    memcpy(frame + SOFTWARE_BYTES, &words, sizeof words);
    memcpy(frame + size, &end, sizeof end);
    return size + sizeof end;
}

/* == Frames of signals == */

void arch_frame_write(const struct arch_remote *remote, uint64_t vectors, uint64_t restarts,
                      uint64_t signal_mask, uint8_t frame[ARCH_FRAME_BYTES])
{
    const struct user_regs_struct *r = of(remote);
    ucontext_t context;
    memset(&context, 0, sizeof context);
    long long *registers = context.uc_mcontext.gregs;
    context.uc_flags = CONTEXT_FLAGS;
    context.uc_stack.ss_flags = STACK_UNCHANGED;
    const struct {
        int number;
        uint64_t value;
    } all[] = {{REG_R8, r->r8},   {REG_R9, r->r9},     {REG_R10, r->r10}, {REG_R11, r->r11},
               {REG_R12, r->r12}, {REG_R13, r->r13},   {REG_R14, r->r14}, {REG_R15, r->r15},
               {REG_RDI, r->rdi}, {REG_RSI, r->rsi},   {REG_RBP, r->rbp}, {REG_RBX, r->rbx},
               {REG_RDX, r->rdx}, {REG_RAX, r->rax},   {REG_RCX, r->rcx}, {REG_RSP, r->rsp},
               {REG_RIP, r->rip}, {REG_EFL, r->eflags}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        registers[all[i].number] = (long long)all[i].value;
    if (restarts)
        registers[REG_RAX] = (long long)restarts;
    registers[REG_CSGSFS] = (long long)(r->cs | r->ss << 48);
    context.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)vectors;
    memcpy(&context.uc_sigmask, &signal_mask, sizeof signal_mask);
    memcpy(frame, &context, ARCH_FRAME_BYTES);
}

bool arch_frame_is_ours(const uint64_t words[ARCH_FRAME_MARK_WORDS])
{
    return words[0] == CONTEXT_FLAGS && !words[1] && !words[2] && words[3] == STACK_UNCHANGED &&
           !words[4];
}

void arch_frame_read(const uint8_t frame[ARCH_FRAME_BYTES], uint64_t *pc, uint64_t *stack,
                     uint64_t *stack_bytes)
{
    ucontext_t context;
    memcpy(&context, frame, ARCH_FRAME_BYTES);
    *pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
    *stack = (uintptr_t)context.uc_stack.ss_sp;
    *stack_bytes = context.uc_stack.ss_size;
}

/* Stack pointer, instruction pointer, flags, and the selectors of code and data. */
bool arch_frame_ends(const uint64_t words[ARCH_FRAME_END_WORDS])
{
    return words[3] == ((uint64_t)DATA_64 << 48 | CODE_64) && words[2] >> 22 == 0 && (words[2] & 2);
}
