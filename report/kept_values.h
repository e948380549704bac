/* report, inside: arguments and results of kept calls, as text. */
#ifndef SPROF_REPORT_KEPT_VALUES_H
#define SPROF_REPORT_KEPT_VALUES_H

#include "report/dataset.h"

/* How wide texts for people become; 0: all of it. */
struct report_kept_widths {
    size_t value, all;
};

/* "(id = 81723, text = "select")"; NULL: its arguments are not known, or memory ran out. */
const char *report_kept_arguments(struct report_dataset *dataset,
                                  const struct report_kept_call *call,
                                  struct report_kept_widths widths);

/* "-1"; NULL: it is not known, or there is none. */
const char *report_kept_result(struct report_dataset *dataset, const struct report_kept_call *call,
                               size_t width);

/* "errno = ENOENT": what is known of it beside arguments, result and exception; NULL: nothing. */
const char *report_kept_beside(struct report_dataset *dataset, const struct report_kept_call *call,
                               size_t width);

/* "std::out_of_range "bad field 7""; NULL: it was left by none, or that is not known. */
const char *report_kept_exception(const struct report_kept *kept,
                                  const struct report_kept_call *call);

/* A kept call's values, in the order of their positions. */
const struct report_call_value *report_kept_values(const struct report_kept *kept,
                                                   const struct report_kept_call *call,
                                                   size_t *count);

/* For people, behind the name of a call: its values, and how it ended where it did not return. */
const char *report_kept_behind(struct report_dataset *dataset, const struct report_kept_call *call);

#endif
