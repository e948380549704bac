/* Takes probes out of a running process: code as it was, return addresses back where calls in
 * flight look for them, and the memory that was mapped for it gone. */
#include "trace/stop.h"
#include "trace/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    BETWEEN_MS = 5,    /* between two stops, at first … */
    BETWEEN_MAX_MS = 50,
    UNMAP_MS = 2000,   /* for the borrowed thread to be done */
    SCAN_WORDS = 4096, /* of a stack at a time */
    SCAN_BYTES = 16 << 20,
    RED_ZONE = 128,
    HAND_ROOM = 16 << 10, /* below a borrowed thread's stack pointer, for signals too */
    USER_CODE = 0x33,     /* the selector of 64-bit code */
    CALL_WORDS = 7,
    END_WORDS = 1 + 15 + 5, /* behind calls: a mark, registers, where to go on */
    HAND_CALLS = 96,        /* at a time … */
    PAGE_CALLS = 60,        /* … of which so many give pages back */
};

/* For nobody to be within thunks when all are stopped. */
static const uint64_t patience_ns = UINT64_C(4000000000);

struct span {
    uint64_t start, end;
};

/* Executable pages of a file. */
struct mapped {
    struct span span;
    uint64_t offset, inode;
    const char *path;
};

/* A copy on a stack of a return address into a thunk. */
struct held {
    pid_t tid;
    uint64_t address;
    uint64_t since_ns; /* when it was first seen */
    bool is_there;
};

/* The calls of a borrowed thread, and its registers behind them, as agent/probe/hand.S takes them.
 */
struct errand {
    uint64_t words[HAND_CALLS * CALL_WORDS + END_WORDS];
    size_t count;
};

struct leaving {
    struct trace_session *session;
    struct trace_stop stop;
    int memory_fd, pages_fd;     /* /proc/PID/mem, /proc/PID/pagemap */
    SPROF_VEC(struct span) ours; /* thunks, the agent's code, islands */
    SPROF_VEC(struct span) writable;
    SPROF_VEC(struct mapped) texts;
    SPROF_VEC(struct held) held;
    bool held_failed; /* out of memory: one is not there */
    struct errand errand;
    struct sprof_arena arena; /* paths */
    struct sprof_error *error;
};

static bool is_within(const struct span *span, uint64_t address)
{
    return address - span->start < span->end - span->start;
}

static bool is_ours(const struct leaving *leaving, uint64_t address)
{
    for (size_t i = 0; i < leaving->ours.count; i++)
        if (is_within(&leaving->ours.items[i], address))
            return true;
    return false;
}

static bool read_at(const struct leaving *leaving, uint64_t address, void *to, size_t size)
{
    return pread(leaving->memory_fd, to, size, (off_t)address) == (ssize_t)size;
}

static bool write_at(const struct leaving *leaving, uint64_t address, const void *from, size_t size)
{
    return pwrite(leaving->memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

/* == What there is == */

static int read_mappings(struct leaving *leaving)
{
    const struct trace_session *session = leaving->session;
    char path[64], line[4608];
    int result = 0;
    leaving->ours.count = leaving->writable.count = leaving->texts.count = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)session->pid);
    FILE *maps = fopen(path, "re");
    while (maps && !result && fgets(line, sizeof line, maps)) {
        struct mapped mapped = {0};
        struct span span;
        char rights[8];
        int path_at = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %n", &span.start, &span.end, rights,
                   &mapped.offset, &mapped.inode, &path_at) < 5)
            continue;
        const bool is_records =
            span.start >= PROBE_RECORDS && span.start < PROBE_RECORDS + PROBE_RECORDS_BYTES;
        if (rights[2] == 'x' &&
            (strstr(line, PROBE_LIBRARY) || is_within(&span, session->hello.thunks)))
            result = sprof_vec_push(&leaving->ours, span);
        if (rights[2] == 'x' && line[path_at] == '/') {
            line[strcspn(line, "\n")] = '\0';
            mapped.span = span;
            mapped.path = sprof_arena_text(&leaving->arena, line + path_at);
            result = !mapped.path || sprof_vec_push(&leaving->texts, mapped);
        }
        if (!result && rights[1] == 'w' && rights[3] == 'p' && !is_records)
            result = sprof_vec_push(&leaving->writable, span);
    }
    if (maps)
        fclose(maps);
    for (size_t i = 0; i < session->files.count && !result; i++) {
        const struct trace_file *file = &session->files.items[i];
        const struct span island = {file->island, file->island + file->island_bytes};
        if (island.start)
            result = sprof_vec_push(&leaving->ours, island);
    }
    return result ? SPROF_ENOMEM : 0;
}

