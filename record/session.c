#include "record/session.h"

#include "recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t flush_interval_ns = UINT64_C(1000000000);

enum {
    DEFAULT_TABLE_BYTES = 64 << 20,
    PENDING_BYTES = 64 << 20, /* beyond it samples stay in the rings */
    RECORDS_PER_ROUND = 4096, /* between two looks at the clock */
};

/* ---- Opening ----------------------------------------------------------------------------------
 */

static int open_sampler(struct record_session *session, struct sprof_error *error)
{
    const struct record_options *options = &session->options;
    const bool walks = options->mode != MODEL_MODE_PC || options->frame_app;
    const struct sampler_options sampler = {
        .capture = options->mode == MODEL_MODE_FULL ? SAMPLER_CAPTURE_FULL
                   : walks                          ? SAMPLER_CAPTURE_USER
                                                    : SAMPLER_CAPTURE_PC,
        .source = options->source,
        .event = options->event,
        .frequency_hz = options->frequency_hz,
        .period = options->period,
        .stack_bytes = options->stack_bytes,
        .ring_budget_bytes = options->ring_budget_bytes,
        .command = options->command,
        .pids = options->pids,
        .pid_count = options->pid_count,
        .tid = options->tid,
        .minimum_scope = options->thread_scope ? SAMPLER_SCOPE_TASK : SAMPLER_SCOPE_CPU_FILTERED,
        .log = options->log,
    };
    return sampler_open(&session->sampler, &sampler, error);
}

/* One database holds runs of one mode: its call paths mean one thing. The names of imported stacks
 * came with them and cannot be found again. */
enum { OTHER_MODE = 1, IMPORTED };

static int check_mode(void *context, const struct store_run *run)
{
    struct record_session *session = context;
    const struct store_run *mine = &session->run;
    const bool same_frame = !run->frame == !mine->frame;
    if (strcmp(run->source, MODEL_SOURCE_IMPORT) == 0)
        return IMPORTED;
    return strcmp(run->mode, mine->mode) == 0 && same_frame &&
                   strcmp(run->app_interior, mine->app_interior) == 0
               ? 0
               : OTHER_MODE;
}

static int open_for_append(struct record_session *session, const char *path,
                           struct sprof_error *error)
{
    struct store_ids ids;
    int result = store_open_write(&session->store, path, error);
    if (!result)
        result = store_last_ids(session->store, &ids, error);
    if (!result)
        result = store_each_run(session->store, check_mode, session, error);
    if (result == IMPORTED)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "cannot append to %s: its stacks were imported; use another file "
                               "with -o",
                               path);
    if (result == OTHER_MODE)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "cannot append to %s: it was recorded in another mode; use the same "
                               "-m, --frame and --app-interior, or another file with -o",
                               path);
    if (result)
        return result;
    session->run.id = ids.run + 1;
    session->event.id = session->event.id + ids.event;
    session->phase = ids.phase + 1;
    session->world.first_process = ids.process;
    session->world.first_thread = ids.thread;
    session->world.first_module = ids.module;
    session->world.first_mapping = ids.mapping;
    session->last_frame = ids.frame;
    session->last_node = ids.node;
    return 0;
}

static int open_store(struct record_session *session, struct sprof_error *error)
{
    const char *path = session->options.output;
    session->run.id = 1;
    session->event.id = 1;
    session->phase = 1;
    session->replaces = access(path, F_OK) == 0;
    if (session->options.append && session->replaces)
        return open_for_append(session, path, error);
    const int result = store_create(&session->store, path, error);
    session->created = result == 0;
    return result;
}

