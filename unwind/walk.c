/* The walk: a loop for the common rule, and a table of steps for the others. */
#include "unwind/walk.h"

#include "arch/arch.h"

#include <stdlib.h>

enum {
    MAX_FRAMES_DEFAULT = 65536,
    SIGNAL_FRAMES_MAX = 64, /* a walk: more are a forged stack */
    FRAME_KEEPS_BYTES = 16, /* frame pointer and return address, below the CFA */
};

/* == The common rule == */

/* A piece of the stack at hand: the slice, the tail, or what was read beyond them. */
struct span {
    uintptr_t bytes; /* where address 0 would be */
    uint64_t end;    /* 0: the stack pointer is in no piece */
    uint64_t needed; /* what a caller's rule must say: live bytes are believed only after calls */
    bool beyond;     /* the slice */
};

static struct span span_of(const struct walk *walk)
{
    const struct unwind_memory *memory = walk->memory;
    const struct unwind_window *window = &walk->walker->window;
    if (walk->sp >= memory->slice_address && walk->sp < walk->slice_end)
        return (struct span){(uintptr_t)memory->slice - memory->slice_address, walk->slice_end, 0,
                             false};
    if (walk->sp >= memory->tail_address && walk->sp < walk->tail_end)
        return (struct span){(uintptr_t)memory->tail - memory->tail_address, walk->tail_end, 0,
                             true};
    if (walk->sp - window->address < window->size)
        return (struct span){(uintptr_t)window->bytes - window->address,
                             window->address + window->size, UNWIND_RULE_FOLLOWS_CALL, true};
    return (struct span){0};
}

/* Reads what a rule says is saved of the return address and the frame pointer, where calls do not
 * push; false where a slot is outside the span, as in an epilogue that has popped it. */
static inline bool read_saved(const struct walk *walk, uint64_t rule, struct span span, uint64_t sp,
                              uint64_t cfa, uint64_t *address, uint64_t *fp)
{
    const uint64_t slot = cfa + (uint64_t)unwind_rule_slot(rule), at = walk_return_slot(rule, cfa);
    const bool in_link = rule & UNWIND_RULE_RETURN_LINK;
    *address = walk->full.value[ARCH_LINK < 0 ? 0 : ARCH_LINK];
    if ((!in_link && (at < sp || at > cfa - 8)) || (slot >= sp && slot > cfa - 8))
        return false;
    if (!in_link)
        memcpy(address, (const void *)(span.bytes + at), sizeof *address);
    *address = arch_return_address(*address);
    if (rule & UNWIND_RULE_FP_SAVED && slot >= sp)
        memcpy(fp, (const void *)(span.bytes + slot), sizeof *fp);
    return true;
}

/* Walks while rules are common and the stack is at hand; returns the rule of the frame where it
 * stopped, which a step must take. A caller that is no code is not taken. */
