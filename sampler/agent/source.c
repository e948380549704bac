/* The SIGPROF agent as a source of samples: where perf events are refused, a launched command
 * samples itself. */
#include "sampler/agent/sigprof_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_HZ = 997,
    DEFAULT_BUDGET_BYTES = 64 << 20,
    SLACK_NS = 500000, /* a record is written some microseconds after its time was taken */
    BUSY_NS = 4000000,
    IDLE_NS = 20000000,
};

static struct sigprof_source *of(struct source *source)
{
    return (struct sigprof_source *)source;
}

/* == What cannot be sampled this way == */

#define CURE                                                                                       \
    "perf events can sample it: as root, or after `sudo sysctl kernel.perf_event_paranoid=1`"

static int refuse(enum agent_file kind, const char *path, struct sprof_error *error)
{
    static const char *const reasons[] = {
        [AGENT_FILE_STATIC] = "is linked statically: no loader puts the agent into it",
        [AGENT_FILE_DAMAGED] = "is a damaged ELF file, or one that is cut off",
        [AGENT_FILE_CLASS] = "is of another processor or word size than sprof's agent",
        [AGENT_FILE_SETUID] = "runs with other rights than yours: the loader keeps the agent out",
        [AGENT_FILE_GO] = "is a Go program, whose runtime uses SIGPROF itself",
        [AGENT_FILE_SANITIZER] = "is built with a sanitizer, which must be loaded first",
        [AGENT_FILE_LOADER] = "is a dynamic loader, and no program follows it",
    };
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot sample with the SIGPROF agent: %s %s\n" CURE, path,
                           reasons[kind]);
}

static int check_wall(const struct sampler_options *options, struct sprof_error *error)
{
    if (!options->command)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the agent sees what waits in a command that sprof launches, not in "
                               "what runs already: leave --source sigprof out, and run sprof as "
                               "root (or with CAP_BPF and CAP_PERFMON)");
    return 0;
}

static int check_request(const struct sampler_options *options, struct sprof_error *error)
{
    const int most = sigprof_most_hz(options->clock, options->fine_clock);
    const int result = options->clock == SAMPLER_CLOCK_WALL ? check_wall(options, error) : 0;
    if (result)
        return result;
    if (!options->command || options->all_cpus)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the SIGPROF agent samples a command that sprof launches, nothing "
                               "that runs already\n" CURE);
    if (options->event && strcmp(options->event, "cpu-clock") != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the SIGPROF agent measures CPU time only, not `%s`: leave -e out",
                               options->event);
    if (options->frequency_hz > (uint64_t)most)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%llu samples a second are impossible: at most %d",
                               (unsigned long long)options->frequency_hz, most);
    char path[AGENT_PATH_MAX];
    const enum agent_file kind =
        agent_check_command(*options->command, options->command, getenv("PATH"), path);
    return kind == AGENT_FILE_GOOD || kind == AGENT_FILE_MISSING ? 0 : refuse(kind, path, error);
}

/* == Opening == */

static int set_environment(const struct sigprof_source *source, struct sprof_error *error)
{
    char library[AGENT_PATH_MAX], socket_variable[160];
    struct sprof_str preload = {0};
    int result = target_find_library(AGENT_LIBRARY, library, error);
    if (result)
        return result;
    const char *others = getenv("LD_PRELOAD");
    sprof_str_appendf(&preload, "LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "",
                      others && *others ? others : "");
    snprintf(socket_variable, sizeof socket_variable, AGENT_SOCKET_VARIABLE "=%s",
             source->rendezvous.path);
    if (preload.failed || target_set_environment(source->target, preload.text) ||
        target_set_environment(source->target, socket_variable))
        result = sprof_error_memory(error);
    sprof_str_release(&preload);
    return result;
}

/* The first layout is that of samples whose event is not known: bare ones. */
static int open_layouts(struct sampler_layouts *layouts)
{
    const int bare = sampler_layouts_add(layouts, (struct sampler_layout){0});
    const int stack = sampler_layouts_add(layouts, (struct sampler_layout){.has_stack = true});
    return sampler_layouts_bind(layouts, AGENT_EVENT_BARE, bare) ||
                   sampler_layouts_bind(layouts, AGENT_EVENT_STACK, stack)
               ? SPROF_ENOMEM
               : 0;
}

static int open_epoll(struct sigprof_source *source, struct sprof_error *error)
{
    struct epoll_event calls = {.events = EPOLLIN};
    source->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (source->epoll_fd >= 0 &&
        epoll_ctl(source->epoll_fd, EPOLL_CTL_ADD, source->rendezvous.listener, &calls) == 0)
        return 0;
    return sprof_error_set(error, SPROF_ELIMIT, errno,
                           "cannot make an epoll descriptor: %s\nsee `ulimit -n`", strerror(errno));
}

static uint64_t kernel_tick_ns(void)
{
    struct timespec tick = {0};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return tick.tv_nsec > 0 ? (uint64_t)tick.tv_nsec : 4000000;
}

