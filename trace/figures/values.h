/* trace, inside: values of kept calls (`--args`): what the agent notes of arguments and results,
 * and what that says by debug information. */
#ifndef SPROF_TRACE_FIGURES_VALUES_H
#define SPROF_TRACE_FIGURES_VALUES_H

#include "agent/probe.h"
#include "symbolize/symbolize.h"
#include "trace/capture.h"
#include "trace/session.h"

struct trace_session;

enum { TRACE_RESULT = 0xff, TRACE_WHOLE = 0xff, TRACE_CLASS = 0xfe, TRACE_NO_WORD = 0xff };
enum { TRACE_CAPTURED = 0x20 /* and up, two each: of --capture, and what that points to */ };
enum { TRACE_STEP = 0xfd /* a step to other pieces, of which nothing is written */ };
enum { TRACE_EARLY = 0x80 /* added to a parameter: what it leads to when the call begins */ };

/* What a piece of memory belongs to. */
struct trace_piece {
    uint8_t value;  /* parameter, from 0, perhaps TRACE_EARLY; or TRACE_RESULT */
    uint8_t member; /* of the structure; or TRACE_WHOLE, or TRACE_CLASS: the object's own class */
    struct probe_piece piece;
};

/* A value that is named by --capture or a rule, in one function. */
struct trace_captured {
    const char *name;
    const struct symbolize_located *located;
    bool at_entry;
    bool is_half;   /* it is shown with the one that follows, which is the same at the exit … */
    bool is_second; /* … and that is this one */
};

/* A test of a rule that the tracer decides by what is captured. */
struct trace_noted_late {
    uint8_t rule, test;
    uint8_t captured; /* its number; TRACE_RESULT */
};
enum { TRACE_CAPTURED_MOST = 16 /* of a function */ };

/* What is noted of a function's calls. */
struct trace_noted {
    uint32_t function;
    struct symbolize_signature signature;
    bool is_known;             /* by debug information; else there are six words */
    bool is_hidden;            /* it is compared, not shown */
    bool has_arguments;        /* these are shown, and the result */
    bool has_both;             /* arguments are shown as they are at the entry and at the end */
    bool is_chosen;            /* words are not those of the integer registers in their order */
    uint8_t from[PROBE_WORDS]; /* enum probe_word */
    uint8_t words[SYMBOLIZE_PARAMETERS + 1][2]; /* of each parameter, then of the result */
    uint64_t bias;                              /* of the function's file */
    struct trace_captured captured[TRACE_CAPTURED_MOST];
    uint32_t captured_count;
    struct trace_noted_late late[TRACE_CAPTURED_MOST];
    uint32_t late_count;
    bool has_result; /* what the result leads to is noted, whether it is shown or not */
    uint32_t piece_count, early_count; /* of these the first ones are copied at the entry */
    uint32_t piece_most;               /* … while they are planned; and whether it was too few */
    bool is_full;
    struct trace_piece pieces[PROBE_PIECES];
    uint32_t binding_count;
    struct probe_binding bindings[PROBE_BINDINGS]; /* of the tests of rules */
};

/* Where that is written for the agent. */
struct trace_noted_place {
    uint64_t place;
    const struct trace_noted *noted;
};

/* The functions of a program. */
struct trace_values {
    SPROF_VEC(const struct trace_noted *) noted; /* by function; NULL: its values are not noted */
    SPROF_VEC(struct trace_noted_place) places;  /* in that order, also those that are replaced */
    SPROF_VEC(bool) hides;                       /* … they are only compared */
    uint64_t located[TRACE_CAPTURES]; /* paths of each --capture that some function has, a bit each
                                       */
    struct {
        const char *what, *at; /* why some function has it not; NULL: that is not known */
        const struct plan_function *function;
    } unlocated[TRACE_CAPTURES][TRACE_CAPTURE_PATHS];
    uint64_t bound; /* rules for whose tests and classes there is some function, a bit each */
    struct trace_unmet {
        const char *what, *at; /* why some function can have no call that meets it, where in it;
                                  NULL: that is not known */
        const struct plan_function *function;
    } unmet[PROBE_KEEP_RULES];
    struct sprof_suggestions near_classes[PROBE_KEEP_RULES]; /* to that which each rule names */
    uint64_t used;                                           /* of the agent's room */
    bool is_full, is_full_reported;                          /* some function had no room there */
};

/* What was noted of a function's calls by the agent's `place`, which may have been replaced while
 * calls were on their way; 0: what is noted now. NULL: nothing. */
const struct trace_noted *trace_values_noted(const struct trace_values *values, uint32_t function,
                                             uint32_t place);

/* Whether any values are noted. */
bool trace_values_are_wanted(const struct trace_session *session);

/* Whether what functions are by debug information decides about a rule; and what none of them does
 * that can meet it, as "has all these values as numbers". */
bool trace_values_needs(const struct trace_keep_rule *rule);
const char *trace_values_lack(const struct trace_keep_rule *rule);

/* Whether the expression is fine, before anything is done. */
int trace_values_check(const struct trace_options *options, struct sprof_error *error);

