/* why: decides from samples and waits of threads which function makes a program slow.
 *
 * The model is pure: a table of samples goes in, a verdict comes out. Neither a process nor a
 * recording is needed; report_why_table fills a table from a recording.
 *
 *     struct why_table table = {0};
 *     struct why_verdict verdict;
 *     int result = report_why_table(store, &table, error);
 *     if (!result)
 *         result = why_judge(&verdict, &table);
 *     …
 *     why_verdict_release(&verdict);
 *     why_table_release(&table);
 *
 * docs/design/why.md holds the rules and where their thresholds come from. */
#ifndef SPROF_WHY_WHY_H
#define SPROF_WHY_WHY_H

#include "base/base.h"
#include "model/model.h"

#include <stdbool.h>

/* == Causes == */

/* What a thread does, or waits for, in a sample. */
enum why_cause {
    WHY_COMPUTES,
    WHY_ALLOCATES,    /* in malloc, free and their like */
    WHY_FAULTS,       /* the kernel handles a page fault */
    WHY_CALLS_SYSTEM, /* the kernel works in a system call */
    WHY_READY,        /* it wants a CPU and has none */
    WHY_LOCK,         /* of threads, or of a file */
    WHY_CONDITION,    /* a condition variable */
    WHY_SEMAPHORE,
    WHY_JOIN, /* another thread's end */
    WHY_BARRIER,
    WHY_FUTEX, /* a futex of none of these */
    WHY_SLEEP,
    WHY_POLL, /* poll, select, epoll, a signal */
    WHY_PEER, /* a socket, a pipe, a terminal */
    WHY_DISK,
    WHY_PAGE,    /* memory that is read from a disk */
    WHY_CHILD,   /* a child process */
    WHY_STOPPED, /* by a signal, or a debugger */
    WHY_OTHER,   /* another system call */
    WHY_CAUSES,
};

/* "computes", "waits for a lock": what follows a function's name. Static. */
const char *why_cause_text(enum why_cause cause);

/* "lock", "disk": one word for programs. Static. */
const char *why_cause_word(enum why_cause cause);

/* Whether the thread neither has a CPU nor wants one. */
bool why_cause_is_wait(enum why_cause cause);

struct why_frame {
    const char *name; /* NULL: none was found */
    enum model_kind kind;
    bool is_application;
};

/* The cause of a sample with that stack, innermost frame first. `wait` is the kind of wait of the
 * sample's event, as MODEL_WAIT_READY or "futex"; NULL: the thread ran; "" (the wall clock): that
 * is not known, and the functions of the C library on the stack decide. */
enum why_cause why_cause_of(const char *wait, const struct why_frame *frames, size_t count);

/* == Tables == */

/* The program's own functions on a stack, and how they left it. */
struct why_stack {
    uint32_t first, depth; /* of `frames`, innermost first; 0 frames: no application function */
    uint32_t entry;        /* the function outside the application that the innermost one called; 0:
                              none. Of no frames: the innermost function of a library */
};

struct why_function {
    const char *name;
    const char *full; /* … with all its scopes and parameters */
    bool is_inlined;  /* into one of a standard library, which stands for nothing by itself */
};

/* A function on a stack. `inner` counts the application's real frames inside the
 * one that it is in, also those of standard libraries, which `frames` leaves out: it says how deep
 * a call lies whatever a compiler inlines. */
struct why_place {
    uint32_t function, inner;
};

struct why_thread {
    const char *name;
    int32_t pid, tid;
    bool has_children; /* its process has started others that are in the table */
};

struct why_sample {
    uint64_t end_ns, weight_ns; /* of the time that it stands for; from the run's start */
    uint64_t look_ns;       /* one look, which weighs for threads that were not looked at, too: so
                               much of it is its thread's; 0: all of it is */
    uint32_t thread, stack; /* indexes */
    uint32_t word;          /* index into `words`: the wait, as reports call it */
    uint32_t lock;          /* one more than that of the name of its lock; 0: it has none */
    enum why_cause cause;
    bool is_idle; /* set by why_judge: a wait for work */
};

/* What a recording shows of threads without a CPU. */
enum why_sight {
    WHY_SEES_STATES, /* each wait, and time without a CPU */
    WHY_SEES_WALL,   /* samples by time: working and waiting are distinguished by names alone */
    WHY_SEES_CPU,    /* threads with a CPU alone */
};

