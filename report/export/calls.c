/* Calls that were logged or kept, for the formats that show single calls. */
#include "report/export/export.h"
#include "report/kept_logged.h"
#include "report/kept_values.h"

#include <stdlib.h>

enum { COLUMNS = 18, RUNNING = 15 };

struct putting {
    struct report_dataset *dataset;
    int (*put)(void *context, const struct export_call *call);
    void *context;
    struct report_kept_logged kept; /* of calls that were logged */
};

/* What `report_kept_…` has of a kept call. False: out of memory. */
static bool add_kept(const struct putting *putting, const struct report_kept_call *kept,
                     struct export_call *call)
{
    struct report_dataset *dataset = putting->dataset;
    call->why = report_kept_reason(dataset, kept);
    call->arguments = report_kept_arguments(dataset, kept, (struct report_kept_widths){0});
    call->result = report_kept_result(dataset, kept, 0);
    call->beside = report_kept_beside(dataset, kept, 0);
    call->values = report_kept_values(&dataset->kept, kept, &call->value_count);
    return call->why != NULL;
}

/* == Calls that were logged == */

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
    call.has_states = values[RUNNING] != NULL;
    if (call.has_states && values[RUNNING + 1] && values[RUNNING + 2]) {
        call.running_ns = strtoull(values[RUNNING], NULL, 10);
        call.waiting_ns = strtoull(values[RUNNING + 1], NULL, 10);
        call.ready_ns = strtoull(values[RUNNING + 2], NULL, 10);
    }
    for (size_t i = 0; i < 6; i++)
        call.words[i] = values[7 + i] ? values[7 + i] : "";
    const struct report_kept_call *kept =
        report_kept_logged_find(&putting->kept, call.thread_row, call.function_row, call.start_ns);
    return kept && !add_kept(putting, kept, &call) ? SPROF_ENOMEM
                                                   : putting->put(putting->context, &call);
}

static int note_count(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns;
    (void)names;
    *(uint64_t *)context = values[0] ? strtoull(values[0], NULL, 10) : 0;
    return 0;
}

/* " AND thread_id IN (…)" where threads or processes are chosen. */
static void append_threads(struct sprof_str *sql, const struct report_dataset *dataset)
{
    if (!dataset->chosen.thread && !dataset->chosen.process)
        return;
    sprof_str_append(sql, " AND thread_id IN (0"); /* none has that */
    for (size_t i = 0; i < dataset->threads.count; i++)
        if (dataset->threads.items[i].selected)
            sprof_str_appendf(sql, ", %u", dataset->threads.items[i].id);
    sprof_str_append(sql, ")");
}

static int count_logged(const struct report_content *content, uint64_t *count,
                        struct sprof_error *error)
{
    struct sprof_str sql = {0};
    sprof_str_appendf(&sql, "SELECT sum(calls) FROM call_block WHERE run_id = %u",
                      content->dataset->run.id);
    append_threads(&sql, content->dataset);
    const int status = sql.failed ? sprof_error_memory(error)
                                  : store_query(content->store, sql.text, note_count, count, error);
    sprof_str_release(&sql);
    return status;
}

static int each_logged(const struct report_content *content, uint64_t limit,
                       struct putting *putting, struct sprof_error *error)
{
    struct sprof_str sql = {0};
    sprof_str_appendf(
        &sql,
        "SELECT pid, tid, thread, function, exit, start_ns, duration_ns, word1, word2, word3,"
        " word4, word5, word6, thread_id, function_id, running_ns, waiting_ns, ready_ns"
        " FROM v_call WHERE run_id = %u",
        content->dataset->run.id);
    append_threads(&sql, content->dataset);
    sprof_str_appendf(&sql, " ORDER BY thread_id, start_ns, depth LIMIT %llu",
                      (unsigned long long)limit);
    const int status = sql.failed ? sprof_error_memory(error)
                                  : store_query(content->store, sql.text, put_row, putting, error);
    sprof_str_release(&sql);
    return status;
}

/* == Calls that were kept == */

static int refuse_choice(const char *what, const char *view, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "calls that were %s are chosen by --run, --process and --thread alone; "
                           "`sprof sql` chooses freely, from the view %s",
                           what, view);
}

static uint32_t place_of_run(const struct report_dataset *dataset)
{
    uint32_t place = 0;
    while (place < dataset->runs.count && dataset->runs.items[place].id != dataset->run.id)
        place++;
    return place;
}

static uint64_t count_kept(const struct report_dataset *dataset)
{
    const uint32_t run = place_of_run(dataset);
    uint64_t count = 0;
    for (size_t i = 0; i < dataset->kept.calls.count; i++)
        count += dataset->kept.calls.items[i].run == run;
    return count;
}

static int put_kept(void *context, const struct report_kept_row *row)
{
    const struct putting *putting = context;
    const struct report_dataset *dataset = putting->dataset;
    const struct report_kept_call *kept = row->call;
    const struct report_thread *thread = &dataset->threads.items[kept->thread - 1];
    struct export_call call = {
        .pid = dataset->processes.items[thread->process - 1].pid,
        .tid = thread->tid,
        .thread_row = thread->id,
        .function_row = kept->function,
        .thread = thread->name ? thread->name : "",
        .function = report_dataset_function_name(dataset, kept->function),
        .exit = report_kept_exit(kept),
        .start_ns = kept->start_ns,
        .duration_ns = row->end_ns ? row->end_ns - kept->start_ns : 0,
        .running_ns = kept->running_ns,
        .waiting_ns = kept->waiting_ns,
        .ready_ns = kept->ready_ns,
        .has_states = kept->running_ns != 0,
        .kept = row,
    };
    return add_kept(putting, kept, &call) ? putting->put(putting->context, &call) : SPROF_ENOMEM;
}

int report_export_kept(const struct report_content *content, uint64_t limit, uint64_t *count,
                       int (*put)(void *context, const struct export_call *call), void *context,
                       struct sprof_error *error)
{
    struct putting putting = {.dataset = content->dataset, .put = put, .context = context};
    const uint64_t kept = count_kept(content->dataset);
    if (count)
        *count = kept;
    if (kept && content->dataset->chosen.by_sample)
        return refuse_choice("kept", "v_kept_call", error);
    return limit ? report_kept_each(&content->dataset->kept, place_of_run(content->dataset), limit,
                                    put_kept, &putting)
                 : 0;
}

/* == All == */

int report_export_calls(const struct report_content *content, uint64_t limit, uint64_t *count,
                        int (*put)(void *context, const struct export_call *call), void *context,
                        struct sprof_error *error)
{
    struct putting putting = {.dataset = content->dataset, .put = put, .context = context};
    uint64_t logged = 0;
    int status = count_logged(content, &logged, error);
    if (status || !logged)
        return status ? status : report_export_kept(content, limit, count, put, context, error);
    if (count)
        *count = logged;
    if (content->dataset->chosen.by_sample)
        return refuse_choice("logged", "v_call", error);
    if (limit)
        status =
            report_kept_logged_make(&putting.kept, content->dataset, place_of_run(content->dataset))
                ? sprof_error_memory(error)
                : each_logged(content, limit, &putting, error);
    report_kept_logged_release(&putting.kept);
    return status;
}
