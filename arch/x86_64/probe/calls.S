/* What thunks call at entries and exits: the usual case of each, which is most of a probe's cost.
 * The other cases go to probe.c and end.c, which have all cases in C. */
#include "agent/probe/offsets.h"

#define RECORDS 0x440000000000 /* PROBE_RECORDS */
/* It is compiled three times: for functions, for call points (points.S), and for functions that are
 * called outside of the traced modules (outside.S). */
#if !defined(POINTS) && !defined(OUTSIDE)
#define FUNCTIONS
#endif
/* Call points have slots with the lowest bit set, and other records: see thread.h. */
#ifdef POINTS
#define POINT 1
#define THUNKS_BYTES (THUNKS + 32768) * 64 /* with those of call points */
#else
#define POINT 0
#define THUNKS_BYTES THUNKS * 64             /* ARCH_THUNK_BYTES */
#endif
#define TIER_OFF 0
#define TIER_COUNT 1
#define TIER_FULL 4
#define EXTRA_LOG 4
#define EXTRA_WARN 8
#define EXTRA_SPARE 16
#define EXTRA_KEEP 32
#define EXTRA_ARGUMENTS 64
#define EXTRA_STACKS 128
#define EXTRA_HEAP_BYTES 256
#define FAR_WORDS 33 * 64 + 8  /* from the record of a call point: see values.h */
#define WORD_RAX 6             /* PROBE_WORD_RAX */
#define NO_ERROR 0xffff        /* PROBE_NO_ERROR */
#define DEPTH 0x7fffffff       /* enum logged */
#define LOGGED 0x80000000
/* So many bytes of stack must exist below a call, for a probe and for what functions begin with.
 * These bits are 0 in an address so near to the beginning of its page. */
#define EDGE 0xc00
#define RING_MARGIN 256
#define RING_TAIL 64           /* struct probe_ring */
#define RING_UNITS 128         /* PROBE_RING_HEADER */
#define RING_AHEAD 256         /* some calls further on */
#define DEPTH_AT 18            /* probe_log_header */
#define BEGIN_AT 42
#define END_AT 43
#define PLACE_AT 44

        .macro  save register
        push    \register
        .cfi_adjust_cfa_offset 8
        .endm

        .macro  restore register
        pop     \register
        .cfi_adjust_cfa_offset -8
        .endm

/* Names the end of an instruction that holds the offset of a field of struct thread. */
        .macro  field name
        .globl  probe_edge_\name
        .hidden probe_edge_\name
probe_edge_\name:
        .endm

/* The address of the record of a slot: RECORDS + 8 * (slot mod 2^41). */
        .macro  record_of slot, record, scratch
        mov     \slot, \record
        shl     $23, \record
#ifdef POINTS
        btc     $63, \record
#endif
        movabs  $RECORDS, \scratch
        shr     $20, \record
        add     \scratch, \record
        .endm

/* Finds struct thread, whose fields OWN names then. With a table (table.h) the thread's pointer
 * leads to a slot; own_thread goes elsewhere where that is not the thread's, and own_place finds it
 * again. */
#ifdef PROBE_MAPPED
#define OWN(field, at) field(at)
        .macro  own_place at, scratch
        imul    $TABLE_FACTOR, %fs:0, \at
        lea     probe_table(%rip), \scratch
        shr     $32 - TABLE_SLOT_BITS, \at
        and     $((1 << TABLE_BITS) - 1) << TABLE_SLOT_BITS, \at
        add     \scratch, \at
        .endm

        .macro  own_thread at, scratch, half, elsewhere
        own_place \at, \scratch
        mov     %fs:0, \scratch
        cmp     \scratch, SLOT_POINTER(\at)
        jne     \elsewhere
        mov     probe_inside+INSIDE_TID_OFFSET(%rip), \half
        mov     %fs:(\scratch), \half
        cmp     \half, SLOT_TID(\at)
        jne     \elsewhere
        .endm