static int open_parts(struct record_session *session, struct sprof_error *error)
{
    const struct record_options *options = &session->options;
    const struct model_view view = {
        .mode = options->mode,
        .frame_app = options->frame_app,
        .drop_interior = options->drop_interior,
    };
    record_pending_init(&session->pending);
    session->world.rules = options->rules;
    session->cache = options->no_cache ? NULL : cache_open(NULL);
    int result = open_sampler(session, error);
    if (!result)
        result = record_describe(session, error);
    if (!result)
        result = open_store(session, error);
    session->ledger.run_id = session->event.run_id = session->run.id;
    session->ledger.event_id = session->event.id;
    if (!result)
        result = record_images_init(&session->images, options->table_budget_bytes, session->cache,
                                    error);
    if (!result && record_walk_init(&session->walk, &session->world, &session->images, &view))
        result = sprof_error_memory(error);
    session->walk.stacks.first_frame = session->last_frame;
    session->walk.stacks.first_node = session->last_node;
    return result;
}

/* A command that could not be executed leaves no empty recording behind, and the old one in place.
 */
static void undo_create(struct record_session *session)
{
    store_close(session->store, NULL);
    session->store = NULL;
    if (!session->created)
        return;
    char old[4096];
    snprintf(old, sizeof old, "%s.old", session->options.output);
    unlink(session->options.output);
    if (session->replaces)
        rename(old, session->options.output);
}

int record_open(struct record_session **out, const struct record_options *options,
                struct sprof_error *error)
{
    *out = NULL;
    struct record_session *session = calloc(1, sizeof *session);
    if (!session)
        return sprof_error_memory(error);
    session->options = *options;
    session->log = options->log;
    if (!session->options.output)
        session->options.output = "sprof.db";
    if (!session->options.table_budget_bytes)
        session->options.table_budget_bytes = DEFAULT_TABLE_BYTES;
    const int result = open_parts(session, error);
    if (result) {
        undo_create(session);
        record_free(session);
        return result;
    }
    *out = session;
    return 0;
}

void record_free(struct record_session *session)
{
    if (!session)
        return;
    record_writer_finish(&session->writer, NULL); /* its rows borrow the event's name */
    store_close(session->store, NULL);
    sampler_free(session->sampler);
    record_walk_release(&session->walk);
    record_pending_release(&session->pending);
    record_images_release(&session->images);
    cache_free(session->cache, 0);
    record_jit_owners_release(&session->jit_owners);
    model_world_release(&session->world);
    record_ledger_release(&session->ledger);
    sprof_map_release(&session->next_rescan);
    sprof_arena_release(&session->arena);
    free(session);
}

/* ---- Recording --------------------------------------------------------------------------------
 */

/* The run's row changes while a batch is being written. */
static const struct store_run *copy_run(const struct record_session *session,
                                        struct sprof_arena *arena)
{
    struct store_run *run = sprof_arena_alloc(arena, sizeof *run);
    if (run)
        *run = session->run;
    return run;
}

static int start(struct record_session *session, struct sprof_error *error)
{
    int result = record_writer_start(&session->writer, session->store, error);
    if (result)
        return result;
    session->own_cpu_start_ns = sprof_clock_own_cpu_ns();
    session->start_ns = sprof_clock_monotonic_ns();
    session->run.start_realtime_ns = sprof_clock_realtime_ns();
    session->run.start_monotonic_ns = session->start_ns;
    session->first_sample_ns = session->start_ns + session->options.delay_ns;
    if (session->options.duration_ns)
        session->end_ns = session->first_sample_ns + session->options.duration_ns;
    session->next_flush_ns =
        session->start_ns +
        (session->options.delay_ns ? session->options.delay_ns : flush_interval_ns);
    struct record_filled *first = record_writer_batch(&session->writer);
    struct store_batch *batch = &first->rows;
    batch->run = copy_run(session, &first->arena);
    if (!batch->run || sprof_vec_push(&batch->events, session->event) ||
        record_phase_row(session, batch, false))
        return sprof_error_memory(error);
    result = sampler_start(session->sampler, error);
    if (result) {
        store_batch_clear(batch);
        record_writer_finish(&session->writer, NULL);
        undo_create(session);
        return result;
    }
    return record_writer_submit(&session->writer, error);
}

