/* Machine code as text. */
#ifndef SPROF_REPORT_DISASSEMBLE_H
#define SPROF_REPORT_DISASSEMBLE_H

#include "base/base.h"

#include <stdbool.h>

struct report_instruction {
    uint64_t vaddr;
    uint32_t size;           /* bytes */
    const char *text;        /* "mov %rax, %rbx" or "(bad)"; in the arena */
    uint64_t target;         /* vaddr that a direct jump or call goes to; 0: it is none */
    const char *target_name; /* the function there, if it is another one or called: see
                                report_machine_code_read; NULL: none */
};

/* Zero is a valid empty list; release with sprof_vec_release. */
struct report_instructions {
    struct report_instruction *items;
    size_t count, capacity;
};

/* Disassembles the code at `vaddr`, in AT&T's syntax or in Intel's. A byte that begins no
 * instruction is one that is (bad). Returns 0, SPROF_ENOMEM, or SPROF_EUNSUPPORTED for a processor
 * that is not known. */
int report_disassemble(struct report_instructions *instructions, struct sprof_arena *arena,
                       struct sprof_bytes code, uint64_t vaddr, bool intel,
                       struct sprof_error *error);

#endif
