/* symbolize, inside: code compiled at run time, as it was read. */
#ifndef SPROF_SYMBOLIZE_JIT_MAP_H
#define SPROF_SYMBOLIZE_JIT_MAP_H

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
    uint64_t time_ns;          /* when it was loaded, 0 unknown */
    uint64_t line_end;         /* of a perf map: how long the file was with it; 0: of a jitdump */
    uint64_t earliest_ns;      /* of a perf map: it was not loaded before */
    uint64_t moved;            /* start now minus start when the lines were written */
    uint32_t line, line_count; /* its part of `lines` */
};

struct symbolize_jit {
    struct sprof_arena texts;
    const char *last_file; /* neighbouring lines share it */
    SPROF_VEC(struct jit_entry) entries;
    SPROF_VEC(struct jit_line) lines;
    bool is_cut;        /* not all of the file was read */
    uint64_t bad_lines; /* malformed lines or records that were skipped */
};

/* Adds an entry with a name of `length` bytes, which is cut at JIT_MAX_NAME. */
int symbolize_jit_add(struct symbolize_jit *jit, struct jit_entry entry, const char *name,
                      size_t length);

#endif
