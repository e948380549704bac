/* Restores code and return addresses of a running process, and unmaps what sprof mapped. */
#include "inject/inside.h"
#include "inject/leaving.h"
#include "inject/sharers.h"
#include "inject/thread_data.h"

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
    BETWEEN_MS = 5,
    BETWEEN_MAX_MS = 50,
    LATE_MS = 250,          /* after a failed stop */
    UNMAP_MS = 2000,        /* for the borrowed thread to finish */
    ERRAND_ROOM = 16 << 10, /* on a borrowed thread's stack */
    SIGNAL_ROOM = 10 << 10, /* of that, for signals below its calls */
    PAGE_CALLS = 256,       /* most libraries need one */
};

/* Limits for all threads to leave the thunks: of time, or TRIES slow stops. */
static const uint64_t patience_ns = UINT64_C(4000000000), most_patience_ns = UINT64_C(30000000000);
enum { TRIES = 40 };

/* == Frames in flight == */

/* Restores a return address if the slot still holds a thunk. */
static bool give_back(const struct inject_leaving *leaving, const uint8_t *record, uint64_t address)
{
    const struct inject_process *process = leaving->process;
    uint64_t slot, caller, there;
    memcpy(&caller, record + PROBE_RECORD_RETURN, sizeof caller);
    memcpy(&slot, record + PROBE_RECORD_SLOT, sizeof slot);
    if (!slot || PROBE_RECORDS + (slot & PROBE_SLOT_MASK) * 8 != address ||
        !inject_leaving_read(leaving, slot, &there, sizeof there))
        return true;
    const uint64_t offset = there - process->hello.thunks;
    if (offset >= (uint64_t)leaving->functions * ARCH_THUNK_BYTES ||
        offset % ARCH_THUNK_BYTES != ARCH_THUNK_RETURN)
        return true;
    return inject_leaving_write(leaving, slot, &caller, sizeof caller);
}

static bool give_back_page(const struct inject_leaving *leaving, uint64_t address)
{
    uint8_t records[INJECT_PAGE];
    if (!inject_leaving_read(leaving, address, records, sizeof records))
        return false;
    for (size_t at = 0; at < sizeof records; at += PROBE_RECORD_BYTES)
        if (!give_back(leaving, records + at, address + at))
            return false;
    return true;
}

enum { PAGES = 512, PAGES_OF_RECORDS = 8 }; /* at once; per page of slots */

/* Returns the number of entries. Bits 62 and 63: the page is swapped, or present. */
static size_t read_entries(const struct inject_leaving *leaving, uint64_t address, size_t count,
                           uint64_t entries[PAGES])
{
    const ssize_t got = pread(leaving->pages_fd, entries, count * sizeof *entries,
                              (off_t)(address / INJECT_PAGE * sizeof *entries));
    return got > 0 ? (size_t)got / sizeof *entries : 0;
}

static bool exists(uint64_t entry)
{
    return entry >> 62 != 0;
}

/* `count`: at most PAGES / PAGES_OF_RECORDS. */
static bool give_back_records(const struct inject_leaving *leaving, uint64_t slots, size_t count)
{
    uint64_t entries[PAGES];
    const uint64_t first = PROBE_RECORDS + (slots & PROBE_SLOT_MASK) * PAGES_OF_RECORDS;
    const size_t got = read_entries(leaving, first, count * PAGES_OF_RECORDS, entries);
    for (size_t i = 0; i < got; i++) {
        const uint64_t at = first + i * INJECT_PAGE;
        if (at >= PROBE_RECORDS + PROBE_WINDOW_BYTES && exists(entries[i]) &&
            !give_back_page(leaving, at))
            return false;
    }
    return got == count * PAGES_OF_RECORDS;
}

