/* Finds rows of a flat table whose names look the same, and what distinguishes them. */
#include "report/by_key.h"

#include <string.h>

struct row_name {
    const char *name; /* "" where rows are modules */
    const struct report_module *module;
    uint32_t function;
    size_t row;
};

static int compare_names(const void *left, const void *right)
{
    const struct row_name *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->module->name, b->module->name);
    order = order ? order : strcmp(a->module->path, b->module->path);
    order = order ? order : (a->module > b->module) - (a->module < b->module);
    return order ? order : (a->function > b->function) - (a->function < b->function);
}

/* The rows that have a module, in the order of their names; NULL when out of memory. */
static struct row_name *sorted_names(const struct by_key *by, bool functions, size_t *count)
{
    struct row_name *names = calloc(by->rows.count + 1, sizeof *names);
    *count = 0;
    for (size_t i = 0; names && i < by->rows.count; i++) {
        const struct key_row *row = &by->rows.items[i];
        const uint32_t function = functions ? row->function : 0;
        if (row->module)
            names[(*count)++] = (struct row_name){
                function ? report_dataset_function_name(by->dataset, function) : "",
                &by->dataset->modules.items[row->module - 1], function, i};
    }
    if (*count)
        qsort(names, *count, sizeof *names, compare_names);
    return names;
}

static bool same_names(const struct row_name *a, const struct row_name *b)
{
    return a->module != b->module && !strcmp(a->name, b->name) &&
           !strcmp(a->module->name, b->module->name);
}

struct report_namesakes report_namesakes_find(const struct by_key *by, bool functions)
{
    size_t count;
    struct row_name *names = sorted_names(by, functions, &count);
    struct report_namesakes found = {0};
    for (size_t i = 1; i < count; i++)
        if (same_names(&names[i - 1], &names[i])) {
            const bool one_path = !strcmp(names[i - 1].module->path, names[i].module->path);
            found.paths |= !one_path;
            found.builds |= one_path;
        }
    free(names);
    return found;
}

static bool same_place(const struct report_function *a, const struct report_function *b)
{
    return !a->file || !b->file || (!strcmp(a->file, b->file) && a->line == b->line);
}

static int compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_places(const void *left, const void *right, void *context)
{
    const struct report_function *functions = context;
    const struct row_name *one = left, *other = right;
    const struct report_function *a = &functions[one->function - 1],
                                 *b = &functions[other->function - 1];
    int order = compare_texts(a->file, b->file);
    order = order ? order : (a->line > b->line) - (a->line < b->line);
    return order ? order : (a > b) - (a < b);
}

/* Marks those from `first` to before `end`, which look the same. */
static void mark(struct by_key *by, struct row_name *names, size_t first, size_t end)
{
    struct report_function *functions = by->dataset->functions.items;
    bool files = true;
    if (names[first].function == names[end - 1].function)
        return;
    qsort_r(names + first, end - first, sizeof *names, compare_places, functions);
    for (size_t i = first + 1; i < end; i++)
        if (names[i].function != names[i - 1].function &&
            same_place(&functions[names[i].function - 1], &functions[names[i - 1].function - 1]))
            files = false;
    for (size_t i = first; i < end; i++)
        by->alike[names[i].row] = files ? REPORT_ALIKE_FILES : REPORT_ALIKE;
}

int report_namesakes_mark(struct by_key *by)
{
    size_t count;
    struct row_name *names = sorted_names(by, true, &count);
    by->alike = calloc(by->rows.count + 1, sizeof *by->alike);
    for (size_t i = 0, end; names && by->alike && i < count; i = end) {
        for (end = i + 1; end < count && names[end].module == names[i].module &&
                          !strcmp(names[end].name, names[i].name);)
            end++;
        if (names[i].function)
            mark(by, names, i, end);
    }
    free(names);
    if (!names || !by->alike)
        return SPROF_ENOMEM;
    if (!memchr(by->alike, REPORT_ALIKE, by->rows.count) &&
        !memchr(by->alike, REPORT_ALIKE_FILES, by->rows.count)) {
        free(by->alike);
        by->alike = NULL;
    }
    return 0;
}
