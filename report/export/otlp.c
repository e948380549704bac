/* Kept calls as spans of OpenTelemetry (OTLP 1.x, JSON): one ExportTraceServiceRequest in one line,
 * as collectors take it from a request or a file. A request that the program named is a trace: a
 * span of its own, above those of its calls in all threads. Else a root call and all below it is
 * one. Ids come from the run's key and the numbers of calls and requests, so that a recording has
 * the same ones whenever, and wherever merged, it is exported. */
#include "report/export/export.h"
#include "report/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KIND_INTERNAL = 1, STATUS_ERROR = 2 };
/* What an id is made for. */
enum { TRACE_HIGH = 1, TRACE_LOW, SPAN, REQUEST_HIGH, REQUEST_LOW, REQUEST_SPAN };

struct writing {
    struct json json;
    const struct report_dataset *dataset;
    uint32_t process;             /* whose spans are being written; 0: none yet */
    uint32_t root;                /* number of the call that the present trace begins with */
    SPROF_VEC(uint64_t) requests; /* of the present call's callers, and its own; 0: none */
};

/* == Attributes == */

static void open_attribute(struct json *json, const char *key)
{
    report_json_open_object(json, NULL);
    report_json_text(json, "key", key);
    report_json_open_object(json, "value");
}

static void close_attribute(struct json *json)
{
    report_json_close_object(json);
    report_json_close_object(json);
}

static void put_text(struct json *json, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    open_attribute(json, key);
    report_json_text(json, "stringValue", text);
    close_attribute(json);
}

/* Numbers of 64 bits are texts in this JSON. */
static void put_long(struct json *json, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    report_json_text(json, key, digits);
}

static void put_number(struct json *json, const char *key, uint64_t value)
{
    open_attribute(json, key);
    put_long(json, "intValue", value);
    close_attribute(json);
}

static void put_flag(struct json *json, const char *key, bool value)
{
    open_attribute(json, key);
    report_json_bool(json, "boolValue", value);
    close_attribute(json);
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

/* `parent` 0: it has none. */
static void put_ids(struct json *json, uint64_t high, uint64_t low, uint64_t span, uint64_t parent)
{
    char text[33];
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, high, low);
    report_json_text(json, "traceId", text);
    snprintf(text, sizeof text, "%016" PRIx64, span);
    report_json_text(json, "spanId", text);
    snprintf(text, sizeof text, "%016" PRIx64, parent);
    if (parent)
        report_json_text(json, "parentSpanId", text);
}

static void put_request_ids(struct writing *writing, uint64_t request, uint64_t span,
                            uint64_t parent)
{
    put_ids(&writing->json, request_id_of(writing, request, REQUEST_HIGH),
            request_id_of(writing, request, REQUEST_LOW), span, parent);
}

/* A call is below its caller where both are of one trace, and else below its request, if any. The
 * calls that are below a call of no request may be of requests. */