/* Zero is a valid empty table. */
struct why_table {
    struct sprof_arena texts;
    SPROF_VEC(struct why_function) functions; /* 0 stands for "outside the application" */
    SPROF_VEC(const char *) words;
    SPROF_VEC(struct why_place) frames;
    SPROF_VEC(struct why_stack) stacks;
    SPROF_VEC(struct why_thread) threads;
    SPROF_VEC(struct why_sample) samples; /* by end */
    uint64_t duration_ns;
    uint64_t start_monotonic_ns; /* of the samples' time 0; 0: not known */
    enum why_sight sight;
    bool by_calls; /* `is_idle` is set already: of samples outside of the calls that are judged */
    const char *system_module; /* the interpreter of scripts that have names; NULL */
    const char
        *interpreter; /* a program that runs scripts without names for their functions; NULL */
    const char *interpreter_cure; /* the option with which it names them; NULL: none is known */
};

/* Adds a function. Returns its number, or 0 when out of memory. The name is copied. */
uint32_t why_add_function(struct why_table *table, const struct why_function *function);

/* Returns the index of a word, adding it where it is new; UINT32_MAX when out of memory. */
uint32_t why_add_word(struct why_table *table, const char *word);

/* Adds a stack: `count` functions of the application, innermost first. Returns its index, or
 * UINT32_MAX when out of memory. */
uint32_t why_add_stack(struct why_table *table, const struct why_place *places, size_t count,
                       uint32_t entry);

void why_table_release(struct why_table *table);

/* The innermost of the program's own functions of a sample; 0: none. */
uint32_t why_owner(const struct why_table *table, const struct why_sample *sample);

/* == Verdicts == */

enum why_answer {
    WHY_NOTHING_SEEN, /* no sample */
    WHY_IDLE,         /* its threads wait for work */
    WHY_STARVED,      /* it mostly has no CPU, and nothing else stands out */
    WHY_TOO_FEW,      /* too few samples to say anything */
    WHY_FLAT,         /* no function stands out */
    WHY_FUNCTION,     /* `function` is it */
    WHY_FEW_CALLS,    /* too few calls to compare slow ones with others */
    WHY_NO_SLOW,      /* no call takes much longer than others */
    WHY_UNSEEN,       /* it mostly waits, which the recording does not hold */
};

enum why_certainty { WHY_SURE, WHY_LIKELY, WHY_ONE_OF_TWO };

/* A share in useful time, and half of its 95 % interval: both 0 to 1. */
struct why_share {
    double share, half;
    double binomial; /* half of the interval of independent samples */
    double samples;  /* so many independent ones the time is worth that the share is of */
};

/* What a function does, and the useful time of that. */
struct why_candidate {
    uint32_t function;
    enum why_cause cause; /* WHY_COMPUTES stands for all causes of threads with a CPU */
    uint64_t weight_ns;
    double share;
};

struct why_holder {
    uint32_t function; /* 0: not found */
    uint32_t thread;
    bool has_thread;       /* it is one thread alone */
    double waiting, else_; /* share of looks in which it is on another thread's stack */
    size_t looks;          /* while the lock is waited for */
};

enum { WHY_NEXT = 3, WHY_CALLERS = 3 };

/* Calls of the verdict's function, as probes counted them. */
struct why_rate {
    double per_second; /* 0: not known */
    double mean_ns;
    uint32_t by; /* the probed caller of most of them, 0: none … */
    double by_share;
};

/* A function that calls another so often that the calls are the matter, not what each does. */
struct why_many {
    uint32_t caller, callee; /* 0: none does */
    double each;             /* calls in each call of the caller */
    double mean_ns;          /* of the callee */
    bool is_pair;            /* the verdict's share is of both: neither is clear by itself */
};

/* Slow calls of some functions, where only these are judged: useful time is then the time that they
 * take beyond what as many usual ones do. Borrowed from the calls (why/slow.h). */
struct why_slow {
    const char *of; /* the expression that names the functions; NULL: all time is judged */
    uint64_t calls, slow;
    double usual_ns, slow_ns;       /* the median of all; the mean of the slow ones */
    uint64_t shortest_ns;           /* of the slow ones */
    uint64_t longest_ns, over_ns;   /* of all; the limit, 0: it was found */
    const char *name, *value;       /* an argument that distinguishes them; NULL: none does */
    bool is_least;                  /* `value` is the least that slow calls have */
    double value_slow, value_usual; /* shares of slow and of other calls with it */
};

struct why_verdict {
    enum why_answer answer;
    enum why_certainty certainty;
    struct why_slow slow;
    uint64_t all_ns, useful_ns, ready_ns, idle_ns;
    double useful_samples; /* independent ones that the useful time is worth */
    double ready_share; /* of the time in which threads have or want a CPU, or wait within work */
    double causes[WHY_CAUSES]; /* shares of useful time */
    double unseen; /* of WHY_UNSEEN: the share of the run in which none of its threads computed */

