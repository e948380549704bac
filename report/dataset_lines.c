/* Adds up costs of source lines where parts of functions share them: on one stack a line counts
 * once, though the recording has a sum for each part. */
#include "report/dataset_parts.h"

#include <stdlib.h>

static uint64_t line_key(const struct report_dataset *dataset, uint32_t number)
{
    static const struct report_frame outside = {0};
    const struct report_frame *frame = number ? &dataset->frames.items[number - 1] : &outside;
    const uint64_t file = sprof_hash_text(frame->file ? frame->file : "");
    return sprof_hash_pair(sprof_hash_pair(file, frame->line),
                           report_dataset_frame_function(dataset, number));
}

int report_dataset_lines_overlap(const struct report_dataset *dataset, bool *overlap)
{
    struct sprof_map part_of = {0};
    int result = 0;
    *overlap = false;
    for (size_t i = 0; i < dataset->line_costs.count && !*overlap && !result; i++) {
        const uint32_t number = dataset->line_costs.items[i].frame;
        uint64_t *part = sprof_map_at(&part_of, line_key(dataset, number));
        const uint64_t own = (uint64_t)dataset->frames.items[number - 1].part + 1;
        if (!part)
            result = SPROF_ENOMEM;
        else if (!*part)
            *part = own;
        else
            *overlap = *part != own;
    }
    sprof_map_release(&part_of);
    return result;
}

/* The sums at work. */
struct line_sums {
    struct sprof_map numbers; /* line_key → number in the dataset's line_costs */
    uint32_t *line_of;        /* [frame]: that number; 0: not known yet */
    SPROF_VEC(size_t) seen;   /* [number - 1]: the cost that last came to it, + 1 */
    struct report_stack stack;
};

/* 0 when out of memory. */
static uint32_t line_of(struct line_sums *sums, struct report_dataset *dataset, uint32_t frame)
{
    if (sums->line_of[frame])
        return sums->line_of[frame];
    uint64_t *number = sprof_map_at(&sums->numbers, line_key(dataset, frame));
    if (!number || (!*number && (sprof_vec_push(&dataset->line_costs,
                                                (struct report_line_cost){.frame = frame}) ||
                                 sprof_vec_push(&sums->seen, 0))))
        return 0;
    *number = *number ? *number : dataset->line_costs.count;
    return sums->line_of[frame] = (uint32_t)*number;
}

static void add_cost(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

/* The frame 0, outside of the application, has no line. */
static int add_stack(struct line_sums *sums, struct report_dataset *dataset, size_t index)
{
    const struct report_cost *cost = &dataset->costs.items[index];
    const int result = report_dataset_stack(dataset, cost->node, &sums->stack);
    if (result)
        return result;
    for (size_t i = 0; i < sums->stack.frames.count; i++) {
        const uint32_t frame = sums->stack.frames.items[i];
        const uint32_t number = frame ? line_of(sums, dataset, frame) : 0;
        if (!number && frame)
            return SPROF_ENOMEM;
        if (!number)
            continue;
        struct model_costs *costs = &dataset->line_costs.items[number - 1].costs;
        if (!i)
            add_cost(&costs->exclusive, cost->cost);
        if (sums->seen.items[number - 1] != index + 1)
            add_cost(&costs->inclusive, cost->cost);
        sums->seen.items[number - 1] = index + 1;
    }
    return 0;
}

int report_dataset_add_up_lines(struct report_dataset *dataset)
{
    struct line_sums sums = {
        .line_of = calloc(dataset->frames.count + 1, sizeof *sums.line_of),
        .stack = {.calls_of_parts = true}, /* both have lines of their own */
    };
    int result = sums.line_of ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->costs.count && !result; i++)
        result = add_stack(&sums, dataset, i);
    dataset->parts |= REPORT_LINE_COSTS;
    sprof_map_release(&sums.numbers);
    free(sums.line_of);
    sprof_vec_release(&sums.seen);
    sprof_vec_release(&sums.stack.frames);
    return result;
}
