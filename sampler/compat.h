/* What perf events have that the kernel headers of Linux 5.10 lack. The running kernel may lack it,
 * too. */
#ifndef SPROF_SAMPLER_COMPAT_H
#define SPROF_SAMPLER_COMPAT_H

#include <linux/perf_event.h>
#include <linux/version.h>

/* Linux 5.12: mappings with build ids, the first bit behind those of 5.10's struct perf_event_attr.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 12, 0)
#define SPROF_PERF_BUILD_ID(attr) ((attr)->__reserved_1)
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#else
#define SPROF_PERF_BUILD_ID(attr) ((attr)->build_id)
#endif

/* Linux 6.0: how many records an event has lost. (An enumerator where it is there.) */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 0, 0)
#define PERF_FORMAT_LOST (1U << 4)
#endif

#endif
