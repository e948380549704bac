/* Reads and demangles names in other threads before they are needed: that is most of what it
 * takes to name addresses once their functions have been read. Nothing of the index is changed
 * here, so that answers and what is stored do not depend on it. */
#include "symbolize/names_ahead.h"

#include "symbolize/demangle.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 16 }; /* addresses taken at once */

/* What there is to be read of a description, and what was. */
struct description_ahead {
    _Atomic(const struct names_ahead_name *) name; /* NULL: not read yet */
    uint32_t entry;                                /* 0: nothing is left to be read */
};

struct demangled {
    const char *linkage_name; /* the section's */
    char *name;
};

/* One of the threads, and what it has made. */
struct reader {
    struct dwarf dwarf;
    struct cxx_names cxx;
    struct sprof_arena names;
    struct sprof_map by_hash; /* of linkage names → place in `demangled` + 1 */
    SPROF_VEC(struct demangled) demangled;
};

struct names_ahead_work {
    const struct addresses *addresses;
    const struct function_index *index;
    struct description_ahead *descriptions; /* of the index, by number - 1 */
    size_t description_count;
    struct reader readers[SPROF_THREADS_MAX];
    atomic_uint next_reader;
    atomic_llong front, back; /* the caller's address; those from `back` on are taken */
    atomic_bool stopping;
    struct sprof_threads threads;
};

/* Descriptions of several units have the same name. NULL also where memory runs out, and for names
 * that only those of an Ada program are: the caller sees to them. */
static const char *demangle(struct reader *reader, const char *linkage_name)
{
    uint64_t *place = sprof_map_at(&reader->by_hash, sprof_hash_text(linkage_name));
    if (!place || (!*place && sprof_vec_reserve(&reader->demangled, reader->demangled.count + 1)))
        return NULL;
    if (!*place) {
        reader->demangled.items[reader->demangled.count++] =
            (struct demangled){linkage_name, symbolize_demangle_name(linkage_name, false)};
        *place = reader->demangled.count;
    }
    const struct demangled *known = &reader->demangled.items[*place - 1];
    return strcmp(known->linkage_name, linkage_name) ? NULL : known->name;
}

static struct description_ahead *description_of(const struct names_ahead_work *work,
                                                uint32_t number)
{
    struct description_ahead *description =
        number && number <= work->description_count ? &work->descriptions[number - 1] : NULL;
    return description && description->entry ? description : NULL;
}

static void name_description(struct names_ahead_work *work, struct reader *reader, uint32_t number)
{
    struct description_ahead *description = description_of(work, number);
    struct names_ahead_name name = {0};
    if (!description || atomic_load_explicit(&description->name, memory_order_relaxed))
        return;
    symbolize_dwarf_names_read(&reader->dwarf, &reader->cxx, description->entry, &name.said);
    if (name.said.linkage_name)
        name.demangled = demangle(reader, name.said.linkage_name);
    const size_t size = offsetof(struct names_ahead_name, said.files) +
                        name.said.file_count * sizeof *name.said.files;
    struct names_ahead_name *kept = sprof_arena_alloc(&reader->names, size);
    if (kept)
        atomic_store_explicit(&description->name, memcpy(kept, &name, size), memory_order_release);
}

/* The names of an address as its chain will need them. */
static void name_address(struct names_ahead_work *work, struct reader *reader, uint64_t vaddr)
{
    const struct index_piece *piece = symbolize_function_index_find(work->index, vaddr);
    if (!piece || !description_of(work, piece->description))
        return;
    const struct index_call *call = symbolize_function_index_innermost(work->index, piece, vaddr);
    for (int level = 0; call && level < INDEX_LEVELS_MAX; level++) {
        name_description(work, reader, call->description);
        call = symbolize_function_index_outer(work->index, piece, call);
    }
    name_description(work, reader, piece->description);
}

static void *run(void *context)
{
    struct names_ahead_work *work = context;
    struct reader *reader = &work->readers[atomic_fetch_add(&work->next_reader, 1)];
    long long end;
    while ((end = atomic_fetch_sub(&work->back, RUN)) > atomic_load(&work->front))
        for (int i = 0; i < RUN && --end > atomic_load(&work->front); i++) {
            if (atomic_load(&work->stopping))
                return NULL;
            name_address(work, reader, work->addresses->items[end]);
        }
    return NULL;
}

/* What changes while the others run is copied before. */
static bool prepare(struct names_ahead_work *work, const struct dwarf_names *names,
                    unsigned threads)
{
    const struct function_index *index = names->index;
    bool prepared = true;
    work->description_count = index->descriptions.count;
    work->descriptions = malloc((work->description_count + 1) * sizeof *work->descriptions);
    for (size_t i = 0; work->descriptions && i < work->description_count; i++) {
        work->descriptions[i].entry = index->descriptions.items[i].entry;
        atomic_init(&work->descriptions[i].name, NULL);
    }
    for (unsigned i = 0; i < threads; i++) {
        symbolize_dwarf_share(&work->readers[i].dwarf, &names->dwarf, 0, names->dwarf.units.count,
                              names->dwarf.steps_left);
        prepared &= !work->readers[i].dwarf.failed;
    }
    return prepared && work->descriptions;
}

static void release(struct names_ahead_work *work)
{
    for (unsigned i = 0; i < SPROF_THREADS_MAX; i++) {
        struct reader *reader = &work->readers[i];
        for (size_t k = 0; k < reader->demangled.count; k++)
            free(reader->demangled.items[k].name);
        sprof_vec_release(&reader->demangled);
        sprof_map_release(&reader->by_hash);
        sprof_arena_release(&reader->names);
        symbolize_cxx_names_release(&reader->cxx);
        symbolize_dwarf_release(&reader->dwarf);
    }
    free(work->descriptions);
    free(work);
}

void symbolize_names_ahead_start(struct names_ahead *ahead, const struct addresses *addresses,
                                 const struct dwarf_names *names, unsigned threads)
{
    struct names_ahead_work *work = threads ? calloc(1, sizeof *work) : NULL;
    ahead->work = NULL;
    if (!work)
        return;
    work->addresses = addresses;
    work->index = names->index;
    atomic_init(&work->back, (long long)addresses->count);
    threads = threads < SPROF_THREADS_MAX ? threads : SPROF_THREADS_MAX - 1;
    if (prepare(work, names, threads))
        sprof_threads_start(&work->threads, threads, run, work);
    if (work->threads.count)
        ahead->work = work;
    else
        release(work);
}

void symbolize_names_ahead_reach(struct names_ahead *ahead, size_t address)
{
    if (ahead->work)
        atomic_store_explicit(&ahead->work->front, (long long)address, memory_order_relaxed);
}

const struct names_ahead_name *symbolize_names_ahead_find(const struct names_ahead *ahead,
                                                          uint32_t description)
{
    const struct description_ahead *found =
        ahead->work ? description_of(ahead->work, description) : NULL;
    return found ? atomic_load_explicit(&found->name, memory_order_acquire) : NULL;
}

void symbolize_names_ahead_stop(struct names_ahead *ahead)
{
    if (!ahead->work)
        return;
    atomic_store(&ahead->work->stopping, true);
    sprof_threads_join(&ahead->work->threads);
    release(ahead->work);
    ahead->work = NULL;
}
