/* Recordings made by hand: the worked example of docs/design/reading.md, with its application
 * functions in a program that is compiled on the spot and its system functions in a library that is
 * gone. */
#ifndef SPROF_TESTS_RECORD_HANDMADE_H
#define SPROF_TESTS_RECORD_HANDMADE_H

#include "tests/unit/image/fixture.h"
#include "tests/unit/store/recording.h"

enum { HAND_PROGRAM = 1, HAND_LIBRARY, HAND_NONE, HAND_KERNEL };
enum { HAND_A1 = 1, HAND_A2, HAND_A3, HAND_S1, HAND_S2, HAND_START, HAND_OUTSIDE };

/* The rows of a recording, to be changed before they are written. */
struct handmade {
    struct fixture fixture;
    char program[128], path[128]; /* of the program, and of the recording */
    struct store_run run;
    struct store_event event;
    struct store_batch batch;
};

/* Compile the program, once for all recordings of a suite, and remove it: CUnit's initializer and
 * clean-up of the suite. */
int handmade_compile(void);
int handmade_remove(void);

/* Makes rows of processes, modules and frames; no nodes, no samples. */
void handmade_open(struct handmade *made);
void handmade_close(struct handmade *made);

/* The same of a run in that mode and state. */
void handmade_make(struct handmade *made, const char *mode, enum store_state state);

/* Puts a copy of the program into the recording's directory. */
void handmade_copy_program(const struct handmade *made, const char *name);

/* Adds a node below a parent (0: a root) and `samples` samples of it; returns its id. */
uint32_t handmade_node(struct handmade *made, uint32_t parent, uint32_t frame, uint64_t samples);

/* The six stacks, below `root`. */
void handmade_example(struct handmade *made, uint32_t root);

/* Where a function of the program is, as a file offset; and its size. */
uint64_t handmade_offset(const struct handmade *made, const char *function, uint64_t *size);

/* Writes the rows and closes the recording. */
void handmade_write(struct handmade *made);

/* Writes the same rows once more, as they are now, as those of a further run: all their ids are
 * greater by 100 then. */
void handmade_append(struct handmade *made);

/* Derives what the written recording lacks, or looks all names up again; the second one must
 * succeed. */
int handmade_derive(const struct handmade *made, bool again, struct sprof_error *error);
void handmade_must_derive(const struct handmade *made);

/* Changes the written recording by a statement. */
void handmade_execute(const struct handmade *made, const char *sql);

/* The answer to a query of the written recording, in a buffer that the next call reuses. */
const char *handmade_query(const struct handmade *made, const char *sql);
#define HAND_PATHS                                                                                 \
    "SELECT replace(path, 'libgone.so', 'S'), exclusive_samples, inclusive_samples"                \
    " FROM v_call_tree ORDER BY path"
#define HAND_FUNCTIONS                                                                             \
    "SELECT function, exclusive_samples, inclusive_samples FROM v_function ORDER BY function"
#define ASSERT_HANDMADE(made, sql, expected) assert_text(handmade_query(made, sql), expected)

#endif
