/* trace, inside: code that the program compiles while it runs. */
#ifndef SPROF_TRACE_COMPILED_H
#define SPROF_TRACE_COMPILED_H

#include <stdint.h>

struct trace_session;

struct trace_compiled {
    uint64_t wait_ns, next_ns; /* between two looks; the next one */
};

/* Reports once that the process compiles code while it runs. Reads its mappings more and more
 * rarely. */
void trace_compiled_refresh(struct trace_session *session);

#endif
