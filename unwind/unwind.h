/* unwind: registers, memory and tables in; return addresses out.
 *
 * A pure library. It opens no file, queries no process, and takes no lock. Two halves:
 *
 *   - tables: the call frame information of one ELF image (or a part of it), compiled once into
 *     sorted rows (`unwind_table_build`, any thread, allocates);
 *   - the walk: one captured stack into frames (`unwind_walk`, one walker per thread; allocates
 *     nothing after unwind_walker_new).
 *
 * Addresses: `vaddr` is an address as the ELF file numbers it; `address` is where it sits in a
 * process; bias = address - vaddr. A frame's address is an instruction pointer (the interrupted
 * instruction) or a return address (the instruction after the call): `unwind_frame.is_return` says
 * which, and unwind_frame_lookup_address settles the "minus one" for all callers. */
#ifndef SPROF_UNWIND_UNWIND_H
#define SPROF_UNWIND_UNWIND_H

#include "arch/arch.h"
#include "base/base.h"
#include "model/vocabulary.h"

#include <stdbool.h>

/* == Registers == */

/* By DWARF number. */
struct unwind_registers {
    uint64_t value[ARCH_REGISTERS];
};

/* == Tables: one per ELF image, shared by all processes that map it == */

struct unwind_range {
    uint64_t start, end; /* vaddr, end exclusive */
};

/* A PLT section. In an entry of 16 bytes, `push` lies at `push_offset` (10 or 11): from there on
 * the CFA is 8 further away. 0 for sections whose entries never push (.plt.sec, .plt.got). */
struct unwind_plt {
    struct unwind_range range;
    uint8_t push_offset;
};

/* What a table is built from: bytes of the image's sections with the vaddr of their first byte.
 * Any may be empty. All bytes are borrowed for the call only, except that `eh_frame` and
 * `debug_frame` are copied in so far as complex rows need them. */
struct unwind_source {
    struct sprof_bytes eh_frame;
    uint64_t eh_frame_vaddr;
    struct sprof_bytes eh_frame_hdr; /* only checked and used to find .eh_frame's base addresses */
    uint64_t eh_frame_hdr_vaddr;
    struct sprof_bytes debug_frame; /* used for addresses that .eh_frame does not cover */
    struct sprof_bytes gopclntab;   /* Go's own table; it goes before the other two */
    uint64_t gopclntab_vaddr;
    uint64_t text_vaddr;             /* base of DW_EH_PE_textrel, and of Go's text */
    uint64_t got_vaddr;              /* base of DW_EH_PE_datarel in .eh_frame */
    const struct unwind_range *text; /* executable ranges, sorted; rows outside are dropped */
    size_t text_count;
    /* The bytes from text_vaddr on, by which the builder recognizes musl's _start and signal
     * trampolines: in memory, or text_size of them, which read_text reads on demand (and
     * returns how many there were). Most of a large file's are never read. Both may be
     * missing. */
    struct sprof_bytes text_bytes;
    uint64_t text_size;
    size_t (*read_text)(void *context, uint64_t offset, void *buffer, size_t size);
    void *text_context;
    const struct unwind_plt *plt;
    size_t plt_count;
    uint64_t entry_vaddr;       /* e_entry: a root even where CFI does not say so; 0 = none */
    const uint64_t *root_vaddr; /* further functions known to be roots (starts), any order */
    size_t root_count;
};

/* Never changes after it is built; any number of threads may read it. */
struct unwind_table;

struct unwind_table_facts {
    size_t rows;          /* merged rows */
    size_t rules;         /* distinct rules */
    size_t complex_rows;  /* rows only libunwind can answer */
    size_t functions;     /* FDEs (and Go functions) read */
    size_t bad_functions; /* FDEs that were malformed and left out */
    size_t bytes;         /* memory held */
};

/* Compiles a table. Returns 0, SPROF_EFORMAT (nothing usable: *table is NULL; a few malformed FDEs
 * among good ones are only counted), SPROF_ENOTFOUND (no section at all), SPROF_ELIMIT (more than
 * 16 Mi rows or 65 535 rules) or SPROF_ENOMEM. Cost: about 50 ns a row. The caller frees. */
int unwind_table_build(struct unwind_table **table, const struct unwind_source *source,
                       struct sprof_error *error);
void unwind_table_free(struct unwind_table *table);

/* Tables of the same source are the same, byte for byte, as long as this number is: any change of
 * what is built raises it. */
enum { UNWIND_TABLE_VERSION = 7 };

/* The table as bytes that unwind_table_load reads again, on a machine of the same kind, in malloc'd
 * memory that the caller frees. Returns 0 or SPROF_ENOMEM. */
