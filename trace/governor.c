/* Bounds the cost of probes. Functions with the shortest calls are only counted; if that is not
 * enough, they lose their probes. */
#include "trace/governor.h"
#include "inject/inject.h"
#include "names/names.h"
#include "trace/tracing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 50,           /* for new probes */
    WATCHED_NS = 1000000000, /* probes are new for so long */
    CALM_LOOKS = 10,         /* cheap looks, one a second, before probes do more */
    GLANCE_MS = 2,           /* for new probes */
    REST_MS = 10,            /* later */
    GLANCE_PART = 32,        /* a look comes when 1/32 of a second's limit is spent */
    GLANCE_REST = 20,        /* interval, in durations of one glance */
    FULL_NS = 25,            /* assumed for a timed call if not measured */
    COUNT_NS = 3,            /* the same for a counted call */
    NAMES_SHOWN = 5,
};

struct seen {
    struct trace_spent *list; /* probes with a cost */
    size_t count;
    double ns;
    struct trace_call_cost cost;
};

static bool governs(const struct trace_session *session)
{
    return session->options.max_overhead > 0 && session->mode != TRACE_COVERAGE &&
           session->process.shared && session->backend->has_agent;
}

static double spent_ns(struct trace_session *session)
{
    return calls_spent_ticks(&session->calls) * session->times.ns_per_tick;
}

static void look_after(struct trace_session *session, uint64_t now_ns)
{
    struct trace_governor *governor = &session->governor;
    const bool is_new = now_ns < governor->watched_ns;
    governor->look_ns = now_ns + (is_new ? WATCH_MS * UINT64_C(1000000) : WATCHED_NS);
    governor->spent_ns = governs(session) ? spent_ns(session) : 0;
    const uint64_t took_ns = sprof_clock_monotonic_ns() - now_ns;
    governor->glance_ns = (is_new ? GLANCE_MS : REST_MS) * UINT64_C(1000000);
    if (governor->glance_ns < took_ns * GLANCE_REST)
        governor->glance_ns = took_ns * GLANCE_REST;
    governor->next_ns = now_ns + governor->glance_ns;
    governor->looked_at = governor->glanced_at = now_ns;
    governor->glanced_ns = 0;
    governor->lately = 1;
}

void trace_govern_anew(struct trace_session *session)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    session->governor.watched_ns = now_ns + WATCHED_NS;
    look_after(session, now_ns);
}

static double limit_of(const struct trace_session *session, double cpu_ns)
{
    return session->options.max_overhead / 100 * cpu_ns;
}

/* A glance only reads sums. */
static bool is_expensive(struct trace_session *session)
{
    struct trace_governor *governor = &session->governor;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const double limit_ns = limit_of(session, WATCHED_NS),
                 ns = spent_ns(session) - governor->spent_ns;
    const bool is = ns > limit_ns / GLANCE_PART * trace_spent_room(governor->recent_ns, limit_ns);
    governor->lately =
        trace_spent_lately(ns, (double)(now_ns - governor->looked_at), ns - governor->glanced_ns,
                           (double)(now_ns - governor->glanced_at));
    governor->glanced_ns = ns;
    governor->glanced_at = now_ns;
    return is;
}

uint64_t trace_govern_next_ns(const struct trace_session *session)
{
    return governs(session) ? session->governor.next_ns : UINT64_MAX;
}

/* A waiting command has raised the priority already. */
void trace_govern_hurry(struct trace_session *common)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    bool is_any_new = false;
    for (size_t i = 0; i < common->trace->programs.count; i++)
        is_any_new |= governs(trace_program_at(common->trace, i)) &&
                      now_ns < trace_program_at(common->trace, i)->governor.watched_ns;
    if (common->trace->urgency.is_raised || is_any_new == common->trace->overhead.urgency.is_raised)
        return;
    if (is_any_new)
        sprof_urgency_raise(&common->trace->overhead.urgency);
    else
        sprof_urgency_restore(&common->trace->overhead.urgency);
}

/* == Removing probes == */

/* Called while all threads stand still. No thread is inside the jump, which is one instruction.
 * Threads behind it continue in thunk and copy, which stay. */
