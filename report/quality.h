/* How far the numbers of a dataset can be trusted, in words. */
#ifndef SPROF_REPORT_QUALITY_H
#define SPROF_REPORT_QUALITY_H

#include "report/dataset.h"
#include "report/number_format.h"

#include <stdio.h>

/* Where fewer frames have names, the cure is said. */
enum { REPORT_NAMED_PERCENT = 90 };

/* Lines of parts that are joined by " · " and broken where they get too long. */
enum { QUALITY_MOST = 16 };
struct quality_parts {
    const char *items[QUALITY_MOST];
    size_t count;
};

/* Formats one part into the dataset's arena. 0 or SPROF_ENOMEM. */
int report_quality_part(struct report_dataset *dataset, struct quality_parts *parts,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes the parts in lines of at most `columns`, each after `prefix`. */
void report_quality_write_parts(FILE *out, const struct quality_parts *parts, const char *prefix,
                                unsigned columns);

/* Lost samples, whole stacks, guessed and named frames. */
int report_quality_of_samples(struct report_dataset *dataset, struct quality_parts *parts);

/* "995 of 997 Hz"; "997 Hz asked" where there are too few samples to show the rate they came at; ""
 * where no rate was requested. */
char *report_quality_rate(char buffer[static NUMBER_BYTES], const struct store_quality *quality);

/* Whether threads that wait were sampled, too. */
bool report_quality_sees_waiting(const struct report_dataset *dataset);

/* The option of `sprof record` that shows where threads wait on the machine of the recording: where
 * a program of BPF ran, one that measures waits runs, too. */
const char *report_quality_cure_of_waits(const struct report_dataset *dataset);

/* Whether samples are by the wall clock, and the kind of a wait was not measured. */
bool report_quality_is_wall(const struct report_dataset *dataset);

/* Whether samples are by the wall clock, and those of all states are read. */
bool report_quality_is_all_time(const struct report_dataset *dataset);

/* Whether times without a CPU were measured, each kind as an event of its own. */
bool report_quality_has_waits(const struct report_dataset *dataset);

/* Whether only the times of waits were measured: they have no stacks, and one kind. */
bool report_quality_has_unseen_waits(const struct report_dataset *dataset);

/* Whether agents took the samples: fewer than perf events would, and not in every program. */
bool report_quality_is_by_agents(const struct report_dataset *dataset);

/* sprof's own CPU time: "0.4 %" of the target's, or "4.1 ms" beside a target that used next to
 * none. */
char *report_quality_own_cost(char buffer[static NUMBER_BYTES],
                              const struct store_quality *quality);

/* Whether sprof used so much beside the target that its times may be wrong. */
bool report_quality_is_costly(const struct store_quality *quality);

/* Whether stacks come from elsewhere: the CPU time that was used beside them is unknown. */
bool report_quality_is_imported(const struct report_dataset *dataset);

/* How many of the selected runs have the event that is read, and how long these were together: as
 * long as the CPU time that they are compared with was used. */
size_t report_quality_runs(const struct report_dataset *dataset, uint64_t *wall_ns);

/* The CPU time that was used: what percentages of all samples are of, where they are of CPU time,
 * so that a screen has one number for it; else as the kernel counted it. */
uint64_t report_quality_used_ns(const struct report_dataset *dataset);

/* Whether a target that seems to wait may have been ready, too: the machine's CPUs had work for
 * nearly all of the time, and not all threads' waits for a CPU are known. */
bool report_quality_may_be_ready(const struct report_dataset *dataset);

/* Whether the target was off the CPU for most of the time, which its samples do not show, as far as
 * is known not because other programs had the CPUs. */
bool report_quality_is_waiting(const struct report_dataset *dataset);

/* What the reader must know to understand the numbers, one sentence each: all that there is, or
 * what must be seen in any case. */
int report_quality_notes(struct report_dataset *dataset, struct quality_parts *notes);
int report_quality_brief_notes(struct report_dataset *dataset, struct quality_parts *notes);

/* The parts of the one line that stands below a table: samples, CPU time, and what is not as usual
 * or not as it should be. 0 or SPROF_ENOMEM. */
int report_quality_one_line(struct report_dataset *dataset, struct quality_parts *parts);

/* The lines below a table: one and the brief notes, or `all`. 0 or SPROF_ENOMEM. */
int report_quality_write(FILE *out, struct report_dataset *dataset, unsigned columns, bool all);

/* Why the dataset is empty, without a full stop; NULL: it is not. */
const char *report_quality_empty(const struct report_dataset *dataset);

#endif