/* == Threads == */

/* Threads within thunks, copies or the agent leave them by running, for milliseconds at most. */
static bool is_anybody_inside(const struct leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++)
        if (is_ours(leaving, leaving->stop.threads.items[i].registers.rip))
            return true;
    return false;
}

/* Whether a signal handler will return into what is ours: the kernel's frame holds flags and the
 * code selector behind the instruction pointer. */
static bool holds_frame(const struct leaving *leaving, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i + 2 < count; i++)
        if ((words[i + 2] & 0xffff) == USER_CODE && is_ours(leaving, words[i]))
            return true;
    return false;
}

/* Calls `found` for the words of a thread's stack, piece by piece, with the address of the first;
 * pieces overlap by two words. Ends when that returns true, and returns that. */
static bool each_piece(struct leaving *leaving, const struct trace_stopped *thread,
                       bool (*found)(struct leaving *leaving, const struct trace_stopped *thread,
                                     const uint64_t *words, size_t count, uint64_t address))
{
    uint64_t words[SCAN_WORDS], at = (thread->registers.rsp - RED_ZONE) & ~UINT64_C(7), end = at;
    for (size_t i = 0; i < leaving->writable.count; i++)
        if (is_within(&leaving->writable.items[i], thread->registers.rsp))
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

static bool is_interrupted(struct leaving *leaving, const struct trace_stopped *thread,
                           const uint64_t *words, size_t count, uint64_t address)
{
    (void)thread;
    (void)address;
    return holds_frame(leaving, words, count);
}

/* == Unwinding that is under way == */

/* Who unwinds a stack, as for an exception, holds a copy of a return address into a thunk, and looks
 * at the slot that it is from once more, and at its record, before it goes on: neither may change
 * until then. Such a copy may also be left over, where a sleeping thread does not use its stack. */
enum { SLEEPING_NS = 200000000 };

static bool is_thunk_return(const struct leaving *leaving, uint64_t word)
{
    const uint64_t offset = word - leaving->session->hello.thunks;
    return offset < PROBE_THUNKS * (uint64_t)PROBE_THUNK_BYTES &&
           offset % PROBE_THUNK_BYTES == PROBE_THUNK_RETURN;
}

/* Whether a call that is open has its return address there. */
static bool is_slot(const struct leaving *leaving, uint64_t address)
{
    uint8_t record[PROBE_RECORD_BYTES];
    uint64_t slot;
    uint32_t serial;
    if (!read_at(leaving, PROBE_RECORDS + (address & PROBE_SLOT_MASK) * 8, record, sizeof record))
        return false;
    memcpy(&slot, record + PROBE_RECORD_SLOT, sizeof slot);
    memcpy(&serial, record + PROBE_RECORD_SERIAL, sizeof serial);
    return slot == address && serial;
}

static void hold(struct leaving *leaving, const struct trace_stopped *thread, uint64_t address)
{
    for (size_t i = 0; i < leaving->held.count; i++)
        if (leaving->held.items[i].tid == thread->tid &&
            leaving->held.items[i].address == address) {
            leaving->held.items[i].is_there = true;
            return;
        }
    const struct held held = {thread->tid, address, sprof_clock_monotonic_ns(), true};
    if (sprof_vec_push(&leaving->held, held))
        leaving->held_failed = true;
}

static bool hold_copies(struct leaving *leaving, const struct trace_stopped *thread,
                        const uint64_t *words, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (is_thunk_return(leaving, words[i]) && !is_slot(leaving, address + i * sizeof *words))
            hold(leaving, thread, address + i * sizeof *words);
    return false;
}

static bool leads_to_unwinder(struct leaving *leaving, const struct trace_stopped *thread,
                              const uint64_t *words, size_t count, uint64_t address)
{
    (void)thread;
    (void)address;
    for (size_t k = 0; k < leaving->texts.count; k++) {
        const struct mapped *text = &leaving->texts.items[k];
        if (!strstr(text->path, "/libgcc_s") && !strstr(text->path, "/libunwind"))
            continue;
        for (size_t i = 0; i < count; i++)
            if (is_within(&text->span, words[i]))
                return true;
    }
    return false;
}

/* A copy in a register is in use now. */
static bool is_in_register(const struct leaving *leaving, const struct user_regs_struct *r)
{
    const uint64_t values[] = {r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
                               r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (is_thunk_return(leaving, values[i]))
            return true;
    return false;
}

/* The thread waits for something all the time, and nothing on its stack leads to an unwinder. */
static bool is_left_over(struct leaving *leaving, const struct held *held)
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

static bool is_anybody_unwinding(struct leaving *leaving)
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

/* == Frames in flight == */

/* A call that has a record finds a thunk in its slot; there the caller's address goes back. */
static bool give_back(const struct leaving *leaving, const uint8_t *record, uint64_t address)
{
    const struct trace_session *session = leaving->session;
    uint64_t slot, caller, there;
    memcpy(&caller, record + PROBE_RECORD_RETURN, sizeof caller);
    memcpy(&slot, record + PROBE_RECORD_SLOT, sizeof slot);
    if (!slot || PROBE_RECORDS + (slot & PROBE_SLOT_MASK) * 8 != address ||
        !read_at(leaving, slot, &there, sizeof there))
        return true;
    const uint64_t offset = there - session->hello.thunks;
    if (offset >= session->probes.count * PROBE_THUNK_BYTES ||
        offset % PROBE_THUNK_BYTES != PROBE_THUNK_RETURN)
        return true;
    return write_at(leaving, slot, &caller, sizeof caller);
}

static bool give_back_page(const struct leaving *leaving, uint64_t address)
{
    uint8_t records[PAGE];
    if (!read_at(leaving, address, records, sizeof records))
        return false;
    for (size_t at = 0; at < sizeof records; at += PROBE_RECORD_BYTES)
        if (!give_back(leaving, records + at, address + at))
            return false;
    return true;
}

/* Records stand where the slots of stacks lead to, and only those pages exist that were used. */
static bool give_back_span(const struct leaving *leaving, const struct span *span)
{
    enum { EXISTS_BITS = 3 }; /* present or swapped: the two highest */
    uint64_t entries[512];
    const uint64_t first = PROBE_RECORDS + (span->start & PROBE_SLOT_MASK) * 8;
    const uint64_t pages = (span->end - span->start) * 8 / PAGE;
    for (uint64_t done = 0; done < pages;) {
        const size_t wanted = pages - done < 512 ? (size_t)(pages - done) : 512;
        const ssize_t got =
            pread(leaving->pages_fd, entries, wanted * 8, (off_t)((first / PAGE + done) * 8));
        if (got < 8)
            return false;
        for (size_t i = 0; i < (size_t)got / 8; i++)
            if (entries[i] >> 62 & EXISTS_BITS &&
                !give_back_page(leaving, first + (done + i) * PAGE))
                return false;
        done += (size_t)got / 8;
    }
    return true;
}

/* == Code == */

/* Whether the process still runs what was put into it: after an execve it does not. */
static bool has_agent(const struct leaving *leaving)
{
    const uint64_t hand = leaving->session->hello.hand;
    for (size_t i = 0; i < leaving->texts.count; i++)
        if (is_within(&leaving->texts.items[i].span, hand) &&
            strstr(leaving->texts.items[i].path, PROBE_LIBRARY))
            return true;
    return false;
}

/* What is not as it was left, such as the code of a library that was unloaded, is left alone. */
static bool restore_code(const struct leaving *leaving)
{
    const struct trace_session *session = leaving->session;
    uint8_t there[TRACE_JUMP_BYTES];
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        const uint64_t site = session->files.items[probe->file].bias + probe->function->site;
        if (!probe->is_placed || !read_at(leaving, site, there, sizeof there) ||
            memcmp(there, probe->jump, sizeof there) != 0)
            continue;
        if (!write_at(leaving, site, probe->function->original, sizeof there))
            return false;
    }
    const struct trace_hook *hook = &session->hook;
    return !hook->at || !read_at(leaving, hook->at, there, sizeof there) ||
           memcmp(there, hook->jump, sizeof there) != 0 ||
           write_at(leaving, hook->at, hook->original, sizeof there);
}

/* == Memory == */

static void add_call(struct errand *errand, long number, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[CALL_WORDS] = {(uint64_t)number, a, b, c};
    memcpy(errand->words + errand->count, words, sizeof words);
    errand->count += CALL_WORDS;
}

static void add_registers(struct errand *errand, const struct user_regs_struct *r)
{
    const uint64_t words[] = {UINT64_MAX, r->r15, r->r14, r->r13, r->r12,    r->rbp, r->rbx,
                              r->r11,     r->r10, r->r9,  r->r8,  r->rcx,    r->rdx, r->rsi,
                              r->rdi,     r->rax, r->rip, r->cs,  r->eflags, r->rsp, r->ss};
    memcpy(errand->words + errand->count, words, sizeof words);
    errand->count += sizeof words / sizeof *words;
}

/* Whether a thread stands on the stack that it was made with, whose end is its mapping's: the main
 * thread's, or one with a thread control block on top. Signal stacks and coroutines' may be small.
 */
static bool has_room(const struct leaving *leaving, const struct trace_stopped *thread)
{
    const uint64_t stack = thread->registers.rsp;
    for (size_t i = 0; i < leaving->writable.count; i++) {
        const struct span *span = &leaving->writable.items[i];
        if (is_within(span, stack))
            return stack - span->start > HAND_ROOM &&
                   (is_within(span, leaving->session->shared->stack_high - 1) ||
                    is_within(span, thread->registers.fs_base));
    }
    return false;
}

/* One that is not about to take a signal either. */
static struct trace_stopped *find_hand(struct leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        struct trace_stopped *thread = &leaving->stop.threads.items[i];
        if (!thread->signal && has_room(leaving, thread))
            return thread;
    }
    return NULL;
}

