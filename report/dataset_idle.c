/* Finds the waits for work in a recording, which reports of waiting leave out. */
#include "report/dataset_parts.h"
#include "report/idle.h"

#include <stdlib.h>

struct finding {
    struct report_loading *loading;
    SPROF_VEC(struct report_idle_time) times;
    enum report_wait_object *objects; /* [row - 1]: what its stack waits for … */
    bool *in_kernel;                  /* … and whether it never leaves the kernel */
    uint32_t *parents;
    bool *counts;
};

static uint64_t key_of(uint32_t path, uint32_t thread, uint32_t event)
{
    return sprof_hash_pair(sprof_hash_pair(path, thread), event);
}

bool report_dataset_is_idle(const struct report_loading *loading, uint32_t path, uint32_t thread,
                            uint32_t event)
{
    return loading->idle.count && sprof_map_get(&loading->idle, key_of(path, thread, event));
}

void report_dataset_fold(struct report_loading *loading, uint32_t path, struct model_cost cost)
{
    loading->dataset->idle.cost.samples += cost.samples;
    loading->dataset->idle.cost.weight += cost.weight;
    loading->idle_by_path[path - 1] += cost.weight;
}

/* Looks at a row of the tree, whose parent has been looked at. The innermost function that waits by
 * a futex says for what. */
static void look_at(struct finding *finding, size_t at)
{
    const struct report_dataset *dataset = finding->loading->dataset;
    const struct report_path_row *row = &finding->loading->rows.items[at];
    const struct model_function *facts = &dataset->facts.items[row->function - 1];
    const struct report_wait_function *waits =
        report_wait_function_find(report_dataset_function_name(dataset, row->function));
    finding->parents[at] = row->parent;
    finding->counts[at] = model_kind_is_app(facts->kind) && !facts->startup && !waits;
    finding->in_kernel[at] =
        facts->kind == MODEL_KIND_KERNEL && (!row->parent || finding->in_kernel[row->parent - 1]);
    finding->objects[at] = row->parent ? finding->objects[row->parent - 1] : REPORT_WAIT_UNKNOWN;
    if (waits && waits->object)
        finding->objects[at] = waits->object;
    else if (finding->counts[at])
        finding->objects[at] = REPORT_WAIT_UNKNOWN;
}

static int add_time(void *context, const struct store_node_cost *row)
{
    struct finding *finding = context;
    const struct report_dataset *dataset = finding->loading->dataset;
    const struct report_row_numbers *numbers = &finding->loading->time_events;
    const uint32_t path = report_dataset_number(&finding->loading->paths, row->path_id);
    struct report_idle_time time = {
        .thread = report_dataset_number(&dataset->numbers.threads, row->thread_id),
        .path = path,
        .event = report_dataset_number(numbers, row->event_id),
        .id = row->path_id,
        .samples = row->cost.samples,
        .weight = row->cost.weight,
    };
    if (!time.event)
        return 0;
    if (!path || !time.thread)
        return SPROF_EFORMAT;
    const char *kind = model_event_wait(dataset->events.items[time.event - 1].name);
    time.reach =
        report_idle_reach_of(kind, finding->objects[path - 1], finding->in_kernel[path - 1]);
    return sprof_vec_push(&finding->times, time);
}

static int read_times(struct finding *finding, struct sprof_error *error)
{
    struct report_loading *loading = finding->loading;
    const struct report_dataset *dataset = loading->dataset;
    int result = 0;
    for (size_t i = 0; i < dataset->events.count && !result; i++)
        if (report_dataset_is_time(dataset, &dataset->events.items[i]))
            result =
                report_row_numbers_put(&loading->time_events, dataset->events.items[i].id, i + 1);
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        const struct store_filter filter = {.run_id = dataset->runs.items[i].id};
        result = store_each_node_cost(loading->store, &filter, add_time, finding, error);
    }
    return result;
}

static bool takes_event(const struct report_dataset *dataset, const struct report_idle_time *time)
{
    return report_dataset_takes_event(dataset, dataset->events.items[time->event - 1].id);
}

static int note_place(struct report_dataset *dataset, const struct report_idle_time *time)
{
    const struct report_idle_place place = {.path = time->id,
                                            .thread = dataset->threads.items[time->thread - 1].id,
                                            .event = dataset->events.items[time->event - 1].id};
    return sprof_vec_push(&dataset->idle.places, place);
}

