/* Fills a table for the decision of `sprof why` from the samples of a recording. */
#include "report/dataset_parts.h"
#include "report/format.h"
#include "report/library.h"
#include "report/quality.h"
#include "why/why.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Programs that run scripts, and the option with which functions of these have names. */
static const struct {
    const char *glob, *cure;
} interpreters[] = {
    {"python*", "-X perf (Python 3.12)"},
    {"node", "--perf-basic-prof"},
    {"ruby*", "--yjit-perf (Ruby 3.3)"},
    {"perl*", NULL},
    {"php*", NULL},
    {"lua*", NULL},
};

/* What a stack with an event comes to. */
struct known {
    uint64_t look_ns;
    uint32_t stack, word;
    enum why_cause cause;
};

struct reading {
    struct why_table *table;
    struct report_dataset dataset;
    const char **names;        /* of the dataset's functions, for people */
    uint32_t *functions;       /* the table's number of each of the dataset's; 0: none yet */
    struct sprof_map known_at; /* node and event → index in `known` + 1 */
    SPROF_VEC(struct known) known;
    bool *standard;                  /* of the dataset's functions, [number - 1] */
    SPROF_VEC(struct why_place) app; /* of a stack */
    SPROF_VEC(struct why_frame) frames;
    uint32_t interpreter; /* its module; 0: none */
    uint64_t interpreted_ns, all_ns;
};

static uint32_t number_of(struct reading *reading, uint32_t function, bool is_inlined)
{
    const struct why_function new = {reading->names[function - 1],
                                     report_dataset_function_name(&reading->dataset, function),
                                     is_inlined};
    uint32_t *number = &reading->functions[function - 1];
    if (!*number)
        *number = why_add_function(reading->table, &new);
    return *number;
}

/* == A stack == */

static struct why_frame describe(const struct report_dataset *dataset, uint32_t function)
{
    const struct model_functions facts = report_dataset_facts(dataset);
    return (struct why_frame){
        .name = function ? report_dataset_function_name(dataset, function) : NULL,
        .kind = function ? dataset->facts.items[function - 1].kind : MODEL_KIND_NONE,
        .is_application = function && model_function_is_app(&facts, function)};
}

static int add_app(struct reading *reading, uint32_t function, uint32_t inner, bool is_inlined)
{
    const struct why_place place = {number_of(reading, function, is_inlined), inner};
    return place.function ? sprof_vec_push(&reading->app, place) : SPROF_ENOMEM;
}

/* Adds a real frame, `last`, of those that are inlined there, from `first` on. A function of a
 * standard library is code of what calls it, and stands for what is inlined into it. */
static int add_real_frame(struct reading *reading, const uint32_t *frames, size_t first,
                          size_t last, uint32_t inner)
{
    const struct report_dataset *dataset = &reading->dataset;
    const uint32_t function = report_dataset_frame_function(dataset, frames[last]);
    int result = 0;
    if (!function || !reading->standard[function - 1])
        return function ? add_app(reading, function, inner, false) : 0;
    for (size_t i = first; i < last && !result; i++) {
        const uint32_t inlined = report_dataset_frame_function(dataset, frames[i]);
        if (inlined && !reading->standard[inlined - 1])
            result = add_app(reading, inlined, inner, true);
    }
    return result;
}

/* Where nothing but a standard library's code is, its innermost function stands for the program. */
static int add_frames(struct reading *reading, const struct report_stack *stack)
{
    const struct report_dataset *dataset = &reading->dataset;
    const uint32_t *frames = stack->frames.items;
    uint32_t inner = 0, innermost = 0;
    size_t first = 0;
    int result = 0;
    for (size_t i = 0; i < stack->frames.count && !result; i++) {
        const uint32_t function = report_dataset_frame_function(dataset, frames[i]);
        const struct why_frame frame = describe(dataset, function);
        result = sprof_vec_push(&reading->frames, frame);
        if (result || dataset->frames.items[frames[i] - 1].outer)
            continue;
        if (frame.is_application) {
            innermost = innermost ? innermost : function;
            result = add_real_frame(reading, frames, first, i, inner++);
        }
        first = i + 1;
    }
    if (result || reading->app.count || !innermost)
        return result;
    return add_app(reading, innermost, 0, false);
}

