/* What a run was: the settings and the machine, for the run and event rows. */
#include "record/session.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Moves a built string into the session's arena; NULL when empty or out of memory. */
static const char *keep(struct record_session *session, struct sprof_str *text)
{
    const char *kept =
        text->length ? sprof_arena_copy(&session->arena, text->text, text->length) : NULL;
    sprof_str_release(text);
    return kept;
}

static const char *keep_text(struct record_session *session, const char *text)
{
    return text && *text ? sprof_arena_text(&session->arena, text) : NULL;
}

static const char *targets_text(struct record_session *session)
{
    struct sprof_str text = {0};
    if (session->options.all_cpus)
        return record_machine_text(session);
    for (size_t i = 0; i < session->options.pid_count; i++)
        sprof_str_appendf(&text, "%s%d", i ? "," : "", (int)session->options.pids[i]);
    if (session->options.tid)
        sprof_str_appendf(&text, "thread %d", (int)session->options.tid);
    return keep(session, &text);
}

static const char *rules_text(struct record_session *session)
{
    struct sprof_str text = {0};
    const struct model_kind_rules *rules = &session->options.rules;
    for (size_t i = 0; i < rules->count; i++)
        sprof_str_appendf(&text, "%s %s\n", model_kind_text(rules->items[i].kind),
                          rules->items[i].glob);
    return keep(session, &text);
}

static uint64_t own_start_time(void)
{
    struct sprof_proc_stat stat;
    return sprof_proc_stat_read(getpid(), &stat) ? stat.start_ticks : 0;
}

static void describe_machine(struct record_session *session)
{
    struct store_run *run = session->run;
    struct utsname machine;
    if (uname(&machine) == 0) {
        run->host = keep_text(session, machine.nodename);
        run->kernel = keep_text(session, machine.release);
        run->architecture = keep_text(session, machine.machine);
    }
    char directory[4096];
    run->working_directory = keep_text(session, getcwd(directory, sizeof directory));
    char boot_id[SPROF_BOOT_ID_SIZE];
    sprof_proc_boot_id(boot_id);
    run->boot_id = keep_text(session, boot_id);
    run->recorder_pid = getpid();
    run->recorder_start = own_start_time();
}

int record_describe_source(struct record_session *session)
{
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    struct sprof_str source = {0};
    sprof_str_appendf(&source, "%s%s%s%s", facts->source, *facts->source_why ? " (" : "",
                      facts->source_why, *facts->source_why ? ")" : "");
    session->run->source = keep(session, &source);
    return session->run->source ? 0 : SPROF_ENOMEM;
}

static void describe_settings(struct record_session *session, const struct sampler_facts *facts)
{
    struct store_run *run = session->run;
    const struct record_options *options = &session->options;
    run->sprof_version = options->sprof_version;
    run->cpus = facts->cpus;
    run->command = sprof_command_text(&session->arena, options->command);
    run->targets = targets_text(session);
    run->module_rules = rules_text(session);
    run->kernel_excluded =
        facts->kernel_excluded ? keep_text(session, facts->kernel_excluded_why) : NULL;
    run->frequency_hz = facts->frequency_hz;
    run->stack_bytes = facts->stack_bytes;
    run->stack_bytes_wanted = facts->stack_bytes_wanted;
    run->ring_bytes = facts->ring_bytes;
}

static int describe_event(struct record_session *session, const struct sampler_event *fact)
{
    struct record_event event = {.user_excluded = fact->user_excluded,
                                 .is_wait = fact->is_wait,
                                 .fields = fact->fields,
                                 .field_count = fact->field_count};
    event.row = (struct store_event){
        .name = keep_text(session, fact->name),
        .is_clock = fact->is_clock,
        .varying = fact->varying_period,
        .period = fact->period,
    };
    event.ledger.kernel_excluded = fact->kernel_excluded;
    event.ledger.period_ns = fact->due_ns;
    return event.row.name ? sprof_vec_push(&session->events, event) : SPROF_ENOMEM;
}

/* By the wall clock, time with a CPU and waits are one event for people. */
static const char *event_word(const struct record_session *session,
                              const struct sampler_event *fact)
{
    const bool is_sum =
        session->options.wall_clock && fact->is_clock && strcmp(fact->name, MODEL_EVENT_WALL) != 0;
    return is_sum ? MODEL_EVENT_ON_AND_OFF : fact->name;
}

int record_describe(struct record_session *session, struct sprof_error *error)
{
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    describe_machine(session);
    describe_settings(session, facts);
    struct sprof_str names = {0};
    for (size_t i = 0; i < facts->event_count; i++) {
        if (describe_event(session, &facts->events[i]))
            return sprof_error_memory(error);
        if (!facts->events[i].is_wait)
            sprof_str_appendf(&names, "%s%s", i ? "," : "", event_word(session, &facts->events[i]));
    }
    if (session->options.off_cpu)
        sprof_str_append(&names, "," MODEL_EVENT_OFF_CPU);
    session->event_names = keep(session, &names);
    if (!session->event_names)
        return sprof_error_memory(error);
    return record_describe_source(session) ? sprof_error_memory(error) : 0;
}

struct record_event *record_clock(struct record_session *session)
{
    for (size_t i = 0; i < session->events.count; i++)
        if (session->events.items[i].row.is_clock && !session->events.items[i].is_wait)
            return session->events.items[i].user_excluded ? NULL : &session->events.items[i];
    return NULL;
}

enum sampler_capture record_capture(const struct model_view *view)
{
    if (view->mode == MODEL_MODE_PC && !view->frame_app)
        return SAMPLER_CAPTURE_PC;
    return view->mode == MODEL_MODE_FULL ? SAMPLER_CAPTURE_FULL : SAMPLER_CAPTURE_USER;
}
