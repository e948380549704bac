/* Counts what calls allocate and what checked calls keep, and checks glibc's block headers. It
 * reads only what live blocks have: their header and, if their size is right, the neighbour's. */
#include "agent/probe/heap.h"

_Static_assert((int)PROBE_HEAP_FUNCTIONS == (int)PROBE_THUNKS &&
                   (int)PROBE_HEAP_THREADS == (int)PROBE_SLABS,
               "one for each");

enum { CHUNK_HEADER = 16, CHUNK_LEAST = 32 };

/* In the word before a block (glibc malloc/malloc.c). */
enum { BEFORE_IN_USE = 1, MAPPED = 2, OTHER_ARENA = 4, NEVER = 8, FLAGS = 7 };

static const uint64_t size_most = UINT64_C(1) << 40;

static inline uint64_t word_at(uint64_t address)
{
    return __atomic_load_n((const uint64_t *)(uintptr_t)address, __ATOMIC_RELAXED);
}

static struct probe_heap_thread *heap_of(struct thread *thread)
{
    struct probe_heap_thread *heap = &probe_inside.shared->heap.threads[thread->slab];
    if (heap->serial != thread->serial) { /* the data was another thread's */
        heap->open = 0;
        heap->reported = 0;
        thread->allocator_slot = 0;
        heap->serial = thread->serial;
    }
    return heap;
}

/* == What allocators call a block == */

/* Allocators have no vector arguments or results, so this may change them. */
static __attribute__((force_align_arg_pointer, noinline)) uint64_t ask_allocator(uint64_t usable,
                                                                                 uint64_t block)
{
    return ((uint64_t(*)(uint64_t))(uintptr_t)usable)(block);
}

/* For glibc as malloc_usable_size; free() reads that word anyway. */
static SAVES_ALL uint64_t bytes_of(uint32_t function, uint64_t block)
{
    const struct probe_heap *all = &probe_inside.shared->heap;
    const uint64_t usable =
        all->usable[all->operations[function] >> PROBE_HEAP_SHIFT & (PROBE_HEAP_ALLOCATORS - 1)];
    if (!block || (!usable && block % CHUNK_HEADER))
        return 0;
    if (usable)
        return ask_allocator(usable, block);
    const uint64_t header = word_at(block - 8), size = header & ~(uint64_t)FLAGS;
    const uint64_t taken = header & MAPPED ? CHUNK_HEADER : 8;
    return size >= CHUNK_LEAST && size < size_most ? size - taken : 0;
}

static bool is_glibc(uint32_t function)
{
    const struct probe_heap *all = &probe_inside.shared->heap;
    return !all->usable[all->operations[function] >> PROBE_HEAP_SHIFT &
                        (PROBE_HEAP_ALLOCATORS - 1)];
}

/* == Blocks that are watched == */

static inline uint64_t key_of(uint64_t block)
{
    return block >> 4 | (uint64_t)probe_inside.pid << 43;
}

static inline struct probe_heap_block *entry_of(uint64_t key)
{
    const uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    return &probe_inside.shared->heap.watched[mixed >> 48 & (PROBE_HEAP_WATCHED - 1)];
}

/* 26 key bits reveal races; the size in units of 16; two constant flags. */
static inline uint64_t header_noted(uint64_t key, uint64_t header)
{
    return (key * UINT64_C(0xd6e8feb86659fd93)) >> 38 << 38 | (header >> 4) << 2 |
           (header >> 1 & 3);
}

static void watch(uint64_t block, uint32_t function)
{
    const uint64_t key = key_of(block), header = word_at(block - 8);
    struct probe_heap_block *entry = entry_of(key);
    if (header >= size_most)
        return;
    atomic_store(&entry->key, 0);
    atomic_store(&entry->function, function);
    atomic_store(&entry->header, header_noted(key, header));
    atomic_store(&entry->key, key);
}

static void unwatch(uint64_t block)
{
    uint64_t key = key_of(block);
    struct probe_heap_block *entry = entry_of(key);
    if (atomic_load_explicit(&entry->key, memory_order_relaxed) == key)
        atomic_compare_exchange_strong(&entry->key, &key, 0);
}

enum watched { UNKNOWN, SAME, CHANGED };

/* The block must be watched before and after the read. */
static enum watched find_block(uint64_t block)
{
    const uint64_t key = key_of(block);
    struct probe_heap_block *entry = entry_of(key);
    if (atomic_load(&entry->key) != key)
        return UNKNOWN;
    const uint64_t noted = atomic_load(&entry->header);
    const uint64_t now = word_at(block - 8);
    if ((noted ^ header_noted(key, 0)) >> 38 || atomic_load(&entry->key) != key)
        return UNKNOWN;
    return now < size_most && noted == header_noted(key, now) && !(now & NEVER) ? SAME : CHANGED;
}

