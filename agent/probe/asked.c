/* Serves requests of a tracer in a running program: a borrowed thread calls it, in place of socket
 * messages. */
#include "agent/probe/table.h"

#include <errno.h>

enum {
    CLOSE_ON_EXEC = 1, /* MFD_CLOEXEC */
    ALLOW_SEALING = 2, /* MFD_ALLOW_SEALING */
    NOW = 2,           /* RTLD_NOW */
    NO_LOAD = 4,       /* RTLD_NOLOAD */
    GET_SEALS = 1034,  /* F_GET_SEALS */
};

/* Memory made but not mapped because the tracer was killed, or -1. */
static int left_over = -1;

/* The program may have reused the number for another file. */
static void close_left_over(void)
{
    if (left_over >= 0 && inside_call(SYS_fcntl, left_over, GET_SEALS, 0, 0, 0, 0) >= 0)
        inside_call(SYS_close, left_over, 0, 0, 0, 0, 0);
    left_over = -1;
}

static int64_t make_memory(void)
{
    const long fd = inside_call(SYS_memfd_create, (long)PROBE_MEMORY_NAME,
                                CLOSE_ON_EXEC | ALLOW_SEALING, 0, 0, 0, 0);
    left_over = fd >= 0 ? (int)fd : -1;
    return fd;
}

static int64_t find_handle(const struct probe_asked *asked)
{
    void *(*open)(const char *, int) =
        (void *(*)(const char *, int))(uintptr_t)asked->request.address;
    int (*close)(void *) = (int (*)(void *))(uintptr_t)asked->request.size;
    void *handle = open(asked->path, NOW | NO_LOAD);
    if (handle)
        close(handle);
    return (int64_t)(uintptr_t)handle;
}

static int64_t say_hello(struct probe_hello *hello)
{
    if (!probe_has_ids())
        return -ESRCH;
    if (!probe_say_hello(hello))
        return -ENOMEM;
    probe_find_loader(hello);
    return 0;
}

/* As gcc's crtstuff.c does without a loader. */
static int64_t register_tables(const struct probe_request *request)
{
    struct probe_note *note = (struct probe_note *)(uintptr_t)request->size;
    void (*change_tables)(const void *, void *) =
        (void (*)(const void *, void *))(uintptr_t)request->address;
    atomic_store(&note->state, PROBE_NOTE_REGISTERING);
    change_tables((const void *)(uintptr_t)note->tables, note->object);
    atomic_store(&note->state, PROBE_NOTE_REGISTERED);
    return 0;
}

static int64_t forget_tables(const struct probe_request *request)
{
    struct probe_note *note = (struct probe_note *)(uintptr_t)request->size;
    void *(*forget)(const void *) = (void *(*)(const void *))(uintptr_t)request->address;
    atomic_store(&note->state, PROBE_NOTE_FORGETTING);
    forget((const void *)(uintptr_t)note->tables);
    atomic_store(&note->state, PROBE_NOTE_WHOLE);
    return 0;
}

static int64_t answer(struct probe_asked *asked)
{
    switch (asked->request.kind) {
    case PROBE_HELLO:
        close_left_over();
        return probe_clock_is_there() ? say_hello(&asked->hello) : -EOPNOTSUPP;
    case PROBE_MAKE_MEMORY: return make_memory();
    case PROBE_MAP_SHARED:
        left_over = -1; /* closed there */
        return probe_answer_of(&asked->request, asked->request.fd);
    case PROBE_GO: probe_begin(); return 0;
    case PROBE_CALIBRATE: probe_calibrate(); return 0;
    case PROBE_FIND_HANDLE: return find_handle(asked);
    case PROBE_REGISTER_TABLES: return register_tables(&asked->request);
    case PROBE_FORGET_TABLES: return forget_tables(&asked->request);
    default: return probe_answer_of(&asked->request, asked->request.fd);
    }
}

__attribute__((visibility("default"))) void sprof_probe_asked(struct probe_asked *asked)
{
    asked->answer.result = answer(asked);
}
