#include "unwind/gopclntab.h"

/* What differs between the versions. Offsets of header words count from the first one. */
static const struct format {
    uint32_t magic;
    uint8_t text_word, names_word, pctab_word, functab_word; /* 0 = the header has none */
    uint8_t entry_size;                                      /* of a function's address */
    uint8_t flag_offset;
} formats[] = {
    {0xfffffffb, 0, 0, 0, 0, 8, 0},  /* Go 1.2 */
    {0xfffffffa, 0, 2, 5, 6, 8, 0},  /* Go 1.16 */
    {0xfffffff0, 2, 3, 6, 7, 4, 37}, /* Go 1.18 */
    {0xfffffff1, 2, 3, 6, 7, 4, 41}, /* Go 1.20 */
};

enum {
    TOP_FRAME = 1,
    SP_WRITE = 2,
    HEADER_WORDS = 8,
    FRAME_DEPTH_MIN = 16,    /* with less there is no frame: the depth comes from a push */
    FRAME_SET_UP_BYTES = 16, /* after rsp is lowered: saving rbp, and pointing it to the frame */
};

static uint64_t word_at(struct sprof_bytes bytes, size_t offset, size_t size, bool *failed)
{
    uint64_t value = 0;
    if (offset > bytes.size || size > bytes.size - offset)
        *failed = true;
    else
        memcpy(&value, bytes.data + offset, size);
    return value;
}

static const struct format *format_of(struct sprof_bytes bytes)
{
    bool failed = false;
    const uint64_t head = word_at(bytes, 0, 8, &failed);
    if (failed || (head >> 32 & 0xffff) || head >> 56 != 8)
        return NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if ((uint32_t)head == formats[i].magic)
            return &formats[i];
    return NULL;
}

int go_table_open(struct go_table *table, struct sprof_bytes bytes, uint64_t text_vaddr)
{
    const struct format *format = format_of(bytes);
    if (!format)
        return SPROF_EFORMAT;
    bool failed = false;
    uint64_t words[HEADER_WORDS] = {0};
    const size_t word_count = format->functab_word + 1u;
    for (size_t i = 0; i < word_count; i++)
        words[i] = word_at(bytes, 8 + i * 8, 8, &failed);
    *table = (struct go_table){.bytes = bytes,
                               .functions = (size_t)words[0],
                               .entry_size = format->entry_size,
                               .quantum = bytes.data[6],
                               .flag_offset = format->flag_offset};
    if (format->text_word)
        table->text = words[format->text_word] ? words[format->text_word] : text_vaddr;
    if (format->functab_word) {
        table->names = (size_t)words[format->names_word];
        table->pctab = (size_t)words[format->pctab_word];
        table->functab = table->functab_base = (size_t)words[format->functab_word];
    } else {
        table->functab = 16;
    }
    const size_t room = bytes.size / (2u * table->entry_size);
    if (failed || table->functions > room || table->functab > bytes.size ||
        table->names > bytes.size || table->pctab > bytes.size)
        return SPROF_EFORMAT;
    return 0;
}

static bool has_prefix(const struct go_table *table, uint64_t name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        const size_t length = strlen(*prefixes);
        const size_t at = table->names + (size_t)name;
        if (name <= table->bytes.size && at <= table->bytes.size &&
            length < table->bytes.size - at && !memcmp(table->bytes.data + at, *prefixes, length) &&
            (table->bytes.data[at + length] == 0 || table->bytes.data[at + length] == '.' ||
             table->bytes.data[at + length] == '_'))
            return true;
    }
    return false;
}

/* Names, because older versions do not mark these functions, and newer ones also mark the signal
 * handler, below which the interrupted code can well be found. */
static void classify(const struct go_table *table, size_t record, struct go_function *function)
{
    static const char *const roots[] = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", NULL};
    static const char *const handlers[] = {"runtime.sigtramp", "runtime.cgoSigtramp", NULL};
    static const char *const returns[] = {"runtime.sigreturn", NULL};
    bool failed = false;
    const uint64_t name = word_at(table->bytes, record + table->entry_size, 4, &failed);
    const uint64_t flags =
        table->flag_offset ? word_at(table->bytes, record + table->flag_offset, 1, &failed) : 0;
    if (failed)
        return;
    function->signal_return = has_prefix(table, name, returns);
    function->switches_stack = flags & SP_WRITE;
    function->root =
        (flags & TOP_FRAME && !has_prefix(table, name, handlers)) || has_prefix(table, name, roots);
}

