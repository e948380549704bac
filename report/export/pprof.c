/* pprof's profile.proto, compressed as its readers expect it: one sample for each stack and thread,
 * inlined functions as lines of one location. */
#include "report/export/export.h"

#include "formats/formats.h"
#include "report/quality.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

struct profile {
    struct report_dataset *dataset; /* its arena holds all other messages */
    SPROF_VEC(char *) strings;
    struct sprof_map string_indexes; /* hash of a text → index */
    SPROF_VEC(uint8_t) samples;      /* packed, as fields of the profile: there are many */
    SPROF_VEC(Perftools__Profiles__Location *) locations;
    SPROF_VEC(Perftools__Profiles__Function *) functions;
    SPROF_VEC(Perftools__Profiles__Mapping *) mappings;
    uint32_t *function_ids, *module_ids; /* [number] → id; 0: not needed yet */
    struct sprof_map location_ids;       /* first and last frame → id */
    SPROF_VEC(uint64_t) stack;           /* location ids of the stack at hand */
    bool without_numbers;                /* of processes and threads */
    bool failed;
};

static void *take(struct profile *profile, size_t size)
{
    void *memory = sprof_arena_alloc(&profile->dataset->arena, size);
    profile->failed = profile->failed || !memory;
    return memory;
}

/* The index of a text; that of "" is 0. */
static int64_t string_of(struct profile *profile, const char *text)
{
    const uint64_t key = text ? sprof_hash_text(text) : 0;
    const uint64_t *known = text ? sprof_map_get(&profile->string_indexes, key) : NULL;
    if (!text || !*text)
        return 0;
    if (known)
        return (int64_t)*known;
    if (sprof_vec_push(&profile->strings, (char *)(uintptr_t)text) ||
        sprof_map_put(&profile->string_indexes, key, profile->strings.count - 1))
        profile->failed = true;
    return (int64_t)profile->strings.count - 1;
}

static uint64_t function_of(struct profile *profile, uint32_t number)
{
    const struct report_function *function = &profile->dataset->functions.items[number - 1];
    if (profile->function_ids[number])
        return profile->function_ids[number];
    Perftools__Profiles__Function *message = take(profile, sizeof *message);
    if (!message || sprof_vec_push(&profile->functions, message))
        return profile->failed = true, 0;
    perftools__profiles__function__init(message);
    message->id = profile->functions.count;
    message->name = string_of(profile, function->name);
    message->system_name =
        string_of(profile, function->linkage_name ? function->linkage_name : function->name);
    message->filename = string_of(profile, function->file);
    message->start_line = function->line;
    profile->function_ids[number] = (uint32_t)message->id;
    return message->id;
}

/* The first place where a module was mapped: addresses of one module are told as if it had been
 * there in every process. NULL: nowhere. */
static const struct report_mapping *place_of(const struct report_dataset *dataset, uint32_t module,
                                             uint64_t file_offset)
{
    for (size_t i = 0; i < dataset->mappings.count; i++) {
        const struct report_mapping *mapping = &dataset->mappings.items[i];
        if (mapping->module == module && file_offset - mapping->file_offset < mapping->size)
            return mapping;
    }
    return NULL;
}

static uint64_t mapping_of(struct profile *profile, uint32_t number, uint64_t file_offset)
{
    const struct report_module *module = &profile->dataset->modules.items[number - 1];
    if (profile->module_ids[number])
        return profile->module_ids[number];
    const struct report_mapping *place = place_of(profile->dataset, number, file_offset);
    Perftools__Profiles__Mapping *message = take(profile, sizeof *message);
    if (!message || sprof_vec_push(&profile->mappings, message))
        return profile->failed = true, 0;
    perftools__profiles__mapping__init(message);
    message->id = profile->mappings.count;
    message->filename = string_of(profile, *module->path ? module->path : module->name);
    message->build_id = string_of(profile, module->build_id);
    if (place) {
        message->memory_start = place->start;
        message->memory_limit = place->start + place->size;
        message->file_offset = place->file_offset;
    }
    message->has_functions = message->has_filenames = message->has_line_numbers =
        message->has_inline_frames = true;
    profile->module_ids[number] = (uint32_t)message->id;
    return message->id;
}

