/* Internal: a process into which the agent is mapped. */
#ifndef SPROF_INJECT_RAW_INSIDE_H
#define SPROF_INJECT_RAW_INSIDE_H

#include "inject/raw.h"
#include "inject/stacks.h"

struct inject_raw_range {
    uint64_t start, end;
};

struct inject_raw {
    pid_t pid;
    struct inject_ways ways;
    uint64_t unwinder;  /* address of the last _Unwind_RaiseException found */
    unsigned unwinders; /* files that define _Unwind_RaiseException */
    bool has_hidden_unwinder;
    uint64_t register_tables, forget_tables; /* libgcc's; 0: no unwinder */
    SPROF_VEC(struct inject_raw_range) busy;
    struct inject_stacks *stacks;
};

#endif
