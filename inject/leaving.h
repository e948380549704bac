/* Internal: takes probes out of a process. */
#ifndef SPROF_INJECT_LEAVING_H
#define SPROF_INJECT_LEAVING_H

#include "image/image.h"
#include "inject/changes.h"
#include "inject/raw.h"
#include "inject/stop.h"

enum {
    INJECT_PAGE = 4096,
    INJECT_CALL_WORDS = 7,
    INJECT_END_WORDS = 1 + ARCH_RESUME_WORDS, /* a mark, registers */
    INJECT_BORROWED_CALLS = 576,
};

/* An island that a killed tracer requested; a borrowed thread may still map it. */
struct inject_coming {
    struct inject_span span;
    bool is_there;
};

struct inject_text_pages {
    struct inject_span span;
    uint64_t offset;
    struct sprof_file_id file;
};

/* A copy, at `address` on a stack, of a return address into a thunk. */
struct inject_stack_copy {
    pid_t tid;
    uint64_t address;
    uint64_t since_ns; /* when it was first seen */
    bool is_there;
};

struct inject_known_file {
    const char *path;
    bool unwinds;
};

/* Input of arch/x86_64/probe/errand.S: calls, then registers. */
struct inject_errand {
    uint64_t words[INJECT_BORROWED_CALLS * INJECT_CALL_WORDS + INJECT_END_WORDS];
    size_t count; /* words in use */
};

struct inject_leaving {
    struct inject_process *process;
    struct inject_changes changes;
    SPROF_VEC(struct inject_span) islands;
    uint32_t functions; /* with thunks */
    struct inject_stop stop;
    int memory_fd, pages_fd;            /* /proc/PID/mem, /proc/PID/pagemap */
    SPROF_VEC(struct inject_span) ours; /* thunks, agent, islands */
    SPROF_VEC(struct inject_coming) coming;
    SPROF_VEC(struct inject_span) writable;
    SPROF_VEC(struct inject_text_pages) texts;
    SPROF_VEC(struct inject_stack_copy) copies;
    pid_t asked_tid; /* of asked_unwinds, in this stop */
    bool asked_unwinds;
    SPROF_VEC(struct inject_known_file) known_files;
    bool shares_all;    /* a killed tracer may have restored code: compare all */
    bool copies_failed; /* out of memory */
    bool others_go_on;  /* other processes use the shared memory, too: it is not written */
    bool is_filtered;   /* no thread may unmap: inject_is_filtered */
    struct inject_agent_location agent;
    struct inject_span stack; /* the main thread's */
    struct inject_errand errand;
    size_t sharing_words; /* of errand, known before the last stop */
    struct sprof_arena arena;
    struct sprof_error *error;
};

/* == leaving.c == */

/* SPROF_ENOTFOUND or SPROF_EPERMISSION. */
int inject_leaving_open(struct inject_leaving *leaving, struct sprof_error *error);
void inject_leaving_release(struct inject_leaving *leaving);

bool inject_leaving_is_ours(const struct inject_leaving *leaving, uint64_t address);
bool inject_leaving_read(const struct inject_leaving *leaving, uint64_t address, void *to,
                         size_t size);
bool inject_leaving_write(const struct inject_leaving *leaving, uint64_t address, const void *from,
                          size_t size);

/* Returns 0 or SPROF_ENOMEM. */
int inject_leaving_read_maps(struct inject_leaving *leaving);

/* Opens removed files, too, and those of other mount namespaces. The caller frees. Errors as of
 * image_open. */
int inject_text_open(const struct inject_leaving *leaving, const struct inject_text_pages *text,
                     struct image **image, struct sprof_error *error);

/* == drain.c == */

/* They check stopped threads. Drained: no signal handler returns into sprof's code. */
bool inject_leaving_is_anybody_inside(const struct inject_leaving *leaving);
bool inject_leaving_is_drained(struct inject_leaving *leaving);
bool inject_leaving_is_anybody_unwinding(struct inject_leaving *leaving);

/* == slots.c == */

/* Restores GOT slots during a stop. False: a write failed. */
bool inject_slots_give_back(const struct inject_leaving *leaving);

/* == unwinders.c == */

/* Reads new files of the process, in milliseconds: not during a stop. */
void inject_leaving_know_files(struct inject_leaving *leaving);

/* True: a word leads to a file with an unwinder, or to an unread one. */
bool inject_leaving_is_unwinder(const struct inject_leaving *leaving, const uint64_t *words,
                                size_t count);

/* == detach.c == */

/* Takes out `changes`, `islands` and what `process` lists. Errors as of inject_take_out. */
int inject_leave(struct inject_leaving *leaving);

/* == recovery.c == */

struct inject_tracer {
    pid_t pid;
    uint64_t start; /* ticks since boot */
};

/* Cleans up after a killed tracer. The caller holds the lock. Errors as of inject_clean_up. */
int inject_clean_up_locked(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* The same after the ended `tracer`; `is_running`: even an agent that was being loaded. False:
 * something is left. */
bool inject_clean_up_after(const struct inject_tracer *tracer, pid_t pid, bool is_running,
                           struct sprof_error *error);

#endif