/* == Headers == */

enum broken { GOOD, OWN, NEXT };

static inline bool is_same_page(uint64_t one, uint64_t other)
{
    return one / PROBE_PAGE == other / PROBE_PAGE;
}

/* Fenceposts of arenas have 16 or 0. */
static bool is_header(uint64_t header)
{
    const uint64_t size = header & ~(uint64_t)FLAGS;
    return !(header & (MAPPED | NEVER)) && size < size_most;
}

/* A watched neighbour must have its header. Another must lead to a page's end, as at an arena's
 * end, or to a header on an existing page. */
static enum broken check_behind(uint64_t block, uint64_t size, bool is_other_arena)
{
    const uint64_t next = block + size, header = word_at(next - 8);
    const uint64_t next_size = header & ~(uint64_t)FLAGS;
    if (!(header & BEFORE_IN_USE) || !is_header(header) || next_size < CHUNK_HEADER ||
        (header & OTHER_ARENA && !is_other_arena) || find_block(next) == CHANGED)
        return NEXT;
    const uint64_t end = next - CHUNK_HEADER + next_size;
    if (end % PROBE_PAGE == 0 || !is_same_page(end + 8, next - 8))
        return GOOD;
    const bool leads_on = is_header(word_at(end + 8));
    return leads_on || word_at(next - 8) != header ? GOOD : NEXT; /* other threads may change it */
}

/* If its size is unknown, only its page is read. */
static enum broken check_block(uint64_t block, enum watched known)
{
    const uint64_t header = word_at(block - 8), size = header & ~(uint64_t)FLAGS;
    if (known == CHANGED)
        return OWN;
    if (header & MAPPED)
        return known == SAME ||
                       (block - CHUNK_HEADER - word_at(block - CHUNK_HEADER)) % PROBE_PAGE == 0
                   ? GOOD
                   : OWN;
    if (size < CHUNK_LEAST || size >= size_most || header & NEVER)
        return OWN;
    if (known != SAME && !is_same_page(block - 8, block + size - 8))
        return GOOD;
    return check_behind(block, size, header & OTHER_ARENA);
}

/* Only if it is watched or a checked call is open. */
static void check_before_free(struct thread *thread, struct probe_heap_thread *heap, uint64_t block)
{
    const bool is_open = heap && heap->open;
    if (!block || block % CHUNK_HEADER)
        return;
    const enum watched known = find_block(block);
    if (known == UNKNOWN && !is_open)
        return;
    const uint32_t function = known == UNKNOWN ? heap->calls[heap->open - 1].function
                                               : atomic_load(&entry_of(key_of(block))->function);
    const enum broken broken = check_block(block, known);
    if (broken == GOOD || (heap && heap->reported == block) ||
        (!has_begun(thread) && !probe_begin_thread(thread)))
        return;
    if (heap)
        heap->reported = known == UNKNOWN ? block : 0;
    const uint64_t size = word_at(block - 8) & ~(uint64_t)FLAGS;
    probe_warn(&(struct probe_warning){.time = probe_ticks(),
                                       .value = block,
                                       .limit = broken == NEXT ? size - 8 : 0,
                                       .function = function,
                                       .slab = thread->slab,
                                       .kind = PROBE_CHUNK});
}

/* == Bytes by function == */

/* Lower records were left. Call points and calls outside the modules have no byte figures. */
static inline bool is_open_around(const struct thread *thread, const struct record *record,
                                  uint64_t slot)
{
    const uint64_t function = (uint64_t)(stat_of(record) - thread->stats);
    return record->serial == thread->serial && !(record->slot & POINT) &&
           function < probe_inside.function_count && !is_outside(thread, record) &&
           (record->slot >= slot || !is_own(thread, record->slot) || !is_own(thread, slot));
}

/* What an allocation has met. */
struct meeting {
    struct probe_heap_met *met;
    uint64_t number;
    bool are_all; /* all functions with several open calls are in the table */
};

/* Notes a function. True: the table had it. Without an entry near its own, or if an allocation in a
 * signal handler took the table, the table is incomplete from then on. */
