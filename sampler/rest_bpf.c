#include "sampler/rest_bpf.h"

#include "sampler/bpf.h"
#include "sampler/rest.h"
#include "sampler/sampler.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ENDS_MAX = 4096,      /* threads with deep stacks; the kernel forgets the least used */
    OVERLAP_BYTES = 2048, /* how much shorter a slice may arrive than it was asked for */
    APART_NS = 45000,     /* between our clock and the sample's, at most: half of 10 kHz */
    PROGRAM_MAX = 768,    /* instructions */
    SLICE_PAGES = 16,     /* of the largest slice */
    GAP_PAGES = 16,       /* copied above a page that is not there */
    END_UNKNOWN = -1,     /* of a thread's stack */
    END_IN_SLICE = -2,
    END_ELSEWHERE = -3,
    HOPS = 3,                    /* frames that may keep rbp before the one on the other stack */
    OTHER_SPAN_BYTES = 64 << 10, /* rbp that far above rsp leads to another stack */
    OTHER_PAGES = 5,             /* copied of it */
    KEY = -4,
    WORD = -16, /* where the program keeps a thread id and a word, on its stack */
    PAGE_BYTES = 4096,
};

/* How much room a copy takes in the ring: programs may ask for constants only. */
static const int32_t room_sizes[] = {4 << 10,   16 << 10,  64 << 10,  128 << 10, 256 << 10,
                                     384 << 10, 512 << 10, 768 << 10, 1 << 20};
enum { ROOM_SIZES = sizeof room_sizes / sizeof *room_sizes };

/* What the program writes. */
struct captured {
    uint64_t time_ns; /* right before it copied */
    uint32_t tid, cpu;
    uint64_t address;
    uint32_t size, elsewhere; /* elsewhere: of another stack than the stack pointer's */
    uint8_t bytes[];
};

/* ---- The program -------------------------------------------------------------------------------
 */

struct program {
    struct bpf_insn items[PROGRAM_MAX];
    size_t count;
};

static size_t emit(struct program *program, const struct bpf_insn *instructions, size_t count)
{
    if (count <= PROGRAM_MAX - program->count)
        memcpy(program->items + program->count, instructions, count * sizeof *instructions);
    program->count += count;
    return program->count - 1;
}