static int put_lines(struct profile *profile, Perftools__Profiles__Location *location,
                     const uint32_t *frames, size_t count)
{
    location->line = take(profile, count * sizeof(void *));
    Perftools__Profiles__Line *lines = take(profile, count * sizeof *lines);
    if (profile->failed)
        return SPROF_ENOMEM;
    location->n_line = count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t function = report_dataset_frame_function(profile->dataset, frames[i]);
        if (!function)
            return SPROF_EFORMAT;
        perftools__profiles__line__init(&lines[i]);
        lines[i].function_id = function_of(profile, function);
        lines[i].line = frames[i] ? profile->dataset->frames.items[frames[i] - 1].line : 0;
        location->line[i] = &lines[i];
    }
    return 0;
}

/* The location of an address: `frames` are the functions there, innermost first. */
static int location_of(struct profile *profile, const uint32_t *frames, size_t count, uint64_t *id)
{
    const uint64_t key = (uint64_t)frames[0] << 32 | frames[count - 1];
    const uint64_t *known = sprof_map_get(&profile->location_ids, key);
    if (known) {
        *id = *known;
        return 0;
    }
    Perftools__Profiles__Location *message = take(profile, sizeof *message);
    if (!message || sprof_vec_push(&profile->locations, message))
        return SPROF_ENOMEM;
    perftools__profiles__location__init(message);
    *id = message->id = profile->locations.count;
    if (frames[0]) {
        const struct report_frame *frame = &profile->dataset->frames.items[frames[0] - 1];
        const struct report_mapping *place =
            place_of(profile->dataset, frame->module, frame->file_offset);
        message->mapping_id = mapping_of(profile, frame->module, frame->file_offset);
        message->address =
            place ? place->start + (frame->file_offset - place->file_offset) : frame->file_offset;
    }
    const int result = put_lines(profile, message, frames, count);
    return result ? result : sprof_map_put(&profile->location_ids, key, *id);
}

/* Functions inlined at an address follow each other with growing depth. */
static int stack_of(struct profile *profile, const struct report_stack *stack)
{
    const uint32_t *frames = stack->frames.items;
    profile->stack.count = 0;
    for (size_t i = 0, next; i < stack->frames.count; i = next) {
        uint64_t id = 0;
        for (next = i + 1; next < stack->frames.count && frames[next]; next++)
            if (!profile->dataset->frames.items[frames[next] - 1].inline_depth)
                break;
        const int result = location_of(profile, &frames[i], next - i, &id);
        if (result || sprof_vec_push(&profile->stack, id))
            return result ? result : SPROF_ENOMEM;
    }
    return 0;
}

enum { VALUES = 2, LABELS = 5 };