/* Sends a thread on the errand; it goes when all go on, and comes back by itself. */
static bool send_hand(struct leaving *leaving)
{
    struct trace_stopped *hand = find_hand(leaving);
    struct errand *errand = &leaving->errand;
    if (!hand)
        return false;
    trace_stop_restart(hand);
    add_registers(errand, &hand->registers);
    const uint64_t at =
        (hand->registers.rsp - RED_ZONE - errand->count * sizeof *errand->words) & ~UINT64_C(15);
    if (!write_at(leaving, at, errand->words, errand->count * sizeof *errand->words)) {
        errand->count -= END_WORDS;
        return false;
    }
    hand->registers.rsp = at;
    hand->registers.rip = leaving->session->hello.hand;
    hand->registers.orig_rax = UINT64_MAX;
    hand->changed = true;
    return true;
}

/* Pages that were written to and are again as in the file: the process shares them again. Those
 * that differ, for whatever reason, stay its own. */
static void add_pages(const struct leaving *leaving, const struct trace_file *file,
                      const struct mapped *text, struct errand *errand)
{
    uint8_t ours[PAGE], theirs[PAGE];
    struct stat status;
    uint64_t from = 0;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    const bool is_same = fd >= 0 && !fstat(fd, &status) && status.st_ino == text->inode;
    for (uint64_t at = text->span.start; is_same && at <= text->span.end; at += PAGE) {
        const bool is_equal =
            at < text->span.end &&
            pread(fd, ours, PAGE, (off_t)(at - text->span.start + text->offset)) == PAGE &&
            read_at(leaving, at, theirs, PAGE) && !memcmp(ours, theirs, PAGE);
        if (is_equal && !from)
            from = at;
        if (!is_equal && from) {
            if (errand->count < PAGE_CALLS * CALL_WORDS)
                add_call(errand, SYS_madvise, from, at - from, MADV_DONTNEED);
            from = 0;
        }
    }
    if (fd >= 0)
        close(fd);
}

