/* trace, inside: a session's parts. */
#ifndef SPROF_TRACE_TRACING_H
#define SPROF_TRACE_TRACING_H

#include "agent/agent.h"
#include "agent/probe.h"
#include "control/control.h"
#include "recording/recording.h"
#include "target/target.h"
#include "trace/figures.h"
#include "trace/keeper.h"
#include "trace/trace.h"

/* A file of the command that has probes or leaves frames. */
struct trace_file {
    struct trace_plan plan;
    const char *path;
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
    uint8_t original[TRACE_JUMP_BYTES], jump[TRACE_JUMP_BYTES];
};

/* What the governor leaves of a probe. */
enum trace_governed {
    TRACE_GOVERNED_NOT,   /* all */
    TRACE_GOVERNED_COUNT, /* counting */
    TRACE_GOVERNED_OFF,   /* nothing: it is taken back */
};

/* A function with a probe, by the number that its thunk knows. */
struct trace_probe {
    uint32_t file;
    const struct trace_function *function;
    uint32_t thunk;    /* its place: its own number, but where another trace has left thunks */
    uint8_t tier;      /* enum probe_tier */
    uint8_t operation; /* of an allocator, as in struct probe_heap; 0: none */
    bool is_chosen;    /* else it has one because it leaves the frames of others */
    bool is_on;        /* as ranges have it */
    bool is_placed;    /* the process jumps to it … */
    uint8_t jump[TRACE_JUMP_BYTES]; /* … so */
    uint8_t pass_at, pass_byte;     /* which byte of that leads past the thunk; 0: none does */
    uint32_t node;                  /* of its entry; 0: not made yet */
    uint64_t calls;                 /* of all threads, as last written … */
    uint64_t timed_calls, self_ns;  /* … those that were timed, and ended */
    uint8_t governed;               /* enum trace_governed */
    uint64_t governed_calls;        /* when the governor looked last */
    double governed_rate;           /* … and a nanosecond of CPU time, when there were some */
    double governed_share;          /* of the CPU time, that all probes took when it decided */
    uint64_t event_ns;              /* of its last row of that, of the run */
    bool is_logged;                 /* blocks of calls may name it */
    bool is_described;              /* it has a row of its own */
    uint64_t unlogged;              /* of all threads, since the last row of it … */
    uint32_t unlogged_second;       /* … which is of this second of the run … */
    uint64_t unlogged_in_second;    /* … and says so */
    uint64_t first_ns;  /* of the run: when it was called first; 0: not yet, or nobody looked */
    bool is_looked_for; /* it has a row of coverage */
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
    const char *text; /* with its sign: "+RE", "-0xA-0xB" */
    uint8_t *holds;   /* by probe */
    size_t sites;     /* … how many */
    uint64_t since_ns;
};

struct trace_governor {
    uint64_t next_ns, watched_ns; /* when it looks next; until when it looks often */
    uint64_t look_ns;             /* until then it only glances; 0: no more */
    uint64_t cpu_ns;              /* of the command, when it looked last */
    double spent_ns;              /* by probes, when they were new */
    double seen_ticks;            /* the same, at the last glance */
    uint32_t calm;                /* looks in a row at which little was spent */
    double probes_ns, looked_ns;  /* of `common`: what probes took, by what calls take, of so much
                                     CPU time that was looked at */
};

/* What figures may take: see memory.c. */
struct trace_memory {
    bool no_histograms;        /* they are not kept any more … */
    bool is_spare;             /* … and calls that would need another page are only counted */
    uint64_t *beyond;          /* by probe: such calls, as far as they are in rows; NULL: none */
    uint64_t most_bytes;       /* of `common`: of all programs, that were seen at a time */
    uint64_t no_histograms_ns; /* of `common`, of the run; 0: they are kept */
    uint64_t beyond_calls;     /* of `common` … */
    uint32_t beyond_functions; /* … of so many functions */
};

/* What counts calls. */
struct trace_choice {
    enum trace_backend backend; /* TRACE_INJECT or TRACE_UPROBE */
    const char *reason; /* what the program "is" that the agent cannot be put into; NULL: it can, or
                           somebody wants uprobes */
};

/* So many threads have rows of their own; eight times as many with those of forked processes. */
enum { TRACE_THREADS = 512 };

