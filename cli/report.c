/* sprof report: tables of a recording. */
#include "report/report.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/values.h"

#include <stddef.h>

struct arguments {
    struct cli_rules rules; /* first: see cli_release_rules */
    const char *input;
    bool inclusive, modules, tree;
    const char *callers, *callees;
    struct cli_mode mode;
    bool frame_app, drop_interior;
    const char *thread, *process;
    uint64_t run;
    uint64_t limit;
    bool limit_given;
    double min_percent;
    const struct report_format *format;
    uint64_t columns;
};

/* --limit 0 means no limit, which differs from no --limit. */
static int set_limit(void *field, const char *value, struct sprof_error *error)
{
    struct arguments *arguments = field;
    arguments->limit_given = true;
    return cli_set_number(&arguments->limit, value, error);
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"inclusive", 0, NULL, "functions by inclusive instead of exclusive samples", FIELD(inclusive),
     cli_set_flag},
    {"modules", 0, NULL, "executables and libraries instead of functions", FIELD(modules),
     cli_set_flag},
    {"tree", 0, NULL, "every call path", FIELD(tree), cli_set_flag},
    {"callers", 0, "FUNC", "the ways into a function", FIELD(callers), cli_set_text},
    {"callees", 0, "FUNC", "what a function calls, and on", FIELD(callees), cli_set_text},
    {"mode", 'm', "pc|full|app", "read a full recording as this mode", FIELD(mode), cli_set_mode},
    {"frame", 0, "app", "with --mode pc: the innermost application frame", FIELD(frame_app),
     cli_set_frame},
    {"app-interior", 0, "keep|drop", "with --mode app: system frames between application frames",
     FIELD(drop_interior), cli_set_interior},
    {"app-module", 0, "GLOB", "these modules are application", FIELD(rules), cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {"thread", 0, "NAME|TID", "only samples of this thread", FIELD(thread), cli_set_text},
    {"process", 0, "NAME|PID", "only samples of this process", FIELD(process), cli_set_text},
    {"run", 0, "N", "which run of an appended recording (the newest)", FIELD(run),
     cli_set_positive},
    {"limit", 'n', "ROWS", "at most so many rows; 0: all (functions: 40)", 0, set_limit},
    {"min-percent", 0, "PERCENT", "leave out rows with a smaller share", FIELD(min_percent),
     cli_set_percent},
    {"format", 0, "text|csv|json", "for people (text), or with full precision", FIELD(format),
     cli_set_table_format},
    {"columns", 0, "N", "width of text (the terminal's, at most 100)", FIELD(columns),
     cli_set_positive},
    {0},
};

/* The table asked for; more than one is a mistake. */
static int choose_view(const struct arguments *arguments, enum report_view *view,
                       struct sprof_error *error)
{
    const struct {
        bool asked;
        enum report_view view;
    } choices[] = {
        {arguments->modules, REPORT_MODULES},
        {arguments->tree, REPORT_TREE},
        {arguments->callers != NULL, REPORT_CALLERS},
        {arguments->callees != NULL, REPORT_CALLEES},
    };
    int asked = 0;
    *view = REPORT_FUNCTIONS;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].asked) {
            *view = choices[i].view;
            asked++;
        }
    if (asked > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one table at a time: choose --modules, --tree, --callers or "
                               "--callees");
    return 0;
}

static int check(const struct arguments *arguments, struct sprof_error *error)
{
    if (arguments->frame_app && !(arguments->mode.given && arguments->mode.mode == MODEL_MODE_PC))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--frame app belongs to --mode pc: add it");
    if (arguments->drop_interior &&
        !(arguments->mode.given && arguments->mode.mode == MODEL_MODE_APP))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--app-interior drop belongs to --mode app: add it");
    if (arguments->run > UINT32_MAX)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--run: there is no such run");
    return 0;
}

static struct report_request request_of(const struct arguments *arguments, enum report_view view)
{
    return (struct report_request){
        .selection =
            {
                .run_id = (uint32_t)arguments->run,
                .thread = arguments->thread,
                .process = arguments->process,
                .other_mode = arguments->mode.given,
                .mode = arguments->mode.mode,
                .frame_app = arguments->frame_app,
                .drop_interior = arguments->drop_interior,
                .rules = cli_rules_of(&arguments->rules),
            },
        .table =
            {
                .view = view,
                .inclusive = arguments->inclusive,
                .function = arguments->callers ? arguments->callers : arguments->callees,
                .limit = (size_t)arguments->limit,
                .no_limit = arguments->limit_given && !arguments->limit,
                .min_percent = arguments->min_percent,
            },
        .style =
            {
                .format = arguments->format,
                .columns = cli_columns(stdout, arguments->columns),
                .color = cli_wants_color(),
            },
    };
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    (void)operands;
    const struct arguments *arguments = all;
    enum report_view view;
    struct store *store;
    int status = check(arguments, error);
    if (!status)
        status = choose_view(arguments, &view, error);
    if (!status)
        status = cli_open_recording(&store, arguments->input, terminal, error);
    if (status)
        return status;
    const struct report_request request = request_of(arguments, view);
    status = report_write(stdout, store, &request, error);
    store_close(store, NULL);
    return status;
}

const struct cli_command cli_report_command = {
    .name = "report",
    .summary = "Show where the time went: functions, modules, call paths",
    .options = options,
    .details = "Exclusive samples have the function innermost; inclusive ones hold it anywhere.\n"
               "FUNC is a name as the report shows it, a linkage name, a name without its\n"
               "parameters, or any of these behind `module!`.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
    .release = cli_release_rules,
};
