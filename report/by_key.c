/* The flat tables: costs by function, module, line, thread, or any combination of such keys. */
#include "report/columns.h"
#include "report/error_text.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <string.h>

/* What a key is; the order is that of enum report_key. */
static const struct {
    const char *word, *title;
    bool of_sample; /* the same for the whole stack */
    bool needs_frames;
} keys[] = {
    [REPORT_RUN] = {"run", "runs", true, false},
    [REPORT_HOST] = {"host", "hosts", true, false},
    [REPORT_PROCESS] = {"process", "processes", true, false},
    [REPORT_THREAD] = {"thread", "threads", true, false},
    [REPORT_CPU] = {"cpu", "CPUs", true, false},
    [REPORT_EVENT] = {"event", "events", true, false},
    [REPORT_MODULE] = {"module", "modules", false, false},
    [REPORT_FUNCTION] = {"function", "functions", false, false},
    [REPORT_FILE] = {"file", "source files", false, true},
    [REPORT_LINE] = {"line", "lines", false, true},
    [REPORT_ADDRESS] = {"address", "addresses", false, true},
};

const char *report_key_word(enum report_key key)
{
    return key < REPORT_KEYS ? keys[key].word : NULL;
}

unsigned report_keys_parts(const struct report_table_options *options,
                           const struct report_selection *selection)
{
    const bool all = report_selection_takes_all(selection);
    bool of_samples = false, of_frames = options->key_count == 0, needs_frames = false, cpu = false;
    for (size_t i = 0; i < options->key_count; i++) {
        const enum report_key key = options->keys[i];
        of_samples = of_samples || keys[key].of_sample;
        of_frames = of_frames || !keys[key].of_sample;
        needs_frames = needs_frames || keys[key].needs_frames;
        cpu = cpu || key == REPORT_CPU;
    }
    if (cpu)
        return REPORT_STACKS | REPORT_CPUS;
    if (all && of_samples && !of_frames)
        return REPORT_THREAD_COSTS;
    if (all && !of_samples && options->key_count == 1 && options->keys[0] == REPORT_LINE)
        return REPORT_LINE_COSTS;
    return of_samples || needs_frames ? REPORT_STACKS : 0;
}

/* One row: where a cost of it was seen, and its sums. */
struct entry {
    uint32_t sample; /* index of a cost; its thread, cpu and event are the row's */
    uint32_t module, function, frame;
    struct model_costs costs;
};

struct by_key {
    struct report_dataset *dataset;
    const enum report_key *keys;
    size_t key_count;
    bool of_samples, of_frames; /* there are keys of that sort */
    SPROF_VEC(struct entry) entries;
    uint32_t *labels;             /* frame → number of its keys' values; 0: not asked yet */
    struct sprof_map numbers;     /* hash of the values → number */
    SPROF_VEC(uint32_t) entry_of; /* label → entry + 1 of the group at work, … */
    SPROF_VEC(uint32_t) seen;     /* … the cost it was last counted for, + 1 */
};

static bool has_key(const struct by_key *by, enum report_key key)
{
    for (size_t i = 0; i < by->key_count; i++)
        if (by->keys[i] == key)
            return true;
    return false;
}

/* == Costs of functions and modules: from the tree == */

static int add_from_tree(struct by_key *by)
{
    struct report_dataset *dataset = by->dataset;
    const struct model_functions functions = report_dataset_facts(dataset);
    const bool by_function = has_key(by, REPORT_FUNCTION);
    const size_t count = by_function ? dataset->functions.count : dataset->modules.count;
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    int result = costs ? 0 : SPROF_ENOMEM;
    if (!result)
        result = by_function ? model_function_costs(&dataset->paths, &functions, costs)
                             : model_module_costs(&dataset->paths, &functions, costs, count);
    for (uint32_t id = 1; id <= count && !result; id++) {
        const struct model_cost inclusive = costs[id - 1].inclusive;
        const struct entry entry = {
            .module = by_function ? dataset->facts.items[id - 1].module : id,
            .function = by_function ? id : 0,
            .costs = costs[id - 1],
        };
        if (inclusive.samples || inclusive.weight)
            result = sprof_vec_push(&by->entries, entry);
    }
    free(costs);
    return result;
}

/* == Costs of what only whole stacks tell == */

