/* DWARF expressions, reduced symbolically: most that occur in call frame information amount to
 * "register + a" or "*(register + a) + b", which are rules; the rest is COMPLEX. */
#include "unwind/cfi.h"

#include <string.h>

enum { STACK_SLOTS = 16 };

enum { OPERATIONS_MAX = 64 }; /* more is no honest unwind expression */

struct machine {
    struct sprof_reader reader;
    struct cfi_expression slots[STACK_SLOTS];
    unsigned depth;
    bool failed;
};

static const struct cfi_expression complex = {.kind = CFI_EXPR_COMPLEX};

static void push(struct machine *machine, struct cfi_expression value)
{
    if (machine->depth == STACK_SLOTS)
        machine->failed = true;
    else
        machine->slots[machine->depth++] = value;
}

static struct cfi_expression pop(struct machine *machine)
{
    if (!machine->depth) {
        machine->failed = true;
        return complex;
    }
    return machine->slots[--machine->depth];
}

static void push_constant(struct machine *machine, int64_t value)
{
    push(machine, (struct cfi_expression){.kind = CFI_EXPR_CONSTANT, .offset = value});
}

static struct cfi_expression plus(struct cfi_expression value, int64_t constant)
{
    int64_t *sum = value.kind == CFI_EXPR_DEREF ? &value.add : &value.offset;
    if (value.kind == CFI_EXPR_COMPLEX || __builtin_add_overflow(*sum, constant, sum))
        return complex;
    return value;
}

/* == Operations: each gets its operand, already read. == */

static void op_constant(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op;
    push_constant(machine, operand);
}

static void op_literal(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)operand;
    push_constant(machine, op - 0x30);
}

static void op_register(struct machine *machine, uint8_t op, int64_t operand)
{
    push(machine, (struct cfi_expression){
                      .kind = CFI_EXPR_REGISTER, .reg = (uint8_t)(op - 0x70), .offset = operand});
}

static void op_deref(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    struct cfi_expression top = pop(machine);
    const bool simple = top.kind == CFI_EXPR_REGISTER;
    top.kind = CFI_EXPR_DEREF;
    push(machine, simple ? top : complex);
}

static void op_plus_constant(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op;
    push(machine, plus(pop(machine), operand));
}

static void op_plus(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    const struct cfi_expression right = pop(machine), left = pop(machine);
    if (right.kind == CFI_EXPR_CONSTANT)
        push(machine, plus(left, right.offset));
    else
        push(machine, left.kind == CFI_EXPR_CONSTANT ? plus(right, left.offset) : complex);
}

static void op_minus(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    const struct cfi_expression right = pop(machine), left = pop(machine);
    const bool simple = right.kind == CFI_EXPR_CONSTANT && right.offset != INT64_MIN;
    push(machine, simple ? plus(left, -right.offset) : complex);
}

static void op_duplicate(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    const struct cfi_expression top = pop(machine);
    push(machine, top);
    push(machine, top);
}

static void op_drop(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    pop(machine);
}

static void op_pick(struct machine *machine, uint8_t op, int64_t operand)
{
    const uint64_t down = op == 0x14 ? 1 : (uint64_t)operand; /* DW_OP_over, DW_OP_pick */
    if (down >= machine->depth)
        machine->failed = true;
    else
        push(machine, machine->slots[machine->depth - 1 - down]);
}

static void op_swap(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    const struct cfi_expression top = pop(machine), below = pop(machine);
    push(machine, top);
    push(machine, below);
}

/* What no rule can say, by the number of values taken and given. */
static void op_rotate(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    for (int i = 0; i < 3; i++)
        pop(machine);
    for (int i = 0; i < 3; i++)
        push(machine, complex);
}

static void op_unary(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    pop(machine);
    push(machine, complex);
}

static void op_binary(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)op, (void)operand;
    pop(machine);
    pop(machine);
    push(machine, complex);
}