/* The trace of one program: of the process that executed it, and of those that were forked from
 * that. The session that trace_open makes owns what all have in common (the target, the recording,
 * its run, the control socket) and lists those that run; without --children it is the only one of
 * them. The others borrow from it. */
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
    struct probe_cost
        known_cost; /* of `common`: what probes took in another program; 0: not known */
    double tick_ns; /* of `common`: of a tick, as limits are given to agents; 0: not known */
    uint64_t opened_ns, opened_ticks;      /* of `common`: a moment in both clocks */
    uint64_t warning_count, warnings_told; /* of `common`: rows, and lines or what would be */
    uint64_t warnings_flushed;             /* of `common`: those that the writer has */
    size_t covered_count;  /* of `common`: functions that were called, in mode coverage */
    uint64_t ended_cpu_ns; /* of `common`: of processes of programs that have ended */
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
    bool listens; /* its agent was there, and is spoken to over its socket: see listening.h */
    struct trace_attachment *attachment; /* to a running process; NULL: it was launched */
    bool rests;                          /* probes that are placed now are to rest */
    size_t asleep;                       /* probes that are to be on, and rest still; … */
    uint64_t next_wake_ns;               /* … until then … */
    uint64_t next_rest_ns;               /* … and others go on until then: see rest.c */
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
    SPROF_VEC(struct trace_range) ranges; /* by number, from 1 */
    struct control_server control;
    enum trace_mode mode;
    uint32_t slab_count;
    bool has_logged;                         /* there may be calls in the rings */
    uint64_t logged, unlogged;               /* calls */
    uint64_t log_base_ticks, log_base_ns;    /* a moment in both clocks … */
    double log_ns_per_tick;                  /* … and how they go on from there */
    uint64_t next_size_ns;                   /* when the file's size is looked at */
    uint64_t next_removal_ns;                /* of probes that have seen a call; see coverage.c */
    bool keeps_probes;                       /* of such: the process cannot be stopped */
    bool paused, ended;                      /* as commands have it */
    bool is_out;                             /* the process has no probes any more */
    uint64_t off_ns;                         /* when to pause; 0: no deadline */
    bool has_lease;                          /* see lease.c */
    uint64_t cleared_ns, cleared_cpu_ns;     /* at the last clear; 0: none */
    struct trace_thread *slabs[PROBE_SLABS]; /* owned; whose slab it is */
    size_t thread_count;                     /* so far */
    uint64_t crowded_ns;      /* until then threads are taken to come and go in great numbers */
    struct trace_thread rest; /* what threads without a row of their own share */
    struct trace_figures *rest_stats; /* by probe */
    bool rest_changed;
    struct trace_memory memory;
    struct sprof_map ended_tids;
    uint32_t phase;                      /* of `common`: counted from 1 */
    uint64_t last_sample;                /* the same: id */
    uint64_t calls, in_flight, abnormal; /* of all rows */
    size_t refused;
    const char *executable; /* that the command ran at first */
    bool executed;          /* another one took its place */
    const char *runtime;    /* that walks stacks by itself; NULL: none */
    const char *copier;     /* what copies stacks; NULL: nothing */
    bool told_compiled;     /* of `common`: see compiled.c */
    pid_t pid;              /* the command's */
    uint64_t start_ns, start_ticks;
    uint64_t now_ns;    /* when time was last taken; at the end that of the end … */
    double ns_per_tick; /* … as known then */
    uint64_t next_flush_ns, next_look_ns;
    uint64_t compiled_wait_ns, next_compiled_ns; /* how long, and until then nobody looks */
    uint64_t own_cpu_start_ns;
};

/* == choose.c == */

/* Regular expressions over names; NULL is valid and finds all. */
struct trace_expressions;
int trace_expressions_make(struct trace_expressions **expressions, const char *const *texts,
                           size_t count, struct sprof_error *error);
/* Whether some say what is wanted, not only what is not. */
bool trace_expressions_include(const struct trace_expressions *expressions);
/* 1, 0, or a negative code. */
int trace_expressions_match(const struct trace_expressions *expressions,
                            const struct trace_function *function, struct sprof_error *error);
/* The same, by those alone that say what is not wanted. */
int trace_expressions_exclude(const struct trace_expressions *expressions,
                              const struct trace_function *function, struct sprof_error *error);
void trace_expressions_free(struct trace_expressions *expressions);

/* Plans the files of the command, which waits, and lists the functions to be probed.
 * SPROF_ENOTFOUND where there are none, with names that are near. */
int trace_choose(struct trace_session *session, struct sprof_error *error);

