/* trace/attach, inside: facts of a process into which the agent is mapped. */
#ifndef SPROF_TRACE_ATTACH_RAW_INSIDE_H
#define SPROF_TRACE_ATTACH_RAW_INSIDE_H

#include "trace/attach/raw.h"
#include "trace/attach/stacks.h"

struct trace_raw_range {
    uint64_t start, end;
};

struct trace_raw {
    pid_t pid;
    struct trace_ways ways;
    uint64_t unwinder;  /* the last _Unwind_RaiseException that was found */
    unsigned unwinders; /* files that define _Unwind_RaiseException */
    bool has_hidden_unwinder;
    uint64_t register_tables, forget_tables; /* functions of libgcc's; 0: there is no unwinder */
    SPROF_VEC(struct trace_raw_range) busy;
    struct trace_stacks *stacks;
};

#endif
