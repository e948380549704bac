/* The tracing agent, inside: values of calls: words of arguments at the entry, and what they lead
 * to when a call is kept. Memory is read by the kernel, so a bad address is no fault. */
#ifndef SPROF_AGENT_PROBE_VALUES_H
#define SPROF_AGENT_PROBE_VALUES_H

#include "agent/probe/log.h"

static inline bool keeps_calls(void)
{
    return probe_inside.shared->extras & PROBE_KEEP;
}

/* A call's values, as they are put behind it. They are gathered behind the end of the thread's
 * ring: the program's stack may have no room. A handler that comes meanwhile finds that in use. */
struct valued {
    uint64_t is_busy;
    uint64_t thrown; /* header of the exception by which calls are being left; 0: none */
    struct probe_kept_values values;
    uint8_t pieces[PROBE_PIECES_BYTES];
};
enum { VALUED_AT = 1536 };
_Static_assert(PROBE_KEPT_UNITS *PROBE_UNIT_BYTES + sizeof(struct valued) <= VALUED_AT &&
                   PROBE_RING_HEADER + VALUED_AT + sizeof(struct valued) <= PROBE_RING_REST,
               "behind what the last place may take");

static inline struct valued *valued_of(const struct thread *thread)
{
    return (struct valued *)((uint8_t *)thread->ring + PROBE_RING_HEADER +
                             (thread->ring_mask + 1) * PROBE_UNIT_BYTES + VALUED_AT);
}

/* == Words of arguments == */

/* Where the words of a call are, six of them: in the record of the slot above its own, where that
 * is no call's, else in one far away. Functions that are called with an empty frame above them have
 * such a caller. Neither the return address of that record nor its serial is touched. A call that
 * has jumped to another has no words: they are the other one's. calls.S does the same. */
enum { FAR_RECORDS = 33 }; /* not where the processor would take it for the record, by low bits */
static inline uint64_t *words_of(const struct record *record)
{
    struct record *next = record_of(record->slot + 8);
    struct record *place = next->serial ? record_of(record->slot | POINT) + FAR_RECORDS : next;
    return &place->begin;
}
_Static_assert(offsetof(struct record, begin) + PROBE_WORDS * 8 == offsetof(struct record, serial),
               "room for all");

static inline const struct probe_values *values_of(uint32_t function)
{
    const struct probe_shared *shared = probe_inside.shared;
    const uint32_t at = atomic_load_explicit(&shared->keep_values[function], memory_order_relaxed) &
                        PROBE_VALUES_PLACE;
    return at && at < PROBE_VALUE_ROOM - PROBE_PIECES - PROBE_BINDINGS
               ? (const struct probe_values *)&shared->keep.values[at]
               : NULL;
}

static inline uint64_t vector_word(unsigned number)
{
    uint64_t word = 0;
    switch (number) {
    case 0: __asm__ volatile("movq %%xmm0, %0" : "=r"(word)); break;
    case 1: __asm__ volatile("movq %%xmm1, %0" : "=r"(word)); break;
    case 2: __asm__ volatile("movq %%xmm2, %0" : "=r"(word)); break;
    case 3: __asm__ volatile("movq %%xmm3, %0" : "=r"(word)); break;
    case 4: __asm__ volatile("movq %%xmm4, %0" : "=r"(word)); break;
    case 5: __asm__ volatile("movq %%xmm5, %0" : "=r"(word)); break;
    case 6: __asm__ volatile("movq %%xmm6, %0" : "=r"(word)); break;
    default: __asm__ volatile("movq %%xmm7, %0" : "=r"(word)); break;
    }
    return word;
}

/* `from`: enum probe_word. */
static inline uint64_t entry_word(unsigned from, uint64_t slot, const struct probe_saved *saved)
{
    const uint64_t integers[] = {saved->rdi, saved->rsi, saved->rdx,
                                 saved->rcx, saved->r8,  saved->r9};
    if (from >= PROBE_WORD_END || !from)
        return 0;
    if (from >= PROBE_WORD_STACK)
        return ((const uint64_t *)(uintptr_t)slot)[1 + from - PROBE_WORD_STACK];
    return from >= PROBE_WORD_VECTOR ? vector_word(from - PROBE_WORD_VECTOR)
                                     : integers[from - PROBE_WORD_INTEGER];
}

/* Where a call begins. */
static inline void save_words(const struct record *record, uint32_t function,
                              const struct probe_saved *saved)
{
    const struct probe_values *values = values_of(function);
    uint64_t *words = words_of(record);
    for (int i = 0; i < PROBE_WORDS && values; i++)
        words[i] = entry_word(values->words[i], record->slot, saved);
}

