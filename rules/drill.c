/* Decides which functions get probes. */
#include "rules/drill.h"

#include <string.h>

enum {
    HELD = 2,           /* windows in a row in which the condition must hold */
    PATIENCE = 10,      /* windows in a row without it, after which probes go */
    JUDGED_CALLS = 5,   /* after so many calls a function is judged, … */
    JUDGED_WINDOWS = 3, /* … or after so many windows */
    LOW_WINDOWS = 3,    /* after so many in a row with few calls, or none, a probe goes */
    WAY_MOST = 255,
};
static const double culprit_share = 0.5, way_share = 0.2, low_share = 0.05;

/* == Nodes == */

struct rules_drill_node *rules_drill_node_of(const struct rules_drill *drill, uint32_t function)
{
    const uint64_t *known = sprof_map_get(&drill->by_function, function);
    return known ? &drill->nodes.items[*known - 1] : NULL;
}

static int add_node(struct rules_drill *drill, uint32_t function, uint32_t cause,
                    enum rules_found_by found_by)
{
    struct rules_drill_node *known = rules_drill_node_of(drill, function);
    const struct rules_drill_node node = {
        .function = function, .cause = cause, .found_by = found_by, .is_probed = !drill->observes};
    if (known) {
        known->cause = cause;
        known->found_by = found_by;
        known->is_probed = node.is_probed;
        known->is_uncalled = false;
        known->idle = known->low = 0;
        return 0;
    }
    return sprof_vec_push(&drill->nodes, node) ||
                   sprof_map_put(&drill->by_function, function, drill->nodes.count)
               ? SPROF_ENOMEM
               : 0;
}

static bool is_on_way(const struct rules_drill *drill, const struct rules_drill_node *node)
{
    for (size_t i = 0; i < drill->way.count; i++)
        if (&drill->nodes.items[drill->way.items[i]] == node)
            return true;
    return node->function == drill->root;
}

static int push_step(struct rules_drill *drill, enum rules_drill_action action,
                     const struct rules_drill_node *node)
{
    const struct rules_drill_step step = {.action = action,
                                          .function = node->function,
                                          .cause = node->cause,
                                          .found_by = node->found_by,
                                          .share = node->is_uncalled ? -1 : node->share};
    return sprof_vec_push(&drill->steps, step) ? SPROF_ENOMEM : 0;
}

/* == Weights == */

static bool judges_errors(const struct rules_drill *drill)
{
    return drill->condition.kind == RULES_ERRORS;
}

double rules_drill_weight(const struct rules_drill *drill, const struct rules_drill_node *node)
{
    return judges_errors(drill) ? (double)node->failed : node->ns;
}

static double flow_weight(const struct rules_drill *drill, const struct rules_drill_flow *flow)
{
    const struct rules_drill_node *caller = rules_drill_node_of(drill, flow->caller);
    const struct rules_drill_node *callee = rules_drill_node_of(drill, flow->callee);
    if (!judges_errors(drill))
        return flow->ns;
    if (!caller || !callee || !flow->calls)
        return 0;
    return (double)(callee->failed < caller->failed ? callee->failed : caller->failed);
}

double rules_drill_own_weight(const struct rules_drill *drill, const struct rules_drill_node *node)
{
    double own = judges_errors(drill) ? (double)node->failed : node->self_ns;
    for (size_t i = 0; i < drill->flows.count && judges_errors(drill); i++)
        if (drill->flows.items[i].caller == node->function)
            own -= flow_weight(drill, &drill->flows.items[i]);
    own -= node->dropped * rules_drill_weight(drill, node);
    return own > 0 ? own : 0;
}

/* == Sums == */

static struct rules_drill_flow *flow_of(struct rules_drill *drill, uint32_t caller, uint32_t callee)
{
    for (size_t i = 0; i < drill->flows.count; i++)
        if (drill->flows.items[i].caller == caller && drill->flows.items[i].callee == callee)
            return &drill->flows.items[i];
    const struct rules_drill_flow flow = {.caller = caller, .callee = callee};
    return sprof_vec_push(&drill->flows, flow) ? NULL : &drill->flows.items[drill->flows.count - 1];
}

