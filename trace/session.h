/* A tracing session: launches a command, or attaches to processes, puts probes into them and
 * records what these measure. */
#ifndef SPROF_TRACE_SESSION_H
#define SPROF_TRACE_SESSION_H

#include "base/base.h"
#include "model/model.h"

#include <stdbool.h>
#include <sys/types.h>

/* What is done with a call. */
enum trace_mode {
    TRACE_STATS,    /* it is counted and timed */
    TRACE_COVERAGE, /* the first call of a function is noted, and its probe goes */
    TRACE_LOG,      /* it is counted and timed, and is a row of its own */
};

/* The words of the modes, then NULL. */
extern const char *const trace_mode_words[];

/* What counts and times calls. */
enum trace_backend {
    TRACE_ANY,    /* the agent, or the kernel where the agent cannot be put into the program */
    TRACE_INJECT, /* the agent in the process */
    TRACE_UPROBE, /* the kernel, by breakpoints: the process has nothing of sprof */
};

/* How long a call of these functions may take. */
struct trace_limit {
    uint64_t ns;
    const char *function; /* a regular expression as below; NULL: all */
};

/* How many bytes a call of these functions may leave allocated. */
struct trace_heap_limit {
    uint64_t bytes;
    const char *function; /* a regular expression as below */
};

/* When functions of a module get probes. */
enum trace_module_when {
    TRACE_MODULE_START,  /* the chosen ones at the start, others by commands and drill-downs */
    TRACE_MODULE_DEMAND, /* by commands and drill-downs alone */
    TRACE_MODULE_NEVER,
};
struct trace_module_rule {
    const char *glob; /* as fnmatch(3), against a module's path and name */
    enum trace_module_when when;
};

struct trace_capture;   /* trace/capture.h */
struct trace_keep_rule; /* trace/keep_rule.h */
struct trace_condition; /* trace/condition.h */

/* Which calls a warning is written of. Zero: none. */
struct trace_warn_options {
    const struct trace_limit *over; /* calls that take longer */
    size_t over_count;
    const struct trace_limit *watchdog; /* calls that have not returned by then */
    size_t watchdog_count;
    double stack_percent;                /* calls that begin with more of the stack in use */
    const struct trace_heap_limit *heap; /* calls that leave more bytes allocated */
    size_t heap_count;
};

struct trace_options;

/* A drill-down, whose roots are the chosen functions. It counts calls by path. */
struct trace_drill_options {
    bool adaptive;
    bool observe;     /* say what would get probes first, and change nothing */
    bool uncalled;    /* functions that are never called keep their probes */
    uint64_t step_ns; /* between two steps; 0: a second */
    const struct trace_condition *conditions; /* the last one that names a root decides */
    size_t condition_count;
    /* Reads the file of options anew, and sets what may change while the drill-down runs:
     * `conditions`, `uncalled`. NULL: there is no file. Returns 0 or a negative code. */
    int (*reload)(void *context, struct trace_options *options, struct sprof_error *error);
    void *reload_context;
};

#define TRACE_NEVER UINT64_MAX

/* Zero values take the defaults. Everything is borrowed until trace_free. */
struct trace_options {
    char *const *command; /* to launch */
    pid_t pid;            /* a process that runs; 0: none */
    const pid_t *others;  /* others that are traced together with it */
    size_t other_count;
    uint64_t duration_ns; /* until the trace ends; 0: until the process or command does */
    uint64_t delay_ns;    /* before it measures, unless it is started by a command */
    int end_fd;           /* the trace ends when this is readable; -1: none */
    /* Regular expressions (PCRE2) over names and linkage names; "!RE" leaves functions out. None:
     * all functions. */
    const char *const *functions;
    size_t function_count;
    /* "RE" or "RE:DEPTH": functions and what they call, to that depth (all). Then only these and
     * those of `functions`, where `functions` choose. */
    const char *const *children_of;
    size_t children_of_count;
    /* As fnmatch(3), against a module's path and name. None: the application's modules. */
    const char *const *modules;
    size_t module_count;
    const struct trace_module_rule *module_rules; /* before `modules`; the last match wins */
    size_t module_rule_count;
    struct model_kind_rules rules;
    const char *output; /* NULL: "sprof.db" */
    enum trace_mode mode;
    enum trace_backend backend;
    /* Percent of the command's CPU time for probes. 0: any, but for uprobes of all functions;
     * negative: any. */
    double max_overhead;
    uint64_t memory;   /* bytes for figures; 0: 256 MiB */
    bool append;       /* add a run to an existing recording */
    bool overwrite;    /* a recording that is replaced is not kept */
    bool children;     /* trace what the command forks and executes, too */
    bool paths;        /* calls by call path; in mode stats */
    bool callers;      /* calls by caller and function */
    bool no_outside;   /* time outside of the traced modules stays in self */
    bool no_states;    /* how long calls with rows ran, waited and were ready is not measured */
    bool stack;        /* how deep in their stacks calls of a function begin, at most */
    bool heap;         /* how many bytes calls of a function allocate */
    bool all_points;   /* of a command: probes at places that call (points.h) */
    uint32_t depth;    /* mode log: the deepest calls that are logged; 0: any */
    uint64_t max_size; /* bytes of the recording after which no call is logged; 0: any */
    struct trace_warn_options warn;
    const struct trace_keep_rule *keep; /* in mode stats: calls that have rows of their own */
    size_t keep_count;
    struct trace_drill_options drill;
    const char *requests_of;  /* each call of such functions is a request; NULL: none is */
    bool arguments;           /* of these, also their arguments and results … */
    const char *arguments_of; /* … of such functions; NULL: of all */
    const struct trace_capture *captures; /* other values of kept calls */
    size_t capture_count;
    bool arguments_both; /* … as they are when calls begin and when they end */
    bool no_cache;
    bool paused; /* measure nothing until a command starts it */
    /* How long a probe is off before it comes to rest. 0: ten seconds. A trace that begins with a
     * pause has its probes at rest at once. */
    uint64_t rest_ns;
    const char *sprof_version;
    const struct sprof_log *log;
};

