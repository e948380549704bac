/* sprof why: records a program for a while, and says in one screen what makes it slow. */
#include "why/why.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/process_tree.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "cli/why_count.h"
#include "cli/why_json.h"
#include "cli/why_watch.h"
#include "record/record.h"
#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_OUTPUT "why.db"

static const uint64_t look_ns = 3000000000;

enum { UNDECIDED = 3 }; /* the exit status */

struct arguments {
    struct cli_pids pids;
    bool children, overwrite, no_probes;
    uint64_t look_ns;
    const char *output, *input;
    bool as_json;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"pid", 'p', "PID|NAME[,…]", "attach to running processes, all their threads", FIELD(pids),
     cli_set_pids},
    {"children", 0, NULL, "with -p: and to the processes that these have started", FIELD(children),
     cli_set_flag},
    {"seconds", 0, "T", "look for so long (attached: 3, up to 9 where little happens)",
     FIELD(look_ns), cli_set_duration},
    {"output", 'o', "FILE", "the recording that is kept (why.db); an existing one becomes FILE.old",
     FIELD(output), cli_set_text},
    {"overwrite", 0, NULL, "keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {"no-probes", 0, NULL, "with -p: count no calls; nothing is put into the process",
     FIELD(no_probes), cli_set_flag},
    {"input", 'i', "FILE", "answer from a recording of before", FIELD(input), cli_set_text},
    {"format", 0, "text|json", "for people (text), or for programs", FIELD(as_json),
     cli_set_text_or_json},
    {0},
};

static int check(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    const bool attaches = arguments->pids.list.count;
    if (arguments->input && (attaches || operands->count || arguments->look_ns ||
                             arguments->output || arguments->overwrite))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "-i reads a recording, and looks at no program: leave out the "
                               "command, -p, -o, --overwrite and --seconds");
    if (arguments->input)
        return 0;
    if (attaches && operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a command is launched, -p attaches: give one of them");
    if (!attaches && !operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to look at: give a command (`sprof why -- PROGRAM`) or "
                               "-p PID");
    if (arguments->no_probes && !attaches)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--no-probes belongs to -p: a command is only sampled");
    if (arguments->children && !attaches)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "--children belongs to -p: what a command starts is looked at anyway");
    return 0;
}

/* == The answer == */

/* Where it came from. */
struct origin {
    const char *recording;
    uint64_t began_ns; /* CLOCK_MONOTONIC; 0: it was recorded before */
    const char *unseen;
    bool has_ended;
    const struct cli_why_count *count; /* NULL: no calls are counted */
    const char *counts;                /* its file, as a shell would read it */
};

static void describe(const struct origin *origin, struct why_circumstances *circumstances)
{
    double load = -1;
    if (!origin->began_ns || getloadavg(&load, 1) != 1)
        load = -1;
    *circumstances = (struct why_circumstances){
        .recording = origin->recording,
        .load = load,
        .cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
        .took_s =
            origin->began_ns ? (double)(sprof_clock_monotonic_ns() - origin->began_ns) / 1e9 : 0,
        .unseen = origin->unseen,
        .has_ended = origin->has_ended,
    };
}

static int write_text(const struct why_table *table, const struct why_verdict *verdict,
                      const struct why_circumstances *circumstances)
{
    struct sprof_str text = {0};
    const int status = why_text(&text, table, verdict, circumstances);
    if (!status)
        fputs(text.text, stdout);
    sprof_str_release(&text);
    return status;
}

/* What is not counted is not known, and no failure. */
static void add_counts(const struct origin *origin, const struct why_table *table,
                       struct why_verdict *verdict, struct why_circumstances *circumstances,
                       struct sprof_error *uncounted)
{
    const bool may_be_pair = verdict->answer == WHY_FLAT || verdict->answer == WHY_STARVED;
    if (!origin->count || (verdict->answer != WHY_FUNCTION && !may_be_pair))
        return;
    const int status =
        cli_why_count(origin->count, table, verdict, &circumstances->stopped_ns, uncounted);
    uncounted->message[strcspn(uncounted->message, "\n")] = 0;
    circumstances->counts = status ? NULL : origin->counts;
    circumstances->uncounted = status < 0 ? uncounted->message : NULL;
}

/* Returns the exit status, or a negative code. */
static int answer(struct store *store, const struct arguments *arguments,
                  const struct origin *origin, struct sprof_error *error)
{
    struct why_table table = {0};
    struct why_verdict verdict = {0};
    struct why_circumstances circumstances;
    int status = report_why_table(store, &table, error);
    if (!status && why_judge(&verdict, &table))
        status = sprof_error_memory(error);
    describe(origin, &circumstances);
    struct sprof_error uncounted = {0};
    if (!status)
        add_counts(origin, &table, &verdict, &circumstances, &uncounted);
    if (!status && (arguments->as_json ? cli_why_json(stdout, &table, &verdict, &circumstances)
                                       : write_text(&table, &verdict, &circumstances)))
        status = sprof_error_memory(error);
    if (!status)
        status = cli_finish_output(error);
    const bool is_decided = verdict.answer != WHY_TOO_FEW && verdict.answer != WHY_NOTHING_SEEN;
    why_verdict_release(&verdict);
    why_table_release(&table);
    return status ? status : is_decided ? 0 : UNDECIDED;
}

/* == The recording == */

/* Standard output is for the answer: a command gets standard error instead. */
static int open_session(struct record_session **session, const struct record_options *record,
                        struct sprof_error *error)
{
    const int output = record->command ? dup(STDOUT_FILENO) : -1;
    if (output >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    const int status = record_open(session, record, error);
    if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        close(output);
    }
    return status;
}

