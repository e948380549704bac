/* The events of a recording, as `record -e` takes them. */
#ifndef SPROF_SAMPLER_PERF_EVENT_LIST_H
#define SPROF_SAMPLER_PERF_EVENT_LIST_H

#include "base/base.h"
#include "sampler/perf/tracefs.h"

/* One event, as it is opened. */
struct perf_event {
    char name[96]; /* as reports name it: with the modifiers that change what it samples */
    uint32_t type; /* PERF_TYPE_… */
    uint64_t config;
    uint64_t config1, config2;
    bool is_pmu;                       /* a counter that sysfs describes */
    char weight[48];                   /* the field of a tracepoint that samples weigh; "": none */
    struct model_field weight_field;   /* … and where it is; bytes 0: none */
    struct model_fields fields;        /* of a tracepoint: the list's */
    bool is_clock;                     /* counts nanoseconds of CPU time */
    bool is_of_kernel;                 /* it happens in the kernel alone */
    bool exclude_user, exclude_kernel; /* as its modifiers say */
    bool has_hypervisor;               /* … also what a hypervisor does */
    unsigned precise;                  /* … how near to its instruction a sample is: precise_ip */
    bool is_weighed;                   /* the program in the kernel weighs its samples */
    uint64_t frequency_hz, period;     /* its own; both 0: the recording's */
};

/* Zero is a valid empty list. */
struct perf_event_list {
    struct perf_event *items;
    size_t count, capacity;
};

/* Reads "cpu-clock,page-faults:u,r1a8:pp,sched:*,block:block_rq_issue/period=10,weight=bytes/,
 * cpu/event=0xa8,umask=1/". Events are software, hardware and cache events by their names, raw ones
 * by their numbers, those of a PMU by its terms, and tracepoints, whose period is 1 where none is
 * given; a pattern stands for all that fit. Fails with SPROF_EUSAGE
 * (unknown event, with the names near it; an event given twice; a modifier, term or rate that is
 * none; an event of the kernel in user mode), SPROF_EPERMISSION or SPROF_EUNSUPPORTED (no
 * tracepoints here). The caller releases the list, also after a failure. */
int perf_event_list_parse(struct perf_event_list *events, const char *text,
                          struct sprof_error *error);
void perf_event_list_release(struct perf_event_list *events);

/* Whether an event is a tracepoint. */
bool perf_event_is_tracepoint(const struct perf_event *event);

/* SPROF_EUSAGE where an event has nothing that could be sampled without the kernel. `why`: the
 * kernel is left out, as "the modifier u". */
int perf_event_check_user_mode(const struct perf_event *event, const char *why,
                               struct sprof_error *error);

#endif
