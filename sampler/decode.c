/* Decodes records of perf's format. */
#include "sampler/decode.h"

#include "arch/arch.h"
#include "sampler/compat.h"

#include <assert.h>
#include <string.h>

/* Samples begin: header, identifier, ip, pid and tid, time, cpu, period. */
enum { SAMPLE_TIME = 32, SAMPLE_FIXED = 56 };
/* Other records end: pid and tid, time, cpu, identifier. */
enum { TRAILER_SIZE = 32, TRAILER_TIME = 24 };

/* Values of a call chain from here on are markers (enum perf_callchain_context), not addresses. */
#define CHAIN_MARKERS ((uint64_t)-4095)

uint64_t sampler_decode_time_ns(const struct sampler_ring *ring, uint64_t offset, uint64_t fallback)
{
    struct perf_event_header header;
    if (!sampler_ring_header(ring, offset, &header))
        return fallback;
    const size_t at = header.type == PERF_RECORD_SAMPLE ? SAMPLE_TIME
                      : header.size >= sizeof header + TRAILER_SIZE
                          ? (size_t)header.size - TRAILER_TIME
                          : 0;
    return at && at + 8 <= header.size ? sampler_ring_word(ring, offset + at) : fallback;
}

static size_t stack_pointer_index(void)
{
    size_t i = 0;
    while (arch_perf_registers[i].number != ARCH_SP)
        i++;
    return i;
}

/* == Layouts == */

int sampler_layouts_add(struct sampler_layouts *layouts, struct sampler_layout layout)
{
    for (size_t i = 0; i < layouts->count; i++)
        if (layouts->items[i].has_chain == layout.has_chain &&
            layouts->items[i].has_stack == layout.has_stack &&
            layouts->items[i].has_raw == layout.has_raw)
            return (int)i;
    assert(layouts->count < SAMPLER_LAYOUTS_MAX);
    layouts->items[layouts->count] = layout;
    return (int)layouts->count++;
}

int sampler_layouts_bind(struct sampler_layouts *layouts, uint64_t event_id, int index)
{
    return sprof_map_put(&layouts->by_event, event_id, (uint64_t)index);
}

int sampler_layouts_weigh(struct sampler_layouts *layouts, uint64_t event_id,
                          struct sampler_weight weight)
{
    return sprof_map_put(&layouts->weights, event_id,
                         (uint64_t)weight.offset << 32 | (uint64_t)weight.bytes << 1 |
                             weight.is_signed);
}

void sampler_layouts_release(struct sampler_layouts *layouts)
{
    sprof_map_release(&layouts->by_event);
    sprof_map_release(&layouts->weights);
    *layouts = (struct sampler_layouts){0};
}

static struct sampler_layout layout_of(const struct sampler_layouts *layouts, uint64_t event_id)
{
    const uint64_t *index = layouts->count > 1 ? sprof_map_get(&layouts->by_event, event_id) : NULL;
    return layouts->items[index ? *index : 0];
}

/* == Samples == */

bool sampler_decode_peek_stack(const struct sampler_layouts *layouts,
                               const struct sampler_ring *ring, uint64_t offset,
                               struct sampler_stack *stack)
{
    struct perf_event_header header;
    if (!sampler_ring_header(ring, offset, &header) || header.type != PERF_RECORD_SAMPLE ||
        header.size < SAMPLE_FIXED)
        return false;
    const struct sampler_layout layout =
        layout_of(layouts, sampler_ring_word(ring, offset + sizeof header));
    if (!layout.has_stack)
        return false;
    const size_t size = header.size;
    size_t at = SAMPLE_FIXED;
    if (layout.has_chain && at + 8 <= size) {
        const uint64_t count = sampler_ring_word(ring, offset + at);
        at += count < size / 8 ? 8 + (size_t)count * 8 : size;
    }
    if (layout.has_raw && at + 8 <= size)
        at += 4 + (size_t)(uint32_t)sampler_ring_word(ring, offset + at);
    const size_t end_of_registers = at + 8 + ARCH_REGISTERS * 8;
    if (end_of_registers + 16 > size ||
        sampler_ring_word(ring, offset + at) != PERF_SAMPLE_REGS_ABI_64)
        return false;
    const uint64_t ids = sampler_ring_word(ring, offset + SAMPLE_TIME - 8);
    *stack = (struct sampler_stack){
        .pid = (pid_t)(uint32_t)ids,
        .tid = (pid_t)(ids >> 32),
        .cpu = (int)(uint32_t)sampler_ring_word(ring, offset + SAMPLE_TIME + 8),
        .time_ns = sampler_ring_word(ring, offset + SAMPLE_TIME),
        .pointer = sampler_ring_word(ring, offset + at + 8 + stack_pointer_index() * 8),
        .asked = sampler_ring_word(ring, offset + end_of_registers),
    };
    if (!stack->asked || stack->asked > size - end_of_registers - 16)
        return false;
    stack->captured = sampler_ring_word(ring, offset + end_of_registers + 8 + stack->asked);
    return stack->captured <= stack->asked;
}

