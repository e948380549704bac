/* How the tracing agent keeps calls that rules choose (`--keep`): the rules, and what threads write
 * into their rings about the calls that they keep. */
#ifndef SPROF_AGENT_PROBE_KEEP_H
#define SPROF_AGENT_PROBE_KEEP_H

#include "agent/probe_ring.h"

enum { PROBE_KEEP_RULES = 64, PROBE_KEEP_SLOWEST = 16, PROBE_KEEP_TESTS = 4 };

/* Whether a value lies in a range, or outside. Floating-point numbers are compared as integers in
 * the same order: see probe_order_of_double. */
struct probe_keep_test {
    int64_t low, high; /* integers; INT64_MIN, INT64_MAX: no bound */
    int64_t low_single, high_single, low_double, high_double;
    uint64_t is_outside;
};

/* A call meets a rule that meets all of its conditions. The tracer writes the first part before
 * "go" or before a function has the rule, the agent the second. */
struct probe_keep_rule {
    int64_t over, self;     /* ticks, at least; INT64_MIN: any */
    uint64_t every;         /* of the calls that meet all before, each so-many-th; 0: all */
    uint64_t first;         /* of the calls that meet all before, so many in a second; 0: all */
    uint32_t throws;        /* it was left by an exception */
    uint32_t slowest;       /* it is among so many longest ones of its function so far; 0: all */
    uint32_t test_count;    /* of its values, where the function has them: probe_binding */
    uint16_t waits;         /* the program can begin `next` again (PROBE_KEEP_NEXT) */
    uint16_t rests_by_load; /* the tracer alone lets it rest */
    uint64_t since; /* calls that began before do not meet it: some have no words for its tests */
    uint64_t next;  /* so many that meet all before, and no more; 0: all */
    struct probe_keep_test tests[PROBE_KEEP_TESTS];

    _Atomic uint64_t seen;    /* calls that were counted for `every` */
    _Atomic uint64_t taken;   /* the same for `next`: number of the start << 32 | calls */
    _Atomic uint64_t lately;  /* for `first`: the second << 32 | how many of it */
    _Atomic uint64_t dropped; /* calls that met it and found no room in their ring */
};

/* The last ticks at which a rule with `waits` began to take calls. Calls that begin afterwards and
 * before the next one belong to it, also where the tracer counts them later. */
enum { PROBE_KEEP_STARTS = 16 };
struct probe_keep_starts {
    _Atomic uint64_t count, ticks[PROBE_KEEP_STARTS];
};

/* Which calls of a function meet no rule, by few instructions (calls.S): those that are shorter
 * than `least`, unless a value is in a range, as (value << shift) - low <= span without signs. */
struct probe_keep_quick {
    _Atomic int64_t least; /* ticks; the tracer's, or the agent's, which raises it; INT64_MIN: the
                              tracer changes the rest */
    uint64_t low, span;
    uint8_t shift;
    uint8_t word; /* one more than the value's word of a call; 0: there is no range */
    /* The others meet its only rule, and so many units say what is kept of them, without pieces of
     * memory. 0: that is not all. */
    uint8_t units;
    uint8_t rule; /* number of that rule; or of the one with the range */
    /* Twice how often all calls were long enough; plus 1 if the agent has raised `least`. */
    _Atomic uint32_t lowered;
};
_Static_assert(sizeof(struct probe_keep_quick) == 32, "calls.S");

/* Returns a `least` for all calls. It differs from all before: a thread that raises an old one
 * must not replace it. */
static inline int64_t probe_keep_lowest(struct probe_keep_quick *quick)
{
    return INT64_MIN + 1 + (int64_t)(atomic_fetch_add(&quick->lowered, 2) >> 1);
}

/* The ticks of the longest calls of a function so far, in no order; 0: none yet. Calls are noted
 * where a rule for the function needs them, so many as the rule with the most does. */
struct probe_slowest {
    _Atomic int64_t ticks[PROBE_KEEP_SLOWEST];
};

/* == Values == */

/* Words of a call: of its arguments, saved at the entry; of its result. */
enum {
    PROBE_WORDS = 6,
    PROBE_WORD_RAX = PROBE_WORDS, /* then rdx, xmm0, xmm1 */
    PROBE_WORD_RDX,
    PROBE_WORD_XMM0,
    PROBE_WORD_XMM1,
    PROBE_WORDS_ALL,
    PROBE_WORD_ERROR = PROBE_WORDS_ALL, /* errno when it returns; of tests alone */
    PROBE_WORD_CURSOR,                  /* where the last step of a path has led; of pieces alone */
};
enum { PROBE_NO_ERROR = 0xffff };

/* Where a word of arguments is at the entry: 0: nowhere; or one of these, plus a number: rdi, rsi,
 * rdx, rcx, r8, r9; xmm0 to xmm7; words above the return address. */
