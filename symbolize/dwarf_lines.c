/* Reads headers of line tables and runs their programs. */
#include "symbolize/dwarf_lines.h"

#include <dwarf.h>
#include <limits.h>
#include <string.h>

enum { MAX_NAMES = 1 << 20, MAX_FORMATS = 16 };

/* == Headers == */

static void read_old_names(struct dwarf_line_table *table, const struct dwarf_unit *unit,
                           struct sprof_reader *reader)
{
    const struct dwarf_file unknown = {0};
    const char *name;
    int failed = sprof_vec_push(&table->directories, unit->directory) ||
                 sprof_vec_push(&table->files, unknown);
    while (!failed && (name = sprof_reader_text(reader)) && name[0])
        failed = sprof_vec_push(&table->directories, name);
    while (!failed && (name = sprof_reader_text(reader)) && name[0]) {
        const struct dwarf_file file = {name, sprof_reader_uleb(reader)};
        sprof_reader_uleb(reader);
        sprof_reader_uleb(reader);
        failed = sprof_vec_push(&table->files, file);
    }
    reader->failed |= failed;
}

/* A list of directories or files of version 5: first its format, then the entries. */
static void read_list(struct dwarf_line_table *table, const struct dwarf *dwarf,
                      const struct dwarf_unit *unit, struct sprof_reader *reader, bool files)
{
    uint64_t content[MAX_FORMATS], form[MAX_FORMATS];
    const uint8_t formats = sprof_reader_u8(reader);
    reader->failed |= formats > MAX_FORMATS;
    for (uint8_t i = 0; i < formats && !reader->failed; i++) {
        content[i] = sprof_reader_uleb(reader);
        form[i] = sprof_reader_uleb(reader);
        reader->failed |= form[i] > UINT16_MAX;
    }
    const uint64_t count = sprof_reader_uleb(reader);
    reader->failed |= count > MAX_NAMES;
    for (uint64_t entry = 0; entry < count && !reader->failed; entry++) {
        struct dwarf_file file = {0};
        for (uint8_t i = 0; i < formats; i++) {
            struct dwarf_value value;
            if (!symbolize_dwarf_value_read(dwarf, unit, reader, (uint16_t)form[i], 0, &value))
                return;
            if (content[i] == DW_LNCT_path)
                file.name = symbolize_dwarf_text(dwarf, unit, &value);
            if (content[i] == DW_LNCT_directory_index)
                file.directory = value.number;
        }
        reader->failed |= files ? sprof_vec_push(&table->files, file)
                                : sprof_vec_push(&table->directories, file.name);
    }
}

bool symbolize_dwarf_line_table_open(struct dwarf_line_table *table, const struct dwarf *dwarf,
                                     const struct dwarf_unit *unit)
{
    *table = (struct dwarf_line_table){0};
    struct sprof_reader whole = sprof_reader_of(dwarf->sections.line);
    if (!unit->has_lines || unit->line_offset >= dwarf->sections.line.size)
        return false;
    sprof_reader_seek(&whole, (size_t)unit->line_offset);
    struct dwarf_unit forms = *unit; /* assemblers may write a table of the other width */
    uint64_t length;
    if (!symbolize_dwarf_length_read(&whole, &length, &forms.offset_size))
        return false;
    struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){whole.next, (size_t)length});
    table->version = sprof_reader_u16(&reader);
    if (table->version < 2 || table->version > 5)
        return false;
    if (table->version == 5)
        reader.failed |= sprof_reader_u16(&reader) != 8; /* address size; no segments */
    const uint64_t header_length = symbolize_dwarf_offset_read(&reader, forms.offset_size);
    const size_t header = sprof_reader_offset(&reader);
    table->instruction_bytes = sprof_reader_u8(&reader);
    if (table->version >= 4)
        reader.failed |=
            sprof_reader_u8(&reader) != 1; /* more: bundles, which no machine here has */
    sprof_reader_u8(&reader);              /* whether rows are statements at first */
    table->line_base = (int8_t)sprof_reader_u8(&reader);
    table->line_range = sprof_reader_u8(&reader);
    table->opcode_base = sprof_reader_u8(&reader);
    if (reader.failed || !table->line_range || !table->opcode_base)
        return false;
    table->lengths = sprof_reader_take(&reader, table->opcode_base - 1u);
    if (table->version == 5) {
        read_list(table, dwarf, &forms, &reader, false);
        read_list(table, dwarf, &forms, &reader, true);
    } else {
        read_old_names(table, unit, &reader);
    }
    if (reader.failed || header_length > length - header)
        return false;
    const size_t program = header + (size_t)header_length;
    table->program = (struct sprof_bytes){reader.start + program, (size_t)length - program};
    return true;
}

