/* report: every number shown anywhere, and how it is shown. Reads a recording, never writes one.
 * Output goes to the stream the caller gives. */
#ifndef SPROF_REPORT_REPORT_H
#define SPROF_REPORT_REPORT_H

#include "base/base.h"
#include "model/model.h"
#include "report/cures.h"
#include "report/distribution.h"
#include "report/flow.h"
#include "report/json.h"
#include "report/listing.h"
#include "report/screen.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdio.h>

/* == What is asked for == */

/* Processes of a whole machine by what they are for a fleet. */
struct report_service_choice {
    const char *name, *build; /* NULL: any; build "": not known */
    unsigned without;         /* enum report_rows_label: what says nothing of the name */
};

/* Which samples, and how their stacks are read. Zero takes the newest run as it was recorded. Names
 * are globs as fnmatch(3), without FNM_PATHNAME; NULL takes all. */
struct report_selection {
    uint32_t run_id;              /* 0: the newest */
    bool all_runs;                /* every run of the recording, added up */
    const char *host;             /* every run on such a host */
    const char *event;            /* NULL: the first of the newest run */
    bool all_events;              /* every event, added up by samples */
    bool only_time;               /* … but where waits were measured, threads' time alone */
    const char *field;            /* of events, for the key REPORT_FIELD */
    const char *state;            /* of threads: running, ready, waiting, or a kind of wait */
    bool fold_idle;               /* where waits are read: without those for work */
    bool with_idle;               /* beside CPU time, what CPUs were idle */
    const char *thread, *process; /* name or number */
    const struct report_service_choice *service; /* of runs of a whole machine; NULL: all */
    const char *module;                          /* of the innermost frame: its name or its path */
    const char *function;                        /* of tables of calls: a regular expression */
    const char *cpus;                            /* "0-3,7" */
    const char *phase, *mark; /* a phase of the run by its number, by the mark it began with */
    const char *during;       /* calls of functions that this expression (PCRE2) finds, … */
    uint64_t during_least_ns; /* … that took as long at least */
    const char *time;         /* "A,B": seconds from the start of the run, "10%,20%" of it, or clock
                                 times "14:03:10,14:03:20"; either may be left out */
    /* Regular expressions (PCRE2), searched for in functions, source files and modules, as pprof
     * does. Samples stay that hold a frame of `focus`, and none of `ignore`; frames of `hide` are
     * taken out, and frames outside the outermost of `show_from`. */
    const char *focus, *ignore, *hide, *show_from;
    bool no_inlined;  /* costs of inlined functions go to the functions that they are part of */
    bool no_standard; /* functions of standard libraries and runtimes count for what called them */
    bool parts_apart; /* "f.cold" and "f.part.0" do not count for f */
    bool other_mode;  /* read a full recording as `mode`; else as it was recorded */
    enum model_mode mode;
    bool frame_app, drop_interior;
    struct model_kind_rules rules; /* which modules are application here; count 0: as recorded */
};

enum report_view {
    REPORT_BY_KEYS,   /* a flat table of `keys` */
    REPORT_EDGES,     /* which function calls which */
    REPORT_TREE,      /* every call path */
    REPORT_TREE_BY,   /* … below what its samples are of, as `keys` say */
    REPORT_BOTTOM_UP, /* every function, with the ways into it below */
    REPORT_CALLERS,   /* of `function`, the nearest first */
    REPORT_CALLEES,   /* and what they call */
    REPORT_PEEK,      /* callers and callees of all that the expression `function` finds, as one */
    REPORT_KEPT,      /* the calls that rules of a trace have kept, and their callers */
    REPORT_WAKERS,    /* waits, and what ended them */
    REPORT_CHAINS,    /* … and what that waited for */
    /* Of the newest traced run, or the selected one; of the selection, function, module, thread and
     * process count. */
    REPORT_CALLS,            /* functions: calls, and their times */
    REPORT_CALLS_BY_PROCESS, /* … of each process */
    REPORT_CALLS_BY_THREAD,  /* … of each thread */
    REPORT_CALLS_BY_CALLER,  /* … of each process, by direct caller */
    REPORT_CALLS_OUTSIDE,    /* functions outside of the traced modules that these called */
    REPORT_OPEN_CALLS,       /* calls that have not ended */
    REPORT_COVERAGE,         /* functions that were looked for: which were called, of all runs */
    REPORT_WARNINGS,         /* calls that took too long or too much */
    REPORT_HISTORY,          /* what was in force when: options, choices, probes */
    REPORT_VIEWS,
};

