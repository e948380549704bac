/* Rows as the writer takes them and the reader gives them. Field names are column names. Texts and
 * blobs are borrowed: by the writer until it returns, from the reader until its callback returns.
 * NULL texts are SQL NULL. Times within a run are nanoseconds since its start. */
#ifndef SPROF_STORE_ROWS_H
#define SPROF_STORE_ROWS_H

#include "base/base.h"
#include "model/model.h"

enum store_state {
    STORE_RECORDING, /* its recorder is at work, or was killed */
    STORE_RECORDED,  /* all samples are in; not yet symbolized */
    STORE_COMPLETE,  /* functions, paths and costs are there */
};

struct store_run {
    uint32_t id;
    uint64_t key; /* random: names this run wherever it is merged */
    enum store_state state;
    const char *sprof_version, *host, *kernel, *architecture;
    uint32_t cpus;
    const char *command; /* as a shell would read it; NULL when attached */
    const char *targets; /* "4242,4243" or "thread 77"; NULL when launched */
    const char *working_directory;
    const char *mode;         /* "full", "app", "pc": of several phases the least detailed */
    const char *frame;        /* "app" or NULL */
    const char *app_interior; /* "keep", "drop" */
    const char *module_rules; /* one "app GLOB" or "system GLOB" a line; NULL none */
    const char *source; /* "perf per CPU, filtered", "perf per CPU", "perf per thread", "import" */
    const char *kernel_excluded; /* why the kernel was not sampled; NULL: it was */
    const char *no_call_states;  /* why it is not known how long single calls waited; NULL: it is,
                                    or there are none */
    uint64_t frequency_hz;       /* asked; 0 when a period was, or for imports */
    uint64_t stack_bytes, stack_bytes_wanted, ring_bytes;
    uint64_t start_realtime_ns;  /* since 1970 */
    uint64_t start_monotonic_ns; /* of the run's time 0; 0 for imports */
    uint64_t duration_ns;
    uint64_t own_cpu_ns; /* sprof's own, while it recorded */
    uint64_t target_cpu_ns;
    int32_t recorder_pid;    /* distinguishes a live recorder from a killed one … */
    uint64_t recorder_start; /* … with its start time (field 22 of /proc/PID/stat) */
    const char *boot_id;     /* … and /proc/sys/kernel/random/boot_id */
    int32_t wait_status;     /* of the launched command, as from waitpid; -1 unknown */
};

/* What one count of an event is. */
enum store_unit { STORE_UNIT_SAMPLE, STORE_UNIT_CALL };

struct store_event {
    uint32_t id, run_id;
    const char *name;
    bool is_clock;   /* weights are nanoseconds of CPU time */
    bool varying;    /* weights differ: percentages use them */
    uint64_t period; /* of a clock that varies the mean; else 0 when it varies */
    uint8_t unit;    /* enum store_unit */
};

/* A stretch of a run with one mode, rate and slice. A run has one from its beginning to its end
 * until something changes them. */
struct store_phase {
    uint32_t id, run_id;
    uint64_t start_ns, end_ns;               /* end 0: the run was not ended in order, or goes on */
    const char *mode, *frame, *app_interior; /* as in struct store_run */
    uint64_t frequency_hz;                   /* 0 when a period was asked for, or for imports */
    uint64_t stack_bytes;
    bool paused;      /* no samples are taken */
    const char *mark; /* what the person called its beginning; NULL: nothing */
};

struct store_process {
    uint32_t id, run_id, parent_id; /* parent 0: SQL NULL */
    int32_t pid;
    uint64_t start_ns, end_ns; /* end 0: alive at the end of the run */
    const char *name, *command;
};

struct store_thread {
    uint32_t id, process_id;
    int32_t tid;
    uint64_t start_ns, end_ns;
    const char *name;
    uint64_t cpu_time_ns, samples;
    bool cpu_time_known;
};

struct store_module {
    uint32_t id;
    uint64_t key; /* 0: not known yet (SQL NULL) */
    const char *path, *name;
    struct sprof_bytes build_id; /* stored as lower-case hexadecimal text; empty: NULL */
    enum model_kind kind;
    bool main_executable;
    uint32_t process_id; /* code of one process only; 0: NULL */
    const char *problem; /* why its file could not be read; NULL none */
};

struct store_mapping {
    uint32_t id, process_id, module_id;
    uint64_t start, end, file_offset, start_ns, end_ns;
};

