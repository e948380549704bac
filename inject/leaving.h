/* inject, inside: taking probes out of a process; its parts share what they have read of it. */
#ifndef SPROF_INJECT_LEAVING_H
#define SPROF_INJECT_LEAVING_H

#include "image/image.h"
#include "inject/changes.h"
#include "inject/raw.h"
#include "inject/stop.h"

enum {
    INJECT_PAGE = 4096,
    INJECT_CALL_WORDS = 7,
    INJECT_END_WORDS = 1 + ARCH_RESUME_WORDS, /* behind calls: a mark, registers */
    INJECT_BORROWED_CALLS = 576,              /* at a time */
};

/* An island that a killed tracer has requested, and that is not there yet: a borrowed thread maps
 * it when it runs. */
struct inject_coming {
    struct inject_span span;
    bool is_there;
};

/* Executable pages of a file. */
struct inject_text_pages {
    struct inject_span span;
    uint64_t offset;
    struct sprof_file_id file;
};

/* A copy on a stack of a return address into a thunk. */
struct inject_stack_copy {
    pid_t tid;
    uint64_t address;
    uint64_t since_ns; /* when it was first seen */
    bool is_there;
};

/* A file whose code runs in the process. */
struct inject_known_file {
    const char *path;
    bool unwinds; /* it has an unwinder */
};

/* The calls of a borrowed thread, and its registers behind them, as arch/x86_64/probe/errand.S
 * reads them.
 */
struct inject_errand {
    uint64_t words[INJECT_BORROWED_CALLS * INJECT_CALL_WORDS + INJECT_END_WORDS];
    size_t count;
};

struct inject_leaving {
    struct inject_process *process;
    struct inject_changes changes;
    SPROF_VEC(struct inject_span) islands; /* of the trace */
    uint32_t functions;                    /* those with thunks */
    struct inject_stop stop;
    int memory_fd, pages_fd;            /* /proc/PID/mem, /proc/PID/pagemap */
    SPROF_VEC(struct inject_span) ours; /* thunks, the agent's code, islands */
    SPROF_VEC(struct inject_coming) coming;
    SPROF_VEC(struct inject_span) writable;
    SPROF_VEC(struct inject_text_pages) texts;
    SPROF_VEC(struct inject_stack_copy) copies;
    pid_t asked_tid; /* the thread to which the answer below belongs, in this stop */
    bool asked_unwinds;
    SPROF_VEC(struct inject_known_file) known_files; /* that were read */
    bool shares_all;    /* a killed tracer may have restored code; changes are not known */
    bool copies_failed; /* out of memory: one is missing */
    bool others_go_on;  /* others use the shared memory, too, and go on being traced: nothing is
                           written there */
    bool is_filtered;   /* no thread can be sent to unmap: see inject_is_filtered */
    struct inject_agent_location agent; /* by what it is unloaded */
    struct inject_span stack;           /* the main thread's */
    struct inject_errand errand;
    size_t sharing_words;     /* of the errand: calls that are known before the last stop */
    struct sprof_arena arena; /* paths */
    struct sprof_error *error;
};

/* == leaving.c == */

/* Opens the memory of the process. SPROF_ENOTFOUND or SPROF_EPERMISSION. */
int inject_leaving_open(struct inject_leaving *leaving, struct sprof_error *error);
void inject_leaving_release(struct inject_leaving *leaving);

bool inject_leaving_is_ours(const struct inject_leaving *leaving, uint64_t address);
bool inject_leaving_read(const struct inject_leaving *leaving, uint64_t address, void *to,
                         size_t size);
bool inject_leaving_write(const struct inject_leaving *leaving, uint64_t address, const void *from,
                          size_t size);

/* Reads the mappings of the process. Returns 0 or SPROF_ENOMEM. */
int inject_leaving_read_maps(struct inject_leaving *leaving);

/* Opens the file that a text is mapped from, also a removed one, or one in another mount namespace.
 * The caller frees. Errors as of image_open. */
int inject_text_open(const struct inject_leaving *leaving, const struct inject_text_pages *text,
                     struct image **image, struct sprof_error *error);

/* == drain.c == */

/* Of the stopped threads: whether one is within thunks, copies or the agent; whether no signal
 * handler returns there; whether one unwinds its stack through thunks. */
bool inject_leaving_is_anybody_inside(const struct inject_leaving *leaving);
bool inject_leaving_is_drained(struct inject_leaving *leaving);
bool inject_leaving_is_anybody_unwinding(struct inject_leaving *leaving);

/* == slots.c == */

/* Gives slots of the GOT that hold thunks back what was there, while all threads stand. False: a
 * write failed. */
bool inject_slots_give_back(const struct inject_leaving *leaving);

/* == unwinders.c == */

/* Reads the files whose code runs in the process, as far as that was not done. It takes
 * milliseconds, so it is done while the process runs. */
void inject_leaving_know_files(struct inject_leaving *leaving);

/* Whether one of the words is an address in a file with an unwinder, or in one that was not read.
 */
bool inject_leaving_is_unwinder(const struct inject_leaving *leaving, const uint64_t *words,
                                size_t count);

/* == detach.c == */

/* Takes out all that `changes`, `islands` and the process list. Errors as of inject_take_out. */
int inject_leave(struct inject_leaving *leaving);

/* == recovery.c == */

struct inject_tracer {
    pid_t pid;
    uint64_t start; /* of that process, in ticks since boot */
};

/* Takes out what a killed tracer has left in a process whose lock the caller holds, if anything.
 * Errors as of inject_clean_up. */
int inject_clean_up_locked(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* Takes out what an ended tracer has left in a process whose lock the caller holds; with
 * `is_running` also an agent that was being put into it. False: something is left. */
bool inject_clean_up_after(const struct inject_tracer *tracer, pid_t pid, bool is_running,
                           struct sprof_error *error);

#endif
