/* Whether the threads of a stopped process need what was put into it for probes. */
#include "trace/leaving.h"

#include <string.h>
#include <unistd.h>

enum {
    SCAN_WORDS = 4096, /* of a stack at a time */
    SCAN_BYTES = 16 << 20,
    USER_CODE = 0x33, /* the selector of 64-bit code */
};

/* Threads within thunks, copies or the agent leave them by running, for milliseconds at most. */
bool trace_leaving_is_anybody_inside(const struct trace_leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++)
        if (trace_leaving_is_ours(leaving, leaving->stop.threads.items[i].registers.rip))
            return true;
    return false;
}

/* Whether a signal handler will return into what is ours: the kernel's frame holds flags and the
 * code selector behind the instruction pointer. */
static bool holds_frame(const struct trace_leaving *leaving, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i + 2 < count; i++)
        if ((words[i + 2] & 0xffff) == USER_CODE && trace_leaving_is_ours(leaving, words[i]))
            return true;
    return false;
}

/* Calls `found` for the words of a thread's stack, piece by piece, with the address of the first;
 * pieces overlap by two words. Ends when that returns true, and returns that. */
static bool each_piece(struct trace_leaving *leaving, const struct trace_stopped *thread,
                       bool (*found)(struct trace_leaving *leaving,
                                     const struct trace_stopped *thread, const uint64_t *words,
                                     size_t count, uint64_t address))
{
    uint64_t words[SCAN_WORDS], at = (thread->registers.rsp - TRACE_RED_ZONE) & ~UINT64_C(7),
                                end = at;
    for (size_t i = 0; i < leaving->writable.count; i++)
        if (trace_span_holds(&leaving->writable.items[i], thread->registers.rsp))
            end = leaving->writable.items[i].end;
    if (end > at + SCAN_BYTES)
        end = at + SCAN_BYTES;
    while (at < end) {
        const size_t size = end - at < sizeof words ? (size_t)(end - at) : sizeof words;
        const ssize_t got = pread(leaving->memory_fd, words, size, (off_t)at);
        if (got < (ssize_t)sizeof *words)
            return false;
        if (found(leaving, thread, words, (size_t)got / sizeof *words, at))
            return true;
        if ((size_t)got <= 2 * sizeof *words)
            break;
        at += (uint64_t)got - 2 * sizeof *words;
    }
    return false;
}

static bool is_interrupted(struct trace_leaving *leaving, const struct trace_stopped *thread,
                           const uint64_t *words, size_t count, uint64_t address)
{
    (void)thread;
    (void)address;
    return holds_frame(leaving, words, count);
}

bool trace_leaving_is_drained(struct trace_leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++)
        if (each_piece(leaving, &leaving->stop.threads.items[i], is_interrupted))
            return false;
    return true;
}

/* == Unwinding that is under way == */

/* Who unwinds a stack, as for an exception, holds a copy of a return address into a thunk, and
 * looks at the slot that it is from once more, and at its record, before it goes on: neither may
 * change until then. Such a copy may also be left over, where a sleeping thread does not use its
 * stack. */
enum { SLEEPING_NS = 200000000 };

static bool is_thunk_return(const struct trace_leaving *leaving, uint64_t word)
{
    const uint64_t offset = word - leaving->session->hello.thunks;
    return offset < PROBE_THUNKS * (uint64_t)PROBE_THUNK_BYTES &&
           offset % PROBE_THUNK_BYTES == PROBE_THUNK_RETURN;
}

/* Whether a call that is open has its return address there. */
static bool is_slot(const struct trace_leaving *leaving, uint64_t address)
{
    uint8_t record[PROBE_RECORD_BYTES];
    uint64_t slot;
    uint32_t serial;
    if (!trace_leaving_read(leaving, PROBE_RECORDS + (address & PROBE_SLOT_MASK) * 8, record,
                            sizeof record))
        return false;
    memcpy(&slot, record + PROBE_RECORD_SLOT, sizeof slot);
    memcpy(&serial, record + PROBE_RECORD_SERIAL, sizeof serial);
    return slot == address && serial;
}

static void hold(struct trace_leaving *leaving, const struct trace_stopped *thread,
                 uint64_t address)
{
    for (size_t i = 0; i < leaving->held.count; i++)
        if (leaving->held.items[i].tid == thread->tid &&
            leaving->held.items[i].address == address) {
            leaving->held.items[i].is_there = true;
            return;
        }
    const struct trace_held held = {thread->tid, address, sprof_clock_monotonic_ns(), true};
    if (sprof_vec_push(&leaving->held, held))
        leaving->held_failed = true;
}

static bool hold_copies(struct trace_leaving *leaving, const struct trace_stopped *thread,
                        const uint64_t *words, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (is_thunk_return(leaving, words[i]) && !is_slot(leaving, address + i * sizeof *words))
            hold(leaving, thread, address + i * sizeof *words);
    return false;
}

static bool leads_to_unwinder(struct trace_leaving *leaving, const struct trace_stopped *thread,
                              const uint64_t *words, size_t count, uint64_t address)
{
    (void)thread;
    (void)address;
    for (size_t k = 0; k < leaving->texts.count; k++) {
        const struct trace_text *text = &leaving->texts.items[k];
        if (!strstr(text->path, "/libgcc_s") && !strstr(text->path, "/libunwind"))
            continue;
        for (size_t i = 0; i < count; i++)
            if (trace_span_holds(&text->span, words[i]))
                return true;
    }
    return false;
}

/* A copy in a register is in use now. */
static bool is_in_register(const struct trace_leaving *leaving, const struct user_regs_struct *r)
{
    const uint64_t values[] = {r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
                               r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (is_thunk_return(leaving, values[i]))
            return true;
    return false;
}

/* The thread waits for something all the time, and nothing on its stack leads to an unwinder. */
static bool is_left_over(struct trace_leaving *leaving, const struct trace_held *held)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        const struct trace_stopped *thread = &leaving->stop.threads.items[i];
        if (thread->tid == held->tid)
            return (int64_t)thread->registers.orig_rax >= 0 &&
                   sprof_clock_monotonic_ns() - held->since_ns > SLEEPING_NS &&
                   !each_piece(leaving, thread, leads_to_unwinder);
    }
    return true;
}

bool trace_leaving_is_anybody_unwinding(struct trace_leaving *leaving)
{
    bool is_any = leaving->held_failed;
    size_t kept = 0;
    for (size_t i = 0; i < leaving->held.count; i++)
        leaving->held.items[i].is_there = false;
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        is_any |= is_in_register(leaving, &leaving->stop.threads.items[i].registers);
        each_piece(leaving, &leaving->stop.threads.items[i], hold_copies);
    }
    for (size_t i = 0; i < leaving->held.count; i++) {
        if (!leaving->held.items[i].is_there)
            continue;
        leaving->held.items[kept++] = leaving->held.items[i];
        is_any |= !is_left_over(leaving, &leaving->held.items[i]);
    }
    leaving->held.count = kept;
    return is_any;
}
