/* OTLP profiles 1.10 and 1.11: an ExportProfilesServiceRequest, a resource for each service.
 * Samples of equal stack and attributes are one. Samples and weights are a profile each. */
#include "report/export/export.h"
#include "report/export/labels.h"
#include "report/export/packing.h"
#include "report/export/places.h"
#include "report/services.h"

#include "formats/formats.h"

#include <string.h>

enum { RESOURCE_PROFILES = 1, DICTIONARY = 2, RESOURCE = 1, SCOPE_PROFILES = 2, SCOPE = 1 };
enum { PROFILES = 2, SAMPLES = 2 };
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, TEXTS, ATTRIBUTES, STACKS };
enum { ATTRIBUTES_MAX = 5 }; /* of a sample */

/* The attributes of a thread, as numbers in the table. */
struct attribute_set {
    int32_t items[ATTRIBUTES_MAX];
    size_t count;
};

struct summed {
    int32_t stack;
    uint32_t set; /* index in `sets` */
    struct model_cost cost;
};

/* What has a resource of its own. */
struct service {
    const char *name, *version;
    SPROF_VEC(struct summed) sums;
    struct sprof_map sums_of; /* stack and set → index + 1 in `sums` */
};

struct profiles {
    struct export_places places;
    struct export_identity identity;
    bool without_numbers; /* of processes and threads */
    struct export_packed attributes, stacks;
    size_t attribute_count, stack_count; /* with the first, which is empty */
    struct sprof_map attribute_numbers, stack_numbers, set_numbers;
    SPROF_VEC(struct attribute_set) sets;
    SPROF_VEC(uint32_t) thread_sets; /* [thread - 1]: index + 1 in `sets`; 0: not made yet */
    struct sprof_intern service_texts;
    struct sprof_map service_numbers; /* name and version → index + 1 in `services` */
    SPROF_VEC(struct service) services;
    SPROF_VEC(uint32_t) process_services; /* [process - 1]: index in `services` */
};

/* == Services == */

static int number_service(struct profiles *profiles, const char *name, const char *version)
{
    struct sprof_intern *texts = &profiles->service_texts;
    uint32_t name_number, version_number;
    if (sprof_intern_put(texts, name, &name_number) ||
        sprof_intern_put(texts, version, &version_number))
        return SPROF_ENOMEM;
    uint64_t *known =
        sprof_map_at(&profiles->service_numbers, (uint64_t)name_number << 32 | version_number);
    const struct service service = {
        sprof_intern_text(texts, name_number), sprof_intern_text(texts, version_number), {0}, {0}};
    if (!known || (!*known && sprof_vec_push(&profiles->services, service)))
        return SPROF_ENOMEM;
    *known = *known ? *known : profiles->services.count;
    return sprof_vec_push(&profiles->process_services, (uint32_t)*known - 1);
}

/* Of one program, and where a label names the service, all is of one. */
static int number_services(struct profiles *profiles, const struct export_labels *labels)
{
    const struct report_dataset *dataset = profiles->places.dataset;
    const struct export_identity *identity = &profiles->identity;
    const size_t processes = dataset->processes.count;
    const bool several = processes && report_run_is_of_machine(&dataset->run) && !labels->service;
    int result = 0;
    for (uint32_t i = 1; (i == 1 || i <= processes) && !result; i++) {
        struct report_service own = {.build = ""};
        if (several)
            own = report_service_of(dataset, i, 0);
        result = number_service(profiles, several ? own.name : identity->service,
                                several && !labels->version ? own.build
                                                            : report_export_version(identity));
    }
    return result;
}

/* == Attributes == */

