/* Reads from tables what code that changes code needs of functions: where they begin and end, how
 * they are entered, where their exception tables are. */
#include "unwind/cfi.h"
#include "unwind/table.h"

bool unwind_table_next_function(const struct unwind_table *table, uint64_t vaddr,
                                struct unwind_function_info *info)
{
    const uint64_t offset = vaddr < table->base ? 0 : vaddr - table->base;
    size_t low = 0, high = table->function_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (unwind_table_nth(table, middle)->start < offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == table->function_count)
        return false;
    const struct unwind_function *function = unwind_table_nth(table, low);
    if (function->start < offset || function->end < function->start)
        return false;
    *info = (struct unwind_function_info){
        .range = {table->base + function->start, table->base + function->end},
        .from_go = function->kept_in == UNWIND_KEPT_NONE,
    };
    return true;
}

enum unwind_entry unwind_table_entry(const struct unwind_table *table, uint64_t vaddr)
{
    const uint64_t rule = unwind_table_lookup(table, vaddr);
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    if (kind == UNWIND_RULE_END)
        return UNWIND_ENTRY_START;
    if (kind == UNWIND_RULE_SIGNAL)
        return UNWIND_ENTRY_SIGNAL;
    const bool as_called = kind == UNWIND_RULE_CFA && !(rule & UNWIND_RULE_BASE_FP) &&
                           (rule & UNWIND_RULE_RETURN_MASK) == UNWIND_RULE_RETURN_ON_ENTRY &&
                           unwind_rule_offset(rule) == ARCH_CALL_PUSHES;
    return as_called ? UNWIND_ENTRY_CALLED : UNWIND_ENTRY_INSIDE;
}

bool unwind_table_cfa(const struct unwind_table *table, uint64_t vaddr, unsigned *reg,
                      int64_t *offset)
{
    const uint64_t rule = unwind_table_lookup(table, vaddr);
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    if (kind != UNWIND_RULE_CFA && kind != UNWIND_RULE_REGISTER)
        return false;
    *reg = kind == UNWIND_RULE_REGISTER ? unwind_rule_register(rule)
           : rule & UNWIND_RULE_BASE_FP ? ARCH_FP
                                        : ARCH_SP;
    *offset = unwind_rule_offset(rule);
    return true;
}

int unwind_each_exception_table(struct sprof_bytes eh_frame, uint64_t eh_frame_vaddr,
                                void (*found)(void *context, uint64_t function, uint64_t table),
                                void *context)
{
    struct cfi_section section;
    struct cfi_fde fde;
    size_t offset = 0;
    int code;
    unwind_cfi_section_init(&section, eh_frame, eh_frame_vaddr, false);
    while ((code = unwind_cfi_section_next(&section, &offset, &fde)) != 1 && code != SPROF_ENOMEM)
        if (!code && fde.exception_table)
            found(context, fde.start, fde.exception_table);
    unwind_cfi_section_release(&section);
    return code == 1 ? 0 : code;
}
