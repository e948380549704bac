#include "store/former.h"
#include "tests/unit/store/recording.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The process is killed in the place of the n-th renaming. */
static int renamings_left;

int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (renamings_left && --renamings_left == 0)
        raise(SIGKILL);
    return __real_renameat2(from_fd, from, to_fd, to, flags);
}

/* Recordings are told apart by their inodes: those of 1 … are made in this order. */
enum { NAMES = 5, MADE = 8 };
struct shelf {
    struct place place;
    ino_t made[MADE];
    int count;
};

static const char *name_of(const struct shelf *shelf, int number)
{
    static const char *const suffixes[NAMES] = {"", ".old.1", ".old.2", ".old.3", ".old.4"};
    return place_with(&shelf->place, suffixes[number]);
}

static void note_newest(struct shelf *shelf)
{
    struct stat facts = {0};
    CU_ASSERT_EQUAL_FATAL(stat(shelf->place.path, &facts), 0);
    shelf->made[shelf->count++] = facts.st_ino;
}

static void make(struct shelf *shelf, int count)
{
    for (int i = 0; i < count; i++) {
        struct store *store;
        CU_ASSERT_EQUAL_FATAL(store_create(&store, shelf->place.path, NULL), 0);
        CU_ASSERT_EQUAL(store_close(store, NULL), 0);
        note_newest(shelf);
    }
}

/* One digit for each name: which of those made it is, or "-" where there is none. */
static const char *arrangement(const struct shelf *shelf)
{
    static char text[NAMES + 1];
    for (int i = 0; i < NAMES; i++) {
        struct stat facts;
        text[i] = '-';
        if (lstat(name_of(shelf, i), &facts))
            continue;
        text[i] = '?';
        for (int j = 0; j < shelf->count; j++)
            if (shelf->made[j] == facts.st_ino)
                text[i] = (char)('1' + j);
    }
    return text;
}

static void shelf_close(struct shelf *shelf)
{
    place_remove(&shelf->place);
}

static void test_the_last_three_are_kept(void)
{
    struct shelf shelf = {.place = place_make()};
    make(&shelf, 1);
    assert_text(arrangement(&shelf), "1----");
    make(&shelf, 2);
    assert_text(arrangement(&shelf), "321--");
    make(&shelf, 2);
    assert_text(arrangement(&shelf), "5432-");
    shelf_close(&shelf);
}

static void test_a_gap_is_filled(void)
{
    struct shelf shelf = {.place = place_make()};
    make(&shelf, 4);
    assert_text(arrangement(&shelf), "4321-");
    char kept[256]; /* its inode is not used anew */
    snprintf(kept, sizeof kept, "%s", place_with(&shelf.place, ".kept"));
    CU_ASSERT_EQUAL_FATAL(rename(name_of(&shelf, 2), kept), 0);
    make(&shelf, 1);
    assert_text(arrangement(&shelf), "5431-");
    unlink(kept);
    shelf_close(&shelf);
}

