/* Takes the calls whose slowness `sprof why` explains from the recording of a trace. */
#include "report/dataset.h"
#include "report/kept_values.h"
#include "report/report.h"
#include "why/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct taking {
    const struct report_dataset *dataset;
    const struct why_table *table;
    struct why_calls *calls;
};

static int take_values(struct taking *taking, const struct report_kept_call *kept,
                       struct why_call *call)
{
    struct why_calls *calls = taking->calls;
    size_t count;
    const struct report_call_value *values =
        report_kept_values(&taking->dataset->kept, kept, &count);
    call->first_value = (uint32_t)calls->values.count;
    for (size_t i = 0; i < count; i++) {
        char number[32];
        const bool is_captured =
            values[i].position >= STORE_CAPTURED && values[i].position < STORE_ERRNO;
        if (!is_captured &&
            (values[i].position < STORE_ARGUMENT || values[i].position >= STORE_AFTER))
            continue;
        snprintf(number, sizeof number, "arg%u", (unsigned)values[i].position);
        const struct why_value value = {
            sprof_arena_text(&calls->texts, *values[i].name ? values[i].name : number),
            sprof_arena_text(&calls->texts, values[i].value)};
        if (!value.name || !value.text || sprof_vec_push(&calls->values, value))
            return SPROF_ENOMEM;
        call->value_count++;
    }
    return 0;
}

/* The thread of the table; UINT32_MAX: it has no samples. */
static uint32_t thread_of(const struct taking *taking, const struct report_kept_call *kept)
{
    const int32_t tid = taking->dataset->threads.items[kept->thread - 1].tid;
    const struct why_table *table = taking->table;
    for (size_t i = table->threads.count; i > 0; i--)
        if (table->threads.items[i - 1].tid == tid)
            return (uint32_t)i - 1;
    return UINT32_MAX;
}

/* The time by which the trace began later than the samples. */
static int64_t ahead_ns(const struct taking *taking)
{
    return (int64_t)(taking->dataset->run.start_monotonic_ns - taking->table->start_monotonic_ns);
}

/* A call within another, or that was not wholly seen by both recordings, is none to compare. */
static int take_call(struct taking *taking, const struct report_kept_call *kept)
{
    const int64_t ahead_ns =
        (int64_t)(taking->dataset->run.start_monotonic_ns - taking->table->start_monotonic_ns);
    const int64_t start_ns = (int64_t)kept->start_ns + ahead_ns;
    const uint32_t thread = thread_of(taking, kept);
    if (kept->caller || !kept->duration_ns || start_ns < 0 || thread == UINT32_MAX ||
        kept->duration_ns > taking->table->duration_ns ||
        (uint64_t)start_ns > taking->table->duration_ns - kept->duration_ns)
        return 0;
    struct why_call call = {.start_ns = (uint64_t)start_ns,
                            .end_ns = (uint64_t)start_ns + kept->duration_ns,
                            .thread = thread,
                            .is_sample = kept->rules & 1,
                            .has_states = kept->running_ns != 0,
                            .ready_ns = kept->ready_ns};
    const int result = take_values(taking, kept, &call);
    return result ? result : sprof_vec_push(&taking->calls->list, call);
}

static bool is_named(const struct report_dataset *dataset, uint32_t function, const char *name)
{
    const char *own = report_dataset_function_name(dataset, function);
    return own && !strcmp(own, name);
}

/* The functions of the table that the trace has seen calls of, and how many calls. */
static int take_functions(struct taking *taking)
{
    const struct report_dataset *dataset = taking->dataset;
    struct model_costs *costs = calloc(dataset->functions.count + 1, sizeof *costs);
    int result = costs ? report_dataset_function_costs(dataset, costs) : SPROF_ENOMEM;
    for (uint32_t i = 0; i < dataset->functions.count && !result; i++) {
        if (!costs[i].exclusive.samples)
            continue;
        taking->calls->count += costs[i].exclusive.samples;
        for (uint32_t k = 1; k < taking->table->functions.count && !result; k++)
            if (is_named(dataset, i + 1, taking->table->functions.items[k].full))
                result = sprof_vec_push(&taking->calls->functions, k);
    }
    free(costs);
    return result;
}

int report_why_calls(struct store *store, const struct why_table *table, struct why_calls *calls,
                     struct sprof_error *error)
{
    struct report_dataset dataset = {0};
    const struct report_selection selection = {0};
    int result =
        report_dataset_load(&dataset, store, &selection, REPORT_STACKS | REPORT_KEPT_CALLS, error);
    if (!result) {
        struct taking taking = {&dataset, table, calls};
        const int64_t from_ns = ahead_ns(&taking);
        calls->from_ns = from_ns > 0 ? (uint64_t)from_ns : 0;
        calls->to_ns = calls->from_ns + dataset.run.duration_ns;
        result = take_functions(&taking);
        for (size_t i = 0; i < dataset.kept.calls.count && !result; i++)
            result = take_call(&taking, &dataset.kept.calls.items[i]);
        if (calls->count < calls->list.count)
            calls->count = calls->list.count;
        result = result ? sprof_error_memory(error) : 0;
    }
    report_dataset_release(&dataset);
    return result;
}
