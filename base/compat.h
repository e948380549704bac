/* Names that the oldest C libraries and kernel headers lack with which sprof is built: glibc 2.31,
 * Linux 5.10. The running kernel is checked apart from that, and may refuse. Also for
 * agents: macros only. */
#ifndef SPROF_BASE_COMPAT_H
#define SPROF_BASE_COMPAT_H

#include <elf.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls since Linux 5.1 have one number on all processors. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* glibc 2.34. */
#if defined __GLIBC__ && !__GLIBC_PREREQ(2, 34)
#define close_range(first, last, flags) syscall(SYS_close_range, first, last, flags)
#endif

/* glibc 2.32. Errors are read and shown by their numbers without it. */
#if defined __GLIBC__ && !__GLIBC_PREREQ(2, 32)
#define strerrorname_np(number) ((void)(number), (const char *)NULL)
#endif

#ifndef PT_GNU_PROPERTY
#define PT_GNU_PROPERTY 0x6474e553
#endif

#endif
