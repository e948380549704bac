/* Finds out whether the process that writes a recording still lives. */
#include "store/live.h"

#include "store/database.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether the process lives that started at that time. A zombie is dead: its parent just has not
 * noticed. */
static bool is_alive(pid_t pid, uint64_t start_ticks)
{
    struct sprof_proc_stat stat;
    return sprof_proc_stat_read(pid, &stat) && stat.start_ticks == start_ticks &&
           stat.state != 'Z' && stat.state != 'X';
}

static bool is_recorder(sqlite3_stmt *row, const char *boot_id)
{
    const int64_t pid = sqlite3_column_int64(row, 0);
    const char *boot = (const char *)sqlite3_column_text(row, 2);
    return boot && pid > 0 && pid <= INT32_MAX && !strcmp(boot, boot_id) &&
           is_alive((pid_t)pid, (uint64_t)sqlite3_column_int64(row, 1));
}

static int find_recorder(struct store *store, const char *recording, int32_t *pid, uint32_t *run,
                         struct sprof_error *error)
{
    char boot_id[SPROF_BOOT_ID_SIZE];
    sprof_proc_boot_id(boot_id);
    sqlite3_stmt *statement = NULL;
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT recorder_pid, recorder_start, boot_id, id FROM run WHERE %s",
             recording);
    int status = store_prepare(store, sql, &statement, error);
    if (status)
        return status;
    int stepped = SQLITE_DONE;
    *pid = 0;
    while (!*pid && (stepped = sqlite3_step(statement)) == SQLITE_ROW)
        if (is_recorder(statement, boot_id)) {
            *pid = (int32_t)sqlite3_column_int64(statement, 0);
            *run = (uint32_t)sqlite3_column_int64(statement, 3);
        }
    if (!*pid && stepped != SQLITE_DONE)
        status = store_fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

int32_t store_live_recorder(struct store *store)
{
    int32_t pid = 0;
    uint32_t run;
    return find_recorder(store, "state = 0", &pid, &run, NULL) ? 0 : pid;
}

int32_t store_find_recorder(struct store *store)
{
    int32_t pid = 0;
    uint32_t run;
    return find_recorder(store, "state < 2", &pid, &run, NULL) || pid == getpid() ? 0 : pid;
}

int store_find_running(struct store *store, struct sprof_error *error)
{
    int32_t pid = 0;
    uint32_t run = 0;
    const int status = find_recorder(store, "state < 2", &pid, &run, error);
    store->running = pid && pid != getpid() ? run : 0;
    return status;
}

int store_check_live(struct store *store, const char *recording, struct sprof_error *error)
{
    int32_t pid = 0;
    uint32_t run;
    const int status = find_recorder(store, recording, &pid, &run, error);
    if (status || !pid)
        return status;
    return sprof_error_set(
        error, SPROF_ESTATE, 0,
        "process %d is still recording to %s; end it with `kill -INT %d`, or use "
        "another file",
        pid, store->path, pid);
}
