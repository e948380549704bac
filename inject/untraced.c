/* Plans the files of a traced process as if it were not traced. */
#include "inject/lock.h"
#include "inject/owner.h"
#include "model/model.h"
#include "plan/plan.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

struct traced {
    struct probe_owner owner;
    struct probe_site *sites; /* sorted by address */
    size_t count;
};

static int by_address(const void *first, const void *second)
{
    const uint64_t a = ((const struct probe_site *)first)->address,
                   b = ((const struct probe_site *)second)->address;
    return a < b ? -1 : a > b;
}

static bool read_sites(pid_t pid, struct traced *traced)
{
    const uint64_t count_at = traced->owner.shared_at + offsetof(struct probe_shared, sites.count),
                   sites_at = traced->owner.shared_at + offsetof(struct probe_shared, sites.list);
    uint32_t count = 0;
    if (target_read_memory(pid, count_at, &count, sizeof count) != sizeof count)
        return false;
    count = count < 1 + PROBE_THUNKS ? count : 1 + PROBE_THUNKS; /* the process could write there */
    const size_t bytes = count * sizeof *traced->sites;
    traced->sites = malloc(bytes + 1);
    if (!traced->sites || target_read_memory(pid, sites_at, traced->sites, bytes) != bytes)
        return false;
    traced->count = count;
    if (count)
        qsort(traced->sites, count, sizeof *traced->sites, by_address);
    return true;
}

static void free_traced(struct traced *traced)
{
    if (traced)
        free(traced->sites);
    free(traced);
}

static struct traced *read_traced(pid_t pid)
{
    struct traced *traced = calloc(1, sizeof *traced);
    if (!traced || !inject_owner_read(pid, &traced->owner, NULL) || !read_sites(pid, traced)) {
        free_traced(traced);
        return NULL;
    }
    return traced;
}

/* The first that ends behind `address`. */
static size_t find_site(const struct traced *traced, uint64_t address)
{
    size_t low = 0, high = traced->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (traced->sites[middle].address + PLAN_JUMP_BYTES <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void restore(const void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct traced *traced = context;
    for (size_t i = find_site(traced, address);
         i < traced->count && traced->sites[i].address < address + size; i++)
        for (size_t b = 0; b < PLAN_JUMP_BYTES; b++) {
            const uint64_t at = traced->sites[i].address + b - address;
            if (at < size)
                bytes[at] = traced->sites[i].original[b];
        }
}

static bool is_put_in(const void *context, const struct model_mmap *mapping)
{
    static const char *const names[] = {"/" PROBE_LIBRARY, "/" PROBE_MAPPED_LIBRARY};
    const struct probe_owner *owner = &((const struct traced *)context)->owner;
    const char *path = mapping->file.path ? mapping->file.path : "";
    const size_t length = sprof_file_path_length(path);
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t end = strlen(names[i]);
        is |= length > end && !strncmp(path + length - end, names[i], end);
    }
    for (uint32_t i = 0; i < owner->island_count; i++)
        is |= mapping->address - owner->islands[i].address < owner->islands[i].bytes;
    return is;
}

int inject_plan_untraced(pid_t pid, struct cache *cache,
                         int (*module)(void *context, struct plan_module *module), void *context,
                         bool *runs_generated_code, struct sprof_error *error)
{
    struct traced *traced = target_may_read(pid) ? NULL : read_traced(pid);
    const struct plan_put_in put_in = {traced, restore, is_put_in};
    const int result = plan_process(pid, -1, cache, traced ? &put_in : NULL, NULL, module, context,
                                    runs_generated_code, error);
    free_traced(traced);
    return result;
}
