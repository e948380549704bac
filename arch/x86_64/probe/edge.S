/* Where the stack may end below a call. A probe must not run out of it, because the program's
 * handler of that fault examines where it happened. The kernel says whether the page exists. Where
 * it does not, the fault happens here, and a handler in between gives it to the program's as of the
 * function's first instruction.
 *
 * Not with a table (table.h): no thread finds its slot there without a register. */
#ifndef PROBE_MAPPED
#include "agent/probe/offsets.h"

#define SIGSEGV 11
#define HANDLED 0x400          /* SIGSEGV, in a mask */
#define SA_NODEFER 0x40000000
#define SA_RESETHAND 0x80000000
#define SET_BYTES 8
#define NO_SUCH_WAY -1         /* not a way to change a signal mask: refused after the mask was read */
#define SIG_BLOCK 0
#define SIG_SETMASK 2
#define EFAULT -14
#define EINVAL -22
#define SYS_RT_SIGACTION 13
#define SYS_RT_SIGPROCMASK 14
#define SYS_SCHED_YIELD 24
#define YIELDS 1000
#define PAGE 4096
/* The main thread's stack ends at its limit; no check is made this far above. */
#define NEAR_END 0x40000
/* struct sigaction of the kernel */
#define FLAGS 8
#define RESTORER 16
#define MASK 24
/* struct ucontext */
#define UC_R11 64
#define UC_SP 160
#define UC_PC 168
#define UC_MASK 296

/* Restores the saved registers but r11; rax: offset of struct thread. */
        .macro  give_back
        mov     probe_thread@gottpoff(%rip), %rax
        mov     %fs:THREAD_EDGE_RCX(%rax), %rcx
        mov     %fs:THREAD_EDGE_RDX(%rax), %rdx
        mov     %fs:THREAD_EDGE_RSI(%rax), %rsi
        mov     %fs:THREAD_EDGE_RDI(%rax), %rdi
        mov     %fs:THREAD_EDGE_R10(%rax), %r10
        .endm

        .macro  ask number
        mov     $SET_BYTES, %r10d
        mov     $\number, %eax
        syscall
        .endm

        .bss
        .p2align 3
/* For the one thread that is at its stack's end. */
is_taken:
        .skip   8
mask:   .skip   8              /* the mask before; it is another one while a fault is awaited */
handler:
        .skip   32             /* the program's handler */
action: .skip   32             /* the same with another function */
        .section .rodata
        .p2align 3
others: .quad   ~(HANDLED | 0xd8) /* all but SIGSEGV, SIGBUS, SIGILL, SIGTRAP and SIGFPE */

        .text
/* Jumped to by probe_enter, where the stack pointer is below the return address into the thunk, with
 * rax saved. Changes no register. */
        .globl  probe_edge
        .hidden probe_edge
        .type   probe_edge, @function
        .p2align 4
probe_edge:
        .cfi_startproc
        mov     probe_thread@gottpoff(%rip), %rax
        mov     %rcx, %fs:THREAD_EDGE_RCX(%rax)
        mov     %rdx, %fs:THREAD_EDGE_RDX(%rax)
        mov     %rsi, %fs:THREAD_EDGE_RSI(%rax)
        mov     %rdi, %fs:THREAD_EDGE_RDI(%rax)
        mov     %r10, %fs:THREAD_EDGE_R10(%rax)
        mov     %r11, %fs:THREAD_EDGE_R11(%rax)
/* rdx: the lowest end of its stack; rsi: its beginning */
        mov     %rsp, %rcx
        mov     %fs:THREAD_LOW(%rax), %rdx
        mov     %fs:THREAD_HIGH(%rax), %rsi
        sub     %rdx, %rcx
        mov     %rsi, %rdi
        sub     %rdx, %rdi
        cmp     %rdi, %rcx
        jae     .Ldone
        cmp     probe_inside+INSIDE_STACK_LOW(%rip), %rdx
        jne     .Lask
        mov     probe_inside+INSIDE_STACK_END(%rip), %rdx
        add     $NEAR_END, %rdx
        cmp     %rdx, %rsp
        jb      .Lask
        mov     %rsi, %fs:THREAD_EDGE_HIGH(%rax)
        mov     %rdx, %fs:THREAD_EDGE_LOW(%rax)
        jmp     .Ldone