/* Whether code of a file may get probes, by its path. */
bool trace_wants(struct trace_session *session, const char *path);

/* Lists the functions to be probed of one file, which comes to be the last of session->files; takes
 * the plan. */
int trace_choose_module(struct trace_session *session, struct trace_module *module,
                        struct sprof_error *error);

/* == copiers.c == */

/* Has calls counted alone in a process in which something copies stacks. Returns 0, or a negative
 * code where its mappings cannot be read. */
int trace_copiers_find(struct trace_session *session);

/* The same where a mapping is the first of such a library: true; then trace_switch is to be called.
 */
bool trace_copier_came(struct trace_session *session, const struct model_mmap *mapping);

/* == compiled.c == */

/* Says so, once, where the process compiles code while it runs. Looks at its mappings, more and
 * more rarely. */
void trace_compiled_look(struct trace_session *session);

/* == place.c == */

/* Makes the shared memory, writes thunks, copies and jumps into the command, and lets it go. */
int trace_place(struct trace_session *session, struct sprof_error *error);

/* Writes the probes of a file that nobody runs code of yet. */
int trace_place_file(struct trace_session *session, struct trace_file *file,
                     struct sprof_error *error);

/* The same but for the jumps to them, of a file that may run: trace_place_live_file writes those.
 */
int trace_place_copies(struct trace_session *session, struct trace_file *file,
                       struct sprof_error *error);

/* Writes session->hook, a jump to the agent at an address of the loader, whose path is given. In a
 * process that runs trace_place_live writes it. */
int trace_place_hook(struct trace_session *session, const char *loader, uint64_t at,
                     struct sprof_error *error);

/* Makes file->island, of so many bytes, where jumps from all of `low` to `high` reach it. A library
 * that was loaded before has one. */
int trace_make_island(struct trace_session *session, struct trace_file *file, uint64_t bytes,
                      uint64_t low, uint64_t high, struct sprof_error *error);

/* == place_live.c == */

/* Lets thunks measure, and writes the jumps to them into a process that runs. */
int trace_place_live(struct trace_session *session, struct sprof_error *error);

/* Whether a jump can be written into a process that runs. */
bool trace_can_place_live(const struct trace_session *session, const struct trace_probe *probe);

/* Writes the jumps to probes that have left into a process of the program, so that they see calls
 * again. SPROF_ESTATE: not to all of them. SPROF_ENOTFOUND: there is no such process any more. */
int trace_place_again(struct trace_session *session, pid_t pid, struct sprof_error *error);

/* Writes the jumps to probes that rest and are to be on. Some may rest still where it returns 0:
 * threads stand in their places. Else as trace_stop_begin. */
int trace_place_woken(struct trace_session *session, struct sprof_error *error);

/* Writes the probes of one more file, whose code may run already. */
int trace_place_live_file(struct trace_session *session, struct trace_file *file,
                          struct sprof_error *error);

/* == owner.c == */

/* While the descriptor is open, wherever it was passed to, nobody else puts probes into the process
 * or takes them out. Waits for that for seconds; SPROF_ESTATE: somebody else does. */
int trace_lock(pid_t pid, int *fd, struct sprof_error *error);

/* The same, but does not wait for the end of a trace that goes on: SPROF_ESTATE says whose. */
int trace_lock_alone(pid_t pid, int *fd, struct sprof_error *error);

/* Whether a process that lives has executed something since the lock was taken. */
bool trace_lock_is_stale(pid_t pid, int fd);

/* … or does so just now, which may be why something else has failed. */
bool trace_lock_has_become_stale(pid_t pid, int fd);

/* Waits, half a second at most, while a process seems to have lost its first thread, as one does of
 * which another thread executes a program. */
void trace_wait_for_leader(pid_t pid);

/* SPROF_ESTATE: what says so. */
int trace_refuse_executed(pid_t pid, struct sprof_error *error);

/* SPROF_ESTATE: the process is being traced, and not about to be left alone. */
int trace_owner_check_alone(pid_t pid, struct sprof_error *error);

/* Whoever wants to trace its processes next may wait for that, or not, after all. */
void trace_owner_end(struct trace_session *session, bool is_ending);

/* Notes in the shared memory who traces, and what is put where: before it is, so that all that is
 * there is known. */
void trace_owner_write(struct trace_session *session);
void trace_owner_add_island(struct trace_session *session, uint64_t address, uint64_t bytes);

