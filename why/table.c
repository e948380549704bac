/* Keeps the table of samples from which a verdict is made. */
#include "why/why.h"

#include <stdlib.h>
#include <string.h>

uint32_t why_add_function(struct why_table *table, const struct why_function *function)
{
    const struct why_function outside = {.name = "[outside the application]"};
    if (!table->functions.count && sprof_vec_push(&table->functions, outside))
        return 0;
    const struct why_function copy = {
        sprof_arena_text(&table->texts, function->name),
        sprof_arena_text(&table->texts, function->full ? function->full : function->name),
        function->is_inlined};
    if (!copy.name || !copy.full || sprof_vec_push(&table->functions, copy))
        return 0;
    return (uint32_t)table->functions.count - 1;
}

uint32_t why_add_word(struct why_table *table, const char *word)
{
    for (size_t i = 0; i < table->words.count; i++)
        if (!strcmp(table->words.items[i], word))
            return (uint32_t)i;
    const char *copy = sprof_arena_text(&table->texts, word);
    if (!copy || sprof_vec_push(&table->words, copy))
        return UINT32_MAX;
    return (uint32_t)table->words.count - 1;
}

uint32_t why_add_stack(struct why_table *table, const struct why_place *places, size_t count,
                       uint32_t entry)
{
    const struct why_stack stack = {(uint32_t)table->frames.count, (uint32_t)count, entry};
    for (size_t i = 0; i < count; i++)
        if (sprof_vec_push(&table->frames, places[i]))
            return UINT32_MAX;
    if (sprof_vec_push(&table->stacks, stack))
        return UINT32_MAX;
    return (uint32_t)table->stacks.count - 1;
}

uint32_t why_owner(const struct why_table *table, const struct why_sample *sample)
{
    const struct why_stack *stack = &table->stacks.items[sample->stack];
    return stack->depth ? table->frames.items[stack->first].function : 0;
}

void why_table_release(struct why_table *table)
{
    sprof_vec_release(&table->functions);
    sprof_vec_release(&table->words);
    sprof_vec_release(&table->frames);
    sprof_vec_release(&table->stacks);
    sprof_vec_release(&table->threads);
    sprof_vec_release(&table->samples);
    sprof_arena_release(&table->texts);
    *table = (struct why_table){0};
}
