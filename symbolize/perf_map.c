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

static int parse_line(void *context, const char *line, const char *end)
{
    struct symbolize_jit *jit = context;
    struct jit_entry entry = {0};
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

int symbolize_jit_read_perf_map(struct symbolize_jit *jit, int fd, const char *path,
                                struct sprof_error *error)
{
    struct text_lines lines = {fd, path, max_file_bytes, parse_line, jit, 0, false};
    const int code = symbolize_text_lines_read(&lines, error);
    jit->bad_lines += lines.too_long;
    jit->is_cut |= lines.is_cut;
    return code;
}