int unwind_table_save(const struct unwind_table *table, struct sprof_bytes *bytes);

/* The table of saved bytes, which are copied. NULL where they are not as they were saved: they may
 * be forged, and then walking by what is returned is safe, if perhaps wrong. */
struct unwind_table *unwind_table_load(struct sprof_bytes bytes);

/* The same of an open file, which is the table's from now on, also on failure; the bytes lie from
 * `offset` to its end. Reads only what every table needs; the rest is read, and held against
 * checksums, by 16 KiB as look-ups come to it. A piece that is not as it was saved has no rows. */
struct unwind_table *unwind_table_open(int fd, uint64_t offset);
struct unwind_table_facts unwind_table_facts(const struct unwind_table *table);

/* The function (FDE) that covers a vaddr: fills *range and returns true. For symbolizing what has
 * no symbol. */
bool unwind_table_function(const struct unwind_table *table, uint64_t vaddr,
                           struct unwind_range *range);

/* The first function that begins at or behind a vaddr; false behind the last. */
struct unwind_function_info {
    struct unwind_range range;
    bool from_go; /* known from Go's own table */
};
bool unwind_table_next_function(const struct unwind_table *table, uint64_t vaddr,
                                struct unwind_function_info *info);

/* What the stack is like at a vaddr, as far as functions that begin there are concerned. */
enum unwind_entry {
    UNWIND_ENTRY_CALLED, /* as a call leaves it */
    UNWIND_ENTRY_START,  /* no caller: a thread begins */
    UNWIND_ENTRY_SIGNAL, /* the kernel's frame of a signal */
    UNWIND_ENTRY_INSIDE, /* a frame stands: it is a part of a function; or nothing is known */
};
enum unwind_entry unwind_table_entry(const struct unwind_table *table, uint64_t vaddr);

/* The canonical frame address at a vaddr: register + offset. False where it is found otherwise. */
bool unwind_table_cfa(const struct unwind_table *table, uint64_t vaddr, unsigned *reg,
                      int64_t *offset);

/* Calls `found` for each function of an .eh_frame section that has an exception table (a language-
 * specific data area in .gcc_except_table): vaddrs of both. Returns 0 or SPROF_ENOMEM. */
int unwind_each_exception_table(struct sprof_bytes eh_frame, uint64_t eh_frame_vaddr,
                                void (*found)(void *context, uint64_t function, uint64_t table),
                                void *context);

/* A piece of code, [start, end), that instructions of a function were moved into. It begins as the
 * function is at places[0].original; from each `moved` on the stack is as it was at `original`, but
 * for `pushed` bytes more. Places rise, and the originals are of one function. */
enum { UNWIND_MOVED_PLACES = 16 };
struct unwind_moved {
    uint64_t start, end; /* vaddr */
    size_t count;        /* of the places, at least 1 */
    struct unwind_moved_place {
        uint64_t moved, original; /* vaddr */
        unsigned pushed;
    } places[UNWIND_MOVED_PLACES];
};

/* The call frame information of a file, to be written anew. */
struct unwind_frames {
    struct sprof_bytes eh_frame, eh_frame_hdr;
    uint64_t eh_frame_vaddr, eh_frame_hdr_vaddr;
    bool is_fixed; /* the file is loaded where it says, so that addresses stand there as they are */
    const struct unwind_moved *moved; /* in order of start */
    size_t moved_count;
};

/* Writes .eh_frame_hdr for another address, `vaddr`, and .eh_frame for the next multiple of 64
 * behind it: they say what they said, and what holds in the moved pieces. Both are
 * appended. Returns 0, SPROF_EUNSUPPORTED where they have a form that cannot be moved, or
 * SPROF_ENOMEM; what was appended then is worth nothing. */
int unwind_frames_extend(struct sprof_str *eh_frame_hdr, struct sprof_str *eh_frame,
                         const struct unwind_frames *frames, uint64_t vaddr);

/* One row, spelled out. */
struct unwind_row {
    uint64_t vaddr; /* first address the rule holds for */
    char rule[64];  /* "cfa=rsp+16 rbp=cfa-16 ra=cfa-8", "end", "gap", "plt push=11", … */
};

/* The first row that begins at or behind a vaddr, 0 being before all; false past the last. */
bool unwind_table_row(const struct unwind_table *table, uint64_t vaddr, struct unwind_row *row);

/* == The walk == */

