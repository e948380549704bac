/* Numbers the functions, mappings and addresses of stacks. */
#include "report/export/places.h"

#include "report/quality.h"

int report_export_places_open(struct export_places *places, struct report_dataset *dataset)
{
    *places = (struct export_places){
        .dataset = dataset,
        .function_ids = calloc(dataset->functions.count + 1, sizeof(uint32_t)),
        .module_ids = calloc(dataset->modules.count + 1, sizeof(uint32_t)),
    };
    return places->function_ids && places->module_ids ? 0 : SPROF_ENOMEM;
}

void report_export_places_release(struct export_places *places)
{
    free(places->function_ids);
    free(places->module_ids);
    sprof_intern_release(&places->texts);
    sprof_vec_release(&places->functions);
    sprof_vec_release(&places->mappings);
    sprof_vec_release(&places->locations);
    sprof_vec_release(&places->lines);
    sprof_vec_release(&places->stack);
    sprof_map_release(&places->location_ids);
}

int report_export_text(struct export_places *places, const char *text, uint32_t *number)
{
    return sprof_intern_put(&places->texts, text && *text ? text : NULL, number);
}

static int function_of(struct export_places *places, uint32_t number, uint32_t *id)
{
    const struct report_function *function = &places->dataset->functions.items[number - 1];
    struct export_function made = {.line = function->line};
    *id = places->function_ids[number];
    if (*id)
        return 0;
    const char *linkage_name = function->linkage_name ? function->linkage_name : function->name;
    if (report_export_text(places, function->name, &made.name) ||
        report_export_text(places, linkage_name, &made.system_name) ||
        report_export_text(places, function->file, &made.file) ||
        sprof_vec_push(&places->functions, made))
        return SPROF_ENOMEM;
    *id = places->function_ids[number] = (uint32_t)places->functions.count;
    return 0;
}

/* The first place where a module was mapped: addresses of one module are read as if it had been
 * there in every process. NULL: nowhere. */
static const struct report_mapping *place_of(const struct report_dataset *dataset, uint32_t module,
                                             uint64_t file_offset)
{
    for (size_t i = 0; i < dataset->mappings.count; i++) {
        const struct report_mapping *mapping = &dataset->mappings.items[i];
        if (mapping->module == module && file_offset - mapping->file_offset < mapping->size)
            return mapping;
    }
    return NULL;
}

static int mapping_of(struct export_places *places, uint32_t number,
                      const struct report_mapping *place, uint32_t *id)
{
    const struct report_module *module = &places->dataset->modules.items[number - 1];
    struct export_mapping made = {.module = number};
    *id = places->module_ids[number];
    if (*id)
        return 0;
    if (place) {
        made.start = place->start;
        made.end = place->start + place->size;
        made.file_offset = place->file_offset;
    }
    if (report_export_text(places, *module->path ? module->path : module->name, &made.file) ||
        report_export_text(places, module->build_id, &made.build_id) ||
        sprof_vec_push(&places->mappings, made))
        return SPROF_ENOMEM;
    *id = places->module_ids[number] = (uint32_t)places->mappings.count;
    return 0;
}

static int put_lines(struct export_places *places, const uint32_t *frames, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        const uint32_t function = report_dataset_frame_function(places->dataset, frames[i]);
        struct export_line line = {
            .line = frames[i] ? places->dataset->frames.items[frames[i] - 1].line : 0};
        result = function ? function_of(places, function, &line.function) : SPROF_EFORMAT;
        if (!result)
            result = sprof_vec_push(&places->lines, line);
    }
    return result;
}

/* The location of an address: `frames` are the functions there, innermost first. */
static int location_of(struct export_places *places, const uint32_t *frames, size_t count,
                       uint32_t *id)
{
    const uint64_t key = (uint64_t)frames[0] << 32 | frames[count - 1];
    const uint64_t *known = sprof_map_get(&places->location_ids, key);
    struct export_location made = {.first_line = (uint32_t)places->lines.count,
                                   .line_count = (uint32_t)count};
    int result = 0;
    if (known) {
        *id = (uint32_t)*known;
        return 0;
    }
    if (frames[0]) {
        const struct report_frame *frame = &places->dataset->frames.items[frames[0] - 1];
        const struct report_mapping *place =
            place_of(places->dataset, frame->module, frame->file_offset);
        made.address =
            place ? place->start + (frame->file_offset - place->file_offset) : frame->file_offset;
        result = mapping_of(places, frame->module, place, &made.mapping);
    }
    if (!result)
        result = put_lines(places, frames, count);
    if (!result)
        result = sprof_vec_push(&places->locations, made);
    *id = (uint32_t)places->locations.count;
    return result ? result : sprof_map_put(&places->location_ids, key, *id);
}

/* Functions inlined at an address follow each other with growing depth. */
int report_export_stack(struct export_places *places, const struct report_stack *stack)
{
    const uint32_t *frames = stack->frames.items;
    places->stack.count = 0;
    for (size_t i = 0, next; i < stack->frames.count; i = next) {
        uint32_t id = 0;
        for (next = i + 1; next < stack->frames.count && frames[next]; next++)
            if (!places->dataset->frames.items[frames[next] - 1].inline_depth)
                break;
        const int result = location_of(places, &frames[i], next - i, &id);
        if (result || sprof_vec_push(&places->stack, id))
            return result ? result : SPROF_ENOMEM;
    }
    return 0;
}

size_t report_export_most_lines(const struct export_places *places)
{
    size_t most = 0;
    for (size_t i = 0; i < places->locations.count; i++)
        if (places->locations.items[i].line_count > most)
            most = places->locations.items[i].line_count;
    return most;
}

struct export_measures report_export_measures(const struct report_dataset *dataset)
{
    const bool calls = report_counts_calls(dataset);
    const char *weighed = !dataset->event.is_clock                        ? dataset->event.name
                          : calls || report_quality_sees_waiting(dataset) ? "wall"
                                                                          : "cpu";
    return (struct export_measures){
        .counted = calls ? "calls" : "samples",
        .weighed = weighed ? weighed : "weight",
        .unit = dataset->event.is_clock ? "nanoseconds" : "count",
    };
}
