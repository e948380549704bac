/* The BPF program for uprobes, its maps and links. */
#ifndef SPROF_UPROBE_KERNEL_H
#define SPROF_UPROBE_KERNEL_H

#include "base/base.h"
#include "uprobe/calls.h"

#include <sys/types.h>

struct uprobe_kernel {
    int maps[UPROBE_MAPS], program, exec_program; /* descriptors; -1: closed */
    int exec_link;
    struct uprobe_control *control; /* mapped from the kernel; NULL: not loaded */
    SPROF_VEC(int) links;
};

struct uprobe_site {
    uint64_t offset; /* in the file */
    uint64_t cookie; /* see calls.h */
    uint32_t function;
};

struct uprobe_figures {
    SPROF_VEC(struct uprobe_key) keys;
    SPROF_VEC(struct uprobe_stat) stats;
};

/* SPROF_EUNSUPPORTED, SPROF_EPERMISSION or SPROF_ELIMIT. The caller closes, also on failure. */
int uprobe_kernel_open(struct uprobe_kernel *kernel, struct sprof_error *error);
void uprobe_kernel_close(struct uprobe_kernel *kernel);

/* Stops the process after its execve, before its program runs. */
int uprobe_kernel_stop_at_exec(struct uprobe_kernel *kernel, pid_t pid, struct sprof_error *error);

/* Places probes in a file for one process. `refused` gets sites that the kernel refuses. Returns 0,
 * SPROF_ENOMEM, or if none was placed SPROF_EPERMISSION, SPROF_ENOTFOUND or SPROF_ELIMIT. */
int uprobe_kernel_attach(struct uprobe_kernel *kernel, const char *path,
                         const struct uprobe_site *sites, size_t count, pid_t pid,
                         void (*refused)(void *context, const struct uprobe_site *site),
                         void *context, struct sprof_error *error);

/* Takes about 30 ms a file. */
void uprobe_kernel_detach(struct uprobe_kernel *kernel);

/* Returns 0 or SPROF_ENOMEM. */
int uprobe_kernel_read(const struct uprobe_kernel *kernel, struct uprobe_figures *figures);
void uprobe_figures_release(struct uprobe_figures *figures);

/* Delete ended threads, whose ids may be reused. */
void uprobe_kernel_forget(const struct uprobe_kernel *kernel, const struct uprobe_key *key);
void uprobe_kernel_forget_thread(const struct uprobe_kernel *kernel, uint32_t tid);

#endif
