/* Rules that choose the traced calls to keep (`--keep`), and what the agent writes into threads'
 * rings about kept calls. */
#ifndef SPROF_AGENT_PROBE_KEEP_H
#define SPROF_AGENT_PROBE_KEEP_H

#include "agent/probe_ring.h"

enum { PROBE_KEEP_RULES = 64, PROBE_KEEP_SLOWEST = 16, PROBE_KEEP_TESTS = 4 };

/* A range of values. Floating-point bounds are in the order of probe_order_of_double. */
struct probe_keep_test {
    int64_t low, high; /* INT64_MIN, INT64_MAX: no bound */
    int64_t low_single, high_single, low_double, high_double;
    uint64_t is_outside;
};

/* A call meets a rule if it meets all conditions; `every`, `first` and `next` are checked last, in
 * this order. The tracer writes the first part before "go" or before a function has the rule, the
 * agent the second. */
struct probe_keep_rule {
    int64_t over, self;     /* ticks, at least; INT64_MIN: any */
    uint64_t every;         /* each so-many-th of the calls that meet the rest; 0: all */
    uint64_t first;         /* so many a second of these; 0: all */
    uint32_t throws;        /* left by an exception */
    uint32_t slowest;       /* among the function's so many longest so far; 0: all */
    uint32_t test_count;    /* of values, where the function has a probe_binding */
    uint16_t waits;         /* PROBE_KEEP_NEXT restarts `next` */
    uint16_t rests_by_load; /* only the tracer lets it rest */
    uint64_t since;         /* earlier calls do not meet it: some lack words for its tests */
    uint64_t next;          /* so many of these; 0: all */
    struct probe_keep_test tests[PROBE_KEEP_TESTS];

    _Atomic uint64_t seen;    /* calls counted for `every` */
    _Atomic uint64_t taken;   /* for `next`: number of the start << 32 | calls */
    _Atomic uint64_t lately;  /* for `first`: the second << 32 | calls in it */
    _Atomic uint64_t dropped; /* no room in the ring */
};

/* The last ticks at which a rule with `waits` started. Calls begun between a start and the next
 * belong to the first, even if counted later. */
enum { PROBE_KEEP_STARTS = 16 };
struct probe_keep_starts {
    _Atomic uint64_t count, ticks[PROBE_KEEP_STARTS];
};

/* Decides fast (calls.S) which calls meet no rule: those shorter than `least`, unless a value is in
 * the range: (value << shift) - low <= span, unsigned. */
struct probe_keep_quick {
    _Atomic int64_t least; /* ticks; the agent raises it; INT64_MIN: others change */
    uint64_t low, span;
    uint8_t shift;
    uint8_t word; /* of the call, plus 1; 0: no range */
    /* If not 0: all other calls meet the only rule. A kept call takes so many units, without
     * pieces. */
    uint8_t units;
    uint8_t rule; /* the only one, or the one with the range */
    /* Twice how often `least` was set for all calls; plus 1 if the agent has raised it. */
    _Atomic uint32_t lowered;
};
_Static_assert(sizeof(struct probe_keep_quick) == 32, "calls.S");

/* A `least` for all calls, different from all before: a thread that raises an old one must not
 * replace it. */
static inline int64_t probe_keep_lowest(struct probe_keep_quick *quick)
{
    return INT64_MIN + 1 + (int64_t)(atomic_fetch_add(&quick->lowered, 2) >> 1);
}

/* Ticks of a function's longest calls so far, unordered; 0: none. As many are used as its rules
 * need. */
struct probe_slowest {
    _Atomic int64_t ticks[PROBE_KEEP_SLOWEST];
};

/* == Values == */

/* Words of a call: arguments at the entry, results. */
enum {
    PROBE_WORDS = 6,
    PROBE_WORD_RAX = PROBE_WORDS,
    PROBE_WORD_RDX,
    PROBE_WORD_XMM0,
    PROBE_WORD_XMM1,
    PROBE_WORDS_ALL,
    PROBE_WORD_ERROR = PROBE_WORDS_ALL, /* errno at the return; only for tests */
    PROBE_WORD_CURSOR,                  /* the address reached by a path; only for pieces */
};
enum { PROBE_NO_ERROR = 0xffff };

/* Where an argument's word is at the entry; 0: nowhere. Add a number: rdi, rsi, rdx, rcx, r8, r9;
 * xmm0 to xmm7; words above the return address. */
enum probe_word {
    PROBE_WORD_INTEGER = 1,
    PROBE_WORD_VECTOR = PROBE_WORD_INTEGER + 6,
    PROBE_WORD_STACK = PROBE_WORD_VECTOR + 8,
    PROBE_WORD_END = 64,
};

