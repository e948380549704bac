/* sprof top: records, and shows meanwhile where the time goes. */
#include "top/top.h"
#include "cli/commands.h"
#include "cli/process_tree.h"
#include "cli/target.h"
#include "cli/top_files.h"
#include "cli/top_reader.h"
#include "cli/top_recorder.h"
#include "cli/top_terminal.h"
#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INTERVAL_NS = 1000000000, FIRST_FLUSH_NS = 250000000 };

struct arguments {
    struct cli_target target;
    bool wall_clock, overwrite, verbose;
    struct cli_threshold off_cpu;
    uint64_t frequency_hz, interval_ns, duration_ns;
    const char *event, *output;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    CLI_TARGET_OPTIONS(struct arguments),
    {"frequency", 'F', "HZ", "samples a second of CPU time (997)", FIELD(frequency_hz),
     cli_set_positive},
    {"event", 'e', "NAME", "what to count, such as cpu-clock or page-faults:u", FIELD(event),
     cli_set_text},
    {"clock", 0, "cpu|wall",
     "take samples by CPU time, or by time, so that waiting is seen (as root: undisturbed)",
     FIELD(wall_clock), cli_set_clock},
    {"off-cpu", 0, "[=T]",
     "measure how long threads wait, and where; waits shorter than T are sampled (1ms)",
     FIELD(off_cpu), cli_set_threshold},
    {"interval", 0, "T", "how often the screen is drawn anew (1s)", FIELD(interval_ns),
     cli_set_duration},
    {"duration", 0, "T", "end the recording after 10, 10s, 500ms, 2m", FIELD(duration_ns),
     cli_set_duration},
    {"output", 'o', "FILE", "keep the recording; without it, it is removed at the end",
     FIELD(output), cli_set_text},
    {"overwrite", 0, NULL, "with -o: keep no copy of the recording that is replaced",
     FIELD(overwrite), cli_set_flag},
    {"verbose", 'v', NULL, "at the end: the CPU time that the screen cost", FIELD(verbose),
     cli_set_flag},
    {0},
};

/* Signals that end it; a handler is given no context. */
static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
    (void)number;
    asked_to_end = 1;
}

static int check(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    const int status = cli_target_check(&arguments->target, operands, "top", error);
    const char *machine = cli_machine_option(&arguments->target.machine);
    if (status)
        return status;
    if (machine && arguments->wall_clock)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--clock wall looks at the threads of a command or of -p, and not "
                               "of the machine: leave %s out",
                               machine);
    if (arguments->overwrite && !arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--overwrite belongs to -o FILE: add it");
    return cli_top_terminal_check(error);
}

/* What the first line calls it: "g++ -O2 -c a.cpp", "PID 12, 13", "all CPUs". */
static int name_target(const struct arguments *arguments, const struct cli_operands *operands,
                       struct sprof_str *name)
{
    const struct cli_target *target = &arguments->target;
    const struct cli_machine *machine = &target->machine;
    if (machine->cgroup)
        sprof_str_appendf(name, "cgroup %s", machine->cgroup);
    else if (machine->user_name)
        sprof_str_appendf(name, "user %s", machine->user_name);
    else if (machine->program)
        sprof_str_appendf(name, "programs %s", machine->program);
    else if (machine->cpus.count)
        sprof_str_append(name, "some CPUs");
    else if (machine->all)
        sprof_str_append(name, "all CPUs");
    else if (target->tid)
        sprof_str_appendf(name, "thread %d", (int)target->tid);
    for (size_t i = 0; i < target->pids.list.count; i++)
        sprof_str_appendf(name, i ? ", %d" : "PID %d", (int)target->pids.list.items[i]);
    for (int i = 0; i < operands->count; i++)
        sprof_str_appendf(name, "%s%s", name->length ? " " : "", operands->items[i]);
    return name->failed ? SPROF_ENOMEM : 0;
}

/* == The screen == */

struct session {
    struct cli_top_recorder recorder;
    struct cli_top_reader *reader;
    struct cli_top_terminal *terminal;
    struct cli_top_files files;
    struct cli_top_text messages, output; /* of the recorder, of the command */
    struct top top;
    struct top_page page;
    bool ended;    /* the recording has */
    bool is_kept;  /* it is at the place where it stays */
    char *save_as; /* where it shall be written to at the end; owned; NULL: nowhere */
    size_t drawn;
    uint64_t draw_cpu_ns;
};

static uint64_t thread_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static int draw(struct session *session, struct sprof_error *error)
{
    const uint64_t before_ns = thread_cpu_ns();
    unsigned rows, columns;
    cli_top_terminal_size(session->terminal, &rows, &columns);
    const int status = top_draw(&session->top, rows, columns, &session->page, error);
    if (!status)
        cli_top_terminal_draw(session->terminal, &session->page);
    session->drawn++;
    session->draw_cpu_ns += thread_cpu_ns() - before_ns;
    return status;
}