/* Finds what the chosen functions from `first` on take and return, and writes that for the agent.
 */
int trace_values_begin(struct trace_session *session, size_t first, struct sprof_error *error);
void trace_values_release(struct trace_values *values);

/* The same for a rule that has been added to the masks of functions. */
int trace_values_add(struct trace_session *session, uint32_t rule, struct sprof_error *error);

/* Decides again whether the agent may read memory by system calls: not where a filter of the
 * program could end it for that. */
void trace_values_look(struct trace_session *session);

/* How values of a type are compared (enum probe_number); 0: not as numbers. */
uint8_t trace_values_number(const struct symbolize_type *type);

/* Whether a captured value is what a parameter's words hold, not memory to which they lead. */
static inline bool trace_captured_is_word(const struct symbolize_located *located)
{
    return located->base == SYMBOLIZE_OF_PARAMETER && !located->is_direct && !located->follows;
}

/* Fills in which words have a function's values; then, which pieces of memory are copied. */
void trace_values_plan_words(struct trace_noted *noted);
void trace_values_plan(struct trace_noted *noted);

/* Binds the tests of a rule to the values of a function that they name. Returns false where it has
 * none of that name, or of a type that is no number. */
bool trace_values_bind(struct trace_noted *noted, const struct trace_keep_rule *rule,
                       uint32_t number);

/* A copy of what the agent has written. */
struct trace_taken_values {
    struct probe_kept_values kept;
    uint8_t pieces[PROBE_PIECES_BYTES];
    size_t bytes, all; /* of pieces; with what is behind them */
    uint32_t place;    /* see struct probe_kept */
};

/* Makes rows of the values of a kept call with that row's number. Returns 0 or SPROF_ENOMEM. */
int trace_values_take(struct trace_session *session, uint32_t function, uint32_t number,
                      const struct trace_taken_values *taken);

/* == captured.c == */

/* The expressions for functions of each --capture. */
struct trace_capture_expressions {
    struct plan_expressions *each[TRACE_CAPTURES]; /* NULL: all functions */
};
int trace_captures_open(const struct trace_options *options,
                        struct trace_capture_expressions *expressions, struct sprof_error *error);
void trace_captures_close(struct trace_capture_expressions *expressions);

/* Which ones are for a function, a bit each. Returns 0 or a negative code. */
int trace_captures_of(const struct trace_session *session,
                      const struct trace_capture_expressions *expressions,
                      const struct plan_function *function, uint32_t *captures,
                      struct sprof_error *error);

/* The paths of these, at most TRACE_CAPTURED_MOST; returns how many. */
uint32_t trace_captures_paths(const struct trace_session *session, uint32_t captures,
                              const struct symbolize_path *paths[TRACE_CAPTURED_MOST]);

/* Notes which of these a function has, in that order. */
void trace_captures_note(struct trace_session *session, uint32_t captures,
                         const struct plan_function *function,
                         const struct symbolize_signature *signature, struct trace_noted *noted);

/* Warns of those that no function has. */
void trace_captures_report(const struct trace_session *session);

/* == values_text.c == */

/* The values of one call. */
struct trace_call_values {
    const struct trace_noted *noted;
    const struct probe_kept_values *kept;
    bool is_early; /* what arguments lead to is looked at as it was at the entry */
    struct {
        const uint8_t *bytes;
        uint16_t length; /* or why there are none, as in enum of struct probe_kept_values */
        bool is_cut;     /* there was no room for more of it */
    } pieces[PROBE_PIECES];
};

/* Finds the pieces; what is not there is unreadable. */
void trace_values_cut(struct trace_call_values *call, const uint8_t *pieces, size_t bytes);

/* Appends the type of an exception. False: there is none. */
bool trace_values_thrown_type(const struct trace_taken_values *taken, struct sprof_str *text);

/* Appends type and text of an exception, "std::out_of_range "bad field"". False: there is none. */
bool trace_values_thrown(const struct trace_taken_values *taken, struct sprof_str *text);

/* Appends a parameter's value, or the result's (TRACE_RESULT), as people read it. False: the call
 * has none. */
bool trace_values_text(const struct trace_call_values *call, uint32_t value,
                       struct sprof_str *text);

/* The piece of a value, or of a member of it; piece_count: there is none. */
uint32_t trace_values_piece(const struct trace_call_values *call, uint32_t value, uint32_t member);

/* Appends a value that is captured. */
void trace_values_captured(const struct trace_call_values *call, uint32_t captured,
                           struct sprof_str *text);

/* How many parts of a parameter can have changed when the call ends: members of what it leads to,
 * or all of that. */
uint32_t trace_values_parts(const struct trace_call_values *call, uint32_t parameter);

/* Appends the name of a part that has changed, "r->timeout", and "30 → 0". False: it is the same,
 * or was not copied twice. */
bool trace_values_changed(const struct trace_call_values *call, uint32_t parameter, uint32_t part,
                          struct sprof_str *name, struct sprof_str *text);

#endif