struct store_function {
    uint32_t id, module_id;
    uint64_t key;
    const char *name, *linkage_name; /* linkage_name NULL: as name */
    uint64_t start, size;            /* vaddr; 0 for inlined functions */
    const char *file;
    uint32_t line;
    bool named, startup;
};

/* Physical rows (inline_depth 0) are written while recording, with only id, module, offset; the
 * symbolizer completes them and adds rows for the functions they are inlined into. The innermost
 * function is at depth 0; inline_parent leads outwards; the last is the physical function. */
struct store_frame {
    uint32_t id, module_id;
    uint64_t key, file_offset;
    uint32_t function_id; /* 0: not symbolized */
    const char *file;
    uint32_t line;
    uint32_t inline_depth, inline_parent_id;
};

struct store_node {
    uint32_t id, parent_id, frame_id, depth;
    uint8_t found_by; /* enum unwind_found_by; stored by number */
    uint32_t guessed; /* frames found by scanning, from this one outwards; below 2^27 */
};

/* The count of one row, at most: it shares a number with other fields. */
#define STORE_SAMPLE_COUNT_MAX ((UINT64_C(1) << 57) - 1)

struct store_sample {
    uint64_t id; /* given by the database when 0 */
    uint32_t run_id, event_id, thread_id, node_id;
    uint64_t time_ns, weight;
    uint64_t count;     /* samples this row stands for: 1; more in imports; 0 for CPU time that
                           is known but was never sampled ("[not sampled]") */
    int32_t cpu;        /* -1: unknown; rows with another count than 1 have none */
    uint8_t end_reason; /* enum unwind_end */
    bool stitched, user_stack; /* user_stack: it has one at all */
};

/* What a thread called of one function, whose entry is the frame of the node. Times are of calls
 * that have ended, and all zero (SQL NULL: min) where only calls are counted. */
struct store_call_cost {
    uint32_t run_id, event_id, thread_id, node_id;
    bool timed;         /* exits were seen, too */
    uint64_t calls;     /* begun */
    uint64_t counted;   /* … that were only counted: no times hold them */
    uint64_t in_flight; /* … that were timed, and had not ended when the run did */
    uint64_t total_ns;  /* of outermost calls, with all that they called */
    uint64_t self_ns;   /* without the probed functions that they called */
    uint64_t raw_total_ns, raw_self_ns; /* the same with what the probes took */
    uint64_t min_ns, max_ns;            /* of one call */
    uint64_t child_calls;               /* of probed functions, directly */
    uint64_t tails;                     /* ended by calling another function last */
    uint64_t abnormal;                  /* left by an exception or longjmp */
    uint64_t recursive;                 /* begun while another one was open */
    uint64_t uncertain;                 /* whose self time may hold that of others: coroutines */
    double bucket_ns;                   /* √2 times where the first octave of buckets begins */
    struct sprof_bytes buckets; /* 32-bit counts of calls by duration, little endian; each ends at
                                   √2 times the one before */
    uint64_t outermost;         /* ended, and begun while none was open: calls of total_ns */
};

/* The probe of a function that was called, whose entry is the frame of the node. */
struct store_probe {
    uint32_t run_id, node_id;
    const char *mechanism; /* "sled", "fentry", "xray", "prologue", "leave", "slot", "uprobe",
                              "embedded" */
    uint64_t address;      /* of the bytes that it changed, as the ELF file numbers them */
    uint64_t callers;      /* functions of its file that call it directly; 0: none, or not known
                              (SQL NULL) */
};

/* Calls that a function of a thread made directly of others which were only counted: its self time
 * holds theirs. Where there are none there is no row. */
struct store_call_untimed {
    uint32_t run_id, thread_id, node_id;
    uint64_t calls;
};

/* Calls of a function in a thread that ended by a jump to another whose time is not in theirs, of
 * `tails` in its struct store_call_cost. Where there are none there is no row. */
struct store_call_tail_cut {
    uint32_t run_id, thread_id, node_id;
    uint64_t calls;
};

/* The time that calls of a function in a thread have spent outside of the traced modules, without
 * the functions with probes that were called from there: neither is in their self time. Where it is
 * none there is no row. */
struct store_call_outside {
    uint32_t run_id, thread_id, node_id;
    uint64_t outside_ns;
};

/* The function outside of the traced modules that these called, whose entry is the frame of the
 * node. Calls that have ended, of all threads. */
