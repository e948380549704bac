/* store, inside: columns that hold several small fields as one number. */
#ifndef SPROF_STORE_PACKING_H
#define SPROF_STORE_PACKING_H

#include "store/tables.h"

/* Of struct store_node: how its frame was found, its depth and guessed frames; and how far before
 * it its parent stands. */
extern const struct store_packing store_node_packing, store_node_parent;

/* Of struct store_sample: its stack's end, and its CPU or count. */
extern const struct store_packing store_sample_packing;

#endif