enum probe_word {
    PROBE_WORD_INTEGER = 1,
    PROBE_WORD_VECTOR = PROBE_WORD_INTEGER + 6,
    PROBE_WORD_STACK = PROBE_WORD_VECTOR + 8,
    PROBE_WORD_END = 64,
};

/* A piece of memory that is copied when a call is kept, as it is then. `word` is one that has an
 * address. */
enum probe_piece_kind {
    PROBE_PIECE_BYTES = 1, /* `size` bytes at word + at */
    PROBE_PIECE_TEXT,      /* at word + at, up to a NUL, at most `size` */
    PROBE_PIECE_TEXT_AT,   /* the same at the address that stands at word + at */
    PROBE_PIECE_LONG_AT, /* at the address that stands at word + at, so many as at word + length */
    PROBE_PIECE_COUNTED, /* at word + at, so many as the word `length` says */
    PROBE_PIECE_CLASS,   /* the mangled name of the class of the object at word + at, by its
                            virtual table and type_info (Itanium C++ ABI, section 2.9.4) */
    /* Steps of a path, of which nothing is written: */
    PROBE_PIECE_PLACE,  /* the cursor is the address that stands in place of the next piece */
    PROBE_PIECE_FOLLOW, /* … is what stands at word + at */
};
struct probe_piece {
    uint8_t kind; /* enum probe_piece_kind */
    uint8_t word;
    uint16_t at, length, size;
};

/* What is noted of the values of a function's calls. Pieces follow. */
struct probe_values {
    uint8_t words[PROBE_WORDS]; /* enum probe_word */
    uint8_t pieces;
    uint8_t bindings; /* behind the pieces */
    uint8_t early;    /* so many pieces, the first ones, are copied when the call begins */
    uint8_t reserved[7];
};

/* Which value of a function a test of a rule is about. */
enum probe_number { PROBE_SIGNED = 1, PROBE_UNSIGNED, PROBE_SINGLE, PROBE_DOUBLE };
struct probe_binding {
    uint8_t rule, test, word;
    uint8_t number; /* enum probe_number */
    uint8_t bytes;  /* from 1 to 8 */
    uint8_t reserved[3];
};
enum {
    PROBE_PIECES = 64,          /* of a function, at most */
    PROBE_BINDINGS = 64,        /* the same */
    PROBE_VALUE_ROOM = 1 << 18, /* of 8 bytes: those structs of all functions; the first stays
                                   free */
};

/* The bits of floating-point numbers, as integers in the order of the numbers. */
static inline int64_t probe_order_of_double(uint64_t bits)
{
    return bits == UINT64_C(1) << 63 ? 0 : (int64_t)(bits ^ (bits >> 63 ? (uint64_t)INT64_MAX : 0));
}
static inline int64_t probe_order_of_single(uint32_t bits)
{
    return bits == UINT32_C(1) << 31 ? 0 : (int32_t)(bits ^ (bits >> 31 ? (uint32_t)INT32_MAX : 0));
}

/* `keep_of.values` of a function: the place of its struct probe_values; 0: none. With this bit its
 * words are not just the six registers of integers, or pieces are copied at the entry. */
#define PROBE_VALUES_CHOSEN (UINT32_C(1) << 31)
/* … with this bit words of arguments are saved at the entry, and with the next one the values are
 * only compared, not shown. */
#define PROBE_VALUES_WORDS (UINT32_C(1) << 30)
#define PROBE_VALUES_HIDDEN (UINT32_C(1) << 29)
/* … with this bit they are also written when an open call gets a number: one is its request. */
#define PROBE_VALUES_REQUEST (UINT32_C(1) << 28)
#define PROBE_VALUES_PLACE (PROBE_VALUES_REQUEST - 1)

/* The values of a kept call, behind struct probe_kept. Pieces follow, each as its length, two
 * bytes, and as many bytes. */
struct probe_kept_values {
    uint64_t words[PROBE_WORDS_ALL];
    uint32_t bytes;     /* of pieces */
    uint16_t has_words; /* of arguments … */
    uint16_t has_result;
    uint16_t type_bytes, text_bytes; /* behind the pieces: of an exception that left the call */
    uint8_t has_text;
    uint8_t language; /* enum probe_language: of the exception */
    uint16_t error;   /* errno when it returned; PROBE_NO_ERROR: not known */
};
/* How names of exceptions are written. */
enum probe_language { PROBE_CXX, PROBE_RUST, PROBE_ADA };
enum {
    PROBE_VALUES_UNITS = 3,
    PROBE_EARLY_BYTES = 1000,  /* of a call, at most: pieces that are copied when it begins */
    PROBE_PIECES_BYTES = 8192, /* … all */
    PROBE_PIECES_USUAL = 2048, /* … unless struct probe_keep has more */
    PROBE_VALUED_UNITS = PROBE_VALUES_UNITS + PROBE_PIECES_BYTES / PROBE_UNIT_BYTES,
    PROBE_PIECE_UNREADABLE = 0xffff,
    PROBE_PIECE_NOT_READ = 0xfffe,  /* the budget of the second was spent, or it must not be read */
    PROBE_PIECE_NOT_SAVED = 0xfffd, /* at the beginning of the call */
    PROBE_PIECE_ABSENT = PROBE_PIECE_NOT_SAVED, /* from here on: there are no bytes */
    PROBE_PIECE_CUT = 0x8000, /* a bit of other lengths: there was no room for more of it */
};
_Static_assert(sizeof(struct probe_kept_values) == PROBE_VALUES_UNITS * PROBE_UNIT_BYTES, "units");