/* Memory copied when a call is kept. `word` holds an address. */
enum probe_piece_kind {
    PROBE_PIECE_BYTES = 1, /* `size` at word + at */
    PROBE_PIECE_TEXT,      /* at word + at, up to NUL or `size` */
    PROBE_PIECE_TEXT_AT,   /* the same at the address in word + at */
    PROBE_PIECE_LONG_AT,   /* at the address in word + at; as many as at word + length */
    PROBE_PIECE_COUNTED,   /* at word + at; as many as the word `length` */
    PROBE_PIECE_CLASS, /* mangled class of the object at word + at, by virtual table and type_info
                          (Itanium C++ ABI 2.9.4) */
    /* Steps of a path; nothing is written: */
    PROBE_PIECE_PLACE,  /* cursor = address in the next item */
    PROBE_PIECE_FOLLOW, /* cursor = what is at word + at */
};
struct probe_piece {
    uint8_t kind; /* enum probe_piece_kind */
    uint8_t word;
    uint16_t at, length, size;
};

/* What is noted of a function's values. Pieces, then bindings follow. */
struct probe_values {
    uint8_t words[PROBE_WORDS];
    uint8_t pieces;
    uint8_t bindings;
    uint8_t early; /* how many of the first pieces are copied at the entry */
    uint8_t reserved[7];
};

/* The value that a rule's test compares. */
enum probe_number { PROBE_SIGNED = 1, PROBE_UNSIGNED, PROBE_SINGLE, PROBE_DOUBLE };
struct probe_binding {
    uint8_t rule, test, word;
    uint8_t number; /* enum probe_number */
    uint8_t bytes;  /* 1 to 8 */
    uint8_t reserved[3];
};
enum {
    PROBE_PIECES = 64, /* of a function */
    PROBE_BINDINGS = 64,
    PROBE_VALUE_ROOM = 1 << 18, /* of 8 bytes, for the structs of all functions; 0: unused */
};

/* Bits of a floating-point number as an integer of the same order. */
static inline int64_t probe_order_of_double(uint64_t bits)
{
    return bits == UINT64_C(1) << 63 ? 0 : (int64_t)(bits ^ (bits >> 63 ? (uint64_t)INT64_MAX : 0));
}
static inline int64_t probe_order_of_single(uint32_t bits)
{
    return bits == UINT32_C(1) << 31 ? 0 : (int32_t)(bits ^ (bits >> 31 ? (uint32_t)INT32_MAX : 0));
}

/* In `keep_of.values` of a function: the index of its struct probe_values (0: none), and flags.
 * CHOSEN: words other than the six integer registers, or pieces copied at the entry. */
#define PROBE_VALUES_CHOSEN (UINT32_C(1) << 31)
/* WORDS: argument words are saved at the entry. HIDDEN: values are compared only, not shown. */
#define PROBE_VALUES_WORDS (UINT32_C(1) << 30)
#define PROBE_VALUES_HIDDEN (UINT32_C(1) << 29)
/* REQUEST: a value is the call's request, so it is also written when the open call gets a number.
 */
#define PROBE_VALUES_REQUEST (UINT32_C(1) << 28)
#define PROBE_VALUES_PLACE (PROBE_VALUES_REQUEST - 1)

/* Behind struct probe_kept. Pieces follow: 16-bit length and bytes. */
struct probe_kept_values {
    uint64_t words[PROBE_WORDS_ALL];
    uint32_t bytes; /* of pieces */
    uint16_t has_words;
    uint16_t has_result;
    uint16_t type_bytes, text_bytes; /* follow the pieces: the exception that left the call */
    uint8_t has_text;
    uint8_t language; /* enum probe_language */
    uint16_t error;   /* at the return; PROBE_NO_ERROR: unknown */
};
/* Language of an exception's names. */
enum probe_language { PROBE_CXX, PROBE_RUST, PROBE_ADA };
enum {
    PROBE_VALUES_UNITS = 3,
    PROBE_EARLY_BYTES = 1000,  /* pieces copied at the entry, of a call */
    PROBE_PIECES_BYTES = 8192, /* all */
    PROBE_PIECES_USUAL = 2048, /* unless struct probe_keep has more */
    PROBE_VALUED_UNITS = PROBE_VALUES_UNITS + PROBE_PIECES_BYTES / PROBE_UNIT_BYTES,
    PROBE_PIECE_UNREADABLE = 0xffff,
    PROBE_PIECE_NOT_READ = 0xfffe,  /* the second's budget is spent, or reading is forbidden */
    PROBE_PIECE_NOT_SAVED = 0xfffd, /* at the entry */
    PROBE_PIECE_ABSENT = PROBE_PIECE_NOT_SAVED, /* without bytes, from here on */
    PROBE_PIECE_CUT = 0x8000,                   /* flag of a length: no room for more */
};
_Static_assert(sizeof(struct probe_kept_values) == PROBE_VALUES_UNITS * PROBE_UNIT_BYTES, "units");

/* Of a kept call without values. */
enum { PROBE_KEPT_UNITS = 2 };

/* The program's remark on its calls (<sprof.h>), in a kept call's units (PROBE_LOG_ONLY). Text
 * units follow, key first. */
