/* Walks the entries of units and flattens the functions that are asked for. */
#include "symbolize/dwarf_functions.h"

#include "symbolize/dwarf_lines.h"

#include <dwarf.h>
#include <stdlib.h>

enum {
    MAX_DEPTH = 200,
    MAX_ORIGINS = 16,    /* links from an inlined call to what it calls; real ones have three */
    MAX_PIECES = 64,     /* of one function */
    MAX_CALLS = 1 << 16, /* ranges of inlined calls in one function */
};

/* A range of an inlined call of the function at hand, in DWARF's addresses. */
struct call {
    uint64_t low, high;
    uint32_t entry, parent, description, call_file, call_line;
};

/* A row of a line table inside a piece. */
struct line {
    uint32_t piece;
    struct index_line line;
};

/* A unit's line table, and the texts of those of its files that were asked for. */
struct table {
    struct dwarf_line_table lines;
    uint32_t *texts;
};

struct walk {
    struct function_index *index;
    struct dwarf dwarf;
    uint64_t delta;
    const struct addresses *addresses;
    SPROF_VEC(struct table) tables; /* of units, by number - 1 */
    struct sprof_map
        descriptions;       /* offset of a function's entry, or of the first origin → number */
    struct sprof_map texts; /* offset in .debug_str → text */
    struct dwarf_unit *unit;
    SPROF_VEC(struct index_piece)
    found;                          /* pieces of the function at hand, behind those of outer ones */
    SPROF_VEC(struct call) calls;   /* the same */
    size_t first_found, first_call; /* where its own begin */
    uint32_t entries;
    bool broken;                  /* an entry could not be read */
    SPROF_VEC(struct line) lines; /* of the unit at hand */
    size_t first_piece;           /* of the unit at hand, in the index */
    SPROF_VEC(uint32_t) order;    /* these pieces by address */
    size_t last_piece;            /* where the last row fell */
};

/* == Files == */

static struct table *table_of(struct walk *walk, struct dwarf_unit *unit)
{
    if (!unit->line_table) {
        struct table table = {0};
        if (!dwarf_line_table_open(&table.lines, &walk->dwarf, unit))
            dwarf_line_table_release(&table.lines);
        const size_t files = table.lines.files.count;
        table.texts = calloc(files + 1, sizeof *table.texts);
        if (!table.texts || sprof_vec_push(&walk->tables, table)) {
            dwarf_line_table_release(&table.lines);
            free(table.texts);
            walk->index->failed = true;
            return NULL;
        }
        unit->line_table = (uint32_t)walk->tables.count;
    }
    return &walk->tables.items[unit->line_table - 1];
}

static uint32_t file_of(struct walk *walk, struct dwarf_unit *unit, uint64_t number)
{
    const struct table *table = table_of(walk, unit);
    if (!table || number >= table->lines.files.count)
        return 0;
    struct sprof_str name = {0};
    if (!table->texts[number] && dwarf_line_table_file(&table->lines, number, &name))
        table->texts[number] = function_index_text(walk->index, name.text);
    sprof_str_release(&name);
    return table->texts[number];
}

