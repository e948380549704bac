/* Chooses the names of functions that people read, and writes the names of a page. */
#include "names/names.h"
#include "report/html/page.h"

#include <string.h>

int report_html_shorten(struct html_page *page)
{
    size_t count = 0;
    const struct html_part *end = page->parts + page->part_count;
    for (const struct html_part *part = page->parts; part < end; part++)
        count += part->dataset.functions.count;
    const char **names = malloc((count + 1) * sizeof *names);
    page->shown = malloc((count + 1) * sizeof *page->shown);
    size_t next = 0;
    for (const struct html_part *part = page->parts; names && part < end; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            names[next++] = part->dataset.functions.items[i].name;
    const int result = names && page->shown
                           ? names_shorten(&page->parts[0].dataset.arena, names, count, page->shown)
                           : SPROF_ENOMEM;
    free(names);
    return result;
}

size_t report_html_last_component(const char *name)
{
    const size_t bytes = names_last(name);
    size_t units = 0;
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)name[i];
        units += (byte & 0xc0) != 0x80;
        units += byte >= 0xf0;
    }
    return units;
}

void report_html_name_columns(const struct html_page *page, struct html_columns *columns)
{
    const struct html_part *end = page->parts + page->part_count;
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(
                columns, report_html_last_component(part->dataset.functions.items[i].name));
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(
                columns, report_html_last_component(page->shown[part->first_function + i]));
}

/* A short name stands behind the full one, where compression finds its parts; "": the same. */
static void put_functions(struct html_page *page)
{
    struct json *json = &page->json;
    const struct html_part *end = page->parts + page->part_count;
    report_json_open_array(json, "functionNames");
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++) {
            const char *name = part->dataset.functions.items[i].name;
            const char *shown = page->shown[part->first_function + i];
            report_json_text(json, NULL, name);
            report_json_text(json, NULL, strcmp(name, shown) ? shown : "");
        }
    report_json_close_array(json);
}

/* Functions that look alike have one such key: their short name and their module's name. */
static uint64_t look_of(const struct html_page *page, const struct html_part *part, size_t i)
{
    const uint32_t module = part->dataset.facts.items[i].module;
    return sprof_hash_text(page->shown[part->first_function + i]) * 31 +
           sprof_hash_text(part->dataset.modules.items[module - 1].name);
}

/* Where functions begin that look alike, by their number. As text: the kernel's addresses are more
 * than a script's numbers hold. */
static int put_starts(struct html_page *page)
{
    const struct html_part *end = page->parts + page->part_count;
    struct sprof_map counts = {0};
    int result = 0;
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.functions.count && !result; i++) {
            const uint64_t look = look_of(page, part, i), *count = sprof_map_get(&counts, look);
            result = sprof_map_put(&counts, look, count ? *count + 1 : 1);
        }
    report_json_open_array(&page->json, "functionStarts");
    for (const struct html_part *part = page->parts; part < end && !result; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++) {
            const uint64_t *count = sprof_map_get(&counts, look_of(page, part, i)),
                           start = part->dataset.functions.items[i].start;
            char text[24];
            if (!start || !count || *count == 1)
                continue;
            snprintf(text, sizeof text, "%llx", (unsigned long long)start);
            report_json_open_array(&page->json, NULL);
            report_json_count(&page->json, NULL, part->first_function + i);
            report_json_text(&page->json, NULL, text);
            report_json_close_array(&page->json);
        }
    report_json_close_array(&page->json);
    sprof_map_release(&counts);
    return result;
}

static void put_modules(struct html_page *page)
{
    struct json *json = &page->json;
    const struct html_part *end = page->parts + page->part_count;
    report_json_open_array(json, "modules");
    for (const struct html_part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.modules.count; i++) {
            const struct report_module *module = &part->dataset.modules.items[i];
            char key[24];
            snprintf(key, sizeof key, "%llx", (unsigned long long)module->key);
            report_json_open_object(json, NULL);
            report_json_text(json, "name", module->name);
            report_json_text(json, "path", module->path);
            report_json_text(json, "kind", model_kind_text(module->kind));
            report_json_text(json, "build", key);
            report_json_close_object(json);
        }
    report_json_close_array(json);
    report_json_open_array(json, "files");
    report_json_text(json, NULL, "");
    for (size_t i = 0; i < page->file_names.count; i++)
        report_json_text(json, NULL, page->file_names.items[i]);
    report_json_close_array(json);
}

static int put_lanes(struct html_page *page)
{
    struct json *json = &page->json;
    report_json_open_array(json, "lanes");
    for (const struct html_part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->slots.lanes.count; i++) {
            const struct report_lane *lane = &part->slots.lanes.items[i];
            const uint64_t *event = sprof_map_get(&part->events, lane->event);
            const uint64_t *thread = sprof_map_get(&part->threads, lane->thread);
            if (!event || !thread)
                return SPROF_EFORMAT;
            report_json_open_array(json, NULL);
            report_json_count(json, NULL, *event);
            report_json_count(json, NULL, *thread);
            if (lane->is_idle)
                report_json_count(json, NULL, 1);
            report_json_close_array(json);
        }
    report_json_close_array(json);
    return 0;
}

int report_html_names(struct html_page *page)
{
    put_functions(page);
    put_modules(page);
    const int result = put_starts(page);
    return result ? result : put_lanes(page);
}
