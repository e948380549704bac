/* Reads all code of an image once: where branches lead, what each function calls, how it ends, and
 * whether it uses its own return address. */
#include "plan/planner.h"

#include <stdlib.h>

enum {
    TABLE_ENTRIES_MAX = 1 << 16, /* of one jump table */
    SECTIONS_OF_PLT = 3,
    FIRST_BYTES = 16, /* what marks the entry, and a jump */
};

/* Functions of other files whose callers' frames must be where they are: they return twice or read
 * their caller's address. The return address of a function that jumps to one must not be moved. */
static const char *const needing_return[] = {
    "setjmp",  "_setjmp", "sigsetjmp",  "__sigsetjmp", "__sigsetjmp_cancel",
    "vfork",   "__vfork", "getcontext", "swapcontext", "dlopen",
    "dlmopen", "dlsym",   "dlvsym",     NULL};

/* What compilers have functions call that are to be profiled (-pg): reads the return address of the
 * function that has called it. */
static const char *const reading_callers[] = {"mcount", "_mcount", "__fentry__", NULL};

/* What may be a jump table, and the index of the function that refers to it, or -1. */
struct scan_table {
    uint64_t vaddr;
    ptrdiff_t function;
    uint8_t entry_bytes;
};

struct scan {
    struct planner *planner;
    struct plan_function *function; /* NULL: between functions */
    uint64_t plt_start[SECTIONS_OF_PLT], plt_end[SECTIONS_OF_PLT];
    struct sprof_bytes constants; /* .rodata, where jump tables are */
    uint64_t constants_vaddr;
    bool has_fixed_addresses;
    bool takes_label;  /* the function takes the address of a place within one */
    uint32_t may_land; /* a bit for each of its first bytes: it may jump there by an address that it
                          has computed, for the frame is the same */
    uint64_t before;   /* the instruction before the one that is looked at, if it changes stack or
                          frame pointer, else 0 */
    SPROF_VEC(struct scan_table) tables;
};

static void add_callee(struct scan *scan, uint64_t address, bool is_slot, bool is_tail)
{
    struct planner *planner = scan->planner;
    const struct plan_callee callee = {.address = address, .is_slot = is_slot, .is_tail = is_tail};
    scan->function->callees++;
    planner->failed |= sprof_vec_push(&planner->callees, callee) != 0;
}

static bool in_plt(const struct scan *scan, uint64_t vaddr)
{
    for (size_t i = 0; i < SECTIONS_OF_PLT; i++)
        if (vaddr >= scan->plt_start[i] && vaddr < scan->plt_end[i])
            return true;
    return false;
}

static bool slot_of_plt(struct scan *scan, uint64_t vaddr, uint64_t *slot)
{
    struct sprof_bytes bytes;
    uint8_t entry[ARCH_PLT_JUMP_BYTES] = {0};
    if (!in_plt(scan, vaddr) || !plan_text_at(scan->planner, vaddr, &bytes))
        return false;
    memcpy(entry, bytes.data, bytes.size < sizeof entry ? bytes.size : sizeof entry);
    return arch_code_plt_slot(entry, vaddr, slot);
}

/* == Jump tables == */

static bool is_inside(const struct plan_function *function, uint64_t vaddr)
{
    return vaddr >= function->start && vaddr < function->end;
}

/* Whether an entry of a function's table may lead to a vaddr: into the function, or a part of one.
 */
static bool may_lead_to(struct scan *scan, const struct scan_table *table, uint64_t vaddr)
{
    const struct plan_function *functions = scan->planner->functions.items;
    struct sprof_bytes bytes;
    if (!plan_text_at(scan->planner, vaddr, &bytes))
        return false;
    return table->function < 0 || is_inside(&functions[table->function], vaddr) ||
           unwind_table_entry(scan->planner->table, vaddr) == UNWIND_ENTRY_INSIDE;
}

/* Entries of four bytes count from the table, those of eight are addresses; the table ends where
 * the next one begins, or with the first entry that leads elsewhere. */