static uint64_t sample_value(const struct by_key *by, enum report_key key,
                             const struct report_cost *cost)
{
    const struct report_dataset *dataset = by->dataset;
    const struct report_thread *thread = &dataset->threads.items[cost->thread - 1];
    switch (key) {
    case REPORT_RUN: return dataset->processes.items[thread->process - 1].run;
    case REPORT_HOST: return sprof_hash_text(report_dataset_host(dataset, thread->process));
    case REPORT_PROCESS: return thread->process;
    case REPORT_THREAD: return cost->thread;
    case REPORT_CPU: return (uint32_t)cost->cpu;
    case REPORT_EVENT: return cost->event;
    default: return 0;
    }
}

static uint64_t frame_value(const struct by_key *by, enum report_key key, uint32_t number)
{
    static const struct report_frame outside = {0};
    const struct report_dataset *dataset = by->dataset;
    const struct report_frame *frame = number ? &dataset->frames.items[number - 1] : &outside;
    const uint32_t function = report_dataset_frame_function(dataset, number);
    const uint64_t file = sprof_hash_text(frame->file ? frame->file : "");
    switch (key) {
    case REPORT_MODULE: return frame->module;
    case REPORT_FUNCTION: return sprof_hash_pair(frame->module, function);
    case REPORT_FILE: return file;
    case REPORT_LINE: return sprof_hash_pair(sprof_hash_pair(file, frame->line), function);
    case REPORT_ADDRESS: return sprof_hash_pair(frame->module, frame->file_offset);
    default: return 0;
    }
}

static void add_cost(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

/* The number of a hash, given from 1 on; 0 when out of memory. */
static uint32_t number_of(struct by_key *by, uint64_t hash)
{
    const uint64_t *known = sprof_map_get(&by->numbers, hash);
    if (known)
        return (uint32_t)*known;
    const uint32_t number = (uint32_t)by->entry_of.count + 1;
    if (sprof_map_put(&by->numbers, hash, number) || sprof_vec_push(&by->entry_of, 0) ||
        sprof_vec_push(&by->seen, 0))
        return 0;
    return number;
}

static uint32_t label_of(struct by_key *by, uint32_t frame)
{
    uint64_t hash = 1;
    if (by->labels[frame])
        return by->labels[frame];
    for (size_t i = 0; i < by->key_count; i++)
        if (!keys[by->keys[i]].of_sample)
            hash = sprof_hash_pair(hash, frame_value(by, by->keys[i], frame));
    return by->labels[frame] = number_of(by, hash);
}

/* The entry of a label in the group whose first entry is `first`; NULL when out of memory. */
static struct entry *entry_of(struct by_key *by, size_t first, size_t cost, uint32_t frame,
                              uint32_t label)
{
    uint32_t *entry = &by->entry_of.items[label - 1];
    if (*entry <= first) {
        const uint32_t function = report_dataset_frame_function(by->dataset, frame);
        const struct entry new = {
            .sample = (uint32_t)cost,
            .module = frame      ? by->dataset->frames.items[frame - 1].module
                      : function ? by->dataset->facts.items[function - 1].module
                                 : 0,
            .function = function,
            .frame = frame,
        };
        if (sprof_vec_push(&by->entries, new))
            return NULL;
        *entry = (uint32_t)by->entries.count;
    }
    return &by->entries.items[*entry - 1];
}

/* Lines are added up in the recording. Several runs may have the same. */
static int add_from_lines(struct by_key *by)
{
    const struct report_dataset *dataset = by->dataset;
    int result = 0;
    by->labels = calloc(dataset->frames.count + 1, sizeof *by->labels);
    if (!by->labels)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->line_costs.count && !result; i++) {
        const struct report_line_cost *cost = &dataset->line_costs.items[i];
        const uint32_t label = label_of(by, cost->frame);
        struct entry *entry = label ? entry_of(by, 0, 0, cost->frame, label) : NULL;
        if (!entry)
            return SPROF_ENOMEM;
        add_cost(&entry->costs.exclusive, cost->costs.exclusive);
        add_cost(&entry->costs.inclusive, cost->costs.inclusive);
    }
    return result;
}

