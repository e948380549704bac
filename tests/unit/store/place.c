/* Places for recordings, a file system that kills who writes to it, and queries as text. */
#include "tests/unit/store/recording.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not an assertion of CUnit: suites call this before they begin. */
void must(bool done)
{
    if (!done)
        abort();
}

/* == Places == */

struct place place_make(void)
{
    struct place place = {.directory = "/tmp/sprof-store-XXXXXX"};
    must(mkdtemp(place.directory) != NULL);
    snprintf(place.path, sizeof place.path, "%s/sprof.db", place.directory);
    return place;
}

void place_remove(const struct place *place)
{
    chmod(place->directory, 0700);
    DIR *directory = opendir(place->directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(place->directory);
}

const char *place_with(const struct place *place, const char *suffix)
{
    static char path[192];
    snprintf(path, sizeof path, "%s%s", place->path, suffix);
    return path;
}

bool file_exists(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0;
}

int in_child(int (*body)(const struct place *), const struct place *place)
{
    fflush(NULL);
    const pid_t child = fork();
    if (!child)
        _exit(body(place));
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* == The example's file == */

struct store *example_create(const struct place *place)
{
    struct store *store;
    const struct store_run run = example_run();
    must(!store_create(&store, place->path, NULL) && !example_write_raw(store, &run) &&
         !store_set_state(store, 1, STORE_RECORDED, NULL) && !example_write_derived(store));
    return store;
}

void example_make(const struct place *place)
{
    must(!store_close(example_create(place), NULL));
}

struct example example;

int example_open(void)
{
    example.place = place_make();
    example_make(&example.place);
    return store_open_read(&example.store, example.place.path, NULL);
}

int example_close(void)
{
    store_close(example.store, NULL);
    place_remove(&example.place);
    return 0;
}

/* == Dying == */

/* A file system that kills the process at its n-th write. */
static sqlite3_vfs killing_vfs;
static sqlite3_vfs *real_vfs;
static int writes_left;
/* SQLite has one set of methods for databases and another for logs, which are never locked. */
static sqlite3_io_methods killing_methods[2];
static int (*real_write)(sqlite3_file *, const void *, int, sqlite3_int64);

static int killing_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    if (--writes_left == 0)
        raise(SIGKILL);
    return real_write(file, bytes, size, offset);
}

static int killing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    const int result = real_vfs->xOpen(real_vfs, name, file, flags, out);
    sqlite3_io_methods *methods = &killing_methods[(flags & SQLITE_OPEN_MAIN_DB) != 0];
    if (result == SQLITE_OK) {
        *methods = *file->pMethods;
        real_write = methods->xWrite;
        methods->xWrite = killing_write;
        file->pMethods = methods;
    }
    return result;
}

void die_at_write(int number)
{
    writes_left = number;
    real_vfs = sqlite3_vfs_find(NULL);
    killing_vfs = *real_vfs;
    killing_vfs.zName = "killing";
    killing_vfs.xOpen = killing_open;
    must(sqlite3_vfs_register(&killing_vfs, 1) == SQLITE_OK);
}

/* == Queries == */

static int add_row(void *context, int columns, char *const *values, char *const *names)
{
    struct sprof_str *text = context;
    (void)names;
    if (text->length)
        sprof_str_append(text, " ");
    for (int i = 0; i < columns; i++)
        sprof_str_appendf(text, "%s%s", i ? "|" : "", values[i] ? values[i] : "-");
    return 0;
}

const char *query_text(struct store *store, const char *sql)
{
    static char buffer[8192];
    struct sprof_str text = {0};
    struct sprof_error error = {0};
    if (store_query(store, sql, add_row, &text, &error))
        snprintf(buffer, sizeof buffer, "error: %s", error.message);
    else
        snprintf(buffer, sizeof buffer, "%s", text.text ? text.text : "");
    sprof_str_release(&text);
    return buffer;
}

void assert_text(const char *actual, const char *expected)
{
    CU_ASSERT_STRING_EQUAL(actual, expected);
    if (strcmp(actual, expected))
        fprintf(stderr, "\nexpected %s\nbut got  %s\n", expected, actual);
}

void assert_query_number(struct store *store, const char *sql, const char *format, int number)
{
    char expected[64];
    const char *actual = query_text(store, sql);
    snprintf(expected, sizeof expected, format, number);
    assert_text(actual, expected);
}