static void settle(struct sigprof_source *source, const struct sampler_options *options)
{
    source->clock = options->clock;
    source->fine = options->fine_clock;
    source->frequency_hz = options->period                        ? 0
                           : options->frequency_hz                ? options->frequency_hz
                           : options->clock == SAMPLER_CLOCK_WALL ? SAMPLER_WALL_HZ
                                                                  : DEFAULT_HZ;
    source->period_ns =
        options->period ? options->period : UINT64_C(1000000000) / source->frequency_hz;
    source->begins_paused = options->paused;
    source->tick_ns = kernel_tick_ns();
    source->ring_budget_bytes =
        options->ring_budget_bytes ? options->ring_budget_bytes : (size_t)DEFAULT_BUDGET_BYTES;
    source->slice_wanted =
        options->stack_bytes ? options->stack_bytes & ~(size_t)7 : (size_t)AGENT_SLICE_MAX;
    sigprof_set_capture(&source->base, options->capture, NULL);
}

static void free_source(struct source *base)
{
    struct sigprof_source *source = of(base);
    sigprof_rendezvous_close(&source->rendezvous);
    for (size_t i = 0; i < source->processes.count; i++)
        sigprof_process_free(source->processes.items[i]);
    sprof_vec_release(&source->processes);
    sprof_map_release(&source->pids);
    sigprof_events_release(&source->events);
    sampler_layouts_release(&source->layouts);
    sprof_vec_release(&source->heap);
    sprof_vec_release(&source->pauses);
    if (source->epoll_fd >= 0)
        close(source->epoll_fd);
    free(source->buffer);
    sigprof_tails_release(&source->shared_tails);
    free(source);
}

static int open_source(struct source **opened, const struct source_request *request,
                       struct sprof_error *error)
{
    int result = check_request(request->options, error);
    if (result)
        return result;
    struct sigprof_source *source = calloc(1, sizeof *source);
    if (!source)
        return sprof_error_memory(error);
    source->base.kind = &sampler_sigprof_kind;
    source->target = request->target;
    source->rendezvous = SIGPROF_RENDEZVOUS_NONE;
    source->epoll_fd = -1;
    source->buffer = aligned_alloc(8, SAMPLER_RING_RECORD_MAX);
    sampler_stack_tails_add(&source->tails, sigprof_tails_provide, &source->shared_tails);
    settle(source, request->options);
    if (!source->buffer || open_layouts(&source->layouts))
        result = sprof_error_memory(error);
    if (!result)
        result = sigprof_rendezvous_open(&source->rendezvous, error);
    if (!result)
        result = open_epoll(source, error);
    if (!result)
        result = set_environment(source, error);
    if (result)
        free_source(&source->base);
    else
        *opened = &source->base;
    if (!result && source->fine)
        sprof_log_message(
            request->log, SPROF_LOG_WARNING,
            "--agent-clock fine adds a thread to each process, and a few in a hundred "
            "calls of poll, select, epoll_wait, nanosleep and sem_timedwait fail with "
            "EINTR there, as after any signal");
    if (!result && source->clock == SAMPLER_CLOCK_WALL)
        sprof_log_message(request->log, SPROF_LOG_WARNING,
                          "--clock wall interrupts each thread of the command up to %llu times a "
                          "second: poll, select, epoll_wait, nanosleep and sem_timedwait fail with "
                          "EINTR there, as after any signal",
                          (unsigned long long)(UINT64_C(1000000000) / source->period_ns));
    return result;
}