/* Where a page of slots is missing, there is nothing to restore. */
static bool give_back_span(const struct inject_leaving *leaving, const struct inject_span *span)
{
    enum { PIECE = PAGES / PAGES_OF_RECORDS };
    uint64_t entries[PAGES];
    for (uint64_t at = span->start; at < span->end;) {
        const uint64_t pages = (span->end - at) / INJECT_PAGE;
        const size_t got =
            read_entries(leaving, at, pages < PAGES ? (size_t)pages : PAGES, entries);
        if (!got)
            return false;
        for (size_t i = 0; i < got; i += PIECE) {
            const size_t count = got - i < PIECE ? got - i : PIECE;
            bool any = false;
            for (size_t k = i; k < i + count; k++)
                any |= exists(entries[k]);
            if (any && !give_back_records(leaving, at + i * INJECT_PAGE, count))
                return false;
        }
        at += got * INJECT_PAGE;
    }
    return true;
}

/* == Code == */

/* False after an execve. */
static bool has_agent(const struct inject_leaving *leaving)
{
    const uint64_t code = leaving->process->hello.errand;
    for (size_t i = 0; i < leaving->texts.count; i++)
        if (inject_span_holds(&leaving->texts.items[i].span, code) &&
            strstr(leaving->texts.items[i].file.path, PROBE_LIBRARY_STEM))
            return true;
    return false;
}

/* == Memory == */

static void add_call(struct inject_errand *errand, long number, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[INJECT_CALL_WORDS] = {(uint64_t)number, a, b, c};
    memcpy(errand->words + errand->count, words, sizeof words);
    errand->count += INJECT_CALL_WORDS;
}

static void add_registers(struct inject_errand *errand, const struct arch_remote *registers)
{
    errand->words[errand->count] = UINT64_MAX;
    arch_remote_resume_words(registers, errand->words + errand->count + 1);
    errand->count += INJECT_END_WORDS;
}

/* Accepts only the stack that the thread was created with; others may be small. */
static bool has_room(const struct inject_leaving *leaving, const struct inject_stopped *thread)
{
    const uint64_t stack = arch_remote_sp(&thread->registers),
                   block = arch_remote_thread_pointer(&thread->registers),
                   words =
                       (leaving->errand.count + INJECT_END_WORDS) * sizeof *leaving->errand.words +
                       ARCH_RED_ZONE_BYTES,
                   room = words + SIGNAL_ROOM > ERRAND_ROOM ? words + SIGNAL_ROOM : ERRAND_ROOM;
    for (size_t i = 0; i < leaving->writable.count; i++) {
        const struct inject_span *span = &leaving->writable.items[i];
        if (inject_span_holds(span, stack))
            return thread->pid == leaving->process->pid && stack - span->start > room &&
                   (inject_span_holds(span, leaving->stack.start) ||
                    inject_span_holds(span, block));
    }
    return false;
}

/* A pending fault's handler would find a wrong address. Dropped, the fault comes again. */
static struct inject_stopped *find_borrowed(struct inject_leaving *leaving)
{
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        struct inject_stopped *thread = &leaving->stop.threads.items[i];
        if (has_room(leaving, thread) && inject_stop_leave_out_fault(thread, leaving->process->pid))
            return thread;
    }
    return NULL;
}

/* The thread returns by itself. */
static bool send_errand(struct inject_leaving *leaving)
{
    struct inject_stopped *borrowed = find_borrowed(leaving);
    struct inject_errand *errand = &leaving->errand;
    if (!borrowed)
        return false;
    inject_stop_restart(borrowed);
    add_registers(errand, &borrowed->registers);
    const uint64_t at = (arch_remote_sp(&borrowed->registers) - ARCH_RED_ZONE_BYTES -
                         errand->count * sizeof *errand->words) &
                        ~UINT64_C(15);
    if (!inject_leaving_write(leaving, at, errand->words, errand->count * sizeof *errand->words)) {
        errand->count -= INJECT_END_WORDS;
        return false;
    }
    arch_remote_enter(&borrowed->registers, leaving->process->hello.errand, at);
    borrowed->changed = true;
    return true;
}

/* Bit 61: a page of the file. */
static bool is_own_page(uint64_t entry)
{
    return exists(entry) && !(entry >> 61 & 1);
}

