/* Keeps what probes cost below a share of the command's CPU time: functions whose calls are
 * shortest are counted only, and where that is too much, too, lose their probe. */
#include "trace/governor.h"
#include "trace/attach/stop.h"
#include "trace/probes/probes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 50,           /* between two looks while probes are new … */
    WATCHED_NS = 1000000000, /* … for so long, … */
    CALM_LOOKS = 10, /* … else once a second; so many calm ones until some do more again */
    GLANCE_MS = 5,   /* between two glances while they are new, … */
    REST_MS = 50, /* … and later; the next look comes at once where one sees that they spent … */
    GLANCE_PART = 16, /* … this part of what they may in a second */
    GLANCE_REST = 20, /* glances are so many times as far apart as one takes */
    FULL_NS = 25,
    COUNT_NS = 3, /* a call's probe, where it was not measured */
    NAMES_TOLD = 5,
};

/* What a call takes is measured in a loop. Where others come between two calls of a function, its
 * probe's code and figures have left the nearest caches, and branches are not foreseen: that takes
 * so many times what a timed call does in a loop, half of it after so many others; then the next
 * caches. By redis (6 to 9 ns for what is timed or counted, some 100 others between) and by up to
 * 4096 functions called in turns (34 to 37 ns for 2048). A probe that is off takes a tenth of it.
 */
static const double near_share = 0.5, near_half = 64, deep_share = 4.5, deep_half = 4096,
                    pass_share = 0.06, pass_far_share = 0.1;

/* Calls since the last look, and nanoseconds that they take. */
struct spent {
    uint32_t probe;
    double calls;
    double timed, counted; /* if it timed them, or only counted */
    double ns;             /* as it is */
    double per_call;       /* self time */
    bool is_off, is_changed;
};

struct seen {
    struct spent *list; /* of probes that do something; by probe, then as it is sorted */
    size_t count;
    double calls;  /* of all functions, also of those that are off, as far as known */
    double ns;     /* that all probes take together */
    double cpu_ns; /* of the program */
};

static bool governs(const struct trace_session *session)
{
    return session->options.max_overhead > 0 && session->mode == TRACE_STATS && session->shared;
}

static double spent_ns(struct trace_session *session)
{
    return trace_spent_ticks(session) * session->ns_per_tick;
}

/* When to look next, and when to glance before. */
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
}

void trace_govern_anew(struct trace_session *session)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    session->governor.watched_ns = now_ns + WATCHED_NS;
    look_after(session, now_ns);
}

/* A glance makes no rows, and says nothing of single functions. */
static bool is_expensive(struct trace_session *session)
{
    return spent_ns(session) - session->governor.spent_ns >
           session->options.max_overhead / 100 * WATCHED_NS / GLANCE_PART;
}

uint64_t trace_govern_next_ns(const struct trace_session *session)
{
    return governs(session) ? session->governor.next_ns : UINT64_MAX;
}

uint8_t trace_governed_tier(const struct trace_probe *probe, uint8_t tier)
{
    if (tier == PROBE_FULL && probe->governed == TRACE_GOVERNED_COUNT)
        return PROBE_COUNT;
    if ((tier == PROBE_FULL || tier == PROBE_COUNT) && probe->governed == TRACE_GOVERNED_OFF)
        return PROBE_OFF;
    return tier;
}