/* The last one is not there. */
void trace_owner_drop_island(struct trace_session *session, uint64_t address);

/* Who traces a process, or did until it was killed, and how many functions have probes. False:
 * nobody. */
bool trace_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions);

/* SPROF_EUNSUPPORTED: somebody traces it, or did, whose sprof is of another version than this one.
 */
int trace_owner_check_version(pid_t pid, struct sprof_error *error);
bool trace_owner_is_alive(const struct probe_owner *owner);

/* == lease.c == */

/* The shared memory is new: nothing ends yet. */
void trace_lease_make(struct trace_session *session);

/* When all programs are to pause; 0: not by themselves. */
void trace_lease_set_deadline(struct trace_session *session, uint64_t off_ns);

/* Renews the leases of all programs, and has probes go on whose lease has ended, which is told of
 * where it was not meant. Returns 0 or a negative code. */
int trace_lease_serve(struct trace_session *session, struct sprof_error *error);

/* == thunk.c == */

/* The thunk of function `number`, to stand at `at`; `body` is called. */
void trace_thunk_write(uint8_t thunk[PROBE_THUNK_BYTES], uint64_t at, uint32_t number,
                       uint64_t enter, uint64_t leave, uint64_t body);

/* Where a probe's thunk stands. */
uint64_t trace_thunk_address(const struct trace_session *session, const struct trace_probe *probe);

/* A jump to anywhere, TRACE_FAR_JUMP_BYTES long. */
enum { TRACE_FAR_JUMP_BYTES = 14 };
void trace_far_jump_write(uint8_t code[TRACE_FAR_JUMP_BYTES], uint64_t target);

/* == ranges.c == */

/* What was chosen at the start is range 1. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_begin(struct trace_session *session, struct sprof_error *error);

/* Adds ranges and switches them: "+RE -RE +0xA-0xB +MODULE!0xA-0xB -#1,3-5 +#N". The text is cut
 * up. SPROF_EUSAGE: there is a mistake in it, and nothing has changed. */
int trace_change_ranges(struct trace_session *session, char *text, struct sprof_error *error);

/* Names in an answer the ranges from number `first` on that hold no function of any program, as
 * with --children they may be of programs that are executed later, and what is near them. */
int trace_ranges_tell_empty(const struct trace_session *session, size_t first,
                            struct sprof_str *answer, struct sprof_error *error);

/* Takes over the ranges of another session, but for the first. Returns 0 or a negative code. */
int trace_ranges_adopt(struct trace_session *session, const struct trace_session *from,
                       struct sprof_error *error);

/* Ranges hold, or do not, the probes from `first` on, which are new. */
int trace_ranges_extend(struct trace_session *session, size_t first, struct sprof_error *error);

/* Lets probes do what ranges and pauses say. */
void trace_switch(struct trace_session *session);

/* == bypass.c == */

/* The program's thunks can be written to. Not with --children, where they are those of several
 * processes. */
void trace_bypass_begin(struct trace_session *session);

/* Notes whether the file stays mapped for as long as the program runs. */
void trace_bypass_look_at_file(const struct trace_session *session, struct trace_file *file);

/* Notes which byte of the probe's jump, to its thunk, has to be another one to lead to the body of
 * its function: all others of the two jumps are the same. */
void trace_bypass_note(struct trace_session *session, struct trace_probe *probe, uint64_t body);

/* Probes that have been off since the last look cost their functions a jump or two from now on. */
void trace_bypass_look(struct trace_session *session);

/* The probe is about to be on. */
void trace_bypass_end(struct trace_session *session, size_t number);

/* == rest.c == */

/* Whether a probe has something to do now. */
bool trace_is_wanted(const struct trace_session *session, size_t number);

/* Whether a probe may rest while it is off. */
bool trace_may_rest(const struct trace_session *session, const struct trace_probe *probe);

/* Whether a probe that is placed now rests from the start. */
bool trace_rests_at_once(const struct trace_session *session, const struct trace_probe *probe);

/* Lets probes rest that have been off for as long as the options say, or that cost too much, and
 * wakes those that could not be woken when they were to be. */
void trace_rest_look(struct trace_session *session);

/* The same, but wakes none, and does not wait until threads have run for long since they stood
 * still. What cannot be stopped now is tried again by looks. */
void trace_rest_now(struct trace_session *session);

