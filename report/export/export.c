/* Stacks, samples and texts as the exporters need them. */
#include "report/export/export.h"

#include "report/dataset_parts.h"

#include <string.h>

/* == Stacks of functions == */

/* The stack before, root first, with the path of each of its frames: the next one mostly shares
 * what lies near the root, and need not look that up again. */
struct trail_step {
    uint32_t frame, path;
};
struct trail {
    SPROF_VEC(struct trail_step) steps;
};

static int path_of_stack(struct report_dataset *dataset, const struct report_stack *stack,
                         struct trail *trail, uint32_t *path)
{
    const size_t depth = stack->frames.count;
    const uint32_t *innermost = stack->frames.items;
    size_t same = 0;
    int result = 0;
    while (same < depth && same < trail->steps.count &&
           trail->steps.items[same].frame == innermost[depth - 1 - same])
        same++;
    trail->steps.count = same;
    *path = same ? trail->steps.items[same - 1].path : 0;
    for (size_t i = same; i < depth && !result; i++) {
        const uint32_t frame = innermost[depth - 1 - i];
        const uint32_t function = report_dataset_frame_function(dataset, frame);
        result =
            function ? model_paths_child(&dataset->paths, *path, function, path) : SPROF_EFORMAT;
        if (!result)
            result = sprof_vec_push(&trail->steps, (struct trail_step){frame, *path});
    }
    return result;
}

uint32_t *report_export_paths(struct report_dataset *dataset)
{
    uint32_t *paths = calloc(dataset->nodes.count + 1, sizeof *paths);
    struct report_stack stack = {0};
    struct trail trail = {0};
    int result = paths ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        const uint32_t node = dataset->costs.items[i].node;
        if (paths[node])
            continue;
        result = report_dataset_stack(dataset, node, &stack);
        if (!result)
            result = path_of_stack(dataset, &stack, &trail, &paths[node]);
    }
    sprof_vec_release(&trail.steps);
    sprof_vec_release(&stack.frames);
    if (!result)
        return paths;
    free(paths);
    return NULL;
}

int report_export_chain(const struct report_dataset *dataset, uint32_t path,
                        struct export_chain *chain)
{
    const struct model_path *items = dataset->paths.items.items;
    const size_t depth = path ? items[path - 1].depth : 0;
    if (sprof_vec_reserve(&chain->functions, depth))
        return SPROF_ENOMEM;
    chain->functions.count = depth;
    for (size_t i = depth; i-- > 0; path = items[path - 1].parent)
        chain->functions.items[i] = items[path - 1].function;
    return 0;
}

/* == Samples == */

static void pack(struct export_thread *thread, uint64_t value, uint64_t last)
{
    uint64_t rest = value < last ? (last - value) * 2 - 1 : (value - last) * 2;
    do {
        thread->bytes.items[thread->bytes.count++] =
            (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0));
        rest >>= 7;
    } while (rest);
}

static int add_sample(struct export_thread *thread, struct export_sample sample)
{
    enum { LARGEST = 4 * 10 };
    const struct export_sample last = thread->last;
    if (sprof_vec_reserve(&thread->bytes, thread->bytes.count + LARGEST))
        return SPROF_ENOMEM;
    thread->last = sample;
    thread->count++;
    pack(thread, sample.time_ns, last.time_ns);
    pack(thread, sample.path, last.path);
    pack(thread, sample.weight, last.weight);
    pack(thread, sample.count, last.count);
    return 0;
}

static uint64_t unpack(const uint8_t *bytes, size_t *at, uint64_t last)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = bytes[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return value & 1 ? last - (value + 1) / 2 : last + value / 2;
}

bool report_export_next(const struct export_thread *thread, struct export_cursor *cursor)
{
    struct export_sample *sample = &cursor->sample;
    if (cursor->done == thread->count)
        return false;
    const uint8_t *bytes = thread->bytes.items;
    cursor->done++;
    sample->time_ns = unpack(bytes, &cursor->at, sample->time_ns);
    sample->path = (uint32_t)unpack(bytes, &cursor->at, sample->path);
    sample->weight = unpack(bytes, &cursor->at, sample->weight);
    sample->count = unpack(bytes, &cursor->at, sample->count);
    return true;
}

struct collecting {
    const struct report_dataset *dataset;
    const uint32_t *paths; /* [node]; 0: not selected */
    struct export_threads *threads;
    size_t run;                 /* index of the run at hand */
    uint32_t thread_id, thread; /* the last one that was looked up */
    SPROF_VEC(uint32_t) known;  /* [node's database id]: its path + 2; 0: not looked up yet */
    bool disordered;            /* a thread's samples were not written in time order */
};

