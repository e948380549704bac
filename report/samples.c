/* Reads the samples themselves, in time order. */
#include "report/dataset_parts.h"
#include "report/format.h"

enum { ENOUGH = 1 }; /* ends the iteration: the limit is reached */

struct iteration {
    const struct report_content *content;
    int (*put)(void *context, const struct report_sample *sample);
    void *context;
    struct report_stack stack;
    size_t run, left;
};

static const char *event_name(const struct report_dataset *dataset, uint32_t id)
{
    for (size_t i = 0; i < dataset->events.count; i++)
        if (dataset->events.items[i].id == id && dataset->events.items[i].name)
            return dataset->events.items[i].name;
    return "?";
}

static int take_sample(void *context, const struct store_sample_row *row)
{
    struct iteration *iteration = context;
    const struct report_dataset *dataset = iteration->content->dataset;
    const uint32_t node = report_dataset_number(&dataset->numbers.nodes, row->sample.node_id);
    const uint32_t number = report_dataset_number(&dataset->numbers.threads, row->sample.thread_id);
    if (!node || !number)
        return SPROF_EFORMAT;
    const struct report_thread *thread = &dataset->threads.items[number - 1];
    if (!thread->selected || !report_dataset_takes_event(dataset, row->sample.event_id) ||
        !report_dataset_takes_sample(dataset, iteration->run, &row->sample))
        return 0;
    const char *process = dataset->processes.items[thread->process - 1].name;
    const struct report_sample sample = {
        .row = row,
        .process = process ? process : "",
        .thread = thread->name ? thread->name : "",
        .event = event_name(dataset, row->sample.event_id),
        .thread_number = number,
        .stack = &iteration->stack,
    };
    int result = report_dataset_stack(dataset, node, &iteration->stack);
    if (!result && !iteration->stack.frames.count)
        return 0;
    if (!result)
        result = iteration->put(iteration->context, &sample);
    return result || --iteration->left ? result : ENOUGH;
}

int report_each_sample(const struct report_content *content,
                       int (*put)(void *context, const struct report_sample *sample), void *context,
                       struct sprof_error *error)
{
    const struct report_dataset *dataset = content->dataset;
    struct iteration iteration = {.content = content,
                                  .put = put,
                                  .context = context,
                                  .left = content->limit ? content->limit : SIZE_MAX};
    int result = 0;
    for (; iteration.run < dataset->runs.count && !result; iteration.run++) {
        struct store_filter filter = {.run_id = dataset->runs.items[iteration.run].id};
        if (dataset->chosen.ranges.count) {
            filter.from_ns = dataset->chosen.ranges.items[iteration.run].from_ns;
            filter.to_ns = dataset->chosen.ranges.items[iteration.run].to_ns;
        }
        result = store_each_sample(content->store, &filter, take_sample, &iteration, error);
    }
    sprof_vec_release(&iteration.stack.frames);
    return result == ENOUGH ? 0 : result;
}

struct report_place report_sample_place(const struct report_dataset *dataset,
                                        const struct report_sample *sample, size_t index)
{
    const uint32_t number = sample->stack->frames.items[index];
    const uint32_t function = report_dataset_frame_function(dataset, number);
    struct report_place place = {
        .function = function ? report_dataset_function_name(dataset, function) : NULL};
    if (!number) {
        place.module = report_dataset_module_name(dataset, function);
        return place;
    }
    const struct report_frame *frame = &dataset->frames.items[number - 1];
    place.module = dataset->modules.items[frame->module - 1].name;
    place.file = frame->file;
    place.line = frame->line;
    place.inlined = frame->outer != 0;
    place.address = frame->file_offset;
    place.address_known = report_dataset_address(dataset, number, sample->thread_number,
                                                 sample->row->sample.time_ns, &place.address);
    return place;
}
