#include "store/database.h"
#include "store/open.h"
#include "store/schema.h"
#include "tests/unit/store/recording.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CU_ASSERT_EQUAL(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static mode_t mode_of(const char *path)
{
    struct stat facts = {0};
    CU_ASSERT_EQUAL(stat(path, &facts), 0);
    return facts.st_mode & 0777;
}

static void test_only_the_owner_reads(void)
{
    const struct place place = place_make();
    const mode_t mask = umask(0);
    struct store *store = example_create(&place);
    umask(mask);
    CU_ASSERT_EQUAL(mode_of(place.path), 0600);
    CU_ASSERT_EQUAL(mode_of(place_with(&place, "-wal")), 0600);
    CU_ASSERT_EQUAL(mode_of(place_with(&place, "-shm")), 0600);
    store_close(store, NULL);
    CU_ASSERT_EQUAL(mode_of(place.path), 0600);
    place_remove(&place);
}

/* Its log stays behind when a recording is removed by name. */
static void test_a_log_that_is_left(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    char copy[256];
    snprintf(copy, sizeof copy, "%s", place_with(&place, ".kept"));
    CU_ASSERT_EQUAL_FATAL(link(place_with(&place, "-wal"), copy), 0);
    unlink(place_with(&place, "-wal"));
    unlink(place_with(&place, "-shm"));
    unlink(place.path);
    store_close(store, NULL);
    CU_ASSERT_EQUAL_FATAL(rename(copy, place_with(&place, "-wal")), 0);
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM run", "0");
    store_close(store, NULL);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM run", "0");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_existing_becomes_old(void)
{
    const struct place place = place_make();
    struct store *store;
    write_file(place_with(&place, ".old.1-wal"), "a stray log");
    example_make(&place);
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM run", "0");
    store_close(store, NULL);
    CU_ASSERT_FALSE(file_exists(place_with(&place, ".old.1-wal")));
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place_with(&place, ".old.1"), NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM sample", "7");
    store_close(store, NULL);
    place_remove(&place);
}

/* What an empty recording consists of, as one text. */
#define CONTENTS                                                                                   \
    "SELECT group_concat(line, char(10)) FROM (SELECT type || name || tbl_name ||"                 \
    " coalesce(sql, '') AS line FROM sqlite_schema UNION ALL SELECT list || number || word FROM"   \
    " word UNION ALL SELECT user_version FROM pragma_user_version UNION ALL SELECT application_id" \
    " FROM pragma_application_id UNION ALL SELECT page_size FROM pragma_page_size)"

static char *contents(struct store *store)
{
    sqlite3_stmt *statement = NULL;
    CU_ASSERT_EQUAL_FATAL(store_prepare(store, CONTENTS, &statement, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(sqlite3_step(statement), SQLITE_ROW);
    char *text = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

/* A new recording is a copy of one made when sprof was built: it is what the schema makes now. */
static void test_new_is_as_the_schema_makes_it(void)
{
    const struct place place = place_make();
    struct store *copied, *made;
    CU_ASSERT_EQUAL_FATAL(store_create(&copied, place.path, NULL), 0);
    ASSERT_QUERY(copied, "SELECT integrity_check FROM pragma_integrity_check", "ok");
    ASSERT_QUERY(copied, "SELECT count(*) FROM run", "0");
    write_file(place_with(&place, ".made"), "");
    CU_ASSERT_EQUAL_FATAL(store_open_file(&made, place_with(&place, ".made"), true, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_migrate(made, NULL), 0);
    char *copy = contents(copied), *original = contents(made);
    CU_ASSERT_STRING_EQUAL(copy, original);
    CU_ASSERT_TRUE(strlen(copy) > 20000);
    free(copy);
    free(original);
    store_close(copied, NULL);
    store_close(made, NULL);
    unlink(place_with(&place, ".made"));
    place_remove(&place);
}

static int record_and_die(const struct place *place)
{
    example_create(place);
    raise(9);
    return 0;
}

static void test_killed_recording_becomes_old_with_its_log(void)
{
    const struct place place = place_make();
    struct store *store;
    CU_ASSERT_EQUAL(in_child(record_and_die, &place), -1);
    CU_ASSERT_TRUE(file_exists(place_with(&place, "-wal")));
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM run", "0");
    CU_ASSERT_EQUAL_FATAL(store_close(store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place_with(&place, ".old.1"), NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM sample", "7");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_open_recording_is_not_taken_away(void)
{
    const struct place place = place_make();
    struct store *first = example_create(&place), *second;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(store_create(&second, place.path, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NULL(second);
    CU_ASSERT_FALSE(file_exists(place_with(&place, ".old.1")));
    ASSERT_QUERY(first, "SELECT count(*) FROM sample", "7");
    store_close(first, NULL);
    place_remove(&place);
}

static void refuses(const char *path, int code, const char *words)
{
    struct store *store;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(store_create(&store, path, &error), code);
    CU_ASSERT_PTR_NULL(store);
    if (strstr(error.message, words) && strstr(error.message, path) && !strchr(error.message, '\n'))
        return;
    fprintf(stderr, "\nexpected \"%s\" in: %s\n", words, error.message);
    CU_FAIL("message");
}

static void test_other_files_stay_untouched(void)
{
    static const char text[] = "My thesis, the only copy. It is longer than a hundred bytes, as "
                               "the header of a database is, so that all of it is looked at.";
    const struct place place = place_make();
    char now[sizeof text] = "";
    write_file(place.path, text);
    refuses(place.path, SPROF_EFORMAT, "not a recording");
    const int file = open(place.path, O_RDONLY);
    CU_ASSERT_EQUAL(read(file, now, sizeof now), sizeof text - 1);
    close(file);
    CU_ASSERT_STRING_EQUAL(now, text);
    place_remove(&place);
}

static void test_old_that_is_something_else_stays(void)
{
    const struct place place = place_make();
    example_make(&place);
    write_file(place_with(&place, ".old.1"), "not yours");
    refuses(place.path, SPROF_EFORMAT, "move it away");
    CU_ASSERT_TRUE(file_exists(place.path));
    place_remove(&place);
}

static void test_links_are_not_followed(void)
{
    const struct place place = place_make();
    CU_ASSERT_EQUAL(symlink(place_with(&place, ".elsewhere"), place.path), 0);
    refuses(place.path, SPROF_EPERMISSION, "symbolic link");
    CU_ASSERT_FALSE(file_exists(place_with(&place, ".elsewhere")));
    place_remove(&place);
}

static void test_empty_file_is_replaced(void)
{
    const struct place place = place_make();
    struct store *store;
    write_file(place.path, "");
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(mode_of(place.path), 0600);
    store_close(store, NULL);
    CU_ASSERT_FALSE(file_exists(place_with(&place, ".old.1")));
    place_remove(&place);
}

static int writes_left;

static int create_and_die(const struct place *place)
{
    struct store *store;
    die_at_write(writes_left);
    return store_create(&store, place->path, NULL) || store_close(store, NULL);
}

/* Whenever a creation was cut off, the next one succeeds. */
static void test_creation_cut_off_anywhere(void)
{
    int status = -1;
    for (int writes = 1; status == -1; writes++) {
        const struct place place = place_make();
        struct store *store;
        struct sprof_error error = {0};
        writes_left = writes;
        status = in_child(create_and_die, &place);
        CU_ASSERT_EQUAL(store_create(&store, place.path, &error), 0);
        if (!store)
            fprintf(stderr, "\nafter %d writes: %s\n", writes - 1, error.message);
        store_close(store, NULL);
        place_remove(&place);
    }
    CU_ASSERT_EQUAL(status, 0);
}

static void test_places_that_do_not_work(void)
{
    const struct place place = place_make();
    char path[512];
    refuses(place_with(&place, ".d/sprof.db"), SPROF_ENOTFOUND, "make its directory");
    refuses(place.directory, SPROF_EFORMAT, "not a file");
    write_file(place.path, "");
    refuses(place_with(&place, "/x"), SPROF_ENOTFOUND, "a part of the path is a file");
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    refuses(path, SPROF_EUSAGE, "shorter");
    refuses("/proc/sprof.db", SPROF_ENOTFOUND, "-o");
    place_remove(&place);
}

static int create_as_nobody(const struct place *place)
{
    struct store *store;
    struct sprof_error error = {0};
    if (setegid(65534) || seteuid(65534))
        return 3;
    if (store_create(&store, place->path, &error) != SPROF_EPERMISSION)
        return 1;
    return strstr(error.message, "directory of your own") == NULL;
}

static void test_directory_without_permission(void)
{
    const struct place place = place_make();
    chmod(place.directory, 0755);
    if (getuid()) /* otherwise it is the owner, who lacks the right to write */
        chmod(place.directory, 0500);
    const int status = in_child(create_as_nobody, &place);
    CU_ASSERT_TRUE(status == 0 || (status == 3 && getuid()));
    place_remove(&place);
}

/* Names that mean something else to SQLite. */
static void test_names_are_only_names(void)
{
    const struct place place = place_make();
    char before[512];
    struct store *store;
    static const char *const names[] = {":memory:", "file:x?mode=memory", "-o", "a b'c\".db"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    CU_ASSERT_EQUAL_FATAL(chdir(place.directory), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CU_ASSERT_EQUAL_FATAL(store_create(&store, names[i], NULL), 0);
        CU_ASSERT_EQUAL(store_close(store, NULL), 0);
        struct stat facts = {0};
        CU_ASSERT_EQUAL(stat(names[i], &facts), 0);
        CU_ASSERT_TRUE(facts.st_size > 4096);
    }
    CU_ASSERT_EQUAL(chdir(before), 0);
    place_remove(&place);
}

void sprof_suite_store_create(void);
void sprof_suite_store_create(void)
{
    CU_pSuite suite = CU_add_suite("store/create", NULL, NULL);
    CU_add_test(suite, "only the owner reads", test_only_the_owner_reads);
    CU_add_test(suite, "new is as the schema makes it", test_new_is_as_the_schema_makes_it);
    CU_add_test(suite, "an existing recording becomes .old", test_existing_becomes_old);
    CU_add_test(suite, "a log that was left is not taken in", test_a_log_that_is_left);
    CU_add_test(suite, "a killed one too", test_killed_recording_becomes_old_with_its_log);
    CU_add_test(suite, "an open one is not taken away", test_open_recording_is_not_taken_away);
    CU_add_test(suite, "other files stay untouched", test_other_files_stay_untouched);
    CU_add_test(suite, "an .old of another kind stays", test_old_that_is_something_else_stays);
    CU_add_test(suite, "links are not followed", test_links_are_not_followed);
    CU_add_test(suite, "an empty file is replaced", test_empty_file_is_replaced);
    CU_add_test(suite, "a creation cut off anywhere", test_creation_cut_off_anywhere);
    CU_add_test(suite, "places that do not work", test_places_that_do_not_work);
    CU_add_test(suite, "no permission", test_directory_without_permission);
    CU_add_test(suite, "names are only names", test_names_are_only_names);
}
