/* The functions a table is made of, before they are rows: gathered from every source, sorted, and
 * where they overlap, clipped so that each address belongs to one. */
#ifndef SPROF_UNWIND_FUNCTION_LIST_H
#define SPROF_UNWIND_FUNCTION_LIST_H

#include "base/base.h"
#include "unwind/cfi.h"

/* Sources, the most trusted first. */
enum function_source {
    FUNCTION_FROM_GO,
    FUNCTION_FROM_EH_FRAME,
    FUNCTION_FROM_DEBUG_FRAME,
    FUNCTION_FROM_PLT,
    FUNCTION_FROM_ROOT
};

struct function_range {
    uint64_t start, end;
    const uint8_t *program; /* FDEs: the CFA program */
    uint32_t program_size;
    uint32_t cie;   /* FDEs */
    uint32_t entry; /* FDEs: offset in the section; Go: index of the function; PLT: of the range */
    uint8_t source; /* enum function_source */
    bool root;      /* ends every stack */
    bool wrong;     /* the program contradicts the code: only the function's bounds count */
};

struct function_list {
    SPROF_VEC(struct function_range) functions;
};

/* Sorts by start, keeping the order of equals; linear where they are sorted already, else a radix
 * sort. Every start must lie in [base, base + 2^32). Returns 0 or SPROF_ENOMEM. */
int unwind_function_list_sort(struct function_list *list, uint64_t base);

/* Clips and drops until no two overlap. List must be sorted. A FUNCTION_FROM_ROOT inside a function
 * makes that function a root and vanishes. */
void unwind_function_list_clip(struct function_list *list);

#endif