/* The function outside the application that it called; of no application the innermost one. */
static uint32_t entry_of(struct reading *reading, const struct report_stack *stack)
{
    uint32_t entry = 0;
    for (size_t i = 0; i < stack->frames.count; i++) {
        const struct why_frame *frame = &reading->frames.items[i];
        if (frame->is_application)
            break;
        if (frame->kind == MODEL_KIND_KERNEL || !frame->name)
            continue;
        entry = report_dataset_frame_function(&reading->dataset, stack->frames.items[i]);
        if (!reading->app.count)
            break;
    }
    return entry ? number_of(reading, entry, false) : 0;
}

static const struct store_event *event_of(const struct report_dataset *dataset, uint32_t id)
{
    for (size_t i = 0; i < dataset->events.count; i++)
        if (dataset->events.items[i].id == id)
            return &dataset->events.items[i];
    return NULL;
}

static int learn(struct reading *reading, const struct report_sample *sample, struct known *known)
{
    const struct store_event *event = event_of(&reading->dataset, sample->row->sample.event_id);
    reading->app.count = reading->frames.count = 0;
    const int result = add_frames(reading, sample->stack);
    if (result || !event)
        return result ? result : SPROF_EFORMAT;
    const char *wait = strcmp(event->name, MODEL_EVENT_WALL) ? model_event_wait(event->name) : "";
    known->cause = why_cause_of(wait, reading->frames.items, reading->frames.count);
    known->look_ns =
        report_dataset_is_by_looks(&reading->dataset) ? reading->dataset.event.period : 0;
    known->word = why_add_word(reading->table, report_event_wait(event));
    known->stack = why_add_stack(reading->table, reading->app.items, reading->app.count,
                                 entry_of(reading, sample->stack));
    return known->word == UINT32_MAX || known->stack == UINT32_MAX ? SPROF_ENOMEM : 0;
}

/* CPU time that was never sampled has no stack. */
static bool is_pseudo(const struct report_dataset *dataset, const struct report_stack *stack)
{
    const uint32_t function = report_dataset_frame_function(dataset, stack->frames.items[0]);
    return stack->frames.count == 1 && function &&
           dataset->facts.items[function - 1].kind == MODEL_KIND_NONE;
}

static void note_interpreter(struct reading *reading, const struct report_stack *stack,
                             uint64_t weight)
{
    const struct report_dataset *dataset = &reading->dataset;
    reading->all_ns += weight;
    for (size_t i = 0; i < stack->frames.count && reading->interpreter; i++) {
        const uint32_t function = report_dataset_frame_function(dataset, stack->frames.items[i]);
        if (function && dataset->facts.items[function - 1].module == reading->interpreter) {
            reading->interpreted_ns += weight;
            return;
        }
    }
}

/* One more than the word for the lock that was waited for; 0: it has no name. */
static int lock_of(struct reading *reading, const struct store_sample *row, uint32_t *lock)
{
    const uint64_t *fields =
        sprof_map_get(&reading->dataset.fields.of_samples,
                      report_dataset_sample_key(row->event_id, row->thread_id, row->time_ns));
    *lock = 0;
    if (!fields)
        return 0;
    const char *name =
        report_dataset_field_text(&reading->dataset, (uint32_t)*fields, REPORT_SLOT_LOCK);
    if (!strncmp(name, "0x", 2) || !strcmp(name, "unknown"))
        return 0;
    const uint32_t word = why_add_word(reading->table, name);
    *lock = word + 1;
    return word == UINT32_MAX ? SPROF_ENOMEM : 0;
}