/* Appends instructions; its value is the index of the last one. */
#define EMIT(program, ...)                                                                         \
    emit(program, (const struct bpf_insn[]){__VA_ARGS__},                                          \
         sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

/* The jump at an index leads to what will be appended next. */
static void land_here(struct program *program, size_t jump)
{
    program->items[jump].off = (int16_t)(program->count - jump - 1);
}

static void land_all(struct program *program, const size_t *jumps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        land_here(program, jumps[i]);
}

/* r7 = where the thread's stack ends (or END_…); r8 = its stack pointer, r6 = its rbp. */
static void emit_question(struct program *program, int ends_fd)
{
    EMIT(program, CALL(BPF_FUNC_get_current_pid_tgid), STORE_32(BPF_REG_10, KEY, BPF_REG_0),
         LOAD_MAP(BPF_REG_1, ends_fd), MOVE(BPF_REG_2, BPF_REG_10), ADD_CONSTANT(BPF_REG_2, KEY),
         CALL(BPF_FUNC_map_lookup_elem), MOVE_CONSTANT(BPF_REG_7, END_UNKNOWN),
         JUMP_IF_ZERO(BPF_REG_0, 1), LOAD_64(BPF_REG_7, BPF_REG_0, 0));
    EMIT(program, CALL(BPF_FUNC_get_current_task_btf), MOVE(BPF_REG_1, BPF_REG_0),
         CALL(BPF_FUNC_task_pt_regs), LOAD_64(BPF_REG_8, BPF_REG_0, offsetof(struct pt_regs, rsp)),
         LOAD_64(BPF_REG_6, BPF_REG_0, offsetof(struct pt_regs, rbp)));
}

/* Jumps if the word `offset` bytes above an address, which `take` moves to r3, is not there. */
static size_t emit_probe(struct program *program, struct bpf_insn take, int32_t offset)
{
    return EMIT(program, MOVE(BPF_REG_1, BPF_REG_10), ADD_CONSTANT(BPF_REG_1, WORD),
                MOVE_CONSTANT(BPF_REG_2, 8), take, ADD_CONSTANT(BPF_REG_3, offset),
                CALL(BPF_FUNC_probe_read_user), JUMP_IF_NOT_ZERO(BPF_REG_0, 0));
}

/* r9 = r8, then page by page as far as the slice goes: a jump to ended[] at the stack's end, to
 * missing[] where a page is not there and the slice will end. */
static void emit_slice(struct program *program, size_t pages, size_t *ended, size_t *missing)
{
    EMIT(program, MOVE(BPF_REG_9, BPF_REG_8));
    for (size_t i = 0; i < pages; i++) {
        ended[i] = EMIT(program, JUMP_IF_NOT_BELOW(BPF_REG_9, BPF_REG_7, 0));
        missing[i] = emit_probe(program, MOVE(BPF_REG_3, BPF_REG_9), 0);
        EMIT(program, OR_CONSTANT(BPF_REG_9, PAGE_BYTES - 1), ADD_CONSTANT(BPF_REG_9, 1));
    }
}

/* r7 = up to where memory is there in one piece above r8, to a page and within 1 MiB. */
static void emit_search(struct program *program)
{
    EMIT(program, MOVE(BPF_REG_7, BPF_REG_8), OR_CONSTANT(BPF_REG_7, PAGE_BYTES - 1),
         ADD_CONSTANT(BPF_REG_7, 1));
    for (int32_t step = REST_BYTES_MAX / 2; step >= PAGE_BYTES; step /= 2) {
        const size_t beyond = emit_probe(program, MOVE(BPF_REG_3, BPF_REG_7), step - 8);
        EMIT(program, ADD_CONSTANT(BPF_REG_7, step));
        land_here(program, beyond);
    }
}

/* r8 = from where to copy, r7 = how many bytes; or it jumps away, to *nothing. Of what is too much
 * the upper part is copied: what is so large is a frame with a large array, more often than not. */
static void emit_range(struct program *program, size_t stack_bytes, size_t most_bytes,
                       size_t nothing[3])
{
    const int32_t overlap = stack_bytes > 2 * OVERLAP_BYTES ? OVERLAP_BYTES : 0;
    const size_t known = EMIT(program, ADD_CONSTANT(BPF_REG_8, (int32_t)stack_bytes - overlap),
                              JUMP_IF_NOT_EQUAL(BPF_REG_7, END_UNKNOWN, 0));
    nothing[0] = emit_probe(program, MOVE(BPF_REG_3, BPF_REG_8), overlap);
    emit_search(program);
    land_here(program, known);
    nothing[1] = EMIT(program, SUBTRACT(BPF_REG_7, BPF_REG_8),
                      JUMP_IF_SIGNED_BELOW(BPF_REG_7, overlap + 1, 0));
    nothing[2] = EMIT(program, JUMP_IF_ABOVE(BPF_REG_7, REST_SPAN_BYTES, 0));
    EMIT(program, JUMP_IF_AT_MOST(BPF_REG_7, (int32_t)most_bytes, 3), ADD(BPF_REG_8, BPF_REG_7),
         ADD_CONSTANT(BPF_REG_8, -(int32_t)most_bytes),
         MOVE_CONSTANT(BPF_REG_7, (int32_t)most_bytes));
}

static void emit_time(struct program *program)
{
    EMIT(program, CALL(BPF_FUNC_ktime_get_ns), STORE_64(BPF_REG_10, WORD, BPF_REG_0));
}

/* r0 = room in the ring for r7 bytes, where *got leads to; or it goes on: there is none. */
static void emit_reserve(struct program *program, int ring_fd, size_t *got)
{
    const int32_t head = sizeof(struct captured);
    for (size_t i = 0; i < ROOM_SIZES; i++) {
        const size_t larger = EMIT(program, JUMP_IF_ABOVE(BPF_REG_7, room_sizes[i], 0));
        got[i] = EMIT(program, LOAD_MAP(BPF_REG_1, ring_fd),
                      MOVE_CONSTANT(BPF_REG_2, head + room_sizes[i]), MOVE_CONSTANT(BPF_REG_3, 0),
                      CALL(BPF_FUNC_ringbuf_reserve), JUMP_IF_NOT_ZERO(BPF_REG_0, 0));
        land_here(program, larger);
    }
}

/* Hands over the room at r6 with its head filled: r7 bytes of address r8. */
static void emit_submit(struct program *program, bool elsewhere)
{
    EMIT(program, STORE_64(BPF_REG_6, offsetof(struct captured, address), BPF_REG_8),
         STORE_32(BPF_REG_6, offsetof(struct captured, size), BPF_REG_7),
         MOVE_CONSTANT(BPF_REG_1, elsewhere),
         STORE_32(BPF_REG_6, offsetof(struct captured, elsewhere), BPF_REG_1),
         LOAD_32(BPF_REG_1, BPF_REG_10, KEY),
         STORE_32(BPF_REG_6, offsetof(struct captured, tid), BPF_REG_1),
         CALL(BPF_FUNC_get_smp_processor_id),
         STORE_32(BPF_REG_6, offsetof(struct captured, cpu), BPF_REG_0),
         LOAD_64(BPF_REG_1, BPF_REG_10, WORD),
         STORE_64(BPF_REG_6, offsetof(struct captured, time_ns), BPF_REG_1),
         MOVE(BPF_REG_1, BPF_REG_6), MOVE_CONSTANT(BPF_REG_2, BPF_RB_NO_WAKEUP),
         CALL(BPF_FUNC_ringbuf_submit), MOVE_CONSTANT(BPF_REG_0, 1), EXIT);
}

static void emit_discard(struct program *program)
{
    EMIT(program, MOVE(BPF_REG_1, BPF_REG_6), MOVE_CONSTANT(BPF_REG_2, BPF_RB_NO_WAKEUP),
         CALL(BPF_FUNC_ringbuf_discard), MOVE_CONSTANT(BPF_REG_0, 1), EXIT);
}

/* Copies into the room at r0 and hands it over, or gives it back. */
static void emit_copy(struct program *program)
{
    EMIT(program, MOVE(BPF_REG_6, BPF_REG_0), MOVE(BPF_REG_1, BPF_REG_6),
         ADD_CONSTANT(BPF_REG_1, (int32_t)offsetof(struct captured, bytes)),
         MOVE(BPF_REG_2, BPF_REG_7), MOVE(BPF_REG_3, BPF_REG_8), CALL(BPF_FUNC_probe_read_user));
    const size_t copied = EMIT(program, JUMP_IF_ZERO(BPF_REG_0, 0));
    emit_discard(program);
    land_here(program, copied);
    emit_submit(program, false);
}

/* Copies the pages above r9's, those that are there, as far as r7; others become zero. */
static void emit_copy_pages(struct program *program, int ring_fd, int32_t pages, bool elsewhere)
{
    const int32_t head = sizeof(struct captured);
    size_t ended[GAP_PAGES];
    EMIT(program, MOVE(BPF_REG_8, BPF_REG_9), OR_CONSTANT(BPF_REG_8, PAGE_BYTES - 1),
         ADD_CONSTANT(BPF_REG_8, 1), LOAD_MAP(BPF_REG_1, ring_fd),
         MOVE_CONSTANT(BPF_REG_2, head + pages * PAGE_BYTES), MOVE_CONSTANT(BPF_REG_3, 0),
         CALL(BPF_FUNC_ringbuf_reserve), JUMP_IF_NOT_ZERO(BPF_REG_0, 2),
         MOVE_CONSTANT(BPF_REG_0, 1), EXIT, MOVE(BPF_REG_6, BPF_REG_0),
         MOVE_CONSTANT(BPF_REG_9, 0));
    for (int32_t i = 0; i < pages; i++) {
        EMIT(program, MOVE(BPF_REG_3, BPF_REG_8), ADD_CONSTANT(BPF_REG_3, i * PAGE_BYTES));
        ended[i] = EMIT(program, JUMP_IF_NOT_BELOW(BPF_REG_3, BPF_REG_7, 0));
        EMIT(program, MOVE(BPF_REG_1, BPF_REG_6), ADD_CONSTANT(BPF_REG_1, head + i * PAGE_BYTES),
             MOVE_CONSTANT(BPF_REG_2, PAGE_BYTES), CALL(BPF_FUNC_probe_read_user),
             JUMP_IF_NOT_ZERO(BPF_REG_0, 1), MOVE_CONSTANT(BPF_REG_9, (i + 1) * PAGE_BYTES));
    }
    land_all(program, ended, (size_t)pages);
    EMIT(program, MOVE(BPF_REG_7, BPF_REG_9));
    const size_t empty = EMIT(program, JUMP_IF_ZERO(BPF_REG_7, 0));
    emit_submit(program, elsewhere);
    land_here(program, empty);
    emit_discard(program);
}

/* Of a thread that switches stacks, where rbp, or what is kept below it for the frames in between,
 * leads to another one, that one's innermost pages are copied: the slice cannot have them. */
static void emit_elsewhere(struct program *program, int ring_fd)
{
    size_t found[HOPS + 1], missing[HOPS];
    const size_t here = EMIT(program, JUMP_IF_NOT_EQUAL(BPF_REG_7, END_ELSEWHERE, 0));
    for (size_t i = 0; i <= HOPS; i++) {
        found[i] = EMIT(program, MOVE(BPF_REG_1, BPF_REG_6), SUBTRACT(BPF_REG_1, BPF_REG_8),
                        JUMP_IF_ABOVE(BPF_REG_1, OTHER_SPAN_BYTES, 0));
        if (i == HOPS)
            break;
        missing[i] = emit_probe(program, MOVE(BPF_REG_3, BPF_REG_6), 0);
        EMIT(program, LOAD_64(BPF_REG_6, BPF_REG_10, WORD));
    }
    land_all(program, missing, HOPS);
    EMIT(program, MOVE_CONSTANT(BPF_REG_0, 1), EXIT);
    land_all(program, found, HOPS + 1);
    EMIT(program, MOVE(BPF_REG_9, BPF_REG_6), ADD_CONSTANT(BPF_REG_9, -PAGE_BYTES),
         MOVE_CONSTANT(BPF_REG_7, END_UNKNOWN));
    emit_time(program);
    emit_copy_pages(program, ring_fd, OTHER_PAGES, true);
    land_here(program, here);
}

static void emit_all(struct program *program, const struct rest_bpf *rest, size_t stack_bytes,
                     size_t most_bytes)
{
    const size_t pages = (stack_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    size_t ended[SLICE_PAGES], missing[SLICE_PAGES], nothing[3], got[ROOM_SIZES];
    emit_question(program, rest->ends_fd);
    emit_elsewhere(program, rest->ring_fd);
    emit_slice(program, pages, ended, missing);
    emit_range(program, stack_bytes, most_bytes, nothing);
    emit_time(program);
    emit_reserve(program, rest->ring_fd, got);
    land_all(program, ended, pages);
    land_all(program, nothing, 3);
    EMIT(program, MOVE_CONSTANT(BPF_REG_0, 1), EXIT);
    land_all(program, got, ROOM_SIZES);
    emit_copy(program);
    /* The slice ends in the page of r9, which was never used: a large frame begins to be filled.
     * What counts lies above, in pages that are there or were never used either. */
    land_all(program, missing, pages);
    emit_time(program);
    emit_copy_pages(program, rest->ring_fd, GAP_PAGES, false);
}

/* The sample is kept, whatever becomes of the rest of its stack. */
static int load_program(const struct rest_bpf *rest, size_t stack_bytes, size_t most_bytes)
{
    struct program *program = calloc(1, sizeof *program);
    if (!program)
        return -ENOMEM;
    emit_all(program, rest, stack_bytes, most_bytes);
    const int result = program->count <= PROGRAM_MAX
                           ? bpf_load(BPF_PROG_TYPE_PERF_EVENT, program->items, program->count)
                           : -E2BIG;
    free(program);
    return result;
}

/* ---- The ring ----------------------------------------------------------------------------------
 */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Our position is on a page we may write; the kernel's, and the bytes, on pages we may not. */
static int map_ring(struct rest_bpf *rest)
{
    const size_t page = page_size();
    void *ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, rest->ring_fd, 0);
    if (ours == MAP_FAILED)
        return -errno;
    rest->consumer_page = ours;
    void *theirs =
        mmap(NULL, page + 2 * rest->ring_bytes, PROT_READ, MAP_SHARED, rest->ring_fd, (off_t)page);
    if (theirs == MAP_FAILED)
        return -errno;
    rest->producer_page = theirs;
    return 0;
}

/* The record at a position: its size, and whether it can be used. Returns false at the end, and at
 * one that is still being written. */
static bool next_record(const struct rest_bpf *rest, uint64_t position,
                        const struct captured **captured, size_t *size)
{
    const uint64_t end = __atomic_load_n((const uint64_t *)rest->producer_page, __ATOMIC_ACQUIRE);
    if (position >= end || end - position > rest->ring_bytes)
        return false;
    const uint8_t *at = rest->producer_page + page_size() + (position & (rest->ring_bytes - 1));
    const uint32_t head = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
    const uint32_t bytes = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
    *size = (BPF_RINGBUF_HDR_SZ + (size_t)bytes + 7) / 8 * 8;
    if (head & BPF_RINGBUF_BUSY_BIT || *size > end - position)
        return false;
    const struct captured *content = (const void *)(at + BPF_RINGBUF_HDR_SZ);
    const bool good = !(head & BPF_RINGBUF_DISCARD_BIT) && bytes >= sizeof *content &&
                      content->size <= bytes - sizeof *content;
    *captured = good ? content : NULL;
    return true;
}

static bool belongs(const struct captured *captured, const struct decode_stack *stack)
{
    const uint64_t begins = captured->address - stack->pointer;
    return captured->tid == (uint32_t)stack->tid && captured->cpu == (uint32_t)stack->cpu &&
           captured->time_ns - stack->time_ns + APART_NS <= 2 * APART_NS &&
           (captured->elsewhere || begins <= stack->captured + REST_SPAN_BYTES);
}

bool rest_bpf_find(const struct rest_bpf *rest, const struct decode_stack *stack,
                   struct rest_bytes *found)
{
    const struct captured *captured;
    size_t size;
    if (!rest->producer_page)
        return false;
    for (uint64_t at = rest->consumed; next_record(rest, at, &captured, &size); at += size)
        if (captured && belongs(captured, stack)) {
            *found =
                (struct rest_bytes){captured->bytes, captured->address, (size_t)captured->size};
            return true;
        }
    return false;
}

void rest_bpf_drop(struct rest_bpf *rest, uint64_t time_ns)
{
    const struct captured *captured;
    size_t size;
    const uint64_t before = rest->consumed;
    if (!rest->producer_page)
        return;
    while (next_record(rest, rest->consumed, &captured, &size) &&
           (!captured || captured->time_ns + APART_NS < time_ns))
        rest->consumed += size;
    if (rest->consumed != before)
        __atomic_store_n((uint64_t *)rest->consumer_page, rest->consumed, __ATOMIC_RELEASE);
}

/* ---- The whole ---------------------------------------------------------------------------------
 */

/* The ring lives as long as it is mapped, the program as long as the filter's slot. */
static int connect_all(struct rest_bpf *rest, const struct filter_bpf *filter, int program_fd)
{
    int result = map_ring(rest);
    if (!result)
        result = filter_bpf_go_on_to(filter, program_fd);
    close(program_fd);
    close(rest->ring_fd);
    rest->ring_fd = -1;
    return result;
}

static int open_all(struct rest_bpf *rest, const struct filter_bpf *filter, size_t stack_bytes,
                    size_t most_bytes)
{
    rest->ends_fd = bpf_open_map(BPF_MAP_TYPE_LRU_HASH, 4, 8, ENDS_MAX, 0);
    if (rest->ends_fd < 0)
        return rest->ends_fd;
    rest->ring_fd = bpf_open_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)rest->ring_bytes, 0);
    if (rest->ring_fd < 0)
        return rest->ring_fd;
    const int program_fd = load_program(rest, stack_bytes, most_bytes);
    return program_fd < 0 ? program_fd : connect_all(rest, filter, program_fd);
}

