/* report, inside: calls of a log that rules have kept, too (`sprof trace --mode log --keep`). */
#ifndef SPROF_REPORT_KEPT_LOGGED_H
#define SPROF_REPORT_KEPT_LOGGED_H

#include "report/dataset.h"
#include "store/store.h"

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

/* Appends a part of a WITH clause: `conditions`, what stands in each rule before its functions, of
 * which REPORT_WHY makes what a call was kept for. */
int report_kept_conditions(struct store *store, uint32_t run, struct sprof_str *sql,
                           struct sprof_error *error);

/* SQL: the conditions that a call with these bits has met, as report_kept_reason names them; NULL:
 * only a caller. */
#define REPORT_WHY(rules)                                                                          \
    "(SELECT group_concat(text, ', ') FROM conditions WHERE (" rules ") >> (number - 1) & 1)"

#endif