/* Counts a cost for what its stack holds, each label once. */
static int add_stack(struct by_key *by, size_t first, size_t index,
                     const struct report_stack *stack)
{
    const struct report_cost *cost = &by->dataset->costs.items[index];
    const size_t frames = by->of_frames ? stack->frames.count : 1;
    for (size_t i = 0; i < frames; i++) {
        const uint32_t frame = by->of_frames ? stack->frames.items[i] : 0;
        const uint32_t label = label_of(by, frame);
        struct entry *entry = label ? entry_of(by, first, index, frame, label) : NULL;
        if (!entry)
            return SPROF_ENOMEM;
        if (!i)
            add_cost(&entry->costs.exclusive, cost->cost);
        if (by->seen.items[label - 1] == index + 1)
            continue;
        by->seen.items[label - 1] = (uint32_t)index + 1;
        add_cost(&entry->costs.inclusive, cost->cost);
    }
    return 0;
}

struct place {
    uint64_t group;
    uint32_t cost;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *first = a, *second = b;
    if (first->group != second->group)
        return first->group < second->group ? -1 : 1;
    return first->cost < second->cost ? -1 : first->cost > second->cost;
}

/* Goes over the costs group by group, so that a label has one entry at a time. */
static int add_from_stacks(struct by_key *by)
{
    const struct report_dataset *dataset = by->dataset;
    const size_t count = dataset->costs.count;
    struct place *places = malloc((count + 1) * sizeof *places);
    struct report_stack stack = {0};
    by->labels = calloc(dataset->frames.count + 1, sizeof *by->labels);
    int result = places && by->labels ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        places[i] = (struct place){.cost = (uint32_t)i};
        for (size_t k = 0; k < by->key_count; k++)
            if (keys[by->keys[k]].of_sample)
                places[i].group = sprof_hash_pair(
                    places[i].group, sample_value(by, by->keys[k], &dataset->costs.items[i]));
    }
    if (!result && by->of_samples && count)
        qsort(places, count, sizeof *places, compare_places);
    size_t first = 0; /* entries of former groups */
    for (size_t i = 0; i < count && !result; i++) {
        if (i && places[i].group != places[i - 1].group)
            first = by->entries.count;
        if (by->of_frames)
            result =
                report_dataset_stack(dataset, dataset->costs.items[places[i].cost].node, &stack);
        if (!result && (stack.frames.count || !by->of_frames))
            result = add_stack(by, first, places[i].cost, &stack);
    }
    sprof_vec_release(&stack.frames);
    free(places);
    return result;
}

/* == Columns and cells == */

static void name_column(struct table *table, const char *title, const char *key)
{
    report_table_column(
        table,
        (struct table_column){.title = title, .key = key, .kind = TABLE_NAME, .only_data = !title});
}

static void count_column(struct table *table, const char *title, const char *key)
{
    report_table_column(
        table,
        (struct table_column){
            .title = title, .key = key, .kind = TABLE_COUNT, .optional = 1, .only_data = !title});
}

/* What is shown beside a key where the key itself does not. */
static bool adds_function(const struct by_key *by, enum report_key key)
{
    return (key == REPORT_LINE || key == REPORT_ADDRESS) && !has_key(by, REPORT_FUNCTION);
}

static bool adds_module(const struct by_key *by, enum report_key key)
{
    return (key == REPORT_FUNCTION || adds_function(by, key)) && !has_key(by, REPORT_MODULE) &&
           !(key == REPORT_ADDRESS && has_key(by, REPORT_LINE));
}

static void key_columns(struct table *table, const struct by_key *by, enum report_key key)
{
    const char *word = keys[key].word;
    switch (key) {
    case REPORT_PROCESS:
        name_column(table, word, word);
        count_column(table, "pid", "pid");
        break;
    case REPORT_THREAD:
        name_column(table, word, word);
        count_column(table, "tid", "tid");
        if (!has_key(by, REPORT_PROCESS))
            key_columns(table, by, REPORT_PROCESS);
        break;
    case REPORT_RUN: count_column(table, word, word); break;
    case REPORT_MODULE:
        name_column(table, word, word);
        name_column(table, "kind", "kind");
        name_column(table, NULL, "path");
        break;
    case REPORT_LINE:
        name_column(table, "line", "place");
        name_column(table, NULL, "file");
        count_column(table, NULL, "line");
        break;
    default: name_column(table, word, word); break;
    }
    if (adds_function(by, key))
        name_column(table, "function", "function");
    if (adds_module(by, key))
        name_column(table, "module", "module");
}

