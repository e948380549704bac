/* From frames to functions: one call of the symbolizer a module, its answers merged into one table
 * of functions for the whole recording. */
#include "recording/derive_names.h"

#include "recording/namer.h"
#include "recording/walk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t module_key(const struct derive_module *module)
{
    if (module->row.key)
        return module->row.key;
    const struct sprof_bytes build_id = module->row.build_id;
    if (build_id.size)
        return sprof_hash_bytes(build_id.data, build_id.size);
    return recording_derive_path_key(module);
}

/* Modules of the same content are one: the first of them bears the functions. A module that no
 * sample came to and whose file was never opened has no key. */
static int find_canonical(struct derive *derive, const bool *is_used)
{
    struct sprof_map by_key = {0};
    int result = 0;
    for (size_t i = 0; i < derive->modules.count && !result; i++) {
        struct derive_module *module = &derive->modules.items[i];
        if (!module->row.key && !is_used[i])
            continue;
        module->changed |= !module->row.key;
        module->row.key = module_key(module);
        const uint64_t *first = sprof_map_get(&by_key, module->row.key);
        if (first)
            module->canonical = (uint32_t)*first;
        else
            result = sprof_map_put(&by_key, module->row.key, module->row.id);
    }
    sprof_map_release(&by_key);
    return result;
}

static void open_images(struct derive *derive, const bool *is_used)
{
    for (size_t i = 0; i < derive->modules.count; i++) {
        struct derive_module *module = &derive->modules.items[i];
        const bool file =
            module->row.kind == MODEL_KIND_APP || module->row.kind == MODEL_KIND_SYSTEM;
        if (!file || !is_used[i])
            continue;
        recording_derive_open_image(derive, module);
    }
}

static bool is_outside(const struct derive_module *module)
{
    return module->row.name && strcmp(module->row.name, MODEL_MODULE_NONE) == 0;
}

static int add_outside(struct derive *derive)
{
    static const struct symbolize_function outside = {
        .name = MODEL_OUTSIDE, .linkage_name = MODEL_OUTSIDE, .named = true};
    for (size_t i = 0; i < derive->modules.count; i++) {
        struct derive_module *module = &derive->modules.items[i];
        if (is_outside(module))
            return recording_derive_add_function(derive, module, &outside, &derive->outside);
    }
    return 0;
}

/* The frames grouped by module: those of modules.items[m] are sorted[starts[m] … starts[m + 1]). */
struct grouped {
    struct derive_frame **sorted;
    size_t *starts;
    bool *is_used; /* by module */
};

static void grouped_release(struct grouped *grouped)
{
    free(grouped->sorted);
    free(grouped->starts);
    free(grouped->is_used);
}

/* A counting sort of the frames to be looked up: stable, so that they stay in order of id. */
static int group_by_module(const struct derive *derive, struct grouped *grouped)
{
    const size_t modules = derive->modules.count, frames = derive->frames.count;
    size_t *next = calloc(modules + 1, sizeof *next);
    grouped->sorted = calloc(frames + 1, sizeof *grouped->sorted);
    grouped->starts = calloc(modules + 1, sizeof *grouped->starts);
    grouped->is_used = calloc(modules + 1, sizeof *grouped->is_used);
    int result = next && grouped->sorted && grouped->starts && grouped->is_used ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < frames && !result; i++) {
        const uint64_t *module =
            sprof_map_get(&derive->module_index, derive->frames.items[i].module);
        if (module && !derive->frames.items[i].wanted)
            continue;
        if (module)
            grouped->starts[*module + 1]++;
        else
            result = SPROF_EFORMAT;
    }
    for (size_t i = 0; i < modules && !result; i++) {
        grouped->is_used[i] = grouped->starts[i + 1] > 0;
        grouped->starts[i + 1] += grouped->starts[i];
        next[i] = grouped->starts[i];
    }
    for (size_t i = 0; i < frames && !result; i++) {
        struct derive_frame *frame = &derive->frames.items[i];
        if (frame->wanted)
            grouped->sorted[next[*sprof_map_get(&derive->module_index, frame->module)]++] = frame;
    }
    free(next);
    return result;
}

