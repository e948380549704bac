/* Reads the next record of the rings: decodes it, finds the tail of its stack, and drops what
 * belongs to others. */
#include "sampler/perf/perf_source.h"

/* Read room goes back early where a long drain has read a good part of a ring. */
enum { PUBLISH_FRACTION = 4, FUTURE_NS = 1000000000 };

/* Whether a sample of an event that goes on was taken in a pause. Called in the order of time. */
static bool is_in_pause(struct perf_pauses *pauses, uint64_t time_ns)
{
    const struct perf_pause *items = pauses->items.items;
    while (pauses->next < pauses->items.count && items[pauses->next].end_ns <= time_ns)
        pauses->next++;
    if (pauses->next == pauses->items.count) { /* all lie behind */
        pauses->next = pauses->items.count = 0;
        return false;
    }
    return time_ns >= items[pauses->next].begin_ns;
}

/* A thread that had events of its own before it inherited the same ones once more (its creator got
 * them CPU by CPU) counts only by its own. */
static bool is_duplicate(const struct perf_thread_events *events, const struct model_record *record,
                         uint64_t event_id)
{
    if (!events->event_tid.count)
        return false;
    const uint64_t *owner = sprof_map_get(&events->event_tid, event_id);
    return owner && *owner != (uint64_t)record->tid &&
           sprof_map_get(&events->tids, perf_attach_key(events, event_id, record->tid));
}

static bool admit(struct perf_source *source, const struct model_record *record, uint64_t event_id)
{
    if (source->thread_events.generations.count &&
        !perf_attach_counts(&source->thread_events, record, event_id))
        return false;
    if (source->programs.filtered_from_ns)
        source->members.trust = record->time_ns >= source->programs.filtered_from_ns
                                    ? PERF_TRUST_SAMPLES
                                    : PERF_TRUST_NOTHING;
    if (!perf_members_admit(&source->members, record)) {
        source->counts.foreign_samples += record->type == MODEL_RECORD_SAMPLE;
        return false;
    }
    if (record->type != MODEL_RECORD_SAMPLE) {
        perf_machine_note(source, record);
        return true;
    }
    if (source->machine.is_wanted && !perf_machine_chooses(source, record)) {
        source->counts.foreign_samples++;
        return false;
    }
    return record->time_ns >= source->progress.start_ns &&
           !is_duplicate(&source->thread_events, record, event_id) &&
           !(source->pauses.items.count && is_in_pause(&source->pauses, record->time_ns));
}

static int note_cpu_time_of_exit(struct perf_source *source)
{
    const struct model_record *exited = &source->record;
    uint64_t cpu_time_ns;
    if (!perf_counters_thread_ns(&source->counters, exited->tid, true, &cpu_time_ns))
        return 0;
    struct model_record record = (struct model_record){.type = MODEL_RECORD_CPU_TIME,
                                                       .time_ns = exited->time_ns,
                                                       .pid = exited->pid,
                                                       .tid = exited->tid,
                                                       .cpu = exited->cpu};
    record.cpu_time.cpu_time_ns = cpu_time_ns;
    return sprof_vec_push(&source->following.items, record);
}

static int account(struct perf_source *source)
{
    const struct model_record *record = &source->record;
    int result = 0;
    source->counts.records++;
    source->counts.samples += record->type == MODEL_RECORD_SAMPLE;
    if (record->type == MODEL_RECORD_LOST) {
        source->counts.lost += record->lost.count;
        for (size_t i = 0; i < source->following.items.count; i++)
            source->counts.lost += source->following.items.items[i].lost.count;
    }
    if (record->type == MODEL_RECORD_EXIT)
        result = note_cpu_time_of_exit(source);
    if (record->type == MODEL_RECORD_COMM && record->comm.exec)
        perf_stack_tail_forget(&source->tails, record->tid);
    if (record->type == MODEL_RECORD_SAMPLE && record->sample.stack_full)
        perf_stack_tail_expect(&source->tails, record);
    return result;
}

/* A record is written before it is seen: a time far behind that is none. */
static bool is_in_the_future(const struct perf_progress *progress, uint64_t time_ns)
{
    return time_ns > progress->seen_ns + FUTURE_NS;
}

/* Decodes the first record of a ring into source->record and goes on behind it. After bytes that
 * are no record nothing in this ring can be trusted. */
