/* Writes the jumps to probes into a process that runs, in stops of its threads. */
#include "trace/leaving.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    STOPS_MAX = 12,    /* in which sites are tried that a thread stands in */
    SLOW_MS = 5000,    /* for all threads to stop */
    BETWEEN_MS = 5,    /* between two stops */
    SCAN_WORDS = 4096, /* of a stack at a time */
    SCAN_BYTES = 1 << 20,
    STACKS = 4, /* of handlers within handlers */
    RED_ZONE = 128,
    USER_CODE = 0x33, /* the selector of 64-bit code */
};

struct site {
    uint64_t address;
    uint32_t probe;
    bool is_busy; /* a thread stands within it */
};

struct placing {
    struct trace_session *session;
    struct trace_stop stop;
    int fd;                       /* /proc/PID/mem */
    SPROF_VEC(struct site) sites; /* by address, that wait */
    SPROF_VEC(struct trace_span) writable;
};

static int compare_sites(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* A call within the bytes that a jump takes the place of returns into them. */
static bool returns_inside(const struct trace_function *function)
{
    struct arch_instruction instruction;
    for (size_t at = 0; at < TRACE_JUMP_BYTES; at += instruction.length) {
        if (!arch_instruction_decode(function->original + at, function->displaced - at,
                                     &instruction))
            return true;
        const bool is_call =
            instruction.flow == ARCH_FLOW_CALL || instruction.flow == ARCH_FLOW_CALL_INDIRECT;
        if (is_call && at + instruction.length < TRACE_JUMP_BYTES)
            return true;
    }
    return false;
}

/* A site in two pages could be left half written, were sprof killed between them. */
static int list_sites(struct placing *placing)
{
    struct trace_session *session = placing->session;
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        const uint64_t address = session->files.items[probe->file].bias + probe->function->site;
        const struct site site = {.address = address, .probe = (uint32_t)i};
        if (!probe->jump[0])
            continue;
        const bool is_whole = address / PAGE == (address + TRACE_JUMP_BYTES - 1) / PAGE;
        if (is_whole && !returns_inside(probe->function) && sprof_vec_push(&placing->sites, site))
            return SPROF_ENOMEM;
    }
    if (placing->sites.count)
        qsort(placing->sites.items, placing->sites.count, sizeof *placing->sites.items,
              compare_sites);
    return 0;
}

/* == Who stands within a site == */

/* Marks the site that an instruction pointer lies within, behind its first byte. */
static void mark(struct placing *placing, uint64_t ip)
{
    size_t low = 0, high = placing->sites.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (placing->sites.items[middle].address < ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && ip - placing->sites.items[low - 1].address < TRACE_JUMP_BYTES)
        placing->sites.items[low - 1].is_busy = true;
}

/* Where the mapping ends that holds an address, or a megabyte behind it; 0: none does. */
static uint64_t end_of_stack(const struct placing *placing, uint64_t address)
{
    for (size_t i = 0; i < placing->writable.count; i++) {
        const struct trace_span *span = &placing->writable.items[i];
        if (trace_span_holds(span, address))
            return span->end - address < SCAN_BYTES ? span->end : address + SCAN_BYTES;
    }
    return 0;
}

/* Instruction pointers of signal frames on a stack, before flags and code selector; and on those
 * that signals came upon, where their handlers have stacks of their own. */
static void mark_interrupted(struct placing *placing, uint64_t stack_pointer, int stacks)
{
    uint64_t words[SCAN_WORDS], at = (stack_pointer - RED_ZONE) & ~UINT64_C(7), other = 0;
    const uint64_t begin = at, end = end_of_stack(placing, stack_pointer);
    while (at < end) {
        const size_t size = end - at < sizeof words ? (size_t)(end - at) : sizeof words;
        const ssize_t got = pread(placing->fd, words, size, (off_t)at);
        if (got < (ssize_t)(3 * sizeof *words))
            break;
        const size_t count = (size_t)got / sizeof *words;
        for (size_t i = 0; i + 2 < count; i++) {
            if ((words[i + 2] & 0xffff) == USER_CODE)
                mark(placing, words[i]);
            if (i && trace_is_signal_frame(words + i - 1) &&
                (words[i - 1] < begin || words[i - 1] >= end) &&
                end_of_stack(placing, words[i - 1]))
                other = words[i - 1];
        }
        if (count < SCAN_WORDS)
            break;
        at += (count - 3) * sizeof *words;
    }
    if (other && stacks > 1)
        mark_interrupted(placing, other, stacks - 1);
}