static bool is_page_of_file(const struct inject_leaving *leaving, int fd, uint64_t address,
                            uint64_t offset)
{
    uint8_t ours[INJECT_PAGE], theirs[INJECT_PAGE];
    return pread(fd, ours, INJECT_PAGE, (off_t)offset) == INJECT_PAGE &&
           inject_leaving_read(leaving, address, theirs, INJECT_PAGE) &&
           !memcmp(ours, theirs, INJECT_PAGE);
}

/* Gives back written pages that equal the file again. */
static void add_pages(const struct inject_leaving *leaving, const struct inject_text_pages *text,
                      struct inject_errand *errand)
{
    uint64_t entries[PAGES], from = 0, to = 0;
    struct image *image;
    if (inject_text_open(leaving, text, &image, NULL))
        return;
    const int fd = image_fd(image);
    for (uint64_t at = text->span.start, i = 0; at <= text->span.end;
         at += INJECT_PAGE, i = (i + 1) % PAGES) {
        if (!i && !read_entries(leaving, at, PAGES, entries))
            break;
        const bool is_end = at == text->span.end, is_own = !is_end && is_own_page(entries[i]);
        const bool is_shared =
            is_own && is_page_of_file(leaving, fd, at, at - text->span.start + text->offset);
        if (is_shared) {
            from = from ? from : at;
            to = at + INJECT_PAGE;
        }
        if (from && (is_end || (is_own && !is_shared))) {
            if (errand->count < PAGE_CALLS * INJECT_CALL_WORDS)
                add_call(errand, SYS_madvise, from, to - from, MADV_DONTNEED);
            from = 0;
        }
    }
    image_free(image);
}

static bool is_changed(const struct inject_leaving *leaving, const struct inject_text_pages *text)
{
    for (size_t i = 0; i < leaving->changes.count; i++)
        if (inject_span_holds(&text->span, leaving->changes.items[i].address))
            return true;
    return false;
}

static void add_sharing(const struct inject_leaving *leaving, struct inject_errand *errand)
{
    for (size_t i = 0; i < leaving->texts.count; i++)
        if (leaving->shares_all || is_changed(leaving, &leaving->texts.items[i]))
            add_pages(leaving, &leaving->texts.items[i], errand);
}

static void add_unmapping(struct inject_leaving *leaving)
{
    const struct inject_process *process = leaving->process;
    struct inject_errand *errand = &leaving->errand;
    const size_t most = (INJECT_BORROWED_CALLS - 5) * INJECT_CALL_WORDS;
    for (size_t i = 0; i < leaving->coming.count; i++) {
        const struct inject_coming *coming = &leaving->coming.items[i];
        if (coming->is_there && errand->count < most)
            add_call(errand, SYS_munmap, coming->span.start, coming->span.end - coming->span.start,
                     0);
    }
    for (size_t i = 0; i < leaving->islands.count; i++) {
        const struct inject_span *island = &leaving->islands.items[i];
        if (errand->count < most)
            add_call(errand, SYS_munmap, island->start, island->end - island->start, 0);
    }
    if (process->shared_at)
        add_call(errand, SYS_munmap, process->shared_at, process->shared_bytes, 0);
    add_call(errand, SYS_munmap, process->hello.alive, INJECT_PAGE, 0);
    if (process->hello.window_error) /* the program's memory */
        return;
    /* After mlockall(2) Linux counts 0 of these 2^32 pages as locked, but would subtract all. */
    add_call(errand, SYS_munlock, PROBE_RECORDS, PROBE_RECORDS_BYTES, 0);
    add_call(errand, SYS_munmap, PROBE_RECORDS, PROBE_RECORDS_BYTES, 0);
}

/* == Leaving == */

static bool give_all_back(const struct inject_leaving *leaving)
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

struct stopped_act {
    struct inject_leaving *leaving;
    bool (*act)(struct inject_leaving *leaving);
    bool is_known, is_done; /* the agent is there; result of `act` */
};