void symbolize_dwarf_line_table_release(struct dwarf_line_table *table)
{
    sprof_vec_release(&table->directories);
    sprof_vec_release(&table->files);
    sprof_vec_release(&table->sequences);
    *table = (struct dwarf_line_table){0};
}

/* Goes on from an absolute path: "." is left out, and ".." takes a part away, so that units of
 * several directories have one name for a file. Only the text is looked at: ".." behind a symbolic
 * link to a directory means another file, which is found under the wrong name. */
static void append_parts(struct sprof_str *name, const char *path)
{
    for (size_t length; *path; path += length) {
        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (length == 2 && !strncmp(path, "..", 2)) {
            const char *last = name->length ? memrchr(name->text, '/', name->length) : NULL;
            name->length = last ? (size_t)(last - name->text) : name->length;
            if (last)
                name->text[name->length] = '\0';
        } else if (length && (length > 1 || *path != '.')) {
            sprof_str_append(name, "/");
            sprof_str_append_bytes(name, path, length);
        }
    }
}

/* A longer name than any file can have is left as it is written. */
static bool is_path(const char *root, const char *directory, const char *file)
{
    return strnlen(root, PATH_MAX) + strnlen(directory, PATH_MAX) + strnlen(file, PATH_MAX) <
           PATH_MAX;
}

bool symbolize_dwarf_line_table_file(const struct dwarf_line_table *table, uint64_t number,
                                     struct sprof_str *name)
{
    if (number >= table->files.count || !table->files.items[number].name)
        return false;
    const struct dwarf_file *file = &table->files.items[number];
    const char *directory = file->directory < table->directories.count
                                ? table->directories.items[file->directory]
                                : NULL;
    const char *root = table->directories.count ? table->directories.items[0] : NULL;
    if (directory && directory[0] == '/')
        root = ""; /* of the directory alone */
    if (file->name[0] != '/' && directory && root && (root[0] == '/' || directory[0] == '/') &&
        is_path(root, directory, file->name)) {
        append_parts(name, root);
        append_parts(name, directory);
        append_parts(name, file->name);
        return !name->failed;
    }
    if (file->name[0] != '/' && directory)
        sprof_str_appendf(name, "%s/", directory);
    sprof_str_append(name, file->name);
    return !name->failed;
}

/* == Programs == */

/* The state machine's registers, as far as rows here have them. */
struct state {
    uint64_t address, file, line;
    bool has_row; /* a row before this one, in the same sequence */
    bool dropped; /* what the sequence begins with is not in the image */
    const struct dwarf_code *code;
    uint64_t row_address, row_file, row_line;
    uint64_t low, high;            /* of all rows of the sequence */
    uint64_t quiet_low, quiet_end; /* rows between these are not wanted */
    dwarf_line_row *row;
    void *context;
};

/* All rows of a dropped function are unwanted. */
static void begin_rows(struct state *state)
{
    state->dropped = !symbolize_dwarf_code_begins(state->code, state->address);
    if (state->dropped) {
        state->quiet_low = 0;
        state->quiet_end = UINT64_MAX;
    }
    state->has_row = true;
}