/* What the rows of a flat table are of. */
enum report_key {
    REPORT_RUN,
    REPORT_HOST,
    REPORT_PROCESS,
    REPORT_COMMAND,
    REPORT_USER,
    REPORT_CGROUP,
    REPORT_CONTAINER,
    REPORT_THREAD,
    REPORT_CPU,
    REPORT_EVENT,
    REPORT_STATE,
    REPORT_WAIT,
    REPORT_LOCK,   /* that a thread waits for, */
    REPORT_HOLDER, /* … and the thread that held it then */
    REPORT_FIELD,  /* of what the event writes: the selection's `field` */
    REPORT_PHASE,
    REPORT_MODULE,
    REPORT_FUNCTION,
    REPORT_FILE,
    REPORT_LINE,
    REPORT_ADDRESS,
    REPORT_KEYS,
};

/* The word of a key as `--by` takes it; NULL for REPORT_KEYS. */
const char *report_key_word(enum report_key key);

/* What a table shows of the selected samples. Zero is functions by exclusive. */
struct report_table_options {
    enum report_view view;
    const enum report_key *keys; /* REPORT_BY_KEYS: each at most once; none: function */
    size_t key_count;
    bool inclusive;       /* sort and filter by inclusive */
    const char *function; /* callers and callees must have one: name, linkage name, or name without
                             parameters; several that match are an error that lists them, unless
                             "module!function" selects one */
    const char
        *sort; /* "COLUMN[:asc|:desc]", by key or title; NULL: the first share, largest first */
    const char *show; /* "COLUMN,…": these alone, in this order; NULL: all */
    size_t limit;     /* rows; 0: as many as the format shows by itself */
    bool no_limit;
    double min_percent;  /* rows with a smaller share are left out, and said so; of the function in
                            tables of callers and callees, else of what is selected */
    bool all_rows;       /* trees for people: no share that rows need by themselves (0.5 %) */
    bool fold;           /* trees: frames that lead nowhere else are one row */
    bool marks;          /* trees: recursive and inlined calls are said to be so */
    bool all_columns;    /* of calls: people see those that programs do */
    bool unexecuted;     /* coverage: only functions that were not called */
    bool uncalled;       /* calls of functions: also those with a probe that were not called */
    bool newest;         /* warnings: the last 8, and nothing at all where there are none */
    const char *request; /* kept calls: of this request, a number or "slowest"; NULL: all */
};

/* How it looks. Zero is text of 100 columns without colour. */
struct report_style {
    const struct report_format *format; /* NULL: text */
    unsigned columns;                   /* width of text; 0: 100 */
    bool color;
    bool full_names; /* functions with parameters and template arguments, also for people */
    bool verbose;    /* text: all that is known of how far the numbers can be trusted */
};

struct report_request {
    struct report_selection selection;
    struct report_table_options table;
    struct report_style style;
};

/* == Formats == */

/* What a format can write. */
enum report_kind {
    REPORT_TABLE = 1,   /* the tables of report_write */
    REPORT_SAMPLES = 2, /* the samples of report_script */
    REPORT_ROWS = 4,    /* the results of report_query */
    REPORT_PROFILE = 8, /* the whole dataset, for another tool */
    REPORT_FLEET =
        16, /* … for a database: the tables of report_rows, which `write` does not write */
};

struct report_content; /* report/format.h */

/* One format: a line in the table of report/formats.c, and one file. */
struct report_format {
    const char *name;      /* as --format takes it: "csv" */
    const char *extension; /* of the files it fills, with the dot: ".csv" */
    unsigned kinds;        /* of enum report_kind, added up */
    bool brief;            /* for people: long tables are cut where no limit was given */
    bool stored;           /* reads the recording itself: there need be no samples in it */
    /* Writes content of one of its kinds. Failures to write are left in the stream's error
     * indicator. Returns 0 or a negative code; SPROF_ENOMEM may leave *error empty. */
    int (*write)(FILE *out, const struct report_content *content, struct sprof_error *error);
    enum report_keys_as {
        REPORT_KEYS_NOWHERE,
        REPORT_KEYS_AS_FRAMES, /* above the call paths */
        REPORT_KEYS_AS_LABELS, /* of each sample */
    } keys;                    /* where --by goes */
};

