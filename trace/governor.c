/* Keeps what probes cost below a share of the command's CPU time: functions whose calls are
 * shortest are counted only, and where that is too much, too, lose their probe. */
#include "trace/governor.h"
#include "trace/stop.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 50,           /* between two looks while probes are new … */
    WATCHED_NS = 1000000000, /* … for so long, … */
    CALM_LOOKS = 10, /* … else once a second; so many calm ones until one is timed again */
    GLANCE_MS = 5,   /* between two glances before the first look at new probes, which comes at once
                        where a glance sees that they have spent … */
    GLANCE_PART = 4, /* … this part of what they may in a second */
    FULL_NS = 25,
    COUNT_NS = 3, /* a call's probe, where it was not measured */
    NAMES_TOLD = 5,
};

/* What a probe took since the last look. */
struct spent {
    uint32_t probe;
    double ns;       /* as it is … */
    double counted;  /* … and if it only counted */
    double per_call; /* self time */
};

static bool governs(const struct trace_session *session)
{
    return session->options.max_overhead > 0 && session->mode == TRACE_STATS && session->shared;
}

static double spent_ns(struct trace_session *session)
{
    return trace_spent_ticks(session) * session->ns_per_tick;
}

void trace_govern_anew(struct trace_session *session)
{
    struct trace_governor *governor = &session->governor;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    governor->watched_ns = now_ns + WATCHED_NS;
    governor->look_ns = now_ns + WATCH_MS * UINT64_C(1000000);
    governor->next_ns = now_ns + GLANCE_MS * UINT64_C(1000000);
    governor->spent_ns = governs(session) ? spent_ns(session) : 0;
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

/* Where threads cannot be stopped the probes stay, and do nothing. */
static void remove_probes(struct trace_session *session)
{
    struct trace_stop stop = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)session->pid);
    const int memory_fd = session->listens ? fcntl(session->code_fd, F_DUPFD_CLOEXEC, 0)
                                           : open(path, O_RDWR | O_CLOEXEC);
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    /* What is in the file is switched by one byte: nobody has to stand still. */
    if (memory_fd >= 0 && !session->executed &&
        (session->listens || !trace_stop_begin(&stop, session->pid, NULL))) {
        for (size_t i = 0; i < session->probes.count; i++) {
            struct trace_probe *probe = &session->probes.items[i];
            if (probe->is_placed && probe->governed == TRACE_GOVERNED_OFF &&
                !take_back(session, memory_fd, probe))
                break;
        }
        if (!session->listens)
            trace_stop_end(&stop);
        const uint64_t took_ns = session->listens ? 0 : sprof_clock_monotonic_ns() - begin_ns;
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

/* Fills `list`, of all probes that cost something; returns what they cost together. */
static double add_up(struct trace_session *session, struct spent *list, size_t *count)
{
    const struct probe_cost *cost = &session->shared->cost;
    const double whole = cost->whole ? cost->whole * session->ns_per_tick : FULL_NS;
    const double counting = cost->count ? cost->count * session->ns_per_tick : COUNT_NS;
    double all = 0;
    *count = 0;
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        const uint64_t calls =
            probe->calls > probe->governed_calls ? probe->calls - probe->governed_calls : 0;
        const uint8_t tier = trace_governed_tier(probe, probe->tier);
        probe->governed_calls = probe->calls;
        if (!calls || (tier != PROBE_FULL && tier != PROBE_COUNT))
            continue;
        const double counted = (double)calls * counting;
        list[*count] = (struct spent){.probe = (uint32_t)i,
                                      .ns = tier == PROBE_FULL ? (double)calls * whole : counted,
                                      .counted = counted,
                                      .per_call = self_per_call(probe)};
        all += list[(*count)++].ns;
    }
    return all;
}

