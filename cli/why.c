/* sprof why: records a program for a while, and says in one screen what makes it slow. */
#include "why/why.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/process_tree.h"
#include "cli/selection.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "cli/why_count.h"
#include "cli/why_json.h"
#include "cli/why_open.h"
#include "cli/why_slow.h"
#include "cli/why_watch.h"
#include "record/record.h"
#include "report/report.h"
#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_OUTPUT "why.db"

static const uint64_t look_ns = 3000000000, slow_look_ns = 7000000000;

enum { UNDECIDED = 3 }; /* the exit status */

struct arguments {
    struct cli_pids pids;
    struct cli_during slow;
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
    {"slow", 0, "RE[,over T]",
     "say why some calls of these functions are slow, and with which values (over T: slow are "
     "those "
     "that take longer)",
     FIELD(slow), cli_set_during},
    {"seconds", 0, "T",
     "how long to look (attached: 3, up to 9 where little happens; with --slow 7)", FIELD(look_ns),
     cli_set_duration},
    {"output", 'o', "FILE",
     "the recording that is kept (why.db); an existing one becomes FILE.old.1", FIELD(output),
     cli_set_text},
    {"overwrite", 0, NULL, "keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {"no-probes", 0, NULL, "with -p: count no calls; nothing is put into the process",
     FIELD(no_probes), cli_set_flag},
    {"input", 'i', "FILE", "answer from an earlier recording", FIELD(input), cli_set_text},
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
    if (arguments->no_probes && *arguments->slow.expression)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--slow takes the times of calls, by probes: leave out --no-probes");
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
    const char *calls, *calls_text;    /* the recording of --slow, and as a shell would read it */
    uint64_t stopped_ns;               /* for which threads stood still, at most */
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
        .calls = origin->calls_text,
        .stopped_ns = origin->stopped_ns,
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
    uint64_t stopped_ns = 0;
    const int status = cli_why_count(origin->count, table, verdict, &stopped_ns, uncounted);
    if (stopped_ns > circumstances->stopped_ns)
        circumstances->stopped_ns = stopped_ns;
    uncounted->message[strcspn(uncounted->message, "\n")] = 0;
    circumstances->counts = status ? NULL : origin->counts;
    circumstances->uncounted = status < 0 ? uncounted->message : NULL;
}

static int judge_slow(struct why_verdict *verdict, struct why_table *table, const char *path,
                      struct why_calls *calls, struct sprof_error *error)
{
    struct store *store = NULL;
    int status = store_open_read(&store, path, error);
    if (!status)
        status = report_why_calls(store, table, calls, error);
    if (!status && why_judge_slow(verdict, table, calls))
        status = sprof_error_memory(error);
    if (store)
        store_close(store, NULL);
    return status;
}

static bool is_decided(const struct why_verdict *verdict)
{
    return verdict->answer != WHY_TOO_FEW && verdict->answer != WHY_NOTHING_SEEN &&
           verdict->answer != WHY_UNSEEN && verdict->answer != WHY_FEW_CALLS;
}

/* Returns the exit status, or a negative code. */
static int answer(struct store *store, const struct arguments *arguments,
                  const struct origin *origin, struct sprof_error *error)
{
    struct why_table table = {0};
    struct why_verdict verdict = {0};
    struct why_circumstances circumstances;
    const uint64_t over_ns = arguments->slow.least_ns;
    struct why_calls calls = {.of = arguments->slow.expression,
                              .over_ns = over_ns,
                              .complete_ns = over_ns ? over_ns : CLI_WHY_LONG_NS};
    int status = report_why_table(store, &table, error);
    if (!status && origin->calls)
        status = judge_slow(&verdict, &table, origin->calls, &calls, error);
    else if (!status && why_judge(&verdict, &table))
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
    const bool decided = is_decided(&verdict);
    why_verdict_release(&verdict);
    why_calls_release(&calls);
    why_table_release(&table);
    return status ? status : decided ? 0 : UNDECIDED;
}

/* == The recording == */

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

