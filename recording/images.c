/* Opens images and finds or builds their tables in threads of their own. */
#include "recording/images.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Descriptors kept open so that a file deleted during the recording can still be symbolized. */
enum { MAX_OPEN_IMAGES = 512 };

/* Further processes by which a file is looked for that one could not open. */
enum { ATTEMPTS = 32 };

/* == The builder's side == */

static void remember_identity(struct recording_image *item)
{
    const struct sprof_bytes build_id = image_build_id(item->image);
    item->build_id_size =
        (uint8_t)(build_id.size < sizeof item->build_id ? build_id.size : sizeof item->build_id);
    if (item->build_id_size)
        memcpy(item->build_id, build_id.data, item->build_id_size);
    item->key = image_key(item->image);
    const struct image_segment *segments;
    const size_t count = image_text_segments(item->image, &segments);
    item->segments = calloc(count + 1, sizeof *segments);
    if (item->segments && count) {
        memcpy(item->segments, segments, count * sizeof *segments);
        item->segment_count = count;
    }
    item->identified = true;
}

static int open_item(struct recording_image *item, struct cache *cache)
{
    struct sprof_error error = {0};
    if (item->image)
        return 0;
    int result = recording_open_image(&item->image, &item->request, &error);
    if (!result)
        image_identify(item->image, cache);
    if (!result && item->identified && image_key(item->image) != item->key) {
        result = sprof_error_set(&error, SPROF_ENOTFOUND, 0, "%s was replaced while recording",
                                 item->request.file.path);
        image_free(item->image);
        item->image = NULL;
    }
    if (result)
        snprintf(item->problem, sizeof item->problem, "%.255s", error.message);
    else
        item->problem[0] = '\0';
    if (!result && !item->identified)
        remember_identity(item);
    return result;
}

/* Whether an image of the same content was described already: then its table serves. That table may
 * be evicted at any moment, and only what never changes is copied. */
static bool share(struct recording_images *images, struct recording_image *item)
{
    pthread_mutex_lock(&images->mutex);
    const uint64_t *same = sprof_map_get(&images->by_key, item->key);
    struct recording_image *first = same ? (struct recording_image *)(uintptr_t)*same : item;
    pthread_mutex_unlock(&images->mutex);
    if (first == item)
        return false;
    item->shared = first;
    memcpy(item->startup, first->startup, sizeof item->startup);
    item->startup_count = first->startup_count;
    item->described = true;
    return true;
}

static enum recording_image_state describe(struct recording_images *images,
                                           struct recording_image *item)
{
    item->table = item->built.table;
    if (!item->described) {
        memcpy(item->startup, item->built.startup, sizeof item->startup);
        item->startup_count = item->built.startup_count;
        item->described = true;
    }
    if (item->table)
        item->table_bytes = unwind_table_facts(item->table).bytes;
    pthread_mutex_lock(&images->mutex);
    sprof_map_put(&images->by_key, item->key, (uint64_t)(uintptr_t)item);
    pthread_mutex_unlock(&images->mutex);
    return item->table ? RECORDING_IMAGE_READY : RECORDING_IMAGE_BARE;
}

/* Each stage leaves the item in its final state but for `state` itself, or WAITING for the next
 * one.
 */
static enum recording_image_state look_up(struct recording_images *images,
                                          struct recording_image *item)
{
    if (open_item(item, images->cache))
        return RECORDING_IMAGE_BARE;
    if (item->only_identity)
        return RECORDING_IMAGE_IDLE;
    if (share(images, item))
        return RECORDING_IMAGE_READY;
    if (!recording_find_built(&item->built, item->image, images->cache))
        return RECORDING_IMAGE_WAITING;
    atomic_fetch_add(&images->found, 1);
    return describe(images, item);
}

