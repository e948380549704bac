/* Packs the functions, call paths and costs of a page. */
#include "report/html/page.h"

/* Flags of a function, as report/html/data.js names them. */
enum { FLAG_STARTUP = 1, FLAG_INLINED = 2, FLAG_UNNAMED = 4 };

/* == What there is == */

/* A function that exists only in the page, in the module of such. */
static uint32_t add_pseudo(struct report_dataset *dataset, const char *name)
{
    uint32_t module = 1;
    while (module <= dataset->modules.count &&
           dataset->modules.items[module - 1].kind != MODEL_KIND_NONE)
        module++;
    const struct report_module none = {.name = "[none]", .path = "", .kind = MODEL_KIND_NONE};
    if (module > dataset->modules.count && sprof_vec_push(&dataset->modules, none))
        return 0;
    return report_dataset_add_function(dataset, (struct report_function){.name = name},
                                       (struct model_function){module, MODEL_KIND_NONE, false});
}

int report_html_add_functions(struct html_part *part)
{
    part->outside_function = part->dataset.apart.outside_function;
    if (!part->outside_function)
        part->outside_function = add_pseudo(&part->dataset, "[outside the application]");
    part->pruned_function = add_pseudo(&part->dataset, "[pruned]");
    return part->outside_function && part->pruned_function ? 0 : SPROF_ENOMEM;
}

void report_html_counts(struct html_page *page)
{
    struct json *json = &page->json;
    size_t functions = 0, modules = 0, paths = 0, lanes = 0, cells = 0;
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++) {
        part->first_function = functions;
        part->first_module = modules;
        part->first_path = paths;
        part->first_lane = lanes;
        functions += part->dataset.functions.count;
        modules += part->dataset.modules.count;
        paths += part->slots.paths.count;
        lanes += part->slots.lanes.count;
        cells += part->slots.costs.count;
    }
    const struct html_part *last = &page->parts[page->part_count - 1];
    report_json_count(json, "outsideFunction", last->first_function + last->outside_function - 1);
    report_json_open_array(json, "notSampledFunctions");
    for (const struct html_part *part = page->parts; part <= last; part++)
        if (part->dataset.apart.not_sampled_function)
            report_json_count(json, NULL,
                              part->first_function + part->dataset.apart.not_sampled_function - 1);
    report_json_close_array(json);
    report_json_count(json, "firstEvent", last->newest_event);
    if (page->part_count > 1)
        report_json_count(json, "firstBase", page->parts[0].newest_event);
    report_json_open_object(json, "counts");
    report_json_count(json, "functions", functions);
    report_json_count(json, "nodes", paths);
    report_json_count(json, "cells", cells);
    report_json_close_object(json);
}

/* == Columns == */

static int file_index(struct html_page *page, const char *name, uint64_t *index)
{
    *index = 0;
    if (!name)
        return 0;
    const uint64_t key = sprof_hash_text(name);
    const uint64_t *known = sprof_map_get(&page->files, key);
    if (!known) {
        if (sprof_vec_push(&page->file_names, name) ||
            sprof_map_put(&page->files, key, page->file_names.count))
            return SPROF_ENOMEM;
        *index = page->file_names.count;
        return 0;
    }
    *index = *known;
    return 0;
}

static unsigned flags_of(const struct report_dataset *dataset, size_t i)
{
    const struct report_function *function = &dataset->functions.items[i];
    const bool pseudo = dataset->facts.items[i].kind == MODEL_KIND_NONE;
    const bool inlined =
        function->named && !function->start && !function->size && function->line && !pseudo;
    return (dataset->facts.items[i].startup ? FLAG_STARTUP : 0u) | (inlined ? FLAG_INLINED : 0u) |
           (function->named || pseudo ? 0u : FLAG_UNNAMED);
}

static int put_function_columns(struct html_page *page, struct html_columns *columns)
{
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(columns,
                                     part->first_module + part->dataset.facts.items[i].module - 1);
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++) {
            uint64_t file;
            if (file_index(page, part->dataset.functions.items[i].file, &file))
                return SPROF_ENOMEM;
            report_html_column_plain(columns, file);
        }
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(columns, part->dataset.functions.items[i].line);
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(columns, flags_of(&part->dataset, i));
    report_html_name_columns(page, columns);
    return 0;
}

static int put_path_columns(struct html_page *page, struct html_columns *columns)
{
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->slots.paths.count; i++) {
            const uint32_t parent = part->slots.paths.items[i].parent;
            report_html_column_plain(columns, parent ? i + 1 - parent : 0);
        }
    report_html_column_begin(columns);
    for (struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->slots.paths.count; i++) {
            const uint32_t id = part->slots.paths.items[i].function;
            const uint32_t number = report_dataset_function_of(&part->dataset, id);
            if (id && !number)
                return SPROF_EFORMAT;
            report_html_column_difference(
                columns, part->first_function + (number ? number : part->pruned_function) - 1);
        }
    return 0;
}

static void put_cost_columns(const struct html_page *page, struct html_columns *columns)
{
    const struct html_part *end = page->parts + page->part_count;
    report_html_column_begin(columns);
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_difference(columns,
                                          part->first_lane + part->slots.costs.items[i].lane);
    report_html_column_begin(columns);
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_difference(columns, part->slots.costs.items[i].slot);
    report_html_column_begin(columns);
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_difference(columns,
                                          part->first_path + part->slots.costs.items[i].path);
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_plain(columns, part->slots.costs.items[i].cost.samples);
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_plain(columns, part->slots.costs.items[i].cost.weight);
}

int report_html_columns(struct html_page *page, struct html_columns *columns)
{
    int result = put_function_columns(page, columns);
    if (!result)
        result = put_path_columns(page, columns);
    put_cost_columns(page, columns);
    return result;
}
