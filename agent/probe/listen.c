/* The tracing agent's thread that serves tracers without ptrace, if PROBE_VARIABLE=listen. It has
 * no capabilities, no signals, and none of the program's descriptors. */
#include "agent/probe/inside.h"

#include "base/compat.h"

#include <errno.h>
#include <stddef.h>

enum {
    PAGE = 4096,
    BLOCK_BYTES = 256 << 10,
    THREAD_FLAGS = 0x100 | 0x800 | 0x10000 | 0x80000, /* VM, SIGHAND, THREAD, SETTLS */
    SET_MASK = 2,                                     /* SIG_SETMASK */
    SIGNALS_BYTES = 8,
    SET_NAME = 15,               /* PR_SET_NAME */
    NO_NEW_PRIVILEGES = 38,      /* PR_SET_NO_NEW_PRIVS */
    CAPABILITIES_3 = 0x20080522, /* _LINUX_CAPABILITY_VERSION_3 */
    LOCAL = 1,                   /* AF_UNIX */
    SEQUENCED = 5,               /* SOCK_SEQPACKET */
    CLOSE_ON_EXEC = 02000000,    /* SOCK_CLOEXEC, O_CLOEXEC */
    READ_WRITE = 2,              /* O_RDWR */
    BACKLOG = 4,
    REMOVE = 9,  /* MADV_REMOVE */
    TRACES = 16, /* earlier traces, perhaps still written to */
    SWITCH_ON = 0xe9,
    SWITCH_OFF = 0x3d, /* cmp: plan/embedded.h */
    FAR_JUMP = 0x25ff, /* jmp *0(%rip), then the address */
};

/* == Code == */

static int open_memory(void)
{
    return (int)inside_call(SYS_openat, -100, (long)"/proc/thread-self/mem",
                            READ_WRITE | CLOSE_ON_EXEC, 0, 0, 0);
}

/* Sends the hello with a descriptor of the program's memory. */
static bool say(int fd, const struct probe_hello *hello)
{
    const int memory = open_memory();
    const bool said = memory >= 0 && probe_send(fd, hello, sizeof *hello, memory);
    if (memory >= 0)
        inside_call(SYS_close, memory, 0, 0, 0, 0, 0);
    return said;
}

/* == The end of a trace == */

static bool read_memory(int memory, uint64_t at, void *to, uint64_t size)
{
    return inside_call(SYS_pread64, memory, (long)to, (long)size, (long)at, 0, 0) == (long)size;
}

/* Checks the code: the switch's library may be unloaded. */
static bool is_on(int memory, uint64_t at)
{
    struct __attribute__((packed)) {
        uint8_t code;
        int32_t distance;
    } here;
    struct __attribute__((packed)) {
        uint16_t code;
        int32_t zero;
        uint64_t to;
    } there;
    return at && read_memory(memory, at, &here, sizeof here) && here.code == SWITCH_ON &&
           read_memory(memory, at + sizeof here + (uint64_t)(int64_t)here.distance, &there,
                       sizeof there) &&
           there.code == FAR_JUMP && !there.zero &&
           there.to - (uint64_t)(uintptr_t)probe_thunks < PROBE_THUNKS * ARCH_THUNK_BYTES;
}

static void turn_off(const struct probe_shared *shared)
{
    const uint8_t off = SWITCH_OFF;
    const int memory = open_memory();
    for (uint32_t i = 0; memory >= 0 && i < PROBE_THUNKS && i < shared->function_count; i++)
        if (is_on(memory, shared->switches[i]))
            inside_call(SYS_pwrite64, memory, (long)&off, 1, (long)shared->switches[i], 0, 0);
    if (memory >= 0)
        inside_call(SYS_close, memory, 0, 0, 0, 0, 0);
}

/* A thread may stay in a probe and write figures later. Pages are freed now, addresses some traces
 * later. */
static void retire(struct probe_shared *shared)
{
    static struct {
        struct probe_shared *at;
        uint64_t bytes;
    } old[TRACES];
    static uint32_t count;
    const uint64_t bytes = probe_inside.shared_bytes;
    const uint32_t place = count++ % TRACES;
    probe_inside.serials = atomic_load(&shared->next_serial);
    inside_call(SYS_madvise, (long)shared, (long)bytes, REMOVE, 0, 0, 0);
    shared->owner.hello.magic = PROBE_MAGIC;
    shared->owner.hello.version = PROBE_VERSION;
    if (old[place].at)
        inside_call(SYS_munmap, (long)old[place].at, (long)old[place].bytes, 0, 0, 0, 0);
    old[place].at = shared;
    old[place].bytes = bytes;
}

