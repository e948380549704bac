/* Kernels as libraries for matrices and pictures write them by hand: without tables, thousands of
 * instructions long, on a stack that they align. One keeps the stack pointer in rbx, one on the
 * aligned stack, one in a word above its locals. */
#include "hard.h"

void in_rbx(long turns);
void on_stack(long turns);
void above_locals(long turns);

__asm__(".text\n"
        ".macro body\n"
        "1:\n"
        ".rept 3000\n"
        "imul $3, %rax, %rax\n"
        ".endr\n"
        "dec %rdi\n"
        "jnz 1b\n"
        ".endm\n"
        ".type in_rbx, @function\n"
        "in_rbx:\n"
        "sub $0x60, %rsp\n"
        "mov %rbx, (%rsp)\n"
        "mov %rbp, 8(%rsp)\n"
        "mov %rsp, %rbx\n"
        "sub $0x2080, %rsp\n"
        "and $-4096, %rsp\n"
        "mov %rdi, %rbp\n"
        "body\n"
        "mov %rbx, %rsp\n"
        "mov (%rsp), %rbx\n"
        "mov 8(%rsp), %rbp\n"
        "add $0x60, %rsp\n"
        "ret\n"
        ".size in_rbx, . - in_rbx\n"
        ".type on_stack, @function\n"
        "on_stack:\n"
        "push %rbp\n"
        "mov %rsp, %rax\n"
        "sub $8, %rsp\n"
        "and $-32, %rsp\n"
        "mov %rax, (%rsp)\n"
        "mov %rsp, %rbp\n"
        "sub $256, %rsp\n"
        "body\n"
        "mov %rbp, %rsp\n"
        "pop %rsp\n"
        "pop %rbp\n"
        "ret\n"
        ".size on_stack, . - on_stack\n"
        ".type above_locals, @function\n"
        "above_locals:\n"
        "mov %rsp, %rax\n"
        "sub $0x90, %rsp\n"
        "and $-64, %rsp\n"
        "mov %rax, 0x48(%rsp)\n"
        "body\n"
        "mov 0x48(%rsp), %rsp\n"
        "ret\n"
        ".size above_locals, . - above_locals\n");

NOINLINE static void middle(long turns)
{
    in_rbx(turns);
    on_stack(turns);
    above_locals(turns);
    NO_TAIL_CALL();
}

int main(void)
{
    for (int i = 0; i < 40; i++)
        middle(1500);
    return 0;
}
