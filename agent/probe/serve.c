/* Serves a tracer from inside the program: sends the hello, maps memory, begins. It may run before
 * constructors, so it only makes system calls. */
#include "agent/probe/table.h"

#include <errno.h>
#include <linux/mman.h>
#include <stddef.h>

enum {
    PAGE = 4096,
    ADVICE_DONTDUMP = 16,
    ADVICE_NOHUGEPAGE = 15,
    ADVICE_WIPEONFORK = 18,
    ADVICE_GUARD_INSTALL = 102,
    RIGHTS = 1,              /* SCM_RIGHTS */
    SOCKET_LEVEL = 1,        /* SOL_SOCKET */
    PEER = 17,               /* SO_PEERCRED */
    NO_SIGNAL = 0x4000,      /* MSG_NOSIGNAL */
    TID_SEARCH_FROM = 0x100, /* a thread's id, from its pointer */
    TID_SEARCH_TO = 0x900,
    TID_SEARCH_MUSL = 0x30, /* up to TID_SEARCH_FROM */
    GET_FS = 0x1003,        /* ARCH_GET_FS */
};

/* Linux miscounts 2^31 unlocked pages and more. */
#define UNLOCKED_BYTES (UINT64_C(4) << 40)

extern int *__errno_location(void) __attribute__((weak));

/* == Memory == */

struct vector {
    void *base;
    uint64_t size;
};

static long map(uint64_t address, uint64_t size, int protection, int flags, int fd)
{
    return inside_call(SYS_mmap, (long)address, (long)size, protection, flags, fd, 0);
}

static bool is_error(long result)
{
    return result < 0 && result > -4096;
}

/* Makes pages exist only when used, even after mlockall: maps inaccessible memory, unlocks it,
 * opens it. A later mlockall stops at a page `guard` bytes on (Linux 6.15; private memory 6.13). */
static long map_lazily(uint64_t address, uint64_t size, int flags, int fd, uint64_t guard)
{
    const long at = map(address, size, PROT_NONE, flags | MAP_NORESERVE, fd);
    if (is_error(at) || (address && at != (long)address))
        return at;
    for (uint64_t done = 0, part; done < size; done += part) {
        part = size - done < UNLOCKED_BYTES ? size - done : UNLOCKED_BYTES;
        inside_call(SYS_munlock, at + (long)done, (long)part, 0, 0, 0, 0);
    }
    const long result = inside_call(SYS_mprotect, at, (long)size, PROT_READ | PROT_WRITE, 0, 0, 0);
    if (result) {
        inside_call(SYS_munmap, at, (long)size, 0, 0, 0, 0);
        return result;
    }
    inside_call(SYS_madvise, at + (long)guard, PAGE, ADVICE_GUARD_INSTALL, 0, 0, 0);
    inside_call(SYS_madvise, at, (long)size, ADVICE_DONTDUMP, 0, 0, 0);
    return at;
}

/* Returns an errno or 0. Slots of the first two pages' records lie in one page of 2 TiB. */
static int map_records(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    const uint64_t size = PROBE_RECORDS_BYTES;
    const long at = map_lazily(PROBE_RECORDS, size, flags, -1, PAGE);
    if (at != (long)PROBE_RECORDS)
        return is_error(at) ? (int)-at : EEXIST;
    inside_call(SYS_madvise, at, (long)size, ADVICE_NOHUGEPAGE, 0, 0, 0);
    probe_publish();
    return 0;
}

/* Whether an earlier tracer was killed before it began. */
static bool has_records(void)
{
    struct probe_window window = {0};
    struct vector local = {&window, sizeof window}, there = {(void *)PROBE_RECORDS, sizeof window};
    const long tid = inside_call(SYS_gettid, 0, 0, 0, 0, 0, 0); /* the first may have ended */
    return probe_inside.alive &&
           inside_call(SYS_process_vm_readv, tid, (long)&local, 1, (long)&there, 1, 0) ==
               sizeof window &&
           probe_is_published(&window);
}