static void targets_of_table(struct scan *scan, const struct scan_table *table, uint64_t limit)
{
    const uint64_t end = scan->constants_vaddr + scan->constants.size;
    if (table->vaddr < scan->constants_vaddr || table->vaddr >= end)
        return;
    const uint8_t *at = scan->constants.data + (table->vaddr - scan->constants_vaddr);
    size_t left = (size_t)((limit < end ? limit : end) - table->vaddr) / table->entry_bytes;
    for (left = left < TABLE_ENTRIES_MAX ? left : TABLE_ENTRIES_MAX; left; left--) {
        uint64_t target = 0;
        int32_t distance = 0;
        memcpy(table->entry_bytes == 8 ? (void *)&target : (void *)&distance, at,
               table->entry_bytes);
        if (table->entry_bytes == 4)
            target = table->vaddr + (uint64_t)(int64_t)distance;
        if (!may_lead_to(scan, table, target))
            return;
        plan_target_add(scan->planner, target);
        at += table->entry_bytes;
    }
}

static int compare_tables(const void *left, const void *right)
{
    const struct scan_table *a = left, *b = right;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static void targets_of_tables(struct scan *scan)
{
    const size_t count = scan->tables.count;
    struct scan_table *tables = scan->tables.items;
    if (count)
        qsort(tables, count, sizeof *tables, compare_tables);
    for (size_t i = 0; i < count; i++) {
        size_t next = i + 1;
        while (next < count && tables[next].vaddr == tables[i].vaddr)
            next++;
        targets_of_table(scan, &tables[i], next < count ? tables[next].vaddr : UINT64_MAX);
    }
}

static void note_table(struct scan *scan, uint64_t vaddr, uint8_t entry_bytes)
{
    const struct planner *planner = scan->planner;
    const struct scan_table table = {
        .vaddr = vaddr,
        .function = scan->function ? scan->function - planner->functions.items : -1,
        .entry_bytes = entry_bytes,
    };
    if (vaddr - scan->constants_vaddr < scan->constants.size)
        scan->planner->failed |= sprof_vec_push(&scan->tables, table) != 0;
}

/* An address that the function takes: of a function, or of a label. */
static void note_address(struct scan *scan, uint64_t vaddr)
{
    struct planner *planner = scan->planner;
    const ptrdiff_t index =
        plan_function_index(planner->functions.items, planner->functions.count, vaddr);
    plan_target_add(planner, vaddr);
    scan->takes_label |=
        index >= 0 && (planner->functions.items[index].start != vaddr ||
                       unwind_table_entry(planner->table, vaddr) == UNWIND_ENTRY_INSIDE);
}

static bool same_frame(struct scan *scan, uint64_t vaddr, uint64_t other)
{
    const struct unwind_table *table = scan->planner->table;
    unsigned reg, other_reg;
    int64_t offset, other_offset;
    return !unwind_table_cfa(table, vaddr, &reg, &offset) ||
           !unwind_table_cfa(table, other, &other_reg, &other_offset) ||
           (reg == other_reg && offset == other_offset);
}

static bool is_top_of_stack(const struct arch_instruction *instruction)
{
    return instruction->bits & ARCH_HAS_MEMORY && instruction->base == ARCH_SP &&
           instruction->index == -1 && !instruction->displacement;
}

/* Whether code jumps to what is in a register by way of a return: it calls a place of its own, puts
 * the address over the one that this has pushed, and returns. */
static bool is_retpoline(struct scan *scan, uint64_t vaddr)
{
    enum { BYTES_MAX = 64, INSTRUCTIONS = 3 };
    const uint64_t start = vaddr;
    struct arch_instruction instruction[INSTRUCTIONS];
    for (int i = 0; i < INSTRUCTIONS; i++) {
        struct sprof_bytes bytes;
        if (vaddr - start > BYTES_MAX || !plan_text_at(scan->planner, vaddr, &bytes) ||
            !arch_instruction_decode(bytes.data, bytes.size, &instruction[i]))
            return false;
        vaddr += instruction[i].length;
        if (i == 0 && instruction[i].flow != ARCH_FLOW_CALL)
            return false;
        if (i == 0)
            vaddr += (uint64_t)instruction[i].value;
    }
    return is_top_of_stack(&instruction[1]) && instruction[2].flow == ARCH_FLOW_RETURN;
}

/* A jump to what is in a register. */
static void note_computed_jump(struct scan *scan, uint64_t vaddr)
{
    for (unsigned i = 1; i < FIRST_BYTES; i++)
        if (!(scan->may_land >> i & 1) && same_frame(scan, scan->function->start + i, vaddr))
            scan->may_land |= UINT32_C(1) << i;
}

/* Computed gotos add what they read from any table, of entries of any size, to the address of a
 * label: nothing shows where the function's other labels are, so each of its first instructions may
 * be one. */
static void targets_of_labels(struct scan *scan)
{
    for (unsigned i = 1; scan->takes_label && i < FIRST_BYTES; i++)
        if (scan->may_land >> i & 1)
            plan_target_add(scan->planner, scan->function->start + i);
}

static void note_tables(struct scan *scan, uint64_t next,
                        const struct arch_instruction *instruction)
{
    if (scan->has_fixed_addresses && instruction->immediate)
        note_address(scan, (uint64_t)instruction->immediate);
    if (instruction->bits & ARCH_LOADS_ADDRESS && instruction->base == ARCH_PC) {
        const uint64_t address = next + (uint64_t)instruction->displacement;
        note_address(scan, address);
        note_table(scan, address, 4);
    } else if (scan->has_fixed_addresses && instruction->bits & ARCH_LOADS_ADDRESS) {
        note_address(scan, (uint64_t)instruction->displacement);
    } else if (instruction->bits & ARCH_HAS_MEMORY && instruction->base == -1 &&
               instruction->index != -1) {
        note_table(scan, (uint64_t)instruction->displacement, 8);
    }
}

/* == The return address == */

/* Whether the instruction at `vaddr` touches the function's own return address, as far as the call
 * frame information says where that is, or hands out where it is before there is a frame. */
static bool uses_return_address(struct scan *scan, uint64_t vaddr,
                                const struct arch_instruction *instruction)
{
    const bool pops = instruction->effect == ARCH_EFFECT_POPS_FP ||
                      (instruction->effect == ARCH_EFFECT_ADDS_SP && instruction->value > 0);
    const bool has_operand = instruction->bits & ARCH_HAS_MEMORY && instruction->index == -1 &&
                             !(instruction->bits & (ARCH_IS_UNSCALED | ARCH_IS_NOTHING)) &&
                             (instruction->base == ARCH_SP || instruction->base == ARCH_FP);
    unsigned reg;
    int64_t offset;
    if (instruction->bits & ARCH_RETURNS_FAR ||
        (instruction->effect == ARCH_EFFECT_RETURNS && instruction->value))
        return true; /* it leaves its return address elsewhere than where it found it */
    if ((!pops && !has_operand) || !unwind_table_cfa(scan->planner->table, vaddr, &reg, &offset))
        return false;
    const int64_t popped = instruction->effect == ARCH_EFFECT_POPS_FP ? 8 : instruction->value;
    if (pops && reg == ARCH_SP && popped > offset - ARCH_CALL_PUSHES)
        return true;
    const bool at_return = has_operand && (unsigned)instruction->base == reg &&
                           instruction->displacement == offset - ARCH_CALL_PUSHES;
    return at_return && (!(instruction->bits & ARCH_LOADS_ADDRESS) || offset == ARCH_CALL_PUSHES);
}

static void need_return(struct planner *planner, const struct plan_function *function)
{
    planner->failed |= sprof_map_put(&planner->needs_return, function->start, 1) != 0;
}

/* Whether a jump is made while the function has a frame: where it leads to another function, that
 * one finds no return address on top of the stack. GCC's retpolines are such. A register that is as
 * far from the frame's start as the stack pointer is at an entry does not show that. Some
 * compilers write no rows for the ends of functions: there the frame is taken down just before. */
static bool keeps_frame(struct scan *scan, uint64_t vaddr, uint64_t target)
{
    const struct unwind_table *table = scan->planner->table;
    unsigned reg;
    int64_t offset, offset_there;
    return unwind_table_cfa(table, vaddr, &reg, &offset) &&
           unwind_table_cfa(table, target, &reg, &offset_there) && offset != offset_there &&
           !(scan->before && same_frame(scan, scan->before, vaddr));
}

/* == Where execution goes == */

/* A jump out of the function, to another one or to a part of this one. */
static void leave_by_jump(struct scan *scan, uint64_t vaddr, uint64_t target)
{
    struct planner *planner = scan->planner;
    uint64_t slot;
    if (keeps_frame(scan, vaddr, target))
        planner->failed |= sprof_map_put(&planner->framed_jumps, target, 1) != 0;
    if (slot_of_plt(scan, target, &slot)) {
        add_callee(scan, slot, true, true);
        scan->function->exits++;
        return;
    }
    add_callee(scan, target, false, true);
    if (unwind_table_entry(planner->table, target) == UNWIND_ENTRY_INSIDE)
        return;
    scan->function->exits++;
    if (is_retpoline(scan, target))
        note_computed_jump(scan, vaddr);
}

static void call_direct(struct scan *scan, uint64_t target)
{
    uint64_t slot;
    const bool foreign = slot_of_plt(scan, target, &slot);
    add_callee(scan, foreign ? slot : target, foreign, false);
    scan->function->foreign_calls += foreign;
    scan->function->calls += !foreign;
}

/* Through a slot of the GOT, or through what cannot be known. A jump by a table stays inside. */
static void go_indirect(struct scan *scan, uint64_t next,
                        const struct arch_instruction *instruction)
{
    struct plan_function *function = scan->function;
    const bool is_tail = instruction->flow == ARCH_FLOW_JUMP_INDIRECT;
    if (is_tail && !(instruction->bits & ARCH_HAS_MEMORY))
        note_computed_jump(scan, next - instruction->length);
    if (instruction->bits & ARCH_HAS_MEMORY && instruction->base == ARCH_PC) {
        add_callee(scan, next + (uint64_t)instruction->displacement, true, is_tail);
        function->foreign_calls += !is_tail;
        function->exits += is_tail;
    } else if (!is_tail) {
        function->open_calls++;
    }
}

/* A jump inside the function; one that leads to where a probe would be is noted. */
static void loop_inside(struct scan *scan, uint64_t target)
{
    enum { LANDING_MAX = 4 };
    if (target - scan->function->start <= LANDING_MAX)
        scan->planner->failed |=
            sprof_map_put(&scan->planner->loops, scan->function->start, target) != 0;
}

static void follow(struct scan *scan, uint64_t vaddr, const struct arch_instruction *instruction)
{
    const uint64_t next = vaddr + instruction->length;
    const uint64_t target = next + (uint64_t)instruction->value;
    switch ((enum arch_flow)instruction->flow) {
    case ARCH_FLOW_CALL:
        plan_target_add(scan->planner, target);
        if (scan->function)
            call_direct(scan, target);
        return;
    case ARCH_FLOW_JUMP:
    case ARCH_FLOW_BRANCH:
        plan_target_add(scan->planner, target);
        if (scan->function && is_inside(scan->function, target))
            loop_inside(scan, target);
        else if (scan->function)
            leave_by_jump(scan, vaddr, target);
        return;
    case ARCH_FLOW_CALL_INDIRECT:
    case ARCH_FLOW_JUMP_INDIRECT:
        if (scan->function)
            go_indirect(scan, next, instruction);
        return;
    case ARCH_FLOW_RETURN:
        if (scan->function)
            scan->function->exits++;
        return;
    case ARCH_FLOW_NEXT:
    case ARCH_FLOW_STOP: return;
    }
}

/* == All code == */

static void scan_range(struct scan *scan, uint64_t start, uint64_t end)
{
    struct sprof_bytes bytes;
    if (!plan_text_at(scan->planner, start, &bytes))
        return;
    const size_t size = end - start < bytes.size ? (size_t)(end - start) : bytes.size;
    bool needs_return = false;
    scan->before = 0;
    for (size_t at = 0; at < size;) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(bytes.data + at, size - at, &instruction)) {
            at++; /* data, or hand-written code of other kinds: on with the next byte */
            continue;
        }
        const uint64_t vaddr = start + at, next = vaddr + instruction.length;
        if (scan->function && !needs_return)
            needs_return = uses_return_address(scan, vaddr, &instruction);
        note_tables(scan, next, &instruction);
        follow(scan, vaddr, &instruction);
        if (instruction.flow == ARCH_FLOW_CALL && is_retpoline(scan, vaddr))
            scan->may_land = UINT32_MAX; /* it has been inlined: its frame is not that of labels */
        scan->before = instruction.effect == ARCH_EFFECT_NONE ? 0 : vaddr;
        at += instruction.length;
    }
    if (needs_return)
        need_return(scan->planner, scan->function);
}

