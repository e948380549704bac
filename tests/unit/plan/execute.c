/* Executes code with given registers: the way in and the way out, which touch no flag on the way.
 */
#include "tests/unit/plan/execute.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* Used by the assembly below only. */
struct execute_state execute_in __attribute__((visibility("hidden")));
struct execute_state execute_out __attribute__((visibility("hidden")));
uint64_t execute_host_sp __attribute__((visibility("hidden")));
const void *execute_code __attribute__((visibility("hidden")));
void execute_enter(void) __attribute__((visibility("hidden")));
void execute_leave(void) __attribute__((visibility("hidden")));
void execute_return(void) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".hidden execute_enter\n"
        "execute_enter:\n"
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, execute_host_sp(%rip)\n"
        "movups execute_in+144(%rip), %xmm0\nmovups execute_in+160(%rip), %xmm1\n"
        "movups execute_in+176(%rip), %xmm2\nmovups execute_in+192(%rip), %xmm3\n"
        "movups execute_in+208(%rip), %xmm4\nmovups execute_in+224(%rip), %xmm5\n"
        "movups execute_in+240(%rip), %xmm6\nmovups execute_in+256(%rip), %xmm7\n"
        "movups execute_in+272(%rip), %xmm8\nmovups execute_in+288(%rip), %xmm9\n"
        "movups execute_in+304(%rip), %xmm10\nmovups execute_in+320(%rip), %xmm11\n"
        "movups execute_in+336(%rip), %xmm12\nmovups execute_in+352(%rip), %xmm13\n"
        "movups execute_in+368(%rip), %xmm14\nmovups execute_in+384(%rip), %xmm15\n"
        "pushq execute_in+128(%rip)\n"
        "popfq\n"
        "mov execute_in+0(%rip), %rax\nmov execute_in+8(%rip), %rcx\n"
        "mov execute_in+16(%rip), %rdx\nmov execute_in+24(%rip), %rbx\n"
        "mov execute_in+32(%rip), %rsp\nmov execute_in+40(%rip), %rbp\n"
        "mov execute_in+48(%rip), %rsi\nmov execute_in+56(%rip), %rdi\n"
        "mov execute_in+64(%rip), %r8\nmov execute_in+72(%rip), %r9\n"
        "mov execute_in+80(%rip), %r10\nmov execute_in+88(%rip), %r11\n"
        "mov execute_in+96(%rip), %r12\nmov execute_in+104(%rip), %r13\n"
        "mov execute_in+112(%rip), %r14\nmov execute_in+120(%rip), %r15\n"
        "jmp *execute_code(%rip)\n"
        ".hidden execute_leave\n"
        "execute_leave:\n" /* the number of the exit is on the stack */
        "mov %rax, execute_out+0(%rip)\n"
        "pop %rax\n"
        "mov %rax, execute_out+136(%rip)\n"
        "mov %rsp, execute_out+32(%rip)\n"
        "mov execute_host_sp(%rip), %rsp\n"
        "pushfq\npopq execute_out+128(%rip)\n"
        "mov %rcx, execute_out+8(%rip)\nmov %rdx, execute_out+16(%rip)\n"
        "mov %rbx, execute_out+24(%rip)\nmov %rbp, execute_out+40(%rip)\n"
        "mov %rsi, execute_out+48(%rip)\nmov %rdi, execute_out+56(%rip)\n"
        "mov %r8, execute_out+64(%rip)\nmov %r9, execute_out+72(%rip)\n"
        "mov %r10, execute_out+80(%rip)\nmov %r11, execute_out+88(%rip)\n"
        "mov %r12, execute_out+96(%rip)\nmov %r13, execute_out+104(%rip)\n"
        "mov %r14, execute_out+112(%rip)\nmov %r15, execute_out+120(%rip)\n"
        "movups %xmm0, execute_out+144(%rip)\nmovups %xmm1, execute_out+160(%rip)\n"
        "movups %xmm2, execute_out+176(%rip)\nmovups %xmm3, execute_out+192(%rip)\n"
        "movups %xmm4, execute_out+208(%rip)\nmovups %xmm5, execute_out+224(%rip)\n"
        "movups %xmm6, execute_out+240(%rip)\nmovups %xmm7, execute_out+256(%rip)\n"
        "movups %xmm8, execute_out+272(%rip)\nmovups %xmm9, execute_out+288(%rip)\n"
        "movups %xmm10, execute_out+304(%rip)\nmovups %xmm11, execute_out+320(%rip)\n"
        "movups %xmm12, execute_out+336(%rip)\nmovups %xmm13, execute_out+352(%rip)\n"
        "movups %xmm14, execute_out+368(%rip)\nmovups %xmm15, execute_out+384(%rip)\n"
        ".hidden execute_return\n"
        "execute_return:\n"
        "cld\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"
        "ret\n");

/* push $number; jmp *2f(%rip); the address behind it. */
void execute_write_exit(uint8_t *code, uint8_t number)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    void (*const leave)(void) = execute_leave;
    code[0] = 0x6a;
    code[1] = number;
    memcpy(code + 2, jump, sizeof jump);
    memcpy(code + 8, &leave, sizeof leave);
}

/* == Faults == */

static volatile sig_atomic_t is_inside;
static struct sigaction before[NSIG];

static void take_registers(const ucontext_t *context)
{
    static const uint8_t order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                    REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *registers = context->uc_mcontext.gregs;
    for (size_t i = 0; i < sizeof order; i++)
        execute_out.registers[i] = (uint64_t)registers[order[i]];
    execute_out.flags = (uint64_t)registers[REG_EFL];
    execute_out.ip = (uint64_t)registers[REG_RIP];
    memcpy(execute_out.vectors, context->uc_mcontext.fpregs->_xmm, sizeof execute_out.vectors);
}

/* Goes on as if the code had come out. Faults of others go to who was there before. */
static void on_fault(int signal, siginfo_t *info, void *data)
{
    enum { CLEAN_FLAGS = 0x202 };
    void (*const back)(void) = execute_return;
    ucontext_t *context = data;
    (void)info;
    if (!is_inside) {
        sigaction(signal, &before[signal], NULL);
        return;
    }
    take_registers(context);
    execute_out.exit = EXECUTE_FAULT;
    execute_out.signal = (uint64_t)signal;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)execute_host_sp;
    context->uc_mcontext.gregs[REG_EFL] = CLEAN_FLAGS;
    memcpy(&context->uc_mcontext.gregs[REG_RIP], &back, sizeof back);
}

bool execute_catch_faults(void)
{
    static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    static uint8_t stack[1 << 16];
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigfillset(&action.sa_mask);
    if (sigaltstack(&other, NULL))
        return false;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        if (sigaction(caught[i], &action, &before[caught[i]]))
            return false;
    return true;
}

void execute(const struct execute_state *in, struct execute_state *out, const void *code)
{
    execute_in = *in;
    execute_out = (struct execute_state){0};
    execute_code = code;
    __asm__ volatile("fninit");
    is_inside = 1;
    execute_enter();
    is_inside = 0;
    __asm__ volatile("fninit");
    *out = execute_out;
    out->flags &= EXECUTE_FLAGS;
}
