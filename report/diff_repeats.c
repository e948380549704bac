/* Finds which runs are one repeat: of a fleet's rows, all that one import holds of a host. */
#include "report/diff_parts.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int take_host(void *context, int columns, char *const *values, char *const *names)
{
    uint64_t *key = context;
    (void)columns;
    (void)names;
    *key = sprof_hash_text(values[0] ? values[0] : "");
    return 0;
}

/* The host of a run of rows; 0: it is another run, which is a repeat of its own. */
static int host_of(const struct report_diff_run *run, uint64_t *key, struct sprof_error *error)
{
    char sql[128];
    *key = 0;
    snprintf(sql, sizeof sql,
             "SELECT host FROM run WHERE id = %" PRIu32 " AND source = '" MODEL_SOURCE_ROWS "'",
             run->run_id);
    return store_query(run->store, sql, take_host, key, error);
}

static int take_event(void *context, int columns, char *const *values, char *const *names)
{
    struct diff_comparison *comparison = context;
    (void)columns;
    (void)names;
    if (!comparison->rows_event && strcmp(values[0], MODEL_EVENT_IDLE) != 0 &&
        !model_event_wait(values[0]))
        comparison->rows_event = report_utf8_copy(&comparison->arena, values[0]);
    return 0;
}

/* Idle CPUs are a part without any other event, and what only waited has waits alone. */
static int find_rows_event(struct diff_comparison *comparison, struct store *store,
                           struct sprof_error *error)
{
    return store_query(store,
                       "SELECT event.name FROM event JOIN run ON run.id = event.run_id"
                       " WHERE run.source = '" MODEL_SOURCE_ROWS "' AND event.name IS NOT NULL"
                       " GROUP BY 1 ORDER BY count(*) DESC, min(event.id)",
                       take_event, comparison, error);
}

static int find_in_side(struct diff_comparison *comparison, size_t side, struct sprof_error *error)
{
    const struct report_diff *diff = comparison->diff;
    struct sprof_map hosts = {0}; /* of a recording → repeat + 1 */
    int result = 0;
    for (size_t i = 0; i < diff->counts[side] && !result; i++) {
        const struct report_diff_run *run = &diff->runs[side][i];
        uint64_t key, own = 0, *known = &own;
        result = host_of(run, &key, error);
        if (!result && key && !comparison->rows_event)
            result = find_rows_event(comparison, run->store, error);
        if (key)
            known = sprof_map_at(&hosts, sprof_hash_pair((uintptr_t)run->store, key));
        if (known && !*known)
            *known = ++comparison->counts[side];
        if (!known || sprof_vec_push(&comparison->repeats, (size_t)*known - 1))
            result = SPROF_ENOMEM;
    }
    sprof_map_release(&hosts);
    return result;
}

int report_diff_find_repeats(struct diff_comparison *comparison, struct sprof_error *error)
{
    int result = 0;
    for (size_t side = 0; side < 2 && !result; side++)
        result = find_in_side(comparison, side, error);
    comparison->run_count = comparison->counts[0] + comparison->counts[1];
    return result;
}
