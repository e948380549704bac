/* sprof report: tables of a recording. */
#include "report/report.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/key_list.h"
#include "cli/open.h"
#include "cli/pager.h"
#include "cli/selection.h"
#include "cli/style.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct cli_selection selection; /* first: see cli_release_rules */
    bool inclusive, modules, lines, threads, processes, edges, tree, bottom_up, kept, no_fold,
        follow, idle, wakers, wait_chains;
    uint64_t interval_ns;
    struct cli_keys by;
    const char *callers, *callees, *peek, *sort, *show, *request;
    uint64_t limit;
    bool limit_given;
    struct {
        double value;
        bool given;
    } min_percent;
    struct cli_style style;
};

/* --limit 0 means no limit, which differs from no --limit. */
static int set_limit(void *field, const char *value, struct sprof_error *error)
{
    struct arguments *arguments = field;
    arguments->limit_given = true;
    return cli_set_number(&arguments->limit, value, error);
}

static int set_min_percent(void *field, const char *value, struct sprof_error *error)
{
    struct arguments *arguments = field;
    arguments->min_percent.given = true;
    return cli_set_percent(&arguments->min_percent.value, value, error);
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"inclusive", 0, NULL, "by total (with what functions call) instead of self", FIELD(inclusive),
     cli_set_flag},
    {"by", 0, "KEY[,KEY…]",
     "a row for each run, host, process, command, user, cgroup, container, thread, cpu, event, "
     "state, wait, lock, holder, phase, module, "
     "function, file, line, address, or value of a tracepoint's field (field:NAME)",
     FIELD(by), cli_set_keys},
    {"modules", 0, NULL, "by module: executables and libraries", FIELD(modules), cli_set_flag},
    {"lines", 0, NULL, "by source line", FIELD(lines), cli_set_flag},
    {"threads", 0, NULL, "by thread", FIELD(threads), cli_set_flag},
    {"processes", 0, NULL, "by process", FIELD(processes), cli_set_flag},
    {"edges", 0, NULL, "calls: which function calls which", FIELD(edges), cli_set_flag},
    {"tree", 0, NULL,
     "call paths, from the root; with --by, --threads or --processes those of each", FIELD(tree),
     cli_set_flag},
    {"bottom-up", 0, NULL, "every function with the ways into it, its immediate callers first",
     FIELD(bottom_up), cli_set_flag},
    {"callers", 0, "FUNC", "the ways into a function, its immediate callers first", FIELD(callers),
     cli_set_text},
    {"callees", 0, "FUNC", "what a function calls, and on", FIELD(callees), cli_set_text},
    {"peek", 0, "REGEX", "callers and callees of all functions that it finds, as one", FIELD(peek),
     cli_set_text},
    {"kept", 0, NULL, "single calls that `sprof trace --keep` has kept, with their callers",
     FIELD(kept), cli_set_flag},
    {"request", 0, "N|LABEL|slowest",
     "… of this request, as the program numbers them by sprof_request() of <sprof.h>, or of the "
     "one that took longest",
     FIELD(request), cli_set_text},
    {"wakers", 0, NULL, "waits, and what ended them: of `sprof record --off-cpu --wakers`",
     FIELD(wakers), cli_set_flag},
    {"wait-chains", 0, NULL, "the same, with what the wakers waited for, and so on",
     FIELD(wait_chains), cli_set_flag},
    CLI_SELECTION_OPTIONS,
    {"idle", 0, NULL,
     "also what is left out otherwise: waits of threads for work, and idle CPUs (`record -a`)",
     FIELD(idle), cli_set_flag},
    {"sort", 0, "COLUMN[:asc]", "the order of rows (the first share, largest first)", FIELD(sort),
     cli_set_text},
    {"show", 0, "COLUMN,…", "these columns, by their key or title", FIELD(show), cli_set_text},
    {"limit", 'n', "ROWS", "at most so many rows; 0: all (flat tables for people: 40)", 0,
     set_limit},
    {"min-percent", 0, "PERCENT", "leave out rows with a smaller share (trees for people: 0.5)", 0,
     set_min_percent},
    {"no-fold", 0, NULL, "show every frame of a tree, also those that lead nowhere else",
     FIELD(no_fold), cli_set_flag},
    CLI_STYLE_OPTIONS(FIELD(style)),
    CLI_VERBOSE_OPTION(FIELD(style)),
    {"follow", 0, NULL, "show it anew while the recording goes on; Ctrl-C ends", FIELD(follow),
     cli_set_flag},
    {"interval", 0, "T", "with --follow: how often (2s)", FIELD(interval_ns), cli_set_duration},
    {0},
};

