/* Finds callees for drill-downs, in all programs. */
#include "probing/probing.h"
#include "trace/drill/drilling.h"

#include <stdlib.h>
#include <string.h>

uint32_t trace_drilling_number(struct trace_drilling *drilling, struct trace_session *program,
                               size_t probe)
{
    struct probing_probe *one = &program->probes.items[probe];
    const char *path = program->files.items[one->file].path;
    const uint64_t key =
        sprof_hash_bytes(path, strlen(path)) ^ (one->function->start * 0x9e3779b97f4a7c15u);
    uint64_t *number = one->drill_number ? NULL : sprof_map_at(&drilling->numbers, key);
    if (one->drill_number || !number)
        return one->drill_number;
    if (!*number) {
        const struct trace_drilled function = {
            .path = sprof_arena_text(&drilling->arena, path),
            .start = one->function->start,
            .name = sprof_arena_text(&drilling->arena, one->function->name)};
        if (!function.path || !function.name || sprof_vec_push(&drilling->functions, function))
            return 0;
        *number = drilling->functions.count;
    }
    return one->drill_number = (uint32_t)*number;
}

size_t trace_drilling_probe(const struct trace_drilling *drilling,
                            const struct trace_session *program, uint32_t function)
{
    const struct trace_drilled *drilled = &drilling->functions.items[function];
    for (size_t f = 0; f < program->files.count; f++) {
        const struct probing_file *file = &program->files.items[f];
        size_t low = file->first, high = file->first + file->count;
        if (strcmp(file->path, drilled->path) != 0)
            continue;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (program->probes.items[middle].function->start < drilled->start)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < file->first + file->count &&
            program->probes.items[low].function->start == drilled->start)
            return low;
    }
    return SIZE_MAX;
}

/* == Order == */

struct candidate {
    uint32_t number;
    bool waits; /* calls other modules or pointers: may block, lock or allocate */
    uint64_t size;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->waits != y->waits)
        return x->waits ? -1 : 1;
    return (x->size < y->size) - (x->size > y->size);
}

struct candidates {
    SPROF_VEC(struct candidate) list;
};

static int offer(struct candidates *candidates, struct trace_drilling *drilling,
                 struct trace_session *program, size_t probe)
{
    const struct plan_function *function = program->probes.items[probe].function;
    const struct candidate candidate = {.number = trace_drilling_number(drilling, program, probe),
                                        .waits = function->foreign_calls || function->open_calls,
                                        .size = function->end - function->start};
    return !candidate.number || sprof_vec_push(&candidates->list, candidate) ? SPROF_ENOMEM : 0;
}

/* Excludes leave probes and what a command excluded. */
static bool may_be_added(const struct trace_session *program, size_t probe)
{
    const struct probing_probe *one = &program->probes.items[probe];
    return (one->is_spare || one->is_chosen) &&
           probing_ranges_decide(&program->probing, probe) != '-';
}

/* == What a function calls == */

static size_t index_of(const struct trace_session *program, size_t probe)
{
    const struct probing_probe *one = &program->probes.items[probe];
    return (size_t)(one->function - program->files.items[one->file].plan.functions);
}

static int offer_found(struct candidates *candidates, struct trace_drilling *drilling,
                       struct trace_session *program, const struct probing_callees *found,
                       bool others, size_t but)
{
    int result = 0;
    for (size_t i = 0; i < program->probes.count && !result; i++)
        if (i != but && may_be_added(program, i) &&
            probing_callees_wants(found, program->probes.items[i].file, index_of(program, i)) !=
                others)
            result = offer(candidates, drilling, program, i);
    return result;
}

static int find_in(struct candidates *candidates, struct trace_drilling *drilling,
                   struct trace_session *program, size_t probe, enum rules_found_by by)
{
    struct probing_callees *callees = NULL, *called = NULL;
    bool open, foreign;
    int result = probing_callees_of(&callees, &program->probing, program->probes.items[probe].file,
                                    index_of(program, probe), &open, &foreign);
    const bool is_any = by == RULES_BY_POINTER ? open : foreign;
    if (!result && by == RULES_BY_CALL)
        result = offer_found(candidates, drilling, program, callees, false, probe);
    else if (!result && is_any)
        result = probing_callees_called(&called, &program->probing);
    if (!result && called)
        result = offer_found(candidates, drilling, program, called, true, probe);
    probing_callees_free(callees);
    probing_callees_free(called);
    return result;
}

int trace_drilling_callees(void *context, uint32_t function, enum rules_found_by by,
                           struct rules_drill_list *list)
{
    struct trace_drilling *drilling = context;
    const struct trace *trace = drilling->common->trace;
    struct candidates candidates = {0};
    int result = 0;
    for (size_t i = 0; i < trace->programs.count && !result; i++) {
        const size_t probe = trace_drilling_probe(drilling, trace_program_at(trace, i), function);
        if (probe != SIZE_MAX)
            result = find_in(&candidates, drilling, trace_program_at(trace, i), probe, by);
    }
    if (candidates.list.count)
        qsort(candidates.list.items, candidates.list.count, sizeof *candidates.list.items,
              compare_candidates);
    for (size_t i = 0; i < candidates.list.count && !result; i++)
        result = sprof_vec_push(&list->functions, candidates.list.items[i].number - 1)
                     ? SPROF_ENOMEM
                     : 0;
    sprof_vec_release(&candidates.list);
    return result;
}