/* The recorder answers at once: it looks for commands between records. */
static void mark(struct session *session)
{
    struct sprof_error error = {0};
    struct sprof_str command = {0}, answer = {0}, said = {0};
    const char *name = session->top.answer.text;
    int status = sprof_str_appendf(&command, "mark %s", name);
    if (!status)
        status = session->ended
                     ? sprof_error_set(&error, SPROF_ESTATE, 0, "the recording has ended")
                     : control_send(session->files.recording, session->recorder.pid, command.text,
                                    &answer, &error);
    sprof_str_appendf(&said, status ? "no phase was marked: %s" : "a phase begins: %s",
                      status ? error.message : name);
    if (!said.failed)
        top_say(&session->top, said.text);
    sprof_str_release(&command);
    sprof_str_release(&answer);
    sprof_str_release(&said);
}

/* It is written at the end, when nothing is added any more. */
static void plan_save(struct session *session)
{
    const char *path = session->top.answer.text;
    struct sprof_str said = {0};
    if (session->is_kept) {
        top_say(&session->top, "-o was given: the recording is kept");
        return;
    }
    free(session->save_as);
    session->save_as = strdup(path);
    sprof_str_appendf(&said, "at the end the recording will be %s", path);
    if (session->save_as && !said.failed)
        top_say(&session->top, said.text);
    sprof_str_release(&said);
}

static void act(struct session *session, enum top_action action)
{
    const struct report_selection selection = top_selection(&session->top);
    unsigned rows, columns;
    cli_top_terminal_size(session->terminal, &rows, &columns);
    switch (action) {
    case TOP_MARK: mark(session); break;
    case TOP_SAVE: plan_save(session); break;
    case TOP_SELECT: cli_top_reader_select(session->reader, &selection); break;
    case TOP_ANNOTATE:
        cli_top_reader_annotate(session->reader, session->top.answer.text, columns);
        break;
    default: break;
    }
}

/* Takes what was pressed. False: it is over. */
static bool take_input(struct session *session)
{
    for (;;) {
        const struct cli_top_input input = cli_top_terminal_read(session->terminal);
        enum top_action action = TOP_NOTHING;
        if (input.kind == CLI_TOP_NO_INPUT)
            return true;
        if (input.kind == CLI_TOP_KEY)
            action = top_key(&session->top, input.key);
        else if (input.kind == CLI_TOP_CLICK)
            action = top_click(&session->top, input.line);
        if (action == TOP_QUIT)
            return false;
        act(session, action);
    }
}

static void take_moment(struct session *session)
{
    struct sprof_error error;
    struct report_moment *moment = cli_top_reader_take(session->reader, &error);
    char *code = cli_top_reader_take_code(session->reader);
    if (moment)
        top_take(&session->top, moment);
    if (code)
        top_show_code(&session->top, code);
    free(code);
    if (error.code)
        top_say(&session->top, error.message);
}

/* The recorder's last message is shown; all of them stand below the screen at the end. */
static void take_message(struct session *session)
{
    const char *last = cli_top_text_read(&session->messages, session->recorder.message_fd);
    if (last)
        top_say(&session->top, last);
}

static void take_end(struct session *session)
{
    const struct cli_top_end *end = &session->recorder.end;
    char text[160] = "the recording has ended; q quits";
    cli_top_recorder_wait(&session->recorder);
    session->ended = true;
    if (end->code)
        snprintf(text, sizeof text, "%.120s; q quits", end->message);
    else if (end->has_wait_status && WIFSIGNALED(end->wait_status))
        snprintf(text, sizeof text, "the command was ended by signal %d; q quits",
                 WTERMSIG(end->wait_status));
    else if (end->has_wait_status)
        snprintf(text, sizeof text, "the command has ended with status %d; q quits",
                 WEXITSTATUS(end->wait_status));
    top_say(&session->top, text);
    cli_top_reader_finish(session->reader);
}

static int show(struct session *session, struct sprof_error *error)
{
    int status = draw(session, error);
    while (!status && !asked_to_end) {
        struct pollfd polled[] = {
            {STDIN_FILENO, POLLIN, 0},
            {cli_top_reader_fd(session->reader), POLLIN, 0},
            {session->ended ? -1 : session->recorder.state_fd, POLLIN, 0},
            {session->messages.ended ? -1 : session->recorder.message_fd, POLLIN, 0},
            {session->output.ended ? -1 : session->recorder.output_fd, POLLIN, 0},
        };
        if (poll(polled, sizeof polled / sizeof *polled, -1) < 0 && errno != EINTR)
            return sprof_error_set(error, SPROF_EIO, errno, "cannot wait for keys: %s",
                                   strerror(errno));
        if (polled[4].revents)
            cli_top_text_read(&session->output, session->recorder.output_fd);
        if (polled[3].revents)
            take_message(session);
        if (polled[2].revents)
            take_end(session);
        if (polled[1].revents)
            take_moment(session);
        if (polled[0].revents & (POLLHUP | POLLERR) || !take_input(session))
            break;
        status = draw(session, error);
    }
    return status;
}

/* == The command == */

