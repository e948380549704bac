/* Says in a sentence for what threads wait, and where. */
#include "report/waits.h"

#include "report/number_format.h"
#include "report/quality.h"
#include "report/utf8_text.h"
#include "report/wait_kinds.h"

#include <stdlib.h>
#include <string.h>

/* A wait with a smaller share is not worth a place in the sentence. */
enum { SECOND_PERCENT = 5, MUCH_READY_PERCENT = 10 };

/* With a smaller share the first screen is about CPU time alone. */
enum { MOST_PERCENT = 50 };

/* Waits for one thing in one function of the program. */
struct group {
    const char *what;  /* NULL: `kind` */
    const char *kind;  /* the word of the event */
    uint32_t function; /* 0: none of the program is on the stack */
    uint64_t weight;
};

struct summing {
    struct report_dataset dataset; /* of all time */
    struct report_stack stack;
    SPROF_VEC(struct group) groups;
    struct sprof_map numbers; /* hash of a group → its index + 1 */
    uint64_t waiting, ready, all;
};

/* The kind of wait of a stack whose sample does not say it; NULL: it may have a CPU. Names of the
 * kernel's functions say nothing: only that a function which waits has called the kernel counts, or
 * where the kernel is not seen, that the innermost one is entered for nothing else. What libraries
 * enter the kernel by is passed over, also where it has no name. */
static const char *kind_of(const struct summing *summing)
{
    const struct report_dataset *dataset = &summing->dataset;
    bool in_kernel = false;
    for (size_t i = 0; i < summing->stack.frames.count; i++) {
        const uint32_t function =
            report_dataset_frame_function(dataset, summing->stack.frames.items[i]);
        const enum model_kind in =
            function ? dataset->facts.items[function - 1].kind : MODEL_KIND_NONE;
        if (in == MODEL_KIND_KERNEL) {
            in_kernel = true;
            continue;
        }
        if (in != MODEL_KIND_SYSTEM)
            return NULL;
        const char *name = report_dataset_function_name(dataset, function);
        if (!dataset->functions.items[function - 1].named || report_wait_function_enters(name))
            continue;
        const char *kind = report_wait_kind_of_function(name);
        if (kind)
            return kind;
        if (in_kernel ? report_wait_function_find(name) != NULL : report_wait_function_blocks(name))
            return "futex";
        if (!in_kernel)
            return NULL;
    }
    return NULL;
}

/* The group of a stack: the innermost function of the program that is not one of a standard library
 * which is inlined there, and what the C library does for it. Names of the kernel's functions say
 * nothing. */
static struct group group_of(const struct summing *summing, const char *kind)
{
    const struct report_dataset *dataset = &summing->dataset;
    struct group group = {.what = report_wait_kind_text(kind), .kind = kind};
    const bool is_futex = !strcmp(kind, "futex");
    uint32_t standard = 0;
    for (size_t i = 0; i < summing->stack.frames.count && !group.function; i++) {
        const uint32_t function =
            report_dataset_frame_function(dataset, summing->stack.frames.items[i]);
        const enum model_kind in =
            function ? dataset->facts.items[function - 1].kind : MODEL_KIND_NONE;
        if (in == MODEL_KIND_NONE || in == MODEL_KIND_KERNEL)
            continue;
        const struct report_wait_function *waits =
            report_wait_function_find(report_dataset_function_name(dataset, function));
        if (waits && is_futex)
            group.what = waits->what;
        else if (waits || in == MODEL_KIND_SYSTEM || dataset->facts.items[function - 1].startup)
            continue;
        else if (in == MODEL_KIND_APP && dataset->functions.items[function - 1].named &&
                 !report_dataset_is_own(dataset, function))
            standard = standard ? standard : function;
        else
            group.function = function;
    }
    group.function = group.function ? group.function : standard;
    return group;
}