static void add_sharing(const struct leaving *leaving, struct errand *errand)
{
    const struct trace_session *session = leaving->session;
    for (size_t i = 0; i < leaving->texts.count; i++)
        for (size_t k = 0; k < session->files.count; k++)
            if (session->files.items[k].island &&
                !strcmp(session->files.items[k].path, leaving->texts.items[i].path))
                add_pages(leaving, &session->files.items[k], &leaving->texts.items[i], errand);
}

static void add_unmapping(const struct trace_session *session, struct errand *errand)
{
    for (size_t i = 0; i < session->files.count; i++) {
        const struct trace_file *file = &session->files.items[i];
        if (file->island && errand->count < (HAND_CALLS - 4) * CALL_WORDS)
            add_call(errand, SYS_munmap, file->island, file->island_bytes, 0);
    }
    add_call(errand, SYS_munmap, PROBE_RECORDS, PROBE_RECORDS_BYTES, 0);
    add_call(errand, SYS_munmap, session->shared_at, session->shared_bytes, 0);
    add_call(errand, SYS_munmap, session->hello.alive, PAGE, 0);
}

/* == Leaving == */

static bool is_drained(struct leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++)
        if (each_piece(leaving, &leaving->stop.threads.items[i], is_interrupted))
            return false;
    return true;
}