/* Applies what is ready. Leaves records in the rings while too many samples wait for tables. */
static int drain(struct record_session *session, struct sprof_error *error)
{
    const struct model_record *record;
    for (int i = 0; i < RECORDS_PER_ROUND && session->pending.bytes <= PENDING_BYTES; i++) {
        const int next = sampler_next(session->sampler, &record);
        if (next > 0)
            break;
        if (next || record_apply(session, record))
            return sprof_error_memory(error);
    }
    return record_apply_waiting(session) ? sprof_error_memory(error) : 0;
}

/* What the targets and sprof itself have used so far; a recorder that is killed leaves it, too. */
static int account(struct record_session *session, uint64_t now_ns)
{
    struct record_ledger *ledger = &session->ledger;
    const uint64_t time_ns = now_ns - session->start_ns;
    const uint64_t cpu_ns = sampler_target_cpu_ns(session->sampler);
    const uint64_t delay_ns = session->options.delay_ns;
    int result = 0;
    if (ledger->last_time_ns < delay_ns)
        record_ledger_skip(ledger, time_ns, cpu_ns);
    else
        result = record_ledger_expect(ledger, time_ns, cpu_ns);
    session->run.duration_ns = time_ns > delay_ns ? time_ns - delay_ns : 0;
    session->run.target_cpu_ns = cpu_ns - ledger->skipped_cpu_ns;
    session->run.own_cpu_ns = sprof_clock_own_cpu_ns() - session->own_cpu_start_ns;
    return result;
}

static int flush(struct record_session *session, uint64_t now_ns, struct sprof_error *error)
{
    session->next_flush_ns = now_ns + flush_interval_ns;
    struct record_filled *filled = record_writer_batch(&session->writer);
    if (account(session, now_ns) || record_collect_rows(session, false))
        return sprof_error_memory(error);
    filled->rows.run = copy_run(session, &filled->arena);
    if (!filled->rows.run)
        return sprof_error_memory(error);
    return record_writer_submit(&session->writer, error);
}

static int wait_ms(const struct record_session *session, uint64_t now_ns)
{
    uint64_t until = session->next_flush_ns;
    if (session->end_ns && session->end_ns < until)
        until = session->end_ns;
    return until > now_ns ? (int)((until - now_ns) / 1000000 + 1) : 0;
}

static int record_until_end(struct record_session *session, struct record_result *result,
                            struct sprof_error *error)
{
    for (;;) {
        int failed = drain(session, error);
        const uint64_t now = sprof_clock_monotonic_ns();
        if (!failed && now >= session->next_flush_ns)
            failed = flush(session, now, error);
        if (failed)
            return failed;
        if (session->interrupted) {
            result->interrupted = true;
            return 0;
        }
        if (sampler_targets_ended(session->sampler, &result->wait_status)) {
            result->has_wait_status = session->options.command != NULL;
            return 0;
        }
        if (session->end_ns && now >= session->end_ns)
            return 0;
        failed = sampler_wait(session->sampler, wait_ms(session, now), session->images.done_fd);
        if (failed)
            return sprof_error_set(error, (enum sprof_code)failed, errno,
                                   "cannot wait for samples: %s", strerror(errno));
    }
}

/* What an agent inside the command could not do, and what that means. */
static void warn_of_agents(const struct record_session *session)
{
    const struct sampler_counters counters = sampler_counters(session->sampler);
    const struct sprof_log *log = session->log;
    if (sampler_facts(session->sampler)->weights != SAMPLER_WEIGHTS_TICK)
        return;
    if (!counters.agents)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "no sample could be taken: the agent did not get into the command, or "
                          "could not reach sprof from there");
    if (counters.agents_standing_back)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu of %llu programs use SIGPROF themselves: they were left alone",
                          (unsigned long long)counters.agents_standing_back,
                          (unsigned long long)counters.agents);
    if (counters.unsampled_threads)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu threads could not be sampled: more than 4096 at once, or too few "
                          "pending signals (`ulimit -i`)",
                          (unsigned long long)counters.unsampled_threads);
}

