/* sprof trace: runs a command with probes in its functions, says what came of it, and ends as the
 * command did; or puts them into a process that runs. */
#include "base/file_id.h"
#include "cli/commands.h"
#include "cli/signals.h"
#include "cli/trace_options.h"
#include "cli/trace_summary.h"
#include "inject/inject.h"
#include "names/names.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* == What may be given together == */

/* Each once, and none that is ours. */
static int check_pids(const struct cli_pids *pids, struct sprof_error *error)
{
    for (size_t i = 0; i < pids->list.count; i++) {
        const pid_t pid = pids->list.items[i];
        if (pid == getpid())
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "process %d is this sprof, which cannot trace itself", (int)pid);
        for (size_t k = 0; k < i; k++)
            if (pids->list.items[k] == pid)
                return sprof_error_set(error, SPROF_EUSAGE, 0, "process %d is given twice",
                                       (int)pid);
    }
    return 0;
}

/* What cannot go with rules, and why. */
static int check_keep(const struct cli_trace_arguments *arguments, struct sprof_error *error)
{
    static const char one_of_both[] = "a call has room for its path or for its depth in the log";
    const struct {
        bool given;
        const char *option, *reason;
    } excluded[] = {
        {arguments->mode == TRACE_COVERAGE, "mode coverage", "it sees only first calls"},
        {arguments->mode == TRACE_LOG && arguments->paths, "mode log and --paths", one_of_both},
        {arguments->mode == TRACE_LOG && arguments->callers, "mode log and --callers", one_of_both},
        {arguments->backend == TRACE_UPROBE, "backend uprobe",
         "the kernel counts calls without their callers"},
        {arguments->all_points, "all-points", "rules choose calls of functions"},
        {arguments->max_overhead > 0, "max-overhead",
         "functions that are only counted have no times for a rule"},
    };
    const char *alone = arguments->keep.arguments          ? "--args"
                        : arguments->keep.captures.count   ? "--capture"
                        : arguments->keep.requests_of.text ? "--request"
                                                           : NULL;
    if (alone && !arguments->keep.list.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s needs --keep, whose rules choose the calls: `--keep 'over "
                               "20ms' %s%s`",
                               alone, alone,
                               arguments->keep.arguments        ? ""
                               : arguments->keep.captures.count ? " 'r->host'"
                                                                : " '^handle_'");
    if (arguments->keep.text_bytes && !arguments->keep.arguments &&
        !arguments->keep.captures.count && !arguments->keep.requests_of.path_count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--text is about values of calls: give --args or --capture, or "
                               "--request with a value, too");
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (arguments->keep.list.count && excluded[i].given)
            return sprof_error_set(error, SPROF_EUSAGE, 0, "--keep does not go with --%s: %s",
                                   excluded[i].option, excluded[i].reason);
    return 0;
}

/* What calls use is measured where each call of a function is seen, inside the process. */
static int check_use(const struct cli_trace_arguments *arguments, struct sprof_error *error)
{
    const char *option = arguments->stack ? "stack" : arguments->heap ? "heap" : NULL;
    const char *needed = arguments->mode == TRACE_COVERAGE
                             ? "mode stats and log: coverage sees the first call of each function"
                         : arguments->backend == TRACE_UPROBE
                             ? "backend inject: the kernel counts and times calls"
                             : NULL;
    return option && needed
               ? sprof_error_set(error, SPROF_EUSAGE, 0, "--%s goes with --%s", option, needed)
               : 0;
}

/* What goes together, and what not. */
static int check(const struct cli_trace_arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    const size_t pids = arguments->pids.list.count;
    if (!operands->count && !pids)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to trace: give a command (`sprof trace -- PROGRAM`) or a "
                               "process (`sprof trace -p PID`)");
    if (pids && operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "processes, or one command, can be traced at a time: give either "
                               "a command or -p PID");
    if (pids > 1 && arguments->backend == TRACE_UPROBE)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--backend uprobe traces one process at a time: run `sprof trace "
                               "--backend uprobe -p PID -o FILE` for each, and `sprof merge` "
                               "their files");
    if (arguments->children && pids)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--children belongs to a command: a process that runs is traced by "
                               "itself (`sprof trace --children -- COMMAND`)");
    if (arguments->append && arguments->overwrite)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--append keeps the runs that --overwrite removes: give one of "
                               "them");
    if (arguments->delay_ns && arguments->paused)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--paused waits for `sprof ctl start`, --delay for its time: give "
                               "one of them");
    if (arguments->mode == TRACE_COVERAGE && (arguments->paths || arguments->callers))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--%s needs --mode stats or log",
                               arguments->paths ? "paths" : "callers");
    if (arguments->paths && arguments->callers)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--paths holds what --callers would: give one of them");
    if (arguments->mode != TRACE_LOG && (arguments->depth || arguments->max_size))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--%s needs --mode log",
                               arguments->depth ? "depth" : "max-size");
    if (arguments->all_points &&
        (pids || arguments->children || arguments->backend == TRACE_UPROBE))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--all-points is written into a command before it runs: it does not "
                               "go with -p, --children and --backend uprobe");
    if (arguments->mode == TRACE_COVERAGE &&
        (arguments->warn_over.list.count || arguments->watchdog.list.count ||
         arguments->stack_check > 0 || arguments->heap_check.list.count))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--mode coverage sees the first call of each function alone: "
                               "--warn-over, --watchdog, --stack-check and --heap-check go with "
                               "modes stats and log");
    if (arguments->errors_of && arguments->drill.adaptive)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--adaptive begins with the functions of --root alone: give it "
                               "without --keep-errors-of");
    if (check_keep(arguments, error) || check_use(arguments, error))
        return SPROF_EUSAGE;
    return check_pids(&arguments->pids, error);
}

