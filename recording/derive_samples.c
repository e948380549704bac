/* One pass over the samples of a run: what they add up to by thread and stack node, by time slot,
 * and for the run's quality. */
#include "recording/derive_names.h"

#include <string.h>

enum {
    FIRST_SLOT_NS = 100000000,
    MOST_SLOT_ROWS = 1 << 20, /* the page reads all of them at once */
};

void recording_derive_events_release(struct derive_run *run)
{
    for (size_t i = 0; i < run->events.count; i++) {
        struct derive_event *event = &run->events.items[i];
        sprof_vec_release(&event->pairs);
        sprof_vec_release(&event->threads);
        sprof_vec_release(&event->slots);
        sprof_map_release(&event->pair_index);
        sprof_map_release(&event->thread_index);
        sprof_vec_release(&event->last_slots);
        recording_derive_places_release(&event->places);
    }
    sprof_vec_release(&run->events);
    sprof_vec_release(&run->phases);
    sprof_vec_release(&run->stretches);
    sprof_vec_release(&run->calls);
}

static const uint64_t LONGEST_SLOT_NS = UINT64_C(1) << 62;

static void add(struct model_cost *sum, const struct store_sample *sample)
{
    sum->samples += sample->count;
    sum->weight += sample->weight;
}

static struct derive_event *event_of(struct derive_run *run, uint32_t id)
{
    for (size_t i = 0; i < run->events.count; i++)
        if (run->events.items[i].id == id)
            return &run->events.items[i];
    const struct derive_event added = {.id = id, .slot_ns = FIRST_SLOT_NS};
    return sprof_vec_push(&run->events, added) ? NULL : &run->events.items[run->events.count - 1];
}

/* == By thread and node == */

static int add_to_thread(struct derive_run *run, struct derive_event *event,
                         const struct store_sample *sample, uint32_t *thread)
{
    const uint64_t *known = sprof_map_get(&event->thread_index, sample->thread_id);
    size_t at = known ? (size_t)*known : event->threads.count;
    if (!known) {
        const struct store_thread_cost row = {run->id, event->id, sample->thread_id, {0}};
        if (sprof_vec_push(&event->threads, row) ||
            sprof_map_put(&event->thread_index, sample->thread_id, at))
            return SPROF_ENOMEM;
    }
    add(&event->threads.items[at].cost, sample);
    *thread = (uint32_t)at;
    return 0;
}

static int add_to_pair(struct derive_run *run, struct derive_event *event,
                       const struct store_sample *sample, uint32_t *pair)
{
    const uint64_t key = (uint64_t)sample->thread_id << 32 | sample->node_id;
    const uint64_t *known = sprof_map_get(&event->pair_index, key);
    *pair = known ? (uint32_t)*known : (uint32_t)event->pairs.count;
    if (!known) {
        const struct store_thread_node_cost row = {
            .run_id = run->id,
            .event_id = event->id,
            .thread_id = sample->thread_id,
            .node_id = sample->node_id,
        };
        if (sprof_vec_push(&event->pairs, row) || sprof_vec_push(&event->last_slots, 0) ||
            sprof_map_put(&event->pair_index, key, *pair))
            return SPROF_ENOMEM;
    }
    struct store_thread_node_cost *row = &event->pairs.items[*pair];
    const double weight = (double)sample->weight;
    const double square = weight * weight / (double)(sample->count ? sample->count : 1);
    add(&row->cost, sample);
    row->squares += square;
    event->squares += sample->count ? square : 0;
    return 0;
}

/* == By time == */

/* Times ascend but for a little: the last row of a pair is nearly always the one of its slot. Where
 * it is not, the slot gets a second row for the pair, which slot_rows adds to the first. */
static int add_to_slot(struct derive_event *event, uint32_t slot, uint32_t pair,
                       struct model_cost cost)
{
    uint32_t *last = &event->last_slots.items[pair]; /* position + 1 */
    if (!*last || event->slots.items[*last - 1].slot != slot) {
        const struct derive_slot row = {slot, pair, {0}};
        if (sprof_vec_push(&event->slots, row))
            return SPROF_ENOMEM;
        *last = (uint32_t)event->slots.count;
    }
    event->slots.items[*last - 1].cost.samples += cost.samples;
    event->slots.items[*last - 1].cost.weight += cost.weight;
    return 0;
}

