/* sprof record: launches or attaches, records, says what came of it, and ends as the command did.
 */
#include "record/record.h"
#include "cli/commands.h"
#include "cli/export_rows.h"
#include "cli/looping.h"
#include "cli/open.h"
#include "cli/process_tree.h"
#include "cli/signals.h"
#include "cli/target.h"
#include "cli/values.h"
#include "fleet/fleet.h"
#include "report/report.h"

#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>

struct arguments {
    struct cli_mode mode;
    bool frame_app, drop_interior, wall_clock, fine_clock;
    struct cli_threshold off_cpu;
    uint64_t frequency_hz, period;
    const char *source, *output;
    struct sprof_str events; /* of all -e, with commas */
    struct cli_target target;
    struct cli_looping looping;
    uint64_t duration_ns, delay_ns;
    size_t stack_bytes;
    double max_overhead; /* percent */
    struct cli_rules rules;
    bool paused, append, overwrite, no_symbolize, no_cache, keep_failed, per_thread, verbose,
        wakers;
};

/* Each -e adds to the list. */
static int add_events(void *field, const char *value, struct sprof_error *error)
{
    struct sprof_str *events = field;
    sprof_str_appendf(events, "%s%s", events->text ? "," : "", value);
    sprof_str_append(events, ""); /* no text is not the same as no list */
    return events->failed ? sprof_error_memory(error) : 0;
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    CLI_TARGET_OPTIONS(struct arguments),
    {"duration", 0, "T", "end the recording after 10, 10s, 500ms, 2m", FIELD(duration_ns),
     cli_set_duration},
    {"delay", 0, "T", "begin it this long after the start", FIELD(delay_ns), cli_set_duration},
    {"paused", 0, NULL, "take no samples until `sprof ctl start`", FIELD(paused), cli_set_flag},
    {"mode", 'm', "pc|full|app", "one address, the whole stack (default), or its application part",
     FIELD(mode), cli_set_mode},
    {"frame", 0, "app", "with -m pc: the innermost application frame instead", FIELD(frame_app),
     cli_set_frame},
    {"event", 'e', "LIST", "what to count, such as cpu-clock,page-faults:u,sched:sched_switch",
     FIELD(events), add_events},
    {"off-cpu", 0, "[=T]",
     "measure how long threads wait, and where; waits shorter than T are sampled (1ms)",
     FIELD(off_cpu), cli_set_threshold},
    {"wakers", 0, NULL, "with --off-cpu: record what ends each wait, and the stack of that thread",
     FIELD(wakers), cli_set_flag},
    {"clock", 0, "cpu|wall",
     "take samples by CPU time, or by time, so that waiting is seen (as root: undisturbed)",
     FIELD(wall_clock), cli_set_clock},
    {"app-module", 0, "GLOB", "these modules are application", FIELD(rules), cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {"app-interior", 0, "keep|drop", "with -m app: system frames between application frames (keep)",
     FIELD(drop_interior), cli_set_interior},
    {"frequency", 'F', "HZ", "samples a second of CPU time (997)", FIELD(frequency_hz),
     cli_set_positive},
    {"count", 'c', "PERIOD", "a sample every PERIOD events, instead of -F", FIELD(period),
     cli_set_positive},
    {"max-overhead", 0, "PERCENT", "copy less and sample less until it costs no more, such as 1%",
     FIELD(max_overhead), cli_set_overhead},
    {"source", 0, "perf|sigprof", "kernel events (preferred), or an agent inside the command",
     FIELD(source), cli_set_text},
    {"agent-clock", 0, "tick|fine",
     "the agent samples at the kernel's tick, or at -F, by a helper (3 to 10 % of a CPU)",
     FIELD(fine_clock), cli_set_agent_clock},
    {"stack-bytes", 0, "N", "bytes of each stack that are copied (64K)", FIELD(stack_bytes),
     cli_set_size},
    {"per-thread", 0, NULL, "per-thread events even where per-CPU ones are permitted",
     FIELD(per_thread), cli_set_flag},
    {"loop", 0, "T",
     "record without end, a recording for each T (60s) in the directory -o (sprof.loop)",
     FIELD(looping.segment_ns), cli_set_duration},
    {"keep", 0, "T|SIZE", "with --loop: remove what is older (24h, 7d), or more (2G)",
     FIELD(looping.keep), cli_set_keep},
    {"chance", 0, "P", "with --loop: record each segment with this chance (0.1 or 10%)",
     FIELD(looping.chance), cli_set_chance},
    {"budget", 0, "N", "with --loop: at most about N samples an hour, by leaving segments out",
     FIELD(looping.budget), cli_set_positive},
    {"push", 0, "URL", "with --loop: send each segment to a receiver, as `sprof push` does",
     FIELD(looping.pusher.to), cli_set_text},
    {"credentials", 0, "FILE", "with --push: as of `sprof push`", FIELD(looping.pusher.credentials),
     cli_set_text},
    {"label", 0, "KEY=VALUE", "with --push: service.name, host.name, any other",
     FIELD(looping.pusher.labels), cli_add_text},
    {"without", 0, "LIST", "with --push: leave out labels: user, cgroup, container",
     FIELD(looping.pusher.without), cli_set_left_out},
    {"output", 'o', "FILE", "the recording (sprof.db); an existing one becomes FILE.old.1",
     FIELD(output), cli_set_text},
    {"append", 0, NULL, "add a run to an existing recording", FIELD(append), cli_set_flag},
    {"overwrite", 0, NULL, "keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {"no-symbolize", 0, NULL, "leave the names to `sprof symbolize`", FIELD(no_symbolize),
     cli_set_flag},
    {"no-cache", 0, NULL, "compute all tables and names anew, and keep none", FIELD(no_cache),
     cli_set_flag},
    {"keep-failed", 0, NULL, "keep the raw data of stacks that are not whole", FIELD(keep_failed),
     cli_set_flag},
    {"verbose", 'v', NULL, "say more", FIELD(verbose), cli_set_flag},
    {0},
};
static const struct cli_heading headings[] = {
    {"pid", "what runs, and for how long"},       {"mode", "what is recorded of it"},
    {"frequency", "how often, and at what cost"}, {"loop", "without end"},
    {"output", "the file, and messages"},         {0},
};

static int usage(struct sprof_error *error, const char *message)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0, "%s", message);
}

