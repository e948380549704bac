/* Captures stacks that are deeper than their samples' slices, or not in them: part of the sampling
 * program, which writes such a tail right before its sample. */
#ifndef SPROF_SAMPLER_BPF_TAILS_H
#define SPROF_SAMPLER_BPF_TAILS_H

#include "sampler/bpf/kernel.h"
#include "sampler/bpf/sampling.h"

enum {
    PAGE_BYTES = 4096,
    OVERLAP_BYTES = 2048, /* how much shorter a slice may arrive than it was requested */
    GAP_PAGES = 16,       /* copied above a page that is not there */
    OTHER_PAGES = 5,      /* copied of another stack */
    HOPS = 32,            /* frames that may keep the frame pointer before the one that switched */
    OTHER_BELOW_BYTES =
        1024, /* of the frame that called on another stack, below its frame pointer */
    BLOCK_BYTES_MAX = 16 << 10,  /* of a thread control block and what else lies above it */
    FRAME_SPAN_BYTES = 16 << 10, /* where the frame of a signal is looked for */
    OTHER_SPAN_BYTES = 64 << 10, /* a frame pointer that far above sp leads to another stack */
};

/* Set before the programs are loaded. */
const volatile __u64 tail_bytes; /* most bytes of a tail, at most SAMPLING_TAIL_MAX */
const volatile __u64 wake_bytes; /* of tails that sprof has not given back: then it is woken */

/* Where stacks are known to end. An array that both sides write takes no lock, so that a sample may
 * interrupt anything. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, SAMPLING_STACKS);
    __type(key, __u32);
    __type(value, struct sampling_stack);
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, PAGE_BYTES); /* sprof sets more where tails are captured */
} tails SEC(".maps");

struct sampling_counts counts;

static __always_inline __u64 next_page(__u64 address)
{
    return (address | (PAGE_BYTES - 1)) + 1;
}

static __always_inline void *reserve(__u64 bytes)
{
    void *room = bpf_ringbuf_reserve(&tails, bytes, 0);
    if (!room)
        __sync_fetch_and_add(&counts.dropped, 1);
    return room;
}

static __always_inline bool is_there(__u64 address)
{
    __u64 word;
    return !bpf_probe_read_user(&word, sizeof word, (void *)address);
}