/* The file of the program that is traced: the command, or what the first process runs. */
static void find_program(const struct cli_trace_arguments *arguments,
                         const struct cli_operands *operands, char program[PATH_MAX])
{
    const size_t pids = arguments->pids.list.count;
    if (pids) {
        inject_program_file(*arguments->pids.list.items, program);
        program[sprof_file_path_length(program)] = '\0';
    } else
        snprintf(program, PATH_MAX, "%s", operands->count ? operands->items[0] : "");
}

static int read_config(struct cli_trace_arguments *arguments, const struct cli_operands *operands,
                       struct sprof_error *error)
{
    find_program(arguments, operands, arguments->program); /* it may be gone after the trace */
    if (!arguments->config_path)
        return 0;
    memcpy(arguments->given, operands->given, sizeof arguments->given);
    return cli_config_read(&arguments->config, arguments->config_path, arguments->program,
                           &cli_trace_command, operands->given, arguments, error);
}

/* What was read before stays, because the trace borrows from it. */
static int reload_config(void *context, struct trace_options *trace, struct sprof_error *error)
{
    struct cli_trace_arguments *arguments = context, *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return sprof_error_memory(error);
    fresh->reloaded = arguments->reloaded;
    arguments->reloaded = fresh;
    const int result = cli_config_read(&fresh->config, arguments->config_path, arguments->program,
                                       &cli_trace_command, arguments->given, fresh, error);
    if (result)
        return result;
    trace->drill.uncalled = arguments->drill.uncalled || fresh->drill.uncalled;
    trace->drill.conditions = fresh->drill.over.list.items;
    trace->drill.condition_count = fresh->drill.over.list.count;
    return 0;
}

/* Adds the functions of --keep-errors-of to those of --function. */
static int choose_recorded(struct cli_terminal *terminal, struct cli_trace_arguments *arguments,
                           struct sprof_error *error)
{
    struct cli_recorded_choice *chosen = &arguments->chosen;
    if (!arguments->errors_of)
        return 0;
    const int result = cli_choose_for_errors(chosen, arguments->errors_of, terminal, error);
    if (result)
        return result;
    for (size_t i = 0; i < chosen->functions.count; i++)
        if (sprof_vec_push(&arguments->functions.list, chosen->functions.items[i]))
            return sprof_error_memory(error);
    cli_say(terminal, "%s: %s function%s whose calls were kept or left without a return",
            arguments->errors_of, sprof_digits_of(chosen->count).text, sprof_plural(chosen->count));
    return 0;
}

static struct trace_options options_of(struct cli_terminal *terminal,
                                       struct cli_trace_arguments *arguments,
                                       const struct cli_operands *operands)
{
    const size_t pids = arguments->pids.list.count;
    return (struct trace_options){
        .mode = arguments->mode,
        .backend = arguments->backend,
        .append = arguments->append,
        .overwrite = arguments->overwrite,
        .children = arguments->children,
        .command = operands->items,
        .pid = pids ? *arguments->pids.list.items : 0,
        .others = pids ? arguments->pids.list.items + 1 : NULL,
        .other_count = pids ? pids - 1 : 0,
        /* It begins when the delay ends. */
        .duration_ns = arguments->duration_ns ? arguments->delay_ns + arguments->duration_ns : 0,
        .delay_ns = arguments->delay_ns,
        .end_fd = pids                  ? cli_signals_end_fd()
                  : arguments->children ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
                                        : -1,
        .functions = arguments->functions.list.items,
        .function_count = arguments->functions.list.count,
        .children_of = arguments->children_of.list.items,
        .children_of_count = arguments->children_of.list.count,
        .modules = arguments->modules.list.items,
        .module_count = arguments->modules.list.count,
        .module_rules = arguments->config.modules.items,
        .module_rule_count = arguments->config.modules.count,
        .drill.reload = arguments->config_path ? reload_config : NULL,
        .drill.reload_context = arguments,
        .rules = cli_rules_of(&arguments->rules),
        .output = arguments->output ? arguments->output : CLI_DEFAULT_RECORDING,
        .paths = arguments->paths,
        .max_overhead = arguments->max_overhead,
        .memory = arguments->memory,
        .warn = {.over = arguments->warn_over.list.items,
                 .over_count = arguments->warn_over.list.count,
                 .watchdog = arguments->watchdog.list.items,
                 .watchdog_count = arguments->watchdog.list.count,
                 .stack_percent = arguments->stack_check,
                 .heap = arguments->heap_check.list.items,
                 .heap_count = arguments->heap_check.list.count},
        .kept = {.rules = arguments->keep.list.items,
                 .rule_count = arguments->keep.list.count,
                 .requests_of =
                     arguments->keep.requests_of.text ? &arguments->keep.requests_of : NULL,
                 .arguments = arguments->keep.arguments,
                 .arguments_of = arguments->keep.arguments_of,
                 .captures = arguments->keep.captures.items,
                 .capture_count = arguments->keep.captures.count,
                 .arguments_both = arguments->keep.arguments_both,
                 .text_bytes = (uint32_t)arguments->keep.text_bytes},
        .callers = arguments->callers,
        .all_points = arguments->all_points,
        .no_outside = arguments->no_outside,
        .no_states = arguments->no_states,
        .stack = arguments->stack,
        .heap = arguments->heap,
        .depth = arguments->depth < UINT32_MAX ? (uint32_t)arguments->depth : 0,
        .max_size = arguments->max_size,
        .no_cache = arguments->no_cache,
        .paused = arguments->paused,
        .rest_ns = arguments->rest_ns,
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
        .names = arguments->names,
    };
}

