/* jitdump (tools/perf/Documentation/jitdump-specification.txt in the kernel). The code bytes inside
 * make these files large, so records are read one at a time and the code is left out. */
#include "symbolize/jit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FILE_HEADER = 40,
    RECORD_HEADER = 16,
    MAX_PAYLOAD = 64 << 20,
    VERSION = 1,
    PROCESSOR_CLOCK = 1, /* JITDUMP_FLAGS_ARCH_TIMESTAMP */
    MAX_LINES_OF_ENTRY = 1 << 16,
    RECORD_COST = 64, /* as much time as to read so many bytes */
};

/* A file with holes claims more than it takes on the disk. Three million pieces of code with names
 * of usual length fit, however large they are, and 16 million of the smallest records. */
static const uint64_t max_read_bytes = UINT64_C(1) << 30;

enum record_id {
    CODE_LOAD = 0,
    CODE_MOVE = 1,
    DEBUG_INFO = 2,
    CLOSE = 3,
};

struct dump {
    struct symbolize_jit *jit;
    int fd;
    uint64_t offset;  /* of the next record */
    uint64_t end;     /* of the file, as it was at first: it may grow for ever */
    uint64_t read;    /* bytes so far */
    uint64_t time_ns; /* of the present one */
    uint8_t *payload; /* of the present one */
    size_t capacity;
    bool has_clock;            /* times are of CLOCK_MONOTONIC */
    struct sprof_map by_start; /* start of a piece of code → its newest entry */
    uint64_t lines_address;    /* of the DEBUG_INFO record that waits for its CODE_LOAD */
    uint32_t lines_first, lines_count;
};

/* The payload's first `wanted` bytes, fewer at the end of the file. */
static int read_payload(struct dump *dump, size_t wanted, struct sprof_reader *reader)
{
    if (wanted > dump->capacity) {
        uint8_t *grown = realloc(dump->payload, wanted);
        if (!grown)
            return SPROF_ENOMEM;
        dump->payload = grown;
        dump->capacity = wanted;
    }
    const size_t got =
        sprof_file_read(dump->fd, dump->offset + RECORD_HEADER, dump->payload, wanted);
    dump->read += got;
    *reader = sprof_reader_of((struct sprof_bytes){dump->payload, got});
    return 0;
}

/* Of the newest entry, for records that move it. */
static int remember_start(struct dump *dump)
{
    const size_t newest = dump->jit->entries.count - 1;
    return sprof_map_put(&dump->by_start, dump->jit->entries.items[newest].start, newest);
}

/* The name stands between the fixed fields and the code: most are short. */
static int read_to_name_end(struct dump *dump, size_t size, struct sprof_reader *reader)
{
    enum { FIXED = 40, USUAL = FIXED + 256, MOST = FIXED + JIT_MAX_NAME };
    const int code = read_payload(dump, size < USUAL ? size : USUAL, reader);
    if (code || sprof_reader_left(reader) < USUAL ||
        memchr(reader->next + FIXED, '\0', USUAL - FIXED))
        return code;
    return read_payload(dump, size < MOST ? size : MOST, reader);
}

static int read_load(struct dump *dump, size_t size)
{
    struct sprof_reader reader;
    struct jit_entry entry = {.time_ns = dump->time_ns};
    if (read_to_name_end(dump, size, &reader))
        return SPROF_ENOMEM;
    sprof_reader_u64(&reader); /* pid, tid */
    sprof_reader_u64(&reader); /* vma */
    entry.start = sprof_reader_u64(&reader);
    entry.size = sprof_reader_u64(&reader);
    sprof_reader_u64(&reader); /* code_index */
    const char *name = (const char *)reader.next;
    const size_t length = strnlen(name, sprof_reader_left(&reader));
    if (reader.failed || !length || !entry.size || entry.start + entry.size < entry.start) {
        dump->jit->bad_lines++;
        return 0;
    }
    if (dump->lines_count && dump->lines_address == entry.start) {
        entry.line = dump->lines_first;
        entry.line_count = dump->lines_count;
    }
    dump->lines_count = 0;
    if (symbolize_jit_add(dump->jit, entry, name, length))
        return SPROF_ENOMEM;
    return remember_start(dump);
}

/* The code keeps its name and lines at its new place. */
static int read_move(struct dump *dump, size_t size)
{
    struct sprof_reader reader;
    struct symbolize_jit *jit = dump->jit;
    if (read_payload(dump, size < 48 ? size : 48, &reader))
        return SPROF_ENOMEM;
    sprof_reader_u64(&reader);
    sprof_reader_u64(&reader);
    const uint64_t old_start = sprof_reader_u64(&reader);
    const uint64_t new_start = sprof_reader_u64(&reader);
    const uint64_t code_size = sprof_reader_u64(&reader);
    const uint64_t *known = sprof_map_get(&dump->by_start, old_start);
    if (reader.failed || !known || !code_size || new_start + code_size < new_start ||
        jit->entries.count >= JIT_MAX_ENTRIES) {
        jit->bad_lines++;
        return 0;
    }
    struct jit_entry entry = jit->entries.items[*known];
    entry.moved += new_start - old_start;
    entry.time_ns = dump->time_ns;
    entry.start = new_start;
    entry.size = code_size;
    if (sprof_vec_push(&jit->entries, entry))
        return SPROF_ENOMEM;
    return remember_start(dump);
}