/* pprof and profiles of OTLP without numbers of processes and threads, for stores of profiles; not
 * among the others. */
extern const struct report_format report_format_of_series, report_format_of_otlp_series;

/* The formats there are; the last has a NULL name. */
const struct report_format *report_formats(void);

/* The format of a name that can write `kind`; NULL with *error listing those that can. */
const struct report_format *report_format_find(const char *name, enum report_kind kind,
                                               struct sprof_error *error);

/* Whether what is written says of which service, version and host it is, and other labels. */
bool report_format_takes_labels(const struct report_format *format);

/* == Reports == */

/* Writes one table with the quality of its data below it, or as text, where the table's options are
 * all zero, functions and the hottest path on one screen. Text is for people; CSV (RFC 4180) and
 * JSON carry the same columns with full precision: JSON is one object {"run": …, "columns": …,
 * "rows": …, "quality": …}. Errors: SPROF_ENOTFOUND (no such function, thread, process, run: the
 * message offers what is near), SPROF_EUSAGE (a pc or app recording read as full), and what the
 * store says. */
int report_write(FILE *out, struct store *store, const struct report_request *request,
                 struct sprof_error *error);

/* What `sprof record` says at its end. */
struct report_summary_options {
    const char *path; /* the file's name as the user gave it */
    const char *note; /* a line behind the one that says which source took the samples; empty: none
                       */
    unsigned columns; /* 0: 100 */
    bool verbose;     /* all that is known of how far the numbers can be trusted */
};

/* A line about the recording, more where something is not as it should be, the first screen of a
 * report, and what to do next, where something was sampled. */
int report_summary(FILE *out, struct store *store, const struct report_summary_options *options,
                   struct sprof_error *error);

/* Calls `note` with each sentence that a report of the newest run has below its table, until it
 * returns non-zero, which is returned. The text is borrowed for the call. Errors as report_write.
 */
int report_each_note(struct store *store, int (*note)(void *context, const char *text),
                     void *context, struct sprof_error *error);

/* One sample after the other in time order: a line of thread, pid/tid, cpu, time, weight, event and
 * end reason, then a line a frame with address, function, module and source line. `limit` samples;
 * 0: all. */
int report_script(FILE *out, struct store *store, const struct report_selection *selection,
                  const struct report_style *style, size_t limit, struct sprof_error *error);

/* Fills an empty table of why/why.h from the newest run: all the time of threads where the
 * recording holds it, else its clock. Errors as report_write, and SPROF_EUSAGE where it holds no
 * time. The caller releases the table, also on failure. */
struct why_table;
int report_why_table(struct store *store, struct why_table *table, struct sprof_error *error);

/* Fills `calls` (why/slow.h), whose expression and limit are given, from a trace of the same time
 * whose first rule kept calls without regard to their length. Errors as report_write. The caller
 * releases them, also on failure. */
struct why_calls;
int report_why_calls(struct store *store, const struct why_table *table, struct why_calls *calls,
                     struct sprof_error *error);

/* Functions of such a table by their numbers. */
struct report_why_counted {
    const uint32_t *functions;
    size_t count;
};

/* Fills empty counts from a trace with callers, as to functions of the table. Errors as
 * report_write. The caller releases the counts, also on failure. */
struct why_counts;
int report_why_counts(struct store *store, const struct why_table *table,
                      const struct report_why_counted *wanted, struct why_counts *counts,
                      struct sprof_error *error);

/* A recording of a page. */
struct report_html_input {
    struct store *store;
    const char *name; /* distinguishes several: how the person called the file */
};

struct report_html_options {
    bool no_source; /* neither source lines nor instructions: for pages that others will see */
    const char *source_directory; /* as in struct report_annotate_options */
    bool parts_apart;             /* as in struct report_selection */
    const char *const *renamed;   /* as in struct report_diff */
};

/* All runs of one or several recordings as one HTML page that holds all it needs: about 6 MB at the
 * most, for which slots of time become coarser, rare call paths are folded, and only the hottest
 * functions have their source. Of several recordings the last is shown at first, compared with the
 * first. Errors as report_write. */
int report_html(FILE *out, const struct report_html_input *inputs, size_t count,
                const struct report_html_options *options, struct sprof_error *error);

/* "KEY=VALUE", as in service.name=shop; zero is none. */
struct report_labels {
    const char *const *items;
    size_t count;
};

