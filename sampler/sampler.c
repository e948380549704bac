/* Opens sources of samples, runs them beside the target, and hands out what they bring in the order
 * of time. */
#include "sampler/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* == Opening == */

int sampler_state_facts(struct sampler *sampler)
{
    sampler->events.count = 0;
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        source->first_event = source->kind->events ? (uint32_t)sampler->events.count : 0;
        if (source->kind->events && source->kind->events(source, &sampler->events))
            return SPROF_ENOMEM;
    }
    sampler->sources.items[0]->kind->facts(sampler->sources.items[0], &sampler->facts);
    sampler->facts.events = sampler->events.items;
    sampler->facts.event_count = sampler->events.count;
    return 0;
}

static bool is_refusal(int result)
{
    return result == SPROF_EPERMISSION || result == SPROF_EUNSUPPORTED;
}

/* Why the first kind was refused, what cures that, and what would be better then. */
static void keep_reason(struct sampler_facts *facts, const char *message, const char *gain)
{
    const size_t line = strcspn(message, "\n");
    snprintf(facts->source_why, sizeof facts->source_why, "%.*s", (int)line, message);
    snprintf(facts->source_cure, sizeof facts->source_cure, "%s",
             message[line] ? message + line + 1 : "");
    facts->source_gain = gain;
}

/* Opens a kind beside another; returns 1 where it was refused, and the other does without. */
static int open_beside(struct sampler *sampler, const struct source_kind *kind,
                       struct sampler_options *options, const struct source_request *request,
                       struct source **opened, struct sprof_error *error)
{
    struct sprof_error refusal = {0};
    const int result = kind->open(opened, request, &refusal);
    const char *gain = is_refusal(result) && kind->do_without ? kind->do_without(options) : NULL;
    if (gain)
        keep_reason(&sampler->facts, refusal.message, gain);
    else if (result && error)
        *error = refusal;
    return gain ? 1 : result;
}

int sampler_add_source(struct sampler *sampler, const struct source_kind *kind,
                       const struct sampler_options *asked, struct sprof_error *error)
{
    struct sampler_options own = *asked, *options = &own;
    const struct source_request request = {
        .options = options, .target = sampler->target, .log = options->log};
    if (options->paused && !kind->set_paused)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "the source `%s` cannot begin paused: leave --paused out",
                               kind->name);
    size_t most = 1, opened = 1;
    while (kind->beside && kind->beside[most - 1])
        most++;
    if (sprof_vec_reserve(&sampler->sources, sampler->sources.count + most))
        return sprof_error_memory(error);
    struct source **sources = sampler->sources.items + sampler->sources.count;
    int result = 0;
    /* Those beside it come first: they are refused more often. */
    for (size_t i = 0; i + 1 < most && !result; i++)
        if (kind->beside[i]->is_wanted(options)) {
            result =
                open_beside(sampler, kind->beside[i], options, &request, &sources[opened], error);
            opened += !result;
            result = result > 0 ? 0 : result;
        }
    if (!result)
        result = kind->open(&sources[0], &request, error);
    if (result) {
        while (--opened)
            sources[opened]->kind->free(sources[opened]);
        return result;
    }
    sampler->sources.count += opened;
    return sampler_state_facts(sampler) ? sprof_error_memory(error) : 0;
}

static int check_wall(const struct sampler_options *options, struct sprof_error *error)
{
    if (options->event || options->period)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--clock wall counts time: leave %s out",
                               options->event ? "-e" : "-c");
    if (options->frequency_hz > SAMPLER_WALL_HZ_MAX)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%llu samples a second are impossible with --clock wall: at most %d",
                               (unsigned long long)options->frequency_hz, SAMPLER_WALL_HZ_MAX);
    return 0;
}

static int check_off_cpu(const struct sampler_options *options, struct sprof_error *error)
{
    if (options->clock == SAMPLER_CLOCK_WALL)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--clock wall samples waiting threads by itself: leave it or "
                               "--off-cpu out");
    if (options->source && strcmp(options->source, "perf") != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--off-cpu measures beside perf events: leave --source %s out",
                               options->source);
    const struct sampler_choice *choice = &options->choice;
    if (options->all_cpus &&
        (choice->cpu_count || choice->cgroup || choice->by_user || choice->program))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--off-cpu measures all threads of the machine (-a), or those of a "
                               "command or of -p, and cannot choose by CPU, cgroup, user or name\n"
                               "name -a, or the processes with -p");
    return 0;
}

