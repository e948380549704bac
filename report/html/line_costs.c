/* Adds up what functions, source lines and addresses cost. */
#include "report/html/line_costs.h"

#include <string.h>

void report_html_lines_release(struct html_line_costs *lines)
{
    sprof_vec_release(&lines->frames);
    sprof_vec_release(&lines->nodes);
    sprof_vec_release(&lines->places);
    sprof_vec_release(&lines->files);
    sprof_vec_release(&lines->instructions);
    report_row_numbers_release(&lines->frame_numbers);
    report_row_numbers_release(&lines->node_numbers);
    sprof_map_release(&lines->place_indexes);
    sprof_map_release(&lines->file_indexes);
    free(lines->functions);
    free(lines->open_functions);
}

/* == Frames and stacks == */

struct loading {
    struct html_line_costs *lines;
    struct report_dataset *dataset;
};

uint32_t report_html_lines_file(struct html_line_costs *lines, struct report_dataset *dataset,
                                const char *path)
{
    const uint64_t key = sprof_hash_text(path);
    const uint64_t *known = sprof_map_get(&lines->file_indexes, key);
    if (known)
        return (uint32_t)*known - 1;
    const char *copy = report_dataset_copy_path(dataset, path);
    if (!copy || sprof_vec_push(&lines->files, copy) ||
        sprof_map_put(&lines->file_indexes, key, lines->files.count))
        return UINT32_MAX;
    return (uint32_t)lines->files.count - 1;
}

static int find_place(struct loading *loading, uint32_t function, const struct store_frame *row,
                      uint32_t *place)
{
    struct html_line_costs *lines = loading->lines;
    const uint32_t file = report_html_lines_file(lines, loading->dataset, row->file);
    if (file == UINT32_MAX)
        return SPROF_ENOMEM;
    const uint64_t key = sprof_hash_pair((uint64_t)function << 32 | file, row->line);
    const uint64_t *known = sprof_map_get(&lines->place_indexes, key);
    if (!known) {
        const struct html_place own = {.function = function, .file = file, .line = row->line};
        if (sprof_vec_push(&lines->places, own) ||
            sprof_map_put(&lines->place_indexes, key, lines->places.count))
            return SPROF_ENOMEM;
    }
    *place = known ? (uint32_t)*known : (uint32_t)lines->places.count;
    return 0;
}

static int take_frame(void *context, const struct store_frame *row)
{
    struct loading *loading = context;
    struct html_line_costs *lines = loading->lines;
    struct html_frame frame = {
        .function = report_dataset_function_of(loading->dataset, row->function_id),
        .outer = row->inline_parent_id, /* a database id until all are read */
        .depth = row->inline_depth,
        .file_offset = row->file_offset,
    };
    if (frame.function && row->file && row->line &&
        find_place(loading, frame.function, row, &frame.place))
        return SPROF_ENOMEM;
    if (sprof_vec_push(&lines->frames, frame))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&lines->frame_numbers, row->id, lines->frames.count);
}

/* Depths must grow outwards, so that a damaged file cannot make a circle. */
static void link_frames(struct html_line_costs *lines)
{
    struct html_frame *frames = lines->frames.items;
    for (size_t i = 0; i < lines->frames.count; i++) {
        const uint32_t outer = report_dataset_number(&lines->frame_numbers, frames[i].outer);
        frames[i].outer = outer && frames[outer - 1].depth > frames[i].depth ? outer : 0;
    }
    for (size_t i = 0; i < lines->frames.count; i++) {
        const uint32_t outer = frames[i].outer;
        if (outer && frames[outer - 1].place)
            lines->places.items[frames[outer - 1].place - 1].inlined = frames[i].function;
    }
}

static int take_node(void *context, const struct store_node *row)
{
    struct html_line_costs *lines = ((struct loading *)context)->lines;
    const struct html_node node = {
        .parent = report_dataset_number(&lines->node_numbers, row->parent_id),
        .frame = report_dataset_number(&lines->frame_numbers, row->frame_id),
    };
    if (!node.frame || (row->parent_id && !node.parent))
        return SPROF_EFORMAT;
    if (sprof_vec_push(&lines->nodes, node))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&lines->node_numbers, row->id, lines->nodes.count);
}

