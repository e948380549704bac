/* Reads the calls that rules have kept, and the rules. */
#include "report/dataset_parts.h"
#include "report/utf8_text.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct report_dataset *dataset;
    uint32_t run;              /* its place among the selected ones */
    struct sprof_map requests; /* their places + 1, by their numbers */
};

/* The length of a rule's text up to the colon before its functions: one that lies outside of
 * quotation marks and is no part of "::". Quoted texts begin words. */
static size_t length_to_colon(const char *text)
{
    bool is_quoted = false;
    size_t at = 0;
    while (text[at]) {
        if (is_quoted) {
            is_quoted = text[at] != '"';
            at += text[at] == '\\' && text[at + 1] == '"' ? 2 : 1;
        } else if (!strncmp(text + at, "::", 2)) {
            at += 2;
        } else if (text[at] == ':') {
            break;
        } else {
            is_quoted = text[at] == '"' && (!at || text[at - 1] == ' ' || text[at - 1] == '\t');
            at++;
        }
    }
    return at;
}

size_t report_keep_conditions_length(const char *text)
{
    size_t length = length_to_colon(text);
    while (length && text[length - 1] == ' ')
        length--;
    return length;
}

static const char *conditions_of(struct sprof_arena *arena, const char *text)
{
    const char *copy = sprof_arena_copy(arena, text, report_keep_conditions_length(text));
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
    return !rule.text || !rule.conditions || sprof_vec_push(&dataset->kept.rules, rule)
               ? SPROF_ENOMEM
               : 0;
}

/* == Requests == */

static struct report_kept_request *request_of(struct reading *reading, uint64_t id)
{
    struct report_dataset *dataset = reading->dataset;
    const uint64_t *known = sprof_map_get(&reading->requests, id);
    const struct report_kept_request request = {.run = reading->run, .id = id};
    if (known)
        return &dataset->kept.requests.items[*known - 1];
    if (sprof_vec_push(&dataset->kept.requests, request) ||
        sprof_map_put(&reading->requests, id, dataset->kept.requests.count))
        return NULL;
    return &dataset->kept.requests.items[dataset->kept.requests.count - 1];
}

static int take_part(void *context, const struct store_request_part *row)
{
    struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, row->thread_id);
    struct report_kept_request *request = thread ? request_of(reading, row->request) : NULL;
    if (!request)
        return thread ? SPROF_ENOMEM : SPROF_EFORMAT;
    const bool is_first = !request->parts++ || row->start_ns < request->start_ns;
    if (is_first) {
        request->start_ns = row->start_ns;
        request->thread = thread;
    }
    if (row->label && (is_first || !request->label) &&
        !(request->label = report_utf8_copy(&dataset->arena, row->label)))
        return SPROF_ENOMEM;
    request->busy_ns += row->duration_ns;
    if (row->is_end && row->start_ns + row->duration_ns > request->end_ns)
        request->end_ns = row->start_ns + row->duration_ns;
    return 0;
}

/* NULL: it has none. */
static const char *label_of(const struct reading *reading, uint64_t request)
{
    const uint64_t *known = sprof_map_get(&reading->requests, request);
    return known ? reading->dataset->kept.requests.items[*known - 1].label : NULL;
}

/* == Calls == */

static int take_call(void *context, const struct store_kept_call *row)
{
    const struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, row->thread_id);
    const uint32_t node = report_dataset_number(&dataset->numbers.nodes, row->node_id);
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
        .running_ns = row->running_ns,
        .waiting_ns = row->waiting_ns,
        .ready_ns = row->ready_ns,
        .rules = row->rules,
        .exit = row->exit,
        .is_apart = row->is_apart,
        .request = row->request,
        .label = row->request ? label_of(reading, row->request) : NULL,
        .asked_id = row->asked_id,
    };
    if (!function || !dataset->threads.items[thread - 1].selected)
        return 0;
    return sprof_vec_push(&dataset->kept.calls, call) ? SPROF_ENOMEM : 0;
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
    return !value.name || !value.value || sprof_vec_push(&dataset->kept.values, value)
               ? SPROF_ENOMEM
               : 0;
}

static int compare_requests(const void *left, const void *right)
{
    const struct report_kept_request *one = left, *other = right;
    if (one->run != other->run)
        return one->run < other->run ? -1 : 1;
    return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

/* == Runs == */

static int load_run(struct reading *reading, uint32_t run, struct store *store,
                    struct sprof_error *error)
{
    int result = store_each_keep_rule(store, run, take_rule, reading, error);
    if (!result)
        result = store_each_request_part(store, run, take_part, reading, error);
    if (!result)
        result = store_each_kept_call(store, run, take_call, reading, error);
    if (!result)
        result = store_each_call_value(store, run, take_value, reading, error);
    sprof_map_release(&reading->requests);
    return result;
}

int report_dataset_load_kept(struct report_dataset *dataset, struct store *store,
                             struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        struct reading reading = {.dataset = dataset, .run = (uint32_t)i};
        result = load_run(&reading, dataset->runs.items[i].id, store, error);
    }
    if (dataset->kept.requests.count)
        qsort(dataset->kept.requests.items, dataset->kept.requests.count,
              sizeof *dataset->kept.requests.items, compare_requests);
    return result;
}