/* == Memory == */

/* Whether the budget of the second, and what is allowed, leave a system call. */
static inline bool may_read(uint64_t now)
{
    struct probe_keep *keep = &probe_inside.shared->keep;
    const uint64_t most = atomic_load_explicit(&keep->pieces_most, memory_order_relaxed),
                   second = (keep->second_ticks ? now / keep->second_ticks : now) << 32,
                   before = atomic_load_explicit(&keep->pieces_lately, memory_order_relaxed),
                   after = before >> 32 == second >> 32 ? before + 1 : second | 1;
    if ((uint32_t)after > most)
        return false;
    atomic_store_explicit(&keep->pieces_lately, after, memory_order_relaxed); /* about so many */
    return true;
}

/* Copies bytes, as many as there are, up to a page that does not exist. What lies in the thread's
 * own stack is there. Returns how many; -1: it may not be read now. */
static inline int64_t read_memory(const struct thread *thread, void *to, uint64_t from,
                                  uint64_t size, uint64_t now)
{
    enum { PAGE = 4096 };
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (!size)
        return 0;
    if (from >= here && from < thread->high && size <= thread->high - from) {
        for (uint64_t i = 0; i < size; i++)
            ((uint8_t *)to)[i] = ((const volatile uint8_t *)(uintptr_t)from)[i];
        return (int64_t)size;
    }
    if (!may_read(now))
        return -1;
    const uint64_t first = PAGE - from % PAGE < size ? PAGE - from % PAGE : size;
    const struct {
        uint64_t at, size;
    } local = {(uint64_t)(uintptr_t)to, size},
      remote[2] = {{from, first}, {from + first, size - first}};
    const long pid = inside_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    const long done = inside_call(SYS_process_vm_readv, pid, (long)(uintptr_t)&local, 1,
                                  (long)(uintptr_t)remote, size > first ? 2 : 1, 0);
    return done > 0 ? done : 0;
}

/* == Pieces == */

/* Follows addresses in memory, each read at an offset from the one before. */
static inline bool follow(const struct thread *thread, uint64_t *address, const int8_t *offsets,
                          unsigned count, uint64_t now)
{
    for (unsigned i = 0; i < count; i++)
        if (read_memory(thread, address, *address + (uint64_t)(int64_t)offsets[i], sizeof *address,
                        now) != sizeof *address)
            return false;
    return true;
}

/* Finds where a piece lies, and how long it is at most. False: that cannot be read. */
static inline bool find_piece(const struct thread *thread, const struct probe_piece *piece,
                              const uint64_t *words, uint64_t now, uint64_t *from, uint64_t *size)
{
    static const int8_t once[] = {0}, by_table[] = {0, -8, 8};
    uint64_t length = piece->size;
    const bool is_counted = piece->kind == PROBE_PIECE_COUNTED,
               is_long = piece->kind == PROBE_PIECE_LONG_AT;
    *from = words[piece->word] + piece->at;
    if (is_counted)
        length = words[piece->length % PROBE_WORDS_ALL];
    if (is_long && read_memory(thread, &length, words[piece->word] + piece->length, sizeof length,
                               now) != sizeof length)
        return false;
    *size = length < piece->size ? length : piece->size;
    if (is_long || piece->kind == PROBE_PIECE_TEXT_AT)
        return follow(thread, from, once, 1, now);
    return piece->kind != PROBE_PIECE_CLASS || follow(thread, from, by_table, 3, now);
}

/* Copies a piece to `to`, where there is room for so many bytes. Returns its length, or why it has
 * none. */
static inline uint16_t copy_piece(const struct thread *thread, const struct probe_piece *piece,
                                  const uint64_t *words, uint64_t now, uint8_t *to, uint64_t room)
{
    uint64_t from, size, length = 0;
    if (piece->word >= PROBE_WORDS_ALL)
        return PROBE_PIECE_UNREADABLE;
    if (!find_piece(thread, piece, words, now, &from, &size))
        return PROBE_PIECE_UNREADABLE;
    const int64_t got = read_memory(thread, to, from, size < room ? size : room, now);
    if (got < 0)
        return PROBE_PIECE_NOT_READ;
    if (!got && size)
        return PROBE_PIECE_UNREADABLE;
    if (piece->kind != PROBE_PIECE_TEXT && piece->kind != PROBE_PIECE_TEXT_AT &&
        piece->kind != PROBE_PIECE_CLASS)
        return (uint16_t)got;
    while (length < (uint64_t)got && to[length])
        length++;
    return (uint16_t)length;
}

