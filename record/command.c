/* Carries out the commands that control a recording while it runs. */
#include "record/session.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_TIMEOUT_MS = 10000 };

/* == In the recorder == */

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
    session->paused = session->options.paused;
    return session->paused ? begin_phase(session, session->start_ns, NULL) : 0;
}

int record_change_rate(struct record_session *session, uint64_t frequency_hz,
                       struct sprof_error *error)
{
    uint64_t changed_ns;
    const int result = sampler_set_rate(session->sampler, frequency_hz, &changed_ns, error);
    if (result)
        return result;
    return begin_phase(session, changed_ns, session->mark) ? sprof_error_memory(error) : 0;
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
    return begin_phase(session, changed_ns, NULL) ? sprof_error_memory(error) : 0;
}

static int start(struct record_session *session, char *argument, struct sprof_str *answer,
                 struct sprof_error *error)
{
    (void)argument;
    sprof_str_append(answer, "samples are being taken");
    return set_paused(session, false, error);
}

static int stop(struct record_session *session, char *argument, struct sprof_str *answer,
                struct sprof_error *error)
{
    (void)argument;
    sprof_str_append(answer, "no samples are being taken; `sprof ctl start` goes on");
    return set_paused(session, true, error);
}

static int rate(struct record_session *session, char *argument, struct sprof_str *answer,
                struct sprof_error *error)
{
    char *end;
    errno = 0;
    const unsigned long long hz = strtoull(argument, &end, 10);
    if (!isdigit((unsigned char)*argument) || *end || errno || !hz)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no rate: give samples a second, such as `rate 99`",
                               argument);
    uint64_t changed_ns;
    const int result = sampler_set_rate(session->sampler, hz, &changed_ns, error);
    if (result)
        return result;
    record_governor_ask(&session->governor, hz);
    sprof_str_appendf(answer, "%llu samples a second from now on", hz);
    return begin_phase(session, changed_ns, NULL) ? sprof_error_memory(error) : 0;
}

/* "full", "app", "pc" or "pc --frame app". In mode app, what is between application frames is kept
 * or not as the recording was told at its start. */
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

static int mode(struct record_session *session, char *argument, struct sprof_str *answer,
                struct sprof_error *error)
{
    struct model_view view;
    int result = read_mode(session, argument, &view, error);
    if (result)
        return result;
    uint64_t changed_ns;
    result = sampler_set_capture(session->sampler, record_capture(&view), &changed_ns, error);
    if (result)
        return result;
    struct store_run *run = session->run;
    const struct model_view least = model_view_of(run->mode, run->frame, run->app_interior);
    session->view = view;
    if (begin_phase(session, changed_ns, NULL))
        return sprof_error_memory(error);
    if (model_view_lost(&view) > model_view_lost(&least)) {
        run->mode = model_mode_text(view.mode);
        run->frame = view.frame_app ? "app" : NULL;
        run->app_interior = view.drop_interior ? "drop" : "keep";
    }
    sprof_str_appendf(answer, "mode %s from now on", argument);
    return 0;
}

static int clear(struct record_session *session, char *argument, struct sprof_str *answer,
                 struct sprof_error *error)
{
    (void)argument;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (record_clear(session, now_ns) || begin_phase(session, now_ns, NULL))
        return sprof_error_memory(error);
    sprof_str_append(answer, "what was recorded so far is dropped");
    return 0;
}

static int mark(struct record_session *session, char *argument, struct sprof_str *answer,
                struct sprof_error *error)
{
    const char *name = sprof_arena_text(&session->arena, argument);
    if (!name || begin_phase(session, sprof_clock_monotonic_ns(), name))
        return sprof_error_memory(error);
    sprof_str_appendf(answer, "marked: %s", argument);
    return 0;
}

static int status(struct record_session *session, char *argument, struct sprof_str *answer,
                  struct sprof_error *error)
{
    (void)argument;
    (void)error;
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const uint64_t begin_ns = session->start_ns + session->options.delay_ns;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const double seconds = now_ns > begin_ns ? (double)(now_ns - begin_ns) / 1e9 : 0;
    const uint64_t samples = sampler_counters(session->sampler).samples - session->cleared_samples;
    sprof_str_appendf(answer, "%s for %.1f s: %llu samples, mode %s, %s",
                      session->paused ? "paused, recording" : "recording", seconds,
                      (unsigned long long)samples,
                      model_mode_options_text(session->view.mode, session->view.frame_app,
                                              session->view.drop_interior),
                      facts->event);
    if (facts->frequency_hz)
        sprof_str_appendf(answer, " at %llu Hz", (unsigned long long)facts->frequency_hz);
    if (session->governor.most > 0)
        sprof_str_appendf(answer, ", overhead %.2f of %.2f %%", 100 * record_overhead(session),
                          100 * session->governor.most);
    return 0;
}