/* Hands over a tail whose bytes are copied; gives it back where it has none. */
static __always_inline void submit(struct sampling_tail *tail, __u64 time_ns, __u64 sp,
                                   __u64 address, __u32 size, __u32 kind)
{
    if (!size) {
        bpf_ringbuf_discard(tail, BPF_RB_NO_WAKEUP);
        return;
    }
    tail->time_ns = time_ns;
    tail->tid = current_tid();
    tail->cpu = bpf_get_smp_processor_id();
    tail->stack_pointer = sp;
    tail->address = address;
    tail->size = size;
    tail->kind = kind;
    __sync_fetch_and_add(&counts.written, 1);
    const bool wake = bpf_ringbuf_query(&tails, BPF_RB_AVAIL_DATA) > wake_bytes;
    bpf_ringbuf_submit(tail, wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

struct page_copy {
    struct sampling_tail *tail;
    __u64 address, end;
    __u32 size; /* of what is copied, with what is missing between */
};

static __always_inline long copy_page_of(__u32 index, struct page_copy *copy, __u32 pages)
{
    const __u64 from = copy->address + index * PAGE_BYTES;
    if (index >= pages || from >= copy->end)
        return 1;
    if (!bpf_probe_read_user(copy->tail->bytes + index * PAGE_BYTES, PAGE_BYTES, (void *)from))
        copy->size = (index + 1) * PAGE_BYTES;
    return 0;
}

static long copy_page_above(__u32 index, struct page_copy *copy)
{
    return copy_page_of(index, copy, GAP_PAGES);
}

static long copy_page_elsewhere(__u32 index, struct page_copy *copy)
{
    return copy_page_of(index, copy, OTHER_PAGES);
}

/* Copies the pages from `address` on, those that are there, as far as `end`; others become zero.
 * (The verifier checks a global function once, for all its calls.) */
__attribute__((noinline)) int copy_pages(__u64 sp, __u64 address, __u64 end, __u32 kind)
{
    const __u64 time_ns = bpf_ktime_get_ns();
    struct page_copy copy = {.address = address, .end = end};
    copy.tail = reserve(sizeof *copy.tail + GAP_PAGES * PAGE_BYTES);
    if (!copy.tail)
        return 0;
    bpf_loop(GAP_PAGES, copy_page_above, &copy, 0);
    submit(copy.tail, time_ns, sp, address, copy.size, kind);
    return 0;
}

/* The innermost pages of another stack, from the page of an address on. */
__attribute__((noinline)) int copy_innermost(__u64 sp, __u64 from)
{
    const __u64 time_ns = bpf_ktime_get_ns(), address = next_page(from - PAGE_BYTES);
    struct page_copy copy = {.address = address, .end = ~0ULL};
    copy.tail = reserve(sizeof *copy.tail + OTHER_PAGES * PAGE_BYTES);
    if (!copy.tail)
        return 0;
    bpf_loop(OTHER_PAGES, copy_page_elsewhere, &copy, 0);
    submit(copy.tail, time_ns, sp, address, copy.size, SAMPLING_TAIL_ELSEWHERE);
    return 0;
}

struct hops {
    __u64 sp, frame;
    bool found;
};

static long hop(__u32 index, struct hops *hops)
{
    hops->found = hops->frame - hops->sp > OTHER_SPAN_BYTES;
    return hops->found ||
           bpf_probe_read_user(&hops->frame, sizeof hops->frame, (void *)hops->frame);
}

/* Of a thread that switches stacks: where its frame pointer, or what is kept below it for the
 * frames in between, leads to another stack, that one's innermost pages. The slice cannot have
 * them. */
static __always_inline void copy_elsewhere(__u64 sp, __u64 frame)
{
    struct hops hops = {sp, frame, false};
    bpf_loop(HOPS + 1, hop, &hops, 0);
    if (hops.found)
        copy_innermost(sp, hops.frame - OTHER_BELOW_BYTES);
}

static long extend(__u32 index, __u64 *end)
{
    const __u64 step = SAMPLING_TAIL_MAX / 2 >> index % 64;
    if (is_there(*end + step - sizeof(__u64)))
        *end += step;
    return step == PAGE_BYTES;
}

/* Up to where memory is there in one piece above sp, to a page and within 1 MiB. */
static __always_inline __u64 search_end(__u64 sp)
{
    __u64 end = next_page(sp);
    bpf_loop(64, extend, &end, 0);
    return end;
}

static long take_mapping(struct task_struct *task, struct vm_area_struct *mapping,
                         struct sampling_stack *stack)
{
    stack->low = mapping->vm_start;
    stack->end = mapping->vm_end;
    return 0;
}

/* Finds out where a stack ends that no walk has been through: the first stack of a process where
 * execve began it; a thread's at its thread control block, which libc puts at its top and the
 * thread pointer leads to; another one at the end of its mapping, or at the block where it lies in
 * the same mapping. Returns false where the mapping cannot be looked up now; the end is where
 * memory is then. */
static __always_inline bool find_end(struct task_struct *task, __u64 sp, __u64 stack_bytes,
                                     struct sampling_stack *stack)
{
    const __u64 first = BPF_CORE_READ(task, mm, start_stack),
                block = ARCH_BPF_THREAD_POINTER(task->thread);
    const bool found = !bpf_find_vma(task, sp, take_mapping, stack, 0) && stack->low <= sp;
    if (!found) {
        stack->low = sp;
        stack->end = search_end(sp + stack_bytes);
    }
    const __u64 mapping_end = stack->end;
    stack->end_is = SAMPLING_END_MAPPING;
    if (sp < first && first < mapping_end) {
        stack->low = first - SAMPLING_FIRST_STACK_SPAN;
        stack->end = next_page(first);
        stack->end_is = SAMPLING_END_EXACT;
    } else if (sp < block && block < mapping_end) {
        stack->end = next_page(block);
        if (mapping_end - block <= BLOCK_BYTES_MAX)
            stack->end_is = SAMPLING_END_EXACT;
    }
    return found;
}

/* Copies `size` bytes into a record with room for them: programs may reserve constant sizes only.
 */
#define COPY_WITHIN(room)                                                                          \
    if (size <= (room)) {                                                                          \
        struct sampling_tail *tail = reserve(sizeof *tail + (room));                               \
        if (!tail)                                                                                 \
            return 0;                                                                              \
        const long missing = bpf_probe_read_user(tail->bytes, size, (void *)address);              \
        submit(tail, time_ns, sp, address, missing ? 0 : size, kind);                              \
        return !missing;                                                                           \
    }

/* Copies a range if all of it is there; returns whether it was. */
__attribute__((noinline)) int copy_range(__u64 sp, __u64 address, __u64 size, __u32 kind)
{
    const __u64 time_ns = bpf_ktime_get_ns();
    COPY_WITHIN(16 << 10)
    COPY_WITHIN(64 << 10)
    COPY_WITHIN(160 << 10)
    COPY_WITHIN(320 << 10)
    COPY_WITHIN(640 << 10)
    COPY_WITHIN(SAMPLING_TAIL_MAX)
    return 0;
}

/* What lies between an address and the stack's end. Of what is too much of a known stack the upper
 * part is copied: what is so large is a frame with a large array, more often than not. */
static __always_inline int copy_to_end(__u64 sp, __u64 address, const struct sampling_stack *stack)
{
    __u64 size = stack->end - address;
    if (size > tail_bytes) {
        if (stack->end_is != SAMPLING_END_MAPPING)
            address += size - tail_bytes;
        size = tail_bytes;
    }
    return copy_range(sp, address, size, SAMPLING_TAIL_ABOVE);
}

static __always_inline void copy_above_slice(__u64 sp, __u64 stack_bytes,
                                             const struct sampling_stack *stack)
{
    const __u64 overlap = stack_bytes > 2 * OVERLAP_BYTES ? OVERLAP_BYTES : 0;
    const __u64 address = sp + stack_bytes - overlap;
    if ((__s64)(stack->end - address) > (__s64)overlap)
        copy_to_end(sp, address, stack);
}

/* What lies above a page that was never used, where a slice ends: a large frame begins to be
 * filled. What counts are its callers: often all pages up to them are there, as where the frame is
 * probed from its top downwards. Else some were never used either. */
static __always_inline void copy_above_gap(__u64 sp, __u64 address,
                                           const struct sampling_stack *stack)
{
    const bool ends = stack->end_is == SAMPLING_END_EXACT || stack->end_is == SAMPLING_END_LEARNED;
    const bool copied = ends && address < stack->end && copy_to_end(sp, address, stack);
    if (!copied)
        copy_pages(sp, address, stack->end, SAMPLING_TAIL_ABOVE);
}

struct pages {
    __u64 page, end;
};

static long look_at_page(__u32 index, struct pages *pages)
{
    if (pages->page >= pages->end || !is_there(pages->page))
        return 1;
    pages->page = next_page(pages->page);
    return 0;
}

/* The first page from an address on that is not there; `end` or above: all are. (The verifier looks
 * at a global function once, whatever it was called after.) */
__attribute__((noinline)) __u64 first_missing(__u64 address, __u64 end)
{
    struct pages pages = {.page = address, .end = end};
    bpf_loop((end - address) / PAGE_BYTES + 2, look_at_page, &pages, 0);
    return pages.page;
}

/* What a signal interrupted whose handler runs on the thread's alternate stack. */
struct interrupted {
    __u64 sp, pc; /* 0: none */
};

struct frame_search {
    __u64 stack, size; /* the alternate stack */
    __u64 from;        /* the highest place where the frame may be */
    struct interrupted found;
};

__u64 frame_was_below; /* the end of its stack, the one that was found last */

/* (Two small reads instead of one of the whole frame: the stacks of a chain of calls add up to at
 * most 512 bytes.) */
static __always_inline bool take_frame(struct frame_search *search, __u64 at)
{
    enum { TO_SIZE = ARCH_BPF_UCONTEXT_STACK_SIZE - ARCH_BPF_UCONTEXT_STACK };
    enum { TO_PC = ARCH_BPF_UCONTEXT_PC - ARCH_BPF_UCONTEXT_SP };
    __u64 stack[TO_SIZE + 1], interrupted[TO_PC + 1];
    if (bpf_probe_read_user(stack, sizeof stack, (void *)(at + 8 * ARCH_BPF_UCONTEXT_STACK)) ||
        stack[0] != search->stack || stack[TO_SIZE] != search->size ||
        bpf_probe_read_user(interrupted, sizeof interrupted,
                            (void *)(at + 8 * ARCH_BPF_UCONTEXT_SP)) ||
        interrupted[0] - search->stack < search->size)
        return false;
    search->found.sp = interrupted[0];
    search->found.pc = interrupted[TO_PC];
    frame_was_below = search->stack + search->size - at;
    return true;
}

static long look_for_frame(__u32 index, struct frame_search *search)
{
    const __u64 at = search->from - index * ARCH_BPF_UCONTEXT_ALIGNED;
    return at < search->stack || take_frame(search, at);
}

/* The slice of a sample in such a handler has nothing of the stack that was interrupted. The frame
 * that leads there is the one next to the alternate stack's end (handlers that interrupt others
 * have theirs below): how far from it depends on the processor's registers, and is the same for
 * most. */
static __always_inline struct interrupted find_interrupted(struct task_struct *task, __u64 sp)
{
    struct frame_search search = {.stack = task->sas_ss_sp, .size = task->sas_ss_size};
    const __u64 end = search.stack + search.size;
    if (sp - search.stack >= search.size || search.size < ARCH_BPF_UCONTEXT_BELOW)
        return search.found;
    search.from = (end - ARCH_BPF_UCONTEXT_BELOW) & ~(ARCH_BPF_UCONTEXT_ALIGNED - 1ULL);
    if (frame_was_below >= search.size || !take_frame(&search, end - frame_was_below))
        bpf_loop(FRAME_SPAN_BYTES / ARCH_BPF_UCONTEXT_ALIGNED, look_for_frame, &search, 0);
    return search.found;
}

/* Of a stack that a signal interrupted: it begins at `from`, and nothing of it is in the slice. */
static __always_inline void copy_interrupted(__u64 sp, __u64 from, __u64 stack_bytes,
                                             const struct sampling_stack *stack)
{
    const bool ends = stack->end_is == SAMPLING_END_EXACT || stack->end_is == SAMPLING_END_LEARNED;
    const __u64 most = ends ? tail_bytes : stack_bytes;
    const __u64 size = stack->end - from < most ? stack->end - from : most;
    if (!copy_range(sp, from, size, SAMPLING_TAIL_ELSEWHERE))
        copy_pages(sp, next_page(from - PAGE_BYTES), stack->end, SAMPLING_TAIL_ELSEWHERE);
}

/* Of a sample with a slice of so many bytes. (The verifier looks at it once, as above.) */
__attribute__((noinline)) int capture(__u64 stack_bytes, __u64 sp, __u64 frame,
                                      __u64 interrupted_sp)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const __u32 tid = current_tid(), slot = tid % SAMPLING_STACKS;
    struct sampling_stack *known = bpf_map_lookup_elem(&stacks, &slot), stack;
    if (!known)
        return 0;
    stack = *known;
    const __u64 from = interrupted_sp ? interrupted_sp : sp;
    if (stack.tid == tid && stack.end_is == SAMPLING_END_ELSEWHERE) {
        if (interrupted_sp)
            copy_innermost(sp, from);
        else
            copy_elsewhere(sp, frame);
        return 0;
    }
    if (stack.tid != tid || from < stack.low || from >= stack.end) {
        stack.tid = tid;
        if (find_end(task, from, stack_bytes, &stack))
            *known = stack;
    }
    if (interrupted_sp) {
        copy_interrupted(sp, from, stack_bytes, &stack);
        return 0;
    }
    const __u64 slice_end = sp + stack_bytes < stack.end ? sp + stack_bytes : stack.end;
    const __u64 page = first_missing(sp, slice_end);
    if (page < slice_end)
        copy_above_gap(sp, next_page(page), &stack);
    else if (stack.end_is != SAMPLING_END_SHALLOW)
        copy_above_slice(sp, stack_bytes, &stack);
    return 0;
}

#endif