    /* The function, of WHY_FUNCTION; the largest, of WHY_FLAT; where it waits, of WHY_IDLE. */
    uint32_t function, entry; /* entry 0: code of its own, or several */
    enum why_cause cause;     /* what most of its time is */
    enum why_cause kind;      /* of its candidate: WHY_COMPUTES for all of the CPU */
    struct why_share share;
    double second; /* the next candidate's share */
    uint32_t word; /* of most of its time, and all time of the function with that word */
    uint64_t word_ns;
    const char *lock;  /* of a wait for locks: that with most of it, of those with a name; NULL */
    double lock_share; /* of the wait */
    bool in_bursts;
    struct why_holder holder;
    uint32_t thread; /* of `only_thread` */
    bool only_thread;
    size_t threads_alike;
    struct why_share thread_share; /* of that thread's time, where it was found by that; else 0 */
    double alike_share;            /* … of the others' */
    SPROF_VEC(uint32_t) way;       /* functions, outermost first; ends with `function` */
    uint32_t callers[WHY_CALLERS]; /* 0: no more */
    struct why_rate rate;
    struct why_many many;

    uint32_t below; /* of WHY_FLAT: the deepest function with most of the time below it */
    double below_share;
    bool is_below; /* most time of the largest is, too */
    struct why_candidate next[WHY_NEXT];
    size_t next_count;
    uint64_t look_ns; /* of WHY_TOO_FEW: how long to look */
};

/* Judges a table; sets `is_idle` of its samples. Returns 0 or SPROF_ENOMEM. Release also on
 * failure. */
int why_judge(struct why_verdict *verdict, struct why_table *table);
void why_verdict_release(struct why_verdict *verdict);

/* == Counts == */

/* What probes counted for a while of functions on the way of a verdict. Zero is valid and empty. */
struct why_called {
    uint32_t function;        /* a number of the table */
    uint64_t calls, total_ns; /* that have ended, and their time */
    uint64_t long_ns;         /* one call of a thousand takes longer */
};
struct why_edge {
    uint32_t caller, callee;
    uint64_t calls;
};
struct why_counts {
    SPROF_VEC(struct why_called) functions;
    SPROF_VEC(struct why_edge) edges; /* of probed callers */
    uint64_t look_ns;
};
void why_counts_release(struct why_counts *counts);

/* The functions whose calls say more of a verdict: those on its way, innermost first, the other
 * callers, and those that come next. Fills `functions`, of which there are at most WHY_COUNTED, and
 * returns how many. */
enum { WHY_COUNTED = 12 };
size_t why_to_count(const struct why_table *table, const struct why_verdict *verdict,
                    uint32_t *functions);

/* Sets `rate` and `many` of a verdict that names a function; where it names none, it does if one is
 * clear together with a small one that it calls all the time. 0 or SPROF_ENOMEM. */
int why_count(struct why_verdict *verdict, const struct why_table *table,
              const struct why_counts *counts);

/* == Text == */

/* What the verdict alone does not hold. */
struct why_circumstances {
    const char *recording; /* its file, as a shell would read it; NULL: it is not kept */
    double load;           /* of the machine; negative: not known */
    unsigned cpus;
    double took_s;         /* from start to answer; 0: not known */
    const char *unseen;    /* why waits were not seen; NULL */
    const char *counts;    /* the recording that the counts are from, as `recording`; NULL: none */
    const char *calls;     /* … and that of the calls that are judged; NULL: all time is */
    const char *uncounted; /* why calls were not counted; NULL */
    uint64_t
        stopped_ns; /* for which threads stood still for the counts, at most; 0: they did not */
    bool has_ended; /* the program: a longer look is not possible */
};

/* Appends the answer for people: a first line that begins with "▶", and lines below it. Returns 0
 * or SPROF_ENOMEM. */
int why_text(struct sprof_str *text, const struct why_table *table,
             const struct why_verdict *verdict, const struct why_circumstances *circumstances);

/* Appends the first line without the mark. */
int why_headline(struct sprof_str *text, const struct why_table *table,
                 const struct why_verdict *verdict);

/* Calls `put` with each line of evidence: what it shows, and the command that prints it (NULL where
 * no command does). Both are borrowed. Returns 0, or what `put` returned. */
int why_each_evidence(const struct why_table *table, const struct why_verdict *verdict,
                      const struct why_circumstances *circumstances,
                      int (*put)(void *context, const char *what, const char *command),
                      void *context);

/* "sure", "likely", "one of two". Static. */
const char *why_certainty_text(enum why_certainty certainty);

/* "function", "flat", "idle", "starved", "too-few", "nothing", "unseen" … Static. */
const char *why_answer_word(enum why_answer answer);

#include "why/slow.h"

#endif
