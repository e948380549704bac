/* The sampling session: drains the sampler into a recording until the targets end. */
#include "record/session.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t flush_interval_ns = UINT64_C(1000000000);

enum {
    WAITING_BYTES = 64 << 20,  /* beyond it samples stay in the rings */
    RECORDS_PER_ROUND = 4096,  /* between two looks at the clock */
    RECORDS_PER_COMMAND = 128, /* between two looks for commands, which are answered meanwhile */
};

/* == Opening == */

static int begin_sampler(struct record_session *session, struct sprof_error *error)
{
    const struct record_options *options = &session->options;
    session->view = (struct model_view){.mode = options->mode,
                                        .frame_app = options->frame_app,
                                        .drop_interior = options->drop_interior};
    struct sampler_options sampler = {
        .capture = record_capture(&session->view),
        .clock = options->wall_clock ? SAMPLER_CLOCK_WALL : SAMPLER_CLOCK_CPU,
        .fine_clock = options->fine_clock,
        .source = options->source,
        .off_cpu = {options->off_cpu, options->has_off_cpu_threshold, options->off_cpu_threshold_ns,
                    options->wakers, options->off_cpu_stacks},
        /* Waits and CPU time can be added up. */
        .event = options->off_cpu && !options->event ? "cpu-clock" : options->event,
        .frequency_hz = options->frequency_hz,
        .period = options->period,
        .stack_bytes = options->stack_bytes,
        .ring_budget_bytes = options->ring_budget_bytes,
        .command = options->command,
        .pids = options->pids,
        .pid_count = options->pid_count,
        .tid = options->tid,
        .all_cpus = options->all_cpus,
        .minimum_scope = options->thread_scope ? SAMPLER_SCOPE_TASK : SAMPLER_SCOPE_CPU_FILTERED,
        .paused = options->paused,
        .early = true,
        .log = options->log,
    };
    if (options->choice)
        sampler.choice = *options->choice;
    const int result = sampler_begin(&session->sampler, &sampler, error);
    return result == SPROF_EPERMISSION && options->all_cpus
               ? record_begin_own(session, &sampler, error)
               : result;
}

static int note_sample(void *context, const struct recording_sampled *sampled)
{
    struct record_session *session = context;
    if (sampled->has_extent) {
        sampler_stack_end(session->sampler, sampled->tid, sampled->stack_pointer, sampled->extent);
        if (session->governor.most > 0)
            record_governor_note_stack(&session->governor, sampled->extent.used);
        session->stack_bytes += sampled->stack_bytes;
    }
    for (size_t i = 0; i < session->events.count; i++) {
        struct record_event *event = &session->events.items[i];
        if (event->row.id == sampled->event)
            return record_ledger_deliver(&event->ledger, sampled->time_ns, sampled->weight,
                                         sampled->late);
    }
    return 0;
}

static int add_event(struct record_session *session, struct record_event *event)
{
    if (recording_add_event(session->recording, &event->row, &event->row.id) ||
        recording_add_fields(session->recording, event->row.id, event->fields, event->field_count))
        return SPROF_ENOMEM;
    event->ledger.run_id = session->run->id;
    event->ledger.event_id = event->row.id;
    for (size_t i = 0; i < event->ledger.seconds.count; i++)
        event->ledger.seconds.items[i].event_id = event->row.id;
    return 0;
}

/* Of waits there are many kinds, and in a recording some: those are added when they are met. Time
 * without a CPU is there always, and shows that waits were measured where none came. */
static bool is_there_always(const struct record_event *event)
{
    const char *wait = model_event_wait(event->row.name);
    return !event->is_wait || (wait && !strcmp(wait, MODEL_WAIT_READY));
}