static uint64_t *map_alive(void)
{
    const long at = map(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (is_error(at))
        return NULL;
    return inside_call(SYS_madvise, at, PAGE, ADVICE_WIPEONFORK, 0, 0, 0) ? NULL : (uint64_t *)at;
}

/* From the thread pointer; 0: not found. */
#ifdef PROBE_MAPPED

/* The control block may be missing, short or unknown. At 0x10 and 0x18 glibc has its address and 0
 * or 1 (multithreaded), musl addresses or zeros. */
static uint32_t find_tid(uint32_t tid)
{
    static union {
        uint64_t words[TID_SEARCH_TO / 8];
        uint32_t halves[TID_SEARCH_TO / 4];
    } block;
    uint64_t pointer = 0;
    inside_call(SYS_arch_prctl, GET_FS, (long)&pointer, 0, 0, 0, 0);
    struct vector here = {&block, sizeof block},
                  there[2] = {{(void *)(uintptr_t)pointer, TID_SEARCH_FROM},
                              {(void *)(uintptr_t)(pointer + TID_SEARCH_FROM),
                               sizeof block - TID_SEARCH_FROM}};
    const long got =
        pointer ? inside_call(SYS_process_vm_readv, tid, (long)&here, 1, (long)there, 2, 0) : 0;
    if (got < TID_SEARCH_FROM || block.words[0] != pointer)
        return 0;
    const bool is_glibc = block.words[2] == pointer && block.halves[6] <= 1;
    const long end = is_glibc ? got : TID_SEARCH_FROM;
    for (long at = is_glibc ? TID_SEARCH_FROM : TID_SEARCH_MUSL; at < end; at += 4)
        if (block.halves[at / 4] == tid)
            return (uint32_t)at;
    return 0;
}

#else

static uint32_t find_tid(uint32_t tid)
{
    for (uint32_t offset = TID_SEARCH_FROM; offset < TID_SEARCH_TO; offset += 4)
        if (*(const uint32_t *)(uintptr_t)(probe_thread_pointer() + offset) == tid)
            return offset;
    return 0;
}

#endif

bool probe_find_ids(void)
{
    if (!probe_inside.tid_offset)
        probe_inside.tid_offset = find_tid((uint32_t)inside_call(SYS_gettid, 0, 0, 0, 0, 0, 0));
    return probe_inside.tid_offset;
}

void probe_note_tid(void)
{
    const uint32_t tid = (uint32_t)inside_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    if (probe_inside.tid_offset)
        *(uint32_t *)(uintptr_t)(probe_thread_pointer() + probe_inside.tid_offset) = tid;
}

/* == The tracer's requests == */

bool probe_may_trace(int socket_fd)
{
    struct {
        int32_t pid;
        uint32_t user, group;
    } peer = {0};
    uint32_t size = sizeof peer;
    if (inside_call(SYS_getsockopt, socket_fd, SOCKET_LEVEL, PEER, (long)&peer, (long)&size, 0))
        return false;
    return !peer.user || peer.user == (uint32_t)inside_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

struct message {
    void *name;
    uint32_t name_size;
    struct vector *vectors;
    uint64_t vector_count;
    void *control;
    uint64_t control_size;
    uint32_t flags;
};

struct control {
    uint64_t size;
    int32_t level, type;
    int32_t fd, padding;
};

/* `fd`: or -1. False: the tracer is gone. */
static bool receive(int socket_fd, struct probe_request *request, int *fd)
{
    struct vector vector = {request, sizeof *request};
    struct control control = {0};
    struct message message = {
        .vectors = &vector, .vector_count = 1, .control = &control, .control_size = sizeof control};
    long got;
    do
        got = inside_call(SYS_recvmsg, socket_fd, (long)&message, 0, 0, 0, 0);
    while (got == -EINTR);
    *fd = message.control_size >= 20 && control.level == SOCKET_LEVEL && control.type == RIGHTS
              ? control.fd
              : -1;
    return got == sizeof *request;
}

bool probe_send(int socket_fd, const void *data, size_t size, int fd)
{
    struct vector vector = {(void *)(uintptr_t)data, size};
    struct control control = {20, SOCKET_LEVEL, RIGHTS, fd, 0};
    const struct message message = {.vectors = &vector,
                                    .vector_count = 1,
                                    .control = fd >= 0 ? &control : NULL,
                                    .control_size = fd >= 0 ? sizeof control : 0};
    return inside_call(SYS_sendmsg, socket_fd, (long)&message, NO_SIGNAL, 0, 0, 0) == (long)size;
}

static int64_t map_shared(uint64_t size, int fd)
{
    const long at = map_lazily(0, size, MAP_SHARED, fd, PROBE_SHARED_GUARD);
    inside_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (is_error(at))
        return at;
    probe_inside.shared = (struct probe_shared *)at;
    probe_inside.shared_bytes = size;
    return at;
}

int64_t probe_answer_of(const struct probe_request *request, int fd)
{
    if (request->kind == PROBE_MAP_SHARED)
        return fd < 0 ? -EBADF : map_shared(request->size, fd);
    if (request->kind == PROBE_UNMAP)
        return inside_call(SYS_munmap, (long)request->address, (long)request->size, 0, 0, 0, 0);
    return map(request->address, request->size, PROT_READ | PROT_EXEC,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
}

bool probe_serve(int socket_fd)
{
    struct probe_request request;
    int fd;
    while (receive(socket_fd, &request, &fd)) {
        if (request.kind == PROBE_GO)
            return probe_inside.shared != NULL;
        if (request.kind == PROBE_GIVE_UP)
            return false;
        const struct probe_answer answer = {probe_answer_of(&request, fd)};
        if (!probe_send(socket_fd, &answer, sizeof answer, -1))
            return false;
    }
    return false;
}

bool probe_say_hello(struct probe_hello *hello)
{
    if (!probe_has_ids())
        return false;
    const struct probe_table table = probe_describe_table();
    const bool is_there = has_records();
    if (table.address) /* pages exist only for threads */
        inside_call(SYS_madvise, (long)table.address, (long)sizeof(struct probe_slot) * PROBE_SLOTS,
                    ADVICE_NOHUGEPAGE, 0, 0, 0);
    const uint64_t *alive =
        is_there ? (const uint64_t *)(uintptr_t)probe_inside.alive : map_alive();
    *hello = (struct probe_hello){
        .magic = PROBE_MAGIC,
        .version = PROBE_VERSION,
        .pid = (uint32_t)inside_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
        .window_error = is_there ? 0
                        : alive  ? map_records()
                                 : ENOMEM,
        .thunks = (uint64_t)(uintptr_t)probe_thunks,
        .enter = (uint64_t)(uintptr_t)probe_enter,
        .leave = (uint64_t)(uintptr_t)probe_leave,
        .nothing = (uint64_t)(uintptr_t)probe_nothing,
        .errand = (uint64_t)(uintptr_t)probe_errand,
        .alive = (uint64_t)(uintptr_t)alive,
        .outside_enter = (uint64_t)(uintptr_t)probe_outside_enter,
        .outside_leave = (uint64_t)(uintptr_t)probe_outside_leave,
        .points = (uint64_t)(uintptr_t)probe_points,
        .copies = (uint64_t)(uintptr_t)probe_copies + ARCH_COPY_BYTES,
        .point_enter = (uint64_t)(uintptr_t)probe_point_enter,
        .point_leave = (uint64_t)(uintptr_t)probe_point_leave,
    };
    probe_say_thread(hello);
#ifndef PROBE_MAPPED
    for (uint32_t i = 0; i < PROBE_FIELDS; i++)
        hello->fields[i] = (struct probe_field){
            (uint64_t)(uintptr_t)probe_edge_fields + (uint64_t)(int64_t)probe_edge_fields[i].at,
            (int32_t)hello->thread + (int32_t)probe_edge_fields[i].offset, 0};
#endif
    probe_inside.alive = alive;
    return alive != NULL;
}

void probe_begin(void)
{
    volatile uint64_t *page = (volatile uint64_t *)(uintptr_t)probe_inside.alive;
    const uint32_t tid = (uint32_t)inside_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    probe_inside.shared->tid_offset = find_tid(tid);
    probe_inside.follows_forks = probe_inside.shared->follows_forks;
    probe_inside.stack_low = probe_inside.shared->stacks.low;
    probe_inside.stack_end = probe_inside.shared->stack_end;
    probe_inside.slab_count = probe_inside.shared->slab_count;
    probe_inside.function_count = probe_inside.shared->function_count;
    probe_inside.slab_bytes = probe_inside.shared->slab_bytes;
    probe_inside.pid = (uint32_t)inside_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    atomic_store(&probe_inside.shared->next_serial, probe_inside.serials);
    probe_inside.shared->generation = ++probe_inside.generations;
    if (__errno_location) /* same offset in all threads */
        probe_inside.error_at =
            (int64_t)((uint64_t)(uintptr_t)__errno_location() - probe_thread_pointer());
    page[1] = tid;
    page[0] = (uint64_t)(uintptr_t)probe_inside.shared;
}
