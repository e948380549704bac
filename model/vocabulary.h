/* The vocabulary that every library shares: what is stored in recordings as a small number, and the
 * word that users read for it. Numbers never change their meaning; new ones are added at the end.
 */
#ifndef SPROF_MODEL_VOCABULARY_H
#define SPROF_MODEL_VOCABULARY_H

#include <stdbool.h>

/* How much of a stack a recording keeps (DESIGN §2). */
enum model_mode {
    MODEL_MODE_PC,   /* "pc": one address, or with `frame_app` one frame */
    MODEL_MODE_FULL, /* "full" */
    MODEL_MODE_APP,  /* "app": the part that belongs to the application */
};

/* What a module is to the person who reads the profile. */
enum model_kind {
    MODEL_KIND_NONE,   /* "none": pseudo-modules */
    MODEL_KIND_APP,    /* "app" */
    MODEL_KIND_SYSTEM, /* "system" */
    MODEL_KIND_KERNEL, /* "kernel" */
    MODEL_KIND_JIT,    /* "jit": code compiled at run time; application code */
};

/* How a frame was found. */
enum model_found_by {
    MODEL_BY_CFI, /* "cfi": a table's rule; also the interrupted instruction itself */
    MODEL_BY_PLT,
    MODEL_BY_SIGNAL, /* restored from a signal frame */
    MODEL_BY_FP,     /* frame pointer */
    MODEL_BY_SCAN,   /* searched for: a stack with such a frame is not whole */
    MODEL_BY_KERNEL, /* the kernel's own call chain; never by the walk */
    MODEL_BY_INLINE, /* by debug information; never by the walk */
    MODEL_BY_LEAF, /* code without a table: by its own instructions, as the target of the call that
                      the return address follows, or because a root is next */
};

/* Why a stack ends where it does. */
enum model_end {
    MODEL_END_ROOT,        /* "root": return address undefined, or a known start */
    MODEL_END_TRUNCATED,   /* the slice ended and nothing beyond could be read or trusted */
    MODEL_END_NO_CFI,      /* "no-cfi": no rule, no frame pointer, nothing found by scanning */
    MODEL_END_BAD_MEMORY,  /* "bad-memory": a rule led to an address that cannot be read */
    MODEL_END_DEPTH_LIMIT, /* "depth-limit": more frames than the walker holds */
    MODEL_END_PENDING,     /* a table is not built yet: not a final answer */
    MODEL_END_NO_STACK,    /* "no-stack": no user registers were captured; never by the walk */
};

/* The words, indexed by the enums above and ended by NULL. */
extern const char *const model_mode_words[];
extern const char *const model_kind_words[];
extern const char *const model_found_by_words[];
extern const char *const model_end_words[];

/* One word each; "?" for a number that is none of the enum's. */
const char *model_mode_text(enum model_mode mode);
const char *model_kind_text(enum model_kind kind);
const char *model_found_by_text(enum model_found_by found_by);
const char *model_end_text(enum model_end end);

/* The mode of a word; MODEL_MODE_FULL for NULL and unknown words, which only a damaged recording
 * holds. */
enum model_mode model_mode_of(const char *word);

/* A mode as its options: "full", "pc --frame app", "app --app-interior drop". */
const char *model_mode_options_text(enum model_mode mode, bool frame_app, bool drop_interior);

/* Whether frames of this kind are application code: app and jit. */
bool model_kind_is_app(enum model_kind kind);

/* Pseudo-modules hold what is in no file. "[none]" holds the pseudo-functions, at these offsets. */
#define MODEL_MODULE_NONE "[none]"
#define MODEL_MODULE_UNKNOWN "[unknown]"
/* The kernel itself. Addresses of it in no known text (programs loaded into it) count for it. */
#define MODEL_MODULE_KERNEL "[kernel]"