static int add_events(struct record_session *session)
{
    for (size_t i = 0; i < session->events.count; i++)
        if (is_there_always(&session->events.items[i]) &&
            add_event(session, &session->events.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

/* A rate that the governor cannot change keeps no cost down. */
static int check_governor(const struct record_session *session, struct sprof_error *error)
{
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    if (!(session->options.max_overhead > 0))
        return 0;
    for (size_t i = 0; i < facts->event_count; i++)
        if (facts->events[i].follows_rate)
            return 0;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "--max-overhead changes the rate, but each event has a period or a "
                           "frequency of its own: leave one of them out");
}

static int open_recording(struct record_session *session, struct sprof_error *error)
{
    const struct record_options *options = &session->options;
    const struct recording_options recording = {
        .output = options->output,
        .append = options->append,
        .overwrite = options->overwrite,
        .view = session->view,
        .rules = options->rules,
        .keep_failed = options->keep_failed,
        .no_cache = options->no_cache,
        .only_sampled = options->all_cpus,
        .early_names = !options->no_symbolize && !options->namer && !(options->max_overhead > 0),
        .namer = options->namer,
        .table_budget_bytes = options->table_budget_bytes,
        .sampled = note_sample,
        .context = session,
        .log = options->log,
    };
    int result = recording_open(&session->recording, &recording, error);
    if (result)
        return result;
    session->run = recording_run(session->recording);
    result = sampler_settle(session->sampler, options->log, error);
    if (!result)
        result = check_governor(session, error);
    if (!result)
        result = record_describe(session, error);
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    record_governor_begin(
        &session->governor, options->max_overhead, facts->weights == SAMPLER_WEIGHTS_TICK,
        (struct record_choice){.hz = facts->frequency_hz, .slice = facts->stack_bytes});
    if (!result && add_events(session))
        result = sprof_error_memory(error);
    if (result)
        recording_abandon(session->recording);
    return result;
}

/* The command finds the socket of its own recording (include/sprof.h). */
static int tell_command(struct record_session *session)
{
    char *assignment = control_server_variable(&session->control);
    const int result = assignment ? sampler_set_environment(session->sampler, assignment) : 0;
    free(assignment);
    return result;
}

/* A recording that cannot be controlled is none the worse, unless it waits for that. */
static int open_control(struct record_session *session, struct sprof_error *error)
{
    struct sprof_error refused = {0};
    const int result = control_server_open(&session->control, session->options.output, &refused);
    if (result && session->options.paused) {
        if (error)
            *error = refused;
        recording_abandon(session->recording);
        return result;
    }
    if (result) {
        sprof_log_message(session->options.log, SPROF_LOG_WARNING, "%s", refused.message);
        return 0;
    }
    sampler_watch(session->sampler, control_server_fd(&session->control));
    return tell_command(session) ? sprof_error_memory(error) : 0;
}

int record_open(struct record_session **out, const struct record_options *options,
                struct sprof_error *error)
{
    *out = NULL;
    struct record_session *session = calloc(1, sizeof *session);
    if (!session)
        return sprof_error_memory(error);
    session->options = *options;
    session->cut_ns = UINT64_MAX;
    if (!session->options.output)
        session->options.output = "sprof.db";
    session->control = CONTROL_SERVER_NONE;
    int result = begin_sampler(session, error);
    if (!result)
        result = open_recording(session, error);
    if (!result)
        result = open_control(session, error);
    if (result)
        record_free(session);
    else
        *out = session;
    return result;
}

void record_free(struct record_session *session)
{
    if (!session)
        return;
    control_server_close(&session->control);
    recording_free(session->recording);
    sampler_free(session->sampler);
    for (size_t i = 0; i < session->events.count; i++)
        record_ledger_release(&session->events.items[i].ledger);
    sprof_vec_release(&session->events);
    sprof_map_release(&session->cpu_before);
    sprof_map_release(&session->idle.booked_ns);
    sprof_vec_release(&session->past_events);
    sprof_vec_release(&session->own_processes);
    sprof_arena_release(&session->arena);
    free(session);
}

/* == Recording == */

/* What was recorded while the events were enabled one after the other belongs to the recording
 * before. */
static int begin_now(struct record_session *session)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const int result = record_clear(session, now_ns);
    if (!result)
        session->options.began(session->options.began_context, now_ns);
    return result;
}

/* A command that could not be executed leaves no empty recording behind, and the old one in place.
 */
static int start(struct record_session *session, struct sprof_error *error)
{
    const struct record_options *options = &session->options;
    session->own_cpu_start_ns = sprof_clock_own_cpu_ns();
    session->waited_start_ns = sprof_proc_waited_ns();
    session->machine_start = record_machine_time();
    session->start_ns = sprof_clock_monotonic_ns();
    session->run->start_realtime_ns = sprof_clock_realtime_ns();
    session->run->start_monotonic_ns = session->start_ns;
    const uint64_t first_ns = session->start_ns + options->delay_ns;
    session->events_from_ns = session->start_ns;
    session->end_ns = options->duration_ns ? first_ns + options->duration_ns : 0;
    const uint64_t interval_ns =
        options->first_flush_ns ? options->first_flush_ns : flush_interval_ns;
    session->next_flush_ns = options->delay_ns ? first_ns : first_ns + interval_ns;
    int result = recording_start(session->recording, session->start_ns, options->delay_ns, error);
    if (result)
        return result;
    result = sampler_start(session->sampler, error);
    if (result) {
        recording_abandon(session->recording);
        return result;
    }
    if (options->began && begin_now(session))
        return sprof_error_memory(error);
    return record_begin_paused(session) ? sprof_error_memory(error)
                                        : recording_flush(session->recording, error);
}

static uint64_t run_time(const struct record_session *session, uint64_t time_ns)
{
    return time_ns > session->start_ns ? time_ns - session->start_ns : 0;
}

/* Leaves of a wait what is within the time that counts. One that goes on at the cut ends just
 * before it; what ends it, and when, is the next recording's, as is what was seen at one time after
 * the cut. Returns whether anything is left. */
static bool trim_wait(const struct record_session *session, const struct record_event *event,
                      uint64_t cut_ns, struct model_record *record)
{
    struct model_sample *wait = &record->sample;
    const uint64_t first_ns = session->start_ns + session->options.delay_ns;
    const bool goes_on = record->time_ns >= cut_ns;
    if (!wait->lasted_ns || (goes_on && !model_event_wait(event->row.name)))
        return !goes_on;
    if (record->time_ns < first_ns)
        return true; /* to be counted as such */
    const uint64_t begun_ns = wait->ended_ns - wait->lasted_ns;
    const uint64_t from_ns = begun_ns > first_ns ? begun_ns : first_ns;
    const uint64_t to_ns = wait->ended_ns < cut_ns ? wait->ended_ns : cut_ns;
    const uint64_t part_ns = to_ns > from_ns ? to_ns - from_ns : 0;
    if (part_ns < wait->lasted_ns)
        wait->weight = (uint64_t)((double)wait->weight * (double)part_ns / (double)wait->lasted_ns);
    if (wait->woken_ns >= cut_ns)
        wait->woken_ns = 0;
    if (goes_on)
        record->time_ns = cut_ns - 1;
    return wait->weight > 0;
}

static int apply_sample(struct record_session *session, const struct model_record *record,
                        struct record_event *event)
{
    const uint64_t cut_ns = atomic_load_explicit(&session->cut_ns, memory_order_relaxed);
    struct model_record trimmed;
    if (event->is_wait) {
        trimmed = *record;
        if (!trim_wait(session, event, cut_ns, &trimmed))
            return 0;
        record = &trimmed;
    }
    if (record->time_ns >= cut_ns)
        return 0;
    if (!event->row.id && add_event(session, event))
        return SPROF_ENOMEM;
    return recording_sample(session->recording, record, event->row.id);
}

/* By which the end of the targets is known: a recorder that gets no CPU learns of it later. */
static void note_time(struct record_session *session, const struct model_record *record)
{
    const pid_t command = record_command_pid(session);
    if (record->type == MODEL_RECORD_SAMPLE && record->time_ns < session->cut_ns)
        session->sample_ns = record->time_ns;
    if (record->type == MODEL_RECORD_EXIT && (!command || record->pid == command))
        session->exit_ns = record->time_ns;
}

static int apply(struct record_session *session, const struct model_record *record)
{
    struct record_event *event = &session->events.items[record->event];
    note_time(session, record);
    switch (record->type) {
    case MODEL_RECORD_SAMPLE: return apply_sample(session, record, event);
    case MODEL_RECORD_LOST:
        if (!event->row.id && add_event(session, event))
            return SPROF_ENOMEM;
        return record_ledger_lose(
            &event->ledger,
            run_time(session, record->lost.since_ns ? record->lost.since_ns : record->time_ns),
            run_time(session, record->time_ns), record->lost.count);
    case MODEL_RECORD_THROTTLE:
        return record_ledger_throttle(&event->ledger, record->cpu, record->throttle.on,
                                      run_time(session, record->time_ns));
    default: return recording_event(session->recording, record);
    }
}

/* Applies what is ready, at most `most` records. Where too many samples wait for tables, records
 * stay in the rings. Returns 1 when there is nothing more, 0, or SPROF_ENOMEM. */
static int drain(struct record_session *session, size_t most)
{
    const struct model_record *record;
    for (size_t i = 0; i < most; i++) {
        if (recording_waiting_bytes(session->recording) > WAITING_BYTES)
            return 0;
        const int next = sampler_next(session->sampler, &record);
        if (next)
            return next;
        if (apply(session, record))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Once a second, after the account. */
static int govern(struct record_session *session, struct sprof_error *error)
{
    const struct record_use use = record_used(session);
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const struct record_choice now = {.hz = facts->frequency_hz, .slice = facts->stack_bytes};
    if (!(session->governor.most > 0) || session->paused)
        return 0;
    const struct record_choice chosen = record_governor_decide(&session->governor, &use, now);
    if (chosen.slice != now.slice)
        return record_change_slice(session, chosen.slice, error);
    return chosen.hz == now.hz ? 0 : record_change_rate(session, chosen.hz, error);
}

static int flush(struct record_session *session, uint64_t now_ns, struct sprof_error *error)
{
    /* As a second of the run ends, so that the ledger's seconds hold what was used in them. */
    const uint64_t run_ns = now_ns - session->start_ns;
    session->next_flush_ns = now_ns + flush_interval_ns - run_ns % flush_interval_ns;
    if (record_account(session, now_ns) || record_write_ledgers(session))
        return sprof_error_memory(error);
    const int result = govern(session, error);
    return result ? result : recording_flush(session->recording, error);
}

static int wait_ms(const struct record_session *session, uint64_t now_ns)
{
    uint64_t until = session->next_flush_ns;
    const uint64_t end_ns = atomic_load(&session->end_ns);
    if (end_ns && end_ns < until)
        until = end_ns;
    if (session->stop_ns && session->stop_ns < until)
        until = session->stop_ns;
    return until > now_ns ? (int)((until - now_ns) / 1000000 + 1) : 0;
}

/* A round of records, and the commands that come in meanwhile. */
static int drain_and_serve(struct record_session *session, struct sprof_error *error)
{
    int drained = 0, failed = 0;
    for (size_t i = 0; i < RECORDS_PER_ROUND / RECORDS_PER_COMMAND && !drained && !failed; i++) {
        drained = drain(session, RECORDS_PER_COMMAND);
        failed = record_serve_commands(session, error);
    }
    return drained < 0 ? sprof_error_memory(error) : failed;
}

static int record_until_end(struct record_session *session, struct record_result *result,
                            struct sprof_error *error)
{
    for (;;) {
        int failed = drain_and_serve(session, error);
        if (!failed && recording_collect(session->recording))
            failed = sprof_error_memory(error);
        const uint64_t now_ns = sprof_clock_monotonic_ns();
        if (!failed && now_ns >= session->next_flush_ns)
            failed = flush(session, now_ns, error);
        if (failed)
            return failed;
        if (session->ended)
            return 0;
        if (session->interrupted) {
            result->interrupted = true;
            return 0;
        }
        if (sampler_targets_ended(session->sampler, &result->wait_status)) {
            session->targets_ended = true;
            result->has_wait_status = session->options.command != NULL;
            return 0;
        }
        const uint64_t end_ns = atomic_load(&session->end_ns);
        if (end_ns && now_ns >= end_ns)
            return 0;
        failed = sampler_wait(session->sampler, wait_ms(session, now_ns),
                              recording_collect_fd(session->recording));
        if (failed)
            return sprof_error_set(error, (enum sprof_code)failed, errno,
                                   "cannot wait for samples: %s", strerror(errno));
    }
}

/* Everything still in the rings, and every sample that still waits. */
static int drain_all(struct record_session *session, struct sprof_error *error)
{
    int drained;
    sampler_watch(session->sampler, -1);
    control_server_close(&session->control);
    sampler_stop(session->sampler);
    session->off_ns = sprof_clock_monotonic_ns();
    while ((drained = drain(session, SIZE_MAX)) == 0)
        if (recording_settle(session->recording, WAITING_BYTES))
            return sprof_error_memory(error);
    return drained < 0 || recording_settle(session->recording, 0) ? sprof_error_memory(error) : 0;
}

/* The launched command outlives the recording: its exit status is what the caller wants. One that
 * is to end with it has two seconds for that. */
static void wait_for_command(struct record_session *session, struct record_result *result)
{
    static const uint64_t patience_ns = 2000000000;
    if (!session->options.command || result->has_wait_status)
        return;
    const bool ends = session->options.ends_command;
    const uint64_t until_ns = sprof_clock_monotonic_ns() + patience_ns;
    if (ends)
        kill(record_command_pid(session), SIGTERM);
    while (!sampler_targets_ended(session->sampler, &result->wait_status)) {
        if (ends && sprof_clock_monotonic_ns() >= until_ns)
            kill(record_command_pid(session), SIGKILL);
        sampler_wait(session->sampler, ends ? 100 : -1, -1);
    }
    result->has_wait_status = true;
}

/* The kernel takes a millisecond to take rings, events and programs back: beside the rest. */
static void *close_sources(void *sampler)
{
    sampler_close(sampler);
    return NULL;
}

/* A command that outlives its recording keeps what an agent in it may still reach for. */
static int finish(struct record_session *session, const struct record_result *result,
                  struct sprof_error *error)
{
    const struct recording_end end = {.no_symbolize = session->options.no_symbolize};
    const bool ended = !session->options.command || result->has_wait_status;
    pthread_t thread;
    const bool closes = ended && !sprof_thread_create(&thread, close_sources, session->sampler);
    const int failed = recording_finish(session->recording, &end, error);
    if (closes)
        pthread_join(thread, NULL);
    return failed;
}

/* The ledgers hold it; in the database it would be a sum over all rows. */
static uint64_t count_samples(const struct record_session *session)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < session->events.count; i++) {
        const struct record_ledger *ledger = &session->events.items[i].ledger;
        for (size_t second = 0; second < ledger->seconds.count; second++)
            samples += ledger->seconds.items[second].delivered;
    }
    return samples;
}

int record_run(struct record_session *session, struct record_result *result,
               struct sprof_error *error)
{
    *result = (struct record_result){.run_id = session->run->id};
    int failed = start(session, error);
    if (failed)
        return failed;
    failed = record_until_end(session, result, error);
    if (failed)
        goto done;
    session->ready_ns = sampler_ready_ns(session->sampler);
    session->machine_end = record_machine_time();
    failed = drain_all(session, error);
    session->waited_ns = sprof_proc_waited_ns() - session->waited_start_ns;
    record_warn(session, result);
    result->source_cure = sampler_facts(session->sampler)->source_cure;
    result->source_gain = sampler_facts(session->sampler)->source_gain;
    if (failed)
        goto done;
    session->run->wait_status = result->has_wait_status ? result->wait_status : -1;
    failed = record_conclude(session, error);
    result->samples = count_samples(session);
    if (!failed)
        failed = finish(session, result, error);
    result->without_names = session->options.no_symbolize || recording_hurried(session->recording);
done:
    if (failed) {
        sampler_stop(session->sampler);
        recording_close(session->recording, NULL);
    }
    wait_for_command(session, result);
    return failed;
}

struct store *record_store(const struct record_session *session)
{
    return recording_store(session->recording);
}

void record_interrupt(struct record_session *session)
{
    session->interrupted = true;
    sampler_interrupt(session->sampler);
}

void record_end_at(struct record_session *session, uint64_t time_ns)
{
    atomic_store(&session->cut_ns, time_ns);
    atomic_store(&session->end_ns, time_ns);
    sampler_interrupt(session->sampler);
}

bool record_hurry(struct record_session *session)
{
    record_interrupt(session);
    return recording_hurry(session->recording);
}

pid_t record_command_pid(const struct record_session *session)
{
    return sampler_facts(session->sampler)->command_pid;
}
