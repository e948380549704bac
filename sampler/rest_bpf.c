/* Reads the tails that the BPF program captures from its ring. */
#include "sampler/rest_bpf.h"

#include "sampler/bpf/sampling.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

enum { APART_NS = 45000 }; /* between our clock and the sample's, at most: half of 10 kHz */

/* ---- The ring ----------------------------------------------------------------------------------
 */

static uint64_t read_count(const __u64 *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Our position is on a page we may write; the kernel's, and the bytes, on pages we may not. */
static void map_ring(struct rest_bpf *rest)
{
    const size_t page = page_size();
    void *ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, rest->ring_fd, 0);
    if (ours == MAP_FAILED)
        return;
    void *theirs =
        mmap(NULL, page + 2 * rest->ring_bytes, PROT_READ, MAP_SHARED, rest->ring_fd, (off_t)page);
    if (theirs == MAP_FAILED) {
        munmap(ours, page);
        return;
    }
    rest->consumer_page = ours;
    rest->producer_page = theirs;
}

/* The record at a position: its size, and whether it can be used. Returns false at the end, and at
 * one that is still being written. */
static bool next_record(const struct rest_bpf *rest, uint64_t position,
                        const struct sampling_tail **captured, size_t *size)
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
    const struct sampling_tail *content = (const void *)(at + BPF_RINGBUF_HDR_SZ);
    const bool good = !(head & BPF_RINGBUF_DISCARD_BIT) && bytes >= sizeof *content &&
                      content->size <= bytes - sizeof *content;
    *captured = good ? content : NULL;
    return true;
}

static bool belongs(const struct sampling_tail *captured, const struct sampler_stack *stack)
{
    const uint64_t begins = captured->address - stack->pointer;
    return captured->tid == (uint32_t)stack->tid && captured->cpu == (uint32_t)stack->cpu &&
           captured->time_ns - stack->time_ns + APART_NS <= 2 * APART_NS &&
           (captured->elsewhere || begins <= stack->captured + SAMPLING_SPAN_MAX);
}

bool rest_bpf_find(const struct rest_bpf *rest, const struct sampler_stack *stack,
                   struct rest_bytes *found)
{
    const struct sampling_tail *captured;
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
    const struct sampling_tail *captured;
    size_t size;
    const uint64_t before = rest->consumed;
    /* Mapping takes a millisecond, which a short command without a deep stack need not pay. */
    if (!rest->producer_page && rest->counts && read_count(&rest->counts->written))
        map_ring(rest);
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

/* A ring with anything in it counts as ready; edges tell only when the program wakes us. */
static int listen_to(struct rest_bpf *rest)
{
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    rest->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    return rest->wake_fd < 0 || epoll_ctl(rest->wake_fd, EPOLL_CTL_ADD, rest->ring_fd, &edge)
               ? -errno
               : 0;
}

void rest_bpf_take_wake(const struct rest_bpf *rest)
{
    struct epoll_event edge;
    epoll_wait(rest->wake_fd, &edge, 1, 0);
}

int rest_bpf_open(struct rest_bpf *rest, const struct filter_bpf *filter)
{
    *rest = REST_BPF_NONE;
    if (!filter->captures)
        return -ENOENT;
    rest->ring_fd = filter_bpf_tails_fd(filter);
    rest->ring_bytes = filter->ring_bytes;
    rest->counts = filter_bpf_counts(filter);
    const int result = listen_to(rest);
    if (result)
        rest_bpf_close(rest);
    return result;
}

void rest_bpf_close(struct rest_bpf *rest)
{
    if (rest->wake_fd >= 0)
        close(rest->wake_fd);
    if (rest->consumer_page)
        munmap(rest->consumer_page, page_size());
    if (rest->producer_page)
        munmap((void *)(uintptr_t)rest->producer_page, page_size() + 2 * rest->ring_bytes);
    *rest = REST_BPF_NONE;
}

uint64_t rest_bpf_dropped(const struct rest_bpf *rest)
{
    return rest->counts ? read_count(&rest->counts->dropped) : 0;
}