/* Why functions of a module have no names, to the person, for the first few of them. */
static void tell_problem(const struct derive *derive, const struct derive_job *job, unsigned *told)
{
    enum { TOLD_MAX = 3 };
    const struct derive_module *module = job->module;
    bool nameless = false;
    if (job->problem && ++*told <= TOLD_MAX)
        sprof_log_message(derive->source->log, SPROF_LOG_NOTE, "%s: %s", module->row.name,
                          job->problem);
    for (size_t i = 0; i < job->count && !nameless; i++)
        nameless = !recording_derive_frame_is_named(derive, job->frames[i]);
    if (!nameless || !module->row.problem || module->image || ++*told > TOLD_MAX)
        return;
    sprof_log_message(derive->source->log, SPROF_LOG_NOTE, "functions of %s have no names: %s",
                      module->row.name, module->row.problem);
}

/* The functions that those of the frames may be, which the first module of the same content has. */
static int load_functions(struct derive *derive, const bool *is_used, bool cut,
                          struct sprof_error *error)
{
    bool *is_wanted = calloc(derive->modules.count + 1, sizeof *is_wanted);
    if (!is_wanted)
        return sprof_error_memory(error);
    for (size_t i = 0; i < derive->modules.count; i++) {
        const struct derive_module *module = &derive->modules.items[i];
        if (is_used[i] || (cut && is_outside(module)))
            is_wanted[*sprof_map_get(&derive->module_index, module->canonical)] = true;
    }
    const int result = recording_derive_load_functions_of(derive, is_wanted, error);
    free(is_wanted);
    return result;
}

/* == Queries to the symbolizer == */

/* What libraries' files need is read beside what the program's own does: on a machine with two
 * processors the longer of the two is waited for. */
struct asking {
    struct derive *derive;
    struct derive_job **jobs; /* those with files, the largest first */
    size_t count;
    atomic_size_t next;
};

enum { THREADS_MAX = 4, WORTH_A_THREAD = 64 /* addresses */ };

static void *ask_next(void *context)
{
    struct asking *asking = context;
    for (size_t i; (i = atomic_fetch_add(&asking->next, 1)) < asking->count;)
        recording_derive_ask_file(asking->derive, asking->jobs[i]);
    return NULL;
}

static int compare_counts(const void *left, const void *right)
{
    const struct derive_job *const *a = left, *const *b = right;
    if ((*a)->count != (*b)->count)
        return (*a)->count > (*b)->count ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* Signals stay with the thread that waits for them. Without a thread, this one does it all. */
static void ask_by_threads(struct asking *asking, size_t wanted)
{
    pthread_t threads[THREADS_MAX];
    size_t count = 0;
    while (count < wanted && !sprof_thread_create(&threads[count], ask_next, asking))
        count++;
    ask_next(asking);
    while (count)
        pthread_join(threads[--count], NULL);
}

/* Sends modules that are worth a thread to the symbolizer at once; others follow one by one. */
static int ask_about_files(struct derive *derive, struct derive_job *jobs, size_t count)
{
    struct asking asking = {.derive = derive};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    asking.jobs = calloc(count + 1, sizeof *asking.jobs);
    if (!asking.jobs)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].count >= WORTH_A_THREAD && recording_derive_has_file(&jobs[i]))
            asking.jobs[asking.count++] = &jobs[i];
    qsort(asking.jobs, asking.count, sizeof *asking.jobs, compare_counts);
    size_t threads = processors > THREADS_MAX ? THREADS_MAX
                     : processors < 1         ? 1
                                              : (size_t)processors;
    threads = threads < asking.count ? threads : asking.count;
    if (threads > 1)
        ask_by_threads(&asking, threads - 1);
    free(asking.jobs);
    return 0;
}

static void put_away(struct derive *derive, struct derive_job *job)
{
    if (job->open.namer)
        recording_namer_give(job->open.namer, &job->open);
    else
        recording_closing_add(&derive->closing, &job->open);
}