static int check_targets(const struct arguments *arguments, const struct cli_operands *operands,
                         struct sprof_error *error)
{
    const char *machine = cli_machine_option(&arguments->target.machine);
    const int status = cli_target_check(&arguments->target, operands, "record", error);
    if (status)
        return status;
    if (machine && arguments->wall_clock)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--clock wall looks at the threads of a command or of -p, and not "
                               "of the machine: leave %s out",
                               machine);
    if (machine && arguments->per_thread)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "%s samples whole CPUs, --per-thread does not: leave one of them out", machine);
    return 0;
}

static int check_loop(const struct arguments *arguments, const struct cli_operands *operands,
                      struct sprof_error *error)
{
    const char *dependent = cli_looping_option(&arguments->looping);
    if (!arguments->looping.segment_ns)
        return dependent ? sprof_error_set(error, SPROF_EUSAGE, 0,
                                           "%s belongs to --loop T: add it, or leave %s out",
                                           dependent, dependent)
                         : 0;
    if (!arguments->looping.pusher.to &&
        (arguments->looping.pusher.labels.list.count || arguments->looping.pusher.without ||
         arguments->looping.pusher.credentials))
        return usage(error, "--label, --without and --credentials belong to --push URL: add it");
    if (arguments->looping.pusher.to) {
        struct fleet_target target;
        const int status = fleet_target_parse(&target, arguments->looping.pusher.to, error);
        const bool takes_rows = target.kind == FLEET_CLICKHOUSE;
        fleet_target_release(&target);
        if (status)
            return status;
        if (arguments->looping.pusher.without && !takes_rows)
            return usage(error, "--without is for rows of tables: --push clickhouse+https://…");
    }
    if (arguments->looping.segment_ns < 1000000000)
        return usage(error, "a segment of --loop lasts a second at least: write 1s or more");
    if (operands->count)
        return usage(error,
                     "--loop records what runs already or begins later: give -p, -a, --cgroup, "
                     "--user or --match, and no command");
    if (arguments->append || arguments->overwrite || arguments->paused || arguments->delay_ns)
        return usage(error,
                     "--append, --overwrite, --paused and --delay are for one recording, and "
                     "--loop makes many: leave them out");
    if (arguments->source && strcmp(arguments->source, "perf"))
        return usage(error, "--loop needs two sources at a time, which perf events can be, and "
                            "--source sigprof cannot: leave it out");
    return 0;
}

