/* Calls that were logged as evented profiles of speedscope's JSON. */
#ifndef SPROF_REPORT_EXPORT_SPEEDSCOPE_CALLS_H
#define SPROF_REPORT_EXPORT_SPEEDSCOPE_CALLS_H

#include "report/export/export.h"
#include "report/json.h"

/* The frames of calls, by the id of their function; numbers go on behind `first`. */
struct speedscope_calls {
    uint64_t calls; /* that the run has */
    uint32_t first; /* frames that the file has besides */
    struct sprof_map frames;
    SPROF_VEC(char *) names; /* owned */
};

/* How many calls the run has. Returns 0 or a negative code. The caller releases, also on failure.
 */
int speedscope_calls_open(struct speedscope_calls *calls, const struct report_content *content,
                          struct sprof_error *error);
void speedscope_calls_release(struct speedscope_calls *calls);

/* A profile for each thread with calls, at most as many calls as a browser reads. A frame is a
 * function, whatever its arguments were: speedscope adds up what has one frame. */
int speedscope_calls_put(struct json *json, struct speedscope_calls *calls,
                         const struct report_content *content, struct sprof_error *error);

/* Elements of shared.frames, behind the file's others; after speedscope_calls_put. */
void speedscope_calls_put_frames(struct json *json, const struct speedscope_calls *calls);

#endif
