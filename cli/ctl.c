/* sprof ctl: controls a recording of samples, or of calls, while it runs. */
#include "cli/commands.h"
#include "cli/controlled.h"
#include "cli/open.h"
#include "cli/stats.h"
#include "cli/values.h"
#include "control/control.h"
#include "inject/inject.h"
#include "report/report.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *input;
    struct cli_pids pids;
    char output[INJECT_OUTPUT_BYTES]; /* of that process */
    bool record, trace, frame_app;
    const struct report_format *format; /* NULL: text */
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE",
     "the recording that is being made (inside a recorded command its own, else sprof.db)",
     FIELD(input), cli_set_text},
    {"pid", 'p', "PID", "the trace or recording of this process, instead of its file", FIELD(pids),
     cli_set_pids},
    {"record", 0, NULL, "with -p: its recording of samples, where it is traced, too", FIELD(record),
     cli_set_flag},
    {"trace", 0, NULL, "with -p: its trace, where it is sampled, too", FIELD(trace), cli_set_flag},
    {"frame", 0, "app", "with mode pc: the innermost application frame instead", FIELD(frame_app),
     cli_set_frame},
    {"format", 0, "text|csv|json|markdown",
     "of status, list, keep and stats: for people (text), or for programs", FIELD(format),
     cli_set_table_format},
    {0},
};

static const char *const words[] = {
    "start", "on",    "stop",   "off",  "status",    "clear", "mode",   "rate", "mark", "probe",
    "list",  "widen", "reload", "keep", "keep-next", "stats", "detach", "end",  NULL};

static int check_word(const char *word, struct sprof_error *error)
{
    for (size_t i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return 0;
    const int nearest = sprof_suggest_nearest(word, words);
    return sprof_error_set(
        error, SPROF_EUSAGE, 0,
        "unknown command `%.100s`%s%s%s; there are: start, stop, status, clear, mode MODE, "
        "rate HZ, mark NAME, end, and for traces probe, list, keep, keep-next, widen, reload, "
        "stats "
        "and detach",
        word, nearest < 0 ? "" : ": did you mean `", nearest < 0 ? "" : words[nearest],
        nearest < 0 ? "" : "`?");
}

static bool is_for_programs(const struct arguments *arguments)
{
    return arguments->format && strcmp(arguments->format->name, "text") != 0;
}

/* The operands as one text; a time behind start becomes nanoseconds. */
static int make_request(const struct arguments *arguments, const struct cli_operands *operands,
                        struct sprof_str *request, struct sprof_error *error)
{
    const char *word = operands->items[0];
    const bool starts = !strcmp(word, "start") || !strcmp(word, "on");
    const bool is_mode_pc =
        operands->count == 2 && !strcmp(word, "mode") && !strcmp(operands->items[1], "pc");
    int status = check_word(word, error);
    for (int i = 0; i < operands->count && !status; i++) {
        const char *operand = operands->items[i];
        uint64_t duration_ns = 0;
        if (i && starts && isdigit((unsigned char)*operand)) {
            status = cli_set_duration(&duration_ns, operand, error);
            sprof_str_appendf(request, " %llu", (unsigned long long)duration_ns);
        } else {
            sprof_str_appendf(request, "%s%s", i ? " " : "", operand);
        }
    }
    if (!status && arguments->frame_app && !is_mode_pc)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "--frame app belongs to `mode pc`: give both or neither");
    if (arguments->frame_app)
        sprof_str_append(request, " --frame app");
    if (!status && is_for_programs(arguments) && !strcmp(word, "status"))
        sprof_str_append(request, " fields");
    if (!strcmp(word, "detach") && operands->count == 1 && arguments->pids.list.count)
        sprof_str_appendf(request, " %d", (int)*arguments->pids.list.items);
    return status ? status : request->failed ? sprof_error_memory(error) : 0;
}

/* == Answers that are tables == */

enum { COLUMNS_MOST = 32 };

/* Cuts a line of cells, which tabs separate. */
static size_t cut(char *line, const char *cells[COLUMNS_MOST])
{
    size_t count = 0;
    for (char *at = line; at && count < COLUMNS_MOST;) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab++ = '\0';
        cells[count++] = at;
        at = tab;
    }
    return count;
}

static char *cut_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return line;
}

/* The first line names the columns; numbers have a # behind their name. The last line has an end,
 * unless the answer was cut. */
