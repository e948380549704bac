/* trace, inside: ranges of functions, which are switched together. */
#ifndef SPROF_TRACE_PROBES_RANGES_H
#define SPROF_TRACE_PROBES_RANGES_H

#include "base/base.h"

#include <stdbool.h>

struct trace_session;

/* Functions that are switched together, with a number that stays. */
struct trace_range {
    uint32_t number;
    bool is_on;
    const char *text;  /* with its sign: "+RE", "-0xA-0xB" */
    uint8_t *holds;    /* by probe */
    size_t sites;      /* how many functions */
    uint64_t since_ns; /* time in the run when it was last said */
};

/* Makes range 1 of what was chosen at the start. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_begin(struct trace_session *session, struct sprof_error *error);

/* Adds and switches ranges: "+RE -RE +children:RE:DEPTH +0xA-0xB
 * +MODULE!0xA-0xB -#1,3-5 +#N". A spare probe that comes to be on is chosen. The text is cut up.
 * SPROF_EUSAGE: a mistake; nothing has changed. */
int trace_change_ranges(struct trace_session *session, char *text, struct sprof_error *error);

/* Copies the ranges of another session. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_adopt(struct trace_session *session, const struct trace_session *from);

/* Applies ranges to new probes from `first` on. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_extend(struct trace_session *session, size_t first);

/* What ranges that were said by commands decide of a probe: '+', '-', or 0 where none holds it. */
char trace_ranges_decide(const struct trace_session *session, size_t number);

/* Switches probes as ranges and pauses say. */
void trace_switch(struct trace_session *session);

#endif