struct store_outside_cost {
    uint32_t run_id, node_id;
    uint64_t calls;
    uint64_t total_ns; /* of outermost calls, with functions with probes that they called */
    uint64_t self_ns;  /* without these */
    uint64_t max_ns;   /* of one call */
};

/* How deep in their stacks calls of the function began, whose entry is the frame of the node, in
 * one process. Only where that was measured there is a row. */
struct store_call_stack {
    uint32_t run_id, node_id;
    int32_t pid;
    uint64_t stack_bytes; /* at most */
};

/* What calls of the function have allocated, whose entry is the frame of the node, in one process.
 * Only where that was measured there is a row. `self_bytes` are of `blocks`, which were made while
 * no other function with a probe was called from it; `total_bytes` hold those of calls below. */
struct store_call_heap {
    uint32_t run_id, node_id;
    int32_t pid;
    uint64_t blocks, self_bytes, total_bytes;
};

/* The first call of a function that was looked for, whose entry is the frame of the node. */
struct store_entry_coverage {
    uint32_t run_id, node_id;
    uint64_t first_ns;  /* 0: it was not called (SQL NULL) */
    uint32_t thread_id; /* that called it first; 0: unknown, or not called (SQL NULL) */
};

/* How a call ended, or did not. */
enum store_exit {
    STORE_EXIT_RETURN,
    STORE_EXIT_TAIL, /* with another function, which it called last */
    STORE_EXIT_EXCEPTION,
    STORE_EXIT_LONGJMP,
    STORE_EXIT_LEFT,       /* without returning; it is unknown how */
    STORE_EXIT_THREAD_END, /* its thread ended before it, by pthread_exit, cancellation or exit */
    STORE_EXIT_OPEN,       /* the run ended before it */
    STORE_EXIT_UNSEEN,     /* the ends of such calls cannot be seen */
    STORE_EXIT_TAIL_CUT,   /* where it called another function last, without the time of that */
};

/* Calls of one thread, packed (store/calls.h): a row for each would be slower than calls are. */
struct store_call_block {
    uint64_t id; /* given by the database when 0 */
    uint32_t run_id, thread_id, calls;
    uint64_t first_ns; /* when the first of them began */
    struct sprof_bytes bytes;
};

/* What blocks of a run call a function, whose entry is the frame of the node. */
struct store_call_function {
    uint32_t run_id, number, node_id;
};

/* Calls of a function in a second that have no row of their own, though they were to have one. */
struct store_probe_ledger {
    uint32_t run_id, second, node_id;
    uint64_t not_logged;
};

/* A rule of `sprof trace --keep`. */
struct store_keep_rule {
    uint32_t run_id, number; /* from 1, as they were given */
    const char *text;
    const char *function;    /* its regular expression; NULL: all chosen functions */
    uint64_t fired, dropped; /* calls that met it: in all; without room, and so without a row */
};

/* When such a rule was in force. */
struct store_keep_span {
    uint32_t run_id, number;
    uint64_t from_ns, to_ns; /* to_ns 0: to the end (SQL NULL) */
    uint64_t tested;         /* calls of its functions meanwhile */
};

/* A call that met such a rule, or the caller of one. */
struct store_kept_call {
    uint32_t run_id, number; /* from 1; in no order */
    uint32_t caller;         /* number of the call that called it; 0: none was probed (SQL NULL) */
    uint32_t thread_id, node_id; /* the function's entry is the frame of the node */
    uint64_t start_ns;
    uint64_t duration_ns;          /* without what probes took, as of struct store_call_cost */
    uint64_t self_ns;              /* without the probed functions that it called */
    uint64_t running_ns;           /* of the duration: on a CPU; 0: it is not known (SQL NULL) */
    uint64_t waiting_ns, ready_ns; /* … for something, and for a CPU, where that is known */
    uint8_t exit;   /* enum store_exit; OPEN and, with its thread, THREAD_END: no duration */
    uint64_t rules; /* that it met: bit n is rule n + 1; 0: it is there as a caller */
    bool is_apart;  /* its coroutine was suspended meanwhile: its caller is the one at its entry, or
                       unknown */
    uint64_t request;  /* that its thread worked for, by the program's number; 0: none, or several
                          (SQL NULL) */
    uint64_t asked_id; /* what sprof_call_id() of <sprof.h> returned in it; 0: it was not called
                          (SQL NULL) */
};