static uint32_t line_of(uint64_t line)
{
    return line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* == Names == */

/* Linkers store equal strings once: their place stands for them. */
static uint32_t text_of(struct walk *walk, const struct dwarf_unit *unit,
                        const struct dwarf_value *value)
{
    const bool shared = value->class == DWARF_TEXT && value->form == DW_FORM_strp;
    const uint64_t *known = shared ? sprof_map_get(&walk->texts, value->number) : NULL;
    if (known)
        return (uint32_t)*known;
    const char *text = dwarf_text(&walk->dwarf, unit, value);
    const uint32_t number = text && text[0] ? function_index_text(walk->index, text) : 0;
    if (shared && sprof_map_put(&walk->texts, value->number, number))
        walk->index->failed = true;
    return number;
}

/* The entry that says more about a function, false at the end. */
static bool follow(struct walk *walk, struct dwarf_unit **unit, struct dwarf_entry *entry)
{
    uint64_t next = 0;
    if (entry->origin.class == DWARF_REFERENCE)
        next = entry->origin.number;
    else if (entry->specification.class == DWARF_REFERENCE)
        next = entry->specification.number;
    struct dwarf_unit *other = next ? dwarf_unit_of(&walk->dwarf, next) : NULL;
    if (!other || !dwarf_entry_read(&walk->dwarf, other, next, entry))
        return false;
    *unit = other;
    return true;
}

/* Collects what a function is called and where it is declared, also through abstract origins and
 * specifications; number 0 only where memory ran out. */
static uint32_t describe(struct walk *walk, const struct dwarf_entry *of)
{
    /* All calls of a function name the same origin. */
    const uint64_t identity = of->origin.class == DWARF_REFERENCE ? of->origin.number : of->offset;
    const uint64_t *known = sprof_map_get(&walk->descriptions, identity);
    if (known)
        return (uint32_t)*known;
    struct dwarf_entry entry = *of;
    struct dwarf_unit *unit = walk->unit;
    struct index_description made = {.ada = walk->unit->ada};
    struct dwarf_value name = {0};
    struct dwarf_unit *name_unit = unit;
    for (int i = 0; i < MAX_ORIGINS; i++) {
        if (!made.linkage_name)
            made.linkage_name = text_of(walk, unit, &entry.linkage_name);
        if (name.class == DWARF_NONE) {
            name = entry.name;
            name_unit = unit;
        }
        if (!made.line)
            made.line = line_of(entry.decl_line);
        if (!made.file && entry.decl_file)
            made.file = file_of(walk, unit, entry.decl_file - 1);
        if (!follow(walk, &unit, &entry))
            break;
    }
    if (!made.linkage_name)
        made.linkage_name = text_of(walk, name_unit, &name);
    if (sprof_vec_push(&walk->index->descriptions, made) ||
        sprof_map_put(&walk->descriptions, identity, walk->index->descriptions.count)) {
        walk->index->failed = true;
        return 0;
    }
    return (uint32_t)walk->index->descriptions.count;
}

/* == Functions == */

static bool note_piece(void *context, uint64_t low, uint64_t high)
{
    struct walk *walk = context;
    const struct index_piece piece = {.low = low - walk->delta, .high = high - walk->delta};
    if (high - low > UINT32_MAX || sprof_vec_push(&walk->found, piece))
        return false;
    return walk->found.count - walk->first_found < MAX_PIECES;
}

/* Whether one of the pieces holds an address that is asked for. */
static bool is_wanted(const struct walk *walk)
{
    const struct addresses *addresses = walk->addresses;
    for (size_t i = walk->first_found; i < walk->found.count; i++) {
        const size_t at = addresses_lower_bound(addresses, walk->found.items[i].low);
        if (at < addresses->count && addresses->items[at] < walk->found.items[i].high)
            return true;
    }
    return false;
}

struct noting {
    struct walk *walk;
    struct call call;
};

static bool note_call(void *context, uint64_t low, uint64_t high)
{
    struct noting *noting = context;
    struct walk *walk = noting->walk;
    noting->call.low = low - walk->delta;
    noting->call.high = high - walk->delta;
    walk->broken |= walk->calls.count - walk->first_call >= MAX_CALLS ||
                    sprof_vec_push(&walk->calls, noting->call);
    return !walk->broken;
}

/* Returns where what follows the children begins; 0 where that is not known, or nothing does. */
static uint64_t walk_children(struct walk *walk, uint64_t at, uint32_t parent, bool in_function,
                              unsigned depth);

static uint64_t walk_call(struct walk *walk, const struct dwarf_entry *entry, uint32_t parent,
                          unsigned depth)
{
    struct noting noting = {walk,
                            {.entry = ++walk->entries,
                             .parent = parent,
                             .description = describe(walk, entry),
                             .call_line = line_of(entry->call_line)}};
    if (entry->call_file)
        noting.call.call_file = file_of(walk, walk->unit, entry->call_file - 1);
    const size_t before = walk->calls.count;
    dwarf_each_range(&walk->dwarf, walk->unit, entry, note_call, &noting);
    return walk->calls.count > before && entry->has_children
               ? walk_children(walk, entry->children, noting.call.entry, true, depth + 1)
               : 0;
}

/* The calls of the function, cut to each of its pieces. */
static void add_pieces(struct walk *walk, uint32_t description)
{
    struct function_index *index = walk->index;
    for (size_t i = walk->first_found; i < walk->found.count; i++) {
        struct index_piece piece = walk->found.items[i];
        piece.description = description;
        piece.first_inline = (uint32_t)index->inlines.count;
        for (size_t k = walk->first_call; k < walk->calls.count; k++) {
            const struct call *call = &walk->calls.items[k];
            const uint64_t low = call->low > piece.low ? call->low : piece.low;
            const uint64_t high = call->high < piece.high ? call->high : piece.high;
            const struct index_inline made = {
                .low = (uint32_t)(low - piece.low),
                .high = (uint32_t)(high - piece.low),
                .entry = call->entry,
                .parent = call->parent,
                .description = call->description,
                .call_file = call->call_file,
                .call_line = call->call_line,
            };
            if (low < high && sprof_vec_push(&index->inlines, made))
                index->failed = true;
        }
        piece.inline_count = (uint32_t)(index->inlines.count - piece.first_inline);
        if (sprof_vec_push(&index->pieces, piece))
            index->failed = true;
    }
}

/* Functions inside functions are met while the outer one is at hand. One that could not be read to
 * its end is left out. */
static uint64_t walk_function(struct walk *walk, const struct dwarf_entry *entry, unsigned depth)
{
    const size_t outer_found = walk->first_found, outer_call = walk->first_call;
    const uint32_t outer_entries = walk->entries;
    uint64_t next = 0;
    walk->first_found = walk->found.count;
    walk->first_call = walk->calls.count;
    walk->entries = 0;
    dwarf_each_range(&walk->dwarf, walk->unit, entry, note_piece, walk);
    if (is_wanted(walk)) {
        const uint32_t description = describe(walk, entry);
        if (entry->has_children)
            next = walk_children(walk, entry->children, 0, true, depth + 1);
        if (!walk->broken && description)
            add_pieces(walk, description);
    }
    walk->found.count = walk->first_found;
    walk->calls.count = walk->first_call;
    walk->first_found = outer_found;
    walk->first_call = outer_call;
    walk->entries = outer_entries;
    return next;
}

static bool may_hold_functions(uint16_t tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* Where the entries after one and its children begin; 0 where that cannot be found. */
static uint64_t behind(struct walk *walk, const struct dwarf_entry *entry, unsigned depth)
{
    if (!entry->has_children)
        return entry->children;
    if (entry->sibling > entry->offset)
        return entry->sibling;
    uint64_t at = entry->children;
    struct dwarf_entry child;
    while (at && depth < MAX_DEPTH && dwarf_entry_read(&walk->dwarf, walk->unit, at, &child)) {
        if (!child.tag)
            return child.children;
        at = behind(walk, &child, depth + 1);
    }
    walk->broken = true;
    return 0;
}

static uint64_t walk_children(struct walk *walk, uint64_t at, uint32_t parent, bool in_function,
                              unsigned depth)
{
    struct dwarf_entry entry;
    while (depth < MAX_DEPTH && !walk->index->failed &&
           dwarf_entry_read(&walk->dwarf, walk->unit, at, &entry)) {
        uint64_t next = 0;
        if (!entry.tag)
            return entry.children;
        if (entry.tag == DW_TAG_subprogram)
            next = walk_function(walk, &entry, depth);
        else if (entry.tag == DW_TAG_inlined_subroutine && in_function)
            next = walk_call(walk, &entry, parent, depth);
        else if (may_hold_functions(entry.tag) && entry.has_children)
            next = walk_children(walk, entry.children, parent, in_function, depth + 1);
        at = next ? next : behind(walk, &entry, depth);
        if (walk->broken)
            return 0;
    }
    walk->broken = true;
    return 0;
}

/* == Lines == */

static int by_low(const void *left, const void *right, void *context)
{
    const struct index_piece *pieces = context;
    const uint64_t a = pieces[*(const uint32_t *)left].low,
                   b = pieces[*(const uint32_t *)right].low;
    return (a > b) - (a < b);
}

static void add_row(void *context, uint64_t low, uint64_t high, uint64_t file, uint64_t line)
{
    struct walk *walk = context;
    const struct index_piece *pieces = walk->index->pieces.items;
    const uint32_t *order = walk->order.items;
    low -= walk->delta;
    high -= walk->delta;
    size_t at = walk->last_piece;
    if (at >= walk->order.count || pieces[order[at]].low > low) {
        size_t left = 0, right = walk->order.count;
        while (left < right) {
            const size_t middle = left + (right - left) / 2;
            if (pieces[order[middle]].high <= low)
                left = middle + 1;
            else
                right = middle;
        }
        at = left;
    }
    while (at < walk->order.count && pieces[order[at]].high <= low)
        at++;
    walk->last_piece = at;
    for (; at < walk->order.count && pieces[order[at]].low < high; at++) {
        const struct index_piece *piece = &pieces[order[at]];
        const struct line *before =
            walk->lines.count ? &walk->lines.items[walk->lines.count - 1] : NULL;
        if (before && before->piece == order[at] && !before->line.file && !before->line.line &&
            low > piece->low && before->line.low == low - piece->low)
            walk->lines.count--; /* it goes on */
        const struct line made = {order[at],
                                  {.low = low > piece->low ? (uint32_t)(low - piece->low) : 0,
                                   .file = file_of(walk, walk->unit, file),
                                   .line = line_of(line)}};
        if (sprof_vec_push(&walk->lines, made))
            walk->index->failed = true;
        /* Where nothing follows, no line is known. */
        const struct line end = {order[at], {.low = (uint32_t)(high - piece->low)}};
        if (high < piece->high && sprof_vec_push(&walk->lines, end))
            walk->index->failed = true;
    }
}

static int by_piece(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->piece != b->piece)
        return a->piece < b->piece ? -1 : 1;
    if (a->line.low != b->line.low)
        return a->line.low < b->line.low ? -1 : 1;
    return (a->line.line > 0) - (b->line.line > 0); /* ends come before what begins there */
}

/* Gives each piece its lines: of equal addresses the last, of equal lines in a row the first. */
static void add_lines(struct walk *walk)
{
    struct function_index *index = walk->index;
    bool sorted = true;
    for (size_t i = 1; i < walk->lines.count; i++)
        sorted &= by_piece(&walk->lines.items[i - 1], &walk->lines.items[i]) <= 0;
    if (!sorted)
        qsort(walk->lines.items, walk->lines.count, sizeof *walk->lines.items, by_piece);
    for (size_t i = 0; i < walk->lines.count;) {
        struct index_piece *piece = &index->pieces.items[walk->lines.items[i].piece];
        piece->first_line = (uint32_t)index->lines.count;
        for (const uint32_t number = walk->lines.items[i].piece;
             i < walk->lines.count && walk->lines.items[i].piece == number; i++) {
            const struct index_line *line = &walk->lines.items[i].line;
            const size_t count = index->lines.count - piece->first_line;
            struct index_line *last = count ? &index->lines.items[index->lines.count - 1] : NULL;
            if (last && last->low == line->low)
                *last = *line;
            else if (last && last->file == line->file && last->line == line->line)
                continue;
            else if (sprof_vec_push(&index->lines, *line))
                index->failed = true;
        }
        piece->line_count = (uint32_t)(index->lines.count - piece->first_line);
    }
}

static void walk_lines(struct walk *walk)
{
    const size_t pieces = walk->index->pieces.count;
    const struct table *table = pieces > walk->first_piece ? table_of(walk, walk->unit) : NULL;
    walk->order.count = walk->lines.count = walk->last_piece = 0;
    if (!table || !table->lines.lengths ||
        sprof_vec_reserve(&walk->order, pieces - walk->first_piece))
        return;
    for (size_t i = walk->first_piece; i < pieces; i++)
        walk->order.items[walk->order.count++] = (uint32_t)i;
    qsort_r(walk->order.items, walk->order.count, sizeof *walk->order.items, by_low,
            walk->index->pieces.items);
    const struct dwarf_line_table copy = table->lines; /* the list of tables may move */
    dwarf_line_table_run(&copy, &walk->dwarf, add_row, walk);
    add_lines(walk);
}

/* == Units == */

struct wanting {
    const struct walk *walk;
    bool found;
};

static bool stop_at_wanted(void *context, uint64_t low, uint64_t high)
{
    struct wanting *wanting = context;
    const struct walk *walk = wanting->walk;
    const size_t at = addresses_lower_bound(walk->addresses, low - walk->delta);
    wanting->found = at < walk->addresses->count && walk->addresses->items[at] < high - walk->delta;
    return !wanting->found;
}

/* Whether a unit holds an address; of one that gives no ranges, nobody knows. */
static bool unit_is_wanted(struct walk *walk, struct dwarf_unit *unit)
{
    const struct dwarf_entry root = {.ranges = unit->ranges,
                                     .low_is_known = unit->low_is_known,
                                     .high_is_offset = unit->high_is_offset,
                                     .low_pc = unit->low_pc,
                                     .high_pc = unit->high_pc};
    if (unit->ranges.class == DWARF_NONE && !(unit->low_is_known && unit->high_pc))
        return true;
    struct wanting wanting = {.walk = walk};
    dwarf_each_range(&walk->dwarf, unit, &root, stop_at_wanted, &wanting);
    return wanting.found;
}

static void walk_unit(struct walk *walk, struct dwarf_unit *unit)
{
    struct dwarf_entry root;
    walk->unit = unit;
    walk->broken = false;
    walk->first_piece = walk->index->pieces.count;
    if (!dwarf_entry_read(&walk->dwarf, unit, unit->entries, &root) || !root.has_children)
        return;
    walk_children(walk, root.children, 0, false, 0);
    walk_lines(walk);
}

void dwarf_functions_add(struct function_index *index, const struct dwarf_sections *sections,
                         uint64_t delta, const struct addresses *addresses)
{
    struct walk walk = {.index = index, .delta = delta, .addresses = addresses};
    dwarf_open(&walk.dwarf, sections);
    for (size_t i = 0; i < walk.dwarf.units.count && !index->failed; i++) {
        struct dwarf_unit *unit = &walk.dwarf.units.items[i];
        if (dwarf_unit_open(&walk.dwarf, unit) && unit_is_wanted(&walk, unit))
            walk_unit(&walk, unit);
    }
    index->failed |= walk.dwarf.failed;
    for (size_t i = 0; i < walk.tables.count; i++) {
        dwarf_line_table_release(&walk.tables.items[i].lines);
        free(walk.tables.items[i].texts);
    }
    sprof_vec_release(&walk.tables);
    sprof_vec_release(&walk.found);
    sprof_vec_release(&walk.calls);
    sprof_vec_release(&walk.lines);
    sprof_vec_release(&walk.order);
    sprof_map_release(&walk.descriptions);
    sprof_map_release(&walk.texts);
    dwarf_release(&walk.dwarf);
}