.Lask:
        mov     $NO_SUCH_WAY, %edi
        mov     %rsp, %rsi
        and     $-PAGE, %rsi
        sub     $8, %rsi
        xor     %edx, %edx
        ask     SYS_RT_SIGPROCMASK
        mov     probe_thread@gottpoff(%rip), %rcx
        cmp     $EFAULT, %rax
        je      .Lend
        cmp     $EINVAL, %rax
        jne     .Ldone
/* Not where the stack has ended before: the program may protect that page again. */
        add     $8, %rsi
        cmp     %fs:THREAD_EDGE_FLOOR(%rcx), %rsi
        jbe     .Ldone
        mov     %fs:THREAD_HIGH(%rcx), %rdx
        mov     %rdx, %fs:THREAD_EDGE_HIGH(%rcx)
        mov     %rsi, %fs:THREAD_EDGE_LOW(%rcx)
.Ldone:
        clc
.Lleave:
        give_back
        mov     %fs:THREAD_EDGE_R11(%rax), %r11
        mov     %fs:THREAD_EDGE_RAX(%rax), %rax
        movl    $0, %fs:THREAD_EDGE_IS_BUSY
        .globl  probe_edge_give
        .hidden probe_edge_give
probe_edge_give:
        jnc     probe_enter_touch
        ret

/* The stack ends here. A call that has room, but its probe perhaps not, is not measured. */
.Lend:
        add     $8, %rsi
        cmp     %fs:THREAD_EDGE_FLOOR(%rcx), %rsi
        jbe     1f
        mov     %rsi, %fs:THREAD_EDGE_FLOOR(%rcx)
1:      mov     (%rsp), %rdx
        mov     %rsp, %rdi
        sub     %rsi, %rdi
        cmp     $REACHED - 8, %rdi
        jb      .Lfault
        mov     THUNK_NUMBER(%rdx), %edx
        mov     probe_inside+INSIDE_ALIVE(%rip), %rcx
        mov     (%rcx), %rcx
        test    %rcx, %rcx
        jz      1f
        cmpb    $0, SHARED_TIERS(%rcx,%rdx)
        jle     1f                              /* TIER_OFF, or PROBE_QUIET */
        lock incq SHARED_BEYOND(%rcx,%rdx,8)
        movl    $1, SHARED_HAS_ENDS(%rcx)
1:      stc
        jmp     .Lleave
/* Without a handler the program ends as it would. */
.Lfault:
        cmpq    $0, THUNK_SITE(%rdx)
        je      .Ldone
        mov     $YIELDS, %edx
2:      xor     %eax, %eax
        mov     $1, %edi
        lock cmpxchg %edi, is_taken(%rip)
        je      3f
        dec     %edx
        jz      .Ldone
        mov     $SYS_SCHED_YIELD, %eax
        syscall
        jmp     2b
3:      mov     $SIG_BLOCK, %edi
        lea     others(%rip), %rsi
        lea     mask(%rip), %rdx
        ask     SYS_RT_SIGPROCMASK
        mov     $SIGSEGV, %edi
        xor     %esi, %esi
        lea     handler(%rip), %rdx
        ask     SYS_RT_SIGACTION
        test    %rax, %rax
        jnz     .Lundo
        cmpq    $1, handler(%rip)               /* SIG_IGN; SIG_DFL is 0 */
        jbe     .Lundo
