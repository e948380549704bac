/* Adds up the rows of a flat table: from the tree of functions, from what the recording holds by
 * line, from the tree of nodes, or stack by stack. */
#include "report/by_key.h"

#include <stdlib.h>
#include <string.h>

/* == Costs of functions and modules: from the tree == */

static int add_from_tree(struct by_key *by)
{
    struct report_dataset *dataset = by->dataset;
    const struct model_functions functions = report_dataset_facts(dataset);
    const bool by_function = report_by_key_has(by, REPORT_FUNCTION);
    const size_t count = by_function ? dataset->functions.count : dataset->modules.count;
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    int result = costs ? 0 : SPROF_ENOMEM;
    if (!result)
        result = by_function ? report_dataset_function_costs(dataset, costs)
                             : model_module_costs(&dataset->paths, &functions, costs, count);
    for (uint32_t id = 1; id <= count && !result; id++) {
        const struct model_cost inclusive = costs[id - 1].inclusive;
        const struct key_row row = {
            .module = by_function ? dataset->facts.items[id - 1].module : id,
            .function = by_function ? id : 0,
            .costs = costs[id - 1],
        };
        if (inclusive.samples || inclusive.weight)
            result = sprof_vec_push(&by->rows, row);
    }
    free(costs);
    return result;
}

/* == Costs that need whole stacks == */

const char *report_key_of_process(const struct report_dataset *dataset, enum report_key key,
                                  uint32_t process)
{
    const struct report_process *found = &dataset->processes.items[process - 1];
    return key == REPORT_USER     ? found->user
           : key == REPORT_CGROUP ? found->cgroup
                                  : found->container;
}

unsigned report_key_part(enum report_key key)
{
    switch (key) {
    case REPORT_CPU: return REPORT_CPUS;
    case REPORT_PHASE: return REPORT_PHASES;
    case REPORT_LOCK:
    case REPORT_HOLDER: return REPORT_LOCKS;
    case REPORT_FIELD: return REPORT_FIELDS;
    default: return 0;
    }
}

uint64_t report_key_of_sample(const struct report_dataset *dataset, enum report_key key,
                              const struct report_cost *cost)
{
    const struct report_thread *thread = &dataset->threads.items[cost->thread - 1];
    switch (key) {
    case REPORT_RUN: return dataset->processes.items[thread->process - 1].run;
    case REPORT_HOST: return sprof_hash_text(report_dataset_host(dataset, thread->process));
    case REPORT_PROCESS: return thread->process;
    case REPORT_COMMAND: return sprof_hash_text(report_dataset_command(dataset, thread->process));
    case REPORT_USER:
    case REPORT_CGROUP:
    case REPORT_CONTAINER:
        return sprof_hash_text(report_key_of_process(dataset, key, thread->process));
    case REPORT_THREAD: return cost->thread;
    case REPORT_CPU: return (uint32_t)cost->cpu;
    case REPORT_EVENT: return cost->event;
    case REPORT_STATE:
        return sprof_hash_text(report_event_state(&dataset->events.items[cost->event - 1]));
    case REPORT_WAIT:
        return sprof_hash_text(report_event_wait(&dataset->events.items[cost->event - 1]));
    case REPORT_LOCK:
    case REPORT_HOLDER:
    case REPORT_FIELD:
        return sprof_hash_text(
            report_dataset_field_text(dataset, cost->fields, report_key_slot(key)));
    case REPORT_PHASE: return cost->phase;
    default: return 0;
    }
}

static uint64_t frame_value(const struct by_key *by, enum report_key key, uint32_t number)
{
    static const struct report_frame outside = {0};
    const struct report_dataset *dataset = by->dataset;
    const struct report_frame *frame = number ? &dataset->frames.items[number - 1] : &outside;
    const uint32_t function = report_dataset_frame_function(dataset, number);
    const uint64_t file = sprof_hash_text(frame->file ? frame->file : "");
    switch (key) {
    case REPORT_MODULE: return frame->module;
    case REPORT_FUNCTION: return sprof_hash_pair(frame->module, function);
    case REPORT_FILE: return file;
    case REPORT_LINE: return sprof_hash_pair(sprof_hash_pair(file, frame->line), function);
    case REPORT_ADDRESS: return sprof_hash_pair(frame->module, frame->file_offset);
    default: return 0;
    }
}