int go_table_function(const struct go_table *table, size_t index, struct go_function *function)
{
    bool failed = false;
    const size_t size = table->entry_size;
    const size_t at = table->functab + index * 2 * size;
    *function = (struct go_function){
        .start = table->text + word_at(table->bytes, at, size, &failed),
        .end = table->text + word_at(table->bytes, at + 2 * size, size, &failed),
    };
    const uint64_t pointer = word_at(table->bytes, at + size, size, &failed);
    if (failed || pointer > table->bytes.size)
        return SPROF_EFORMAT;
    const size_t record = table->functab_base + (size_t)pointer;
    function->pcsp = (uint32_t)word_at(table->bytes, record + size + 12, 4, &failed);
    if (failed || function->end <= function->start)
        return SPROF_EFORMAT;
    classify(table, record, function);
    if (function->signal_return && function->start)
        function->start--; /* handlers return to its first byte and are looked up one before */
    return 0;
}

static struct cfi_state state_of(const struct go_function *function, int64_t depth)
{
    struct cfi_state state = {.cfa_how = depth < 0 ? CFI_CFA_NONE : CFI_CFA_REGISTER,
                              .cfa_register = UNWIND_RSP,
                              .cfa_offset = depth + 8,
                              .signal_frame = function->signal_return,
                              .ra = {.how = CFI_AT_CFA, .offset = -8}};
    if (depth >= 8) /* frames of any size keep the caller's rbp next to the return address */
        state.rbp = (struct cfi_value){.how = CFI_AT_CFA, .offset = -16};
    if (function->root)
        state.ra.how = CFI_UNDEFINED;
    return state;
}

/* Reports a stretch of one depth. Where the function may have switched to another stack, its frame
 * is found by rbp once that points to it; without a frame, whoever it called is the last that can
 * be told, as in Go's own tracebacks. */
static void report_depth(const struct go_function *function, struct unwind_range range,
                         int64_t depth, bool set_up, cfi_row_fn *row, void *context)
{
    struct cfi_state state = state_of(function, depth);
    const bool framed = function->switches_stack && depth >= FRAME_DEPTH_MIN;
    const uint64_t from = range.start + (set_up ? FRAME_SET_UP_BYTES : 0);
    state.ends_callers = function->switches_stack && !framed;
    if (!framed || from > range.start)
        row(context, range.start, framed && from < range.end ? from : range.end, &state);
    state.cfa_register = UNWIND_RBP;
    state.cfa_offset = 16;
    if (framed && from < range.end)
        row(context, from, range.end, &state);
}

int go_table_rows(const struct go_table *table, const struct go_function *function, uint64_t end,
                  cfi_row_fn *row, void *context)
{
    uint64_t at = function->start;
    int64_t depth = -1;
    if (function->root || function->signal_return) {
        const struct cfi_state state = state_of(function, 0);
        row(context, at, end, &state);
        return 0;
    }
    struct sprof_reader reader = sprof_reader_of(table->bytes);
    sprof_reader_seek(&reader, table->pctab);
    sprof_reader_take(&reader, function->pcsp);
    for (bool first = true; at < end; first = false) {
        const uint64_t coded = sprof_reader_uleb(&reader); /* zigzag */
        const uint64_t step = sprof_reader_uleb(&reader);
        if (reader.failed || coded > UINT32_MAX || step > UINT32_MAX)
            return SPROF_EFORMAT;
        if (!coded && !first)
            return at > function->start ? 0 : SPROF_EFORMAT;
        const bool set_up = depth < FRAME_DEPTH_MIN;
        depth += (int64_t)(coded >> 1) ^ -(int64_t)(coded & 1);
        const uint64_t next = at + step * table->quantum;
        if (next > at)
            report_depth(function, (struct unwind_range){at, next < end ? next : end}, depth,
                         set_up, row, context);
        at = next;
    }
    return 0;
}