static int check(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    const struct cli_mode mode = arguments->mode;
    if (arguments->events.text && !strcmp(arguments->events.text, "list"))
        return usage(error, "`sprof list` lists the events of this machine");
    if (arguments->frame_app && !(mode.given && mode.mode == MODEL_MODE_PC))
        return usage(error, "--frame app belongs to -m pc: add it");
    if (arguments->drop_interior && !(mode.given && mode.mode == MODEL_MODE_APP))
        return usage(error, "--app-interior drop belongs to -m app: add it");
    if (arguments->fine_clock && arguments->source && !strcmp(arguments->source, "perf"))
        return usage(error, "--agent-clock is the agent's, which --source perf excludes: leave one "
                            "of them out");
    if (arguments->fine_clock && arguments->wall_clock)
        return usage(error, "--agent-clock fine samples CPU time, --clock wall time: leave one of "
                            "them out");
    if (arguments->wakers && !arguments->off_cpu.given)
        return usage(error, "--wakers is about the waits of --off-cpu: add it");
    if (arguments->append && arguments->overwrite)
        return usage(error, "--append keeps the runs that --overwrite removes: give one of them");
    if (arguments->frequency_hz && arguments->period)
        return usage(error, "-F and -c exclude each other: give one of them");
    if (arguments->max_overhead > 0 && arguments->period)
        return usage(error, "--max-overhead changes the rate, which -c fixes: give one of them");
    const int status = check_loop(arguments, operands, error);
    return status ? status : check_targets(arguments, operands, error);
}

static struct record_options options_of(struct arguments *arguments,
                                        const struct cli_operands *operands,
                                        const struct cli_terminal *terminal)
{
    struct record_options record = {
        .mode = arguments->mode.given ? arguments->mode.mode : MODEL_MODE_FULL,
        .frame_app = arguments->frame_app,
        .drop_interior = arguments->drop_interior,
        .rules = cli_rules_of(&arguments->rules),
        .output = arguments->output               ? arguments->output
                  : arguments->looping.segment_ns ? CLI_DEFAULT_SEGMENTS
                                                  : CLI_DEFAULT_RECORDING,
        .append = arguments->append,
        .overwrite = arguments->overwrite,
        .no_symbolize = arguments->no_symbolize,
        .no_cache = arguments->no_cache,
        .keep_failed = arguments->keep_failed,
        .source = arguments->source,
        .wall_clock = arguments->wall_clock,
        .off_cpu = arguments->off_cpu.given,
        .has_off_cpu_threshold = arguments->off_cpu.has_value,
        .off_cpu_threshold_ns = arguments->off_cpu.ns,
        .wakers = arguments->wakers,
        .fine_clock = arguments->fine_clock,
        .event = arguments->events.text,
        .frequency_hz = arguments->frequency_hz,
        .period = arguments->period,
        .stack_bytes = arguments->stack_bytes,
        .max_overhead = arguments->max_overhead / 100,
        .paused = arguments->paused,
        .delay_ns = arguments->delay_ns,
        .duration_ns = arguments->duration_ns,
        .thread_scope = arguments->per_thread,
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
    };
    cli_target_choose(&arguments->target, operands, &record);
    return record;
}

/* Standard output belongs to the command: what sprof has to say goes to standard error. */
static int summarize(struct cli_terminal *terminal, struct store *store,
                     const struct record_options *record, const struct record_result *result,
                     struct sprof_error *error)
{
    char note[384] = "";
    if (*result->source_cure)
        snprintf(note, sizeof note, "%s: %s", result->source_gain, result->source_cure);
    if (!result->without_names) {
        const struct report_summary_options summary = {.path = record->output,
                                                       .note = note,
                                                       .columns = cli_columns(stderr, 0),
                                                       .verbose = terminal->verbose};
        const int told = report_summary(stderr, store, &summary, error);
        if (ferror(stderr)) /* no way to report it; the recording is whole, and the status is the
                               command's */
            return 0;
        if (told != SPROF_EUSAGE)
            return told;
    }
    const struct sprof_digits samples = sprof_digits_of(result->samples);
    if (result->without_names)
        cli_say(terminal, "%s samples in %s, without names: `sprof symbolize -i %s` finds them",
                samples.text, record->output, record->output);
    else /* phases in modes that no report can take together: the error says which */
        cli_say(terminal, "%s samples in %s; %s", samples.text, record->output, error->message);
    if (*note)
        cli_say(terminal, "%s", note);
    return 0;
}

