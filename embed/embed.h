/* Puts probes into a copy of a program or a library. */
#ifndef SPROF_EMBED_EMBED_H
#define SPROF_EMBED_EMBED_H

#include "base/base.h"
#include "cache/cache.h"
#include "plan/plan.h"

struct embed_request {
    const char *path, *output;
    /* As in struct trace_options. */
    const char *const *functions;
    size_t function_count;
};

struct embed_result {
    size_t by[PLAN_MECHANISMS]; /* what the original has there */
    size_t embedded, entry_only;
    size_t refused; /* chosen functions without a probe */
    char refused_name[128];
    const char *refused_why; /* of the first of them */
    bool is_library;
    bool frameless;   /* call frame information of what moved could not be written */
    char agent[1024]; /* path of the tracing agent; "": it is not there */
};

/* Writes the copy. SPROF_EUNSUPPORTED: the file cannot have any, and why; SPROF_ENOTFOUND: there is
 * no such function, or none that can have a probe; SPROF_EUSAGE: an expression or the output cannot
 * be meant so; else as plan_open. There is no output then. */
int embed_write(const struct embed_request *embedding, struct cache *cache,
                struct embed_result *result, struct sprof_error *error);

#endif