/* What an export holds besides. */
struct report_export_options {
    struct report_labels labels; /* for formats that have a place for them */
    const enum report_key *keys; /* … for what samples are of, as cgroup or thread */
    size_t key_count;
};

/* What is selected in a format of kind REPORT_PROFILE, for another tool. Errors as report_write;
 * SPROF_EUSAGE for keys where the format has no place for them. */
int report_export(FILE *out, struct store *store, const struct report_selection *selection,
                  const struct report_format *format, const struct report_export_options *options,
                  struct sprof_error *error);

/* An event of a run, loaded once for profiles of all its services: report_profiles_write writes
 * that of one, as report_export with such a selection. The store and the selection are borrowed.
 * Free in any case; freeing NULL is fine. */
struct report_profiles;
int report_profiles_open(struct report_profiles **profiles, struct store *store,
                         const struct report_selection *selection, struct sprof_error *error);
int report_profiles_write(FILE *out, struct report_profiles *profiles,
                          const struct report_service_choice *service,
                          const struct report_format *format,
                          const struct report_export_options *options, struct sprof_error *error);
void report_profiles_free(struct report_profiles *profiles);

/* What rows hold of processes besides their names, as labels; added up. */
enum report_rows_label { REPORT_ROWS_USER = 1, REPORT_ROWS_CGROUP = 2, REPORT_ROWS_CONTAINER = 4 };

/* Rows of a recording for a fleet's database, docs/fleet.md. All is borrowed. */
struct report_rows_options {
    uint64_t window_ns; /* costs are added up by so much; whole seconds */
    struct report_labels labels;
    unsigned without; /* labels of processes that are left out */
    const char *user; /* only what this user's processes did; NULL: all */
    const char *sprof_version;
};

/* The tables in the order in which a database takes them: rows that others refer to come first, and
 * the rows of runs, which say that all is there, last. */
enum report_rows_table {
    REPORT_ROWS_FUNCTION,
    REPORT_ROWS_PATH,
    REPORT_ROWS_LABELS,
    REPORT_ROWS_COST,
    REPORT_ROWS_RUN,
    REPORT_ROWS_TABLES,
};
extern const char *const report_rows_tables[REPORT_ROWS_TABLES]; /* their names */

/* Where each table goes, as tab-separated values with a line of column names. */
struct report_rows_files {
    FILE *tables[REPORT_ROWS_TABLES];
};

struct report_rows_count {
    uint64_t runs, costs, paths, functions;
};

/* Writes the rows of the selected runs, of each event that they have or of the selected one.
 * SPROF_EUSAGE for labels and runs that rows cannot have; other errors as report_write. */
int report_rows(const struct report_rows_files *files, struct store *store,
                const struct report_selection *selection, const struct report_rows_options *options,
                struct report_rows_count *count, struct sprof_error *error);

/* Turns one of these tables, with its line of column names, into ClickHouse's Native format. Reads
 * from the beginning. */
int report_rows_native(FILE *out, FILE *rows, struct sprof_error *error);

/* Writes the functions of a recording that have names, as the table `function`, under the keys that
 * they have where names are missing: names that were found later. Errors as report_write. */
int report_rows_names(FILE *function, struct store *store, uint64_t *count,
                      struct sprof_error *error);

/* What `sprof annotate` shows. */
struct report_annotate_options {
    const char *function; /* as in struct report_table_options */
    size_t top;           /* instead of it so many functions with most self time; 0: not */
    bool intel;           /* syntax of instructions; else AT&T's */
    bool no_source, no_instructions;
    const char
        *source_directory; /* where to look for sources that are not where they were; NULL none */
    const char *root; /* a directory that stands for /, in which binaries and sources are looked
                         for first; NULL none */
    uint32_t context; /* lines and instructions shown around those that cost something */
    bool brief;       /* set by report_annotate: headings, and only what is near costs */
    bool full_names;  /* the same: of functions, as in struct report_style */
};

/* The source lines of a function and its instructions, each with what it cost, as one table. What
 * cannot be shown, because a file is missing or has changed, is said below it. Errors as
 * report_write. */
int report_annotate(FILE *out, struct store *store, const struct report_selection *selection,
                    const struct report_annotate_options *options, const struct report_style *style,
                    struct sprof_error *error);

/* == Kept calls, one after the other == */