#else
#define OWN(field, at) %fs:field(at)
        .macro  own_place at, scratch
        mov     probe_thread@gottpoff(%rip), \at
        .endm

        .macro  own_thread at, scratch, half, elsewhere
        own_place \at
        .endm
#endif

        .text
/* Called by a thunk at its entry: no register may change. Sets the carry flag where the body is to
 * be jumped to, with the return address where it was. */
        .globl  probe_enter
        .hidden probe_enter
        .type   probe_enter, @function
        .p2align 6
probe_enter:
        .cfi_startproc
#ifdef FUNCTIONS
        test    $EDGE, %esp
        jz      .Lenter_edge
#else
        testb   %al, -REACHED(%rsp)
#endif
.Lenter_sure:
        save    %r11
        mov     8(%rsp), %r11
        mov     THUNK_NUMBER(%r11), %r11d
        save    %rax
        mov     probe_inside+INSIDE_ALIVE(%rip), %rax
        mov     (%rax), %rax
        test    %rax, %rax
        jz      .Lenter_wiped
        cmpb    $TIER_FULL, SHARED_TIERS(%rax,%r11)
        jne     .Lenter_other
        .cfi_remember_state
        save    %rdx
        save    %rcx
        save    %rsi
        save    %rdi
/* rax: struct probe_shared; rdi: for OWN; rcx: struct probe_stat; rdx: slot */
        own_thread %rdi, %rcx, %ecx, .Lenter_unusual
        mov     SHARED_GENERATION(%rax), %edx
        cmp     OWN(THREAD_GENERATION, %rdi), %edx
        jne     .Lenter_unusual
        test    %edx, %edx                      /* the program may have set it to 0 */
        jz      .Lenter_unusual
        mov     OWN(THREAD_STATS, %rdi), %rcx    /* not before: a handler may begin the thread */
        mov     %r11, %rdx
        shl     $7, %rdx                        /* STAT_BYTES */
        add     %rdx, %rcx
        lea     56+POINT(%rsp), %rdx
/* rsi: the caller's record, whose slot lies above on the thread's own stack */
        mov     OWN(THREAD_INNERMOST, %rdi), %rsi
#ifdef OUTSIDE
        cmpq    $-1, RECORD_BEGIN(%rsi)         /* the root: no function with a probe calls it */
        je      .Lenter_uncalled
#endif
        cmp     OWN(THREAD_LOW, %rdi), %rdx
        jb      .Lenter_unusual
        cmp     RECORD_SLOT(%rsi), %rdx
        jae     .Lenter_unusual
        mov     RECORD_SLOT(%rsi), %rsi
        cmp     OWN(THREAD_HIGH, %rdi), %rsi
        ja      .Lenter_unusual
/* rsi: the record, which must not be in use; rdx: return address, which must not be a thunk's */
        mov     %rdx, %rsi
        shl     $23, %rsi
#ifdef POINTS
        btr     $23, %rsi
        btc     $63, %rsi
#endif
        movabs  $RECORDS, %rdx
        shr     $20, %rsi
        add     %rdx, %rsi
        cmpl    $0, RECORD_SERIAL(%rsi)
        jne     .Lenter_unusual
        lea     probe_thunks(%rip), %rdx
        neg     %rdx
        add     56(%rsp), %rdx
        cmp     $THUNKS_BYTES, %rdx
        jb      .Lenter_unusual
#if defined(POINTS)
        testl   $~EXTRA_HEAP_BYTES, SHARED_EXTRAS(%rax)
        jnz     .Lenter_unusual
#elif defined(OUTSIDE)
        testl   $~(EXTRA_KEEP | EXTRA_ARGUMENTS | EXTRA_WARN | EXTRA_STACKS | EXTRA_HEAP_BYTES), SHARED_EXTRAS(%rax)
        jnz     .Lenter_unusual
#else
        testl   $~(EXTRA_KEEP | EXTRA_HEAP_BYTES), SHARED_EXTRAS(%rax)
        jnz     .Lenter_extra
