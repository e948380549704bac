/* Perf maps (tools/perf/Documentation/jit-interface.txt in the kernel): `START SIZE name` lines.
 * The program writes while it runs, so the last line may be cut. */
#include "symbolize/jit.h"
#include "symbolize/text.h"

static const uint64_t max_file_bytes = UINT64_C(4) << 30;

/* A hexadecimal number and the blank behind it; "0x" before it is written by some runtimes. */
static const char *parse_number(const char *text, const char *end, uint64_t *number)
{
    if (end - text > 2 && text[0] == '0' && (text[1] | 32) == 'x')
        text += 2;
    text = symbolize_text_hex(text, end, number);
    if (!text || text >= end || *text != ' ')
        return NULL;
    while (text < end && *text == ' ')
        text++;
    return text;
}

struct perf_map {
    struct symbolize_jit *jit;
    struct text_lines lines;
};

static int parse_line(void *context, const char *line, const char *end)
{
    const struct perf_map *map = context;
    struct symbolize_jit *jit = map->jit;
    struct jit_entry entry = {.line_end = map->lines.line_end};
    if (end > line && end[-1] == '\r')
        end--;
    if (line == end)
        return 0;
    const char *next = parse_number(line, end, &entry.start);
    next = next ? parse_number(next, end, &entry.size) : NULL;
    if (!next || next >= end || !entry.size || entry.start + entry.size < entry.start) {
        jit->bad_lines++;
        return 0;
    }
    return symbolize_jit_add(jit, entry, next, (size_t)(end - next));
}

/* A program that collects its lines writes them in whole blocks. */
static uint64_t earliest_ns(const struct symbolize_jit_growth *growth, size_t at)
{
    enum { BLOCK_BYTES = 4096 };
    const bool collects = growth[at].bytes % BLOCK_BYTES == 0;
    return collects && at ? growth[at - 1].until_ns : growth[at].from_ns;
}

void symbolize_jit_date(struct symbolize_jit *jit, const struct symbolize_jit_growth *growth,
                        size_t count, uint64_t looked_ns, int64_t clock_ns)
{
    size_t at = 0;
    for (size_t i = 0; i < jit->entries.count && count; i++) {
        struct jit_entry *entry = &jit->entries.items[i];
        if (!entry->line_end)
            continue;
        if (entry->line_end > growth[count - 1].bytes) {
            entry->earliest_ns = entry->time_ns = looked_ns + (uint64_t)clock_ns;
            continue;
        }
        while (at + 1 < count && growth[at].bytes < entry->line_end)
            at++;
        const uint64_t from_ns = earliest_ns(growth, at), until_ns = growth[at].until_ns;
        entry->earliest_ns = from_ns ? from_ns + (uint64_t)clock_ns : 1;
        entry->time_ns =
            (from_ns ? from_ns + (until_ns - from_ns) / 2 : until_ns) + (uint64_t)clock_ns;
    }
}

int symbolize_jit_read_perf_map(struct symbolize_jit *jit, int fd, const char *path,
                                struct sprof_error *error)
{
    struct perf_map map = {.jit = jit,
                           .lines = {.fd = fd,
                                     .path = path,
                                     .most_bytes = max_file_bytes,
                                     .line = parse_line,
                                     .context = &map}};
    const int code = symbolize_text_lines_read(&map.lines, error);
    jit->bad_lines += map.lines.too_long;
    jit->is_cut |= map.lines.is_cut;
    return code;
}
