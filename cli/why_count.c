/* Counts calls for `sprof why`: a trace of some functions, for a moment. */
#include "cli/why_count.h"

#include "cli/signals.h"
#include "names/names.h"
#include "report/report.h"
#include "store/store.h"
#include "trace/trace.h"

#include <string.h>
#include <unistd.h>

static const uint64_t working_ns = 300000000, waiting_ns = 1000000000, slow_ns = 1500000000;

/* An expression that finds these functions alone. */
static int append_names(struct sprof_str *expression, const struct why_table *table,
                        const struct report_why_counted *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        const char *name = table->functions.items[functions->functions[i]].full;
        if (!strstr(name, "\\E"))
            sprof_str_appendf(expression, "%s^\\Q%s\\E$", expression->text ? "|" : "", name);
    }
    return expression->failed ? SPROF_ENOMEM : 0;
}

static int trace(const struct cli_why_count *count, const char *expression, uint64_t duration_ns,
                 uint64_t *stopped_ns, struct sprof_error *error)
{
    const pid_t *pids = count->pids->list.items;
    const int end_fd = cli_signals_end_fd();
    struct names_screen *names = names_screen_new();
    const struct trace_options options = {
        .mode = TRACE_STATS,
        .backend = TRACE_INJECT,
        .pid = pids[0],
        .others = pids + 1,
        .other_count = count->pids->list.count - 1,
        .duration_ns = duration_ns,
        .end_fd = end_fd,
        .functions = &expression,
        .function_count = 1,
        .output = count->output,
        .overwrite = true,
        .callers = true,
        .names = names,
        .sprof_version = count->sprof_version,
    };
    struct trace_session *session;
    struct trace_result result;
    int status = trace_open(&session, &options, error);
    if (!status) {
        status = trace_run(session, &result, error);
        *stopped_ns = result.stopped_ns;
        trace_free(session);
    }
    names_screen_free(names);
    if (end_fd >= 0)
        close(end_fd);
    return status;
}

static int read_counts(const struct cli_why_count *count, const struct why_table *table,
                       const struct report_why_counted *functions, struct why_verdict *verdict,
                       struct sprof_error *error)
{
    struct why_counts counts = {0};
    struct store *store = NULL;
    int status = store_open_read(&store, count->output, error);
    if (!status)
        status = report_why_counts(store, table, functions, &counts, error);
    if (!status && why_count(verdict, table, &counts))
        status = sprof_error_memory(error);
    if (store)
        store_close(store, NULL);
    why_counts_release(&counts);
    return status;
}

int cli_why_count(const struct cli_why_count *count, const struct why_table *table,
                  struct why_verdict *verdict, uint64_t *stopped_ns, struct sprof_error *error)
{
    uint32_t numbers[WHY_COUNTED];
    const struct report_why_counted functions = {numbers, why_to_count(table, verdict, numbers)};
    struct sprof_str expression = {0};
    if (!functions.count || table->system_module)
        return 1; /* functions of scripts have no entries of their own */
    const bool works = verdict->kind == WHY_COMPUTES && !verdict->in_bursts;
    int status = append_names(&expression, table, &functions);
    status = status ? sprof_error_memory(error)
                    : trace(count, expression.text,
                            verdict->slow.of ? slow_ns
                            : works          ? working_ns
                                             : waiting_ns,
                            stopped_ns, error);
    if (!status)
        status = read_counts(count, table, &functions, verdict, error);
    sprof_str_release(&expression);
    return status;
}