int rest_bpf_open(struct rest_bpf *rest, const struct filter_bpf *filter, size_t stack_bytes,
                  size_t most_bytes, size_t ring_bytes)
{
    *rest = REST_BPF_NONE;
    rest->ring_bytes = ring_bytes;
    const int result = open_all(rest, filter, stack_bytes, most_bytes);
    if (result)
        rest_bpf_close(rest);
    return result;
}

void rest_bpf_close(struct rest_bpf *rest)
{
    int *const fds[] = {&rest->ends_fd, &rest->ring_fd};
    if (rest->consumer_page)
        munmap(rest->consumer_page, page_size());
    if (rest->producer_page)
        munmap((void *)(uintptr_t)rest->producer_page, page_size() + 2 * rest->ring_bytes);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
    *rest = REST_BPF_NONE;
}

void rest_bpf_forget_end(const struct rest_bpf *rest, pid_t tid)
{
    const uint32_t key = (uint32_t)tid;
    bpf_take(rest->ends_fd, &key);
}

int rest_bpf_learn_end(const struct rest_bpf *rest, pid_t tid, uint64_t address)
{
    const uint32_t key = (uint32_t)tid;
    const uint64_t end = address == SAMPLER_STACK_SHALLOW     ? (uint64_t)END_IN_SLICE
                         : address == SAMPLER_STACK_ELSEWHERE ? (uint64_t)END_ELSEWHERE
                                                              : address;
    return bpf_put(rest->ends_fd, &key, &end);
}
