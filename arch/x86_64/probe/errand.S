/* Runs in a borrowed thread: makes system calls that the tracer has written onto its stack, and
 * then goes on as before. It needs the tracer no more, which may end at any time.
 *
 * On the stack, from its pointer upwards: calls of seven words each (the number, six arguments),
 * -1, the registers r15 … rax as popped below, and what iretq takes: rip, cs, flags, rsp, ss. */
        .text
        .globl  probe_errand
        .hidden probe_errand
        .type   probe_errand, @function
        .p2align 4
probe_errand:
        pop     %rax
        cmp     $-1, %rax
        je      1f
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %r10
        pop     %r8
        pop     %r9
        syscall
        jmp     probe_errand
1:      pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        pop     %r11
        pop     %r10
        pop     %r9
        pop     %r8
        pop     %rcx
        pop     %rdx
        pop     %rsi
        pop     %rdi
        pop     %rax
        iretq
        .size   probe_errand, . - probe_errand

        .section .note.GNU-stack, "", @progbits
