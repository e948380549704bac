/* Compiles call frame information into a table: gather the functions of all sources, sort and clip
 * them, run each one's program in order of addresses, so that rows come out sorted. */
#include "arch/arch.h"
#include "unwind/cfi.h"
#include "unwind/function_list.h"
#include "unwind/gopclntab.h"
#include "unwind/table.h"

#include <stdlib.h>

enum {
    ROOT_REACH = 64, /* bytes of a start function of which only the address is known */
    /* Gaps are searched for known code between these sizes: smaller ones are padding, larger ones
     * are data that shares the segment. */
    KNOWN_CODE_MIN = 16,
    KNOWN_CODE_MAX = 4 << 20,
    PREFETCH_AHEAD = 8,     /* functions */
    TEXT_PIECE = 64 * 1024, /* bytes of code read at once */
};

/* The piece of code that was read last. */
struct text_piece {
    uint8_t *bytes;
    uint64_t offset; /* from text_vaddr */
    size_t size, capacity;
};

struct table_builder {
    const struct unwind_source *source;
    struct unwind_table *table;
    struct cfi_section eh_frame, debug_frame;
    struct go_table go;
    struct function_list list;
    struct text_piece text;
    size_t text_hint; /* the text range of the function before */
    uint64_t next;    /* vaddr up to which rows are complete */
    struct unwind_rows rows;
    size_t start_capacity, rule_capacity;
    uint64_t last_rule;
    int code;
};

/* == Rows == */

static int rows_reserve(struct table_builder *builder, size_t more)
{
    struct unwind_rows *rows = &builder->rows;
    const size_t wanted = rows->count + more;
    if (rows->count > UNWIND_TABLE_ROWS_MAX)
        return SPROF_ELIMIT;
    if (wanted > builder->start_capacity &&
        sprof_vec_grow((void **)&rows->start, &builder->start_capacity, sizeof *rows->start,
                       wanted))
        return SPROF_ENOMEM;
    if (wanted > builder->rule_capacity &&
        sprof_vec_grow((void **)&rows->rule, &builder->rule_capacity, sizeof *rows->rule, wanted))
        return SPROF_ENOMEM;
    return 0;
}

/* Room must have been reserved. */
static void row_add(struct table_builder *builder, uint64_t start, uint64_t rule)
{
    struct unwind_table *table = builder->table;
    struct unwind_rows *rows = &builder->rows;
    if (builder->code || (rows->count && rule == builder->last_rule))
        return;
    builder->code = unwind_rule_set_intern(&table->rules, rule, &rows->rule[rows->count]);
    if (builder->code)
        return;
    rows->start[rows->count++] = (uint32_t)(start - table->base);
    table->facts.complex_rows += unwind_rule_kind(rule) == UNWIND_RULE_COMPLEX;
    builder->last_rule = rule;
}

static void row_of_state(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
    struct table_builder *builder = context;
    (void)end;
    row_add(builder, start, unwind_rule_of_state(state));
}

static uint64_t text_size(const struct unwind_source *source)
{
    return source->read_text ? source->text_size : source->text_bytes.size;
}

static bool read_piece(struct table_builder *builder, uint64_t offset, size_t size)
{
    struct text_piece *piece = &builder->text;
    const size_t wanted = size > TEXT_PIECE ? size : TEXT_PIECE;
    if (wanted > piece->capacity) {
        free(piece->bytes);
        *piece = (struct text_piece){.bytes = malloc(wanted)};
        if (!piece->bytes)
            return false;
        piece->capacity = wanted;
    }
    const struct unwind_source *source = builder->source;
    piece->offset = offset;
    piece->size = source->read_text(source->text_context, offset, piece->bytes, wanted);
    return piece->size >= size;
}

/* The bytes of [start, end), as far as they are at hand; valid until the next call. */
static struct sprof_bytes text_between(struct table_builder *builder, uint64_t start, uint64_t end)
{
    const struct unwind_source *source = builder->source;
    const uint64_t offset = start - source->text_vaddr, all = text_size(source);
    const struct text_piece *piece = &builder->text;
    if (start < source->text_vaddr || offset >= all)
        return (struct sprof_bytes){0};
    const size_t size = (size_t)(end - start < all - offset ? end - start : all - offset);
    if (!source->read_text)
        return (struct sprof_bytes){source->text_bytes.data + offset, size};
    if ((offset < piece->offset || offset - piece->offset + size > piece->size) &&
        !read_piece(builder, offset, size))
        return (struct sprof_bytes){0};
    return (struct sprof_bytes){piece->bytes + (offset - piece->offset), size};
}

