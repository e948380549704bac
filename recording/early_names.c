/* Reads debug information of files that have samples, while the recording goes on. */
#include "recording/early_names.h"

#include "recording/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    NICE = 10,         /* what records and what is recorded go first */
    SHARE = 10,        /* of the time that has passed, one part in so many may be used */
    GROWTH = 8,        /* a module's turn comes when it has grown by one part in so many */
    SESSIONS_MAX = 64, /* each keeps a file open */
    MODULES_MAX = 1024,
    ADDRESSES_MAX = 1 << 20, /* of one module */
};
static const uint64_t max_bytes = UINT64_C(256) << 20; /* of debug information at hand */

/* == The thread's side == */

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static size_t sort_addresses(uint64_t *addresses, size_t count)
{
    size_t kept = 0;
    qsort(addresses, count, sizeof *addresses, compare);
    for (size_t i = 0; i < count; i++)
        if (!kept || addresses[kept - 1] != addresses[i])
            addresses[kept++] = addresses[i];
    return kept;
}

/* Opens the file a second time, as an image is one thread's. */
static bool open_module(struct recording_early *early, struct recording_early_module *module)
{
    const struct symbolize_options options = {.cache = early->cache};
    struct recording_session *open = &module->open;
    if (early->sessions >= SESSIONS_MAX ||
        recording_open_image(&open->image, &module->request, NULL))
        return false;
    image_identify(open->image, early->cache);
    if (image_key(open->image) != module->key ||
        symbolize_session_open(&open->session, open->image, &options, NULL))
        return false;
    const uint64_t bytes = symbolize_session_preparable(open->session);
    if (!bytes || bytes > max_bytes - early->bytes)
        return false;
    early->bytes += bytes;
    early->sessions++;
    return true;
}

/* False: nothing can be prepared of this module, now or later. */
static bool prepare(struct recording_early *early, struct recording_early_module *module,
                    uint64_t *addresses, size_t count)
{
    if (!module->open.session && !open_module(early, module)) {
        recording_session_close(&module->open);
        return false;
    }
    count = sort_addresses(addresses, count);
    const uint64_t before_ns = symbolize_session_cpu_ns(module->open.session);
    symbolize_session_prepare(module->open.session, addresses, count, &early->stopping);
    const uint64_t after_ns = symbolize_session_cpu_ns(module->open.session);
    early->elsewhere_ns += after_ns > before_ns ? after_ns - before_ns : 0;
    module->prepared += count;
    atomic_fetch_add(&early->prepared, count);
    return true;
}

/* The module that has grown most, of those that have grown enough. */
static struct recording_early_module *choose(const struct recording_early *early)
{
    struct recording_early_module *chosen = NULL;
    for (size_t i = 0; i < early->modules.count; i++) {
        struct recording_early_module *module = early->modules.items[i];
        if (!module->refused && module->given.count &&
            module->given.count >= module->prepared / GROWTH &&
            (!chosen || module->given.count > chosen->given.count))
            chosen = module;
    }
    return chosen;
}

/* All that this thread does is bounded by a share of the time, so that what a recording costs stays
 * in proportion. */
static bool may_go_on(const struct recording_early *early)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const uint64_t used_ns =
        (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec + early->elsewhere_ns;
    return used_ns <= (sprof_clock_monotonic_ns() - early->begin_ns) / SHARE;
}

static void *work(void *context)
{
    struct recording_early *early = context;
    early->tid = gettid();
    setpriority(PRIO_PROCESS, (id_t)early->tid, NICE);
    pthread_mutex_lock(&early->mutex);
    while (!atomic_load(&early->stopping)) {
        struct recording_early_module *module = may_go_on(early) ? choose(early) : NULL;
        if (!module) {
            early->more = false;
            while (!early->more && !atomic_load(&early->stopping))
                pthread_cond_wait(&early->wanted, &early->mutex);
            continue;
        }
        uint64_t *addresses = module->given.items;
        const size_t count = module->given.count;
        module->given.items = NULL;
        module->given.count = module->given.capacity = 0;
        pthread_mutex_unlock(&early->mutex);
        const bool possible = prepare(early, module, addresses, count);
        free(addresses);
        pthread_mutex_lock(&early->mutex);
        module->refused = !possible;
    }
    pthread_mutex_unlock(&early->mutex);
    return NULL;
}

/* == The owner's side == */

/* Without a thread everything is left to the end. */
static void start(struct recording_early *early, uint64_t begin_ns, struct cache *cache)
{
    pthread_mutex_init(&early->mutex, NULL);
    pthread_cond_init(&early->wanted, NULL);
    early->cache = cache;
    early->begin_ns = begin_ns;
    early->running = !sprof_thread_create(&early->thread, work, early);
}

