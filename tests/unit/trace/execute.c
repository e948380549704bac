/* Executes code with given registers: the way in and the way out, which touch no flag on the way.
 */
#include "tests/unit/trace/execute.h"

#include <string.h>

/* Used by the assembly below only. */
struct execute_state execute_in __attribute__((visibility("hidden")));
struct execute_state execute_out __attribute__((visibility("hidden")));
uint64_t execute_host_sp __attribute__((visibility("hidden")));
const void *execute_code __attribute__((visibility("hidden")));
void execute_enter(void) __attribute__((visibility("hidden")));
void execute_leave(void) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".hidden execute_enter\n"
        "execute_enter:\n"
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, execute_host_sp(%rip)\n"
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

void execute(const struct execute_state *in, struct execute_state *out, const void *code)
{
    execute_in = *in;
    execute_code = code;
    execute_enter();
    *out = execute_out;
    out->flags &= EXECUTE_FLAGS;
}
