/* Values of kept calls (`--args`). The agent copies words and memory; debug information gives their
 * meaning. */
#ifndef SPROF_CALLS_VALUES_H
#define SPROF_CALLS_VALUES_H

#include "agent/probe.h"
#include "probing/probing.h"
#include "rules/rules.h"
#include "symbolize/symbolize.h"

struct calls_program;

enum { CALLS_RESULT = 0xff, CALLS_WHOLE = 0xff, CALLS_CLASS = 0xfe, CALLS_NO_WORD = 0xff };
enum { CALLS_CAPTURED = 0x20 /* and up: two for each --capture */ };
enum { CALLS_STEP = 0xfd /* a step to other pieces, not shown itself */ };
enum { CALLS_EARLY = 0x80 /* added to a parameter: as at the entry */ };

struct calls_piece {
    uint8_t value;  /* parameter, perhaps + CALLS_EARLY; or CALLS_RESULT */
    uint8_t member; /* or CALLS_WHOLE, CALLS_CLASS */
    struct probe_piece piece;
};

/* A function's value that --capture or a rule names. */
struct calls_captured {
    const char *name;
    const struct symbolize_located *located;
    bool at_entry;
    bool is_half;   /* at the entry; the end's follows */
    bool is_second; /* at the end */
};

/* A test that the tracer evaluates. */
struct calls_noted_late {
    uint8_t rule, test;
    uint8_t captured; /* its number, or CALLS_RESULT */
};
enum { CALLS_CAPTURED_MOST = 16, CALLS_TEXT_BYTES = 256 };

/* What is recorded of a function's calls. */
struct calls_noted {
    uint32_t function;
    struct symbolize_signature signature;
    bool is_known;                              /* by debug information; else six words are shown */
    bool is_hidden;                             /* compared, not shown */
    bool has_arguments;                         /* shown, with the result */
    bool has_both;                              /* as at the entry and at the end */
    bool is_chosen;                             /* not the integer registers in order */
    uint8_t from[PROBE_WORDS];                  /* enum probe_word */
    uint8_t words[SYMBOLIZE_PARAMETERS + 1][2]; /* by parameter, then the result */
    uint64_t bias;
    struct calls_captured captured[CALLS_CAPTURED_MOST];
    uint32_t captured_count;
    struct calls_noted_late late[CALLS_CAPTURED_MOST];
    uint32_t late_count;
    uint8_t request; /* captured value by which its calls are requests, + 1; 0: none */
    bool has_result; /* its memory is copied */
    uint32_t piece_count, early_count; /* early ones come first */
    uint32_t piece_most;               /* limit while planning */
    uint16_t text_bytes;               /* read of a text at most; 0: CALLS_TEXT_BYTES */
    bool is_full;
    struct calls_piece pieces[PROBE_PIECES];
    uint32_t binding_count;
    struct probe_binding bindings[PROBE_BINDINGS];
};

/* Where that is written for the agent. */
struct calls_noted_place {
    uint64_t place;
    const struct calls_noted *noted;
};

/* The functions of a program. */
struct calls_values {
    SPROF_VEC(const struct calls_noted *) noted; /* by function; NULL: its values are not noted */
    SPROF_VEC(struct calls_noted_place) places;  /* in that order, also those that are replaced */
    SPROF_VEC(bool) hides;                       /* … they are only compared */
    uint64_t located[RULES_CAPTURES]; /* paths of each --capture that some function has, a bit each
                                       */
    struct {
        const char *what, *at; /* reason; NULL: unknown */
        const struct plan_function *function;
    } unlocated[RULES_CAPTURES][RULES_CAPTURE_PATHS];
    struct calls_unmet {
        const char *what, *at; /* reason; NULL: unknown */
        const struct plan_function *function;
    } unmet[PROBE_KEEP_RULES];
    struct calls_unmet request_unmet; /* why a function of --request has no such value */
    bool has_requests;                /* some has */
    uint64_t used;                    /* of the agent's room */
    bool is_full, is_full_reported;   /* some function had no room there */
};

/* What was noted of a function's calls by the agent's `place`, which may have been replaced while
 * calls were on their way; 0: what is noted now. NULL: nothing. */
const struct calls_noted *calls_values_noted(const struct calls_values *values, uint32_t function,
                                             uint32_t place);

/* Whether any values are noted. */
bool calls_values_are_wanted(const struct calls_program *program);

/* Whether a rule needs debug information; and a text of what functions lack. */
bool calls_values_needs(const struct rules_keep *rule);
const char *calls_values_lack(const struct rules_keep *rule);

int calls_values_check(const struct trace_options *options, struct sprof_error *error);

/* Finds values of chosen functions from `first` on, for the agent. */
int calls_values_begin(struct calls_program *program, size_t first, struct sprof_error *error);
/* The same for functions that a command or a drill-down has added since. */
int calls_values_serve(struct calls_program *program);
/* Reports rules that none of the functions could meet that were looked at, unless that was said. */
void calls_values_end(const struct calls_program *program);
void calls_values_release(struct calls_values *values);