static void put_labels(struct profile *profile, Perftools__Profiles__Sample *sample,
                       Perftools__Profiles__Label *labels, uint32_t number)
{
    const struct report_dataset *dataset = profile->dataset;
    const struct report_thread *thread = &dataset->threads.items[number - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    for (size_t i = 0; i < LABELS; i++) {
        perftools__profiles__label__init(&labels[i]);
        sample->label[i] = &labels[i];
    }
    if (!profile->without_numbers) {
        labels[0].key = string_of(profile, "pid");
        labels[0].num = process->pid;
        labels[1].key = string_of(profile, "tid");
        labels[1].num = thread->tid;
        sample->n_label = 2;
    }
    if (process->bearer &&
        !profile
             ->without_numbers) { /* of several processes with this number, one after the other */
        labels[2].key = string_of(profile, "pid_bearer");
        labels[2].num = process->bearer;
        sample->n_label = 3;
    }
    const char *const names[] = {"thread", "process"};
    const char *const values[] = {thread->name, process->name};
    for (size_t i = 0; i < 2; i++)
        if (values[i] && *values[i]) {
            labels[sample->n_label].key = string_of(profile, names[i]);
            labels[sample->n_label++].str = string_of(profile, values[i]);
        }
}

/* A field of the profile: its tag (number 2, with a length), the length, the message. Fields may
 * stand in any order, and repeated ones apart. */
static int pack_sample(struct profile *profile, const Perftools__Profiles__Sample *message)
{
    enum { TAG = 2 << 3 | 2, LARGEST_HEAD = 11 };
    size_t size = perftools__profiles__sample__get_packed_size(message);
    const size_t packed = size;
    if (sprof_vec_reserve(&profile->samples, profile->samples.count + size + LARGEST_HEAD))
        return SPROF_ENOMEM;
    profile->samples.items[profile->samples.count++] = TAG;
    do {
        profile->samples.items[profile->samples.count++] =
            (uint8_t)((size & 127) | (size > 127 ? 128 : 0));
        size >>= 7;
    } while (size);
    perftools__profiles__sample__pack(message, profile->samples.items + profile->samples.count);
    profile->samples.count += packed;
    return 0;
}

static int put_sample(struct profile *profile, const struct report_cost *cost,
                      struct report_stack *stack)
{
    Perftools__Profiles__Sample message = PERFTOOLS__PROFILES__SAMPLE__INIT;
    Perftools__Profiles__Label labels[LABELS], *list[LABELS];
    int64_t values[VALUES] = {(int64_t)cost->cost.samples, (int64_t)cost->cost.weight};
    int result = report_dataset_stack(profile->dataset, cost->node, stack);
    if (!result)
        result = stack_of(profile, stack);
    if (result)
        return result;
    message.n_location_id = profile->stack.count;
    message.location_id = profile->stack.items;
    message.n_value = VALUES;
    message.value = values;
    message.label = list;
    put_labels(profile, &message, labels, cost->thread);
    return profile->failed ? SPROF_ENOMEM : pack_sample(profile, &message);
}

/* Readers take the first mapping for the program: the application's with the most addresses. */
static int put_program_first(struct profile *profile)
{
    const struct report_dataset *dataset = profile->dataset;
    size_t best = 0, *addresses = calloc(profile->mappings.count + 1, sizeof *addresses);
    if (!addresses)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < profile->locations.count; i++)
        addresses[profile->locations.items[i]->mapping_id]++;
    addresses[0] = 0; /* those without a mapping */
    for (size_t i = 0; i < dataset->modules.count; i++) {
        const uint32_t id = profile->module_ids[i + 1];
        if (dataset->modules.items[i].kind == MODEL_KIND_APP && addresses[id] > addresses[best])
            best = id;
    }
    free(addresses);
    if (best) {
        Perftools__Profiles__Mapping *program = profile->mappings.items[best - 1];
        profile->mappings.items[best - 1] = profile->mappings.items[0];
        profile->mappings.items[0] = program;
    }
    return 0;
}

static int collect(struct profile *profile)
{
    struct report_stack stack = {0};
    const struct report_dataset *dataset = profile->dataset;
    int result = sprof_vec_push(&profile->strings, (char *)(uintptr_t) "");
    for (size_t i = 0; i < dataset->costs.count && !result; i++)
        result = put_sample(profile, &dataset->costs.items[i], &stack);
    sprof_vec_release(&stack.frames);
    if (!result)
        result = put_program_first(profile);
    return profile->failed ? SPROF_ENOMEM : result;
}

/* == Writing == */

static void compress_to(FILE *out, z_stream *stream, uint8_t *bytes, size_t size, bool last)
{
    uint8_t packed[32768];
    stream->next_in = bytes;
    do {
        const size_t left = size - (size_t)(stream->next_in - bytes);
        stream->avail_in = left > (1u << 30) ? 1u << 30 : (uInt)left;
        do {
            stream->next_out = packed;
            stream->avail_out = sizeof packed;
            deflate(stream, last && left <= 1u << 30 ? Z_FINISH : Z_NO_FLUSH);
            fwrite(packed, 1, sizeof packed - stream->avail_out, out);
        } while (!stream->avail_out);
    } while ((size_t)(stream->next_in - bytes) < size);
}