/* Whether a gap is worth a search. glibc leaves one of ten bytes behind clone's system call. */
static bool may_hold_code(struct table_builder *builder, uint64_t start, uint64_t end)
{
    if (end - start >= KNOWN_CODE_MIN)
        return end - start <= KNOWN_CODE_MAX;
    return arch_code_begins_with_system_call(text_between(builder, start, end));
}

static const uint64_t rule_of_known[] = {
    [ARCH_KNOWN_SIGNAL_RETURN] = UNWIND_RULE_SIGNAL,
    [ARCH_KNOWN_CLONE] = UNWIND_RULE_CHILD | UNWIND_RULE_RETURN_ON_ENTRY,
    [ARCH_KNOWN_START] = UNWIND_RULE_END,
};

/* Completes the rows up to `vaddr`, where no source covers them, but code may be known by its
 * bytes.
 */
static void rows_gap(struct table_builder *builder, uint64_t vaddr)
{
    if (builder->code || vaddr <= builder->next)
        return;
    const uint64_t start = builder->next;
    const bool searched = may_hold_code(builder, start, vaddr);
    const struct sprof_bytes gap =
        searched ? text_between(builder, start, vaddr) : (struct sprof_bytes){0};
    struct arch_known_code known;
    uint64_t at = start; /* rows are complete up to here */
    for (size_t offset = 0; searched && arch_code_find_known(gap, &offset, &known);) {
        if (!builder->code)
            builder->code = rows_reserve(builder, 3);
        if (start + known.start > at)
            row_add(builder, at, UNWIND_RULE_GAP);
        row_add(builder, start + known.start, rule_of_known[known.what]);
        at = start + known.end;
    }
    if (!builder->code)
        builder->code = rows_reserve(builder, 1);
    if (at < vaddr)
        row_add(builder, at, UNWIND_RULE_GAP);
    builder->next = vaddr;
}

/* == One function == */

static bool is_start(struct table_builder *builder, const struct function_range *range)
{
    const bool frameless = !range->program_size || range->program[0] == 0;
    return frameless && range->end - range->start <= ROOT_REACH &&
           arch_code_is_start(text_between(builder, range->start, range->end));
}

static int fde_rows(struct table_builder *builder, const struct function_range *range,
                    const struct cfi_section *section)
{
    const struct cfi_fde fde = {.start = range->start,
                                .end = range->end,
                                .cie = range->cie,
                                .program = {range->program, range->program_size}};
    builder->code = rows_reserve(builder, range->program_size + 2u);
    if (is_start(builder, range)) {
        row_add(builder, range->start, UNWIND_RULE_END);
        return 0;
    }
    return builder->code ? 0 : unwind_cfi_program_run(section, &fde, row_of_state, builder);
}

static void go_row(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
    struct table_builder *builder = context;
    if (!builder->code)
        builder->code = rows_reserve(builder, 1);
    row_of_state(context, start, end, state);
}

static int go_rows(struct table_builder *builder, const struct function_range *range)
{
    struct go_function function;
    const int code = unwind_go_table_function(&builder->go, range->entry, &function);
    return code ? code : unwind_go_table_rows(&builder->go, &function, range->end, go_row, builder);
}

/* The first entry of a section whose entries push is the common tail: it pushes first, and was
 * jumped to after a push. */
static void plt_rows(struct table_builder *builder, const struct function_range *range)
{
    const struct unwind_plt *plt = &builder->source->plt[range->entry];
    builder->code = rows_reserve(builder, 3);
    if (!plt->push_offset) {
        row_add(builder, range->start, unwind_rule_cfa(false, ARCH_CALL_PUSHES));
        return;
    }
    row_add(builder, range->start, unwind_rule_cfa(false, 16));
    row_add(builder, range->start + ARCH_PLT_HEAD_PUSH_BYTES, unwind_rule_cfa(false, 24));
    if (range->end - range->start > ARCH_PLT_ENTRY_BYTES)
        row_add(builder, range->start + ARCH_PLT_ENTRY_BYTES, unwind_rule_plt(plt->push_offset));
}

