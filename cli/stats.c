/* sprof stats: a table of the functions that were traced, with calls and times. */
#include "cli/stats.h"
#include "cli/commands.h"
#include "cli/controlled.h"
#include "cli/follow.h"
#include "cli/open.h"
#include "cli/pager.h"
#include "cli/style.h"
#include "cli/values.h"
#include "control/control.h"

#include <stddef.h>
#include <string.h>

struct arguments {
    const char *input, *sort, *show, *function, *module, *thread, *process;
    enum report_view by;
    bool ascending, follow, coverage, unexecuted, uncalled, wide, warnings, open, history;
    uint64_t run, limit, slowest, interval_ns;
    struct cli_style style;
    struct cli_pids pids;
    char output[INJECT_OUTPUT_BYTES]; /* of that process */
};

static int set_by(void *field, const char *value, struct sprof_error *error)
{
    static const struct {
        const char *word;
        enum report_view view;
    } words[] = {{"function", REPORT_CALLS},
                 {"process", REPORT_CALLS_BY_PROCESS},
                 {"thread", REPORT_CALLS_BY_THREAD},
                 {"caller", REPORT_CALLS_BY_CALLER},
                 {"outside", REPORT_CALLS_OUTSIDE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].word, value)) {
            *(enum report_view *)field = words[i].view;
            return 0;
        }
    return sprof_error_set(
        error, SPROF_EUSAGE, 0,
        "rows cannot be by `%s`: give function, process, thread, caller or outside", value);
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"pid", 'p', "PID", "of the trace of this process, as it is now", FIELD(pids), cli_set_pids},
    {"run", 0, "N", "of this run (the newest that was traced)", FIELD(run), cli_set_positive},
    {"function", 0, "REGEX", "only functions in whose name it is found", FIELD(function),
     cli_set_text},
    {"module", 0, "GLOB", "only functions of these modules", FIELD(module), cli_set_text},
    {"thread", 0, "NAME|TID", "only what these threads called; a name may be a glob", FIELD(thread),
     cli_set_text},
    {"process", 0, "NAME|PID", "only what these processes called", FIELD(process), cli_set_text},
    {"sort", 0, "COLUMN[:asc]", "self, total, calls, average, p99, max, function, … (self)",
     FIELD(sort), cli_set_text},
    {"by", 0, "function|process|thread|caller|outside",
     "a row for each function (function), or for each function of a process, thread or caller; or "
     "for functions outside of the traced modules that these called",
     FIELD(by), set_by},
    {"show", 0, "COLUMN,…", "these columns, by their key or title", FIELD(show), cli_set_text},
    {"asc", 0, NULL, "smallest first", FIELD(ascending), cli_set_flag},
    {"slowest", 0, "N", "the N functions with the longest single call", FIELD(slowest),
     cli_set_positive},
    {"uncalled", 0, NULL, "also functions with a probe that were never called", FIELD(uncalled),
     cli_set_flag},
    {"wide", 0, NULL, "all columns, for people too: addresses, how it is probed, …", FIELD(wide),
     cli_set_flag},
    {"open", 0, NULL, "calls that have not ended, by thread; of logged and kept ones since when",
     FIELD(open), cli_set_flag},
    {"coverage", 0, NULL, "which functions were called, in all runs or the one of --run",
     FIELD(coverage), cli_set_flag},
    {"unexecuted", 0, NULL, "… and of these those that were not", FIELD(unexecuted), cli_set_flag},
    {"warnings", 0, NULL,
     "what --warn-over, --watchdog, --stack-check and --heap-check have warned of", FIELD(warnings),
     cli_set_flag},
    {"history", 0, NULL,
     "what was in force when: options, chosen functions, and what became of probes and by what",
     FIELD(history), cli_set_flag},
    {"limit", 'n', "N", "at most so many rows; 0: all (for people: 40)", FIELD(limit),
     cli_set_rows},
    CLI_STYLE_OPTIONS(FIELD(style)),
    {"follow", 0, NULL, "show the figures anew while the command runs; Ctrl-C ends", FIELD(follow),
     cli_set_flag},
    {"interval", 0, "T", "with --follow: how often (2s)", FIELD(interval_ns), cli_set_duration},
    {0},
};

