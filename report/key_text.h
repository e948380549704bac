/* What a sample belongs to, as words: its thread, process, cgroup, state … */
#ifndef SPROF_REPORT_KEY_TEXT_H
#define SPROF_REPORT_KEY_TEXT_H

#include "report/dataset.h"

/* How a value is written. */
enum report_key_style {
    REPORT_KEY_ALONE, /* the same in all runs: without numbers of processes and threads */
    REPORT_KEY_AMONG, /* among rows of other sorts: "worker 4711", "cgroup /user.slice" */
};

/* Appends the value of a key that is of a whole sample (report_key_is_of_sample). 0 or
 * SPROF_ENOMEM. */
int report_key_append(struct sprof_str *out, const struct report_dataset *dataset,
                      enum report_key key, const struct report_cost *cost,
                      enum report_key_style style);

/* SPROF_EUSAGE where one of the keys is none of a whole sample; `what` cannot be by it. */
int report_keys_check(const enum report_key *keys, size_t count, const char *what,
                      struct sprof_error *error);

/* Puts what the samples are of above their call paths: the dataset's paths are those of each value
 * then, and these are functions of a module, whose number is returned by *module. `parts` of the
 * dataset are as report_keys_tree_parts has them. 0 or SPROF_ENOMEM. */
int report_keys_group(struct report_dataset *dataset, const enum report_key *keys, size_t count,
                      struct model_paths *paths, uint32_t *module);
unsigned report_keys_tree_parts(const enum report_key *keys, size_t count);

#endif