/* The row before ends where this one begins. Of rows at one address the last counts. */
static inline void emit(struct state *state)
{
    if (!state->has_row) {
        begin_rows(state);
    } else if (state->address > state->row_address) {
        state->low = state->row_address < state->low ? state->row_address : state->low;
        state->high = state->address > state->high ? state->address : state->high;
        if (state->address > state->quiet_end || state->row_address < state->quiet_low) {
            state->quiet_low = state->row_address;
            state->quiet_end = state->row(state->context, state->row_address, state->address,
                                          state->row_file, state->row_line);
        }
    }
    state->row_address = state->address;
    state->row_file = state->file;
    state->row_line = state->line;
}

static inline void start(struct state *state)
{
    state->address = state->quiet_end = 0;
    state->file = state->line = 1;
    state->has_row = state->dropped = false;
}

/* Returns true where the sequence ends. */
static inline bool run_extended(struct state *state, struct sprof_reader *reader)
{
    const uint64_t length = sprof_reader_uleb(reader);
    const uint8_t *bytes = length ? sprof_reader_take(reader, (size_t)length) : NULL;
    if (!bytes)
        return false;
    if (bytes[0] == DW_LNE_end_sequence) {
        emit(state);
        return true;
    }
    if (bytes[0] == DW_LNE_set_address && length == 9)
        memcpy(&state->address, bytes + 1, sizeof state->address);
    return false;
}

static inline void run_standard(struct state *state, const struct dwarf_line_table *table,
                                uint8_t opcode, struct sprof_reader *reader)
{
    switch (opcode) {
    case DW_LNS_copy: emit(state); break;
    case DW_LNS_advance_pc:
        state->address += sprof_reader_uleb(reader) * table->instruction_bytes;
        break;
    case DW_LNS_advance_line: state->line += (uint64_t)sprof_reader_sleb(reader); break;
    case DW_LNS_set_file: state->file = sprof_reader_uleb(reader); break;
    case DW_LNS_const_add_pc:
        state->address +=
            (uint64_t)((255 - table->opcode_base) / table->line_range) * table->instruction_bytes;
        break;
    case DW_LNS_fixed_advance_pc: state->address += sprof_reader_u16(reader); break;
    default: /* columns, prologues, and what later versions may add */
        for (uint8_t i = 0; i < table->lengths[opcode - 1]; i++)
            sprof_reader_uleb(reader);
    }
}

/* What a special opcode adds to the address and to the line. */
struct special {
    uint16_t address;
    int16_t line;
};

struct run {
    const struct dwarf_line_table *table;
    struct dwarf *dwarf;
    struct special specials[256];
    bool short_opcodes; /* columns and statements are as long as the standard says */
};

/* Runs an operation of few bytes, as almost all are; `next` is behind its opcode, and MARGIN bytes
 * or more follow. NULL, and nothing has changed: it is of another kind. */
static inline const uint8_t *run_short(const struct run *run, struct state *state, uint8_t opcode,
                                       const uint8_t *next)
{
    switch (opcode) {
    case DW_LNS_copy: emit(state); return next;
    case DW_LNS_set_column: return run->short_opcodes && next[0] < 0x80 ? next + 1 : NULL;
    case DW_LNS_negate_stmt: return run->short_opcodes ? next : NULL;
    case DW_LNS_set_file:
        if (next[0] >= 0x80)
            return NULL;
        state->file = next[0];
        return next + 1;
    case DW_LNS_advance_pc:
        if (next[0] >= 0x80)
            return NULL;
        state->address += (uint64_t)next[0] * run->table->instruction_bytes;
        return next + 1;
    case DW_LNS_advance_line:
        if (next[0] < 0x80) {
            state->line += (uint64_t)((int64_t)(next[0] ^ 0x40) - 0x40);
            return next + 1;
        }
        if (next[1] < 0x80) {
            const int64_t bits = (next[0] & 0x7f) | next[1] << 7;
            state->line += (uint64_t)((bits ^ 0x2000) - 0x2000);
            return next + 2;
        }
        return NULL;
    case 0: return next[0] == 2 && next[1] == DW_LNE_set_discriminator ? next + 3 : NULL;
    default: return NULL;
    }
}