static int show_table(char *text, const struct report_format *format, struct sprof_error *error)
{
    const char *names[COLUMNS_MOST], *cells[COLUMNS_MOST];
    struct report_listing_column columns[COLUMNS_MOST];
    const struct report_style style = {.format = format, .columns = cli_columns(stdout, 0)};
    char *header = cut_line(&text), *line;
    const size_t count = header ? cut(header, names) : 0;
    for (size_t i = 0; i < count; i++) {
        char *mark = strchr(header + (names[i] - header), '#');
        columns[i] = (struct report_listing_column){
            names[i], mark ? REPORT_CELL_NUMBER : REPORT_CELL_TEXT, false};
        if (mark)
            *mark = '\0';
    }
    struct report_listing *listing = report_listing_new(columns, count);
    while (listing && count && (line = cut_line(&text)))
        if (cut(line, cells) == count)
            report_listing_row(listing, cells);
    int status =
        listing ? report_listing_write(listing, stdout, &style, error) : sprof_error_memory(error);
    if (!status && *text)
        status = sprof_error_set(error, SPROF_ELIMIT, 0,
                                 "there is more than an answer holds: the first %zu are shown",
                                 report_listing_rows(listing));
    report_listing_free(listing);
    return status;
}

/* == The command == */

static int show(const struct arguments *arguments, const char *word, struct sprof_str *answer,
                struct cli_terminal *terminal, struct sprof_error *error)
{
    if (!strcmp(word, "stats"))
        return cli_show_stats(arguments->input, arguments->format, terminal, error);
    const bool lists_rules =
        !strcmp(word, "keep") && answer->text && !strncmp(answer->text, "number#", 7);
    if (!strcmp(word, "list") || lists_rules ||
        (!strcmp(word, "status") && is_for_programs(arguments)))
        return show_table(answer->text, arguments->format, error);
    for (char *line = answer->text, *next; line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = '\0';
        sprof_utf8_put(stdout, line);
        putchar('\n');
    }
    return 0;
}

/* A recorded command finds the socket of its recorder, FILE.ctl, in its environment. */
static int choose_recording(struct arguments *arguments, struct sprof_str *path)
{
    static const char suffix[] = ".ctl";
    const char *socket = getenv("SPROF_CONTROL");
    const size_t length = socket ? strlen(socket) : 0, end = sizeof suffix - 1;
    const bool is_recorded = length > end && !strcmp(socket + length - end, suffix);
    if (arguments->input)
        return 0;
    sprof_str_appendf(path, "%.*s", (int)(is_recorded ? length - end : 0), socket ? socket : "");
    arguments->input = is_recorded ? path->text : CLI_DEFAULT_RECORDING;
    return path->failed ? SPROF_ENOMEM : 0;
}

/* Some commands are for one of them only. */
static enum cli_controlled wanted_of(const struct arguments *arguments, const char *word)
{
    static const char *const of_traces[] = {"probe", "list",   "keep",  "keep-next",
                                            "widen", "reload", "stats", "detach"};
    if (arguments->record || arguments->trace)
        return arguments->record ? CLI_CONTROL_RECORD : CLI_CONTROL_TRACE;
    for (size_t i = 0; i < sizeof of_traces / sizeof *of_traces; i++)
        if (!strcmp(word, of_traces[i]))
            return CLI_CONTROL_TRACE;
    return strcmp(word, "rate") ? CLI_CONTROL_ANY : CLI_CONTROL_RECORD;
}

/* Chooses by process: its recorder has the file open. What a killed tracer has left can only be
 * taken out; *done: it was. */
static int choose_process(struct arguments *arguments, const char *word, bool *done,
                          struct cli_terminal *terminal, struct sprof_error *error)
{
    bool is_alive;
    if (arguments->pids.list.count > 1 || arguments->input)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "give one -p PID, or one -i FILE");
    const pid_t pid = *arguments->pids.list.items;
    const int status =
        cli_find_controlled(pid, wanted_of(arguments, word), arguments->output, &is_alive, error);
    arguments->input = arguments->output;
    const bool is_left =
        status == SPROF_ESTATE && !strcmp(word, "detach") && inject_has_left_agent(pid);
    *done = is_left || (!status && !is_alive && !strcmp(word, "detach"));
    if (is_left)
        return inject_clean_up(pid, &terminal->log, error);
    if (!status && is_alive && strcmp(word, "detach") != 0 &&
        inject_is_with_others(pid, arguments->output))
        cli_say(terminal, "process %d is traced with others, into %s: this holds for all of them",
                (int)pid, arguments->output);
    if (status || is_alive)
        return status;
    return *done ? inject_clean_up(pid, &terminal->log, error)
                 : sprof_error_set(
                       error, SPROF_ESTATE, 0,
                       "the sprof that traced process %d into %s was killed\n`sprof ctl -p %d "
                       "detach` takes the probes out",
                       (int)pid, arguments->output, (int)pid);
}