static void act_stopped(void *context)
{
    struct stopped_act *stopped = context;
    stopped->is_known = !inject_leaving_read_maps(stopped->leaving) && has_agent(stopped->leaving);
    stopped->is_done = stopped->is_known && stopped->act(stopped->leaving);
}

/* Calls `act` in stops until it returns true. */
static int while_stopped(struct inject_leaving *leaving, bool (*act)(struct inject_leaving *))
{
    const uint64_t first_ns = sprof_clock_monotonic_ns();
    long between_ms = BETWEEN_MS;
    unsigned tries = 0;
    for (uint64_t begin_ns; (begin_ns = sprof_clock_monotonic_ns()) - first_ns < patience_ns ||
                            (tries && tries < TRIES && begin_ns - first_ns < most_patience_ns);) {
        struct stopped_act stopped = {.leaving = leaving, .act = act};
        const int result = inject_stop_while(&leaving->stop, leaving->process->pid, act_stopped,
                                             &stopped, leaving->error);
        if (result == SPROF_ESTATE) {
            pause_ms(LATE_MS);
            continue;
        }
        if (result)
            return result;
        tries++;
        if (!stopped.is_known)
            return sprof_error_set(leaving->error, SPROF_ESTATE, 0,
                                   "process %d has executed another program, in which there are no "
                                   "probes",
                                   (int)leaving->process->pid);
        inject_stop_note(&leaving->stop, &leaving->process->stopped_ns);
        if (stopped.is_done)
            return 0;
        if (leaving->copies.count)
            inject_leaving_know_files(leaving);
        pause_ms(between_ms);
        between_ms += between_ms < BETWEEN_MAX_MS ? BETWEEN_MS : 0;
    }
    return sprof_error_set(leaving->error, SPROF_ESTATE, 0,
                           "the threads of process %d do not stop, or do not leave the probes: "
                           "these stay in place, and are off\n`sprof ctl -p %d detach` takes them "
                           "out when that is over",
                           (int)leaving->process->pid, (int)leaving->process->pid);
}

static bool take_code_back(struct inject_leaving *leaving)
{
    return inject_slots_give_back(leaving) &&
           inject_changes_restore(&leaving->changes, leaving->memory_fd);
}

/* An agent that stays must find all threads new. */
static void forget_threads(const struct inject_leaving *leaving)
{
    static const uint8_t nothing[1024];
    const struct probe_hello *hello = &leaving->process->hello;
    for (size_t i = 0; i < leaving->stop.threads.count; i++) {
        const uint64_t pointer =
            arch_remote_thread_pointer(&leaving->stop.threads.items[i].registers);
        const uint64_t data =
            pointer ? inject_thread_data(hello, leaving->process->pid, pointer, 0) : 0;
        if (data && hello->thread_bytes <= sizeof nothing)
            inject_leaving_write(leaving, data, nothing, hello->thread_bytes);
    }
}

static bool has_any_room(const struct inject_leaving *leaving)
{
    bool has = false;
    for (size_t i = 0; i < leaving->stop.threads.count && !has; i++)
        has = has_room(leaving, &leaving->stop.threads.items[i]);
    return has;
}

static bool give_memory_back(struct inject_leaving *leaving)
{
    if (inject_leaving_is_anybody_inside(leaving) || !inject_leaving_is_drained(leaving) ||
        inject_leaving_is_anybody_unwinding(leaving) || !give_all_back(leaving))
        return false;
    forget_threads(leaving);
    leaving->is_filtered = inject_is_filtered(leaving->process->pid);
    if (leaving->is_filtered)
        return true;
    /* no thread is in the agent to map more, so the list is complete */
    leaving->errand.count = leaving->sharing_words;
    add_unmapping(leaving);
    if (!has_any_room(leaving)) { /* pages stay private */
        leaving->errand.count = 0;
        add_unmapping(leaving);
    }
    return send_errand(leaving);
}

static bool has_left(struct inject_leaving *leaving)
{
    return !inject_leaving_is_anybody_inside(leaving) && inject_leaving_is_drained(leaving);
}