static enum recording_image_state build(struct recording_images *images,
                                        struct recording_image *item)
{
    if (share(images, item))
        return RECORDING_IMAGE_READY;
    const uint64_t begin = sprof_clock_monotonic_ns();
    struct sprof_error error = {0};
    const int result = recording_build(&item->built, item->image, images->cache, &error);
    if (result && result != SPROF_ENOTFOUND)
        snprintf(item->problem, sizeof item->problem, "%.255s", error.message);
    atomic_fetch_add(&images->build_ns, sprof_clock_monotonic_ns() - begin);
    if (item->built.table) {
        atomic_fetch_add(&images->built_rows, unwind_table_facts(item->built.table).rows);
        atomic_fetch_add(&images->builds, 1);
    }
    return describe(images, item);
}

static void put(struct recording_queue *queue, struct recording_image *item)
{
    item->next = NULL;
    *queue->end = item;
    queue->end = &item->next;
}

static struct recording_image *take(struct recording_queue *queue)
{
    struct recording_image *item = queue->first;
    queue->first = item->next;
    if (!queue->first)
        queue->end = &queue->first;
    return item;
}

/* Both threads run this, each with its own stage: a look-up takes a millisecond or two and must not
 * wait until a table of a million rows is built. */
static void *work(void *argument)
{
    struct recording_worker *worker = argument;
    struct recording_images *images = worker->images;
    const bool first = worker == &images->workers[RECORDING_LOOK_UP];
    struct recording_worker *next = &images->workers[RECORDING_BUILD];
    pthread_mutex_lock(&images->mutex);
    while (!images->stopping) {
        if (!worker->queue.first) {
            pthread_cond_wait(&worker->wanted, &images->mutex);
            continue;
        }
        struct recording_image *item = take(&worker->queue);
        pthread_mutex_unlock(&images->mutex);
        const enum recording_image_state state =
            first ? look_up(images, item) : build(images, item);
        /* One that was only identified is requested again after its collection, not before. */
        if (state != RECORDING_IMAGE_WAITING && state != RECORDING_IMAGE_IDLE)
            atomic_store_explicit(&item->state, (int)state, memory_order_release);
        pthread_mutex_lock(&images->mutex);
        if (state == RECORDING_IMAGE_WAITING) {
            put(&next->queue, item);
            pthread_cond_signal(&next->wanted);
            continue;
        }
        item->next = images->done;
        images->done = item;
        eventfd_write(images->done_fd, 1);
    }
    pthread_mutex_unlock(&images->mutex);
    return NULL;
}

/* == The draining thread's side == */

int recording_images_init(struct recording_images *images, size_t budget_bytes, struct cache *cache,
                          struct sprof_error *error)
{
    *images = (struct recording_images){
        .budget_bytes = budget_bytes, .cache = cache, .done_fd = -1, .round = 1};
    pthread_mutex_init(&images->mutex, NULL);
    for (size_t i = 0; i < RECORDING_WORKERS; i++) {
        struct recording_worker *worker = &images->workers[i];
        worker->images = images;
        worker->queue.end = &worker->queue.first;
        pthread_cond_init(&worker->wanted, NULL);
    }
    images->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (images->done_fd < 0)
        return sprof_error_set(error, SPROF_EIO, errno, "cannot make an event descriptor: %s",
                               strerror(errno));
    for (size_t i = 0; i < RECORDING_WORKERS; i++) {
        const int failure =
            pthread_create(&images->workers[i].thread, NULL, work, &images->workers[i]);
        if (failure)
            return sprof_error_set(
                error, SPROF_EIO, failure,
                "cannot start a thread: %s\nsee `ulimit -u`, `ulimit -d` and `ulimit -v`",
                strerror(failure));
        images->workers[i].running = true;
    }
    return 0;
}

static void free_item(struct recording_image *item)
{
    unwind_table_free(item->table);
    image_free(item->image);
    free(item->segments);
}

static void ask_to_stop(struct recording_images *images)
{
    pthread_mutex_lock(&images->mutex);
    images->stopping = true;
    for (size_t i = 0; i < RECORDING_WORKERS; i++)
        pthread_cond_signal(&images->workers[i].wanted);
    pthread_mutex_unlock(&images->mutex);
}

