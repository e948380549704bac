/* symbolize, inside: a process without rights that reads one foreign file, as its starter sees it.
 * See docs/design/decisions/names-in-a-child.md. */
#ifndef SPROF_SYMBOLIZE_CHILD_H
#define SPROF_SYMBOLIZE_CHILD_H

#include "symbolize/symbolize.h"

#include <signal.h>

/* Has the child give up what it prepares. */
enum { SYMBOLIZE_CHILD_STOP = SIGUSR1 };

struct symbolize_child;

/* Whether the files of an image are to be read by a child: the image's own, its debug file (NULL:
 * there is none), and what these refer to. */
bool symbolize_child_is_needed(struct image *image, struct image *debug);

/* Starts a child for an image, which is borrowed, as is what the options point to. One that cannot
 * be started is one that has ended. Returns 0 or SPROF_ENOMEM. */
int symbolize_child_open(struct symbolize_child **child, struct image *image,
                         const struct symbolize_options *options, struct sprof_error *error);

/* As the functions of a session. The _ask call returns SPROF_EFORMAT where the child has no answer;
 * _problem, which is valid until the child is closed, says why; NULL: nothing is missing. */
int symbolize_child_ask(struct symbolize_child *child, struct symbolize_result *result,
                        const uint64_t *addresses, size_t count,
                        const struct symbolize_bounds *bounds);
uint64_t symbolize_child_preparable(struct symbolize_child *child);
void symbolize_child_prepare(struct symbolize_child *child, const uint64_t *addresses, size_t count,
                             const atomic_bool *stop);
const char *symbolize_child_problem(const struct symbolize_child *child);
uint64_t symbolize_child_cpu_ns(const struct symbolize_child *child);

/* Ends the process. NULL is fine. */
void symbolize_child_close(struct symbolize_child *child);

#endif
