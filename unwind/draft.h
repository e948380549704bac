/* The functions a table is made of, before they are rows: gathered from every source, sorted, and
 * where they overlap, clipped so that each address belongs to one. */
#ifndef SPROF_UNWIND_DRAFT_H
#define SPROF_UNWIND_DRAFT_H

#include "base/base.h"
#include "unwind/cfi.h"

/* Sources in the order in which they are believed. */
enum draft_source { DRAFT_GO, DRAFT_EH_FRAME, DRAFT_DEBUG_FRAME, DRAFT_PLT, DRAFT_ROOT };

struct draft {
    uint64_t start, end;
    const uint8_t *program; /* FDEs: the CFA program */
    uint32_t program_size;
    uint32_t cie; /* FDEs */
    uint32_t
        entry; /* FDEs: offset in the section; Go: index of the function; PLT: of the section */
    uint8_t source; /* enum draft_source */
    bool root;      /* ends every stack */
    bool wrong;     /* the program is not believed: only the function's bounds count */
};

struct draft_list {
    SPROF_VEC(struct draft) drafts;
};

/* Sorts by start, keeping the order of equals; linear where they are sorted already, else a radix
 * sort. Every start must lie in [base, base + 2^32). Returns 0 or SPROF_ENOMEM. */
int draft_list_sort(struct draft_list *list, uint64_t base);

/* Clips and drops until no two overlap. List must be sorted. A DRAFT_ROOT inside a function makes
 * that function a root and vanishes. */
void draft_list_clip(struct draft_list *list);

#endif
