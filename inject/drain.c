/* Checks whether threads of a stopped process still need what sprof put into it. */
#include "inject/leaving.h"

#include <string.h>
#include <unistd.h>

enum {
    SCAN_WORDS = 4096,
    SCAN_BYTES = 16 << 20,
    STACKS = 4,       /* of handlers within handlers */
    OVERLAP = 3,      /* words checked together, less one */
    USER_CODE = 0x33, /* of 64-bit code */
};

/* Threads leave by running, in milliseconds. */
bool inject_leaving_is_anybody_inside(const struct inject_leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++)
        if (inject_leaving_is_ours(leaving,
                                   arch_remote_pc(&leaving->stop.threads.items[i].registers)))
            return true;
    return false;
}

/* In a signal's frame, flags and code selector follow the instruction pointer. */
static bool holds_frame(const struct inject_leaving *leaving, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i + 2 < count; i++)
        if ((words[i + 2] & 0xffff) == USER_CODE && inject_leaving_is_ours(leaving, words[i]))
            return true;
    return false;
}

typedef bool piece_found(struct inject_leaving *leaving, const struct inject_stopped *thread,
                         const uint64_t *words, size_t count, uint64_t address);

static uint64_t end_of_stack(const struct inject_leaving *leaving, uint64_t address)
{
    for (size_t i = 0; i < leaving->writable.count; i++) {
        const struct inject_span *span = &leaving->writable.items[i];
        if (inject_span_holds(span, address))
            return span->end - address < SCAN_BYTES ? span->end : address + SCAN_BYTES;
    }
    return 0;
}

/* Finds the interrupted stack in the frame of a signal that came on another one; 0: none. */
static uint64_t find_other_stack(const struct inject_leaving *leaving, const uint64_t *words,
                                 size_t count, uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i + 3 < count; i++)
        if (arch_frame_ends(words + i) && (words[i] < begin || words[i] >= end) &&
            end_of_stack(leaving, words[i]))
            return words[i];
    return 0;
}

/* Calls `found` for overlapping pieces of a thread's stacks until it returns true. */
static bool each_piece(struct inject_leaving *leaving, const struct inject_stopped *thread,
                       piece_found *found)
{
    uint64_t words[SCAN_WORDS], stack = arch_remote_sp(&thread->registers);
    for (int stacks = 0; stacks < STACKS && stack; stacks++) {
        uint64_t at = (stack - ARCH_RED_ZONE_BYTES) & ~UINT64_C(7), other = 0;
        const uint64_t begin = at, end = end_of_stack(leaving, stack);
        while (at < end) {
            const size_t size = end - at < sizeof words ? (size_t)(end - at) : sizeof words;
            const ssize_t got = pread(leaving->memory_fd, words, size, (off_t)at);
            const size_t count = got > 0 ? (size_t)got / sizeof *words : 0;
            if (count && found(leaving, thread, words, count, at))
                return true;
            if (count <= OVERLAP)
                break;
            other = other ? other : find_other_stack(leaving, words, count, begin, end);
            at += (count - OVERLAP) * sizeof *words;
        }
        stack = other;
    }
    return false;
}

static bool is_interrupted(struct inject_leaving *leaving, const struct inject_stopped *thread,
                           const uint64_t *words, size_t count, uint64_t address)
{
    (void)thread;
    (void)address;
    return holds_frame(leaving, words, count);
}

bool inject_leaving_is_drained(struct inject_leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++)
        if (each_piece(leaving, &leaving->stop.threads.items[i], is_interrupted))
            return false;
    return true;
}

/* == Unwinding that is under way == */

/* An unwinder copies return addresses into thunks, and later reads their slots and records: these
 * must stay until then. libgcc's may hold only a record's address. A copy may also be old, in
 * unused stack or of a sleeping thread. */
enum { LEFT_OVER_NS = 200000000 };

static bool is_thunk_return(const struct inject_leaving *leaving, uint64_t word)
{
    const uint64_t offset = word - leaving->process->hello.thunks;
    return offset < PROBE_THUNKS * (uint64_t)ARCH_THUNK_BYTES &&
           offset % ARCH_THUNK_BYTES == ARCH_THUNK_RETURN;
}

static bool is_record(uint64_t word)
{
    const uint64_t offset = word - PROBE_RECORDS;
    return offset < PROBE_RECORDS_BYTES && offset % PROBE_RECORD_BYTES == 0;
}

/* The agent's thread data may be on the stack, and holds addresses of records. */
static bool is_of_agent(const struct inject_leaving *leaving, const struct inject_stopped *thread,
                        uint64_t address)
{
    const struct probe_hello *hello = &leaving->process->hello;
    return !hello->table.address &&
           address - (arch_remote_thread_pointer(&thread->registers) + (uint64_t)hello->thread) <
               hello->thread_bytes;
}

