/* Finds what holds a lock: a function that is on another thread's stack while one waits for the
 * lock, and not else. No event says which thread holds a lock, so this goes by looks at all
 * threads at the same time. */
#include "why/parts.h"

#include <math.h>
#include <stdlib.h>

/* Long waits and gaps get a look for each so long stretch: looks close to each other see the same.
 */
enum {
    WAIT_NS = 20000000,
    GAP_NS = 5000000,
    MOST_LOOKS = 1000,
    LEAST_LOOKS = 5,
    MOST_WAITERS = 16
};

/* How long a thread may run without a sample. */
enum { RUNS_NS = 1500000 };

/* Some 400 functions are tried; the one that is suspected anyway is one. */
static const double least_presence = 0.6, least_z = 4, suspect_presence = 0.4, suspect_z = 2;
static const double as_good = 0.05;
static const double one_thread = 0.8;

/* A function on other threads' stacks: in how many looks. */
struct presence {
    uint32_t function, depth; /* depth: from the outermost, the largest seen */
    size_t waiting, else_;
    size_t stamp; /* the last look that counted it */
};

struct search {
    const struct why_table *table;
    uint32_t function, suspect, waiter;
    uint32_t *order;           /* samples by thread and end */
    SPROF_VEC(size_t) threads; /* where each thread begins in `order`; and the end */
    SPROF_VEC(struct presence) found;
    struct sprof_map places;    /* function → its index in `found` + 1 */
    struct sprof_map by_thread; /* function and thread → looks while the lock is waited for */
    size_t waiting_looks, else_looks, looks;
};

static bool is_wait_for_it(const struct search *search, const struct why_sample *sample)
{
    return sample->cause == WHY_LOCK && why_owner(search->table, sample) == search->function;
}

/* Whether a thread may hold the lock: not one that waits for it, or was just woken from that, nor
 * one that waits for work. */
static bool may_be_holder(const struct search *search, const struct why_sample *sample)
{
    if (sample->cause == WHY_LOCK || sample->cause == WHY_READY)
        return why_owner(search->table, sample) != search->function;
    return !sample->is_idle || (sample->cause != WHY_POLL && sample->cause != WHY_PEER);
}

/* How long each thread waits for it, in nanoseconds. The caller frees; NULL when out of memory. */
static uint64_t *sum_waits(const struct search *search)
{
    const struct why_table *table = search->table;
    uint64_t *sums = calloc(table->threads.count + 1, sizeof *sums);
    for (size_t i = 0; i < table->samples.count && sums; i++)
        if (is_wait_for_it(search, &table->samples.items[i]))
            sums[table->samples.items[i].thread] += table->samples.items[i].weight_ns;
    return sums;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct why_sample *samples = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (samples[a].thread != samples[b].thread)
        return samples[a].thread < samples[b].thread ? -1 : 1;
    if (samples[a].end_ns != samples[b].end_ns)
        return samples[a].end_ns < samples[b].end_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int order_samples(struct search *search)
{
    const struct why_table *table = search->table;
    search->order = calloc(table->samples.count + 1, sizeof *search->order);
    if (!search->order)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < table->samples.count; i++)
        search->order[i] = (uint32_t)i;
    qsort_r(search->order, table->samples.count, sizeof *search->order, compare,
            table->samples.items);
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *all = table->samples.items;
        const bool begins = !i || all[search->order[i]].thread != all[search->order[i - 1]].thread;
        if (begins && sprof_vec_push(&search->threads, i))
            return SPROF_ENOMEM;
    }
    return sprof_vec_push(&search->threads, table->samples.count);
}

static bool reaches(const struct why_sample *sample, uint64_t time_ns)
{
    const uint64_t length_ns = why_length_ns(sample);
    return sample->end_ns < length_ns || sample->end_ns - length_ns <= time_ns;
}

/* The sample of a thread that stands for a time: the first that ends at it or later. A thread that
 * runs for less than a sample is where its last wait was. NULL: nothing is known. */