static int no_such_source(const struct source_kind *const *kinds, const char *name,
                          struct sprof_error *error)
{
    struct sprof_str known = {0};
    for (; *kinds; kinds++)
        sprof_str_appendf(&known, "%s%s", known.length ? ", " : "", (*kinds)->name);
    const int result =
        sprof_error_set(error, SPROF_EUSAGE, 0, "there is no source `%s`; there are: %s", name,
                        known.text ? known.text : "");
    sprof_str_release(&known);
    return result;
}

/* Why the first kind was refused, why the one that stands in for it was, and what cures the first.
 */
static void say_both(const struct sprof_error *first, const struct sprof_error *other,
                     struct sprof_error *error)
{
    const int line = (int)strcspn(first->message, "\n");
    if (!*other->message)
        *error = *first;
    else
        sprof_error_set(error, first->code, first->errnum, "%.*s; %.*s%.400s", line, first->message,
                        (int)strcspn(other->message, "\n"), other->message, first->message + line);
}

/* Opens the source asked for by name, or the first that is not refused here. The error names the
 * cure of the first: it is the better one. */
static int open_source(struct sampler *sampler, const struct source_kind *const *kinds,
                       const struct sampler_options *options, struct sprof_error *error)
{
    const int wrong = options->off_cpu.wanted                ? check_off_cpu(options, error)
                      : options->clock == SAMPLER_CLOCK_WALL ? check_wall(options, error)
                                                             : 0;
    if (wrong)
        return wrong;
    if (options->source) {
        for (size_t i = 0; kinds[i]; i++)
            if (!strcmp(kinds[i]->name, options->source))
                return sampler_add_source(sampler, kinds[i], options, error);
        return no_such_source(kinds, options->source, error);
    }
    struct sprof_error first = {0}, other = {0};
    const int refused = sampler_add_source(sampler, kinds[0], options, &first);
    int result = refused;
    for (size_t i = 1; is_refusal(result) && kinds[i]; i++)
        if (kinds[i]->stands_in && kinds[i]->stands_in(options))
            result = sampler_add_source(sampler, kinds[i], options, &other);
    if (!result && refused)
        keep_reason(&sampler->facts, first.message,
                    "perf events would sample the kernel, too, and at the rate asked for");
    if (result && error)
        say_both(&first, &other, error);
    return result ? refused : 0;
}

/* What was there before the recording began. */
static int take_snapshot(struct sampler *sampler, uint64_t time_ns)
{
    size_t count;
    const pid_t *pids = target_processes(sampler->target, &count);
    int result =
        sampler->facts.kernel_excluded ? 0 : target_snapshot_kernel(&sampler->initial, time_ns);
    for (size_t i = 0; !result && i < count; i++)
        result = target_snapshot_process(&sampler->initial, pids[i], time_ns);
    return result;
}

static void warm_up_sources(void)
{
    for (size_t i = 0; sampler_source_kinds[i]; i++)
        if (sampler_source_kinds[i]->in_child)
            sampler_source_kinds[i]->in_child();
}

static int open_parts(struct sampler *sampler, const struct source_kind *const *kinds,
                      const struct sampler_options *options, struct sprof_error *error)
{
    const struct target_options target = {
        .command = options->command,
        .pids = options->pids,
        .pid_count = options->pid_count,
        .tid = options->tid,
        .all = options->all_cpus,
        .in_child = warm_up_sources,
    };
    int result = target_open(&sampler->target, &target, error);
    if (result)
        return result;
    sampler->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sampler->interrupt_fd < 0)
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make an event descriptor: %s\nsee `ulimit -n`",
                               strerror(errno));
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    result = open_source(sampler, kinds, options, error);
    if (result)
        return result;
    sampler->was_paused = options->paused;
    sampler->introduces = options->all_cpus;
    sampler->is_enclosed = options->all_cpus && !sprof_proc_in_first_pid_namespace();
    sampler->capture = options->capture;
    sampler->facts.command_pid = target_command(sampler->target);
    return take_snapshot(sampler, before_ns) ? sprof_error_memory(error) : 0;
}

static int begin_kinds(struct sampler **opened, const struct source_kind *const *kinds,
                       const struct sampler_options *options, struct sprof_error *error)
{
    *opened = NULL;
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return sprof_error_memory(error);
    sampler->interrupt_fd = sampler->watched_fd = -1;
    const int result = open_parts(sampler, kinds, options, error);
    if (result)
        sampler_free(sampler);
    else
        *opened = sampler;
    return result;
}

