/* pprof's profile.proto, compressed as its readers expect it: one sample for each stack and thread,
 * inlined functions as lines of one location. */
#include "report/export/export.h"
#include "report/export/packing.h"
#include "report/export/places.h"
#include "report/key_text.h"

#include "formats/formats.h"

#include <stdio.h>
#include <zlib.h>

/* Fields of the profile that are written one by one. */
enum { SAMPLE = 2, MAPPING, LOCATION, FUNCTION, STRING };

struct profile {
    struct export_places places;
    struct export_packed packed; /* samples at first: there are many */
    SPROF_VEC(uint64_t) stack;
    bool without_numbers;        /* of processes and threads */
    const enum report_key *keys; /* further labels */
    size_t key_count;
    struct sprof_str value;
};

static int text_of(struct profile *profile, const char *text, int64_t *number)
{
    uint32_t known = 0;
    const int result = report_export_text(&profile->places, text, &known);
    *number = known;
    return result;
}

/* == Samples == */

enum { VALUES = 2, LABELS = 5 + REPORT_KEYS };

static int put_text_label(struct profile *profile, Perftools__Profiles__Sample *sample,
                          const char *name, const char *value)
{
    if (!value || !*value)
        return 0;
    Perftools__Profiles__Label *label = sample->label[sample->n_label++];
    return text_of(profile, name, &label->key) || text_of(profile, value, &label->str)
               ? SPROF_ENOMEM
               : 0;
}

static int put_number_label(struct profile *profile, Perftools__Profiles__Sample *sample,
                            const char *name, int64_t value)
{
    Perftools__Profiles__Label *label = sample->label[sample->n_label++];
    label->num = value;
    return text_of(profile, name, &label->key);
}

/* Thread and process are labels of their own. */
static int put_key_labels(struct profile *profile, Perftools__Profiles__Sample *sample,
                          const struct report_cost *cost)
{
    int result = 0;
    for (size_t i = 0; i < profile->key_count && !result; i++) {
        const enum report_key key = profile->keys[i];
        if (key == REPORT_THREAD || key == REPORT_PROCESS)
            continue;
        sprof_str_clear(&profile->value);
        result = report_key_append(&profile->value, profile->places.dataset, key, cost,
                                   REPORT_KEY_ALONE);
        if (!result)
            result = put_text_label(profile, sample,
                                    key == REPORT_FIELD ? profile->places.dataset->fields.name
                                                        : report_key_word(key),
                                    profile->value.text);
    }
    return result;
}