enum unwind_region_kind {
    UNWIND_REGION_TABLE,   /* `table` answers */
    UNWIND_REGION_PENDING, /* its table is being built: the walk stops, the caller tries later */
    UNWIND_REGION_JIT,     /* anonymous executable memory: frame pointers */
    UNWIND_REGION_BARE, /* a file without any call frame information: frame pointers, then scan */
};

/* One executable mapping of a process. */
struct unwind_region {
    uint64_t start, end; /* addresses */
    uint64_t bias;       /* address - vaddr; also for vaddr > address (wraps) */
    enum unwind_region_kind kind;
    const struct unwind_table *table; /* borrowed for the walk */
    void *owner;                      /* the caller's own; untouched */
    bool holds_copies; /* of instructions with uprobes, as "[uprobes]": with the kind BARE */
};

/* Where a process's code is. `find` returns the region that holds `address`, or NULL. It is called
 * only when the rule cache has no answer. `generation` names one state of one address space: it
 * must change whenever a region of it does, and never repeat. 32 bits suffice; 0 is not allowed. */
struct unwind_space {
    const struct unwind_region *(*find)(void *context, uint64_t address);
    void *context;
    uint32_t generation;
};

/* The stack bytes captured with the sample, and what lies beyond them: the tail, captured at the
 * same moment (none: its size is 0), where what was missing may stand as zeroes. `read` copies
 * `size` bytes at `address` from the live process (or a core, or a replay) and returns 0 or a
 * negative code; NULL when nothing more can be read. Both mark the stack `stitched`; what `read`
 * brings is believed only while the CFA grows and each return address follows a call instruction,
 * which `read` must bring, too: of a region that is PENDING it may later. */
struct unwind_memory {
    const struct model_open_call *calls; /* of a traced thread, as they were at that moment */
    size_t call_count;
    const uint8_t *slice, *tail;
    uint64_t slice_address, tail_address;
    size_t slice_size, tail_size;
    int (*read)(void *context, uint64_t address, void *buffer, size_t size);
    void *context;
};

struct unwind_frame {
    uint64_t address;
    uint8_t found_by; /* enum model_found_by */
    bool is_return;   /* a return address, not an instruction pointer */
};

/* The address to look a frame up by: inside the call instruction for a return address. */
static inline uint64_t unwind_frame_lookup_address(const struct unwind_frame *frame)
{
    return frame->address - (frame->is_return ? 1 : 0);
}

struct unwind_stack {
    const struct unwind_frame
        *frames;  /* innermost first; owned by the walker, until its next walk */
    size_t count; /* at least 1 */
    enum model_end end;
    bool stitched;    /* some frames came from beyond the slice */
    bool switched;    /* it went on to another stack, which the frame pointer led to: no slice has
                         that */
    bool interrupted; /* a signal's handler was on another stack than what it interrupted */
    const struct unwind_region *pending; /* MODEL_END_PENDING: the region that is waited for */
    uint64_t stopped_at; /* the instruction pointer where the walk could not go on */
    uint64_t outside; /* what was met as a caller's address, and is in no region; 0: nothing was */
    uint64_t top; /* the outermost frame's stack pointer: nothing above it belongs to this stack */
};

struct unwind_counters {
    uint64_t walks, frames;
    uint64_t cache_hits, cache_misses;
    uint64_t complex_rows;   /* frames libunwind answered */
    uint64_t complex_failed; /* … and could not */
    uint64_t fp_frames, scan_frames, signal_frames, plt_frames, leaf_frames;
    uint64_t live_reads, live_bytes; /* reads beyond the slice */
};

/* One walker per thread: it owns the rule cache, the frame buffer and the buffer for live reads. */
struct unwind_walker;

/* `max_frames`: deeper stacks end with MODEL_END_DEPTH_LIMIT; 0 takes the default, 65 536. Returns
 * NULL when out of memory. The caller frees. */
struct unwind_walker *unwind_walker_new(size_t max_frames);
void unwind_walker_free(struct unwind_walker *walker);

/* Walks one stack from `registers` to its root. Never fails: what could not be done is in the end
 * reason. Bounded: at most max_frames steps, each with a bounded number of reads. */
struct unwind_stack unwind_walk(struct unwind_walker *walker, const struct unwind_space *space,
                                const struct unwind_memory *memory,
                                const struct unwind_registers *registers);

struct unwind_counters unwind_walker_counters(const struct unwind_walker *walker);

/* Calls `put` with each of the counters and its name in recordings ("unwind.walks", …; static),
 * until it returns non-zero, which is returned. */
int unwind_counters_each(const struct unwind_walker *walker,
                         int (*put)(void *context, const char *name, uint64_t value),
                         void *context);

#endif
