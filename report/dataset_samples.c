/* Reads costs where CPU, phase or time matter: from what samples add up to by phase and CPU, or
 * from the samples themselves. */
#include "report/dataset_parts.h"

#include <stdlib.h>

struct sampling {
    struct report_loading *loading;
    size_t run;             /* index of the run at work */
    bool knows_all;         /* what all of its samples add up to is stored */
    bool later;             /* costs of places are left to report_dataset_next_costs */
    struct sprof_map costs; /* hash of node, thread, event, cpu, phase, fields → index + 1 */
};

static int add_to_costs(struct report_dataset *dataset, struct sprof_map *index,
                        const struct report_cost *cost)
{
    const uint64_t stack = (uint64_t)cost->node << 32 | cost->thread;
    const uint64_t rest = (uint64_t)cost->event << 32 | (uint32_t)cost->cpu;
    const uint64_t key =
        sprof_hash_pair(sprof_hash_pair(stack, rest), (uint64_t)cost->fields << 32 | cost->phase);
    uint64_t *known = sprof_map_at(index, key);
    if (!known)
        return SPROF_ENOMEM;
    if (*known) {
        dataset->costs.items[*known - 1].cost.samples += cost->cost.samples;
        dataset->costs.items[*known - 1].cost.weight += cost->cost.weight;
        return 0;
    }
    *known = dataset->costs.count + 1;
    return sprof_vec_push(&dataset->costs, *cost);
}

static int add_sample(void *context, const struct store_sample_row *row)
{
    struct sampling *sampling = context;
    struct report_loading *loading = sampling->loading;
    struct report_dataset *dataset = loading->dataset;
    const struct store_sample *sample = &row->sample;
    struct report_cost own = {
        .node = report_dataset_number(&dataset->numbers.nodes, sample->node_id),
        .thread = report_dataset_number(&dataset->numbers.threads, sample->thread_id),
        .event = report_dataset_number(&loading->dataset->numbers.events, sample->event_id),
        .cpu = loading->dataset->parts & REPORT_CPUS ? sample->cpu : -1,
        .phase = loading->dataset->parts & REPORT_PHASES
                     ? report_dataset_phase(dataset, sample->run_id, sample->time_ns)
                     : 0,
        .cost = {sample->count, sample->weight},
    };
    if (!own.event)
        return 0;
    const uint64_t *fields =
        report_dataset_asks_fields(dataset)
            ? sprof_map_get(
                  &loading->dataset->fields.of_samples,
                  report_dataset_sample_key(sample->event_id, sample->thread_id, sample->time_ns))
            : NULL;
    own.fields = fields ? (uint32_t)*fields : 0;
    const uint32_t path = own.node ? loading->node_paths.items[own.node - 1] : 0;
    if (!path || !own.thread)
        return SPROF_EFORMAT;
    if (!sampling->knows_all) {
        dataset->all.samples += sample->count;
        dataset->all.weight += sample->weight;
    }
    if (!dataset->threads.items[own.thread - 1].selected ||
        !report_dataset_takes_sample(dataset, sampling->run, sample))
        return 0;
    if (report_dataset_is_idle(loading, path, own.thread, own.event)) {
        report_dataset_fold(loading, path, own.cost);
        return 0;
    }
    const double each = (double)sample->weight / (double)(sample->count ? sample->count : 1);
    report_dataset_count(loading, path, own.cost, each * (double)sample->weight);
    return dataset->parts & REPORT_STACKS ? add_to_costs(dataset, &sampling->costs, &own) : 0;
}

static int add_squares(void *context, const struct store_place_cost *row)
{
    const struct sampling *sampling = context;
    struct report_loading *loading = sampling->loading;
    const struct report_dataset *dataset = loading->dataset;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, row->thread_id);
    const uint32_t phase = report_dataset_numbered_phase(dataset, row->run_id, row->phase);
    const double weight = (double)row->cost.weight;
    if (!thread)
        return SPROF_EFORMAT;
    if (!report_dataset_number(&loading->dataset->numbers.events, row->event_id) ||
        !row->cost.samples || !dataset->threads.items[thread - 1].selected ||
        !report_dataset_takes_place(dataset, phase, row->cpu))
        return 0;
    loading->sum_of_squares +=
        row->squares > 0 ? row->squares : weight * weight / (double)row->cost.samples;
    return 0;
}