static bool find_met(struct meeting *meeting, uint64_t function)
{
    enum { TRIES = 16, FUNCTION_BITS = 18 };
    _Static_assert(PROBE_THUNKS <= 1 << FUNCTION_BITS, "functions");
    const uint64_t mark = meeting->number << FUNCTION_BITS | function,
                   first = function * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    bool is_there = false, has_entry = false;
    for (uint32_t i = 0; i < TRIES && !has_entry; i++) {
        uint64_t *entry = &meeting->met->entries[(first + i) % PROBE_HEAP_MET];
        const uint64_t found = __atomic_load_n(entry, __ATOMIC_RELAXED);
        is_there = found == mark;
        has_entry = is_there || found >> FUNCTION_BITS != meeting->number;
        if (has_entry)
            __atomic_store_n(entry, mark, __ATOMIC_RELAXED);
    }
    atomic_signal_fence(memory_order_seq_cst);
    meeting->are_all =
        has_entry && __atomic_load_n(&meeting->met->number, __ATOMIC_RELAXED) == meeting->number;
    return is_there;
}

/* A function with several open calls has one nearer to the allocator. */
static bool is_met_again(const struct thread *thread, const struct record *record, uint64_t slot,
                         struct meeting *meeting)
{
    const bool is_there =
        meeting->are_all && find_met(meeting, (uint64_t)(stat_of(record) - thread->stats));
    if (meeting->are_all)
        return is_there;
    for (const struct record *at = thread->innermost; at != record; at = at->parent)
        if (stat_of(at) == stat_of(record) && is_open_around(thread, at, slot))
            return true;
    return false;
}

