/* Reads pprof's profile.proto (github.com/google/pprof, package perftools.profiles).
 *
 * A profile has a value for each of its types. A type that is counted ("samples/count") belongs to
 * the one behind it ("cpu/nanoseconds"): together they are an event, with so many samples of so
 * much weight. A type alone is an event whose samples are what it counts, or one for each stack. */
#include "import/parts.h"

#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

typedef Perftools__Profiles__Profile profile_message;
typedef Perftools__Profiles__Sample sample_message;
typedef Perftools__Profiles__Location location_message;
typedef Perftools__Profiles__Mapping mapping_message;

static const size_t most_memory = (size_t)2 << 30;

/* Where an event's numbers stand among a sample's values; -1: nowhere. */
struct value_columns {
    int samples, weight;
    uint64_t scale; /* nanoseconds, or units, in one of what is written */
    uint32_t event;
};

/* An address of the profile, once it was used. */
struct pprof_place {
    uint32_t number; /* 0: not used yet */
    struct import_module module;
};

struct reader {
    struct import *import;
    const profile_message *profile;
    struct sprof_map locations, mappings, functions; /* id → position */
    struct pprof_place *places;                      /* by position of the location */
    SPROF_VEC(struct value_columns) columns;
    SPROF_VEC(struct recording_level) levels;
    uint8_t (*build_ids)[SPROF_BUILD_ID_MAX]; /* by position of the mapping */
};

static int damaged(const struct reader *reader, struct sprof_error *error, const char *what)
{
    return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is a damaged pprof profile: %s",
                           reader->import->name, what);
}

/* The text of an index; NULL for the empty one, and where there is none. */
static const char *text_of(const struct reader *reader, int64_t index)
{
    const profile_message *profile = reader->profile;
    if (index <= 0 || (uint64_t)index >= profile->n_string_table)
        return NULL;
    const char *text = profile->string_table[index];
    return text && *text ? text : NULL;
}

/* == Indexes == */

static int make_indexes(struct reader *reader, struct sprof_error *error)
{
    const profile_message *profile = reader->profile;
    for (size_t i = 0; i < profile->n_location; i++) {
        const uint64_t id = profile->location[i]->id;
        if (!id || sprof_map_get(&reader->locations, id))
            return damaged(reader, error, "a location's number is missing or comes twice");
        if (sprof_map_put(&reader->locations, id, i))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < profile->n_mapping; i++) {
        const uint64_t id = profile->mapping[i]->id;
        if (!id || sprof_map_get(&reader->mappings, id))
            return damaged(reader, error, "a mapping's number is missing or comes twice");
        if (sprof_map_put(&reader->mappings, id, i))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < profile->n_function; i++) {
        const uint64_t id = profile->function[i]->id;
        if (!id || sprof_map_get(&reader->functions, id))
            return damaged(reader, error, "a function's number is missing or comes twice");
        if (sprof_map_put(&reader->functions, id, i))
            return SPROF_ENOMEM;
    }
    reader->places = calloc(profile->n_location + 1, sizeof *reader->places);
    reader->build_ids = calloc(profile->n_mapping + 1, sizeof *reader->build_ids);
    return reader->places && reader->build_ids ? 0 : SPROF_ENOMEM;
}

/* == Events == */

static uint64_t nanoseconds_in(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t nanoseconds;
    } units[] = {{"nanoseconds", 1},
                 {"microseconds", 1000},
                 {"milliseconds", 1000000},
                 {"seconds", 1000000000},
                 {"ns", 1},
                 {"us", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000}};
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name))
            return units[i].nanoseconds;
    return 0;
}

static bool is_count(const struct reader *reader, size_t type)
{
    const char *unit = text_of(reader, reader->profile->sample_type[type]->unit);
    return unit && strcmp(unit, "count") == 0;
}

/* Whether a type counts the samples of the next. */
static bool is_pair(const struct reader *reader, size_t type)
{
    const Perftools__Profiles__ValueType *const *types =
        (const Perftools__Profiles__ValueType *const *)&reader->profile->sample_type[type];
    return is_count(reader, type) &&
           (!is_count(reader, type + 1) || types[0]->type == types[1]->type);
}

