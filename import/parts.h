/* What the importers share: the input, and the recording that they feed.
 *
 * A format reads its input and adds chains (the functions at an address), nodes (a chain below
 * those of its callers) and samples. Lines that cannot be read are left out, counted, and the first
 * of them named. Functions return 0, SPROF_ENOMEM, or a negative code with *error filled. */
#ifndef SPROF_IMPORT_PARTS_H
#define SPROF_IMPORT_PARTS_H

#include "import/import.h"
#include "recording/recording.h"

/* Where frames without a module belong. */
#define IMPORT_NO_MODULE "[application]"

/* == Input == */

/* Bytes to be read from their beginning, unpacked. */
struct import_input {
    const char *path; /* as the user gave it */
    void *packed;     /* gzFile; NULL: all is in the buffer */
    uint8_t *buffer;
    size_t start, end, capacity; /* what was read and not yet taken */
    uint64_t total;              /* bytes unpacked so far */
    bool is_packed, at_end;
    bool is_cut; /* the last line had no end */
};

/* Opens a path, or standard input for "-". */
int import_input_open(struct import_input *input, const char *path, struct sprof_error *error);

/* Takes over an open descriptor. */
int import_input_adopt(struct import_input *input, int descriptor, const char *name,
                       struct sprof_error *error);

/* An input that is in memory: for tests. */
int import_input_memory(struct import_input *input, struct sprof_bytes bytes);
void import_input_close(struct import_input *input);

/* The first bytes, without taking them: as many as there are, at most IMPORT_HEAD. */
enum { IMPORT_HEAD = 4096 };
int import_input_head(struct import_input *input, struct sprof_bytes *head,
                      struct sprof_error *error);

/* The next line, which ends with a NUL in place of its line end; valid until the next call. Returns
 * 1 at the end. */
int import_input_line(struct import_input *input, char **line, size_t *length,
                      struct sprof_error *error);

/* All that is left; valid until the input is closed. */
int import_input_all(struct import_input *input, struct sprof_bytes *bytes,
                     struct sprof_error *error);

/* == Output == */

struct import_event {
    const char *name; /* must live until import_free */
    bool is_clock;
    struct model_cost total;
    uint64_t period; /* weight of each sample as long as all weigh the same; 0: they do not */
    bool seen;
};

struct import_sample {
    uint32_t event; /* position in `events` */
    uint32_t thread, node;
    uint64_t time_ns; /* since any time; 0 where none is known */
    struct model_cost cost;
    int32_t cpu;
};

struct import {
    const struct import_options *options;
    const char *name; /* of the input, in messages */
    struct recording *recording;
    struct recording_names names;
    struct sprof_intern texts; /* that must live as long as the import */
    struct sprof_intern keys;  /* readers of text: number n is what address n was made of */
    SPROF_VEC(struct import_event) events;
    SPROF_VEC(struct import_sample) samples;
    bool whole_stacks;                       /* the format promises them */
    bool has_times;                          /* samples have the times when they were taken */
    uint64_t start_realtime_ns, duration_ns; /* 0 unknown */
    size_t line, bad_lines, good_lines;
    bool any_text;  /* the format takes every text: most lines must be good */
    uint64_t taken; /* samples so far, of all events */
};

/* A text that lives as long as the import; NULL: out of memory. */
const char *import_text(struct import *import, const char *text);

/* Frames of one stack: a few times as many as the deepest recursion that fits a stack of 8 MiB.
 * More are a mistake, or meant to keep the importer busy. */
enum { IMPORT_FRAMES_MAX = 1 << 18 };
#define IMPORT_TOO_DEEP "a stack of more than 262 144 frames"

/* The number of an address with these functions, innermost first. The caller sees to it that equal
 * ones get one number. */
int import_address(struct import *import, const struct recording_level *levels, size_t count,
                   uint64_t address, uint32_t *number);

/* A frame below `parent`; its module by path, NULL or "" unknown. */
struct import_module {
    const char *path;
    bool in_kernel;
    struct sprof_bytes build_id;
};
int import_node(struct import *import, uint32_t parent, const struct import_module *module,
                uint32_t address, uint32_t *node);

/* The event of a name, found or added. Its position in *event. */
int import_event(struct import *import, const char *name, bool is_clock, uint32_t *event);

/* A thread; names may be NULL. */
int import_thread(struct import *import, pid_t pid, pid_t tid, const char *process,
                  const char *thread, uint32_t *id);

/* Adds samples. Returns what is wrong with their cost, or NULL; *result is 0 or SPROF_ENOMEM. */
const char *import_sample(struct import *import, const struct import_sample *sample, int *result);

/* Says what is wrong in the line at hand, which is left out. */
void import_complain(struct import *import, const char *what);

/* The error where no sample could be read, or hardly a line of an input whose format is a guess;
 * `form` says what a good input is. Else says how many lines are left out, and returns 0. */
int import_check(struct import *import, const char *what, const char *form,
                 struct sprof_error *error);

/* An import into memory, as import_file does it first: for tests. The caller frees. */
int import_open(struct import *import, const struct import_options *options,
                struct sprof_error *error);
void import_free(struct import *import);

/* == Formats == */

struct import_format {
    const char *name;
    bool (*recognizes)(struct sprof_bytes head);
    /* NULL: the format is that of rows, which are several runs */
    int (*read)(struct import *import, struct import_input *input, struct sprof_error *error);
};
const struct import_format *import_format_of(struct sprof_bytes head);

/* Refuses a file that is of no format that can be imported, as its head says: SPROF_EFORMAT, with
 * what it is and what to do with it. Where a format was chosen, only a recording and a program. */
int import_format_check(const char *path, struct sprof_bytes head,
                        const struct import_format *chosen, struct sprof_error *error);

bool import_folded_recognizes(struct sprof_bytes head);
int import_folded_read(struct import *import, struct import_input *input,
                       struct sprof_error *error);
bool import_pprof_recognizes(struct sprof_bytes head);
int import_pprof_read(struct import *import, struct import_input *input, struct sprof_error *error);
bool import_perf_script_recognizes(struct sprof_bytes head);
int import_perf_script_read(struct import *import, struct import_input *input,
                            struct sprof_error *error);
bool import_rows_recognizes(struct sprof_bytes head);
bool import_perf_data_recognizes(struct sprof_bytes head);
int import_perf_data_read(struct import *import, struct import_input *input,
                          struct sprof_error *error);

#endif
