/* Folded stacks, one line a call path: what FlameGraph, speedscope, inferno and Perfetto read.
 * There is no way to escape anything in this format, so what would end a frame or a line is
 * replaced. */
#include "report/export/export.h"

#include <inttypes.h>
#include <string.h>

static int append_name(struct sprof_str *line, const char *name)
{
    int result = line->length ? sprof_str_append(line, ";") : 0;
    if (!line->length && *name == '#') /* a comment, to some readers */
        result = sprof_str_append(line, "_");
    for (; *name && !result; name++)
        result = sprof_str_append_bytes(line, *name == ';' ? ":" : name, 1);
    return result;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int report_folded_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    SPROF_VEC(const char *) lines = {0};
    struct export_chain chain = {0};
    struct sprof_str line = {0};
    int result = 0;
    for (size_t i = 0; i < dataset->paths.items.count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        if (!path->costs.exclusive.samples)
            continue;
        sprof_str_clear(&line);
        result = report_export_chain(dataset, path->id, &chain);
        for (size_t k = 0; k < chain.functions.count && !result; k++)
            result =
                append_name(&line, report_dataset_function_name(dataset, chain.functions.items[k]));
        if (!result)
            result = sprof_str_appendf(&line, " %" PRIu64, path->costs.exclusive.samples);
        char *copy = result ? NULL : sprof_arena_alloc(&dataset->arena, line.length + 1);
        if (!copy || sprof_vec_push(&lines, memcpy(copy, line.text, line.length + 1)))
            result = SPROF_ENOMEM;
    }
    if (lines.count) /* sorted, so that two exports can be compared line by line */
        qsort(lines.items, lines.count, sizeof *lines.items, compare_lines);
    for (size_t i = 0; i < lines.count && !result; i++)
        fprintf(out, "%s\n", lines.items[i]);
    sprof_vec_release(&lines);
    sprof_vec_release(&chain.functions);
    sprof_str_release(&line);
    return result ? sprof_error_memory(error) : 0;
}
