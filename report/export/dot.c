/* The call graph in Graphviz's language: functions by exclusive cost, calls by the samples that
 * pass through them. Small functions are left out, or nothing could be read. */
#include "report/export/export.h"
#include "report/number_format.h"

#include <math.h>

/* Functions and calls with less than this share of all are left out. */
static const double least_share = 0.005;

/* Graphviz refuses texts of more than 16 KiB, and people do not read them. */
enum { QUOTED_MAX = 2000 };

static void put_quoted(FILE *out, const char *text)
{
    const char *const start = text;
    for (; *text; text++) {
        if (text - start >= QUOTED_MAX && (*text & 0xc0) != 0x80) {
            fputs("…", out);
            return;
        }
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static const char *color_of(enum model_kind kind)
{
    switch (kind) {
    case MODEL_KIND_APP: return "#f7c59f";
    case MODEL_KIND_SYSTEM: return "#a9cbe8";
    case MODEL_KIND_KERNEL: return "#cdb3ec";
    case MODEL_KIND_JIT: return "#b5e3bd";
    default: return "#dddddd";
    }
}

static void put_function(FILE *out, const struct report_dataset *dataset, uint32_t function,
                         const char *short_name, const struct model_costs *costs)
{
    char own[NUMBER_BYTES], all[NUMBER_BYTES];
    const uint64_t total = report_dataset_value(dataset, dataset->total);
    const uint64_t exclusive = report_dataset_value(dataset, costs->exclusive);
    const double share = total ? (double)exclusive / (double)total : 0;
    report_number_percent(own, exclusive, total, 1);
    report_number_percent(all, report_dataset_value(dataset, costs->inclusive), total, 1);
    fprintf(out, "  f%u [label=\"", function);
    put_quoted(out, short_name);
    fprintf(out, "\\n%s of %s\", fillcolor=\"%s\", fontsize=%.0f, tooltip=\"", own, all,
            color_of(dataset->facts.items[function - 1].kind), 9 + 24 * sqrt(share));
    put_quoted(out, report_dataset_function_name(dataset, function));
    fputs(" · ", out);
    put_quoted(out, report_dataset_module_name(dataset, function));
    fputs("\"];\n", out);
}

static void put_edge(FILE *out, const struct report_dataset *dataset, const struct model_edge *edge)
{
    char number[NUMBER_BYTES];
    const uint64_t total = report_dataset_value(dataset, dataset->total);
    const uint64_t value = report_dataset_value(dataset, edge->cost);
    const double share = total ? (double)value / (double)total : 0;
    fprintf(out, "  f%u -> f%u [label=\"%s\", penwidth=%.1f, weight=%.0f];\n", edge->caller,
            edge->callee, report_number_percent(number, value, total, 1), 0.5 + 6 * share,
            1 + 100 * share);
}

int report_dot_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    const struct model_functions facts = report_dataset_facts(dataset);
    const double least = least_share * (double)report_dataset_value(dataset, dataset->total);
    struct model_costs *costs = calloc(facts.count + 1, sizeof *costs);
    bool *drawn = calloc(facts.count + 1, sizeof *drawn);
    const char **short_names = NULL;
    struct model_edges edges = {0};
    int result = costs && drawn ? report_dataset_function_costs(dataset, costs) : SPROF_ENOMEM;
    if (!result)
        result = model_edge_costs(&dataset->paths, &edges);
    fputs("digraph profile {\n  node [shape=box, style=\"rounded,filled\", "
          "fontname=\"sans-serif\"];\n"
          "  edge [fontname=\"sans-serif\", fontsize=9];\n  label=\"",
          out);
    put_quoted(out, report_export_title(dataset));
    fputs("\";\n", out);
    for (uint32_t f = 1; f <= facts.count && !result; f++)
        drawn[f - 1] = costs[f - 1].inclusive.samples &&
                       (double)report_dataset_value(dataset, costs[f - 1].inclusive) >= least;
    if (!result && !(short_names = report_dataset_short_names(dataset, drawn)))
        result = SPROF_ENOMEM;
    for (uint32_t f = 1; f <= facts.count && !result; f++)
        if (drawn[f - 1])
            put_function(out, dataset, f, short_names[f - 1], &costs[f - 1]);
    for (size_t i = 0; i < edges.items.count && !result; i++)
        if ((double)report_dataset_value(dataset, edges.items.items[i].cost) >= least)
            put_edge(out, dataset, &edges.items.items[i]);
    fputs("}\n", out);
    free(short_names);
    free(drawn);
    free(costs);
    model_edges_release(&edges);
    return result ? sprof_error_memory(error) : 0;
}