static int end(struct record_session *session, char *argument, struct sprof_str *answer,
               struct sprof_error *error)
{
    (void)argument;
    (void)error;
    session->ended = true;
    sprof_str_append(answer, "the recording ends");
    return 0;
}

static const struct command {
    const char *name, *synonym;
    const char *argument; /* what it must be given; NULL: nothing */
    int (*run)(struct record_session *session, char *argument, struct sprof_str *answer,
               struct sprof_error *error);
} commands[] = {
    {"start", "on", NULL, start},
    {"stop", "off", NULL, stop},
    {"status", NULL, NULL, status},
    {"clear", NULL, NULL, clear},
    {"mode", NULL, "full, app, pc or pc --frame app", mode},
    {"rate", NULL, "HZ", rate},
    {"mark", NULL, "NAME", mark},
    {"end", NULL, NULL, end},
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, name) ||
            (commands[i].synonym && !strcmp(commands[i].synonym, name)))
            return &commands[i];
    return NULL;
}

/* Splits "rate 99" in place; the argument is "" where there is none. */
static char *split(char *request)
{
    char *space = strchr(request, ' ');
    if (!space)
        return request + strlen(request);
    *space = '\0';
    return space + 1;
}

int record_check_command(const char *text, struct sprof_error *error)
{
    char request[RECORD_CONTROL_TEXT_MAX];
    if (strlen(text) >= sizeof request)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a command has at most %zu characters",
                               sizeof request - 1);
    strcpy(request, text);
    const char *argument = split(request);
    const struct command *command = find(request);
    if (!command)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "unknown command `%s`; there are: start, stop, status, clear, mode MODE, rate HZ, "
            "mark NAME, end",
            request);
    if (command->argument && !*argument)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` needs %s", command->name,
                               command->argument);
    if (!command->argument && *argument)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` takes nothing more, but was given `%s`", command->name,
                               argument);
    return 0;
}

static int carry_out(void *context, char *request, struct sprof_str *answer)
{
    struct sprof_error error = {0};
    int result = record_check_command(request, &error);
    if (!result) {
        char *argument = split(request);
        result = find(request)->run(context, argument, answer, &error);
    }
    if (result) {
        sprof_str_release(answer);
        sprof_str_append(answer, error.message);
    }
    return result;
}

void record_serve_commands(struct record_session *session)
{
    record_control_serve(&session->control, carry_out, session);
}

/* == Outside == */

static int not_recording(const char *output, int errnum, struct sprof_error *error)
{
    if (errnum == EACCES || errnum == EPERM)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "%s is being recorded by another user, who alone may control it\n"
                               "run `sprof ctl` as that user, or as root",
                               output);
    return sprof_error_set(error, SPROF_ESTATE, errnum,
                           "%s is not being recorded now: nothing to control\n"
                           "give the file of a running `sprof record` with -i",
                           output);
}

static int ask(int fd, const char *output, const char *command, char *answer, size_t size,
               struct sprof_error *error)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (send(fd, command, strlen(command), MSG_NOSIGNAL) < 0)
        return not_recording(output, errno, error);
    if (poll(&ready, 1, ANSWER_TIMEOUT_MS) <= 0)
        return sprof_error_set(error, SPROF_EIO, ETIMEDOUT,
                               "the recorder of %s does not answer; is it stopped?", output);
    const ssize_t got = recv(fd, answer, size - 1, 0);
    if (got <= 0)
        return not_recording(output, got ? errno : ECONNRESET, error);
    answer[got] = '\0';
    return 0;
}

int record_send_command(const char *output, const char *command, struct sprof_str *answer,
                        struct sprof_error *error)
{
    struct sockaddr_un address;
    int directory_fd;
    int result = record_check_command(command, error);
    if (!result)
        result = record_control_address(output, &address, &directory_fd, error);
    if (result)
        return result;
    char text[RECORD_CONTROL_TEXT_MAX];
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        result = sprof_error_set(error, SPROF_ELIMIT, errno, "cannot make a socket: %s",
                                 strerror(errno));
    else if (connect(fd, (void *)&address, sizeof address))
        result = not_recording(output, errno, error);
    else
        result = ask(fd, output, command, text, sizeof text, error);
    if (fd >= 0)
        close(fd);
    close(directory_fd);
    if (result)
        return result;
    if (*text != '0')
        return sprof_error_set(error, *text == '2' ? SPROF_EUSAGE : SPROF_ESTATE, 0, "%s",
                               text + 1);
    return sprof_str_append(answer, text + 1) ? sprof_error_memory(error) : 0;
}
