/* Finds the kept call that a row of a log is about, too. */
#include "report/kept_logged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t key_of(uint32_t thread, uint32_t function, uint64_t start_ns)
{
    const uint64_t words[] = {thread, function, start_ns};
    return sprof_hash_bytes(words, sizeof words);
}

/* The one that counts, as report_dataset_function_of. */
static uint32_t owner_of(const struct report_dataset *dataset, uint32_t function)
{
    const uint32_t owner = function ? dataset->functions.items[function - 1].owner : 0;
    return owner ? owner : function;
}

int report_kept_logged_make(struct report_kept_logged *logged, const struct report_dataset *dataset,
                            uint32_t run)
{
    logged->dataset = dataset;
    for (size_t i = 0; i < dataset->kept.calls.count; i++) {
        const struct report_kept_call *call = &dataset->kept.calls.items[i];
        const uint32_t function = owner_of(dataset, call->function);
        if (call->run == run &&
            sprof_map_put(&logged->places, key_of(call->thread, function, call->start_ns), i + 1))
            return SPROF_ENOMEM;
    }
    return 0;
}

void report_kept_logged_release(struct report_kept_logged *logged)
{
    sprof_map_release(&logged->places);
}

const struct report_kept_call *report_kept_logged_find(const struct report_kept_logged *logged,
                                                       uint32_t thread_id, uint32_t function_id,
                                                       uint64_t start_ns)
{
    const struct report_dataset *dataset = logged->dataset;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, thread_id),
                   function = report_dataset_function_of(dataset, function_id);
    const uint64_t *place = sprof_map_get(&logged->places, key_of(thread, function, start_ns));
    return place ? &dataset->kept.calls.items[*place - 1] : NULL;
}

static int append_conditions(void *context, int count, char *const *values, char *const *names)
{
    struct sprof_str *sql = context;
    (void)names;
    if (count != 2 || !values[0] || !values[1])
        return SPROF_EFORMAT;
    char *conditions = strndup(values[1], report_keep_conditions_length(values[1]));
    sprof_str_appendf(sql, ", (%s, ", values[0]);
    const int result = conditions ? store_quote(sql, conditions) : SPROF_ENOMEM;
    free(conditions);
    sprof_str_append(sql, ")");
    return result;
}

int report_kept_conditions(struct store *store, uint32_t run, struct sprof_str *sql,
                           struct sprof_error *error)
{
    char rules[100];
    snprintf(rules, sizeof rules,
             "SELECT number, text FROM keep_rule WHERE run_id = %u ORDER BY number", run);
    sprof_str_append(sql, "conditions(number, text) AS (VALUES (0, '')"); /* no bit is its */
    const int status = store_query(store, rules, append_conditions, sql, error);
    sprof_str_append(sql, ")");
    return status;
}