static inline void add_to(_Atomic uint64_t *sum, uint64_t value)
{
    atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

/* Adds a block to the innermost call's function, and its bytes to each function with an open call.
 * Calls' beginnings and ends note nothing, so calls that are left leave nothing behind. */
static SAVES_ALL __attribute__((noinline)) void count_block(const struct thread *thread,
                                                            uint64_t slot, uint64_t bytes)
{
    enum { CHAIN_MOST = 1 << 22 };
    struct probe_heap_use *uses = probe_inside.shared->uses.heap[thread->slab % PROBE_HEAP_STRIPES];
    struct probe_heap_met *met = &probe_inside.shared->heap_met[thread->slab];
    struct meeting meeting = {.met = met,
                              .number = __atomic_add_fetch(&met->number, 1, __ATOMIC_RELAXED),
                              .are_all = true};
    uint32_t steps = 0;
    bool has_innermost = false;
    for (const struct record *record = thread->innermost;
         record && record != &thread->root && steps < CHAIN_MOST;
         record = record->parent, steps++) {
        if (!is_open_around(thread, record, slot))
            continue;
        struct probe_heap_use *use = &uses[stat_of(record) - thread->stats];
        if (!has_innermost) {
            add_to(&use->blocks, 1);
            add_to(&use->self_bytes, bytes);
            has_innermost = true;
        }
        if (stat_of(record)->calls - stat_of(record)->ended > 1 &&
            is_met_again(thread, record, slot, &meeting))
            continue;
        add_to(&use->total_bytes, bytes);
    }
}

/* == Functions of allocators == */

static inline bool takes_block(uint32_t operation)
{
    return operation == PROBE_HEAP_FREE || operation == PROBE_HEAP_REALLOCATE ||
           operation == PROBE_HEAP_REALLOCATE_ARRAY;
}

static inline uint32_t operation_of(uint32_t function)
{
    return probe_inside.shared->heap.operations[function] & PROBE_HEAP_OPERATION;
}

/* May wrap: then the call fails and does not count. */
static inline uint64_t requested_bytes(uint32_t operation, const struct probe_saved *saved)
{
    switch (operation) {
    case PROBE_HEAP_ALLOCATE: return saved->rdi;
    case PROBE_HEAP_ALLOCATE_ARRAY: return saved->rdi * saved->rsi;
    case PROBE_HEAP_ALLOCATE_ALIGNED:
    case PROBE_HEAP_REALLOCATE: return saved->rsi;
    case PROBE_HEAP_PUT: return saved->rdx;
    case PROBE_HEAP_REALLOCATE_ARRAY: return saved->rsi * saved->rdx;
    default: return 0;
    }
}

static inline bool counts_bytes(const struct thread *thread)
{
    return probe_inside.shared->extras & PROBE_HEAP_BYTES && thread->innermost != &thread->root;
}

static inline bool is_inside(const struct thread *thread, uint64_t slot)
{
    return thread->allocator_slot && slot < thread->allocator_slot &&
           is_own(thread, slot) == is_own(thread, thread->allocator_slot);
}

SAVES_ALL bool probe_heap_enters(struct thread *thread, uint32_t function, uint64_t slot,
                                 const struct probe_saved *saved)
{
    const uint32_t operation = operation_of(function);
    const bool takes = takes_block(operation);
    struct probe_heap_thread *heap = has_begun(thread) ? heap_of(thread) : NULL;
    const bool counts = heap && counts_bytes(thread) && operation != PROBE_HEAP_FREE;
    const bool is_open = heap && heap->open && is_own(thread, slot);
    const bool is_nested = (is_open || counts) && is_inside(thread, slot);
    if (takes && !is_nested && probe_inside.shared->heap.are_checked && is_glibc(function)) {
        check_before_free(thread, is_own(thread, slot) ? heap : NULL, saved->rdi);
        unwatch(saved->rdi);
    }
    if ((!is_open && !counts) || is_nested)
        return false;
    thread->allocator_slot = slot;
    heap->function = function;
    heap->argument = saved->rdi;
    heap->requested = requested_bytes(operation, saved);
    heap->old_bytes = is_open && takes ? bytes_of(function, saved->rdi) : 0;
    heap->frees_all = operation == PROBE_HEAP_FREE || (takes && !heap->requested);
    return true;
}

static uint64_t block_of(const struct probe_heap_thread *heap, uint64_t result)
{
    switch (operation_of(heap->function)) {
    case PROBE_HEAP_FREE: return 0;
    case PROBE_HEAP_PUT: return (uint32_t)result ? 0 : word_at(heap->argument);
    default: return result;
    }
}

SAVES_ALL void probe_heap_leaves(struct thread *thread, uint64_t slot, uint64_t result)
{
    if (thread->allocator_slot != slot || !slot)
        return;
    struct probe_heap_thread *heap = heap_of(thread);
    const uint64_t block = block_of(heap, result);
    thread->allocator_slot = 0;
    if (block && counts_bytes(thread))
        count_block(thread, slot, heap->requested);
    if (!heap->open || !is_own(thread, slot))
        return;
    if (takes_block(operation_of(heap->function)) && heap->argument && (block || heap->frees_all)) {
        heap->bytes -= heap->old_bytes;
        heap->frees++;
    }
    if (block) {
        heap->bytes += bytes_of(heap->function, block);
        heap->allocations++;
        if (is_glibc(heap->function))
            watch(block, heap->calls[heap->open - 1].function);
    }
}

/* == Calls of checked functions == */

/* Own calls at or below the slot were left. Takes room before it fills it, as a signal handler may
 * come between. */
SAVES_ALL void probe_heap_begin(struct thread *thread, uint32_t function, uint64_t slot,
                                bool has_jumped)
{
    if (!is_own(thread, slot))
        return;
    struct probe_heap_thread *heap = heap_of(thread);
    uint32_t open = heap->open % (PROBE_HEAP_CALLS + 1);
    while (open && heap->calls[open - 1].slot < slot + !has_jumped)
        open--;
    if (!open && thread->allocator_slot <= slot)
        thread->allocator_slot = 0;
    if (open == PROBE_HEAP_CALLS)
        return;
    struct probe_heap_call *call = &heap->calls[open];
    call->slot = slot;
    heap->open = open + 1;
    call->bytes = heap->bytes;
    call->allocations = heap->allocations;
    call->frees = heap->frees;
    call->function = function;
    call->epoch = atomic_load(&probe_inside.shared->heap.epoch);
}

/* Of recursive calls the outermost counts. */
SAVES_ALL void probe_heap_end(struct thread *thread, uint32_t function, uint64_t slot,
                              bool is_outermost)
{
    const struct probe_heap *all = &probe_inside.shared->heap;
    struct probe_heap_thread *heap = heap_of(thread);
    uint32_t open = heap->open % (PROBE_HEAP_CALLS + 1);
    while (open && heap->calls[open - 1].slot < slot)
        open--;
    if (!open || heap->calls[open - 1].slot != slot)
        return;
    const struct probe_heap_call call = heap->calls[open - 1];
    const int64_t left = (int64_t)(heap->bytes - call.bytes);
    const uint64_t limit = atomic_load_explicit(&all->limits[function], memory_order_relaxed);
    heap->open = open - 1;
    if (is_outermost && limit && left > 0 && (uint64_t)left >= limit &&
        call.epoch == atomic_load(&all->epoch))
        probe_warn(&(struct probe_warning){.time = probe_ticks(),
                                           .value = (uint64_t)left,
                                           .limit = limit - 1,
                                           .function = function,
                                           .slab = thread->slab,
                                           .kind = PROBE_HEAP,
                                           .allocations = heap->allocations - call.allocations,
                                           .frees = heap->frees - call.frees});
}
