/* Questions to /proc about live processes, answered by a thread of their own: the kernel may take
 * long over an answer (it waits for the process's memory map), and the rings fill meanwhile. */
#ifndef SPROF_RECORDING_LOOKUPS_H
#define SPROF_RECORDING_LOOKUPS_H

#include "base/base.h"
#include "model/model.h"
#include "recording/jit_owner.h"
#include "target/target.h"

#include <pthread.h>

enum recording_question {
    RECORDING_COMMAND,  /* with which arguments the process was executed, and where it belongs */
    RECORDING_OWNER,    /* whose its perf map is */
    RECORDING_DUMP,     /* the same, and its jitdump, of which the path is given */
    RECORDING_MAP,      /* its perf map, once it is there; answered when the process is gone, too */
    RECORDING_MAPPINGS, /* what executable mappings it has */
};

/* One question and, once it was collected, its answer. */
struct recording_lookup {
    enum recording_question question;
    uint32_t process;
    pid_t pid;
    uint64_t time_ns; /* of the record that led to it */
    struct recording_lookup *next;
    struct sprof_arena arena; /* of the answer */
    const char *path;         /* of the question, or NULL */
    uint64_t start_ticks;     /* RECORDING_MAP: of the process */
    uint64_t due_ns;          /* … when to look again */
    uint64_t pause_ns;        /* … and how long after that */
    const char *command;      /* NULL: the process is gone or has none */
    struct target_origin origin;
    bool has_origin; /* false: the process is gone */
    struct recording_jit_owner owner;
    SPROF_VEC(struct model_mmap) mappings;
};

struct recording_lookups {
    pthread_t thread;
    bool running, stopping;
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    struct recording_lookup *questions, **questions_end;
    struct recording_lookup *watched; /* the thread's: RECORDING_MAP without an answer */
    struct target_user user;          /* the thread's */
    struct recording_lookup *answers, **answers_end;
    struct sprof_map mappings_asked; /* owner's: process → questions about its mappings */
    struct sprof_map next_mappings;  /* … → when to try again, and how often it was in vain */
    size_t waiting;                  /* owner's: questions not yet collected */
    size_t watching; /* owner's: files that may never come: the end waits for none */
    int answered_fd; /* borrowed: an event descriptor, written at each answer */
};

/* Starts the thread at the first question. `answered_fd` is borrowed. */
void recording_lookups_init(struct recording_lookups *lookups, int answered_fd);

/* Ends the thread, after the question it has at hand, and frees everything. Zero is fine. */
void recording_lookups_release(struct recording_lookups *lookups);

/* Queues a question; `path` is NULL, or copied. Returns 0, SPROF_ENOMEM, or SPROF_EIO where no
 * thread can be had. */
int recording_lookups_ask(struct recording_lookups *lookups, enum recording_question question,
                          const struct model_process *process, const char *path, uint64_t time_ns);

/* For a sample with code in no known mapping: /proc may now be newer than the records were. Queues
 * the question unless that was tried a moment ago, or the process has ended. *waits becomes
 * whether an answer is to come. Returns 0 or SPROF_ENOMEM. */
int recording_lookups_ask_mappings(struct recording_lookups *lookups,
                                   const struct model_process *process, uint64_t time_ns,
                                   bool *waits);

/* Notes whether an answer about mappings held more than the records, which decides when to try
 * again. Returns 0 or SPROF_ENOMEM. */
int recording_lookups_note_mappings(struct recording_lookups *lookups,
                                    const struct recording_lookup *lookup, bool changed);

/* Whether a question about the mappings of a process has not been collected yet. */
bool recording_lookups_wait_for(const struct recording_lookups *lookups, uint32_t process);

/* The next answer, in the order of the questions, or NULL. Its texts are valid until it is freed.
 */
struct recording_lookup *recording_lookups_next(struct recording_lookups *lookups);
void recording_lookup_free(struct recording_lookup *lookup);

#endif
