/* trace, inside: a session's parts. */
#ifndef SPROF_TRACE_TRACING_H
#define SPROF_TRACE_TRACING_H

#include "agent/agent.h"
#include "agent/probe.h"
#include "control/control.h"
#include "plan/plan.h"
#include "recording/recording.h"
#include "target/target.h"
#include "trace/attach/hold.h"
#include "trace/attach/keeper.h"
#include "trace/figures/figures.h"
#include "trace/spent.h"
#include "trace/trace.h"

/* A file of the command that has probes or leaves frames. */
struct trace_file {
    struct plan plan;
    const char *path;  /* that it had when it was found */
    uint64_t identity; /* see plan_identity */
    uint64_t bias;
    bool is_chosen;
    uint64_t island, island_bytes; /* address of the copies of its functions' beginnings */
    size_t first, count;           /* its functions among the probes */
    bool stays;                    /* it cannot be unloaded; see bypass.c */
    /* Of what was loaded later: */
    bool is_loaded;
    uint64_t loaded_at;                /* address of its code */
    uint32_t module;                   /* its row; 0: it was there from the start */
    uint64_t offset;                   /* of its code in the file, less the vaddr */
    struct trace_allocator *allocator; /* of --heap-check: see heap.c; NULL: it is none */
};

/* A jump from where the loader tells debuggers of libraries to the agent, which tells sprof. */
struct trace_hook {
    uint64_t at;     /* 0: it is not there */
    uint64_t wanted; /* where it is to be in a process that runs; 0: nowhere */
    uint8_t original[PLAN_JUMP_BYTES], jump[PLAN_JUMP_BYTES];
};

/* A function with a probe, by the number that its thunk knows. */
struct trace_probe {
    uint32_t file;
    const struct plan_function *function;
    uint32_t thunk;    /* its place: its own number, but where another trace has left thunks */
    uint8_t tier;      /* enum probe_tier */
    uint8_t operation; /* of an allocator, as in struct probe_heap; 0: none */
    bool is_chosen;    /* else it has one because it leaves the frames of others */
    bool is_on;        /* as ranges have it */
    bool is_placed;    /* the process jumps to it … */
    uint8_t jump[PLAN_JUMP_BYTES]; /* … so */
    uint8_t pass_at, pass_byte;    /* which byte of that leads past the thunk; 0: none does */
    uint32_t node;                 /* of its entry; 0: not made yet */
    uint64_t calls;                /* of all threads, as last written … */
    uint64_t timed_calls, self_ns; /* … those that were timed, and ended */
    uint8_t governed;              /* enum trace_governed */
    uint64_t governed_calls;       /* when the governor looked last */
    double governed_rate;          /* … and a nanosecond of CPU time, when there were some */
    double governed_share;         /* of the CPU time, that all probes took when it decided */
    uint64_t event_ns;             /* of its last row of that, of the run */
    bool is_logged;                /* blocks of calls may name it */
    bool is_described;             /* it has a row of its own */
    uint64_t unlogged;             /* of all threads, since the last row of it … */
    uint32_t unlogged_second;      /* … which is of this second of the run … */
    uint64_t unlogged_in_second;   /* … and says so */
    uint64_t first_ns;  /* of the run: when it was called first; 0: not yet, or nobody looked */
    bool is_looked_for; /* it has a row of coverage */
    bool is_unplaced;   /* the recording knows no module where it is: it has no rows */
    bool is_left;       /* its place is as it was before, in one process at least */
    bool was_off;       /* when that was looked at last; … */
    bool is_passed;     /* … its thunk is passed, or its first instructions: see bypass.c */
    bool rests;         /* its place is as it was before, until it is to be on: see rest.c */
    uint64_t off_ns;    /* when it was seen to be off; 0: it is on, or rests */
    bool is_beyond;     /* a row says that calls of it are only counted: see memory.c */
};

/* Functions that are switched together, and keep their number. */
struct trace_range {
    uint32_t number;
    bool is_on;
    const char *text;  /* with its sign: "+RE", "-0xA-0xB" */
    uint8_t *holds;    /* by probe */
    size_t sites;      /* … how many */
    uint64_t since_ns; /* when it was said last, of the run */
};

struct trace_governor {
    uint64_t next_ns, watched_ns;   /* when it looks next; until when it looks often */
    uint64_t look_ns;               /* until then it only glances, … */
    uint64_t glance_ns;             /* … with so much time between … */
    uint64_t looked_at, glanced_at; /* … since then; the last one … */
    double glanced_ns;              /* … which saw that probes had taken so much since the look */
    uint64_t cpu_ns;                /* of the command, when it looked last */
    double spent_ns;                /* by probes, when it looked last, or they were new */
    double seen_ticks;              /* the same, while it is added up */
    double lately;                  /* how much faster they took it since the last glance */
    struct sprof_urgency urgency;   /* of `common`: while probes are new */
    double recent_ns;               /* what probes took in the last second of CPU time */
    uint32_t calm;                  /* looks in a row at which little was spent */
    double probes_ns, looked_ns;    /* of `common`: what probes took, by what calls take, of so much
                                       CPU time that was looked at */
};