static int source_rows(struct table_builder *builder, const struct function_range *range)
{
    if (range->source == FUNCTION_FROM_GO)
        return go_rows(builder, range);
    if (range->source == FUNCTION_FROM_EH_FRAME)
        return fde_rows(builder, range, &builder->eh_frame);
    if (range->source == FUNCTION_FROM_DEBUG_FRAME)
        return fde_rows(builder, range, &builder->debug_frame);
    plt_rows(builder, range);
    return 0;
}

static void function_rows(struct table_builder *builder, const struct function_range *range)
{
    struct unwind_table *table = builder->table;
    const size_t rows = builder->rows.count;
    const uint64_t last_rule = builder->last_rule;
    if (range->root || range->source == FUNCTION_FROM_ROOT || range->wrong) {
        const bool root = range->root || range->source == FUNCTION_FROM_ROOT;
        builder->code = rows_reserve(builder, 1);
        row_add(builder, range->start, root ? UNWIND_RULE_END : UNWIND_RULE_GAP);
    } else if (source_rows(builder, range)) {
        builder->rows.count = rows; /* half a function is none */
        builder->last_rule = last_rule;
        table->facts.bad_functions++;
        return;
    }
    builder->next = range->end;
}

/* == Gathering == */

static bool in_range(const struct unwind_range *range, uint64_t vaddr)
{
    return vaddr >= range->start && vaddr < range->end;
}

/* Whether a function begins in a text range; where none is known, anywhere. */
static bool in_text(struct table_builder *builder, uint64_t vaddr)
{
    const struct unwind_range *text = builder->source->text;
    size_t low = 0, high = builder->source->text_count;
    if (!high)
        return vaddr != 0;
    if (in_range(&text[builder->text_hint], vaddr))
        return true;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (text[middle].end <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == builder->source->text_count || !in_range(&text[low], vaddr))
        return false;
    builder->text_hint = low;
    return true;
}

static int function_add(struct table_builder *builder, struct function_range range)
{
    if (!in_text(builder, range.start))
        return 0;
    return sprof_vec_push(&builder->list.functions, range);
}

static bool is_wrong(struct table_builder *builder, const struct cfi_section *section,
                     const struct cfi_fde *fde)
{
    return fde->is_doubtful &&
           !unwind_cfi_agrees_with_code(section, fde, text_between(builder, fde->start, fde->end));
}

/* What a linker drops keeps its entry in .debug_frame, at 0. */
static bool is_dropped(const struct table_builder *builder, enum function_source source,
                       uint64_t start)
{
    return source == FUNCTION_FROM_DEBUG_FRAME && !start && builder->source->text_vaddr;
}

static int gather_frames(struct table_builder *builder, struct cfi_section *section,
                         enum function_source source)
{
    struct unwind_table_facts *facts = &builder->table->facts;
    struct cfi_fde fde;
    size_t offset = 0;
    for (;;) {
        int code = unwind_cfi_section_next(section, &offset, &fde);
        if (code == 1 || code == SPROF_ENOMEM)
            return code == 1 ? 0 : code;
        facts->bad_functions += code == SPROF_EFORMAT;
        if (code || fde.program.size > UINT32_MAX || is_dropped(builder, source, fde.start))
            continue;
        code = function_add(builder,
                            (struct function_range){.start = fde.start,
                                                    .end = fde.end,
                                                    .program = fde.program.data,
                                                    .program_size = (uint32_t)fde.program.size,
                                                    .cie = (uint32_t)fde.cie,
                                                    .entry = (uint32_t)fde.offset,
                                                    .source = (uint8_t)source,
                                                    .wrong = is_wrong(builder, section, &fde)});
        if (code)
            return code;
    }
}

