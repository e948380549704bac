/* Counts the places where functions catch exceptions, and says which of their instructions lead to
 * them, from their exception tables (Itanium C++ ABI, exception handling tables; the form of GCC
 * and LLVM). */
#include "plan/planner.h"

enum { OMITTED = 0xff };

struct tables {
    struct planner *planner;
    struct sprof_bytes bytes; /* .gcc_except_table */
    uint64_t vaddr;
};

/* A number of an encoding; what it counts from does not matter here. */
static uint64_t read_number(struct sprof_reader *reader, uint8_t encoding)
{
    switch (encoding & 15) {
    case 0x1: return sprof_reader_uleb(reader);
    case 0x9: return (uint64_t)sprof_reader_sleb(reader);
    case 0x2:
    case 0xa: return sprof_reader_u16(reader);
    case 0x3:
    case 0xb: return sprof_reader_u32(reader);
    case 0x0:
    case 0x4:
    case 0xc: return sprof_reader_u64(reader);
    default: reader->failed = 1; return 0;
    }
}

/* Finds a table's entries: from here on the reader gives them. Returns how their numbers stand. */
static uint8_t find_entries(struct sprof_reader *reader)
{
    const uint8_t landing_encoding = sprof_reader_u8(reader);
    if (landing_encoding != OMITTED)
        read_number(reader, landing_encoding);
    if (sprof_reader_u8(reader) != OMITTED)
        sprof_reader_uleb(reader);
    const uint8_t encoding = sprof_reader_u8(reader);
    const uint64_t size = sprof_reader_uleb(reader);
    reader->failed |= size > sprof_reader_left(reader);
    if (!reader->failed)
        reader->end = reader->next + size;
    return encoding;
}

/* Instructions [start, end) of a function lead to a landing pad, 0: to none. */
struct entry {
    uint64_t start, end, landing, action;
};

static bool next_entry(struct sprof_reader *reader, uint8_t encoding, struct entry *entry)
{
    if (reader->failed || !sprof_reader_left(reader))
        return false;
    entry->start = read_number(reader, encoding);
    entry->end = entry->start + read_number(reader, encoding);
    entry->landing = read_number(reader, encoding);
    entry->action = sprof_reader_uleb(reader);
    return !reader->failed;
}

/* Calls with a landing pad and an action: without one, it only cleans up and goes on unwinding. */
static uint32_t count_catches(struct sprof_reader reader)
{
    const uint8_t encoding = find_entries(&reader);
    struct entry entry;
    uint32_t count = 0;
    while (next_entry(&reader, encoding, &entry))
        count += entry.landing && entry.action;
    return count;
}

bool plan_lands(struct sprof_bytes table, uint64_t from, uint64_t to)
{
    struct sprof_reader reader = sprof_reader_of(table);
    const uint8_t encoding = find_entries(&reader);
    struct entry entry;
    while (next_entry(&reader, encoding, &entry))
        if (entry.landing && entry.start < to && entry.end > from)
            return true;
    return false;
}

static void add_table(void *context, uint64_t start, uint64_t table)
{
    struct tables *tables = context;
    struct planner *planner = tables->planner;
    const ptrdiff_t index =
        plan_function_index(planner->functions.items, planner->functions.count, start);
    struct sprof_reader reader = sprof_reader_of(tables->bytes);
    if (index < 0 || table < tables->vaddr || table - tables->vaddr >= tables->bytes.size)
        return;
    sprof_reader_seek(&reader, (size_t)(table - tables->vaddr));
    planner->functions.items[index].catches += count_catches(reader);
}

void plan_scan_exception_tables(struct planner *planner)
{
    struct tables tables = {.planner = planner};
    uint64_t vaddr;
    const struct sprof_bytes frames = image_section(planner->image, ".eh_frame", &vaddr);
    tables.bytes = image_section(planner->image, ".gcc_except_table", &tables.vaddr);
    if (frames.size && tables.bytes.size)
        planner->failed |= unwind_each_exception_table(frames, vaddr, add_table, &tables) != 0;
}
