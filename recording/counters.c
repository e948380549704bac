/* The numbers that a recording counts beside its samples. */
#include "recording/parts.h"

struct counter {
    const char *name;
    uint64_t value;
};

int recording_counters_each(const struct recording *recording,
                            int (*put)(void *context, const char *name, uint64_t value),
                            void *context)
{
    const struct recording_images *images = &recording->images;
    const struct counter counters[] = {
        {"unwind.ns", recording->walk.walk_ns},
        {"tables.built", images->builds},
        {"tables.built_rows", images->built_rows},
        {"tables.build_ns", images->build_ns},
        {"tables.evicted", images->evictions},
        {"tables.bytes", images->table_bytes},
        {"names.prepared", recording->early.prepared},
        {"samples.waited", recording->waited},
        {"samples.waited_bytes_most", recording->pending.most_bytes},
        {"samples.waited_tails_dropped", recording->pending.dropped_tails},
        {"samples.delayed", recording->delayed},
    };
    int result = unwind_counters_each(recording->walk.walker, put, context);
    for (size_t i = 0; i < sizeof counters / sizeof *counters && !result; i++)
        result = put(context, counters[i].name, counters[i].value);
    return result;
}
