/* Writes texts of drill-downs. */
#include "names/names.h"
#include "trace/drill/drilling.h"

#include <string.h>

enum { NAMES_SHOWN = 4, OTHERS_SHOWN = 6 };

static const char *full_name_of(const struct trace_drilling *drilling, uint32_t function)
{
    return drilling->functions.items[function].name;
}

static const char *name_of(const struct trace_drilling *drilling, uint32_t function)
{
    return names_screen_show(drilling->common->options.names, full_name_of(drilling, function));
}

static void append_names(const struct trace_drilling *drilling, const struct rules_drill *drill,
                         enum rules_drill_action action, struct sprof_str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < drill->steps.count; i++)
        if (drill->steps.items[i].action == action && count++ < NAMES_SHOWN)
            sprof_str_appendf(out, "%s%.80s", count > 1 ? ", " : "",
                              name_of(drilling, drill->steps.items[i].function));
    if (count > NAMES_SHOWN)
        sprof_str_append(out, ", …");
}

static size_t count_steps(const struct rules_drill *drill, enum rules_drill_action action)
{
    size_t count = 0;
    for (size_t i = 0; i < drill->steps.count; i++)
        count += drill->steps.items[i].action == action;
    return count;
}

static uint32_t cause_of(const struct rules_drill *drill)
{
    uint32_t cause = drill->root;
    for (size_t i = 0; i < drill->steps.count; i++)
        if (drill->steps.items[i].action == RULES_DRILL_ADD)
            cause = drill->steps.items[i].cause;
    return cause;
}

void trace_drilling_report_step(struct trace_drilling *drilling, size_t root, uint64_t stopped_ns)
{
    const struct rules_drill *drill = &drilling->drills[root];
    const struct sprof_log *log = drilling->common->options.log;
    const double seconds = (double)(sprof_clock_monotonic_ns() - drilling->begun_ns) / 1e9;
    const size_t added = count_steps(drill, RULES_DRILL_ADD),
                 would = count_steps(drill, RULES_DRILL_WOULD_ADD);
    struct sprof_str names = {0};
    append_names(drilling, drill, would ? RULES_DRILL_WOULD_ADD : RULES_DRILL_ADD, &names);
    if (added)
        sprof_log_message(log, SPROF_LOG_NOTE,
                          "step %u, after %.1f s: %zu probe%s below %s: %s; threads stood still "
                          "for %.1f ms",
                          drill->step_count, seconds, added, sprof_plural(added),
                          name_of(drilling, cause_of(drill)), names.text ? names.text : "",
                          (double)stopped_ns / 1e6);
    else if (would)
        sprof_log_message(log, SPROF_LOG_NOTE,
                          "after %.1f s: %zu probe%s would be added below %s: %s", seconds, would,
                          sprof_plural(would), name_of(drilling, drill->root),
                          names.text ? names.text : "");
    sprof_str_release(&names);
}

/* The page finds functions by the names in marks. */
const char *trace_drilling_mark(struct trace_drilling *drilling, size_t root)
{
    const struct rules_drill *drill = &drilling->drills[root];
    struct sprof_str text = {0};
    if (drill->state == RULES_DRILL_FOUND)
        sprof_str_appendf(
            &text, "culprit: %.200s",
            full_name_of(drilling,
                         drill->nodes.items[drill->way.items[drill->way.count - 1]].function));
    else if (drill->state > RULES_DRILL_LOOKS)
        sprof_str_appendf(&text, "%.200s: the drill-down has ended",
                          full_name_of(drilling, drill->root));
    else
        sprof_str_appendf(&text, "step %u: below %.200s", drill->step_count,
                          full_name_of(drilling, cause_of(drill)));
    const char *mark = text.failed ? NULL : sprof_arena_text(&drilling->arena, text.text);
    sprof_str_release(&text);
    return mark;
}

/* == The answer == */

static double part_of(double part, double whole)
{
    return whole > 0 ? 100 * (part < whole ? part / whole : 1) : 0;
}

