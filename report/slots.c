/* Reads what a recording spent by slots of time, thread and call path, within bounds of size. */
#include "report/slots.h"

#include "report/error_text.h"
#include "report/slots_fold.h"

struct loading {
    struct report_slots *slots;
    const struct report_slots_limits *limits;
    SPROF_VEC(uint32_t) node_paths; /* [node's database id] → database id of its path */
    struct sprof_map paths;         /* path's database id → number */
    struct sprof_map places;        /* lane, slot and path → index + 1 in costs */
};

void report_slots_release(struct report_slots *slots)
{
    sprof_vec_release(&slots->paths);
    sprof_vec_release(&slots->lanes);
    sprof_vec_release(&slots->costs);
    sprof_map_release(&slots->lane_indexes);
}

/* == Reading == */

static int take_path(void *context, const struct model_path *row)
{
    struct loading *loading = context;
    const uint64_t *parent = row->parent ? sprof_map_get(&loading->paths, row->parent) : NULL;
    if (row->parent && !parent)
        return SPROF_EFORMAT;
    const struct report_slot_path path = {parent ? (uint32_t)*parent : 0, row->function};
    if (sprof_vec_push(&loading->slots->paths, path))
        return SPROF_ENOMEM;
    return sprof_map_put(&loading->paths, row->id, loading->slots->paths.count);
}

static int take_node_path(void *context, const struct store_node_path *row)
{
    struct loading *loading = context;
    while (loading->node_paths.count <= row->node_id)
        if (sprof_vec_push(&loading->node_paths, 0))
            return SPROF_ENOMEM;
    loading->node_paths.items[row->node_id] = row->path_id;
    return 0;
}

static int find_lane(struct report_slots *slots, struct report_lane lane, uint32_t *index)
{
    const uint64_t key = (uint64_t)lane.event << 33 | (uint64_t)lane.is_idle << 32 | lane.thread;
    const uint64_t *known = sprof_map_get(&slots->lane_indexes, key);
    if (!known) {
        if (sprof_vec_push(&slots->lanes, lane) ||
            sprof_map_put(&slots->lane_indexes, key, slots->lanes.count))
            return SPROF_ENOMEM;
        *index = (uint32_t)slots->lanes.count - 1;
        return 0;
    }
    *index = (uint32_t)*known - 1;
    return 0;
}

/* The numbers of a place do not fit a key, so a hash of them is the key. Where two places have the
 * same one, the second takes the key of the next attempt. */
static uint64_t place_key(const struct report_slot_cost *cost, unsigned attempt)
{
    const uint32_t words[4] = {cost->lane, cost->slot, cost->path, attempt};
    return sprof_hash_bytes(words, sizeof words);
}

static int add_cost(struct loading *loading, struct report_slot_cost cost)
{
    struct report_slots *slots = loading->slots;
    for (unsigned attempt = 0;; attempt++) {
        const uint64_t key = place_key(&cost, attempt);
        const uint64_t *place = sprof_map_get(&loading->places, key);
        if (!place) {
            if (sprof_vec_push(&slots->costs, cost))
                return SPROF_ENOMEM;
            return sprof_map_put(&loading->places, key, slots->costs.count);
        }
        struct report_slot_cost *known = &slots->costs.items[*place - 1];
        if (known->lane == cost.lane && known->slot == cost.slot && known->path == cost.path) {
            known->cost.samples += cost.cost.samples;
            known->cost.weight += cost.cost.weight;
            return 0;
        }
    }
}

/* Adds all costs up anew after lanes, slots or paths of them have become the same. */
static int merge_costs(struct loading *loading)
{
    struct report_slots *slots = loading->slots;
    struct report_slot_cost *items = slots->costs.items;
    const size_t count = slots->costs.count;
    slots->costs.items = NULL;
    slots->costs.count = slots->costs.capacity = 0;
    sprof_map_clear(&loading->places);
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = add_cost(loading, items[i]);
    free(items);
    return result;
}