/* Calls in flight find where they came from, not a thunk. */
static bool give_all_back(const struct leaving *leaving)
{
    for (size_t i = 0; i < leaving->writable.count; i++)
        if (!give_back_span(leaving, &leaving->writable.items[i]))
            return false;
    return true;
}

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* Stops all, does it, and lets them go on, as often as it takes. */
static int while_stopped(struct leaving *leaving, bool (*act)(struct leaving *))
{
    const uint64_t until_ns = sprof_clock_monotonic_ns() + patience_ns;
    long between_ms = BETWEEN_MS;
    for (uint64_t begin_ns; (begin_ns = sprof_clock_monotonic_ns()) < until_ns;) {
        int result = trace_stop_begin(&leaving->stop, leaving->session->pid, leaving->error);
        if (result == SPROF_ESTATE) {
            pause_ms(BETWEEN_MS);
            continue;
        }
        if (result)
            return result;
        const bool is_known = !read_mappings(leaving) && has_agent(leaving);
        const bool done = is_known && act(leaving);
        trace_stop_end(&leaving->stop);
        if (!is_known)
            return sprof_error_set(leaving->error, SPROF_ESTATE, 0,
                                   "process %d has executed another program, in which there are no "
                                   "probes",
                                   (int)leaving->session->pid);
        const uint64_t took_ns = sprof_clock_monotonic_ns() - begin_ns;
        if (took_ns > leaving->session->stopped_ns)
            leaving->session->stopped_ns = took_ns;
        if (done)
            return 0;
        pause_ms(between_ms);
        between_ms += between_ms < BETWEEN_MAX_MS ? BETWEEN_MS : 0;
    }
    return sprof_error_set(leaving->error, SPROF_ESTATE, 0,
                           "the threads of process %d do not stop, or do not leave the probes: "
                           "these stay in place, and are off",
                           (int)leaving->session->pid);
}

static bool take_code_back(struct leaving *leaving)
{
    return restore_code(leaving);
}

static bool give_memory_back(struct leaving *leaving)
{
    return !is_anybody_inside(leaving) && is_drained(leaving) && !is_anybody_unwinding(leaving) &&
           give_all_back(leaving) && send_hand(leaving);
}

/* The borrowed thread is done when the last of its calls is. */
static bool is_unmapped(const struct trace_session *session)
{
    char path[64], line[512];
    unsigned long start, end;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)session->pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps))
        found |= sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= session->hello.alive &&
                 session->hello.alive < end;
    if (maps)
        fclose(maps);
    return !found;
}

static int leave(struct leaving *leaving)
{
    struct trace_session *session = leaving->session;
    int result = while_stopped(leaving, take_code_back);
    if (result)
        return result;
    /* From here on nobody enters a thunk; the code can be compared while the process runs. */
    for (size_t i = 0; i < session->probes.count; i++)
        session->probes.items[i].is_placed = false;
    add_sharing(leaving, &leaving->errand);
    add_unmapping(session, &leaving->errand);
    struct sprof_error stays = {0};
    leaving->error = &stays;
    result = while_stopped(leaving, give_memory_back);
    for (int i = 0; i < UNMAP_MS && !result && !is_unmapped(session); i++)
        pause_ms(1);
    if (result || !is_unmapped(session))
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "the probes are out; memory that was mapped for them stays, because a "
                          "thread may still need it");
    return 0;
}

int trace_detach(struct trace_session *session, struct sprof_error *error)
{
    struct leaving leaving = {.session = session, .memory_fd = -1, .pages_fd = -1, .error = error};
    char path[64];
    memset(session->shared->tiers, PROBE_OFF, sizeof session->shared->tiers);
    trace_loads_close(session);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)session->pid);
    leaving.memory_fd = open(path, O_RDWR | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)session->pid);
    leaving.pages_fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = 0;
    if ((leaving.memory_fd < 0 || leaving.pages_fd < 0) && (errno == ENOENT || errno == ESRCH))
        result =
            sprof_error_set(error, SPROF_ENOTFOUND, errno, "process %d is gone", (int)session->pid);
    else if (leaving.memory_fd < 0 || leaving.pages_fd < 0)
        result = sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "the memory of process %d may not be written: %s",
                                 (int)session->pid, strerror(errno));
    if (!result)
        result = leave(&leaving);
    if (leaving.memory_fd >= 0)
        close(leaving.memory_fd);
    if (leaving.pages_fd >= 0)
        close(leaving.pages_fd);
    sprof_vec_release(&leaving.ours);
    sprof_vec_release(&leaving.writable);
    sprof_vec_release(&leaving.texts);
    sprof_vec_release(&leaving.held);
    sprof_arena_release(&leaving.arena);
    return result;
}
