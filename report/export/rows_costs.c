/* Adds up samples and calls by window of time, names of process and thread, and call path. */
#include "report/export/rows.h"

#include "report/dataset_parts.h"
#include "report/services.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts of a thread by number in `names`. */
struct thread_names {
    uint32_t service, labels, process, thread;
    uint32_t together; /* number of all four */
    bool left_out;     /* of another user */
};

/* A path of threads of one name, and where what it cost in the window at hand is added up. */
struct cell {
    uint32_t window, place; /* index + 1 in costs */
};

struct adding {
    struct report_row_costs *costs;
    const struct report_dataset *dataset;
    const struct report_row_labels *labels;
    const uint32_t *paths; /* [node] */
    const struct export_identity *identity;
    const char *user; /* NULL: all */
    unsigned without;
    struct sprof_map service_places; /* texts → index + 1 in services */
    uint64_t window_ns, start_ns, slot_ns;
    bool has_sums;                          /* of threads and nodes */
    SPROF_VEC(struct store_time_range) cut; /* the shorter parts of slots in two windows */
    SPROF_VEC(struct thread_names) threads; /* [thread - 1] */
    struct sprof_intern together;           /* service, labels, process and thread name */
    struct sprof_map cell_numbers;          /* these and path → index + 1 in `cells` */
    SPROF_VEC(struct cell) cells;
    struct sprof_map places; /* number of a cell and window → index + 1 in costs */
    bool *probed;            /* [function - 1]: the run has a row of its calls; NULL: of samples */
};

/* == Services == */

/* Of one program all is the run's. */
static int find_service(struct adding *adding, uint32_t process, uint32_t *place)
{
    struct report_row_costs *costs = adding->costs;
    const struct export_identity *given = adding->identity;
    struct report_service own = {.build = ""};
    uint32_t name, version;
    if (!given->service)
        own = report_service_of(adding->dataset, process, adding->without);
    const char *version_text = given->service   ? report_export_version(given)
                               : given->version ? given->version
                                                : own.build;
    if (sprof_intern_put(&costs->names, given->service ? given->service : own.name, &name) ||
        sprof_intern_put(&costs->names, version_text, &version))
        return SPROF_ENOMEM;
    uint64_t *known = sprof_map_at(&adding->service_places, (uint64_t)name << 32 | version);
    if (!known)
        return SPROF_ENOMEM;
    if (!*known) {
        const struct report_row_service service = {.name = sprof_intern_text(&costs->names, name),
                                                   .version =
                                                       sprof_intern_text(&costs->names, version)};
        if (sprof_vec_push(&costs->services, service))
            return SPROF_ENOMEM;
        *known = costs->services.count;
    }
    *place = (uint32_t)*known - 1;
    return 0;
}

/* == Names == */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static int name_threads(struct adding *adding)
{
    const struct report_dataset *dataset = adding->dataset;
    struct sprof_intern *texts = &adding->costs->names;
    int result = 0;
    for (size_t i = 0; i < dataset->threads.count && !result; i++) {
        const struct report_thread *thread = &dataset->threads.items[i];
        const struct report_process *process = &dataset->processes.items[thread->process - 1];
        struct thread_names names = {
            .labels = adding->labels->processes.items[thread->process - 1],
            .left_out = adding->user && strcmp(adding->user, process->user) != 0,
        };
        char numbers[64];
        if (find_service(adding, thread->process, &names.service) ||
            sprof_intern_put(texts, or_empty(process->name), &names.process) ||
            sprof_intern_put(texts, or_empty(thread->name ? thread->name : process->name),
                             &names.thread))
            return SPROF_ENOMEM;
        snprintf(numbers, sizeof numbers, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
                 names.service, names.labels, names.process, names.thread);
        result = sprof_intern_put(&adding->together, numbers, &names.together) ||
                         sprof_vec_push(&adding->threads, names)
                     ? SPROF_ENOMEM
                     : 0;
    }
    return result;
}

/* == Adding == */

/* Costs come nearly in order of time: a cell's last window is mostly that of the next cost. Numbers
 * of cells are small, so that a cell and a window fit a key. */
