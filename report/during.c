/* Chooses samples that were taken while their thread was in a call of some functions: calls that a
 * trace of the same moments has logged or kept, joined by the machine's clock. */
#include "report/during.h"

#include "report/function_search.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <stdlib.h>

/* == Which functions == */

struct names {
    struct sprof_arena arena;
    SPROF_VEC(const char *) items;
    SPROF_VEC(uint32_t) ids; /* in the database */
};

static void names_release(struct names *names)
{
    sprof_vec_release(&names->items);
    sprof_vec_release(&names->ids);
    sprof_arena_release(&names->arena);
}

static uint64_t number_of(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

static int take_name(void *context, int columns, char *const *values, char *const *titles)
{
    struct names *names = context;
    (void)titles;
    if (columns < 2 || !values[0] || !values[1])
        return SPROF_EFORMAT;
    const char *name = report_utf8_copy(&names->arena, values[1]);
    return !name || sprof_vec_push(&names->items, name) ||
                   sprof_vec_push(&names->ids, (uint32_t)number_of(values[0]))
               ? SPROF_ENOMEM
               : 0;
}

static int no_calls(struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_ENOTFOUND, 0,
        "this recording holds no single calls\nlog them in a trace beside the "
        "samples (`sprof trace --mode log -p PID`), and merge both files (`sprof "
        "merge`)");
}

/* Appends "(1, 2)": the ids of the functions that the expression finds. */
static int append_functions(struct sprof_str *sql, struct store *store, const char *expression,
                            struct sprof_error *error)
{
    static const char called[] =
        "SELECT DISTINCT f.id, f.name FROM (SELECT node_id FROM call_function"
        " UNION SELECT node_id FROM kept_call) c JOIN node_path n ON n.node_id = c.node_id"
        " JOIN call_path q ON q.id = n.path_id JOIN function f ON f.id = q.function_id";
    struct names names = {0};
    struct report_function_set found = {0};
    int result = store_query(store, called, take_name, &names, error);
    if (!result && !names.items.count)
        result = no_calls(error);
    if (!result)
        result = report_names_matching(names.items.items, names.items.count, "during-calls-of",
                                       expression, &found, error);
    for (size_t i = 0; i < found.count && !result; i++)
        sprof_str_appendf(sql, "%s%" PRIu32, i ? ", " : "(", names.ids.items[found.items[i] - 1]);
    sprof_str_append(sql, ")");
    names_release(&names);
    sprof_vec_release(&found);
    return result;
}

/* == Which calls == */

struct taking {
    struct report_dataset *dataset;
    uint32_t run; /* its place */
};

static int take_call(void *context, int columns, char *const *values, char *const *titles)
{
    struct taking *taking = context;
    (void)titles;
    if (columns < 3 || !values[0] || !values[1])
        return SPROF_EFORMAT;
    const int64_t start_ns = strtoll(values[1], NULL, 10);
    const uint64_t duration_ns = number_of(values[2]);
    const int64_t most_ns = INT64_MAX / 2;
    if (duration_ns > (uint64_t)most_ns || start_ns > most_ns || start_ns < -most_ns)
        return SPROF_EFORMAT;
    const int64_t end_ns = start_ns + (int64_t)duration_ns;
    const struct report_during_call call = {
        .run = taking->run,
        .tid = (int32_t)strtol(values[0], NULL, 10),
        .from_ns = start_ns > 0 ? (uint64_t)start_ns : 0,
        .to_ns = end_ns > 0 ? (uint64_t)end_ns : 0,
    };
    return call.to_ns > call.from_ns && sprof_vec_push(&taking->dataset->chosen.during, call)
               ? SPROF_ENOMEM
               : 0;
}

