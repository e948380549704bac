/* Says in a sentence for what threads wait, and where. */
#include "report/waits.h"

#include "report/number_format.h"
#include "report/quality.h"
#include "report/utf8_text.h"

#include <stdlib.h>
#include <string.h>

/* A wait with a smaller share is not worth a place in the sentence. */
enum { SECOND_PERCENT = 5, MUCH_READY_PERCENT = 10 };

/* Functions of the C library in which threads wait by a futex: parts of their names. The first that
 * fits counts. */
static const struct {
    const char *part, *what;
} waiting_functions[] = {
    {"pthread_mutex_", "for a lock"},
    {"pthread_rwlock_", "for a lock"},
    {"pthread_spin_", "for a lock"},
    {"mtx_lock", "for a lock"},
    {"lll_lock", "for a lock"},
    {"pthread_cond_", "for a condition"},
    {"cnd_wait", "for a condition"},
    {"cnd_timedwait", "for a condition"},
    {"pthread_join", "for a thread's end"},
    {"pthread_clockjoin", "for a thread's end"},
    {"pthread_timedjoin", "for a thread's end"},
    {"thrd_join", "for a thread's end"},
    {"pthread_barrier_", "at a barrier"},
    {"sem_wait", "for a semaphore"},
    {"sem_timedwait", "for a semaphore"},
    {"sem_clockwait", "for a semaphore"},
    {"futex_", "for a futex"}, /* within all of them */
};

/* What kinds of waits are called in a sentence; all others are system calls' names. */
static const struct {
    const char *kind, *what;
} kinds[] = {
    {"futex", "for a futex"},
    {"sleep", "asleep"},
    {"wait", "for a child process"},
    {"signal", "for a signal"},
    {"page-fault", "for memory of a page fault"},
    {"block-io", "for a disk"},
    {"stopped", "stopped"},
    {"flock", "for a file's lock"},
    {"other", "otherwise"},
    {"system-call", "in other system calls"},
};

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

static const char *what_function_waits_for(const char *name)
{
    for (size_t i = 0; i < sizeof waiting_functions / sizeof *waiting_functions; i++)
        if (strstr(name, waiting_functions[i].part))
            return waiting_functions[i].what;
    return NULL;
}

static const char *what_kind_is(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].kind))
            return kinds[i].what;
    return NULL;
}

/* The group of a stack: the innermost function of the program, and what the C library does for it.
 * Names of the kernel's functions say nothing. */
static struct group group_of(const struct summing *summing, const char *kind)
{
    const struct report_dataset *dataset = &summing->dataset;
    struct group group = {.what = what_kind_is(kind), .kind = kind};
    const bool is_futex = !strcmp(kind, "futex");
    for (size_t i = 0; i < summing->stack.frames.count && !group.function; i++) {
        const uint32_t function =
            report_dataset_frame_function(dataset, summing->stack.frames.items[i]);
        const enum model_kind in =
            function ? dataset->facts.items[function - 1].kind : MODEL_KIND_NONE;
        if (in == MODEL_KIND_NONE || in == MODEL_KIND_KERNEL)
            continue;
        const char *what = what_function_waits_for(report_dataset_function_name(dataset, function));
        if (what && is_futex)
            group.what = what;
        else if (!what && in != MODEL_KIND_SYSTEM && !dataset->facts.items[function - 1].startup)
            group.function = function;
    }
    return group;
}

static int add_wait(struct summing *summing, const char *kind, const struct report_cost *cost)
{
    const int result = report_dataset_stack(&summing->dataset, cost->node, &summing->stack);
    const struct group group = group_of(summing, kind);
    const uint64_t what = sprof_hash_text(group.what ? group.what : group.kind);
    uint64_t *number = sprof_map_at(&summing->numbers, sprof_hash_pair(what, group.function));
    if (result || !number)
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
        const bool is_ready = kind && !strcmp(kind, MODEL_WAIT_READY);
        summing->all += cost->cost.weight;
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

/* The two largest groups. */
static int say(struct summing *summing, struct sprof_str *text)
{
    struct report_dataset *dataset = &summing->dataset;
    const size_t count = summing->groups.count < 2 ? summing->groups.count : 2;
    char share[NUMBER_BYTES];
    bool *wanted = calloc(dataset->functions.count + 1, sizeof *wanted);
    qsort(summing->groups.items, summing->groups.count, sizeof *summing->groups.items,
          compare_groups);
    for (size_t i = 0; i < count && wanted; i++)
        if (summing->groups.items[i].function)
            wanted[summing->groups.items[i].function - 1] = true;
    const char **names = wanted ? report_dataset_short_names(dataset, wanted) : NULL;
    free(wanted);
    if (!names)
        return SPROF_ENOMEM;
    sprof_str_appendf(text, "%s of threads' time is waiting",
                      report_number_percent(share, summing->waiting, summing->all, 0));
    for (size_t i = 0; i < count; i++) {
        const struct group *group = &summing->groups.items[i];
        if (i && report_number_share(group->weight, summing->all) < SECOND_PERCENT)
            break;
        sprof_str_append(text, i ? ", " : ": ");
        append_group(text, group, summing->all, names);
    }
    if (report_number_share(summing->ready, summing->all) >= MUCH_READY_PERCENT)
        sprof_str_appendf(text, "; %s more is ready without a CPU",
                          report_number_percent(share, summing->ready, summing->all, 0));
    free(names);
    return 0;
}

int report_waits_sum_up(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, struct sprof_error *error)
{
    struct report_selection all = *selection;
    struct summing summing = {.waiting = 0};
    struct sprof_str text = {0};
    if (!report_quality_is_waiting(dataset) || !report_quality_has_waits(dataset))
        return 0;
    all.event = MODEL_EVENT_ON_AND_OFF;
    all.state = NULL;
    all.all_events = false;
    int result = report_dataset_load(&summing.dataset, store, &all,
                                     REPORT_STACKS | (dataset->parts & REPORT_ANY_MODE), error);
    const bool has_none = result == SPROF_ENOTFOUND; /* no clock of CPU time is beside the waits */
    if (!result)
        result = add_costs(&summing);
    if (!result && summing.groups.count) {
        result = say(&summing, &text);
        dataset->waits = result ? NULL : report_utf8_keep(&dataset->arena, &text);
        result = result || dataset->waits ? result : SPROF_ENOMEM;
    }
    sprof_vec_release(&summing.stack.frames);
    sprof_vec_release(&summing.groups);
    sprof_map_release(&summing.numbers);
    report_dataset_release(&summing.dataset);
    return has_none ? 0 : result;
}