/* The path of a node by its database id, which are small numbers; 0: not selected. */
static int find_path(struct collecting *collecting, uint32_t id, uint32_t *path)
{
    enum { LARGEST_ID = 1 << 26 };
    if (id < collecting->known.count && collecting->known.items[id]) {
        *path = collecting->known.items[id] - 2;
        return 0;
    }
    const uint32_t node = report_dataset_number(&collecting->dataset->numbers.nodes, id);
    if (!node)
        return SPROF_EFORMAT;
    *path = collecting->paths[node];
    while (collecting->known.count <= id && id < LARGEST_ID)
        if (sprof_vec_push(&collecting->known, 0))
            return SPROF_ENOMEM;
    if (id < LARGEST_ID)
        collecting->known.items[id] = *path + 2;
    return 0;
}

static int take_sample(void *context, const struct store_sample *row)
{
    struct collecting *collecting = context;
    const struct report_dataset *dataset = collecting->dataset;
    uint32_t path;
    if (!row->count || !report_dataset_takes_event(dataset, row->event_id) ||
        !report_dataset_takes_sample(dataset, collecting->run, row))
        return 0;
    if (row->thread_id != collecting->thread_id) {
        collecting->thread_id = row->thread_id;
        collecting->thread = report_dataset_number(&dataset->numbers.threads, row->thread_id);
    }
    const int result =
        collecting->thread ? find_path(collecting, row->node_id, &path) : SPROF_EFORMAT;
    if (result || !dataset->threads.items[collecting->thread - 1].selected || !path)
        return result;
    struct export_thread *thread = &collecting->threads->items[collecting->thread - 1];
    if (thread->count && row->time_ns < thread->last.time_ns)
        collecting->disordered = true;
    return add_sample(thread, (struct export_sample){row->time_ns, row->weight, row->count, path});
}

static int take_sorted(void *context, const struct store_sample_row *row)
{
    return take_sample(context, &row->sample);
}

/* Samples are mostly written in time order; only where they are not are they read sorted, which
 * takes several times as long. */
static int collect(struct collecting *collecting, struct store *store, bool sorted,
                   struct sprof_error *error)
{
    const struct report_dataset *dataset = collecting->dataset;
    int result = 0;
    for (collecting->run = 0; collecting->run < dataset->runs.count && !result; collecting->run++) {
        struct store_filter filter = {.run_id = dataset->runs.items[collecting->run].id};
        if (dataset->chosen.ranges.count) {
            filter.from_ns = dataset->chosen.ranges.items[collecting->run].from_ns;
            filter.to_ns = dataset->chosen.ranges.items[collecting->run].to_ns;
        }
        result = sorted
                     ? store_each_sample(store, &filter, take_sorted, collecting, error)
                     : store_each_raw_sample(store, filter.run_id, take_sample, collecting, error);
    }
    return result;
}

int report_export_threads(const struct report_content *content, struct export_threads *threads,
                          struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    uint32_t *paths = report_export_paths(dataset);
    *threads = (struct export_threads){
        .items = calloc(dataset->threads.count + 1, sizeof *threads->items),
        .count = dataset->threads.count,
    };
    struct collecting collecting = {.dataset = dataset, .paths = paths, .threads = threads};
    int result = paths && threads->items ? 0 : SPROF_ENOMEM;
    /* The threads of several runs are different ones, so that each has the times of one run. */
    if (!result)
        result = collect(&collecting, content->store, dataset->chosen.ranges.count > 0, error);
    for (size_t i = 0; i < threads->count && collecting.disordered && !result; i++) {
        sprof_vec_release(&threads->items[i].bytes);
        threads->items[i] = (struct export_thread){0};
    }
    if (!result && collecting.disordered)
        result = collect(&collecting, content->store, true, error);
    sprof_vec_release(&collecting.known);
    free(paths);
    return result;
}

void report_export_threads_release(struct export_threads *threads)
{
    for (size_t i = 0; threads->items && i < threads->count; i++)
        sprof_vec_release(&threads->items[i].bytes);
    free(threads->items);
    *threads = (struct export_threads){0};
}

/* == Texts == */

int report_export_thread_name(const struct report_dataset *dataset, uint32_t thread,
                              struct sprof_str *name)
{
    const struct report_thread *item = &dataset->threads.items[thread - 1];
    const struct report_process *process = &dataset->processes.items[item->process - 1];
    sprof_str_clear(name);
    return sprof_str_appendf(name, "%s %s",
                             item->name      ? item->name
                             : process->name ? process->name
                                             : "thread",
                             report_export_number(item->tid, process).text);
}

struct export_number report_export_number(int32_t number, const struct report_process *process)
{
    struct export_number made;
    if (process->bearer)
        snprintf(made.text, sizeof made.text, "%d.%u", number, process->bearer);
    else
        snprintf(made.text, sizeof made.text, "%d", number);
    return made;
}

const char *report_export_title(const struct report_dataset *dataset)
{
    const struct store_run *run = &dataset->run;
    return run->command ? run->command : run->targets ? run->targets : "recording";
}

void report_export_xml(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fputc(*text, out);
        }
}