bool recording_images_stop(struct recording_images *images, unsigned timeout_ms)
{
    struct timespec until;
    bool stopped = true;
    ask_to_stop(images);
    clock_gettime(CLOCK_REALTIME, &until);
    const uint64_t until_ns = (uint64_t)until.tv_nsec + UINT64_C(1000000) * timeout_ms;
    until.tv_sec += (time_t)(until_ns / 1000000000);
    until.tv_nsec = (long)(until_ns % 1000000000);
    for (size_t i = 0; i < RECORDING_WORKERS; i++) {
        struct recording_worker *worker = &images->workers[i];
        if (!worker->running)
            continue;
        worker->running = false;
        if (pthread_timedjoin_np(worker->thread, NULL, &until)) {
            pthread_detach(worker->thread);
            stopped = false;
        }
    }
    return stopped;
}

void recording_images_wake(struct recording_images *images)
{
    eventfd_write(images->done_fd, 1);
}

void recording_images_release(struct recording_images *images)
{
    if (!images->workers[0].images)
        return;
    ask_to_stop(images);
    for (size_t i = 0; i < RECORDING_WORKERS; i++)
        if (images->workers[i].running)
            pthread_join(images->workers[i].thread, NULL);
    for (size_t i = 0; i < images->items.count; i++)
        free_item(images->items.items[i]);
    pthread_mutex_destroy(&images->mutex);
    for (size_t i = 0; i < RECORDING_WORKERS; i++)
        pthread_cond_destroy(&images->workers[i].wanted);
    if (images->done_fd >= 0)
        close(images->done_fd);
    sprof_vec_release(&images->items);
    sprof_map_release(&images->by_key);
    sprof_arena_release(&images->arena);
    *images = (struct recording_images){0};
}

static void ask(struct recording_images *images, struct recording_image *item)
{
    atomic_store_explicit(&item->state, RECORDING_IMAGE_WAITING, memory_order_relaxed);
    item->adopted = false;
    images->waiting++;
    struct recording_worker *worker = &images->workers[RECORDING_LOOK_UP];
    pthread_mutex_lock(&images->mutex);
    put(&worker->queue, item);
    pthread_cond_signal(&worker->wanted);
    pthread_mutex_unlock(&images->mutex);
}

static enum recording_image_state state_of(const struct recording_image *image)
{
    return (enum recording_image_state)atomic_load_explicit(&image->state, memory_order_acquire);
}

/* Whether the file was not found by a process that ended too early, perhaps, and is worth another
 * attempt. */
static bool was_missed(const struct recording_image *item, int pid)
{
    return state_of(item) == RECORDING_IMAGE_BARE && item->adopted && !item->identified &&
           item->request.pid != pid && item->attempts < ATTEMPTS;
}

struct recording_image *recording_images_get(struct recording_images *images,
                                             struct model_module *module,
                                             const struct model_mapping *mapping, int pid,
                                             int ancestor)
{
    struct recording_image *item = module->owner;
    if (item && !was_missed(item, pid))
        return item;
    if (item) {
        item->attempts++;
        atomic_store_explicit(&item->state, RECORDING_IMAGE_IDLE, memory_order_relaxed);
    } else {
        item = sprof_arena_alloc(&images->arena, sizeof *item);
        if (!item || sprof_vec_push(&images->items, item))
            return NULL;
    }
    item->module = module;
    item->request = (struct image_request){
        .file = module->identity,
        .pid = pid,
        .ancestor = ancestor,
        .map_start = mapping->start,
        .map_end = mapping->end,
    };
    module->owner = item;
    return item;
}

/* The image whose table serves this one, which is unknown while the builder has the image. */
static struct recording_image *serving_of(struct recording_image *image)
{
    return state_of(image) == RECORDING_IMAGE_READY && image->shared ? image->shared : image;
}

enum recording_image_state recording_images_use(struct recording_images *images,
                                                struct recording_image *image)
{
    struct recording_image *serving = serving_of(image);
    enum recording_image_state state = state_of(serving);
    if (state == RECORDING_IMAGE_IDLE) {
        serving->only_identity = false;
        ask(images, serving);
        state = RECORDING_IMAGE_WAITING;
    }
    serving->last_used = ++images->tick;
    return state;
}

