/* sprof trace: runs a command with probes in its functions, says what came of it, and ends as the
 * command did; or puts them into a process that runs. */
#include "trace/trace.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/drill.h"
#include "cli/keep.h"
#include "cli/signals.h"
#include "cli/trace_summary.h"
#include "cli/values.h"

#include "inject/inject.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct limits {
    SPROF_VEC(struct trace_limit) list;
};

struct heap_limits {
    SPROF_VEC(struct trace_heap_limit) list;
};

struct arguments {
    struct cli_rules rules;
    struct cli_texts functions, children_of, modules;
    struct cli_pids pids;
    uint64_t duration_ns, delay_ns;
    const char *output;
    enum trace_mode mode;
    enum trace_backend backend;
    double max_overhead; /* percent; 0: not given, negative: none */
    uint64_t depth;
    uint64_t rest_ns;
    size_t max_size, memory;
    struct limits warn_over, watchdog;
    struct heap_limits heap_check;
    struct cli_keep_rules keep;
    struct cli_drill drill;
    const char *config_path;
    struct cli_config config;
    char program[PATH_MAX];     /* for which a section of it is */
    uint64_t given[2];          /* as in struct cli_operands */
    struct arguments *reloaded; /* what was read later; the last one first */
    double stack_check;         /* percent; 0: none */
    bool append, overwrite, children, paths, callers, all_points, no_cache, paused, verbose;
    bool no_outside, no_states, stack, heap;
};

static int set_mode(void *field, const char *value, struct sprof_error *error)
{
    struct sprof_str words = {0};
    for (size_t i = 0; trace_mode_words[i]; i++) {
        if (!strcmp(trace_mode_words[i], value)) {
            *(enum trace_mode *)field = (enum trace_mode)i;
            sprof_str_release(&words);
            return 0;
        }
        sprof_str_appendf(&words, "%s%s", i ? ", " : "", trace_mode_words[i]);
    }
    const int code = sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` is no mode: give one of %s",
                                     value, words.text ? words.text : "another");
    sprof_str_release(&words);
    return code;
}

static int set_backend(void *field, const char *value, struct sprof_error *error)
{
    static const char *const words[] = {
        [TRACE_ANY] = "auto", [TRACE_INJECT] = "inject", [TRACE_UPROBE] = "uprobe"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *(enum trace_backend *)field = (enum trace_backend)i;
        if (!strcmp(value, words[i]))
            return 0;
    }
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%s` is no back end: give auto, inject or uprobe", value);
}

/* "5%", or "none". */
static int set_overhead(void *field, const char *text, struct sprof_error *error)
{
    *(double *)field = -1;
    if (strcmp(text, "none") != 0 && cli_set_overhead(field, text, error))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "not a percentage from 0.01 to 100: write 5%%, or none");
    return 0;
}

/* "10s", or "off". */
static int set_rest(void *field, const char *text, struct sprof_error *error)
{
    *(uint64_t *)field = TRACE_NEVER;
    if (strcmp(text, "off") != 0 && cli_set_duration(field, text, error))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "not a duration: write 10, 10s, 500ms, 2m or 1h, or off");
    return 0;
}

/* "T" or "T:RE". */
static int add_limit(void *field, const char *text, struct sprof_error *error)
{
    struct limits *limits = field;
    struct trace_limit limit = {0};
    char time[32];
    const size_t length = strcspn(text, ":");
    snprintf(time, sizeof time, "%.*s", (int)length, text);
    if (text[length] && !text[length + 1])
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "no function behind the colon: write 10ms or 10ms:RE");
    const int result = cli_set_duration(&limit.ns, time, error);
    limit.function = text[length] ? text + length + 1 : NULL;
    if (result)
        return result;
    return sprof_vec_push(&limits->list, limit) ? sprof_error_memory(error) : 0;
}

/* "RE" or "SIZE:RE". Where what stands before a colon is no size it is part of the expression, as
 * in "std::". */
static int add_heap_limit(void *field, const char *text, struct sprof_error *error)
{
    struct heap_limits *limits = field;
    struct trace_heap_limit limit = {.function = text};
    char size[32];
    size_t bytes = 0;
    const size_t length = strcspn(text, ":");
    snprintf(size, sizeof size, "%.*s", (int)length, text);
    const bool has_size = text[length] && *text >= '0' && *text <= '9' && length < sizeof size &&
                          (!strcmp(size, "0") || !cli_set_size(&bytes, size, NULL));
    if (has_size) {
        limit.bytes = bytes;
        limit.function = text + length + 1;
    }
    if (!*limit.function)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "name functions by a regular expression: write RE or 4K:RE");
    return sprof_vec_push(&limits->list, limit) ? sprof_error_memory(error) : 0;
}