static int coarsen(struct loading *loading)
{
    struct report_slots *slots = loading->slots;
    slots->slot_ns *= 2;
    for (size_t i = 0; i < slots->costs.count; i++)
        slots->costs.items[i].slot /= 2;
    return merge_costs(loading);
}

/* Slots that have become longer than any run cannot save anything more. */
static bool can_coarsen(const struct report_slots *slots)
{
    return slots->slot_ns < UINT64_C(1) << 62;
}

/* Adds a cost that lies at `time_ns` of its run, and makes slots coarser when there are too many.
 */
static int take_cost(struct loading *loading, struct report_lane lane, uint32_t node,
                     uint64_t time_ns, struct model_cost own)
{
    struct report_slots *slots = loading->slots;
    const uint32_t path_id = node < loading->node_paths.count ? loading->node_paths.items[node] : 0;
    const uint64_t *path = path_id ? sprof_map_get(&loading->paths, path_id) : NULL;
    if (!path)
        return SPROF_EFORMAT;
    struct report_slot_cost cost = {
        .slot = (uint32_t)(time_ns / slots->slot_ns), .path = (uint32_t)*path, .cost = own};
    const struct sprof_map *idle = loading->limits->idle;
    lane.is_idle =
        idle && sprof_map_get(idle, report_slots_idle_key(lane.event, lane.thread, path_id));
    int result = find_lane(slots, lane, &cost.lane);
    if (!result)
        result = add_cost(loading, cost);
    const size_t most = loading->limits->costs;
    while (!result && most && slots->costs.count > most && can_coarsen(slots)) {
        const size_t before = slots->costs.count;
        result = coarsen(loading);
        if (slots->costs.count > before / 2 && slots->slot_ns > UINT64_C(1) << 50)
            break; /* as many threads and paths as that: time is not what makes them many */
    }
    return result;
}

static int take_sample(void *context, const struct store_sample *row)
{
    return take_cost(context,
                     (struct report_lane){row->run_id, row->event_id, row->thread_id, false},
                     row->node_id, row->time_ns, (struct model_cost){row->count, row->weight});
}

/* Stored slots are coarse where fine ones would save nothing. Of a run with no more samples than
 * this, the samples themselves are read then. */
enum { FEW_SAMPLES = 400 * 1000 };

/* Of recordings with no more samples than this, slots may be finer than REPORT_SLOT_NS: nearly each
 * sample is a cost of its own then. */
enum { FINE_SAMPLES = 50 * 1000 };

/* What the samples of an event have been added up to. */
struct stored {
    uint64_t slot_ns; /* 0: there are no rows by slot */
    uint64_t samples;
};

struct reading {
    struct loading *loading;
    struct store *store;
    struct sprof_error *error;
    SPROF_VEC(struct stored) stored;
    struct sprof_map events; /* event id → index + 1 in stored */
    struct stored run;       /* of all events of the run at hand: the coarsest, the sum */
    bool run_stored;         /* all of them have rows by slot */
    bool calls;              /* a run counts calls, which are not stored as samples */
    uint64_t samples;        /* of all runs */
    uint64_t longest_ns;     /* the longest run */
};

static const struct stored *find_stored(const struct reading *reading, uint32_t event)
{
    const uint64_t *index = sprof_map_get(&reading->events, event);
    return index ? &reading->stored.items[*index - 1] : NULL;
}

static int take_slot(void *context, const struct store_slot_cost *row)
{
    const struct reading *reading = context;
    const struct stored *stored = find_stored(reading, row->event_id);
    if (!stored)
        return SPROF_EFORMAT;
    return take_cost(reading->loading,
                     (struct report_lane){row->run_id, row->event_id, row->thread_id, false},
                     row->node_id, row->slot * stored->slot_ns, row->cost);
}

