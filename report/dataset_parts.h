/* What the files that load a dataset share among themselves. */
#ifndef SPROF_REPORT_DATASET_PARTS_H
#define SPROF_REPORT_DATASET_PARTS_H

#include "report/dataset.h"

/* The number that a map of database ids holds for `id`; 0 for id 0 and for ids that are missing. */
static inline uint32_t report_dataset_number(const struct sprof_map *numbers, uint32_t id)
{
    const uint64_t *number = id ? sprof_map_get(numbers, id) : NULL;
    return number ? (uint32_t)*number : 0;
}

/* Chooses run and event, reads processes and threads, and checks that those asked for exist. */
int report_dataset_select(struct report_dataset *dataset, struct store *store,
                          const struct report_selection *selection, struct sprof_error *error);

/* Reads the tree as another mode where the selection asks for one. */
int report_dataset_read_mode(struct report_dataset *dataset,
                             const struct report_selection *selection, struct sprof_error *error);

/* Puts the mappings into the order that report_dataset_address searches. */
void report_dataset_sort_mappings(struct report_dataset *dataset);

#endif
