/* Rows of kept calls in a dataset (report/dataset.h): rules, calls, requests and values. */
#ifndef SPROF_REPORT_DATASET_KEPT_H
#define SPROF_REPORT_DATASET_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rule of `sprof trace --keep`, and a call that met one, or that is the caller of such a call. */
struct report_keep_rule {
    uint32_t run;                  /* its place in `runs` */
    uint32_t number;               /* from 1 */
    const char *text, *conditions; /* all of it; what stands before the functions */
    uint64_t fired, dropped;       /* as in struct store_keep_rule */
};
/* The length of a rule's conditions, which stand before its functions and load. */
size_t report_keep_conditions_length(const char *text);

struct report_kept_call {
    uint32_t run;            /* its place in `runs` */
    uint32_t number, caller; /* numbers in its run; caller 0: none */
    uint32_t thread, function;
    uint64_t start_ns, duration_ns, self_ns; /* as in struct store_kept_call */
    uint64_t running_ns, waiting_ns, ready_ns;
    uint64_t rules;
    uint64_t request, asked_id; /* 0: none; as in struct store_kept_call */
    const char *label;          /* of the request; NULL: none was given */
    uint8_t exit;               /* enum store_exit */
    bool is_apart;
};

/* A request that the program named. Sorted by run and start. */
struct report_kept_request {
    uint32_t run; /* its place in `runs` */
    uint64_t id;
    const char *label; /* NULL: none was given */
    uint32_t thread;   /* that began with it */
    uint64_t start_ns;
    uint64_t end_ns;  /* 0: it has not ended */
    uint64_t busy_ns; /* of all threads, as far as they went on to something else */
    uint32_t parts;   /* how many times threads worked for it */
};

/* An argument or the result of a kept call. Sorted by run, call and position. */
struct report_call_value {
    uint32_t run, call, position;    /* its place in `runs`; number; from 1, 0: the result */
    const char *name, *type, *value; /* name: "" where it has none; type NULL: not known */
};

#endif