/* The chain holds kernel addresses only, but between markers, and the kernel may have cut it. */
static bool decode_chain(struct sprof_reader *reader, struct model_sample *sample)
{
    const uint64_t count = sprof_reader_u64(reader);
    if (reader->failed || count > sprof_reader_left(reader) / 8)
        return false;
    const uint64_t *chain = (const void *)sprof_reader_take(reader, (size_t)count * 8);
    size_t first = 0, end;
    while (first < count && chain[first] >= CHAIN_MARKERS)
        first++;
    for (end = first; end < count && chain[end] < CHAIN_MARKERS;)
        end++;
    const bool is_kernel = first > 0 && chain[first - 1] == (uint64_t)PERF_CONTEXT_KERNEL;
    sample->kernel_chain = chain + first;
    sample->kernel_chain_count = is_kernel ? end - first : 0;
    return true;
}

static uint64_t number_at(const uint8_t *bytes, size_t size, bool is_signed)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size); /* both architectures are little endian */
    const bool is_negative = is_signed && value >> (8 * size - 1);
    return is_negative ? 0 : value;
}

/* A size of 32 bits, and so many bytes: together a multiple of eight. */
static bool decode_raw(const struct sampler_layouts *layouts, uint64_t event_id,
                       struct sprof_reader *reader, struct model_sample *sample)
{
    const uint32_t size = sprof_reader_u32(reader);
    if (reader->failed || size > sprof_reader_left(reader))
        return false;
    const uint8_t *bytes = sprof_reader_take(reader, size);
    const uint64_t *packed = sprof_map_get(&layouts->weights, event_id);
    const size_t offset = packed ? *packed >> 32 : 0, length = packed ? (uint32_t)*packed >> 1 : 0;
    if (length && offset + length <= size)
        sample->weight *= number_at(bytes + offset, length, *packed & 1);
    size_t used = size; /* events that write nothing have padding here */
    while (used && !bytes[used - 1])
        used--;
    sample->fields = (struct sprof_bytes){bytes, used};
    return !reader->failed;
}

_Static_assert((int)ARCH_REGISTERS <= (int)MODEL_REGISTERS_MAX,
               "a sample has room for all registers");

static bool decode_registers(struct sprof_reader *reader, struct model_sample *sample)
{
    const uint64_t abi = sprof_reader_u64(reader);
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return !reader->failed;
    sample->register_count = ARCH_REGISTERS;
    sample->is_32bit = abi == PERF_SAMPLE_REGS_ABI_32;
    for (size_t i = 0; i < ARCH_REGISTERS; i++)
        sample->registers[arch_perf_registers[i].number] = sprof_reader_u64(reader);
    return !reader->failed;
}

static bool decode_stack(struct sprof_reader *reader, struct model_sample *sample)
{
    const uint64_t size = sprof_reader_u64(reader);
    if (!size)
        return !reader->failed;
    if (size > sprof_reader_left(reader))
        return false;
    sample->stack = sprof_reader_take(reader, (size_t)size);
    const uint64_t captured = sprof_reader_u64(reader);
    if (reader->failed || captured > size)
        return false;
    sample->stack_size = (size_t)captured;
    sample->stack_full = captured == size;
    return true;
}

