/* Processes, threads, modules and mappings, from the records of a recording in time order. All
 * times are CLOCK_MONOTONIC nanoseconds. */
#ifndef SPROF_MODEL_PROCESS_TABLE_H
#define SPROF_MODEL_PROCESS_TABLE_H

#include "base/base.h"
#include "model/address_space.h"
#include "model/kinds.h"

/* A file, or code without one. Equal identities are one module: a build id decides alone; without
 * it device, inode, generation and path do; without those (anonymous memory, vdso) the path and,
 * for code of one process only, that process. */
struct model_module {
    uint32_t id;
    struct sprof_file_id identity; /* its path is owned by the table */
    const char *name;              /* last part of the path, or the bracketed name */
    enum model_kind kind;
    bool main_executable; /* of at least one process */
    bool in_kernel;
    uint32_t process; /* jit and vdso-like modules: the process they belong to; else 0 */
    bool dirty;       /* changed since the caller last cleared it: a row to write */
    void *owner;      /* the caller's own (an image cache entry); starts NULL */
};

struct model_thread {
    uint32_t id, process;
    uint32_t former; /* the thread it was before it executed a program: the kernel counts their CPU
                        time together; 0: none */
    int tid;
    uint64_t start_ns, end_ns; /* end_ns 0: alive */
    const char *name;
    uint64_t cpu_time_ns;    /* with that of its former ones; 0 until known */
    uint64_t samples;        /* kept by the caller */
    uint64_t sampled_weight; /* of those that weigh its CPU time; kept by the caller */
    void *waiting;           /* the caller's own: the last of its samples that waits; starts NULL */
    bool dirty;
};

struct model_process {
    uint32_t id, parent; /* parent 0: not part of the recording */
    int pid;
    uint64_t start_ns, end_ns;
    const char *name;     /* newest comm of its main thread */
    const char *command;  /* its arguments: kept by the caller, inherited by a fork; NULL unknown */
    const void *origin;   /* the caller's own, inherited by a fork; starts NULL */
    uint32_t main_module; /* 0 until its first executable mapping after exec */
    struct model_address_space space;
    uint32_t threads_alive;
    bool exec_seen; /* the next file mapping is its main executable */
    bool sampled;   /* kept by the caller: it has samples, which are this program's */
    bool dirty;
};

/* Zero is a valid empty table. Not safe for concurrent use. Pointers handed out stay valid. */
struct model_process_table {
    struct sprof_arena arena;
    SPROF_VEC(struct model_process *) processes; /* [id - 1] */
    SPROF_VEC(struct model_thread *) threads;
    SPROF_VEC(struct model_module *) modules;
    struct model_mappings mappings;
    struct sprof_map live_processes; /* pid → id of its newest bearer, also when that has ended */
    struct sprof_map live_threads;   /* tid → the same */
    struct model_address_space kernel_space; /* seen from every process */
    struct sprof_map module_index;           /* hash of identity → id; compared on a hit */
    struct model_kind_rules rules;           /* borrowed; set before the first mapping */
    uint32_t first_process, first_thread, first_module; /* added to every new id, as mappings.first
                                                           is: for appending to a recording */
};

void model_process_table_release(struct model_process_table *table);

/* The live process or thread of a number; made (with no name, no mappings) when a record speaks of
 * it before its FORK did. One that ended a moment ago still answers: the kernel goes on sampling a
 * thread for a little after its EXIT. NULL only when out of memory. */
struct model_process *model_process_table_process(struct model_process_table *table, int pid,
                                                  uint64_t time_ns);
struct model_thread *model_process_table_thread(struct model_process_table *table, int pid, int tid,
                                                uint64_t time_ns);

/* Each returns 0 or SPROF_ENOMEM. A fork takes over the parent's mappings (the rows stay the
 * parent's) and name; a new thread of the same process copies the name. A number that is used again
 * ends its former bearer. A process ends with its last thread; CPU time may come after the EXIT.
 * A process that has samples and executes another program goes on as another row, as by
 * model_process_table_replace, so that each program has its own; of its threads only the one that
 * executed it goes on, under the process's number. */
int model_process_table_fork(struct model_process_table *table, int parent_pid, int parent_tid,
                             int pid, int tid, uint64_t time_ns);
/* The process of a number goes on as another one: its row ends, and a new one of the same parent
 * begins, with no mappings. It has executed another program, and what is known of the two is to be
 * apart. */
int model_process_table_replace(struct model_process_table *table, int pid, uint64_t time_ns);
int model_process_table_comm(struct model_process_table *table, int pid, int tid, const char *name,
                             bool is_exec, uint64_t time_ns);
int model_process_table_exit(struct model_process_table *table, int pid, int tid, uint64_t time_ns);
int model_process_table_cpu_time(struct model_process_table *table, int pid, int tid,
                                 uint64_t cpu_time_ns, uint64_t time_ns);

/* CPU time of a thread since it executed its program, as far as the samples of its former ones
 * stand for theirs; 0 unknown. With `weights` that are no time: since it began. */
uint64_t model_process_table_own_cpu_ns(const struct model_process_table *table,
                                        const struct model_thread *thread, bool weights_are_time);

/* A mapping of a process, or of the kernel (pid -1, seen from every process). What it covers of
 * older mappings ends there, split where need be. */
int model_process_table_map(struct model_process_table *table, int pid, uint64_t address,
                            uint64_t size, uint64_t file_offset,
                            const struct sprof_file_id *identity, uint64_t time_ns);

/* The mapping that holds an address of a process (or of the kernel: process NULL) now, or, for
 * samples that had to wait, at an earlier time, which is slower; at_ns 0: now. NULL where there is
 * none. */
const struct model_mapping *model_process_table_find(const struct model_process_table *table,
                                                     const struct model_process *process,
                                                     uint64_t address, uint64_t at_ns);

/* The module of an identity, found or made. `process` matters for code of one process only. NULL
 * when out of memory. */
struct model_module *model_process_table_module(struct model_process_table *table,
                                                const struct sprof_file_id *identity,
                                                bool in_kernel, uint32_t process);

struct model_module *model_process_table_module_by_id(const struct model_process_table *table,
                                                      uint32_t id);

#endif