static int add_event(struct reader *reader, int samples, int weight, struct sprof_error *error)
{
    const Perftools__Profiles__ValueType *type = reader->profile->sample_type[weight];
    const char *name = text_of(reader, type->type);
    const uint64_t nanoseconds = nanoseconds_in(text_of(reader, type->unit));
    struct value_columns columns = {samples, weight, nanoseconds ? nanoseconds : 1, 0};
    if (import_event(reader->import, name ? name : "samples", nanoseconds > 0, &columns.event))
        return SPROF_ENOMEM;
    if (columns.event < reader->columns.count)
        return damaged(reader, error, "two types of its samples have one name");
    return sprof_vec_push(&reader->columns, columns);
}

/* The event that the profile shows by itself comes first: reports do the same with it. */
static int make_events(struct reader *reader, struct sprof_error *error)
{
    const profile_message *profile = reader->profile;
    const int count = (int)profile->n_sample_type;
    if (!count)
        return damaged(reader, error, "it does not say what its samples are of");
    if (profile->n_sample_type > 64)
        return damaged(reader, error, "it has more than 64 types of samples");
    const char *shown = text_of(reader, profile->default_sample_type);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            const bool paired = i + 1 < count && is_pair(reader, (size_t)i);
            const int weight = i + paired;
            const char *name = text_of(reader, profile->sample_type[weight]->type);
            const bool first = shown ? name && !strcmp(name, shown) : weight == count - 1;
            const int samples = paired || is_count(reader, (size_t)i) ? i : -1;
            const int result = first == !pass ? add_event(reader, samples, weight, error) : 0;
            if (result)
                return result;
            i = weight;
        }
    return 0;
}

/* == Addresses == */

