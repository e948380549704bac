/* The dataset: what a recording holds of the samples that were asked for, read once. Every table,
 * exporter, page and difference is a view of it; only report/dataset.c and report/samples.c read
 * the store.
 *
 *     struct report_dataset dataset;
 *     int result = report_dataset_load(&dataset, store, &selection, REPORT_STACKS, error);
 *     …                                   read its arrays; nothing changes any more
 *     report_dataset_release(&dataset);   also after a failure
 *
 * Modules, functions, frames, nodes, processes, threads and call paths are numbered densely from 1:
 * number n is items[n - 1], and 0 means none. Numbers of different loads have nothing to do with
 * each other; what is the same thing in two recordings has the same `key`. Texts are valid UTF-8
 * without control characters and live as long as the dataset.
 *
 * Every load fills runs, events, processes, threads, modules, functions and the tree of call paths,
 * which suffices for tables of functions and modules and for trees. The parts below are read where
 * they are asked for. A typical exporter loads REPORT_STACKS, goes over `costs`, and spells each
 * stack out with report_dataset_stack. */
#ifndef SPROF_REPORT_DATASET_H
#define SPROF_REPORT_DATASET_H

#include "image/image.h"
#include "model/model.h"
#include "report/dataset_kept.h"
#include "report/report.h"
#include "report/row_numbers.h"

/* Parts that not every view needs; added up. */
enum report_part {
    REPORT_STACKS = 1,  /* frames, nodes, mappings, and costs by node and thread */
    REPORT_CPUS = 2,    /* … or costs by thread, by CPU, too: see report_dataset_next_costs */
    REPORT_PHASES = 32, /* … by phase */
    REPORT_INLINED = 4, /* path_inlined */
    /* Quicker than stacks, and only for selections that take every sample in the mode recorded; see
     * report_selection_takes_all. */
    REPORT_THREAD_COSTS = 8, /* costs by thread, without nodes */
    REPORT_LINE_COSTS = 16,  /* frames and line_costs */
    REPORT_ANY_MODE = 128,   /* stacks of different modes are not read together: any are taken */
    REPORT_KEPT_CALLS = 256, /* with REPORT_STACKS: `kept` */
    REPORT_WAKES = 512,      /* with REPORT_STACKS: wakes */
    REPORT_FIELDS = 1024,    /* … by the field of the selection */
    REPORT_LOCKS = 2048,     /* … by the lock that was waited for, and its holder */
    REPORT_ONLY_RUN = 64,    /* no functions that only other runs met, where these are many */
};

struct report_module {
    const char *name, *path; /* never NULL */
    const char *path_bytes;  /* the path as the system takes it; NULL: as `path` */
    enum model_kind kind;    /* by the selection's rules */
    bool main_executable;    /* of a process */
    uint64_t key;            /* 0 unknown */
    const char *build_id;    /* lower-case hexadecimal; NULL none */
};

/* By which a target that waits differs from one that is ready while others have the CPUs: how
 * long it was ready without a CPU, at least; the time of all CPUs of the machine meanwhile, and of
 * it what they had work. 0: not known. */
struct report_crowd {
    uint64_t ready_ns, machine_ns, busy_ns;
};

struct report_function {
    const char *name;         /* demangled; never NULL */
    const char *linkage_name; /* NULL: as `name`, or unknown */
    const char *file;         /* where it is declared; NULL unknown */
    uint32_t line;            /* 0 unknown */
    uint64_t key;             /* 0 for what exists only in this report */
    uint64_t start, size; /* address as the ELF file numbers it, bytes; 0 for inlined functions */
    bool named;           /* by a symbol or debug information, not "module+0x…" */
    /* Of what a compiler split off or copied, see report/split_functions.h. */
    uint32_t owner;        /* the function that it counts for, which alone is in paths and frames;
                              0: itself */
    const char *part;      /* its own name; NULL: it is no part */
    unsigned called_parts; /* how many of its suffixes mark code that the function calls */
};

/* An address in a module, or a function inlined there. The innermost of those at an address is the
 * frame nodes refer to; `outer` leads to the function it is inlined into, and so on to the physical
 * function, whose `outer` is 0. */
