/* Spells out the stacks of a dataset: frames with what is inlined there, cut as the mode says, and
 * their addresses. */
#include "report/dataset_parts.h"

static int compare_mappings(const void *a, const void *b)
{
    const struct report_mapping *first = a, *second = b;
    if (first->process != second->process)
        return first->process < second->process ? -1 : 1;
    if (first->module != second->module)
        return first->module < second->module ? -1 : 1;
    if (first->start_ns != second->start_ns)
        return first->start_ns < second->start_ns ? -1 : 1;
    return first->start < second->start ? -1 : first->start > second->start;
}

void report_dataset_sort_mappings(struct report_dataset *dataset)
{
    if (dataset->mappings.count)
        qsort(dataset->mappings.items, dataset->mappings.count, sizeof *dataset->mappings.items,
              compare_mappings);
}

/* The first mapping of a process and module in the sorted list. */
static size_t first_mapping(const struct report_dataset *dataset, uint32_t process, uint32_t module)
{
    size_t low = 0, high = dataset->mappings.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct report_mapping *mapping = &dataset->mappings.items[middle];
        if (mapping->process < process || (mapping->process == process && mapping->module < module))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool address_in(const struct report_dataset *dataset, const struct report_frame *frame,
                       uint32_t process, uint64_t time_ns, uint64_t *address)
{
    for (size_t i = first_mapping(dataset, process, frame->module); i < dataset->mappings.count;
         i++) {
        const struct report_mapping *mapping = &dataset->mappings.items[i];
        if (mapping->process != process || mapping->module != frame->module)
            return false;
        const uint64_t offset = frame->file_offset - mapping->file_offset;
        if (offset >= mapping->size || (mapping->end_ns && time_ns >= mapping->end_ns))
            continue;
        *address = mapping->start + offset;
        return true;
    }
    return false;
}

bool report_dataset_address(const struct report_dataset *dataset, uint32_t frame, uint32_t thread,
                            uint64_t time_ns, uint64_t *address)
{
    enum { ANCESTORS = 64 };
    const struct report_frame *item = &dataset->frames.items[frame - 1];
    uint32_t process = thread ? dataset->threads.items[thread - 1].process : 0;
    for (int i = 0; process && i < ANCESTORS; i++) {
        if (address_in(dataset, item, process, i ? 0 : time_ns, address))
            return true;
        process = dataset->processes.items[process - 1].parent;
    }
    return address_in(dataset, item, 0, 0, address);
}

static bool is_app(const struct report_dataset *dataset, uint32_t frame)
{
    const struct model_functions functions = report_dataset_facts(dataset);
    const uint32_t function = report_dataset_frame_function(dataset, frame);
    return function && model_function_is_app(&functions, function);
}

/* Keeps frames first … last of the stack, innermost first; of those inside only application frames
 * where the mode drops the others. */
static void keep(const struct report_dataset *dataset, struct report_stack *stack, size_t first,
                 size_t last)
{
    const bool drop = dataset->reading.mode == MODEL_MODE_APP && dataset->reading.drop_interior;
    uint32_t *frames = stack->frames.items;
    size_t count = 0;
    for (size_t i = first; i <= last; i++)
        if (!drop || is_app(dataset, frames[i]))
            frames[count++] = frames[i];
    stack->frames.count = count;
}

static void cut(const struct report_dataset *dataset, struct report_stack *stack)
{
    const bool app_only = dataset->reading.mode == MODEL_MODE_APP || dataset->reading.frame_app;
    const uint32_t *frames = stack->frames.items;
    size_t first = 0, last = stack->frames.count - 1;
    if (dataset->reading.mode == MODEL_MODE_FULL)
        return;
    while (app_only && first < last && !is_app(dataset, frames[first]))
        first++;
    if (app_only && !is_app(dataset, frames[first])) {
        /* What never was a stack, such as "[not sampled]", stays what it is. */
        const uint32_t function = report_dataset_frame_function(dataset, frames[0]);
        const bool pseudo = stack->frames.count == 1 && function &&
                            dataset->facts.items[function - 1].kind == MODEL_KIND_NONE;
        if (!pseudo)
            stack->frames.items[0] = 0;
        stack->frames.count = 1;
        return;
    }
    while (app_only && !is_app(dataset, frames[last]))
        last--;
    keep(dataset, stack, first, dataset->reading.mode == MODEL_MODE_PC ? first : last);
}

/* Takes out frames of standard libraries, but where there are no others. */
static size_t leave_standard(const struct report_dataset *dataset, uint32_t *frames, size_t count)
{
    size_t own = 0;
    for (int round = 0; round < 2; round++) {
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            const uint32_t function = report_dataset_frame_function(dataset, frames[i]);
            if (function && dataset->chosen.function_filters[function - 1] & REPORT_STANDARD)
                continue;
            if (round)
                frames[kept] = frames[i];
            kept++;
        }
        own = kept;
        if (!own)
            return count;
    }
    return own;
}