static uint64_t walk_span(struct walk *walk)
{
    struct unwind_walker *walker = walk->walker;
    struct unwind_cache_entry *cache = walker->cache;
    const uint64_t generation = walk->space->generation;
    const struct span span = span_of(walk);
    /* Where calls push the return address, other places of it are rare; else LINK is a leaf's. */
    const uint64_t not_plain = UNWIND_RULE_SLOT_FROM_FP | UNWIND_RULE_FROM_CODE |
                               UNWIND_RULE_ENDS_CALLERS | UNWIND_RULE_OTHER_STACK |
                               (ARCH_CALL_PUSHES ? UNWIND_RULE_RETURN_MASK : 0);
    struct unwind_frame *frame = walker->frames + walk->count;
    struct unwind_frame *const last = walker->frames + walker->max_frames;
    uint64_t pc = walk->pc, sp = walk->sp, fp = walk->fp;
    uint64_t rule = walk_cached_rule(walk, cache, generation, pc, sp);
    bool link_is_known = walk_link_is_known(walk);
    if (!span.end)
        return rule;
    while (unwind_rule_kind(rule) == UNWIND_RULE_CFA) {
        const bool in_link = !ARCH_CALL_PUSHES && rule & UNWIND_RULE_RETURN_LINK;
        const uint64_t base = rule & UNWIND_RULE_BASE_FP ? fp : sp;
        const uint64_t cfa = base + (uint64_t)unwind_rule_offset(rule);
        if (cfa < sp + (in_link ? 0 : 8) || cfa > span.end || rule & not_plain || frame == last ||
            (in_link && !link_is_known))
            break;
        uint64_t address, saved_fp;
        /* Not saved, or popped: the frame pointer is the caller's already. Which one it is changes
         * from frame to frame, so a word is read in any case, and no branch is left to predict. */
        const uint64_t slot = cfa + (uint64_t)unwind_rule_slot(rule);
        const bool is_saved = ((rule & UNWIND_RULE_FP_SAVED) != 0) & (slot >= sp);
        if (ARCH_CALL_PUSHES) {
            memcpy(&address, (const void *)(span.bytes + cfa - 8), sizeof address);
            memcpy(&saved_fp, (const void *)(span.bytes + (is_saved ? slot : cfa - 8)),
                   sizeof saved_fp);
        } else if (!read_saved(walk, rule, span, sp, cfa, &address, &saved_fp)) {
            break;
        }
        const uint64_t caller_fp = is_saved ? saved_fp : fp;
        const uint64_t caller_rule = walk_cached_rule(walk, cache, generation, address - 1, cfa);
        if (caller_rule == UNWIND_RULE_NOT_CODE || (caller_rule & span.needed) != span.needed)
            break;
        *frame++ = (struct unwind_frame){.address = address, .is_return = true};
        link_is_known = false;
        pc = address - 1;
        sp = cfa;
        fp = caller_fp;
        rule = caller_rule;
    }
    const size_t count = (size_t)(frame - walker->frames);
    walk->stitched |= span.beyond && count > walk->count;
    walk->count = count;
    walk->pc = pc;
    walk->sp = sp;
    walk->fp = fp;
    return rule;
}

/* == The other rules == */

static bool read_failed(struct walk *walk, enum walk_read result)
{
    return unwind_walk_end(walk,
                           result == WALK_READ_BAD ? MODEL_END_BAD_MEMORY : MODEL_END_TRUNCATED);
}

/* The caller's frame pointer into *fp. A slot below the stack pointer has been popped already. */
static enum walk_read restore_fp(struct walk *walk, uint64_t rule, uint64_t cfa, uint64_t *fp)
{
    *fp = walk->fp;
    if (!(rule & UNWIND_RULE_FP_SAVED))
        return WALK_READ_OK;
    const uint64_t base = rule & UNWIND_RULE_SLOT_FROM_FP ? walk->fp : cfa;
    const uint64_t slot = base + (uint64_t)unwind_rule_slot(rule);
    return slot < walk->sp ? WALK_READ_OK : unwind_walk_read_word(walk, slot, fp);
}

/* The step of every rule that leads to a CFA. */
static bool step_to_cfa(struct walk *walk, uint64_t rule, uint64_t cfa, enum model_found_by by)
{
    struct walk_caller caller = {.sp = cfa, .found_by = by};
    if (cfa < walk->sp + (rule & UNWIND_RULE_RETURN_LINK ? 0 : 8) || cfa >= UNWIND_USER_END)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    enum walk_read result = restore_fp(walk, rule, cfa, &caller.fp);
    if (result == WALK_READ_OK)
        result = unwind_walk_read_return(walk, rule, cfa, &caller.address);
    if (result != WALK_READ_OK)
        return read_failed(walk, result);
    return unwind_walk_go_on(walk, &caller);
}

static bool step_plt(struct walk *walk, uint64_t rule)
{
    const bool pushed = (walk->pc & 15) >= unwind_rule_register(rule);
    walk->walker->counters.plt_frames++;
    return step_to_cfa(walk, rule, walk->sp + (pushed ? 16 : 8), MODEL_BY_PLT);
}

/* A register's value in the current frame; false where the walk does not have it. */
static bool register_value(const struct walk *walk, unsigned reg, uint64_t *value)
{
    if (reg == ARCH_SP)
        *value = walk->sp;
    else if (reg == ARCH_FP)
        *value = walk->fp;
    else if (walk_is_full(walk))
        *value = walk->full.value[reg];
    else
        return false;
    return true;
}

/* Reads a word of the current frame. Below the stack pointer there is one only in the red zone,
 * while the function has called nothing; slices begin above it. */