struct report_frame {
    uint32_t module, function; /* function 0: not symbolized */
    uint32_t part;             /* the part of `function` that the code is in, else as `function` */
    uint32_t outer;
    uint32_t inline_depth; /* 0: innermost; grows outwards */
    const char *file;      /* of the line executed, or of the call inlined; NULL unknown */
    uint32_t line;         /* 0 unknown */
    uint64_t file_offset;  /* see struct model_frame */
    uint64_t key;
};

/* A stack: its innermost frame below the stack of the caller, which has a smaller number. */
struct report_node {
    uint32_t parent, frame;
};

/* All samples of a source line of a function: exclusive and inclusive. */
struct report_line_cost {
    uint32_t frame; /* one there */
    struct model_costs costs;
};

/* Where a module sat in a process: sorted by process, module, time. */
struct report_mapping {
    uint32_t process; /* 0: the kernel */
    uint32_t module;
    uint64_t start, size, file_offset, start_ns, end_ns; /* end_ns 0: at the end of the run */
};

struct report_process {
    uint32_t run, parent; /* run: its database id; parent: number, 0 none */
    int32_t pid;
    uint32_t bearer;                       /* how many of the run bore this number before it */
    uint64_t start_ns, end_ns;             /* since the start of the run; end 0: alive at its end */
    const char *name, *command;            /* NULL unknown */
    const char *user, *cgroup, *container; /* never NULL: "?" unknown, "none" no container */
    /* Of its program, shortened. NULL: unknown, or of a run of one program. */
    const char *build;
};

struct report_thread {
    uint32_t process;
    uint32_t id; /* its database id */
    int32_t tid;
    uint64_t start_ns, end_ns;
    const char *name; /* its own or its process's; NULL unknown */
    uint64_t cpu_time_ns;
    bool cpu_time_known;
    bool selected; /* by --thread and --process */
};

/* Selected samples that ended on one node in one thread. Sorted by node. */
struct report_cost {
    uint32_t node, thread;
    uint32_t event;  /* its number in `events` */
    int32_t cpu;     /* -1 unknown, or without REPORT_CPUS */
    uint32_t phase;  /* its number in `phases`; 0 unknown, or without REPORT_PHASES */
    uint32_t fields; /* its number in `field_values`; 0 none, or without REPORT_FIELDS and _LOCKS */
    struct model_cost cost;
};

/* What an event wrote with samples, of the fields that are asked for. */
enum report_field_slot { REPORT_SLOT_FIELD, REPORT_SLOT_LOCK, REPORT_SLOT_HOLDER, REPORT_SLOTS };
struct report_field_values {
    const char *texts[REPORT_SLOTS]; /* "": it has none */
};

/* Costs of stack nodes in one phase and on one CPU, packed as store/places.h says. */
struct report_packed_costs {
    uint32_t event, phase; /* as in struct report_cost */
    int32_t cpu;
    uint32_t entries;
    struct sprof_bytes packed;
};

/* A wait that was ended while it was recorded, and by what. Sorted by run and woken_ns. */
struct report_wake {
    uint32_t event, node, thread;
    uint32_t waker_node, waker_thread; /* 0: not recorded; thread 0: none of the recording */
    int32_t waker_tid;                 /* 0: an interrupt */
    uint64_t weight, woken_ns;
};

/* Waits for work that are left out, of a thread on a path: database ids. */
struct report_idle_place {
    uint32_t path, thread, event;
};

/* What the selection's expressions say of a function. */
enum report_filter {
    REPORT_FOCUS = 1,
    REPORT_IGNORE = 2,
    REPORT_HIDE = 4,
    REPORT_SHOW_FROM = 8,
    REPORT_IN_MODULE = 16, /* it lies in a module of --module */
    REPORT_STANDARD = 32,  /* of a standard library or runtime: counts for what called it */
};

/* A stretch of a run with one mode and rate; `number` counts those of its run from 1. */
struct report_phase {
    uint32_t run, number; /* run: its database id */
    uint64_t start_ns, end_ns;
    const char *mark; /* NULL: it began without one */
    struct model_view view;
    bool paused, selected;
};

/* A stretch of a run, in nanoseconds from its start; the end is exclusive. */
struct report_time_range {
    uint64_t from_ns, to_ns;
};

/* When a thread was in a call that samples are chosen by, as a time of the run. */
struct report_during_call {
    uint32_t run; /* its place in `runs` */
    int32_t tid;
    uint64_t from_ns, to_ns;
};

