/* sprof trace: runs a command with probes in its functions, says what came of it, and ends as the
 * command did. */
#include "trace/trace.h"
#include "cli/commands.h"
#include "cli/signals.h"
#include "cli/values.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct cli_rules rules;
    struct cli_texts functions, modules;
    const char *output;
    enum trace_mode mode;
    bool append, paths, no_cache, paused, verbose;
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
        sprof_str_appendf(&words, "%s%s", i ? " or " : "", trace_mode_words[i]);
    }
    const int code = sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` is no mode: give %s", value,
                                     words.text ? words.text : "another");
    sprof_str_release(&words);
    return code;
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"function", 0, "RE",
     "functions whose name the regular expression finds; \"!RE\" leaves out (all)",
     FIELD(functions), cli_add_text},
    {"module", 0, "GLOB", "functions of these modules (those of the application)", FIELD(modules),
     cli_add_text},
    {"mode", 0, "stats|coverage",
     "count and time calls (stats), or find out which functions are called, at no cost but for "
     "each one's first call",
     FIELD(mode), set_mode},
    {"paths", 0, NULL, "count and time calls by who called whom, too", FIELD(paths), cli_set_flag},
    {"output", 'o', "FILE", "the recording (sprof.db); an existing one becomes FILE.old",
     FIELD(output), cli_set_text},
    {"append", 0, NULL, "add a run to an existing recording", FIELD(append), cli_set_flag},
    {"app-module", 0, "GLOB", "these modules are application", FIELD(rules), cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {"paused", 0, NULL, "begin without measuring; `sprof ctl start` starts it", FIELD(paused),
     cli_set_flag},
    {"no-cache", 0, NULL, "compute all plans and names anew, and keep none", FIELD(no_cache),
     cli_set_flag},
    {"verbose", 'v', NULL, "tell more", FIELD(verbose), cli_set_flag},
    {0},
};

/* Standard output belongs to the command. */
static void summarize(struct cli_terminal *terminal, const struct trace_options *trace,
                      const struct trace_result *result)
{
    char refused[80] = "", abnormal[80] = "", in_flight[80] = "", probe[80] = "";
    if (result->refused)
        snprintf(refused, sizeof refused, ", %zu refused: `sprof probes --refused`",
                 result->refused);
    if (result->abnormal)
        snprintf(abnormal, sizeof abnormal, " · %llu left without returning",
                 (unsigned long long)result->abnormal);
    if (result->in_flight)
        snprintf(in_flight, sizeof in_flight, " · %llu still open at the end",
                 (unsigned long long)result->in_flight);
    cli_say(terminal, "%zu probes (%zu see the entry only)%s", result->probes, result->entry_only,
            refused);
    if (result->probe_ns > 0)
        snprintf(probe, sizeof probe, " · %.1f ns a call taken off", result->probe_ns);
    if (trace->mode == TRACE_COVERAGE)
        cli_say(terminal,
                "%zu of %zu functions were called (%.1f %%) in %.3f s · %zu probes left while it "
                "ran · %s",
                result->covered, result->probes,
                result->probes ? 100.0 * (double)result->covered / (double)result->probes : 0,
                (double)result->duration_ns / 1e9, result->left, trace->output);
    else
        cli_say(terminal, "%llu calls in %.3f s%s%s%s · %s", (unsigned long long)result->calls,
                (double)result->duration_ns / 1e9, abnormal, in_flight, probe, trace->output);
    if (result->untracked)
        cli_say(terminal, "%llu threads found no room for their figures and were not traced",
                (unsigned long long)result->untracked);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    const struct arguments *arguments = all;
    terminal->verbose = arguments->verbose;
    if (!operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to trace: give a command (`sprof trace -- PROGRAM`)");
    if (arguments->mode != TRACE_STATS && arguments->paths)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--paths goes with --mode stats");
    const struct trace_options trace = {
        .mode = arguments->mode,
        .append = arguments->append,
        .command = operands->items,
        .functions = arguments->functions.list.items,
        .function_count = arguments->functions.list.count,
        .modules = arguments->modules.list.items,
        .module_count = arguments->modules.list.count,
        .rules = cli_rules_of(&arguments->rules),
        .output = arguments->output ? arguments->output : CLI_DEFAULT_RECORDING,
        .paths = arguments->paths,
        .no_cache = arguments->no_cache,
        .paused = arguments->paused,
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
    };
    struct trace_session *session;
    int status = trace_open(&session, &trace, error);
    if (status)
        return status;
    struct trace_result result;
    cli_signals_catch(NULL, trace_command_pid(session));
    status = trace_run(session, &result, error);
    trace_free(session);
    if (!status)
        summarize(terminal, &trace, &result);
    else if (result.has_wait_status)
        cli_say(terminal, "%s", error->message);
    return status && !result.has_wait_status ? status : status ? 1 : cli_end_as(result.wait_status);
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->rules.list);
    sprof_vec_release(&arguments->functions.list);
    sprof_vec_release(&arguments->modules.list);
}

const struct cli_command cli_trace_command = {
    .name = "trace",
    .summary = "Run a command with probes in its functions, and count and time every call",
    .operands = "[--] COMMAND …",
    .command_follows = true,
    .options = options,
    .details =
        "Every call of the chosen functions is counted and timed, from the first constructor on.\n"
        "`sprof stats` shows them; `sprof stats --coverage` shows what --mode coverage finds.\n"
        "Libraries that it loads while it runs are traced from their constructors on; programs\n"
        "that it starts are not. The command's output, input, signals and exit status are its own.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