/* The same with another function. */
        lea     probe_edge_handler(%rip), %rdx
        mov     %rdx, action(%rip)
        mov     handler+FLAGS(%rip), %rdx
        mov     %rdx, action+FLAGS(%rip)
        mov     handler+RESTORER(%rip), %rdx
        mov     %rdx, action+RESTORER(%rip)
        mov     handler+MASK(%rip), %rdx
        mov     %rdx, action+MASK(%rip)
        mov     $SIGSEGV, %edi
        lea     action(%rip), %rsi
        xor     %edx, %edx
        ask     SYS_RT_SIGACTION
        test    %rax, %rax
        jnz     .Lundo
        give_back
        mov     %fs:THREAD_EDGE_RAX(%rax), %rax
        mov     %rsp, %r11
        and     $-PAGE, %r11
fault:  orb     $0, -8(%r11)
/* The page exists by now. */
        mov     $SIGSEGV, %edi
        lea     handler(%rip), %rsi
        xor     %edx, %edx
        ask     SYS_RT_SIGACTION
.Lundo:
        mov     $SIG_SETMASK, %edi
        lea     mask(%rip), %rsi
        xor     %edx, %edx
        ask     SYS_RT_SIGPROCMASK
        movl    $0, is_taken(%rip)
        jmp     .Ldone
        .cfi_endproc
        .size   probe_edge, . - probe_edge

/* The handler for that one fault. A fault of another thread meanwhile goes to the program's
 * handler. */
        .type   probe_edge_handler, @function
        .p2align 4
probe_edge_handler:
        .cfi_startproc
        lea     fault(%rip), %rax
        cmp     %rax, UC_PC(%rdx)
        jne     1f
        mov     UC_SP(%rdx), %rcx
        mov     (%rcx), %rax
        add     $8, %rcx
        mov     THUNK_SITE(%rax), %rax
        mov     %rcx, UC_SP(%rdx)
        mov     %rax, UC_PC(%rdx)
        mov     probe_thread@gottpoff(%rip), %rcx
        mov     %fs:THREAD_EDGE_R11(%rcx), %rax
        mov     %rax, UC_R11(%rdx)
        movl    $0, %fs:THREAD_EDGE_IS_BUSY(%rcx)
        mov     mask(%rip), %rax
        mov     %rax, UC_MASK(%rdx)
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        push    %rdx
        .cfi_adjust_cfa_offset 8
        push    handler(%rip)
        .cfi_adjust_cfa_offset 8
/* The mask with which the program's handler runs. */
        or      handler+MASK(%rip), %rax
        testl   $SA_NODEFER, handler+FLAGS(%rip)
        jnz     2f
        or      $HANDLED, %rax
2:      push    %rax
        .cfi_adjust_cfa_offset 8
        testl   $SA_RESETHAND, handler+FLAGS(%rip)
        jnz     3f
        mov     $SIGSEGV, %edi
        lea     handler(%rip), %rsi
        xor     %edx, %edx
        ask     SYS_RT_SIGACTION
3:      movl    $0, is_taken(%rip)
        mov     $SIG_SETMASK, %edi
        mov     %rsp, %rsi
        xor     %edx, %edx
        ask     SYS_RT_SIGPROCMASK
        pop     %rax
        .cfi_adjust_cfa_offset -8
        pop     %rax
        .cfi_adjust_cfa_offset -8
        pop     %rdx
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
1:      jmp     *handler(%rip)
        .cfi_endproc
        .size   probe_edge_handler, . - probe_edge_handler

/* Where the tracer writes the offsets of these fields from the thread pointer: four bytes, so many
 * before the end of the instruction (struct probe_field). */
        .macro  field name, behind, offset
        .long   probe_edge_\name - \behind - 4 - probe_edge_fields
        .long   \offset
        .endm
        .section .rodata
        .p2align 2
        .globl  probe_edge_fields
        .hidden probe_edge_fields
probe_edge_fields:
        field   low, 0, THREAD_EDGE_LOW
        field   high, 0, THREAD_EDGE_HIGH
        field   take, 1, THREAD_EDGE_IS_BUSY
        field   save, 0, THREAD_EDGE_RAX
        field   give, 4, THREAD_EDGE_IS_BUSY
#endif

        .section .note.GNU-stack, "", @progbits