static void put_call_ids(struct writing *writing, const struct report_kept_call *call,
                         bool has_caller, uint64_t callers_request)
{
    const uint64_t span = id_of(writing, call->number, SPAN),
                   above = has_caller ? id_of(writing, call->caller, SPAN) : 0;
    if (call->request)
        put_request_ids(writing, call->request, span,
                        callers_request == call->request
                            ? above
                            : request_id_of(writing, call->request, REQUEST_SPAN));
    else
        put_ids(&writing->json, id_of(writing, writing->root, TRACE_HIGH),
                id_of(writing, writing->root, TRACE_LOW), span, callers_request ? 0 : above);
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

static void put_attributes(struct json *json, const struct export_call *call)
{
    const struct report_kept_call *kept = call->kept->call;
    report_json_open_array(json, "attributes");
    put_text(json, "code.function.name", call->function);
    put_number(json, "thread.id", (uint64_t)call->tid);
    put_text(json, "thread.name", call->thread);
    put_text(json, "sprof.exit", call->exit);
    put_text(json, "sprof.why", call->why);
    if (kept->request)
        put_number(json, "sprof.request", kept->request);
    if (kept->asked_id)
        put_number(json, "sprof.asked_id", kept->asked_id);
    if (kept->duration_ns) {
        put_number(json, "sprof.duration_ns", kept->duration_ns);
        put_number(json, "sprof.self_ns", kept->self_ns);
    }
    for (size_t i = 0; i < call->value_count; i++) {
        const struct report_call_value *value = &call->values[i];
        char key[128];
        if (value->position == STORE_EXCEPTION)
            snprintf(key, sizeof key, "sprof.exception");
        else if (value->position >= STORE_NOTE && value->position < STORE_ERRNO)
            snprintf(key, sizeof key, "sprof.note.%s", value->name);
        else if (value->position >= STORE_AFTER)
            snprintf(key, sizeof key, "sprof.value.%s", value->name);
        else if (value->position && *value->name)
            snprintf(key, sizeof key, "sprof.argument.%s", value->name);
        else if (value->position)
            snprintf(key, sizeof key, "sprof.argument.%" PRIu32, value->position);
        else
            snprintf(key, sizeof key, "sprof.result");
        put_text(json, key, value->value);
    }
    if (kept->is_apart)
        put_flag(json, "sprof.suspended", true);
    report_json_close_array(json);
}

static void put_times(struct writing *writing, uint64_t start_ns, uint64_t end_ns)
{
    const uint64_t began_ns = writing->dataset->run.start_realtime_ns;
    put_long(&writing->json, "startTimeUnixNano", began_ns + start_ns);
    put_long(&writing->json, "endTimeUnixNano", began_ns + end_ns);
}

static int put_span(struct writing *writing, const struct export_call *call)
{
    struct json *json = &writing->json;
    const struct report_kept_call *kept = call->kept->call;
    const uint32_t depth = call->kept->depth;
    const bool is_root = depth == 1;
    if (is_root)
        writing->root = kept->number;
    writing->requests.count =
        depth - 1 < writing->requests.count ? depth - 1 : writing->requests.count;
    const uint64_t above = is_root || !writing->requests.count
                               ? 0
                               : writing->requests.items[writing->requests.count - 1];
    if (sprof_vec_push(&writing->requests, kept->request))
        return SPROF_ENOMEM;
    report_json_open_object(json, NULL);
    put_call_ids(writing, kept, !is_root, above);
    report_json_text(json, "name", call->function);
    report_json_count(json, "kind", KIND_INTERNAL);
    put_times(writing, kept->start_ns, end_of(writing->dataset, call->kept));
    put_attributes(json, call);
    if (kept->exit == STORE_EXIT_EXCEPTION) {
        report_json_open_object(json, "status");
        report_json_count(json, "code", STATUS_ERROR);
        report_json_text(json, "message", "left by an exception");
        report_json_close_object(json);
    }
    report_json_close_object(json);
    return 0;
}

/* == Processes == */

static void close_process(struct writing *writing)
{
    struct json *json = &writing->json;
    if (!writing->process)
        return;
    report_json_close_array(json); /* spans */
    report_json_close_object(json);
    report_json_close_array(json); /* scopeSpans */
    report_json_close_object(json);
}

static void open_process(struct writing *writing, uint32_t number)
{
    struct json *json = &writing->json;
    const struct store_run *run = &writing->dataset->run;
    const struct report_process *process = &writing->dataset->processes.items[number - 1];
    char key[17];
    snprintf(key, sizeof key, "%016" PRIx64, run->key);
    writing->process = number;
    report_json_open_object(json, NULL);
    report_json_open_object(json, "resource");
    report_json_open_array(json, "attributes");
    put_text(json, "service.name", process->name ? process->name : "unknown_service");
    put_text(json, "host.name", run->host);
    put_number(json, "process.pid", (uint64_t)process->pid);
    put_text(json, "process.command_line", process->command);
    put_text(json, "sprof.run", key);
    report_json_close_array(json);
    report_json_close_object(json);
    report_json_open_array(json, "scopeSpans");
    report_json_open_object(json, NULL);
    report_json_open_object(json, "scope");
    report_json_text(json, "name", "sprof");
    report_json_text(json, "version", run->sprof_version ? run->sprof_version : "");
    report_json_close_object(json);
    report_json_open_array(json, "spans");
}

static void choose_process(struct writing *writing, uint32_t thread)
{
    const uint32_t process = writing->dataset->threads.items[thread - 1].process;
    if (process == writing->process)
        return;
    close_process(writing);
    open_process(writing, process);
}

static int put_call(void *context, const struct export_call *call)
{
    struct writing *writing = context;
    choose_process(writing, call->kept->call->thread);
    return put_span(writing, call);
}

/* == Requests == */

/* A span of the process that began with it. One that has not ended lasts as long as the run. */
static void put_request(struct writing *writing, const struct report_kept_request *request)
{
    struct json *json = &writing->json;
    char name[40];
    snprintf(name, sizeof name, "request %" PRIu64, request->id);
    choose_process(writing, request->thread);
    report_json_open_object(json, NULL);
    put_request_ids(writing, request->id, request_id_of(writing, request->id, REQUEST_SPAN), 0);
    report_json_text(json, "name", request->label ? request->label : name);
    report_json_count(json, "kind", KIND_INTERNAL);
    put_times(writing, request->start_ns,
              request->end_ns ? request->end_ns : writing->dataset->run.duration_ns);
    report_json_open_array(json, "attributes");
    put_number(json, "sprof.request", request->id);
    put_number(json, "sprof.busy_ns", request->busy_ns);
    report_json_close_array(json);
    report_json_close_object(json);
}

static void put_requests(struct writing *writing)
{
    const struct report_dataset *dataset = writing->dataset;
    for (size_t i = 0; i < dataset->kept_requests.count; i++) {
        const struct report_kept_request *request = &dataset->kept_requests.items[i];
        if (dataset->runs.items[request->run].id == dataset->run.id &&
            dataset->threads.items[request->thread - 1].selected)
            put_request(writing, request);
    }
}

int report_otlp_traces_write(FILE *out, const struct report_content *content,
                             struct sprof_error *error)
{
    struct writing writing = {.dataset = content->dataset};
    if (!content->dataset->keep_rules.count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no calls were kept, which are spans: `sprof trace --keep 'over "
                               "20ms' -- COMMAND` keeps those that take longer, with their "
                               "callers");
    uint64_t calls = 0;
    int result = report_export_calls(content, 0, &calls, put_call, NULL, error);
    if (!result)
        result = report_json_begin_dense(&writing.json, out);
    if (result)
        return result;
    report_json_open_object(&writing.json, NULL);
    report_json_open_array(&writing.json, "resourceSpans");
    result = report_export_calls(content, UINT64_MAX, NULL, put_call, &writing, error);
    put_requests(&writing);
    sprof_vec_release(&writing.requests);
    close_process(&writing);
    report_json_close_array(&writing.json);
    report_json_close_object(&writing.json);
    const int ended = report_json_end(&writing.json);
    return result ? result : ended;
}
