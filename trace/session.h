/* A tracing session: launches a command with the tracing agent, puts probes into it before its
 * first constructor runs, and adds up what they measure; or the same in a process that runs. */
#ifndef SPROF_TRACE_SESSION_H
#define SPROF_TRACE_SESSION_H

#include "base/base.h"
#include "model/model.h"

#include <stdbool.h>
#include <sys/types.h>

/* What becomes of a call. */
enum trace_mode {
    TRACE_STATS,    /* it is counted and timed */
    TRACE_COVERAGE, /* it is noted when a function is called first, whose probe then goes */
    TRACE_LOG,      /* it is counted and timed, and has a row of its own */
};

/* The words of the modes, then NULL. */
extern const char *const trace_mode_words[];

/* What counts and times calls. */
enum trace_backend {
    TRACE_ANY,    /* the agent, or the kernel where that cannot be put into the program */
    TRACE_INJECT, /* the tracing agent, in the process */
    TRACE_UPROBE, /* the kernel, which stops at probes: nothing is put into the process */
};

/* So long may a call of these functions take. */
struct trace_limit {
    uint64_t ns;
    const char *function; /* a regular expression as below; NULL: all */
};

/* So many bytes may a call of these functions leave allocated. */
struct trace_heap_limit {
    uint64_t bytes;
    const char *function; /* a regular expression as below */
};

#define TRACE_NEVER UINT64_MAX

/* Zero values take the defaults. All is borrowed until trace_free. */
struct trace_options {
    char *const *command; /* to launch, … */
    pid_t pid;            /* … or a process that runs; 0: none … */
    const pid_t *others;  /* … and others that are traced together with it */
    size_t other_count;
    uint64_t duration_ns; /* after which the trace ends; 0: when the process or command does */
    uint64_t delay_ns;    /* before which nothing is measured, unless somebody starts it */
    int end_fd;           /* the same where this becomes readable; -1: no such thing */
    /* Regular expressions (PCRE2) that find functions by name or linkage name; "!RE" leaves out
     * what it finds. None: all functions. */
    const char *const *functions;
    size_t function_count;
    /* "RE" or "RE:DEPTH": what these call, too, and that many levels of what that calls; without a
     * depth all. Then no others but those of `functions`, where those say what is wanted. */
    const char *const *children_of;
    size_t children_of_count;
    /* As fnmatch(3), against a module's path and name. None: the application's modules. */
    const char *const *modules;
    size_t module_count;
    struct model_kind_rules rules;
    const char *output; /* NULL: "sprof.db" */
    enum trace_mode mode;
    enum trace_backend backend;
    /* Of the command's CPU time that probes may take, in percent. 0: any, but for uprobes of all
     * functions; negative: any. */
    double max_overhead;
    uint64_t memory;   /* bytes that figures may take; 0: 256 MiB */
    bool append;       /* add a run, where there is a recording already */
    bool children;     /* trace what the command forks and executes, too */
    bool paths;        /* calls by call path, too; in mode stats */
    bool callers;      /* … by caller and function */
    bool all_points;   /* of a command: places that call have probes, too (points.h) */
    uint32_t depth;    /* mode log: of the calls that are logged, at most; 0: any */
    uint64_t max_size; /* … bytes of the recording, from which on no more are; 0: no bound */
    const struct trace_limit *warn_over; /* of a call that took longer, there is a warning … */
    size_t warn_over_count;
    const struct trace_limit *watchdog; /* … or has not returned until then … */
    size_t watchdog_count;
    double stack_check; /* … or began with more of the stack in use, in percent; 0: any */
    const struct trace_heap_limit *heap_check; /* … or left more bytes allocated */
    size_t heap_check_count;
    bool no_cache;
    bool paused; /* measure nothing until somebody says so over the control socket */
    /* So long a probe is off until its function's code is as without it; where the trace begins
     * with a pause, at once. 0: ten seconds. */
    uint64_t rest_ns;
    const char *sprof_version;
    const struct sprof_log *log;
};

/* How it went. */
struct trace_result {
    bool has_wait_status; /* the command has ended */
    int wait_status;      /* as from waitpid */
    uint32_t run_id;
    size_t probes;        /* functions that were probed … */
    size_t entry_only;    /* … of which only calls are counted */
    size_t refused;       /* chosen functions without a probe */
    size_t points;        /* with `all_points`: places that call … */
    uint64_t point_calls; /* … and calls through them, of threads that have ended */
    size_t governed_count, governed_off; /* only counted at the end, off, to hold max_overhead */
    double overhead; /* of the CPU time, that probes took, as is known of calls; 0: not known */
    uint64_t calls;
    uint64_t in_flight;      /* calls that had not ended */
    uint64_t abnormal;       /* calls left without returning */
    size_t covered;          /* functions that were called, in mode coverage … */
    size_t left;             /* … whose probes were taken back while the command ran */
    uint64_t logged;         /* calls with a row of their own, in mode log */
    uint64_t unlogged;       /* … for which there was no room */
    uint64_t untracked;      /* threads that found no room */
    uint64_t warnings;       /* of --warn-over and its kin … */
    uint64_t warnings_lost;  /* … for which there was no room, function or thread */
    uint64_t unplaced_calls; /* that have no row: no module was seen where their functions are … */
    size_t unplaced;         /* … so many functions, called or not */
    size_t programs, processes;  /* with `children` or `others`: that were traced … */
    size_t left_out;             /* … and executed programs that could not be */
    uint64_t no_percentiles_ns;  /* when they were given up, to hold `memory`; 0: not */
    uint64_t beyond_calls;       /* that were only counted, to hold it … */
    uint32_t beyond_functions;   /* … of so many functions */
    uint64_t memory_bytes;       /* that figures took at most, as was seen */
    uint64_t lost;               /* calls that the kernel found no room for, with TRACE_UPROBE */
    const char *uprobes_because; /* what the program is that the agent cannot be put into; NULL:
                                    it was, or nobody wanted that */
    double probe_ns; /* what the probe of one timed call takes, which is taken off; 0: not known */
    uint64_t duration_ns; /* since it began to measure, or since figures were cleared */
    uint64_t stopped_ns;  /* how long threads stood still, at most at a time */
};

struct trace_session;

/* Checks everything that can be checked before the command runs, creates the database and forks the
 * command, which waits. SPROF_EUNSUPPORTED says why a program cannot be traced; else errors as of
 * target_open and store_create. The caller frees. */
int trace_open(struct trace_session **session, const struct trace_options *options,
               struct sprof_error *error);

/* The command's process. */
pid_t trace_command_pid(const struct trace_session *session);

/* Runs the command to its end, or traces the process until then or until that is to end, and takes
 * the probes out of it, and writes what was measured. Where probes cannot be placed the
 * command is ended before its first instruction (SPROF_ENOTFOUND: no such function). */
int trace_run(struct trace_session *session, struct trace_result *result,
              struct sprof_error *error);

void trace_free(struct trace_session *session);

#endif