static int find_place(struct adding *adding, const struct report_row_cost *row, uint32_t together,
                      uint32_t *place)
{
    uint64_t *number = sprof_map_at(&adding->cell_numbers, (uint64_t)together << 32 | row->path);
    if (!number || (!*number && sprof_vec_push(&adding->cells, (struct cell){0})))
        return SPROF_ENOMEM;
    *number = *number ? *number : adding->cells.count;
    struct cell *cell = &adding->cells.items[*number - 1];
    if (!cell->place || cell->window != row->window) {
        uint64_t *known = sprof_map_at(&adding->places, *number << 32 | row->window);
        if (!known || (!*known && sprof_vec_push(&adding->costs->items, *row)))
            return SPROF_ENOMEM;
        *known = *known ? *known : adding->costs->items.count;
        *cell = (struct cell){row->window, (uint32_t)*known};
    }
    *place = cell->place - 1;
    return 0;
}

static int add(struct adding *adding, uint32_t thread, uint32_t node, uint64_t time_ns,
               const struct report_row_sums *more)
{
    const struct thread_names *names = &adding->threads.items[thread - 1];
    const struct report_row_cost row = {
        .window = (uint32_t)((adding->start_ns + time_ns) / adding->window_ns),
        .service = names->service,
        .labels = names->labels,
        .process = names->process,
        .thread = names->thread,
        .path = adding->paths[node],
    };
    uint32_t place;
    if (!row.path || names->left_out) /* of the stack nothing may be selected */
        return 0;
    if (find_place(adding, &row, names->together, &place))
        return SPROF_ENOMEM;
    struct model_cost *all = &adding->costs->services.items[row.service].sum;
    all->samples += more->cost.samples;
    all->weight += more->cost.weight;
    struct report_row_sums *sums = &adding->costs->items.items[place].sums;
    sums->cost.samples += more->cost.samples;
    sums->cost.weight += more->cost.weight;
    sums->total_ns += more->total_ns;
    sums->outermost += more->outermost;
    sums->counted += more->counted;
    sums->in_flight += more->in_flight;
    return 0;
}

/* == From what is stored == */

static int add_stored(struct adding *adding, uint32_t event_id, uint32_t thread_id,
                      uint32_t node_id, uint64_t time_ns, const struct report_row_sums *more)
{
    const struct report_dataset *dataset = adding->dataset;
    if (!report_dataset_takes_event(dataset, event_id))
        return 0;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, thread_id);
    const uint32_t node = report_dataset_number(&dataset->numbers.nodes, node_id);
    if (!thread || !node)
        return SPROF_EFORMAT;
    if (!dataset->threads.items[thread - 1].selected)
        return 0;
    return add(adding, thread, node, time_ns, more);
}

static uint64_t window_at(const struct adding *adding, uint64_t time_ns)
{
    return (adding->start_ns + time_ns) / adding->window_ns;
}

/* How a slot counts that lies in two windows: of its shorter part the samples are read. */
struct cut_slot {
    struct store_time_range part;
    uint64_t rest_ns; /* a time in the other one */
};

/* Slots are at most half as long as windows. Whether the numbers are those of a slot. */
static bool cut_slot(const struct adding *adding, uint64_t from_ns, struct cut_slot *cut)
{
    const uint64_t to_ns = from_ns + adding->slot_ns;
    const uint64_t end_ns = (window_at(adding, from_ns) + 1) * adding->window_ns - adding->start_ns;
    if (end_ns <= from_ns || end_ns >= to_ns)
        return false;
    *cut = end_ns - from_ns < to_ns - end_ns ? (struct cut_slot){{from_ns, end_ns}, end_ns}
                                             : (struct cut_slot){{end_ns, to_ns}, from_ns};
    return true;
}

/* Of a slot that lies in two windows all counts in the window of the longer part at first. */
static int take_slot(void *context, const struct store_slot_cost *row)
{
    struct adding *adding = context;
    const uint64_t from_ns = row->slot * adding->slot_ns, last_ns = from_ns + adding->slot_ns - 1;
    const size_t count = adding->cut.count;
    struct cut_slot slot = {.rest_ns = from_ns};
    if (window_at(adding, from_ns) != window_at(adding, last_ns)) {
        if (!cut_slot(adding, from_ns, &slot))
            return SPROF_EFORMAT;
        if ((!count || adding->cut.items[count - 1].from_ns != slot.part.from_ns) &&
            sprof_vec_push(&adding->cut, slot.part))
            return SPROF_ENOMEM;
    }
    return add_stored(adding, row->event_id, row->thread_id, row->node_id, slot.rest_ns,
                      &(struct report_row_sums){.cost = row->cost});
}