static void append_condition(const struct rules_drill *drill, struct sprof_str *out)
{
    if (!drill->condition.text)
        return;
    const char *colon = strchr(drill->condition.text, ':');
    const int length =
        (int)(colon ? colon - drill->condition.text : (long)strlen(drill->condition.text));
    sprof_str_appendf(out, " (%.*s", length, drill->condition.text);
    if (drill->measured > 0) {
        sprof_str_append(out, ": ");
        rules_condition_append(&drill->condition, drill->measured, out);
    }
    sprof_str_append(out, ")");
}

/* Appends a function's total and own part of the root's weight. */
static void append_on_way(const struct trace_drilling *drilling, const struct rules_drill *drill,
                          size_t place, struct sprof_str *out)
{
    static const char *const found[] = {[RULES_BY_ROOT] = "",
                                        [RULES_BY_CALL] = "",
                                        [RULES_BY_POINTER] = ", called by a pointer",
                                        [RULES_BY_CALLBACK] = ", called back by another module"};
    const struct rules_drill_node *root = &drill->nodes.items[0],
                                  *node = &drill->nodes.items[drill->way.items[place]];
    const double whole = rules_drill_weight(drill, root);
    sprof_str_appendf(out, "  %*s%s%s  %.0f %%", (int)(2 * place), "", place ? "→ " : "",
                      name_of(drilling, node->function),
                      part_of(rules_drill_weight(drill, node), whole));
    sprof_str_appendf(out, ", itself %.0f %%", part_of(rules_drill_own_weight(drill, node), whole));
    if (node->calls) {
        sprof_str_appendf(out, "; %llu calls of ", (unsigned long long)node->calls);
        rules_append_time(out, node->ns / (double)node->calls);
    }
    sprof_str_appendf(out, "%s\n", found[node->found_by]);
}

static bool is_on_way(const struct rules_drill *drill, size_t node)
{
    for (size_t w = 0; w < drill->way.count; w++)
        if (drill->way.items[w] == node)
            return true;
    return false;
}

/* Returns the node with the largest part after `before`, equal ones in their order. */
static const struct rules_drill_node *next_other(const struct rules_drill *drill,
                                                 const struct rules_drill_node *before)
{
    const struct rules_drill_node *next = NULL;
    for (size_t i = 1; i < drill->nodes.count; i++) {
        const struct rules_drill_node *node = &drill->nodes.items[i];
        const bool is_later =
            !before || node->part < before->part || (node->part == before->part && node > before);
        if (!is_on_way(drill, i) && node->part > 0 && is_later &&
            (!next || node->part > next->part))
            next = node;
    }
    return next;
}

/* Calls of functions that lost their probes are not kept. */
static bool was_uncalled(const struct rules_drill *drill, const struct rules_drill_node *node)
{
    return !(node->part > 0) && !node->calls &&
           (node->is_uncalled || node->is_probed || drill->condition.kind != RULES_ERRORS);
}

static void append_others(const struct trace_drilling *drilling, const struct rules_drill *drill,
                          struct sprof_str *out)
{
    size_t uncalled = 0, others = 0, shown = 0;
    const struct rules_drill_node *node = NULL;
    for (size_t i = 1; i < drill->nodes.count; i++) {
        const bool is_other = !is_on_way(drill, i);
        others += is_other && drill->nodes.items[i].part > 0;
        uncalled += is_other && was_uncalled(drill, &drill->nodes.items[i]);
    }
    for (; shown < OTHERS_SHOWN && (node = next_other(drill, node)); shown++)
        sprof_str_appendf(out, "%s%.80s %.2g %%",
                          shown ? ", " : "  ruled out: ", name_of(drilling, node->function),
                          100 * node->part);
    if (shown)
        sprof_str_appendf(out, "%s\n", others > shown ? ", and smaller ones" : "");
    if (uncalled)
        sprof_str_appendf(out, "  not called: %zu function%s that had probes\n", uncalled,
                          sprof_plural(uncalled));
}

static void append_observed(const struct trace_drilling *drilling, const struct rules_drill *drill,
                            struct sprof_str *out)
{
    sprof_str_appendf(out, "%s: below it probes would be added, in this order:\n",
                      name_of(drilling, drill->root));
    for (size_t i = 1; i < drill->nodes.count; i++)
        sprof_str_appendf(out, "  %s%s\n", name_of(drilling, drill->nodes.items[i].function),
                          drill->nodes.items[i].found_by == RULES_BY_POINTER
                              ? " (perhaps called by a pointer)"
                              : "");
}