enum model_pseudo {
    MODEL_PSEUDO_OUTSIDE = 1, /* MODEL_OUTSIDE: stacks without an application frame, in mode app */
    MODEL_PSEUDO_NOT_SAMPLED, /* MODEL_NOT_SAMPLED: CPU time that no sample stands for */
    MODEL_PSEUDO_IDLE,        /* MODEL_IDLE: time in which a CPU ran nothing */
    MODEL_PSEUDO_WAITING,     /* MODEL_WAITING: a thread waits, and where is not known */
    MODEL_PSEUDO_READY,       /* MODEL_READY: … or has no CPU, though it could go on */
};

/* Their names. */
#define MODEL_OUTSIDE "[outside the application]"
#define MODEL_NOT_SAMPLED "[not sampled]"
#define MODEL_IDLE "[idle]"
#define MODEL_WAITING "[waiting]"
#define MODEL_READY "[ready]"

/* The event of samples of threads that work or wait, which it is is not known: its weights are
 * nanoseconds of their lives. */
#define MODEL_EVENT_WALL "wall-clock"

/* Time in which threads had no CPU, in nanoseconds: a family of events, one for each kind of wait.
 * The word of the kind follows the prefix. Together with a clock of CPU time it is time as it
 * passes, which reports call by the third name. */
#define MODEL_EVENT_OFF_CPU "off-cpu"
#define MODEL_EVENT_OFF_CPU_PREFIX MODEL_EVENT_OFF_CPU ":"
#define MODEL_EVENT_ON_AND_OFF "wall"

/* The event of what threads did as they ended waits of others: it weighs what these had waited. */
#define MODEL_EVENT_WAKEUP "wakeup"

/* Time in which CPUs ran nothing, in nanoseconds: it is no thread's, and no part of other sums. */
#define MODEL_EVENT_IDLE "idle"

/* The kind of threads that are ready to run; of all other kinds threads wait for something. */
#define MODEL_WAIT_READY "ready"

/* The kind of waits of which only the time is known: of --off-cpu without BPF. */
#define MODEL_WAIT_UNSEEN "waiting"

/* The kind of wait that an event is about; NULL: it is about none. */
const char *model_event_wait(const char *event);

/* Whether an event leaves out the kernel's or the user's mode. */
bool model_event_of_one_mode(const char *event);

/* How `run.targets` begins where the whole machine was recorded, or a part of it. */
#define MODEL_TARGETS_ALL "all that runs"

/* How `run.source` begins where perf events of whole CPUs took the samples. */
#define MODEL_SOURCE_PERF_CPUS "perf per CPU"

/* … and of threads. */
#define MODEL_SOURCE_PERF_THREADS "perf per thread"

/* … because one of the events is a tracepoint. */
#define MODEL_SOURCE_TRACEPOINTS ", as tracepoints need it"

/* What `run.source` holds where BPF programs chose the samples in the kernel, and where the kernel
 * took away part of that: all of it (the reason follows, and a bracket), exact weights, stacks
 * beyond their slices. */
#define MODEL_SOURCE_FILTERED ", filtered in the kernel"
#define MODEL_SOURCE_NO_BPF ", without BPF ("
#define MODEL_SOURCE_NO_WEIGHTS ", without exact weights"
#define MODEL_SOURCE_NO_CAPTURES ", without deep stacks"

/* … and where waits are samples by the wall clock, too (`--clock wall`): the sum of all events is
 * what was asked for. */
#define MODEL_SOURCE_LOOKS "; what waits by BPF"

/* … and where the kernel permits no more samples a second than that, of those asked for by default.
 */
#define MODEL_SOURCE_AT_MOST ", at most the kernel's "

/* How `run.source` begins where agents inside the targets took the samples. */
#define MODEL_SOURCE_AGENT "SIGPROF agent"

/* `run.source` of an imported recording, whose names came with its stacks. */
#define MODEL_SOURCE_IMPORT "import"

/* … and of one made of rows of a fleet's database, which hold costs by window and call path. */
#define MODEL_SOURCE_ROWS "import of rows"

/* Whether `run.source` is one of these two. */
bool model_source_is_import(const char *source);

#endif