/* When a thread worked for a request, as the program said by <sprof.h>. */
struct store_request_part {
    uint32_t run_id, number; /* from 1; in no order */
    uint32_t thread_id;
    uint64_t request;  /* the program's number */
    const char *label; /* NULL: none was given here */
    uint64_t start_ns;
    uint64_t duration_ns; /* 0: it goes on (SQL NULL) */
    bool is_end;          /* the request ended then */
};

/* What a value of such a call is, by its position: 0 is the result, then come the arguments. */
enum {
    STORE_ARGUMENT = 1,
    STORE_AFTER = 256,     /* + n: what argument n has become when the call ends */
    STORE_CAPTURED = 4096, /* what --capture names */
    STORE_NOTE = 8192,     /* + n: what the program noted, by <sprof.h> */
    STORE_ERRNO = 65534,
    STORE_EXCEPTION = 65535, /* that left it */
};

/* A value of such a call, as people read it. */
struct store_call_value {
    uint32_t run_id, call_number;
    uint32_t position;
    const char *name; /* "" of results, and where it has none */
    const char *type; /* as in the source; NULL: not known */
    const char *value;
};

/* == What is derived == */

/* The call path that samples of a node count for. Nodes in which no sample ends have none. */
struct store_node_path {
    uint32_t node_id, path_id;
};

/* What all samples of a run add up to. Frames are physical ones, once per sample that holds them.
 */
struct store_sample_summary {
    uint32_t run_id;
    uint64_t first_sample, last_sample; /* ids of samples with a count; both 0: there is none. The
                                           run's rows of CPU time that was not sampled follow. */
    uint64_t disorder_ns; /* between them: how much earlier than one before it a sample is */
    uint64_t samples, user_stacks, whole_stacks, stitched, guessed_frames, frames, named_frames;
};

/* Of an event: everything. */
struct store_event_cost {
    uint32_t run_id, event_id;
    struct model_cost cost;
    double squares;      /* Σ weight² over samples, for the effective number of them */
    bool has_node_costs; /* thread_node_cost holds all: else samples must be added up */
    uint64_t slot_ns;    /* length of the slots of slot_cost; 0: that has no rows */
};

struct store_thread_cost {
    uint32_t run_id, event_id, thread_id;
    struct model_cost cost;
};

/* Of a call path, function, module or source line (by the id of a frame there: the smallest one
 * with that file, line and function). */
struct store_cost {
    uint32_t run_id, event_id, id;
    struct model_costs costs;
};

struct store_edge_cost {
    uint32_t run_id, event_id;
    struct model_edge edge;
};

/* Exclusive, of a stack node: what filtered reports read instead of samples. */
struct store_thread_node_cost {
    uint32_t run_id, event_id, thread_id, node_id;
    struct model_cost cost;
    double squares; /* 0 where the event's weights do not vary */
};

/* The same by time: slot n is [n, n + 1) times event_cost.slot_ns. */
struct store_slot_cost {
    uint32_t run_id, event_id, slot, thread_id, node_id;
    struct model_cost cost;
};

/* What samples of one phase and CPU add up to, by thread. */
struct store_place_cost {
    uint32_t run_id, event_id;
    uint32_t phase; /* the number of the phase in its run, from 1; 0: in none */
    int32_t cpu;    /* -1: unknown */
    uint32_t thread_id;
    struct model_cost cost;
    double squares; /* Σ weight² over those that were sampled; 0 where their weights are equal */
};

/* The same by thread and stack node, packed (store/places.h): the rows of one phase and CPU are
 * numbered. */
struct store_place_block {
    uint32_t run_id, event_id, phase;
    int32_t cpu;
    uint32_t number, entries;
    struct sprof_bytes bytes;
};

/* How long calls of a function took: of so many percent at most this. */
struct store_call_latency {
    uint32_t run_id, event_id, function_id;
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
};

/* An option of a trace that was in force in a phase: its mode, and what was given. */
struct store_phase_option {
    uint32_t run_id, phase_id;
    const char *name, *value;
};

/* A range of functions that chose them, or left them out, for some time. */
struct store_selection {
    uint32_t run_id, number;   /* of the range, as `sprof ctl list` shows it */
    uint64_t start_ns, end_ns; /* end 0: it was in force to the end (SQL NULL) */
    const char *text;          /* with its sign: "+RE", "-0xA-0xB" */
    uint64_t functions;        /* that it held */
    const char *cause;         /* "start" or "command" */
};