/* Events that are read as one, where none has the name that was asked for. */
enum report_event_sum {
    REPORT_ONE_EVENT,
    REPORT_OFF_CPU,    /* all kinds of waits, and threads that are ready: MODEL_EVENT_OFF_CPU */
    REPORT_ON_AND_OFF, /* … and a clock of CPU time: MODEL_EVENT_ON_AND_OFF */
};

/* What calls of a function use beside time. */
enum report_call_use {
    REPORT_USE_STACK, /* bytes above a call's beginning, at most */
    REPORT_USE_HEAP_SELF,
    REPORT_USE_HEAP_TOTAL,
    REPORT_USE_ALLOCATIONS,
    REPORT_CALL_USES,
};

struct report_call_uses {
    uint64_t of[REPORT_CALL_USES]; /* UINT64_MAX: not measured */
};

/* Samples and calls that were chosen: selection.c, during.c and filter.c fill it. */
struct report_chosen {
    const char *thread, *process; /* the selection's, clean; NULL all */
    bool of_service;              /* processes are selected by their service */
    const char *text;             /* " in thread X on CPU 0-3": what was asked for, clean; "" all */
    bool is_part;                 /* the selection may leave some of them out */
    bool by_sample;               /* by what only samples have, and no call that was logged */
    bool by_phase;                /* only samples of selected phases */
    unsigned filters;             /* the expressions given */
    uint8_t *function_filters;    /* [function - 1]: enum report_filter; NULL: none given */
    const struct report_cpu_set *cpus;           /* NULL: all */
    bool by_calls;                               /* samples are chosen by these: */
    SPROF_VEC(struct report_during_call) during; /* sorted by run, thread and time; disjoint */
    SPROF_VEC(struct report_time_range) ranges;  /* of each run in `runs`; empty: all of them */
};

/* The mode that stacks are read as: mode.c. */
struct report_reading {
    enum model_mode mode;
    bool frame_app, drop_interior;
    bool other_mode;            /* than the recorded one */
    bool no_inlined;            /* inlined functions are not shown: their costs are those of real
                                   ones */
    struct model_view recorded; /* the mode it was recorded in, of several the least detailed */
    bool several_modes;         /* runs or phases were not all recorded in one */
};

/* Time outside of the program's functions: mode.c and dataset_sums.c. */
struct report_apart {
    struct model_cost not_sampled;                   /* CPU time without samples */
    struct model_cost outside;                       /* … and without an application frame */
    uint32_t outside_function, not_sampled_function; /* 0: none */
    struct model_cost standard; /* self of functions that count for what called them (--no-std) */
};

/* Waits for work that are left out of all else: report/idle.h. */
struct report_idle {
    struct model_cost cost;
    uint32_t function; /* in which most of it is; 0: in none of the application */
    SPROF_VEC(struct report_idle_place) places;
};

/* Of calls, none of which was counted: functions whose coverage was looked for, and those of them
 * that were called. */
struct report_coverage {
    uint64_t functions, called;
};

/* What only counted calls have. */
struct report_counted {
    SPROF_VEC(uint64_t)
    totals; /* [function - 1]: total time of its calls, in ns, as measured; empty: not of calls, or
               not known, as of a phase */
    SPROF_VEC(uint64_t)
    outside; /* [function - 1]: of the time of its calls what was outside of the traced modules, in
                ns; empty: none was, or not known, as of a phase */
    bool has_outside;            /* self times hold such time, also where functions' is not known */
    uint64_t outside_calls;      /* calls that left, as paths below those of their callers */
    const char *outside_callees; /* "[libc.so.6] usleep 396.0 ms, …": where that was; NULL: not
                                    known, as of a thread, or of several runs */
    SPROF_VEC(struct report_call_uses)
    uses;                   /* [function - 1]; empty: not of calls, or not known, as of a thread */
    uint64_t less_measured; /* functions whose calls were not all timed, or counted, by a limit */
    struct report_coverage coverage;
};

/* Calls that `sprof trace --keep` kept, of selected threads. */
struct report_kept {
    SPROF_VEC(struct report_keep_rule) rules;
    SPROF_VEC(struct report_kept_call) calls;
    SPROF_VEC(struct report_call_value) values;
    SPROF_VEC(struct report_kept_request) requests;
};

/* What an event wrote with samples. */
struct report_fields {
    const char *name; /* of the field that was asked for; NULL none */
    SPROF_VEC(struct report_field_values) values;
    struct sprof_map of_samples; /* report_dataset_sample_key → number in `values` */
};

