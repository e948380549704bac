/* What `sprof trace` says at its end: what was counted and where it is, what was not, and what
 * shows more of it. */
#include "cli/trace_summary.h"

#include "cli/keep.h"

#include <stdio.h>

/* Shorter standstills of threads are shown as 0.0 ms. */
enum { STANDSTILL_NS = 50000 };

/* What is said of probes that count calls without times; "" for none. */
struct entries {
    char text[48];
};

static struct entries text_of_entries(size_t count)
{
    struct entries entries = {""};
    if (count)
        snprintf(entries.text, sizeof entries.text, " (%zu without times)", count);
    return entries;
}

static void say_probes(struct cli_terminal *terminal, const struct trace_options *trace,
                       const struct trace_result *result)
{
    struct sprof_str said = {0};
    if (result->refused) {
        sprof_str_appendf(
            &said, ", %zu refused: %s`sprof probes --refused ", result->refused,
            trace->backend == TRACE_UPROBE || result->uprobes_because ? "see above, and " : "");
        sprof_command_append_target(&said, trace->pid, trace->command);
        sprof_str_append(&said, "`");
    }
    const char *refused = said.text ? said.text : "";
    if (trace->children)
        cli_say(terminal, "%zu process%s of %zu program%s", result->processes,
                result->processes == 1 ? "" : "es", result->programs,
                sprof_plural(result->programs));
    else if (trace->other_count)
        cli_say(terminal, "%zu process%s: %zu probe%s%s%s", result->processes,
                result->processes == 1 ? "" : "es", result->probes, sprof_plural(result->probes),
                text_of_entries(result->entry_only).text, refused);
    else
        cli_say(terminal, "%zu probe%s%s%s", result->probes, sprof_plural(result->probes),
                text_of_entries(result->entry_only).text, refused);
    sprof_str_release(&said);
    if (result->uprobes_because)
        cli_say(terminal,
                "counted by uprobes, as the program %s: no log, coverage, paths, callers or "
                "warnings, nor libraries that it loaded later",
                result->uprobes_because);
    if (trace->all_points)
        cli_say(terminal, "%zu call point%s, and %s call%s through them", result->points,
                sprof_plural(result->points), sprof_digits_of(result->point_calls).text,
                sprof_plural(result->point_calls));
    if (result->left_out)
        cli_say(terminal, "%zu time%s a program was executed that could not be traced",
                result->left_out, sprof_plural(result->left_out));
}

static void say_calls(struct cli_terminal *terminal, const struct trace_options *trace,
                      const struct trace_result *result)
{
    char abnormal[80] = "", in_flight[80] = "", probe[80] = "";
    const double seconds = (double)result->duration_ns / 1e9;
    const bool are_counted = result->probes && result->entry_only == result->probes;
    if (result->abnormal)
        snprintf(abnormal, sizeof abnormal, " · %s left without returning",
                 sprof_digits_of(result->abnormal).text);
    if (result->in_flight)
        snprintf(in_flight, sizeof in_flight, " · %s still open at the end",
                 sprof_digits_of(result->in_flight).text);
    if (result->probe_ns > 0 && !are_counted)
        snprintf(probe, sizeof probe,
                 result->probe_ns < 1000 ? " · probes took %.1f ns a call, taken off"
                                         : " · probes took %.2f µs a call, taken off",
                 result->probe_ns < 1000 ? result->probe_ns : result->probe_ns / 1000);
    if (trace->mode == TRACE_COVERAGE && (trace->children || trace->other_count))
        cli_say(terminal, "%zu function%s called in %.3f s · %s", result->covered,
                result->covered == 1 ? " was" : "s were", seconds, trace->output);
    else if (trace->mode == TRACE_COVERAGE)
        cli_say(terminal,
                "%zu of %zu function%s called (%.1f %%) in %.3f s · %zu probe%s removed while it "
                "ran · %s",
                result->covered, result->functions, result->functions == 1 ? " was" : "s were",
                result->functions ? 100.0 * (double)result->covered / (double)result->functions : 0,
                seconds, result->left, sprof_plural(result->left), trace->output);
    else
        cli_say(terminal, "%s call%s in %.3f s%s%s%s · %s", sprof_digits_of(result->calls).text,
                sprof_plural(result->calls), seconds, abnormal, in_flight, probe, trace->output);
    if (result->stopped_ns >= STANDSTILL_NS || (result->stopped_ns && terminal->verbose))
        cli_say(terminal, "threads stood still for %.1f ms at most",
                (double)result->stopped_ns / 1e6);
}