static void put_formatted(struct table *table, struct report_dataset *dataset, const char *text,
                          uint64_t number, const char *format)
{
    struct sprof_str out = {0};
    sprof_str_append(&out, text);
    sprof_str_appendf(&out, format, number);
    const char *kept = report_utf8_keep(&dataset->arena, &out);
    table->failed = table->failed || !kept;
    report_table_put_text(table, kept ? kept : "");
}

/* The last two parts of a path: enough to know a source file, short enough for a column. */
static const char *short_path(const char *path)
{
    const char *last = strrchr(path, '/'), *at = last;
    while (at && at > path && at[-1] != '/')
        at--;
    return at && at > path ? at : path;
}

static void put_line(struct table *table, struct report_dataset *dataset,
                     const struct report_frame *frame)
{
    if (!frame || !frame->file)
        report_table_put_text(table, "?");
    else
        put_formatted(table, dataset, short_path(frame->file), frame->line, ":%" PRIu64);
    report_table_put_text(table, frame && frame->file ? frame->file : "");
    report_table_put_count(table, frame ? frame->line : 0);
}

static void put_key(struct table *table, const struct by_key *by, const struct entry *entry,
                    enum report_key key)
{
    struct report_dataset *dataset = by->dataset;
    const struct report_frame *frame =
        entry->frame ? &dataset->frames.items[entry->frame - 1] : NULL;
    const struct report_module *module =
        entry->module ? &dataset->modules.items[entry->module - 1] : NULL;
    const struct report_cost *cost = by->of_samples ? &dataset->costs.items[entry->sample] : NULL;
    const struct report_thread *thread = cost ? &dataset->threads.items[cost->thread - 1] : NULL;
    const char *function =
        entry->function ? report_dataset_function_name(dataset, entry->function) : "?";
    switch (key) {
    case REPORT_RUN:
        report_table_put_count(table, dataset->processes.items[thread->process - 1].run);
        break;
    case REPORT_HOST:
        report_table_put_text(table, report_dataset_host(dataset, thread->process));
        break;
    case REPORT_PROCESS: {
        const struct report_process *process = &dataset->processes.items[thread->process - 1];
        report_table_put_text(table, process->name ? process->name : "?");
        report_table_put_count(table, (uint64_t)process->pid);
        break;
    }
    case REPORT_THREAD:
        report_table_put_text(table, thread->name ? thread->name : "?");
        report_table_put_count(table, (uint64_t)thread->tid);
        if (!has_key(by, REPORT_PROCESS))
            put_key(table, by, entry, REPORT_PROCESS);
        break;
    case REPORT_CPU:
        if (cost->cpu < 0)
            report_table_put_text(table, "unknown");
        else
            put_formatted(table, dataset, "", (uint64_t)cost->cpu, "%" PRIu64);
        break;
    case REPORT_EVENT:
        report_table_put_text(table, dataset->events.items[cost->event - 1].name);
        break;
    case REPORT_MODULE:
        report_table_put_text(table, module ? module->name : "?");
        report_table_put_text(table, model_kind_text(module ? module->kind : MODEL_KIND_NONE));
        report_table_put_text(table, module ? module->path : "");
        break;
    case REPORT_FUNCTION: report_table_put_text(table, function); break;
    case REPORT_FILE: report_table_put_text(table, frame && frame->file ? frame->file : "?"); break;
    case REPORT_LINE: put_line(table, dataset, frame); break;
    case REPORT_ADDRESS:
        put_formatted(table, dataset, module ? module->name : "?", frame ? frame->file_offset : 0,
                      "+0x%" PRIx64);
        break;
    case REPORT_KEYS: break;
    }
    if (adds_function(by, key))
        report_table_put_text(table, function);
    if (adds_module(by, key))
        report_table_put_text(table, module ? module->name : "?");
}

/* == The table == */

/* "Functions by exclusive samples", "Processes, functions by inclusive samples", "Threads". */
static const char *title_of(const struct by_key *by, bool inclusive)
{
    struct sprof_str text = {0};
    for (size_t i = 0; i < by->key_count; i++)
        sprof_str_appendf(&text, "%s%s", i ? ", " : "", keys[by->keys[i]].title);
    if (by->of_frames)
        sprof_str_appendf(&text, " by %s samples", inclusive ? "inclusive" : "exclusive");
    if (text.text && text.text[0] >= 'a' && text.text[0] <= 'z')
        text.text[0] = (char)(text.text[0] - 'a' + 'A');
    return report_utf8_keep(&by->dataset->arena, &text);
}

