/* What a trace is to do. Options are data: probing/ and calls/ read their parts of them. */
#ifndef SPROF_PROBING_OPTIONS_H
#define SPROF_PROBING_OPTIONS_H

#include "base/base.h"
#include "model/model.h"

#include <stdbool.h>
#include <sys/types.h>

enum trace_mode {
    TRACE_STATS,    /* count and time each call */
    TRACE_COVERAGE, /* note each function's first call, then remove its probe */
    TRACE_LOG,      /* as TRACE_STATS, with a row per call */
};

/* NULL-terminated. */
extern const char *const trace_mode_words[];

enum trace_backend {
    TRACE_ANY,    /* the agent if possible, else the kernel */
    TRACE_INJECT, /* the agent in the process */
    TRACE_UPROBE, /* breakpoints of the kernel; nothing in the process */
};

/* Longest time that calls should take. */
struct trace_limit {
    uint64_t ns;
    const char *function; /* regular expression; NULL: all */
};

/* Most bytes that calls should leave allocated. */
struct trace_heap_limit {
    uint64_t bytes;
    const char *function; /* regular expression */
};

enum trace_module_when {
    TRACE_MODULE_START,  /* chosen functions at the start; others by command or drill-down */
    TRACE_MODULE_DEMAND, /* by command or drill-down */
    TRACE_MODULE_NEVER,
};
struct trace_module_rule {
    const char *glob; /* see fnmatch(3); for path and name */
    enum trace_module_when when;
};

struct names_screen;
struct rules_capture;
struct rules_keep;
struct rules_condition;

/* Calls to warn of. Zero: none. */
struct trace_warn_options {
    const struct trace_limit *over;
    size_t over_count;
    const struct trace_limit *watchdog; /* for calls that are still open after this time */
    size_t watchdog_count;
    double stack_percent; /* in use at entry */
    const struct trace_heap_limit *heap;
    size_t heap_count;
};

struct trace_options;

/* A drill-down from the chosen functions, with calls by path. */
struct trace_drill_options {
    bool adaptive;
    bool observe;                             /* report the first choice, change nothing */
    bool uncalled;                            /* keep probes of uncalled functions */
    uint64_t step_ns;                         /* 0: a second */
    const struct rules_condition *conditions; /* the last match for a root decides */
    size_t condition_count;
    /* Rereads `conditions` and `uncalled` from the file of options. NULL: no file. */
    int (*reload)(void *context, struct trace_options *options, struct sprof_error *error);
    void *reload_context;
};

/* Calls with rows of their own, and what these hold. */
struct trace_kept_options {
    const struct rules_keep *rules; /* in mode stats */
    size_t rule_count;
    const struct rules_capture *requests_of; /* functions whose calls are requests, perhaps with a
                                                path whose value names them; NULL: none */
    bool arguments;                          /* record arguments and results of calls with rows */
    const char *arguments_of;                /* NULL: all functions */
    const struct rules_capture *captures;    /* more values of kept calls */
    size_t capture_count;
    bool arguments_both; /* at entry and exit */
    uint32_t text_bytes; /* read of a text, at most TRACE_TEXT_MOST; 0: 256 */
};

#define TRACE_NEVER UINT64_MAX
enum { TRACE_TEXT_MOST = 4096 };

/* Zero selects defaults. All pointers are borrowed until trace_free. */
struct trace_options {
    char *const *command;
    pid_t pid; /* 0: none */
    const pid_t *others;
    size_t other_count;
    uint64_t duration_ns; /* 0: until the process or command ends */
    uint64_t delay_ns;    /* before measuring, unless a command starts it */
    int end_fd;           /* the trace ends when readable; -1: none */
    /* Regular expressions (PCRE2) for names and linkage names; "!RE" excludes. None: all
     * functions. */
    const char *const *functions;
    size_t function_count;
    const char *function_option; /* in messages; NULL: "function" */
    /* "RE" or "RE:DEPTH": functions and their callees, to that depth. Only these and `functions`
     * are chosen then. */
    const char *const *children_of;
    size_t children_of_count;
    /* See fnmatch(3); for path and name. None: the application's modules. */
    const char *const *modules;
    size_t module_count;
    const struct trace_module_rule *module_rules; /* before `modules`; the last match wins */
    size_t module_rule_count;
    struct model_kind_rules rules;
    const char *output; /* NULL: "sprof.db" */
    enum trace_mode mode;
    enum trace_backend backend;
    /* Percent of the command's CPU time for probes. 0: no limit, except for uprobes of all
     * functions; negative: no limit. */
    double max_overhead;
    uint64_t memory; /* for figures, bytes; 0: 256 MiB */
    bool append;
    bool overwrite; /* keep no copy of a replaced recording */
    bool children;
    bool paths;      /* by call path, in mode stats */
    bool callers;    /* by caller and function */
    bool no_outside; /* time outside of traced modules is self time */
    bool no_states;  /* no running, waiting and ready times of calls with rows */
    bool stack;      /* deepest stack at entry */
    bool heap;
    bool all_points;   /* probe calling instructions of a command */
    uint32_t depth;    /* of logged calls; 0: any */
    uint64_t max_size; /* bytes after which no call is logged; 0: any */
    struct trace_warn_options warn;
    struct trace_kept_options kept;
    struct trace_drill_options drill;
    bool no_cache;
    bool paused; /* wait for a command to start */
    /* Time that a probe is off before it rests; 0: ten seconds. Probes of a trace that starts
     * paused rest at once. */
    uint64_t rest_ns;
    const char *sprof_version;
    const struct sprof_log *log;
    struct names_screen *names; /* how messages name functions; NULL: in full */
};

#endif
