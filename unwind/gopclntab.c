/* Reads the unwind information in Go's own table of functions (go/src/runtime/symtab.go). */
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
    FRAME_DEPTH_MIN = 16, /* with less there is no frame: the depth comes from a push */
    FRAME_SET_UP_BYTES =
        16, /* after the stack is lowered: saving the frame pointer and setting it */
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

/* == Names == */

/* What follows `text` in a function's name: '\0' where it is all of it, -1 where the name is
 * another. */
static int follows(const struct go_table *table, uint64_t name, const char *text)
{
    const size_t length = strlen(text);
    const size_t at = table->names + (size_t)name;
    if (name > table->bytes.size || at > table->bytes.size || length >= table->bytes.size - at ||
        memcmp(table->bytes.data + at, text, length))
        return -1;
    return table->bytes.data[at + length];
}

static bool has_prefix(const struct go_table *table, uint64_t name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        const int next = follows(table, name, *prefixes);
        if (next == 0 || next == '.' || next == '_')
            return true;
    }
    return false;
}

/* == Depths == */

/* Stretches of one depth, one after the other. */
struct depths {
    struct sprof_reader reader;
    uint64_t start, end; /* of the present stretch */
    int64_t depth, depth_before;
    unsigned quantum;
    bool begun;
};

static struct depths depths_of(const struct go_table *table, const struct go_function *function)
{
    struct depths depths = {.reader = sprof_reader_of(table->bytes),
                            .end = function->start,
                            .depth = -1,
                            .quantum = table->quantum};
    sprof_reader_seek(&depths.reader, table->pctab);
    sprof_reader_take(&depths.reader, function->pcsp);
    return depths;
}

/* Returns 1 with the next stretch, 0 behind the last, or SPROF_EFORMAT. */
static int depths_next(struct depths *depths)
{
    const uint64_t coded = sprof_reader_uleb(&depths->reader); /* zigzag */
    const uint64_t step = sprof_reader_uleb(&depths->reader);
    if (depths->reader.failed || coded > UINT32_MAX || step > UINT32_MAX)
        return SPROF_EFORMAT;
    if (!coded && depths->begun)
        return 0;
    depths->begun = true;
    depths->start = depths->end;
    depths->end += step * depths->quantum;
    depths->depth_before = depths->depth;
    depths->depth += (int64_t)(coded >> 1) ^ -(int64_t)(coded & 1);
    return 1;
}

/* == Functions == */

/* The function's addresses and tables, without what follows from its name. */
static int read_function(const struct go_table *table, size_t index, struct go_function *function,
                         size_t *record)
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
    *record = table->functab_base + (size_t)pointer;
    function->pcsp = (uint32_t)word_at(table->bytes, *record + size + 12, 4, &failed);
    return failed || function->end <= function->start ? SPROF_EFORMAT : 0;
}

/* How deep the stack of the first function of that name gets, which is where it calls; 0: no such
 * function. */
static int64_t depth_of(const struct go_table *table, const char *name)
{
    int64_t deepest = 0;
    for (size_t i = 0; i < table->functions; i++) {
        struct go_function function;
        size_t record;
        bool failed = false;
        if (read_function(table, i, &function, &record) ||
            follows(table, word_at(table->bytes, record + table->entry_size, 4, &failed), name))
            continue;
        for (struct depths depths = depths_of(table, &function); depths_next(&depths) > 0;)
            deepest = depths.depth > deepest ? depths.depth : deepest;
        break;
    }
    return deepest;
}

int unwind_go_table_open(struct go_table *table, struct sprof_bytes bytes, uint64_t text_vaddr)
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
    table->cgocall_depth = table->flag_offset ? depth_of(table, "runtime.cgocall") : 0;
    return 0;
}

/* It calls C on the thread's own stack. */
static bool is_call_of_c(const struct go_table *table, uint64_t name)
{
    return !follows(table, name, "runtime.asmcgocall") ||
           !follows(table, name, "runtime.asmcgocall.abi0");
}

/* Where the kernel starts a program. (What begins a library, as _rt0_amd64_lib, has a caller.) */
static bool is_entry(const struct go_table *table, uint64_t name)
{
    return !follows(table, name, ARCH_GO_ENTRY) || !follows(table, name, ARCH_GO_ENTRY "_linux");
}

/* Names, because older versions do not mark these functions, and newer ones also mark the signal
 * handler, below which the interrupted code can well be found. */
