/* Replaces the names of functions in a table by those that people read. */
#include "names/names.h"
#include "report/table.h"
#include "report/utf8_text.h"

#include <string.h>

/* Between the functions of a way: "main › work › hot". */
static const char joint[] = " › ";
enum { JOINT = sizeof joint - 1 };

/* The names of a table: a cell has one, or several in a row. */
struct collected {
    struct sprof_arena *arena;
    SPROF_VEC(const char *) names;
    const char **shown;
};

static bool holds_names(const struct table *table, size_t row, size_t column)
{
    return table->columns[column].functions && report_table_cell(table, row, column)->text &&
           !(row < table->places.count && table->places.items[row].folded);
}

static int collect(struct collected *collected, const char *cell)
{
    for (const char *end; (end = strstr(cell, joint)); cell = end + JOINT) {
        const char *name = sprof_arena_copy(collected->arena, cell, (size_t)(end - cell));
        if (!name || sprof_vec_push(&collected->names, name))
            return SPROF_ENOMEM;
    }
    return sprof_vec_push(&collected->names, cell);
}

/* The cell with its names replaced by those from *next on. NULL when out of memory. */
static const char *replaced(const struct collected *collected, const char *cell, size_t *next)
{
    struct sprof_str text = {0};
    if (!strstr(cell, joint))
        return collected->shown[(*next)++];
    for (const char *end; (end = strstr(cell, joint)); cell = end + JOINT)
        sprof_str_appendf(&text, "%s%s", collected->shown[(*next)++], joint);
    sprof_str_append(&text, collected->shown[(*next)++]);
    return report_utf8_keep(collected->arena, &text);
}

static int replace(struct table *table, struct collected *collected)
{
    size_t next = 0;
    for (size_t row = 0; row < report_table_rows(table); row++)
        for (size_t c = 0; c < table->column_count; c++) {
            if (!holds_names(table, row, c))
                continue;
            union table_cell *cell = &table->cells.items[row * table->column_count + c];
            cell->text = replaced(collected, cell->text, &next);
            if (!cell->text)
                return SPROF_ENOMEM;
        }
    return 0;
}

int report_table_shorten(struct table *table, struct sprof_arena *arena)
{
    struct collected collected = {.arena = arena};
    int result = 0;
    for (size_t row = 0; row < report_table_rows(table) && !result; row++)
        for (size_t c = 0; c < table->column_count && !result; c++)
            if (holds_names(table, row, c))
                result = collect(&collected, report_table_cell(table, row, c)->text);
    const size_t count = collected.names.count;
    collected.shown = malloc((count + 1) * sizeof *collected.shown);
    if (!result)
        result = collected.shown
                     ? names_shorten(arena, collected.names.items, count, collected.shown)
                     : SPROF_ENOMEM;
    if (!result)
        result = replace(table, &collected);
    free(collected.shown);
    sprof_vec_release(&collected.names);
    return result;
}

const char **report_dataset_short_names(struct report_dataset *dataset, const bool *wanted)
{
    const size_t count = dataset->functions.count;
    const char **shown = malloc((count + 1) * sizeof *shown);
    const char **names = calloc(count + 1, sizeof *names);
    size_t chosen = 0;
    for (size_t i = 0; shown && names && i < count; i++) {
        shown[i] = dataset->functions.items[i].name;
        if (wanted[i])
            names[chosen++] = shown[i];
    }
    const bool failed = !shown || !names || names_shorten(&dataset->arena, names, chosen, names);
    for (size_t i = count; !failed && i-- > 0;)
        if (wanted[i])
            shown[i] = names[--chosen];
    free(names);
    if (!failed)
        return shown;
    free(shown);
    return NULL;
}

const char *report_dataset_short_name(struct report_dataset *dataset, uint32_t function)
{
    const char *name = report_dataset_function_name(dataset, function);
    return names_shorten(&dataset->arena, &name, 1, &name) ? NULL : name;
}
