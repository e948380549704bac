/* trace, inside: a plan while it is made. */
#ifndef SPROF_TRACE_PLAN_PLANNER_H
#define SPROF_TRACE_PLAN_PLANNER_H

#include "arch/arch.h"
#include "trace/plan/plan.h"

/* A stretch of code with its bytes. */
struct trace_text {
    uint64_t start, end; /* vaddr */
    uint8_t *bytes;
    uint64_t *targets; /* a bit for each byte: something leads there */
};

enum { TRACE_TEXTS_MAX = 16 };

struct trace_planner {
    struct image *image;
    const struct unwind_table *table;
    struct trace_plan *plan;
    struct trace_text texts[TRACE_TEXTS_MAX];
    size_t text_count;
    SPROF_VEC(struct trace_function) functions;
    SPROF_VEC(struct trace_callee) callees;
    struct sprof_map slot_symbols; /* slots of the GOT → index of their symbol in .dynsym */
    struct sprof_map relocated;    /* words of data → the address that is put there */
    struct sprof_map loops;        /* functions that jump to their own entry → the target */
    struct sprof_map
        framed_jumps; /* where jumps lead out of functions that have their frames still */
    struct sprof_map needs_return; /* starts of functions that use their own return address */
    bool failed;                   /* out of memory */
};

/* The code that holds a vaddr, or NULL; its bytes up to the end of the stretch in *bytes. */
struct trace_text *trace_text_at(struct trace_planner *planner, uint64_t vaddr,
                                 struct sprof_bytes *bytes);

/* Reads the code. Returns 0, SPROF_ENOTFOUND where there is none, SPROF_EIO or SPROF_ENOMEM. */
int trace_texts_read(struct trace_planner *planner, struct sprof_error *error);
void trace_texts_release(struct trace_planner *planner);

/* Notes that something leads to a vaddr; and whether anything leads into [start, end). */
void trace_target_add(struct trace_planner *planner, uint64_t vaddr);
bool trace_target_between(struct trace_planner *planner, uint64_t start, uint64_t end);

/* Whether nothing says where addresses stand in the file, because the loader changes none. */
bool trace_has_fixed_addresses(const struct trace_planner *planner);

/* Notes where words of data lead: those that are relocated, and in a file with fixed addresses all.
 */
void trace_targets_of_data(struct trace_planner *planner);

/* Reads relocations: which symbols fill slots, which words of data hold addresses of code, and
 * which functions choose implementations. */
void trace_read_relocations(struct trace_planner *planner);

/* Reads all code: counts what each function does, notes its callees, targets and uses of its own
 * return address. */
void trace_scan_code(struct trace_planner *planner);

/* Who jumps to a function that uses its return address uses that, too, as does who calls one that
 * reads its callers'. Symbols of slots must be known. */
void trace_spread_needs(struct trace_planner *planner);

/* Counts the places where exceptions are caught. */
void trace_scan_exception_tables(struct trace_planner *planner);

/* Whether what an instruction in [from, to) throws, counted from the function's beginning, is
 * caught or cleaned up after in the function, by its exception table. */
bool trace_lands(struct sprof_bytes table, uint64_t from, uint64_t to);

/* Whether a function of that name ends the frames of others. */
bool trace_leaves_frames(const char *name);

/* Decides for one function; all code must have been scanned. `limit`: where the next one begins. */
void trace_decide(struct trace_planner *planner, struct trace_function *function, uint64_t limit);

/* Sites that compilers made, by the functions they are in. */
void trace_find_sleds(struct trace_planner *planner);

/* Probes that are in the file already, and what was decided for their functions then. */
void trace_find_embedded(struct trace_planner *planner);

/* The index of the function that covers a vaddr, or -1. */
ptrdiff_t trace_function_index(const struct trace_function *functions, size_t count,
                               uint64_t vaddr);

#endif