/* Runs the program from where the reader stands to the end of the sequence, or of the program. The
 * state is copied, so that it can stay in registers. */
static void run_sequence(const struct run *run, struct sprof_reader *reader, struct state *shared)
{
    enum { MARGIN = 3 };
    const unsigned opcode_base = run->table->opcode_base;
    const uint8_t *next = reader->next, *const end = reader->end;
    uint64_t steps = run->dwarf->steps_left;
    struct state state = *shared;
    bool ended = false;
    start(&state);
    for (; !ended && next < end && steps; steps--) {
        const uint8_t opcode = *next++;
        if (opcode >= opcode_base) {
            state.address += run->specials[opcode].address;
            state.line += (uint64_t)run->specials[opcode].line;
            emit(&state);
            continue;
        }
        const uint8_t *behind = end - next >= MARGIN ? run_short(run, &state, opcode, next) : NULL;
        if (behind) {
            next = behind;
            continue;
        }
        reader->next = next;
        if (opcode)
            run_standard(&state, run->table, opcode, reader);
        else
            ended = run_extended(&state, reader);
        next = reader->failed ? end : reader->next;
    }
    *shared = state;
    reader->next = next;
    run->dwarf->steps_left = steps;
}

/* Runs all sequences and notes where they are. */
static void run_all(const struct run *run, struct dwarf_line_table *table, struct state *state)
{
    struct sprof_reader reader = sprof_reader_of(table->program);
    bool noted = true;
    while (!reader.failed && sprof_reader_left(&reader) && run->dwarf->steps_left) {
        struct dwarf_sequence sequence = {.offset = sprof_reader_offset(&reader)};
        state->low = UINT64_MAX;
        state->high = 0;
        run_sequence(run, &reader, state);
        sequence.low = state->low;
        sequence.high = state->high;
        if (sequence.low < sequence.high && !state->dropped)
            noted &= !sprof_vec_push(&table->sequences, sequence);
    }
    table->has_sequences = noted && run->dwarf->steps_left;
    if (!table->has_sequences)
        sprof_vec_release(&table->sequences);
}

static uint64_t no_row(void *context, uint64_t low, uint64_t high, uint64_t file, uint64_t line)
{
    (void)context, (void)low, (void)high, (void)file, (void)line;
    return UINT64_MAX;
}

void symbolize_dwarf_line_table_run(struct dwarf_line_table *table, struct dwarf *dwarf,
                                    dwarf_line_row *row, dwarf_line_wants *wants, void *context)
{
    struct run run = {.table = table, .dwarf = dwarf};
    struct state state = {.code = &dwarf->code, .row = row, .context = context};
    for (unsigned opcode = table->opcode_base; opcode < 256; opcode++) {
        const unsigned adjusted = opcode - table->opcode_base;
        run.specials[opcode] =
            (struct special){(uint16_t)(adjusted / table->line_range * table->instruction_bytes),
                             (int16_t)(table->line_base + (int)(adjusted % table->line_range))};
    }
    run.short_opcodes = table->opcode_base > DW_LNS_negate_stmt &&
                        table->lengths[DW_LNS_set_column - 1] == 1 &&
                        table->lengths[DW_LNS_negate_stmt - 1] == 0;
    if (!table->has_sequences) {
        state.row = dwarf->code.has_zero ? no_row : row;
        run_all(&run, table, &state);
        state.row = row;
        if (!dwarf->code.has_zero)
            return;
    }
    for (size_t i = 0; i < table->sequences.count && dwarf->steps_left; i++) {
        const struct dwarf_sequence *sequence = &table->sequences.items[i];
        struct sprof_reader reader = sprof_reader_of(table->program);
        sprof_reader_seek(&reader, sequence->offset);
        if (wants(context, sequence->low, sequence->high))
            run_sequence(&run, &reader, &state);
    }
}
