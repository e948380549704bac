/* What samples add up to by phase and CPU: a pass over the samples, and rows, those of stack nodes
 * packed. */
#include "recording/derive.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_PAIRS = 1 << 22, /* what is more takes too much memory for what it spares */
    FEW_ROWS = 4096,
};

static void release_sums(struct derive_place_sums *sums)
{
    sprof_vec_release(&sums->items);
    sprof_map_release(&sums->index);
}

void recording_derive_places_release(struct derive_places *places)
{
    sprof_vec_release(&places->items);
    sprof_map_release(&places->index);
    release_sums(&places->threads);
    release_sums(&places->pairs);
    sprof_vec_release(&places->squares);
}

/* The number of the phase that holds a time; 0: none. All of a run with one phase is in it. */
static uint32_t phase_at(const struct derive_run *run, uint64_t time_ns)
{
    const struct derive_stretch *stretches = run->stretches.items;
    size_t low = 0, high = run->stretches.count; /* the first that begins later */
    if (high == 1)
        return 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (stretches[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && time_ns < stretches[low - 1].end_ns ? (uint32_t)low : 0;
}

static int find_place(struct derive_places *places, struct derive_place place, uint32_t *at)
{
    const uint64_t key = (uint64_t)place.phase << 32 | (uint32_t)place.cpu;
    const uint64_t *known = sprof_map_get(&places->index, key);
    *at = known ? (uint32_t)*known : (uint32_t)places->items.count;
    if (known)
        return 0;
    return sprof_vec_push(&places->items, place) || sprof_map_put(&places->index, key, *at)
               ? SPROF_ENOMEM
               : 0;
}

/* The sum of a place and of what it is of, 0 at first, is at `at`. */
static int find_sum(struct derive_place_sums *sums, uint32_t place, uint32_t of, size_t *at)
{
    const uint64_t key = (uint64_t)place << 32 | of;
    const uint64_t *known = sprof_map_get(&sums->index, key);
    const struct derive_place_cost added = {place, of, {0}};
    *at = known ? (size_t)*known : sums->items.count;
    if (known)
        return 0;
    return sprof_vec_push(&sums->items, added) || sprof_map_put(&sums->index, key, *at)
               ? SPROF_ENOMEM
               : 0;
}

static void add(struct derive_place_cost *sum, const struct store_sample *sample)
{
    sum->cost.samples += sample->count;
    sum->cost.weight += sample->weight;
}

static int add_to_thread(struct derive_places *places, const struct store_sample *sample,
                         uint32_t place, uint32_t thread)
{
    const double weight = (double)sample->weight;
    size_t at;
    if (find_sum(&places->threads, place, thread, &at) ||
        (at == places->squares.count && sprof_vec_push(&places->squares, 0.0)))
        return SPROF_ENOMEM;
    add(&places->threads.items.items[at], sample);
    places->squares.items[at] += sample->count ? weight * weight / (double)sample->count : 0;
    return 0;
}

static int add_to_pair(struct derive_places *places, const struct store_sample *sample,
                       uint32_t place, uint32_t pair)
{
    size_t at;
    if (find_sum(&places->pairs, place, pair, &at))
        return SPROF_ENOMEM;
    add(&places->pairs.items.items[at], sample);
    places->too_many = places->pairs.items.count > MOST_PAIRS;
    if (places->too_many)
        release_sums(&places->pairs);
    return 0;
}

int recording_derive_add_to_place(const struct derive_run *run, struct derive_event *event,
                                  const struct store_sample *sample, uint32_t thread, uint32_t pair)
{
    struct derive_places *places = &event->places;
    const struct derive_place place = {phase_at(run, sample->time_ns), sample->cpu};
    uint32_t at;
    if (find_place(places, place, &at) || add_to_thread(places, sample, at, thread))
        return SPROF_ENOMEM;
    return places->too_many ? 0 : add_to_pair(places, sample, at, pair);
}

/* == Rows == */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_costs(const void *a, const void *b)
{
    const struct store_place_cost *first = a, *second = b;
    int order = compare_numbers(first->phase, second->phase);
    order = order ? order : (first->cpu > second->cpu) - (first->cpu < second->cpu);
    return order ? order : compare_numbers(first->thread_id, second->thread_id);
}

static int thread_rows(struct derive *derive, const struct derive_run *run,
                       const struct derive_event *event)
{
    const struct derive_places *places = &event->places;
    const size_t from = derive->derived.place_costs.count;
    for (size_t i = 0; i < places->threads.items.count; i++) {
        const struct derive_place_cost *item = &places->threads.items.items[i];
        const struct derive_place *place = &places->items.items[item->place];
        const struct store_place_cost row = {
            .run_id = run->id,
            .event_id = event->id,
            .phase = place->phase,
            .cpu = place->cpu,
            .thread_id = event->threads.items[item->of].thread_id,
            .cost = item->cost,
            .squares = recording_derive_squares(item->cost, places->squares.items[i]),
        };
        if (sprof_vec_push(&derive->derived.place_costs, row))
            return SPROF_ENOMEM;
    }
    if (places->threads.items.count)
        qsort(derive->derived.place_costs.items + from, places->threads.items.count,
              sizeof *derive->derived.place_costs.items, compare_costs);
    return 0;
}

/* An entry of a block, and which block: its place, in the order of rows. */
struct placed_cost {
    uint32_t place;
    struct store_place_entry entry;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed_cost *first = a, *second = b;
    int order = compare_numbers(first->place, second->place);
    order = order ? order : compare_numbers(first->entry.node_id, second->entry.node_id);
    return order ? order : compare_numbers(first->entry.thread_id, second->entry.thread_id);
}

static int push_block(struct derive *derive, struct store_place_block *row,
                      struct store_place_packer *packer)
{
    row->entries = packer->entries;
    row->bytes.size = packer->bytes.count;
    row->bytes.data = (const uint8_t *)sprof_arena_copy(
        &derive->arena, (const char *)packer->bytes.items, packer->bytes.count);
    if (!row->bytes.data || sprof_vec_push(&derive->derived.place_blocks, *row))
        return SPROF_ENOMEM;
    row->number++;
    store_place_packer_clear(packer);
    return 0;
}

static int pack(struct derive *derive, const struct derive_run *run,
                const struct derive_event *event, const struct placed_cost *sorted, size_t count)
{
    struct store_place_packer packer = {0};
    struct store_place_block row = {0};
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        if (!i || sorted[i].place != sorted[i - 1].place) {
            const struct derive_place *place = &event->places.items.items[sorted[i].place];
            row = (struct store_place_block){
                .run_id = run->id, .event_id = event->id, .phase = place->phase, .cpu = place->cpu};
        }
        result = store_place_pack(&packer, &sorted[i].entry);
        const bool last = i + 1 == count || sorted[i + 1].place != sorted[i].place;
        if (!result && (last || packer.entries == STORE_PLACE_ENTRIES))
            result = push_block(derive, &row, &packer);
    }
    store_place_packer_release(&packer);
    return result;
}

static int node_rows(struct derive *derive, const struct derive_run *run,
                     const struct derive_event *event)
{
    const struct derive_places *places = &event->places;
    const size_t count = places->pairs.items.count;
    struct placed_cost *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct derive_place_cost *item = &places->pairs.items.items[i];
        const struct store_thread_node_cost *pair = &event->pairs.items[item->of];
        sorted[i] = (struct placed_cost){item->place, {pair->node_id, pair->thread_id, item->cost}};
    }
    qsort(sorted, count, sizeof *sorted, compare_placed);
    const int result = pack(derive, run, event, sorted, count);
    free(sorted);
    return result;
}

double recording_derive_squares(struct model_cost cost, double squares)
{
    const double samples = (double)(cost.samples ? cost.samples : 1);
    const double equal = (double)cost.weight * (double)cost.weight / samples;
    return fabs(squares - equal) <= 1e-9 * equal ? 0 : squares;
}

/* Rows are worth their room where they are fewer than half the samples. */
int recording_derive_place_rows(struct derive *derive, const struct derive_run *run,
                                const struct derive_event *event)
{
    const struct derive_places *places = &event->places;
    const uint64_t samples = event->cost.samples;
    int result = 0;
    if (2 * places->threads.items.count < samples || places->threads.items.count <= FEW_ROWS)
        result = thread_rows(derive, run, event);
    if (!result && !places->too_many && 2 * places->pairs.items.count < samples)
        result = node_rows(derive, run, event);
    return result;
}