static void facts(const struct source *base, struct sampler_facts *facts)
{
    const struct sigprof_source *source = (const struct sigprof_source *)base;
    const bool wall = source->clock == SAMPLER_CLOCK_WALL;
    snprintf(facts->source, sizeof facts->source,
             MODEL_SOURCE_AGENT ", at most the kernel's %llu Hz",
             (unsigned long long)(UINT64_C(1000000000) / source->tick_ns));
    facts->weights = SAMPLER_WEIGHTS_TICK;
    facts->may_miss_threads = !wall; /* of threads' lives there is no sum to hold samples against */
    facts->frequency_hz = wall ? 0 : source->frequency_hz;
    if (wall)
        snprintf(facts->source, sizeof facts->source,
                 MODEL_SOURCE_AGENT ", which interrupts threads that wait");
    if (source->fine)
        snprintf(facts->source, sizeof facts->source,
                 MODEL_SOURCE_AGENT " with a helper thread in each process");
    facts->stack_bytes = source->slice_bytes;
    facts->stack_bytes_wanted = source->slice_bytes; /* what is beyond is copied beside it */
    facts->ring_bytes = source->ring_budget_bytes;
    facts->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

static int events(const struct source *base, struct sampler_event_list *list)
{
    const struct sigprof_source *source = (const struct sigprof_source *)base;
    const bool wall = source->clock == SAMPLER_CLOCK_WALL;
    struct sampler_event event = {
        .is_clock = true,
        .varying_period = true,
        .follows_rate = true,
        .period = wall ? source->period_ns : 0,
        .due_ns = sigprof_due_ns(source),
    };
    snprintf(event.name, sizeof event.name, "%s", wall ? MODEL_EVENT_WALL : "cpu-clock");
    return sprof_vec_push(list, event);
}

/* == Running == */

static int start(struct source *base, struct sprof_error *error)
{
    struct sigprof_source *source = of(base);
    source->started = true;
    source->command_cpu_ns = sigprof_process_clock_ns(target_command(source->target));
    source->last_ns = source->seen_ns = sprof_clock_monotonic_ns();
    return source->begins_paused ? sigprof_set_paused(base, true, error) : 0;
}

static void stop(struct source *base)
{
    struct sigprof_source *source = of(base);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    sigprof_look_for_processes(source, now_ns); /* those that have ended meanwhile */
    sigprof_end_all(source, sprof_clock_monotonic_ns());
    source->stopped = true;
    sigprof_rendezvous_close(&source->rendezvous);
    sigprof_look_at_rings(source);
    source->seen_ns = sprof_clock_monotonic_ns();
    source->horizon_ns = UINT64_MAX;
}

static int wait_for(struct source *base, uint64_t now_ns, struct source_wait *wait)
{
    struct sigprof_source *source = of(base);
    for (size_t i = 0; i < source->processes.count; i++)
        sigprof_process_publish(source->processes.items[i]);
    sigprof_drop_ended(source);
    if (source->stopped)
        return 0;
    const uint64_t until_ns = now_ns + (source->busy ? BUSY_NS : IDLE_NS);
    if (until_ns < wait->deadline_ns)
        wait->deadline_ns = until_ns;
    return sprof_vec_push(&wait->polls, (struct pollfd){.fd = source->epoll_fd, .events = POLLIN});
}

static int look(struct source *base, uint64_t now_ns, const struct pollfd *polls, size_t count)
{
    (void)polls;
    (void)count;
    struct sigprof_source *source = of(base);
    if (source->stopped)
        return 0;
    source->busy = false;
    int result = sigprof_look_for_processes(source, now_ns);
    const uint64_t after_ns = sprof_clock_monotonic_ns(); /* the beginnings of those that came */
    if (!result)
        result = sigprof_scan_threads(source, after_ns);
    for (size_t i = 0; !result && i < source->processes.count; i++)
        result = sigprof_maps_look(source, source->processes.items[i], after_ns);
    if (!result)
        result = sigprof_look_at_rings(source);
    source->seen_ns = now_ns;
    source->horizon_ns = now_ns - SLACK_NS;
    return result;
}

static void count(const struct source *base, struct sampler_counters *counters)
{
    const struct sigprof_source *source = (const struct sigprof_source *)base;
    const struct sampler_counters *own = &source->counts;
    counters->records += own->records;
    counters->samples += own->samples;
    counters->lost += own->lost;
    counters->bytes += own->bytes;
    counters->tails += own->tails;
    counters->tails_with_sample += own->tails_with_sample;
    counters->agents += own->agents;
    counters->agents_standing_back += own->agents_standing_back;
    counters->agents_without_memory += own->agents_without_memory;
    counters->programs_left_out += own->programs_left_out;
    counters->programs_out_of_reach += own->programs_out_of_reach;
    counters->programs_without_descriptors += own->programs_without_descriptors;
    counters->unsampled_threads += own->unsampled_threads;
    counters->blocked_ns += own->blocked_ns;
    counters->helpers_ns += own->helpers_ns;
    for (size_t i = 0; i < source->processes.count; i++)
        if (source->processes.items[i]->has_cpu)
            counters->helpers_ns += sigprof_process_helper_ns(source->processes.items[i]);
}

static uint64_t cpu_ns(struct source *base)
{
    struct sigprof_source *source = of(base);
    const uint64_t used_ns = source->paused ? source->paused_at_cpu_ns : sigprof_used_ns(source);
    return used_ns - source->paused_cpu_ns;
}

/* Only where the choice was left to sprof, and what it launches can be sampled so at all. */
static bool stands_in(const struct sampler_options *options)
{
    return options->command && !options->all_cpus && !options->event && !options->period &&
           !options->off_cpu.wanted;
}

const struct source_kind sampler_sigprof_kind = {
    .name = "sigprof",
    .stands_in = stands_in,
    .open = open_source,
    .facts = facts,
    .events = events,
    .start = start,
    .stop = stop,
    .wait_for = wait_for,
    .look = look,
    .next_time = sigprof_next_time,
    .take = sigprof_take,
    .cpu_ns = cpu_ns,
    .count = count,
    .set_paused = sigprof_set_paused,
    .set_rate = sigprof_set_rate,
    .set_capture = sigprof_set_capture,
    .set_slice = sigprof_set_slice,
    .free = free_source,
};
