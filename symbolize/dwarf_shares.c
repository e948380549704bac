/* Reads the units of a file by several threads. The caller reads from the first unit on, right into
 * the index; the others take shares from the end, each into an index of its own, and these are
 * appended in the order of the units. */
#include "symbolize/dwarf_shares.h"

#include <pthread.h>
#include <stdlib.h>

enum {
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
    size_t front, back; /* those between are not taken yet */
};

unsigned symbolize_dwarf_shares_threads(const struct dwarf *dwarf, size_t addresses)
{
    if (addresses < FEW_ADDRESSES || dwarf->sections.info.size < worth_a_thread)
        return 1;
    return sprof_threads_useful();
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

static void read_share(struct shares *shares, struct share *share)
{
    struct dwarf *part = &share->names.dwarf;
    share->taken = true;
    share->names = (struct dwarf_names){.index = &share->index};
    symbolize_dwarf_share(part, &shares->names->dwarf, share->first, share->end, shares->steps);
    symbolize_dwarf_functions_add_units(&share->names, shares->delta, shares->addresses, NULL, 0,
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
        texts = symbolize_function_index_append(names->index, &share->index);
    if (texts)
        take_over_files(names, share, texts);
    else
        names->index->failed = true;
    names->dwarf.steps_left -= used < names->dwarf.steps_left ? used : names->dwarf.steps_left;
    free(texts);
    symbolize_dwarf_names_release(&share->names);
    symbolize_function_index_release(&share->index);
}

void symbolize_dwarf_shares_add(struct dwarf_names *names, uint64_t delta,
                                const struct addresses *addresses, unsigned threads)
{
    struct shares shares = {
        .names = names, .delta = delta, .addresses = addresses, .steps = names->dwarf.steps_left};
    struct sprof_threads others;
    struct share *share;
    threads = threads < SPROF_THREADS_MAX ? threads : SPROF_THREADS_MAX;
    if (threads < 2 || cut(&shares, (size_t)threads * SHARES_OF_A_THREAD)) {
        sprof_vec_release(&shares.shares);
        symbolize_dwarf_functions_add(names, delta, addresses, NULL);
        return;
    }
    pthread_mutex_init(&shares.mutex, NULL);
    sprof_threads_start(&others, threads - 1, read_from_end, &shares);
    dwarf_functions_reserve(names->index, addresses);
    while ((share = take(&shares, false)))
        symbolize_dwarf_functions_add_units(names, delta, addresses, NULL, share->first,
                                            share->end);
    sprof_threads_join(&others);
    pthread_mutex_destroy(&shares.mutex);
    for (size_t i = 0; i < shares.shares.count; i++)
        if (shares.shares.items[i].taken)
            append(&shares, &shares.shares.items[i]);
    sprof_vec_release(&shares.shares);
}
