/* Packs small fields of nodes and samples into one number. */
#include "store/packing.h"

#include "store/store.h"

/* How a frame was found, the depth of its stack, and how much of it was guessed: 4, 32 and 27 bits.
 */
static uint64_t pack_node(const void *row)
{
    const struct store_node *node = row;
    if (node->found_by > MODEL_BY_LEAF || node->guessed >> 27)
        return STORE_UNPACKABLE;
    return (uint64_t)node->guessed << 36 | (uint64_t)node->depth << 4 | node->found_by;
}

static bool unpack_node(void *row, uint64_t number)
{
    struct store_node *node = row;
    node->found_by = number & 15;
    node->depth = (uint32_t)(number >> 4);
    node->guessed = (uint32_t)(number >> 36);
    return node->found_by <= MODEL_BY_LEAF && number >> 63 == 0;
}
const struct store_packing store_node_packing = {pack_node, unpack_node};

/* How far before a node its parent stands; 0: it has none. Most new nodes continue the one before,
 * and a 1 takes no room in a row. */
static uint64_t pack_parent(const void *row)
{
    const struct store_node *node = row;
    return node->parent_id >= node->id ? STORE_UNPACKABLE
           : node->parent_id           ? node->id - node->parent_id
                                       : 0;
}

static bool unpack_parent(void *row, uint64_t number)
{
    struct store_node *node = row;
    node->parent_id = number ? node->id - (uint32_t)number : 0;
    return number < node->id;
}
const struct store_packing store_node_parent = {pack_parent, unpack_parent};

/* The circumstances of a sample: whether it has a user stack, and that was stitched; how the stack
 * ended (1, 1 and 4 bits); above them the CPU. What stands for several samples, or for none, or has
 * no CPU, has the count there, and all bits inverted. Most numbers fit one byte where CPUs are few.
 */
static uint64_t pack_sample(const void *row)
{
    const struct store_sample *sample = row;
    const uint64_t bits =
        (uint64_t)sample->end_reason << 2 | (uint64_t)sample->stitched << 1 | sample->user_stack;
    const uint64_t count =
        sample->count < STORE_SAMPLE_COUNT_MAX ? sample->count : STORE_SAMPLE_COUNT_MAX;
    if (sample->end_reason > MODEL_END_NO_STACK)
        return STORE_UNPACKABLE;
    return count == 1 && sample->cpu >= 0 ? (uint64_t)sample->cpu << 6 | bits
                                          : ~(count << 6 | bits);
}

static bool unpack_sample(void *row, uint64_t number)
{
    struct store_sample *sample = row;
    const bool counts = number >> 63;
    if (counts)
        number = ~number;
    sample->user_stack = number & 1;
    sample->stitched = number >> 1 & 1;
    sample->end_reason = number >> 2 & 15;
    sample->count = counts ? number >> 6 : 1;
    sample->cpu = counts ? -1 : (int32_t)(number >> 6);
    return sample->end_reason <= MODEL_END_NO_STACK && (counts || number >> 6 <= INT32_MAX);
}
const struct store_packing store_sample_packing = {pack_sample, unpack_sample};
