/* Go's function table, .gopclntab: for each function the distance of the stack pointer from where
 * it stood on entry, by program counter. Formats of Go 1.2, 1.16, 1.18 and 1.20 (Go's debug/gosym).
 */
#ifndef SPROF_UNWIND_GOPCLNTAB_H
#define SPROF_UNWIND_GOPCLNTAB_H

#include "base/base.h"
#include "unwind/cfi.h"

struct go_table {
    struct sprof_bytes bytes;
    uint64_t text; /* what function addresses count from; 0 where they are absolute */
    size_t functions;
    size_t functab, names, pctab; /* offsets; entries of functab point from `functab_base` */
    size_t functab_base;
    uint8_t entry_size; /* of an address in functab and in a function's record */
    uint8_t quantum;
    size_t flag_offset; /* of the flags in a function's record, 0 where there are none */
    int64_t
        cgocall_depth; /* how deep runtime.cgocall's stack is where it calls; 0: it is not there */
};

struct go_function {
    uint64_t start, end; /* vaddr */
    uint32_t pcsp;       /* offset into pctab of the table of stack depths; 0: none, it is C's */
    bool root;           /* no caller: the start of a goroutine or of a thread */
    bool signal_return;  /* the trampoline that handlers return to */
    bool switches_stack; /* writes the stack pointer in ways that the table of depths does not show
                          */
    bool leaves_stack; /* runs, on the thread's own stack, what its caller passes, without a frame:
                          it leaves the frame pointer as it was. Only its name shows it */
    /* Of a function that switches stacks and leaves the frame pointer as its only caller had it:
     * how deep that caller's stack is where it calls. 0: there is no such caller. */
    int64_t caller_depth;
};

/* `text_vaddr` serves where the table does not name its text. Returns 0 or SPROF_EFORMAT. */
int unwind_go_table_open(struct go_table *table, struct sprof_bytes bytes, uint64_t text_vaddr);

/* Returns 0 or SPROF_EFORMAT. */
int unwind_go_table_function(const struct go_table *table, size_t index,
                             struct go_function *function);

/* Reports the function's rows. Returns 0 or SPROF_EFORMAT; rows before the fault are reported. */
int unwind_go_table_rows(const struct go_table *table, const struct go_function *function,
                         uint64_t end, cfi_row_fn *row, void *context);

#endif