static bool take_back(struct trace_session *session, int memory_fd, struct probing_probe *probe)
{
    const off_t site = (off_t)(session->files.items[probe->file].bias + probe->function->site);
    uint8_t there[PLAN_JUMP_BYTES];
    probe->is_placed = false;
    return pread(memory_fd, there, sizeof there, site) != (ssize_t)sizeof there ||
           memcmp(there, probe->jump, sizeof there) != 0 ||
           pwrite(memory_fd, probe->function->original, sizeof there, site) ==
               (ssize_t)sizeof there;
}

static bool is_to_go(const struct trace_session *session, const struct probing_probe *probe,
                     bool is_quiet)
{
    return probe->is_placed && !probe->rests && probe->governed == PROBING_GOVERNED_OFF &&
           !probing_may_rest(&session->probing, probe, is_quiet);
}

static bool is_any_to_go(const struct trace_session *session)
{
    const bool is_quiet = probing_is_quiet(&session->probing);
    for (size_t i = 0; i < session->probes.count; i++)
        if (is_to_go(session, &session->probes.items[i], is_quiet))
            return true;
    return false;
}

struct removing {
    struct trace_session *session;
    int memory_fd;
};

static void remove_stopped(void *context)
{
    const struct removing *removing = context;
    struct trace_session *session = removing->session;
    const bool is_quiet = probing_is_quiet(&session->probing);
    for (size_t i = 0; i < session->probes.count; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        if (is_to_go(session, probe, is_quiet) && !take_back(session, removing->memory_fd, probe))
            break;
    }
}

/* Other probes rest. If threads cannot be stopped, probes stay, switched off. */
static void remove_probes(struct trace_session *session)
{
    struct inject_stop stop = {.notes_sharers = &session->process.shared->sharing.has_processes};
    char path[64];
    sprof_proc_shared_path(path, sizeof path, session->process.pid, "mem");
    const int memory_fd = session->backend->only_embedded
                              ? fcntl(session->process.code_fd, F_DUPFD_CLOEXEC, 0)
                              : open(path, O_RDWR | O_CLOEXEC);
    struct removing removing = {session, memory_fd};
    /* one byte switches an embedded probe, without a stop */
    if (memory_fd >= 0 && !session->executable.is_replaced && session->backend->only_embedded)
        remove_stopped(&removing);
    else if (memory_fd >= 0 && !session->executable.is_replaced &&
             !inject_stop_would_wait(session->process.pid))
        inject_stop_while(&stop, session->process.pid, remove_stopped, &removing, NULL);
    inject_stop_note(&stop, &session->process.stopped_ns);
    if (memory_fd >= 0)
        close(memory_fd);
}

/* == Rows == */

static int note_change(struct trace_session *session, uint32_t number, double share)
{
    static const char *const words[] = {"timed", "counted", "off"};
    return calls_history_probe(&session->calls, number,
                               words[session->probes.items[number].governed], "governor", share);
}

/* == Looking == */

static double self_per_call(const struct probing_probe *probe)
{
    const struct probing_calls *sums = &probe->sums;
    return sums->timed ? (double)sums->self_ns / (double)sums->timed : 0;
}

static struct trace_call_cost cost_of(const struct trace_session *session, double cpu_ns)
{
    const struct probe_cost cost = calls_cost_of(&session->calls);
    return (struct trace_call_cost){
        .timed_ns = cost.whole ? cost.whole * session->times.ns_per_tick : FULL_NS,
        .counted_ns = cost.count ? cost.count * session->times.ns_per_tick : COUNT_NS,
        .cpu_ns = cpu_ns,
    };
}

static bool is_passed(const struct trace_session *session, size_t number)
{
    const struct probing_probe *probe = &session->probes.items[number];
    return probe->is_placed && !probe->is_restored && !probe->rests && !session->paused &&
           atomic_load(&session->process.shared->tiers[number]) == PROBE_OFF;
}

/* A probe that is off has no new calls, so its last rate is used. */
static double calls_since(const struct seen *seen, struct probing_probe *probe, bool is_off)
{
    const uint64_t now = probe->sums.calls;
    const double calls = now > probe->governed_calls ? (double)(now - probe->governed_calls) : 0;
    probe->governed_calls = now;
    if (calls && !is_off)
        probe->governed_rate = calls / seen->cost.cpu_ns;
    return is_off ? probe->governed_rate * seen->cost.cpu_ns : calls;
}