/* Of a kept call, without its values. */
enum { PROBE_KEPT_UNITS = 2 };

/* What the program says of its calls by <sprof.h>, in the units of a kept call (PROBE_LOG_ONLY).
 * Units of texts follow, the key first. */
enum probe_remark_kind {
    PROBE_REQUEST = 1, /* the thread works for the request `value` from now on, labelled `text`; 0:
                          for none */
    PROBE_REQUEST_END, /* that of the thread has ended */
    PROBE_NOTE,        /* of the innermost call: `key` is `text` */
    PROBE_NOTE_NUMBER, /* … is `value` */
    PROBE_CALL_ID,     /* the program was given `value` as the innermost call's id */
    PROBE_KEEP_NEXT,   /* rules with `waits` take the next call; nothing is written */
};
struct probe_remark {
    uint64_t header; /* its depth is how many units follow */
    uint64_t time;   /* ticks */
    uint64_t kind, value;
    uint64_t begin;            /* ticks, of the innermost call; 0: none was open */
    uint32_t function, number; /* the same call's; number 0: it was not needed */
    uint16_t key_bytes, text_bytes;
    uint32_t reserved;
    uint64_t padding;
};
enum { PROBE_KEY_BYTES = 64, PROBE_TEXT_BYTES = 256 };
_Static_assert(sizeof(struct probe_remark) == PROBE_KEPT_UNITS * PROBE_UNIT_BYTES, "units");

struct probe_keep {
    uint64_t second_ticks; /* the tracer's: length of a second */
    _Atomic uint64_t lost; /* the agent's: ends of callers without room */
    /* The tracer's: pieces that may be read in a second by system calls; 0: none, as where a filter
     * might kill the program for that. The agent's: second << 32 | how many were, when calls ended
     * and when they began. */
    _Atomic uint64_t pieces_most, pieces_lately, early_lately;
    uint64_t pieces_bytes;        /* the tracer's: of a call, at most; or PROBE_PIECES_USUAL */
    _Atomic uint64_t resting;     /* rules that no call meets now, a bit each */
    _Atomic uint64_t is_filtered; /* the agent's: the program is about to filter its system calls */
    struct probe_keep_rule rules[PROBE_KEEP_RULES];
    struct probe_keep_starts starts[PROBE_KEEP_RULES];
    uint64_t values[PROBE_VALUE_ROOM]; /* the tracer's: struct probe_values and pieces */
};

/* A rule that does not rest takes the next calls that begin at these ticks or later. */
static inline void probe_keep_start(struct probe_keep *keep, uint32_t number, uint64_t ticks)
{
    struct probe_keep_starts *starts = &keep->starts[number];
    struct probe_keep_rule *rule = &keep->rules[number];
    const uint64_t count = atomic_fetch_add(&starts->count, 1);
    atomic_store(&starts->ticks[count % PROBE_KEEP_STARTS], ticks);
    rule->since = ticks;
    atomic_store(&rule->taken, (count + 1) << 32); /* last: see takes_call() */
}

/* A kept call that has ended (PROBE_LOG_END); or one that is open, as the caller of a kept one
 * (PROBE_LOG_BEGIN), whose end follows. Each takes two units of a ring, and those of its values,
 * which open calls have with PROBE_VALUES_REQUEST. */
struct probe_kept {
    uint64_t header;     /* its depth is how many units of values follow */
    uint64_t begin, end; /* ticks; end 0: it is open */
    int64_t total, self; /* as in the figures */
    uint32_t number;     /* of the call in its thread, from 1 */
    uint32_t caller;     /* the same of its caller; 0: none, or not known */
    uint64_t rules;      /* that it met, a bit each; 0: it is the caller of a kept call */
    uint32_t is_apart;   /* its coroutine was suspended meanwhile, and its caller is not known */
    uint32_t place;      /* of the struct probe_values by which pieces were written; 0: none were */
};
_Static_assert(sizeof(struct probe_kept) == PROBE_KEPT_UNITS * PROBE_UNIT_BYTES, "units");

/* The units that begin with a header. Room that was taken and never filled is filled one by one. */
static inline uint32_t probe_kept_units(uint64_t header)
{
    return PROBE_LOG_FUNCTION(header) == PROBE_LOG_NOBODY
               ? 1
               : PROBE_KEPT_UNITS + PROBE_LOG_DEPTH(header);
}

#endif
