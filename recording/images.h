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

enum record_image_state {
    RECORD_IMAGE_IDLE,    /* not asked for, or its table was evicted */
    RECORD_IMAGE_WAITING, /* in the builder's hands; nobody else touches it but its state */
    RECORD_IMAGE_READY,   /* `table` answers */
    RECORD_IMAGE_BARE,    /* no call frame information, or no file */
};

/* One module's file. Owned by the cache; everything but `state` is written by the builder while
 * WAITING and read by the draining thread in the other states. */
struct record_image {
    _Atomic int state;
    struct record_image *next; /* in the builder's queue, then in its list of done ones */
    struct model_module *module;
    struct image_request request;
    struct record_image *shared; /* an image of the same content, whose table serves */
    struct unwind_table *table;
    struct image *image; /* kept open for symbolizing; NULL when it could not be opened */
    struct image_segment *segments; /* executable ones */
    size_t segment_count;
    struct unwind_range startup[RECORD_STARTUP_RANGES]; /* vaddrs of start-up code */
    size_t startup_count;
    uint64_t key; /* 0: unknown */
    uint8_t build_id[20];
    uint8_t build_id_size;
    char problem[256]; /* why there is no image; empty: none */
    size_t table_bytes;
    struct record_built built; /* what a look-up or a build has just found */
    bool identified;           /* key, build id and segments are known: for good */
    bool described;            /* … and start-up code */
    bool only_identity;        /* nothing else is asked for */
    uint64_t last_used;        /* ticks of the draining thread */
    uint64_t kept;             /* the round in which a waiting sample needed the table */
    bool adopted;              /* collected since it was built */
    bool counted_open;
};

struct record_queue {
    struct record_image *first, **end;
};

/* Threads, and the queue that each one works off: what the cache has goes ahead of all builds. */
enum record_stage { RECORD_LOOK_UP, RECORD_BUILD, RECORD_WORKERS };
struct record_worker {
    struct record_images *images;
    pthread_t thread;
    bool running;
    pthread_cond_t wanted;
    struct record_queue queue;
};

struct record_images {
    struct sprof_arena arena;
    SPROF_VEC(struct record_image *) items;
    struct sprof_map by_key; /* key → first image with it; under the mutex */
    struct cache *cache;     /* borrowed; NULL: none */
    struct record_worker workers[RECORD_WORKERS];
    bool stopping;
    pthread_mutex_t mutex;
    struct record_image *done;
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
int record_images_init(struct record_images *images, size_t budget_bytes, struct cache *cache,
                       struct sprof_error *error);

/* Ends the threads and frees everything. Zero is fine. */
void record_images_release(struct record_images *images);

/* Ends the threads, but waits at most `timeout_ms` for an image that one has at hand. False: it is
 * still at work, on memory of these images and of all that they point to, which must not be freed.
 */
bool record_images_stop(struct record_images *images, unsigned timeout_ms);

/* Lets record_images_wait return. Async-signal-safe. */
void record_images_wake(struct record_images *images);

/* The image of a module mapped at a place in a process, asked for at the first call. Returns NULL
 * only when out of memory. */
struct record_image *record_images_get(struct record_images *images, struct model_module *module,
                                       const struct model_mapping *mapping, int pid);

/* Makes sure the image's table is there or being built; marks it used. Returns its state. */
enum record_image_state record_images_use(struct record_images *images, struct record_image *image);

/* Has the image opened, so that its identity is stored before another file can take its name, where
 * nothing else may ever ask for it. */
void record_images_identify(struct record_images *images, struct record_image *image);

/* A waiting sample needs the image's table: the next collection does not evict it, so that a stack
 * whose tables are larger than the budget comes to its end. */
void record_images_keep(struct record_images *images, struct record_image *image);

/* Takes over what the builder has finished; returns how many. Modules whose key or problem became
 * known are marked dirty. Evicts what exceeds the budget. */
size_t record_images_collect(struct record_images *images);

/* Waits for the builder to finish at least one image; returns at once when none is waiting. */
void record_images_wait(struct record_images *images);

/* The table that serves an image (its own or a shared one), NULL unless READY. */
const struct unwind_table *record_image_table(const struct record_image *image);

/* The vaddr of a file offset through the executable segments. */
bool record_image_vaddr(const struct record_image *image, uint64_t offset, uint64_t *vaddr);

/* Whether the image is not in the builder's hands: only then may what it found be read. */
bool record_image_settled(const struct record_image *image);

/* Whether a file offset lies in start-up code; false while the image is not settled. */
bool record_image_is_startup(const struct record_image *image, uint64_t offset);

#endif
