/* trace, inside: the instructions of a file that get uprobes. */
#ifndef SPROF_TRACE_UPROBE_SITES_H
#define SPROF_TRACE_UPROBE_SITES_H

#include "trace/tracing.h"
#include "trace/uprobe/kernel.h"

/* A chosen function without a probe. */
struct uprobe_refusal {
    uint32_t function;
    const char *why;
};

struct uprobe_sites {
    SPROF_VEC(struct uprobe_site) list;
    SPROF_VEC(struct uprobe_refusal) refused;
};

/* Whether a function without room for a jump has room for a uprobe, which takes one byte and moves
 * nothing. */
bool uprobe_may_stand(const struct plan_function *function);

/* Lists the sites for the functions of one file, whose image is given: entries, and the ends of
 * timed functions (PROBE_FULL). A function that jumps back to its entry, or begins with an
 * instruction that the kernel refuses or misreads, gets none: its tier becomes PROBE_OFF. Returns 0
 * or SPROF_ENOMEM. The caller releases both lists. */
int uprobe_sites_find(struct uprobe_sites *sites, struct trace_session *session,
                      const struct trace_file *file, struct image *image);

/* How the kernel treats a first instruction: enum uprobe_entry. */
uint32_t uprobe_entry_of(const uint8_t *code, size_t size);

#endif