static enum walk_read read_frame_word(struct walk *walk, uint64_t slot, uint64_t *word)
{
    if (slot >= walk->sp)
        return unwind_walk_read_word(walk, slot, word);
    if (unwind_walk_is_return(walk) || walk->sp - slot > ARCH_RED_ZONE_BYTES)
        return WALK_READ_BAD;
    walk->from = WALK_FROM_LIVE;
    return unwind_walk_read_live(walk, slot, word, sizeof *word) ? WALK_READ_TRUNCATED
                                                                 : WALK_READ_OK;
}

/* A base that the table names, or one that was found by following the code. */
static enum model_found_by base_found_by(uint64_t rule)
{
    return rule & UNWIND_RULE_BASE_FROM_CODE ? MODEL_BY_LEAF : MODEL_BY_CFI;
}

static bool step_deref(struct walk *walk, uint64_t rule)
{
    uint64_t base, word;
    if (!register_value(walk, unwind_rule_register(rule), &base))
        return unwind_walk_complex(walk, rule);
    const uint64_t slot = base + (uint64_t)unwind_rule_deref_a(rule);
    const bool copied = slot < walk->sp && unwind_walk_red_zone_copy(walk, &word);
    const enum walk_read result = copied ? WALK_READ_OK : read_frame_word(walk, slot, &word);
    if (result != WALK_READ_OK)
        return read_failed(walk, result);
    return step_to_cfa(walk, rule, word + (uint64_t)unwind_rule_deref_b(rule), base_found_by(rule));
}

static bool step_register(struct walk *walk, uint64_t rule)
{
    uint64_t base;
    if (!register_value(walk, unwind_rule_register(rule), &base))
        return unwind_walk_complex(walk, rule);
    return step_to_cfa(walk, rule, base + (uint64_t)unwind_rule_offset(rule), base_found_by(rule));
}

static bool step_return_register(struct walk *walk, uint64_t rule)
{
    struct walk_caller caller = {.found_by = MODEL_BY_CFI};
    if (!register_value(walk, unwind_rule_register(rule), &caller.address))
        return unwind_walk_complex(walk, rule);
    caller.sp = walk->sp + (uint64_t)unwind_rule_offset(rule);
    if (caller.sp < walk->sp)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    const enum walk_read result = restore_fp(walk, rule, caller.sp, &caller.fp);
    return result == WALK_READ_OK ? unwind_walk_go_on(walk, &caller) : read_failed(walk, result);
}

/* The stack pointer may go anywhere, but only from a frame where all registers are known: no stack
 * has many of them. */
static bool step_jump(struct walk *walk, uint64_t rule)
{
    if (!walk_is_full(walk) || unwind_walk_is_return(walk))
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    const uint64_t *value = walk->full.value;
    const struct walk_caller caller = {.address = value[unwind_rule_register(rule)],
                                       .sp = value[unwind_rule_jump_sp(rule)],
                                       .fp = value[unwind_rule_jump_fp(rule)],
                                       .found_by = MODEL_BY_CFI};
    if (caller.sp >= UNWIND_USER_END)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    return unwind_walk_go_on(walk, &caller);
}

/* The parent returns; the child, on a stack of its own, begins. */
static bool step_child(struct walk *walk, uint64_t rule)
{
    if (walk_is_full(walk) && !unwind_walk_is_return(walk) && !walk->full.value[ARCH_RESULT])
        return unwind_walk_end(walk, MODEL_END_ROOT);
    return step_to_cfa(walk, rule, walk->sp + ARCH_CALL_PUSHES, MODEL_BY_CFI);
}

static bool step_signal(struct walk *walk, uint64_t rule)
{
    (void)rule;
    struct unwind_registers registers;
    if (++walk->signal_frames > SIGNAL_FRAMES_MAX)
        return unwind_walk_end(walk, MODEL_END_DEPTH_LIMIT);
    for (size_t i = 0; i < ARCH_SIGNAL_REGISTERS; i++) {
        const enum walk_read result =
            unwind_walk_read_word(walk, walk->sp + ARCH_SIGNAL_REGISTERS_OFFSET + i * 8,
                                  &registers.value[arch_signal_register_order[i]]);
        if (result != WALK_READ_OK)
            return read_failed(walk, result);
    }
    const struct walk_caller caller = {.address = registers.value[ARCH_PC],
                                       .sp = registers.value[ARCH_SP],
                                       .fp = registers.value[ARCH_FP],
                                       .found_by = MODEL_BY_SIGNAL};
    if (caller.sp >= UNWIND_USER_END)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    walk->interrupted |= caller.sp - walk->sp >= UNWIND_STACK_SPAN_BYTES;
    if (!unwind_walk_go_on(walk, &caller))
        return false;
    walk->walker->counters.signal_frames++;
    walk->full = registers;
    walk->full_at = walk->count - 1;
    return true;
}