/* A file name that is the same as the one before is kept once; the specification writes it as the
 * bytes ff 00 then. */
static int use_file(struct symbolize_jit *jit, const char *name, const char **file)
{
    const bool same =
        !strcmp(name, "\xff") || (jit->last_file && !strncmp(jit->last_file, name, JIT_MAX_NAME));
    if (!same || !jit->last_file) {
        const char *copy = sprof_arena_copy(&jit->texts, name, strnlen(name, JIT_MAX_NAME));
        if (!copy)
            return SPROF_ENOMEM;
        jit->last_file = copy;
    }
    *file = jit->last_file;
    return 0;
}

static int read_lines(struct dump *dump, size_t size)
{
    struct sprof_reader reader;
    struct symbolize_jit *jit = dump->jit;
    if (read_payload(dump, size, &reader))
        return SPROF_ENOMEM;
    dump->lines_address = sprof_reader_u64(&reader);
    const uint64_t count = sprof_reader_u64(&reader);
    dump->lines_first = (uint32_t)jit->lines.count;
    for (uint64_t i = 0; i < count && i < MAX_LINES_OF_ENTRY && jit->lines.count < JIT_MAX_LINES;
         i++) {
        struct jit_line line = {.address = sprof_reader_u64(&reader)};
        line.line = sprof_reader_u32(&reader);
        sprof_reader_u32(&reader); /* discriminator */
        const char *name = sprof_reader_text(&reader);
        if (reader.failed) {
            jit->bad_lines++;
            break;
        }
        if (use_file(jit, name, &line.file) || sprof_vec_push(&jit->lines, line))
            return SPROF_ENOMEM;
    }
    dump->lines_count = (uint32_t)jit->lines.count - dump->lines_first;
    return 0;
}

typedef int read_record(struct dump *dump, size_t size);

/* Records of other kinds, such as unwinding information, are passed over. */
static read_record *const readers[] = {
    [CODE_LOAD] = read_load,
    [CODE_MOVE] = read_move,
    [DEBUG_INFO] = read_lines,
};

static int read_records(struct dump *dump)
{
    uint8_t head[RECORD_HEADER];
    while (dump->offset < dump->end &&
           sprof_file_read(dump->fd, dump->offset, head, sizeof head) == sizeof head) {
        dump->read += RECORD_COST;
        if (dump->read > max_read_bytes) {
            dump->jit->is_cut = true;
            break;
        }
        struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){head, sizeof head});
        const uint32_t id = sprof_reader_u32(&reader);
        const uint32_t size = sprof_reader_u32(&reader);
        dump->time_ns = dump->has_clock ? sprof_reader_u64(&reader) : 0;
        if (id == CLOSE)
            break;
        if (size < RECORD_HEADER) { /* the beginning of the next one is unknown */
            dump->jit->bad_lines++;
            break;
        }
        const uint32_t payload = size - RECORD_HEADER;
        if (id < sizeof readers / sizeof *readers && payload <= MAX_PAYLOAD &&
            readers[id](dump, payload))
            return SPROF_ENOMEM;
        dump->offset += size;
    }
    return 0;
}

int symbolize_jit_read_dump(struct symbolize_jit *jit, int fd, const char *path,
                            struct sprof_error *error)
{
    uint8_t head[FILE_HEADER];
    const size_t got = sprof_file_read(fd, 0, head, sizeof head);
    struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){head, got});
    const uint32_t magic = sprof_reader_u32(&reader);
    const uint32_t version = sprof_reader_u32(&reader);
    const uint32_t header_size = sprof_reader_u32(&reader);
    sprof_reader_take(&reader, 3 * sizeof(uint32_t) + sizeof(uint64_t)); /* machine, pid, time */
    const bool has_clock = !(sprof_reader_u64(&reader) & PROCESSOR_CLOCK);
    if (magic == JIT_DUMP_OTHER_MAGIC)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s was written by a big endian machine", path);
    if (got != sizeof head || header_size < FILE_HEADER)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is a damaged jitdump file", path);
    if (version != VERSION)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s is jitdump version %u; sprof reads version 1", path, version);
    struct stat status;
    struct dump dump = {.jit = jit, .fd = fd, .offset = header_size, .has_clock = has_clock};
    dump.end = fstat(fd, &status) ? 0 : (uint64_t)status.st_size;
    const int code = read_records(&dump);
    free(dump.payload);
    sprof_map_release(&dump.by_start);
    return code ? sprof_error_memory(error) : 0;
}
