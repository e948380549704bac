/* report, inside: the numbers that things got in the order in which they were read, by their
 * database ids. Ids mostly count from 1, so an array holds them; a map, those far above. */
#ifndef SPROF_REPORT_ROW_NUMBERS_H
#define SPROF_REPORT_ROW_NUMBERS_H

#include "base/base.h"

/* Zero is a valid empty one. */
struct report_row_numbers {
    SPROF_VEC(uint32_t) near; /* [id]; 0: none */
    size_t count;             /* of all that were put */
    struct sprof_map far;
};

/* 0 or SPROF_ENOMEM. */
int report_row_numbers_put(struct report_row_numbers *numbers, uint32_t id, size_t number);
void report_row_numbers_release(struct report_row_numbers *numbers);

/* 0 for id 0 and for ids that are missing. */
static inline uint32_t report_dataset_number(const struct report_row_numbers *numbers, uint32_t id)
{
    if (id < numbers->near.count)
        return numbers->near.items[id];
    const uint64_t *number = sprof_map_get(&numbers->far, id);
    return number ? (uint32_t)*number : 0;
}

#endif
