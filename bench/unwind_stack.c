/* Makes stacks of a known depth for the benches of the unwinder. */
#include "bench/unwind_stack.h"

#include "unwind/table.h"

#include <stdlib.h>
#include <string.h>

enum { LOCALS_MAX = 256, FRAME_BYTES_MAX = 2048 };

/* The stack while it grows. Where rbp was saved last is kept, because only a later frame that
 * counts from rbp decides what must stand there. */
struct maker {
    struct bench_stack *stack;
    const struct unwind_table *table;
    unsigned seed;
    size_t top;   /* offset of the current stack pointer */
    bool bp_open; /* rbp may still be chosen: through `bp_slot`, or the register */
    bool bp_in_slot;
    size_t bp_slot;
    uint64_t *starts;   /* of the table's rows */
    size_t row, stride; /* for next_pc */
};

static uint64_t random64(unsigned *seed)
{
    return (uint64_t)(unsigned)rand_r(seed) << 31 ^ (unsigned)rand_r(seed);
}

static void store(struct maker *maker, size_t offset, uint64_t value)
{
    memcpy(maker->stack->bytes + offset, &value, sizeof value);
}

/* Chooses rbp so that the frame's CFA, `offset` above it, lies above the stack pointer and its
 * slots do too. */
static size_t choose_bp(struct maker *maker, uint64_t rule)
{
    const int64_t low = unwind_rule_offset(rule) + unwind_rule_slot(rule);
    const size_t locals = random64(&maker->seed) % (LOCALS_MAX / 8) * 8;
    const size_t bp = maker->top + locals + (low < 0 ? (size_t)-low : 0);
    const uint64_t value = BENCH_STACK + bp;
    if (maker->bp_in_slot)
        store(maker, maker->bp_slot, value);
    else
        maker->stack->registers.value[ARCH_FP] = value;
    maker->bp_open = false;
    return bp + (size_t)unwind_rule_offset(rule);
}

static bool can_lay(const struct maker *maker, uint64_t rule)
{
    const bool from_bp = rule & UNWIND_RULE_BASE_FP;
    const int64_t offset = unwind_rule_offset(rule);
    if (unwind_rule_kind(rule) != UNWIND_RULE_CFA || offset < 8 || offset >= FRAME_BYTES_MAX ||
        offset & 7 || rule & UNWIND_RULE_SLOT_FROM_FP)
        return false;
    if (from_bp)
        return maker->bp_open;
    return !(rule & UNWIND_RULE_FP_SAVED) || offset + unwind_rule_slot(rule) >= 0;
}

static void lay(struct maker *maker, uint64_t rule)
{
    const size_t cfa = rule & UNWIND_RULE_BASE_FP ? choose_bp(maker, rule)
                                                  : maker->top + (size_t)unwind_rule_offset(rule);
    if (rule & UNWIND_RULE_FP_SAVED) {
        maker->bp_slot = cfa + (size_t)unwind_rule_slot(rule);
        maker->bp_open = maker->bp_in_slot = true;
    }
    maker->top = cfa;
}

/* An address behind the first byte of a row; rows come in an order that repeats none. */
static uint64_t next_pc(struct maker *maker)
{
    maker->row = (maker->row + maker->stride) % (maker->table->facts.rows - 1);
    const uint64_t *start = &maker->starts[maker->row];
    return start[0] + 1 + random64(&maker->seed) % (start[1] - start[0]);
}

uint64_t *bench_row_starts(const struct unwind_table *table)
{
    uint64_t *starts = calloc(table->facts.rows, sizeof *starts);
    uint64_t rule, from = 0;
    for (size_t i = 0; starts && unwind_table_row_from(table, from, &starts[i], &rule); i++)
        from = starts[i] + 1;
    return starts;
}

int bench_stack_make(struct bench_stack *stack, const struct unwind_table *table, uint64_t bias,
                     size_t frames, unsigned seed)
{
    *stack = (struct bench_stack){.size = frames * (FRAME_BYTES_MAX + LOCALS_MAX), .bias = bias};
    stack->bytes = calloc(1, stack->size);
    stack->addresses = calloc(frames, sizeof *stack->addresses);
    uint64_t *starts = bench_row_starts(table);
    if (!stack->bytes || !stack->addresses || !starts) {
        free(starts);
        return SPROF_ENOMEM;
    }
    struct maker maker = {.stack = stack,
                          .table = table,
                          .seed = seed,
                          .bp_open = true,
                          .starts = starts,
                          .row = seed,
                          .stride = (size_t)((double)table->facts.rows * 0.618) | 1};
    for (size_t tried = 0; stack->frames < frames && tried < table->facts.rows; tried++) {
        const uint64_t pc = next_pc(&maker);
        const uint64_t rule = unwind_table_lookup(table, stack->frames ? pc - 1 : pc);
        if (!can_lay(&maker, rule))
            continue;
        if (stack->frames)
            store(&maker, maker.top - 8, pc + bias);
        stack->addresses[stack->frames++] = pc + bias;
        lay(&maker, rule);
    }
    free(starts);
    stack->size = maker.top;
    stack->registers.value[ARCH_PC] = stack->addresses[0];
    stack->registers.value[ARCH_SP] = BENCH_STACK;
    return 0;
}

void bench_stack_free(struct bench_stack *stack)
{
    free(stack->bytes);
    free(stack->addresses);
}