static int set_stack_check(void *field, const char *text, struct sprof_error *error)
{
    return cli_parse_percent(text, 1, 99, field, error);
}

/* Less would not hold the figures of one thread. */
static int set_memory(void *field, const char *text, struct sprof_error *error)
{
    return cli_parse_size(text, 1 << 20, "1M", field, error);
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"pid", 'p', "PID[,PID…]", "trace processes that run, until they end or Ctrl-C", FIELD(pids),
     cli_set_pids},
    {"duration", 0, "T",
     "end the trace after this time (10, 500ms, 2m): with -p the probes are taken out, a command "
     "goes on with probes that are off",
     FIELD(duration_ns), cli_set_duration},
    {"delay", 0, "T", "begin to measure so long after the start", FIELD(delay_ns),
     cli_set_duration},
    {"function", 0, "RE",
     "functions whose name the regular expression finds; \"!RE\" leaves out (all)",
     FIELD(functions), cli_add_text},
    {"children-of", 0, "RE[:DEPTH]",
     "functions that the regular expression finds, and what they call, to that depth (all)",
     FIELD(children_of), cli_add_text},
    {"root", 0, "RE",
     "functions that the regular expression finds, and what they call directly; with --adaptive "
     "they alone, at first",
     FIELD(drill.roots), cli_add_text},
    {"adaptive", 0, NULL,
     "drill down: add probes to what --root's functions call, and to what that calls, where most "
     "of the time is, until one function has it itself; the others lose theirs",
     FIELD(drill.adaptive), cli_set_flag},
    {"over", 0, "COND[:RE]",
     "drill down only while that holds (for such roots): 10ms (average), self > 10ms, p99 > 10ms, "
     "errors > 1%, calls/s > 1000, 3x (its median before), 2x siblings (other threads), cpu > 50%, "
     "signal (`sprof ctl widen`)",
     FIELD(drill.over), cli_add_condition},
    {"config", 0, "FILE",
     "options for the program from this file, unless they are given: [program NAME] with lines as "
     "root = ^handle, and [module GLOB] with probes = start, demand or never",
     FIELD(config_path), cli_set_text},
    {"observe", 0, NULL, "… change nothing, and say what would get probes first",
     FIELD(drill.observe), cli_set_flag},
    {"step", 0, "T", NULL, FIELD(drill.step_ns), cli_set_duration},
    {"uncalled", 0, "add|skip", "… keep the probes of functions that are never called (skip)",
     FIELD(drill.uncalled), cli_set_uncalled},
    {"module", 0, "GLOB", "functions of these modules (those of the application)", FIELD(modules),
     cli_add_text},
    {"children", 0, NULL, "trace the processes that the command starts, too", FIELD(children),
     cli_set_flag},
    {"mode", 0, "stats|coverage|log",
     "count and time calls (stats), find out which functions are called, at no cost but for each "
     "one's first call, or write down every call",
     FIELD(mode), set_mode},
    {"backend", 0, "auto|inject|uprobe",
     "measure by probes inside the process (inject), or by the kernel, which puts nothing into it, "
     "needs root, and takes microseconds for each call (uprobe); auto: the kernel where nothing "
     "can be put into the program",
     FIELD(backend), set_backend},
    {"paths", 0, NULL, "count and time calls by who called whom, too", FIELD(paths), cli_set_flag},
    {"callers", 0, NULL, "… by caller and function alone, which costs less room", FIELD(callers),
     cli_set_flag},
    {"no-outside", 0, NULL,
     "leave the time that functions spend in other modules, as in libc and system calls, in their "
     "self time: calls of these cost nothing then",
     FIELD(no_outside), cli_set_flag},
    {"no-states", 0, NULL,
     "with --keep and --mode log: leave out how long each call ran, waited and was ready for a "
     "CPU, "
     "which BPF measures at each change of threads",
     FIELD(no_states), cli_set_flag},
    {"stack", 0, NULL,
     "a column of `sprof stats` more: how deep in its thread's stack a function was called at "
     "most; "
     "some 10 ns a call more",
     FIELD(stack), cli_set_flag},
    {"heap", 0, NULL,
     "columns of `sprof stats` more: how many bytes functions allocate themselves and with what "
     "they call, and in how many blocks; calls cost the same, allocations more",
     FIELD(heap), cli_set_flag},
    {"all-points", 0, NULL, NULL, FIELD(all_points), cli_set_flag},
    {"max-overhead", 0, "PERCENT|none",
     "time fewer functions, then take probes out, until they cost no more, such as 5% (none)",
     FIELD(max_overhead), set_overhead},
    {"memory", 0, "SIZE",
     "what figures may take in memory: beyond it percentiles are given up, then what threads call "
     "for the first time is only counted (256M)",
     FIELD(memory), set_memory},
    {"warn-over", 0, "T[:RE]",
     "warn of calls (of such functions) that take longer, as in 10ms or 2s:^parse",
     FIELD(warn_over), add_limit},
    {"watchdog", 0, "T[:RE]", "warn of calls that have not returned after that time",
     FIELD(watchdog), add_limit},
    {"stack-check", 0, "PERCENT",
     "warn of calls that begin with more of their thread's stack in use", FIELD(stack_check),
     set_stack_check},
    {"heap-check", 0, "[SIZE:]RE",
     "warn of calls of such functions that leave more bytes allocated than before, and of broken "
     "blocks",
     FIELD(heap_check), add_heap_limit},
    {"keep", 0, "RULE",
     "keep single calls, with all their callers: \"over 20ms\", \"self over 5ms\", \"throws\", "
     "\"slowest 10\", \"every 100\", \"first 5 a second\", \"next 5\", \"returns < 0\", \"errno = "
     "ENOENT\", \"q->state >= 500\", \"changed q->state\", \"below ^handle_\", \"class Query\"; "
     "several "
     "joined by \"and\"; behind \": RE\" for which functions",
     FIELD(keep), cli_add_keep_rule},
    {"args", 0, "[=[both:]RE]",
     "with --keep: also the arguments and results of kept calls (of such functions), by debug "
     "information; both: and what arguments lead to has changed when the call ends",
     FIELD(keep), cli_set_arguments},
    {"capture", 0, "[RE:] [entry|exit] EXPR",
     "with --keep: also these values of kept calls (of such functions): \"^handle: r->host, "
     "config.level\"; parameters, their fields, and static and global variables, read when calls "
     "end",
     FIELD(keep), cli_add_capture},
    {"request", 0, "RE",
     "with --keep: each call of such functions is a request, as of sprof_request() of <sprof.h>, "
     "that the kept calls in it belong to",
     FIELD(keep.requests_of), cli_set_text},
    {"depth", 0, "N", "mode log: calls in at most so many others (all)", FIELD(depth),
     cli_set_positive},
    {"max-size", 0, "SIZE",
     "mode log: write down no more calls once the recording has so many bytes, as in 2G",
     FIELD(max_size), cli_set_size},
    {"output", 'o', "FILE", "the recording (sprof.db); an existing one becomes FILE.old.1",
     FIELD(output), cli_set_text},
    {"append", 0, NULL, "add a run to an existing recording", FIELD(append), cli_set_flag},
    {"overwrite", 0, NULL, "keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {"app-module", 0, "GLOB", "these modules are application", FIELD(rules), cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {"paused", 0, NULL, "begin without measuring; `sprof ctl start` starts it", FIELD(paused),
     cli_set_flag},
    {"rest", 0, "T|off",
     "how long probes are off before their functions' code is as without them; switching them on "
     "again then takes a short stop (10s)",
     FIELD(rest_ns), set_rest},
    {"no-cache", 0, NULL, "compute all plans and names anew, and keep none", FIELD(no_cache),
     cli_set_flag},
    {"verbose", 'v', NULL, "say more", FIELD(verbose), cli_set_flag},
    {0},
};