static void make_rows(struct table *table, const struct by_key *by,
                      const struct report_table_options *options)
{
    const struct measure *measures[] = {&report_measure_exclusive, &report_measure_inclusive};
    const bool inclusive = options->inclusive || !by->of_frames;
    const bool functions = by->key_count == 1 && by->keys[0] == REPORT_FUNCTION;
    const bool both = by->of_frames && (inclusive || !functions);
    if (!by->of_frames)
        measures[1] = &report_measure_share;
    report_columns_measure(table, by->dataset, measures[inclusive]);
    if (both)
        report_columns_measure(table, by->dataset, measures[!inclusive]);
    for (size_t i = 0; i < by->key_count; i++)
        key_columns(table, by, by->keys[i]);
    for (size_t i = 0; i < by->entries.count; i++) {
        const struct entry *entry = &by->entries.items[i];
        const struct model_cost *costs[] = {&entry->costs.exclusive, &entry->costs.inclusive};
        report_cells_measure(table, by->dataset, measures[inclusive], *costs[inclusive]);
        if (both)
            report_cells_measure(table, by->dataset, measures[!inclusive], *costs[!inclusive]);
        for (size_t k = 0; k < by->key_count; k++)
            put_key(table, by, entry, by->keys[k]);
    }
}

/* Sorts, cuts to the limit, and says what was left out. */
static int cut_rows(struct table *table, const struct by_key *by,
                    const struct report_table_options *options, struct sprof_error *error)
{
    const bool inclusive = options->inclusive || !by->of_frames;
    const bool modules = by->key_count == 1 && by->keys[0] == REPORT_MODULE;
    const size_t most = options->no_limit ? SIZE_MAX
                        : options->limit  ? options->limit
                        : modules         ? SIZE_MAX
                                          : 40;
    uint32_t *order = NULL;
    int result = report_table_sort(table, options->sort, &order, error);
    size_t kept = 0, count = by->entries.count;
    struct model_cost left = {0};
    for (size_t i = 0; i < count && !result; i++) {
        const struct model_costs *costs = &by->entries.items[order[i]].costs;
        const struct model_cost cost = inclusive ? costs->inclusive : costs->exclusive;
        if (kept < most &&
            report_columns_enough(by->dataset, cost, by->dataset->total, options->min_percent)) {
            order[kept++] = order[i];
            continue;
        }
        left.samples += costs->exclusive.samples;
        left.weight += costs->exclusive.weight;
    }
    if (!result)
        result = report_table_take(table, order, kept);
    if (!result)
        result = report_columns_left_out(
            by->dataset, table, count - kept, by->key_count == 1 ? keys[by->keys[0]].word : "row",
            by->key_count == 1 ? keys[by->keys[0]].title : "rows", &left);
    free(order);
    return result;
}

int report_table_by_keys(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error)
{
    static const enum report_key functions[] = {REPORT_FUNCTION};
    struct by_key by = {.dataset = dataset,
                        .keys = options->key_count ? options->keys : functions,
                        .key_count = options->key_count ? options->key_count : 1};
    for (size_t i = 0; i < by.key_count; i++) {
        by.of_samples = by.of_samples || keys[by.keys[i]].of_sample;
        by.of_frames = by.of_frames || !keys[by.keys[i]].of_sample;
    }
    int result = dataset->parts & REPORT_LINE_COSTS ? add_from_lines(&by)
                 : dataset->parts                   ? add_from_stacks(&by)
                                                    : add_from_tree(&by);
    if (!result) {
        const bool inclusive = options->inclusive || !by.of_frames;
        report_columns_begin(table, dataset, title_of(&by, inclusive),
                             report_columns_base(dataset));
        make_rows(table, &by, options);
        result = table->failed || !table->title || !table->note
                     ? SPROF_ENOMEM
                     : cut_rows(table, &by, options, error);
    }
    sprof_vec_release(&by.entries);
    sprof_vec_release(&by.entry_of);
    sprof_vec_release(&by.seen);
    sprof_map_release(&by.numbers);
    free(by.labels);
    return result;
}
