/* trace, inside: the BPF program at uprobes, its maps, and what it is attached to. */
#ifndef SPROF_TRACE_UPROBE_KERNEL_H
#define SPROF_TRACE_UPROBE_KERNEL_H

#include "base/base.h"
#include "trace/uprobe/calls.h"

#include <sys/types.h>

struct uprobe_kernel {
    int maps[UPROBE_MAPS], program, exec_program; /* descriptors; -1: closed */
    int exec_link;
    struct uprobe_control *control; /* the kernel's own memory; NULL: nothing is loaded */
    SPROF_VEC(int) links;
};

/* An instruction that gets a probe. */
struct uprobe_site {
    uint64_t offset;   /* in the file */
    uint64_t cookie;   /* see calls.h */
    uint32_t function; /* its function */
};

/* Figures of functions in threads, as read. */
struct uprobe_figures {
    SPROF_VEC(struct uprobe_key) keys;
    SPROF_VEC(struct uprobe_stat) stats; /* by key */
};

/* Loads the program. SPROF_EUNSUPPORTED, SPROF_EPERMISSION or SPROF_ELIMIT. Closed by
 * uprobe_kernel_close, also after an error. */
int uprobe_kernel_open(struct uprobe_kernel *kernel, struct sprof_error *error);
void uprobe_kernel_close(struct uprobe_kernel *kernel);

/* Stops the process when it has executed a program, before that runs (control->stopped). */
int uprobe_kernel_stop_at_exec(struct uprobe_kernel *kernel, pid_t pid, struct sprof_error *error);

/* Puts probes into a file, for one process. `refused` gets those whose instructions the kernel
 * refuses. Returns 0, SPROF_ENOMEM, or SPROF_EPERMISSION, SPROF_ENOTFOUND or SPROF_ELIMIT where
 * none can be placed. */
int uprobe_kernel_attach(struct uprobe_kernel *kernel, const char *path,
                         const struct uprobe_site *sites, size_t count, pid_t pid,
                         void (*refused)(void *context, const struct uprobe_site *site),
                         void *context, struct sprof_error *error);

/* Takes all probes out, some 30 ms a file. */
void uprobe_kernel_detach(struct uprobe_kernel *kernel);

/* Reads all figures. Returns 0 or SPROF_ENOMEM. */
int uprobe_kernel_read(const struct uprobe_kernel *kernel, struct uprobe_figures *figures);
void uprobe_figures_release(struct uprobe_figures *figures);

/* Forgets an ended thread: its number may be another's next. */
void uprobe_kernel_forget(const struct uprobe_kernel *kernel, const struct uprobe_key *key);
void uprobe_kernel_forget_thread(const struct uprobe_kernel *kernel, uint32_t tid);

#endif