static int name_modules(struct derive *derive, const struct grouped *grouped)
{
    const size_t count = derive->modules.count;
    unsigned told = 0;
    struct derive_job *jobs = calloc(count + 1, sizeof *jobs);
    if (!jobs)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        jobs[i] = (struct derive_job){.module = &derive->modules.items[i],
                                      .frames = grouped->sorted + grouped->starts[i],
                                      .count = grouped->starts[i + 1] - grouped->starts[i]};
    sprof_log_progress(derive->source->log, "naming functions", 0, count);
    int result = ask_about_files(derive, jobs, count);
    for (size_t i = 0; i < count && !result; i++) {
        struct derive_job *job = &jobs[i];
        sprof_log_progress(derive->source->log, "naming functions", i, count);
        if (job->count)
            result = recording_derive_name_module(derive, job);
        if (job->count)
            tell_problem(derive, job, &told);
        if (job->problem && !job->module->row.problem)
            job->module->row.problem = sprof_arena_text(&derive->arena, job->problem);
        job->module->changed |= job->count > 0;
        job->problem = NULL; /* the session's */
        put_away(derive, job);
    }
    for (size_t i = 0; i < count; i++) {
        symbolize_result_release(&jobs[i].result);
        free(jobs[i].addresses);
        put_away(derive, &jobs[i]);
    }
    free(jobs);
    recording_closing_begin(&derive->closing);
    return result;
}

/* == All == */

int recording_derive_names(struct derive *derive, struct sprof_error *error)
{
    struct grouped grouped = {0};
    bool cut = false;
    for (size_t i = 0; i < derive->runs.count; i++) /* the least detailed of their modes */
        cut |= derive->runs.items[i].view.mode != MODEL_MODE_FULL;
    if (derive->source->early)
        recording_early_end(derive->source->early);
    recording_closing_end(&derive->closing);
    int result = group_by_module(derive, &grouped);
    if (!result) {
        open_images(derive, grouped.is_used);
        result = find_canonical(derive, grouped.is_used);
    }
    const int loaded = result ? 0 : load_functions(derive, grouped.is_used, cut, error);
    if (!result && !loaded && cut)
        result = add_outside(derive);
    if (!result && !loaded)
        result = name_modules(derive, &grouped);
    grouped_release(&grouped);
    if (result == SPROF_EFORMAT)
        return sprof_error_set(
            error, SPROF_EFORMAT, 0,
            "the recording is damaged: a frame refers to a module that is missing");
    return result ? sprof_error_memory(error) : loaded;
}

/* Takes over what came with an imported address. */
static int give_names(struct derive *derive, struct derive_frame *frame,
                      const struct recording_names *names, struct derive_levels *levels)
{
    const uint64_t number = frame->offset;
    if (!number || number > names->addresses.count)
        return SPROF_EFORMAT;
    const struct derive_module *module =
        &derive->modules.items[*sprof_map_get(&derive->module_index, frame->module)];
    const struct recording_named *named = &names->addresses.items[number - 1];
    levels->count = 0;
    frame->key = module->row.key;
    if (named->address)
        frame->key = model_frame_key(frame->key, frame->offset = named->address);
    for (size_t i = number > 1 ? named[-1].end : 0; i < named->end; i++) {
        const struct recording_level *given = &names->levels.items[i];
        const struct symbolize_function function = {
            .name = given->name,
            .linkage_name = given->linkage_name ? given->linkage_name : given->name,
            .file = given->declared_file,
            .line = given->declared_line,
            .start = given->start,
            .named = !given->is_unnamed,
        };
        struct derive_level level = {.file = given->file, .line = given->line};
        frame->key = model_frame_key(frame->key, given->name ? sprof_hash_text(given->name) : 0);
        if (given->file)
            frame->key = model_frame_key(
                frame->key, sprof_hash_pair(sprof_hash_text(given->file), given->line));
        if ((given->name ? recording_derive_add_function(derive, module, &function, &level.function)
                         : recording_derive_add_nameless(derive, module, &level.function)) ||
            sprof_vec_push(levels, level))
            return SPROF_ENOMEM;
    }
    return recording_derive_add_chain(derive, frame, levels->items, (uint32_t)levels->count);
}

int recording_derive_given_names(struct derive *derive, const struct recording_names *names,
                                 struct sprof_error *error)
{
    struct grouped grouped = {0};
    struct derive_levels levels = {0};
    int result = group_by_module(derive, &grouped);
    if (!result)
        result = find_canonical(derive, grouped.is_used);
    for (size_t i = 0; i < derive->frames.count && !result; i++)
        result = give_names(derive, &derive->frames.items[i], names, &levels);
    sprof_vec_release(&levels);
    grouped_release(&grouped);
    return result == SPROF_EFORMAT
               ? sprof_error_set(error, SPROF_EFORMAT, 0, "an imported frame has no name")
           : result ? sprof_error_memory(error)
                    : 0;
}