static int add_up(struct rules_drill *drill, const struct rules_drill_window *window)
{
    for (size_t i = 0; i < window->figure_count; i++) {
        const struct rules_drill_figures *figures = &window->figures[i];
        struct rules_drill_node *node = rules_drill_node_of(drill, figures->function);
        if (!node)
            continue;
        node->calls += figures->calls;
        node->failed += figures->failed;
        node->ns += figures->ns;
        node->self_ns += figures->self_ns;
    }
    for (size_t i = 0; i < window->flow_count; i++) {
        struct rules_drill_flow *flow =
            flow_of(drill, window->flows[i].caller, window->flows[i].callee);
        if (!flow)
            return SPROF_ENOMEM;
        flow->calls += window->flows[i].calls;
        flow->ns += window->flows[i].ns;
    }
    return 0;
}

/* Figures depend on the probes below, so sums begin again at each step. */
static void begin_anew(struct rules_drill *drill)
{
    for (size_t i = 0; i < drill->nodes.count; i++) {
        struct rules_drill_node *node = &drill->nodes.items[i];
        node->calls = node->failed = 0;
        node->ns = node->self_ns = 0;
    }
    drill->flows.count = 0;
    drill->windows = 0;
}

/* A share is of the largest caller. */
static void note_shares(struct rules_drill *drill)
{
    const double root = rules_drill_weight(drill, &drill->nodes.items[0]);
    for (size_t i = 1; i < drill->nodes.count; i++) {
        struct rules_drill_node *node = &drill->nodes.items[i];
        if (!node->is_probed)
            continue;
        node->share = 0;
        node->part = root > 0 ? rules_drill_weight(drill, node) / root : 0;
    }
    for (size_t i = 0; i < drill->flows.count; i++) {
        const struct rules_drill_flow *flow = &drill->flows.items[i];
        const struct rules_drill_node *caller = rules_drill_node_of(drill, flow->caller);
        struct rules_drill_node *callee = rules_drill_node_of(drill, flow->callee);
        const double whole = caller ? rules_drill_weight(drill, caller) : 0;
        const double share = whole > 0 ? flow_weight(drill, flow) / whole : 0;
        if (callee && callee->is_probed && callee->function != drill->root && share > callee->share)
            callee->share = share < 1 ? share : 1;
    }
}

/* == Dropping == */

static int drop(struct rules_drill *drill, struct rules_drill_node *node, bool is_uncalled)
{
    struct rules_drill_node *cause = rules_drill_node_of(drill, node->cause);
    node->is_uncalled = is_uncalled;
    node->is_probed = node->is_widened = node->is_exhausted = false;
    if (cause)
        cause->dropped += node->share;
    return push_step(drill, RULES_DRILL_DROP, node);
}

/* Whether it was not called, though the root was. */
static bool is_idle(const struct rules_drill_window *window, const struct rules_drill_node *node)
{
    for (size_t i = 0; i < window->figure_count; i++)
        if (window->figures[i].function == node->function)
            return !window->figures[i].calls && !(window->figures[i].ns > 0);
    return true;
}

static int drop_what_is_low(struct rules_drill *drill, const struct rules_drill_window *window)
{
    int result = 0;
    for (size_t i = 1; i < drill->nodes.count && !result; i++) {
        struct rules_drill_node *node = &drill->nodes.items[i];
        if (!node->is_probed || is_on_way(drill, node))
            continue;
        node->idle = is_idle(window, node) ? node->idle + 1 : 0;
        node->low = node->share < low_share ? node->low + 1 : 0;
        const bool is_uncalled = node->idle >= LOW_WINDOWS;
        if (is_uncalled ? !drill->keeps_uncalled : node->low >= LOW_WINDOWS && !node->idle)
            result = drop(drill, node, is_uncalled);
    }
    return result;
}

/* == Widening == */

static size_t count_off_way(const struct rules_drill *drill)
{
    size_t count = 0;
    for (size_t i = 1; i < drill->nodes.count; i++)
        count += drill->nodes.items[i].is_probed && !is_on_way(drill, &drill->nodes.items[i]);
    return count;
}

static int make_room(struct rules_drill *drill, size_t wanted)
{
    int result = 0;
    for (size_t i = 1;
         i < drill->nodes.count && count_off_way(drill) + wanted > drill->most && !result; i++) {
        struct rules_drill_node *node = &drill->nodes.items[i];
        if (node->is_probed && !is_on_way(drill, node))
            result = drop(drill, node, false);
    }
    return result;
}

/* Targets of pointers are tried once. */
static bool is_new(const struct rules_drill *drill, uint32_t function, enum rules_found_by by)
{
    const struct rules_drill_node *node = rules_drill_node_of(drill, function);
    return !node || (by == RULES_BY_CALL && !node->is_probed && node->function != drill->root);
}