/* True: the slot of an open call. */
static bool is_slot(const struct inject_leaving *leaving, uint64_t address)
{
    uint8_t record[PROBE_RECORD_BYTES];
    uint64_t slot;
    uint32_t serial;
    if (!inject_leaving_read(leaving, PROBE_RECORDS + (address & PROBE_SLOT_MASK) * 8, record,
                             sizeof record))
        return false;
    memcpy(&slot, record + PROBE_RECORD_SLOT, sizeof slot);
    memcpy(&serial, record + PROBE_RECORD_SERIAL, sizeof serial);
    return slot == address && serial;
}

static void hold(struct inject_leaving *leaving, const struct inject_stopped *thread,
                 uint64_t address)
{
    for (size_t i = 0; i < leaving->copies.count; i++)
        if (leaving->copies.items[i].tid == thread->tid &&
            leaving->copies.items[i].address == address) {
            leaving->copies.items[i].is_there = true;
            return;
        }
    const struct inject_stack_copy held = {thread->tid, address, sprof_clock_monotonic_ns(), true};
    if (sprof_vec_push(&leaving->copies, held))
        leaving->copies_failed = true;
}

static bool leads_to_unwinder(struct inject_leaving *leaving, const struct inject_stopped *thread,
                              const uint64_t *words, size_t count, uint64_t address)
{
    (void)thread;
    (void)address;
    return inject_leaving_is_unwinder(leaving, words, count);
}

/* A mapped agent, which has a thread table, may be in a static program. Its unwinder is in no
 * separate file, so any thread may unwind. */
static bool may_unwind(struct inject_leaving *leaving, const struct inject_stopped *thread)
{
    const uint64_t ip = arch_remote_pc(&thread->registers);
    if (leaving->process->hello.table.address)
        return true;
    if (leaving->asked_tid != thread->tid)
        leaving->asked_unwinds = inject_leaving_is_unwinder(leaving, &ip, 1) ||
                                 each_piece(leaving, thread, leads_to_unwinder);
    leaving->asked_tid = thread->tid;
    return leaving->asked_unwinds;
}

static bool hold_copies(struct inject_leaving *leaving, const struct inject_stopped *thread,
                        const uint64_t *words, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (is_thunk_return(leaving, words[i])
                ? !is_slot(leaving, address + i * sizeof *words)
                : is_record(words[i]) &&
                      !is_of_agent(leaving, thread, address + i * sizeof *words) &&
                      may_unwind(leaving, thread))
            hold(leaving, thread, address + i * sizeof *words);
    return false;
}

/* A copy in a register is in use. */
static bool is_in_register(const struct inject_leaving *leaving, const struct arch_remote *remote)
{
    uint64_t values[ARCH_REGISTERS];
    arch_remote_registers(remote, values);
    for (size_t i = 0; i < ARCH_GENERAL_REGISTERS; i++)
        if (i != ARCH_SP && (is_thunk_return(leaving, values[i]) || is_record(values[i])))
            return true;
    return false;
}

/* True: it is old, and the stack leads to no unwinder. */
static bool is_left_over(struct inject_leaving *leaving, const struct inject_stack_copy *held)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        const struct inject_stopped *thread = &leaving->stop.threads.items[i];
        const uint64_t ip = arch_remote_pc(&thread->registers);
        if (thread->tid == held->tid)
            return sprof_clock_monotonic_ns() - held->since_ns > LEFT_OVER_NS &&
                   !inject_leaving_is_unwinder(leaving, &ip, 1) &&
                   !each_piece(leaving, thread, leads_to_unwinder);
    }
    return true;
}

bool inject_leaving_is_anybody_unwinding(struct inject_leaving *leaving)
{
    bool is_any = leaving->copies_failed;
    size_t kept = 0;
    leaving->asked_tid = 0;
    for (size_t i = 0; i < leaving->copies.count; i++)
        leaving->copies.items[i].is_there = false;
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        is_any |= is_in_register(leaving, &leaving->stop.threads.items[i].registers);
        each_piece(leaving, &leaving->stop.threads.items[i], hold_copies);
    }
    for (size_t i = 0; i < leaving->copies.count; i++) {
        if (!leaving->copies.items[i].is_there)
            continue;
        leaving->copies.items[kept++] = leaving->copies.items[i];
        is_any |= !is_left_over(leaving, &leaving->copies.items[i]);
    }
    leaving->copies.count = kept;
    return is_any;
}
