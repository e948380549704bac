/* The walk of one stack, for the files that take part in it. */
#ifndef SPROF_UNWIND_WALK_H
#define SPROF_UNWIND_WALK_H

#include "base/base.h"
#include "unwind/rule.h"
#include "unwind/table.h"
#include "unwind/unwind.h"

/* User addresses end here. */
#define UNWIND_USER_END (UINT64_C(1) << ARCH_USER_BITS)

/* == The rule cache ==
 * Direct-mapped by the low bits of the address that is looked up. The tag holds the other bits a
 * user address can have (12 to 46) and the low 29 of the generation, so that tag and index together
 * name one address of one space (of any 500 million in a row). 16 bytes an entry: four to a cache
 * line, 64 KiB in all, which stay in the second-level cache: a missing entry is sooner found in a
 * table than memory brings an entry of a larger cache. */
enum { UNWIND_CACHE_BITS = 12, UNWIND_CACHE_ENTRIES = 1 << UNWIND_CACHE_BITS };

struct unwind_cache_entry {
    uint64_t tag; /* 0 = empty: generation 0 is not allowed */
    uint64_t rule;
};

static inline struct unwind_cache_entry *unwind_cache_at(struct unwind_cache_entry *cache,
                                                         uint64_t address)
{
    return &cache[address & (UNWIND_CACHE_ENTRIES - 1)];
}

static inline uint64_t unwind_cache_tag(uint64_t address, uint64_t generation)
{
    return address >> UNWIND_CACHE_BITS | generation << (ARCH_USER_BITS - UNWIND_CACHE_BITS);
}

/* == The live stack == */

enum {
    UNWIND_WINDOW_FIRST = 64 << 10, /* bytes of the first read beyond the slice */
    UNWIND_WINDOW_MAX = 1 << 20,    /* later ones double up to here */
    UNWIND_LIVE_READS_MAX = 4096,   /* a walk, as the next: against hostile stacks */
    UNWIND_LIVE_BYTES_MAX = 64 << 20,
};

/* What was read of the live stack last. */
struct unwind_window {
    uint8_t *bytes; /* UNWIND_WINDOW_MAX of them */
    uint64_t address;
    size_t size;
    size_t next_size;
};

enum {
    UNWIND_STACK_SPAN_BYTES = 64 << 10, /* a frame that far above the stack pointer is another
                                           stack's, as is what a signal interrupted */
    UNWIND_STACK_SWITCHES_MAX = 4,      /* of a walk */
};

/* A call that was seen to lead to a function: to be known when the process has ended. */
enum { UNWIND_CALLS_KNOWN = 8 };
struct unwind_known_call {
    uint64_t return_address, function, generation;
};

struct libunwind_fallback;

struct unwind_walker {
    struct unwind_cache_entry *cache;
    struct unwind_frame *frames;
    size_t max_frames;
    struct unwind_window window;
    struct unwind_known_call calls[UNWIND_CALLS_KNOWN]; /* by return address */
    struct libunwind_fallback *fallback;
    struct unwind_counters counters;
    bool knows_thunks; /* it has met some: what it walks is being traced */
};

/* Where words of the stack come from: of the sample's moment, of it but perhaps zeroes that stand
 * for what could not be captured, and of later. */
enum walk_source { WALK_FROM_SLICE, WALK_FROM_TAIL, WALK_FROM_LIVE };

struct walk {
    struct unwind_walker *walker;
    const struct unwind_space *space;
    const struct unwind_memory *memory;
    uint64_t slice_end, tail_end; /* 0: there is none */
    uint64_t pc;                  /* what the current frame, the last of `count`, is looked up by */
    uint64_t sp, fp;
    size_t count;
    /* All registers in frame `full_at`: the first, or the last one after a signal frame or found by
     * libunwind. */
    struct unwind_registers full;
    size_t full_at;
    unsigned live_reads;
    size_t live_bytes;
    size_t libunwind_steps;
    unsigned signal_frames;
    unsigned stack_switches;
    uint64_t outside; /* see unwind_stack */
    uint64_t misses;
    const struct unwind_region *region; /* the one whose table was used last */
    uint64_t fetched_to;                /* the stack was searched up to here for what is next */
    enum walk_source from;              /* the farthest that the step being taken has read */
    bool stitched;
    bool interrupted;    /* see unwind_stack */
    uint64_t call_began; /* the outermost call found so far; 0: none */
    enum model_end end;
    const struct unwind_region *pending;
};

/* Finds the rule in the region that holds an address, for a frame whose stack pointer is `sp`, and
 * remembers it unless it is for now only. */
uint64_t unwind_walk_missed_rule(struct walk *walk, uint64_t pc, uint64_t sp);

/* The rule for an address, from the cache or from its region; NOT_CODE and PENDING included. The
 * first one is for loops that keep `cache` and `generation` at hand. */
static inline uint64_t walk_cached_rule(struct walk *walk, struct unwind_cache_entry *cache,
                                        uint64_t generation, uint64_t pc, uint64_t sp)
{
    const struct unwind_cache_entry *entry = unwind_cache_at(cache, pc);
    if (__builtin_expect(entry->tag == unwind_cache_tag(pc, generation) && pc < UNWIND_USER_END, 1))
        return entry->rule;
    return unwind_walk_missed_rule(walk, pc, sp);
}
uint64_t unwind_walk_rule(struct walk *walk, uint64_t pc);