/* A call that rules have kept. Texts are clean, and borrowed for the call. */
struct report_kept_text {
    uint32_t number, caller; /* in the run; caller 0: none */
    uint32_t depth;          /* from 1 */
    int32_t pid, tid;
    const char *thread, *function, *module, *exit; /* thread: "" unknown */
    const char *why;                               /* conditions that it met, or "caller of kept" */
    uint64_t start_ns, duration_ns, self_ns;       /* duration 0: it has not ended */
    bool is_apart;                                 /* its coroutine was suspended meanwhile */
    const char *arguments, *result; /* "(id = 7)", "-1"; NULL: not known, or there are none */
    const char *exception;          /* type and text; NULL: none left it, or it is not known */
    const char *values;             /* beside these: "errno = ENOENT"; NULL: there are none */
    uint64_t request;               /* that it belongs to, by the program's number; 0: none */
    uint64_t running_ns;            /* of the duration: on a CPU; 0: not known */
    uint64_t waiting_ns, ready_ns;  /* … for something, and for a CPU, where that is known */
};

/* Calls `put` for the kept calls of the selected runs, thread after thread, each before those that
 * it called, until it returns non-zero. SPROF_EUSAGE where more is chosen than run, thread and
 * process. Returns what `put` returned, or as report_write. */
int report_each_kept(struct store *store, const struct report_selection *selection,
                     int (*put)(void *context, const struct report_kept_text *call), void *context,
                     struct sprof_error *error);

/* == Differences == */

/* A run of one side. */
struct report_diff_run {
    struct store *store;
    uint32_t run_id;
};

enum report_diff_by {
    REPORT_DIFF_FUNCTIONS,
    REPORT_DIFF_MODULES,
    REPORT_DIFF_PATHS,
    REPORT_DIFF_LINES,
    REPORT_DIFF_KEYS, /* what samples are of: `keys` */
};

/* What costs are reckoned to before they are compared. */
enum report_diff_per {
    REPORT_PER_RUN,    /* a run: for programs that do the same work each time */
    REPORT_PER_SECOND, /* a second of recording: for programs that go on */
    REPORT_PER_SAMPLE, /* all samples of the run: shares */
};

/* One --fail-if. */
struct report_diff_limit {
    enum report_diff_limit_kind {
        REPORT_GROWN_BY,
        REPORT_GROWN_OF_ALL,
        REPORT_TOTAL_GROWN_BY
    } kind;
    double percent;
};

struct report_diff {
    const struct report_diff_run *runs[2]; /* before, after */
    size_t counts[2];
    struct report_selection selection; /* which samples; run_id is set for each run */
    enum report_diff_by by;
    const enum report_key *keys; /* of samples, as process or cgroup, and not of their frames */
    size_t key_count;
    enum report_diff_per per;
    bool at_equal_speed; /* from three runs a side on: what all rows of a run share is taken out */
    bool inclusive;
    bool all_rows;              /* those within chance, too */
    size_t limit;               /* rows; 0: 40 in formats for people, all in others */
    const char *const *renamed; /* "OLD=NEW": modules that were renamed; NULL ends */
    const struct report_diff_limit *limits;
    size_t limit_count;
};

/* What the limits make of it; also the exit status of `sprof diff`. */
enum report_diff_outcome {
    REPORT_DIFF_PASSED = 0,
    REPORT_DIFF_FAILED = 3,      /* a limit is passed beyond chance */
    REPORT_DIFF_CANNOT_JUDGE = 4 /* too few runs, under half of the cost matched, or all the same */
};

/* Writes a table of what changed, the largest change first. Functions are the same in two builds
 * when name, module and file name are; modules by file name without the version behind ".so.N".
 * *outcome is that of the limits; `why` (at least 512 bytes) says in one line what failed, or why
 * it cannot be judged. Errors as report_write, and SPROF_EUSAGE where runs differ in event or mode.
 */
int report_diff(FILE *out, const struct report_diff *diff, const struct report_style *style,
                enum report_diff_outcome *outcome, char why[static 512], struct sprof_error *error);

/* The rows of a statement: an aligned table, CSV or JSON, which has columns of `numbers` (bit i is
 * column i) as numbers, others as texts. */
int report_query(FILE *out, struct store *store, const char *sql, uint64_t numbers,
                 const struct report_style *style, struct sprof_error *error);

#endif