static int say_drilled(struct cli_terminal *terminal, const struct cli_trace_arguments *arguments,
                       const char *answer, struct sprof_error *error)
{
    cli_say_drilled(terminal, answer);
    return arguments->drill.observe ? cli_print_drill_config(&arguments->drill, &arguments->modules,
                                                             arguments->program, answer, error)
                                    : 0;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct cli_trace_arguments *arguments = all;
    const size_t pids = arguments->pids.list.count;
    int status = read_config(arguments, operands, error);
    if (!status)
        status = check(arguments, operands, error);
    terminal->verbose = arguments->verbose;
    if (!status)
        status = choose_recorded(terminal, arguments, error);
    if (status)
        return status;
    arguments->names = arguments->full_names ? NULL : names_screen_new();
    struct trace_options trace = options_of(terminal, arguments, operands);
    struct trace_session *session;
    status = cli_drill_apply(&arguments->drill, &arguments->children_of, &trace, error);
    if (!status)
        status = trace_open(&session, &trace, error);
    if (status)
        return status;
    struct trace_result result;
    if (!pids)
        cli_signals_catch(NULL, trace_command_pid(session));
    if (arguments->children)
        cli_signals_end_by(trace.end_fd);
    status = trace_run(session, &result, error);
    if (!status)
        status = say_drilled(terminal, arguments, trace_drill_answer(session), error);
    trace_free(session);
    if (!status)
        cli_say_traced(terminal, &trace, &result);
    else if (result.has_wait_status)
        cli_say(terminal, "%s", error->message);
    if (pids)
        return status;
    return status && !result.has_wait_status ? status : status ? 1 : cli_end_as(result.wait_status);
}

static void release(void *all)
{
    struct cli_trace_arguments *arguments = all;
    if (arguments->reloaded)
        release(arguments->reloaded);
    free(arguments->reloaded);
    names_screen_free(arguments->names);
    sprof_vec_release(&arguments->pids.list);
    sprof_vec_release(&arguments->warn_over.list);
    sprof_vec_release(&arguments->watchdog.list);
    sprof_vec_release(&arguments->heap_check.list);
    cli_keep_rules_release(&arguments->keep);
    cli_recorded_choice_release(&arguments->chosen);
    cli_drill_release(&arguments->drill);
    cli_config_release(&arguments->config);
    sprof_vec_release(&arguments->rules.list);
    sprof_vec_release(&arguments->functions.list);
    sprof_vec_release(&arguments->children_of.list);
    sprof_vec_release(&arguments->modules.list);
}

const struct cli_command cli_trace_command = {
    .name = "trace",
    .summary = "Count and time every call of functions, in a command or a running process",
    .operands = "[--] COMMAND … | -p PID[,PID…]",
    .command_follows = true,
    .options = cli_trace_options,
    .headings = cli_trace_headings,
    .details =
        "Every call of the chosen functions is counted and timed, from the first constructor on.\n"
        "`sprof stats` shows them; `sprof stats --coverage` shows what --mode coverage finds.\n"
        "Libraries that the command loads later are traced from their constructors on. Processes\n"
        "that it starts are traced with --children, until the last of them ends. The command's\n"
        "output, input, signals and exit status are its own.\n"
        "With -p processes go on without probes when the trace ends: by Ctrl-C, after\n"
        "--duration, or by `sprof ctl -p PID end`. Several are traced together, all or none, "
        "until\n"
        "the last ends: `sprof ctl -p` finds the trace by any of them, and `detach` takes the\n"
        "probes out of that one.\n",
    .arguments_size = sizeof(struct cli_trace_arguments),
    .release = release,
    .run = run,
};
