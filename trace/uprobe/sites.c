/* Finds instructions for uprobes: entries, and ends of functions and their split-off parts.
 *
 * Ends are returns and jumps out. A jump through a register uses a table if the function loads an
 * address of data. A wrong end does no harm: calls end only if the stack pointer is at their return
 * address. */
#include "trace/uprobe/sites.h"
#include "arch/probe.h"

#include "arch/arch.h"

#include <stdlib.h>
#include <string.h>

enum {
    FUNCTION_BYTES_MAX = 4 << 20,
    CHECKS_BYTES_MAX = 64, /* in which Go functions check their stack */
};

bool trace_uprobe_may_stand(const struct plan_function *function)
{
    switch ((enum plan_reason)function->why) {
    case PLAN_TOO_SHORT:
    case PLAN_TARGET_INSIDE:
    case PLAN_NOT_MOVABLE:
    case PLAN_ENDS_INSIDE:
    case PLAN_READS_FLAGS: return true;
    default: return function->mechanism != PLAN_NOT;
    }
}

uint32_t trace_uprobe_entry_of(const uint8_t *code, size_t size)
{
    static const uint8_t entries[] = {[ARCH_UPROBE_EMULATES] = UPROBE_ENTRY_PUSH,
                                      [ARCH_UPROBE_SKIPS] = UPROBE_ENTRY_NOP,
                                      [ARCH_UPROBE_STEPS] = UPROBE_ENTRY_STEP};
    return entries[arch_uprobe_of(code, size)];
}

/* == Ends == */

struct finding {
    struct uprobe_sites *sites;
    const struct probing_file *file;
    struct image *image;
    /* for the present function: */
    struct sprof_map scanned;
    SPROF_VEC(size_t) parts; /* to be scanned */
    uint64_t entry;
    uint64_t grows, grown; /* targets of its first branches; code after them */
    uint32_t number;
    bool begins_anew, failed;
    struct sprof_map jumpers; /* functions on the way of longjmp */
};

static void add(struct finding *finding, uint64_t vaddr, uint64_t cookie)
{
    struct uprobe_site site = {.cookie = cookie, .function = finding->number};
    if (image_offset_of_vaddr(finding->image, vaddr, &site.offset))
        finding->failed |= sprof_vec_push(&finding->sites->list, site) != 0;
}

static bool is_within(const struct plan_function *function, uint64_t vaddr)
{
    return vaddr >= function->start && vaddr < function->end;
}

static void go_elsewhere(struct finding *finding, const struct plan_function *function,
                         uint64_t vaddr, uint64_t target, const uint8_t *code,
                         const struct arch_instruction *instruction)
{
    const struct plan *plan = &finding->file->plan;
    const struct plan_function *there = plan_find(plan, target);
    if (target == finding->entry)
        finding->begins_anew = true;
    if (there && (there->why == PLAN_PART || function->why == PLAN_PART)) {
        const size_t index = (size_t)(there - plan->functions);
        if (there->why == PLAN_PART && !sprof_map_get(&finding->scanned, index))
            finding->failed |= sprof_vec_push(&finding->parts, index) != 0;
        if (there->why == PLAN_PART || target != there->start)
            return; /* into a part, or back */
    }
    if (instruction->flow == ARCH_FLOW_BRANCH)
        add(finding, vaddr,
            UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_BRANCH,
                          arch_code_condition(code, instruction->length)));
    else
        add(finding, vaddr, UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_TAIL, 0));
}

static bool loads_data_address(const struct finding *finding, uint64_t next,
                               const struct arch_instruction *instruction)
{
    return instruction->bits & ARCH_LOADS_ADDRESS && instruction->base == ARCH_PC &&
           !plan_find(&finding->file->plan, next + (uint64_t)instruction->displacement);
}

static bool is_tail(const struct arch_instruction *instruction, bool has_table)
{
    if (!(instruction->bits & ARCH_HAS_MEMORY))
        return !has_table;
    return instruction->index == -1;
}