/* The next entry of a place that is selected. Returns 0, 1 behind the last, or a negative code. */
static int next_entry(const struct report_dataset *dataset, const struct report_packed_costs *place,
                      struct store_place_unpacker *unpacker, struct report_cost *cost)
{
    struct store_place_entry entry;
    for (int status; !(status = store_place_unpack(unpacker, &entry));) {
        *cost = (struct report_cost){
            .node = report_dataset_number(&dataset->numbers.nodes, entry.node_id),
            .thread = report_dataset_number(&dataset->numbers.threads, entry.thread_id),
            .event = place->event,
            .cpu = dataset->parts & REPORT_CPUS ? place->cpu : -1,
            .phase = dataset->parts & REPORT_PHASES ? place->phase : 0,
            .cost = entry.cost,
        };
        if (!cost->node || !cost->thread)
            return SPROF_EFORMAT;
        if (dataset->threads.items[cost->thread - 1].selected)
            return 0;
    }
    return unpacker->left || unpacker->reader.failed || sprof_reader_left(&unpacker->reader)
               ? SPROF_EFORMAT
               : 1;
}

static int count_place(struct sampling *sampling, const struct report_packed_costs *place)
{
    struct report_loading *loading = sampling->loading;
    struct report_dataset *dataset = loading->dataset;
    const bool now = dataset->parts & REPORT_STACKS && !sampling->later;
    struct store_place_unpacker unpacker;
    struct report_cost cost;
    int result;
    store_place_unpack_begin(&unpacker, place->packed, place->entries);
    while (!(result = next_entry(dataset, place, &unpacker, &cost))) {
        const uint32_t path = loading->node_paths.items[cost.node - 1];
        if (!path)
            return SPROF_EFORMAT;
        if (report_dataset_is_idle(loading, path, cost.thread, cost.event)) {
            report_dataset_fold(loading, path, cost.cost);
            continue;
        }
        report_dataset_count(loading, path, cost.cost, 0);
        if (now && add_to_costs(dataset, &sampling->costs, &cost))
            return SPROF_ENOMEM;
    }
    return result < 0 ? result : 0;
}

static int add_block(void *context, const struct store_place_block *row)
{
    struct sampling *sampling = context;
    struct report_loading *loading = sampling->loading;
    struct report_dataset *dataset = loading->dataset;
    struct report_packed_costs place = {
        .event = report_dataset_number(&loading->dataset->numbers.events, row->event_id),
        .phase = report_dataset_numbered_phase(dataset, row->run_id, row->phase),
        .cpu = row->cpu,
        .entries = row->entries,
        .packed = row->bytes,
    };
    if (!place.event || !report_dataset_takes_place(dataset, place.phase, place.cpu))
        return 0;
    const int result = count_place(sampling, &place);
    if (result || !sampling->later)
        return result;
    place.packed.data = (const uint8_t *)sprof_arena_copy(
        &dataset->arena, (const char *)row->bytes.data, row->bytes.size);
    return place.packed.data ? sprof_vec_push(&dataset->packed.items, place) : SPROF_ENOMEM;
}