int sampler_begin(struct sampler **opened, const struct sampler_options *options,
                  struct sprof_error *error)
{
    return begin_kinds(opened, sampler_source_kinds, options, error);
}

int sampler_settle(struct sampler *sampler, const struct sprof_log *log, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < sampler->sources.count && !result; i++) {
        struct source *source = sampler->sources.items[i];
        result = source->kind->settle ? source->kind->settle(source, log, error) : 0;
    }
    return !result && sampler_state_facts(sampler) ? sprof_error_memory(error) : result;
}

int sampler_open_kinds(struct sampler **opened, const struct source_kind *const *kinds,
                       const struct sampler_options *options, struct sprof_error *error)
{
    int result = begin_kinds(opened, kinds, options, error);
    if (!result)
        result = sampler_settle(*opened, options->log, error);
    if (result) {
        sampler_free(*opened);
        *opened = NULL;
    }
    return result;
}

int sampler_open(struct sampler **opened, const struct sampler_options *options,
                 struct sprof_error *error)
{
    return sampler_open_kinds(opened, sampler_source_kinds, options, error);
}

void sampler_close(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->sources.count; i++)
        sampler->sources.items[i]->kind->free(sampler->sources.items[i]);
    sprof_vec_release(&sampler->sources);
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    sampler_close(sampler);
    target_free(sampler->target);
    target_snapshot_release(&sampler->initial);
    sprof_map_release(&sampler->introduced);
    sprof_vec_release(&sampler->wait.polls);
    sprof_vec_release(&sampler->events);
    if (sampler->interrupt_fd >= 0)
        close(sampler->interrupt_fd);
    free(sampler);
}

/* == Running == */

int sampler_start(struct sampler *sampler, struct sprof_error *error)
{
    if (sampler->started)
        return sprof_error_set(error, SPROF_ESTATE, 0, "the sampler was started before");
    sampler->started = true;
    int result = 0;
    for (size_t i = 0; !result && i < sampler->sources.count; i++)
        result = sampler->sources.items[i]->kind->start(sampler->sources.items[i], error);
    return result ? result : target_start(sampler->target, error);
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler->stopped)
        return;
    sampler->stopped = true;
    for (size_t i = 0; i < sampler->sources.count; i++)
        sampler->sources.items[i]->kind->stop(sampler->sources.items[i]);
    /* The other facts are in use, also by the thread that writes them down. */
    struct sampler_facts last = sampler->facts;
    sampler->sources.items[0]->kind->facts(sampler->sources.items[0], &last);
    memcpy(sampler->facts.source, last.source, sizeof last.source);
}

void sampler_interrupt(struct sampler *sampler)
{
    const int saved = errno;
    const uint64_t one = 1;
    if (write(sampler->interrupt_fd, &one, sizeof one) < 0) {
        /* The counter is at its end: the wait returns anyway. */
    }
    errno = saved;
}

bool sampler_targets_ended(struct sampler *sampler, int *wait_status)
{
    return target_ended(sampler->target, wait_status);
}

/* == Handing records out == */

/* The source whose record is the next in time; NULL while one of them may yet bring an older one.
 */
static struct source *next_source(struct sampler *sampler)
{
    struct source *first = NULL;
    uint64_t first_ns = UINT64_MAX, sure_ns = UINT64_MAX;
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const struct source_next next = source->kind->next_time(source);
        if (next.state == SOURCE_NOTHING_BEFORE && next.time_ns < sure_ns)
            sure_ns = next.time_ns;
        if (next.state == SOURCE_RECORD && (!first || next.time_ns < first_ns)) {
            first = source;
            first_ns = next.time_ns;
        }
    }
    return first_ns <= sure_ns ? first : NULL;
}

/* Readers may rely on the order: a record that came too late gets the time of the last one. */
static void keep_order(struct sampler *sampler, struct model_record *record)
{
    if (record->time_ns < sampler->last_ns) {
        record->time_ns = sampler->last_ns;
        sampler->counts.late_records++;
    }
    sampler->last_ns = record->time_ns;
}

