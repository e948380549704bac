/* Reads the units of a file by several threads. The caller reads from the first unit on, right into
 * the index; the others take shares from the end, each into an index of its own, and these are
 * appended in the order of the units. */
#include "symbolize/dwarf_shares.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum {
    THREADS_MAX = 4,
    SHARES_OF_A_THREAD = 8, /* so that all end at about the same time */
    FEW_ADDRESSES = 64,
};
static const size_t worth_a_thread = 4 << 20; /* bytes of .debug_info */

struct share {
    size_t first, end; /* units */
    bool taken;        /* by another thread than the caller's: what follows is its */
    struct dwarf_names names;
    struct function_index index;
};

struct shares {
    struct dwarf_names *names;
    uint64_t delta;
    const struct addresses *addresses;
    uint64_t steps; /* that each may take */
    SPROF_VEC(struct share) shares;
    pthread_mutex_t mutex;
    size_t front, back; /* those between are nobody's yet */
};

unsigned dwarf_shares_threads(const struct dwarf *dwarf, size_t addresses)
{
    cpu_set_t set;
    if (addresses < FEW_ADDRESSES || dwarf->sections.info.size < worth_a_thread ||
        sched_getaffinity(0, sizeof set, &set))
        return 1;
    const int processors = CPU_COUNT(&set);
    return processors < THREADS_MAX ? (unsigned)processors : THREADS_MAX;
}

/* Cuts the units into runs of about the same size. */
static int cut(struct shares *shares, size_t wanted)
{
    const struct dwarf *dwarf = &shares->names->dwarf;
    const uint64_t bytes = dwarf->sections.info.size / wanted + 1;
    struct share share = {0};
    for (size_t i = 0; i < dwarf->units.count; i++) {
        share.end = i + 1;
        if (share.end < dwarf->units.count &&
            dwarf->units.items[i].end - dwarf->units.items[share.first].offset < bytes)
            continue;
        if (sprof_vec_push(&shares->shares, share))
            return SPROF_ENOMEM;
        share.first = share.end;
    }
    shares->back = shares->shares.count;
    return 0;
}

/* The next share of the caller's, or of another thread's; NULL at the end. */
static struct share *take(struct shares *shares, bool from_end)
{
    struct share *share = NULL;
    pthread_mutex_lock(&shares->mutex);
    if (shares->front < shares->back)
        share = &shares->shares.items[from_end ? --shares->back : shares->front++];
    pthread_mutex_unlock(&shares->mutex);
    return share;
}

/* As if nothing had been read of it: what was read is its reader's. */
static struct dwarf_unit unread(struct dwarf_unit unit)
{
    unit.opened = false;
    unit.abbreviation_count = unit.line_table = 0;
    return unit;
}

static void read_share(struct shares *shares, struct share *share)
{
    const struct dwarf *whole = &shares->names->dwarf;
    share->taken = true;
    share->names = (struct dwarf_names){
        .dwarf = {.sections = whole->sections, .steps_left = shares->steps},
        .index = &share->index,
    };
    struct dwarf *part = &share->names.dwarf;
    for (size_t i = share->first; i < share->end && !part->failed; i++)
        part->failed = sprof_vec_push(&part->units, unread(whole->units.items[i])) != 0;
    dwarf_functions_add_units(&share->names, shares->delta, shares->addresses, NULL, 0,
                              part->units.count);
}

static void *read_from_end(void *context)
{
    struct share *share;
    while ((share = take(context, true)))
        read_share(context, share);
    return NULL;
}

/* Line tables stay with their units, for names and for the next question. */
static void take_over_files(struct dwarf_names *names, const struct share *share,
                            const uint32_t *texts)
{
    for (size_t i = share->first; i < share->end; i++) {
        const uint32_t table = share->names.dwarf.units.items[i - share->first].line_table;
        if (!table || names->dwarf.units.items[i].line_table)
            continue;
        struct dwarf_source_files *files = &share->names.files.items[table - 1];
        for (size_t k = 0; k < files->lines.files.count; k++)
            files->texts[k] = texts[files->texts[k]];
        if (sprof_vec_push(&names->files, *files)) {
            names->index->failed = true;
            return;
        }
        names->dwarf.units.items[i].line_table = (uint32_t)names->files.count;
        *files = (struct dwarf_source_files){0};
    }
}

static void append(struct shares *shares, struct share *share)
{
    struct dwarf_names *names = shares->names;
    const uint64_t used = shares->steps - share->names.dwarf.steps_left;
    uint32_t *texts = NULL;
    if (!names->index->failed && !share->index.failed)
        texts = function_index_append(names->index, &share->index);
    if (texts)
        take_over_files(names, share, texts);
    else
        names->index->failed = true;
    names->dwarf.steps_left -= used < names->dwarf.steps_left ? used : names->dwarf.steps_left;
    free(texts);
    dwarf_names_release(&share->names);
    function_index_release(&share->index);
}

/* Signals stay with the thread that waits for the others. */
static size_t start(struct shares *shares, pthread_t *threads, size_t wanted)
{
    sigset_t all, before;
    size_t count = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (count < wanted && !pthread_create(&threads[count], NULL, read_from_end, shares))
        count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return count;
}

void dwarf_shares_add(struct dwarf_names *names, uint64_t delta, const struct addresses *addresses,
                      unsigned threads)
{
    struct shares shares = {
        .names = names, .delta = delta, .addresses = addresses, .steps = names->dwarf.steps_left};
    pthread_t others[THREADS_MAX];
    struct share *share;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    if (threads < 2 || cut(&shares, (size_t)threads * SHARES_OF_A_THREAD)) {
        sprof_vec_release(&shares.shares);
        dwarf_functions_add(names, delta, addresses, NULL);
        return;
    }
    pthread_mutex_init(&shares.mutex, NULL);
    size_t count = start(&shares, others, threads - 1);
    dwarf_functions_reserve(names->index, addresses);
    while ((share = take(&shares, false)))
        dwarf_functions_add_units(names, delta, addresses, NULL, share->first, share->end);
    while (count)
        pthread_join(others[--count], NULL);
    pthread_mutex_destroy(&shares.mutex);
    for (size_t i = 0; i < shares.shares.count; i++)
        if (shares.shares.items[i].taken)
            append(&shares, &shares.shares.items[i]);
    sprof_vec_release(&shares.shares);
}