static int take_node(void *context, const struct store_node_cost *row)
{
    return add_stored(context, row->event_id, row->thread_id, row->node_id, 0,
                      &(struct report_row_sums){.cost = row->cost});
}

static uint32_t function_of(const struct adding *adding, uint32_t path)
{
    return adding->dataset->paths.items.items[path - 1].function;
}

/* Calls and their own times are samples, too; the rest is known of the run as a whole. */
static int take_call(void *context, const struct store_call_cost *row)
{
    struct adding *adding = context;
    const uint32_t node = report_dataset_number(&adding->dataset->numbers.nodes, row->node_id);
    if (node && adding->paths[node])
        adding->probed[function_of(adding, adding->paths[node]) - 1] = true;
    const struct report_row_sums sums = {.total_ns = row->total_ns,
                                         .outermost = row->outermost,
                                         .counted = row->counted,
                                         .in_flight = row->in_flight};
    return sums.total_ns || sums.outermost || sums.counted || sums.in_flight
               ? add_stored(adding, row->event_id, row->thread_id, row->node_id,
                            adding->dataset->run.duration_ns, &sums)
               : 0;
}

static int take_sample(void *context, const struct store_sample *row)
{
    struct adding *adding = context;
    if (!report_dataset_takes_event(adding->dataset, row->event_id) ||
        !report_dataset_takes_sample(adding->dataset, 0, row))
        return 0;
    return add_stored(adding, row->event_id, row->thread_id, row->node_id, row->time_ns,
                      &(struct report_row_sums){.cost = {row->count, row->weight}});
}

/* A sample of the shorter part of its slot moves to the window of that. */
static int move_sample(void *context, const struct store_sample *row)
{
    struct adding *adding = context;
    const struct report_row_sums less = {
        .cost = {0 - (uint64_t)row->count, 0 - (uint64_t)row->weight}};
    struct cut_slot slot;
    if (!report_dataset_takes_event(adding->dataset, row->event_id) ||
        !report_dataset_takes_sample(adding->dataset, 0, row))
        return 0;
    if (!cut_slot(adding, row->time_ns / adding->slot_ns * adding->slot_ns, &slot))
        return SPROF_EFORMAT;
    const int result =
        add_stored(adding, row->event_id, row->thread_id, row->node_id, slot.rest_ns, &less);
    return result ? result : take_sample(context, row);
}

static int take_event_cost(void *context, const struct store_event_cost *row)
{
    struct adding *adding = context;
    if (row->event_id == adding->dataset->event.id && row->has_node_costs) {
        adding->slot_ns = row->slot_ns;
        adding->has_sums = true;
    }
    return 0;
}

static int compare_parts(const void *left, const void *right)
{
    const struct store_time_range *a = left, *b = right;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Leaves out rows of which nothing is left. Sums that were less than their parts have wrapped. No
 * row can be added afterwards: rows have other places. */
static int drop_empty(struct report_row_costs *costs, struct sprof_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < costs->items.count; i++) {
        const struct report_row_sums *sums = &costs->items.items[i].sums;
        if (sums->cost.samples > INT64_MAX || sums->cost.weight > INT64_MAX)
            return sprof_error_set(error, SPROF_EFORMAT, 0,
                                   "sums by time are not those of the samples: the recording is "
                                   "damaged");
        if (sums->cost.samples || sums->cost.weight || sums->total_ns || sums->outermost ||
            sums->counted || sums->in_flight)
            costs->items.items[count++] = costs->items.items[i];
    }
    costs->items.count = count;
    return 0;
}

