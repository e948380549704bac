#include "store/live.h"

#include "store/database.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The start of a small file in /proc, as a text; empty where it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
    text[0] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    const ssize_t length = read(file, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    close(file);
}

/* Start time (field 22 of /proc/PID/stat, proc(5)) of a process that lives; 0 where there is none.
 * A zombie is dead: its parent just has not noticed. */
static uint64_t process_start(int32_t pid)
{
    char path[64], text[1024], state;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    read_text(path, text, sizeof text);
    const char *fields = strrchr(text, ')'); /* the name may hold anything, parentheses too */
    unsigned long long start;
    if (!fields ||
        sscanf(fields,
               ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
               "%*d %llu",
               &state, &start) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : start;
}

static bool is_recorder(sqlite3_stmt *row, const char *boot_id)
{
    const int64_t pid = sqlite3_column_int64(row, 0);
    const char *boot = (const char *)sqlite3_column_text(row, 2);
    return boot && pid > 0 && pid <= INT32_MAX && !strcmp(boot, boot_id) &&
           process_start((int32_t)pid) == (uint64_t)sqlite3_column_int64(row, 1);
}

static int find_recorder(struct store *store, int32_t *pid, struct sprof_error *error)
{
    char boot_id[64];
    read_text("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    sqlite3_stmt *statement = NULL;
    int status = store_prepare(store,
                               "SELECT recorder_pid, recorder_start, boot_id FROM run"
                               " WHERE state = 'recording'",
                               &statement, error);
    if (status)
        return status;
    int stepped;
    *pid = 0;
    while (!*pid && (stepped = sqlite3_step(statement)) == SQLITE_ROW)
        if (is_recorder(statement, boot_id))
            *pid = (int32_t)sqlite3_column_int64(statement, 0);
    if (!*pid && stepped != SQLITE_DONE)
        status = store_fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

int32_t store_live_recorder(struct store *store)
{
    int32_t pid = 0;
    return find_recorder(store, &pid, NULL) ? 0 : pid;
}

int store_check_live(struct store *store, struct sprof_error *error)
{
    int32_t pid = 0;
    const int status = find_recorder(store, &pid, error);
    if (status || !pid)
        return status;
    return sprof_error_set(
        error, SPROF_ESTATE, 0,
        "process %d is still recording to %s; end it with `kill -INT %d`, or use "
        "another file",
        pid, store->path, pid);
}
