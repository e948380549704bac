/* What the kernel writes (linux/perf_event.h, "enum perf_event_type") → struct model_record. */
#ifndef SPROF_SAMPLER_DECODE_H
#define SPROF_SAMPLER_DECODE_H

#include "sampler/ring.h"
#include "sampler/sampler.h"

/* How samples are laid out: which optional parts were asked for. */
struct sampler_layout {
    bool has_chain; /* PERF_SAMPLE_CALLCHAIN */
    bool has_stack; /* PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER */
    bool has_raw;   /* PERF_SAMPLE_RAW */
};

/* The number in a tracepoint's bytes that its samples weigh. */
struct sampler_weight {
    uint16_t offset, bytes; /* 1, 2, 4 or 8 */
    bool is_signed;
};

/* The layouts of one source's samples, by the event that writes them. Zero is valid: none. */
enum { SAMPLER_LAYOUTS_MAX = 8 }; /* all that the three optional parts permit */
struct sampler_layouts {
    struct sampler_layout items[SAMPLER_LAYOUTS_MAX];
    size_t count;
    struct sprof_map by_event; /* identifier → index in items; others have the first layout */
    struct sprof_map weights;  /* identifier → a struct sampler_weight, packed */
};

/* Events have this layout from now on, beside those known. Returns its index. */
int sampler_layouts_add(struct sampler_layouts *layouts, struct sampler_layout layout);

/* The event with this identifier has that layout. Returns 0 or SPROF_ENOMEM. */
int sampler_layouts_bind(struct sampler_layouts *layouts, uint64_t event_id, int index);

/* Samples of the event weigh that number, as often as they count; a negative one is 0. Returns 0 or
 * SPROF_ENOMEM. */
int sampler_layouts_weigh(struct sampler_layouts *layouts, uint64_t event_id,
                          struct sampler_weight weight);

void sampler_layouts_release(struct sampler_layouts *layouts);

enum sampler_decoded {
    SAMPLER_DECODED_RECORD,    /* *record is filled */
    SAMPLER_DECODED_SKIP,      /* a type this version has no use for */
    SAMPLER_DECODED_MALFORMED, /* the record contradicts itself */
};

/* Decodes a record of header->size bytes. Pointers in *record reach into it. *event_id is the
 * identifier of the event that wrote it (for inherited events: of the one opened). */
enum sampler_decoded sampler_decode_record(const struct sampler_layouts *layouts,
                                           const struct perf_event_header *header,
                                           struct model_record *record, uint64_t *event_id);

/* The time of the record at an offset of a ring, without copying it; `fallback` where it has none.
 */
uint64_t sampler_decode_time_ns(const struct sampler_ring *ring, uint64_t offset,
                                uint64_t fallback);

/* Of a sample, what shows whether its stack is deeper than its slice. */
struct sampler_stack {
    pid_t pid, tid;
    int cpu;
    uint64_t time_ns;
    uint64_t pointer;         /* the user's stack pointer */
    uint64_t asked, captured; /* bytes */
};

/* Looks into the record at an offset of a ring, in place. Returns false where it is no sample with
 * the registers of a 64-bit process. */
bool sampler_decode_peek_stack(const struct sampler_layouts *layouts,
                               const struct sampler_ring *ring, uint64_t offset,
                               struct sampler_stack *stack);

#endif
