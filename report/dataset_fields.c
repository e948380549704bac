/* Reads what events wrote with their samples, where keys are fields of it: of a tracepoint, or the
 * lock that a thread waited for, and its holder. */
#include "report/dataset_parts.h"
#include "report/error_text.h"
#include "report/utf8_text.h"

#include <stdlib.h>
#include <string.h>

/* The field that a slot is of; NULL: it is not asked for. */
static const char *field_of(const struct report_dataset *dataset, enum report_field_slot slot)
{
    switch (slot) {
    case REPORT_SLOT_FIELD: return dataset->parts & REPORT_FIELDS ? dataset->fields.name : NULL;
    case REPORT_SLOT_LOCK: return dataset->parts & REPORT_LOCKS ? MODEL_FIELD_LOCK : NULL;
    case REPORT_SLOT_HOLDER: return dataset->parts & REPORT_LOCKS ? MODEL_FIELD_HOLDER : NULL;
    case REPORT_SLOTS: break;
    }
    return NULL;
}

bool report_dataset_asks_fields(const struct report_dataset *dataset)
{
    return dataset->parts & (REPORT_FIELDS | REPORT_LOCKS);
}

/* == The events that have a field == */

struct searching {
    const struct report_dataset *dataset;
    const char *wanted;
    uint32_t event; /* of the first that has it */
    struct sprof_suggestions near;
    struct sprof_str all;
    struct sprof_arena names;
    struct sprof_map known; /* hash of a name → 1 */
};

static void searching_release(struct searching *searching)
{
    sprof_str_release(&searching->all);
    sprof_arena_release(&searching->names);
    sprof_map_release(&searching->known);
}

static int find_field(void *context, const struct store_event_field *row)
{
    struct searching *searching = context;
    uint64_t *known = sprof_map_at(&searching->known, sprof_hash_text(row->name));
    if (!searching->event && !strcmp(row->name, searching->wanted))
        searching->event = row->event_id;
    if (known && *known)
        return 0;
    const char *name = sprof_arena_text(&searching->names, row->name);
    if (!known || !name)
        return SPROF_ENOMEM;
    *known = 1;
    sprof_suggest_offer(&searching->near, searching->wanted, name);
    sprof_str_appendf(&searching->all, "%s%.60s", searching->all.length ? ", " : "", name);
    return 0;
}

/* NULL: there is none of that id. */
static const char *name_of_event(const struct report_dataset *dataset, uint32_t event)
{
    for (size_t i = 0; i < dataset->events.count && event; i++)
        if (dataset->events.items[i].id == event)
            return dataset->events.items[i].name;
    return NULL;
}

int report_dataset_event_of_field(struct report_loading *loading, const char **name,
                                  struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    const char *wanted = field_of(dataset, REPORT_SLOT_FIELD);
    struct searching searching = {.dataset = dataset, .wanted = wanted ? wanted : MODEL_FIELD_LOCK};
    int result =
        store_each_event_field(loading->store, dataset->run.id, find_field, &searching, error);
    const char *found = name_of_event(dataset, searching.event);
    *name = found ? found : *name;
    searching_release(&searching);
    return result;
}

/* == Values == */

struct field_loading {
    struct report_loading *loading;
    struct sprof_map values; /* hash of the texts of all slots → number */
    struct sprof_map places; /* hash of event and slot → index in `fields` + 1 */
    SPROF_VEC(struct model_field) fields;
    struct sprof_map lock_names; /* hash of process and address → text */
    bool found[REPORT_SLOTS];
    struct searching searching; /* for a message */
};

static uint64_t place_key(uint32_t event, size_t slot)
{
    return (uint64_t)event * REPORT_SLOTS + slot;
}

