/* The names of the walker's counters. */
#include "unwind/walk.h"

int unwind_counters_each(const struct unwind_walker *walker,
                         int (*put)(void *context, const char *name, uint64_t value), void *context)
{
    const struct unwind_counters *counters = &walker->counters;
    const struct {
        const char *name;
        uint64_t value;
    } named[] = {
        {"unwind.walks", counters->walks},
        {"unwind.frames", counters->frames},
        {"unwind.cache_hits", counters->cache_hits},
        {"unwind.cache_misses", counters->cache_misses},
        {"unwind.complex_rows", counters->complex_rows},
        {"unwind.complex_failed", counters->complex_failed},
        {"unwind.plt_frames", counters->plt_frames},
        {"unwind.leaf_frames", counters->leaf_frames},
        {"unwind.signal_frames", counters->signal_frames},
        {"unwind.frame_pointer_frames", counters->fp_frames},
        {"unwind.scanned_frames", counters->scan_frames},
        {"unwind.live_reads", counters->live_reads},
        {"unwind.live_bytes", counters->live_bytes},
    };
    int result = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named && !result; i++)
        result = put(context, named[i].name, named[i].value);
    return result;
}
