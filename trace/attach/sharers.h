/* trace, inside: processes that share the memory of another one. */
#ifndef SPROF_TRACE_ATTACH_SHARERS_H
#define SPROF_TRACE_ATTACH_SHARERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether there has been one for a tenth of a second, and nobody waits for a child of vfork, which
 * is one for a while. Those that this process may not trace are not seen. */
bool trace_has_lasting_sharer(pid_t pid);

#endif
