/* Argument and result values of traced calls, and memory they point to. The kernel copies memory,
 * so bad addresses do not fault. */
#ifndef SPROF_AGENT_PROBE_VALUES_H
#define SPROF_AGENT_PROBE_VALUES_H

#include "agent/probe/log.h"

/* Built behind the thread's ring, as the program's stack may lack room. A signal handler skips
 * values while `is_busy`. */
struct valued {
    uint64_t is_busy;
    uint64_t thrown;      /* header of the exception that leaves calls */
    uint64_t next_early;  /* how many struct early are taken */
    uint64_t reads_early; /* 1: reads for one of them */
    uint64_t place;       /* as in struct probe_kept */
    struct probe_kept_values values;
    uint8_t pieces[PROBE_PIECES_BYTES];
};

/* Pieces copied at entry. A call ends without a note, but a later call at or above its slot shows
 * that. The oldest are lost first. */
struct early {
    uint64_t slot, begin;
    uint32_t bytes;
    uint32_t place; /* index of struct probe_values */
    uint8_t pieces[PROBE_EARLY_BYTES];
};
enum { EARLY_PLACES = 16, VALUED_AT = 8448, EARLY_AT = 2 * VALUED_AT };
_Static_assert(4 * PROBE_PIECES < PROBE_EARLY_BYTES, "a length of each piece");
_Static_assert(PROBE_KEPT_UNITS *PROBE_UNIT_BYTES + sizeof(struct valued) <= VALUED_AT &&
                   PROBE_RING_HEADER + EARLY_AT + EARLY_PLACES * sizeof(struct early) <=
                       PROBE_RING_REST,
               "behind what the last place may take");

static inline uint32_t pieces_most(void)
{
    const uint64_t most = probe_inside.shared->keep.pieces_bytes;
    return most < PROBE_PIECES_USUAL   ? PROBE_PIECES_USUAL
           : most < PROBE_PIECES_BYTES ? (uint32_t)most
                                       : PROBE_PIECES_BYTES;
}

static inline struct valued *valued_of(const struct thread *thread)
{
    return (struct valued *)((uint8_t *)thread->ring + PROBE_RING_HEADER +
                             (thread->ring_mask + 1) * PROBE_UNIT_BYTES + VALUED_AT);
}

static inline struct early *early_of(const struct thread *thread, uint64_t number)
{
    return (struct early *)((uint8_t *)valued_of(thread) + EARLY_AT - VALUED_AT) +
           number % EARLY_PLACES;
}

/* == Words of arguments == */

/* A call's six argument words are in the record of the slot above, if unused (it is used if the
 * caller's frame is empty), else far away. Return address and serial there stay. After a jump the
 * callee has the words. calls.S does the same. */
enum { FAR_RECORDS = 33 }; /* low bits differ from the record's: no false conflicts in the CPU */
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
    const uint32_t at =
        atomic_load_explicit(&shared->keep_of.values[function], memory_order_relaxed) &
        PROBE_VALUES_PLACE;
    return at && at < PROBE_VALUE_ROOM - PROBE_PIECES - PROBE_BINDINGS - 1
               ? (const struct probe_values *)&shared->keep.values[at]
               : NULL;
}

static inline uint64_t rules_in_force(uint32_t function)
{
    const struct probe_shared *shared = probe_inside.shared;
    return atomic_load(&shared->keep_of.masks[function]) & ~atomic_load(&shared->keep.resting);
}

