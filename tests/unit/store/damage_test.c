/* Recordings with random damage: rows or an error, never a crash (under the sanitizers), never a
 * hang. */
#include "tests/unit/store/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 100 };

static unsigned char *read_file(const char *path, size_t *size)
{
    struct stat facts = {0};
    const int file = open(path, O_RDONLY);
    CU_ASSERT_EQUAL_FATAL(fstat(file, &facts), 0);
    *size = (size_t)facts.st_size;
    unsigned char *bytes = malloc(*size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    CU_ASSERT_EQUAL(read(file, bytes, *size), facts.st_size);
    close(file);
    return bytes;
}

static void write_file(const char *path, const unsigned char *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_EQUAL(write(file, bytes, size), (ssize_t)size);
    close(file);
}

#define TAKE(name, row_type)                                                                       \
    static int take_##name(void *rows, const struct row_type *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        ++*(size_t *)rows;                                                                         \
        return 0;                                                                                  \
    }
TAKE(run, store_run)
TAKE(event, store_event)
TAKE(process, store_process)
TAKE(thread, store_thread)
TAKE(module, store_module)
TAKE(mapping, store_mapping)
TAKE(function, store_function)
TAKE(frame, store_frame)
TAKE(node, store_node)
TAKE(path, model_path)
TAKE(ledger, store_ledger)
TAKE(counter, store_counter)
TAKE(failed, store_failed)
TAKE(sample, store_sample_row)
TAKE(node_cost, store_node_cost)

static int take_row(void *rows, int columns, char *const *values, char *const *names)
{
    (void)columns, (void)values, (void)names;
    return ++*(size_t *)rows > 100000;
}

/* Reads all there is; returns how many of the reads failed. */
static int read_everything(struct store *store, size_t *rows)
{
    struct store_quality quality;
    const int statuses[] = {
        store_each_run(store, take_run, rows, NULL),
        store_each_event(store, 0, take_event, rows, NULL),
        store_each_process(store, 0, take_process, rows, NULL),
        store_each_thread(store, 0, take_thread, rows, NULL),
        store_each_module(store, take_module, rows, NULL),
        store_each_mapping(store, 0, take_mapping, rows, NULL),
        store_each_function(store, take_function, rows, NULL),
        store_each_frame(store, take_frame, rows, NULL),
        store_each_node(store, take_node, rows, NULL),
        store_each_path(store, take_path, rows, NULL),
        store_each_ledger(store, 0, take_ledger, rows, NULL),
        store_each_counter(store, 0, take_counter, rows, NULL),
        store_each_failed(store, 0, take_failed, rows, NULL),
        store_each_sample(store, NULL, take_sample, rows, NULL),
        store_each_node_cost(store, NULL, take_node_cost, rows, NULL),
        store_quality(store, 1, &quality, NULL),
        store_query(store, "SELECT * FROM v_call_tree", take_row, rows, NULL),
        store_query(store, "SELECT * FROM v_line", take_row, rows, NULL),
        store_query(store, "SELECT * FROM v_sample", take_row, rows, NULL),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        CU_ASSERT_TRUE(statuses[i] <= 1);
        failed += statuses[i] < 0;
    }
    return failed;
}

static void test_flipped_bytes(void)
{
    const struct place place = place_make();
    size_t size, rows = 0;
    int refused = 0, failed = 0;
    uint64_t random = 1;
    example_make(&place);
    unsigned char *good = read_file(place.path, &size);
    unsigned char *bad = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bad);
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bad, good, size);
        /* Few rows and many pages: most damage goes where something is, the ends of pages. */
        for (int i = 0; i < 4; i++) {
            random = sprof_hash_mix(random + 1);
            const size_t page = random % (size / 4096), within = (random >> 32) % 160;
            bad[page * 4096 + (i % 2 ? 4095 - within : within % 24)] =
                (unsigned char)(random >> 40);
        }
        memcpy(bad, good, 100); /* the header has tests of its own */
        write_file(place.path, bad, size);
        struct store *store;
        if (store_open_read(&store, place.path, NULL))
            refused++;
        else
            failed += read_everything(store, &rows) != 0;
        store_close(store, NULL);
    }
    CU_ASSERT_TRUE(refused + failed > ROUNDS / 4);
    CU_ASSERT_TRUE(failed > 10);
    CU_ASSERT_TRUE(rows > ROUNDS);
    free(good);
    free(bad);
    place_remove(&place);
}

static void test_every_length(void)
{
    const struct place place = place_make();
    size_t size;
    example_make(&place);
    unsigned char *good = read_file(place.path, &size);
    for (size_t length = 1; length < size; length += 1 + length / 5) {
        struct store *store;
        write_file(place.path, good, length);
        CU_ASSERT_EQUAL(store_open_read(&store, place.path, NULL), SPROF_EFORMAT);
    }
    free(good);
    place_remove(&place);
}

void sprof_suite_store_damage(void);
void sprof_suite_store_damage(void)
{
    CU_pSuite suite = CU_add_suite("store/damage", NULL, NULL);
    CU_add_test(suite, "flipped bytes", test_flipped_bytes);
    CU_add_test(suite, "every length", test_every_length);
}