/* == What the trace has come to == (on standard error: standard output belongs to the command) */

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
static int check_keep(const struct arguments *arguments, struct sprof_error *error)
{
    const struct {
        bool given;
        const char *option, *reason;
    } excluded[] = {
        {arguments->mode != TRACE_STATS, "mode", "it goes with mode stats"},
        {arguments->backend == TRACE_UPROBE, "backend uprobe",
         "the kernel does not know which call is another's caller"},
        {arguments->paths, "paths", "a call has room for the number of its path, or for its own"},
        {arguments->callers, "callers",
         "a call has room for the number of its path, or for its own"},
        {arguments->all_points, "all-points", "places that call are no calls"},
        {arguments->max_overhead > 0, "max-overhead",
         "functions that are only counted have no times for a rule"},
    };
    const char *alone = arguments->keep.arguments        ? "--args"
                        : arguments->keep.captures.count ? "--capture"
                        : arguments->keep.requests_of    ? "--request"
                                                         : NULL;
    if (alone && !arguments->keep.list.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s needs --keep, whose rules choose the calls: `--keep 'over "
                               "20ms' %s%s`",
                               alone, alone,
                               arguments->keep.arguments        ? ""
                               : arguments->keep.captures.count ? " 'r->host'"
                                                                : " '^handle_'");
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (arguments->keep.list.count && excluded[i].given)
            return sprof_error_set(error, SPROF_EUSAGE, 0, "--keep does not go with --%s: %s",
                                   excluded[i].option, excluded[i].reason);
    return 0;
}