/* == The command == */

static struct report_request request_of(const struct arguments *arguments, enum report_view view,
                                        struct sprof_str *sort)
{
    const bool is_wide = arguments->wide && !arguments->style.columns;
    sprof_str_appendf(sort, "%s%s",
                      arguments->slowest ? "max"
                      : arguments->sort  ? arguments->sort
                                         : "self",
                      arguments->ascending ? ":asc" : "");
    return (struct report_request){
        .selection =
            {
                .run_id = (uint32_t)arguments->run,
                .function = arguments->function,
                .module = arguments->module,
                .thread = arguments->thread,
                .process = arguments->process,
            },
        .table =
            {
                .view = view,
                .sort = arguments->sort || arguments->ascending || arguments->slowest ? sort->text
                                                                                      : NULL,
                .show = arguments->show,
                .limit = (size_t)(arguments->slowest ? arguments->slowest : arguments->limit),
                .all_columns = arguments->wide,
                .unexecuted = arguments->unexecuted,
                .uncalled = arguments->uncalled,
            },
        .style =
            {
                .format = arguments->style.format,
                .columns = is_wide ? UINT16_MAX : cli_columns(stdout, arguments->style.columns),
                .color = cli_wants_color(arguments->style.color),
                .full_names = arguments->style.full_names,
            },
    };
}

static enum report_view view_of(const struct arguments *arguments)
{
    return arguments->coverage   ? REPORT_COVERAGE
           : arguments->warnings ? REPORT_WARNINGS
           : arguments->open     ? REPORT_OPEN_CALLS
           : arguments->history  ? REPORT_HISTORY
                                 : arguments->by;
}

static int show(void *context, FILE *out, struct store *store, struct sprof_error *error)
{
    const struct arguments *arguments = context;
    struct sprof_str sort = {0};
    struct report_request request = request_of(arguments, view_of(arguments), &sort);
    int status =
        sort.failed ? sprof_error_memory(error) : report_write(out, store, &request, error);
    const bool is_brief = !request.style.format || request.style.format->brief;
    if (!status && arguments->follow && is_brief && request.table.view == arguments->by) {
        request.table = (struct report_table_options){.view = REPORT_WARNINGS, .newest = true};
        status = report_write(out, store, &request, error);
    }
    sprof_str_release(&sort);
    return status;
}

int cli_show_stats(const char *path, const struct report_format *format,
                   struct cli_terminal *terminal, struct sprof_error *error)
{
    struct arguments arguments = {.input = path, .by = REPORT_CALLS, .style = {.format = format}};
    struct store *store;
    int status = cli_open_recording(&store, path, terminal, error);
    if (status)
        return status;
    status = show(&arguments, stdout, store, error);
    store_close(store, NULL);
    return status;
}