static void keep_new(const struct rules_drill *drill, struct rules_drill_list *list,
                     enum rules_found_by by)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->functions.count; i++)
        if (is_new(drill, list->functions.items[i], by))
            list->functions.items[kept++] = list->functions.items[i];
    list->functions.count = kept;
}

static int add_all(struct rules_drill *drill, uint32_t cause, const struct rules_drill_list *list,
                   enum rules_found_by by, size_t *added)
{
    int result = 0;
    for (size_t i = 0; i < list->functions.count && *added < drill->most && !result; i++) {
        const uint32_t function = list->functions.items[i];
        if (!is_new(drill, function, by) || (rules_drill_node_of(drill, function) &&
                                             rules_drill_node_of(drill, function)->is_probed))
            continue;
        (*added)++;
        result = add_node(drill, function, cause, by);
        if (!result)
            result = push_step(drill, drill->observes ? RULES_DRILL_WOULD_ADD : RULES_DRILL_ADD,
                               rules_drill_node_of(drill, function));
    }
    return result;
}

/* Adds direct callees first, then targets of pointers, then callbacks. */
static int widen(struct rules_drill *drill, uint32_t function,
                 const struct rules_drill_source *source, size_t *added)
{
    struct rules_drill_list direct = {0}, open = {0};
    const bool calls_back = rules_drill_node_of(drill, function)->is_exhausted;
    const enum rules_found_by by = calls_back ? RULES_BY_CALLBACK : RULES_BY_POINTER;
    int result = source->callees(source->context, function, RULES_BY_CALL, &direct);
    if (!result)
        result = source->callees(source->context, function, by, &open);
    keep_new(drill, &direct, RULES_BY_CALL);
    keep_new(drill, &open, by);
    if (rules_drill_node_of(drill, function)->is_widened)
        direct.functions.count = 0;
    const size_t wanted = direct.functions.count + open.functions.count;
    *added = 0;
    if (!result && wanted)
        result = make_room(drill, wanted < drill->most ? wanted : drill->most);
    if (!result)
        result = add_all(drill, function, &direct, RULES_BY_CALL, added);
    if (!result)
        result = add_all(drill, function, &open, by, added);
    struct rules_drill_node *node = rules_drill_node_of(drill, function);
    node->is_widened = true;
    node->has_callbacks |= calls_back && *added >= wanted;
    node->is_exhausted |= *added >= wanted;
    node->dropped = 0;
    sprof_vec_release(&direct.functions);
    sprof_vec_release(&open.functions);
    if (*added) {
        begin_anew(drill);
        drill->is_forced = false;
        drill->has_widened = true;
        drill->step_count++;
    }
    return result;
}

/* == The way == */

static bool is_culprit(const struct rules_drill *drill, const struct rules_drill_node *node,
                       const struct rules_drill_node *caller)
{
    const double whole = rules_drill_weight(drill, caller);
    return whole > 0 && rules_drill_own_weight(drill, node) >= culprit_share * whole;
}

/* Returns NULL if all are below way_share. */
static const struct rules_drill_node *next_on_way(const struct rules_drill *drill,
                                                  const struct rules_drill_node *node)
{
    const struct rules_drill_node *next = NULL;
    double most = way_share * rules_drill_weight(drill, node);
    for (size_t i = 0; i < drill->flows.count; i++) {
        const struct rules_drill_flow *flow = &drill->flows.items[i];
        const struct rules_drill_node *callee = rules_drill_node_of(drill, flow->callee);
        if (flow->caller != node->function || flow_weight(drill, flow) < most || !callee ||
            !callee->is_probed || is_on_way(drill, callee))
            continue;
        most = flow_weight(drill, flow);
        next = callee;
    }
    return most > 0 ? next : NULL;
}

static int find_way(struct rules_drill *drill)
{
    const struct rules_drill_node *node = drill->nodes.items, *caller = node;
    drill->way.count = 0;
    while (node && drill->way.count < WAY_MOST) {
        if (sprof_vec_push(&drill->way, (uint32_t)(node - drill->nodes.items)))
            return SPROF_ENOMEM;
        if (is_culprit(drill, node, caller))
            break;
        caller = node;
        node = next_on_way(drill, node);
    }
    return 0;
}

static bool is_judged(const struct rules_drill *drill, const struct rules_drill_node *node)
{
    uint64_t calls = node->calls;
    for (size_t i = 0; i < drill->flows.count; i++)
        calls += drill->flows.items[i].caller == node->function ? drill->flows.items[i].calls : 0;
    return rules_drill_weight(drill, drill->nodes.items) > 0 && calls &&
           (calls >= JUDGED_CALLS || drill->windows >= JUDGED_WINDOWS);
}

