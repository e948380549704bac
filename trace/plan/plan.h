/* Where probes can be in one ELF file: for each function how its entry is probed, or why not; what
 * it calls; and which other places a probe could have and does not need.
 *
 * A plan says nothing about a process: addresses are vaddrs of the file. It depends on the file's
 * bytes alone, so it can be kept (trace_plan_save) under the file's digest. */
#ifndef SPROF_TRACE_PLAN_PLAN_H
#define SPROF_TRACE_PLAN_PLAN_H

#include "base/base.h"
#include "cache/cache.h"
#include "image/image.h"
#include "unwind/unwind.h"

#include <stdbool.h>

/* What a stored plan is made by; a file of another version is not read. */
enum { TRACE_PLAN_VERSION = 13 };

/* A jump to a probe, and the room that it takes at a function's entry. */
enum { TRACE_JUMP_BYTES = 5, TRACE_DISPLACED_MAX = 4 + 15 };

/* How a function's entry is probed. */
enum trace_mechanism {
    TRACE_NOT,      /* not at all: `why` says it */
    TRACE_SLED,     /* nops that -fpatchable-function-entry left */
    TRACE_FENTRY,   /* the nop of -mfentry -mnop-mcount -mrecord-mcount */
    TRACE_XRAY,     /* the entry sled of -fxray-instrument */
    TRACE_PROLOGUE, /* its first instructions are moved, and a jump takes their place */
    TRACE_EMBEDDED, /* a switch in the file leads to the probe: see embed/embedded.h */
    TRACE_LEAVE, /* like that, and it ends frames of others: longjmp, the catching of an exception
                  */
    TRACE_MECHANISMS
};

/* Why there is no probe, or only one at the entry. */
enum trace_reason {
    TRACE_REASON_NONE,
    /* There is no probe. */
    TRACE_PART,           /* a part of a function, split off by the compiler */
    TRACE_RESOLVER,       /* chooses an implementation while the program is being linked (IFUNC) */
    TRACE_START,          /* a thread begins there; nobody called it */
    TRACE_SIGNAL_RETURN,  /* the kernel's frame of a signal is below it */
    TRACE_LOADER,         /* of the dynamic loader */
    TRACE_UNWINDER,       /* of the library that unwinds stacks for exceptions */
    TRACE_TOO_SHORT,      /* fewer than five bytes, and no padding behind them */
    TRACE_TARGET_INSIDE,  /* a branch leads into the bytes that the jump would take */
    TRACE_LOOP_AT_ENTRY,  /* jumps to its own entry: each round would look like a call */
    TRACE_NOT_MOVABLE,    /* begins with an instruction that works at its place only */
    TRACE_ENDS_INSIDE,    /* a return or jump within these bytes, and code behind it */
    TRACE_READS_FLAGS,    /* reads flags that its caller set */
    TRACE_NOT_DECODED,    /* begins with bytes that are no known instruction */
    TRACE_NO_FRAME_TABLE, /* no call frame information covers it */
    TRACE_BYTES_DIFFER,   /* a process runs other bytes there than the file has */
    TRACE_RUNTIME_CODE, /* nor that, and a runtime calls it in its own way: V8's built-in functions
                         */
    /* The entry only. */
    TRACE_NEEDS_RETURN_ADDRESS, /* reads, moves or drops its own return address, jumps to such a
                                   one, has it read by whom it calls, or has none: is jumped to
                                   within other functions' frames */
    TRACE_GO,                   /* Go moves its stacks */
    TRACE_SANITIZED,            /* sanitizers keep books of frames */
    TRACE_IMPORTED, /* no function: an entry of the PLT, embedded, of one in another file that
                       leaves the frames of others */
    TRACE_REASONS
};