static int by_worth(const void *left, const void *right)
{
    const struct spent *a = left, *b = right;
    if (a->per_call != b->per_call)
        return a->per_call < b->per_call ? -1 : 1;
    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static int by_cost(const void *left, const void *right)
{
    const struct spent *a = left, *b = right;
    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

/* == Taking probes back == */

/* While nobody runs; the jump is one instruction, so nobody is within it. Whoever came by it runs
 * on in the thunk and the copy, which stay. */
static bool take_back(struct trace_session *session, int memory_fd, struct trace_probe *probe)
{
    const off_t site = (off_t)(session->files.items[probe->file].bias + probe->function->site);
    uint8_t there[TRACE_JUMP_BYTES];
    probe->is_placed = false;
    return pread(memory_fd, there, sizeof there, site) != (ssize_t)sizeof there ||
           memcmp(there, probe->jump, sizeof there) != 0 ||
           pwrite(memory_fd, probe->function->original, sizeof there, site) ==
               (ssize_t)sizeof there;
}

static bool is_to_go(const struct trace_session *session, const struct trace_probe *probe)
{
    return probe->is_placed && !probe->rests && probe->governed == TRACE_GOVERNED_OFF &&
           !trace_may_rest(session, probe);
}

static bool is_any_to_go(const struct trace_session *session)
{
    for (size_t i = 0; i < session->probes.count; i++)
        if (is_to_go(session, &session->probes.items[i]))
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
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        if (is_to_go(session, probe) && !take_back(session, removing->memory_fd, probe))
            break;
    }
}

/* Those that cannot come back: the others rest. Where threads cannot be stopped the probes stay,
 * and do nothing. */
static void remove_probes(struct trace_session *session)
{
    struct trace_stop stop = {.notes_sharers = &session->shared->has_sharers};
    char path[64];
    sprof_proc_shared_path(path, sizeof path, session->pid, "mem");
    const int memory_fd = session->listens ? fcntl(session->code_fd, F_DUPFD_CLOEXEC, 0)
                                           : open(path, O_RDWR | O_CLOEXEC);
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    struct removing removing = {session, memory_fd};
    /* What is in the file is switched by one byte: nobody has to stand still. */
    if (memory_fd >= 0 && !session->executed && session->listens)
        remove_stopped(&removing);
    else if (memory_fd >= 0 && !session->executed && !trace_stop_would_wait(session->pid) &&
             !trace_stop_while(&stop, session->pid, remove_stopped, &removing, NULL)) {
        const uint64_t took_ns = sprof_clock_monotonic_ns() - begin_ns;
        session->stopped_ns = took_ns > session->stopped_ns ? took_ns : session->stopped_ns;
    }
    if (memory_fd >= 0)
        close(memory_fd);
}

/* == Rows == */

static int note_change(struct trace_session *session, uint32_t number, double share)
{
    static const char *const words[] = {"timed", "counted", "off"};
    struct trace_probe *probe = &session->probes.items[number];
    probe->governed_share = share;
    return trace_put_probe_event(session, number, words[probe->governed], share);
}

int trace_govern_tell_again(struct trace_session *session)
{
    int result = 0;
    for (uint32_t i = 0; i < session->probes.count && !result; i++)
        if (session->probes.items[i].governed)
            result = note_change(session, i, session->probes.items[i].governed_share);
    return result;
}

/* == Looking == */

static double self_per_call(const struct trace_probe *probe)
{
    return probe->timed_calls ? (double)probe->self_ns / (double)probe->timed_calls : 0;
}

/* What calls take, by how many of other functions come between two of them. */
static void set_costs(const struct trace_session *session, const struct seen *seen,
                      struct spent *spent)
{
    const struct probe_cost *cost = &session->shared->cost;
    const double full = cost->whole ? cost->whole * session->ns_per_tick : FULL_NS;
    const double count = cost->count ? cost->count * session->ns_per_tick : COUNT_NS;
    const double between = seen->calls > spent->calls ? seen->calls / spent->calls - 1 : 0;
    const double far = full * (near_share * between / (between + near_half) +
                               deep_share * between / (between + deep_half));
    const struct trace_probe *probe = &session->probes.items[spent->probe];
    spent->timed = spent->calls * (full + far);
    spent->counted = spent->calls * (count + far);
    if (spent->is_off)
        spent->ns = spent->calls * (pass_share * full + pass_far_share * far);
    else if (trace_governed_tier(probe, probe->tier) == PROBE_FULL)
        spent->ns = spent->timed;
    else
        spent->ns = spent->counted;
}

/* Whether calls pass a probe that does nothing. */
static bool is_passed(const struct trace_session *session, size_t number)
{
    const struct trace_probe *probe = &session->probes.items[number];
    return probe->is_placed && !probe->is_left && !probe->rests && !session->paused &&
           atomic_load(&session->shared->tiers[number]) == PROBE_OFF;
}

/* Calls of functions whose probes are off are as many as there were of them before. */
static double calls_since(const struct seen *seen, struct trace_probe *probe, bool is_off)
{
    const double calls =
        probe->calls > probe->governed_calls ? (double)(probe->calls - probe->governed_calls) : 0;
    probe->governed_calls = probe->calls;
    if (calls && !is_off)
        probe->governed_rate = calls / seen->cpu_ns;
    return is_off ? probe->governed_rate * seen->cpu_ns : calls;
}

/* Fills the list. */
static void add_up(struct trace_session *session, struct seen *seen)
{
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        if (probe->tier != PROBE_FULL && probe->tier != PROBE_COUNT)
            continue;
        struct spent spent = {.probe = (uint32_t)i, .per_call = self_per_call(probe)};
        spent.is_off = atomic_load(&session->shared->tiers[i]) == PROBE_OFF;
        spent.calls = calls_since(seen, probe, spent.is_off);
        seen->calls += spent.calls;
        if (spent.calls && (!spent.is_off || is_passed(session, i)))
            seen->list[seen->count++] = spent;
    }
    for (size_t i = 0; i < seen->count; i++) {
        set_costs(session, seen, &seen->list[i]);
        seen->ns += seen->list[i].ns;
    }
}

