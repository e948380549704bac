/* The interpreter of CFA programs (DWARF 5, section 6.4.2). It follows only what the walk needs:
 * the CFA, and the rules of the frame pointer, the stack pointer and the return address. */
#include "unwind/cfi.h"
#include "unwind/rule.h"

enum { REMEMBERED_MAX = 16 };

struct machine {
    struct sprof_reader reader;
    const struct cfi_section *section;
    const struct cfi_cie *cie;
    uint64_t location, end;
    struct cfi_state state;
    struct cfi_state remembered[REMEMBERED_MAX];
    unsigned depth;
    bool failed;
    cfi_row_fn *row;
    void *context;
};

/* == Operands == */

static uint64_t uleb(struct machine *machine)
{
    struct sprof_reader *reader = &machine->reader;
    if (reader->next < reader->end && *reader->next < 0x80)
        return *reader->next++;
    return sprof_reader_uleb(reader);
}

static int64_t times(struct machine *machine, int64_t factor)
{
    int64_t product = 0;
    if (__builtin_mul_overflow(factor, machine->cie->data_align, &product))
        machine->failed = true;
    return product;
}

static int64_t uleb_offset(struct machine *machine)
{
    const uint64_t value = uleb(machine);
    machine->failed |= value > INT64_MAX;
    return (int64_t)(value & INT64_MAX);
}

static struct sprof_bytes block(struct machine *machine)
{
    const uint64_t size = uleb(machine);
    const uint8_t *data = sprof_reader_take(&machine->reader, (size_t)size);
    return data ? (struct sprof_bytes){data, (size_t)size} : (struct sprof_bytes){0};
}

/* The rule of a register, or NULL where the walk does not follow it. */
static struct cfi_value *value_of(struct machine *machine, uint64_t reg)
{
    if (reg == ARCH_FP)
        return &machine->state.fp;
    if (reg == machine->cie->return_register)
        return &machine->state.ra;
    return reg == ARCH_SP ? &machine->state.sp : NULL;
}

static void set(struct machine *machine, uint64_t reg, struct cfi_value value)
{
    struct cfi_value *place = value_of(machine, reg);
    if (place)
        *place = value;
}

static void restore(struct machine *machine, uint64_t reg)
{
    const struct cfi_state *initial = &machine->cie->initial;
    struct cfi_value *place = value_of(machine, reg);
    if (place == &machine->state.fp)
        *place = initial->fp;
    else if (place == &machine->state.ra)
        *place = initial->ra;
    else if (place)
        *place = initial->sp;
}

/* == Instructions == */

/* Cannot overflow: `delta` has 32 bits, and the alignment was bounded when the CIE was read. */
static void advance(struct machine *machine, uint64_t delta)
{
    const uint64_t left = machine->end - machine->location;
    delta *= machine->cie->code_align;
    if (!machine->row) /* a CIE's program stands nowhere */
        machine->failed = true;
    if (machine->failed || !delta || !left)
        return;
    const uint64_t next = machine->location + (delta < left ? delta : left);
    machine->row(machine->context, machine->location, next, &machine->state);
    machine->location = next;
}

static void op_advance1(struct machine *machine)
{
    advance(machine, sprof_reader_u8(&machine->reader));
}

static void op_advance2(struct machine *machine)
{
    advance(machine, sprof_reader_u16(&machine->reader));
}

static void op_advance4(struct machine *machine)
{
    advance(machine, sprof_reader_u32(&machine->reader));
}

static void op_nop(struct machine *machine)
{
    (void)machine;
}

static void op_offset_extended(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    const int64_t offset = times(machine, uleb_offset(machine));
    set(machine, reg, (struct cfi_value){.how = CFI_AT_CFA, .offset = offset});
}

static void op_offset_extended_sf(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    const int64_t offset = times(machine, sprof_reader_sleb(&machine->reader));
    set(machine, reg, (struct cfi_value){.how = CFI_AT_CFA, .offset = offset});
}

static void op_offset_negated(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    const int64_t offset = times(machine, -uleb_offset(machine));
    set(machine, reg, (struct cfi_value){.how = CFI_AT_CFA, .offset = offset});
}

