/* The images of a recording: opened and turned into unwind tables by a thread of their own, so that
 * the one that drains the rings never waits for a file. Tables are shared by all processes and
 * bounded in memory: the least recently used ones go first and are built again when they are
 * needed. */
#ifndef SPROF_RECORDING_IMAGES_H
#define SPROF_RECORDING_IMAGES_H

#include "base/base.h"
#include "cache/cache.h"
#include "image/image.h"
#include "model/model.h"
#include "recording/build.h"
#include "unwind/unwind.h"

#include <pthread.h>
#include <stdatomic.h>

enum recording_image_state {
    RECORDING_IMAGE_IDLE,    /* not wanted yet, or its table was evicted */
    RECORDING_IMAGE_WAITING, /* in the builder's hands; nothing else touches it but its state */
    RECORDING_IMAGE_READY,   /* `table` answers */
    RECORDING_IMAGE_BARE,    /* no call frame information, or no file */
};

/* One module's file. Owned by the cache; everything but `state` is written by the builder while
 * WAITING and read by the draining thread in the other states. */
struct recording_image {
    _Atomic int state;
    struct recording_image *next; /* in the builder's queue, then in its list of done ones */
    struct model_module *module;
    struct image_request request;
    struct recording_image *shared; /* an image of the same content, whose table serves */
    struct unwind_table *table;
    struct image *image; /* kept open for symbolizing; NULL when it could not be opened */
    struct image_segment *segments; /* executable ones */
    size_t segment_count;
    struct unwind_range startup[RECORDING_STARTUP_RANGES]; /* vaddrs of start-up code */
    size_t startup_count;
    uint64_t key; /* 0: unknown */
    uint8_t build_id[20];
    uint8_t build_id_size;
    char problem[256]; /* why there is no image; empty: none */
    size_t table_bytes;
    struct recording_built built; /* what a look-up or a build has just found */
    bool identified;              /* key, build id and segments are known: for good */
    bool described;               /* … and start-up code */
    bool only_identity;           /* nothing else is needed */
    uint64_t last_used;           /* ticks of the draining thread */
    uint64_t kept;                /* the round in which a waiting sample needed the table */
    bool adopted;                 /* collected since it was built */
    bool counted_open;
    unsigned attempts; /* to open it, after the first one */
};

struct recording_queue {
    struct recording_image *first, **end;
};

/* Threads, and the queue that each one works off: what the cache has goes ahead of all builds. */
enum recording_stage { RECORDING_LOOK_UP, RECORDING_BUILD, RECORDING_WORKERS };
struct recording_worker {
    struct recording_images *images;
    pthread_t thread;
    bool running;
    pthread_cond_t wanted;
    struct recording_queue queue;
};

struct recording_images {
    struct sprof_arena arena;
    SPROF_VEC(struct recording_image *) items;
    struct sprof_map by_key; /* key → first image with it; under the mutex */
    struct cache *cache;     /* borrowed; NULL: none */
    struct recording_worker workers[RECORDING_WORKERS];
    bool stopping;
    pthread_mutex_t mutex;
    struct recording_image *done;
    int done_fd;    /* eventfd: readable when `done` is not empty */
    size_t waiting; /* draining thread's: images handed over and not yet collected */
    size_t budget_bytes, table_bytes;
    uint64_t tick, evictions;
    uint64_t round;                                /* counts collections */
    _Atomic uint64_t builds, built_rows, build_ns; /* the workers' */
    _Atomic uint64_t found;                        /* tables that the cache had */
    size_t open_images;
};

/* Starts the threads. `budget_bytes` bounds all tables together. The cache (NULL: none) is
 * borrowed. Release in either case. */
int recording_images_init(struct recording_images *images, size_t budget_bytes, struct cache *cache,
                          struct sprof_error *error);

/* Ends the threads and frees everything. Zero is fine. */
void recording_images_release(struct recording_images *images);

/* Ends the threads, but waits at most `timeout_ms` for an image that one has at hand. False: it is
 * still at work, on memory of these images and of all that they point to, which must not be freed.
 */
bool recording_images_stop(struct recording_images *images, unsigned timeout_ms);

/* Lets recording_images_wait return. Async-signal-safe. */
void recording_images_wake(struct recording_images *images);

/* The image of a module mapped at a place in a process, requested at the first call. A file that
 * could not be opened is looked for again through the next processes. `ancestor`: as of an
 * image_request. Returns NULL only when out of memory. */
struct recording_image *recording_images_get(struct recording_images *images,
                                             struct model_module *module,
                                             const struct model_mapping *mapping, int pid,
                                             int ancestor);

/* Makes sure the image's table is there or being built; marks it used. Returns its state. */
enum recording_image_state recording_images_use(struct recording_images *images,
                                                struct recording_image *image);

/* Has the image opened, so that its identity is stored before another file can take its name, where
 * nothing else may ever need it. */
void recording_images_identify(struct recording_images *images, struct recording_image *image);

/* A waiting sample needs the image's table: the next collection does not evict it, so that a stack
 * whose tables are larger than the budget comes to its end. */
void recording_images_keep(struct recording_images *images, struct recording_image *image);

/* Takes over what the builder has finished; returns how many. Modules whose key or problem became
 * known are marked dirty. Evicts what exceeds the budget. */
size_t recording_images_collect(struct recording_images *images);

/* Waits for the builder to finish at least one image; returns at once when none is waiting. */
void recording_images_wait(struct recording_images *images);

/* The table that serves an image (its own or a shared one), NULL unless READY. */
const struct unwind_table *recording_image_table(const struct recording_image *image);

/* The vaddr of a file offset through the executable segments. */
bool recording_image_vaddr(const struct recording_image *image, uint64_t offset, uint64_t *vaddr);

/* Whether the image is not in the builder's hands: only then may what it found be read. */
bool recording_image_settled(const struct recording_image *image);

/* Whether a file offset lies in start-up code; false while the image is not settled. */
bool recording_image_is_startup(const struct recording_image *image, uint64_t offset);

#endif