static int look_for_stacks(struct placing *placing)
{
    char path[64], line[4608], rights[8];
    int result = 0;
    placing->writable.count = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)placing->session->pid);
    FILE *maps = fopen(path, "re");
    while (maps && !result && fgets(line, sizeof line, maps)) {
        struct trace_span span;
        if (sscanf(line, "%lx-%lx %7s", &span.start, &span.end, rights) == 3 && rights[1] == 'w' &&
            span.start != PROBE_RECORDS)
            result = sprof_vec_push(&placing->writable, span);
    }
    if (maps)
        fclose(maps);
    return result;
}

/* == Writing == */

static bool write_page(struct placing *placing, size_t first, size_t end)
{
    struct trace_session *session = placing->session;
    uint8_t page[PAGE];
    const uint64_t at = placing->sites.items[first].address / PAGE * PAGE;
    bool is_changed = false;
    if (pread(placing->fd, page, PAGE, (off_t)at) != PAGE)
        return false;
    for (size_t i = first; i < end; i++) {
        const struct site *site = &placing->sites.items[i];
        struct trace_probe *probe = &session->probes.items[site->probe];
        uint8_t *there = page + (site->address - at);
        if (site->is_busy || memcmp(there, probe->function->original, TRACE_JUMP_BYTES) != 0)
            continue;
        memcpy(there, probe->jump, TRACE_JUMP_BYTES);
        probe->is_placed = is_changed = true;
    }
    return !is_changed || pwrite(placing->fd, page, PAGE, (off_t)at) == PAGE;
}

/* All sites in which nobody stands; the others stay in the list. */
static bool write_sites(struct placing *placing)
{
    if (look_for_stacks(placing))
        return false;
    for (size_t i = 0; i < placing->sites.count; i++)
        placing->sites.items[i].is_busy = false;
    for (size_t i = 0; i < placing->stop.threads.count; i++) {
        mark(placing, placing->stop.threads.items[i].registers.rip);
        mark_interrupted(placing, placing->stop.threads.items[i].registers.rsp, STACKS);
    }
    for (size_t first = 0, end; first < placing->sites.count; first = end) {
        const uint64_t page = placing->sites.items[first].address / PAGE;
        for (end = first;
             end < placing->sites.count && placing->sites.items[end].address / PAGE == page;)
            end++;
        if (!write_page(placing, first, end))
            return false;
    }
    return true;
}

static void keep_busy(struct placing *placing)
{
    size_t kept = 0;
    for (size_t i = 0; i < placing->sites.count; i++)
        if (placing->sites.items[i].is_busy)
            placing->sites.items[kept++] = placing->sites.items[i];
    placing->sites.count = kept;
}

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static int place_in_stops(struct placing *placing, struct sprof_error *error)
{
    struct trace_session *session = placing->session;
    const uint64_t until_ns = sprof_clock_monotonic_ns() + SLOW_MS * UINT64_C(1000000);
    for (int stops = 0; placing->sites.count && stops < STOPS_MAX;) {
        const uint64_t begin_ns = sprof_clock_monotonic_ns();
        const int result = trace_stop_begin(&placing->stop, session->pid, error);
        if (result == SPROF_ESTATE && begin_ns < until_ns) {
            pause_ms(BETWEEN_MS);
            continue;
        }
        if (result)
            return result;
        const bool written = write_sites(placing);
        trace_stop_end(&placing->stop);
        const uint64_t took_ns = sprof_clock_monotonic_ns() - begin_ns;
        session->stopped_ns = took_ns > session->stopped_ns ? took_ns : session->stopped_ns;
        if (!written)
            return sprof_error_set(error, SPROF_EPERMISSION, errno,
                                   "cannot write probes into process %d: %s", (int)session->pid,
                                   strerror(errno));
        keep_busy(placing);
        stops++;
        if (placing->sites.count)
            pause_ms(BETWEEN_MS);
    }
    return 0;
}

int trace_place_live(struct trace_session *session, struct sprof_error *error)
{
    struct placing placing = {.session = session, .fd = -1};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)session->pid);
    int result = trace_attach_begin(session, error);
    if (!result && (placing.fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
        result = sprof_error_set(
            error, errno == EACCES || errno == EPERM ? SPROF_EPERMISSION : SPROF_ENOTFOUND, errno,
            "the memory of process %d may not be written: %s", (int)session->pid, strerror(errno));
    if (!result && list_sites(&placing))
        result = sprof_error_memory(error);
    session->start_ns = sprof_clock_monotonic_ns();
    session->start_ticks = probe_ticks();
    if (!result)
        result = place_in_stops(&placing, error);
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        session->refused += probe->is_chosen && !probe->is_placed && probe->jump[0];
        probe->is_chosen &= probe->is_placed;
    }
    if (placing.fd >= 0)
        close(placing.fd);
    sprof_vec_release(&placing.sites);
    sprof_vec_release(&placing.writable);
    return result;
}