/* The table asked for; more than one is a mistake. */
static int choose_view(struct arguments *arguments, enum report_view *view,
                       struct sprof_error *error)
{
    const struct {
        bool asked;
        enum report_view view;
        enum report_key key;
    } choices[] = {
        {arguments->by.count > 0, REPORT_BY_KEYS, REPORT_KEYS},
        {arguments->modules, REPORT_BY_KEYS, REPORT_MODULE},
        {arguments->lines, REPORT_BY_KEYS, REPORT_LINE},
        {arguments->threads, REPORT_BY_KEYS, REPORT_THREAD},
        {arguments->processes, REPORT_BY_KEYS, REPORT_PROCESS},
        {arguments->edges, REPORT_EDGES, REPORT_KEYS},
        {arguments->tree && !arguments->bottom_up, REPORT_TREE, REPORT_KEYS},
        {arguments->bottom_up, REPORT_BOTTOM_UP, REPORT_KEYS},
        {arguments->callers != NULL, REPORT_CALLERS, REPORT_KEYS},
        {arguments->callees != NULL, REPORT_CALLEES, REPORT_KEYS},
        {arguments->peek != NULL, REPORT_PEEK, REPORT_KEYS},
        {arguments->kept, REPORT_KEPT, REPORT_KEYS},
        {arguments->wakers, REPORT_WAKERS, REPORT_KEYS},
        {arguments->wait_chains, REPORT_CHAINS, REPORT_KEYS},
    };
    int asked = 0;
    *view = REPORT_BY_KEYS;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!choices[i].asked)
            continue;
        *view = choices[i].view;
        asked++;
        if (choices[i].key < REPORT_KEYS)
            arguments->by = (struct cli_keys){.items = {choices[i].key}, .count = 1};
    }
    if (arguments->request && !arguments->kept)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--request needs --kept, the single calls of it");
    if (asked == 2 && arguments->tree && !arguments->bottom_up && arguments->by.count) {
        *view = REPORT_TREE_BY;
        return 0;
    }
    if (asked > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one table at a time: choose --by, --modules, --lines, --threads, "
                               "--processes, --edges, --tree, --bottom-up, --callers, --callees, "
                               "--peek, --kept, --wakers or --wait-chains");
    return 0;
}

static struct report_request request_of(const struct arguments *arguments, enum report_view view)
{
    struct report_request request = {
        .selection = cli_selection_of(&arguments->selection),
        .table =
            {
                .view = view,
                .keys = arguments->by.items,
                .key_count = arguments->by.count,
                .inclusive = arguments->inclusive,
                .function = arguments->callers   ? arguments->callers
                            : arguments->callees ? arguments->callees
                                                 : arguments->peek,
                .sort = arguments->sort,
                .show = arguments->show,
                .request = arguments->request,
                .limit = (size_t)arguments->limit,
                .no_limit = arguments->limit_given && !arguments->limit,
                .min_percent = arguments->min_percent.value,
                .all_rows = arguments->min_percent.given || arguments->limit_given,
                .fold = !arguments->no_fold,
            },
        .style =
            {
                .format = arguments->style.format,
                .columns = cli_columns(stdout, arguments->style.columns),
                .color = cli_wants_color(arguments->style.color),
                .full_names = arguments->style.full_names,
                .verbose = arguments->style.verbose,
            },
    };
    const bool of_wakes = view == REPORT_WAKERS || view == REPORT_CHAINS;
    request.selection.fold_idle = !arguments->idle && !of_wakes;
    request.selection.with_idle = arguments->idle;
    cli_keys_select(&arguments->by, &request.selection);
    if (of_wakes && !request.selection.event)
        request.selection.event = MODEL_EVENT_OFF_CPU;
    return request;
}

/* One screen of --follow. */
struct view {
    struct arguments *arguments;
    enum report_view view;
};

static int show(void *context, FILE *out, struct store *store, struct sprof_error *error)
{
    const struct view *view = context;
    const struct report_request request = request_of(view->arguments, view->view);
    return report_write(out, store, &request, error);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct view view = {.arguments = arguments};
    struct store *store;
    struct cli_pager pager = {0};
    int status = cli_selection_finish(&arguments->selection, operands, error);
    if (!status)
        status = choose_view(arguments, &view.view, error);
    if (!status && arguments->interval_ns && !arguments->follow)
        status = sprof_error_set(error, SPROF_EUSAGE, 0, "--interval needs --follow");
    if (arguments->follow && view.view == REPORT_KEPT && !arguments->sort)
        arguments->sort = "start:desc"; /* new ones are in sight */
    if (!status && arguments->follow) {
        struct cli_follow follow = {.path = arguments->selection.input,
                                    .interval_ns = arguments->interval_ns,
                                    .show = show,
                                    .context = &view};
        for (size_t i = 0; i < arguments->by.count; i++)
            follow.lines |=
                arguments->by.items[i] == REPORT_LINE || arguments->by.items[i] == REPORT_FILE;
        return cli_follow(&follow, terminal, error);
    }
    if (!status)
        status = cli_open_recording(&store, arguments->selection.input, terminal, error);
    if (status)
        return status;
    if (!arguments->style.no_pager)
        cli_pager_start(&pager);
    status = show(&view, stdout, store, error);
    cli_pager_finish(&pager);
    store_close(store, NULL);
    return status;
}

const struct cli_command cli_report_command = {
    .name = "report",
    .summary = "Show where the time went: functions, lines, threads, call paths",
    .operands = "[FILE]",
    .options = options,
    .details =
        "Self (exclusive in CSV, JSON and SQL) is what a function costs by itself, total\n"
        "(inclusive there) what it costs with all that it calls. Without options: the first\n"
        "functions by self, and the hottest path; -n 40 or a table's option shows more.\n"
        "FUNC is a name as the report shows it, a linkage name, a name without its\n"
        "parameters, or any of these behind `module!`.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
    .release = cli_release_rules,
};