static bool step_end(struct walk *walk, uint64_t rule)
{
    (void)rule;
    return unwind_walk_end(walk, MODEL_END_ROOT);
}

static bool step_pending(struct walk *walk, uint64_t rule)
{
    (void)rule;
    return unwind_walk_end(walk, MODEL_END_PENDING);
}

/* Return addresses are code, or they would not have become frames: this is the first one, a jump
 * to nowhere. The caller's return address is still on top of the stack. */
static bool step_not_code(struct walk *walk, uint64_t rule)
{
    return unwind_walk_fallback_gap(walk, rule);
}

/* Whether the kernel is restoring what a signal interrupted. The instruction pointer stands behind
 * the trampoline then, perhaps at another function; registers say that a system call is under way.
 */
static bool is_in_signal_return(struct walk *walk)
{
    return !unwind_walk_is_return(walk) && walk_is_full(walk) &&
           arch_is_in_signal_return(walk->full.value) &&
           unwind_rule_kind(unwind_walk_rule(walk, walk->pc - 1)) == UNWIND_RULE_SIGNAL;
}

/* A function may begin where another returns to, as makecontext's end does: then its own rule
 * counts, not the padding's before it. */
static bool step_gap(struct walk *walk, uint64_t rule)
{
    if (is_in_signal_return(walk))
        return step_signal(walk, rule);
    if (unwind_walk_is_return(walk)) {
        const uint64_t behind = unwind_walk_rule(walk, walk->pc + 1);
        if (unwind_rule_kind(behind) == UNWIND_RULE_END)
            return step_end(walk, behind);
        if (unwind_rule_kind(behind) == UNWIND_RULE_SIGNAL)
            return step_signal(walk, behind);
    }
    return unwind_walk_fallback_gap(walk, rule);
}

/* Go's functions run on the thread's own stack what needs more than a goroutine has, as calls into
 * the vdso, and keep the frame pointer: a frame far from the stack pointer lies on the stack they
 * came from. */
static bool find_frame_stack(struct walk *walk, uint64_t cfa)
{
    if (cfa - walk->sp < UNWIND_STACK_SPAN_BYTES)
        return true;
    walk->sp = cfa - FRAME_KEEPS_BYTES;
    return ++walk->stack_switches <= UNWIND_STACK_SWITCHES_MAX;
}

static bool step_cfa(struct walk *walk, uint64_t rule)
{
    const uint64_t base = rule & UNWIND_RULE_BASE_FP ? walk->fp : walk->sp;
    const uint64_t cfa = base + (uint64_t)unwind_rule_offset(rule);
    if (rule & UNWIND_RULE_ENDS_CALLERS && unwind_walk_is_return(walk))
        return rule & UNWIND_RULE_OTHER_STACK ? unwind_walk_left_stack(walk)
                                              : unwind_walk_end(walk, MODEL_END_ROOT);
    if (rule & UNWIND_RULE_FROM_CODE)
        return step_gap(walk, rule);
    if (rule & UNWIND_RULE_OTHER_STACK && !find_frame_stack(walk, cfa))
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    return step_to_cfa(walk, rule, cfa, MODEL_BY_CFI);
}

