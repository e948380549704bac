/* Packs the numbers and texts of a page. */
#include "report/html/parts.h"

#include <zlib.h>

void report_html_column_begin(struct html_columns *columns)
{
    columns->last = 0;
}

void report_html_column_plain(struct html_columns *columns, uint64_t value)
{
    do {
        const uint8_t byte = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
        if (sprof_vec_push(&columns->bytes, byte))
            columns->failed = true;
        value >>= 7;
    } while (value);
}

void report_html_column_difference(struct html_columns *columns, uint64_t value)
{
    const uint64_t difference = value - columns->last;
    const bool negative = value < columns->last;
    columns->last = value;
    report_html_column_plain(columns, negative ? (0 - difference) * 2 - 1 : difference * 2);
}

/* Base64 of bytes that come in pieces. */
struct base64 {
    FILE *out;
    uint32_t bits;
    unsigned count; /* of bits */
};

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_base64(struct base64 *base64, const uint8_t *bytes, size_t size)
{
    char text[4096];
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        base64->bits = base64->bits << 8 | bytes[i];
        for (base64->count += 8; base64->count >= 6; base64->count -= 6)
            text[length++] = base64_digits[base64->bits >> (base64->count - 6) & 63];
        if (length + 2 > sizeof text || i + 1 == size) {
            fwrite(text, 1, length, base64->out);
            length = 0;
        }
    }
}

/* The last bits, filled up with zeros, and the padding. */
static void end_base64(struct base64 *base64)
{
    if (!base64->count)
        return;
    fputc(base64_digits[base64->bits << (6 - base64->count) & 63], base64->out);
    fputs(base64->count == 2 ? "==" : "=", base64->out);
}

int report_html_packed(FILE *out, const void *bytes, size_t size)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return SPROF_ENOMEM;
    struct base64 base64 = {.out = out};
    uint8_t packed[32768];
    const uint8_t *next = bytes;
    int state = Z_OK;
    do {
        const size_t piece = size < (1u << 30) ? size : 1u << 30;
        stream.next_in = (Bytef *)(uintptr_t)next;
        stream.avail_in = (uInt)piece;
        next += piece;
        size -= piece;
        do {
            stream.next_out = packed;
            stream.avail_out = sizeof packed;
            state = deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
            put_base64(&base64, packed, sizeof packed - stream.avail_out);
        } while (!stream.avail_out);
    } while (size);
    end_base64(&base64);
    deflateEnd(&stream);
    return state == Z_STREAM_END ? 0 : SPROF_ENOMEM;
}
