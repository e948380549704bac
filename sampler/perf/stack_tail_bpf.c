/* Reads the tails that the BPF program captures from its ring. */
#include "sampler/perf/stack_tail_bpf.h"

#include "sampler/bpf/sampling.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/* == The ring == */

static uint64_t read_count(const __u64 *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Our position is on a page we may write; the kernel's, and the bytes, on pages we may not. */
static void map_ring(struct perf_stack_tail_bpf *tails)
{
    const size_t page = page_size();
    void *ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, tails->ring_fd, 0);
    if (ours == MAP_FAILED)
        return;
    void *theirs = mmap(NULL, page + 2 * tails->ring_bytes, PROT_READ, MAP_SHARED, tails->ring_fd,
                        (off_t)page);
    if (theirs == MAP_FAILED) {
        munmap(ours, page);
        return;
    }
    tails->consumer_page = ours;
    tails->producer_page = theirs;
}

/* The record at a position: its size, and whether it can be used. Returns false at the end, and at
 * one that is still being written. */
static bool next_record(const struct perf_stack_tail_bpf *tails, uint64_t position,
                        const struct sampling_tail **captured, size_t *size)
{
    const uint64_t end = __atomic_load_n((const uint64_t *)tails->producer_page, __ATOMIC_ACQUIRE);
    if (position >= end || end - position > tails->ring_bytes)
        return false;
    const uint8_t *at = tails->producer_page + page_size() + (position & (tails->ring_bytes - 1));
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
           captured->stack_pointer == stack->pointer &&
           (captured->kind != SAMPLING_TAIL_ABOVE || begins <= stack->captured + SAMPLING_SPAN_MAX);
}

static uint64_t apart(uint64_t left_ns, uint64_t right_ns)
{
    return left_ns > right_ns ? left_ns - right_ns : right_ns - left_ns;
}

static bool is_stack(const struct sampling_tail *captured)
{
    return captured->kind == SAMPLING_TAIL_ABOVE || captured->kind == SAMPLING_TAIL_ELSEWHERE;
}

/* The nearest of those that belong to a sample and are of a kind, or like it bytes of its stack;
 * NULL: there is none. */
static const struct sampling_tail *nearest(const struct perf_stack_tail_bpf *tails,
                                           const struct sampler_stack *stack,
                                           enum sampling_tail_kind kind)
{
    const bool stack_wanted = kind == SAMPLING_TAIL_ABOVE;
    const struct sampling_tail *captured, *found = NULL;
    size_t size;
    if (!tails->producer_page)
        return NULL;
    for (uint64_t at = tails->consumed; next_record(tails, at, &captured, &size); at += size)
        if (captured && (stack_wanted ? is_stack(captured) : captured->kind == kind) &&
            belongs(captured, stack) &&
            apart(captured->time_ns, stack->time_ns) <=
                (found ? apart(found->time_ns, stack->time_ns) : tails->apart_ns))
            found = captured;
    return found;
}

bool perf_stack_tail_bpf_find(const struct perf_stack_tail_bpf *tails,
                              const struct sampler_stack *stack, struct sampler_stack_tail *found)
{
    const struct sampling_tail *captured = nearest(tails, stack, SAMPLING_TAIL_ABOVE);
    if (captured)
        *found = (struct sampler_stack_tail){captured->bytes, captured->address,
                                             (size_t)captured->size, true};
    return captured != NULL;
}

_Static_assert(sizeof(struct sampling_call) == sizeof(struct model_open_call) &&
                   offsetof(struct sampling_call, return_address) ==
                       offsetof(struct model_open_call, return_address) &&
                   offsetof(struct sampling_call, began) == offsetof(struct model_open_call, began),
               "as the program writes them");

size_t perf_stack_tail_bpf_calls(const struct perf_stack_tail_bpf *tails,
                                 const struct sampler_stack *stack,
                                 const struct model_open_call **calls)
{
    const struct sampling_tail *captured = nearest(tails, stack, SAMPLING_TAIL_CALLS);
    *calls = captured ? (const void *)captured->bytes : NULL;
    return captured ? captured->size / sizeof **calls : 0;
}

uint64_t perf_stack_tail_bpf_place(const struct perf_stack_tail_bpf *tails,
                                   const struct sampler_stack *stack)
{
    const struct sampling_tail *captured = nearest(tails, stack, SAMPLING_TAIL_PLACE);
    return captured ? captured->address : 0;
}

void perf_stack_tail_bpf_drop(struct perf_stack_tail_bpf *tails, uint64_t time_ns)
{
    const struct sampling_tail *captured;
    size_t size;
    const uint64_t before = tails->consumed;
    /* Mapping takes a millisecond, which a short command without a deep stack need not pay. */
    if (!tails->producer_page && tails->counts && read_count(&tails->counts->written))
        map_ring(tails);
    if (!tails->producer_page)
        return;
    while (next_record(tails, tails->consumed, &captured, &size) &&
           (!captured || captured->time_ns + tails->apart_ns < time_ns))
        tails->consumed += size;
    if (tails->consumed != before)
        __atomic_store_n((uint64_t *)tails->consumer_page, tails->consumed, __ATOMIC_RELEASE);
}

/* == The whole == */

/* A ring with anything in it counts as ready; edges come only when the program wakes us. */
static int listen_to(struct perf_stack_tail_bpf *tails)
{
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    tails->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    return tails->wake_fd < 0 || epoll_ctl(tails->wake_fd, EPOLL_CTL_ADD, tails->ring_fd, &edge)
               ? -errno
               : 0;
}

void perf_stack_tail_bpf_take_wake(const struct perf_stack_tail_bpf *tails)
{
    struct epoll_event edge;
    epoll_wait(tails->wake_fd, &edge, 1, 0);
}

int perf_stack_tail_bpf_open(struct perf_stack_tail_bpf *tails,
                             const struct perf_filter_bpf *filter, uint64_t apart_ns)
{
    *tails = PERF_STACK_TAIL_BPF_NONE;
    tails->apart_ns = apart_ns;
    if (!filter->captures)
        return -ENOENT;
    tails->ring_fd = perf_filter_bpf_tails_fd(filter);
    tails->ring_bytes = filter->ring_bytes;
    tails->counts = perf_filter_bpf_counts(filter);
    const int result = listen_to(tails);
    if (result)
        perf_stack_tail_bpf_close(tails);
    return result;
}

void perf_stack_tail_bpf_close(struct perf_stack_tail_bpf *tails)
{
    if (tails->wake_fd >= 0)
        close(tails->wake_fd);
    if (tails->consumer_page)
        munmap(tails->consumer_page, page_size());
    if (tails->producer_page)
        munmap((void *)(uintptr_t)tails->producer_page, page_size() + 2 * tails->ring_bytes);
    *tails = PERF_STACK_TAIL_BPF_NONE;
}

uint64_t perf_stack_tail_bpf_dropped(const struct perf_stack_tail_bpf *tails)
{
    return tails->counts ? read_count(&tails->counts->dropped) : 0;
}

bool perf_stack_tail_bpf_provide(void *self, const struct sampler_stack *stack, size_t ring,
                                 uint64_t offset, struct sampler_stack_tail *tail)
{
    (void)ring;
    (void)offset;
    return perf_stack_tail_bpf_find(self, stack, tail);
}
