/* trace: what `--capture` names: values that are read when kept calls begin or end. */
#ifndef SPROF_TRACE_CAPTURE_H
#define SPROF_TRACE_CAPTURE_H

#include "symbolize/symbolize.h"

enum { TRACE_CAPTURES = 16, TRACE_CAPTURE_PATHS = 8 };

struct trace_capture {
    const char *text; /* as it was given; borrowed */
    char *function;   /* a regular expression; NULL: all functions; owned */
    bool at_entry;    /* else when the call ends */
    struct symbolize_path paths[TRACE_CAPTURE_PATHS];
    uint32_t path_count;
};

/* Reads "[RE:] [entry|exit] EXPR[, EXPR…]". RE ends at the first colon that is no part of `::`.
 * EXPR is a name, perhaps with scopes, and fields behind `.` or `->`; `*` may stand before it.
 * SPROF_EUSAGE: the message shows the place, and says what fits there. Nothing is to be released
 * then. `text` is borrowed as long as the capture. */
int trace_capture_parse(struct trace_capture *capture, const char *text, struct sprof_error *error);

/* Reads an EXPR at the beginning of a text. Returns its length; 0: there is none. */
size_t trace_capture_path(const char *text, struct symbolize_path *path);

void trace_capture_release(struct trace_capture *capture);

#endif