static int take(void *context, const struct report_sample *sample)
{
    struct reading *reading = context;
    const struct store_sample *row = &sample->row->sample;
    if (is_pseudo(&reading->dataset, sample->stack))
        return 0;
    uint64_t *place =
        sprof_map_at(&reading->known_at, (uint64_t)row->node_id << 32 | row->event_id);
    if (!place)
        return SPROF_ENOMEM;
    if (!*place) {
        struct known known;
        const int result = learn(reading, sample, &known);
        if (result || sprof_vec_push(&reading->known, known))
            return result ? result : SPROF_ENOMEM;
        *place = reading->known.count;
    }
    note_interpreter(reading, sample->stack, row->weight);
    const struct known *known = &reading->known.items[*place - 1];
    uint32_t lock;
    if (lock_of(reading, row, &lock))
        return SPROF_ENOMEM;
    return sprof_vec_push(&reading->table->samples,
                          (struct why_sample){.end_ns = row->time_ns,
                                              .weight_ns = row->weight,
                                              .look_ns = known->look_ns,
                                              .thread = sample->thread_number - 1,
                                              .stack = known->stack,
                                              .word = known->word,
                                              .lock = lock,
                                              .cause = known->cause});
}

/* == The recording == */

/* The processes with children, [number - 1]; NULL when out of memory. */
static bool *find_parents(const struct report_dataset *dataset)
{
    bool *are = calloc(dataset->processes.count + 1, sizeof *are);
    for (size_t i = 0; i < dataset->processes.count && are; i++)
        if (dataset->processes.items[i].parent)
            are[dataset->processes.items[i].parent - 1] = true;
    return are;
}

static int add_threads(struct reading *reading)
{
    const struct report_dataset *dataset = &reading->dataset;
    bool *parents = find_parents(dataset);
    int result = parents ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->threads.count && !result; i++) {
        const struct report_thread *thread = &dataset->threads.items[i];
        const struct report_process *process = &dataset->processes.items[thread->process - 1];
        const char *name = thread->name ? thread->name : process->name ? process->name : "thread";
        const struct why_thread row = {.name = sprof_arena_text(&reading->table->texts, name),
                                       .pid = process->pid,
                                       .tid = thread->tid,
                                       .has_children = parents[thread->process - 1]};
        result = row.name ? sprof_vec_push(&reading->table->threads, row) : SPROF_ENOMEM;
    }
    free(parents);
    return result;
}

static int name_functions(struct reading *reading)
{
    struct report_dataset *dataset = &reading->dataset;
    const size_t count = dataset->functions.count;
    bool *wanted = calloc(count + 1, sizeof *wanted);
    if (wanted)
        memset(wanted, true, count);
    reading->names = wanted ? report_dataset_short_names(dataset, wanted) : NULL;
    reading->functions = calloc(count + 1, sizeof *reading->functions);
    free(wanted);
    reading->standard = calloc(count + 1, sizeof *reading->standard);
    for (size_t i = 0; i < count && reading->standard; i++)
        reading->standard[i] =
            report_name_is_standard(report_dataset_function_name(dataset, (uint32_t)i + 1));
    return reading->names && reading->functions && reading->standard ? 0 : SPROF_ENOMEM;
}

/* The module of an interpreter; 0: none. */
static uint32_t find_interpreter(const struct report_dataset *dataset, const char **cure)
{
    for (uint32_t i = 0; i < dataset->modules.count; i++)
        for (size_t k = 0; k < sizeof interpreters / sizeof *interpreters; k++)
            if (dataset->modules.items[i].main_executable &&
                !fnmatch(interpreters[k].glob, dataset->modules.items[i].name, 0)) {
                *cure = interpreters[k].cure;
                return i + 1;
            }
    return 0;
}

/* Functions of scripts have names where an interpreter writes them down. */
static bool has_named_scripts(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->functions.count; i++)
        if (dataset->facts.items[i].kind == MODEL_KIND_JIT && dataset->functions.items[i].named)
            return true;
    return false;
}

/* All the time of threads, with locks where some was waited for; else the first event. */
static int load(struct reading *reading, struct store *store, const struct model_kind_rules *rules,
                struct sprof_error *error)
{
    static const struct {
        const char *event;
        uint32_t parts;
    } tries[] = {{MODEL_EVENT_ON_AND_OFF, REPORT_STACKS | REPORT_LOCKS},
                 {MODEL_EVENT_ON_AND_OFF, REPORT_STACKS},
                 {NULL, REPORT_STACKS}};
    int result = SPROF_ENOTFOUND;
    for (size_t i = 0; i < sizeof tries / sizeof *tries && result == SPROF_ENOTFOUND; i++) {
        const struct report_selection selection = {
            .event = tries[i].event, .other_mode = false, .rules = *rules};
        report_dataset_release(&reading->dataset);
        result = report_dataset_load(&reading->dataset, store, &selection, tries[i].parts, error);
    }
    return result;
}