static void add_cost(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

/* The number of a hash, given from 1 on; 0 when out of memory. */
static uint32_t number_of(struct by_key *by, uint64_t hash)
{
    const uint64_t *known = sprof_map_get(&by->numbers, hash);
    if (known)
        return (uint32_t)*known;
    const uint32_t number = (uint32_t)by->row_of.count + 1;
    if (sprof_map_put(&by->numbers, hash, number) || sprof_vec_push(&by->row_of, 0) ||
        sprof_vec_push(&by->seen, 0))
        return 0;
    return number;
}

static uint32_t label_of(struct by_key *by, uint32_t frame)
{
    uint64_t hash = 1;
    if (by->labels[frame])
        return by->labels[frame];
    for (size_t i = 0; i < by->key_count; i++)
        if (!report_key_is_of_sample(by->keys[i]))
            hash = sprof_hash_pair(hash, frame_value(by, by->keys[i], frame));
    return by->labels[frame] = number_of(by, hash);
}

/* The row of a label in the group whose first row is `first`, which `cost` is one of; NULL when out
 * of memory. */
static struct key_row *row_of(struct by_key *by, size_t first, const struct report_cost *cost,
                              uint32_t frame, uint32_t label)
{
    uint32_t *row = &by->row_of.items[label - 1];
    if (*row <= first) {
        const uint32_t function = report_dataset_frame_function(by->dataset, frame);
        const struct key_row new = {
            .thread = cost->thread,
            .event = cost->event,
            .phase = cost->phase,
            .fields = cost->fields,
            .cpu = cost->cpu,
            .module = frame      ? by->dataset->frames.items[frame - 1].module
                      : function ? by->dataset->facts.items[function - 1].module
                                 : 0,
            .function = function,
            .frame = frame,
        };
        if (sprof_vec_push(&by->rows, new))
            return NULL;
        *row = (uint32_t)by->rows.count;
    }
    return &by->rows.items[*row - 1];
}

/* Lines are added up in the recording. Several runs may have the same. */
static int add_from_lines(struct by_key *by)
{
    static const struct report_cost none = {0};
    const struct report_dataset *dataset = by->dataset;
    int result = 0;
    by->labels = calloc(dataset->frames.count + 1, sizeof *by->labels);
    if (!by->labels)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->line_costs.count && !result; i++) {
        const struct report_line_cost *cost = &dataset->line_costs.items[i];
        const uint32_t label = label_of(by, cost->frame);
        struct key_row *row = label ? row_of(by, 0, &none, cost->frame, label) : NULL;
        if (!row)
            return SPROF_ENOMEM;
        add_cost(&row->costs.exclusive, cost->costs.exclusive);
        add_cost(&row->costs.inclusive, cost->costs.inclusive);
    }
    return result;
}

/* Leaves of a stack the innermost frame of each label. */
static int leave_labels(struct by_key *by, struct report_stack *stack)
{
    size_t kept = 0;
    by->counted++;
    for (size_t i = 0; i < stack->frames.count; i++) {
        const uint32_t frame = stack->frames.items[i], label = label_of(by, frame);
        if (!label)
            return SPROF_ENOMEM;
        if (by->seen.items[label - 1] == by->counted)
            continue;
        by->seen.items[label - 1] = by->counted;
        stack->frames.items[kept++] = frame;
    }
    stack->frames.count = kept;
    return 0;
}

/* What stacks of nodes are left of, as long as there is room for it: costs by CPU and phase come to
 * a node once for each of these. Zero is a valid empty one. */
