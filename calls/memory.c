/* Limits memory for figures (--memory). First percentiles are dropped, then calls that need new
 * pages are only counted. Programs go on. */
#include "calls/log.h"
#include "calls/program.h"

#include <sys/stat.h>

#define MEMORY_DEFAULT (UINT64_C(256) << 20)
#define STAT_BLOCK_BYTES 512 /* of st_blocks */

enum { LIFTED_PART = 4 }; /* pages are allowed again this part below the limit */

/* The limit excludes log rings, whose size is fixed. */
static uint64_t ring_bytes(const struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = program->log.has_rings ? counters_slab_count(&pages) : 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if (program->threads.of_slab[i])
            sum += counters_ring_used(&pages, i);
    return sum;
}

static uint64_t used_bytes(const struct calls_trace *all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < all->programs.count; i++) {
        const struct calls_program *program = calls_program_at(all, i);
        struct stat status;
        if (program->process.memory_fd < 0 || fstat(program->process.memory_fd, &status))
            continue;
        const uint64_t bytes = (uint64_t)status.st_blocks * STAT_BLOCK_BYTES;
        const uint64_t rings = ring_bytes(program);
        sum += bytes > rings ? bytes - rings : 0;
    }
    return sum;
}

/* == Percentiles == */

/* Earlier calls keep their percentiles. */
static int drop_histograms(struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    struct calls_memory_sums *sums = &program->all->memory;
    int result = calls_collect(program, CALLS_COLLECT_ALL);
    atomic_store(&program->process.shared->histograms, 0);
    program->memory.no_histograms = true;
    counters_histograms_empty(&pages);
    if (!sums->no_histograms_ns) {
        if (!result)
            result = calls_history_all(program, "timed", "room");
        sums->no_histograms_ns = program->times.now_ns - program->run->start_monotonic_ns;
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "figures take more than --memory allows: percentiles are given up, and "
                          "rules of --keep with `while pN` keep no more calls");
    }
    return result;
}

/* == Pages == */

/* Notes pages again after the switch, because the agent may have made some. */
static int begin_sparing(struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    struct calls_memory *memory = &program->memory;
    if (calls_beyond_begin(program))
        return SPROF_ENOMEM;
    counters_pages_note(&pages);
    memory->is_spare = true;
    calls_set_extras(program);
    counters_pages_note(&pages);
    sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                      "figures take more than --memory allows: what threads call for the first "
                      "time is only counted from now on");
    return 0;
}

static void end_sparing(struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = counters_slab_count(&pages);
    program->memory.is_spare = false;
    calls_set_extras(program);
    for (uint32_t i = 0; i < count; i++)
        counters_slab_forget_pages(&pages, i);
    sprof_log_message(program->options.log, SPROF_LOG_NOTE,
                      "figures take less than --memory allows again: what threads call for the "
                      "first time is timed");
}

int calls_memory_serve(struct calls_program *program)
{
    struct calls_memory *memory = &program->memory;
    struct calls_memory_sums *sums = &program->all->memory;
    const uint64_t bound = program->options.memory ? program->options.memory : MEMORY_DEFAULT;
    const struct counters_pages pages = calls_pages(program);
    if (!program->way->has_agent)
        return 0;
    if (memory->no_histograms)
        counters_histograms_empty(&pages);
    const uint64_t used = used_bytes(program->all);
    sums->most_bytes = used > sums->most_bytes ? used : sums->most_bytes;
    if (used >= bound && !memory->no_histograms)
        return drop_histograms(program);
    if (used >= bound && !memory->is_spare)
        return begin_sparing(program);
    if (memory->is_spare && used < bound - bound / LIFTED_PART)
        end_sparing(program);
    return 0;
}
