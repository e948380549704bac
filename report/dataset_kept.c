/* Reads the calls that rules have kept, and the rules. */
#include "report/dataset_parts.h"
#include "report/utf8_text.h"

#include <string.h>

struct reading {
    struct report_dataset *dataset;
    uint32_t run; /* its place among the selected ones */
};

/* The conditions: what stands before the colon. */
static const char *conditions_of(struct sprof_arena *arena, const char *text)
{
    size_t length = strcspn(text, ":");
    while (length && text[length - 1] == ' ')
        length--;
    const char *copy = sprof_arena_copy(arena, text, length);
    return copy ? report_utf8_copy(arena, copy) : NULL;
}

static int take_rule(void *context, const struct store_keep_rule *row)
{
    const struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    const struct report_keep_rule rule = {
        .run = reading->run,
        .number = row->number,
        .text = report_utf8_copy(&dataset->arena, row->text),
        .conditions = conditions_of(&dataset->arena, row->text),
        .fired = row->fired,
        .dropped = row->dropped,
    };
    return !rule.text || !rule.conditions || sprof_vec_push(&dataset->keep_rules, rule)
               ? SPROF_ENOMEM
               : 0;
}

static int take_call(void *context, const struct store_kept_call *row)
{
    const struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    const uint32_t thread = report_dataset_number(&dataset->thread_numbers, row->thread_id);
    const uint32_t node = report_dataset_number(&dataset->node_numbers, row->node_id);
    const uint32_t frame = node ? report_dataset_node_frame(dataset, node) : 0;
    const uint32_t function = frame ? report_dataset_frame_function(dataset, frame) : 0;
    if (!thread)
        return SPROF_EFORMAT;
    const struct report_kept_call call = {
        .run = reading->run,
        .number = row->number,
        .caller = row->caller,
        .thread = thread,
        .function = function,
        .start_ns = row->start_ns,
        .duration_ns = row->duration_ns,
        .self_ns = row->self_ns,
        .rules = row->rules,
        .exit = row->exit,
        .is_apart = row->is_apart,
    };
    if (!function || !dataset->threads.items[thread - 1].selected)
        return 0;
    return sprof_vec_push(&dataset->kept_calls, call) ? SPROF_ENOMEM : 0;
}

static int take_value(void *context, const struct store_call_value *row)
{
    const struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    const struct report_call_value value = {
        .run = reading->run,
        .call = row->call_number,
        .position = row->position,
        .name = report_utf8_copy(&dataset->arena, row->name),
        .type = row->type ? report_utf8_copy(&dataset->arena, row->type) : NULL,
        .value = report_utf8_copy(&dataset->arena, row->value),
    };
    return !value.name || !value.value || sprof_vec_push(&dataset->call_values, value)
               ? SPROF_ENOMEM
               : 0;
}

int report_dataset_load_kept(struct report_dataset *dataset, struct store *store,
                             struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        struct reading reading = {dataset, (uint32_t)i};
        const uint32_t run = dataset->runs.items[i].id;
        result = store_each_keep_rule(store, run, take_rule, &reading, error);
        if (!result)
            result = store_each_kept_call(store, run, take_call, &reading, error);
        if (!result)
            result = store_each_call_value(store, run, take_value, &reading, error);
    }
    return result;
}
