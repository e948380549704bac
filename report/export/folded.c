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
    uint64_t samples;
};

struct folding {
    const struct report_dataset *dataset;
    const char **names; /* [function]: as they are written */
    const char **roots; /* … as the first of a line; only where that differs */
};

static const char *name_of(const struct folding *folding, const struct line *line, uint32_t at)
{
    const uint32_t function = line->functions[at];
    return !at && *folding->names[function] == '#' ? folding->roots[function]
                                                   : folding->names[function];
}

/* Reads a line character by character without putting it together. */
struct reader {
    const struct folding *folding;
    const struct line *line;
    const char *rest;
    uint32_t at;
    char count[24];
};

static void begin(struct reader *reader, const struct folding *folding, const struct line *line,
                  uint32_t at)
{
    *reader = (struct reader){.folding = folding, .line = line, .at = at};
    snprintf(reader->count, sizeof reader->count, " %" PRIu64, line->samples);
    reader->rest = at < line->depth ? name_of(folding, line, at) : reader->count;
}

static unsigned char next(struct reader *reader)
{
    if (*reader->rest || reader->at >= reader->line->depth)
        return (unsigned char)(*reader->rest ? *reader->rest++ : '\0');
    if (++reader->at < reader->line->depth) {
        reader->rest = name_of(reader->folding, reader->line, reader->at);
        return ';';
    }
    reader->rest = reader->count + 1;
    return ' ';
}

/* The order of the lines' texts. */
static int compare_lines(const void *a, const void *b, void *context)
{
    const struct line *first = a, *second = b;
    const uint32_t shorter = first->depth < second->depth ? first->depth : second->depth;
    struct reader one, two;
    uint32_t same = 0;
    while (same < shorter && first->functions[same] == second->functions[same])
        same++;
    /* What ends before the other goes on with ' ' where that has ';'. */
    same -= same > 0;
    begin(&one, context, first, same);
    begin(&two, context, second, same);
    for (;;) {
        const unsigned char x = next(&one), y = next(&two);
        if (x != y || !x)
            return x - y;
    }
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

static int clean_names(struct folding *folding, struct report_dataset *dataset)
{
    const size_t count = dataset->functions.count;
    folding->names = calloc(count + 1, sizeof *folding->names);
    folding->roots = calloc(count + 1, sizeof *folding->roots);
    if (!folding->names || !folding->roots)
        return SPROF_ENOMEM;
    for (size_t i = 1; i <= count; i++) {
        const char *name = dataset->functions.items[i - 1].name;
        folding->names[i] = clean_name(&dataset->arena, name, false);
        folding->roots[i] = clean_name(&dataset->arena, name, true);
        if (!folding->names[i] || !folding->roots[i])
            return SPROF_ENOMEM;
    }
    return 0;
}

static void put_line(FILE *out, const struct folding *folding, const struct line *line)
{
    for (uint32_t i = 0; i < line->depth; i++) {
        if (i)
            fputc_unlocked(';', out);
        fputs_unlocked(name_of(folding, line, i), out);
    }
    fprintf(out, " %" PRIu64 "\n", line->samples);
}

int report_folded_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    SPROF_VEC(struct line) lines = {0};
    struct export_chain chain = {0};
    struct folding folding = {.dataset = dataset};
    int result = clean_names(&folding, dataset);
    for (size_t i = 0; i < dataset->paths.items.count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        if (!path->costs.exclusive.samples)
            continue;
        result = report_export_chain(dataset, path->id, &chain);
        const size_t bytes = chain.functions.count * sizeof *chain.functions.items;
        uint32_t *functions = result ? NULL : sprof_arena_alloc(&dataset->arena, bytes);
        const struct line line = {functions, (uint32_t)chain.functions.count,
                                  path->costs.exclusive.samples};
        if (!functions || sprof_vec_push(&lines, line))
            result = SPROF_ENOMEM;
        else
            memcpy(functions, chain.functions.items, bytes);
    }
    if (lines.count && !result) /* sorted, so that two exports can be compared line by line */
        qsort_r(lines.items, lines.count, sizeof *lines.items, compare_lines, &folding);
    for (size_t i = 0; i < lines.count && !result; i++)
        put_line(out, &folding, &lines.items[i]);
    free(folding.names);
    free(folding.roots);
    sprof_vec_release(&lines);
    sprof_vec_release(&chain.functions);
    return result ? sprof_error_memory(error) : 0;
}