static void begin(struct shelf *shelf, struct store_former *former)
{
    struct store *store;
    CU_ASSERT_EQUAL_FATAL(store_replace(&store, shelf->place.path, former, NULL), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    note_newest(shelf);
}

static void test_undone(void)
{
    struct shelf shelf = {.place = place_make()};
    struct store_former former = {0};
    make(&shelf, 4);
    begin(&shelf, &former);
    assert_text(arrangement(&shelf), "54321");
    store_former_undo_at(&former, shelf.place.path);
    assert_text(arrangement(&shelf), "4321-");
    shelf_close(&shelf);
}

/* An older one is not taken for the one that was replaced. */
static void test_nothing_was_replaced(void)
{
    struct shelf shelf = {.place = place_make()};
    struct store_former former = {0};
    make(&shelf, 2);
    unlink(shelf.place.path);
    close(open(shelf.place.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    begin(&shelf, &former);
    store_former_undo_at(&former, shelf.place.path);
    assert_text(arrangement(&shelf), "-1---");
    shelf_close(&shelf);
}

static void test_overwritten(void)
{
    struct shelf shelf = {.place = place_make()};
    struct store_former former = {.overwrite = true};
    make(&shelf, 3);
    begin(&shelf, &former);
    assert_text(arrangement(&shelf), "421-3");
    store_former_undo_at(&former, shelf.place.path);
    assert_text(arrangement(&shelf), "321--");
    begin(&shelf, &former);
    store_former_settle_at(&former, shelf.place.path);
    assert_text(arrangement(&shelf), "521--");
    shelf_close(&shelf);
}

static int create_and_die(const struct place *place)
{
    struct store *store;
    return store_create(&store, place->path, NULL) || store_close(store, NULL);
}

static int undo_and_die(const struct place *place)
{
    struct store_former former = {0};
    struct store *store;
    const int left = renamings_left;
    renamings_left = 0;
    if (store_replace(&store, place->path, &former, NULL) || store_close(store, NULL))
        return 1;
    renamings_left = left;
    store_former_undo_at(&former, place->path);
    return 0;
}

/* Whether all four are there, in their order, whatever lies between. */
static bool holds_all_four(const struct shelf *shelf)
{
    char digits[NAMES + 1];
    size_t count = 0;
    for (const char *at = arrangement(shelf); *at; at++)
        if (*at >= '1' && *at <= '9')
            digits[count++] = *at;
    digits[count] = '\0';
    return !strcmp(digits, "4321");
}

static void kill_in(int (*body)(const struct place *))
{
    int status = -1;
    for (int number = 1; status == -1 && number < 10; number++) {
        struct shelf shelf = {.place = place_make()};
        make(&shelf, 4);
        renamings_left = number;
        status = in_child(body, &shelf.place);
        renamings_left = 0;
        if (status == -1) {
            const bool newest_moved = arrangement(&shelf)[0] == '-';
            CU_ASSERT_TRUE(holds_all_four(&shelf));
            make(&shelf, 1);
            assert_text(arrangement(&shelf), newest_moved ? "54321" : "5432-");
        }
        shelf_close(&shelf);
    }
    CU_ASSERT_EQUAL(status, 0);
}

/* The next recording fills the gap that a killed one left. */
static void test_killed_while_renaming(void)
{
    kill_in(create_and_die);
}

static void test_killed_while_undoing(void)
{
    kill_in(undo_and_die);
}

static void refuses(const struct shelf *shelf, const char *words)
{
    struct store *store;
    struct sprof_error error = {0};
    char before[NAMES + 1];
    strcpy(before, arrangement(shelf));
    CU_ASSERT_EQUAL(store_create(&store, shelf->place.path, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NULL(store);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, words));
    assert_text(arrangement(shelf), before);
}

static void test_other_files_stay(void)
{
    struct shelf shelf = {.place = place_make()};
    make(&shelf, 2);
    const int file = open(name_of(&shelf, 2), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CU_ASSERT_EQUAL(write(file, "not yours", 9), 9);
    close(file);
    refuses(&shelf, ".old.2");
    unlink(name_of(&shelf, 2));
    CU_ASSERT_EQUAL_FATAL(symlink(shelf.place.path, name_of(&shelf, 2)), 0);
    refuses(&shelf, "move it away");
    shelf_close(&shelf);
}

/* A former one that is being recorded to, as by --append. */
static void test_an_open_one_stays(void)
{
    struct shelf shelf = {.place = place_make()};
    struct store *open_one, *store;
    make(&shelf, 2);
    CU_ASSERT_EQUAL_FATAL(store_open_write(&open_one, name_of(&shelf, 1), NULL), 0);
    CU_ASSERT_EQUAL(store_create(&store, shelf.place.path, NULL), SPROF_ESTATE);
    assert_text(arrangement(&shelf), "21---");
    store_close(open_one, NULL);
    shelf_close(&shelf);
}

void sprof_suite_store_former(void);
void sprof_suite_store_former(void)
{
    CU_pSuite suite = CU_add_suite("store/former", NULL, NULL);
    CU_add_test(suite, "the last three are kept", test_the_last_three_are_kept);
    CU_add_test(suite, "a gap is filled", test_a_gap_is_filled);
    CU_add_test(suite, "undone", test_undone);
    CU_add_test(suite, "nothing was replaced", test_nothing_was_replaced);
    CU_add_test(suite, "overwritten", test_overwritten);
    CU_add_test(suite, "killed while renaming", test_killed_while_renaming);
    CU_add_test(suite, "killed while undoing", test_killed_while_undoing);
    CU_add_test(suite, "other files stay", test_other_files_stay);
    CU_add_test(suite, "an open one stays", test_an_open_one_stays);
}
