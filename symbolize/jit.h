/* symbolize, inside: code compiled at run time, as its two file formats tell it. */
#ifndef SPROF_SYMBOLIZE_JIT_H
#define SPROF_SYMBOLIZE_JIT_H

#include "symbolize/symbolize.h"

enum {
    JIT_MAX_NAME = 4096, /* bytes of a name that are kept */
    JIT_MAX_ENTRIES = 8 << 20,
    JIT_MAX_LINES = 16 << 20,
};

struct jit_line {
    uint64_t address;
    const char *file;
    uint32_t line;
};

/* A piece of code, in the order of the file: later ones win. */
struct jit_entry {
    uint64_t start, size;
    const char *name;
    uint64_t moved;            /* start now minus start when the lines were written */
    uint32_t line, line_count; /* its part of `lines` */
};

struct symbolize_jit {
    struct sprof_arena texts;
    const char *last_file; /* neighbouring lines share it */
    SPROF_VEC(struct jit_entry) entries;
    SPROF_VEC(struct jit_line) lines;
    uint64_t bad_lines; /* malformed lines or records that were skipped */
};

/* Both read from the start of the descriptor. Return 0 or a negative code. */
int jit_read_perf_map(struct symbolize_jit *jit, int fd, const char *path,
                      struct sprof_error *error);
int jit_read_dump(struct symbolize_jit *jit, int fd, const char *path, struct sprof_error *error);

/* Adds an entry with a name of `length` bytes, which is cut at JIT_MAX_NAME. */
int jit_add(struct symbolize_jit *jit, struct jit_entry entry, const char *name, size_t length);

/* First bytes of a jitdump file, as a little endian number, and of one of the other byte order. */
#define JIT_DUMP_MAGIC UINT32_C(0x4a695444)
#define JIT_DUMP_OTHER_MAGIC UINT32_C(0x4454694a)

#endif
