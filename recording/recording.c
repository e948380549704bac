/* A recording's life: it is opened, flushed every now and then, and finished. */
#include "recording/recording.h"

#include "recording/derive.h"
#include "recording/parts.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    DEFAULT_TABLE_BYTES = 64 << 20,
    STOP_MS = 100, /* for an image that is nearly done */
};

/* == Opening == */

/* The names of imported stacks came with them and cannot be found again. */
enum { IMPORTED = 1 };

static int check_run(void *context, const struct store_run *run)
{
    (void)context;
    return model_source_is_import(run->source) ? IMPORTED : 0;
}

static int open_for_append(struct recording *recording, struct sprof_error *error)
{
    const char *path = recording->options.output;
    struct store_ids ids;
    int result = store_open_write(&recording->store, path, error);
    if (!result)
        result = store_last_ids(recording->store, &ids, error);
    if (!result)
        result = store_each_run(recording->store, check_run, NULL, error);
    if (result == IMPORTED)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "cannot append to %s: its stacks were imported; use another file "
                               "with -o",
                               path);
    if (result)
        return result;
    recording->run.id = ids.run + 1;
    recording->appends = true;
    recording->last_event = ids.event;
    recording->last_phase = ids.phase;
    recording->last_sample = ids.sample;
    recording->process_table.first_process = ids.process;
    recording->process_table.first_thread = ids.thread;
    recording->process_table.first_module = ids.module;
    recording->process_table.mappings.first = ids.mapping;
    recording->last_frame = ids.frame;
    recording->last_node = ids.node;
    return 0;
}

int recording_create(struct recording *recording, const char *path, struct sprof_error *error)
{
    recording->options.output = path;
    if (recording->options.append && access(path, F_OK) == 0)
        return open_for_append(recording, error);
    recording->former.overwrite = recording->options.overwrite;
    const int result = store_replace(&recording->store, path, &recording->former, error);
    recording->created = result == 0;
    return result;
}

static uint64_t random_key(void)
{
    uint64_t key = 0;
    if (getrandom(&key, sizeof key, 0) != sizeof key)
        key = sprof_hash_pair(sprof_clock_realtime_ns(), (uint64_t)getpid());
    return key;
}

int recording_open(struct recording **out, const struct recording_options *options,
                   struct sprof_error *error)
{
    *out = NULL;
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return sprof_error_memory(error);
    const struct model_view *view = &options->view;
    const size_t table_bytes =
        options->table_budget_bytes ? options->table_budget_bytes : DEFAULT_TABLE_BYTES;
    recording->options = *options;
    recording->process_table.rules = options->rules;
    recording->run = (struct store_run){
        .id = 1,
        .key = random_key(),
        .state = STORE_RECORDING,
        .mode = model_mode_text(view->mode),
        .frame = view->frame_app ? "app" : NULL,
        .app_interior = view->drop_interior ? "drop" : "keep",
        .wait_status = -1,
    };
    recording->cache = options->no_cache ? NULL : cache_open(NULL);
    recording_pending_init(&recording->pending);
    int result = options->output ? recording_create(recording, options->output, error) : 0;
    if (!result)
        result = recording_images_init(&recording->images, table_bytes, recording->cache, error);
    if (!result &&
        recording_walk_init(&recording->walk, &recording->process_table, &recording->images, view))
        result = sprof_error_memory(error);
    recording_lookups_init(&recording->lookups, recording->images.done_fd);
    recording->walk.stacks.first_frame = recording->last_frame;
    recording->walk.stacks.first_node = recording->last_node;
    if (result) {
        recording_abandon(recording);
        recording_free(recording);
        return result;
    }
    *out = recording;
    return 0;
}

void recording_abandon(struct recording *recording)
{
    if (recording->writer.running)
        store_batch_clear(&recording_writer_batch(&recording->writer)->rows);
    recording_writer_finish(&recording->writer, NULL);
    if (recording->appends)
        store_remove_run(recording->store, recording->run.id, NULL);
    recording_close(recording, NULL);
    if (recording->created)
        store_former_undo_at(&recording->former, recording->options.output);
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    recording_close(recording, NULL); /* its rows borrow texts of the run */
    recording_early_stop(&recording->early);
    if (recording_hurried(recording) &&
        (!recording_images_stop(&recording->images, STOP_MS) ||
         !recording_early_wait(&recording->early, STOP_MS) || recording->lookups.waiting))
        return;
    recording_early_release(&recording->early);
    recording_lookups_release(&recording->lookups);
    recording_walk_release(&recording->walk);
    recording_pending_release(&recording->pending);
    recording_images_release(&recording->images);
    cache_free(recording->cache, 0);
    recording_jit_owners_release(&recording->jit_owners);
    model_process_table_release(&recording->process_table);
    sprof_vec_release(&recording->walked);
    sprof_vec_release(&recording->users);
    sprof_map_release(&recording->of_unknown_users);
    sprof_map_release(&recording->kept_processes);
    recording_origins_release(recording);
    sprof_arena_release(&recording->arena);
    free(recording);
}