/* Has probes in place that rest and are to be on; session->asleep says of how many that failed. */
void trace_wake(struct trace_session *session);

/* SPROF_ESTATE where probes of programs are to be on, and rest still. */
int trace_check_awake(const struct trace_session *session, struct sprof_error *error);

/* == command.c == */

/* Opens the control socket. */
int trace_commands_begin(struct trace_session *session, struct sprof_error *error);

/* The run has started: its first phase is a pause where that was asked for. */
int trace_begin_paused(struct trace_session *session, struct sprof_error *error);

/* Nothing was measured for so long, until now: a pause. Returns 0 or a negative code. */
int trace_note_gap(struct trace_session *session, uint64_t gap_ns, struct sprof_error *error);

/* Carries out the commands that have come in, and what was to be done at this time. */
int trace_serve_commands(struct trace_session *session, struct sprof_error *error);

/* == coverage.c == */

/* Rows of the functions that are looked for from now on. Returns 0 or SPROF_ENOMEM. */
int trace_coverage_begin(struct trace_session *session);

/* Notes which functions have been called since the last time. Returns 0 or SPROF_ENOMEM. */
int trace_coverage_collect(struct trace_session *session);

/* Has probes that have left see calls again, in all processes of all programs. SPROF_ESTATE where
 * that is not possible now; else as trace_stop_begin. */
int trace_coverage_return(struct trace_session *session, struct sprof_error *error);

/* What was called so far counts as not called. Errors as of trace_coverage_return. */
int trace_coverage_clear(struct trace_session *session, struct sprof_error *error);

/* Takes back the probes that have seen a call, where it is time for that: their functions cost
 * nothing from then on. What hinders it hinders nothing else. */
void trace_coverage_remove(struct trace_session *session);

/* How many functions have been called, and of how many the probe has left. */
void trace_coverage_count(const struct trace_session *session, size_t *covered, size_t *left);

/* == log.c == */

/* Says to the agent what is to be done with calls, as options and mode have it. */
void trace_set_extras(struct trace_session *session);

/* Takes what a thread has put into its ring, as far as the database keeps up. Returns 0 or
 * SPROF_ENOMEM. */
int trace_log_read(struct trace_session *session, struct trace_thread *thread, uint32_t slab);

/* The thread has ended, or the trace has: takes all, and writes rows of the calls that have not. */
int trace_log_end(struct trace_session *session, struct trace_thread *thread, uint32_t slab,
                  bool is_last);

/* What was logged counts no more; calls in flight begin now. */
void trace_log_clear(struct trace_session *session, uint64_t now_ns);

/* Its ring is another thread's next. */
void trace_log_empty(struct trace_session *session, uint32_t slab);

/* Rows of calls that were not logged, by function and second; whether the database is as large as
 * it may be. Returns 0 or SPROF_ENOMEM. */
int trace_log_tick(struct trace_session *session);

/* Whether rows wait to be written that are worth it. */
bool trace_log_wants_flush(struct trace_session *session);

/* == detach.c == */

/* Takes all probes out of the process, and what was mapped for them. Its threads stand still for
 * milliseconds. Calls in flight stay in flight. SPROF_EPERMISSION, SPROF_ESTATE or SPROF_ENOTFOUND
 * (as trace_stop_begin): the probes stay, and are off. */
int trace_detach(struct trace_session *session, struct sprof_error *error);

/* == session.c == */

/* Closes a descriptor where it is open; it is -1 then. */
void trace_close(int *fd);

/* Releases all but what sessions have in common. */
void trace_program_release(struct trace_session *session);

/* == run.c == */

/* What was measured so far counts no more. Returns 0 or SPROF_ENOMEM. */
int trace_clear(struct trace_session *session);

/* What the command, or the processes of one program, have used of the CPU so far. */
uint64_t trace_command_cpu_ns(struct trace_session *session);

/* Writes what was called so far, of all programs. */
int trace_flush(struct trace_session *session, struct sprof_error *error);

/* What all programs have been seen to call. */
struct trace_sums {
    uint64_t calls, in_flight, abnormal, logged, unlogged, untracked, warnings_lost;
    size_t probes, probes_on, probes_resting; /* of those that run */
};
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

/* Whether a program is loaded by another loader than glibc's. */
bool trace_has_foreign_loader(const char *path);

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

/* Whether none of those that were seen lives. */
bool trace_processes_are_over(struct trace_session *session);

void trace_processes_release(struct trace_session *session);

#endif
