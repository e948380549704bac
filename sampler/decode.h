/* What the kernel writes (linux/perf_event.h, "enum perf_event_type") → struct model_record. */
#ifndef SPROF_SAMPLER_DECODE_H
#define SPROF_SAMPLER_DECODE_H

#include "sampler/ring.h"
#include "sampler/sampler.h"

/* How this sampler's samples are laid out: which optional parts were asked for. */
struct decode_layout {
    bool has_chain; /* PERF_SAMPLE_CALLCHAIN */
    bool has_stack; /* PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER */
};

enum decode_result {
    DECODE_RECORD,    /* *record is filled */
    DECODE_SKIP,      /* a type this version has no use for */
    DECODE_MALFORMED, /* the record contradicts itself */
};

/* Decodes a record of header->size bytes. Pointers in *record reach into it. *event_id is the
 * identifier of the event that wrote it (for inherited events: of the one opened). */
enum decode_result decode_record(const struct decode_layout *layout,
                                 const struct perf_event_header *header,
                                 struct model_record *record, uint64_t *event_id);

/* The time of the record at an offset of a ring, without copying it; `fallback` where it has none.
 */
uint64_t decode_time_ns(const struct ring *ring, uint64_t offset, uint64_t fallback);

/* Of a sample, what tells whether its stack is deeper than its slice. */
struct decode_stack {
    pid_t pid, tid;
    int cpu;
    uint64_t time_ns;
    uint64_t pointer;         /* the user's stack pointer */
    uint64_t asked, captured; /* bytes */
};

/* Looks into the record at an offset of a ring, in place. Returns false where it is no sample with
 * the registers of a 64-bit process. */
bool decode_peek_stack(const struct decode_layout *layout, const struct ring *ring, uint64_t offset,
                       struct decode_stack *stack);

/* Which user registers samples must carry, as perf_event_attr.sample_regs_user. */
uint64_t decode_register_mask(void);

#endif