/* Whether a stack word may be a return address as far as can be seen: executable, and after a call
 * (or where a signal handler or a root returns to). */
enum walk_belief { WALK_NO, WALK_UNKNOWN, WALK_YES }; /* UNKNOWN: the code cannot be read */
enum walk_belief unwind_walk_is_return_address(struct walk *walk, uint64_t address);

/* Reads one word of the stack: from the slice, or beyond it, which walk->from says then. */
enum walk_read { WALK_READ_OK, WALK_READ_TRUNCATED, WALK_READ_BAD };
enum walk_read unwind_walk_read_word(struct walk *walk, uint64_t address, uint64_t *value);

/* Where a rule says that the return address is, given the CFA; not for RETURN_LINK. */
static inline uint64_t walk_return_slot(uint64_t rule, uint64_t cfa)
{
    if (ARCH_CALL_PUSHES != 0 && (rule & UNWIND_RULE_RETURN_MASK) == UNWIND_RULE_RETURN_PUSHED)
        return cfa - ARCH_CALL_PUSHES;
    return cfa + (uint64_t)unwind_rule_slot(rule) + (rule & UNWIND_RULE_FP_SAVED ? 8 : 0);
}

/* Reads the return address to which a rule leads that has a CFA. */
enum walk_read unwind_walk_read_return(struct walk *walk, uint64_t rule, uint64_t cfa,
                                       uint64_t *address);

/* Reads `size` bytes of code or data, not through the window. Returns 0 or a negative code. */
int unwind_walk_read_live(struct walk *walk, uint64_t address, void *buffer, size_t size);

/* The step of a thunk's rule: to the caller of the function that it stands for. */
bool unwind_walk_thunk(struct walk *walk, uint64_t rule);

/* Whether all registers are known in the current frame. */
static inline bool walk_is_full(const struct walk *walk)
{
    return walk->full_at == walk->count - 1;
}

/* Whether ARCH_LINK, where there is one, still has the return address of a frame without calls. */
static inline bool walk_link_is_known(const struct walk *walk)
{
    return ARCH_LINK >= 0 && walk_is_full(walk);
}

/* Whether the current frame's address is a return address. */
bool unwind_walk_is_return(const struct walk *walk);

/* Adds the caller found by one step and makes it the current frame; false where the stack ends. */
struct walk_caller {
    uint64_t address, sp, fp;
    enum model_found_by found_by;
};
bool unwind_walk_go_on(struct walk *walk, const struct walk_caller *caller);

/* Ends the walk; returns false, as the steps do. */
bool unwind_walk_end(struct walk *walk, enum model_end end);

/* The caller of an interrupted instruction that no table covers, where the code itself shows it
 * beyond doubt; false where it does not. */
bool unwind_walk_leaf_caller(struct walk *walk, struct walk_caller *caller);

/* The caller of what is executed as a copy: see unwind_region. */
bool unwind_walk_copied_caller(struct walk *walk, struct walk_caller *caller);

/* Where the interrupted instruction is one that the tracer has moved out of a function: makes the
 * frame that of the function, at the place where that goes on, and finds its caller. */
bool unwind_walk_moved_caller(struct walk *walk, struct walk_caller *caller);

/* Where the call that ends at a return address leads: directly, or through the jump of a PLT entry.
 * False where it is not a direct call. */
bool unwind_walk_call_target(struct walk *walk, uint64_t return_address, uint64_t *target);

/* The range of the function that the current frame is in; false where its table has none. */
bool unwind_walk_function(struct walk *walk, struct unwind_range *function);

/* Whether the call that ends at a return address leads to the function that begins at `function`,
 * at once or through one that jumps there. Calls that were seen are known without the process. */
bool unwind_walk_call_leads_to(struct walk *walk, uint64_t return_address, uint64_t function);

/* The step of a function that has gone over to another stack and left the frame pointer as its
 * caller had it: back to the stack it was called on. */
bool unwind_walk_left_stack(struct walk *walk);

/* The pointer to its return address that an interrupted function keeps below the stack pointer,
 * from a copy above, where the return address proves it; false where nothing does. */
bool unwind_walk_red_zone_copy(struct walk *walk, uint64_t *pointer);

/* One step where no rule helps: the word at the stack pointer, the frame pointer, a short scan.
 * Returns whether the walk goes on. */
bool unwind_walk_fallback_gap(struct walk *walk, uint64_t rule);
bool unwind_walk_fallback_frame_pointer(struct walk *walk, uint64_t rule);

/* One step through libunwind, which follows all registers from the last frame where they were
 * known; the end of the stack where sprof is built without it. Returns whether the walk goes on. */
bool unwind_walk_complex(struct walk *walk, uint64_t rule);

/* The caller of code that no table covers, found by following the code to where it returns; false
 * where that leads nowhere. Either is remembered in the rule cache. */
bool unwind_walk_code_caller(struct walk *walk, struct walk_caller *caller);

/* What libunwind needs between walks, NULL where sprof is built without it. Returns 0 or
 * SPROF_ENOMEM; the caller frees. */
int unwind_libunwind_fallback_new(struct libunwind_fallback **made);
void unwind_libunwind_fallback_free(struct libunwind_fallback *fallback);

#endif