static bool decode_sample(const struct sampler_layouts *layouts,
                          const struct perf_event_header *header, struct sprof_reader *reader,
                          struct model_record *record, uint64_t *event_id)
{
    if (sprof_reader_left(reader) < SAMPLE_FIXED - sizeof *header)
        return false;
    struct model_sample *sample = &record->sample;
    *event_id = sprof_reader_u64(reader);
    sample->ip = sprof_reader_u64(reader);
    record->pid = (pid_t)sprof_reader_u32(reader);
    record->tid = (pid_t)sprof_reader_u32(reader);
    record->time_ns = sprof_reader_u64(reader);
    record->cpu = (int)sprof_reader_u32(reader);
    sprof_reader_u32(reader);
    sample->weight = sprof_reader_u64(reader);
    sample->in_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    const struct sampler_layout layout = layout_of(layouts, *event_id);
    return (!layout.has_chain || decode_chain(reader, sample)) &&
           (!layout.has_raw || decode_raw(layouts, *event_id, reader, sample)) &&
           (!layout.has_stack ||
            (decode_registers(reader, sample) && decode_stack(reader, sample)));
}

static bool decode_build_id(struct sprof_reader *reader, struct model_mmap *mapping)
{
    const uint8_t size = sprof_reader_u8(reader);
    sprof_reader_take(reader, 3);
    const uint8_t *bytes = sprof_reader_take(reader, sizeof mapping->file.build_id);
    if (!bytes || size > sizeof mapping->file.build_id)
        return false;
    memcpy(mapping->file.build_id, bytes, size);
    mapping->file.build_id_size = size;
    return true;
}

static bool decode_mmap2(const struct perf_event_header *header, struct sprof_reader *reader,
                         struct model_record *record)
{
    struct model_mmap *mapping = &record->mapping;
    sprof_reader_u64(reader); /* pid and tid, also in the trailer; taken from there */
    mapping->address = sprof_reader_u64(reader);
    mapping->size = sprof_reader_u64(reader);
    mapping->file_offset = sprof_reader_u64(reader);
    if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        if (!decode_build_id(reader, mapping))
            return false;
    } else {
        mapping->file.device_major = sprof_reader_u32(reader);
        mapping->file.device_minor = sprof_reader_u32(reader);
        mapping->file.inode = sprof_reader_u64(reader);
        mapping->file.inode_generation = sprof_reader_u64(reader);
    }
    sprof_reader_u64(reader); /* protection and flags: only executable mappings are asked for */
    mapping->file.path = sprof_reader_text(reader);
    return !reader->failed && mapping->file.path;
}

/* A thread may name another one: the record says which; its trailer is of the one that wrote it. */
static bool decode_comm(const struct perf_event_header *header, struct sprof_reader *reader,
                        struct model_record *record)
{
    record->pid = (pid_t)sprof_reader_u32(reader);
    record->tid = (pid_t)sprof_reader_u32(reader);
    record->comm.exec = header->misc & PERF_RECORD_MISC_COMM_EXEC;
    record->comm.name = sprof_reader_text(reader);
    return !reader->failed && record->comm.name;
}

/* FORK and EXIT speak of a thread that is not the one that writes the record: no trailer. */
static bool decode_task(const struct perf_event_header *header, struct sprof_reader *reader,
                        struct model_record *record)
{
    record->pid = (pid_t)sprof_reader_u32(reader);
    const pid_t parent_pid = (pid_t)sprof_reader_u32(reader);
    record->tid = (pid_t)sprof_reader_u32(reader);
    const pid_t parent_tid = (pid_t)sprof_reader_u32(reader);
    sprof_reader_u64(reader); /* the time, also in the trailer */
    if (header->type == PERF_RECORD_FORK) {
        record->fork.parent_pid = parent_pid;
        record->fork.parent_tid = parent_tid;
    }
    return !reader->failed;
}

static bool decode_read(const struct perf_event_header *header, struct sprof_reader *reader,
                        struct model_record *record)
{
    (void)header;
    record->pid = (pid_t)sprof_reader_u32(reader);
    record->tid = (pid_t)sprof_reader_u32(reader);
    record->cpu_time.cpu_time_ns = sprof_reader_u64(reader);
    return !reader->failed;
}