/* `labels` of the sample are room for LABELS. */
static int put_labels(struct profile *profile, Perftools__Profiles__Sample *sample,
                      const struct report_cost *cost)
{
    const struct report_dataset *dataset = profile->places.dataset;
    const struct report_thread *thread = &dataset->threads.items[cost->thread - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    int result = 0;
    if (!profile->without_numbers)
        result = put_number_label(profile, sample, "pid", process->pid) ||
                 put_number_label(profile, sample, "tid", thread->tid);
    /* Of several processes with this number, one after the other. */
    if (process->bearer && !profile->without_numbers && !result)
        result = put_number_label(profile, sample, "pid_bearer", process->bearer);
    return result || put_text_label(profile, sample, "thread", thread->name) ||
                   put_text_label(profile, sample, "process", process->name) ||
                   put_key_labels(profile, sample, cost)
               ? SPROF_ENOMEM
               : 0;
}

static int put_sample(struct profile *profile, const struct report_cost *cost,
                      struct report_stack *stack)
{
    Perftools__Profiles__Sample message = PERFTOOLS__PROFILES__SAMPLE__INIT;
    Perftools__Profiles__Label labels[LABELS], *list[LABELS];
    int64_t values[VALUES] = {(int64_t)cost->cost.samples, (int64_t)cost->cost.weight};
    int result = report_dataset_stack(profile->places.dataset, cost->node, stack);
    if (!result)
        result = report_export_stack(&profile->places, stack);
    profile->stack.count = 0;
    for (size_t i = 0; i < profile->places.stack.count && !result; i++)
        result = sprof_vec_push(&profile->stack, profile->places.stack.items[i]);
    for (size_t i = 0; i < LABELS; i++) {
        perftools__profiles__label__init(&labels[i]);
        list[i] = &labels[i];
    }
    message.n_location_id = profile->stack.count;
    message.location_id = profile->stack.items;
    message.n_value = VALUES;
    message.value = values;
    message.label = list;
    if (!result)
        result = put_labels(profile, &message, cost);
    return result ? result : report_export_pack(&profile->packed, SAMPLE, &message.base);
}

static int put_samples(struct profile *profile)
{
    struct report_stack stack = {0};
    struct report_dataset *dataset = profile->places.dataset;
    int result = 0;
    while (!result && !(result = report_dataset_next_costs(dataset)))
        for (size_t i = 0; i < dataset->costs.count && !result; i++)
            result = put_sample(profile, &dataset->costs.items[i], &stack);
    sprof_vec_release(&stack.frames);
    return result < 0 ? result : 0;
}

/* == Places == */

/* Readers take the first mapping for the program: the application's with the most addresses. */
static int find_program(const struct export_places *places, size_t *program)
{
    size_t *addresses = calloc(places->mappings.count + 1, sizeof *addresses);
    *program = 0;
    if (!addresses)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < places->locations.count; i++)
        addresses[places->locations.items[i].mapping]++;
    addresses[0] = 0; /* those without a mapping */
    for (size_t i = 0; i < places->dataset->modules.count; i++) {
        const uint32_t id = places->module_ids[i + 1];
        if (places->dataset->modules.items[i].kind == MODEL_KIND_APP &&
            addresses[id] > addresses[*program])
            *program = id;
    }
    free(addresses);
    return 0;
}

static int put_mapping(struct profile *profile, size_t number)
{
    const struct export_mapping *mapping = &profile->places.mappings.items[number - 1];
    Perftools__Profiles__Mapping message = PERFTOOLS__PROFILES__MAPPING__INIT;
    message.id = number;
    message.filename = mapping->file;
    message.build_id = mapping->build_id;
    message.memory_start = mapping->start;
    message.memory_limit = mapping->end;
    message.file_offset = mapping->file_offset;
    message.has_functions = message.has_filenames = message.has_line_numbers =
        message.has_inline_frames = true;
    return report_export_pack(&profile->packed, MAPPING, &message.base);
}

/* The program changes places with the first one. */
static int put_mappings(struct profile *profile)
{
    size_t program;
    int result = find_program(&profile->places, &program);
    for (size_t i = 1; i <= profile->places.mappings.count && !result; i++)
        result = put_mapping(profile, program && i == 1 ? program : i == program ? 1 : i);
    return result;
}

/* `lines` and `list` have room for all that the location has. */
static int put_location(struct profile *profile, size_t number, Perftools__Profiles__Line *lines,
                        Perftools__Profiles__Line **list)
{
    const struct export_location *location = &profile->places.locations.items[number - 1];
    Perftools__Profiles__Location message = PERFTOOLS__PROFILES__LOCATION__INIT;
    for (size_t i = 0; i < location->line_count; i++) {
        const struct export_line *line = &profile->places.lines.items[location->first_line + i];
        perftools__profiles__line__init(&lines[i]);
        lines[i].function_id = line->function;
        lines[i].line = line->line;
        list[i] = &lines[i];
    }
    message.id = number;
    message.mapping_id = location->mapping;
    message.address = location->address;
    message.n_line = location->line_count;
    message.line = list;
    return report_export_pack(&profile->packed, LOCATION, &message.base);
}

