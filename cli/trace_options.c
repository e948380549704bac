/* The options of sprof trace, and what their values may be. */
#include "cli/trace_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

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
    struct cli_trace_limits *limits = field;
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
    struct cli_trace_heap_limits *limits = field;
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

#define FIELD(name) offsetof(struct cli_trace_arguments, name)
const struct cli_option cli_trace_options[] = {
    {"pid", 'p', "PID[,PID…]", "trace processes that run, until they end or Ctrl-C", FIELD(pids),
     cli_set_pids},
    {"duration", 0, "T",
     "end the trace after this time (10, 500ms, 2m): with -p the probes are taken out, a command "
     "goes on with probes that are off",
     FIELD(duration_ns), cli_set_duration},
    {"delay", 0, "T", "begin to measure this long after the start", FIELD(delay_ns),
     cli_set_duration},
    {"function", 0, "RE",
     "functions whose name the regular expression finds; \"!RE\" leaves out (all)",
     FIELD(functions), cli_add_text},
    {"children-of", 0, "RE[:DEPTH]",
     "functions that the regular expression finds, and what they call, to that depth (all)",
     FIELD(children_of), cli_add_text},
    {"keep-errors-of", 0, "RECORDING",
     "functions whose calls were kept by a rule or left by an exception or jump in this recording",
     FIELD(errors_of), cli_set_text},
    {"module", 0, "GLOB", "functions of these modules (those of the application)", FIELD(modules),
     cli_add_text},
    {"children", 0, NULL, "trace the processes that the command starts, too", FIELD(children),
     cli_set_flag},
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
     "CPU, which BPF measures at each change of threads",
     FIELD(no_states), cli_set_flag},
    {"stack", 0, NULL,
     "a column of `sprof stats` more: how deep in its thread's stack a function was called at "
     "most; some 10 ns a call more",
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
     "several joined by \"and\"; behind \": RE\" for which functions",
     FIELD(keep), cli_add_keep_rule},
    {"args", 0, "[=[both:]RE]",
     "with --keep: also the arguments and results of kept calls (of such functions), by debug "
     "information; both: and what has changed behind them when the call ends",
     FIELD(keep), cli_set_arguments},
    {"capture", 0, "[RE:] [entry|exit] EXPR",
     "with --keep: also these values of kept calls (of such functions): \"^handle: r->host, "
     "config.level\"; parameters, their fields, and static and global variables, read when calls "
     "end",
     FIELD(keep), cli_add_capture},
    {"text", 0, "SIZE",
     "with --args, --capture and --request: how many bytes of a text to read, up to 4K (256)",
     FIELD(keep.text_bytes), cli_set_text_bytes},
    {"request", 0, "RE[: EXPR]",
     "with --keep: each call of such functions is a request, as of sprof_request() of <sprof.h>, "
     "that the kept calls in it belong to; with a value as of --capture, \"^on_event: c->id\", all "
     "calls with the same one are the same request",
     FIELD(keep), cli_set_request},
    {"depth", 0, "N", "mode log: calls with at most so many probed callers above them (all)",
     FIELD(depth), cli_set_positive},
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
    {"full-names", 0, NULL, "messages name functions with parameters and template arguments",
     FIELD(full_names), cli_set_flag},
    {"verbose", 'v', NULL, "say more", FIELD(verbose), cli_set_flag},
    {0},
};

const struct cli_heading cli_trace_headings[] = {
    {"pid", "what runs, and for how long"},
    {"function", "which functions"},
    {"root", "drill-down"},
    {"mode", "what is measured, and at what cost"},
    {"warn-over", "warnings"},
    {"keep", "single calls"},
    {"output", "the file, and the rest"},
    {0},
};
