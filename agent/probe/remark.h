/* Handles <sprof.h>: writes a traced program's remarks on its calls into the thread's ring. */
#ifndef SPROF_AGENT_PROBE_REMARK_H
#define SPROF_AGENT_PROBE_REMARK_H

#include "agent/probe/keep.h"

/* Copies up to a NUL. Returns the length; 0: no text; -1: not readable now. */
static inline int32_t copy_remark_text(const struct thread *thread, uint8_t *to, uint64_t from,
                                       uint32_t most, uint64_t now)
{
    const int64_t got = from ? read_memory(thread, to, from, most, now) : 0;
    int32_t length = 0;
    if (from && got <= 0)
        return -1;
    while (length < got && to[length])
        length++;
    return length;
}

/* Numbers and keeps the innermost call and its callers. 0: no open call or no room. */
static inline uint32_t remarked_number(struct thread *thread, struct record *record)
{
    const uint32_t unmarked = count_unmarked(thread, record);
    if (unmarked && kept_room(thread) < 2 * PROBE_KEPT_UNITS * (uint64_t)(unmarked + 1))
        return 0;
    return mark(thread, record, unmarked);
}

static inline void lose_remark(void)
{
    atomic_fetch_add(&probe_inside.shared->remarks_lost, 1);
}

/* Half of the ring is reserved for calls. */
static inline void put_remark(struct thread *thread, const struct probe_remark *remark,
                              uint32_t function, const uint8_t *texts)
{
    const uint32_t bytes = remark->key_bytes + (uint32_t)remark->text_bytes;
    const uint32_t more = (bytes + PROBE_UNIT_BYTES - 1) / PROBE_UNIT_BYTES;
    if (kept_room(thread) < (thread->ring_mask + 1) / 2 + PROBE_KEPT_UNITS + more) {
        lose_remark();
        return;
    }
    const uint64_t place = take_room(&thread->ring->head, PROBE_KEPT_UNITS + more);
    struct probe_remark *to = (struct probe_remark *)unit_at(thread, place);
    for (uint32_t i = 0; i < bytes; i++)
        ((uint8_t *)(to + 1))[i] = texts[i];
    to->time = remark->time;
    to->kind = remark->kind;
    to->value = remark->value;
    to->begin = remark->begin;
    to->function = remark->function;
    to->number = remark->number;
    to->key_bytes = remark->key_bytes;
    to->text_bytes = remark->text_bytes;
    put_header(&to->header, probe_log_header(place, PROBE_LOG_ONLY, 0, more, function));
}

/* Writing a remark is no part of the call's time. */
static inline void leave_out(struct thread *thread, uint64_t since)
{
    if (thread->innermost != &thread->root)
        add(&thread->innermost->probe_ticks, probe_ticks() - since);
}

/* Arguments of sprof_remark(): kind, key, value, text, address for a call's number. */
static SAVES_ALL __attribute__((noinline)) void
take_remark(struct thread *thread, uint32_t function, const struct probe_saved *saved)
{
    const uint64_t now = probe_ticks();
    struct valued *valued = valued_of(thread);
    struct record *record = open_at(thread, thread->innermost);
    const bool has_call = record != &thread->root;
    if (saved->rdi == PROBE_KEEP_NEXT) {
        take_next();
        leave_out(thread, now);
        return;
    }
    if (valued->is_busy) {
        lose_remark();
        return;
    }
    valued->is_busy = 1;
    struct probe_remark remark = {.time = now, .kind = saved->rdi, .value = saved->rdx};
    const int32_t key = copy_remark_text(thread, valued->pieces, saved->rsi, PROBE_KEY_BYTES, now);
    const int32_t text =
        key < 0 ? -1
                : copy_remark_text(thread, valued->pieces + key, saved->rcx, PROBE_TEXT_BYTES, now);
    if (key < 0 || (text < 0 && remark.kind == PROBE_NOTE)) {
        lose_remark();
        valued->is_busy = 0;
        return;
    }
    remark.key_bytes = (uint16_t)key;
    remark.text_bytes = (uint16_t)(text > 0 ? text : 0); /* a request needs no label */
    if (has_call) {
        remark.begin = *begin_of(record);
        remark.function = (uint32_t)(stat_of(record) - thread->stats);
    }
    if (has_call && remark.kind == PROBE_CALL_ID && is_own(thread, saved->r8)) {
        valued->is_busy = 0; /* callers may be requests; there are no texts */
        remark.number = remarked_number(thread, record);
        remark.value = remark.number ? (uint64_t)thread->serial << 32 | remark.number : 0;
        *(uint64_t *)(uintptr_t)saved->r8 = remark.value;
    }
    put_remark(thread, &remark, function, valued->pieces);
    valued->is_busy = 0;
    leave_out(thread, now);
}

#endif
