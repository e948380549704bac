/* Writes the jumps to probes into a process that runs, in stops of its threads. */
#include "trace/stop.h"
#include "trace/tracing.h"

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

/* Instruction pointers of signal frames on a stack: the kernel's frame holds flags and the code
 * selector behind them. */
static void mark_interrupted(struct placing *placing, const struct trace_stopped *thread)
{
    uint64_t words[SCAN_WORDS], at = (thread->registers.rsp - RED_ZONE) & ~UINT64_C(7);
    const uint64_t end = at + SCAN_BYTES;
    while (at < end) {
        const ssize_t got = pread(placing->fd, words, sizeof words, (off_t)at);
        if (got < (ssize_t)(3 * sizeof *words))
            return;
        const size_t count = (size_t)got / sizeof *words;
        for (size_t i = 0; i + 2 < count; i++)
            if ((words[i + 2] & 0xffff) == USER_CODE)
                mark(placing, words[i]);
        if (count < SCAN_WORDS)
            return;
        at += (count - 2) * sizeof *words;
    }
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
    for (size_t i = 0; i < placing->sites.count; i++)
        placing->sites.items[i].is_busy = false;
    for (size_t i = 0; i < placing->stop.threads.count; i++) {
        mark(placing, placing->stop.threads.items[i].registers.rip);
        mark_interrupted(placing, &placing->stop.threads.items[i]);
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
    return result;
}