/* Costs that are not in `costs` yet: sorted by phase and CPU. */
struct report_packed {
    SPROF_VEC(struct report_packed_costs) items;
    size_t next;
};

/* Database id → number. */
struct report_numbers {
    struct report_row_numbers processes, threads, nodes, functions;
    struct report_row_numbers events; /* of those that are read alone */
};

/* Zero is a valid empty dataset. */
struct report_dataset {
    struct sprof_arena arena;
    const char *recording; /* its path, as a shell takes it; NULL: of no file that is there */
    SPROF_VEC(struct store_run) runs;       /* the selected ones; texts in the arena */
    struct store_run run;                   /* the newest of them */
    uint32_t run_number, run_count;         /* "run 2 of 3" */
    bool compared;                          /* a run of one side of a comparison */
    struct image_source_users source_users; /* sampled in the selected runs; empty: of one, or by
                                               whose file it is, that is not known */
    SPROF_VEC(struct store_event) events;   /* of the selected runs; names in the arena */
    struct store_event event;               /* of `run`, the one read; id 0 where the run has none.
                                               Of a sum the first, with the name of the sum */
    enum report_event_sum event_sum;
    struct report_crowd crowd;             /* of these runs */
    struct store_quality quality;          /* of the selected runs with that event, as a whole */
    uint64_t samples_of_others;            /* … and of their other events */
    SPROF_VEC(struct report_phase) phases; /* of the selected runs, by run and time */
    SPROF_VEC(struct report_process) processes;
    SPROF_VEC(struct report_thread) threads;
    SPROF_VEC(struct report_module) modules;
    SPROF_VEC(struct report_function) functions;
    SPROF_VEC(struct model_function) facts; /* of the same functions: module, kind, start-up code */
    struct model_paths paths;               /* of functions; summed; every path has a cost */

    SPROF_VEC(bool)
    path_inlined; /* [path - 1], with REPORT_INLINED: only ever inlined into its parent;
                     empty where the paths are not as recorded */

    struct report_counted counted;
    struct model_cost all;     /* every sample of the run and event */
    bool all_events;           /* every event is read, not only `event` */
    struct model_cost total;   /* of the selected samples */
    struct report_apart apart; /* parts of it */
    double effective_samples;  /* behind `total`, for intervals: see model_effective_samples */
    bool weighted;             /* percentages use weight, else samples */
    struct report_reading reading;
    bool shows_callers; /* the table is of call paths, or of callers */
    struct report_idle idle;
    bool running;      /* `run` was still being recorded when the store was copied */
    const char *waits; /* what threads wait for, in a sentence; NULL: not found out */
    struct report_chosen chosen;

    unsigned parts; /* as loaded */

    /* With REPORT_STACKS. */
    SPROF_VEC(struct report_frame) frames;
    SPROF_VEC(struct report_node) nodes; /* as recorded, whatever the mode read */
    SPROF_VEC(struct report_mapping) mappings;
    struct report_fields fields;
    SPROF_VEC(struct report_cost) costs;
    struct report_packed packed;
    uint8_t
        *node_stays; /* [node - 1]: 0 not known yet, 1 filters leave its stack, 2 nothing of it */
    SPROF_VEC(struct report_line_cost) line_costs; /* with REPORT_LINE_COSTS */
    SPROF_VEC(struct report_wake) wakes;           /* with REPORT_WAKES */
    struct report_kept kept;                       /* with REPORT_KEPT_CALLS */

    struct sprof_map file_bytes; /* hash of a file's clean path → pointer to its bytes */

    struct report_numbers numbers;
};

/* Whether probes counted calls, and nothing was sampled. */
static inline bool report_counts_calls(const struct report_dataset *dataset)
{
    return dataset->event.unit == STORE_UNIT_CALL;
}

/* The innermost frame of a node that counts: none that is inlined where these are not shown, and of
 * calls, for what is inlined at a function's entry was not called. */
static inline uint32_t report_dataset_node_frame(const struct report_dataset *dataset,
                                                 uint32_t node)
{
    const struct report_frame *frames = dataset->frames.items;
    uint32_t frame = dataset->nodes.items[node - 1].frame;
    const bool real = report_counts_calls(dataset) || dataset->reading.no_inlined;
    while (real && frame && frames[frame - 1].outer)
        frame = frames[frame - 1].outer;
    return frame;
}