static void op_nothing(struct machine *machine, uint8_t op, int64_t operand)
{
    (void)machine, (void)op, (void)operand;
}

/* == The table == */

enum operand { NONE, U8, S8, U16, S16, U32, S32, U64, ULEB, SLEB };

static int64_t operand_read(struct sprof_reader *reader, enum operand form)
{
    switch (form) {
    case NONE: return 0;
    case U8: return sprof_reader_u8(reader);
    case S8: return (int8_t)sprof_reader_u8(reader);
    case U16: return sprof_reader_u16(reader);
    case S16: return (int16_t)sprof_reader_u16(reader);
    case U32: return sprof_reader_u32(reader);
    case S32: return (int32_t)sprof_reader_u32(reader);
    case U64: return (int64_t)sprof_reader_u64(reader);
    case ULEB: return (int64_t)sprof_reader_uleb(reader);
    case SLEB: return sprof_reader_sleb(reader);
    }
    return 0;
}

/* Absent on purpose: jumps and calls, which could loop; division, which could trap; everything
 * that needs an object, a thread or a type. */
static const struct {
    void (*run)(struct machine *machine, uint8_t op, int64_t operand);
    enum operand operand;
} operations[256] = {
    [0x03] = {op_constant, U64},
    [0x06] = {op_deref, NONE},
    [0x08] = {op_constant, U8},
    [0x09] = {op_constant, S8},
    [0x0a] = {op_constant, U16},
    [0x0b] = {op_constant, S16},
    [0x0c] = {op_constant, U32},
    [0x0d] = {op_constant, S32},
    [0x0e] = {op_constant, U64},
    [0x0f] = {op_constant, U64},
    [0x10] = {op_constant, ULEB},
    [0x11] = {op_constant, SLEB},
    [0x12] = {op_duplicate, NONE},
    [0x13] = {op_drop, NONE},
    [0x14] = {op_pick, NONE},
    [0x15] = {op_pick, U8},
    [0x16] = {op_swap, NONE},
    [0x17] = {op_rotate, NONE},
    [0x19] = {op_unary, NONE},
    [0x1a] = {op_binary, NONE},
    [0x1c] = {op_minus, NONE},
    [0x1e] = {op_binary, NONE},
    [0x1f ... 0x20] = {op_unary, NONE},
    [0x21] = {op_binary, NONE},
    [0x22] = {op_plus, NONE},
    [0x23] = {op_plus_constant, ULEB},
    [0x24 ... 0x27] = {op_binary, NONE},
    [0x29 ... 0x2e] = {op_binary, NONE},
    [0x30 ... 0x4f] = {op_literal, NONE},
    [0x70 ... 0x80] = {op_register, SLEB},
    [0x94] = {op_unary, U8},
    [0x96] = {op_nothing, NONE},
};

