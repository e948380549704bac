/* Records samples and calls of the same time for `sprof why --slow`. */
#include "cli/why_slow.h"

#include "cli/signals.h"
#include "cli/why_open.h"
#include "names/names.h"
#include "trace/trace.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* Calls are kept without regard to their length, for the usual ones, and the longest. */
#define USUAL_RULE "first 2000 a second"
#define LONGEST_RULE "slowest 2000"

enum { STEP_MS = 100, PATIENCE_MS = 2000, RULES = 2 };

/* The recording of samples, in a thread of its own. */
struct sampling {
    struct cli_why_looking *looking;
    struct sprof_error *error;
    int status;
    pid_t command;         /* that is ended when the recording is over; 0: none */
    atomic_bool has_ended; /* the trace, and so the command */
};

static void end_command(struct sampling *sampling)
{
    for (int ms = 0; ms <= PATIENCE_MS && !atomic_load(&sampling->has_ended); ms += STEP_MS) {
        if (!ms || ms == PATIENCE_MS)
            kill(sampling->command, ms ? SIGKILL : SIGTERM);
        poll(NULL, 0, STEP_MS);
    }
}

static void *sample(void *context)
{
    struct sampling *sampling = context;
    sampling->status =
        record_run(sampling->looking->session, &sampling->looking->result, sampling->error);
    if (sampling->command)
        end_command(sampling);
    return NULL;
}

/* Runs both to their ends. */
static int run(struct trace_session *trace, struct cli_why_looking *looking, pid_t ended_command,
               struct sprof_error *error)
{
    struct sprof_error unrecorded = {0};
    struct trace_result result;
    struct sampling sampling = {.looking = looking, .error = &unrecorded, .command = ended_command};
    pthread_t thread;
    if (pthread_create(&thread, NULL, sample, &sampling))
        return sprof_error_set(error, SPROF_ENOMEM, 0, "cannot start a thread\nsee `ulimit -u`");
    const int status = trace_run(trace, &result, error);
    atomic_store(&sampling.has_ended, true);
    record_interrupt(looking->session);
    pthread_join(thread, NULL);
    looking->stopped_ns = result.stopped_ns;
    looking->result.has_wait_status = result.has_wait_status;
    looking->result.wait_status = result.wait_status;
    if (!status && sampling.status)
        *error = unrecorded;
    return status ? status : sampling.status;
}

static int keep_rules(struct rules_keep rules[RULES], char over[64],
                      const struct cli_why_slow *slow, struct sprof_error *error)
{
    const uint64_t over_ns = slow->over_ns ? slow->over_ns : CLI_WHY_LONG_NS;
    const bool is_even = over_ns % 1000 == 0;
    snprintf(over, 64, "over %llu%s", (unsigned long long)(is_even ? over_ns / 1000 : over_ns),
             is_even ? "us" : "ns");
    const int status = rules_keep_parse(&rules[0], USUAL_RULE, error);
    return status ? status : rules_keep_parse(&rules[1], over, error);
}

/* Opens the trace, then the recording of what it traces. */
static int open_both(struct trace_session **trace, const struct trace_options *options,
                     struct record_options *record, struct cli_why_looking *looking, pid_t *command,
                     struct sprof_error *error)
{
    const int output = options->command ? cli_why_turn_output() : -1;
    int status = trace_open(trace, options, error);
    cli_why_return_output(output);
    if (status)
        return status;
    if (options->command) {
        *command = trace_command_pid(*trace);
        record->command = NULL;
        record->pids = command;
        record->pid_count = 1;
        cli_signals_catch(NULL, *command);
    }
    status = cli_why_open(&looking->session, record, &looking->unseen, error);
    if (status)
        trace_free(*trace);
    return status;
}

int cli_why_slow(const struct cli_why_slow *slow, struct record_options *record,
                 struct cli_why_looking *looking, struct sprof_error *error)
{
    const bool launches = record->command != NULL;
    const int end_fd = launches ? -1 : cli_signals_end_fd();
    struct rules_keep rules[RULES];
    struct trace_session *trace;
    char over[64];
    pid_t command = 0;
    struct names_screen *names = names_screen_new();
    const struct trace_options options = {
        .mode = TRACE_STATS,
        .backend = TRACE_INJECT,
        .command = record->command,
        .pid = launches ? 0 : record->pids[0],
        .others = launches ? NULL : record->pids + 1,
        .other_count = launches ? 0 : record->pid_count - 1,
        .duration_ns = slow->duration_ns,
        .end_fd = end_fd,
        .functions = &slow->of,
        .function_count = 1,
        .function_option = "slow",
        .output = slow->output,
        .overwrite = true,
        .kept = {.rules = rules, .rule_count = RULES, .arguments = true},
        .names = names,
        .sprof_version = record->sprof_version,
    };
    record->duration_ns = launches ? slow->duration_ns : 0; /* else it ends with the trace */
    int status = keep_rules(rules, over, slow, error);
    if (!status)
        status = open_both(&trace, &options, record, looking, &command, error);
    if (!status) {
        status = run(trace, looking, slow->duration_ns ? command : 0, error);
        trace_free(trace);
    }
    names_screen_free(names);
    if (end_fd >= 0)
        close(end_fd);
    return status;
}