/* The culprit probably waits if the processes used less CPU than half its time. */
static void append_waiting(const struct trace_drilling *drilling, const struct rules_drill *drill,
                           const struct rules_drill_node *culprit, struct sprof_str *out)
{
    const double part = culprit->self_ns > 0 ? drilling->step_cpu_ns / culprit->self_ns : 1;
    if (drill->condition.kind != RULES_ERRORS && part < 0.5)
        sprof_str_appendf(out, "  on a CPU for at most %.0f %% of that: it waits, or has no CPU\n",
                          100 * part);
}

static void append_verdict(const struct trace_drilling *drilling, const struct rules_drill *drill,
                           const struct rules_drill_node *last, struct sprof_str *out)
{
    const char *what = drill->condition.kind == RULES_ERRORS ? "errors" : "time";
    const char *root = name_of(drilling, drill->root);
    const double share = part_of(rules_drill_own_weight(drill, last),
                                 rules_drill_weight(drill, &drill->nodes.items[0]));
    if (drill->state == RULES_DRILL_FOUND)
        sprof_str_appendf(out, "culprit: %s, itself %.0f %% of the %s of %s",
                          name_of(drilling, last->function), share, what, root);
    else if (drill->state == RULES_DRILL_NOTHING)
        sprof_str_appendf(out, "no single function has most of the %s of %s", what, root);
    else
        sprof_str_appendf(out, "ended before it was known what has the %s of %s: so far", what,
                          root);
    append_condition(drill, out);
    sprof_str_appendf(out, "; %u step%s in %.0f s\n", drill->step_count,
                      sprof_plural(drill->step_count),
                      (double)(sprof_clock_monotonic_ns() - drilling->begun_ns) / 1e9);
}

int trace_drilling_conclude(struct trace_drilling *drilling, size_t root)
{
    const struct rules_drill *drill = &drilling->drills[root];
    struct sprof_str *out = &drilling->answer;
    drilling->is_reported[root] = true;
    if (drill->state == RULES_DRILL_OBSERVED) {
        append_observed(drilling, drill, out);
        return out->failed ? SPROF_ENOMEM : 0;
    }
    const struct rules_drill_node *last =
        &drill->nodes.items[drill->way.items[drill->way.count - 1]];
    append_verdict(drilling, drill, last, out);
    if (drill->state == RULES_DRILL_FOUND)
        append_waiting(drilling, drill, last, out);
    for (size_t i = 0; i < drill->way.count; i++)
        append_on_way(drilling, drill, i, out);
    append_others(drilling, drill, out);
    return out->failed ? SPROF_ENOMEM : 0;
}

static const char *unfinished(const struct trace_drilling *drilling, size_t root)
{
    if (drilling->drills[root].state == RULES_DRILL_LOOKS)
        return "has had probes below it for too short a time: look longer";
    return drilling->reader.below[root].has_calls
               ? "was called, and its condition did not hold for long enough: look longer, or give "
                 "another --over"
               : "was not called: a drill-down begins with its calls";
}

int trace_drilling_finish(struct trace_session *common)
{
    struct trace_drilling *drilling = common->trace->drilling;
    int result = 0;
    for (size_t r = 0; drilling && r < drilling->reader.root_count && !result; r++) {
        const struct rules_drill *drill = &drilling->drills[r];
        if (drilling->is_reported[r])
            continue;
        if (drill->way.count && drill->nodes.count)
            result = trace_drilling_conclude(drilling, r);
        else
            sprof_str_appendf(&drilling->answer, "%s %s\n", name_of(drilling, drill->root),
                              unfinished(drilling, r));
    }
    return result || (drilling && drilling->answer.failed) ? SPROF_ENOMEM : 0;
}

const char *trace_drill_answer(const struct trace_session *session)
{
    return session->trace->drilling ? session->trace->drilling->answer.text : NULL;
}
