/* A whole trace: the program that counts its calls by itself, a session of it that runs in a
 * thread, and the recording. The test gives orders to the program and commands to the session. */
#ifndef SPROF_TESTS_UNIT_TRACE_LIVE_H
#define SPROF_TESTS_UNIT_TRACE_LIVE_H

#include "tests/unit/store/recording.h"
#include "tests/unit/trace/made.h"
#include "tests/unit/trace/orders.h"
#include "trace/trace.h"

#include <pthread.h>

/* The program, with the test's end of its socket. */
struct live_program {
    pid_t pid;
    int orders;
};

struct live {
    struct trace_options options; /* a test may change them before live_open */
    struct live_program program;
    struct trace_session *session;
    struct trace_result result;
    struct sprof_error error;
    struct sprof_str answer; /* of the last command */
    struct made_log log;
    struct sprof_log counting; /* the session's: counts what is said to `log` */
    _Atomic unsigned said_count;
    struct place place;
    struct store *store;
    pthread_t runner;
    bool has_runner;
    int ran; /* result of trace_run */
    int theirs;
    char number[16];
    char *command[3];
};

/* Fills the options for the program's functions `work_…`. */
void live_make(struct live *live);

/* trace_open, whose result it returns. */
int live_open(struct live *live);

/* Lets the session run, and waits until the program goes. */
void live_run(struct live *live);

/* live_make, live_open and live_run. */
void live_begin(struct live *live);

/* Returns the program's answer; none where it ends. */
int32_t live_order(const struct live_program *program, struct order order);
void live_call(struct live *live, enum order_function function, uint32_t times, uint32_t ticks);

/* Waits for what the next program in its place says. */
int32_t live_answer(const struct live_program *program);

/* Sends a command; its answer or message is in live->answer. */
int live_control(struct live *live, const char *command);

/* Whether the command fails with `code` and a message that holds `part`. */
bool live_refuses(struct live *live, const char *command, int code, const char *part);

/* Whether the command's answer holds `part`. */
bool live_answers(struct live *live, const char *command, const char *part);

/* Waits until so many messages were reported. What they say is read after live_join. */
void live_wait_said(struct live *live, unsigned count);

/* Waits for the end of the session. Returns the result of trace_run. */
int live_join(struct live *live);

/* Lets the program end with this status, and waits for the session. */
int live_quit(struct live *live, int status);

/* A query of the recording, as query_text. */
const char *live_query(struct live *live, const char *sql);

/* "FUNCTION|CALLS" for each called function, by name. */
#define LIVE_CALLS                                                                                 \
    "SELECT function, calls FROM v_call_stats WHERE function LIKE 'work_%' ORDER BY function"

void live_end(struct live *live);

/* == Running processes == */

/* Starts the program without a session; it waits for one. */
void live_program_start(struct live_program *program);
void live_program_end(struct live_program *program);

#endif
