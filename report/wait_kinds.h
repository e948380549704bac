/* report, inside: what a thread waits for, by the kind of a wait and the functions on its stack. */
#ifndef SPROF_REPORT_WAIT_KINDS_H
#define SPROF_REPORT_WAIT_KINDS_H

#include <stdbool.h>

/* What a futex is waited for. */
enum report_wait_object {
    REPORT_WAIT_UNKNOWN,
    REPORT_WAIT_LOCK,
    REPORT_WAIT_CONDITION,
    REPORT_WAIT_JOIN, /* a thread's end */
    REPORT_WAIT_BARRIER,
    REPORT_WAIT_SEMAPHORE,
};

/* A function in which threads wait by a futex. */
struct report_wait_function {
    const char *part; /* of its name */
    const char *what; /* as a sentence says it: "for a lock" */
    enum report_wait_object object;
};

/* What a function of that name waits for; NULL: it is not known to wait. */
const struct report_wait_function *report_wait_function_find(const char *name);

/* The kind of wait of a C library's function in which threads do next to nothing else, as
 * model_event_wait says kinds; NULL: of any other. */
const char *report_wait_kind_of_function(const char *name);

/* Whether a thread is in a function of that name only while it waits for a futex. */
bool report_wait_function_blocks(const char *name);

/* Whether a C library enters the kernel by a function of that name for many others: its caller is
 * what waits. */
bool report_wait_function_enters(const char *name);

/* What a kind of wait, as model_event_wait says it, is called in a sentence; NULL: as its word. */
const char *report_wait_kind_text(const char *kind);

#endif
