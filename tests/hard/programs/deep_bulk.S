/* The bulk of a large library: BULK functions that nobody calls, with the call frame information of ordinary
 * ones, 480 bytes each. */
    .text
.rept BULK
    .p2align 4
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    push %rbx
    .cfi_def_cfa_offset 24
    .cfi_offset 3, -24
    sub $200, %rsp
    .cfi_def_cfa_offset 224
    .skip 430, 0x90
    add $200, %rsp
    .cfi_def_cfa_offset 24
    pop %rbx
    .cfi_def_cfa_offset 16
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
.endr
    .section .note.GNU-stack,"",@progbits
