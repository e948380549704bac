/* Warns, at the end of a recording, of what it does not hold. */
#include "base/proc.h"
#include "record/session.h"

#include <unistd.h>

/* What an agent inside the command could not do, and what that means. */
static void warn_of_agents(const struct record_session *session)
{
    const struct sampler_counters counters = sampler_counters(session->sampler);
    const struct sprof_log *log = session->options.log;
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const bool by_agents = facts->weights == SAMPLER_WEIGHTS_TICK;
    if (!by_agents && session->options.fine_clock)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "--agent-clock had no effect: perf events are permitted, and were used; "
                          "--source sigprof takes the agent");
    if (!by_agents)
        return;
    if (!counters.agents)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "no sample could be taken: the agent did not get into the command, or "
                          "could not reach sprof from there; `sprof help without perf events` "
                          "names the programs that it cannot sample");
    if (counters.agents_standing_back)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu of %llu programs use SIGPROF themselves: they were left alone",
                          (unsigned long long)counters.agents_standing_back,
                          (unsigned long long)counters.agents);
    if (counters.agents_without_memory)
        sprof_log_message(
            log, SPROF_LOG_WARNING,
            "%llu of %llu programs have no room for the agent's memory (`ulimit -v`): "
            "they were not sampled",
            (unsigned long long)counters.agents_without_memory,
            (unsigned long long)counters.agents);
    if (counters.programs_left_out)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu program%s that the command started ran without an agent: linked "
                          "statically, of Go, set-user-id, built with a sanitizer, or of another "
                          "word size; their CPU time is [not sampled]",
                          (unsigned long long)counters.programs_left_out,
                          counters.programs_left_out == 1 ? "" : "s");
    if (counters.programs_out_of_reach)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu program%s that the command started could not reach the agent's "
                          "library or sprof: in another root directory or mount namespace, or run "
                          "by another user; their CPU time is [not sampled]",
                          (unsigned long long)counters.programs_out_of_reach,
                          counters.programs_out_of_reach == 1 ? "" : "s");
    if (counters.programs_without_descriptors)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu process%s fewer than three descriptors left and no higher hard "
                          "limit (`ulimit -Hn`), so that the agent could not reach sprof's memory; "
                          "their CPU time is [not sampled]",
                          (unsigned long long)counters.programs_without_descriptors,
                          counters.programs_without_descriptors == 1 ? " had" : "es had");
    if (counters.blocked_ns)
        sprof_log_message(
            log, SPROF_LOG_WARNING,
            "%.3f s in signal handlers on alternate stacks (sigaltstack) of less than "
            "256 KiB were not sampled: these may have no room for a sample's frame; "
            "that CPU time is [not sampled]",
            (double)counters.blocked_ns / 1e9);
    if (counters.unsampled_threads)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "%llu thread%s could not be sampled: more than 4096 at once, too few "
                          "pending signals (`ulimit -i`), or made by clone past libc",
                          (unsigned long long)counters.unsampled_threads,
                          counters.unsampled_threads == 1 ? "" : "s");
}

/* Whether a process of the recording lives on in a session of its own. (What is in sprof's session
 * and has not ended yet is about to, more often than not.) */
static bool is_daemon(const struct model_process *process)
{
    struct sprof_proc_stat stat;
    const pid_t theirs = process->end_ns ? -1 : getsid(process->pid);
    return theirs > 0 && theirs != getsid(0) && sprof_proc_stat_read(process->pid, &stat) &&
           stat.state != 'Z' && stat.state != 'X';
}

/* Servers go to the background, and their command ends at once. */
static void warn_of_daemons(const struct record_session *session)
{
    const struct model_process_table *table = recording_processes(session->recording);
    const struct model_process *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < table->processes.count; i++)
        if (is_daemon(table->processes.items[i])) {
            last = table->processes.items[i];
            count++;
        }
    if (count)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "%zu process%s that the command left in the background %s no longer "
                          "recorded: start the command in the foreground, or record %s with "
                          "`sprof record -p %d`",
                          count, count == 1 ? "" : "es", count == 1 ? "is" : "are",
                          count == 1 ? "it" : "one of them", last->pid);
}

/* Rings hold what comes for some time. While sprof waits longer for a CPU, the rest is lost. */
static void warn_of_waiting(const struct record_session *session)
{
    const struct sampler_counters counters = sampler_counters(session->sampler);
    const uint64_t duration_ns = sprof_clock_monotonic_ns() - session->start_ns;
    if (counters.lost * 100 > counters.samples && session->waited_ns * 10 > duration_ns)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "sprof waited for a CPU in %.0f %% of the time, and lost samples "
                          "meanwhile: programs with real-time priority, or too many others, have "
                          "the CPUs (with --stack-bytes 8192 the same memory holds more samples)",
                          100.0 * (double)session->waited_ns / (double)duration_ns);
}

static void warn_of_outside(const struct record_session *session)
{
    const struct sampler_counters counters = sampler_counters(session->sampler);
    if (counters.outside_samples)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "%.0f %% of the samples are of processes outside this container (its pid "
                          "namespace), which are one process here, without names: run sprof on "
                          "the host",
                          100.0 * (double)counters.outside_samples / (double)counters.samples);
}

void record_warn(const struct record_session *session, const struct record_result *result)
{
    warn_of_agents(session);
    warn_of_waiting(session);
    warn_of_outside(session);
    if (session->options.command && !session->options.all_cpus && result->has_wait_status)
        warn_of_daemons(session);
}