/* The number of an attribute with a text, or, where that is NULL, a number. */
static int attribute_of(struct profiles *profiles, const char *name, const char *text,
                        int64_t number, int32_t *index)
{
    const uint64_t value = text ? sprof_hash_text(text) : sprof_hash_mix((uint64_t)number + 1);
    uint64_t *known =
        sprof_map_at(&profiles->attribute_numbers, sprof_hash_pair(sprof_hash_text(name), value));
    Otlp__KeyValueAndUnit message = OTLP__KEY_VALUE_AND_UNIT__INIT;
    Otlp__AnyValue any = OTLP__ANY_VALUE__INIT;
    uint32_t key = 0;
    if (!known || report_export_text(&profiles->places, name, &key))
        return SPROF_ENOMEM;
    *known = *known ? *known : profiles->attribute_count;
    *index = (int32_t)*known;
    if (*known < profiles->attribute_count)
        return 0;
    profiles->attribute_count++;
    any.value_case = text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
    if (text)
        any.string_value = (char *)(uintptr_t)text;
    else
        any.int_value = number;
    message.key_strindex = (int32_t)key;
    message.value = &any;
    return report_export_pack(&profiles->attributes, ATTRIBUTES, &message.base);
}

static int add_attribute(struct profiles *profiles, struct attribute_set *set, const char *name,
                         const char *text, int64_t number)
{
    if (text && !*text)
        return 0;
    return attribute_of(profiles, name, text, number, &set->items[set->count++]);
}

