/* A JSON writer on a stream. A thin cover of yajl's generator: keys and values in pairs, texts made
 * valid UTF-8. */
#ifndef SPROF_REPORT_JSON_H
#define SPROF_REPORT_JSON_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

/* One generator; `failed` collects what went wrong. */
struct json {
    void *generator;
    bool failed;
};

/* Indented for people, or dense for programs. 0 or SPROF_ENOMEM. The caller ends it with
 * report_json_end, also on failure. */
int report_json_begin(struct json *json, FILE *out);
int report_json_begin_dense(struct json *json, FILE *out);

/* Releases the generator. Returns 0 or SPROF_ENOMEM where a call before it failed. */
int report_json_end(struct json *json);

/* `key` is NULL inside arrays. NULL texts become null. `number` is written as it is. */
void report_json_text(struct json *json, const char *key, const char *text);
void report_json_count(struct json *json, const char *key, uint64_t value);
/* A count of parts of a unit: 1234567 with 6 digits is 1.234567. */
void report_json_decimal(struct json *json, const char *key, uint64_t value, unsigned digits);
void report_json_number(struct json *json, const char *key, const char *number);
void report_json_bool(struct json *json, const char *key, bool value);
void report_json_null(struct json *json, const char *key);
void report_json_open_object(struct json *json, const char *key);
void report_json_close_object(struct json *json);
void report_json_open_array(struct json *json, const char *key);
void report_json_close_array(struct json *json);

#endif