static int put_locations(struct profile *profile)
{
    const size_t most = report_export_most_lines(&profile->places);
    Perftools__Profiles__Line *lines = calloc(most + 1, sizeof *lines);
    Perftools__Profiles__Line **list = calloc(most + 1, sizeof *list);
    int result = lines && list ? 0 : SPROF_ENOMEM;
    for (size_t i = 1; i <= profile->places.locations.count && !result; i++)
        result = put_location(profile, i, lines, list);
    free(lines);
    free(list);
    return result;
}

static int put_functions(struct profile *profile)
{
    int result = 0;
    for (size_t i = 0; i < profile->places.functions.count && !result; i++) {
        const struct export_function *function = &profile->places.functions.items[i];
        Perftools__Profiles__Function message = PERFTOOLS__PROFILES__FUNCTION__INIT;
        message.id = i + 1;
        message.name = function->name;
        message.system_name = function->system_name;
        message.filename = function->file;
        message.start_line = function->line;
        result = report_export_pack(&profile->packed, FUNCTION, &message.base);
    }
    return result;
}

/* == The profile == */

static int put_facts(struct profile *profile)
{
    const struct report_dataset *dataset = profile->places.dataset;
    const struct export_measures measures = report_export_measures(dataset);
    Perftools__Profiles__Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType counted = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    Perftools__Profiles__ValueType weighed = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    Perftools__Profiles__ValueType *types[] = {&counted, &weighed};
    int64_t comment = 0;
    if (text_of(profile, measures.counted, &counted.type) ||
        text_of(profile, "count", &counted.unit) ||
        text_of(profile, measures.weighed, &weighed.type) ||
        text_of(profile, measures.unit, &weighed.unit) ||
        text_of(profile, report_export_title(dataset), &comment))
        return SPROF_ENOMEM;
    message.time_nanos = (int64_t)dataset->run.start_realtime_ns;
    message.duration_nanos = (int64_t)dataset->run.duration_ns;
    message.period = (int64_t)dataset->event.period;
    message.n_sample_type = 2;
    message.sample_type = types;
    message.period_type = &weighed;
    message.default_sample_type = weighed.type;
    message.n_comment = 1;
    message.comment = &comment;
    return report_export_pack_fields(&profile->packed, &message.base);
}

static int put_texts(struct profile *profile)
{
    return report_export_pack_texts(&profile->packed, STRING, &profile->places.texts);
}

static int make_profile(struct profile *profile)
{
    int (*const parts[])(struct profile *) = {put_samples,   put_mappings, put_locations,
                                              put_functions, put_facts,    put_texts};
    int result = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !result; i++)
        result = parts[i](profile);
    return result;
}

static int write_compressed(FILE *out, const uint8_t *bytes, size_t size)
{
    enum { GZIP = 16, LEVEL = 6, MEMORY = 8 };
    uint8_t packed[32768];
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)bytes};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return SPROF_ENOMEM;
    size_t left = size;
    do {
        stream.avail_in = left > (1u << 30) ? 1u << 30 : (uInt)left;
        left -= stream.avail_in;
        do {
            stream.next_out = packed;
            stream.avail_out = sizeof packed;
            deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
            fwrite(packed, 1, sizeof packed - stream.avail_out, out);
        } while (!stream.avail_out);
    } while (left);
    deflateEnd(&stream);
    return 0;
}

static int write_profile(FILE *out, const struct report_content *content, bool without_numbers,
                         struct sprof_error *error)
{
    struct profile profile = {
        .without_numbers = without_numbers, .keys = content->keys, .key_count = content->key_count};
    int result = report_export_places_open(&profile.places, content->dataset);
    if (!result)
        result = make_profile(&profile);
    if (!result)
        result = write_compressed(out, profile.packed.bytes.items, profile.packed.bytes.count);
    report_export_places_release(&profile.places);
    sprof_vec_release(&profile.packed.bytes);
    sprof_vec_release(&profile.stack);
    sprof_str_release(&profile.value);
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
