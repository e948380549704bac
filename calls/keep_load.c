/* Suspends rules of kept calls while the load is low. */
#include "calls/keep_load.h"
#include "calls/keep_quick.h"
#include "calls/processes.h"
#include "calls/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_NS = 500000000 };

/* Returns bytes; 0: unknown. */
static double resident_of(pid_t pid)
{
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

struct loads {
    double of[RULES_LOAD_QUANTILE + 1]; /* except quantiles, which differ by rule */
};

static struct loads measure(struct calls_program *program)
{
    const struct probing_calls sums = probing_calls_sum(&program->probing);
    const uint64_t calls = sums.calls, cpu_ns = calls_program_cpu_ns(program),
                   ns = program->times.now_ns;
    const struct calls_kept_read *before = &program->kept;
    const double seconds = before->ns && ns > before->ns ? (double)(ns - before->ns) / 1e9 : 0;
    struct loads loads = {{
        [RULES_LOAD_OPEN] = (double)sums.in_flight,
        [RULES_LOAD_RSS] = resident_of(program->process.pid),
    }};
    if (seconds > 0 && calls >= before->calls && cpu_ns >= before->cpu_ns) {
        loads.of[RULES_LOAD_CALLS] = (double)(calls - before->calls) / seconds;
        loads.of[RULES_LOAD_CPU] = (double)(cpu_ns - before->cpu_ns) / 1e9 / seconds;
    }
    program->kept.calls = calls;
    program->kept.cpu_ns = cpu_ns;
    program->kept.ns = ns;
    return loads;
}

static void add_ended(const struct calls_program *program, size_t rule,
                      uint64_t buckets[PROBE_BUCKETS])
{
    const struct counters_pages pages = calls_pages(program);
    const uint32_t slabs = counters_slab_count(&pages);
    for (uint32_t slab = 0; slab < slabs; slab++) {
        struct counters_walk walk = counters_walk_stats(&pages, slab, program->probes.count);
        while (counters_walk_next(&walk)) {
            const struct probe_stat *stat = walk.entry;
            if (!stat->ended ||
                !(atomic_load(&program->process.shared->keep_of.masks[walk.index]) >> rule & 1))
                continue;
            const struct counters_figures figures =
                counters_figures_read(&pages, stat - walk.index, walk.index, true);
            for (size_t b = 0; b < PROBE_BUCKETS; b++)
                buckets[b] += figures.histogram.buckets[b];
        }
    }
}

/* Returns ns since the last check; 0: unknown. */
static double quantile_of(struct calls_program *program, size_t rule, double part)
{
    enum { CALLS_LEAST = 5 };
    uint64_t now[PROBE_BUCKETS] = {0}, lately[PROBE_BUCKETS], calls = 0;
    if (!program->kept.ended)
        program->kept.ended = calloc(PROBE_KEEP_RULES, sizeof *program->kept.ended);
    if (!program->kept.ended || program->memory.no_histograms)
        return 0;
    add_ended(program, rule, now);
    uint64_t *before = program->kept.ended[rule];
    for (size_t b = 0; b < PROBE_BUCKETS; b++) {
        lately[b] = now[b] > before[b] ? now[b] - before[b] : 0; /* counts fall when threads end */
        calls += lately[b];
    }
    memcpy(before, now, sizeof now);
    return calls < CALLS_LEAST ? 0 : counters_quantile(lately, part) * program->all->clock.tick_ns;
}

void calls_keep_forget_load(struct calls_program *program)
{
    free(program->kept.ended);
    program->kept.ended = NULL;
}

void calls_keep_check_load(struct calls_program *program)
{
    const struct calls_kept *kept = &program->all->kept;
    struct probe_shared *shared = program->process.shared;
    uint64_t of_load = 0, resting = 0;
    for (size_t i = 0; i < kept->rules.count; i++)
        of_load |= (uint64_t)(kept->rules.items[i].rule.load != RULES_LOAD_ANY) << i;
    const uint64_t before = atomic_load(&shared->keep.resting) & of_load;
    /* commands call this more often */
    if (!of_load || (program->kept.ns && program->times.now_ns - program->kept.ns < LOOK_NS))
        return;
    const struct loads loads = measure(program);
    for (size_t i = 0; i < kept->rules.count; i++) {
        const struct rules_keep *rule = &kept->rules.items[i].rule;
        const double load = rule->load == RULES_LOAD_QUANTILE
                                ? quantile_of(program, i, rule->quantile)
                                : loads.of[rule->load];
        if (rule->load && !(load > rule->load_over))
            resting |= UINT64_C(1) << i;
    }
    if (resting == before)
        return;
    atomic_fetch_or(&shared->keep.resting, resting);
    atomic_fetch_and(&shared->keep.resting, resting | ~of_load);
    for (size_t i = 0; i < program->probes.count; i++) {
        const uint64_t mask = atomic_load(&shared->keep_of.masks[i]);
        if (mask & (resting ^ before))
            calls_keep_write(program, (uint32_t)i, mask);
    }
}
