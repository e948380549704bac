/* Reads a recording again and again while it grows, in a thread of its own, so that keys are
 * answered meanwhile. */
#ifndef SPROF_CLI_TOP_READER_H
#define SPROF_CLI_TOP_READER_H

#include "report/report.h"

struct cli_top_reader;

/* CPU time of readings, in nanoseconds. */
struct cli_top_readings {
    size_t count;
    uint64_t median_ns, most_ns;
};

/* Begins to read the recording at `path`, every `interval_ns` from the first samples on. The caller
 * ends it with cli_top_reader_free. */
int cli_top_reader_start(struct cli_top_reader **reader, const char *path, uint64_t interval_ns,
                         struct sprof_error *error);

/* Readable when cli_top_reader_take has something. */
int cli_top_reader_fd(const struct cli_top_reader *reader);

/* What was read last, which is the caller's: NULL: nothing new. *error: why the last reading
 * failed; code 0: it did not. */
struct report_moment *cli_top_reader_take(struct cli_top_reader *reader, struct sprof_error *error);

/* Reads the code of a function at once, named as `sprof annotate` takes it, as a text so wide. */
void cli_top_reader_annotate(struct cli_top_reader *reader, const char *function, unsigned columns);

/* That text, which the caller frees; NULL: there is none yet. Why it failed is in the text. */
char *cli_top_reader_take_code(struct cli_top_reader *reader);

/* Reads at once, with this selection, whose texts are copied. What was read with the one before is
 * never taken. */
void cli_top_reader_select(struct cli_top_reader *reader, const struct report_selection *selection);

/* The recording has ended: it is read once more, and after that when another selection comes. */
void cli_top_reader_finish(struct cli_top_reader *reader);

/* Ends the thread. `readings` may be NULL. */
void cli_top_reader_free(struct cli_top_reader *reader, struct cli_top_readings *readings);

#endif