static int take_field(void *context, const struct store_event_field *row)
{
    struct field_loading *fields = context;
    const struct report_dataset *dataset = fields->loading->dataset;
    if (row->kind >= MODEL_FIELD_KINDS)
        return SPROF_EFORMAT;
    fields->searching.wanted = dataset->fields.name ? dataset->fields.name : MODEL_FIELD_LOCK;
    if (find_field(&fields->searching, row))
        return SPROF_ENOMEM;
    if (!report_dataset_number(&dataset->numbers.events, row->event_id))
        return 0;
    const struct model_field field = {
        .offset = row->offset, .bytes = row->bytes, .kind = (enum model_field_kind)row->kind};
    for (size_t slot = 0; slot < REPORT_SLOTS; slot++) {
        const char *wanted = field_of(dataset, (enum report_field_slot)slot);
        if (!wanted || strcmp(wanted, row->name) != 0)
            continue;
        fields->found[slot] = true;
        if (sprof_vec_push(&fields->fields, field) ||
            sprof_map_put(&fields->places, place_key(row->event_id, slot), fields->fields.count))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int no_such_field(struct field_loading *fields, struct sprof_error *error)
{
    const struct report_dataset *dataset = fields->loading->dataset;
    struct sprof_str text = {0}, near = {0};
    if (!dataset->fields.name) {
        sprof_str_append(&text, "no wait for a lock was recorded\n`sprof record --off-cpu` "
                                "records them, and which lock each is for");
        return report_error_text(error, SPROF_ENOTFOUND, &text);
    }
    const char *other = name_of_event(dataset, fields->searching.event);
    sprof_suggest_append(&near, &fields->searching.near);
    if (other)
        sprof_str_appendf(&text,
                          "the event %.200s has no field '%.60s'; %.200s has: --event %.200s",
                          dataset->event.name, dataset->fields.name, other, other);
    else
        sprof_str_appendf(&text, "no event that was recorded has a field '%.60s'",
                          dataset->fields.name);
    if (!other && near.length)
        sprof_str_append(&text, near.text);
    else if (!other && fields->searching.all.length)
        sprof_str_appendf(&text, "; there are %.600s", fields->searching.all.text);
    else if (!other)
        sprof_str_append(&text, "\ntracepoints have fields: `sprof record -e "
                                "syscalls:sys_enter_read`");
    sprof_str_release(&near);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

/* "worker 4711": the thread of that number in the process of a thread that waits. */
static int append_holder(struct sprof_str *out, const struct report_dataset *dataset,
                         uint32_t thread, uint64_t tid)
{
    const uint32_t process = dataset->threads.items[thread - 1].process;
    for (size_t i = 0; i < dataset->threads.count && tid; i++) {
        const struct report_thread *held = &dataset->threads.items[i];
        if (held->process == process && (uint64_t)held->tid == tid)
            return sprof_str_appendf(out, "%s %d", held->name ? held->name : "?", held->tid);
    }
    return sprof_str_append(out, "unknown");
}

static uint64_t lock_key(uint32_t process, uint64_t address)
{
    return sprof_hash_pair(process, address);
}

static int take_lock_name(void *context, const struct store_lock_name *row)
{
    struct field_loading *fields = context;
    struct report_dataset *dataset = fields->loading->dataset;
    const uint32_t process = report_dataset_number(&dataset->numbers.processes, row->process_id);
    const char *name = report_utf8_copy(&dataset->arena, row->name);
    return name ? sprof_map_put(&fields->lock_names, lock_key(process, row->address),
                                (uint64_t)(uintptr_t)name)
                : SPROF_ENOMEM;
}

/* "shop::ledger.mutex", or the address. */
static int append_lock(struct sprof_str *out, const struct field_loading *fields, uint32_t thread,
                       const struct model_field *field, struct sprof_bytes bytes)
{
    const uint32_t process = fields->loading->dataset->threads.items[thread - 1].process;
    const uint64_t *name =
        sprof_map_get(&fields->lock_names, lock_key(process, model_field_number(field, bytes)));
    return name ? sprof_str_append(out, (const char *)(uintptr_t)*name)
                : model_field_append(out, field, bytes);
}

static int append_slot(struct sprof_str *out, const struct field_loading *fields,
                       enum report_field_slot slot, const struct store_sample_fields *row,
                       uint32_t thread)
{
    const uint64_t *at = sprof_map_get(&fields->places, place_key(row->event_id, slot));
    if (!at)
        return sprof_str_append(out, "");
    const struct model_field *field = &fields->fields.items[*at - 1];
    const struct report_dataset *dataset = fields->loading->dataset;
    switch (slot) {
    case REPORT_SLOT_LOCK: return append_lock(out, fields, thread, field, row->bytes);
    case REPORT_SLOT_HOLDER:
        return append_holder(out, dataset, thread, model_field_number(field, row->bytes));
    default: return model_field_append(out, field, row->bytes);
    }
}

/* The number of texts, which is one for equal ones; 0 when out of memory. */
static uint32_t number_of(struct field_loading *fields, const struct sprof_str *texts)
{
    struct report_dataset *dataset = fields->loading->dataset;
    struct report_field_values values = {0};
    uint64_t hash = 1;
    for (size_t slot = 0; slot < REPORT_SLOTS; slot++)
        hash = sprof_hash_pair(hash, sprof_hash_text(texts[slot].text ? texts[slot].text : ""));
    uint64_t *number = sprof_map_at(&fields->values, hash);
    if (!number || *number)
        return number ? (uint32_t)*number : 0;
    for (size_t slot = 0; slot < REPORT_SLOTS; slot++) {
        values.texts[slot] =
            report_utf8_copy(&dataset->arena, texts[slot].text ? texts[slot].text : "");
        if (!values.texts[slot])
            return 0;
    }
    if (sprof_vec_push(&dataset->fields.values, values))
        return 0;
    *number = dataset->fields.values.count;
    return (uint32_t)*number;
}

static int take_sample_fields(void *context, const struct store_sample_fields *row)
{
    struct field_loading *fields = context;
    const struct report_dataset *dataset = fields->loading->dataset;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, row->thread_id);
    struct sprof_str texts[REPORT_SLOTS] = {0};
    if (!report_dataset_number(&dataset->numbers.events, row->event_id))
        return 0;
    int result = thread ? 0 : SPROF_EFORMAT;
    for (size_t slot = 0; slot < REPORT_SLOTS && !result; slot++)
        result = append_slot(&texts[slot], fields, (enum report_field_slot)slot, row, thread);
    const uint32_t number = result ? 0 : number_of(fields, texts);
    for (size_t slot = 0; slot < REPORT_SLOTS; slot++)
        sprof_str_release(&texts[slot]);
    if (result || !number)
        return result ? result : SPROF_ENOMEM;
    return sprof_map_put(&fields->loading->dataset->fields.of_samples,
                         report_dataset_sample_key(row->event_id, row->thread_id, row->time_ns),
                         number);
}

int report_dataset_load_fields(struct report_loading *loading, struct sprof_error *error)
{
    const struct report_dataset *dataset = loading->dataset;
    struct field_loading fields = {.loading = loading};
    int result = 0;
    if (!report_dataset_asks_fields(dataset))
        return 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++)
        result = store_each_event_field(loading->store, dataset->runs.items[i].id, take_field,
                                        &fields, error);
    for (size_t slot = 0; slot < REPORT_SLOTS && !result; slot++)
        if (field_of(dataset, (enum report_field_slot)slot) && !fields.found[slot])
            result = no_such_field(&fields, error);
    for (size_t i = 0; i < dataset->runs.count && !result && dataset->parts & REPORT_LOCKS; i++)
        result = store_each_lock_name(loading->store, dataset->runs.items[i].id, take_lock_name,
                                      &fields, error);
    for (size_t i = 0; i < dataset->runs.count && !result; i++)
        result = store_each_sample_fields(loading->store, dataset->runs.items[i].id,
                                          take_sample_fields, &fields, error);
    sprof_map_release(&fields.values);
    sprof_map_release(&fields.places);
    sprof_map_release(&fields.lock_names);
    sprof_vec_release(&fields.fields);
    searching_release(&fields.searching);
    return result;
}

const char *report_dataset_field_text(const struct report_dataset *dataset, uint32_t values,
                                      enum report_field_slot slot)
{
    const char *text = values ? dataset->fields.values.items[values - 1].texts[slot] : "";
    return *text ? text : "unknown";
}
