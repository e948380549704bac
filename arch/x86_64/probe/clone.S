/* Begins a thread: probe_clone(flags, stack, thread pointer, function). Returns what clone(2)
 * returned. The thread ends with the function. */
        .text
        .globl  probe_clone
        .hidden probe_clone
        .type   probe_clone, @function
        .p2align 4
probe_clone:
        .cfi_startproc
        mov     %rdx, %r8
        mov     %rcx, %r9
        xor     %edx, %edx
        xor     %r10d, %r10d
        mov     $56, %eax               /* SYS_clone */
        syscall
        test    %rax, %rax
        jz      1f
        ret
        .cfi_undefined rip
1:      xor     %ebp, %ebp
        and     $-16, %rsp
        call    *%r9
        mov     $60, %eax               /* SYS_exit */
        xor     %edi, %edi
        syscall
        ud2
        .cfi_endproc
        .size   probe_clone, . - probe_clone

        .section .note.GNU-stack, "", @progbits