static int gather_go(struct table_builder *builder)
{
    const struct unwind_source *source = builder->source;
    if (!source->gopclntab.size ||
        unwind_go_table_open(&builder->go, source->gopclntab, source->text_vaddr))
        return 0;
    for (size_t i = 0; i < builder->go.functions; i++) {
        struct go_function function;
        const int code = unwind_go_table_function(&builder->go, i, &function);
        builder->table->facts.bad_functions += code != 0;
        const struct function_range range = {.start = function.start,
                                             .end = function.end,
                                             .entry = (uint32_t)i,
                                             .source = FUNCTION_FROM_GO};
        const bool has_rows = function.pcsp || function.root || function.signal_return;
        if (!code && has_rows && function_add(builder, range))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int gather_root(struct table_builder *builder, uint64_t vaddr)
{
    if (!vaddr)
        return 0;
    return function_add(builder, (struct function_range){.start = vaddr,
                                                         .end = vaddr + ROOT_REACH,
                                                         .source = FUNCTION_FROM_ROOT});
}

static int gather_known(struct table_builder *builder)
{
    const struct unwind_source *source = builder->source;
    int code = 0;
    for (size_t i = 0; i < source->plt_count && !code; i++) {
        const struct unwind_range *range = &source->plt[i].range;
        if (range->end > range->start)
            code = function_add(builder, (struct function_range){.start = range->start,
                                                                 .end = range->end,
                                                                 .entry = (uint32_t)i,
                                                                 .source = FUNCTION_FROM_PLT});
    }
    if (!code)
        code = gather_root(builder, source->entry_vaddr);
    for (size_t i = 0; i < source->root_count && !code; i++)
        code = gather_root(builder, source->root_vaddr[i]);
    return code;
}

static int gather(struct table_builder *builder)
{
    int code = gather_go(builder);
    if (!code)
        code = gather_frames(builder, &builder->eh_frame, FUNCTION_FROM_EH_FRAME);
    if (!code)
        code = gather_frames(builder, &builder->debug_frame, FUNCTION_FROM_DEBUG_FRAME);
    return code ? code : gather_known(builder);
}

/* == The whole == */

/* Chooses the base and drops what lies 4 GiB or more above it. */
static void choose_base(struct table_builder *builder)
{
    const struct unwind_source *source = builder->source;
    struct function_range *items = builder->list.functions.items;
    uint64_t lowest = source->text_count ? source->text[0].start : UINT64_MAX, end = 0;
    for (size_t i = 0; i < builder->list.functions.count; i++)
        lowest = items[i].start < lowest ? items[i].start : lowest;
    const uint64_t base = lowest & ~UINT64_C(0xff);
    size_t kept = 0;
    for (size_t i = 0; i < builder->list.functions.count; i++) {
        struct function_range range = items[i];
        if (range.start - base >= UINT32_MAX)
            continue;
        if (range.end < range.start || range.end - base > UINT32_MAX)
            range.end = base + UINT32_MAX;
        end = range.end > end ? range.end : end;
        items[kept++] = range;
    }
    builder->list.functions.count = kept;
    const uint64_t text_end = source->text_vaddr + text_size(source);
    if (text_size(source) && text_end > end && text_end > base && text_end - base <= UINT32_MAX)
        end = text_end; /* up to where known code may be found */
    builder->table->base = builder->next = base;
    builder->table->span = (uint32_t)(end > base ? end - base : 1);
}

static int make_rows(struct table_builder *builder)
{
    struct unwind_table *table = builder->table;
    const size_t count = builder->list.functions.count;
    const struct function_range *functions = builder->list.functions.items;
    table->functions = malloc((count ? count : 1) * sizeof *table->functions);
    if (!table->functions)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count && !builder->code; i++) {
        /* Sections are often not in the order of addresses: without this, half the time is waiting.
         */
        if (i + PREFETCH_AHEAD < count)
            __builtin_prefetch(functions[i + PREFETCH_AHEAD].program);
        rows_gap(builder, functions[i].start);
        const size_t bad = table->facts.bad_functions;
        if (!builder->code)
            function_rows(builder, &functions[i]);
        if (functions[i].source > FUNCTION_FROM_DEBUG_FRAME || bad != table->facts.bad_functions)
            continue;
        table->functions[table->function_count++] = (struct unwind_function){
            .start = (uint32_t)(functions[i].start - table->base),
            .end = (uint32_t)(functions[i].end - table->base),
            .entry = functions[i].entry,
            .kept_in = functions[i].source == FUNCTION_FROM_EH_FRAME      ? UNWIND_KEPT_EH_FRAME
                       : functions[i].source == FUNCTION_FROM_DEBUG_FRAME ? UNWIND_KEPT_DEBUG_FRAME
                                                                          : UNWIND_KEPT_NONE};
    }
    rows_gap(builder, table->base + table->span);
    return builder->code;
}

static int keep_section(struct table_builder *builder, enum unwind_kept which,
                        struct sprof_bytes bytes, uint64_t vaddr)
{
    struct unwind_kept_section *kept = &builder->table->kept[which];
    if (!bytes.size)
        return 0;
    kept->data = malloc(bytes.size);
    if (!kept->data)
        return SPROF_ENOMEM;
    memcpy(kept->data, bytes.data, bytes.size);
    kept->size = bytes.size;
    kept->vaddr = vaddr;
    kept->text_vaddr = builder->source->text_vaddr;
    kept->got_vaddr = builder->source->got_vaddr;
    return 0;
}

/* Keeps the sections where a rule may need them: libunwind follows all registers through them. */
static int keep(struct table_builder *builder)
{
    const struct unwind_table *table = builder->table;
    bool needed = false;
    for (size_t i = 0; i < table->rules.count; i++)
        needed |= unwind_rule_needs_registers(table->rules.rules[i]);
    if (!needed)
        return 0;
    const int code = keep_section(builder, UNWIND_KEPT_EH_FRAME, builder->eh_frame.bytes,
                                  builder->eh_frame.bases.section);
    return code ? code
                : keep_section(builder, UNWIND_KEPT_DEBUG_FRAME, builder->debug_frame.bytes, 0);
}

static void sum_up(struct unwind_table *table, size_t rows)
{
    struct unwind_table_facts *facts = &table->facts;
    facts->rows = rows;
    facts->rules = table->rules.count;
    facts->functions = table->function_count;
    facts->bytes += sizeof *table + table->rules.capacity * sizeof *table->rules.rules +
                    (table->rules.bucket_mask + 1) * sizeof *table->rules.buckets +
                    table->function_count * sizeof *table->functions;
    for (size_t i = 0; i < UNWIND_KEPTS; i++)
        facts->bytes += table->kept[i].size;
}

/* Offsets into sections are kept in 32 bits. */
static struct sprof_bytes first_4_gib(struct sprof_bytes bytes)
{
    return (struct sprof_bytes){bytes.data, bytes.size < UINT32_MAX ? bytes.size : UINT32_MAX};
}

static void sections_init(struct table_builder *builder)
{
    const struct unwind_source *source = builder->source;
    uint64_t vaddr = source->eh_frame_vaddr;
    if (!vaddr && source->eh_frame_hdr.size)
        unwind_eh_frame_hdr_read(source->eh_frame_hdr, source->eh_frame_hdr_vaddr, &vaddr);
    unwind_cfi_section_init(&builder->eh_frame, first_4_gib(source->eh_frame), vaddr, false);
    unwind_cfi_section_init(&builder->debug_frame, first_4_gib(source->debug_frame), 0, true);
    builder->eh_frame.bases.text = builder->debug_frame.bases.text = source->text_vaddr;
    builder->eh_frame.bases.data = builder->debug_frame.bases.data = source->got_vaddr;
}

static int build(struct table_builder *builder)
{
    struct unwind_table *table = builder->table;
    int code = gather(builder);
    if (code)
        return code;
    choose_base(builder);
    code = unwind_function_list_sort(&builder->list, table->base);
    if (code)
        return code;
    unwind_function_list_clip(&builder->list);
    code = make_rows(builder);
    if (code)
        return code;
    if (table->rules.count == 1 && table->rules.rules[0] == UNWIND_RULE_GAP)
        return SPROF_EFORMAT;
    code = unwind_table_pack(table, &builder->rows);
    if (!code)
        code = keep(builder);
    if (!code)
        sum_up(table, builder->rows.count);
    return code;
}

static int build_error(int code, bool had_section, struct sprof_error *error)
{
    if (code == SPROF_ENOMEM)
        return sprof_error_memory(error);
    if (code == SPROF_ELIMIT)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "the call frame information has more than %d rows or 65535 rules",
                               UNWIND_TABLE_ROWS_MAX);
    if (!had_section)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "there is no call frame information");
    return sprof_error_set(error, SPROF_EFORMAT, 0,
                           "the call frame information has no usable function");
}

int unwind_table_build(struct unwind_table **table, const struct unwind_source *source,
                       struct sprof_error *error)
{
    *table = NULL;
    struct table_builder builder = {.source = source, .table = calloc(1, sizeof **table)};
    if (!builder.table)
        return sprof_error_memory(error);
    sections_init(&builder);
    const int code = build(&builder);
    unwind_cfi_section_release(&builder.eh_frame);
    unwind_cfi_section_release(&builder.debug_frame);
    sprof_vec_release(&builder.list.functions);
    free(builder.rows.start);
    free(builder.rows.rule);
    free(builder.text.bytes);
    if (!code) {
        *table = builder.table;
        return 0;
    }
    unwind_table_free(builder.table);
    const bool had_section = source->eh_frame.size || source->debug_frame.size ||
                             source->gopclntab.size || source->plt_count || source->entry_vaddr;
    return build_error(code, had_section, error);
}
