/* The running kernel: its version, and the limit that its BPF programs' memory had before
 * Linux 5.11. */
#ifndef SPROF_BASE_KERNEL_H
#define SPROF_BASE_KERNEL_H

#include <stdbool.h>
#include <sys/resource.h>

/* Whether the kernel's own number is below MAJOR.MINOR. A distribution may have added to its kernel
 * what is newer. */
bool sprof_kernel_is_before(unsigned major, unsigned minor);

/* The same of a release as uname(2) returns it, "5.10.0-31-cloud-amd64". False where it is none. */
bool sprof_kernel_release_is_before(const char *release, unsigned major, unsigned minor);

/* Before Linux 5.11, what BPF maps and programs take counts against RLIMIT_MEMLOCK as they are
 * made; it is 64 KiB there. Lifts this process's limit where that is permitted; returns the limit
 * before, which sprof_kernel_restore_bpf_limit sets again. Newer kernels: changes nothing. */
struct rlimit sprof_kernel_lift_bpf_limit(void);
void sprof_kernel_restore_bpf_limit(const struct rlimit *before);

#endif