static enum probing_governed doing(const struct trace_session *session, size_t number)
{
    const struct probing_probe *probe = &session->probes.items[number];
    return atomic_load(&session->process.shared->tiers[number]) == PROBE_OFF ? PROBING_GOVERNED_OFF
           : probing_governed_tier(probe, probe->tier) == PROBE_FULL         ? PROBING_GOVERNED_NOT
                                                                     : PROBING_GOVERNED_COUNT;
}

static void add_up(struct trace_session *session, struct seen *seen)
{
    for (size_t i = 0; i < session->probes.count; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        if (probe->tier != PROBE_FULL && probe->tier != PROBE_COUNT)
            continue;
        struct trace_spent spent = {.probe = (uint32_t)i,
                                    .self_ns = self_per_call(probe),
                                    .does = doing(session, i),
                                    /* the heap check needs all */
                                    .must_count = probe->operation != 0};
        const bool is_off = spent.does == PROBING_GOVERNED_OFF;
        spent.calls = calls_since(seen, probe, is_off);
        if (spent.calls && (!is_off || is_passed(session, i)))
            seen->list[seen->count++] = spent;
    }
    seen->ns = trace_spent_ns(seen->list, seen->count, &seen->cost);
}

static int note_changes(struct trace_session *session, const struct seen *seen)
{
    int result = 0;
    for (size_t i = 0; i < seen->count && !result; i++) {
        const struct trace_spent *spent = &seen->list[i];
        if (spent->becomes == spent->does)
            continue;
        session->probes.items[spent->probe].governed = (uint8_t)spent->becomes;
        result = note_change(session, spent->probe, seen->ns / seen->cost.cpu_ns);
    }
    return result;
}

static void append_changed(const struct trace_session *session, const struct seen *seen,
                           struct sprof_str *names)
{
    size_t shown = 0;
    for (size_t i = 0; i < seen->count && shown <= NAMES_SHOWN; i++) {
        const struct trace_spent *spent = &seen->list[i];
        if (spent->becomes == spent->does)
            continue;
        if (shown++ == NAMES_SHOWN)
            sprof_str_append(names, ", …");
        else
            sprof_str_appendf(names, "%s%.100s (%s)", shown > 1 ? ", " : "",
                              names_screen_show(session->options.names,
                                                session->probes.items[spent->probe].function->name),
                              spent->becomes == PROBING_GOVERNED_COUNT ? "counted only" : "off");
    }
}

static int lower(struct trace_session *session, struct seen *seen, double limit,
                 struct sprof_str *names)
{
    trace_spent_lower(seen->list, seen->count, limit);
    const int result = note_changes(session, seen);
    append_changed(session, seen, names);
    probing_switch(&session->probing);
    probing_rest_now(&session->probing);
    if (is_any_to_go(session))
        remove_probes(session);
    return result;
}

static int count_again(struct trace_session *session, const struct seen *seen, double limit,
                       size_t *changed)
{
    double all = seen->ns;
    int result = 0;
    for (size_t i = 0; i < session->probes.count && !session->paused && !result; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        struct trace_spent spent = {.does = PROBING_GOVERNED_COUNT,
                                    .calls = probe->governed_rate * seen->cost.cpu_ns};
        if (probe->governed != PROBING_GOVERNED_OFF || !probe->is_placed || !spent.calls ||
            all + trace_spent_ns(&spent, 1, &seen->cost) > limit)
            continue;
        probe->governed = PROBING_GOVERNED_COUNT;
        all += spent.ns;
        ++*changed;
        result = note_change(session, (uint32_t)i, seen->ns / seen->cost.cpu_ns);
    }
    if (!*changed)
        return result;
    probing_switch(&session->probing);
    trace_govern_anew(session);
    sprof_log_message(session->options.log, SPROF_LOG_NOTE, "%zu function%s counted again",
                      *changed, *changed == 1 ? " is" : "s are");
    return result;
}