/* The module of a frame; NULL where its file is not known, or too many are. */
static struct recording_early_module *find_module(struct recording_early *early,
                                                  const struct model_module *module)
{
    const struct recording_image *image = module->owner;
    const uint64_t *known = sprof_map_get(&early->by_id, module->id);
    if (known)
        return (struct recording_early_module *)(uintptr_t)*known;
    if ((module->kind != MODEL_KIND_APP && module->kind != MODEL_KIND_SYSTEM) ||
        early->modules.count >= MODULES_MAX || !image || !recording_image_settled(image) ||
        !image->identified || !image->image)
        return NULL;
    struct recording_early_module *made = sprof_arena_alloc(&early->arena, sizeof *made);
    if (!made)
        return NULL;
    *made = (struct recording_early_module){
        .id = module->id, .request = image->request, .key = image->key};
    if (sprof_vec_push(&early->modules, made) ||
        sprof_map_put(&early->by_id, module->id, (uint64_t)(uintptr_t)made))
        return NULL;
    return made;
}

static int give_frame(struct recording_early *early, const struct recording_walk *walk,
                      const struct model_frame *frame)
{
    uint64_t vaddr;
    const struct model_module *module =
        model_process_table_module_by_id(walk->process_table, frame->module);
    struct recording_early_module *found = find_module(early, module);
    const struct recording_image *image = module->owner;
    if (!found || found->refused || found->given.count >= ADDRESSES_MAX ||
        !recording_image_settled(image) || !recording_image_vaddr(image, frame->offset, &vaddr))
        return 0;
    return sprof_vec_push(&found->given, vaddr);
}

int recording_early_give(struct recording_early *early, const struct recording_walk *walk,
                         uint64_t begin_ns, struct cache *cache)
{
    const struct model_stacks *stacks = &walk->stacks;
    int result = 0;
    if (!early->begin_ns)
        start(early, begin_ns, cache);
    if (!early->running)
        return 0;
    pthread_mutex_lock(&early->mutex);
    for (; early->given_frames < stacks->frames.count && !result; early->given_frames++)
        result = give_frame(early, walk, &stacks->frames.items[early->given_frames]);
    early->more = true;
    pthread_cond_signal(&early->wanted);
    pthread_mutex_unlock(&early->mutex);
    return result;
}

/* Raises the early thread to the priority of the thread that waits for it, if rights suffice. */
void recording_early_stop(struct recording_early *early)
{
    if (!early->running)
        return;
    pthread_mutex_lock(&early->mutex);
    atomic_store(&early->stopping, true);
    pthread_cond_signal(&early->wanted);
    pthread_mutex_unlock(&early->mutex);
    if (early->tid)
        setpriority(PRIO_PROCESS, (id_t)early->tid, 0);
}

bool recording_early_wait(struct recording_early *early, unsigned timeout_ms)
{
    struct timespec until;
    if (!early->running)
        return true;
    clock_gettime(CLOCK_REALTIME, &until);
    const uint64_t until_ns = (uint64_t)until.tv_nsec + UINT64_C(1000000) * timeout_ms;
    until.tv_sec += (time_t)(until_ns / 1000000000);
    until.tv_nsec = (long)(until_ns % 1000000000);
    if (pthread_timedjoin_np(early->thread, NULL, &until))
        return false;
    early->running = false;
    return true;
}

void recording_early_end(struct recording_early *early)
{
    recording_early_stop(early);
    if (early->running)
        pthread_join(early->thread, NULL);
    early->running = false;
}

static bool same_file(const struct image *left, const struct image *right)
{
    const struct recording_file a = recording_file_of(left), b = recording_file_of(right);
    return recording_file_equal(&a, &b);
}

bool recording_early_take(struct recording_early *early, uint32_t module, const struct image *image,
                          struct recording_session *open)
{
    const uint64_t *known = sprof_map_get(&early->by_id, module);
    *open = (struct recording_session){0};
    if (!known)
        return false;
    struct recording_early_module *found = (struct recording_early_module *)(uintptr_t)*known;
    if (!found->open.session || !same_file(found->open.image, image))
        return false;
    *open = found->open;
    found->open = (struct recording_session){0};
    return true;
}

void recording_early_release(struct recording_early *early)
{
    recording_early_end(early);
    for (size_t i = 0; i < early->modules.count; i++) {
        sprof_vec_release(&early->modules.items[i]->given);
        recording_session_close(&early->modules.items[i]->open);
    }
    if (early->begin_ns) {
        pthread_mutex_destroy(&early->mutex);
        pthread_cond_destroy(&early->wanted);
    }
    sprof_vec_release(&early->modules);
    sprof_map_release(&early->by_id);
    sprof_arena_release(&early->arena);
    *early = (struct recording_early){0};
}