/* What figures may take: see memory.c. */
struct trace_memory {
    bool no_histograms;        /* they are not kept any more … */
    bool is_spare;             /* … and calls that would need another page are only counted */
    uint64_t *beyond;          /* by probe: such calls, as far as they are in rows; NULL: none */
    bool told_shared;          /* that there are threads whose data others share */
    uint64_t most_bytes;       /* of `common`: of all programs, that were seen at a time */
    uint64_t no_histograms_ns; /* of `common`, of the run; 0: they are kept */
    uint64_t beyond_calls;     /* of `common` … */
    uint32_t beyond_functions; /* … of so many functions */
};

/* What all programs have been seen to call. */
struct trace_sums {
    uint64_t calls, in_flight, abnormal, logged, unlogged, untracked, warnings_lost;
    uint64_t unplaced_calls;
    size_t unplaced;                          /* functions */
    size_t probes, probes_on, probes_resting; /* of those that run */
};

/* What counts calls. */
struct trace_choice {
    enum trace_backend backend; /* TRACE_INJECT or TRACE_UPROBE */
    const char *reason; /* what the program "is" that the agent cannot be put into; NULL: it can, or
                           somebody wants uprobes */
    bool attaches;      /* the agent comes into a program that runs already: a process, or a command
                           that is held at its main */
};

/* So many threads have rows of their own; eight times as many with those of forked processes. */
enum { TRACE_THREADS = 512 };

/* The trace of one program: of the process that executed it, and of those that were forked from
 * that. The session that trace_open makes owns what all have in common (the target, the recording,
 * its run, the control socket) and lists those that run; without --children, and of one process, it
 * is the only one of them. The others borrow from it. */