static void op_restore_extended(struct machine *machine)
{
    restore(machine, uleb(machine));
}

static void op_undefined(struct machine *machine)
{
    set(machine, uleb(machine), (struct cfi_value){.how = CFI_UNDEFINED});
}

static void op_same_value(struct machine *machine)
{
    set(machine, uleb(machine), (struct cfi_value){.how = CFI_SAME});
}

static void op_register(struct machine *machine)
{
    const uint64_t reg = uleb(machine), holder = uleb(machine);
    const struct cfi_value held = {.how = CFI_IN_REGISTER, .reg = (uint8_t)holder};
    machine->state.beyond |= holder >= ARCH_REGISTERS;
    set(machine, reg,
        holder < ARCH_GENERAL_REGISTERS ? held : (struct cfi_value){.how = CFI_COMPLEX});
}

static void op_remember(struct machine *machine)
{
    if (machine->depth == REMEMBERED_MAX)
        machine->failed = true;
    else
        machine->remembered[machine->depth++] = machine->state;
}

static void op_restore_state(struct machine *machine)
{
    if (!machine->depth)
        machine->failed = true;
    else
        machine->state = machine->remembered[--machine->depth];
}

static void define_cfa(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->state.cfa_how = reg < ARCH_GENERAL_REGISTERS ? CFI_CFA_REGISTER : CFI_CFA_COMPLEX;
    machine->state.cfa_register = (uint8_t)(reg < ARCH_GENERAL_REGISTERS ? reg : 0);
    machine->state.cfa_offset = offset;
}

static void op_def_cfa(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    define_cfa(machine, reg, uleb_offset(machine));
}

static void op_def_cfa_sf(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    define_cfa(machine, reg, times(machine, sprof_reader_sleb(&machine->reader)));
}

static void op_def_cfa_register(struct machine *machine)
{
    define_cfa(machine, uleb(machine), machine->state.cfa_offset);
}

static void op_def_cfa_offset(struct machine *machine)
{
    machine->state.cfa_offset = uleb_offset(machine);
}

static void op_def_cfa_offset_sf(struct machine *machine)
{
    machine->state.cfa_offset = times(machine, sprof_reader_sleb(&machine->reader));
}

static void op_def_cfa_expression(struct machine *machine)
{
    static const uint8_t hows[] = {
        [CFI_EXPR_CONSTANT] = CFI_CFA_COMPLEX, [CFI_EXPR_REGISTER] = CFI_CFA_REGISTER,
        [CFI_EXPR_DEREF] = CFI_CFA_DEREF,      [CFI_EXPR_PLT] = CFI_CFA_PLT,
        [CFI_EXPR_THUNK] = CFI_CFA_COMPLEX,    [CFI_EXPR_COPY] = CFI_CFA_COMPLEX,
        [CFI_EXPR_COMPLEX] = CFI_CFA_COMPLEX};
    struct cfi_expression expression;
    if (!unwind_cfi_expression_reduce(block(machine), false, &expression)) {
        machine->failed = true;
        return;
    }
    const bool known = expression.reg < ARCH_GENERAL_REGISTERS;
    machine->state.cfa_how = known ? hows[expression.kind] : CFI_CFA_COMPLEX;
    machine->state.cfa_register = known ? expression.reg : 0;
    machine->state.cfa_offset = expression.offset;
    machine->state.cfa_add = expression.add;
}

static void op_expression(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    struct cfi_expression expression;
    if (!unwind_cfi_expression_reduce(block(machine), true, &expression)) {
        machine->failed = true;
        return;
    }
    const bool simple =
        expression.kind == CFI_EXPR_REGISTER && expression.reg < ARCH_GENERAL_REGISTERS;
    const struct cfi_value value = {
        .how = CFI_AT_REGISTER, .reg = expression.reg, .offset = expression.offset};
    const bool in_thunk = expression.kind == CFI_EXPR_THUNK;
    const struct cfi_value other = {.how = in_thunk ? CFI_THUNK : CFI_COMPLEX,
                                    .reg = in_thunk && expression.add ? UNWIND_THUNK_POINT
                                                                      : UNWIND_THUNK_FUNCTION,
                                    .offset = in_thunk ? expression.offset >> 32 : 0};
    set(machine, reg, simple ? value : other);
}