static struct record_options options_of(struct arguments *arguments,
                                        const struct cli_operands *operands, const char *recording)
{
    struct record_options record = {
        .mode = MODEL_MODE_FULL,
        .output = recording,
        .overwrite = arguments->overwrite,
        .no_symbolize = !arguments->output, /* the screen finds names for itself */
        .wall_clock = arguments->wall_clock,
        .off_cpu = arguments->off_cpu.given,
        .has_off_cpu_threshold = arguments->off_cpu.has_value,
        .off_cpu_threshold_ns = arguments->off_cpu.ns,
        .event = arguments->event,
        .frequency_hz = arguments->frequency_hz,
        .duration_ns = arguments->duration_ns,
        .first_flush_ns = FIRST_FLUSH_NS,
        .ends_command = true,
        .sprof_version = SPROF_VERSION,
    };
    cli_target_choose(&arguments->target, operands, &record);
    return record;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* What was held back while the screen was there. */
static void say_all(struct cli_terminal *terminal, struct session *session,
                    const struct arguments *arguments, const struct cli_top_readings *readings)
{
    cli_top_text_read(&session->output, session->recorder.output_fd);
    cli_top_text_read(&session->messages, session->recorder.message_fd);
    cli_top_text_write(stdout, &session->output);
    for (const char *line = session->messages.text.text; line && *line;) {
        const size_t length = strcspn(line, "\n");
        cli_say(terminal, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    const char *kept = arguments->output ? arguments->output : session->save_as;
    if (kept)
        cli_say(terminal, "the recording is %s: `sprof report %s`", kept, kept);
    if (arguments->verbose)
        cli_say(terminal,
                "%zu readings, median %.2f ms of CPU, most %.2f ms; %zu screens, %.2f ms each",
                readings->count, (double)readings->median_ns / 1e6, (double)readings->most_ns / 1e6,
                session->drawn,
                session->drawn ? (double)session->draw_cpu_ns / 1e6 / (double)session->drawn : 0);
}

static int start(struct session *session, struct arguments *arguments,
                 const struct cli_operands *operands, struct sprof_error *error)
{
    struct sprof_str name = {0};
    session->is_kept = arguments->output != NULL;
    int status = cli_top_files_open(&session->files, arguments->output, error);
    if (!status && arguments->target.children && cli_add_descendants(&arguments->target.pids))
        status = sprof_error_memory(error);
    if (status)
        return status;
    const struct record_options record = options_of(arguments, operands, session->files.recording);
    status = name_target(arguments, operands, &name) || top_init(&session->top, name.text)
                 ? sprof_error_memory(error)
                 : cli_top_recorder_start(&session->recorder, &record, error);
    sprof_str_release(&name);
    if (!status)
        status = cli_top_reader_start(&session->reader, session->files.recording,
                                      arguments->interval_ns ? arguments->interval_ns : INTERVAL_NS,
                                      error);
    catch_signals();
    return status
               ? status
               : cli_top_terminal_open(&session->terminal, cli_wants_color(CLI_COLOR_AUTO), error);
}

/* The recording ends in order; without -o nothing of it is needed any more. */
static int finish(struct session *session, struct sprof_error *error)
{
    struct cli_top_recorder *recorder = &session->recorder;
    if (recorder->pid <= 0 && !session->ended)
        return 0;
    if (!session->ended) {
        kill(recorder->pid, SIGTERM);
        cli_top_recorder_wait(recorder);
    }
    const struct cli_top_end *end = &recorder->end;
    return end->code ? sprof_error_set(error, end->code, 0, "%s", end->message) : 0;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct session session = {.recorder = CLI_TOP_RECORDER_NONE};
    struct cli_top_readings readings = {0};
    int status = check(arguments, operands, error);
    if (status)
        return status;
    status = start(&session, arguments, operands, error);
    const bool shown = session.terminal != NULL;
    if (!status)
        status = show(&session, error);
    cli_top_terminal_close(session.terminal);
    cli_top_reader_free(session.reader, &readings);
    if (!status)
        status = finish(&session, error);
    if (!status && session.save_as)
        status = cli_top_files_save(&session.files, session.save_as, &terminal->log, error);
    if (status) {
        free(session.save_as);
        session.save_as = NULL;
    }
    if (shown)
        say_all(terminal, &session, arguments, &readings);
    cli_top_recorder_release(&session.recorder);
    cli_top_files_close(&session.files);
    cli_top_text_release(&session.messages);
    cli_top_text_release(&session.output);
    free(session.save_as);
    top_page_release(&session.page);
    top_release(&session.top);
    return status;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    cli_target_release(&arguments->target);
}

const struct cli_command cli_top_command = {
    .name = "top",
    .summary = "Record, and show in the terminal meanwhile where the time goes",
    .operands = "[--] [COMMAND …]",
    .command_follows = true,
    .options = options,
    .details = "Keys: t tree, T threads, m modules, s sort by self or total, / search, z freeze,\n"
               "q quit, and ? for all of them. Quitting ends a COMMAND. What it wrote is shown\n"
               "after that, the last 64 KiB of it.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
