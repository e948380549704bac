/* cli, inside: the options of sprof trace. */
#ifndef SPROF_CLI_TRACE_OPTIONS_H
#define SPROF_CLI_TRACE_OPTIONS_H

#include "cli/config.h"
#include "cli/drill.h"
#include "cli/keep.h"
#include "cli/recorded_choice.h"
#include "cli/values.h"
#include "trace/trace.h"

#include <limits.h>

struct cli_trace_limits {
    SPROF_VEC(struct trace_limit) list;
};

struct cli_trace_heap_limits {
    SPROF_VEC(struct trace_heap_limit) list;
};

struct cli_trace_arguments {
    struct cli_rules rules;
    struct cli_texts functions, children_of, modules;
    struct cli_pids pids;
    uint64_t duration_ns, delay_ns;
    const char *output;
    enum trace_mode mode;
    enum trace_backend backend;
    double max_overhead; /* percent; 0: not given, negative: none */
    uint64_t depth;
    uint64_t rest_ns;
    size_t max_size, memory;
    struct cli_trace_limits warn_over, watchdog;
    struct cli_trace_heap_limits heap_check;
    struct cli_keep_rules keep;
    struct cli_drill drill;
    const char *errors_of; /* recording; NULL: none */
    struct cli_recorded_choice chosen;
    const char *config_path;
    struct cli_config config;
    char program[PATH_MAX];               /* for which a section of a file of options is */
    uint64_t given[2];                    /* as in struct cli_operands */
    struct cli_trace_arguments *reloaded; /* what was read later; the last one first */
    struct names_screen *names;           /* of messages; NULL: full ones */
    double stack_check;                   /* percent; 0: none */
    bool append, overwrite, children, paths, callers, all_points, no_cache, paused, verbose;
    bool no_outside, no_states, stack, heap, full_names;
};

extern const struct cli_option cli_trace_options[];
extern const struct cli_heading cli_trace_headings[];

#endif
