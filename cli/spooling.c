/* Puts the rows of recordings into a spool, a batch for each run. */
#include "cli/spooling.h"

#include "cli/open.h"
#include "record/record.h"

#include <stdio.h>
#include <string.h>

enum { FUNCTION, PATH, COST, RUN, TABLES };
static const char *const names[TABLES] = {"function", "path", "cost", "run"};

struct adding {
    const struct cli_spooling *spooling;
    struct store *store;
    struct sprof_error *error;
};

static int open_tables(FILE *tables[TABLES], struct sprof_error *error)
{
    for (size_t i = 0; i < TABLES; i++)
        if (!(tables[i] = tmpfile()))
            return sprof_system_error(error, "make", "a temporary file");
    return 0;
}

/* The costs alone are the key: better names of functions, or a newer sprof, make no other batch. */
static int fill_batch(struct fleet_batch *batch, FILE *const tables[TABLES], uint64_t run_key,
                      struct sprof_error *error)
{
    uint64_t key = 0;
    int status = 0;
    for (size_t i = 0; i < TABLES && !status; i++) {
        if (fflush(tables[i]) || ferror(tables[i]))
            return sprof_system_error(error, "write", "a temporary file");
        rewind(tables[i]);
        batch->key = run_key;
        status = fleet_batch_add_table(batch, names[i], tables[i], error);
        key = i == COST ? batch->key : key;
    }
    batch->key = key;
    return status;
}

static int add_run(void *context, const struct store_run *run)
{
    const struct adding *adding = context;
    const struct cli_spooling *spooling = adding->spooling;
    const struct report_selection selection = {.run_id = run->id};
    struct fleet_batch batch = {.time_ns = run->start_realtime_ns};
    struct report_rows_count count = {0};
    FILE *tables[TABLES] = {NULL};
    int status = open_tables(tables, adding->error);
    const struct report_rows_files files = {tables[FUNCTION], tables[PATH], tables[COST],
                                            tables[RUN]};
    if (!status)
        status =
            report_rows(&files, adding->store, &selection, &spooling->rows, &count, adding->error);
    if (!status && count.costs)
        status = fill_batch(&batch, tables, run->key, adding->error);
    if (!status && count.costs)
        status = fleet_spool_add(spooling->spool, &batch, adding->error);
    for (size_t i = 0; i < TABLES; i++)
        if (tables[i])
            fclose(tables[i]);
    fleet_batch_release(&batch);
    return status;
}

static int add_runs(const struct cli_spooling *spooling, struct store *store,
                    struct sprof_error *error)
{
    struct adding adding = {spooling, store, error};
    return store_each_run(store, add_run, &adding, error);
}

int cli_spool_recording(const struct cli_spooling *spooling, const char *path,
                        struct sprof_error *error)
{
    struct store *store;
    int status = cli_open_recording(&store, path, spooling->terminal, error);
    if (status)
        return status;
    status = store_running(store) || cli_recording_complete(store, error) != 1
                 ? sprof_error_set(error, SPROF_ESTATE, 0,
                                   "%s is being recorded: send it when that has ended", path)
                 : add_runs(spooling, store, error);
    store_close(store, NULL);
    return status;
}

/* 0, 1 where it is not complete yet, or a negative code. */
static int add_segment(const struct cli_spooling *spooling, const char *path,
                       struct sprof_error *error)
{
    struct store *store = NULL;
    int status = store_open_read(&store, path, error);
    if (status == SPROF_ESTATE)
        return 1;
    if (status == SPROF_ENOTFOUND) /* no longer kept */
        return 0;
    if (!status) {
        const int complete = cli_recording_complete(store, error);
        status = complete < 0 ? complete : !complete;
    }
    if (!status)
        status = add_runs(spooling, store, error);
    store_close(store, NULL);
    if (status != SPROF_EFORMAT)
        return status;
    cli_say(spooling->terminal, "%s is left out: %s", path, error->message);
    return 0;
}

int cli_spool_segments(const struct cli_spooling *spooling, const char *directory,
                       struct sprof_error *error)
{
    const uint64_t until_ns = fleet_spool_number(spooling->spool, FLEET_SPOOL_UNTIL);
    struct record_segments segments;
    int status = record_segments_list(&segments, directory, error);
    for (size_t i = 0; i < segments.list.count && !status; i++) {
        const struct record_segment *segment = &segments.list.items[i];
        struct sprof_str path = {0};
        if (segment->start_ns <= until_ns)
            continue;
        status = sprof_str_appendf(&path, "%s/%s", directory, segment->name)
                     ? sprof_error_memory(error)
                     : add_segment(spooling, path.text, error);
        if (!status)
            status = fleet_spool_set_number(spooling->spool, FLEET_SPOOL_UNTIL, segment->start_ns,
                                            error);
        sprof_str_release(&path);
    }
    record_segments_release(&segments);
    return status == 1 ? 0 : status;
}