static int add_wait(struct summing *summing, const char *kind, const struct report_cost *cost)
{
    const struct group group = group_of(summing, kind);
    const uint64_t what = sprof_hash_text(group.what ? group.what : group.kind);
    uint64_t *number = sprof_map_at(&summing->numbers, sprof_hash_pair(what, group.function));
    if (!number)
        return SPROF_ENOMEM;
    if (!*number) {
        if (sprof_vec_push(&summing->groups, group))
            return SPROF_ENOMEM;
        *number = summing->groups.count;
    }
    summing->groups.items[*number - 1].weight += cost->cost.weight;
    return 0;
}

static int add_costs(struct summing *summing)
{
    const struct report_dataset *dataset = &summing->dataset;
    int result = 0;
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        const struct report_cost *cost = &dataset->costs.items[i];
        const char *kind = model_event_wait(dataset->events.items[cost->event - 1].name);
        summing->all += cost->cost.weight;
        if (report_dataset_stack(dataset, cost->node, &summing->stack))
            return SPROF_ENOMEM;
        if (report_quality_is_wall(dataset))
            kind = kind_of(summing);
        const bool is_ready = kind && !strcmp(kind, MODEL_WAIT_READY);
        summing->ready += is_ready ? cost->cost.weight : 0;
        if (!kind || is_ready)
            continue;
        summing->waiting += cost->cost.weight;
        result = add_wait(summing, kind, cost);
    }
    return result;
}

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->function != b->function ? (a->function > b->function ? 1 : -1)
                                      : strcmp(a->kind, b->kind);
}

static void append_group(struct sprof_str *text, const struct group *group, uint64_t all,
                         const char *const *names)
{
    char share[NUMBER_BYTES];
    sprof_str_appendf(text, "%s ", report_number_percent(share, group->weight, all, 0));
    if (group->what)
        sprof_str_append(text, group->what);
    else
        sprof_str_appendf(text, "in %s", group->kind);
    if (group->function)
        sprof_str_appendf(text, group->what ? " in %s" : " by %s", names[group->function - 1]);
}

/* Time in which threads wait for work is no part of the other shares. */
static void append_idle(struct sprof_str *text, const struct summing *summing,
                        const char *const *names)
{
    const struct report_dataset *dataset = &summing->dataset;
    char share[NUMBER_BYTES];
    report_number_percent(share, dataset->idle.cost.weight,
                          summing->all + dataset->idle.cost.weight, 0);
    if (!dataset->idle.cost.weight)
        return;
    if (summing->groups.count)
        sprof_str_appendf(text, "; waits for work, %s of all time, are left out", share);
    else
        sprof_str_appendf(text, "%s of threads' time is waiting for work", share);
    if (dataset->idle.function && !summing->groups.count)
        sprof_str_appendf(text, ", mostly in %s", names[dataset->idle.function - 1]);
}

/* The two largest groups. */
static void append_groups(struct sprof_str *text, const struct summing *summing,
                          const char *const *names)
{
    char share[NUMBER_BYTES];
    for (size_t i = 0; i < summing->groups.count && i < 2; i++) {
        const struct group *group = &summing->groups.items[i];
        if (i && report_number_share(group->weight, summing->all) < SECOND_PERCENT)
            break;
        if (!i)
            sprof_str_appendf(text, "%s of threads' time is waiting",
                              report_number_percent(share, summing->waiting, summing->all, 0));
        sprof_str_append(text, i ? ", " : ": ");
        append_group(text, group, summing->all, names);
    }
}

static int say(struct summing *summing, struct sprof_str *text)
{
    struct report_dataset *dataset = &summing->dataset;
    const size_t count = summing->groups.count < 2 ? summing->groups.count : 2;
    char share[NUMBER_BYTES];
    bool *wanted = calloc(dataset->functions.count + 1, sizeof *wanted);
    if (summing->groups.count)
        qsort(summing->groups.items, summing->groups.count, sizeof *summing->groups.items,
              compare_groups);
    if (dataset->idle.function && wanted)
        wanted[dataset->idle.function - 1] = true;
    for (size_t i = 0; i < count && wanted; i++)
        if (summing->groups.items[i].function)
            wanted[summing->groups.items[i].function - 1] = true;
    const char **names = wanted ? report_dataset_short_names(dataset, wanted) : NULL;
    free(wanted);
    if (!names)
        return SPROF_ENOMEM;
    append_groups(text, summing, names);
    append_idle(text, summing, names);
    const uint64_t base = summing->all + (summing->groups.count ? 0 : dataset->idle.cost.weight);
    report_number_percent(share, summing->ready, base, 0);
    if (report_number_share(summing->ready, base) >= MUCH_READY_PERCENT)
        sprof_str_appendf(text,
                          text->length ? "; %s more is ready without a CPU"
                                       : "%s of threads' time is ready without a CPU",
                          share);
    free(names);
    return 0;
}