/* What became of a probe, or of all: from then on it is so. */
struct store_probe_event {
    uint32_t run_id, number; /* from 1, in the order of time */
    uint32_t node_id;        /* the function's entry is the frame of the node; 0: all (SQL NULL) */
    uint64_t time_ns;
    const char *what; /* of one: "timed", "counted", "off", "in", "rests" or "out"; of all: "timed",
                         "start", "stop", "clear", "mode", "detach" or "end" */
    const char *cause;  /* a word of store_cause_words */
    double share;       /* that all probes took of the CPU time when "governor" decided, 0 … 1 */
    uint64_t in_flight; /* of all: calls that were open then */
};

/* A call that took too long or too much, of `sprof trace --warn-over` and its kin. */
struct store_warning {
    uint32_t run_id, thread_id, node_id; /* the function's entry is the frame of the node */
    uint64_t time_ns;
    const char *kind;      /* "slow", "stuck", "stack", "heap" or "chunk" */
    uint64_t value, bound; /* nanoseconds, or of "stack" and "heap" bytes: what it took, and what it
                              may; of "chunk" a block's address, and the bytes behind which what is
                              broken stands, 0: before it */
};

/* What ended a wait that was recorded with `sprof record --wakers`. */
struct store_wake {
    uint64_t id; /* 0: the next */
    uint32_t run_id, thread_id;
    uint64_t time_ns;         /* of the wait's sample of the thread */
    uint64_t woken_ns;        /* when it was ended; the time of the waker's sample, of `wakeup` */
    int32_t waker_tid;        /* 0: an interrupt */
    uint32_t waker_thread_id; /* 0: an interrupt, or no thread of the targets */
};

/* A field of what an event writes with its samples: struct model_field. */
struct store_event_field {
    uint32_t run_id, event_id;
    uint16_t number; /* from 0 */
    const char *name;
    uint16_t offset, bytes;
    uint8_t kind; /* enum model_field_kind */
};

/* … and what it wrote with the sample of this time: trailing zeros are left out. */
struct store_sample_fields {
    uint64_t id; /* 0: the next */
    uint32_t run_id, event_id, thread_id;
    uint64_t time_ns;
    struct sprof_bytes bytes;
};

/* The global or static object, or the member of it, that is a lock which threads waited for. */
struct store_lock_name {
    uint32_t run_id, process_id;
    uint64_t address;
    const char *name; /* "shop::ledger.mutex" */
};

/* The first call of a function in a run; as in struct store_entry_coverage. */
struct store_coverage {
    uint32_t run_id, function_id;
    uint64_t first_ns;
    uint32_t thread_id;
};

/* == Beside the samples == */

/* One second of a run. CPU time in nanoseconds, the rest in samples. */
struct store_ledger {
    uint32_t run_id, event_id, second;
    uint64_t expected_cpu_ns, delivered, lost, throttled, excluded, timer_overrun;
    int64_t unexplained; /* expected samples minus all of the above */
};

/* The counter of the chance, in millionths, with which a segment was recorded. */
#define STORE_LOOP_CHANCE "loop.chance_ppm"

struct store_counter {
    uint32_t run_id;
    const char *name; /* "unwind.cache_hits", … */
    uint64_t value;
};

/* The counter, of value 1, of a run that did not end: another process has finished it. */
#define STORE_RECORDER_KILLED "recorder.killed"

/* A user whose processes were sampled or traced. UINT32_MAX, as uid and gid: of a process that had
 * ended, or had a mount namespace of its own, it is not known. */
struct store_sampled_user {
    uint32_t run_id, uid, gid;
    const char *groups; /* supplementary ones, with a blank between; "": none */
};

/* Where a process belonged when it began its program. One that ended at once has none of its own,
 * and that of the process that forked it. */
struct store_process_origin {
    uint32_t process_id, uid;
    const char *user;      /* the name of `uid`; NULL: it had none */
    const char *cgroup;    /* path of version 2; NULL: none was mounted */
    const char *container; /* id or name; NULL: none is known */
};

/* A sample kept for replay (`record --keep-failed`). */
struct store_failed {
    uint64_t id;
    uint32_t run_id, thread_id;
    uint64_t time_ns;
    uint8_t end_reason;
    struct sprof_bytes registers; /* 8 bytes each, by DWARF number; x86-64 has 17 */
    struct sprof_bytes stack;
};

#endif
