/* Reads the kernel's version, and lifts the limit of its BPF programs' memory. */
#include "base/kernel.h"

#include <stdio.h>
#include <sys/utsname.h>

bool sprof_kernel_release_is_before(const char *release, unsigned major, unsigned minor)
{
    unsigned its_major, its_minor;
    if (sscanf(release, "%u.%u", &its_major, &its_minor) != 2)
        return false;
    return its_major < major || (its_major == major && its_minor < minor);
}

bool sprof_kernel_is_before(unsigned major, unsigned minor)
{
    struct utsname machine;
    return !uname(&machine) && sprof_kernel_release_is_before(machine.release, major, minor);
}

struct rlimit sprof_kernel_lift_bpf_limit(void)
{
    static const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit before = none;
    getrlimit(RLIMIT_MEMLOCK, &before);
    if (sprof_kernel_is_before(5, 11) && before.rlim_cur != RLIM_INFINITY)
        setrlimit(RLIMIT_MEMLOCK, &none);
    return before;
}

void sprof_kernel_restore_bpf_limit(const struct rlimit *before)
{
    if (sprof_kernel_is_before(5, 11))
        setrlimit(RLIMIT_MEMLOCK, before);
}