/* Attached to a process that others work for, such as a server's master: which was it? */
static void say_who_worked(struct cli_terminal *terminal, struct store *store, uint32_t run_id,
                           const struct arguments *arguments, struct cli_descendants *children)
{
    static const uint64_t least_ns = 20000000; /* two ticks */
    const uint64_t worked_ns = cli_descendants_worked(children);
    struct store_quality quality;
    const size_t count = children->list.count;
    if (worked_ns < least_ns || store_quality(store, run_id, &quality, NULL) ||
        worked_ns <= quality.target_cpu_ns)
        return;
    struct sprof_str pids = {0};
    for (size_t i = 0; i < arguments->target.pids.list.count; i++)
        sprof_str_appendf(&pids, "%s%d", i ? "," : "", (int)arguments->target.pids.list.items[i]);
    if (!pids.failed)
        cli_say(terminal,
                "%zu process%s that %s had started before worked for %.2f s and %s not recorded "
                "(such as %d): `sprof record -p %s --children`",
                count, count == 1 ? "" : "es", pids.text, (double)worked_ns / 1e9,
                count == 1 ? "was" : "were", (int)children->list.items[0].pid, pids.text);
    sprof_str_release(&pids);
}

/* With --children those that end before they are attached to are left out: they are looked for
 * anew. */
static int open_session(struct record_session **session, struct record_options *record,
                        struct arguments *arguments, const struct cli_operands *operands,
                        const struct cli_terminal *terminal, struct sprof_error *error)
{
    const size_t given = arguments->target.pids.list.count;
    int status = SPROF_ENOTFOUND;
    for (int attempt = 0; attempt < 5 && status == SPROF_ENOTFOUND; attempt++) {
        arguments->target.pids.list.count = given;
        if (arguments->target.children && cli_add_descendants(&arguments->target.pids))
            return sprof_error_memory(error);
        *record = options_of(arguments, operands, terminal);
        status = record_open(session, record, error);
        if (!arguments->target.children)
            break;
    }
    return status;
}

/* Waits for a command that outlived its recording (--duration, or a failure): it is sprof's child,
 * and the caller of sprof waits for both. */
static int wait_for_command(pid_t command, struct record_result *result)
{
    while (!result->has_wait_status && waitpid(command, &result->wait_status, 0) != command)
        if (errno != EINTR)
            return 0;
    return cli_end_as(result->wait_status);
}

static int run_loop(struct cli_terminal *terminal, struct arguments *arguments,
                    const struct cli_operands *operands, struct sprof_error *error)
{
    if (arguments->target.children && cli_add_descendants(&arguments->target.pids))
        return sprof_error_memory(error);
    struct record_options record = options_of(arguments, operands, terminal);
    record.source = "perf";
    cli_say_pids(terminal, &arguments->target.pids);
    if (!record.duration_ns && terminal->shows_progress)
        cli_say(terminal, "recording: Ctrl-C ends it");
    return cli_loop(terminal, &arguments->looping, &record, error);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    terminal->verbose = arguments->verbose;
    struct record_options record;
    struct record_session *session;
    struct cli_descendants children = {0};
    int status = check(arguments, operands, error);
    if (!status && arguments->looping.segment_ns)
        return run_loop(terminal, arguments, operands, error);
    if (!status)
        status = open_session(&session, &record, arguments, operands, terminal, error);
    if (status)
        return status;
    const pid_t command = record_command_pid(session);
    cli_signals_catch(session, command);
    cli_say_pids(terminal, &arguments->target.pids);
    if (!command && !record.duration_ns && terminal->shows_progress)
        cli_say(terminal, "recording: Ctrl-C ends it");
    struct record_result result = {0};
    if (!arguments->target.children)
        cli_descendants_note(&children, &arguments->target.pids);
    status = record_run(session, &result, error);
    cli_signals_forget_session();
    if (!status)
        status = summarize(terminal, record_store(session), &record, &result, error);
    if (!status)
        say_who_worked(terminal, record_store(session), result.run_id, arguments, &children);
    cli_descendants_release(&children);
    record_free(session);
    if (status)
        cli_say(terminal, "%s", error->message);
    const int command_status = command ? wait_for_command(command, &result) : 0;
    if (status)
        return cli_exit_status(status);
    return command_status;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    cli_target_release(&arguments->target);
    sprof_vec_release(&arguments->rules.list);
    sprof_str_release(&arguments->events);
    sprof_vec_release(&arguments->looping.pusher.labels.list);
}

const struct cli_command cli_record_command = {
    .name = "record",
    .summary = "Run a command, or attach to a process, and record where its time goes",
    .operands = "[--] [COMMAND …]",
    .command_follows = true,
    .options = options,
    .headings = headings,
    .details = "The command's output, input, signals and exit status are its own; sprof's\n"
               "messages go to standard error. Ctrl-C ends the recording cleanly.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
