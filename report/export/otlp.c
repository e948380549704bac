/* Kept calls as spans of OpenTelemetry (OTLP 1.x): one ExportTraceServiceRequest, in JSON or in
 * protobuf. A request that the program named is a trace: a span of its own, above those of its
 * calls in all threads. Else a root call and all below it is one. Ids come from the run's key and
 * the numbers of calls and requests, so that a recording has the same ones whenever, and wherever
 * merged, it is exported. */
#include "report/export/otlp.h"
#include "report/export/export.h"
#include "report/export/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What an id is made for. */
enum { TRACE_HIGH = 1, TRACE_LOW, SPAN, REQUEST_HIGH, REQUEST_LOW, REQUEST_SPAN };

struct attribute {
    Otlp__KeyValue pair;
    Otlp__AnyValue value;
    char key[128];
    const char *label; /* the key of a label, which may be longer; borrowed */
};

struct attributes {
    SPROF_VEC(struct attribute) items;
    SPROF_VEC(Otlp__KeyValue *) list;
    bool failed; /* memory ran out */
};

struct ids {
    uint8_t trace[16], span[8], parent[8];
};

struct writing {
    const struct otlp_encoding *encoding;
    struct otlp_output output;
    const struct report_dataset *dataset;
    struct export_labels labels;
    struct sprof_arena label_names; /* keys of labels, which `label` borrows */
    Otlp__Scope scope;
    struct attributes attributes; /* of the span or resource at hand */
    uint32_t process;             /* whose spans are being written; 0: none yet */
    uint32_t root;                /* number of the call that the present trace begins with */
    SPROF_VEC(uint64_t) requests; /* of the present call's callers, and its own; 0: none */
};

/* == Attributes == */

static Otlp__AnyValue *add_attribute(struct attributes *attributes, const char *key)
{
    if (attributes->failed || sprof_vec_push(&attributes->items, (struct attribute){0})) {
        attributes->failed = true;
        return NULL;
    }
    struct attribute *attribute = &attributes->items.items[attributes->items.count - 1];
    otlp__key_value__init(&attribute->pair);
    otlp__any_value__init(&attribute->value);
    snprintf(attribute->key, sizeof attribute->key, "%s", key);
    return &attribute->value;
}

/* A text is borrowed until the attributes are written. */
static void put_text(struct attributes *attributes, const char *key, const char *text)
{
    Otlp__AnyValue *value = text && *text ? add_attribute(attributes, key) : NULL;
    if (!value)
        return;
    value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    value->string_value = (char *)(uintptr_t)text;
}

static void put_number(struct attributes *attributes, const char *key, uint64_t number)
{
    Otlp__AnyValue *value = add_attribute(attributes, key);
    if (!value)
        return;
    value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
    value->int_value = (int64_t)number;
}

static void put_flag(struct attributes *attributes, const char *key, bool flag)
{
    Otlp__AnyValue *value = add_attribute(attributes, key);
    if (!value)
        return;
    value->value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
    value->bool_value = flag;
}

/* The list of all that were put, which begins anew with the next one. NULL: there are none, or
 * memory ran out. */
static Otlp__KeyValue **take_attributes(struct attributes *attributes, size_t *count)
{
    *count = attributes->items.count;
    attributes->items.count = 0;
    if (sprof_vec_reserve(&attributes->list, *count))
        attributes->failed = true;
    for (size_t i = 0; i < *count && !attributes->failed; i++) {
        struct attribute *attribute = &attributes->items.items[i];
        attribute->pair.key =
            attribute->label ? (char *)(uintptr_t)attribute->label : attribute->key;
        attribute->pair.value = &attribute->value;
        attributes->list.items[i] = &attribute->pair;
    }
    if (attributes->failed)
        *count = 0;
    return *count ? attributes->list.items : NULL;
}

/* == Ids == */

/* Never 0, which means none. */
static uint64_t id_of(const struct writing *writing, uint32_t number, int what)
{
    const uint64_t key = sprof_hash_pair(writing->dataset->run.key, (uint64_t)what << 32 | number);
    return key ? key : 1;
}

