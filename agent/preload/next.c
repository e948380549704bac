/* Finds libc's versions of replaced functions. */
#include "agent/preload/preload.h"
#include SPROF_ARCH_CONTEXT_HEADER

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#ifdef __GLIBC__
__asm__(".symver dlsym, " ARCH_CONTEXT_DLSYM);
#endif

static void find(void *pointer, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(pointer, &address, sizeof address);
}

const struct agent_next *agent_next(void)
{
    static struct agent_next next;
    static _Atomic int found;
    if (atomic_load_explicit(&found, memory_order_acquire))
        return &next;
    struct agent_next all = {0};
    find(&all.pthread_create, "pthread_create");
    find(&all.clone, "clone");
    find(&all.sigaction, "sigaction");
    find(&all.signal, "signal");
    find(&all.mlockall, "mlockall");
    find(&all.setitimer, "setitimer");
    find(&all.sigwait, "sigwait");
    find(&all.sigwaitinfo, "sigwaitinfo");
    find(&all.sigtimedwait, "sigtimedwait");
    find(&all.signalfd, "signalfd");
    find(&all.dlclose, "dlclose");
    find(&all.getattr_default, "pthread_getattr_default_np");
    find(&all.attr_getstacksize, "pthread_attr_getstacksize");
    find(&all.atfork, "pthread_atfork");
    find(&all.key_create, "pthread_key_create");
    find(&all.setspecific, "pthread_setspecific");
    find(&all.getspecific, "pthread_getspecific");
    find(&all.execve, "execve");
    find(&all.execvpe, "execvpe");
    find(&all.fexecve, "fexecve");
    find(&all.posix_spawn, "posix_spawn");
    find(&all.posix_spawnp, "posix_spawnp");
    find(&all.unshare, "unshare");
    find(&all.setns, "setns");
    find(&all.setuid, "setuid");
    find(&all.setgid, "setgid");
    find(&all.seteuid, "seteuid");
    find(&all.setegid, "setegid");
    find(&all.setreuid, "setreuid");
    find(&all.setregid, "setregid");
    find(&all.setresuid, "setresuid");
    find(&all.setresgid, "setresgid");
    find(&all.system, "system");
    find(&all.popen, "popen");
    find(&all.swapcontext, "swapcontext");
    find(&all.setcontext, "setcontext");
    next = all; /* another thread finds the same values */
    atomic_store_explicit(&found, 1, memory_order_release);
    return &next;
}

int agent_next_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    int (*create)(clockid_t, struct sigevent *, timer_t *);
    find(&create, "timer_create");
    if (create)
        return create(clock, event, timer);
    errno = ENOSYS;
    return -1;
}
