/* Calls that were logged, for the formats that show single calls. */
#include "report/export/export.h"

#include <stdlib.h>

enum { COLUMNS = 15 };

struct putting {
    int (*put)(void *context, const struct export_call *call);
    void *context;
};

static int put_row(void *context, int columns, char *const *values, char *const *names)
{
    const struct putting *putting = context;
    (void)names;
    if (columns < COLUMNS)
        return SPROF_EFORMAT;
    for (int i = 0; i < 2; i++)
        if (!values[i])
            return SPROF_EFORMAT;
    struct export_call call = {
        .pid = (int32_t)strtol(values[0], NULL, 10),
        .tid = (int32_t)strtol(values[1], NULL, 10),
        .thread_row = values[13] ? (uint32_t)strtoul(values[13], NULL, 10) : 0,
        .function_row = values[14] ? (uint32_t)strtoul(values[14], NULL, 10) : 0,
        .thread = values[2] ? values[2] : "",
        .function = values[3] ? values[3] : "?",
        .exit = values[4] ? values[4] : "?",
        .start_ns = values[5] ? strtoull(values[5], NULL, 10) : 0,
        .duration_ns = values[6] ? strtoull(values[6], NULL, 10) : 0,
    };
    for (size_t i = 0; i < 6; i++)
        call.words[i] = values[7 + i] ? values[7 + i] : "";
    return putting->put(putting->context, &call);
}

static int note_count(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns;
    (void)names;
    *(uint64_t *)context = values[0] ? strtoull(values[0], NULL, 10) : 0;
    return 0;
}

int report_export_calls(const struct report_content *content, uint64_t limit, uint64_t *count,
                        int (*put)(void *context, const struct export_call *call), void *context,
                        struct sprof_error *error)
{
    struct putting putting = {put, context};
    char sql[384];
    int status = 0;
    snprintf(sql, sizeof sql, "SELECT sum(calls) FROM call_block WHERE run_id = %u",
             content->dataset->run.id);
    if (count)
        status = store_query(content->store, sql, note_count, count, error);
    snprintf(sql, sizeof sql,
             "SELECT pid, tid, thread, function, exit, start_ns, duration_ns, word1, word2, word3,"
             " word4, word5, word6, thread_id, function_id FROM v_call WHERE run_id = %u"
             " ORDER BY thread_id, start_ns, depth LIMIT %llu",
             content->dataset->run.id, (unsigned long long)limit);
    return status || !limit ? status : store_query(content->store, sql, put_row, &putting, error);
}