/* Adds values for a new rule. */
int calls_values_add(struct calls_program *program, uint32_t rule, struct sprof_error *error);

/* Checks again whether a seccomp filter could kill the program when the agent reads memory. */
void calls_values_check_filter(struct calls_program *program);

/* Returns enum probe_number; 0: no number. */
uint8_t calls_values_number(const struct symbolize_type *type);

/* Whether a value is a text, or leads to one. */
bool calls_values_is_text(const struct symbolize_type *type);

/* Whether a captured value is what a parameter's words hold, not memory to which they lead. */
static inline bool calls_captured_is_word(const struct symbolize_located *located)
{
    return located->base == SYMBOLIZE_OF_PARAMETER && !located->is_direct && !located->follows;
}

/* Whether the words are read from which a captured value, or the way to it, begins. */
bool calls_captured_has_words(const struct calls_noted *noted,
                              const struct symbolize_located *located);

/* Fills in which words have a function's values; then, which pieces of memory are copied. */
void calls_values_plan_words(struct calls_noted *noted);
void calls_values_plan(struct calls_noted *noted);

/* Binds a rule's tests to values. Returns false if one is missing or no number. */
bool calls_values_bind(struct calls_noted *noted, const struct rules_keep *rule, uint32_t number);

struct calls_taken_values {
    struct probe_kept_values kept;
    uint8_t pieces[PROBE_PIECES_BYTES];
    size_t bytes, all; /* of pieces; with what is behind them */
    uint32_t place;    /* see struct probe_kept */
};

/* Adds rows for kept call `number`. Returns 0 or SPROF_ENOMEM. */
int calls_values_take(struct calls_program *program, uint32_t function, uint32_t number,
                      const struct calls_taken_values *taken);

/* == captured.c == */

struct calls_capture_expressions {
    struct plan_expressions *each[RULES_CAPTURES]; /* NULL: all */
};
int calls_captures_open(const struct trace_options *options,
                        struct calls_capture_expressions *expressions, struct sprof_error *error);
void calls_captures_close(struct calls_capture_expressions *expressions);

/* Sets a bit for each --capture. Returns 0 or a negative code. */
int calls_captures_of(const struct calls_program *program,
                      const struct calls_capture_expressions *expressions,
                      const struct plan_function *function, uint32_t *captures,
                      struct sprof_error *error);

/* Returns how many, at most CALLS_CAPTURED_MOST. */
uint32_t calls_captures_paths(const struct calls_program *program, uint32_t captures,
                              const struct symbolize_path *paths[CALLS_CAPTURED_MOST]);

void calls_captures_note(struct calls_program *program, uint32_t captures,
                         const struct plan_function *function,
                         const struct symbolize_signature *signature, struct calls_noted *noted);

/* Notes the value of --request, whose path is number `at` of the signature's. */
void calls_captures_note_request(struct calls_program *program, uint32_t at,
                                 const struct plan_function *function,
                                 const struct symbolize_signature *signature,
                                 struct calls_noted *noted);

void calls_captures_report(const struct calls_program *program);

/* == values_text.c == */

struct calls_call_values {
    const struct calls_noted *noted;
    const struct probe_kept_values *kept;
    bool is_early; /* show memory as at the entry */
    struct {
        const uint8_t *bytes;
        uint16_t length; /* or a code of struct probe_kept_values */
        bool is_cut;
    } pieces[PROBE_PIECES];
};

/* Missing pieces become unreadable. */
void calls_values_cut(struct calls_call_values *call, const uint8_t *pieces, size_t bytes);

/* These functions append to `text`. They return false if there is nothing. */
bool calls_values_thrown_type(const struct calls_taken_values *taken, struct sprof_str *text);

/* Appends, for example, "std::out_of_range "bad field"". */
bool calls_values_thrown(const struct calls_taken_values *taken, struct sprof_str *text);

/* `value`: a parameter or CALLS_RESULT. */
bool calls_values_text(const struct calls_call_values *call, uint32_t value,
                       struct sprof_str *text);

/* Returns piece_count if there is none. */
uint32_t calls_values_piece(const struct calls_call_values *call, uint32_t value, uint32_t member);

void calls_values_captured(const struct calls_call_values *call, uint32_t captured,
                           struct sprof_str *text);

/* Counts parts that may change: members, or 1. */
uint32_t calls_values_parts(const struct calls_call_values *call, uint32_t parameter);

/* Appends "r->timeout" and "30 → 0". Returns false if it did not change or is unknown. */
bool calls_values_changed(const struct calls_call_values *call, uint32_t parameter, uint32_t part,
                          struct sprof_str *name, struct sprof_str *text);

#endif