/* What was not measured, or less exactly, and which limit is why. */
static void say_limits(struct cli_terminal *terminal, const struct trace_result *result)
{
    if (result->governed_count)
        cli_say(terminal, "to hold --max-overhead %zu function%s only counted in the end",
                result->governed_count, result->governed_count == 1 ? " was" : "s were");
    if (result->governed_off)
        cli_say(terminal,
                "to hold --max-overhead %zu function%s lost %s: their callers' self times include "
                "theirs",
                result->governed_off, sprof_plural(result->governed_off),
                result->governed_off == 1 ? "its probe" : "their probes");
    if (result->overhead > 0)
        cli_say(terminal,
                "probes took about %.2g %% of the CPU time, by what calls cost programs that were "
                "measured",
                100 * result->overhead);
    if (result->no_percentiles_ns)
        cli_say(terminal,
                "to hold --memory there are no percentiles from %.3f s on; figures took %.1f MB at "
                "most",
                (double)result->no_percentiles_ns / 1e9, (double)result->memory_bytes / 1e6);
    if (result->beyond_calls)
        cli_say(
            terminal,
            "%s call%s of %u function%s %s only counted: their threads had no room for figures, "
            "may "
            "not read the processor's counter, were at the end of their stack, or share their data",
            sprof_digits_of(result->beyond_calls).text, sprof_plural(result->beyond_calls),
            result->beyond_functions, sprof_plural(result->beyond_functions),
            result->beyond_calls == 1 ? "was" : "were");
}

static void say_losses(struct cli_terminal *terminal, const struct trace_result *result)
{
    if (result->is_unreliable)
        cli_say(terminal, "its figures are not reliable: the program has written into the memory "
                          "that it shares with sprof");
    if (result->lost)
        cli_say(terminal,
                "%s call%s found no room for their figures: 1024 threads at a time have some, and "
                "65536 pairs of a thread and a function; choose fewer functions",
                sprof_digits_of(result->lost).text, sprof_plural(result->lost));
    if (result->remarks_lost)
        cli_say(
            terminal,
            "%s request%s or note%s of <sprof.h> %s lost: for want of room, or their text could "
            "not be read",
            sprof_digits_of(result->remarks_lost).text, sprof_plural(result->remarks_lost),
            sprof_plural(result->remarks_lost), result->remarks_lost == 1 ? "is" : "are");
    if (result->warnings || result->warnings_lost) {
        char lost[96] = "";
        if (result->warnings_lost)
            snprintf(lost, sizeof lost, ", and %s that were lost for want of room",
                     sprof_digits_of(result->warnings_lost).text);
        cli_say(terminal, "%s warning%s%s", sprof_digits_of(result->warnings).text,
                sprof_plural(result->warnings), lost);
    }
    if (result->unplaced)
        cli_say(terminal,
                "%zu function%s no rows, nor %s %s call%s: their file was unmapped or replaced "
                "before it was seen",
                result->unplaced, result->unplaced == 1 ? " has" : "s have",
                result->unplaced == 1 ? "its" : "their",
                sprof_digits_of(result->unplaced_calls).text, sprof_plural(result->unplaced_calls));
    if (result->untracked)
        cli_say(terminal,
                "%s thread%s found no room for their figures: their calls were counted, and not "
                "timed",
                sprof_digits_of(result->untracked).text, sprof_plural(result->untracked));
}

/* What shows more of it. */
static void say_next(struct cli_terminal *terminal, const struct trace_options *trace,
                     const struct trace_result *result)
{
    struct sprof_arena arena = {0};
    char *const words[] = {(char *)(uintptr_t)trace->output, NULL};
    const char *file = sprof_command_text(&arena, words);
    if (!file)
        file = trace->output;
    if (trace->mode == TRACE_COVERAGE && result->covered)
        cli_say(terminal, "next: sprof stats %s · sprof stats --unexecuted %s", file, file);
    else if (trace->kept.rule_count && result->kept)
        cli_say(terminal, "next: sprof report --kept %s · sprof report %s", file, file);
    else if (trace->mode == TRACE_LOG && result->logged)
        cli_say(terminal, "next: sprof script %s · sprof stats %s", file, file);
    else if (trace->mode == TRACE_STATS && result->calls)
        cli_say(terminal, "next: sprof report %s%s · sprof stats %s",
                trace->paths || trace->callers ? "--tree " : "", file, file);
    else if (trace->mode == TRACE_STATS && trace->pid && !trace->other_count && !trace->paused)
        cli_say(terminal, "nothing was called: where other processes do the work, as a master's "
                          "workers, trace all of them: -p PID,PID, or -p NAME");
    if (result->warnings)
        cli_say(terminal, "warnings: sprof stats --warnings %s", file);
    sprof_arena_release(&arena);
}

void cli_say_traced(struct cli_terminal *terminal, const struct trace_options *trace,
                    const struct trace_result *result)
{
    say_probes(terminal, trace, result);
    say_calls(terminal, trace, result);
    say_limits(terminal, result);
    if (trace->mode == TRACE_LOG) {
        char unlogged[64] = "";
        if (result->unlogged)
            snprintf(unlogged, sizeof unlogged, ", %s not, for lack of room",
                     sprof_digits_of(result->unlogged).text);
        cli_say(terminal, "%s call%s written down%s", sprof_digits_of(result->logged).text,
                sprof_plural(result->logged), unlogged);
    }
    if (trace->kept.rule_count)
        cli_say_kept(terminal, result);
    say_losses(terminal, result);
    say_next(terminal, trace, result);
}