static int take_calls(struct report_loading *loading, uint32_t run, const char *functions,
                      uint64_t least_ns, struct sprof_error *error)
{
    static const char *const views[] = {"v_call", "v_kept_call"};
    struct report_dataset *dataset = loading->dataset;
    struct taking taking = {dataset, run};
    const uint32_t id = dataset->runs.items[run].id;
    int result = 0;
    for (size_t i = 0; i < sizeof views / sizeof *views && !result; i++) {
        struct sprof_str sql = {0};
        /* Of a call that had not ended the trace has seen what passed until its own end. */
        sprof_str_appendf(&sql,
                          "SELECT c.tid, c.start_ns + r.start_monotonic_ns - s.start_monotonic_ns,"
                          " coalesce(nullif(c.duration_ns, 0), r.duration_ns - c.start_ns) AS lasts"
                          " FROM %s c JOIN run r ON r.id = c.run_id JOIN run s"
                          " WHERE s.id = %" PRIu32 " AND r.boot_id = s.boot_id"
                          " AND c.function_id IN %s AND lasts > 0 AND lasts >= %" PRIu64,
                          views[i], id, functions, least_ns);
        result = sql.failed ? sprof_error_memory(error)
                            : store_query(loading->store, sql.text, take_call, &taking, error);
        sprof_str_release(&sql);
    }
    return result;
}

static int compare_calls(const void *left, const void *right)
{
    const struct report_during_call *a = left, *b = right;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Sorts them, and makes those that overlap one: recursive calls, and calls within others. */
static void unite_calls(struct report_chosen *chosen)
{
    struct report_during_call *calls = chosen->during.items;
    size_t kept = 0;
    if (chosen->during.count)
        qsort(calls, chosen->during.count, sizeof *calls, compare_calls);
    for (size_t i = 0; i < chosen->during.count; i++) {
        struct report_during_call *last = kept ? &calls[kept - 1] : NULL;
        const bool joins = last && last->run == calls[i].run && last->tid == calls[i].tid &&
                           calls[i].from_ns <= last->to_ns;
        if (!joins)
            calls[kept++] = calls[i];
        else if (calls[i].to_ns > last->to_ns)
            last->to_ns = calls[i].to_ns;
    }
    chosen->during.count = kept;
}

static int take_run_id(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns;
    (void)names;
    *(uint32_t *)context = (uint32_t)number_of(values[0]);
    return 0;
}

int report_during_run(struct report_loading *loading, uint32_t *id, struct sprof_error *error)
{
    *id = 0;
    return store_query(loading->store, "SELECT max(run_id) FROM event WHERE unit = 0", take_run_id,
                       id, error);
}

int report_dataset_choose_during(struct report_loading *loading,
                                 const struct report_selection *selection,
                                 struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    struct sprof_str functions = {0};
    dataset->chosen.by_calls = selection->during != NULL;
    if (!selection->during)
        return 0;
    int result = append_functions(&functions, loading->store, selection->during, error);
    for (uint32_t i = 0; i < dataset->runs.count && !result; i++)
        result = functions.failed
                     ? sprof_error_memory(error)
                     : take_calls(loading, i, functions.text, selection->during_least_ns, error);
    sprof_str_release(&functions);
    unite_calls(&dataset->chosen);
    if (!result && !dataset->chosen.during.count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no call of `%.100s`%s was logged since this machine was started "
                               "last: name a shorter time, or trace while samples are taken",
                               selection->during,
                               selection->during_least_ns ? " that took so long" : "");
    return result;
}

/* == Samples == */

bool report_dataset_is_during(const struct report_dataset *dataset, size_t run,
                              const struct store_sample *sample)
{
    const struct report_chosen *chosen = &dataset->chosen;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, sample->thread_id);
    if (!chosen->by_calls || !thread)
        return !chosen->by_calls;
    const struct report_during_call wanted = {.run = (uint32_t)run,
                                              .tid = dataset->threads.items[thread - 1].tid,
                                              .from_ns = sample->time_ns};
    size_t low = 0, high = chosen->during.count; /* the first that begins later */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_calls(&chosen->during.items[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct report_during_call *call = low ? &chosen->during.items[low - 1] : NULL;
    return call && call->run == wanted.run && call->tid == wanted.tid &&
           sample->time_ns < call->to_ns;
}