#endif
/* From here on it is an open call. */
.Lenter_call:
        mov     56(%rsp), %rdx
        lea     56+POINT(%rsp), %r11
        mov     %rdx, RECORD_RETURN_ADDRESS(%rsi)
        mov     %r11, RECORD_SLOT(%rsi)
        mov     OWN(THREAD_INNERMOST, %rdi), %rdx
        mov     SHARED_COST_INSIDE(%rax), %r11d
        movq    $0, RECORD_CHILD_TICKS(%rsi)
        movq    $0, RECORD_PROBE_TICKS(%rsi)
        mov     %rdx, RECORD_PARENT(%rsi)
        mov     %rcx, RECORD_STAT(%rsi)
        mov     STAT_CALLS(%rcx), %rax
        cmp     STAT_ENDED(%rcx), %rax
        jne     .Lenter_recursive
.Lenter_time:
        rdtsc
        shl     $32, %rdx
        add     %r11, %rax
        mov     OWN(THREAD_SERIAL, %rdi), %r11d
        add     %rdx, %rax
        mov     %rax, RECORD_BEGIN(%rsi)
/* In this order, because a signal's handler may leave it here: see settle() in end.c. */
        mov     %rsi, OWN(THREAD_INNERMOST, %rdi)
        incq    STAT_CALLS(%rcx)
        mov     %r11, RECORD_SERIAL(%rsi)       /* and no node */
        restore %rdi
        restore %rsi
        restore %rcx
        restore %rdx
        restore %rax
        restore %r11
        clc
        ret
        .cfi_restore_state
/* Nothing is done; or it is counted, and its cost taken off the caller. */
.Lenter_other:
        cmpb    $TIER_COUNT, SHARED_TIERS(%rax,%r11)
#ifndef POINTS
        jne     .Lenter_less
        .cfi_remember_state
        save    %rdx
        save    %rcx
        own_thread %rdx, %rcx, %ecx, .Lenter_seldom
        mov     SHARED_GENERATION(%rax), %ecx
        cmp     OWN(THREAD_GENERATION, %rdx), %ecx
        jne     .Lenter_seldom
        test    %ecx, %ecx
        jz      .Lenter_seldom
        testl   $EXTRA_LOG | EXTRA_SPARE | EXTRA_STACKS, SHARED_EXTRAS(%rax)
        jnz     .Lenter_seldom
        mov     OWN(THREAD_INNERMOST, %rdx), %rcx
        cmpw    $0, RECORD_PATH(%rcx)
        jne     .Lenter_seldom
        mov     OWN(THREAD_STATS, %rdx), %rcx    /* not before: a handler may begin the thread */
        shl     $7, %r11                        /* STAT_BYTES */
        mov     OWN(THREAD_INNERMOST, %rdx), %rdx
        mov     SHARED_COST_COUNT(%rax), %eax
        incq    STAT_COUNTED(%rcx,%r11)
        mov     RECORD_STAT(%rdx), %rcx
        add     %rax, RECORD_PROBE_TICKS(%rdx)
        incq    STAT_CHILD_COUNTED(%rcx)
        restore %rcx
        restore %rdx
        restore %rax
        restore %r11
        stc
        ret
        .cfi_restore_state
.Lenter_less:
#endif
        .cfi_remember_state
        jb      .Lpass
        save    %rdx
        save    %rcx
.Lenter_seldom:
        save    %rsi
        save    %rdi
        jmp     .Lenter_unusual
        .cfi_restore_state
.Lpass:
        restore %rax
        restore %r11
        stc
        ret
        .cfi_adjust_cfa_offset 16
#ifdef OUTSIDE
        .cfi_adjust_cfa_offset 32
.Lenter_uncalled:
        restore %rdi
        restore %rsi
        restore %rcx
        restore %rdx
        jmp     .Lpass