/* Takes out what the expressions say; no frames are left of a stack that is not selected. */
static void filter(const struct report_dataset *dataset, struct report_stack *stack)
{
    const uint8_t *filters = dataset->chosen.function_filters;
    uint32_t *frames = stack->frames.items;
    const unsigned wanted = dataset->chosen.filters & (REPORT_FOCUS | REPORT_SHOW_FROM);
    unsigned seen = 0;
    size_t kept = 0, shown = 0;
    for (size_t i = 0; i < stack->frames.count; i++) {
        const uint32_t function = report_dataset_frame_function(dataset, frames[i]);
        const unsigned own = function ? filters[function - 1] : 0;
        seen |= own & (REPORT_FOCUS | REPORT_IGNORE);
        if (own & REPORT_HIDE)
            continue;
        frames[kept++] = frames[i];
        seen |= own & REPORT_SHOW_FROM;
        shown = own & REPORT_SHOW_FROM ? kept : shown;
    }
    if (dataset->chosen.filters & REPORT_SHOW_FROM)
        kept = shown;
    if (dataset->chosen.filters & REPORT_STANDARD)
        kept = leave_standard(dataset, frames, kept);
    const uint32_t leaf = kept ? report_dataset_frame_function(dataset, frames[0]) : 0;
    const bool in_module = !(dataset->chosen.filters & REPORT_IN_MODULE) ||
                           (leaf && filters[leaf - 1] & REPORT_IN_MODULE);
    const bool stays = !(seen & REPORT_IGNORE) && (seen & wanted) == wanted && in_module;
    stack->frames.count = stays ? kept : 0;
}

/* Makes a function and its part that it called one frame: that of the part. */
static void join_parts(const struct report_dataset *dataset, struct report_stack *stack)
{
    const struct report_frame *frames = dataset->frames.items;
    size_t kept = 0;
    uint32_t inner = 0;
    for (size_t i = 0; i < stack->frames.count; i++) {
        const uint32_t frame = stack->frames.items[i], part = frames[frame - 1].part;
        if (!inner || !part || !report_dataset_is_called_part(dataset, inner, part))
            stack->frames.items[kept++] = frame;
        inner = part;
    }
    stack->frames.count = kept;
}

int report_dataset_stack(const struct report_dataset *dataset, uint32_t node,
                         struct report_stack *stack)
{
    stack->frames.count = 0;
    for (; node; node = dataset->nodes.items[node - 1].parent) {
        uint32_t frame = report_dataset_node_frame(dataset, node);
        for (; frame; frame = dataset->frames.items[frame - 1].outer)
            if (sprof_vec_push(&stack->frames, frame))
                return SPROF_ENOMEM;
    }
    if (!stack->calls_of_parts)
        join_parts(dataset, stack);
    cut(dataset, stack);
    if (dataset->chosen.filters)
        filter(dataset, stack);
    return 0;
}
