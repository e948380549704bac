/* Call frame information as it stands in .eh_frame and .debug_frame (DWARF 5 section 6.4; Linux
 * Standard Base 5.0 core, "Exception Frames"): CIEs, FDEs and their CFA programs. */
#ifndef SPROF_UNWIND_CFI_H
#define SPROF_UNWIND_CFI_H

#include "base/base.h"
#include "unwind/unwind.h"

#include <stdbool.h>

/* == Encoded pointers == */

#define CFI_PE_OMIT 0xff
#define CFI_PE_INDIRECT 0x80

/* The addresses that an encoded pointer may count from. */
struct cfi_bases {
    uint64_t section; /* vaddr of the first byte of the section */
    uint64_t text, data, function;
};

/* Reads one pointer of an encoding (DW_EH_PE_…); fails the reader where the encoding is unknown or
 * indirect. `reader` must stand in a reader of the whole section. */
uint64_t unwind_cfi_pointer_read(struct sprof_reader *reader, uint8_t encoding,
                                 const struct cfi_bases *bases);

/* == The state of a CFA program == */

enum cfi_cfa_how {
    CFI_CFA_NONE,     /* not defined yet */
    CFI_CFA_REGISTER, /* register + offset */
    CFI_CFA_DEREF,    /* *(register + offset) + add */
    CFI_CFA_PLT,      /* the expression linkers write for .plt; `offset` is where push has pushed */
    CFI_CFA_COMPLEX,
};

enum cfi_value_how {
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_AT_CFA,      /* saved at CFA + offset */
    CFI_AT_REGISTER, /* saved at register + offset */
    CFI_IN_REGISTER, /* held by another register */
    CFI_THUNK,       /* in a record of the tracer's: see CFI_EXPR_THUNK; reg: enum unwind_thunk */
    CFI_COMPLEX,
};

struct cfi_value {
    uint8_t how; /* enum cfi_value_how */
    uint8_t reg;
    int64_t offset;
};

/* What the walk needs of a row: other registers are libunwind's business. */
struct cfi_state {
    uint8_t cfa_how; /* enum cfi_cfa_how */
    uint8_t cfa_register;
    bool signal_frame;
    bool beyond;       /* a register is said to be in one that libunwind has no place for */
    bool ends_callers; /* Go: the row is for the interrupted frame; a caller ends the stack */
    bool other_stack;  /* Go: the CFA may lie on another stack than the stack pointer does; with
                          ends_callers, a caller has left its stack */
    int64_t cfa_offset, cfa_add;
    struct cfi_value fp, sp, ra;
};

/* == Expressions == */

/* What an expression amounts to. */
struct cfi_expression {
    enum {
        CFI_EXPR_CONSTANT,
        CFI_EXPR_REGISTER,
        CFI_EXPR_DEREF,
        CFI_EXPR_PLT,
        CFI_EXPR_THUNK,
        CFI_EXPR_COPY, /* by the tracer, of a function's beginning */
        CFI_EXPR_COMPLEX
    } kind;
    uint8_t reg;
    int64_t offset; /* constant; register + offset; first offset of DEREF; PLT: see above;
                       THUNK: where the records are */
    int64_t add;    /* THUNK: 1: of a call point */
};

/* Reduces a DWARF expression. `initial_cfa`: the CFA is on the stack when it starts (as for
 * DW_CFA_expression); such expressions reduce only if they do not use it. Returns false where the
 * expression is malformed or could loop (it has jumps or calls): it must not be evaluated then. */
bool unwind_cfi_expression_reduce(struct sprof_bytes bytes, bool initial_cfa,
                                  struct cfi_expression *expression);

/* == Sections, CIEs and FDEs == */

struct cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t pointer_encoding;
    uint8_t exception_encoding; /* of the pointer to the exception table; CFI_PE_OMIT: none */
    bool augmented;             /* 'z': FDEs carry an augmentation length */
    bool signal_frame;
    uint8_t segment_size;
    bool usable;
    struct sprof_bytes program;
    struct cfi_state initial; /* after `program` */
};

/* A section being read. unwind_cfi_section_init, then iterate, then cfi_section_release. */
struct cfi_section {
    struct sprof_bytes bytes;
    struct cfi_bases bases;
    bool is_debug_frame;
    SPROF_VEC(struct cfi_cie) cies;
    struct sprof_map cie_by_offset;
    uint64_t last_cie_offset; /* offset + 1 of the CIE used last, and its index */
    size_t last_cie;
};

struct cfi_fde {
    uint64_t start, end; /* vaddr */
    size_t cie;          /* index into section->cies; valid until the section is released */
    struct sprof_bytes program;
    size_t offset;            /* of the entry in the section */
    uint64_t exception_table; /* vaddr; 0: it has none */
    bool is_doubtful;         /* written by Free Pascal: see unwind_cfi_agrees_with_code */
};

void unwind_cfi_section_init(struct cfi_section *section, struct sprof_bytes bytes, uint64_t vaddr,
                             bool is_debug_frame);
void unwind_cfi_section_release(struct cfi_section *section);

/* Reads the entry at *offset and moves *offset past it. Returns 0 with a function in *fde; 1 at the
 * end of the section (also where the rest is not readable at all); SPROF_ENOTFOUND for an entry
 * that is no function; SPROF_EFORMAT for a malformed one; SPROF_ENOMEM. */
int unwind_cfi_section_next(struct cfi_section *section, size_t *offset, struct cfi_fde *fde);

/* == Programs == */

/* Called for each stretch of code [start, end) with one state, in rising order. */
typedef void cfi_row_fn(void *context, uint64_t start, uint64_t end, const struct cfi_state *state);

/* Runs an FDE's program. Returns 0, or SPROF_EFORMAT where an instruction is malformed; rows before
 * it have been reported then. Time is linear in the program's size. */
int unwind_cfi_program_run(const struct cfi_section *section, const struct cfi_fde *fde,
                           cfi_row_fn *row, void *context);

/* Whether the rows of a function agree with its code, given from its start to its end: in its
 * prologue, and where there is but one row, everywhere. */
bool unwind_cfi_agrees_with_code(const struct cfi_section *section, const struct cfi_fde *fde,
                                 struct sprof_bytes code);

/* Runs a CIE's initial instructions and fills cie->initial. Returns 0 or SPROF_EFORMAT. */
int unwind_cfi_program_initial(const struct cfi_section *section, struct cfi_cie *cie);

/* == .eh_frame_hdr == */

/* Reads where .eh_frame begins. Returns 0, or SPROF_EFORMAT where the header makes no sense. */
int unwind_eh_frame_hdr_read(struct sprof_bytes bytes, uint64_t vaddr, uint64_t *eh_frame_vaddr);

#endif
