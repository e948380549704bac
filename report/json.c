/* Writes JSON to a stream with yajl. */
#include "report/json.h"

#include "report/utf8_text.h"

#include <string.h>
#include <yajl/yajl_gen.h>

static void write_bytes(void *context, const char *bytes, size_t size)
{
    fwrite_unlocked(bytes, 1, size, context); /* nothing else writes to it meanwhile */
}

int report_json_begin_dense(struct json *json, FILE *out)
{
    *json = (struct json){.generator = yajl_gen_alloc(NULL)};
    if (!json->generator)
        return SPROF_ENOMEM;
    yajl_gen_config(json->generator, yajl_gen_print_callback, write_bytes, out);
    return 0;
}

int report_json_begin(struct json *json, FILE *out)
{
    if (report_json_begin_dense(json, out))
        return SPROF_ENOMEM;
    yajl_gen_config(json->generator, yajl_gen_beautify, 1);
    yajl_gen_config(json->generator, yajl_gen_indent_string, "  ");
    return 0;
}

int report_json_end(struct json *json)
{
    if (json->generator)
        yajl_gen_free(json->generator);
    json->generator = NULL;
    return json->failed ? SPROF_ENOMEM : 0;
}

static void note(struct json *json, yajl_gen_status status)
{
    json->failed = json->failed || status != yajl_gen_status_ok;
}

static void put_text(struct json *json, const char *text)
{
    note(json, yajl_gen_string(json->generator, (const unsigned char *)text, strlen(text)));
}

static void put_key(struct json *json, const char *key)
{
    if (key)
        put_text(json, key);
}

void report_json_text(struct json *json, const char *key, const char *text)
{
    put_key(json, key);
    if (!text) {
        note(json, yajl_gen_null(json->generator));
        return;
    }
    struct sprof_str clean = {0};
    if (sprof_utf8_clean(&clean, text))
        json->failed = true;
    else
        put_text(json, clean.text);
    sprof_str_release(&clean);
}

void report_json_number(struct json *json, const char *key, const char *number)
{
    put_key(json, key);
    note(json, yajl_gen_number(json->generator, number, strlen(number)));
}

void report_json_count(struct json *json, const char *key, uint64_t value)
{
    report_json_decimal(json, key, value, 0);
}

/* Exports hold tens of millions of numbers: printf would take most of their time. */
void report_json_decimal(struct json *json, const char *key, uint64_t value, unsigned digits)
{
    char number[48];
    char *at = number + sizeof number;
    for (unsigned i = 0;
         i < digits || value || at == number + sizeof number || (digits && i == digits); i++) {
        if (digits && i == digits)
            *--at = '.';
        *--at = (char)('0' + value % 10);
        value /= 10;
    }
    put_key(json, key);
    note(json, yajl_gen_number(json->generator, at, (size_t)(number + sizeof number - at)));
}

void report_json_bool(struct json *json, const char *key, bool value)
{
    put_key(json, key);
    note(json, yajl_gen_bool(json->generator, value));
}

void report_json_null(struct json *json, const char *key)
{
    put_key(json, key);
    note(json, yajl_gen_null(json->generator));
}

void report_json_open_object(struct json *json, const char *key)
{
    put_key(json, key);
    note(json, yajl_gen_map_open(json->generator));
}

void report_json_close_object(struct json *json)
{
    note(json, yajl_gen_map_close(json->generator));
}

void report_json_open_array(struct json *json, const char *key)
{
    put_key(json, key);
    note(json, yajl_gen_array_open(json->generator));
}

void report_json_close_array(struct json *json)
{
    note(json, yajl_gen_array_close(json->generator));
}