struct known_stacks {
    SPROF_VEC(uint32_t) frames;
    uint32_t *begin, *count; /* [node]: in `frames`; begin: + 1, 0: not known */
};

static void known_stacks_release(struct known_stacks *known)
{
    sprof_vec_release(&known->frames);
    free(known->begin);
    free(known->count);
}

/* The labels' frames on the stack of a node. */
static int stack_of(struct by_key *by, struct known_stacks *known, uint32_t node,
                    struct report_stack *stack, const uint32_t **frames, size_t *count)
{
    enum { MOST_FRAMES = 4 << 20 };
    const struct report_dataset *dataset = by->dataset;
    if (known->begin && known->begin[node]) {
        *frames = known->frames.items + known->begin[node] - 1;
        *count = known->count[node];
        return 0;
    }
    const int result = report_dataset_stack(dataset, node, stack);
    if (result || leave_labels(by, stack))
        return result ? result : SPROF_ENOMEM;
    *frames = stack->frames.items;
    *count = stack->frames.count;
    if (!known->begin || known->frames.count + *count > MOST_FRAMES)
        return 0;
    known->begin[node] = (uint32_t)known->frames.count + 1;
    known->count[node] = (uint32_t)*count;
    for (size_t i = 0; i < *count; i++)
        if (sprof_vec_push(&known->frames, stack->frames.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

static int known_stacks_init(struct known_stacks *known, const struct report_dataset *dataset)
{
    if (!dataset->packed.items.count)
        return 0;
    known->begin = calloc(dataset->nodes.count + 1, sizeof *known->begin);
    known->count = calloc(dataset->nodes.count + 1, sizeof *known->count);
    return known->begin && known->count ? 0 : SPROF_ENOMEM;
}

/* Counts a cost for what its stack holds: frames of different labels, the innermost first. */
static int add_stack(struct by_key *by, size_t first, const struct report_cost *cost,
                     const uint32_t *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t label = label_of(by, frames[i]);
        struct key_row *row = label ? row_of(by, first, cost, frames[i], label) : NULL;
        if (!row)
            return SPROF_ENOMEM;
        if (!i)
            add_cost(&row->costs.exclusive, cost->cost);
        add_cost(&row->costs.inclusive, cost->cost);
    }
    return 0;
}

/* == The same where stacks are as recorded: from the tree of nodes, each of them once a group == */

/* Which frames of each node are the outermost of their label on its stack: their label's inclusive
 * cost is that of the node. Nothing of this depends on the group. */
struct outermost {
    uint32_t *first_child, *next_sibling; /* [node]; 0 stands above all roots */
    uint32_t *begin;                      /* [node]: where its frames begin in `frames`, … */
    uint32_t *count;                      /* … and how many they are */
    SPROF_VEC(uint32_t) frames;
    uint32_t *open; /* [label]: how often it is on the way to the node at hand */
    /* Of the group at work. */
    uint32_t *group;        /* [node]: the group it was last in */
    struct model_cost *sum; /* [node] */
    SPROF_VEC(uint32_t) touched;
};

static void outermost_release(struct outermost *outermost)
{
    free(outermost->first_child);
    free(outermost->next_sibling);
    free(outermost->begin);
    free(outermost->count);
    free(outermost->open);
    free(outermost->group);
    free(outermost->sum);
    sprof_vec_release(&outermost->frames);
    sprof_vec_release(&outermost->touched);
}

/* Enters a node: notes the innermost frame of each label that is not open yet, then opens all. */
static int enter(struct by_key *by, struct outermost *outermost, uint32_t node)
{
    const struct report_frame *frames = by->dataset->frames.items;
    const uint32_t innermost = report_dataset_node_frame(by->dataset, node);
    outermost->begin[node] = (uint32_t)outermost->frames.count;
    for (uint32_t frame = innermost; frame; frame = frames[frame - 1].outer) {
        const uint32_t label = by->labels[frame];
        bool known = outermost->open[label];
        for (size_t i = outermost->begin[node]; i < outermost->frames.count && !known; i++)
            known = by->labels[outermost->frames.items[i]] == label;
        if (!known && sprof_vec_push(&outermost->frames, frame))
            return SPROF_ENOMEM;
    }
    outermost->count[node] = (uint32_t)outermost->frames.count - outermost->begin[node];
    for (uint32_t frame = innermost; frame; frame = frames[frame - 1].outer)
        outermost->open[by->labels[frame]]++;
    return 0;
}

static void leave(struct by_key *by, struct outermost *outermost, uint32_t node)
{
    const struct report_frame *frames = by->dataset->frames.items;
    for (uint32_t frame = report_dataset_node_frame(by->dataset, node); frame;
         frame = frames[frame - 1].outer)
        outermost->open[by->labels[frame]]--;
}

/* Walks the tree of nodes, depth first and without the C stack. */
static int find_outermost(struct by_key *by, struct outermost *outermost)
{
    const struct report_node *nodes = by->dataset->nodes.items;
    uint32_t at = outermost->first_child[0];
    int result = 0;
    while (at && !result) {
        result = enter(by, outermost, at);
        if (outermost->first_child[at]) {
            at = outermost->first_child[at];
            continue;
        }
        for (; at; at = nodes[at - 1].parent) {
            leave(by, outermost, at);
            if (outermost->next_sibling[at])
                break;
        }
        at = at ? outermost->next_sibling[at] : 0;
    }
    return result;
}

static int outermost_init(struct by_key *by, struct outermost *outermost)
{
    const struct report_dataset *dataset = by->dataset;
    const size_t count = dataset->nodes.count + 1;
    for (uint32_t frame = 1; frame <= dataset->frames.count; frame++)
        if (!label_of(by, frame))
            return SPROF_ENOMEM;
    outermost->first_child = calloc(count, sizeof *outermost->first_child);
    outermost->next_sibling = calloc(count, sizeof *outermost->next_sibling);
    outermost->begin = calloc(count, sizeof *outermost->begin);
    outermost->count = calloc(count, sizeof *outermost->count);
    outermost->group = calloc(count, sizeof *outermost->group);
    outermost->sum = calloc(count, sizeof *outermost->sum);
    outermost->open = calloc(by->row_of.count + 1, sizeof *outermost->open);
    if (!outermost->first_child || !outermost->next_sibling || !outermost->begin ||
        !outermost->count || !outermost->group || !outermost->sum || !outermost->open)
        return SPROF_ENOMEM;
    for (uint32_t node = (uint32_t)dataset->nodes.count; node; node--) {
        const uint32_t parent = dataset->nodes.items[node - 1].parent;
        outermost->next_sibling[node] = outermost->first_child[parent];
        outermost->first_child[parent] = node;
    }
    return find_outermost(by, outermost);
}

/* Adds a cost to its node, and its innermost frame's label. */
static int add_to_node(struct by_key *by, struct outermost *outermost, uint32_t group, size_t first,
                       const struct report_cost *cost)
{
    const uint32_t frame = report_dataset_node_frame(by->dataset, cost->node);
    struct key_row *row = row_of(by, first, cost, frame, by->labels[frame]);
    if (!row)
        return SPROF_ENOMEM;
    add_cost(&row->costs.exclusive, cost->cost);
    for (uint32_t node = cost->node; node && outermost->group[node] != group;
         node = by->dataset->nodes.items[node - 1].parent) {
        outermost->group[node] = group;
        outermost->sum[node] = (struct model_cost){0};
        if (sprof_vec_push(&outermost->touched, node))
            return SPROF_ENOMEM;
    }
    add_cost(&outermost->sum[cost->node], cost->cost);
    return 0;
}

static int compare_descending(const void *a, const void *b)
{
    const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return first > second ? -1 : first < second;
}

/* Brings the nodes of a group into order, children before their parents: parents have smaller
 * numbers. */
static void sort_touched(struct outermost *outermost, uint32_t group, size_t nodes)
{
    enum { MANY = 16 }; /* one in so many: to look at all costs less than to sort these */
    if (outermost->touched.count < nodes / MANY) {
        qsort(outermost->touched.items, outermost->touched.count, sizeof(uint32_t),
              compare_descending);
        return;
    }
    outermost->touched.count = 0;
    for (uint32_t node = (uint32_t)nodes; node; node--)
        if (outermost->group[node] == group)
            outermost->touched.items[outermost->touched.count++] = node;
}

/* Hands the costs of a group down to the roots. */
static int finish_group(struct by_key *by, struct outermost *outermost, uint32_t group,
                        size_t first, const struct report_cost *cost)
{
    sort_touched(outermost, group, by->dataset->nodes.count);
    for (size_t i = 0; i < outermost->touched.count; i++) {
        const uint32_t node = outermost->touched.items[i];
        const uint32_t parent = by->dataset->nodes.items[node - 1].parent;
        if (parent)
            add_cost(&outermost->sum[parent], outermost->sum[node]);
        for (uint32_t k = 0; k < outermost->count[node]; k++) {
            const uint32_t frame = outermost->frames.items[outermost->begin[node] + k];
            struct key_row *row = row_of(by, first, cost, frame, by->labels[frame]);
            if (!row)
                return SPROF_ENOMEM;
            add_cost(&row->costs.inclusive, outermost->sum[node]);
        }
    }
    outermost->touched.count = 0;
    return 0;
}

/* == Group by group == */

/* The costs at hand in the order of their groups. */
struct grouping {
    struct sprof_map numbers;   /* hash of the keys' values → number of the group */
    uint32_t *groups, *sorted;  /* [cost]: its group; indexes of costs, group by group */
    size_t capacity;            /* of both */
    SPROF_VEC(uint32_t) starts; /* [group]: where it begins in `sorted` */
};

static void grouping_release(struct grouping *grouping)
{
    sprof_map_release(&grouping->numbers);
    free(grouping->groups);
    free(grouping->sorted);
    sprof_vec_release(&grouping->starts);
}

static int number_groups(const struct by_key *by, struct grouping *grouping)
{
    const struct report_dataset *dataset = by->dataset;
    for (size_t i = 0; i < dataset->costs.count; i++) {
        uint64_t hash = 1;
        for (size_t k = 0; k < by->key_count; k++)
            if (report_key_is_of_sample(by->keys[k]))
                hash = sprof_hash_pair(
                    hash, report_key_of_sample(by->dataset, by->keys[k], &dataset->costs.items[i]));
        uint64_t *number = sprof_map_at(&grouping->numbers, hash);
        if (!number || (!*number && sprof_vec_push(&grouping->starts, 0)))
            return SPROF_ENOMEM;
        *number = *number ? *number : grouping->starts.count;
        grouping->groups[i] = (uint32_t)*number - 1;
        grouping->starts.items[*number - 1]++;
    }
    return 0;
}

static int group_costs(const struct by_key *by, struct grouping *grouping)
{
    const size_t count = by->dataset->costs.count;
    if (count >= grouping->capacity) {
        free(grouping->groups);
        free(grouping->sorted);
        grouping->capacity = count + 1;
        grouping->groups = malloc(grouping->capacity * sizeof *grouping->groups);
        grouping->sorted = malloc(grouping->capacity * sizeof *grouping->sorted);
        if (!grouping->groups || !grouping->sorted)
            return SPROF_ENOMEM;
    }
    sprof_map_clear(&grouping->numbers);
    grouping->starts.count = 0;
    if (number_groups(by, grouping))
        return SPROF_ENOMEM;
    uint32_t start = 0;
    for (size_t i = 0; i < grouping->starts.count; i++) { /* they were counts */
        const uint32_t own = grouping->starts.items[i];
        grouping->starts.items[i] = start;
        start += own;
    }
    for (size_t i = 0; i < count; i++)
        grouping->sorted[grouping->starts.items[grouping->groups[i]]++] = (uint32_t)i;
    return 0;
}

/* Rows of groups that are complete are dropped from time to time where few of many are shown. */
static int drop_rows(struct by_key *by)
{
    const size_t many = 2 * by->few_rows + by->row_of.count + 64;
    if (by->rows.count < many || by->cut.most == SIZE_MAX || !by->cut.largest_first)
        return 0;
    const int result = report_by_key_drop(by);
    memset(by->row_of.items, 0, by->row_of.count * sizeof *by->row_of.items); /* they moved */
    by->few_rows = by->rows.count;
    return result;
}

/* A group has rows of its own: a label has one at a time. `outermost` is NULL where stacks are read
 * otherwise than they were recorded. */
static int add_groups(struct by_key *by, const struct grouping *grouping,
                      struct outermost *outermost, uint32_t *group, struct known_stacks *known,
                      struct report_stack *stack)
{
    static const uint32_t no_frame = 0;
    const struct report_cost *costs = by->dataset->costs.items;
    const size_t count = by->dataset->costs.count;
    size_t first = by->rows.count; /* entries of former groups */
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        const uint32_t at = grouping->sorted[i];
        const bool last =
            i + 1 == count || grouping->groups[grouping->sorted[i + 1]] != grouping->groups[at];
        if (outermost)
            result = add_to_node(by, outermost, *group, first, &costs[at]);
        const uint32_t *frames = &no_frame;
        size_t frame_count = 1;
        if (!outermost && by->of_frames)
            result = stack_of(by, known, costs[at].node, stack, &frames, &frame_count);
        if (!outermost && !result)
            result = add_stack(by, first, &costs[at], frames, frame_count);
        if (!last || result)
            continue;
        if (outermost)
            result = finish_group(by, outermost, (*group)++, first, &costs[at]);
        if (!result)
            result = drop_rows(by);
        first = by->rows.count;
    }
    return result;
}

static int add_from_stacks(struct by_key *by)
{
    struct report_dataset *dataset = by->dataset;
    const bool as_recorded =
        by->of_frames && dataset->reading.mode == MODEL_MODE_FULL && !dataset->chosen.filters;
    struct outermost outermost = {0};
    struct grouping grouping = {0};
    struct known_stacks known = {0};
    struct report_stack stack = {.calls_of_parts = true}; /* both have lines of their own */
    uint32_t group = 1;
    by->labels = calloc(dataset->frames.count + 1, sizeof *by->labels);
    int result = !by->labels   ? SPROF_ENOMEM
                 : as_recorded ? outermost_init(by, &outermost)
                               : known_stacks_init(&known, dataset);
    while (!result && !(result = report_dataset_next_costs(dataset))) {
        result = group_costs(by, &grouping);
        if (!result)
            result =
                add_groups(by, &grouping, as_recorded ? &outermost : NULL, &group, &known, &stack);
    }
    outermost_release(&outermost);
    grouping_release(&grouping);
    known_stacks_release(&known);
    sprof_vec_release(&stack.frames);
    return result < 0 ? result : 0;
}

int report_by_key_add(struct by_key *by)
{
    if (by->dataset->parts & REPORT_LINE_COSTS)
        return add_from_lines(by);
    /* Costs by thread have no nodes: functions and modules are not among them. */
    const bool has_costs =
        by->dataset->parts & REPORT_THREAD_COSTS ? by->of_samples : by->dataset->parts != 0;
    return has_costs ? add_from_stacks(by) : add_from_tree(by);
}

void report_by_key_release(struct by_key *by)
{
    sprof_vec_release(&by->rows);
    sprof_vec_release(&by->row_of);
    sprof_vec_release(&by->seen);
    sprof_map_release(&by->numbers);
    free(by->labels);
    free(by->alike);
}