/* One function, by its start. Strings live as long as the plan. */
struct trace_function {
    uint64_t start, end; /* vaddr, end exclusive */
    const char *name;    /* demangled; "module+0x…" where it has none */
    const char *linkage_name;
    uint64_t site;     /* vaddr of the bytes that a probe changes; 0: none */
    uint8_t mechanism; /* enum trace_mechanism */
    uint8_t why;       /* enum trace_reason */
    uint8_t displaced; /* bytes of whole instructions, and padding, at `site`: 5 and more */
    uint8_t original[TRACE_DISPLACED_MAX]; /* these bytes */
    bool entry_only;                       /* its exits cannot be seen */
    bool from_go;                          /* known from Go's own table */
    bool inline_wanted; /* declared inline, and has a body that is called all the same */
    uint32_t first_callee, callees; /* into the plan's */
    uint32_t calls, exits;  /* direct calls of functions of the file; returns and jumps elsewhere */
    uint32_t foreign_calls; /* through a slot of the GOT, with or without the PLT */
    uint32_t open_calls;    /* through a register or memory: the callee is not known */
    uint32_t catches;       /* places where execution goes on after an exception */
};

/* What a function calls directly, each once; sorted by function. */
struct trace_callee {
    uint64_t address; /* of the function in this file, or of the slot */
    bool is_slot;
    bool is_tail;         /* by a jump */
    const char *imported; /* of slots: the symbol it is filled with; NULL: not known */
};

/* Places where a probe could be. */
enum trace_point {
    TRACE_POINT_ENTRY,
    TRACE_POINT_EXIT,
    TRACE_POINT_CALL,
    TRACE_POINT_FOREIGN_CALL,
    TRACE_POINT_OPEN_CALL,
    TRACE_POINT_CATCH,
    TRACE_POINTS
};

struct trace_plan {
    struct trace_function *functions; /* by start */
    size_t function_count;
    struct trace_callee *callees;
    size_t callee_count;
    uint64_t points[TRACE_POINTS]; /* potential places */
    const char *module;            /* the file's name without its directory */
    const char *runtime; /* a runtime that walks stacks by itself: each probe checks its caller;
                            NULL: none */
    bool sanitized, is_loader;
    bool lands; /* most functions begin with a mark for indirect branches: -fcf-protection */
    struct sprof_arena texts; /* owns the strings */
};

/* Makes the plan of an image with its unwind table. Returns 0, SPROF_ENOMEM, or SPROF_ENOTFOUND
 * where the file has no code. Takes about 0.3 s for 10 MB of code. The caller releases. */
int trace_plan_make(struct trace_plan *plan, struct image *image, const struct unwind_table *table,
                    struct sprof_error *error);
void trace_plan_release(struct trace_plan *plan);

/* The same from a file, with its unwind table; both come from the cache (NULL: none) where they are
 * there, and go into it. Errors as of image_open. */
int trace_plan_open(struct trace_plan *plan, const struct image_request *request,
                    struct cache *cache, struct sprof_error *error);

/* Compares the bytes at all sites with those of a process, where `read` copies up to `size` bytes
 * at an address and returns how many it could; bias = address - vaddr. Functions that differ lose
 * their probe (TRACE_BYTES_DIFFER). Returns how many. */
size_t trace_plan_compare(struct trace_plan *plan, uint64_t bias,
                          size_t (*read)(void *context, uint64_t address, void *buffer,
                                         size_t size),
                          void *context);

/* One file that a process runs code of. */
struct trace_module {
    struct trace_plan plan;   /* empty where there is none */
    const char *path;         /* as the process sees it */
    uint64_t identity;        /* see trace_identity */
    uint64_t bias;            /* address - vaddr */
    uint64_t address;         /* of the mapping that was looked at */
    size_t differing;         /* functions of which the process runs other bytes */
    struct sprof_error error; /* code 0, or why there is no plan */
};

struct model_mmap; /* model/records.h */

/* What somebody has put into a process, and is to be looked past. */
struct trace_put_in {
    const void *context;
    /* Puts what was there before into bytes that were read at an address. */
    void (*restore)(const void *context, uint64_t address, uint8_t *bytes, size_t size);
    bool (*is)(const void *context, const struct model_mmap *mapping);
};

/* Plans every file that a live process has mapped executable and `wants` (NULL: all) says yes to,
 * each once, compares the bytes, and calls `module` for each; what it returns other than 0 ends the
 * matter and is returned. The plan is the callee's to keep (by zeroing it), else it is released.
 * The bytes come from its memory, or where that is -1 by system calls that ptrace rights are needed
 * for, but for what was `put_in` (NULL: nothing).
 * *runs_generated_code: it has executable memory that is no file's, so that each probe has to
 * check its caller. Errors: SPROF_ENOTFOUND (no such process, or nothing mapped that may be seen),
 * SPROF_EPERMISSION, SPROF_ENOMEM. */