#endif
/* Perhaps a forked process. */
.Lenter_wiped:
        cmpl    $0, probe_inside+INSIDE_FOLLOWS_FORKS(%rip)
        je      .Lpass
        save    %rdx
        save    %rcx
        save    %rsi
        save    %rdi
        jmp     .Lenter_unusual
.Lenter_recursive:
        incq    STAT_RECURSIVE(%rcx)
        jmp     .Lenter_time
#ifdef FUNCTIONS
#include "arch/x86_64/probe/calls_enter.inc"
#endif
/* Pushes the first six arguments, as the program passed them, for the C part. */
.Lenter_unusual:
        save    %r9
        save    %r8
        mov     %r11d, %edi
        lea     72+POINT(%rsp), %rsi
        mov     %rsp, %rdx
        call    probe_entered
        neg     %eax
        restore %r8
        restore %r9
        restore %rdi
        restore %rsi
        restore %rcx
        restore %rdx
        restore %rax
        restore %r11
        ret
#ifdef FUNCTIONS
#ifdef PROBE_MAPPED
.Lenter_edge:
#else
/* The page below may not exist. The known range is the thread's own, and is found without a
 * register, because there is no room yet to save one: the tracer adds the offset of struct thread
 * to the offsets here (PROBE_FIELDS). */
.Lenter_edge:
        cmp     %fs:THREAD_EDGE_LOW, %rsp
        field   low
        jb      1f
        cmp     %fs:THREAD_EDGE_HIGH, %rsp
        field   high
        jb      .Lenter_sure
1:      lock btsl $0, %fs:THREAD_EDGE_IS_BUSY  /* another thread with the same data may be on another processor */
        field   take
        jc      probe_enter_touch
        mov     %rax, %fs:THREAD_EDGE_RAX
        field   save
        jmp     probe_edge
#endif
/* Where nothing is known the fault is here, and unwinders find their way. */
        .globl  probe_enter_touch
        .hidden probe_enter_touch
probe_enter_touch:
        testb   %al, -REACHED(%rsp)
        jmp     .Lenter_sure
#endif
        .cfi_endproc
        .size   probe_enter, . - probe_enter

/* Called by a thunk at its exit: only r11 may change, not even the flags, because assembly code
 * returns results in them. Writes the return address to its slot before the record leaves the
 * chain, so it is always in one of the two. */
        .globl  probe_leave
        .hidden probe_leave
        .type   probe_leave, @function
        .p2align 6
probe_leave:
        .cfi_startproc
        save    %rax
        lahf
        seto    %al
        save    %rax
        save    %rdx
        cmpb    $0, probe_inside+INSIDE_LOSES_CLOCK(%rip)
        jne     .Lleave_no_clock
        rdtsc
        save    %rcx
        save    %rsi
        save    %rdi
        shl     $32, %rdx
        or      %rdx, %rax
/* rax: now; rsi: the record; r11: struct probe_shared; rdi: struct probe_stat */
        lea     64(%rsp), %rdx
        record_of %rdx, %rsi, %rcx
        mov     probe_inside+INSIDE_ALIVE(%rip), %r11
        own_thread %rdi, %rcx, %ecx, .Lleave_unusual
        mov     (%r11), %r11
        test    %r11, %r11
        jz      .Lleave_unusual
        mov     SHARED_GENERATION(%r11), %ecx
        cmp     OWN(THREAD_INNERMOST, %rdi), %rsi
        jne     .Lleave_unusual
        cmp     OWN(THREAD_GENERATION, %rdi), %ecx
        jne     .Lleave_unusual
        mov     RECORD_PARENT(%rsi), %rdx
        mov     SHARED_CLEARED(%r11), %rcx
        cmp     %rcx, RECORD_BEGIN(%rsi)
        jb      .Lleave_unusual
        cmp     %rcx, RECORD_BEGIN(%rdx)
        jb      .Lleave_unusual
        cmp     SHARED_LEASE(%r11), %rax
        ja      .Lleave_unusual
        cmpw    $0, RECORD_PATH(%rsi)           /* extras of now may have no paths any more */
        jne     .Lleave_unusual
        cmpw    $0, RECORD_PATH(%rdx)
        jne     .Lleave_unusual