static inline uint32_t place_of(const struct probe_values *values)
{
    return (uint32_t)((const uint64_t *)values - probe_inside.shared->keep.values);
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

static inline void save_words(const struct record *record, uint32_t function,
                              const struct probe_saved *saved)
{
    const struct probe_values *values = values_of(function);
    uint64_t *words = words_of(record);
    for (int i = 0; i < PROBE_WORDS && values; i++)
        words[i] = entry_word(values->words[i], record->slot, saved);
}

/* == Memory == */

/* Whether a second's budget allows a system call. */
static inline bool may_read(const struct thread *thread, uint64_t now)
{
    struct probe_keep *keep = &probe_inside.shared->keep;
    _Atomic uint64_t *lately =
        valued_of(thread)->reads_early ? &keep->early_lately : &keep->pieces_lately;
    const uint64_t most = atomic_load_explicit(&keep->pieces_most, memory_order_relaxed),
                   before = atomic_load_explicit(lately, memory_order_relaxed),
                   after = probe_keep_count(keep, before, now);
    if ((uint32_t)after > most)
        return false;
    atomic_store_explicit(lately, after, memory_order_relaxed); /* approximate */
    return true;
}

/* A function with that frame runs on the thread's own stack, whose end varies: a coroutine's may be
 * right below. */
static inline bool is_in_own_stack(const struct thread *thread, uint64_t frame)
{
    const uint64_t bottom = probe_stack_bottom(probe_own_thread());
    return bottom ? frame >= bottom && frame < thread->high : is_own(thread, frame);
}

/* Copies up to a missing page; on the thread's own running stack without a system call. Returns the
 * bytes copied; -1: not allowed now. */
static inline int64_t read_memory(const struct thread *thread, void *to, uint64_t from,
                                  uint64_t size, uint64_t now)
{
    enum { PAGE = 4096 };
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (!size)
        return 0;
    if (from >= here && from < thread->high && size <= thread->high - from &&
        is_in_own_stack(thread, here)) {
        for (uint64_t i = 0; i < size; i++)
            ((uint8_t *)to)[i] = ((const volatile uint8_t *)(uintptr_t)from)[i];
        return (int64_t)size;
    }
    if (!may_read(thread, now))
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

struct piece_words {
    const uint64_t *words;
    bool has_words, has_result;
    uint64_t slot; /* the call's frame is not below it, where probes run; 0: it is */
    uint64_t cursor;
    uint16_t cursor_problem; /* why it is unknown, or 0 */
};

/* The address is in a frame that has ended or not begun: a probe has written there. */
static inline bool is_gone(const struct thread *thread, uint64_t slot, uint64_t address)
{
    enum { NEAR = 1 << 16 };
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0),
                   bottom = is_own(thread, slot) ? probe_stack_bottom(probe_own_thread()) : 0;
    return address < slot && (bottom ? address >= bottom : slot - here < NEAR && address >= here);
}

/* As read_memory(). */
static inline int64_t read_piece(const struct thread *thread, const struct piece_words *of,
                                 void *to, uint64_t from, uint64_t size, uint64_t now)
{
    return is_gone(thread, of->slot, from) ? 0 : read_memory(thread, to, from, size, now);
}

/* Returns 0, PROBE_PIECE_NOT_READ or PROBE_PIECE_UNREADABLE. */
static inline uint16_t read_word(const struct thread *thread, const struct piece_words *of,
                                 uint64_t *word, uint64_t from, uint64_t now)
{
    const int64_t got = read_piece(thread, of, word, from, sizeof *word, now);
    return got == sizeof *word ? 0 : got < 0 ? PROBE_PIECE_NOT_READ : PROBE_PIECE_UNREADABLE;
}

static inline uint16_t follow(const struct thread *thread, const struct piece_words *of,
                              uint64_t *address, const int8_t *offsets, unsigned count,
                              uint64_t now)
{
    uint16_t problem = 0;
    for (unsigned i = 0; i < count && !problem; i++)
        problem = read_word(thread, of, address, *address + (uint64_t)(int64_t)offsets[i], now);
    return problem;
}

static inline uint16_t word_of(const struct piece_words *of, const struct probe_piece *piece,
                               uint64_t *word)
{
    const bool is_cursor = piece->word == PROBE_WORD_CURSOR;
    if (!is_cursor && piece->word >= PROBE_WORDS_ALL)
        return PROBE_PIECE_UNREADABLE;
    *word = is_cursor ? of->cursor : of->words[piece->word];
    return is_cursor                                                      ? of->cursor_problem
           : (piece->word < PROBE_WORDS ? of->has_words : of->has_result) ? 0
                                                                          : PROBE_PIECE_UNREADABLE;
}

static inline uint16_t find_piece(const struct thread *thread, const struct probe_piece *piece,
                                  const struct piece_words *of, uint64_t word, uint64_t now,
                                  uint64_t *from, uint64_t *size)
{
    static const int8_t once[] = {0}, by_table[] = {0, -8, 8};
    uint64_t length = piece->size;
    const bool is_counted = piece->kind == PROBE_PIECE_COUNTED,
               is_long = piece->kind == PROBE_PIECE_LONG_AT;
    *from = word + piece->at;
    if (is_counted)
        length = of->words[piece->length % PROBE_WORDS_ALL];
    const uint16_t problem =
        is_long ? read_word(thread, of, &length, word + piece->length, now) : 0;
    if (problem)
        return problem;
    *size = length < piece->size ? length : piece->size;
    if (is_long || piece->kind == PROBE_PIECE_TEXT_AT)
        return follow(thread, of, from, once, 1, now);
    return piece->kind == PROBE_PIECE_CLASS ? follow(thread, of, from, by_table, 3, now) : 0;
}

/* Returns a length, perhaps with PROBE_PIECE_CUT, or a reason. */
static inline uint16_t copy_piece(const struct thread *thread, const struct probe_piece *piece,
                                  const struct piece_words *of, uint64_t now, uint8_t *to,
                                  uint64_t room)
{
    uint64_t from, size, length = 0, word;
    uint16_t problem = word_of(of, piece, &word);
    if (!problem)
        problem = find_piece(thread, piece, of, word, now, &from, &size);
    if (problem)
        return problem;
    const uint64_t most = size < room ? size : room;
    const int64_t got = most || !size ? read_piece(thread, of, to, from, most, now) : -1;
    if (got < 0)
        return PROBE_PIECE_NOT_READ;
    if (!got && size)
        return PROBE_PIECE_UNREADABLE;
    const bool is_text = piece->kind == PROBE_PIECE_TEXT || piece->kind == PROBE_PIECE_TEXT_AT ||
                         piece->kind == PROBE_PIECE_CLASS;
    while (length < (uint64_t)got && (!is_text || to[length]))
        length++;
    return (uint16_t)(length | (length == most && most < size ? PROBE_PIECE_CUT : 0));
}

static inline void take_step(const struct thread *thread, const struct probe_piece *piece,
                             struct piece_words *of, uint64_t now)
{
    uint64_t word;
    if (piece->kind == PROBE_PIECE_PLACE) {
        __builtin_memcpy(&of->cursor, piece + 1, sizeof of->cursor);
        of->cursor_problem = 0;
        return;
    }
    of->cursor_problem = word_of(of, piece, &word);
    if (of->cursor_problem)
        return;
    of->cursor_problem = read_word(thread, of, &of->cursor, word + piece->at, now);
}

/* Every piece has a length or a reason. Returns the bytes written. */
static inline uint32_t copy_pieces(const struct thread *thread, const struct probe_values *values,
                                   uint32_t first, uint32_t end, struct piece_words *of,
                                   uint64_t now, uint8_t *to, uint32_t room)
{
    const struct probe_piece *pieces = (const struct probe_piece *)(values + 1);
    uint32_t used = 0, left = room - 2 * (end - first);
    of->cursor_problem = PROBE_PIECE_UNREADABLE;
    for (uint32_t i = first; i < end; i++) {
        if (pieces[i].kind >= PROBE_PIECE_PLACE) {
            take_step(thread, &pieces[i], of, now);
            i += pieces[i].kind == PROBE_PIECE_PLACE;
            continue;
        }
        const uint16_t length = copy_piece(thread, &pieces[i], of, now, to + used + 2, left);
        const uint32_t bytes = length < PROBE_PIECE_ABSENT ? length & (PROBE_PIECE_CUT - 1u) : 0;
        to[used] = (uint8_t)length;
        to[used + 1] = (uint8_t)(length >> 8);
        used += 2 + bytes;
        left -= bytes;
    }
    return used;
}

/* == Pieces at the entry == */

static inline uint32_t early_count(const struct probe_values *values)
{
    return values->early < PROBE_PIECES ? values->early : PROBE_PIECES;
}

static inline uint32_t put_early(const struct thread *thread, const struct record *record,
                                 const struct probe_values *values, uint64_t begin, uint8_t *to)
{
    const uint64_t slot = record->slot & ~(uint64_t)POINT;
    const struct early *found = NULL;
    uint32_t used = 0;
    for (uint32_t i = 0; i < EARLY_PLACES && !found && values->early; i++) {
        const struct early *one = early_of(thread, i);
        found =
            one->slot == slot && one->begin == begin && one->place == place_of(values) ? one : NULL;
    }
    if (found && found->bytes <= PROBE_EARLY_BYTES)
        for (; used < found->bytes; used++)
            to[used] = found->pieces[used];
    else if (values->early) { /* every piece, to keep positions */
        const struct probe_piece *pieces = (const struct probe_piece *)(values + 1);
        for (uint32_t i = 0; i < early_count(values); i++) {
            if (pieces[i].kind >= PROBE_PIECE_PLACE) {
                i += pieces[i].kind == PROBE_PIECE_PLACE;
                continue;
            }
            to[used++] = (uint8_t)PROBE_PIECE_NOT_SAVED;
            to[used++] = (uint8_t)(PROBE_PIECE_NOT_SAVED >> 8);
        }
    }
    return used;
}

static inline uint16_t error_now(void)
{
    const int64_t at = probe_inside.error_at;
    uint32_t error = PROBE_NO_ERROR;
    if (at)
        __asm__ volatile("movl %%fs:(%1), %0" : "=r"(error) : "r"(at));
    return error < PROBE_NO_ERROR ? (uint16_t)error : PROBE_NO_ERROR;
}

static inline void take_words(const struct record *record, enum probe_exit exit, bool has_words,
                              struct probe_kept_values *kept)
{
    enum { RAX = -3, RDX = -5 }; /* words from the slot, saved by probe_leave */
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
    if (of->number == PROBE_UNSIGNED && number < 0) /* above any bound */
        return test->high == INT64_MAX;
    return number >= test->low && number <= test->high;
}

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
