/* Options --capture: values that are read when kept calls begin or end. */
#ifndef SPROF_RULES_CAPTURE_H
#define SPROF_RULES_CAPTURE_H

#include "symbolize/symbolize.h"

enum { RULES_CAPTURES = 16, RULES_CAPTURE_PATHS = 8 };

struct rules_capture {
    const char *text;
    char *function; /* regular expression; NULL: all; owned */
    bool at_entry;  /* else at the end of the call */
    struct symbolize_path paths[RULES_CAPTURE_PATHS];
    uint32_t path_count;
};

/* Parses "[RE:] [entry|exit] EXPR[, EXPR…]". RE ends at the first colon outside of `::`. EXPR is a
 * name, with optional `*`, scopes, and fields after `.` or `->`. SPROF_EUSAGE: the message marks
 * the error and lists what fits; nothing is to be released. Borrows `text` for the capture's
 * life. */
int rules_capture_parse(struct rules_capture *capture, const char *text, struct sprof_error *error);

/* The same of --request: "RE", which has no paths, or "RE: [entry|exit] EXPR". */
int rules_request_parse(struct rules_capture *request, const char *text, struct sprof_error *error);

/* Returns the length of the EXPR; 0: none. */
size_t rules_capture_path(const char *text, struct symbolize_path *path);

void rules_capture_release(struct rules_capture *capture);

#endif
