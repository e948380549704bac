/* Adds up calls out of traced modules by called function. */
#include "calls/outside.h"
#include "calls/program.h"
#include "probing/probing.h"

#include <stdlib.h>
#include <string.h>

/* == Reading == */

/* The command can overwrite figures. Impossible differences are 0. */
static int64_t fresh_time(int64_t now, int64_t before, uint64_t most)
{
    return counters_limit_time((int64_t)((uint64_t)now - (uint64_t)before), most);
}

static void read_one(struct calls_program *program, const struct probe_stat *stat,
                     struct probing_outside_sum *before, struct probing_outside_target *target)
{
    const uint64_t most = calls_most_ticks(program);
    const uint64_t calls = counters_limit(stat->ended - before->calls, most);
    program->outside->calls += calls;
    target->sum.calls += calls;
    target->sum.self += fresh_time(stat->self, before->self, most);
    target->sum.total += fresh_time(stat->total, before->total, most);
    const uint64_t longest = counters_limit(stat->max, most);
    target->sum.max = longest > target->sum.max ? longest : target->sum.max;
    *before = (struct probing_outside_sum){.calls = stat->ended, stat->self, stat->total};
}

int calls_outside_read(struct calls_program *program, uint32_t slab, bool ends)
{
    struct probing_outside *outside = program->outside;
    if (!outside || !outside->targets.count)
        return 0;
    const struct counters_pages pages = calls_pages(program);
    const uint64_t size = sizeof(struct probe_stat);
    const uint64_t begin = counters_slab_offset(&pages, slab) + outside->first * size,
                   end = begin + outside->targets.count * size;
    const struct probe_stat *stats = counters_slab_stats(&pages, slab) + outside->first;
    uint64_t written, behind = begin, next = 0;
    while (counters_next_pages(&pages, behind, end, &written, &behind)) {
        const uint64_t first = (written - begin) / size;
        for (next = first > next ? first : next;
             begin + next * size < behind && next < outside->targets.count; next++) {
            if (!stats[next].ended)
                continue;
            if (!outside->read[slab] &&
                !(outside->read[slab] = calloc(outside->room, sizeof **outside->read)))
                return SPROF_ENOMEM;
            read_one(program, &stats[next], &outside->read[slab][next],
                     &outside->targets.items[next]);
        }
    }
    if (ends) {
        free(outside->read[slab]);
        outside->read[slab] = NULL;
    }
    return 0;
}

/* == Rows == */

bool calls_outside_has(const struct calls_program *program, uint32_t function)
{
    const struct probing_outside *outside = program->outside;
    return outside && function >= outside->first &&
           function - outside->first < outside->targets.count;
}

int calls_outside_node(struct calls_program *program, uint32_t function, uint32_t caller,
                       uint32_t *node)
{
    const struct probing_outside *outside = program->outside;
    const struct probing_outside_target *target =
        &outside->targets.items[function - outside->first];
    return target->module ? recording_child_in(program->recording, caller, target->module,
                                               target->offset, node)
                          : recording_child_at(program->recording, caller, program->process.pid,
                                               target->address, program->times.start.ns, node);
}

/* Several slots may lead to one function. The first writes its row. */
static int write_row(struct calls_program *program, size_t index)
{
    struct probing_outside *outside = program->outside;
    struct probing_outside_target *target = &outside->targets.items[index];
    struct probing_outside_sum sum = {0};
    for (size_t i = 0; i < outside->targets.count; i++) {
        const struct probing_outside_target *one = &outside->targets.items[i];
        if (one->address != target->address)
            continue;
        if (i < index)
            return 0;
        sum.calls += one->sum.calls;
        sum.self += one->sum.self;
        sum.total += one->sum.total;
        sum.max = one->sum.max > sum.max ? one->sum.max : sum.max;
    }
    if (sum.calls == target->written)
        return 0;
    if (!target->node) {
        const int result =
            calls_outside_node(program, outside->first + (uint32_t)index, 0, &target->node);
        target->is_unplaced = result == SPROF_ENOTFOUND;
        if (target->is_unplaced) {
            program->counts.unplaced_calls += sum.calls - target->written;
            target->written = sum.calls;
            return 0;
        }
        if (result)
            return result;
    }
    const struct store_outside_cost row = {
        .run_id = program->run->id,
        .node_id = target->node,
        .calls = sum.calls,
        .total_ns = counters_time(sum.total, program->times.ns_per_tick),
        .self_ns = counters_time(sum.self, program->times.ns_per_tick),
        .max_ns = counters_time((int64_t)sum.max, program->times.ns_per_tick)};
    target->written = sum.calls;
    return sprof_vec_push(&recording_batch(program->recording)->outside_costs, row) ? SPROF_ENOMEM
                                                                                    : 0;
}

int calls_outside_write(struct calls_program *program)
{
    const size_t count = program->outside ? program->outside->targets.count : 0;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = write_row(program, i);
    return result;
}

int calls_outside_clear(struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    const uint32_t slabs = program->outside ? counters_slab_count(&pages) : 0;
    int result = 0;
    for (uint32_t i = 0; i < slabs && !result; i++)
        result = calls_outside_read(program, i, false);
    for (size_t i = 0; program->outside && i < program->outside->targets.count; i++) {
        struct probing_outside_target *target = &program->outside->targets.items[i];
        target->sum = (struct probing_outside_sum){0};
        target->written = target->governed_calls = 0;
        target->governed_self = 0;
        target->is_unplaced = false;
    }
    return result;
}

/* == The governor == */

double calls_outside_spent(const struct calls_program *program)
{
    return program->outside ? (double)program->outside->calls * calls_cost_of(program).whole : 0;
}

/* Returns the active target with the shortest calls, or -1. */
static long shortest(const struct probing_outside *outside)
{
    long found = -1;
    double least = 0;
    for (size_t i = 0; i < outside->targets.count; i++) {
        const struct probing_outside_target *target = &outside->targets.items[i];
        const uint64_t calls = target->sum.calls - target->governed_calls;
        const double each =
            calls ? (double)(target->sum.self - target->governed_self) / (double)calls : 0;
        if (!calls || target->is_off || (found >= 0 && each >= least))
            continue;
        found = (long)i;
        least = each;
    }
    return found;
}

double calls_outside_lower(struct calls_program *program, double limit_ns, size_t *lowered)
{
    struct probing_outside *outside = program->outside;
    double ns = 0;
    *lowered = 0;
    if (!outside)
        return 0;
    const double each_ns = calls_cost_of(program).whole * program->times.ns_per_tick;
    for (size_t i = 0; i < outside->targets.count; i++) {
        struct probing_outside_target *target = &outside->targets.items[i];
        ns += (double)(target->sum.calls - target->governed_calls) * each_ns;
    }
    for (long at = ns > limit_ns ? shortest(outside) : -1; at >= 0 && ns > limit_ns;
         at = shortest(outside)) {
        struct probing_outside_target *target = &outside->targets.items[at];
        target->is_off = true;
        ns -= (double)(target->sum.calls - target->governed_calls) * each_ns;
        ++*lowered;
    }
    for (size_t i = 0; i < outside->targets.count; i++) {
        struct probing_outside_target *target = &outside->targets.items[i];
        target->governed_calls = target->sum.calls;
        target->governed_self = target->sum.self;
    }
    if (*lowered)
        probing_outside_switch(&program->probing, outside->is_on);
    return ns;
}