struct trace_session {
    struct trace_options options;
    struct trace_choice choice;
    struct trace_session *common;               /* what trace_open made; may be itself */
    SPROF_VEC(struct trace_session *) programs; /* of `common`: those that run, in any order */
    struct trace_warnings *warnings;            /* NULL: nobody wants any; owned */
    struct trace_points *points;                /* NULL: without --all-points; owned */
    struct trace_children *children;            /* of `common`, with --children; owned */
    SPROF_VEC(struct trace_process) processes;  /* that run the program; the first executed it */
    struct sprof_map process_index;             /* pid → the newest of that number */
    struct sprof_map inner_numbers; /* number in another pid namespace → pid, see processes.c */
    struct probe_cost
        known_cost; /* of `common`: what probes took in another program; 0: not known */
    double tick_ns; /* of `common`: of a tick, as limits are given to agents; 0: not known */
    uint64_t opened_ns, opened_ticks;      /* of `common`: a moment in both clocks */
    uint64_t warning_count, warnings_told; /* of `common`: rows, and lines or what would be */
    uint64_t warnings_flushed;             /* of `common`: those that the writer has */
    size_t covered_count;          /* of `common`: functions that were called, in mode coverage */
    uint64_t ended_cpu_ns;         /* of `common`: of processes of programs that have ended */
    struct trace_sums ended_calls; /* the same: what these had called … */
    struct trace_result ended_probes; /* … what became of their probes, how many they were */
    struct sprof_map
        covered; /* of `common`: node of an entry → when it was called first; see coverage.c */
    struct target *target; /* of `common`; else NULL */
    struct recording *recording;
    struct store_run *run;
    struct sprof_arena arena;
    uint32_t event;
    struct trace_keeper keeper; /* of `common` */
    int lock_fd;            /* of the process: nobody else puts probes into it; 0, -1: not held */
    int agent_fd, child_fd; /* ends of the socket pair; -1: closed */
    int memory_fd;          /* of the shared memory … */
    int code_fd;            /* its own memory; 0, -1: not open */
    int memory_there;       /* … and in a running process, while it is being mapped */
    bool attaches; /* the agent is put into a program that runs already; else it is preloaded,
                      listens, or there is none */
    struct trace_hold hold; /* a command to be attached to, until it has its probes */
    bool listens; /* its agent was there, and is spoken to over its socket: see listening.h */
    struct trace_attachment *attachment; /* to a running process; NULL: it was launched */
    bool rests;                          /* probes that are placed now are to rest */
    size_t asleep;                       /* probes that are to be on, and rest still; … */
    uint64_t next_wake_ns;               /* … until then … */
    uint64_t next_rest_ns;               /* … and others go on until then: see rest.c */
    uint64_t next_lost_ns;               /* until then nobody looks for jumps that are gone … */
    bool told_lost;                      /* … of which it was told: see lost.c */
    struct probe_shared *shared;
    uint64_t shared_bytes;
    uint64_t shared_at;  /* in the process */
    uint64_t stopped_ns; /* how long threads stood still, at most at a time */
    struct probe_hello hello;
    SPROF_VEC(struct trace_file) files;
    SPROF_VEC(struct trace_probe) probes;
    uint32_t capacity;             /* so many probes have room in the shared memory */
    struct trace_uprobes *uprobes; /* instead of an agent; NULL: there is one */
    struct trace_loads *loads;     /* NULL: what is loaded later is not looked at */
    struct trace_hook hook;
    struct trace_governor governor;
    SPROF_VEC(struct trace_range) ranges; /* #1 first, then as they were said; the last decides */
    struct control_server control;
    enum trace_mode mode;
    uint32_t slab_count;
    bool has_logged;                      /* there may be calls in the rings */
    uint64_t logged, unlogged;            /* calls */
    uint64_t log_base_ticks, log_base_ns; /* a moment in both clocks … */
    double log_ns_per_tick;               /* … and how they go on from there */
    uint64_t next_size_ns;                /* when the file's size is looked at */
    uint64_t next_removal_ns;             /* of probes that have seen a call; see coverage.c */
    bool keeps_probes;                    /* of such: the process cannot be stopped */
    struct sprof_urgency urgency;         /* while a command waits */
    bool paused, ended;                   /* as commands have it */
    bool pauses;     /* what was measured until then is to be read, and the next phase begun */
    bool is_out;     /* the process has no probes any more */
    uint64_t off_ns; /* when to pause; 0: no deadline */
    bool has_lease;  /* see lease.c */
    uint64_t cleared_ns, cleared_cpu_ns;     /* at the last clear; 0: none … */
    uint64_t cleared_ticks;                  /* … by the command's clock */
    struct trace_thread *slabs[PROBE_SLABS]; /* owned; whose slab it is */
    size_t thread_count;                     /* so far */
    uint64_t crowded_ns;      /* until then threads are taken to come and go in great numbers */
    struct trace_thread rest; /* what threads without a row of their own share */
    struct trace_figures *rest_stats; /* by probe */
    bool rest_changed;
    struct trace_memory memory;
    struct sprof_map ended_tids;
    uint32_t phase;                             /* of `common`: counted from 1 */
    uint64_t last_sample;                       /* the same: id */
    uint64_t calls, in_flight, abnormal;        /* of all rows */
    uint64_t unplaced_calls, warnings_unplaced; /* that have none, for want of a module or thread */
    size_t refused;
    const char *executable; /* that the command ran at first, by the name that it has now … */
    dev_t executable_device;
    ino_t executable_inode; /* … and by what stays */
    bool executed;          /* another one took its place */
    pid_t leaves;        /* a process that has executed another, while its last figures are read */
    const char *runtime; /* that walks stacks by itself; NULL: none */
    const char *copier;  /* what copies stacks, or cannot unwind through thunks; NULL: nothing */
    bool told_compiled;  /* of `common`: see compiled.c */
    pid_t pid;           /* the command's */
    uint64_t start_ns, start_ticks;
    uint64_t now_ns;    /* when time was last taken; at the end that of the end … */
    double ns_per_tick; /* … as known then */
    uint64_t next_flush_ns, next_look_ns;
    uint64_t compiled_wait_ns, next_compiled_ns; /* how long, and until then nobody looks */
    uint64_t own_cpu_start_ns;
};

/* == copiers.c == */

/* Has calls counted alone in a process in which something copies stacks; and in one that listens
 * where nongnu libunwind unwinds for exceptions. Returns 0, or a negative code where its mappings
 * cannot be read. */
int trace_copiers_find(struct trace_session *session);

/* The same where a mapping is the first of such a library: true; then trace_switch is to be called.
 */
bool trace_copier_came(struct trace_session *session, const struct model_mmap *mapping);

/* == compiled.c == */

/* Says so, once, where the process compiles code while it runs. Looks at its mappings, more and
 * more rarely. */
void trace_compiled_look(struct trace_session *session);

/* == executed.c == */

/* Looks whether the process has executed something in its own place, which is not traced; that is
 * said once. */
void trace_executed_look(struct trace_session *session);

/* == lease.c == */

/* The shared memory is new: nothing ends yet. */
void trace_lease_make(struct trace_session *session);

