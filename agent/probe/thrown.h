/* Finds the exception that leaves a traced call: mangled type, and text in standard classes
 * (Itanium C++ ABI: exception handling 2.2.1, type_info 2.9.4, 2.9.5). libstdc++ and libc++abi put
 * the type 80 bytes before the unwinder's header, the object 32 bytes after it. */
#ifndef SPROF_AGENT_PROBE_THROWN_H
#define SPROF_AGENT_PROBE_THROWN_H

#include "agent/probe/values.h"

enum { THROWN_NAME = 64, THROWN_TYPES = 16 };

struct thrown {
    uint64_t type, object;
};

static inline bool load(const struct thread *thread, uint64_t from, uint64_t *value, uint64_t now)
{
    return read_memory(thread, value, from, sizeof *value, now) == sizeof *value;
}

static inline bool read_name(const struct thread *thread, uint64_t type, char name[THROWN_NAME],
                             uint64_t now)
{
    uint64_t at;
    if (!load(thread, type + 8, &at, now))
        return false;
    const int64_t got = read_memory(thread, name, at, THROWN_NAME - 1, now);
    name[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static inline bool is_text(const char *text, const char *wanted)
{
    while (*text && *text == *wanted)
        text++, wanted++;
    return *text == *wanted;
}

/* The exception class's low byte marks one rethrown by reference. */
static inline bool find_thrown(const struct thread *thread, uint64_t header, struct thrown *thrown,
                               uint64_t now)
{
    /* "GNUCC++" and "CLNGC++" */
    static const uint64_t gnu = 0x474e5543432b2b, llvm = 0x434c4e47432b2b;
    uint64_t kind;
    if (!header || !load(thread, header, &kind, now) || (kind >> 8 != gnu && kind >> 8 != llvm))
        return false;
    thrown->object = header + 32;
    if (!(kind & 0xff))
        return load(thread, header - 80, &thrown->type, now);
    if (kind >> 8 == llvm)
        return load(thread, header - 80, &thrown->type, now) &&
               load(thread, header - 88, &thrown->object, now);
    return load(thread, header - 80, &thrown->object, now) &&
           load(thread, thrown->object - 112, &thrown->type, now);
}

/* Leaves out virtual bases, whose positions vary at run time. Returns the count. */
static inline uint32_t add_bases(const struct thread *thread, struct thrown *list, uint32_t at,
                                 uint32_t count, uint64_t now)
{
    enum { VIRTUAL = 1 };
    const struct thrown one = list[at];
    char name[THROWN_NAME];
    uint64_t table, info, flags, base;
    if (!load(thread, one.type, &table, now) || !load(thread, table - 8, &info, now) ||
        !read_name(thread, info, name, now))
        return count;
    if (is_text(name, "N10__cxxabiv120__si_class_type_infoE") && count < THROWN_TYPES &&
        load(thread, one.type + 16, &base, now))
        list[count++] = (struct thrown){base, one.object};
    if (!is_text(name, "N10__cxxabiv121__vmi_class_type_infoE") ||
        !load(thread, one.type + 16, &flags, now))
        return count;
    const uint32_t bases = (uint32_t)(flags >> 32);
    for (uint32_t i = 0; i < bases && count < THROWN_TYPES; i++)
        if (load(thread, one.type + 24 + 16 * i, &base, now) &&
            load(thread, one.type + 32 + 16 * i, &flags, now) && !(flags & VIRTUAL))
            list[count++] = (struct thrown){base, one.object + (uint64_t)((int64_t)flags >> 8)};
    return count;
}

static inline uint64_t find_text(const struct thread *thread, const struct thrown *thrown,
                                 uint64_t now)
{
    struct thrown list[THROWN_TYPES] = {*thrown};
    char name[THROWN_NAME];
    uint64_t text = 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_name(thread, list[i].type, name, now))
            continue;
        const bool is_standard =
            is_text(name, "St13runtime_error") || is_text(name, "St11logic_error");
        if (is_standard || is_text(name, "PKc"))
            return load(thread, list[i].object + (is_standard ? 8 : 0), &text, now) ? text : 0;
        count = add_bases(thread, list, i, count, now);
    }
    return 0;
}

static inline uint16_t copy_text(const struct thread *thread, uint64_t from, uint8_t *to,
                                 uint64_t most, uint64_t now)
{
    const int64_t got = read_memory(thread, to, from, most, now);
    uint16_t length = 0;
    while (length < got && to[length])
        length++;
    return length;
}

/* `header`: the unwinder's. */
static SAVES_ALL __attribute__((noinline)) void take_thrown(const struct thread *thread,
                                                            uint64_t header, uint64_t now,
                                                            struct probe_kept_values *kept,
                                                            uint8_t *to, uint64_t room)
{
    enum { TYPE_BYTES = 128, TEXT_BYTES = 256 };
    struct thrown thrown;
    uint64_t name;
    if (room < TYPE_BYTES + TEXT_BYTES || !find_thrown(thread, header, &thrown, now) ||
        !load(thread, thrown.type + 8, &name, now))
        return;
    kept->type_bytes = copy_text(thread, name, to, TYPE_BYTES, now);
    const uint64_t text = kept->type_bytes ? find_text(thread, &thrown, now) : 0;
    if (text) {
        kept->has_text = 1;
        kept->text_bytes = copy_text(thread, text, to + kept->type_bytes, TEXT_BYTES, now);
    }
}

#endif
