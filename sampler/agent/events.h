/* Records that are in no ring: what the recorder itself found out about a process. */
#ifndef SPROF_SAMPLER_AGENT_EVENTS_H
#define SPROF_SAMPLER_AGENT_EVENTS_H

#include "base/base.h"
#include "model/model.h"

struct sigprof_event {
    struct model_record record;
    char *text; /* the name or path in it */
};

/* Zero is valid: none. */
struct sigprof_events {
    SPROF_VEC(struct sigprof_event) items; /* by time; those of one time in the order of adding */
    size_t next;                           /* the first that was not taken */
    char *taken;                           /* the text of the one taken last */
};

static inline struct model_record sigprof_record_of(enum model_record_type type, pid_t pid,
                                                    pid_t tid, uint64_t time_ns)
{
    return (struct model_record){
        .type = type, .time_ns = time_ns, .pid = pid, .tid = tid, .cpu = -1};
}

/* Adds a record; its name or path is copied. Returns 0 or SPROF_ENOMEM. */
int sigprof_events_add(struct sigprof_events *events, const struct model_record *record);

/* The time of the first; UINT64_MAX: there is none. */
uint64_t sigprof_events_time_ns(const struct sigprof_events *events);

/* Takes the first, whose text lives until the next call. There must be one. */
void sigprof_events_take(struct sigprof_events *events, struct model_record *record);

void sigprof_events_release(struct sigprof_events *events);

#endif