/* Events have the same slots. */
static int move_parts(struct adding *adding, struct store *store, struct sprof_error *error)
{
    struct store_time_range *parts = adding->cut.items;
    size_t count = 0;
    if (!adding->cut.count)
        return 0;
    qsort(parts, adding->cut.count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < adding->cut.count; i++)
        if (!count || parts[count - 1].from_ns != parts[i].from_ns)
            parts[count++] = parts[i];
    return store_each_sample_in_ranges(store, adding->dataset->run.id, parts, count, move_sample,
                                       adding, error);
}

/* Whether most samples need not be read: they are not chosen by what only they have. */
static bool suffices(const struct adding *adding)
{
    const struct report_dataset *dataset = adding->dataset;
    return adding->has_sums && !dataset->chosen.cpus && !dataset->chosen.by_phase &&
           !dataset->chosen.ranges.count;
}

static int add_samples(struct adding *adding, struct store *store, struct sprof_error *error)
{
    const struct store_run *run = &adding->dataset->run;
    const struct store_filter filter = {.run_id = run->id};
    if (suffices(adding) && window_at(adding, 0) == window_at(adding, run->duration_ns))
        return store_each_node_cost(store, &filter, take_node, adding, error);
    if (!suffices(adding) || !adding->slot_ns || adding->slot_ns > adding->window_ns / 2)
        return store_each_raw_sample(store, run->id, take_sample, adding, error);
    const int result = store_each_slot_cost(store, run->id, take_slot, adding, error);
    return result ? result : move_parts(adding, store, error);
}

/* Only samples hold calls of functions outside of the traced modules. */
static int add_calls(struct adding *adding, struct store *store, struct sprof_error *error)
{
    struct report_row_costs *costs = adding->costs;
    adding->probed = calloc(adding->dataset->functions.count + 1, sizeof *adding->probed);
    if (!adding->probed)
        return SPROF_ENOMEM;
    const int result =
        store_each_call_cost(store, adding->dataset->run.id, take_call, adding, error);
    for (size_t i = 0; i < costs->items.count && !result; i++)
        costs->items.items[i].outside =
            !adding->probed[function_of(adding, costs->items.items[i].path) - 1];
    return result;
}

static int add_all(struct adding *adding, struct store *store, struct sprof_error *error)
{
    const uint32_t run = adding->dataset->run.id;
    int result = store_each_event_cost(store, run, take_event_cost, adding, error);
    if (!result)
        result = add_samples(adding, store, error);
    if (!result && report_counts_calls(adding->dataset))
        result = add_calls(adding, store, error);
    return result || !adding->cut.count ? result : drop_empty(adding->costs, error);
}

static int compare(const void *left, const void *right)
{
    const struct report_row_cost *a = left, *b = right;
    if (a->window != b->window)
        return a->window < b->window ? -1 : 1;
    if (a->service != b->service)
        return a->service < b->service ? -1 : 1;
    if (a->labels != b->labels)
        return a->labels < b->labels ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

int report_row_costs_make(struct report_row_costs *costs, const struct report_content *content,
                          const uint32_t *paths, const struct report_row_labels *labels,
                          const struct export_identity *identity,
                          const struct report_rows_options *options, struct sprof_error *error)
{
    struct adding adding = {.costs = costs,
                            .dataset = content->dataset,
                            .labels = labels,
                            .paths = paths,
                            .identity = identity,
                            .user = options->user,
                            .without = options->without,
                            .window_ns = options->window_ns,
                            .start_ns = content->dataset->run.start_realtime_ns};
    *costs = (struct report_row_costs){0};
    int result = name_threads(&adding);
    if (!result)
        result = add_all(&adding, content->store, error);
    if (costs->items.count && !result)
        qsort(costs->items.items, costs->items.count, sizeof *costs->items.items, compare);
    sprof_vec_release(&adding.threads);
    sprof_map_release(&adding.service_places);
    sprof_intern_release(&adding.together);
    sprof_map_release(&adding.cell_numbers);
    sprof_vec_release(&adding.cells);
    sprof_vec_release(&adding.cut);
    sprof_map_release(&adding.places);
    free(adding.probed);
    return result;
}

void report_row_costs_release(struct report_row_costs *costs)
{
    sprof_vec_release(&costs->items);
    sprof_vec_release(&costs->services);
    sprof_intern_release(&costs->names);
}