/* Lets a probe do less, where that helps. */
static int lower_one(struct trace_session *session, struct spent *spent, double limit, double *all,
                     double share)
{
    struct trace_probe *probe = &session->probes.items[spent->probe];
    const bool is_timed = trace_governed_tier(probe, probe->tier) == PROBE_FULL;
    const bool must_stay = probe->operation != 0; /* the heap check needs all of them */
    if (spent->is_changed || spent->is_off || (!is_timed && must_stay))
        return 0;
    const bool counts = is_timed && (spent->counted <= limit || must_stay);
    probe->governed = counts ? TRACE_GOVERNED_COUNT : TRACE_GOVERNED_OFF;
    *all -= spent->ns - (counts ? spent->counted : 0);
    spent->is_changed = true;
    return note_change(session, spent->probe, share);
}

static void append_changed(const struct trace_session *session, const struct seen *seen,
                           struct sprof_str *names)
{
    size_t told = 0;
    for (size_t i = 0; i < seen->count && told <= NAMES_TOLD; i++) {
        const struct spent *spent = &seen->list[i];
        const struct trace_probe *probe = &session->probes.items[spent->probe];
        if (!spent->is_changed)
            continue;
        if (told++ == NAMES_TOLD)
            sprof_str_append(names, ", …");
        else
            sprof_str_appendf(names, "%s%.100s (%s)", told > 1 ? ", " : "", probe->function->name,
                              probe->governed == TRACE_GOVERNED_COUNT ? "counted only" : "off");
    }
}

/* Lowers what costs until the rest is within `limit`: what is hardly called, and of which there may
 * be much, only where that is not enough. */
static int lower(struct trace_session *session, struct seen *seen, double limit,
                 struct sprof_str *names)
{
    const double share = seen->ns / seen->cpu_ns;
    double all = seen->ns;
    int result = 0;
    qsort(seen->list, seen->count, sizeof *seen->list, by_worth);
    for (size_t i = 0; i < seen->count && all > limit && !result; i++)
        if (seen->list[i].ns >= limit / 100)
            result = lower_one(session, &seen->list[i], limit, &all, share);
    append_changed(session, seen, names);
    qsort(seen->list, seen->count, sizeof *seen->list, by_cost);
    for (size_t i = 0; i < seen->count && all > limit && !result; i++)
        result = lower_one(session, &seen->list[i], limit, &all, share);
    if (!names->length)
        append_changed(session, seen, names);
    trace_switch(session);
    trace_rest_now(session);
    if (is_any_to_go(session))
        remove_probes(session);
    return result;
}