static bool is_read(const struct report_dataset *dataset, const struct report_idle_time *time)
{
    return takes_event(dataset, time) && dataset->threads.items[time->thread - 1].selected;
}

/* Where all that is read is idle, it hides nothing, and stays. */
static int keep_idle(struct finding *finding)
{
    struct report_loading *loading = finding->loading;
    uint64_t idle = 0, all = 0;
    int result = 0;
    for (size_t i = 0; i < finding->times.count; i++) {
        const struct report_idle_time *time = &finding->times.items[i];
        all += is_read(loading->dataset, time) ? time->weight : 0;
        idle += is_read(loading->dataset, time) && time->is_idle ? time->weight : 0;
    }
    for (size_t i = 0; i < finding->times.count && idle < all && !result; i++) {
        const struct report_idle_time *time = &finding->times.items[i];
        if (!time->is_idle || !takes_event(loading->dataset, time))
            continue;
        result = sprof_map_put(&loading->idle, key_of(time->path, time->thread, time->event), 1);
        if (!result)
            result = note_place(loading->dataset, time);
        loading->all_idle.samples += time->samples;
        loading->all_idle.weight += time->weight;
    }
    return result;
}

static int find(struct finding *finding, struct sprof_error *error)
{
    struct report_loading *loading = finding->loading;
    const size_t count = loading->rows.count;
    finding->objects = calloc(count + 1, sizeof *finding->objects);
    finding->in_kernel = calloc(count + 1, sizeof *finding->in_kernel);
    finding->parents = calloc(count + 1, sizeof *finding->parents);
    finding->counts = calloc(count + 1, sizeof *finding->counts);
    loading->idle_by_path = calloc(count + 1, sizeof *loading->idle_by_path);
    if (!finding->objects || !finding->in_kernel || !finding->parents || !finding->counts ||
        !loading->idle_by_path)
        return SPROF_ENOMEM;
    bool are_stacks = false;
    for (size_t i = 0; i < count; i++) {
        look_at(finding, i);
        are_stacks = are_stacks || finding->parents[i];
    }
    const struct report_idle_paths paths = {finding->parents, finding->counts, count};
    int result = are_stacks ? read_times(finding, error) : 0;
    if (!result)
        result = report_idle_find(&paths, finding->times.items, finding->times.count);
    return result ? result : keep_idle(finding);
}

int report_dataset_find_idle(struct report_loading *loading, struct sprof_error *error)
{
    struct finding finding = {.loading = loading};
    const int result = loading->folds_idle ? find(&finding, error) : 0;
    sprof_vec_release(&finding.times);
    free(finding.objects);
    free(finding.in_kernel);
    free(finding.parents);
    free(finding.counts);
    return result;
}

/* The function of the application in which most of the idle time is spent; 0: in none. */
static uint32_t largest_site(const struct report_loading *loading)
{
    const struct report_dataset *dataset = loading->dataset;
    uint64_t most = 0;
    uint32_t largest = 0;
    uint64_t *by_function = calloc(dataset->functions.count + 1, sizeof *by_function);
    for (size_t i = 0; i < loading->rows.count && by_function; i++) {
        uint32_t at = loading->idle_by_path[i] ? (uint32_t)i + 1 : 0;
        while (at) {
            const struct report_path_row *row = &loading->rows.items[at - 1];
            const struct model_function *facts = &dataset->facts.items[row->function - 1];
            if (model_kind_is_app(facts->kind) && !facts->startup)
                break;
            at = row->parent;
        }
        const uint32_t function = at ? loading->rows.items[at - 1].function : 0;
        if (function && (by_function[function] += loading->idle_by_path[i]) > most) {
            most = by_function[function];
            largest = function;
        }
    }
    free(by_function);
    return largest;
}

void report_dataset_idle_total(struct report_loading *loading)
{
    struct report_dataset *dataset = loading->dataset;
    if (!loading->folds_idle)
        return;
    dataset->idle.function = largest_site(loading);
    dataset->all.weight -= loading->all_idle.weight < dataset->all.weight ? loading->all_idle.weight
                                                                          : dataset->all.weight;
    dataset->all.samples -= loading->all_idle.samples < dataset->all.samples
                                ? loading->all_idle.samples
                                : dataset->all.samples;
}