/* Everything still in the rings, and every sample that still waits. */
static int drain_rest(struct record_session *session, struct sprof_error *error)
{
    const struct model_record *record;
    sampler_stop(session->sampler);
    for (;;) {
        while (session->pending.bytes > PENDING_BYTES) {
            record_images_wait(&session->images);
            if (record_apply_waiting(session))
                return sprof_error_memory(error);
        }
        const int next = sampler_next(session->sampler, &record);
        if (next > 0)
            break;
        if (next || record_apply(session, record))
            return sprof_error_memory(error);
    }
    while (session->images.waiting) {
        record_images_wait(&session->images);
        if (record_apply_waiting(session))
            return sprof_error_memory(error);
    }
    return 0;
}

/* The last account: with what the counters have not seen of processes' ends. What of it was used
 * during a delay nobody knows. */
static int account_all(struct record_session *session)
{
    const int result = account(session, sprof_clock_monotonic_ns());
    const uint64_t unseen_ns =
        session->options.delay_ns ? 0 : sampler_unseen_cpu_ns(session->sampler);
    record_ledger_spread(&session->ledger, unseen_ns);
    session->run.target_cpu_ns += unseen_ns;
    return result ? result : record_book_unsampled(session, unseen_ns);
}

static int write_rest(struct record_session *session, const struct record_result *result,
                      struct sprof_error *error)
{
    session->run.wait_status = result->has_wait_status ? result->wait_status : -1;
    session->run.state = STORE_RECORDED;
    if (account_all(session) || record_collect_rows(session, true))
        return sprof_error_memory(error);
    record_writer_batch(&session->writer)->rows.run = &session->run;
    return record_writer_finish(&session->writer, error);
}

/* Functions and costs. What this takes is no cost of the target's, and told apart from it. */
static int finish(struct record_session *session, struct sprof_error *error)
{
    if (session->options.no_symbolize)
        return 0;
    const struct record_derive_source source = {
        .images = &session->images,
        .jit_owners = &session->jit_owners,
        .cache = session->cache,
        .log = session->log,
    };
    const int result = record_derive_store(session->store, &source, error);
    if (result)
        return result;
    session->run.state = STORE_COMPLETE;
    struct store_counter cost = {session->run.id, "finish.cpu_ns",
                                 sprof_clock_own_cpu_ns() - session->own_cpu_start_ns -
                                     session->run.own_cpu_ns};
    const struct store_batch end = {.run = &session->run, .counters = {&cost, 1, 1}};
    return store_write(session->store, &end, error);
}

/* The launched command outlives the recording: its exit status is what the caller wants. */
static void wait_for_command(struct record_session *session, struct record_result *result)
{
    if (!session->options.command || result->has_wait_status)
        return;
    while (!sampler_targets_ended(session->sampler, &result->wait_status))
        sampler_wait(session->sampler, -1, -1);
    result->has_wait_status = true;
}

int record_run(struct record_session *session, struct record_result *result,
               struct sprof_error *error)
{
    *result = (struct record_result){.run_id = session->run.id};
    int failed = start(session, error);
    if (failed)
        return failed;
    failed = record_until_end(session, result, error);
    if (!failed)
        failed = drain_rest(session, error);
    warn_of_agents(session);
    if (failed)
        sampler_stop(session->sampler);
    else
        failed = write_rest(session, result, error);
    if (!failed)
        failed = finish(session, error);
    record_writer_finish(&session->writer, NULL);
    struct sprof_error close_error = {0};
    const int closed = store_close(session->store, failed ? &close_error : error);
    session->store = NULL;
    wait_for_command(session, result);
    return failed ? failed : closed;
}

void record_interrupt(struct record_session *session)
{
    session->interrupted = 1;
    sampler_interrupt(session->sampler);
}

pid_t record_command_pid(const struct record_session *session)
{
    return sampler_facts(session->sampler)->command_pid;
}