static void op_val_offset(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    uleb(machine);
    set(machine, reg, (struct cfi_value){.how = CFI_COMPLEX});
}

static void op_val_expression(struct machine *machine)
{
    const uint64_t reg = uleb(machine);
    struct cfi_expression expression;
    if (!unwind_cfi_expression_reduce(block(machine), true, &expression)) {
        machine->failed = true;
        return;
    }
    const struct cfi_value copy = {.how = CFI_THUNK, .reg = UNWIND_THUNK_COPY};
    set(machine, reg,
        expression.kind == CFI_EXPR_COPY ? copy : (struct cfi_value){.how = CFI_COMPLEX});
}

static void op_args_size(struct machine *machine)
{
    uleb(machine);
}

/* DW_CFA_set_loc is missing: no compiler emits it, and a program may not jump backwards. */
static void (*const instructions[0x40])(struct machine *) = {
    [0x00] = op_nop,
    [0x02] = op_advance1,
    [0x03] = op_advance2,
    [0x04] = op_advance4,
    [0x05] = op_offset_extended,
    [0x06] = op_restore_extended,
    [0x07] = op_undefined,
    [0x08] = op_same_value,
    [0x09] = op_register,
    [0x0a] = op_remember,
    [0x0b] = op_restore_state,
    [0x0c] = op_def_cfa,
    [0x0d] = op_def_cfa_register,
    [0x0e] = op_def_cfa_offset,
    [0x0f] = op_def_cfa_expression,
    [0x10] = op_expression,
    [0x11] = op_offset_extended_sf,
    [0x12] = op_def_cfa_sf,
    [0x13] = op_def_cfa_offset_sf,
    [0x14] = op_val_offset,
    [0x15] = op_val_offset, /* …_sf: the same bytes to skip */
    [0x16] = op_val_expression,
    [0x2e] = op_args_size,
    [0x2f] = op_offset_negated,
};

static void step(struct machine *machine)
{
    const uint8_t byte = *machine->reader.next++;
    const uint8_t operand = byte & 0x3f;
    switch (byte >> 6) {
    case 1: advance(machine, operand); return;
    case 2:
        set(machine, operand,
            (struct cfi_value){.how = CFI_AT_CFA, .offset = times(machine, uleb_offset(machine))});
        return;
    case 3: restore(machine, operand); return;
    default:
        if (instructions[operand])
            instructions[operand](machine);
        else
            machine->failed = true;
    }
}

static int run(struct machine *machine, struct sprof_bytes program)
{
    machine->reader = sprof_reader_of(program);
    while (machine->reader.next < machine->reader.end) {
        step(machine);
        if (machine->failed || machine->reader.failed)
            return SPROF_EFORMAT;
    }
    return 0;
}

int unwind_cfi_program_run(const struct cfi_section *section, const struct cfi_fde *fde,
                           cfi_row_fn *row, void *context)
{
    const struct cfi_cie *cie = &section->cies.items[fde->cie];
    struct machine machine;
    machine.section = section;
    machine.cie = cie;
    machine.location = fde->start;
    machine.end = fde->end;
    machine.state = cie->initial;
    machine.depth = 0;
    machine.failed = false;
    machine.row = row;
    machine.context = context;
    const int code = run(&machine, fde->program);
    if (code)
        return code;
    if (machine.location < machine.end)
        row(context, machine.location, machine.end, &machine.state);
    return 0;
}

int unwind_cfi_program_initial(const struct cfi_section *section, struct cfi_cie *cie)
{
    struct machine machine = {.section = section, .cie = cie};
    machine.state.signal_frame = cie->signal_frame;
    cie->initial = machine.state;
    const int code = run(&machine, cie->program);
    cie->initial = machine.state;
    return code;
}