/* True: the last call is done. Other addresses may be the program's again. */
static bool is_unmapped(const struct inject_process *process)
{
    const uint64_t last = process->hello.window_error ? process->hello.alive : PROBE_RECORDS;
    char path[64], line[512];
    unsigned long start, end;
    bool found = false;
    sprof_proc_shared_path(path, sizeof path, process->pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps))
        found |= sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= last && last < end;
    if (maps)
        fclose(maps);
    return !found;
}

/* The next tracer has nothing to clean up. */
static void leave_memory(const struct inject_leaving *leaving)
{
    const struct inject_process *process = leaving->process;
    const uint32_t none = 0;
    if (process->shared_at && !leaving->others_go_on)
        inject_leaving_write(leaving, process->shared_at + offsetof(struct probe_shared, owner.pid),
                             &none, sizeof none);
    sprof_log_message(process->log, SPROF_LOG_NOTE,
                      "the probes are out; memory that was mapped for them stays, because process "
                      "%d has come under seccomp, which may end it where it unmaps something",
                      (int)process->pid);
}

int inject_leave(struct inject_leaving *leaving)
{
    struct inject_process *process = leaving->process;
    inject_changes_sort(&leaving->changes);
    /* `shared` may not note such processes, or is not mapped here */
    leaving->stop.has_sharers = !process->shared || inject_has_sharer(process->pid);
    if (process->shared)
        leaving->stop.notes_sharers = &process->shared->sharing.has_processes;
    int result = while_stopped(leaving, take_code_back);
    if (result)
        return result;
    /* no thread enters a thunk from here on */
    add_sharing(leaving, &leaving->errand);
    leaving->sharing_words = leaving->errand.count;
    struct sprof_error stays = {0};
    leaving->error = &stays;
    result = while_stopped(leaving, give_memory_back);
    if (!result && leaving->is_filtered) {
        leave_memory(leaving);
        return 0;
    }
    for (int i = 0; i < UNMAP_MS && !result && !is_unmapped(process); i++)
        pause_ms(1);
    if (result || !is_unmapped(process)) {
        sprof_log_message(process->log, SPROF_LOG_NOTE,
                          "the probes are out; memory that was mapped for them stays, because a "
                          "thread may still need it, or does not run; `sprof ctl -p %d detach` "
                          "tries again",
                          (int)process->pid);
        return 0;
    }
    if (!leaving->agent.handle && !leaving->agent.mapped.base)
        return 0;
    const bool is_unloaded =
        !while_stopped(leaving, has_left) && inject_unload_agent(process, &leaving->agent, &stays);
    if (inject_agent_stays(process))
        sprof_log_message(
            process->log, SPROF_LOG_NOTE,
            "the probes are out; the tracing agent stays in process %d: %s", (int)process->pid,
            is_unloaded
                ? "its pages stay where it was unloaded, because the process has sealed them "
                  "(mseal), or a thread may still need what an earlier trace has left"
                : stays.message);
    return 0;
}

static int list_trace(struct inject_leaving *leaving, const struct inject_trace *trace)
{
    int result = 0;
    leaving->functions = trace->functions;
    for (size_t i = 0; trace->changes && i < trace->changes->count && !result; i++)
        result = sprof_vec_push(&leaving->changes, trace->changes->items[i]);
    for (size_t i = 0; i < trace->island_count && !result; i++)
        result = sprof_vec_push(&leaving->islands, trace->islands[i]);
    return result;
}

int inject_take_out(struct inject_process *process, const struct inject_trace *trace,
                    struct sprof_error *error)
{
    struct inject_leaving leaving = {.process = process,
                                     .memory_fd = -1,
                                     .pages_fd = -1,
                                     .agent = inject_agent_location_of(process),
                                     .error = error};
    int result = inject_leaving_open(&leaving, error);
    if (!result && list_trace(&leaving, trace))
        result = sprof_error_memory(error);
    if (!result)
        result = inject_leave(&leaving);
    inject_leaving_release(&leaving);
    return result;
}