static const struct why_sample *sample_at(const struct search *search, size_t thread,
                                          uint64_t time_ns)
{
    const struct why_sample *all = search->table->samples.items;
    const size_t begin = search->threads.items[thread], end = search->threads.items[thread + 1];
    size_t low = begin, high = end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (all[search->order[middle]].end_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < end && reaches(&all[search->order[low]], time_ns))
        return &all[search->order[low]];
    const struct why_sample *last = low > begin ? &all[search->order[low - 1]] : NULL;
    return last && time_ns - last->end_ns <= RUNS_NS ? last : NULL;
}

static int note_function(struct search *search, uint32_t function, uint32_t depth, uint32_t thread,
                         bool waits)
{
    uint64_t *place = sprof_map_at(&search->places, function);
    if (!place ||
        (!*place && sprof_vec_push(&search->found, (struct presence){.function = function})))
        return SPROF_ENOMEM;
    if (!*place)
        *place = search->found.count;
    struct presence *presence = &search->found.items[*place - 1];
    presence->depth = depth > presence->depth ? depth : presence->depth;
    if (presence->stamp == search->looks)
        return 0;
    presence->stamp = search->looks;
    *(waits ? &presence->waiting : &presence->else_) += 1;
    uint64_t *count =
        waits ? sprof_map_at(&search->by_thread, (uint64_t)function << 32 | thread) : NULL;
    if (count)
        ++*count;
    return waits && !count ? SPROF_ENOMEM : 0;
}

/* How many frames of a stack may hold the lock, from the innermost on. Where the function that
 * takes it is among them, its callers came there before it was taken. */
static uint32_t frames_that_may_hold(const struct search *search, const struct why_stack *stack)
{
    for (uint32_t i = stack->depth; i > 0; i--)
        if (search->table->frames.items[stack->first + i - 1].function == search->function)
            return i;
    return stack->depth;
}

/* Notes what is on the stacks of all other threads that may hold the lock at a time. */
static int look(struct search *search, uint64_t time_ns, bool waits)
{
    const struct why_table *table = search->table;
    int result = 0;
    search->looks++;
    *(waits ? &search->waiting_looks : &search->else_looks) += 1;
    for (size_t thread = 0; thread + 1 < search->threads.count && !result; thread++) {
        const struct why_sample *sample = sample_at(search, thread, time_ns);
        if (!sample || sample->thread == search->waiter || !may_be_holder(search, sample))
            continue;
        const struct why_stack *stack = &table->stacks.items[sample->stack];
        const uint32_t count = frames_that_may_hold(search, stack);
        for (uint32_t i = 0; i < count && !result; i++)
            result = note_function(search, table->frames.items[stack->first + i].function,
                                   stack->depth - i, sample->thread, waits);
    }
    return result;
}

static int look_through(struct search *search, uint64_t from_ns, uint64_t to_ns, bool waits)
{
    const uint64_t length = to_ns - from_ns;
    const uint64_t parts = length / (waits ? WAIT_NS : GAP_NS) + 1;
    const size_t *count = waits ? &search->waiting_looks : &search->else_looks;
    int result = 0;
    if (waits && length < WHY_CHANCE_NS)
        return look(search, to_ns - length / 16, waits);
    for (uint64_t i = 0; i < parts && *count < MOST_LOOKS && !result; i++)
        result = look(search, from_ns + (2 * i + 1) * length / (2 * parts), waits);
    return result;
}

/* Looks within each wait of the waiter, and in the gaps between them. */
static int look_at_all(struct search *search)
{
    const struct why_table *table = search->table;
    uint64_t last_ns = UINT64_MAX;
    int result = 0;
    for (size_t i = 0; i < table->samples.count && !result; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        if (sample->thread != search->waiter || !is_wait_for_it(search, sample) ||
            sample->end_ns < why_length_ns(sample))
            continue;
        const uint64_t begin_ns = sample->end_ns - why_length_ns(sample);
        /* what the thread did between looks at others is not known */
        const uint64_t known_ns =
            sample->end_ns > sample->weight_ns ? sample->end_ns - sample->weight_ns : 0;
        if (known_ns > last_ns && search->else_looks < MOST_LOOKS)
            result = look_through(search, last_ns, known_ns, false);
        if (!result && search->waiting_looks < MOST_LOOKS)
            result = look_through(search, begin_ns, sample->end_ns, true);
        last_ns = sample->end_ns;
    }
    return result;
}