/* sp + 8 + ((pc & 15) >= N) * 8, as ld and lld write it for .plt where calls push. */
static bool is_plt(struct sprof_bytes bytes, struct cfi_expression *expression)
{
    static const uint8_t form[] = {
        0x70 + ARCH_SP, 8, (uint8_t)(0x70 + ARCH_PC), 0, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
    if (!ARCH_CALL_PUSHES || bytes.size != sizeof form)
        return false;
    for (size_t i = 0; i < sizeof form; i++)
        if (bytes.data[i] != form[i] && !(i == 6 && bytes.data[i] >> 4 == 3))
            return false;
    *expression = (struct cfi_expression){.kind = CFI_EXPR_PLT, .offset = bytes.data[6] - 0x30};
    return true;
}

/* What the tracing agent says of the return address in its thunks (arch/x86_64/probe/area.S): on the
 * stack at CFA - 9, or in the record of that slot, by the offset of the instruction in its thunk.
 * In those of call points it is at CFA - 10, and the record that of another slot. */
static bool is_thunk(struct sprof_bytes bytes, struct cfi_expression *expression)
{
    static const uint8_t function[] = {
        0x39, 0x1c, 0x80, 0,    0x08, 63,   0x1a, 0x08, 20, 0x2a, /* lit9, minus, pc & 63 >= 20 */
        0x80, 0,    0x08, 63,   0x1a, 0x08, 37,   0x2a,           /* pc & 63 >= 37 */
        0x1c, 0x31, 0x1c, 0x28, 22,   0,                          /* not between them: to the end */
        0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 1,    0,    0,  0x1a, 0x33, 0x24, 0x0e};
    static const uint8_t point[] = {
        0x3a, 0x1c, 0x80, 0,    0x08, 63,   0x1a, 0x08, 20, 0x2a, /* lit10 … */
        0x80, 0,    0x08, 63,   0x1a, 0x08, 37,   0x2a,           /* … */
        0x1c, 0x31, 0x1c, 0x28, 32,   0,                          /* … */
        0x0e, 0,    0,    0,    0,    0,    1,    0,    0,  0x27, /* xor 2^40 */
        0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 1,    0,    0,  0x1a, 0x33, 0x24, 0x0e};
    const bool is_point = bytes.size == sizeof point + sizeof(uint64_t) + 1;
    const uint8_t *form = is_point ? point : function;
    const size_t size = is_point ? sizeof point : sizeof function;
    if (ARCH_PC != 16 || !ARCH_CALL_PUSHES || bytes.size != size + sizeof(uint64_t) + 1 ||
        memcmp(bytes.data, form, size) != 0 || bytes.data[bytes.size - 1] != 0x22)
        return false;
    *expression = (struct cfi_expression){.kind = CFI_EXPR_THUNK, .add = is_point};
    memcpy(&expression->offset, bytes.data + size, sizeof expression->offset);
    return !(expression->offset & UINT32_MAX);
}

/* … and of where it is in a copy of a function's beginning: the place in the function, plus one. */
static bool is_copy(struct sprof_bytes bytes, struct cfi_expression *expression)
{
    static const uint8_t form[] = {
        0x80, 0,  0x09, 0xc0, 0x1a, 0x23, 56,   0x06,             /* *(pc & -64 + 56) */
        0x80, 0,  0x08, 63,   0x1a, 0x22, 0x23, 1,                /* + pc & 63 + 1 */
        0x80, 0,  0x08, 63,   0x1a, 0x80, 0,    0x09, 0xc0, 0x1a, /* pc & 63 > … */
        0x23, 39, 0x94, 1,    0x2b,                               /* … a byte of the copy */
        0x80, 0,  0x09, 0xc0, 0x1a, 0x23, 38,   0x94, 1,          /* a byte of it … */
        0x80, 0,  0x08, 63,   0x1a, 0x1c, 0x1e, 0x22};            /* … - pc & 63, or 0 */
    if (ARCH_PC != 16 || !ARCH_CALL_PUSHES || bytes.size != sizeof form ||
        memcmp(bytes.data, form, sizeof form) != 0)
        return false;
    *expression = (struct cfi_expression){.kind = CFI_EXPR_COPY};
    return true;
}

bool unwind_cfi_expression_reduce(struct sprof_bytes bytes, bool initial_cfa,
                                  struct cfi_expression *expression)
{
    if (initial_cfa ? is_thunk(bytes, expression) || is_copy(bytes, expression)
                    : is_plt(bytes, expression))
        return true;
    struct machine machine = {.reader = sprof_reader_of(bytes)};
    if (initial_cfa)
        push(&machine, complex);
    for (unsigned count = 0; sprof_reader_left(&machine.reader); count++) {
        const uint8_t op = sprof_reader_u8(&machine.reader);
        if (!operations[op].run || count == OPERATIONS_MAX)
            return false;
        const int64_t operand = operand_read(&machine.reader, operations[op].operand);
        operations[op].run(&machine, op, operand);
        if (machine.failed || machine.reader.failed)
            return false;
    }
    *expression = pop(&machine);
    return !machine.failed;
}