/* An interpreter whose scripts have names is no application: they are. */
static int load_again(struct reading *reading, struct store *store, struct sprof_error *error)
{
    const char *name = reading->dataset.modules.items[reading->interpreter - 1].name;
    reading->table->system_module = sprof_arena_text(&reading->table->texts, name);
    if (!reading->table->system_module)
        return sprof_error_memory(error);
    const struct model_kind_rule rule = {MODEL_KIND_SYSTEM, reading->table->system_module};
    report_dataset_release(&reading->dataset);
    reading->interpreter = 0;
    return load(reading, store, &(struct model_kind_rules){&rule, 1}, error);
}

static int check(const struct report_dataset *dataset, struct sprof_error *error)
{
    if (report_counts_calls(dataset))
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "the recording holds calls, and no samples: `sprof stats` shows them");
    if (!dataset->event.is_clock)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the recording holds %s, and no time: record it with `sprof why`",
                               dataset->event.name ? dataset->event.name : "no samples");
    return 0;
}

/* How long the run was measured: without its pauses. */
static uint64_t measured_ns(const struct report_dataset *dataset)
{
    const uint64_t whole = dataset->run.duration_ns;
    uint64_t paused = 0;
    for (size_t i = 0; i < dataset->phases.count; i++) {
        const struct report_phase *phase = &dataset->phases.items[i];
        const uint64_t end = phase->end_ns < whole ? phase->end_ns : whole;
        if (phase->paused && phase->run == dataset->run.id && end > phase->start_ns)
            paused += end - phase->start_ns;
    }
    return paused < whole ? whole - paused : 0;
}

static int read_samples(struct reading *reading, struct store *store, struct sprof_error *error)
{
    struct why_table *table = reading->table;
    const struct report_content content = {
        .kind = REPORT_SAMPLES, .dataset = &reading->dataset, .store = store};
    int result = name_functions(reading);
    result = result ? result : add_threads(reading);
    if (result)
        return sprof_error_memory(error);
    table->sight = report_quality_has_unseen_waits(&reading->dataset)       ? WHY_SEES_CPU
                   : reading->dataset.event_sum == REPORT_ON_AND_OFF        ? WHY_SEES_STATES
                   : !strcmp(reading->dataset.event.name, MODEL_EVENT_WALL) ? WHY_SEES_WALL
                                                                            : WHY_SEES_CPU;
    result = report_each_sample(&content, take, reading, error);
    table->duration_ns = measured_ns(&reading->dataset);
    table->start_monotonic_ns = reading->dataset.run.start_monotonic_ns;
    if (!table->duration_ns && table->samples.count)
        table->duration_ns = table->samples.items[table->samples.count - 1].end_ns;
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int report_why_table(struct store *store, struct why_table *table, struct sprof_error *error)
{
    struct reading reading = {.table = table};
    const char *cure = NULL;
    int result = load(&reading, store, &(struct model_kind_rules){NULL, 0}, error);
    if (!result)
        result = check(&reading.dataset, error);
    if (!result)
        reading.interpreter = find_interpreter(&reading.dataset, &cure);
    if (!result && reading.interpreter && has_named_scripts(&reading.dataset))
        result = load_again(&reading, store, error);
    if (!result)
        result = read_samples(&reading, store, error);
    if (!result && reading.interpreted_ns * 2 > reading.all_ns) {
        table->interpreter = sprof_arena_text(
            &table->texts, reading.dataset.modules.items[reading.interpreter - 1].name);
        table->interpreter_cure = cure;
        result = table->interpreter ? 0 : sprof_error_memory(error);
    }
    free(reading.names);
    free(reading.functions);
    free(reading.standard);
    sprof_map_release(&reading.known_at);
    sprof_vec_release(&reading.known);
    sprof_vec_release(&reading.app);
    sprof_vec_release(&reading.frames);
    report_dataset_release(&reading.dataset);
    return result;
}