/* Afterwards thunks skip the agent. */
static void converse(int fd)
{
    struct probe_hello hello;
    struct probe_answer begun = {0};
    const struct probe_shared *before = probe_inside.shared;
    if (!probe_say_hello(&hello))
        return;
    probe_find_loader(&hello);
    if (!say(fd, &hello))
        return;
    if (probe_serve(fd) && probe_inside.shared != before) {
        probe_begin();
        if (!probe_inside.shared->cost.whole)
            probe_calibrate();
        if (probe_send(fd, &begun, sizeof begun, -1))
            probe_serve(fd);
        *(volatile uint64_t *)(uintptr_t)probe_inside.alive = 0;
        turn_off(probe_inside.shared);
    }
    if (probe_inside.shared != before)
        retire(probe_inside.shared);
}

/* == The thread == */

static uint32_t put_number(char *at, uint32_t number)
{
    uint32_t length = number >= 10 ? put_number(at, number / 10) : 0;
    at[length] = (char)('0' + number % 10);
    return length + 1;
}

/* An abstract name needs no cleanup. */
static long open_socket(void)
{
    struct {
        uint16_t family;
        char path[sizeof PROBE_LISTENS + 16];
    } address = {.family = LOCAL};
    uint32_t length = 1;
    for (const char *name = PROBE_LISTENS; *name; name++)
        address.path[length++] = *name;
    length +=
        put_number(address.path + length, (uint32_t)inside_call(SYS_getpid, 0, 0, 0, 0, 0, 0));
    const long fd = inside_call(SYS_socket, LOCAL, SEQUENCED | CLOSE_ON_EXEC, 0, 0, 0, 0);
    if (fd < 0 ||
        inside_call(SYS_bind, fd, (long)&address,
                    (long)(offsetof(__typeof__(address), path) + length), 0, 0, 0) ||
        inside_call(SYS_listen, fd, BACKLOG, 0, 0, 0, 0))
        return -1;
    return fd;
}

static void give_up_rights(void)
{
    const struct {
        uint32_t version;
        int32_t pid;
    } header = {CAPABILITIES_3, 0};
    const uint32_t none[6] = {0};
    inside_call(SYS_prctl, NO_NEW_PRIVILEGES, 1, 0, 0, 0, 0);
    inside_call(SYS_capset, (long)&header, (long)none, 0, 0, 0, 0);
}

/* Uses a copy of the program's descriptor table, whose numbers may be closed and reused. */
static void listen(void)
{
    inside_call(SYS_prctl, SET_NAME, (long)"sprof", 0, 0, 0, 0);
    give_up_rights();
    probe_note_tid();
    if (inside_call(SYS_close_range, 0, UINT32_MAX, 0, 0, 0, 0))
        return;
    const long fd = open_socket();
    while (fd >= 0) {
        const long peer = inside_call(SYS_accept4, fd, 0, 0, CLOSE_ON_EXEC, 0, 0);
        if (peer == -EINTR || peer == -ECONNABORTED)
            continue;
        if (peer < 0)
            return;
        if (probe_may_trace((int)peer))
            converse((int)peer);
        inside_call(SYS_close, peer, 0, 0, 0, 0, 0);
    }
}

void probe_listen(void)
{
    struct probe_hello thread;
    const long block = inside_call(SYS_mmap, 0, BLOCK_BYTES, 3, 0x22, -1, 0);
    if (block < 0 && block > -4096)
        return;
    inside_call(SYS_mprotect, block, PAGE, 0, 0, 0, 0);
    probe_say_thread(&thread);
    /* like libc: data is below the pointer */
    uint64_t *pointer = (uint64_t *)(uintptr_t)(block + BLOCK_BYTES - PAGE);
    pointer[0] = pointer[2] = (uint64_t)(uintptr_t)pointer;
    const int64_t below = thread.thread < 0 ? -thread.thread : 0;
    if (below > BLOCK_BYTES / 2) {
        inside_call(SYS_munmap, block, BLOCK_BYTES, 0, 0, 0, 0);
        return;
    }
    const uint64_t all = UINT64_MAX;
    uint64_t mask;
    inside_call(SYS_rt_sigprocmask, SET_MASK, (long)&all, (long)&mask, SIGNALS_BYTES, 0, 0);
    probe_clone(THREAD_FLAGS, (uint8_t *)pointer - (below + PAGE) / PAGE * PAGE, pointer, listen);
    inside_call(SYS_rt_sigprocmask, SET_MASK, (long)&mask, 0, SIGNALS_BYTES, 0, 0);
}
