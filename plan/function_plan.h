/* Where probes can be in one ELF file: for each function how its entry is probed, or why not; what
 * it calls; and which other places a probe could have and does not need.
 *
 * A plan says nothing about a process: addresses are vaddrs of the file. It depends on the file's
 * bytes alone, so it can be kept (plan_save) under the file's digest. */
#ifndef SPROF_PLAN_FUNCTION_PLAN_H
#define SPROF_PLAN_FUNCTION_PLAN_H

#include "base/base.h"
#include "cache/cache.h"
#include "image/image.h"
#include "unwind/unwind.h"

#include <stdbool.h>

/* What a stored plan is made by; a file of another version is not read. */
enum { PLAN_VERSION = 14 };

/* A jump to a probe, and the room that it takes at a function's entry. */
enum { PLAN_JUMP_BYTES = 5, PLAN_DISPLACED_MAX = 4 + 15 };

/* How a function's entry is probed. */
enum plan_mechanism {
    PLAN_NOT,      /* not at all: `why` says it */
    PLAN_SLED,     /* nops that -fpatchable-function-entry left */
    PLAN_FENTRY,   /* the nop of -mfentry -mnop-mcount -mrecord-mcount */
    PLAN_XRAY,     /* the entry sled of -fxray-instrument */
    PLAN_PROLOGUE, /* its first instructions are moved, and a jump takes their place */
    PLAN_EMBEDDED, /* a switch in the file leads to the probe: see plan/embedded.h */
    PLAN_LEAVE,    /* like that, and it ends frames of others: longjmp, the catching of an exception
                    */
    PLAN_MECHANISMS
};

/* Why there is no probe, or only one at the entry. */
enum plan_reason {
    PLAN_REASON_NONE,
    /* There is no probe. */
    PLAN_PART,           /* a part of a function, split off by the compiler */
    PLAN_RESOLVER,       /* chooses an implementation while the program is being linked (IFUNC) */
    PLAN_START,          /* a thread begins there; it has no caller */
    PLAN_SIGNAL_RETURN,  /* the kernel's frame of a signal is below it */
    PLAN_LOADER,         /* of the dynamic loader */
    PLAN_UNWINDER,       /* of the library that unwinds stacks for exceptions */
    PLAN_TOO_SHORT,      /* fewer than five bytes, and no padding behind them */
    PLAN_TARGET_INSIDE,  /* a branch leads into the bytes that the jump would take */
    PLAN_LOOP_AT_ENTRY,  /* jumps to its own entry: each round would look like a call */
    PLAN_NOT_MOVABLE,    /* begins with an instruction that works at its place only */
    PLAN_ENDS_INSIDE,    /* a return or jump within these bytes, and code behind it */
    PLAN_READS_FLAGS,    /* reads flags that its caller set */
    PLAN_NOT_DECODED,    /* begins with bytes that are no known instruction */
    PLAN_NO_FRAME_TABLE, /* no call frame information covers it */
    PLAN_BYTES_DIFFER,   /* a process runs other bytes there than the file has */
    PLAN_RUNTIME_CODE,   /* nor that, and a runtime calls it in its own way: V8's built-in functions
                          */
    /* The entry only. */
    PLAN_NEEDS_RETURN_ADDRESS, /* reads, moves or drops its own return address, jumps to such a
                                   one, calls one that reads it, or has none: is jumped to
                                   within other functions' frames */
    PLAN_GO,                   /* Go moves its stacks */
    PLAN_SANITIZED,            /* sanitizers keep books of frames */
    PLAN_IMPORTED, /* no function: an entry of the PLT, embedded, of one in another file that
                       leaves the frames of others */
    PLAN_REASONS
};

/* One function, by its start. Strings live as long as the plan. */
struct plan_function {
    uint64_t start, end; /* vaddr, end exclusive */
    const char *name;    /* demangled; "module+0x…" where it has none */
    const char *linkage_name;
    uint64_t site;     /* vaddr of the bytes that a probe changes; 0: none */
    uint8_t mechanism; /* enum plan_mechanism */
    uint8_t why;       /* enum plan_reason */
    uint8_t displaced; /* bytes of whole instructions, and padding, at `site`: 5 and more */
    uint8_t original[PLAN_DISPLACED_MAX]; /* these bytes */
    bool entry_only;                      /* its exits cannot be seen */
    bool from_go;                         /* known from Go's own table */
    bool inline_wanted; /* declared inline, and has a body that is called all the same */
    uint32_t first_callee, callees; /* into the plan's */
    uint32_t calls, exits;  /* direct calls of functions of the file; returns and jumps elsewhere */
    uint32_t foreign_calls; /* through a slot of the GOT, with or without the PLT */
    uint32_t open_calls;    /* through a register or memory: the callee is not known */
    uint32_t catches;       /* places where execution goes on after an exception */
};