static int make_set(struct profiles *profiles, uint32_t number, struct attribute_set *set)
{
    const struct report_dataset *dataset = profiles->places.dataset;
    const struct report_thread *thread = &dataset->threads.items[number - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    const bool numbers = !profiles->without_numbers;
    int result = add_attribute(profiles, set, "process.executable.name",
                               process->name ? process->name : "", 0);
    if (thread->name && !result)
        result = add_attribute(profiles, set, "thread.name", thread->name, 0);
    if (numbers && !result)
        result = add_attribute(profiles, set, "process.pid", NULL, process->pid) ||
                 add_attribute(profiles, set, "thread.id", NULL, thread->tid);
    /* Of several processes with this number, one after the other. */
    if (numbers && process->bearer && !result)
        result = add_attribute(profiles, set, "sprof.pid_bearer", NULL, process->bearer);
    return result ? SPROF_ENOMEM : 0;
}

/* Threads of equal attributes have one set. */
static int set_of_thread(struct profiles *profiles, uint32_t number, uint32_t *index)
{
    uint32_t *made = &profiles->thread_sets.items[number - 1];
    struct attribute_set set = {.count = 0};
    if (!*made) {
        uint64_t *known;
        if (make_set(profiles, number, &set) ||
            !(known = sprof_map_at(&profiles->set_numbers, sprof_hash_bytes(&set, sizeof set))))
            return SPROF_ENOMEM;
        if (!*known) {
            *known = profiles->sets.count + 1;
            if (sprof_vec_push(&profiles->sets, set))
                return SPROF_ENOMEM;
        }
        *made = (uint32_t)*known;
    }
    *index = *made - 1;
    return 0;
}

/* == Samples == */

/* Packs the stack at hand unless it is there. */
static int number_stack(struct profiles *profiles, int32_t *number)
{
    const size_t depth = profiles->places.stack.count;
    const uint64_t hash =
        depth ? sprof_hash_bytes(profiles->places.stack.items, depth * sizeof(uint32_t)) : 0;
    uint64_t *known = sprof_map_at(&profiles->stack_numbers, hash);
    Otlp__Stack message = OTLP__STACK__INIT;
    if (!known)
        return SPROF_ENOMEM;
    *known = *known ? *known : profiles->stack_count;
    *number = (int32_t)*known;
    if (*known < profiles->stack_count)
        return 0;
    profiles->stack_count++;
    message.n_location_indices = depth;
    message.location_indices = (int32_t *)profiles->places.stack.items;
    return report_export_pack(&profiles->stacks, STACKS, &message.base);
}

static int add_cost(struct profiles *profiles, const struct report_cost *cost,
                    struct report_stack *stack)
{
    const uint32_t process = profiles->places.dataset->threads.items[cost->thread - 1].process;
    const uint32_t number = profiles->process_services.items[process - 1];
    struct service *service = &profiles->services.items[number];
    struct summed summed = {.cost = cost->cost};
    int result = report_dataset_stack(profiles->places.dataset, cost->node, stack);
    if (!result)
        result = report_export_stack(&profiles->places, stack);
    if (!result)
        result = number_stack(profiles, &summed.stack);
    if (!result)
        result = set_of_thread(profiles, cost->thread, &summed.set);
    if (result)
        return result;
    uint64_t *known = sprof_map_at(&service->sums_of, (uint64_t)summed.stack << 32 | summed.set);
    if (!known)
        return SPROF_ENOMEM;
    if (!*known) {
        *known = service->sums.count + 1;
        return sprof_vec_push(&service->sums, summed);
    }
    service->sums.items[*known - 1].cost.samples += cost->cost.samples;
    service->sums.items[*known - 1].cost.weight += cost->cost.weight;
    return 0;
}

static int add_costs(struct profiles *profiles)
{
    const struct report_dataset *dataset = profiles->places.dataset;
    struct report_stack stack = {0};
    int result = sprof_vec_reserve(&profiles->thread_sets, dataset->threads.count + 1);
    for (size_t i = 0; i < dataset->threads.count && !result; i++)
        profiles->thread_sets.items[profiles->thread_sets.count++] = 0;
    for (size_t i = 0; i < dataset->costs.count && !result; i++)
        result = add_cost(profiles, &dataset->costs.items[i], &stack);
    sprof_vec_release(&stack.frames);
    return result;
}

static int pack_samples(struct profiles *profiles, const struct service *service,
                        struct export_packed *profile, bool weights)
{
    int result = 0;
    for (size_t i = 0; i < service->sums.count && !result; i++) {
        const struct summed *summed = &service->sums.items[i];
        struct attribute_set *set = &profiles->sets.items[summed->set];
        int64_t value = (int64_t)(weights ? summed->cost.weight : summed->cost.samples);
        Otlp__Sample message = OTLP__SAMPLE__INIT;
        if (!value)
            continue;
        message.stack_index = summed->stack;
        message.n_attribute_indices = set->count;
        message.attribute_indices = set->items;
        message.n_values = 1;
        message.values = &value;
        result = report_export_pack(profile, SAMPLES, &message.base);
    }
    return result;
}

/* == Profiles == */

static int type_of(struct profiles *profiles, const char *type, const char *unit,
                   Otlp__ValueType *message)
{
    uint32_t type_index = 0, unit_index = 0;
    const int result = report_export_text(&profiles->places, type, &type_index) ||
                       report_export_text(&profiles->places, unit, &unit_index);
    otlp__value_type__init(message);
    message->type_strindex = (int32_t)type_index;
    message->unit_strindex = (int32_t)unit_index;
    return result ? SPROF_ENOMEM : 0;
}

/* Samples have the period 1 of themselves: receivers that have only a profile of samples multiply
 * by the period, and would count twice what the other profile says. */
static int pack_profile(struct profiles *profiles, const struct service *service,
                        struct export_packed *scope, bool weights)
{
    const struct report_dataset *dataset = profiles->places.dataset;
    const struct export_measures measures = report_export_measures(dataset);
    struct export_packed packed = {.bytes = {0}};
    Otlp__Profile message = OTLP__PROFILE__INIT;
    Otlp__ValueType type;
    uint64_t id[2] = {sprof_hash_pair(dataset->run.key, sprof_hash_text(measures.weighed)),
                      weights};
    if (profiles->services.count > 1)
        id[0] = sprof_hash_pair(id[0], sprof_hash_pair(sprof_hash_text(service->name),
                                                       sprof_hash_text(service->version)));
    id[1] = sprof_hash_pair(id[0], id[1] + 1);
    int result = type_of(profiles, weights ? measures.weighed : measures.counted,
                         weights ? measures.unit : "count", &type);
    message.sample_type = message.period_type = &type;
    message.period = weights && dataset->event.period ? (int64_t)dataset->event.period : 1;
    message.time_unix_nano = dataset->run.start_realtime_ns;
    message.duration_nano = dataset->run.duration_ns;
    message.profile_id = (ProtobufCBinaryData){sizeof id, (uint8_t *)id};
    if (!result)
        result = report_export_pack_fields(&packed, &message.base);
    if (!result)
        result = pack_samples(profiles, service, &packed, weights);
    if (!result)
        result = report_export_pack_bytes(scope, PROFILES, packed.bytes.items, packed.bytes.count);
    sprof_vec_release(&packed.bytes);
    return result;
}

/* Of events that are counted one by one, samples and weights are one profile. */
static bool weights_differ(const struct service *service)
{
    for (size_t i = 0; i < service->sums.count; i++)
        if (service->sums.items[i].cost.weight != service->sums.items[i].cost.samples)
            return true;
    return false;
}

static int pack_scope(struct profiles *profiles, const struct service *service,
                      struct export_packed *resource)
{
    const struct store_run *run = &profiles->places.dataset->run;
    struct export_packed scope = {.bytes = {0}};
    Otlp__Scope message = OTLP__SCOPE__INIT;
    message.name = (char *)(uintptr_t) "sprof";
    message.version = (char *)(uintptr_t)run->sprof_version;
    int result = report_export_pack(&scope, SCOPE, &message.base);
    if (!result)
        result = pack_profile(profiles, service, &scope, true);
    if (!result && weights_differ(service))
        result = pack_profile(profiles, service, &scope, false);
    if (!result)
        result = report_export_pack_bytes(resource, SCOPE_PROFILES, scope.bytes.items,
                                          scope.bytes.count);
    sprof_vec_release(&scope.bytes);
    return result;
}

static int pack_resource_attribute(struct export_packed *packed, const char *name,
                                   const char *value)
{
    enum { RESOURCE_ATTRIBUTES = 1 };
    Otlp__KeyValue message = OTLP__KEY_VALUE__INIT;
    Otlp__AnyValue any = OTLP__ANY_VALUE__INIT;
    if (!*value)
        return 0;
    any.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    any.string_value = (char *)(uintptr_t)value;
    message.key = (char *)(uintptr_t)name;
    message.value = &any;
    return report_export_pack(packed, RESOURCE_ATTRIBUTES, &message.base);
}

static int pack_resource(const struct profiles *profiles, const struct service *service,
                         struct export_packed *resource, const struct export_labels *labels)
{
    struct export_packed packed = {.bytes = {0}};
    int result = pack_resource_attribute(&packed, "service.name",
                                         *service->name ? service->name : "unknown_service") ||
                 pack_resource_attribute(&packed, "service.version", service->version) ||
                 pack_resource_attribute(&packed, "host.name", profiles->identity.host);
    for (size_t i = 0; i < labels->others.count && !result; i++) {
        const struct export_label *label = &labels->others.items[i];
        char *name = strndup(label->text, label->name_length);
        result = name ? pack_resource_attribute(&packed, name, label->value) : SPROF_ENOMEM;
        free(name);
    }
    if (!result)
        result =
            report_export_pack_bytes(resource, RESOURCE, packed.bytes.items, packed.bytes.count);
    sprof_vec_release(&packed.bytes);
    return result;
}

/* == The dictionary, of which the first of each table is empty == */

static int pack_mappings(struct profiles *profiles, struct export_packed *packed)
{
    Otlp__Mapping message = OTLP__MAPPING__INIT;
    int result = report_export_pack(packed, MAPPINGS, &message.base);
    for (size_t i = 0; i < profiles->places.mappings.count && !result; i++) {
        const struct export_mapping *mapping = &profiles->places.mappings.items[i];
        int32_t build_id = 0;
        message.memory_start = mapping->start;
        message.memory_limit = mapping->end;
        message.file_offset = mapping->file_offset;
        message.filename_strindex = (int32_t)mapping->file;
        message.n_attribute_indices = mapping->build_id != 0;
        message.attribute_indices = &build_id;
        if (mapping->build_id)
            result = attribute_of(profiles, "process.executable.build_id.gnu",
                                  sprof_intern_text(&profiles->places.texts, mapping->build_id), 0,
                                  &build_id);
        if (!result)
            result = report_export_pack(packed, MAPPINGS, &message.base);
    }
    return result;
}

/* What kind of code there is at an address; NULL: the protocol has no word for it. */
static const char *frame_type(const struct export_places *places,
                              const struct export_location *location)
{
    const uint32_t module =
        location->mapping ? places->mappings.items[location->mapping - 1].module : 0;
    const enum model_kind kind =
        module ? places->dataset->modules.items[module - 1].kind : MODEL_KIND_NONE;
    return kind == MODEL_KIND_KERNEL                             ? "kernel"
           : kind == MODEL_KIND_APP || kind == MODEL_KIND_SYSTEM ? "native"
                                                                 : NULL;
}

/* `lines` and `list` have room for all that the location has. */
static int pack_location(struct profiles *profiles, struct export_packed *packed,
                         const struct export_location *location, Otlp__Line *lines,
                         Otlp__Line **list)
{
    const char *type = frame_type(&profiles->places, location);
    Otlp__Location message = OTLP__LOCATION__INIT;
    int32_t attribute = 0;
    for (size_t i = 0; i < location->line_count; i++) {
        const struct export_line *line = &profiles->places.lines.items[location->first_line + i];
        otlp__line__init(&lines[i]);
        lines[i].function_index = (int32_t)line->function;
        lines[i].line = line->line;
        list[i] = &lines[i];
    }
    message.mapping_index = (int32_t)location->mapping;
    message.address = location->address;
    message.n_lines = location->line_count;
    message.lines = list;
    message.n_attribute_indices = type != NULL;
    message.attribute_indices = &attribute;
    if (type && attribute_of(profiles, "profile.frame.type", type, 0, &attribute))
        return SPROF_ENOMEM;
    return report_export_pack(packed, LOCATIONS, &message.base);
}

static int pack_locations(struct profiles *profiles, struct export_packed *packed)
{
    const size_t most = report_export_most_lines(&profiles->places);
    Otlp__Location empty = OTLP__LOCATION__INIT;
    Otlp__Line *lines = calloc(most + 1, sizeof *lines);
    Otlp__Line **list = calloc(most + 1, sizeof *list);
    int result = lines && list ? report_export_pack(packed, LOCATIONS, &empty.base) : SPROF_ENOMEM;
    for (size_t i = 0; i < profiles->places.locations.count && !result; i++)
        result = pack_location(profiles, packed, &profiles->places.locations.items[i], lines, list);
    free(lines);
    free(list);
    return result;
}

static int pack_functions(struct profiles *profiles, struct export_packed *packed)
{
    Otlp__Function message = OTLP__FUNCTION__INIT;
    int result = report_export_pack(packed, FUNCTIONS, &message.base);
    for (size_t i = 0; i < profiles->places.functions.count && !result; i++) {
        const struct export_function *function = &profiles->places.functions.items[i];
        message.name_strindex = (int32_t)function->name;
        message.system_name_strindex = (int32_t)function->system_name;
        message.filename_strindex = (int32_t)function->file;
        message.start_line = function->line;
        result = report_export_pack(packed, FUNCTIONS, &message.base);
    }
    return result;
}

/* The empty link holds ids of zeros. */
static int pack_link(struct export_packed *packed)
{
    uint8_t zeros[16] = {0};
    Otlp__Link message = OTLP__LINK__INIT;
    message.trace_id = (ProtobufCBinaryData){16, zeros};
    message.span_id = (ProtobufCBinaryData){8, zeros};
    return report_export_pack(packed, LINKS, &message.base);
}

static int append(struct export_packed *to, const struct export_packed *from)
{
    if (sprof_vec_reserve(&to->bytes, to->bytes.count + from->bytes.count))
        return SPROF_ENOMEM;
    if (from->bytes.count) /* else there may be no memory */
        memcpy(to->bytes.items + to->bytes.count, from->bytes.items, from->bytes.count);
    to->bytes.count += from->bytes.count;
    return 0;
}

/* Places come first: they add attributes, and these add texts. */
static int pack_dictionary(struct profiles *profiles, struct export_packed *out)
{
    struct export_packed packed = {.bytes = {0}};
    int result = pack_mappings(profiles, &packed);
    if (!result)
        result = pack_locations(profiles, &packed);
    if (!result)
        result = pack_functions(profiles, &packed);
    if (!result)
        result = pack_link(&packed);
    if (!result)
        result = report_export_pack_texts(&packed, TEXTS, &profiles->places.texts);
    if (!result)
        result = append(&packed, &profiles->attributes);
    if (!result)
        result = append(&packed, &profiles->stacks);
    if (!result)
        result = report_export_pack_bytes(out, DICTIONARY, packed.bytes.items, packed.bytes.count);
    sprof_vec_release(&packed.bytes);
    return result;
}

/* == Writing == */

static int begin_tables(struct profiles *profiles)
{
    profiles->attribute_count = profiles->stack_count = 1;
    return report_export_pack_bytes(&profiles->attributes, ATTRIBUTES, "", 0) ||
                   report_export_pack_bytes(&profiles->stacks, STACKS, "", 0)
               ? SPROF_ENOMEM
               : 0;
}

static int pack_service(struct profiles *profiles, const struct service *service,
                        const struct export_labels *labels, struct export_packed *request)
{
    struct export_packed resource = {.bytes = {0}};
    int result = pack_resource(profiles, service, &resource, labels);
    if (!result)
        result = pack_scope(profiles, service, &resource);
    if (!result)
        result = report_export_pack_bytes(request, RESOURCE_PROFILES, resource.bytes.items,
                                          resource.bytes.count);
    sprof_vec_release(&resource.bytes);
    return result;
}

/* A service without samples is left out, unless it is the only one. */
static int pack_request(struct profiles *profiles, const struct export_labels *labels,
                        struct export_packed *request)
{
    int result = begin_tables(profiles);
    if (!result)
        result = number_services(profiles, labels);
    if (!result)
        result = add_costs(profiles);
    for (size_t i = 0; i < profiles->services.count && !result; i++) {
        const struct service *service = &profiles->services.items[i];
        if (service->sums.count || profiles->services.count == 1)
            result = pack_service(profiles, service, labels, request);
    }
    return result ? result : pack_dictionary(profiles, request);
}

static void release(struct profiles *profiles)
{
    report_export_places_release(&profiles->places);
    sprof_vec_release(&profiles->attributes.bytes);
    sprof_vec_release(&profiles->stacks.bytes);
    sprof_map_release(&profiles->attribute_numbers);
    sprof_map_release(&profiles->stack_numbers);
    sprof_map_release(&profiles->set_numbers);
    sprof_vec_release(&profiles->sets);
    sprof_vec_release(&profiles->thread_sets);
    sprof_map_release(&profiles->service_numbers);
    sprof_intern_release(&profiles->service_texts);
    for (size_t i = 0; i < profiles->services.count; i++) {
        sprof_vec_release(&profiles->services.items[i].sums);
        sprof_map_release(&profiles->services.items[i].sums_of);
    }
    sprof_vec_release(&profiles->services);
    sprof_vec_release(&profiles->process_services);
}

static int write_profiles(FILE *out, const struct report_content *content, bool without_numbers,
                          struct sprof_error *error)
{
    struct profiles profiles = {.without_numbers = without_numbers};
    struct export_packed request = {.bytes = {0}};
    struct export_labels labels;
    int result = report_export_labels(&labels, &content->labels, error);
    if (!result)
        result = report_export_places_open(&profiles.places, content->dataset);
    if (!result) {
        profiles.identity = report_export_identity(&labels, content->dataset);
        result = pack_request(&profiles, &labels, &request);
    }
    if (!result)
        fwrite(request.bytes.items, 1, request.bytes.count, out);
    release(&profiles);
    sprof_vec_release(&request.bytes);
    report_export_labels_release(&labels);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int report_otlp_profiles_write(FILE *out, const struct report_content *content,
                               struct sprof_error *error)
{
    return write_profiles(out, content, false, error);
}

/* Without numbers of processes and threads, as pprof for stores of profiles. */
static int write_without_numbers(FILE *out, const struct report_content *content,
                                 struct sprof_error *error)
{
    return write_profiles(out, content, true, error);
}

const struct report_format report_format_of_otlp_series = {
    .name = "otlp-profiles",
    .extension = ".otlp.pb",
    .kinds = REPORT_PROFILE,
    .write = write_without_numbers,
};