/* The outcome. */
struct trace_result {
    bool has_wait_status; /* the command has ended */
    int wait_status;      /* as from waitpid */
    uint32_t run_id;
    size_t probes;                       /* probed functions */
    size_t entry_only;                   /* of these: only counted */
    size_t refused;                      /* chosen functions without a probe */
    size_t points;                       /* with `all_points`: places that call */
    uint64_t point_calls;                /* calls through them, of threads that have ended */
    size_t governed_count, governed_off; /* at the end only counted, or off, to hold max_overhead */
    double overhead; /* share of the CPU time of probes, estimated; 0: not known */
    uint64_t calls;
    uint64_t in_flight;          /* calls that had not ended */
    uint64_t abnormal;           /* calls left without a return */
    size_t covered;              /* functions that were called, in mode coverage */
    size_t left;                 /* of these: probes that were taken out while the command ran */
    uint64_t logged;             /* logged calls */
    uint64_t unlogged;           /* calls without room in the log */
    uint64_t kept, kept_callers; /* of --keep: calls that met a rule; others that called them */
    uint64_t remarks_lost;       /* requests and notes of <sprof.h> that are not recorded */
    uint64_t kept_unread;        /* rules about which values decide that could not be read */
    uint64_t kept_dropped;       /* rules that were met by calls without room */
    bool is_unreliable;          /* a program has written figures that cannot be */
    uint64_t untracked;          /* threads without room */
    uint64_t warnings;           /* of --warn-over and its like */
    uint64_t warnings_lost;      /* warnings without room, function or thread */
    uint64_t unplaced_calls;     /* calls without rows: their module was not seen */
    size_t unplaced;             /* the functions of these, called or not */
    size_t programs, processes;  /* traced, with `children` or `others` */
    size_t left_out;             /* executed programs that could not be traced */
    uint64_t no_percentiles_ns;  /* when percentiles were given up, to hold `memory`; 0: never */
    uint64_t beyond_calls;       /* calls that were only counted, to hold it */
    uint32_t beyond_functions;   /* of so many functions */
    uint64_t memory_bytes;       /* of figures at most, as far as seen */
    uint64_t lost;               /* calls without room in the kernel, with TRACE_UPROBE */
    const char *uprobes_because; /* why the agent cannot be put into the program; NULL: it was, or
                                    uprobes were asked for */
    double probe_ns;      /* cost of a timed call's probe, which is taken off; 0: not known */
    uint64_t duration_ns; /* since it began to measure, or since the last clear */
    uint64_t stopped_ns;  /* the longest stop of threads */
};

struct trace_session;

/* What a drill-down has found: lines of text, until trace_free. NULL: there was none. */
const char *trace_drill_answer(const struct trace_session *session);

/* Checks all that can be checked before the command runs, creates the database and forks the
 * command, which waits. SPROF_EUNSUPPORTED says why a program cannot be traced; else errors as of
 * target_open and store_create. The caller frees. */
int trace_open(struct trace_session **session, const struct trace_options *options,
               struct sprof_error *error);

/* The command's process. */
pid_t trace_command_pid(const struct trace_session *session);

/* Runs the command to its end, or traces the process until it or the trace ends; takes the probes
 * out of it, and writes what was measured. Where probes cannot be placed the command is ended
 * before its first instruction (SPROF_ENOTFOUND: no such function). */
int trace_run(struct trace_session *session, struct trace_result *result,
              struct sprof_error *error);

void trace_free(struct trace_session *session);

#endif