void recording_images_identify(struct recording_images *images, struct recording_image *image)
{
    if (state_of(image) != RECORDING_IMAGE_IDLE || image->identified)
        return;
    image->only_identity = true;
    ask(images, image);
}

void recording_images_keep(struct recording_images *images, struct recording_image *image)
{
    serving_of(image)->kept = images->round;
}

/* A table that was built but not collected yet is not in the sum, and still in the builder's list.
 */
static bool is_evictable(const struct recording_images *images, const struct recording_image *item)
{
    return item->adopted && item->table && item->kept != images->round &&
           item->last_used != images->tick;
}

/* Frees tables, least recently used first, until the budget holds. The newest one always stays. */
static void evict(struct recording_images *images)
{
    while (images->table_bytes > images->budget_bytes) {
        struct recording_image *oldest = NULL;
        for (size_t i = 0; i < images->items.count; i++) {
            struct recording_image *item = images->items.items[i];
            if (is_evictable(images, item) && (!oldest || item->last_used < oldest->last_used))
                oldest = item;
        }
        if (!oldest)
            return;
        images->table_bytes -= oldest->table_bytes;
        images->evictions++;
        unwind_table_free(oldest->table);
        oldest->table = NULL;
        atomic_store_explicit(&oldest->state, RECORDING_IMAGE_IDLE, memory_order_release);
    }
}

static void adopt(struct recording_images *images, struct recording_image *item)
{
    images->table_bytes += item->table ? item->table_bytes : 0;
    item->adopted = true;
    item->module->dirty = true;
    if (state_of(item) == RECORDING_IMAGE_WAITING)
        atomic_store_explicit(&item->state, RECORDING_IMAGE_IDLE, memory_order_relaxed);
    if (!item->image || image_fd(item->image) < 0)
        return;
    if (item->counted_open || images->open_images < MAX_OPEN_IMAGES) {
        images->open_images += !item->counted_open;
        item->counted_open = true;
        return;
    }
    image_free(item->image);
    item->image = NULL;
}

size_t recording_images_collect(struct recording_images *images)
{
    eventfd_t ignored;
    eventfd_read(images->done_fd, &ignored);
    pthread_mutex_lock(&images->mutex);
    struct recording_image *item = images->done;
    images->done = NULL;
    pthread_mutex_unlock(&images->mutex);
    size_t count = 0;
    for (; item; item = item->next, count++)
        adopt(images, item);
    if (count) {
        images->waiting -= count;
        evict(images);
        images->round++;
    }
    return count;
}

void recording_images_wait(struct recording_images *images)
{
    struct pollfd descriptor = {.fd = images->done_fd, .events = POLLIN};
    if (images->waiting)
        while (poll(&descriptor, 1, -1) < 0 && errno == EINTR)
            ;
}

const struct unwind_table *recording_image_table(const struct recording_image *image)
{
    return image->shared ? image->shared->table : image->table;
}

bool recording_image_vaddr(const struct recording_image *image, uint64_t offset, uint64_t *vaddr)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct image_segment *segment = &image->segments[i];
        /* A mapping begins at a page, up to a page before the segment does. */
        const uint64_t page = segment->offset & ~UINT64_C(4095);
        if (offset >= page && offset < segment->offset + segment->size) {
            *vaddr = segment->vaddr + (offset - segment->offset);
            return true;
        }
    }
    return false;
}

bool recording_image_settled(const struct recording_image *image)
{
    return state_of(image) != RECORDING_IMAGE_WAITING;
}

bool recording_image_is_startup(const struct recording_image *image, uint64_t offset)
{
    uint64_t vaddr;
    if (!recording_image_settled(image) || !image->startup_count ||
        !recording_image_vaddr(image, offset, &vaddr))
        return false;
    for (size_t i = 0; i < image->startup_count; i++)
        if (vaddr >= image->startup[i].start && vaddr < image->startup[i].end)
            return true;
    return false;
}