static uint8_t *read_code(const struct finding *finding, const struct plan_function *function,
                          size_t *there)
{
    const size_t size = (size_t)(function->end - function->start);
    uint64_t offset;
    uint8_t *code = NULL;
    if (size <= FUNCTION_BYTES_MAX &&
        image_offset_of_vaddr(finding->image, function->start, &offset))
        code = malloc(size + 1);
    if (code)
        *there = image_read(finding->image, offset, code, size);
    return code;
}

static void scan(struct finding *finding, size_t index)
{
    const struct plan_function *function = &finding->file->plan.functions[index];
    size_t there = 0;
    uint8_t *code = read_code(finding, function, &there);
    bool has_table = false;
    finding->failed |= sprof_map_put(&finding->scanned, index, 1) != 0;
    if (!code)
        return;
    for (size_t at = 0; at < there;) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(code + at, there - at, &instruction)) {
            at++; /* data between instructions */
            continue;
        }
        const uint64_t vaddr = function->start + at, next = vaddr + instruction.length;
        const uint64_t target = next + (uint64_t)instruction.value;
        has_table |= loads_data_address(finding, next, &instruction);
        if (instruction.flow == ARCH_FLOW_RETURN)
            add(finding, vaddr, UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0));
        else if (instruction.flow == ARCH_FLOW_JUMP_INDIRECT && is_tail(&instruction, has_table))
            add(finding, vaddr, UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_TAIL, 0));
        else if (instruction.flow == ARCH_FLOW_JUMP || instruction.flow == ARCH_FLOW_BRANCH) {
            finding->begins_anew |= target == finding->entry || target == function->start;
            if (instruction.flow == ARCH_FLOW_BRANCH && at < CHECKS_BYTES_MAX &&
                (!finding->grows || finding->grows == target)) {
                finding->grows = target;
                finding->grown = next;
            }
            if (!is_within(function, target))
                go_elsewhere(finding, function, vaddr, target, code + at, &instruction);
        }
        at += instruction.length;
    }
    free(code);
}

/* == longjmp ==
 *
 * A jump through a register, after it has loaded the stack pointer, leaves all calls below. It may
 * be in a nameless callee. */

enum { JUMPERS_DEPTH = 4 };

static void add_jumps(struct finding *finding, const struct plan_function *function,
                      const uint8_t *code, size_t size)
{
    for (size_t at = 0; at < size;) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(code + at, size - at, &instruction)) {
            at++;
            continue;
        }
        if (instruction.flow == ARCH_FLOW_JUMP_INDIRECT && !(instruction.bits & ARCH_HAS_MEMORY))
            add(finding, function->start + at,
                UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_LEAVE, 0));
        at += instruction.length;
    }
}

static void find_jumps(struct finding *finding, const struct plan_function *function, int depth)
{
    const struct plan *plan = &finding->file->plan;
    const size_t index = (size_t)(function - plan->functions);
    size_t size = 0;
    if (sprof_map_get(&finding->jumpers, index))
        return;
    finding->failed |= sprof_map_put(&finding->jumpers, index, 1) != 0;
    uint8_t *code = read_code(finding, function, &size);
    if (code)
        add_jumps(finding, function, code, size);
    free(code);
    for (size_t i = 0; i < function->callees && depth < JUMPERS_DEPTH; i++) {
        const struct plan_callee *callee = &plan->callees[function->first_callee + i];
        const struct plan_function *next =
            callee->is_slot ? NULL : plan_find(plan, callee->address);
        if (next && next->start == callee->address)
            find_jumps(finding, next, depth + 1);
    }
}

/* == Functions == */