static int write_message(FILE *out, struct profile *profile)
{
    const struct report_dataset *dataset = profile->dataset;
    Perftools__Profiles__Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
    message.n_mapping = profile->mappings.count;
    message.mapping = profile->mappings.items;
    message.n_location = profile->locations.count;
    message.location = profile->locations.items;
    message.n_function = profile->functions.count;
    message.function = profile->functions.items;
    message.time_nanos = (int64_t)dataset->run.start_realtime_ns;
    message.duration_nanos = (int64_t)dataset->run.duration_ns;
    message.period = (int64_t)dataset->event.period;
    /* The texts of types come last, when all others are in their places. */
    const char *unit = dataset->event.is_clock ? "nanoseconds" : "count";
    const bool calls = report_counts_calls(dataset);
    const char *kind = !dataset->event.is_clock                        ? dataset->event.name
                       : calls || report_quality_sees_waiting(dataset) ? "wall"
                                                                       : "cpu";
    Perftools__Profiles__ValueType counted = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    Perftools__Profiles__ValueType weighed = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    counted.type = string_of(profile, calls ? "calls" : "samples");
    counted.unit = string_of(profile, "count");
    weighed.type = string_of(profile, kind ? kind : "weight");
    weighed.unit = string_of(profile, unit);
    Perftools__Profiles__ValueType *types[] = {&counted, &weighed};
    int64_t comment = string_of(profile, report_export_title(dataset));
    message.n_sample_type = 2;
    message.sample_type = types;
    message.period_type = &weighed;
    message.default_sample_type = weighed.type;
    message.n_comment = 1;
    message.comment = &comment;
    message.n_string_table = profile->strings.count;
    message.string_table = profile->strings.items;
    const size_t size = perftools__profiles__profile__get_packed_size(&message);
    uint8_t *bytes = profile->failed ? NULL : malloc(size + 1);
    if (!bytes)
        return SPROF_ENOMEM;
    perftools__profiles__profile__pack(&message, bytes);
    enum { GZIP = 16 };
    z_stream stream = {0};
    const int state = deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY);
    if (state == Z_OK) {
        compress_to(out, &stream, profile->samples.items, profile->samples.count, false);
        compress_to(out, &stream, bytes, size, true);
        deflateEnd(&stream);
    }
    free(bytes);
    return state == Z_OK ? 0 : SPROF_ENOMEM;
}

static int write_profile(FILE *out, const struct report_content *content, bool without_numbers,
                         struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    struct profile profile = {
        .dataset = dataset,
        .without_numbers = without_numbers,
        .function_ids = calloc(dataset->functions.count + 1, sizeof(uint32_t)),
        .module_ids = calloc(dataset->modules.count + 1, sizeof(uint32_t)),
    };
    int result = profile.function_ids && profile.module_ids ? collect(&profile) : SPROF_ENOMEM;
    if (!result)
        result = write_message(out, &profile);
    free(profile.function_ids);
    free(profile.module_ids);
    sprof_vec_release(&profile.strings);
    sprof_vec_release(&profile.samples);
    sprof_vec_release(&profile.locations);
    sprof_vec_release(&profile.functions);
    sprof_vec_release(&profile.mappings);
    sprof_vec_release(&profile.stack);
    sprof_map_release(&profile.string_indexes);
    sprof_map_release(&profile.location_ids);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int report_pprof_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    return write_profile(out, content, false, error);
}

/* Stores of profiles make a series of each process and thread number that they meet. */
static int write_without_numbers(FILE *out, const struct report_content *content,
                                 struct sprof_error *error)
{
    return write_profile(out, content, true, error);
}

const struct report_format report_format_of_series = {
    .name = "pprof",
    .extension = ".pb.gz",
    .kinds = REPORT_PROFILE,
    .write = write_without_numbers,
};
