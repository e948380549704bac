/* Finds the exception that leaves a traced call: type and text, by its language's layout. */
#ifndef SPROF_AGENT_PROBE_THROWN_H
#define SPROF_AGENT_PROBE_THROWN_H

#include "agent/probe/values.h"

enum { THROWN_NAME = 64, THROWN_TYPES = 16, THROWN_TYPE_BYTES = 128, THROWN_TEXT_BYTES = 256 };

/* "GNUCC++" and "CLNGC++" */
#define THROWN_GNU UINT64_C(0x474e5543432b2b)
#define THROWN_LLVM UINT64_C(0x434c4e47432b2b)

struct thrown {
    uint64_t type, object;
};

/* Where its name and text are. A text without `bytes` ends with a zero. */
struct thrown_said {
    uint64_t name, text, bytes;
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

/* == C++ ==
 *
 * Mangled type, and text in standard classes (Itanium C++ ABI: exception handling 2.2.1,
 * type_info 2.9.4, 2.9.5). libstdc++ and libc++abi put the type 80 bytes before the unwinder's
 * header, the object 32 bytes after it. */

/* The exception class's low byte marks one rethrown by reference. */
static inline bool find_thrown(const struct thread *thread, uint64_t header, uint64_t kind,
                               struct thrown *thrown, uint64_t now)
{
    thrown->object = header + 32;
    if (!(kind & 0xff))
        return load(thread, header - 80, &thrown->type, now);
    if (kind >> 8 == THROWN_LLVM)
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

static inline bool find_cxx(const struct thread *thread, uint64_t header, uint64_t kind,
                            struct thrown_said *said, uint64_t now)
{
    struct thrown thrown;
    if (!find_thrown(thread, header, kind, &thrown, now) ||
        !load(thread, thrown.type + 8, &said->name, now))
        return false;
    said->text = find_text(thread, &thrown, now);
    return true;
}

/* == Rust ==
 *
 * library/panic_unwind: after the header, and in later versions the address of a zero byte, is a
 * Box<dyn Any>: addresses of payload and table, which begins with drop, size and alignment. No
 * type is named, so a payload is a text if it is as large as &str or String and leads to one. A
 * String's words have no fixed order. */

static inline bool is_zero_at(const struct thread *thread, uint64_t from, uint64_t now)
{
    uint8_t byte;
    return read_memory(thread, &byte, from, 1, now) == 1 && !byte;
}

/* Returns the payload's size, or 0. */
static inline uint64_t find_payload(const struct thread *thread, uint64_t header, uint64_t *payload,
                                    uint64_t now)
{
    static const struct {
        uint32_t offset; /* after headers of four and of eight words */
        bool has_zero;
    } layouts[] = {{32, true}, {64, true}, {64, false}};
    for (uint32_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        uint64_t words[3], table[3];
        const int64_t size = sizeof words;
        const uint32_t skipped = layouts[i].has_zero ? 1 : 0;
        if (read_memory(thread, words, header + layouts[i].offset, 16 + 8 * skipped, now) <
                16 + 8 * (int64_t)skipped ||
            (skipped && !is_zero_at(thread, words[0], now)) ||
            read_memory(thread, table, words[skipped + 1], sizeof table, now) != size)
            continue;
        *payload = words[skipped];
        if (table[2] == 8)
            return table[1];
    }
    return 0;
}

static inline void find_rust(const struct thread *thread, uint64_t header, struct thrown_said *said,
                             uint64_t now)
{
    enum { TEXT_MOST = 1 << 20, SLICE = 16, STRING = 24 };
    uint64_t payload, words[STRING / 8], found = 0;
    const uint64_t size = find_payload(thread, header, &payload, now);
    if ((size != SLICE && size != STRING) ||
        read_memory(thread, words, payload, size, now) != (int64_t)size)
        return;
    said->bytes = TEXT_MOST;
    for (uint32_t i = 0; i < size / 8; i++)
        if (words[i] > TEXT_MOST) {
            said->text = words[i];
            found++;
        } else if (words[i] < said->bytes) {
            said->bytes = words[i]; /* the length, not more than a String's room */
        }
    if (found != 1 || !said->bytes || (size == SLICE && said->text != words[0]))
        said->text = 0;
}

/* == Ada ==
 *
 * GNAT's System.Exceptions.Machine: 64 bytes of header, then Ada.Exceptions.Exception_Occurrence:
 * identity, header's address, length and text. The identity is a System.Standard_Library record:
 * language, length and address of the name. */

static inline bool find_ada(const struct thread *thread, uint64_t header, struct thrown_said *said,
                            uint64_t now)
{
    enum { LANGUAGE = 8, TEXT_MOST = 200 };
    uint64_t occurrence[3], identity;
    const int64_t size = sizeof occurrence;
    if (read_memory(thread, occurrence, header + 64, size, now) != size ||
        occurrence[1] != header || !load(thread, occurrence[0], &identity, now) ||
        (uint8_t)(identity >> LANGUAGE) != 'A' ||
        !load(thread, occurrence[0] + 8, &said->name, now))
        return false;
    said->bytes = (uint32_t)occurrence[2];
    if (said->bytes && said->bytes <= TEXT_MOST)
        said->text = header + 64 + 20;
    return true;
}

/* == All == */

/* By an exception's class. -1: unknown. */
static inline int language_of(uint64_t kind)
{
    static const struct {
        uint64_t kind, mask;
        uint32_t language;
    } kinds[] = {
        {THROWN_GNU << 8, ~UINT64_C(0xff), PROBE_CXX},
        {THROWN_LLVM << 8, ~UINT64_C(0xff), PROBE_CXX},
        {0x4d4f5a0052555354, ~UINT64_C(0), PROBE_RUST}, /* "MOZ\0RUST" … */
        {0x54535552005a4f4d, ~UINT64_C(0), PROBE_RUST}, /* … later as bytes */
        {0x474e552d41646100, ~UINT64_C(0), PROBE_ADA},  /* "GNU-Ada\0" */
    };
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((kind & kinds[i].mask) == kinds[i].kind)
            return (int)kinds[i].language;
    return -1;
}

static inline uint16_t length_of(const uint8_t *text, int64_t most)
{
    uint16_t length = 0;
    while (length < most && text[length])
        length++;
    return length;
}

/* `header`: the unwinder's. */
static SAVES_ALL __attribute__((noinline)) void take_thrown(const struct thread *thread,
                                                            uint64_t header, uint64_t now,
                                                            struct probe_kept_values *kept,
                                                            uint8_t *to, uint64_t room)
{
    struct thrown_said said = {0};
    uint64_t kind;
    bool is_named = false;
    if (!header || room < THROWN_TYPE_BYTES + THROWN_TEXT_BYTES ||
        !load(thread, header, &kind, now))
        return;
    const int language = language_of(kind);
    switch (language) {
    case PROBE_CXX: is_named = find_cxx(thread, header, kind, &said, now); break;
    case PROBE_ADA: is_named = find_ada(thread, header, &said, now); break;
    case PROBE_RUST: find_rust(thread, header, &said, now); break;
    default: return;
    }
    kept->language = (uint8_t)language;
    if (is_named)
        kept->type_bytes =
            length_of(to, read_memory(thread, to, said.name, THROWN_TYPE_BYTES, now));
    if (!said.text || (language == PROBE_CXX && !kept->type_bytes))
        return;
    const uint64_t most =
        said.bytes && said.bytes < THROWN_TEXT_BYTES ? said.bytes : THROWN_TEXT_BYTES;
    const int64_t got = read_memory(thread, to + kept->type_bytes, said.text, most, now);
    if (said.bytes ? got < (int64_t)most : got <= 0)
        return;
    kept->has_text = 1;
    kept->text_bytes = said.bytes ? (uint16_t)most : length_of(to + kept->type_bytes, got);
}

#endif