static bool (*const steps[UNWIND_RULE_KINDS])(struct walk *, uint64_t rule) = {
    [UNWIND_RULE_CFA] = step_cfa,
    [UNWIND_RULE_GAP] = step_gap,
    [UNWIND_RULE_END] = step_end,
    [UNWIND_RULE_PLT] = step_plt,
    [UNWIND_RULE_SIGNAL] = step_signal,
    [UNWIND_RULE_DEREF] = step_deref,
    [UNWIND_RULE_REGISTER] = step_register,
    [UNWIND_RULE_RETURN_REGISTER] = step_return_register,
    [UNWIND_RULE_JUMP] = step_jump,
    [UNWIND_RULE_CHILD] = step_child,
    [UNWIND_RULE_FRAME_POINTER] = unwind_walk_fallback_frame_pointer,
    [UNWIND_RULE_BARE] = step_gap,
    [UNWIND_RULE_COMPLEX] = unwind_walk_complex,
    [UNWIND_RULE_THUNK] = unwind_walk_thunk,
    [UNWIND_RULE_NOT_CODE] = step_not_code,
    [UNWIND_RULE_PENDING] = step_pending,
};

/* == The whole == */

static struct walk walk_of(struct unwind_walker *walker, const struct unwind_space *space,
                           const struct unwind_memory *memory,
                           const struct unwind_registers *registers)
{
    struct walk walk = {.walker = walker,
                        .space = space,
                        .memory = memory,
                        .pc = registers->value[ARCH_PC],
                        .sp = registers->value[ARCH_SP],
                        .fp = registers->value[ARCH_FP],
                        .count = 1,
                        .full = *registers};
    if (memory->slice_size && memory->slice_address < UNWIND_USER_END &&
        memory->slice_size < UNWIND_USER_END)
        walk.slice_end = memory->slice_address + memory->slice_size;
    if (memory->tail_size && memory->tail_address < UNWIND_USER_END &&
        memory->tail_size < UNWIND_USER_END)
        walk.tail_end = memory->tail_address + memory->tail_size;
    walker->frames[0] = (struct unwind_frame){.address = walk.pc};
    walker->window.size = 0;
    walker->window.next_size = UNWIND_WINDOW_FIRST;
    return walk;
}

struct unwind_stack unwind_walk(struct unwind_walker *walker, const struct unwind_space *space,
                                const struct unwind_memory *memory,
                                const struct unwind_registers *registers)
{
    struct walk walk = walk_of(walker, space, memory, registers);
    for (bool on = true; on;) {
        const uint64_t rule = walk_span(&walk);
        walk.from = WALK_FROM_SLICE;
        on = steps[unwind_rule_kind(rule)](&walk, rule);
    }
    walker->counters.walks++;
    walker->counters.frames += walk.count;
    walker->counters.cache_misses += walk.misses;
    walker->counters.cache_hits += walk.count > walk.misses ? walk.count - walk.misses : 0;
    return (struct unwind_stack){.frames = walker->frames,
                                 .count = walk.count,
                                 .end = walk.end,
                                 .stitched = walk.stitched,
                                 .switched = walk.stack_switches > 0,
                                 .interrupted = walk.interrupted,
                                 .pending = walk.end == MODEL_END_PENDING ? walk.pending : NULL,
                                 .stopped_at = walker->frames[walk.count - 1].address,
                                 .outside = walk.outside,
                                 .top = walk.sp};
}

struct unwind_walker *unwind_walker_new(size_t max_frames)
{
    struct unwind_walker *walker = calloc(1, sizeof *walker);
    if (!walker)
        return NULL;
    walker->max_frames = max_frames ? max_frames : MAX_FRAMES_DEFAULT;
    walker->cache = malloc(UNWIND_CACHE_ENTRIES * sizeof *walker->cache);
    walker->frames = calloc(walker->max_frames, sizeof *walker->frames);
    walker->window.bytes = malloc(UNWIND_WINDOW_MAX);
    const int code = unwind_libunwind_fallback_new(&walker->fallback);
    if (walker->cache) /* touched now: the first walks would wait for its pages */
        memset(walker->cache, 0, UNWIND_CACHE_ENTRIES * sizeof *walker->cache);
    if (walker->cache && walker->frames && walker->window.bytes && !code)
        return walker;
    unwind_walker_free(walker);
    return NULL;
}

void unwind_walker_free(struct unwind_walker *walker)
{
    if (!walker)
        return;
    free(walker->cache);
    free(walker->frames);
    free(walker->window.bytes);
    unwind_libunwind_fallback_free(walker->fallback);
    free(walker);
}

struct unwind_counters unwind_walker_counters(const struct unwind_walker *walker)
{
    return walker->counters;
}