static int compare_callees(const void *left, const void *right)
{
    const struct plan_callee *a = left, *b = right;
    return a->address != b->address   ? (a->address > b->address) - (a->address < b->address)
           : a->is_slot != b->is_slot ? a->is_slot - b->is_slot
                                      : a->is_tail - b->is_tail;
}

/* Each callee of the function just scanned once. */
static void sort_callees(struct planner *planner, struct plan_function *function)
{
    if (planner->failed || !function->callees)
        return;
    struct plan_callee *first = &planner->callees.items[function->first_callee];
    size_t kept = 0;
    qsort(first, function->callees, sizeof *first, compare_callees);
    for (size_t i = 0; i < function->callees; i++)
        if (!kept || compare_callees(&first[kept - 1], &first[i]) != 0)
            first[kept++] = first[i];
    function->callees = (uint32_t)kept;
    planner->callees.count = function->first_callee + kept;
}

static bool is_named(const char *name, const char *const *names)
{
    for (; name && *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

static const char *name_of_callee(const struct planner *planner, const struct plan_callee *callee)
{
    if (callee->is_slot)
        return callee->imported;
    const ptrdiff_t index =
        plan_function_index(planner->functions.items, planner->functions.count, callee->address);
    return index < 0 ? NULL : planner->functions.items[index].linkage_name;
}

static bool calls_reader(const struct planner *planner, const struct plan_function *function)
{
    for (size_t i = 0; i < function->callees; i++) {
        const struct plan_callee *callee = &planner->callees.items[function->first_callee + i];
        if (!callee->is_tail && is_named(name_of_callee(planner, callee), reading_callers))
            return true;
    }
    return false;
}

static bool jumps_to_needing(struct planner *planner, const struct plan_function *function)
{
    for (size_t i = 0; i < function->callees; i++) {
        const struct plan_callee *callee = &planner->callees.items[function->first_callee + i];
        if (callee->is_tail &&
            (callee->is_slot ? is_named(callee->imported, needing_return)
                             : sprof_map_get(&planner->needs_return, callee->address) != NULL))
            return true;
    }
    return false;
}

void plan_spread_needs(struct planner *planner)
{
    for (size_t i = 0; i < planner->functions.count; i++)
        if (calls_reader(planner, &planner->functions.items[i]))
            need_return(planner, &planner->functions.items[i]);
    for (bool changed = true; changed && !planner->failed;) {
        changed = false;
        for (size_t i = 0; i < planner->functions.count; i++) {
            const struct plan_function *function = &planner->functions.items[i];
            if (!sprof_map_get(&planner->needs_return, function->start) &&
                jumps_to_needing(planner, function)) {
                need_return(planner, function);
                changed = true;
            }
        }
    }
}

static void find_plt(struct scan *scan)
{
    static const char *const names[SECTIONS_OF_PLT] = {".plt", ".plt.sec", ".plt.got"};
    for (size_t i = 0; i < SECTIONS_OF_PLT; i++) {
        const struct sprof_bytes bytes =
            image_section(scan->planner->image, names[i], &scan->plt_start[i]);
        scan->plt_end[i] = scan->plt_start[i] + bytes.size;
    }
}

void plan_scan_code(struct planner *planner)
{
    struct scan scan = {.planner = planner,
                        .has_fixed_addresses = plan_has_fixed_addresses(planner)};
    size_t next = 0;
    find_plt(&scan);
    scan.constants = image_section(planner->image, ".rodata", &scan.constants_vaddr);
    for (size_t i = 0; i < planner->text_count; i++) {
        uint64_t vaddr = planner->texts[i].start;
        const uint64_t end = planner->texts[i].end;
        for (; next < planner->functions.count && !planner->failed; next++) {
            struct plan_function *function = &planner->functions.items[next];
            if (function->start >= end)
                break;
            if (function->start > vaddr)
                scan_range(&scan, vaddr, function->start);
            scan.function = function;
            scan.takes_label = false;
            scan.may_land = 0;
            function->first_callee = (uint32_t)planner->callees.count;
            scan_range(&scan, function->start, function->end);
            targets_of_labels(&scan);
            sort_callees(planner, function);
            scan.function = NULL;
            vaddr = function->end > vaddr ? function->end : vaddr;
        }
        if (vaddr < end)
            scan_range(&scan, vaddr, end);
    }
    targets_of_tables(&scan);
    sprof_vec_release(&scan.tables);
}
