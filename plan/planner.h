/* trace, inside: a plan while it is made. */
#ifndef SPROF_PLAN_PLANNER_H
#define SPROF_PLAN_PLANNER_H

#include "arch/arch.h"
#include "plan/function_plan.h"

/* A stretch of code with its bytes. */
struct plan_text {
    uint64_t start, end; /* vaddr */
    uint8_t *bytes;
    uint64_t *targets; /* a bit for each byte: something leads there */
};

enum { PLAN_TEXTS_MAX = 16 };

struct planner {
    struct image *image;
    const struct unwind_table *table;
    struct plan *plan;
    struct plan_text texts[PLAN_TEXTS_MAX];
    size_t text_count;
    SPROF_VEC(struct plan_function) functions;
    SPROF_VEC(struct plan_callee) callees;
    struct sprof_map slot_symbols; /* slots of the GOT → index of their symbol in .dynsym */
    struct sprof_map relocated;    /* words of data → the address that is put there */
    struct sprof_map loops;        /* functions that jump to their own entry → the target */
    struct sprof_map
        framed_jumps; /* where jumps lead out of functions that have their frames still */
    struct sprof_map needs_return; /* starts of functions that use their own return address */
    bool failed;                   /* out of memory */
};

/* The code that holds a vaddr, or NULL; its bytes up to the end of the stretch in *bytes. */
struct plan_text *plan_text_at(struct planner *planner, uint64_t vaddr, struct sprof_bytes *bytes);

/* Reads the code. Returns 0, SPROF_ENOTFOUND where there is none, SPROF_EIO or SPROF_ENOMEM. */
int plan_texts_read(struct planner *planner, struct sprof_error *error);
void plan_texts_release(struct planner *planner);

/* Notes that something leads to a vaddr; and whether anything leads into [start, end). */
void plan_target_add(struct planner *planner, uint64_t vaddr);
bool plan_target_between(struct planner *planner, uint64_t start, uint64_t end);

/* Whether nothing says where addresses stand in the file, because the loader changes none. */
bool plan_has_fixed_addresses(const struct planner *planner);

/* Notes where words of data lead: those that are relocated, and in a file with fixed addresses all.
 */
void plan_targets_of_data(struct planner *planner);

/* Reads relocations: which symbols fill slots, which words of data hold addresses of code, and
 * which functions choose implementations. */
void plan_read_relocations(struct planner *planner);

/* Reads all code: counts what each function does, notes its callees, targets and uses of its own
 * return address. */
void plan_scan_code(struct planner *planner);

/* A function that jumps to one that uses its return address uses that, too, as does one that calls
 * a reader of its callers' addresses. Symbols of slots must be known. */
void plan_spread_needs(struct planner *planner);

/* Counts the places where exceptions are caught. */
void plan_scan_exception_tables(struct planner *planner);

/* Decides for one function; all code must have been scanned. `limit`: where the next one begins. */
void plan_decide(struct planner *planner, struct plan_function *function, uint64_t limit);

/* Sites that compilers made, by the functions they are in. */
void plan_find_sleds(struct planner *planner);

/* Probes that are in the file already, and what was decided for their functions then. */
void plan_find_embedded(struct planner *planner);

/* The index of the function that covers a vaddr, or -1. */
ptrdiff_t plan_function_index(const struct plan_function *functions, size_t count, uint64_t vaddr);

#endif
