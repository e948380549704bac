/* The two encodings of spans: JSON in one line, as collectors take it from a request or a file, and
 * protobuf. */
#include "report/export/otlp.h"

#include <inttypes.h>

/* == JSON == */

/* Numbers of 64 bits are texts in this JSON. */
static void put_long(struct json *json, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    report_json_text(json, key, digits);
}

/* Ids are hexadecimal, unlike in protobuf's own JSON. */
static void put_id(struct json *json, const char *key, const ProtobufCBinaryData *id)
{
    char digits[33] = "";
    for (size_t i = 0; i < id->len && i < sizeof digits / 2; i++)
        snprintf(digits + 2 * i, 3, "%02x", id->data[i]);
    if (id->len)
        report_json_text(json, key, digits);
}

static void put_value(struct json *json, const Otlp__AnyValue *value)
{
    report_json_open_object(json, "value");
    if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        report_json_text(json, "stringValue", value->string_value);
    else if (value->value_case == OTLP__ANY_VALUE__VALUE_BOOL_VALUE)
        report_json_bool(json, "boolValue", value->bool_value);
    else
        put_long(json, "intValue", (uint64_t)value->int_value);
    report_json_close_object(json);
}

static void put_attributes(struct json *json, size_t count, Otlp__KeyValue **attributes)
{
    report_json_open_array(json, "attributes");
    for (size_t i = 0; i < count; i++) {
        report_json_open_object(json, NULL);
        report_json_text(json, "key", attributes[i]->key);
        put_value(json, attributes[i]->value);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static int begin_json(struct otlp_output *output)
{
    const int result = report_json_begin_dense(&output->json, output->out);
    if (result)
        return result;
    report_json_open_object(&output->json, NULL);
    report_json_open_array(&output->json, "resourceSpans");
    return 0;
}

static int open_json(struct otlp_output *output, const Otlp__Resource *resource,
                     const Otlp__Scope *scope)
{
    struct json *json = &output->json;
    report_json_open_object(json, NULL);
    report_json_open_object(json, "resource");
    put_attributes(json, resource->n_attributes, resource->attributes);
    report_json_close_object(json);
    report_json_open_array(json, "scopeSpans");
    report_json_open_object(json, NULL);
    report_json_open_object(json, "scope");
    report_json_text(json, "name", scope->name);
    report_json_text(json, "version", scope->version);
    report_json_close_object(json);
    report_json_open_array(json, "spans");
    return 0;
}

static int put_json(struct otlp_output *output, const Otlp__Span *span)
{
    struct json *json = &output->json;
    report_json_open_object(json, NULL);
    put_id(json, "traceId", &span->trace_id);
    put_id(json, "spanId", &span->span_id);
    put_id(json, "parentSpanId", &span->parent_span_id);
    report_json_text(json, "name", span->name);
    report_json_count(json, "kind", span->kind);
    put_long(json, "startTimeUnixNano", span->start_time_unix_nano);
    put_long(json, "endTimeUnixNano", span->end_time_unix_nano);
    put_attributes(json, span->n_attributes, span->attributes);
    if (span->status) {
        report_json_open_object(json, "status");
        report_json_count(json, "code", span->status->code);
        report_json_text(json, "message", span->status->message);
        report_json_close_object(json);
    }
    report_json_close_object(json);
    return 0;
}

static int close_json(struct otlp_output *output)
{
    report_json_close_array(&output->json); /* spans */
    report_json_close_object(&output->json);
    report_json_close_array(&output->json); /* scopeSpans */
    report_json_close_object(&output->json);
    return 0;
}

static int end_json(struct otlp_output *output)
{
    report_json_close_array(&output->json);
    report_json_close_object(&output->json);
    return report_json_end(&output->json);
}

const struct otlp_encoding report_otlp_as_json = {begin_json, open_json, put_json, close_json,
                                                  end_json};

/* == protobuf == */

enum { RESOURCE_SPANS = 1, RESOURCE = 1, SCOPE_SPANS = 2, SCOPE = 1, SPANS = 2 };

static int begin_packed(struct otlp_output *output)
{
    (void)output;
    return 0;
}

static int begin_spans(struct otlp_output *output)
{
    output->spans.bytes.count = 0;
    return report_export_pack(&output->spans, SCOPE, &output->scope->base);
}

static int open_packed(struct otlp_output *output, const Otlp__Resource *resource,
                       const Otlp__Scope *scope)
{
    output->scope = scope;
    output->resource.bytes.count = 0;
    const int result = report_export_pack(&output->resource, RESOURCE, &resource->base);
    return result ? result : begin_spans(output);
}

/* Writes the resource with the spans that are packed. */
static int close_packed(struct otlp_output *output)
{
    struct export_packed whole = {0}, *resource = &output->resource;
    const size_t resource_bytes = resource->bytes.count;
    int result = report_export_pack_bytes(resource, SCOPE_SPANS, output->spans.bytes.items,
                                          output->spans.bytes.count);
    if (!result)
        result = report_export_pack_bytes(&whole, RESOURCE_SPANS, resource->bytes.items,
                                          resource->bytes.count);
    if (!result)
        fwrite(whole.bytes.items, 1, whole.bytes.count, output->out);
    resource->bytes.count = resource_bytes;
    sprof_vec_release(&whole.bytes);
    return result;
}

/* A resource may stand several times, so that many spans are never in memory together. */
static int put_packed(struct otlp_output *output, const Otlp__Span *span)
{
    enum { BYTES_MOST = 1 << 20 };
    int result = report_export_pack(&output->spans, SPANS, &span->base);
    if (!result && output->spans.bytes.count > BYTES_MOST) {
        result = close_packed(output);
        if (!result)
            result = begin_spans(output);
    }
    return result;
}

static int end_packed(struct otlp_output *output)
{
    sprof_vec_release(&output->resource.bytes);
    sprof_vec_release(&output->spans.bytes);
    return 0;
}

const struct otlp_encoding report_otlp_as_protobuf = {begin_packed, open_packed, put_packed,
                                                      close_packed, end_packed};