/* Opens the best recording that may be made here: CPU time and waits; samples by time; CPU time
 * alone. `unseen` holds why it is not the first. */
static int open_best(struct record_session **session, struct record_options *record,
                     struct sprof_error *unseen, struct sprof_error *error)
{
    record->off_cpu = true;
    int status = open_session(session, record, unseen);
    if (status != SPROF_EPERMISSION && status != SPROF_EUNSUPPORTED) {
        *error = *unseen;
        return status;
    }
    record->off_cpu = false;
    record->wall_clock = true;
    status = open_session(session, record, error);
    if (status != SPROF_EPERMISSION && status != SPROF_EUNSUPPORTED)
        return status;
    record->wall_clock = false;
    *error = (struct sprof_error){0};
    return open_session(session, record, error);
}

static struct record_options options_of(struct cli_terminal *terminal,
                                        const struct arguments *arguments,
                                        const struct cli_operands *operands)
{
    const bool launches = operands->count;
    return (struct record_options){
        .mode = MODEL_MODE_FULL,
        .output = arguments->output ? arguments->output : DEFAULT_OUTPUT,
        .overwrite = arguments->overwrite,
        .command = launches ? operands->items : NULL,
        .pids = arguments->pids.list.items,
        .pid_count = arguments->pids.list.count,
        .duration_ns = arguments->look_ns ? arguments->look_ns
                       : launches         ? 0
                                          : 3 * look_ns,
        .ends_command = true,
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
    };
}

static void say_end(struct cli_terminal *terminal, const struct record_result *result)
{
    if (!result->has_wait_status)
        return;
    if (WIFSIGNALED(result->wait_status))
        cli_say(terminal, "the command was ended by signal %d", WTERMSIG(result->wait_status));
    else if (WEXITSTATUS(result->wait_status))
        cli_say(terminal, "the command ended with status %d", WEXITSTATUS(result->wait_status));
}

static bool have_ended(const struct cli_pids *pids)
{
    for (size_t i = 0; i < pids->list.count; i++)
        if (!kill(pids->list.items[i], 0) || errno != ESRCH)
            return false;
    return true;
}

static int look(struct cli_terminal *terminal, const struct arguments *arguments,
                const struct cli_operands *operands, struct sprof_error *error)
{
    struct record_options record = options_of(terminal, arguments, operands);
    struct record_session *session;
    struct record_result result = {0};
    struct sprof_error unseen = {0};
    struct sprof_arena texts = {0};
    struct cli_why_watch watch;
    const uint64_t began_ns = sprof_clock_monotonic_ns();
    int status = open_best(&session, &record, &unseen, error);
    if (status)
        return status;
    cli_signals_catch(session, record_command_pid(session));
    cli_say_pids(terminal, &arguments->pids);
    const bool adapts = !arguments->look_ns && !operands->count;
    if (adapts)
        cli_why_watch_start(&watch, session, &arguments->pids, look_ns);
    status = record_run(session, &result, error);
    if (adapts)
        cli_why_watch_end(&watch);
    cli_signals_forget_session();
    if (!status) {
        unseen.message[strcspn(unseen.message, "\n")] = 0;
        say_end(terminal, &result);
        struct sprof_str counted = {0};
        sprof_str_appendf(&counted, "%s.calls", record.output);
        const struct cli_why_count count = {&arguments->pids, counted.text, SPROF_VERSION};
        const struct origin origin = {
            .recording = sprof_command_text(&texts, (char *const[]){(char *)record.output, NULL}),
            .count = operands->count || arguments->no_probes || !counted.text ? NULL : &count,
            .counts = sprof_command_text(&texts, (char *const[]){counted.text, NULL}),
            .began_ns = began_ns,
            .unseen = *unseen.message ? unseen.message : NULL,
            .has_ended = operands->count ? !arguments->look_ns : have_ended(&arguments->pids),
        };
        status = answer(record_store(session), arguments, &origin, error);
        sprof_str_release(&counted);
    }
    sprof_arena_release(&texts);
    record_free(session);
    return status;
}

static int read_recording(struct cli_terminal *terminal, const struct arguments *arguments,
                          struct sprof_error *error)
{
    struct store *store = NULL;
    struct sprof_arena texts = {0};
    int status = cli_open_recording(&store, arguments->input, terminal, error);
    if (!status) {
        const struct origin origin = {.recording = sprof_command_text(
                                          &texts, (char *const[]){(char *)arguments->input, NULL})};
        status = answer(store, arguments, &origin, error);
    }
    if (store)
        store_close(store, NULL);
    sprof_arena_release(&texts);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    int status = check(arguments, operands, error);
    if (status)
        return status;
    if (arguments->children && cli_add_descendants(&arguments->pids))
        return sprof_error_memory(error);
    return arguments->input ? read_recording(terminal, arguments, error)
                            : look(terminal, arguments, operands, error);
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->pids.list);
}

const struct cli_command cli_why_command = {
    .name = "why",
    .summary = "Look at a program for a while, and say what makes it slow",
    .operands = "[--] [COMMAND …]",
    .command_follows = true,
    .options = options,
    .details =
        "The first line names the function, and what it does or waits for. The figures below it "
        "can\n"
        "be seen again by the commands under \"evidence\". What a COMMAND writes to standard "
        "output\n"
        "goes to standard error, so that the answer stands alone. With --seconds a COMMAND that\n"
        "runs on is ended.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