/* Where a trace is over whose probes have stayed they can be taken out of a process; *done: they
 * are. */
static int send_command(const struct arguments *arguments, const char *word, const char *request,
                        struct sprof_str *answer, bool *done, struct cli_terminal *terminal,
                        struct sprof_error *error)
{
    const pid_t from = arguments->pids.list.count ? CONTROL_OF_CALLER : CONTROL_NAMED;
    const int status = control_send(arguments->input, from, request, answer, error);
    const pid_t pid = arguments->pids.list.count ? *arguments->pids.list.items : 0;
    *done = status == SPROF_ESTATE && pid && !strcmp(word, "detach") && inject_is_over(pid);
    return *done ? inject_clean_up(pid, &terminal->log, error) : status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct sprof_str request = {0}, answer = {0}, path = {0};
    if (!operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give a command: start, stop, status, clear, mode MODE, rate HZ, "
                               "mark NAME or end, and for traces probe, list, keep, keep-next, "
                               "widen, reload, stats and "
                               "detach");
    int status = make_request(arguments, operands, &request, error);
    bool done = false;
    struct sprof_urgency until_the_end;
    sprof_urgency_wake_soon();
    sprof_urgency_raise(&until_the_end);
    if (!status && (arguments->record || arguments->trace) &&
        (!arguments->pids.list.count || arguments->record == arguments->trace))
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "--record and --trace choose between two that are made of one "
                                 "process: give one of them, and -p PID");
    if (!status && arguments->pids.list.count)
        status = choose_process(arguments, operands->items[0], &done, terminal, error);
    else if (!status && choose_recording(arguments, &path))
        status = sprof_error_memory(error);
    if (!status && !done)
        status = send_command(arguments, operands->items[0], request.text, &answer, &done, terminal,
                              error);
    if (done && !status)
        puts("the probes are out");
    if (!status && !done)
        status = show(arguments, operands->items[0], &answer, terminal, error);
    sprof_str_release(&request);
    sprof_str_release(&answer);
    sprof_str_release(&path);
    return status;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->pids.list);
}

const struct cli_command cli_ctl_command = {
    .name = "ctl",
    .summary = "Control a recording or a trace while it runs",
    .operands =
        "start [MODE] [T]|stop|status|clear|mode MODE|rate HZ|mark NAME|"
        "probe CHANGE …|list|keep [CHANGE]|keep-next [RE]|widen [RE]|reload|stats|detach|end",
    .rest_behind = {"probe", "keep"},
    .options = options,
    .details =
        "start (on) takes samples or measures calls, stop (off) ends that: target and\n"
        "recording go on, and the pause is not counted. Behind start, a mode says what is\n"
        "taken or measured from then on, and a time such as 10s when to stop again. clear drops\n"
        "what was recorded so far, as if it began now. mode changes what samples hold, rate how\n"
        "many there are a second. mark gives what follows a name. end ends the recording; a\n"
        "launched command goes on. Each change begins a new phase of the run (report --by phase,\n"
        "--phase N, --mark NAME). Over several modes a report is read in the least detailed of\n"
        "them.\n"
        "\n"
        "For traces: probe +RE adds the functions that the expression finds to those that are\n"
        "measured, also where the trace began without them; +children:RE[:DEPTH] adds what they\n"
        "call, too. probe -RE takes them out, also by addresses (+0xA-0xB in the process,\n"
        "+MODULE!0xA-0xB in a file). Each is a range with a number, which list shows, and is\n"
        "switched off and on by it: probe -#1,3-5 +#2. The last range that is on and holds a\n"
        "function decides; a range given again becomes the last. Calls that\n"
        "are in flight are measured to their end. keep RULE adds a rule as of trace --keep, also\n"
        "where there was none; -#N ends it, and without a change all are listed: the calls of its\n"
        "functions that it tested, how many of these met it, have a row, or were dropped for lack\n"
        "of room. keep-next RE keeps the next call of such functions; without RE, each rule with\n"
        "`next` keeps its next call. Each program of the trace keeps its own, which its forked\n"
        "processes share. stats shows the figures as they are now. widen\n"
        "begins the drill-down of a trace with --adaptive at once, for roots that RE finds. "
        "detach\n"
        "ends the trace and takes the probes out. With --children they stay in programs (end ends\n"
        "such a trace), and detach with -p takes them out of that one process, while others are\n"
        "traced on, as in a trace of several processes; with -p it does so, too, where sprof was\n"
        "killed while it traced the process.\n"
        "\n"
        "Only the user who records may do this, and root, who names another user's file with -i. "
        "A\n"
        "recorded script can control its own recording by `sprof ctl` without -i, a program with\n"
        "<sprof.h>.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
