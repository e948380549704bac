/* Folded stacks, one line a call path: what FlameGraph, speedscope, inferno and Perfetto read.
 * There is no way to escape anything in this format, so what would end a frame or a line is
 * replaced. */
#include "report/export/export.h"

#include <inttypes.h>
#include <string.h>

/* A line: a path and its functions, root first. */
struct line {
    const uint32_t *functions;
    uint32_t depth;
    uint64_t value; /* samples, or nanoseconds where calls were timed */
};

struct name {
    const char *text; /* as it is written */
    const char *root; /* … as the first of a line, where '#' would begin a comment */
    size_t length;    /* of the text */
    uint32_t rank;    /* names in order of their bytes; equal ones share a rank */
};

static int compare_names(const void *a, const void *b, void *context)
{
    const struct name *names = context;
    return strcmp(names[*(const uint32_t *)a].text, names[*(const uint32_t *)b].text);
}

static int rank_names(struct name *names, size_t count)
{
    uint32_t *order = calloc(count + 1, sizeof *order);
    if (!order)
        return SPROF_ENOMEM;
    for (uint32_t i = 1; i <= count; i++)
        order[i] = i;
    qsort_r(order + 1, count, sizeof *order, compare_names, names);
    for (uint32_t i = 1; i <= count; i++) {
        const bool new = i == 1 || compare_names(&order[i - 1], &order[i], names) != 0;
        names[order[i]].rank = new ? i : names[order[i - 1]].rank;
    }
    free(order);
    return 0;
}

/* By names, root first, and by samples where these are the same: an order that does not depend on
 * how functions are numbered. Ranks stand for the names, since lines share most of theirs. */
static int compare_lines(const void *a, const void *b, void *context)
{
    const struct line *first = a, *second = b;
    const struct name *names = context;
    const uint32_t shorter = first->depth < second->depth ? first->depth : second->depth;
    for (uint32_t i = 0; i < shorter; i++) {
        const uint32_t x = first->functions[i], y = second->functions[i];
        if (x != y && names[x].rank != names[y].rank)
            return names[x].rank < names[y].rank ? -1 : 1;
    }
    if (first->depth != second->depth)
        return first->depth < second->depth ? -1 : 1;
    return (first->value < second->value) - (first->value > second->value);
}

static const char *clean_name(struct sprof_arena *arena, const char *name, bool root)
{
    if (!strchr(name, ';') && !(root && *name == '#'))
        return name;
    struct sprof_str text = {0};
    int result = root && *name == '#' ? sprof_str_append(&text, "_") : 0;
    for (; *name && !result; name++)
        result = sprof_str_append_bytes(&text, *name == ';' ? ":" : name, 1);
    const char *copy = result ? NULL : sprof_arena_copy(arena, text.text, text.length);
    sprof_str_release(&text);
    return copy;
}

/* The names of all functions, [number]; NULL when out of memory, else the caller frees. */
static struct name *clean_names(struct report_dataset *dataset)
{
    const size_t count = dataset->functions.count;
    struct name *names = calloc(count + 1, sizeof *names);
    int result = names ? 0 : SPROF_ENOMEM;
    for (size_t i = 1; i <= count && !result; i++) {
        const char *name = dataset->functions.items[i - 1].name;
        names[i].text = clean_name(&dataset->arena, name, false);
        names[i].root = clean_name(&dataset->arena, name, true);
        if (!names[i].text || !names[i].root)
            result = SPROF_ENOMEM;
        else
            names[i].length = strlen(names[i].text);
    }
    if (!result)
        result = rank_names(names, count);
    if (!result)
        return names;
    free(names);
    return NULL;
}

static void put_line(FILE *out, const struct name *names, const struct line *line)
{
    for (uint32_t i = 0; i < line->depth; i++) {
        const struct name *name = &names[line->functions[i]];
        if (i)
            putc_unlocked(';', out);
        if (i)
            fwrite_unlocked(name->text, 1, name->length, out);
        else
            fputs_unlocked(name->root, out);
    }
    fprintf(out, " %" PRIu64 "\n", line->value);
}

int report_folded_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    SPROF_VEC(struct line) lines = {0};
    struct export_chain chain = {0};
    struct name *names = clean_names(dataset);
    const bool is_time = report_counts_calls(dataset) || report_dataset_reads_waits(dataset);
    int result = names ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->paths.items.count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        const uint64_t value =
            is_time ? path->costs.exclusive.weight : path->costs.exclusive.samples;
        if (!value)
            continue;
        result = report_export_chain(dataset, path->id, &chain);
        const size_t bytes = chain.functions.count * sizeof *chain.functions.items;
        uint32_t *functions = result ? NULL : sprof_arena_alloc(&dataset->arena, bytes);
        const struct line line = {functions, (uint32_t)chain.functions.count, value};
        if (!functions || sprof_vec_push(&lines, line))
            result = SPROF_ENOMEM;
        else
            memcpy(functions, chain.functions.items, bytes);
    }
    if (lines.count && !result) /* sorted, so that two exports can be compared line by line */
        qsort_r(lines.items, lines.count, sizeof *lines.items, compare_lines, names);
    for (size_t i = 0; i < lines.count && !result; i++)
        put_line(out, names, &lines.items[i]);
    free(names);
    sprof_vec_release(&lines);
    sprof_vec_release(&chain.functions);
    return result ? sprof_error_memory(error) : 0;
}