static uint64_t request_id_of(const struct writing *writing, uint64_t request, int what)
{
    const uint64_t key =
        sprof_hash_pair(sprof_hash_pair(writing->dataset->run.key, (uint64_t)what << 32), request);
    return key ? key : 1;
}

static ProtobufCBinaryData put_id(uint8_t *bytes, size_t size, uint64_t high, uint64_t low)
{
    for (size_t i = 0; i < size; i++) {
        const size_t shift = 8 * (size - 1 - i);
        bytes[i] = (uint8_t)(shift >= 64 ? high >> (shift - 64) : low >> shift);
    }
    return (ProtobufCBinaryData){.len = size, .data = bytes};
}

/* `parent` 0: it has none. */
static void put_ids(Otlp__Span *span, struct ids *ids, uint64_t high, uint64_t low, uint64_t id,
                    uint64_t parent)
{
    span->trace_id = put_id(ids->trace, sizeof ids->trace, high, low);
    span->span_id = put_id(ids->span, sizeof ids->span, 0, id);
    if (parent)
        span->parent_span_id = put_id(ids->parent, sizeof ids->parent, 0, parent);
}

static void put_request_ids(const struct writing *writing, Otlp__Span *span, struct ids *ids,
                            uint64_t request, uint64_t id, uint64_t parent)
{
    put_ids(span, ids, request_id_of(writing, request, REQUEST_HIGH),
            request_id_of(writing, request, REQUEST_LOW), id, parent);
}

/* A call is below its caller where both are of one trace, and else below its request, if any. The
 * calls that are below a call of no request may be of requests. */
static void put_call_ids(const struct writing *writing, Otlp__Span *span, struct ids *ids,
                         const struct report_kept_call *call, bool has_caller,
                         uint64_t callers_request)
{
    const uint64_t id = id_of(writing, call->number, SPAN),
                   above = has_caller ? id_of(writing, call->caller, SPAN) : 0;
    if (call->request)
        put_request_ids(writing, span, ids, call->request, id,
                        callers_request == call->request
                            ? above
                            : request_id_of(writing, call->request, REQUEST_SPAN));
    else
        put_ids(span, ids, id_of(writing, writing->root, TRACE_HIGH),
                id_of(writing, writing->root, TRACE_LOW), id, callers_request ? 0 : above);
}

/* == Spans == */

/* Until when a call lasted that was not seen to end: to the end of its thread, or of the run. */
static uint64_t end_of(const struct report_dataset *dataset, const struct report_kept_row *row)
{
    const struct report_thread *thread = &dataset->threads.items[row->call->thread - 1];
    uint64_t end_ns = row->end_ns;
    if (!end_ns)
        end_ns = thread->end_ns && row->call->exit == STORE_EXIT_THREAD_END
                     ? thread->end_ns
                     : dataset->run.duration_ns;
    return end_ns > row->call->start_ns ? end_ns : row->call->start_ns;
}

static void name_value(char *key, size_t size, const struct report_call_value *value)
{
    if (value->position == STORE_EXCEPTION)
        snprintf(key, size, "sprof.exception");
    else if (value->position >= STORE_NOTE && value->position < STORE_ERRNO)
        snprintf(key, size, "sprof.note.%s", value->name);
    else if (value->position >= STORE_AFTER)
        snprintf(key, size, "sprof.value.%s", value->name);
    else if (value->position && *value->name)
        snprintf(key, size, "sprof.argument.%s", value->name);
    else if (value->position)
        snprintf(key, size, "sprof.argument.%" PRIu32, value->position);
    else
        snprintf(key, size, "sprof.result");
}

static void put_attributes(struct attributes *attributes, const struct export_call *call)
{
    const struct report_kept_call *kept = call->kept->call;
    put_text(attributes, "code.function.name", call->function);
    put_number(attributes, "thread.id", (uint64_t)call->tid);
    put_text(attributes, "thread.name", call->thread);
    put_text(attributes, "sprof.exit", call->exit);
    put_text(attributes, "sprof.why", call->why);
    if (kept->request)
        put_number(attributes, "sprof.request", kept->request);
    if (kept->asked_id)
        put_number(attributes, "sprof.asked_id", kept->asked_id);
    if (kept->duration_ns) {
        put_number(attributes, "sprof.duration_ns", kept->duration_ns);
        put_number(attributes, "sprof.self_ns", kept->self_ns);
    }
    if (call->has_states) {
        put_number(attributes, "sprof.running_ns", call->running_ns);
        put_number(attributes, "sprof.waiting_ns", call->waiting_ns);
        put_number(attributes, "sprof.ready_ns", call->ready_ns);
    }
    for (size_t i = 0; i < call->value_count; i++) {
        char key[128];
        name_value(key, sizeof key, &call->values[i]);
        put_text(attributes, key, call->values[i].value);
    }
    if (kept->is_apart)
        put_flag(attributes, "sprof.suspended", true);
}

