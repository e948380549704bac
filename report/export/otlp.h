/* Spans of OpenTelemetry on their way to a file, in one of two encodings. */
#ifndef SPROF_REPORT_EXPORT_OTLP_H
#define SPROF_REPORT_EXPORT_OTLP_H

#include "report/export/packing.h"
#include "report/json.h"

#include "formats/formats.h"

/* A file as it is being written. */
struct otlp_output {
    FILE *out;
    struct json json;              /* of the encoding as JSON */
    struct export_packed resource; /* of protobuf's: the resource at hand, … */
    struct export_packed spans;    /* … and its scope with spans that are not written yet */
    const Otlp__Scope *scope;
};

/* Resources follow each other, each with its spans. Functions return 0 or SPROF_ENOMEM; `end`
 * releases what `begin` took, also behind a failure. A scope is borrowed until `close`. */
struct otlp_encoding {
    int (*begin)(struct otlp_output *output);
    int (*open)(struct otlp_output *output, const Otlp__Resource *resource,
                const Otlp__Scope *scope);
    int (*put)(struct otlp_output *output, const Otlp__Span *span);
    int (*close)(struct otlp_output *output);
    int (*end)(struct otlp_output *output);
};

extern const struct otlp_encoding report_otlp_as_json, report_otlp_as_protobuf;

#endif