/* Brings places of the same phase and CPU together, as far as these are asked for. */
static int compare_places(const struct report_dataset *dataset, const struct report_packed_costs *a,
                          const struct report_packed_costs *b)
{
    if (dataset->parts & REPORT_PHASES && a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    return dataset->parts & REPORT_CPUS ? (a->cpu > b->cpu) - (a->cpu < b->cpu) : 0;
}

static int sort_places(const void *a, const void *b, void *dataset)
{
    return compare_places(dataset, a, b);
}

/* Where the next group of places ends, and how many entries it has. */
static size_t end_of_group(const struct report_dataset *dataset, size_t *entries)
{
    const struct report_packed_costs *places = dataset->packed.items.items;
    size_t end = dataset->packed.next;
    for (*entries = 0; end < dataset->packed.items.count &&
                       !compare_places(dataset, &places[dataset->packed.next], &places[end]);
         end++)
        *entries += places[end].entries;
    return end;
}

int report_dataset_next_costs(struct report_dataset *dataset)
{
    enum { FEW = 1 << 19 }; /* that may stand twice: to find them takes longer than to add them */
    const size_t count = dataset->packed.items.count;
    struct sprof_map index = {0};
    size_t entries;
    int result = 0;
    if (!count)
        return dataset->packed.next++ ? 1 : 0;
    if (dataset->packed.next == count)
        return 1;
    dataset->costs.count = 0;
    const size_t end = end_of_group(dataset, &entries);
    for (; dataset->packed.next < end && result >= 0; dataset->packed.next++) {
        const struct report_packed_costs *place =
            &dataset->packed.items.items[dataset->packed.next];
        struct store_place_unpacker unpacker;
        struct report_cost cost;
        store_place_unpack_begin(&unpacker, place->packed, place->entries);
        while (!(result = next_entry(dataset, place, &unpacker, &cost))) {
            const int failed = entries <= FEW ? sprof_vec_push(&dataset->costs, cost)
                                              : add_to_costs(dataset, &index, &cost);
            if (failed) {
                result = failed;
                break;
            }
        }
    }
    sprof_map_release(&index);
    return result < 0 ? result : report_dataset_filter_costs(dataset);
}

static int add_all(void *context, const struct store_event_cost *row)
{
    struct sampling *sampling = context;
    sampling->knows_all = true;
    if (!report_dataset_number(&sampling->loading->dataset->numbers.events, row->event_id))
        return 0;
    sampling->loading->dataset->all.samples += row->cost.samples;
    sampling->loading->dataset->all.weight += row->cost.weight;
    return 0;
}

/* Of a complete run only the samples of the range are read, and none where no range is asked for
 * and all is added up by phase and CPU. */
static int load_run(struct sampling *sampling, struct sprof_error *error)
{
    struct report_loading *loading = sampling->loading;
    const struct report_dataset *dataset = loading->dataset;
    struct store_filter filter = {.run_id = dataset->runs.items[sampling->run].id};
    bool costs, blocks = false;
    sampling->knows_all = false;
    int result = store_each_event_cost(loading->store, filter.run_id, add_all, sampling, error);
    if (!result && sampling->knows_all && !dataset->chosen.ranges.count &&
        !report_dataset_asks_fields(dataset))
        result = report_dataset_has_places(loading, filter.run_id, &costs, &blocks, error);
    if (!result && blocks) {
        result = store_each_place_cost(loading->store, filter.run_id, add_squares, sampling, error);
        return result ? result
                      : store_each_place_block(loading->store, filter.run_id, add_block, sampling,
                                               error);
    }
    if (sampling->knows_all && dataset->chosen.ranges.count) {
        filter.from_ns = dataset->chosen.ranges.items[sampling->run].from_ns;
        filter.to_ns = dataset->chosen.ranges.items[sampling->run].to_ns;
    }
    return result ? result
                  : store_each_sample(loading->store, &filter, add_sample, sampling, error);
}

/* Costs by CPU and phase are many. Where some runs have none, all are read at once. */
static int choose_later(struct sampling *sampling, struct sprof_error *error)
{
    const struct report_dataset *dataset = sampling->loading->dataset;
    int result = 0;
    sampling->later = dataset->parts & REPORT_STACKS && !dataset->chosen.ranges.count &&
                      !sampling->loading->folds_idle && !report_dataset_asks_fields(dataset) &&
                      dataset->parts & (REPORT_CPUS | REPORT_PHASES);
    for (size_t i = 0; i < dataset->runs.count && sampling->later && !result; i++)
        result = report_dataset_has_places(sampling->loading, dataset->runs.items[i].id,
                                           &(bool){false}, &sampling->later, error);
    return result;
}

int report_dataset_load_samples(struct report_loading *loading, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    struct sampling sampling = {.loading = loading};
    int result = choose_later(&sampling, error);
    for (; sampling.run < dataset->runs.count && !result; sampling.run++)
        result = load_run(&sampling, error);
    sprof_map_release(&sampling.costs);
    if (dataset->packed.items.count)
        qsort_r(dataset->packed.items.items, dataset->packed.items.count,
                sizeof *dataset->packed.items.items, sort_places, dataset);
    return result;
}
