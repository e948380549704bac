/* Callgrind's format (version 1, as the valgrind manual describes it) for callgrind_annotate and
 * KCachegrind: self cost by function and line, and for each call its inclusive cost. A sampler does
 * not count calls: the count is that of the samples, which the file states. Probes do count. */
#include "report/export/export.h"

#include <inttypes.h>
#include <string.h>

/* A line of a function, and for calls the function called. */
struct spot {
    uint32_t function, line, callee; /* callee 0: the function's own cost */
    struct model_cost cost;
    uint64_t calls; /* of the callee, where they were counted */
};

struct graph {
    struct report_dataset *dataset;
    SPROF_VEC(struct spot) spots;
    struct sprof_map indexes; /* hash of a spot → index + 1 */
    SPROF_VEC(uint32_t) seen; /* functions of the stack at hand */
    bool failed;              /* memory ran out */
};

static int find_spot(struct graph *graph, struct spot spot, size_t *index)
{
    for (uint32_t attempt = 0;; attempt++) {
        const uint32_t words[4] = {spot.function, spot.line, spot.callee, attempt};
        const uint64_t key = sprof_hash_bytes(words, sizeof words);
        const uint64_t *known = sprof_map_get(&graph->indexes, key);
        if (!known) {
            *index = graph->spots.count;
            if (sprof_vec_push(&graph->spots, spot))
                return SPROF_ENOMEM;
            return sprof_map_put(&graph->indexes, key, graph->spots.count);
        }
        const struct spot *other = &graph->spots.items[*known - 1];
        *index = *known - 1;
        if (other->function == spot.function && other->line == spot.line &&
            other->callee == spot.callee)
            return 0;
    }
}

/* The line where a frame is, in the file of its function. */
static uint32_t line_of(const struct report_dataset *dataset, uint32_t frame, uint32_t function)
{
    const struct report_function *item = &dataset->functions.items[function - 1];
    const struct report_frame *place = frame ? &dataset->frames.items[frame - 1] : NULL;
    const bool same_file = place && place->file && item->file && !strcmp(place->file, item->file);
    return same_file && place->line ? place->line : item->line;
}

/* Whether the stack at hand, followed outwards, comes to a function for the first time. Readers add
 * up what goes out of a function: of a recursion only the innermost activation may count. */
static bool is_innermost(struct graph *graph, uint32_t function)
{
    for (size_t i = 0; i < graph->seen.count; i++)
        if (graph->seen.items[i] == function)
            return false;
    if (sprof_vec_push(&graph->seen, function))
        graph->failed = true;
    return true;
}

static int add_stack(struct graph *graph, const struct report_stack *stack, struct model_cost cost)
{
    uint32_t callee = 0;
    graph->seen.count = 0;
    for (size_t i = 0; i < stack->frames.count; i++) {
        const uint32_t frame = stack->frames.items[i];
        const uint32_t function = report_dataset_frame_function(graph->dataset, frame);
        size_t index;
        if (!function)
            return SPROF_EFORMAT;
        const struct spot spot = {
            function, line_of(graph->dataset, frame, function), callee, {0}, 0};
        callee = function;
        if (!is_innermost(graph, function))
            continue;
        if (graph->failed || find_spot(graph, spot, &index))
            return SPROF_ENOMEM;
        graph->spots.items[index].cost.samples += cost.samples;
        graph->spots.items[index].cost.weight += cost.weight;
        graph->spots.items[index].calls += i == 1 ? cost.samples : 0;
    }
    return 0;
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (!x->callee != !y->callee)
        return x->callee ? 1 : -1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* Names are spelt once: "fn=(7) name", then "fn=(7)". */
static void put_name(FILE *out, const char *kind, uint32_t id, const char *name, bool *known)
{
    fprintf(out, "%s=(%u)%s%s\n", kind, id, *known ? "" : " ", *known ? "" : name);
    *known = true;
}

struct names {
    bool *functions, *modules;
};

static void put_function(FILE *out, const struct report_dataset *dataset, uint32_t function,
                         const char *prefix, struct names *names)
{
    const uint32_t module = dataset->facts.items[function - 1].module;
    const char *file = dataset->functions.items[function - 1].file;
    char kind[8];
    snprintf(kind, sizeof kind, "%sob", prefix);
    put_name(out, kind, module, dataset->modules.items[module - 1].path, &names->modules[module]);
    fprintf(out, "%s=%s\n", *prefix ? "cfi" : "fl", file ? file : "???");
    snprintf(kind, sizeof kind, "%sfn", prefix);
    put_name(out, kind, function, report_dataset_function_name(dataset, function),
             &names->functions[function]);
}

static void put_costs(FILE *out, const struct graph *graph, struct names *names)
{
    uint32_t current = 0;
    struct model_cost total = {0};
    for (size_t i = 0; i < graph->spots.count; i++) {
        const struct spot *spot = &graph->spots.items[i];
        if (spot->function != current) {
            fputc('\n', out);
            put_function(out, graph->dataset, spot->function, "", names);
        }
        current = spot->function;
        if (spot->callee) {
            put_function(out, graph->dataset, spot->callee, "c", names);
            fprintf(out, "calls=%" PRIu64 " %u\n",
                    report_counts_calls(graph->dataset) ? spot->calls : spot->cost.samples,
                    graph->dataset->functions.items[spot->callee - 1].line);
        } else {
            total.samples += spot->cost.samples;
            total.weight += spot->cost.weight;
        }
        fprintf(out, "%u %" PRIu64 " %" PRIu64 "\n", spot->line, spot->cost.samples,
                spot->cost.weight);
    }
    fprintf(out, "\ntotals: %" PRIu64 " %" PRIu64 "\n", total.samples, total.weight);
}

static int build(struct graph *graph)
{
    const struct report_dataset *dataset = graph->dataset;
    struct report_stack stack = {0};
    int result = 0;
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        result = report_dataset_stack(dataset, dataset->costs.items[i].node, &stack);
        if (!result)
            result = add_stack(graph, &stack, dataset->costs.items[i].cost);
    }
    if (graph->spots.count)
        qsort(graph->spots.items, graph->spots.count, sizeof *graph->spots.items, compare_spots);
    sprof_vec_release(&stack.frames);
    return result;
}

int report_callgrind_write(FILE *out, const struct report_content *content,
                           struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    struct graph graph = {.dataset = dataset};
    struct names names = {calloc(dataset->functions.count + 1, sizeof *names.functions),
                          calloc(dataset->modules.count + 1, sizeof *names.modules)};
    const bool calls = report_counts_calls(dataset);
    int result = names.functions && names.modules ? build(&graph) : SPROF_ENOMEM;
    if (!result) {
        fprintf(out,
                "# callgrind format\nversion: 1\ncreator: sprof\ncmd: %s\n"
                "desc: Note: %s\n"
                "positions: line\nevent: Weight : %s%s\nevents: %s Weight\n",
                report_export_title(dataset),
                calls ? "calls are counted, not sampled"
                      : "from samples; counts of calls are counts of samples",
                dataset->event.name ? dataset->event.name : "weight",
                dataset->event.is_clock ? ", nanoseconds" : "", calls ? "Calls" : "Samples");
        put_costs(out, &graph, &names);
    }
    free(names.functions);
    free(names.modules);
    sprof_vec_release(&graph.spots);
    sprof_vec_release(&graph.seen);
    sprof_map_release(&graph.indexes);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}