static bool decode_lost(const struct perf_event_header *header, struct sprof_reader *reader,
                        struct model_record *record)
{
    if (header->type == PERF_RECORD_LOST)
        sprof_reader_u64(reader);   /* the event's identifier */
    record->pid = record->tid = -1; /* the trailer names the next writer, not the one that lost */
    record->lost.count = sprof_reader_u64(reader);
    record->lost.since_ns = 0;
    record->lost.of_ring = header->type == PERF_RECORD_LOST;
    return !reader->failed;
}

static bool decode_throttle(const struct perf_event_header *header, struct sprof_reader *reader,
                            struct model_record *record)
{
    (void)reader;
    record->throttle.on = header->type == PERF_RECORD_THROTTLE;
    return true;
}

/* On whole CPUs it also names the other thread of the switch. */
static bool decode_switch(const struct perf_event_header *header, struct sprof_reader *reader,
                          struct model_record *record)
{
    (void)reader;
    record->switches.leaves = header->misc & PERF_RECORD_MISC_SWITCH_OUT;
    record->switches.is_ready = header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    return true;
}

static const struct {
    enum model_record_type type;
    bool (*decode)(const struct perf_event_header *header, struct sprof_reader *reader,
                   struct model_record *record);
} types[] = {
    [PERF_RECORD_MMAP2] = {MODEL_RECORD_MMAP, decode_mmap2},
    [PERF_RECORD_COMM] = {MODEL_RECORD_COMM, decode_comm},
    [PERF_RECORD_FORK] = {MODEL_RECORD_FORK, decode_task},
    [PERF_RECORD_EXIT] = {MODEL_RECORD_EXIT, decode_task},
    [PERF_RECORD_READ] = {MODEL_RECORD_CPU_TIME, decode_read},
    [PERF_RECORD_LOST] = {MODEL_RECORD_LOST, decode_lost},
    [PERF_RECORD_LOST_SAMPLES] = {MODEL_RECORD_LOST, decode_lost},
    [PERF_RECORD_THROTTLE] = {MODEL_RECORD_THROTTLE, decode_throttle},
    [PERF_RECORD_UNTHROTTLE] = {MODEL_RECORD_THROTTLE, decode_throttle},
    [PERF_RECORD_SWITCH] = {MODEL_RECORD_SWITCH, decode_switch},
    [PERF_RECORD_SWITCH_CPU_WIDE] = {MODEL_RECORD_SWITCH, decode_switch},
};

static void decode_trailer(const uint8_t *end, struct model_record *record, uint64_t *event_id)
{
    const uint8_t *trailer = end - TRAILER_SIZE;
    struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){trailer, TRAILER_SIZE});
    record->pid = (pid_t)sprof_reader_u32(&reader);
    record->tid = (pid_t)sprof_reader_u32(&reader);
    record->time_ns = sprof_reader_u64(&reader);
    record->cpu = (int)sprof_reader_u32(&reader);
    sprof_reader_u32(&reader);
    *event_id = sprof_reader_u64(&reader);
}

enum sampler_decoded sampler_decode_record(const struct sampler_layouts *layouts,
                                           const struct perf_event_header *header,
                                           struct model_record *record, uint64_t *event_id)
{
    *record = (struct model_record){.cpu = -1};
    *event_id = 0;
    const uint8_t *body = (const uint8_t *)(header + 1);
    size_t size = header->size - sizeof *header;
    const bool is_sample = header->type == PERF_RECORD_SAMPLE;
    if (!is_sample && (header->type >= sizeof types / sizeof *types || !types[header->type].decode))
        return SAMPLER_DECODED_SKIP;
    if (!is_sample && size < TRAILER_SIZE)
        return SAMPLER_DECODED_MALFORMED;
    if (!is_sample) {
        size -= TRAILER_SIZE;
        decode_trailer(body + size + TRAILER_SIZE, record, event_id);
        record->type = types[header->type].type;
    }
    struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){body, size});
    const bool good = is_sample ? decode_sample(layouts, header, &reader, record, event_id)
                                : types[header->type].decode(header, &reader, record);
    return good ? SAMPLER_DECODED_RECORD : SAMPLER_DECODED_MALFORMED;
}