/* The text of a field of a cost; "unknown" where it has none. */
const char *report_dataset_field_text(const struct report_dataset *dataset, uint32_t values,
                                      enum report_field_slot slot);

/* Costs by function, [number - 1] of `functions`: from the tree, and the total times of calls as
 * they were measured. SPROF_ENOMEM. */
int report_dataset_function_costs(const struct report_dataset *dataset, struct model_costs *costs);

/* Which callers are known in the dataset. For counted calls: none, or the direct ones, unless the
 * whole paths were counted, too. */
enum report_known_callers { REPORT_NO_CALLERS, REPORT_DIRECT_CALLERS, REPORT_ALL_CALLERS };
enum report_known_callers report_dataset_callers(const struct report_dataset *dataset);

/* Whether a function, by its id, is the program's own: it has a name, in the application, that is
 * none of a standard library or runtime. */
bool report_dataset_is_own(const struct report_dataset *dataset, uint32_t function);

/* Whether calls were counted with their whole paths, not by function or direct caller alone. */
bool report_dataset_has_paths(const struct report_dataset *dataset);

/* A clean copy of a source file's path, whose bytes report_dataset_file_bytes finds; NULL when out
 * of memory. */
const char *report_dataset_copy_path(struct report_dataset *dataset, const char *path);

/* The bytes of a source file's path, as the system takes it; of several that look the same those
 * of none. */
const char *report_dataset_file_bytes(const struct report_dataset *dataset, const char *path);

/* The function, by its database id, that counts; 0: unknown. */
static inline uint32_t report_dataset_function_of(const struct report_dataset *dataset, uint32_t id)
{
    const uint32_t number = report_dataset_number(&dataset->numbers.functions, id);
    const uint32_t owner = number ? dataset->functions.items[number - 1].owner : 0;
    return owner ? owner : number;
}

/* Whether `inner` is a part that `outer`, the same function or another part of it, called: the two
 * are one frame. Both are functions as they were recorded. */
bool report_dataset_is_called_part(const struct report_dataset *dataset, uint32_t inner,
                                   uint32_t outer);

/* What is counted, as a word: "call" or "sample". */
static inline const char *report_counted(const struct report_dataset *dataset)
{
    return report_counts_calls(dataset) ? "call" : "sample";
}

/* Reads what is selected; `parts` of enum report_part, added up. Errors as report_write. The caller
 * releases, also on failure. */
int report_dataset_load(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, unsigned parts,
                        struct sprof_error *error);
void report_dataset_release(struct report_dataset *dataset);

/* Reads only which runs and events are selected. Errors and release as report_dataset_load. */
int report_dataset_load_events(struct report_dataset *dataset, struct store *store,
                               const struct report_selection *selection, struct sprof_error *error);

/* With REPORT_CPUS or REPORT_PHASES `costs` are those of one CPU and phase after the other where
 * there are many: call this before they are read, until it returns 1; else 0, or a negative code.
 */
int report_dataset_next_costs(struct report_dataset *dataset);

/* Whether every sample of the runs and the event counts, with its whole stack as it was recorded.
 */
bool report_selection_takes_all(const struct report_selection *selection);

/* A stack spelled out, innermost frame first, inlined functions as frames of their own; zero is a
 * valid empty one, which the next call reuses. */
struct report_stack {
    SPROF_VEC(uint32_t) frames; /* numbers; 0 alone: "[outside the application]" */
    bool calls_of_parts; /* set by the caller: a function and its part that it called are two */
};

/* What the mode read leaves of the stack of a node: what its samples count for in `paths`. Returns
 * 0 or SPROF_ENOMEM. Release with sprof_vec_release(&stack->frames). */
int report_dataset_stack(const struct report_dataset *dataset, uint32_t node,
                         struct report_stack *stack);

/* The function of a frame of a report_stack: that of frame 0 is outside_function. 0: not
 * symbolized. */
static inline uint32_t report_dataset_frame_function(const struct report_dataset *dataset,
                                                     uint32_t frame)
{
    return frame ? dataset->frames.items[frame - 1].function : dataset->apart.outside_function;
}

/* Where a frame was in a thread's process at a time: true and the address. A process that never
 * called execve has its mappings from its parent. Needs REPORT_STACKS. */
bool report_dataset_address(const struct report_dataset *dataset, uint32_t frame, uint32_t thread,
                            uint64_t time_ns, uint64_t *address);

