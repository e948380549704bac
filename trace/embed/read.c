/* What a file itself says of probes that are in it. */
#include "trace/embed/embedded.h"
#include "trace/planner.h"

/* A switch that is off, and a copy behind it. */
static bool is_switch(struct trace_planner *planner, const struct embedded_function *embedded)
{
    struct sprof_bytes code;
    return trace_text_at(planner, embedded->site, &code) && code.size > embedded->displaced &&
           code.data[0] == EMBEDDED_OFF && embedded->displaced >= TRACE_JUMP_BYTES &&
           embedded->displaced <= TRACE_DISPLACED_MAX && embedded->why < TRACE_REASONS;
}

/* How the function begins is not to be seen any more: the list holds what was found out then. */
void trace_find_embedded(struct trace_planner *planner)
{
    const struct sprof_bytes list = image_section(planner->image, EMBEDDED_LIST, NULL);
    const size_t count = embedded_count(list);
    for (size_t i = 0; i < count; i++) {
        const struct embedded_function embedded = embedded_at(list, i);
        const ptrdiff_t index = trace_function_index(planner->functions.items,
                                                     planner->functions.count, embedded.start);
        struct trace_function *function = index < 0 ? NULL : &planner->functions.items[index];
        if (!function || function->start != embedded.start || !is_switch(planner, &embedded))
            continue;
        function->mechanism = TRACE_EMBEDDED;
        function->site = embedded.site;
        function->displaced = embedded.displaced;
        function->why = embedded.why;
        function->entry_only = embedded.entry_only != 0;
        if (function->why == TRACE_NEEDS_RETURN_ADDRESS)
            planner->failed |= sprof_map_put(&planner->needs_return, function->start, 1) != 0;
    }
}
