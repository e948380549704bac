/* Handing records out. */
#include "sampler/session.h"

/* Read room goes back early where a long drain has read a good part of a ring. */
enum { PUBLISH_FRACTION = 4, FUTURE_NS = 1000000000 };

/* A thread that had events of its own before it inherited the same ones once more (its creator got
 * them CPU by CPU) counts only by its own. */
static bool is_duplicate(const struct sampler *sampler, const struct model_record *record,
                         uint64_t event_id)
{
    if (!sampler->owners.count)
        return false;
    const uint64_t *owner = sprof_map_get(&sampler->owners, event_id);
    return owner && *owner != (uint64_t)record->tid &&
           sprof_map_get(&sampler->owned, (uint64_t)record->tid);
}

static bool admit(struct sampler *sampler, const struct model_record *record, uint64_t event_id)
{
    if (!targets_admit(&sampler->targets, record)) {
        sampler->counts.foreign_samples += record->type == MODEL_RECORD_SAMPLE;
        return false;
    }
    if (record->type != MODEL_RECORD_SAMPLE)
        return true;
    return record->time_ns >= sampler->start_ns && !is_duplicate(sampler, record, event_id);
}

/* Whoever reads may rely on the order: a record that came too late gets the time of the last one.
 */
static void keep_order(struct sampler *sampler, struct model_record *record)
{
    if (record->time_ns < sampler->last_ns) {
        record->time_ns = sampler->last_ns;
        sampler->counts.late_records++;
    }
    sampler->last_ns = record->time_ns;
}

static void note_cpu_time_of_exit(struct sampler *sampler)
{
    const struct model_record *exited = &sampler->record;
    uint64_t cpu_time_ns;
    if (!counters_thread_ns(&sampler->cpu_time, exited->tid, true, &cpu_time_ns))
        return;
    sampler->cpu_time_record = (struct model_record){.type = MODEL_RECORD_CPU_TIME,
                                                     .time_ns = exited->time_ns,
                                                     .pid = exited->pid,
                                                     .tid = exited->tid,
                                                     .cpu = exited->cpu};
    sampler->cpu_time_record.cpu_time.cpu_time_ns = cpu_time_ns;
    sampler->has_cpu_time = true;
}

static void account(struct sampler *sampler)
{
    const struct model_record *record = &sampler->record;
    sampler->counts.records++;
    sampler->counts.samples += record->type == MODEL_RECORD_SAMPLE;
    if (record->type == MODEL_RECORD_LOST)
        sampler->counts.lost += record->lost.count;
    if (record->type == MODEL_RECORD_EXIT)
        note_cpu_time_of_exit(sampler);
    if (record->type == MODEL_RECORD_COMM && record->comm.exec)
        session_forget_end(sampler, record->tid);
    if (record->type == MODEL_RECORD_SAMPLE && record->sample.stack_full)
        session_expect_deep(sampler);
}

/* A record is written before it is seen: a time far behind that is none. */
static bool is_in_the_future(const struct sampler *sampler, uint64_t time_ns)
{
    return time_ns > sampler->seen_ns + FUTURE_NS;
}

/* Bytes that are no record count as one lost. */
static bool lose(struct sampler *sampler, uint64_t time_ns)
{
    const uint64_t known_ns = is_in_the_future(sampler, time_ns) ? sampler->last_ns : time_ns;
    sampler->record = (struct model_record){
        .type = MODEL_RECORD_LOST, .time_ns = known_ns, .pid = -1, .tid = -1, .cpu = -1};
    sampler->record.lost.count = 1;
    return true;
}

/* Decodes the first record of a ring into sampler->record and goes on behind it. Returns whether it
 * is one to hand out. */
static bool take(struct sampler *sampler, struct ring *ring, uint64_t time_ns)
{
    if (ring->tail - ring->published >= ring->size / PUBLISH_FRACTION)
        ring_publish(ring);
    const size_t index = (size_t)(ring - sampler->merge.rings.items);
    const uint64_t offset = ring->tail;
    struct perf_event_header header;
    rests_drop_taken(&sampler->rests);
    if (!ring_header(ring, offset, &header)) { /* nor can what follows in this ring be trusted */
        rests_take(&sampler->rests, index, ring->head);
        merge_skip_ring(&sampler->merge);
        return lose(sampler, time_ns);
    }
    bool copied;
    uint64_t event_id;
    const struct perf_event_header *whole = ring_record(ring, offset, sampler->buffer, &copied);
    sampler->counts.copied_records += copied;
    sampler->counts.bytes += header.size;
    const enum decode_result result =
        decode_record(&sampler->plan.layout, whole, &sampler->record, &event_id);
    merge_advance(&sampler->merge, header.size);
    sampler->counts.unknown_records += result == DECODE_SKIP;
    if (result == DECODE_RECORD && sampler->record.type == MODEL_RECORD_LOST)
        sampler->lost_told += sampler->record.lost.count;
    if (result == DECODE_MALFORMED ||
        (result == DECODE_RECORD && is_in_the_future(sampler, sampler->record.time_ns)))
        return lose(sampler, time_ns);
    if (result == DECODE_RECORD && sampler->record.type == MODEL_RECORD_SAMPLE)
        session_attach_rest(sampler, index, offset);
    return result == DECODE_RECORD && admit(sampler, &sampler->record, event_id);
}

static int next_of_rings(struct sampler *sampler, const struct model_record **record)
{
    uint64_t time_ns;
    struct ring *ring;
    while ((ring = merge_first(&sampler->merge, &time_ns)) &&
           (time_ns <= sampler->horizon_ns || is_in_the_future(sampler, time_ns))) {
        if (!take(sampler, ring, time_ns))
            continue;
        keep_order(sampler, &sampler->record);
        account(sampler);
        *record = &sampler->record;
        return 0;
    }
    return 1;
}

static int next_of_final(struct sampler *sampler, const struct model_record **record)
{
    if (!sampler->final_made) {
        sampler->final_made = true;
        const int result = session_make_final(sampler);
        if (result)
            return result;
    }
    *record = target_snapshot_next(&sampler->final);
    return *record ? 0 : 1;
}

int sampler_next(struct sampler *sampler, const struct model_record **record)
{
    *record = target_snapshot_next(&sampler->initial);
    if (*record)
        return 0;
    if (sampler->has_cpu_time) {
        sampler->has_cpu_time = false;
        *record = &sampler->cpu_time_record;
        return 0;
    }
    const int result = next_of_rings(sampler, record);
    return result == 1 && sampler->stopped ? next_of_final(sampler, record) : result;
}