/* How far the presence while the lock is waited for is from chance, in standard deviations. */
static double z_of(const struct search *search, const struct presence *presence)
{
    const double on = (double)search->waiting_looks, off = (double)search->else_looks;
    const double a = (double)presence->waiting / on, b = (double)presence->else_ / off;
    const double q = (double)(presence->waiting + presence->else_) / (on + off);
    const double variance = q * (1 - q) * (1 / on + 1 / off);
    return (a - b) / sqrt(variance > 1e-9 ? variance : 1e-9);
}

static double gain_of(const struct search *search, const struct presence *presence)
{
    return (double)presence->waiting / (double)search->waiting_looks -
           (double)presence->else_ / (double)search->else_looks;
}

static bool may_hold(const struct search *search, const struct presence *presence)
{
    const bool is_suspect = presence->function == search->suspect;
    const double least = is_suspect ? suspect_presence : least_presence;
    return (double)presence->waiting >= least * (double)search->waiting_looks &&
           z_of(search, presence) > (is_suspect ? suspect_z : least_z);
}

/* Of those that are nearly as good as the best, the innermost. */
static const struct presence *choose(const struct search *search)
{
    const struct presence *chosen = NULL;
    double best = 0;
    for (size_t i = 0; i < search->found.count; i++) {
        const struct presence *presence = &search->found.items[i];
        if (may_hold(search, presence) && gain_of(search, presence) > best)
            best = gain_of(search, presence);
    }
    for (size_t i = 0; i < search->found.count; i++) {
        const struct presence *presence = &search->found.items[i];
        if (may_hold(search, presence) && gain_of(search, presence) >= best - as_good &&
            (!chosen || presence->depth > chosen->depth))
            chosen = presence;
    }
    return chosen;
}

static void take(const struct search *search, const struct presence *chosen,
                 struct why_holder *holder)
{
    uint64_t most = 0;
    holder->function = chosen->function;
    holder->looks = search->waiting_looks;
    holder->waiting = (double)chosen->waiting / (double)search->waiting_looks;
    holder->else_ = (double)chosen->else_ / (double)search->else_looks;
    for (uint32_t thread = 0; thread < search->table->threads.count; thread++) {
        const uint64_t *count =
            sprof_map_get(&search->by_thread, (uint64_t)chosen->function << 32 | thread);
        if (count && *count > most) {
            most = *count;
            holder->thread = thread;
        }
    }
    holder->has_thread = (double)most >= one_thread * (double)chosen->waiting;
}

/* Looks from the threads that wait longest: of many, each is seldom without a wait. */
static int look_from_waiters(struct search *search)
{
    const size_t threads = search->table->threads.count;
    uint64_t *sums = sum_waits(search);
    int result = sums ? 0 : SPROF_ENOMEM;
    for (int i = 0; i < MOST_WAITERS && !result; i++) {
        search->waiter = 0;
        for (uint32_t thread = 1; thread < threads; thread++)
            if (sums[thread] > sums[search->waiter])
                search->waiter = thread;
        if (!threads || !sums[search->waiter])
            break;
        sums[search->waiter] = 0;
        result = look_at_all(search);
    }
    free(sums);
    return result;
}

int why_find_holder(const struct why_table *table, uint32_t function, uint32_t suspect,
                    struct why_holder *holder)
{
    struct search search = {.table = table, .function = function, .suspect = suspect};
    *holder = (struct why_holder){0};
    int result = order_samples(&search);
    result = result ? result : look_from_waiters(&search);
    if (!result && search.waiting_looks >= LEAST_LOOKS && search.else_looks >= LEAST_LOOKS) {
        const struct presence *chosen = choose(&search);
        if (chosen)
            take(&search, chosen, holder);
    }
    free(search.order);
    sprof_vec_release(&search.threads);
    sprof_vec_release(&search.found);
    sprof_map_release(&search.places);
    sprof_map_release(&search.by_thread);
    return result;
}