#if defined(POINTS)
        testl   $EXTRA_WARN | EXTRA_KEEP, SHARED_EXTRAS(%r11)
        jnz     .Lleave_unusual
#elif defined(OUTSIDE)
        cmpq    $0, OWN(THREAD_ALLOCATOR_SLOT, %rdi)    /* it may have jumped to an allocator */
        jne     .Lleave_unusual
#else
        testl   $EXTRA_WARN | EXTRA_KEEP | EXTRA_HEAP_BYTES, SHARED_EXTRAS(%r11)
        jnz     .Lleave_keep
.Lleave_unkept:
#endif
        cmpl    $0, RECORD_NODE(%rsi)
#ifdef FUNCTIONS
        jne     .Lleave_extra
#else
        jne     .Lleave_unusual
#endif
#ifdef OUTSIDE
/* Its own time is its caller's time outside: a word by function behind all stats. r8: the word's
 * offset. The caller's figures may be of an earlier trace, as below. */
        save    %r8
        mov     RECORD_STAT(%rdx), %r8
        mov     probe_inside+INSIDE_FUNCTION_COUNT(%rip), %ecx
        sub     OWN(THREAD_STATS, %rdi), %r8
        shr     $4, %r8
        shl     $3, %rcx
        cmp     %rcx, %r8
        ja      1f
        add     OWN(THREAD_ROOT+RECORD_STAT, %rdi), %r8
        mov     %rax, %rcx
        sub     RECORD_BEGIN(%rsi), %rcx
        sub     RECORD_CHILD_TICKS(%rsi), %rcx
        sub     RECORD_PROBE_TICKS(%rsi), %rcx
        add     %rcx, STAT_BYTES(%r8)
1:      restore %r8
#endif
.Lleave_figures:
/* The call before goes into its bucket only now: a bucket whose address is not known yet would hold
 * up all that follows. */
        mov     OWN(THREAD_PENDING, %rdi), %rcx
        add     OWN(THREAD_STATS, %rdi), %rcx
        incl    (%rcx)
        mov     RECORD_STAT(%rsi), %rdi
        sub     RECORD_BEGIN(%rsi), %rax
        movl    $0, RECORD_SERIAL(%rsi)
        mov     SHARED_COST_WHOLE(%r11), %ecx
/* rax: ticks, then without the cost of probes; r11: that cost; rdx: the caller's record */
        mov     RECORD_PROBE_TICKS(%rsi), %r11
        add     %r11, %rcx
        add     %rcx, RECORD_PROBE_TICKS(%rdx)
        mov     RECORD_CHILD_TICKS(%rsi), %rcx
        sub     %r11, %rax
#ifdef POINTS
        add     %rcx, RECORD_CHILD_TICKS(%rdx) /* the rest is the caller's own */
#else
        add     %rax, RECORD_CHILD_TICKS(%rdx)
#endif
        sub     %rax, %rcx
        sub     %rcx, STAT_SELF(%rdi)
        mov     RECORD_STAT(%rdx), %rcx
        incq    STAT_ENDED(%rdi)
        incq    STAT_CHILD_CALLS(%rcx)
        mov     STAT_ENDED(%rdi), %rcx
        cmp     STAT_CALLS(%rdi), %rcx
        jne     .Lleave_length
        add     %rax, STAT_TOTAL(%rdi)
        add     %r11, STAT_PROBE_TICKS(%rdi)
.Lleave_length:
/* rax: not below zero */
        xor     %ecx, %ecx
        test    %rax, %rax
        cmovs   %rcx, %rax
        mov     %rax, %r11
        not     %r11
        cmp     STAT_MIN_MASK(%rdi), %r11
        ja      .Lleave_min
.Lleave_max:
        cmp     STAT_MAX(%rdi), %rax
        ja      .Lleave_set_max
