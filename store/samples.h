/* The two ways to what reader.h offers: from what is stored in order or added up, and from all
 * samples. */
#ifndef SPROF_STORE_SAMPLES_H
#define SPROF_STORE_SAMPLES_H

#include "store/reader.h"

/* Samples in time order, sorted by SQLite: for runs that are not complete. */
int store_each_sorted_sample(struct store *store, const struct store_filter *filter,
                             int (*row)(void *, const struct store_sample_row *), void *context,
                             struct sprof_error *error);

/* Costs by node: see store_each_node_cost. */
int store_each_sampled_node_cost(struct store *store, const struct store_filter *filter,
                                 int (*row)(void *, const struct store_node_cost *), void *context,
                                 struct sprof_error *error);
int store_each_stored_node_cost(struct store *store, const struct store_filter *filter,
                                int (*row)(void *, const struct store_node_cost *), void *context,
                                struct sprof_error *error);

#endif