/* The recording that a process is traced into, up to now. Its tracer may have been killed. */
static int choose_process(struct arguments *arguments, struct sprof_error *error)
{
    bool is_alive;
    struct sprof_str answer = {0};
    if (arguments->pids.list.count > 1 || arguments->input)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "give one -p PID, or one recording");
    int status = cli_find_controlled(*arguments->pids.list.items, CLI_CONTROL_TRACE,
                                     arguments->output, &is_alive, error);
    arguments->input = arguments->output;
    if (status == SPROF_ESTATE)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d is not being traced, or not by you: `sprof trace -p %d` "
                               "traces it, `sprof stats FILE` shows a trace that is over",
                               (int)*arguments->pids.list.items, (int)*arguments->pids.list.items);
    if (!status && is_alive)
        status = control_send(arguments->input, CONTROL_OF_CALLER, "stats", &answer, error);
    sprof_str_release(&answer);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct cli_pager pager = {0};
    struct store *store;
    if (!arguments->by)
        arguments->by = REPORT_CALLS;
    arguments->coverage |= arguments->unexecuted; /* only coverage has them */
    if (operands->count > 1 || (operands->count && arguments->input))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one recording: `sprof stats sprof.db`");
    if (arguments->interval_ns && !arguments->follow)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--interval needs --follow");
    const bool sorts = arguments->sort || arguments->ascending || arguments->slowest;
    if (arguments->slowest && (arguments->sort || arguments->ascending || arguments->limit))
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "--slowest sets the order and the number of rows: leave out --sort, --asc and --limit");
    if (arguments->by != REPORT_CALLS && view_of(arguments) != arguments->by)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--by divides figures: leave out --%s",
                               arguments->coverage  ? "coverage"
                               : arguments->open    ? "open"
                               : arguments->history ? "history"
                                                    : "warnings");
    if (arguments->open + arguments->history + (arguments->coverage || arguments->warnings) > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--open, --history, --coverage and --warnings are tables of their "
                               "own: give one of them");
    if (arguments->uncalled && (view_of(arguments) != REPORT_CALLS || arguments->thread ||
                                arguments->process || arguments->slowest))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--uncalled shows figures of functions over all threads: "
                               "--by, --thread, --process, --slowest and other tables have only "
                               "what was called; `--coverage --unexecuted` is a table of its own");
    if (arguments->history && (sorts || arguments->thread || arguments->process))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--history is of the whole trace, in the order of time: leave out "
                               "--sort, --asc, --slowest, --thread and --process");
    if (arguments->by == REPORT_CALLS_OUTSIDE && (arguments->thread || arguments->process))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--by outside is of all threads: leave out --%s",
                               arguments->thread ? "thread" : "process");
    if (arguments->coverage && sorts)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "--coverage is sorted by the first call: leave out --sort, --asc and --slowest");
    if (arguments->warnings && (sorts || arguments->coverage))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--warnings is in the order of time: leave out --sort, --asc, "
                               "--slowest and --coverage");
    if (operands->count)
        arguments->input = operands->items[0];
    if (arguments->pids.list.count) {
        const int found = choose_process(arguments, error);
        if (found)
            return found;
    }
    if (arguments->follow) {
        const struct cli_follow follow = {.path = arguments->input,
                                          .interval_ns = arguments->interval_ns,
                                          .sql = true,
                                          .show = show,
                                          .context = arguments};
        return cli_follow(&follow, terminal, error);
    }
    int status = cli_open_recording(&store, arguments->input, terminal, error);
    if (status)
        return status;
    if (!arguments->style.no_pager)
        cli_pager_start(&pager);
    status = show(arguments, stdout, store, error);
    cli_pager_finish(&pager);
    store_close(store, NULL);
    return status;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->pids.list);
}

const struct cli_command cli_stats_command = {
    .name = "stats",
    .summary = "Show calls and times of the functions that were traced",
    .operands = "[FILE]",
    .options = options,
    .details =
        "self: without the traced functions that it called; total: with them, of outermost calls;\n"
        "average, min, p50, p99 and max: of one call with what it called. A function whose exits\n"
        "cannot be seen has calls only. self-percent is of the self time of all probed functions,\n"
        "total-percent of the wall time of the threads that called one, without pauses. untimed:\n"
        "its calls of functions that are only counted: its self time includes theirs.\n"
        "tails: calls that ended with the function they called last, by a jump. tail-cuts:\n"
        "tails whose total ends at the jump: 64 others had jumped before, or one of the same\n"
        "function.\n"
        "heap-self, heap-total, allocations: bytes that it allocated itself, with what it called, "
        "and\n"
        "in how many blocks, where `sprof trace --heap` measured that.\n"
        "uncertain: calls whose self time may include a coroutine's suspension.\n"
        "Figures of a command that runs are at most a second old.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
