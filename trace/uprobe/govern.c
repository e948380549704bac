/* Limits the cost of uprobes: functions lose theirs above max_overhead. */
#include "calls/calls.h"
#include "names/names.h"
#include "trace/uprobe/uprobes.h"
#include "trace/uprobe/uprobes_inside.h"

#include <stdio.h>

enum {
    BOUND_MS = 100,      /* between checks */
    BOUND_LEAST_MS = 20, /* CPU time between checks */
    NAMES_SHOWN = 5,
};

static int find_loads(struct trace_session *session)
{
    struct trace_uprobes *uprobes = session->uprobes;
    const struct uprobe_figures *figures = &uprobes->figures;
    const size_t count = session->probes.count;
    uprobes->loads.count = 0;
    if (sprof_vec_reserve(&uprobes->loads, count) || sprof_vec_reserve(&uprobes->spent_ns, count))
        return SPROF_ENOMEM;
    while (uprobes->spent_ns.count < count)
        uprobes->spent_ns.items[uprobes->spent_ns.count++] = 0;
    for (uint32_t i = 0; i < count; i++)
        uprobes->loads.items[uprobes->loads.count++] = (struct uprobe_load){.function = i};
    for (size_t i = 0; i < figures->keys.count; i++) {
        const uint32_t function = figures->keys.items[i].function;
        const struct uprobe_stat *stat = &figures->stats.items[i];
        if (function >= count)
            continue;
        const struct probe_cost cost = trace_uprobes_cost(session, function);
        uprobes->loads.items[function].ns +=
            (double)stat->calls * cost.whole + (double)stat->counted * cost.count;
    }
    for (uint32_t i = 0; i < count; i++) {
        const double ns = uprobes->loads.items[i].ns, before = uprobes->spent_ns.items[i];
        uprobes->spent_ns.items[i] = ns;
        uprobes->loads.items[i].ns = ns > before ? ns - before : 0; /* sums fall when threads end */
    }
    return 0;
}

static bool has_lost_probe(const struct trace_session *session, const struct uprobe_site *site)
{
    const struct probing_probe *probe = &session->probes.items[site->function];
    return probe->governed == PROBING_GOVERNED_OFF || probe->tier == PROBE_OFF;
}

static void ignore_again(void *context, const struct uprobe_site *site)
{
    (void)context;
    (void)site;
}

/* Removes all uprobes and places the rest. Calls in between are not counted. */
static void place_again(struct trace_session *session)
{
    struct trace_uprobes *uprobes = session->uprobes;
    uprobe_kernel_detach(&uprobes->kernel);
    for (size_t i = 0; i < uprobes->placed.count; i++) {
        struct placed *placed = &uprobes->placed.items[i];
        struct sprof_error error = {0};
        char path[64];
        size_t kept = 0;
        for (size_t k = 0; k < placed->sites.count; k++)
            if (!has_lost_probe(session, &placed->sites.items[k]))
                placed->sites.items[kept++] = placed->sites.items[k];
        placed->sites.count = kept;
        snprintf(path, sizeof path, "/proc/self/fd/%d", placed->fd);
        if (uprobe_kernel_attach(&uprobes->kernel, path, placed->sites.items, kept,
                                 session->process.pid, ignore_again, NULL, &error) &&
            error.code != SPROF_ENOTFOUND)
            sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                              "calls are not counted any more: %s", error.message);
    }
}

static int let_go(struct trace_session *session, double share, struct sprof_str *names)
{
    struct trace_uprobes *uprobes = session->uprobes;
    int gone = 0;
    for (size_t i = 0; i < uprobes->loads.count && uprobes->loads.items[i].goes; i++, gone++) {
        const uint32_t number = uprobes->loads.items[i].function;
        struct probing_probe *probe = &session->probes.items[number];
        probe->governed = PROBING_GOVERNED_OFF;
        if (calls_history_probe(&session->calls, number, "off", "governor", share))
            return SPROF_ENOMEM;
        if (gone < NAMES_SHOWN)
            sprof_str_appendf(names, "%s%.100s", gone ? ", " : "",
                              names_screen_show(session->options.names, probe->function->name));
    }
    return gone;
}

int trace_uprobes_govern(struct trace_session *session)
{
    struct trace_uprobes *uprobes = session->uprobes;
    const double most = session->options.max_overhead / 100;
    if (most <= 0 || session->is_out || session->times.now_ns < uprobes->next_bound_ns)
        return 0;
    const uint64_t cpu_ns = calls_program_cpu_ns(&session->calls);
    if (cpu_ns < uprobes->bound_cpu_ns + BOUND_LEAST_MS * UINT64_C(1000000))
        return 0;
    const double used_ns = (double)(cpu_ns - uprobes->bound_cpu_ns);
    if (trace_uprobes_read(session, true) || find_loads(session))
        return SPROF_ENOMEM;
    uprobes->bound_cpu_ns = cpu_ns;
    double ns = uprobe_bound(uprobes->loads.items, uprobes->loads.count, most * used_ns);
    ns = ns < used_ns ? ns : used_ns;
    session->trace->overhead.probes_ns += ns;
    session->trace->overhead.looked_ns += used_ns;
    struct sprof_str names = {0};
    const int gone = let_go(session, ns / used_ns, &names);
    if (gone > 0) {
        probing_switch(&session->probing);
        if (!uprobes->is_fixed)
            place_again(session);
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "probes took about %.0f %% of the CPU time, more than %g %% "
                          "(--max-overhead): %d function%s lost theirs: %s%s",
                          100 * ns / used_ns, session->options.max_overhead, gone,
                          sprof_plural((uint64_t)gone), names.text ? names.text : "",
                          gone > NAMES_SHOWN ? ", …" : "");
    }
    sprof_str_release(&names);
    uprobes->next_bound_ns = sprof_clock_monotonic_ns() + BOUND_MS * UINT64_C(1000000);
    return gone < 0 ? gone : 0;
}