/* == The owner's rows == */

struct store_run *recording_run(struct recording *recording)
{
    return &recording->run;
}

int recording_add_event(struct recording *recording, const struct store_event *event, uint32_t *id)
{
    struct store_event row = *event;
    row.id = *id = recording->last_event + 1;
    row.run_id = recording->run.id;
    recording->last_event = row.id;
    const bool is_cpu_clock = row.is_clock && !model_event_wait(row.name);
    if (is_cpu_clock && !recording->clock_event)
        recording->clock_event = row.id;
    recording->weights_are_time |= is_cpu_clock;
    return sprof_vec_push(&recording_batch(recording)->events, row);
}

int recording_add_fields(struct recording *recording, uint32_t event,
                         const struct model_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct store_event_field row = {.run_id = recording->run.id,
                                              .event_id = event,
                                              .number = (uint16_t)i,
                                              .name = fields[i].name,
                                              .offset = fields[i].offset,
                                              .bytes = fields[i].bytes,
                                              .kind = (uint8_t)fields[i].kind};
        if (sprof_vec_push(&recording_batch(recording)->event_fields, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

int recording_change_event(struct recording *recording, const struct store_event *event)
{
    struct store_event row = *event;
    row.run_id = recording->run.id;
    return sprof_vec_push(&recording_batch(recording)->events, row);
}

struct sprof_arena *recording_batch_arena(struct recording *recording)
{
    return &recording_writer_batch(&recording->writer)->arena;
}

uint64_t recording_last_sample(const struct recording *recording)
{
    return recording->last_sample;
}

const struct model_process_table *recording_processes(const struct recording *recording)
{
    return &recording->process_table;
}

/* == Flushing == */

int recording_start(struct recording *recording, uint64_t start_ns, uint64_t delay_ns,
                    struct sprof_error *error)
{
    recording->start_ns = start_ns;
    recording->first_ns = start_ns + delay_ns;
    return recording_writer_start(&recording->writer, recording->store, error);
}

int recording_add_phase(struct recording *recording, const struct store_phase *phase)
{
    if (recording->phase.id) {
        recording->phase.end_ns = phase->start_ns;
        if (sprof_vec_push(&recording_batch(recording)->phases, recording->phase))
            return SPROF_ENOMEM;
    }
    const uint32_t id = recording->phase.id ? recording->phase.id : recording->last_phase;
    const struct model_view view = model_view_of(phase->mode, phase->frame, phase->app_interior);
    if (recording_walk_add_view(&recording->walk, recording->start_ns + phase->start_ns, &view))
        return SPROF_ENOMEM;
    recording->phase = *phase;
    recording->phase.id = id + 1;
    recording->phase.run_id = recording->run.id;
    return sprof_vec_push(&recording_batch(recording)->phases, recording->phase);
}

int recording_add_phase_option(struct recording *recording, const char *name, const char *value)
{
    const struct store_phase_option row = {
        .run_id = recording->run.id,
        .phase_id = recording->phase.id,
        .name = name,
        .value = sprof_arena_text(recording_batch_arena(recording), value),
    };
    return !row.value || sprof_vec_push(&recording_batch(recording)->phase_options, row)
               ? SPROF_ENOMEM
               : 0;
}

int recording_clear(struct recording *recording, uint64_t time_ns)
{
    struct store_batch *batch = recording_batch(recording);
    const uint64_t run_ns = recording_time(recording, time_ns);
    size_t kept = 0;
    recording->first_ns = time_ns;
    for (size_t i = 0; i < batch->samples.count; i++)
        if (batch->samples.items[i].time_ns >= run_ns)
            batch->samples.items[kept++] = batch->samples.items[i];
    batch->samples.count = kept;
    for (size_t i = 0; i < recording->process_table.threads.count; i++) {
        struct model_thread *thread = recording->process_table.threads.items[i];
        thread->samples = thread->sampled_weight = 0;
        thread->dirty = true;
    }
    for (size_t i = 0; i < recording->process_table.processes.count; i++)
        recording->process_table.processes.items[i]->sampled = false;
    batch->failed.count = batch->phases.count = batch->call_costs.count = 0;
    batch->entry_coverages.count = batch->phase_options.count = 0;
    batch->call_blocks.count = batch->probe_ledger.count = batch->call_untimeds.count = 0;
    batch->warnings.count = batch->call_tail_cuts.count = 0;
    batch->call_outsides.count = batch->outside_costs.count = batch->call_stacks.count =
        batch->call_heaps.count = batch->request_parts.count = 0;
    batch->keep_rules.count = batch->keep_spans.count = batch->kept_calls.count =
        batch->call_values.count = batch->wakes.count = batch->sample_fields.count = 0;
    recording->phase.id = 0;
    return sprof_vec_push(&batch->cleared, (struct store_cleared){recording->run.id, run_ns});
}

/* A run that is not divided has one phase. */
static int add_only_phase(struct recording *recording)
{
    const struct store_run *run = &recording->run;
    const struct store_phase phase = {
        .mode = run->mode,
        .frame = run->frame,
        .app_interior = run->app_interior,
        .frequency_hz = run->frequency_hz,
        .stack_bytes = run->stack_bytes,
    };
    return recording->phase.id ? 0 : recording_add_phase(recording, &phase);
}

/* The run changes while a batch is being written: the writer gets a copy. */
static int add_run(struct recording *recording)
{
    struct recording_filled *filled = recording_writer_batch(&recording->writer);
    struct store_run *run = sprof_arena_alloc(&filled->arena, sizeof *run);
    if (!run)
        return SPROF_ENOMEM;
    *run = recording->run;
    filled->rows.run = run;
    return add_only_phase(recording);
}

/* The last phase ends with the run; the run's owner sets that time. */
static int end_phase(struct recording *recording)
{
    if (recording->start_ns)
        recording->phase.end_ns = recording_time(recording, sprof_clock_monotonic_ns());
    return sprof_vec_push(&recording_batch(recording)->phases, recording->phase);
}

/* A short recording is named afterwards: what would be spared is less than what it costs. */
static int give_early(struct recording *recording)
{
    static const uint64_t earliest_ns = UINT64_C(900000000);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (!recording->options.early_names || now_ns - recording->start_ns < earliest_ns)
        return 0;
    return recording_early_give(&recording->early, &recording->walk, recording->start_ns,
                                recording->cache);
}

int recording_flush(struct recording *recording, struct sprof_error *error)
{
    if (recording_collect_rows(recording, false) || add_run(recording) || give_early(recording))
        return sprof_error_memory(error);
    return recording_writer_submit(&recording->writer, error);
}

bool recording_is_writing(struct recording *recording)
{
    return recording_writer_is_busy(&recording->writer);
}

int recording_wait_written(struct recording *recording, struct sprof_error *error)
{
    return recording_writer_wait(&recording->writer, error);
}

static int put_counter(void *context, const char *name, uint64_t value)
{
    struct recording *recording = context;
    const struct store_counter row = {recording->run.id, name, value};
    return sprof_vec_push(&recording_batch(recording)->counters, row);
}

/* == Finishing == */

/* Functions and costs. What this takes is booked apart from the target's cost. */
static int derive(struct recording *recording, const struct recording_end *end,
                  struct recording_kernel_opening *kernel, struct sprof_error *error)
{
    const uint64_t begin_ns = sprof_clock_own_cpu_ns();
    const struct recording_derive_source source = {.images = &recording->images,
                                                   .jit_owners = &recording->jit_owners,
                                                   .start_ns = recording->start_ns,
                                                   .early = &recording->early,
                                                   .namer = recording->options.namer,
                                                   .kernel = kernel,
                                                   .cache = recording->cache,
                                                   .log = recording->options.log};
    const int result = end->names ? recording_derive_import(recording->store, end->names, error)
                                  : recording_derive_store(recording->store, &source, error);
    if (result)
        return result;
    recording->run.state = STORE_COMPLETE;
    struct store_counter cost = {recording->run.id, "derive.cpu_ns",
                                 sprof_clock_own_cpu_ns() - begin_ns};
    const struct store_batch batch = {.run = &recording->run, .counters = {&cost, 1, 1}};
    return store_write(recording->store, &batch, error);
}

int recording_finish(struct recording *recording, const struct recording_end *end,
                     struct sprof_error *error)
{
    const bool derives = !end->no_symbolize && !atomic_load(&recording->hurried);
    struct recording_kernel_opening kernel = {0};
    recording->run.state = STORE_RECORDED;
    int result = 0;
    store_former_settle_at(&recording->former, recording->options.output);
    recording_early_stop(&recording->early);
    if (derives && !end->names && recording->walk.saw_kernel)
        recording_kernel_opening_begin(&kernel);
    if (recording_jit_owners_look(&recording->jit_owners, true) ||
        recording_collect_rows(recording, true) || add_run(recording) || end_phase(recording) ||
        recording_counters_each(recording, put_counter, recording))
        result = sprof_error_memory(error);
    if (!result)
        result = recording_writer_finish(&recording->writer, error);
    atomic_store(&recording->written, !result);
    if (!result && derives)
        result = derive(recording, end, &kernel, error);
    recording_kernel_opening_release(&kernel);
    recording_writer_finish(&recording->writer, NULL);
    const int finished = store_finish(recording->store, result ? NULL : error);
    return result ? result : finished;
}

struct store *recording_store(struct recording *recording)
{
    return recording->store;
}

int recording_close(struct recording *recording, struct sprof_error *error)
{
    recording_writer_finish(&recording->writer, NULL);
    const int result = store_close(recording->store, error);
    recording->store = NULL;
    return result;
}