/* Writes the pieces of a kept call. Returns how many bytes they are. */
static inline uint32_t copy_pieces(const struct thread *thread, const struct probe_values *values,
                                   const struct probe_kept_values *kept, uint64_t now, uint8_t *to)
{
    const struct probe_piece *pieces = (const struct probe_piece *)(values + 1);
    uint32_t used = 0;
    for (uint32_t i = 0; i < values->pieces && i < PROBE_PIECES && used + 2 <= PROBE_PIECES_BYTES;
         i++) {
        const bool is_known = pieces[i].word < PROBE_WORDS ? kept->has_words : kept->has_result;
        const uint16_t length = is_known ? copy_piece(thread, &pieces[i], kept->words, now,
                                                      to + used + 2, PROBE_PIECES_BYTES - used - 2)
                                         : PROBE_PIECE_UNREADABLE;
        to[used] = (uint8_t)length;
        to[used + 1] = (uint8_t)(length >> 8);
        used += 2u + (length < PROBE_PIECE_NOT_READ ? length : 0u);
    }
    return used;
}

/* errno of the running thread. Values that no error has are not known either. */
static inline uint16_t error_now(void)
{
    const int64_t at =
        atomic_load_explicit(&probe_inside.shared->keep.error_at, memory_order_relaxed);
    uint32_t error = PROBE_NO_ERROR;
    if (at)
        __asm__ volatile("movl %%fs:(%1), %0" : "=r"(error) : "r"(at));
    return error < PROBE_NO_ERROR ? (uint16_t)error : PROBE_NO_ERROR;
}

/* Fills in the words of a call that ends, as far as they are known. */
static inline void take_words(const struct record *record, enum probe_exit exit, bool has_words,
                              struct probe_kept_values *kept)
{
    enum { RAX = -3, RDX = -5 }; /* words from the slot: where probe_leave has saved them */
    const uint64_t *words = words_of(record);
    const uint64_t *slot = (const uint64_t *)(uintptr_t)(record->slot & ~(uint64_t)POINT);
    kept->has_words = has_words;
    kept->error = error_now();
    kept->has_result = exit == PROBE_EXIT_RETURN || exit == PROBE_EXIT_TAIL;
    for (int i = 0; i < PROBE_WORDS && has_words; i++)
        kept->words[i] = words[i];
    if (!kept->has_result)
        return;
    kept->words[PROBE_WORD_RAX] = slot[RAX];
    kept->words[PROBE_WORD_RDX] = slot[RDX];
    kept->words[PROBE_WORD_XMM0] = vector_word(0);
    kept->words[PROBE_WORD_XMM1] = vector_word(1);
}

/* == Tests == */

static inline bool is_in(const struct probe_keep_test *test, const struct probe_binding *of,
                         uint64_t word)
{
    const unsigned unused = 56 - 8u * ((of->bytes - 1u) & 7u);
    const uint64_t value = word << unused;
    if (of->number == PROBE_SINGLE) {
        const int64_t order = probe_order_of_single((uint32_t)word);
        return (word & 0x7fffffff) <= 0x7f800000 && order >= test->low_single &&
               order <= test->high_single;
    }
    if (of->number == PROBE_DOUBLE) {
        const int64_t order = probe_order_of_double(word);
        return (word & INT64_MAX) <= UINT64_C(0x7ff) << 52 && order >= test->low_double &&
               order <= test->high_double;
    }
    const int64_t number =
        of->number == PROBE_SIGNED ? (int64_t)value >> unused : (int64_t)(value >> unused);
    if (of->number == PROBE_UNSIGNED && number < 0) /* it is above all that a test names */
        return test->high == INT64_MAX;
    return number >= test->low && number <= test->high;
}

/* Whether a test of a rule holds for a call whose words are known. */
static inline bool holds(const struct probe_values *values, const struct probe_kept_values *kept,
                         const struct probe_keep_test *test, uint32_t rule, uint32_t number)
{
    const struct probe_binding *bindings =
        (const struct probe_binding *)(values + 1) + values->pieces % (PROBE_PIECES + 1);
    for (uint32_t i = 0; i < values->bindings && i < PROBE_BINDINGS; i++) {
        const struct probe_binding *one = &bindings[i];
        if (one->rule != rule || one->test != number || one->word > PROBE_WORD_ERROR)
            continue;
        if (one->word == PROBE_WORD_ERROR)
            return kept->has_result && kept->error != PROBE_NO_ERROR &&
                   is_in(test, one, kept->error) != (test->is_outside != 0);
        const bool is_known = one->word < PROBE_WORDS ? kept->has_words : kept->has_result;
        return is_known && is_in(test, one, kept->words[one->word]) != (test->is_outside != 0);
    }
    return false;
}

#endif
