#include "tests/unit/unwind/go_bytes.h"

#include <string.h>

static const uint32_t magics[GO_FORMATS] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};

enum { NAMES = 0x100, PCTAB = 0x180, FUNCTAB = 0x200, RECORDS = 0x80, RECORD_BYTES = 0x40 };

static void put(uint8_t *bytes, size_t at, uint64_t value, size_t size)
{
    memcpy(bytes + at, &value, size);
}

/* Each format keeps words of the header in its own order; -1 is the number of functions, -2 the
 * text. */
static void put_header(uint8_t *bytes, unsigned format)
{
    static const int64_t words[GO_FORMATS][8] = {
        {-1},
        {-1, 0, NAMES, 0, 0, PCTAB, FUNCTAB},
        {-1, 0, -2, NAMES, 0, 0, PCTAB, FUNCTAB},
        {-1, 0, -2, NAMES, 0, 0, PCTAB, FUNCTAB},
    };
    put(bytes, 0, magics[format], 4);
    put(bytes, 6, 1, 1);
    put(bytes, 7, 8, 1);
    for (size_t i = 0; i < (format ? 8 : 1); i++)
        put(bytes, 8 + i * 8,
            words[format][i] == -1   ? 2
            : words[format][i] == -2 ? GO_TEXT
                                     : (uint64_t)words[format][i],
            8);
}

size_t go_bytes_write(uint8_t bytes[GO_BYTES_MAX], unsigned format)
{
    static const uint8_t pcsp[] = {2, 4, 48, 20, 47, 8, 0};
    const size_t size = format < 2 ? 8 : 4, functab = format ? FUNCTAB : 16;
    const size_t base = format ? FUNCTAB : 0;
    const uint64_t text = format < 2 ? GO_TEXT : 0;
    const uint64_t names = format ? 0 : NAMES, pctab = format ? 1 : PCTAB + 1;
    static const uint32_t starts[] = {0, 32, 48};
    memset(bytes, 0, GO_BYTES_MAX);
    put_header(bytes, format);
    memcpy(bytes + NAMES, "main.work\0runtime.goexit", sizeof "main.work\0runtime.goexit");
    memcpy(bytes + PCTAB + 1, pcsp, sizeof pcsp);
    for (size_t i = 0; i < 3; i++)
        put(bytes, functab + i * 2 * size, text + starts[i], size);
    for (size_t i = 0; i < 2; i++) {
        const size_t record = (format ? RECORDS : 0x240) + i * RECORD_BYTES;
        put(bytes, functab + (2 * i + 1) * size, record, size);
        put(bytes, base + record, text + starts[i], size);
        put(bytes, base + record + size, names + 10 * i, 4);
        put(bytes, base + record + size + 12, pctab, 4);
    }
    return GO_BYTES_MAX;
}

void go_bytes_rename(uint8_t bytes[GO_BYTES_MAX], unsigned format, unsigned function,
                     const char *name)
{
    const size_t at = 0x40 + 0x20 * function;
    strcpy((char *)bytes + NAMES + at, name);
    put(bytes, FUNCTAB + RECORDS + function * RECORD_BYTES + (format < 2 ? 8 : 4), at, 4);
}

void go_bytes_drop_depths(uint8_t bytes[GO_BYTES_MAX], unsigned format)
{
    put(bytes, FUNCTAB + RECORDS + (format < 2 ? 8 : 4) + 12, 0, 4);
}

void go_bytes_set_flags(uint8_t bytes[GO_BYTES_MAX], unsigned format, uint8_t flags)
{
    bytes[FUNCTAB + RECORDS + (format == 2 ? 37 : 41)] = flags;
}