/* What a function calls directly, each once; sorted by function. */
struct plan_callee {
    uint64_t address; /* of the function in this file, or of the slot */
    bool is_slot;
    bool is_tail;         /* by a jump */
    const char *imported; /* of slots: the symbol it is filled with; NULL: not known */
};

/* Places where a probe could be. */
enum plan_point {
    PLAN_POINT_ENTRY,
    PLAN_POINT_EXIT,
    PLAN_POINT_CALL,
    PLAN_POINT_FOREIGN_CALL,
    PLAN_POINT_OPEN_CALL,
    PLAN_POINT_CATCH,
    PLAN_POINTS
};

struct plan {
    struct plan_function *functions; /* by start */
    size_t function_count;
    struct plan_callee *callees;
    size_t callee_count;
    uint64_t points[PLAN_POINTS]; /* potential places */
    const char *module;           /* the file's name without its directory */
    const char *runtime; /* a runtime that walks stacks by itself: each probe checks its caller;
                            NULL: none */
    bool sanitized, is_loader;
    bool lands; /* most functions begin with a mark for indirect branches: -fcf-protection */
    struct sprof_arena texts; /* owns the strings */
};

/* Makes the plan of an image with its unwind table. Returns 0, SPROF_ENOMEM, or SPROF_ENOTFOUND
 * where the file has no code. Takes about 0.3 s for 10 MB of code. The caller releases. */
int plan_make(struct plan *plan, struct image *image, const struct unwind_table *table,
              struct sprof_error *error);
void plan_release(struct plan *plan);

/* The same from a file, with its unwind table; both come from the cache (NULL: none) where they are
 * there, and go into it. Errors as of image_open. */
int plan_open(struct plan *plan, const struct image_request *request, struct cache *cache,
              struct sprof_error *error);

/* Compares the bytes at all sites with those of a process, where `read` copies up to `size` bytes
 * at an address and returns how many it could; bias = address - vaddr. Functions that differ lose
 * their probe (PLAN_BYTES_DIFFER). Returns how many. */
size_t plan_compare(struct plan *plan, uint64_t bias,
                    size_t (*read)(void *context, uint64_t address, void *buffer, size_t size),
                    void *context);

/* Recounts what the plan says of places, after a change. */
void plan_count(struct plan *plan);

/* How many entries get a probe, of how many true starts. */
struct plan_share {
    size_t starts, probed, entry_only;
};
struct plan_share plan_share(const struct plan *plan);

/* The function that begins at or covers a vaddr, or NULL. */
const struct plan_function *plan_find(const struct plan *plan, uint64_t vaddr);

/* A plan as bytes, to be kept: malloc'd in *bytes. Returns 0 or SPROF_ENOMEM. */
int plan_save(const struct plan *plan, struct sprof_bytes *bytes);

/* Reads it back. Nothing in the bytes is believed: SPROF_EFORMAT where they are not a plan of this
 * version, or a number in it cannot be. */
int plan_load(struct plan *plan, struct sprof_bytes bytes);

/* A linkage name as people write it; malloc'd. NULL: it is no other. */
char *plan_readable_name(const char *linkage_name);

/* Calls `found` with what made each unit of a file, as "GNU C17 12.2.0 -O2 …"; never where it has
 * no debug information. The text is borrowed for the call. */
void plan_each_producer(struct image *image, void (*found)(void *context, const char *producer),
                        void *context);

/* Words: "prologue", "needs its own return address". */
const char *plan_mechanism_text(enum plan_mechanism mechanism);
const char *plan_reason_text(enum plan_reason reason);

/* Whether it begins a function that a caller calls: not a part, a resolver or a signal's return. Of
 * these is the share counted that can be probed. */
bool plan_is_true_start(const struct plan_function *function);

/* Whether a file's symbols or debug information have a name for it; if not, it goes by its address.
 */
bool plan_has_name(const struct plan_function *function);

/* Behind a message that a name was not found among functions: that many of them have none. */
void plan_append_nameless(struct sprof_str *out, size_t nameless, size_t functions);

/* Whether what an instruction in [from, to) throws, counted from the function's beginning, is
 * caught or cleaned up after in the function, by its exception table. */
bool plan_lands(struct sprof_bytes table, uint64_t from, uint64_t to);

/* Whether a function of that name ends the frames of others. */
bool plan_leaves_frames(const char *name);

/* Whether an exception begins there. Its first frames are those of the function's caller. */
bool plan_throws(const char *name);

/* Whether an exception, its second argument, is caught there. */
bool plan_catches(const char *name);

#endif