/* Lowers what costs until the rest is within `limit`. What is hardly called stays as it is. */
static int lower(struct trace_session *session, struct spent *list, size_t count, double all,
                 double limit, double share, struct sprof_str *names)
{
    size_t changed = 0;
    bool removes = false;
    int result = 0;
    qsort(list, count, sizeof *list, by_worth);
    for (size_t i = 0; i < count && all > limit && !result; i++) {
        struct trace_probe *probe = &session->probes.items[list[i].probe];
        const bool is_timed = trace_governed_tier(probe, probe->tier) == PROBE_FULL;
        const bool must_stay = probe->operation != 0; /* the heap check needs all of them */
        if (list[i].ns < limit / 100 || (must_stay && !is_timed))
            continue;
        const bool counts = is_timed && (list[i].counted <= limit || must_stay);
        probe->governed = counts ? TRACE_GOVERNED_COUNT : TRACE_GOVERNED_OFF;
        all -= list[i].ns - (counts ? list[i].counted : 0);
        removes |= !counts;
        result = note_change(session, list[i].probe, share);
        if (changed++ < NAMES_TOLD)
            sprof_str_appendf(names, "%s%.100s (%s)", changed > 1 ? ", " : "",
                              probe->function->name, counts ? "counted only" : "off");
    }
    trace_switch(session);
    if (removes)
        remove_probes(session);
    if (changed > NAMES_TOLD)
        sprof_str_append(names, ", …");
    return result;
}

/* Times again what costs least of that which is only counted, if there is room for it. */
static int raise_one(struct trace_session *session, const struct spent *list, size_t count,
                     double all, double limit, double share)
{
    const struct spent *best = NULL;
    const double ratio = session->shared->cost.count
                             ? (double)session->shared->cost.whole / session->shared->cost.count
                             : (double)FULL_NS / COUNT_NS;
    for (size_t i = 0; i < count; i++)
        if (session->probes.items[list[i].probe].governed == TRACE_GOVERNED_COUNT &&
            (!best || list[i].ns < best->ns))
            best = &list[i];
    if (!best || all + best->ns * ratio > limit)
        return 0;
    struct trace_probe *probe = &session->probes.items[best->probe];
    probe->governed = TRACE_GOVERNED_NOT;
    trace_switch(session);
    trace_govern_anew(session);
    sprof_log_message(session->options.log, SPROF_LOG_NOTE, "%s is timed again",
                      probe->function->name);
    return note_change(session, best->probe, share);
}

static int decide(struct trace_session *session, uint64_t cpu_ns)
{
    struct trace_governor *governor = &session->governor;
    struct spent *list = calloc(session->probes.count + 1, sizeof *list);
    size_t count = 0;
    int result = 0;
    if (!list)
        return SPROF_ENOMEM;
    const double all = add_up(session, list, &count);
    const double limit = (double)cpu_ns * session->options.max_overhead / 100;
    const double share = all / (double)cpu_ns;
    const bool is_watched = session->now_ns < governor->watched_ns;
    if (all > limit) {
        struct sprof_str names = {0};
        result = lower(session, list, count, all, limit * 0.8, share, &names);
        if (names.length)
            sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                              "probes took %.3g %% of the CPU time, more than --max-overhead: %s",
                              100 * share, names.text);
        sprof_str_release(&names);
        trace_govern_anew(session);
    }
    governor->calm = all > limit / 2 || is_watched ? 0 : governor->calm + 1;
    if (governor->calm >= CALM_LOOKS && !result) {
        result = raise_one(session, list, count, all, limit / 2, share);
        governor->calm = 0;
    }
    free(list);
    return result;
}

int trace_govern(struct trace_session *session)
{
    struct trace_governor *governor = &session->governor;
    enum { LEAST_NS = 2000000 }; /* what ran less says nothing */
    if (!governs(session) || session->now_ns < governor->next_ns)
        return 0;
    if (session->now_ns < governor->look_ns && !is_expensive(session)) {
        governor->next_ns = session->now_ns + GLANCE_MS * UINT64_C(1000000);
        return 0;
    }
    governor->look_ns = 0;
    if (trace_collect(session, TRACE_COLLECT_ALL))
        return SPROF_ENOMEM;
    const uint64_t cpu_ns = trace_command_cpu_ns(session);
    if (cpu_ns > governor->cpu_ns + LEAST_NS) {
        const int result = decide(session, cpu_ns - governor->cpu_ns);
        governor->cpu_ns = cpu_ns;
        if (result)
            return result;
    }
    const bool is_watched = session->now_ns < governor->watched_ns;
    if (!governor->look_ns)
        governor->next_ns =
            session->now_ns + (is_watched ? WATCH_MS * UINT64_C(1000000) : WATCHED_NS);
    return 0;
}