/* The command line of a process, as a shell would read it; "" unknown. */
const char *report_dataset_command(const struct report_dataset *dataset, uint32_t process);

/* The host on which a process ran; "?" unknown. */
const char *report_dataset_host(const struct report_dataset *dataset, uint32_t process);

/* Whether samples of that event, by its database id, are read. */
static inline bool report_dataset_takes_event(const struct report_dataset *dataset, uint32_t id)
{
    return report_dataset_number(&dataset->numbers.events, id) != 0;
}

/* The state of the threads of whose time an event's samples are: "running", "ready" (without a
 * CPU), "waiting"; "unknown" of the wall clock. */
const char *report_event_state(const struct store_event *event);

/* What they wait for, as "futex"; else their state. */
const char *report_event_wait(const struct store_event *event);

/* Whether the newest selected run was made by the wall clock, with the state of each sample: all
 * its time is what is read where no event is asked for. */
bool report_dataset_is_by_looks(const struct report_dataset *dataset);

/* Whether time without a CPU is read, alone or in a sum: one sample may weigh for a long wait, and
 * the next for none. */
static inline bool report_dataset_reads_waits(const struct report_dataset *dataset)
{
    return !dataset->all_events && (dataset->event_sum || model_event_wait(dataset->event.name));
}

/* Whether an event is part of the time of threads: a wait, or the clock of CPU time beside it. */
bool report_dataset_is_time(const struct report_dataset *dataset, const struct store_event *event);

/* Whether the dataset has samples of events with different names: no one rate or unit is that of
 * all. */
bool report_dataset_mixes_events(const struct report_dataset *dataset);

/* Whether a run has the event that is read: others have nothing in the dataset. */
bool report_dataset_has_event(const struct report_dataset *dataset, uint32_t run_id);

/* When what `run.duration_ns` counts began: later than the run's own start where it had a delay, or
 * was cleared. In nanoseconds from that start, as all times. */
uint64_t report_dataset_begin_ns(const struct report_dataset *dataset, const struct store_run *run);

/* The phase of a run (by its database id) at a time; 0: none. All of a run with one phase is in it.
 */
uint32_t report_dataset_phase(const struct report_dataset *dataset, uint32_t run, uint64_t time_ns);

/* The same by its number in the run. */
uint32_t report_dataset_numbered_phase(const struct report_dataset *dataset, uint32_t run,
                                       uint32_t number);

/* Appends "phase 1 (mode full, from 0.00 s), phase 2 …": what there is to choose from. */
int report_dataset_list_phases(const struct report_dataset *dataset, struct sprof_str *list);

/* Whether samples of that phase (0: none) on that CPU are selected. */
bool report_dataset_takes_place(const struct report_dataset *dataset, uint32_t phase, int32_t cpu);

/* Whether a sample of runs.items[run] is selected by CPU, time and phase. */
bool report_dataset_takes_sample(const struct report_dataset *dataset, size_t run,
                                 const struct store_sample *sample);

static inline struct model_functions report_dataset_facts(const struct report_dataset *dataset)
{
    return (struct model_functions){dataset->facts.items, dataset->facts.count};
}

/* What shares are computed from. */
static inline uint64_t report_dataset_value(const struct report_dataset *dataset,
                                            struct model_cost cost)
{
    return dataset->weighted ? cost.weight : cost.samples;
}

static inline const char *report_dataset_function_name(const struct report_dataset *dataset,
                                                       uint32_t function)
{
    return dataset->functions.items[function - 1].name;
}

static inline const char *report_dataset_module_name(const struct report_dataset *dataset,
                                                     uint32_t function)
{
    return dataset->modules.items[dataset->facts.items[function - 1].module - 1].name;
}

/* What people read for each function, [number - 1], so that no two of those with `wanted`
 * [number - 1] look the same; the full names of the others. The caller frees the array, whose texts
 * live as long as the dataset. NULL when out of memory. */
const char **report_dataset_short_names(struct report_dataset *dataset, const bool *wanted);

/* The same for one function, beside which none is shown. It lives as long as the dataset; NULL when
 * out of memory. */
const char *report_dataset_short_name(struct report_dataset *dataset, uint32_t function);

/* Adds a function; returns its number, 0 when out of memory. Texts must live as long as the
 * dataset. */
uint32_t report_dataset_add_function(struct report_dataset *dataset,
                                     struct report_function function, struct model_function facts);

#endif