enum probe_remark_kind {
    PROBE_REQUEST = 1, /* the thread now works for request `value`, labelled `text`; 0: for none */
    PROBE_REQUEST_END,
    PROBE_NOTE,        /* innermost call: `key` is `text` */
    PROBE_NOTE_NUMBER, /* the same: `key` is `value` */
    PROBE_CALL_ID,     /* `value` was returned as the innermost call's id */
    PROBE_KEEP_NEXT,   /* starts `next` of rules with `waits`; nothing is written */
};
struct probe_remark {
    uint64_t header; /* depth: units that follow */
    uint64_t time;   /* ticks */
    uint64_t kind, value;
    uint64_t begin;            /* ticks, of the innermost call; 0: none */
    uint32_t function, number; /* the same call's; number 0: not needed */
    uint16_t key_bytes, text_bytes;
    uint32_t reserved;
    uint64_t padding;
};
enum { PROBE_KEY_BYTES = 64, PROBE_TEXT_BYTES = 256 };
_Static_assert(sizeof(struct probe_remark) == PROBE_KEPT_UNITS * PROBE_UNIT_BYTES, "units");

struct probe_keep {
    uint64_t second_ticks; /* tracer: ticks in a second */
    /* Agent: ends of callers without room, and calls whose callers had none, or not all. */
    _Atomic uint64_t lost, cut;
    /* Tracer: pieces that system calls may read in a second; 0: none, e.g. where a filter might
     * kill the program for it. Agent: second << 32 | pieces read, at ends and at entries. */
    _Atomic uint64_t pieces_most, pieces_lately, early_lately;
    uint64_t pieces_bytes;        /* tracer: at most, of a call; or PROBE_PIECES_USUAL */
    _Atomic uint64_t resting;     /* a bit for each rule that no call meets now */
    _Atomic uint64_t is_filtered; /* agent: the program is about to filter its system calls */
    struct probe_keep_rule rules[PROBE_KEEP_RULES];
    struct probe_keep_starts starts[PROBE_KEEP_RULES];
    uint64_t values[PROBE_VALUE_ROOM]; /* tracer: struct probe_values and pieces */
};

/* Counts one more at `now` ticks; `before` is a second << 32 | how many in it. A thread may have
 * read the clock just before a second ended, and count only when others are in the next: it counts
 * there. Else both would begin their seconds again and again. */
static inline uint64_t probe_keep_count(const struct probe_keep *keep, uint64_t before,
                                        uint64_t now)
{
    const uint32_t second = (uint32_t)(keep->second_ticks ? now / keep->second_ticks : now);
    return (int32_t)(second - (uint32_t)(before >> 32)) > 0 ? (uint64_t)second << 32 | 1
                                                            : before + 1;
}

/* Lets a rule that is not at rest take the next calls that begin at `ticks` or later. */
static inline void probe_keep_start(struct probe_keep *keep, uint32_t number, uint64_t ticks)
{
    struct probe_keep_starts *starts = &keep->starts[number];
    struct probe_keep_rule *rule = &keep->rules[number];
    const uint64_t count = atomic_fetch_add(&starts->count, 1);
    atomic_store(&starts->ticks[count % PROBE_KEEP_STARTS], ticks);
    rule->since = ticks;
    atomic_store(&rule->taken, (count + 1) << 32); /* last: see takes_call() */
}

/* A kept call that ended (PROBE_LOG_END), or its open caller, whose end follows (PROBE_LOG_BEGIN).
 * Two units of a ring, and those of values; open calls have values with PROBE_VALUES_REQUEST. */
struct probe_kept {
    uint64_t header;     /* depth: units of values that follow */
    uint64_t begin, end; /* ticks; end 0: open */
    int64_t total, self; /* as in the figures */
    uint32_t number;     /* in its thread, from 1 */
    uint32_t caller;     /* the caller's number; 0: none or unknown */
    uint64_t rules;      /* that it met, a bit each; 0: only a caller */
    uint16_t is_apart;   /* its coroutine was suspended meanwhile; the caller is unknown */
    uint16_t depth;      /* in the log; 0: it is not there */
    uint32_t place;      /* index of the struct probe_values of its pieces; 0: none */
};
_Static_assert(sizeof(struct probe_kept) == PROBE_KEPT_UNITS * PROBE_UNIT_BYTES, "units");

/* Units that follow from a header, in a ring with kept calls. Room taken and never filled is filled
 * unit by unit. */
static inline uint32_t probe_kept_units(uint64_t header)
{
    if (PROBE_LOG_FUNCTION(header) == PROBE_LOG_NOBODY)
        return 1;
    return PROBE_LOG_IS_BESIDE(header) ? PROBE_LOG_KIND(header) == PROBE_LOG_END ? 1 : 2
                                       : PROBE_KEPT_UNITS + PROBE_LOG_DEPTH(header);
}

#endif