/* Two slots become one. Rows get fewer where they are. */
static int coarsen(struct derive_event *event)
{
    const size_t count = event->slots.count;
    int result = 0;
    memset(event->last_slots.items, 0, event->last_slots.count * sizeof *event->last_slots.items);
    event->slots.count = 0;
    event->slot_ns *= 2;
    for (size_t i = 0; i < count && !result; i++) {
        const struct derive_slot old = event->slots.items[i];
        result = add_to_slot(event, old.slot / 2, old.pair, old.cost);
    }
    return result;
}

/* == All == */

struct scan {
    struct derive *derive;
    struct derive_run *run;
};

/* A stack that was met in two modes alike is read in the more detailed. */
static void note_phase(struct derive *derive, const struct derive_run *run,
                       const struct store_sample *sample, struct derive_node *node)
{
    uint32_t at = (uint32_t)run->phases.count;
    while (at > 1 && run->phases.items[at - 1].start_ns > sample->time_ns)
        at--;
    if (node->phase && model_view_lost(&run->phases.items[at - 1].view) >=
                           model_view_lost(&run->phases.items[node->phase - 1].view))
        return;
    node->phase = at;
    derive->repath |= node->path != 0;
}

static void add_to_summary(struct derive_run *run, const struct store_sample *sample,
                           const struct derive_node *node)
{
    struct store_sample_summary *sum = &run->summary;
    const uint64_t user = sample->user_stack ? sample->count : 0;
    const bool whole = sample->end_reason == MODEL_END_ROOT && !node->guessed;
    sum->samples += sample->count;
    sum->user_stacks += user;
    sum->whole_stacks += whole ? user : 0;
    sum->stitched += sample->stitched ? sample->count : 0;
    sum->guessed_frames += sample->count * node->guessed;
    sum->frames += sample->count * node->depth;
    if (sample->time_ns > run->latest_ns)
        run->latest_ns = sample->time_ns;
    else if (run->latest_ns - sample->time_ns > run->disorder_ns)
        run->disorder_ns = run->latest_ns - sample->time_ns;
    if (!sample->count)
        return; /* at the end of the run they may be as late as they are */
    if (!sum->first_sample)
        sum->first_sample = sample->id;
    sum->last_sample = sample->id;
    sum->disorder_ns = run->disorder_ns;
}

static int add_sample(void *context, const struct store_sample *sample)
{
    struct scan *scan = context;
    struct derive_event *event = event_of(scan->run, sample->event_id);
    const size_t node = recording_derive_find_node(scan->derive, sample->node_id);
    if (!node)
        return SPROF_EFORMAT;
    add_to_summary(scan->run, sample, &scan->derive->nodes.items[node - 1]);
    if (scan->run->phases.count)
        note_phase(scan->derive, scan->run, sample, &scan->derive->nodes.items[node - 1]);
    uint32_t pair, thread;
    if (!event || add_to_thread(scan->run, event, sample, &thread) ||
        add_to_pair(scan->run, event, sample, &pair))
        return SPROF_ENOMEM;
    add(&event->cost, sample);
    scan->derive->read.sample = sample->id;
    const struct model_cost cost = {sample->count, sample->weight};
    if (scan->derive->live)
        return 0;
    if (recording_derive_add_to_place(scan->run, event, sample, thread, pair))
        return SPROF_ENOMEM;
    while (sample->time_ns / event->slot_ns > UINT32_MAX ||
           (event->slots.count > MOST_SLOT_ROWS && event->slot_ns < LONGEST_SLOT_NS))
        if (coarsen(event))
            return SPROF_ENOMEM;
    return add_to_slot(event, (uint32_t)(sample->time_ns / event->slot_ns), pair, cost);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct store_thread_node_cost *first = a, *second = b;
    if (first->thread_id != second->thread_id)
        return first->thread_id < second->thread_id ? -1 : 1;
    return first->node_id < second->node_id ? -1 : first->node_id > second->node_id;
}

static int compare_slots(const void *a, const void *b)
{
    const struct store_slot_cost *first = a, *second = b;
    if (first->slot != second->slot)
        return first->slot < second->slot ? -1 : 1;
    if (first->thread_id != second->thread_id)
        return first->thread_id < second->thread_id ? -1 : 1;
    return first->node_id < second->node_id ? -1 : first->node_id > second->node_id;
}

