/* A recording for the tests of this library: the worked example of docs/design/reading.md (six
 * stacks), with one function inlined, one frame guessed, one stack cut, one stitched, and CPU time
 * that was never sampled. */
#ifndef SPROF_TESTS_STORE_RECORDING_H
#define SPROF_TESTS_STORE_RECORDING_H

#include "store/store.h"

#include <CUnit/CUnit.h>

/* Ends the process where something failed without which no test makes sense. */
void must(bool done);

/* A directory of its own. */
struct place {
    char directory[64], path[128];
};
struct place place_make(void);
void place_remove(const struct place *place);

/* The path with a suffix, in a buffer that the next call reuses. */
const char *place_with(const struct place *place, const char *suffix);

enum { WEIGHT_NS = 1003009, UNSAMPLED_NS = 2000000 };

/* The run row of the example; fields may be changed before it is written. */
struct store_run example_run(void);

/* Each returns what the store returned. Raw: what the recorder writes. */
int example_write_raw(struct store *store, const struct store_run *run);
int example_write_derived(struct store *store);

/* Creates, fills, and sets the state to complete. */
struct store *example_create(const struct place *place);

/* Creates, fills and closes. */
void example_make(const struct place *place);

/* The example for suites that only read it: complete, and open while they run. */
extern struct example {
    struct place place;
    struct store *store;
} example;

/* For CU_add_suite. */
int example_open(void);
int example_close(void);

/* All rows of a query: '|' between columns, ' ' between rows, '-' for NULL; or "error: …". In a
 * buffer that the next call reuses. */
const char *query_text(struct store *store, const char *sql);

/* Runs `body` in a child process and returns its exit status; -1 where a signal ended it. */
int in_child(int (*body)(const struct place *), const struct place *place);

/* From now on this process is killed when SQLite writes for the n-th time. */
void die_at_write(int number);

bool file_exists(const char *path);

/* Shows both where they differ. */
void assert_text(const char *actual, const char *expected);
#define ASSERT_QUERY(store, sql, expected) assert_text(query_text(store, sql), expected)

/* The same where what is expected has a number in it: `format` is printf's. */
void assert_query_number(struct store *store, const char *sql, const char *format, int number);

#endif