/* Puts the attributes that are at hand into a span, and writes it. */
static int put_span(struct writing *writing, Otlp__Span *span, uint64_t start_ns, uint64_t end_ns)
{
    const uint64_t began_ns = writing->dataset->run.start_realtime_ns;
    span->kind = OTLP__SPAN__KIND__INTERNAL;
    span->start_time_unix_nano = began_ns + start_ns;
    span->end_time_unix_nano = began_ns + end_ns;
    span->attributes = take_attributes(&writing->attributes, &span->n_attributes);
    return writing->attributes.failed ? SPROF_ENOMEM
                                      : writing->encoding->put(&writing->output, span);
}

static int put_call_span(struct writing *writing, const struct export_call *call)
{
    const struct report_kept_call *kept = call->kept->call;
    const uint32_t depth = call->kept->depth;
    const bool is_root = depth == 1;
    Otlp__Span span = OTLP__SPAN__INIT;
    Otlp__Status status = OTLP__STATUS__INIT;
    struct ids ids;
    if (is_root)
        writing->root = kept->number;
    writing->requests.count =
        depth - 1 < writing->requests.count ? depth - 1 : writing->requests.count;
    const uint64_t above = is_root || !writing->requests.count
                               ? 0
                               : writing->requests.items[writing->requests.count - 1];
    if (sprof_vec_push(&writing->requests, kept->request))
        return SPROF_ENOMEM;
    put_call_ids(writing, &span, &ids, kept, !is_root, above);
    span.name = (char *)(uintptr_t)call->function;
    put_attributes(&writing->attributes, call);
    if (kept->exit == STORE_EXIT_EXCEPTION) {
        status.code = OTLP__STATUS__CODE__ERROR;
        status.message = "left by an exception";
        span.status = &status;
    }
    return put_span(writing, &span, kept->start_ns, end_of(writing->dataset, call->kept));
}

/* == Processes == */

static bool has_label(const struct export_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->others.count; i++)
        if (report_export_label_has_name(&labels->others.items[i], name))
            return true;
    return false;
}

static void put_label(struct writing *writing, const struct export_label *label)
{
    struct attributes *attributes = &writing->attributes;
    const char *name = sprof_arena_copy(&writing->label_names, label->text, label->name_length);
    const size_t before = attributes->items.count;
    attributes->failed |= !name;
    put_text(attributes, name, label->value);
    if (attributes->items.count > before)
        attributes->items.items[before].label = name;
}

static int open_process(struct writing *writing, uint32_t number)
{
    const struct store_run *run = &writing->dataset->run;
    const struct report_process *process = &writing->dataset->processes.items[number - 1];
    const struct export_labels *labels = &writing->labels;
    struct attributes *attributes = &writing->attributes;
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    char key[17];
    snprintf(key, sizeof key, "%016" PRIx64, run->key);
    writing->process = number;
    put_text(attributes, "service.name",
             labels->service && *labels->service ? labels->service
             : process->name                     ? process->name
                                                 : "unknown_service");
    put_text(attributes, "service.version", labels->version);
    put_text(attributes, "host.name", labels->host ? labels->host : run->host);
    if (!has_label(labels, "process.pid"))
        put_number(attributes, "process.pid", (uint64_t)process->pid);
    if (!has_label(labels, "process.command_line"))
        put_text(attributes, "process.command_line", process->command);
    if (!has_label(labels, "sprof.run"))
        put_text(attributes, "sprof.run", key);
    for (size_t i = 0; i < labels->others.count; i++)
        put_label(writing, &labels->others.items[i]);
    resource.attributes = take_attributes(attributes, &resource.n_attributes);
    return attributes->failed
               ? SPROF_ENOMEM
               : writing->encoding->open(&writing->output, &resource, &writing->scope);
}