static void classify(const struct go_table *table, size_t record, struct go_function *function)
{
    static const char *const roots[] = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", NULL};
    static const char *const handlers[] = {"runtime.sigtramp", "runtime.cgoSigtramp", NULL};
    static const char *const returns[] = {"runtime.sigreturn", NULL};
    static const char *const leaving[] = {"runtime.systemstack", "runtime.morestack", NULL};
    bool failed = false;
    const uint64_t name = word_at(table->bytes, record + table->entry_size, 4, &failed);
    const uint64_t flags =
        table->flag_offset ? word_at(table->bytes, record + table->flag_offset, 1, &failed) : 0;
    if (failed)
        return;
    function->signal_return = has_prefix(table, name, returns);
    function->leaves_stack = has_prefix(table, name, leaving);
    function->switches_stack = flags & SP_WRITE || function->leaves_stack;
    if (function->switches_stack && is_call_of_c(table, name))
        function->caller_depth = table->cgocall_depth;
    function->root =
        (flags & TOP_FRAME && !has_prefix(table, name, handlers) && !function->leaves_stack) ||
        has_prefix(table, name, roots) || is_entry(table, name);
}

int unwind_go_table_function(const struct go_table *table, size_t index,
                             struct go_function *function)
{
    size_t record;
    const int code = read_function(table, index, function, &record);
    if (code)
        return code;
    classify(table, record, function);
    if (function->signal_return && function->start)
        function->start--; /* handlers return to its first byte and are looked up one before */
    return 0;
}

/* Where calls push, the return address is above the frame; else it is the frame's lowest word. */
static struct cfi_value return_at(int64_t depth)
{
    if (ARCH_CALL_PUSHES)
        return (struct cfi_value){.how = CFI_AT_CFA, .offset = -ARCH_CALL_PUSHES};
    return depth > 0 ? (struct cfi_value){.how = CFI_AT_CFA, .offset = -depth}
                     : (struct cfi_value){.how = CFI_SAME};
}

static struct cfi_state state_of(const struct go_function *function, int64_t depth)
{
    struct cfi_state state = {.cfa_how = depth < 0 ? CFI_CFA_NONE : CFI_CFA_REGISTER,
                              .cfa_register = ARCH_SP,
                              .cfa_offset = depth + ARCH_CALL_PUSHES,
                              .signal_frame = function->signal_return,
                              .ra = return_at(depth)};
    /* Frames of any size keep the caller's frame pointer next to the return address. */
    if (depth >= 8 && ARCH_CALL_PUSHES != 0)
        state.fp = (struct cfi_value){.how = CFI_AT_CFA, .offset = -16};
    if (function->root)
        state.ra.how = CFI_UNDEFINED;
    return state;
}

/* Where a function calls C, the frame pointer is its caller's, whose frame ends as deep below as
 * that calls. */
static struct cfi_state state_in_call_of_c(const struct go_function *function)
{
    return (struct cfi_state){.cfa_how = CFI_CFA_REGISTER,
                              .cfa_register = ARCH_FP,
                              .cfa_offset = 8 - function->caller_depth,
                              .other_stack = true,
                              .ra = {.how = CFI_AT_CFA, .offset = -8}};
}

/* Reports a stretch of one depth. Where the function may have switched to another stack, its frame
 * is found by the frame pointer once that points to it. Without a frame, a walk searches for the
 * caller of the functions that call on behalf of it; below the others the stack ends, as in Go's
 * own tracebacks. */
static void report_depth(const struct go_function *function, struct unwind_range range,
                         int64_t depth, bool set_up, cfi_row_fn *row, void *context)
{
    struct cfi_state state = state_of(function, depth);
    if (function->caller_depth) {
        state = state_in_call_of_c(function);
        row(context, range.start, range.end, &state);
        return;
    }
    const bool framed = function->switches_stack && depth >= FRAME_DEPTH_MIN;
    const uint64_t from = range.start + (set_up ? FRAME_SET_UP_BYTES : 0);
    state.ends_callers = function->switches_stack && !framed;
    state.other_stack = state.ends_callers && function->leaves_stack;
    if (!framed || from > range.start)
        row(context, range.start, framed && from < range.end ? from : range.end, &state);
    state.cfa_register = ARCH_FP;
    state.cfa_offset = 16;
    state.other_stack = true;
    if (framed && from < range.end)
        row(context, from, range.end, &state);
}

int unwind_go_table_rows(const struct go_table *table, const struct go_function *function,
                         uint64_t end, cfi_row_fn *row, void *context)
{
    if (function->root || function->signal_return) {
        const struct cfi_state state = state_of(function, 0);
        row(context, function->start, end, &state);
        return 0;
    }
    struct depths depths = depths_of(table, function);
    while (depths.end < end) {
        const int more = depths_next(&depths);
        if (more <= 0)
            return more || depths.end == function->start ? SPROF_EFORMAT : 0;
        const bool set_up = depths.depth_before < FRAME_DEPTH_MIN;
        if (depths.end > depths.start)
            report_depth(function,
                         (struct unwind_range){depths.start, depths.end < end ? depths.end : end},
                         depths.depth, set_up, row, context);
    }
    return 0;
}