static bool wants_more(const struct rules_drill *drill, const struct rules_drill_node *node,
                       bool is_culprit)
{
    const bool has_more = !node->is_exhausted || (is_culprit && !node->has_callbacks);
    return has_more && (is_culprit || !node->is_widened || drill->windows >= JUDGED_WINDOWS);
}

static int decide(struct rules_drill *drill, const struct rules_drill_source *source)
{
    const size_t last = drill->way.count - 1;
    const uint32_t number = drill->way.items[last], above = drill->way.items[last ? last - 1 : 0];
    const bool is = is_culprit(drill, &drill->nodes.items[number], &drill->nodes.items[above]);
    size_t added = 0;
    int result = 0;
    if (!is_judged(drill, &drill->nodes.items[number]))
        return 0;
    for (int kinds = 0; kinds < 2 && !result && !added; kinds++)
        if (wants_more(drill, &drill->nodes.items[number], is))
            result = widen(drill, drill->nodes.items[number].function, source, &added);
    if (!result && !added && (is || drill->windows > JUDGED_WINDOWS))
        drill->state = is ? RULES_DRILL_FOUND : RULES_DRILL_NOTHING;
    return result;
}

/* == Windows == */

static int begin(struct rules_drill *drill, const struct rules_drill_window *window,
                 const struct rules_drill_source *source)
{
    size_t added;
    drill->measured = rules_condition_measure(&drill->condition, &window->root);
    drill->state = RULES_DRILL_LOOKS;
    drill->missed = 0;
    const int result = widen(drill, drill->root, source, &added);
    if (!result && drill->observes)
        drill->state = RULES_DRILL_OBSERVED;
    return result;
}

/* Waits again after the condition has ended. */
static int give_up(struct rules_drill *drill)
{
    int result = 0;
    drill->way.count = 0;
    for (size_t i = 1; i < drill->nodes.count && !result; i++)
        if (drill->nodes.items[i].is_probed)
            result = drop(drill, &drill->nodes.items[i], false);
    drill->state = RULES_DRILL_WAITS;
    drill->nodes.count = 0;
    sprof_map_clear(&drill->by_function);
    begin_anew(drill);
    return result;
}

static int look(struct rules_drill *drill, const struct rules_drill_window *window,
                const struct rules_drill_source *source)
{
    if (!drill->held)
        return drill->missed >= PATIENCE ? give_up(drill) : 0;
    drill->windows++;
    int result = add_up(drill, window);
    if (!result) {
        note_shares(drill);
        result = find_way(drill);
    }
    if (!result)
        result = decide(drill, source);
    if (!result && drill->state == RULES_DRILL_LOOKS && drill->windows)
        result = drop_what_is_low(drill, window);
    return result;
}

/* Whether anything was measured. Drill-downs that begin without a measured condition need only
 * this. */
static bool is_active(const struct rules_drill_window *window)
{
    return window->root.calls || window->flow_count || window->figure_count;
}

int rules_drill_take(struct rules_drill *drill, const struct rules_drill_window *window,
                     const struct rules_drill_source *source)
{
    drill->steps.count = 0;
    drill->has_widened = false;
    if (drill->state > RULES_DRILL_LOOKS)
        return 0;
    if (!drill->nodes.count && add_node(drill, drill->root, drill->root, RULES_BY_ROOT))
        return SPROF_ENOMEM;
    drill->nodes.items[0].is_probed = true;
    const bool is_any =
        drill->is_forced || drill->condition.kind == RULES_ALWAYS ||
        (drill->condition.kind == RULES_SIGNAL && drill->state != RULES_DRILL_WAITS);
    const bool holds =
        is_any ? is_active(window) : rules_condition_holds(&drill->condition, &window->root);
    drill->held = holds ? drill->held + 1 : 0;
    drill->missed = holds ? 0 : drill->missed + 1;
    if (drill->state == RULES_DRILL_LOOKS)
        return look(drill, window, source);
    return holds && (is_any || drill->held >= HELD) ? begin(drill, window, source) : 0;
}

void rules_drill_release(struct rules_drill *drill)
{
    sprof_vec_release(&drill->nodes);
    sprof_vec_release(&drill->flows);
    sprof_vec_release(&drill->way);
    sprof_vec_release(&drill->steps);
    sprof_map_release(&drill->by_function);
}