/* Counts again what was off, as far as there is room for it. */
static int count_again(struct trace_session *session, const struct seen *seen, double limit,
                       size_t *changed)
{
    double all = seen->ns;
    int result = 0;
    for (size_t i = 0; i < session->probes.count && !session->paused && !result; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        struct spent spent = {.probe = (uint32_t)i, .calls = probe->governed_rate * seen->cpu_ns};
        if (probe->governed != TRACE_GOVERNED_OFF || !probe->is_placed || !spent.calls)
            continue;
        set_costs(session, seen, &spent);
        if (all + spent.counted > limit)
            continue;
        probe->governed = TRACE_GOVERNED_COUNT;
        all += spent.counted;
        ++*changed;
        result = note_change(session, (uint32_t)i, seen->ns / seen->cpu_ns);
    }
    if (!*changed)
        return result;
    trace_switch(session);
    trace_govern_anew(session);
    sprof_log_message(session->options.log, SPROF_LOG_NOTE, "%zu function%s counted again",
                      *changed, *changed == 1 ? " is" : "s are");
    return result;
}

/* Times again what costs least of that which is only counted, if there is room for it. */
static int time_one(struct trace_session *session, const struct seen *seen, double limit)
{
    const struct spent *best = NULL;
    for (size_t i = 0; i < seen->count; i++)
        if (session->probes.items[seen->list[i].probe].governed == TRACE_GOVERNED_COUNT &&
            (!best || seen->list[i].ns < best->ns))
            best = &seen->list[i];
    if (!best || seen->ns + best->timed > limit)
        return 0;
    struct trace_probe *probe = &session->probes.items[best->probe];
    probe->governed = TRACE_GOVERNED_NOT;
    trace_switch(session);
    trace_govern_anew(session);
    sprof_log_message(session->options.log, SPROF_LOG_NOTE, "%s is timed again",
                      probe->function->name);
    return note_change(session, best->probe, seen->ns / seen->cpu_ns);
}

static int raise_some(struct trace_session *session, const struct seen *seen, double limit)
{
    size_t changed = 0;
    const int result = count_again(session, seen, limit, &changed);
    return result || changed ? result : time_one(session, seen, limit);
}

static int decide(struct trace_session *session, uint64_t cpu_ns)
{
    struct trace_governor *governor = &session->governor, *sums = &session->common->governor;
    struct seen seen = {.list = calloc(session->probes.count + 1, sizeof *seen.list),
                        .cpu_ns = (double)cpu_ns};
    int result = 0;
    if (!seen.list)
        return SPROF_ENOMEM;
    add_up(session, &seen);
    sums->probes_ns += seen.ns;
    sums->looked_ns += seen.cpu_ns;
    const double limit = seen.cpu_ns * session->options.max_overhead / 100;
    const bool is_watched = session->now_ns < governor->watched_ns;
    if (seen.ns > limit) {
        struct sprof_str names = {0};
        result = lower(session, &seen, limit * 0.8, &names);
        if (names.length) {
            sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                              "probes took about %.3g %% of the CPU time, more than "
                              "--max-overhead: %s",
                              100 * seen.ns / seen.cpu_ns, names.text);
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
    enum { LEAST_NS = 2000000 }; /* what ran less says nothing */
    if (!governs(session) || session->now_ns < governor->next_ns)
        return 0;
    if (session->now_ns < governor->look_ns && !is_expensive(session)) {
        const uint64_t next_ns = session->now_ns + governor->glance_ns;
        governor->next_ns = next_ns < governor->look_ns ? next_ns : governor->look_ns;
        return 0;
    }
    if (trace_collect(session, TRACE_COLLECT_ALL))
        return SPROF_ENOMEM;
    const uint64_t cpu_ns = trace_command_cpu_ns(session);
    if (cpu_ns > governor->cpu_ns + LEAST_NS) {
        const int result = decide(session, cpu_ns - governor->cpu_ns);
        governor->cpu_ns = cpu_ns;
        if (result)
            return result;
    }
    look_after(session, sprof_clock_monotonic_ns());
    return 0;
}
