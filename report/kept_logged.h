/* report, inside: calls of a log that rules have kept, too (`sprof trace --mode log --keep`). */
#ifndef SPROF_REPORT_KEPT_LOGGED_H
#define SPROF_REPORT_KEPT_LOGGED_H

#include "report/dataset.h"

/* Kept calls of a run by thread, function and start, which both rows of a call share. */
struct report_kept_logged {
    const struct report_dataset *dataset; /* not owned */
    struct sprof_map places;              /* in `kept`, + 1 */
};

/* `run`: its place in the dataset's runs. Returns 0 or SPROF_ENOMEM; the caller releases in any
 * case. */
int report_kept_logged_make(struct report_kept_logged *logged, const struct report_dataset *dataset,
                            uint32_t run);
void report_kept_logged_release(struct report_kept_logged *logged);

/* The kept call of a row of the log, with ids of thread and function in the database. NULL: it was
 * not kept. */
const struct report_kept_call *report_kept_logged_find(const struct report_kept_logged *logged,
                                                       uint32_t thread_id, uint32_t function_id,
                                                       uint64_t start_ns);

#endif