int report_html_lines_load(struct html_line_costs *lines, struct report_dataset *dataset,
                           struct store *store, struct sprof_error *error)
{
    struct loading loading = {lines, dataset};
    lines->function_count = dataset->functions.count;
    lines->functions = calloc(lines->function_count + 1, sizeof *lines->functions);
    lines->open_functions = calloc(lines->function_count + 1, sizeof *lines->open_functions);
    if (!lines->functions || !lines->open_functions)
        return SPROF_ENOMEM;
    int result = store_each_frame(store, take_frame, &loading, error);
    if (result)
        return result;
    link_frames(lines);
    result = store_each_node(store, take_node, &loading, error);
    for (size_t i = lines->nodes.count; i > 0; i--) {
        struct html_node *node = &lines->nodes.items[i - 1];
        if (node->parent) {
            node->sibling = lines->nodes.items[node->parent - 1].child;
            lines->nodes.items[node->parent - 1].child = (uint32_t)i;
        }
    }
    return result;
}

/* == Costs == */

static void add(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

/* Counts what all stacks through a node cost where it is the first of its kind on the way from the
 * root, and what ends in it where it is the innermost. */
static void enter(struct model_costs *costs, uint32_t *open, const struct html_node *node,
                  bool innermost)
{
    if (innermost)
        add(&costs->exclusive, node->own);
    if (!(*open)++)
        add(&costs->inclusive, node->all);
}

static void visit(struct html_line_costs *lines, const struct html_node *node, bool leave)
{
    const uint32_t index = lines->frames.items[node->frame - 1].instruction;
    if (index) {
        struct html_instruction *instruction = &lines->instructions.items[index - 1];
        if (leave)
            instruction->open--;
        else
            enter(&instruction->costs, &instruction->open, node, true);
    }
    bool innermost = true;
    for (uint32_t number = node->frame; number; number = lines->frames.items[number - 1].outer) {
        const struct html_frame *frame = &lines->frames.items[number - 1];
        if (lines->calls && frame->outer)
            continue;
        struct html_place *place = frame->place ? &lines->places.items[frame->place - 1] : NULL;
        if (place && leave)
            place->open--;
        else if (place)
            enter(&place->costs, &place->open, node, innermost);
        uint32_t *open = frame->function ? &lines->open_functions[frame->function - 1] : NULL;
        if (open && leave)
            (*open)--;
        else if (open)
            enter(&lines->functions[frame->function - 1], open, node, innermost);
        innermost = false;
    }
}

/* Walks the stacks below a root that cost something. */
static void walk(struct html_line_costs *lines, uint32_t root)
{
    const struct html_node *nodes = lines->nodes.items;
    uint32_t at = root;
    while (at) {
        const struct html_node *node = &nodes[at - 1];
        const bool counts = node->all.samples || node->all.weight;
        if (counts)
            visit(lines, node, false);
        if (counts && node->child) {
            at = node->child;
            continue;
        }
        if (counts)
            visit(lines, node, true);
        while (at != root && !nodes[at - 1].sibling) {
            at = nodes[at - 1].parent;
            visit(lines, &nodes[at - 1], true);
        }
        at = at == root ? 0 : nodes[at - 1].sibling;
    }
}

struct counting {
    struct html_line_costs *lines;
    uint32_t event;
};

static int take_cost(void *context, const struct store_node_cost *row)
{
    const struct counting *counting = context;
    const uint32_t node = report_dataset_number(&counting->lines->node_numbers, row->node_id);
    if (row->event_id == counting->event && !node)
        return SPROF_EFORMAT;
    if (row->event_id == counting->event)
        add(&counting->lines->nodes.items[node - 1].own, row->cost);
    return 0;
}

static void clear(struct html_line_costs *lines)
{
    for (size_t i = 0; i < lines->nodes.count; i++)
        lines->nodes.items[i].own = lines->nodes.items[i].all = (struct model_cost){0};
    for (size_t i = 0; i < lines->instructions.count; i++)
        lines->instructions.items[i].costs = (struct model_costs){0};
    for (size_t i = 0; i < lines->places.count; i++)
        lines->places.items[i].costs = (struct model_costs){0};
    memset(lines->functions, 0, (lines->function_count + 1) * sizeof *lines->functions);
}

int report_html_lines_count(struct html_line_costs *lines, struct store *store,
                            const struct html_source_event *event, struct sprof_error *error)
{
    struct counting counting = {lines, event->event};
    const struct store_filter filter = {.run_id = event->run};
    clear(lines);
    lines->calls = event->calls;
    const int result = store_each_node_cost(store, &filter, take_cost, &counting, error);
    struct html_node *nodes = lines->nodes.items;
    for (size_t i = lines->nodes.count; i > 0 && !result; i--) {
        add(&nodes[i - 1].all, nodes[i - 1].own);
        if (nodes[i - 1].parent)
            add(&nodes[nodes[i - 1].parent - 1].all, nodes[i - 1].all);
    }
    for (size_t i = 0; i < lines->nodes.count && !result; i++)
        if (!nodes[i].parent)
            walk(lines, (uint32_t)i + 1);
    return result;
}