/* Build ids are written in hexadecimal; what is not is left out. */
static struct sprof_bytes build_id_of(struct reader *reader, size_t mapping)
{
    const char *text = text_of(reader, reader->profile->mapping[mapping]->build_id);
    uint8_t *bytes = reader->build_ids[mapping];
    const size_t length = text ? strlen(text) : 0;
    if (!length || length % 2 || length / 2 > SPROF_BUILD_ID_MAX ||
        strspn(text, "0123456789abcdefABCDEF") != length)
        return (struct sprof_bytes){0};
    for (size_t i = 0; i < length / 2; i++) {
        const char digits[] = {text[2 * i], text[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return (struct sprof_bytes){bytes, length / 2};
}

/* What of an address is its own: where it was in the file, as far as that is known. */
static uint64_t offset_of(const location_message *location, const mapping_message *mapping)
{
    if (mapping && location->address >= mapping->memory_start &&
        location->address < mapping->memory_limit)
        return location->address - mapping->memory_start + mapping->file_offset;
    return location->address;
}

static int take_levels(struct reader *reader, const location_message *location,
                       struct sprof_error *error)
{
    reader->levels.count = 0;
    for (size_t i = 0; i < location->n_line; i++) {
        const Perftools__Profiles__Line *line = location->line[i];
        const uint64_t *position = sprof_map_get(&reader->functions, line->function_id);
        if (line->function_id && !position)
            return damaged(reader, error, "a line is of a function that is missing");
        struct recording_level level = {0};
        if (position) {
            const Perftools__Profiles__Function *function = reader->profile->function[*position];
            level.name = text_of(reader, function->name);
            level.linkage_name = text_of(reader, function->system_name);
            level.declared_file = text_of(reader, function->filename);
            if (function->start_line > 0 && function->start_line <= UINT32_MAX)
                level.declared_line = (uint32_t)function->start_line;
            level.name = level.name ? level.name : level.linkage_name;
        }
        if (line->line > 0 && line->line <= UINT32_MAX && level.declared_file) {
            level.file = level.declared_file;
            level.line = (uint32_t)line->line;
        }
        if (sprof_vec_push(&reader->levels, level))
            return SPROF_ENOMEM;
    }
    return reader->levels.count ? 0 : sprof_vec_push(&reader->levels, (struct recording_level){0});
}

static int place_of(struct reader *reader, uint64_t id, struct pprof_place **place,
                    struct sprof_error *error)
{
    const uint64_t *position = sprof_map_get(&reader->locations, id);
    if (!position)
        return damaged(reader, error, "a sample is of a location that is missing");
    *place = &reader->places[*position];
    if ((*place)->number)
        return 0;
    const location_message *location = reader->profile->location[*position];
    const uint64_t *mapping = sprof_map_get(&reader->mappings, location->mapping_id);
    const mapping_message *message = mapping ? reader->profile->mapping[*mapping] : NULL;
    if (location->mapping_id && !message)
        return damaged(reader, error, "a location is of a mapping that is missing");
    struct import_module *module = &(*place)->module;
    if (message) {
        module->path = text_of(reader, message->filename);
        module->build_id = build_id_of(reader, (size_t)*mapping);
        module->in_kernel = module->path && !strncmp(module->path, "[kernel", 7);
    }
    const int result = take_levels(reader, location, error);
    return result ? result
                  : import_address(reader->import, reader->levels.items, reader->levels.count,
                                   offset_of(location, message), &(*place)->number);
}

/* == Samples == */

/* The thread in a sample's labels. */
static int thread_of(struct reader *reader, const sample_message *sample, uint32_t *id)
{
    int64_t pid = 0, tid = 0;
    const char *process = NULL, *thread = NULL;
    for (size_t i = 0; i < sample->n_label; i++) {
        const Perftools__Profiles__Label *label = sample->label[i];
        const char *key = text_of(reader, label->key);
        if (key && !strcmp(key, "pid"))
            pid = label->num;
        else if (key && !strcmp(key, "tid"))
            tid = label->num;
        else if (key && !strcmp(key, "process"))
            process = text_of(reader, label->str);
        else if (key && !strcmp(key, "thread"))
            thread = text_of(reader, label->str);
    }
    pid = pid > 0 && pid <= INT32_MAX ? pid : 0;
    tid = tid > 0 && tid <= INT32_MAX ? tid : pid;
    return import_thread(reader->import, (pid_t)pid, (pid_t)tid, process,
                         pid || thread ? thread : "import", id);
}

static int stack_of(struct reader *reader, const sample_message *sample, uint32_t *node,
                    struct sprof_error *error)
{
    *node = 0;
    if (sample->n_location_id > IMPORT_FRAMES_MAX)
        return damaged(reader, error, IMPORT_TOO_DEEP);
    for (size_t i = sample->n_location_id; i-- > 0;) {
        struct pprof_place *place = NULL;
        const int result = place_of(reader, sample->location_id[i], &place, error);
        if (result)
            return result;
        if (import_node(reader->import, *node, &place->module, place->number, node))
            return SPROF_ENOMEM;
    }
    if (*node)
        return 0;
    /* A sample without a stack is one all the same. */
    const struct import_module nowhere = {.path = MODEL_MODULE_UNKNOWN};
    const struct recording_level nameless = {0};
    uint32_t number = 0;
    return import_address(reader->import, &nameless, 1, 0, &number) ||
                   import_node(reader->import, 0, &nowhere, number, node)
               ? SPROF_ENOMEM
               : 0;
}

static int take_sample(struct reader *reader, const sample_message *message,
                       struct sprof_error *error)
{
    struct import_sample sample = {.cpu = -1};
    if (message->n_value != reader->profile->n_sample_type)
        return damaged(reader, error, "a sample has not one value of each type");
    int result = stack_of(reader, message, &sample.node, error);
    if (!result)
        result = thread_of(reader, message, &sample.thread);
    for (size_t i = 0; i < reader->columns.count && !result; i++) {
        const struct value_columns *columns = &reader->columns.items[i];
        const int64_t weight = message->value[columns->weight];
        const int64_t count = columns->samples >= 0 ? message->value[columns->samples] : weight > 0;
        if (weight < 0 || count < 0)
            return sprof_error_set(error, SPROF_EFORMAT, 0,
                                   "%s has negative values: it is the difference of two profiles, "
                                   "which is no recording: import each of them",
                                   reader->import->name);
        if ((uint64_t)weight > INT64_MAX / columns->scale)
            return damaged(reader, error, "a time is too long");
        sample.cost = (struct model_cost){(uint64_t)count, (uint64_t)weight * columns->scale};
        sample.event = columns->event;
        if (!count && !weight)
            continue;
        const char *wrong = import_sample(reader->import, &sample, &result);
        if (wrong)
            return damaged(reader, error, wrong);
    }
    return result;
}

/* == The profile == */

/* Messages take more room in memory than in a file, in hostile files hundreds of times more. */
struct room {
    size_t left;
    bool exceeded;
};

static void *take_room(void *context, size_t size)
{
    struct room *room = context;
    if (size > room->left) {
        room->exceeded = true;
        return NULL;
    }
    room->left -= size;
    return malloc(size ? size : 1);
}

static void give_room(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static int read_profile(struct reader *reader, struct sprof_error *error)
{
    const profile_message *profile = reader->profile;
    struct import *import = reader->import;
    int result = make_indexes(reader, error);
    if (!result)
        result = make_events(reader, error);
    for (size_t i = 0; i < profile->n_sample && !result; i++)
        result = take_sample(reader, profile->sample[i], error);
    if (profile->time_nanos > 0)
        import->start_realtime_ns = (uint64_t)profile->time_nanos;
    if (profile->duration_nanos > 0)
        import->duration_ns = (uint64_t)profile->duration_nanos;
    return result ? result
                  : import_check(import, "samples", "all of its values are zero, or it is empty",
                                 error);
}

/* Protobuf's variable-length integer at *at, which moves on behind it. Returns whether all of it is
 * there. */
static bool next_varint(struct sprof_bytes bytes, size_t *at, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < bytes.size; shift += 7) {
        const uint8_t byte = bytes.data[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Is the beginning of these bytes, as far as they go, a sequence of fields of a Profile
 * (profile.proto)? Gzip was unpacked before. Letters are tags, too, and an empty line of a text has
 * the tag of types: a text has no small control characters, and a type begins with a number. */
bool import_pprof_recognizes(struct sprof_bytes head)
{
    enum { VARINT = 0, BYTES = 2 };
    static const unsigned char wire_types[] = {
        [1] = BYTES,  [2] = BYTES,   [3] = BYTES,  [4] = BYTES,   [5] = BYTES,
        [6] = BYTES,  [7] = VARINT,  [8] = VARINT, [9] = VARINT,  [10] = VARINT,
        [11] = BYTES, [12] = VARINT, [13] = BYTES, [14] = VARINT, [15] = VARINT,
    };
    size_t at = 0;
    uint64_t tag, value;
    bool is_text = head.size < 3 || head.data[0] >= ' ';
    for (size_t i = 0; i < head.size && is_text; i++)
        is_text = head.data[i] >= '\t';
    if (is_text)
        return false;
    while (at < head.size && next_varint(head, &at, &tag)) {
        const uint64_t field = tag >> 3;
        const unsigned wire_type = tag & 7;
        if (!field || field >= sizeof wire_types)
            return false;
        if (wire_type != wire_types[field] &&
            !(field == 13 && wire_type == VARINT)) // comments, packed or not
            return false;
        if (!next_varint(head, &at, &value))
            break;
        if (field == 1 && value && at < head.size && head.data[at] != 0x08 && head.data[at] != 0x10)
            return false;
        if (wire_type == BYTES && value > head.size - at)
            break;
        at += wire_type == BYTES ? value : 0;
    }
    return true;
}

int import_pprof_read(struct import *import, struct import_input *input, struct sprof_error *error)
{
    struct sprof_bytes bytes;
    int result = import_input_all(input, &bytes, error);
    if (result)
        return result;
    struct room room = {.left = most_memory};
    ProtobufCAllocator allocator = {take_room, give_room, &room};
    profile_message *profile =
        perftools__profiles__profile__unpack(&allocator, bytes.size, bytes.data);
    if (room.exceeded)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "%s would need more than 2 GiB of memory: is it a profile?",
                               import->name);
    if (!profile)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is no pprof profile, or it was damaged or cut: import another "
                               "format with -f",
                               import->name);
    struct reader reader = {.import = import, .profile = profile};
    result = read_profile(&reader, error);
    /* Names are borrowed from the message: they must outlive it. */
    struct recording_names *names = &import->names;
    for (size_t i = 0; i < names->levels.count && !result; i++) {
        struct recording_level *level = &names->levels.items[i];
        const char **texts[] = {&level->name, &level->linkage_name, &level->declared_file,
                                &level->file};
        for (size_t k = 0; k < sizeof texts / sizeof *texts && !result; k++)
            if (*texts[k] && !(*texts[k] = import_text(import, *texts[k])))
                result = SPROF_ENOMEM;
    }
    perftools__profiles__profile__free_unpacked(profile, &allocator);
    free(reader.places);
    free(reader.build_ids);
    sprof_map_release(&reader.locations);
    sprof_map_release(&reader.mappings);
    sprof_map_release(&reader.functions);
    sprof_vec_release(&reader.columns);
    sprof_vec_release(&reader.levels);
    return result;
}
