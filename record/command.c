/* Carries out the commands that control a recording while it runs. */
#include "record/session.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of the run that begins at `time_ns` (CLOCK_MONOTONIC), as things are now. */
static int begin_phase(struct record_session *session, uint64_t time_ns, const char *mark)
{
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const struct store_phase phase = {
        .start_ns = time_ns > session->start_ns ? time_ns - session->start_ns : 0,
        .mode = model_mode_text(session->view.mode),
        .frame = session->view.frame_app ? "app" : NULL,
        .app_interior = session->view.drop_interior ? "drop" : "keep",
        .frequency_hz = facts->frequency_hz,
        .stack_bytes = facts->stack_bytes,
        .paused = session->paused,
        .mark = mark,
    };
    session->mark = mark;
    return recording_add_phase(session->recording, &phase);
}

int record_begin_paused(struct record_session *session)
{
    session->paused = session->was_paused = session->options.paused;
    return session->paused ? begin_phase(session, session->start_ns, NULL) : 0;
}

/* Samples of different rates weigh differently: from now on weights count, for all of the run. */
static int set_rate(struct record_session *session, uint64_t frequency_hz, const char *mark,
                    struct sprof_error *error)
{
    uint64_t changed_ns;
    if (record_account(session, sprof_clock_monotonic_ns()))
        return sprof_error_memory(error);
    const int result = sampler_set_rate(session->sampler, frequency_hz, &changed_ns, error);
    if (result)
        return result;
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    if (record_note_past_events(session, changed_ns))
        return sprof_error_memory(error);
    for (size_t i = 0; i < facts->event_count && i < session->events.count; i++) {
        struct record_event *event = &session->events.items[i];
        if (!facts->events[i].follows_rate)
            continue;
        event->ledger.period_ns = facts->events[i].due_ns;
        event->row.varying = true;
        if (recording_change_event(session->recording, &event->row))
            return sprof_error_memory(error);
    }
    return begin_phase(session, changed_ns, mark) ? sprof_error_memory(error) : 0;
}

int record_change_rate(struct record_session *session, uint64_t frequency_hz,
                       struct sprof_error *error)
{
    return set_rate(session, frequency_hz, session->mark, error);
}

int record_change_slice(struct record_session *session, size_t stack_bytes,
                        struct sprof_error *error)
{
    uint64_t changed_ns;
    const int result = sampler_set_slice(session->sampler, stack_bytes, &changed_ns, error);
    if (result)
        return result;
    return record_note_past_events(session, changed_ns) ||
                   begin_phase(session, changed_ns, session->mark)
               ? sprof_error_memory(error)
               : 0;
}

static int set_paused(struct record_session *session, bool paused, struct sprof_error *error)
{
    uint64_t changed_ns;
    if (session->paused == paused)
        return 0;
    const int result = sampler_set_paused(session->sampler, paused, &changed_ns, error);
    if (result)
        return result;
    session->paused = paused;
    session->was_paused |= paused;
    return begin_phase(session, changed_ns, NULL) ? sprof_error_memory(error) : 0;
}

static int stop(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    (void)argument;
    session->stop_ns = 0;
    sprof_str_append(answer, "no samples are being taken; `sprof ctl start` goes on");
    return set_paused(session, true, error);
}

static int rate(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    char *end;
    errno = 0;
    const unsigned long long hz = strtoull(argument, &end, 10);
    if (!isdigit((unsigned char)*argument) || *end || errno || !hz)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no rate: give samples a second, such as `rate 99`",
                               argument);
    const int result = set_rate(session, hz, NULL, error);
    if (result)
        return result;
    const struct record_choice asked = {.hz = hz, .slice = session->governor.asked.slice};
    record_governor_ask(&session->governor, asked);
    sprof_str_appendf(answer, "%llu samples a second from now on", hz);
    const struct record_event *clock = record_clock(session);
    const uint64_t due_ns = clock ? clock->ledger.period_ns : 0;
    if (due_ns && hz > UINT64_C(1000000000) / due_ns)
        sprof_str_appendf(answer, ", of which this source takes at most %llu",
                          (unsigned long long)(UINT64_C(1000000000) / due_ns));
    return 0;
}

/* "full", "app", "pc" or "pc --frame app". In mode app, the recording's own option decides whether
 * to keep what is between application frames. */
