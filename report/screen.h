/* Screens of a live view: tables whose rows stay the same thing from one moment of a recording to
 * the next, and of which a part is written at a time. */
#ifndef SPROF_REPORT_SCREEN_H
#define SPROF_REPORT_SCREEN_H

#include "base/base.h"

#include <stdbool.h>

struct store;
struct report_selection;

/* What was read of a recording at one moment. Several screens are made of it, one at a time. */
struct report_moment;

/* Reads what is selected. Errors as report_write. The caller frees; the store is not needed any
 * more. */
int report_moment_load(struct report_moment **moment, struct store *store,
                       const struct report_selection *selection, struct sprof_error *error);
void report_moment_free(struct report_moment *moment);

/* The selected samples so far; 0: there is nothing to show yet. */
uint64_t report_moment_samples(const struct report_moment *moment);

/* Appends the line that stands below tables, parts joined by " · ": samples, CPU time, and what is
 * not as it should be. 0 or SPROF_ENOMEM. */
int report_moment_line(struct report_moment *moment, struct sprof_str *line);

enum report_screen_view {
    REPORT_SCREEN_FUNCTIONS,
    REPORT_SCREEN_TREE,    /* call paths from the roots */
    REPORT_SCREEN_CALLERS, /* every function, with the ways into it below */
    REPORT_SCREEN_THREADS,
    REPORT_SCREEN_MODULES,
    REPORT_SCREEN_EVENTS, /* of a moment with all_events: kinds of waits, and what else is counted
                           */
    REPORT_SCREEN_VIEWS
};

struct report_screen_request {
    enum report_screen_view view;
    bool inclusive; /* by total instead of self; threads, events and callers have one measure */
    /* Of trees: whether the rows below a row are shown, which has this share (0 to 1) of all. */
    bool (*is_open)(void *context, uint64_t id, double share);
    void *context;
};

enum report_screen_below { REPORT_BELOW_NONE, REPORT_BELOW_CLOSED, REPORT_BELOW_OPEN };

struct report_screen_row {
    uint64_t id;    /* of the same thing at each moment */
    uint32_t depth; /* 0 for a root */
    size_t parent;  /* the number of the row above it in the tree; SIZE_MAX: none */
    enum report_screen_below below;
    const char *name, *module; /* in full; module "" where rows have none; borrowed */
    int32_t tid;               /* of threads, else 0 */
};

/* The moment must live longer; zero is a valid empty screen. */
struct report_screen {
    struct report_moment *moment;
    struct report_screen_row *rows; /* owned */
    size_t count;
    struct table *table; /* owned */
};

/* Makes the table of all rows. In trees those below a tenth of a percent are left out. 0 or a
 * negative code with *error filled. */
int report_screen_make(struct report_screen *screen, struct report_moment *moment,
                       const struct report_screen_request *request, struct sprof_error *error);
void report_screen_release(struct report_screen *screen);

/* Writes title, column titles and `count` rows from `first` on, a line each, as wide as `columns`.
 * *text is the caller's to free; *head: the lines before the first row. 0 or SPROF_ENOMEM. */
int report_screen_write(const struct report_screen *screen, size_t first, size_t count,
                        unsigned columns, char **text, size_t *head);

#endif