static int take_event_cost(void *context, const struct store_event_cost *row)
{
    struct reading *reading = context;
    if (sprof_vec_push(&reading->stored, (struct stored){row->slot_ns, row->cost.samples}))
        return SPROF_ENOMEM;
    return sprof_map_put(&reading->events, row->event_id, reading->stored.count);
}

static int note_event(void *context, const struct store_event *row)
{
    struct reading *reading = context;
    const struct stored *stored = find_stored(reading, row->id);
    reading->calls |= row->unit == STORE_UNIT_CALL;
    if (!stored || !stored->slot_ns) {
        reading->run_stored = false;
        return 0;
    }
    reading->run.samples += stored->samples;
    if (stored->slot_ns > reading->run.slot_ns)
        reading->run.slot_ns = stored->slot_ns;
    return 0;
}

/* Notes how long a run is, and how many samples it has. */
static int measure_run(void *context, const struct store_run *row)
{
    struct reading *reading = context;
    reading->run = (struct stored){0};
    const int result =
        store_each_event(reading->store, row->id, note_event, reading, reading->error);
    reading->samples += reading->run.samples;
    if (row->duration_ns > reading->longest_ns)
        reading->longest_ns = row->duration_ns;
    return result;
}

static uint64_t finest_slot_ns(const struct reading *reading)
{
    const uint64_t second = 1000 * 1000 * 1000, ms = 1000 * 1000;
    if (reading->calls || !reading->longest_ns || reading->samples > FINE_SAMPLES ||
        reading->longest_ns > 100 * second)
        return REPORT_SLOT_NS;
    return reading->longest_ns > 2 * second ? 10 * ms : ms;
}

static int take_run(void *context, const struct store_run *row)
{
    struct reading *reading = context;
    struct report_slots *slots = reading->loading->slots;
    reading->run = (struct stored){0};
    reading->run_stored = true;
    int result = store_each_event(reading->store, row->id, note_event, reading, reading->error);
    if (result)
        return result;
    const bool coarse = reading->run.slot_ns > slots->slot_ns;
    if (!reading->run_stored || (coarse && reading->run.samples <= FEW_SAMPLES))
        return store_each_raw_sample(reading->store, row->id, take_sample, reading->loading,
                                     reading->error);
    while (slots->slot_ns < reading->run.slot_ns && can_coarsen(slots) && !result)
        result = coarsen(reading->loading);
    return result
               ? result
               : store_each_slot_cost(reading->store, row->id, take_slot, reading, reading->error);
}

/* == Loading == */

int report_slots_compare(const void *a, const void *b)
{
    const struct report_slot_cost *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return (x->path > y->path) - (x->path < y->path);
}

int report_slots_load(struct report_slots *slots, struct store *store,
                      const struct report_slots_limits *limits, struct sprof_error *error)
{
    *slots = (struct report_slots){.slot_ns = REPORT_SLOT_NS};
    struct loading loading = {.slots = slots, .limits = limits};
    struct reading reading = {.loading = &loading, .store = store, .error = error};
    int result = store_each_path(store, take_path, &loading, error);
    if (!result)
        result = store_each_node_path(store, take_node_path, &loading, error);
    if (!result)
        result = store_each_event_cost(store, 0, take_event_cost, &reading, error);
    if (!result)
        result = store_each_run(store, measure_run, &reading, error);
    slots->slot_ns = finest_slot_ns(&reading);
    if (!result)
        result = store_each_run(store, take_run, &reading, error);
    if (!result)
        result = report_slots_fold(slots, limits->paths);
    if (!result)
        result = merge_costs(&loading);
    if (!result && slots->costs.count)
        qsort(slots->costs.items, slots->costs.count, sizeof *slots->costs.items,
              report_slots_compare);
    sprof_vec_release(&loading.node_paths);
    sprof_map_release(&loading.paths);
    sprof_map_release(&loading.places);
    sprof_map_release(&reading.events);
    sprof_vec_release(&reading.stored);
    return report_error_code(result, error);
}
