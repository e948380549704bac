/* trace, inside: taking probes out of a process; its parts share what they have read of it. */
#ifndef SPROF_TRACE_ATTACH_LEAVING_H
#define SPROF_TRACE_ATTACH_LEAVING_H

#include "image/image.h"
#include "trace/attach/raw.h"
#include "trace/attach/stop.h"
#include "trace/tracing.h"

enum {
    TRACE_PAGE = 4096,
    TRACE_RED_ZONE = 128,
    TRACE_CALL_WORDS = 7,
    TRACE_END_WORDS = 1 + 15 + 5, /* behind calls: a mark, registers, where it goes on */
    TRACE_HAND_CALLS = 576,       /* at a time */
};

struct trace_span {
    uint64_t start, end;
};

/* An island that a killed tracer has requested, and that is not there yet: a borrowed thread maps
 * it when it runs. */
struct trace_coming {
    struct trace_span span;
    bool is_there;
};

/* Executable pages of a file. */
struct plan_text {
    struct trace_span span;
    uint64_t offset;
    struct sprof_file_id file;
};

/* A copy on a stack of a return address into a thunk. */
struct trace_held {
    pid_t tid;
    uint64_t address;
    uint64_t since_ns; /* when it was first seen */
    bool is_there;
};

/* A file whose code runs in the process. */
struct trace_known_file {
    const char *path;
    bool unwinds; /* it has an unwinder */
};

/* The calls of a borrowed thread, and its registers behind them, as agent/probe/hand.S reads them.
 */
struct trace_errand {
    uint64_t words[TRACE_HAND_CALLS * TRACE_CALL_WORDS + TRACE_END_WORDS];
    size_t count;
};

/* A place that was changed. */
struct trace_changed {
    uint64_t address;
    uint8_t jump[PLAN_JUMP_BYTES], original[PLAN_JUMP_BYTES];
};

struct trace_leaving {
    struct trace_session *session;
    SPROF_VEC(struct trace_changed) changed;
    uint32_t functions; /* those with thunks */
    struct trace_stop stop;
    int memory_fd, pages_fd;           /* /proc/PID/mem, /proc/PID/pagemap */
    SPROF_VEC(struct trace_span) ours; /* thunks, the agent's code, islands */
    SPROF_VEC(struct trace_coming) coming;
    SPROF_VEC(struct trace_span) writable;
    SPROF_VEC(struct plan_text) texts;
    SPROF_VEC(struct trace_held) held;
    pid_t asked_tid; /* the thread to which the answer below belongs, in this stop */
    bool asked_unwinds;
    SPROF_VEC(struct trace_known_file) known_files; /* that were read */
    bool shares_all;   /* a killed tracer may have restored code; changes are not known */
    bool held_failed;  /* out of memory: one is missing */
    bool others_go_on; /* others use the shared memory, too, and go on being traced: nothing is
                          written there */
    bool is_filtered;  /* no thread can be sent to unmap: see trace_attach_is_filtered */
    struct trace_agent_place agent; /* by what it is unloaded */
    struct trace_span stack;        /* the main thread's */
    struct trace_errand errand;
    size_t sharing_words;     /* of the errand: calls that are known before the last stop */
    struct sprof_arena arena; /* paths */
    struct sprof_error *error;
};

/* == leaving.c == */

/* Whether words of a stack are the end of what the kernel saves before a signal handler: stack
 * pointer, instruction pointer, flags, and the selectors of 64-bit code and data. */
static inline bool trace_is_signal_frame(const uint64_t words[4])
{
    return words[3] == 0x002b000000000033 && words[2] >> 22 == 0 && (words[2] & 2);
}

/* Opens the memory of the process. SPROF_ENOTFOUND or SPROF_EPERMISSION. */
int trace_leaving_open(struct trace_leaving *leaving, struct sprof_error *error);
void trace_leaving_release(struct trace_leaving *leaving);

bool trace_span_holds(const struct trace_span *span, uint64_t address);
bool trace_leaving_is_ours(const struct trace_leaving *leaving, uint64_t address);
bool trace_leaving_read(const struct trace_leaving *leaving, uint64_t address, void *to,
                        size_t size);
bool trace_leaving_write(const struct trace_leaving *leaving, uint64_t address, const void *from,
                         size_t size);

/* Reads the mappings of the process. Returns 0 or SPROF_ENOMEM. */
int trace_leaving_look(struct trace_leaving *leaving);

/* Opens the file that a text is mapped from, also a removed one, or one in another mount namespace.
 * The caller frees. Errors as of image_open. */
int trace_text_open(const struct trace_leaving *leaving, const struct plan_text *text,
                    struct image **image, struct sprof_error *error);

/* == restore.c == */

/* Sorts by address, before the threads are stopped. */
void trace_leaving_sort(struct trace_leaving *leaving);

/* Restores the code of all changes, while all threads stand: no thread is within a jump, which is
 * one instruction. Other bytes than the jump are left alone. False: a write failed. */
bool trace_leaving_restore(const struct trace_leaving *leaving);

/* == drain.c == */

/* Of the stopped threads: whether one is within thunks, copies or the agent; whether no signal
 * handler returns there; whether one unwinds its stack through thunks. */
bool trace_leaving_is_anybody_inside(const struct trace_leaving *leaving);
bool trace_leaving_is_drained(struct trace_leaving *leaving);
bool trace_leaving_is_anybody_unwinding(struct trace_leaving *leaving);

/* == unwinders.c == */

/* Reads the files whose code runs in the process, as far as that was not done. It takes
 * milliseconds, so it is done while the process runs. */
void trace_leaving_know_files(struct trace_leaving *leaving);

/* Whether one of the words is an address in a file with an unwinder, or in one that was not read.
 */
bool trace_leaving_is_unwinder(const struct trace_leaving *leaving, const uint64_t *words,
                               size_t count);

/* == detach.c == */

/* Takes out all that `changed` and the session list. Errors as of trace_detach. */
int trace_leave(struct trace_leaving *leaving);

/* == clean_up.c == */

struct trace_tracer {
    pid_t pid;
    uint64_t start; /* of that process, in ticks since boot */
};

/* Takes out what a killed tracer has left in a process whose lock the caller holds, if anything.
 * Errors as of trace_clean_up. */
int trace_clean_up_locked(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* Takes out what an ended tracer has left in a process whose lock the caller holds; with
 * `is_running` also an agent that was being put into it. False: something is left. */
bool trace_clean_up_after(const struct trace_tracer *tracer, pid_t pid, bool is_running,
                          struct sprof_error *error);

#endif