/* Times the cheapest counted function again, within the limit. */
static int time_one(struct trace_session *session, const struct seen *seen, double limit)
{
    const struct trace_spent *best = NULL;
    for (size_t i = 0; i < seen->count; i++)
        if (session->probes.items[seen->list[i].probe].governed == PROBING_GOVERNED_COUNT &&
            (!best || seen->list[i].ns < best->ns))
            best = &seen->list[i];
    if (!best || seen->ns + best->timed_ns > limit)
        return 0;
    struct probing_probe *probe = &session->probes.items[best->probe];
    probe->governed = PROBING_GOVERNED_NOT;
    probing_switch(&session->probing);
    trace_govern_anew(session);
    sprof_log_message(session->options.log, SPROF_LOG_NOTE, "%s is timed again",
                      names_screen_show(session->options.names, probe->function->name));
    return note_change(session, best->probe, seen->ns / seen->cost.cpu_ns);
}

static int raise_some(struct trace_session *session, const struct seen *seen, double limit)
{
    size_t changed = 0;
    const int result = count_again(session, seen, limit, &changed);
    return result || changed ? result : time_one(session, seen, limit);
}

/* Calls to untraced modules go first. Returns what their remaining probes cost. */
static double lower_outside(struct trace_session *session, double limit_ns)
{
    size_t lowered;
    const double ns = calls_outside_lower(&session->calls, limit_ns, &lowered);
    if (lowered)
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "to hold --max-overhead the time in %zu function%s of other modules is "
                          "self time of their callers from now on",
                          lowered, sprof_plural(lowered));
    return ns;
}

static int decide(struct trace_session *session, uint64_t cpu_ns)
{
    struct trace_governor *governor = &session->governor;
    struct trace_overhead *sums = &session->trace->overhead;
    struct seen seen = {.list = calloc(session->probes.count + 1, sizeof *seen.list),
                        .cost = cost_of(session, (double)cpu_ns)};
    int result = 0;
    if (!seen.list)
        return SPROF_ENOMEM;
    add_up(session, &seen);
    const double outside_ns = lower_outside(session, limit_of(session, seen.cost.cpu_ns) / 4);
    seen.ns += outside_ns;
    sums->probes_ns += seen.ns;
    sums->looked_ns += seen.cost.cpu_ns;
    governor->recent_ns = trace_spent_recent(governor->recent_ns, seen.ns, seen.cost.cpu_ns);
    const double limit = limit_of(session, seen.cost.cpu_ns),
                 room = trace_spent_room(governor->recent_ns, limit_of(session, WATCHED_NS));
    const bool is_watched = session->times.now_ns < governor->watched_ns;
    if (seen.ns > limit) {
        struct sprof_str names = {0};
        result = lower(session, &seen, limit * 0.8 * room / governor->lately - outside_ns, &names);
        if (names.length) {
            sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                              "probes took about %.3g %% of the CPU time, more than "
                              "--max-overhead: %s",
                              100 * seen.ns / seen.cost.cpu_ns, names.text);
            trace_govern_anew(session);
        }
        sprof_str_release(&names);
    }
    governor->calm = seen.ns > limit / 2 || is_watched ? 0 : governor->calm + 1;
    if (governor->calm >= CALM_LOOKS && !result) {
        result = raise_some(session, &seen, limit / 2);
        governor->calm = 0;
    }
    free(seen.list);
    return result;
}

int trace_govern(struct trace_session *session)
{
    struct trace_governor *governor = &session->governor;
    enum { LEAST_NS = 2000000 }; /* less CPU time shows nothing */
    if (!governs(session) || session->times.now_ns < governor->next_ns)
        return 0;
    if (session->times.now_ns < governor->look_ns && !is_expensive(session)) {
        const uint64_t next_ns = session->times.now_ns + governor->glance_ns;
        governor->next_ns = next_ns < governor->look_ns ? next_ns : governor->look_ns;
        return 0;
    }
    if (calls_collect(&session->calls, CALLS_COLLECT_ALL))
        return SPROF_ENOMEM;
    const uint64_t cpu_ns = calls_program_cpu_ns(&session->calls);
    if (cpu_ns > governor->cpu_ns + LEAST_NS) {
        const int result = decide(session, cpu_ns - governor->cpu_ns);
        governor->cpu_ns = cpu_ns;
        if (result)
            return result;
    }
    look_after(session, sprof_clock_monotonic_ns());
    return 0;
}