int trace_plan_process(pid_t pid, int memory_fd, struct cache *cache,
                       const struct trace_put_in *put_in,
                       bool (*wants)(void *context, const struct image_request *file),
                       int (*module)(void *context, struct trace_module *module), void *context,
                       bool *runs_generated_code, struct sprof_error *error);

/* Whether what is mapped there is code that the process has made, and no file of code: no file at
 * all, or of /dev/zero, of System V's shared memory or a memfd, unless a program or a library was
 * put into that. Stacks are none, though they may be executable. */
bool trace_is_generated(pid_t pid, const struct model_mmap *mapping);

/* What opens the file of a mapping of a process, whatever has its path by now; borrows the
 * mapping's path. */
struct image_request trace_request_of(pid_t pid, const struct model_mmap *mapping);

/* The same of the file that a process has mapped, with that identity; borrows `path`, which is
 * what is opened where it is not mapped any more. SPROF_ENOMEM. */
int trace_request_find(struct image_request *request, pid_t pid, uint64_t identity,
                       const char *path);

/* Digest of device and inode of a mapped file, which it keeps when it is renamed, replaced or
 * removed: to be compared with those of other mappings only, because file systems tell other
 * numbers to stat. */
uint64_t trace_identity(const struct sprof_file_id *file);

/* Whether two mappings of a file are of one copy of it: their addresses differ as places in it do.
 */
bool trace_is_same_copy(const struct model_mmap *a, const struct model_mmap *b);

/* Whether a mapping of a file is not of the copy that the process's loader has made, and there is
 * such a one. It takes a look at all mappings: for files that have several. */
bool trace_is_idle_copy(pid_t pid, const struct model_mmap *mapping);

/* Plans the file of one mapping in module->path, and compares the bytes; module->error says what
 * went wrong. The caller releases module->plan. */
void trace_plan_mapping(struct trace_module *module, pid_t pid, const struct model_mmap *mapping,
                        struct cache *cache);

/* Recounts what the plan says of places, after a change. */
void trace_plan_count(struct trace_plan *plan);

/* How many entries get a probe, of how many true starts. */
struct trace_share {
    size_t starts, probed, entry_only;
};
struct trace_share trace_plan_share(const struct trace_plan *plan);

/* The function that begins at or covers a vaddr, or NULL. */
const struct trace_function *trace_plan_find(const struct trace_plan *plan, uint64_t vaddr);

/* A plan as bytes, to be kept: malloc'd in *bytes. Returns 0 or SPROF_ENOMEM. */
int trace_plan_save(const struct trace_plan *plan, struct sprof_bytes *bytes);

/* Reads it back. Nothing in the bytes is believed: SPROF_EFORMAT where they are not a plan of this
 * version, or a number in it cannot be. */
int trace_plan_load(struct trace_plan *plan, struct sprof_bytes bytes);

/* A linkage name as people write it; malloc'd. NULL: it is no other. */
char *trace_readable_name(const char *linkage_name);

/* Calls `found` with what made each unit of a file, as "GNU C17 12.2.0 -O2 …"; never where it has
 * no debug information. The text is borrowed for the call. */
void trace_each_producer(struct image *image, void (*found)(void *context, const char *producer),
                         void *context);

/* Words: "prologue", "needs its own return address". */
const char *trace_mechanism_text(enum trace_mechanism mechanism);
const char *trace_reason_text(enum trace_reason reason);

/* Why no uprobe can stand at a first instruction, of which so many bytes are known: "begins with
 * …". NULL: nothing is known against it. */
const char *trace_uprobe_objection(const uint8_t *code, size_t size);

/* Whether it begins a function that a caller calls: not a part, a resolver or a signal's return. Of
 * these is the share counted that can be probed. */
bool trace_is_true_start(const struct trace_function *function);

/* Whether a file's symbols or debug information have a name for it; if not, it goes by its address.
 */
bool trace_has_name(const struct trace_function *function);

/* Behind a message that a name was not found among functions: that many of them have none. */
void trace_append_nameless(struct sprof_str *out, size_t nameless, size_t functions);

#endif