/* The bucket: 2 (octave - 4) and the bit below the highest, from 0 to 63. */
.Lleave_bucket:
        mov     $16, %ecx
        cmp     %rcx, %rax
        cmovb   %rcx, %rax
        bsr     %rax, %rcx
        dec     %ecx
        shr     %cl, %rax
        lea     -8(%rax,%rcx,2), %eax
        cmp     $63, %eax
        ja      .Lleave_longest
.Lleave_count:
/* rcx: for OWN; r11: struct probe_shared; rax: offset of the bucket in the slab. A histogram is
 * twice as long as a stat, and one place further on. Where a signal's handler interrupted all this
 * during another trace, rdi is of that one's memory, and the difference is anything: the mask keeps
 * it within this one's. */
        own_place %rcx, %r11
        mov     probe_inside+INSIDE_SHARED(%rip), %r11
        sub     OWN(THREAD_STATS, %rcx), %rdi
        lea     STAT_BYTES(%rdi,%rax,2), %rax
        add     %rax, %rax
        and     SHARED_HISTOGRAMS(%r11), %rax
        mov     OWN(THREAD_ROOT+RECORD_STAT, %rcx), %r11
        add     OWN(THREAD_HISTOGRAMS, %rcx), %rax
        mov     %rax, STAT_PENDING(%r11)
        mov     %rax, OWN(THREAD_PENDING, %rcx)
        mov     RECORD_RETURN_ADDRESS(%rsi), %rax
        mov     %rax, 64(%rsp)
        mov     %rdx, OWN(THREAD_INNERMOST, %rcx)
.Lleave_restore:
        restore %rdi
        restore %rsi
        restore %rcx
        restore %rdx
        restore %rax
        add     $0x7f, %al
        sahf
        .cfi_remember_state
        restore %rax
        ret
        .cfi_restore_state
        .cfi_adjust_cfa_offset 40
#ifdef FUNCTIONS
/* It is in the log, or too deep for it, or had no room. */
.Lleave_extra:
        js      .Lleave_log
        cmpl    $EXTRA_LOG, SHARED_EXTRAS(%r11)
        je      .Lleave_figures
#endif
.Lleave_unusual:
        mov     %rax, %rdi
        mov     RECORD_RETURN_ADDRESS(%rsi), %rax
        mov     %rax, 64(%rsp)
        lea     64+POINT(%rsp), %rsi
        call    probe_left
        mov     %rax, 64(%rsp)
        jmp     .Lleave_restore
/* Perhaps the thread has lost the counter: its open calls have gone back to their callers, but for
 * those of suspended coroutines. */
.Lleave_no_clock:
        .cfi_adjust_cfa_offset -24
        save    %rcx
        save    %rsi
        save    %rdi
        lea     64(%rsp), %rdx
        record_of %rdx, %rsi, %rcx
        xor     %eax, %eax
        jmp     .Lleave_unusual
.Lleave_min:
        mov     %r11, STAT_MIN_MASK(%rdi)
        jmp     .Lleave_max
.Lleave_set_max:
        mov     %rax, STAT_MAX(%rdi)
        jmp     .Lleave_bucket
.Lleave_longest:
        mov     $63, %eax
        jmp     .Lleave_count
#ifdef FUNCTIONS
#include "arch/x86_64/probe/calls_leave.inc"
#endif
        .cfi_endproc
        .size   probe_leave, . - probe_leave

#ifdef FUNCTIONS
/* Does nothing, and calls as many others below it as probe_below says, each below the one before:
 * for calibration. */
        .globl  probe_nothing
        .hidden probe_nothing
        .type   probe_nothing, @function
        .p2align 4
probe_nothing:
        .cfi_startproc
        cmpl    $0, probe_below(%rip)
        jne     1f
        ret
1:      decl    probe_below(%rip)
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    *probe_called(%rip)
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   probe_nothing, . - probe_nothing
#endif

        .section .rodata
        .p2align 3
.Lzero: .quad   0

        .section .note.GNU-stack, "", @progbits