static int read_mode(const struct record_session *session, const char *text,
                     struct model_view *view, struct sprof_error *error)
{
    const bool frame_app = !strcmp(text, "pc --frame app");
    const char *word = frame_app ? "pc" : text;
    *view = (struct model_view){.mode = model_mode_of(word), .frame_app = frame_app};
    view->drop_interior = view->mode == MODEL_MODE_APP && session->options.drop_interior;
    if (!strcmp(word, model_mode_text(view->mode)))
        return 0;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%.100s` is no mode: give full, app, pc or pc --frame app", text);
}

static int mode(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    struct model_view view;
    int result = read_mode(session, argument, &view, error);
    if (result)
        return result;
    uint64_t changed_ns;
    result = sampler_set_capture(session->sampler, record_capture(&view), &changed_ns, error);
    if (result)
        return result;
    struct store_run *run = session->run;
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const struct record_choice asked = {.hz = session->governor.asked.hz,
                                        .slice = facts->stack_bytes};
    record_governor_ask(&session->governor, asked);
    const struct model_view least = model_view_of(run->mode, run->frame, run->app_interior);
    session->view = view;
    if (record_note_past_events(session, changed_ns) || begin_phase(session, changed_ns, NULL))
        return sprof_error_memory(error);
    if (model_view_lost(&view) > model_view_lost(&least)) {
        run->mode = model_mode_text(view.mode);
        run->frame = view.frame_app ? "app" : NULL;
        run->app_interior = view.drop_interior ? "drop" : "keep";
    }
    sprof_str_appendf(answer, "mode %s from now on", argument);
    return 0;
}

/* "[MODE] [NANOSECONDS]": after that time the recorder stops by itself. */
static int start(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    char *last = strrchr(argument, ' ');
    char *number = last ? last + 1 : argument;
    uint64_t duration_ns = 0;
    int result = 0;
    if (isdigit((unsigned char)*number)) {
        if (!control_parse_time(number, &duration_ns))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "`%.100s` is no time: give 10s, or 500ms", number);
        *(last ? last : argument) = '\0';
    }
    if (*argument)
        result = mode(session, argument, answer, error);
    if (!result)
        result = set_paused(session, false, error);
    if (result)
        return result;
    session->stop_ns = duration_ns ? sprof_clock_monotonic_ns() + duration_ns : 0;
    sprof_str_clear(answer);
    sprof_str_append(answer, "samples are being taken");
    if (duration_ns)
        sprof_str_appendf(answer, ", for %.10g s", (double)duration_ns / 1e9);
    return 0;
}

static int clear(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    (void)argument;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (record_clear(session, now_ns) || begin_phase(session, now_ns, NULL))
        return sprof_error_memory(error);
    sprof_str_append(answer, "what was recorded so far is dropped");
    return 0;
}

static int mark(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    const char *name = sprof_arena_text(&session->arena, argument);
    if (!name || begin_phase(session, sprof_clock_monotonic_ns(), name))
        return sprof_error_memory(error);
    sprof_str_appendf(answer, "marked: %s", argument);
    return 0;
}

static int status(void *context, char *argument, struct sprof_str *answer,
                  struct sprof_error *error)
{
    struct record_session *session = context;
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const uint64_t begin_ns = session->start_ns + session->options.delay_ns;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const double seconds = now_ns > begin_ns ? (double)(now_ns - begin_ns) / 1e9 : 0;
    const uint64_t samples = sampler_counters(session->sampler).samples - session->cleared_samples;
    const char *view = model_mode_options_text(session->view.mode, session->view.frame_app,
                                               session->view.drop_interior);
    const double left = session->stop_ns > now_ns ? (double)(session->stop_ns - now_ns) / 1e9 : 0;
    if (!strcmp(argument, "fields")) {
        sprof_str_appendf(
            answer,
            "state\tseconds#\tsamples#\tmode\tevent\thz#\toverhead_percent#\toff_in_seconds#\n"
            "%s\t%.3f\t%llu\t%s\t%s\t%llu\t%.3f\t",
            session->paused ? "paused" : "recording", seconds, (unsigned long long)samples, view,
            session->event_names, (unsigned long long)facts->frequency_hz,
            100 * record_overhead(session));
        if (left > 0)
            sprof_str_appendf(answer, "%.3f", left);
        sprof_str_append(answer, "\n");
        return 0;
    }
    if (*argument)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`status` takes nothing more, but was given `%.100s`", argument);
    sprof_str_appendf(answer, "%s for %.1f s: %llu samples, mode %s, %s",
                      session->paused ? "paused, recording" : "recording", seconds,
                      (unsigned long long)samples, view, session->event_names);
    if (facts->frequency_hz)
        sprof_str_appendf(answer, " at %llu Hz", (unsigned long long)facts->frequency_hz);
    if (session->governor.most > 0)
        sprof_str_appendf(answer, ", estimated overhead %.2f of %.2f %%",
                          100 * record_overhead(session), 100 * session->governor.most);
    if (left > 0)
        sprof_str_appendf(answer, ", off in %.1f s", left);
    return 0;
}

static int end(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct record_session *session = context;
    (void)argument;
    (void)error;
    session->ended = true;
    sprof_str_append(answer, "the recording ends");
    return 0;
}

static const struct control_command commands[] = {
    {"start", "on", "[MODE] [TIME]", start},
    {"stop", "off", NULL, stop},
    {"status", NULL, "[fields]", status},
    {"clear", NULL, NULL, clear},
    {"mode", NULL, "full, app, pc or pc --frame app", mode},
    {"rate", NULL, "HZ", rate},
    {"mark", NULL, "NAME", mark},
    {"end", NULL, NULL, end},
};
static const struct control_commands all = {
    "start [MODE] [TIME], stop, status, clear, mode MODE, rate HZ, mark NAME, end (probe, list, "
    "stats and detach are for traces)",
    commands, sizeof commands / sizeof *commands};

static int carry_out(void *context, char *request, struct sprof_str *answer)
{
    return control_carry_out(&all, context, request, answer);
}

int record_serve_commands(struct record_session *session, struct sprof_error *error)
{
    control_server_serve(&session->control, carry_out, session);
    if (!session->stop_ns || sprof_clock_monotonic_ns() < session->stop_ns)
        return 0;
    session->stop_ns = 0;
    return set_paused(session, true, error);
}