/* Records samples, and ends as soon as there are enough. */
static int record_samples(struct cli_terminal *terminal, const struct arguments *arguments,
                          struct record_options *record, struct cli_why_looking *looking,
                          struct sprof_error *error)
{
    struct cli_why_watch watch;
    const bool adapts = !arguments->look_ns && !record->command;
    int status = cli_why_open(&looking->session, record, &looking->unseen, error);
    if (status)
        return status;
    cli_signals_catch(looking->session, record_command_pid(looking->session));
    cli_say_pids(terminal, &arguments->pids);
    if (adapts)
        cli_why_watch_start(&watch, looking->session, &arguments->pids, look_ns);
    status = record_run(looking->session, &looking->result, error);
    if (adapts)
        cli_why_watch_end(&watch);
    cli_signals_forget_session();
    return status;
}

/* Another file beside the recording. NULL when out of memory. */
static char *file_beside(const char *recording, const char *end)
{
    struct sprof_str path = {0};
    sprof_str_appendf(&path, "%s.%s", recording, end);
    return path.failed ? NULL : path.text;
}

static int look(struct cli_terminal *terminal, const struct arguments *arguments,
                const struct cli_operands *operands, struct sprof_error *error)
{
    struct record_options record = options_of(terminal, arguments, operands);
    struct cli_why_looking looking = {0};
    struct sprof_arena texts = {0};
    const uint64_t began_ns = sprof_clock_monotonic_ns();
    const bool is_slow = *arguments->slow.expression;
    char *counted = file_beside(record.output, "calls"),
         *calls = file_beside(record.output, "slow");
    int status = counted && calls ? 0 : sprof_error_memory(error);
    if (!status && is_slow)
        status = cli_why_slow(
            &(struct cli_why_slow){.of = arguments->slow.expression,
                                   .over_ns = arguments->slow.least_ns,
                                   .output = calls,
                                   .duration_ns = arguments->look_ns ? arguments->look_ns
                                                  : record.pid_count ? slow_look_ns
                                                                     : 0},
            &record, &looking, error);
    else if (!status)
        status = record_samples(terminal, arguments, &record, &looking, error);
    if (!status) {
        looking.unseen.message[strcspn(looking.unseen.message, "\n")] = 0;
        say_end(terminal, &looking.result);
        const struct cli_why_count count = {&arguments->pids, counted, SPROF_VERSION};
        const struct origin origin = {
            .recording = sprof_command_text(&texts, (char *const[]){(char *)record.output, NULL}),
            .count = operands->count || arguments->no_probes ? NULL : &count,
            .counts = sprof_command_text(&texts, (char *const[]){counted, NULL}),
            .calls = is_slow ? calls : NULL,
            .calls_text = is_slow ? sprof_command_text(&texts, (char *const[]){calls, NULL}) : NULL,
            .stopped_ns = looking.stopped_ns,
            .began_ns = began_ns,
            .unseen = *looking.unseen.message ? looking.unseen.message : NULL,
            .has_ended = operands->count ? !arguments->look_ns : have_ended(&arguments->pids),
        };
        status = answer(record_store(looking.session), arguments, &origin, error);
    }
    free(counted);
    free(calls);
    sprof_arena_release(&texts);
    if (looking.session)
        record_free(looking.session);
    return status;
}

static int read_recording(struct cli_terminal *terminal, const struct arguments *arguments,
                          struct sprof_error *error)
{
    struct store *store = NULL;
    struct sprof_arena texts = {0};
    const bool is_slow = *arguments->slow.expression;
    char *calls = is_slow ? file_beside(arguments->input, "slow") : NULL;
    int status = is_slow && !calls ? sprof_error_memory(error) : 0;
    if (!status)
        status = cli_open_recording(&store, arguments->input, terminal, error);
    if (!status) {
        const struct origin origin = {
            .recording =
                sprof_command_text(&texts, (char *const[]){(char *)arguments->input, NULL}),
            .calls = calls,
            .calls_text = calls ? sprof_command_text(&texts, (char *const[]){calls, NULL}) : NULL,
        };
        status = answer(store, arguments, &origin, error);
    }
    free(calls);
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