#define SORT(vec, from, compare)                                                                   \
    ((vec)->count > (from)                                                                         \
         ? qsort((vec)->items + (from), (vec)->count - (from), sizeof *(vec)->items, compare)      \
         : (void)0)

/* Slots, as fine as leaves fewer than half as many rows as there are samples. */
static int slot_rows(struct derive *derive, struct derive_run *run, struct derive_event *event)
{
    const size_t from = derive->derived.slot_costs.count;
    while (2 * event->slots.count >= event->cost.samples)
        if (coarsen(event))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < event->slots.count; i++) {
        const struct derive_slot *slot = &event->slots.items[i];
        const struct store_thread_node_cost *pair = &event->pairs.items[slot->pair];
        const struct store_slot_cost row = {run->id,         event->id,     slot->slot,
                                            pair->thread_id, pair->node_id, slot->cost};
        if (sprof_vec_push(&derive->derived.slot_costs, row))
            return SPROF_ENOMEM;
    }
    SORT(&derive->derived.slot_costs, from, compare_slots);
    size_t kept = from;
    for (size_t i = from; i < derive->derived.slot_costs.count; i++) {
        struct store_slot_cost *rows = derive->derived.slot_costs.items;
        if (kept > from && !compare_slots(&rows[kept - 1], &rows[i])) {
            rows[kept - 1].cost.samples += rows[i].cost.samples;
            rows[kept - 1].cost.weight += rows[i].cost.weight;
        } else {
            rows[kept++] = rows[i];
        }
    }
    derive->derived.slot_costs.count = kept;
    return 0;
}

static int compare_threads(const void *a, const void *b)
{
    const struct store_thread_cost *first = a, *second = b;
    return first->thread_id < second->thread_id ? -1 : first->thread_id > second->thread_id;
}

struct store_thread_node_cost recording_derive_pair_row(const struct store_thread_node_cost *pair)
{
    struct store_thread_node_cost row = *pair;
    row.squares = recording_derive_squares(row.cost, row.squares);
    return row;
}

/* Rows by node are worth their room where they are fewer than half the samples. */
static int event_rows(struct derive *derive, struct derive_run *run, struct derive_event *event)
{
    struct store_derived *derived = &derive->derived;
    if (recording_derive_place_rows(derive, run, event)) /* sorting threads moves them */
        return SPROF_ENOMEM;
    struct store_event_cost row = {run->id, event->id, event->cost, event->squares, false, 0};
    row.has_node_costs = 2 * event->pairs.count < event->cost.samples;
    if (row.has_node_costs && slot_rows(derive, run, event))
        return SPROF_ENOMEM;
    if (row.has_node_costs)
        row.slot_ns = event->slot_ns;
    SORT(&event->threads, 0, compare_threads);
    for (size_t i = 0; i < event->threads.count; i++)
        if (sprof_vec_push(&derived->thread_costs, event->threads.items[i]))
            return SPROF_ENOMEM;
    const size_t from = derived->thread_node_costs.count;
    for (size_t i = 0; row.has_node_costs && i < event->pairs.count; i++) {
        if (sprof_vec_push(&derived->thread_node_costs,
                           recording_derive_pair_row(&event->pairs.items[i])))
            return SPROF_ENOMEM;
    }
    SORT(&derived->thread_node_costs, from, compare_pairs);
    return sprof_vec_push(&derived->event_costs, row);
}

int recording_derive_scan_samples(struct derive *derive, struct derive_run *run,
                                  struct sprof_error *error)
{
    struct scan scan = {.derive = derive, .run = run};
    run->summary.run_id = run->id;
    const int result = store_each_raw_sample(derive->store, run->id, add_sample, &scan, error);
    if (result)
        return result;
    for (size_t i = 0; i < run->events.count && !derive->live; i++)
        if (event_rows(derive, run, &run->events.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

static int add_sample_of_run(void *context, const struct store_sample *sample)
{
    const struct scan *scan = context;
    return sample->run_id == scan->run->id ? add_sample(context, sample) : 0;
}

int recording_derive_scan_more(struct derive *derive, struct derive_run *run,
                               struct sprof_error *error)
{
    struct scan scan = {.derive = derive, .run = run};
    return store_each_raw_sample_from(derive->store, derive->read.sample + 1, add_sample_of_run,
                                      &scan, error);
}