/* When all programs are to pause; 0: not by themselves. */
void trace_lease_set_deadline(struct trace_session *session, uint64_t off_ns);

/* Renews the leases of all programs, and has probes go on whose lease has ended, which is told of
 * where it was not meant. Returns 0 or a negative code. */
int trace_lease_serve(struct trace_session *session, struct sprof_error *error);

/* == command.c == */

/* Opens the control socket. */
int trace_commands_begin(struct trace_session *session, struct sprof_error *error);

/* The run has started: its first phase is a pause where that was asked for. */
int trace_begin_paused(struct trace_session *session, struct sprof_error *error);

/* Nothing was measured for so long, until now: a pause. Returns 0 or a negative code. */
int trace_note_gap(struct trace_session *session, uint64_t gap_ns, struct sprof_error *error);

/* Lets the probes of all programs do what the session wants of them. */
void trace_switch_all(struct trace_session *session);

/* Carries out the commands that have come in, and what was to be done at this time. */
int trace_serve_commands(struct trace_session *session, struct sprof_error *error);

/* == session.c == */

/* Closes a descriptor where it is open; it is -1 then. */
void trace_close(int *fd);

/* By what a program is entered. */
struct trace_entry {
    struct trace_choice choice;
    int agent_fd, lock_fd; /* of a process; -1: there is none */
    bool listens;          /* its agent is at the other end of agent_fd */
};

/* Finds that out, and locks a process. It is untouched but for what a trace that was killed has
 * left in it. Errors say what is in the way. */
int trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                     struct sprof_error *error);
void trace_entry_close(struct trace_entry *entry);

/* Releases all but what sessions have in common. */
void trace_program_release(struct trace_session *session);

/* == run.c == */

/* What was measured so far counts no more. Returns 0 or SPROF_ENOMEM. */
int trace_clear(struct trace_session *session);

/* How long it has been measuring since it began, or since figures were cleared. */
uint64_t trace_measured_ns(const struct trace_session *session);

/* Writes what was called so far, of all programs. */
int trace_flush(struct trace_session *session, struct sprof_error *error);

/* Plans a process, and puts probes into it, which measure from then on unless session->paused is
 * set. Where that fails some may be in it. */
int trace_set_up(struct trace_session *session, struct sprof_error *error);

/* A running process goes on without probes. What keeps them in it is told. */
void trace_leave_process(struct trace_session *session);

/* Adds what became of a program's probes. */
void trace_count_probes(const struct trace_session *session, struct trace_result *result);

void trace_add_up(const struct trace_session *session, struct trace_sums *sums);
void trace_program_add_up(const struct trace_session *session, struct trace_sums *sums);

/* Takes all that one program has called. Returns 0 or SPROF_ENOMEM. */
int trace_collect_program(struct trace_session *session, enum trace_collecting what);

/* == backend.c == */

/* Which back end it is to be, before anything is done. SPROF_EUNSUPPORTED: none can be, or not with
 * these options. */
int trace_backend_choose(const struct trace_options *options, struct trace_choice *choice,
                         struct sprof_error *error);

/* The kernel's refusal of uprobes that nobody has asked for: says why they would be needed. Returns
 * the error's code. */
int trace_backend_explain(const struct trace_options *options, const struct trace_choice *choice,
                          struct sprof_error *error);

/* Says why a program cannot be traced. */
int trace_refuse(enum agent_file kind, const char *path, struct sprof_error *error);

/* == processes.c == */

/* A process runs the program from now on. Returns 0 or SPROF_ENOMEM. */
int trace_process_add(struct trace_session *session, pid_t pid);

/* The same, with rows, of one that was forked from the program's. */
int trace_process_add_forked(struct trace_session *session, pid_t pid);

/* NULL: it was not seen. */
struct trace_process *trace_process_find(const struct trace_session *session, pid_t pid);

/* A process of which something has been measured, as the agent says: it may be new, if it was
 * forked. The program can write anything there, so without --children it is the one that is known.
 * 0: out of memory. */
pid_t trace_process_seen(struct trace_session *session, uint32_t pid);

/* The number of one of its threads, as the agent says, for us. */
pid_t trace_process_thread(const struct trace_session *session, pid_t pid, uint32_t number);

/* Whether a process that lives has the program's shared memory. */
bool trace_program_is_mapped(const struct trace_session *session, pid_t pid);

/* Whether none of those that were seen lives. */
bool trace_processes_are_over(struct trace_session *session);

/* What the command, or the processes of one program, have used of the CPU since the trace began. */
uint64_t trace_command_cpu_ns(struct trace_session *session);

void trace_processes_release(struct trace_session *session);

#endif