int sampler_next(struct sampler *sampler, const struct model_record **record)
{
    *record = target_snapshot_next(&sampler->initial);
    if (!*record)
        *record = sampler_introductions_end(sampler);
    if (*record)
        return 0;
    for (struct source *source; (source = next_source(sampler));) {
        struct model_record *taken;
        int result = source->kind->take(source, &taken);
        if (!result)
            result = sampler_merge_outside(sampler, taken);
        if (result < 0)
            return result;
        if (result)
            continue;
        if (taken->type == MODEL_RECORD_SAMPLE && source->kind->weigh)
            source->kind->weigh(source, &taken->sample, taken->time_ns);
        taken->event += source->first_event;
        keep_order(sampler, taken);
        return sampler_introduce(sampler, taken, record);
    }
    return 1;
}

/* == Queries == */

const struct sampler_facts *sampler_facts(const struct sampler *sampler)
{
    return &sampler->facts;
}

struct sampler_counters sampler_counters(const struct sampler *sampler)
{
    struct sampler_counters sum = sampler->counts;
    for (size_t i = 0; i < sampler->sources.count; i++) {
        const struct source *source = sampler->sources.items[i];
        if (source->kind->count)
            source->kind->count(source, &sum);
    }
    return sum;
}

int sampler_counters_each(const struct sampler *sampler,
                          int (*put)(void *context, const char *name, uint64_t value),
                          void *context)
{
    const struct sampler_counters counts = sampler_counters(sampler);
    const struct {
        const char *name;
        uint64_t value;
    } named[] = {
        {"sampler.records", counts.records},
        {"sampler.foreign_samples", counts.foreign_samples},
        {"sampler.outside_samples", counts.outside_samples},
        {"sampler.copied_records", counts.copied_records},
        {"sampler.late_records", counts.late_records},
        {"sampler.lost_others", counts.lost_others},
        {"sampler.unknown_records", counts.unknown_records},
        {"sampler.bytes", counts.bytes},
        {"agent.programs", counts.agents},
        {"agent.standing_back", counts.agents_standing_back},
        {"agent.without_memory", counts.agents_without_memory},
        {"agent.programs_left_out", counts.programs_left_out},
        {"agent.programs_out_of_reach", counts.programs_out_of_reach},
        {"agent.programs_without_descriptors", counts.programs_without_descriptors},
        {"agent.unsampled_threads", counts.unsampled_threads},
        {"agent.blocked_ns", counts.blocked_ns},
        {"sampler.tails", counts.tails},
        {"sampler.tails_with_sample", counts.tails_with_sample},
        {"sampler.tails_dropped", counts.tails_dropped},
    };
    int result = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named && !result; i++)
        result = put(context, named[i].name, named[i].value);
    return result;
}

uint64_t sampler_target_cpu_ns(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const uint64_t cpu_ns = source->kind->cpu_ns ? source->kind->cpu_ns(source) : 0;
        if (cpu_ns)
            return cpu_ns;
    }
    return 0;
}

int sampler_each_idle(struct sampler *sampler,
                      int (*each)(void *context, const struct sampler_cpu_idle *idle),
                      void *context)
{
    int result = 0;
    for (size_t i = 0; i < sampler->sources.count && !result; i++) {
        struct source *source = sampler->sources.items[i];
        if (source->kind->each_idle)
            result = source->kind->each_idle(source, each, context);
    }
    return result;
}

uint64_t sampler_thread_cpu_ns(struct sampler *sampler, pid_t pid, pid_t tid)
{
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const uint64_t cpu_ns =
            source->kind->thread_cpu_ns ? source->kind->thread_cpu_ns(source, pid, tid) : 0;
        if (cpu_ns)
            return cpu_ns;
    }
    return 0;
}

uint64_t sampler_unseen_cpu_ns(struct sampler *sampler)
{
    const uint64_t seen_ns = sampler_target_cpu_ns(sampler) + sampler_counters(sampler).helpers_ns;
    const uint64_t charged_ns = target_command_cpu_ns(sampler->target); /* 0 until it was reaped */
    return !sampler->facts.kernel_excluded && !sampler->was_paused && !sampler->introduces &&
                   seen_ns && charged_ns > seen_ns
               ? charged_ns - seen_ns
               : 0;
}

uint64_t sampler_ready_ns(const struct sampler *sampler)
{
    return target_ready_ns(sampler->target);
}

void sampler_stack_end(struct sampler *sampler, pid_t tid, uint64_t stack_pointer,
                       struct model_stack_extent extent)
{
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        if (source->kind->stack_end)
            source->kind->stack_end(source, tid, stack_pointer, extent);
    }
}