static enum sampler_decoded read_record(struct perf_source *source, struct sampler_ring *ring,
                                        uint64_t *event_id)
{
    if (ring->tail - ring->published >= ring->size / PUBLISH_FRACTION)
        sampler_ring_publish(ring);
    const size_t index = (size_t)(ring - source->rings.merge.rings.items);
    const uint64_t offset = ring->tail;
    struct perf_event_header header;
    sampler_stack_tail_copies_drop_taken(&source->tails.copies);
    if (!sampler_ring_header(ring, offset, &header)) {
        sampler_stack_tail_copies_take(&source->tails.copies, index, ring->head);
        sampler_merge_skip_ring(&source->rings.merge);
        return SAMPLER_DECODED_MALFORMED;
    }
    bool copied;
    const struct perf_event_header *whole =
        sampler_ring_record(ring, offset, &header, source->buffer, &copied);
    source->counts.copied_records += copied;
    source->counts.bytes += header.size;
    const enum sampler_decoded result =
        sampler_decode_record(&source->layouts, whole, &source->record, event_id);
    sampler_merge_advance(&source->rings.merge, header.size);
    if (result == SAMPLER_DECODED_RECORD &&
        is_in_the_future(&source->progress, source->record.time_ns))
        return SAMPLER_DECODED_MALFORMED;
    if (result == SAMPLER_DECODED_RECORD && source->record.type == MODEL_RECORD_SAMPLE)
        perf_stack_tail_attach(source, index, offset);
    return result;
}

/* Which of config.events has written a record. */
static uint32_t number_of(const struct perf_source *source, uint64_t event_id)
{
    const uint64_t *number = sprof_map_get(&source->event_numbers, event_id);
    return number ? (uint32_t)*number : 0;
}

/* A switch becomes a sample of the wait that it ends. */
static int take_switch(struct perf_source *source, struct model_record *record)
{
    const bool is_switch = record->type == MODEL_RECORD_SWITCH;
    const int result =
        source->switches.wanted ? perf_switches_note(&source->switches, record) : is_switch;
    if (!result && is_switch)
        record->event += (uint32_t)source->config.events.count;
    return result;
}

static int take_of_rings(struct perf_source *source, struct sampler_ring *ring, uint64_t time_ns)
{
    uint64_t event_id;
    struct model_record *record = &source->record;
    switch (read_record(source, ring, &event_id)) {
    case SAMPLER_DECODED_SKIP: source->counts.unknown_records++; return 1;
    case SAMPLER_DECODED_MALFORMED: /* counts as one lost */
        *record = (struct model_record){
            .type = MODEL_RECORD_LOST, .time_ns = time_ns, .pid = -1, .tid = -1, .cpu = -1};
        record->lost.count = 1;
        break;
    case SAMPLER_DECODED_RECORD:
        record->event = number_of(source, event_id);
        if (record->type == MODEL_RECORD_LOST && record->lost.of_ring) {
            record->lost.since_ns = ring->last_ns;
            if (perf_losses_tell(source, (size_t)(ring - source->rings.merge.rings.items), record))
                return SPROF_ENOMEM;
        }
        ring->last_ns = record->time_ns;
        if (!admit(source, record, event_id))
            return 1;
        break;
    }
    const int noted = take_switch(source, record);
    if (noted)
        return noted;
    source->sample_event = event_id;
    if (record->time_ns > source->progress.last_ns)
        source->progress.last_ns = record->time_ns;
    return account(source);
}

/* The ring whose first record may be taken now, and its time; NULL: none. */
static struct sampler_ring *ripe_ring(const struct perf_source *source, uint64_t *time_ns)
{
    struct sampler_ring *ring = sampler_merge_first(&source->rings.merge, time_ns);
    if (!ring)
        return NULL;
    if (is_in_the_future(&source->progress, *time_ns)) {
        *time_ns = source->progress.last_ns;
        return ring;
    }
    return *time_ns <= source->progress.horizon_ns ? ring : NULL;
}

struct source_next perf_record_next_time(struct source *opened)
{
    const struct perf_source *source = (const struct perf_source *)opened;
    uint64_t time_ns = source->progress.last_ns;
    if (perf_made_records_wait(&source->following) || ripe_ring(source, &time_ns))
        return (struct source_next){SOURCE_RECORD, time_ns};
    if (!source->progress.stopped)
        return (struct source_next){SOURCE_NOTHING_BEFORE, source->progress.horizon_ns};
    if (!source->end_records_made || perf_made_records_wait(&source->end_records))
        return (struct source_next){SOURCE_RECORD, source->progress.last_ns};
    return (struct source_next){.state = SOURCE_ENDED};
}

static struct model_record *next_made(struct perf_made_records *made)
{
    return &made->items.items[made->next++];
}

int perf_record_take(struct source *opened, struct model_record **record)
{
    struct perf_source *source = (struct perf_source *)opened;
    if (perf_made_records_wait(&source->following)) {
        *record = next_made(&source->following);
        return 0;
    }
    source->following.next = source->following.items.count = 0;
    uint64_t time_ns;
    struct sampler_ring *ring = ripe_ring(source, &time_ns);
    if (ring) {
        *record = &source->record;
        perf_early_copies_lock(&source->programs.early_copies);
        const int result = take_of_rings(source, ring, time_ns);
        perf_early_copies_unlock(&source->programs.early_copies);
        return result;
    }
    if (!source->end_records_made && perf_end_records_make(source))
        return SPROF_ENOMEM;
    if (!perf_made_records_wait(&source->end_records))
        return 1;
    *record = next_made(&source->end_records);
    return 0;
}