static const char *add_entry(struct finding *finding, const struct probing_probe *probe,
                             uint8_t tier)
{
    uint8_t code[16];
    uint64_t offset;
    if (!image_offset_of_vaddr(finding->image, finding->entry, &offset))
        return "is not in the file";
    const size_t size = image_read(finding->image, offset, code, sizeof code);
    const uint32_t kind = trace_uprobe_entry_of(code, size);
    const char *objection = arch_uprobe_objection(code, size);
    if (objection || size < 2)
        return objection ? objection : "is not in the file";
    const bool leaves = probe->function->mechanism == PLAN_LEAVE && tier == PROBE_LEAVE;
    add(finding, finding->entry,
        UPROBE_COOKIE(finding->number, probe->is_chosen ? kind : UPROBE_ENTRY_NOT,
                      leaves ? UPROBE_EXIT_LEAVE : UPROBE_EXIT_NOT, 0));
    return NULL;
}

static void find_function(struct finding *finding, struct trace_session *session, uint32_t number)
{
    struct probing_probe *probe = &session->probes.items[number];
    const uint8_t tier = probe->tier;
    finding->number = number;
    finding->entry = probe->function->site ? probe->function->site : probe->function->start;
    finding->begins_anew = false;
    finding->grows = finding->grown = 0;
    finding->parts.count = 0;
    sprof_map_clear(&finding->scanned);
    if (tier == PROBE_OFF)
        return;
    if (tier == PROBE_JUMP) {
        find_jumps(finding, probe->function, 0);
        if (!probe->is_chosen)
            return;
    }
    const size_t before = finding->sites->list.count;
    scan(finding, (size_t)(probe->function - finding->file->plan.functions));
    while (finding->parts.count && !finding->failed)
        scan(finding, finding->parts.items[--finding->parts.count]);
    if (finding->begins_anew && probe->function->from_go && finding->grown) {
        finding->entry = finding->grown; /* it restarts after its stack has grown */
        finding->begins_anew = false;
    }
    if (tier != PROBE_FULL)
        finding->sites->list.count = before;
    const char *why = finding->begins_anew ? "jumps back to its entry, where a probe would see "
                                             "another call"
                                           : add_entry(finding, probe, tier);
    if (!why)
        return;
    finding->sites->list.count = before;
    probe->tier = PROBE_OFF;
    const struct uprobe_refusal refusal = {number, why};
    if (probe->is_chosen)
        finding->failed |= sprof_vec_push(&finding->sites->refused, refusal) != 0;
}

static int by_offset(const void *left, const void *right)
{
    const struct uprobe_site *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* A function may consist of its end, and parts may be shared. */
static void merge_sites(struct uprobe_sites *sites)
{
    struct uprobe_site *items = sites->list.items;
    size_t kept = 0;
    if (sites->list.count)
        qsort(items, sites->list.count, sizeof *items, by_offset);
    for (size_t i = 0; i < sites->list.count; i++) {
        if (!kept || items[kept - 1].offset != items[i].offset) {
            items[kept++] = items[i];
            continue;
        }
        if (UPROBE_COOKIE_ENTRY(items[i].cookie))
            items[kept - 1].function = items[i].function;
        const uint64_t both = items[kept - 1].cookie | items[i].cookie;
        items[kept - 1].cookie =
            UPROBE_COOKIE(UPROBE_COOKIE_FUNCTION(both), UPROBE_COOKIE_ENTRY(both),
                          UPROBE_COOKIE_EXIT(both), UPROBE_COOKIE_CONDITION(both));
    }
    sites->list.count = kept;
}

int trace_uprobe_sites_find(struct uprobe_sites *sites, struct trace_session *session,
                            const struct probing_file *file, struct image *image)
{
    struct finding finding = {.sites = sites, .file = file, .image = image};
    for (size_t i = file->first; i < file->first + file->count && !finding.failed; i++)
        find_function(&finding, session, (uint32_t)i);
    merge_sites(sites);
    sprof_map_release(&finding.scanned);
    sprof_map_release(&finding.jumpers);
    sprof_vec_release(&finding.parts);
    return finding.failed ? SPROF_ENOMEM : 0;
}