static int close_process(struct writing *writing)
{
    return writing->process ? writing->encoding->close(&writing->output) : 0;
}

static int choose_process(struct writing *writing, uint32_t thread)
{
    const uint32_t process = writing->dataset->threads.items[thread - 1].process;
    if (process == writing->process)
        return 0;
    const int result = close_process(writing);
    return result ? result : open_process(writing, process);
}

static int put_call(void *context, const struct export_call *call)
{
    struct writing *writing = context;
    const int result = choose_process(writing, call->kept->call->thread);
    return result ? result : put_call_span(writing, call);
}

/* == Requests == */

/* A span of the process that began with it. One that has not ended lasts as long as the run. */
static int put_request(struct writing *writing, const struct report_kept_request *request)
{
    Otlp__Span span = OTLP__SPAN__INIT;
    struct ids ids;
    char name[40];
    int result = choose_process(writing, request->thread);
    if (result)
        return result;
    snprintf(name, sizeof name, "request %" PRIu64, request->id);
    put_request_ids(writing, &span, &ids, request->id,
                    request_id_of(writing, request->id, REQUEST_SPAN), 0);
    span.name = request->label ? (char *)(uintptr_t)request->label : name;
    put_number(&writing->attributes, "sprof.request", request->id);
    put_number(&writing->attributes, "sprof.busy_ns", request->busy_ns);
    return put_span(writing, &span, request->start_ns,
                    request->end_ns ? request->end_ns : writing->dataset->run.duration_ns);
}

static int put_requests(struct writing *writing)
{
    const struct report_dataset *dataset = writing->dataset;
    int result = 0;
    for (size_t i = 0; i < dataset->kept.requests.count && !result; i++) {
        const struct report_kept_request *request = &dataset->kept.requests.items[i];
        if (dataset->runs.items[request->run].id == dataset->run.id &&
            dataset->threads.items[request->thread - 1].selected)
            result = put_request(writing, request);
    }
    return result;
}

static int write_spans(FILE *out, const struct report_content *content,
                       const struct otlp_encoding *encoding, struct sprof_error *error)
{
    const char *version = content->dataset->run.sprof_version;
    struct writing writing = {.encoding = encoding,
                              .output = {.out = out},
                              .dataset = content->dataset,
                              .scope = OTLP__SCOPE__INIT};
    writing.scope.name = "sprof";
    writing.scope.version = (char *)(uintptr_t)(version ? version : "");
    if (!content->dataset->kept.rules.count)
        return sprof_error_set(
            error, SPROF_ENOTFOUND, 0,
            "spans are calls that were kept, and there are none: `sprof trace --keep 'over 20ms' "
            "-- COMMAND` keeps those that take longer, with their callers");
    uint64_t calls = 0;
    int result = report_export_kept(content, 0, &calls, put_call, NULL, error);
    if (!result)
        result = report_export_labels(&writing.labels, &content->labels, error);
    if (!result)
        result = encoding->begin(&writing.output);
    if (result) {
        report_export_labels_release(&writing.labels);
        return result;
    }
    result = report_export_kept(content, UINT64_MAX, NULL, put_call, &writing, error);
    if (!result)
        result = put_requests(&writing);
    if (!result)
        result = close_process(&writing);
    const int ended = encoding->end(&writing.output);
    report_export_labels_release(&writing.labels);
    sprof_arena_release(&writing.label_names);
    sprof_vec_release(&writing.requests);
    sprof_vec_release(&writing.attributes.items);
    sprof_vec_release(&writing.attributes.list);
    return result ? result : ended;
}

int report_otlp_traces_write(FILE *out, const struct report_content *content,
                             struct sprof_error *error)
{
    return write_spans(out, content, &report_otlp_as_json, error);
}

int report_otlp_traces_packed_write(FILE *out, const struct report_content *content,
                                    struct sprof_error *error)
{
    return write_spans(out, content, &report_otlp_as_protobuf, error);
}
