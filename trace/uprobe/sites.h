/* Finds instructions for uprobes. */
#ifndef SPROF_TRACE_UPROBE_SITES_H
#define SPROF_TRACE_UPROBE_SITES_H

#include "trace/tracing.h"
#include "uprobe/uprobe.h"

struct uprobe_refusal {
    uint32_t function;
    const char *why;
};

struct uprobe_sites {
    SPROF_VEC(struct uprobe_site) list;
    SPROF_VEC(struct uprobe_refusal) refused;
};

/* A uprobe takes one byte and moves no code. */
bool trace_uprobe_may_stand(const struct plan_function *function);

/* Lists entries, and ends of timed functions (PROBE_FULL). Functions that jump back to their entry,
 * or with a first instruction that the kernel refuses or misreads, get PROBE_OFF. Returns 0 or
 * SPROF_ENOMEM. The caller releases both lists. */
int trace_uprobe_sites_find(struct uprobe_sites *sites, struct trace_session *session,
                            const struct probing_file *file, struct image *image);

/* Returns enum uprobe_entry. */
uint32_t trace_uprobe_entry_of(const uint8_t *code, size_t size);

#endif
