/* Keeps the numbers of rows by their database ids. */
#include "report/row_numbers.h"

int report_row_numbers_put(struct report_row_numbers *numbers, uint32_t id, size_t number)
{
    enum { FEW = 1024, SPARSE = 4 }; /* a damaged file must not make the array large */
    if (!id)
        return 0;
    if (id > FEW + SPARSE * numbers->count++)
        return sprof_map_put(&numbers->far, id, number);
    while (numbers->near.count <= id) {
        /* What was far and is now near moves. */
        const uint32_t next = (uint32_t)numbers->near.count;
        const uint64_t *far = next ? sprof_map_get(&numbers->far, next) : NULL;
        if (sprof_vec_push(&numbers->near, far ? (uint32_t)*far : 0))
            return SPROF_ENOMEM;
    }
    numbers->near.items[id] = (uint32_t)number;
    return 0;
}

void report_row_numbers_release(struct report_row_numbers *numbers)
{
    sprof_vec_release(&numbers->near);
    sprof_map_release(&numbers->far);
}