/* What calls use is measured where each call of a function is seen, inside the process. */
static int check_use(const struct arguments *arguments, struct sprof_error *error)
{
    const char *option = arguments->stack ? "stack" : arguments->heap ? "heap" : NULL;
    const char *needed = arguments->mode == TRACE_COVERAGE
                             ? "mode stats and log: coverage sees the first call of each function"
                         : arguments->backend == TRACE_UPROBE
                             ? "backend inject: the kernel counts and times calls"
                             : NULL;
    return option && needed
               ? sprof_error_set(error, SPROF_EUSAGE, 0, "--%s needs --%s alone", option, needed)
               : 0;
}

/* What goes together, and what not. */
static int check(const struct arguments *arguments, const struct cli_operands *operands,
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
    if (arguments->mode != TRACE_STATS && (arguments->paths || arguments->callers))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--%s needs --mode stats",
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
    if (check_keep(arguments, error) || check_use(arguments, error))
        return SPROF_EUSAGE;
    return check_pids(&arguments->pids, error);
}

/* The file of the program that is traced: the command, or what the first process runs. */
static void find_program(const struct arguments *arguments, const struct cli_operands *operands,
                         char program[PATH_MAX])
{
    const size_t pids = arguments->pids.list.count;
    if (pids)
        inject_program_file(*arguments->pids.list.items, program);
    else
        snprintf(program, PATH_MAX, "%s", operands->count ? operands->items[0] : "");
}

static int read_config(struct arguments *arguments, const struct cli_operands *operands,
                       struct sprof_error *error)
{
    if (!arguments->config_path)
        return 0;
    find_program(arguments, operands, arguments->program);
    memcpy(arguments->given, operands->given, sizeof arguments->given);
    return cli_config_read(&arguments->config, arguments->config_path, arguments->program,
                           &cli_trace_command, operands->given, arguments, error);
}

/* What was read before stays, because the trace borrows from it. */
static int reload_config(void *context, struct trace_options *trace, struct sprof_error *error)
{
    struct arguments *arguments = context, *fresh = calloc(1, sizeof *fresh);
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

static struct trace_options options_of(struct cli_terminal *terminal, struct arguments *arguments,
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
        .keep = arguments->keep.list.items,
        .keep_count = arguments->keep.list.count,
        .requests_of = arguments->keep.requests_of,
        .arguments = arguments->keep.arguments,
        .arguments_of = arguments->keep.arguments_of,
        .captures = arguments->keep.captures.items,
        .capture_count = arguments->keep.captures.count,
        .arguments_both = arguments->keep.arguments_both,
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
    };
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    const size_t pids = arguments->pids.list.count;
    int status = read_config(arguments, operands, error);
    if (!status)
        status = check(arguments, operands, error);
    if (status)
        return status;
    terminal->verbose = arguments->verbose;
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
        cli_say_drilled(terminal, trace_drill_answer(session));
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
    struct arguments *arguments = all;
    if (arguments->reloaded)
        release(arguments->reloaded);
    free(arguments->reloaded);
    sprof_vec_release(&arguments->pids.list);
    sprof_vec_release(&arguments->warn_over.list);
    sprof_vec_release(&arguments->watchdog.list);
    sprof_vec_release(&arguments->heap_check.list);
    cli_keep_rules_release(&arguments->keep);
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
    .options = options,
    .details =
        "Every call of the chosen functions is counted and timed, from the first constructor on.\n"
        "`sprof stats` shows them; `sprof stats --coverage` shows what --mode coverage finds.\n"
        "Libraries that it loads while it runs are traced from their constructors on. Processes\n"
        "that it starts are traced with --children, until the last of them ends. The command's\n"
        "output, input, signals and exit status are its own.\n"
        "With -p processes go on without probes when the trace ends: by Ctrl-C, after\n"
        "--duration, or by `sprof ctl -p PID end`. Several are traced together, all or none, "
        "until\n"
        "the last ends: `sprof ctl -p` finds the trace by any of them, and `detach` takes the\n"
        "probes out of that one.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