static bool is_worth_saying(const struct report_dataset *dataset, const struct summing *summing)
{
    const bool mostly =
        report_number_share(summing->waiting + summing->ready, summing->all) >= MOST_PERCENT;
    return (mostly || report_quality_is_waiting(dataset) || report_quality_is_all_time(dataset)) &&
           (summing->groups.count || summing->ready || summing->dataset.idle.cost.weight);
}

/* Times of whole runs. */
struct sums {
    const struct report_dataset *dataset;
    uint64_t off, all; /* without a CPU; of threads */
};

static int add_event_sum(void *context, const struct store_event_cost *row)
{
    struct sums *sums = context;
    const struct report_dataset *dataset = sums->dataset;
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        if (event->id != row->event_id || !report_dataset_is_time(dataset, event))
            continue;
        sums->off += model_event_wait(event->name) ? row->cost.weight : 0;
        sums->all += row->cost.weight;
    }
    return 0;
}

/* Whether threads may have no CPU for most of the selected time: costs with their stacks are worth
 * loading. The sums hold waits for work, too, so the share that counts is not above theirs. Of a
 * part of the runs there are no sums. */
static int may_wait(const struct report_dataset *dataset, struct store *store,
                    const struct report_selection *selection, bool *may, struct sprof_error *error)
{
    struct sums sums = {.dataset = dataset};
    int result = 0;
    *may = report_quality_is_waiting(dataset) || !report_selection_takes_all(selection);
    for (size_t i = 0; i < dataset->runs.count && !*may && !result; i++)
        result =
            store_each_event_cost(store, dataset->runs.items[i].id, add_event_sum, &sums, error);
    *may = *may || !sums.all || report_number_share(sums.off, sums.all) >= MOST_PERCENT;
    return result;
}

int report_waits_sum_up(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, struct sprof_error *error)
{
    struct report_selection all = *selection;
    struct summing summing = {.waiting = 0};
    struct sprof_str text = {0};
    bool may = false;
    const bool is_wall = report_quality_is_wall(dataset);
    if (!report_quality_is_all_time(dataset) &&
        (!report_quality_has_waits(dataset) || report_quality_sees_waiting(dataset)))
        return 0;
    int result = is_wall ? 0 : may_wait(dataset, store, selection, &may, error);
    if (result || !(may || is_wall))
        return result;
    all.event = is_wall ? MODEL_EVENT_WALL : MODEL_EVENT_ON_AND_OFF;
    all.state = NULL;
    all.all_events = false;
    result = report_dataset_load(&summing.dataset, store, &all,
                                 REPORT_STACKS | (dataset->parts & REPORT_ANY_MODE), error);
    const bool has_none = result == SPROF_ENOTFOUND; /* no clock of CPU time is beside the waits */
    if (!result)
        result = add_costs(&summing);
    if (!result && is_worth_saying(dataset, &summing))
        result = say(&summing, &text);
    if (!result && text.length) {
        dataset->waits = report_utf8_keep(&dataset->arena, &text);
        result = dataset->waits ? 0 : SPROF_ENOMEM;
    }
    sprof_str_release(&text);
    sprof_vec_release(&summing.stack.frames);
    sprof_vec_release(&summing.groups);
    sprof_map_release(&summing.numbers);
    report_dataset_release(&summing.dataset);
    return has_none ? 0 : result;
}
