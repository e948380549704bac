/* The answer in one look: where the time goes, and what called it. */
#ifndef SPROF_REPORT_FIRST_SCREEN_H
#define SPROF_REPORT_FIRST_SCREEN_H

#include "report/dataset.h"

#include <stdio.h>

struct report_first_screen {
    size_t functions, path_rows; /* how many rows the two tables have at most */
    bool titled; /* the first table has its title and a line about the rest, and each an empty line
                    below */
    bool full_names, color;
    unsigned columns;
};

/* report_dataset_load for a first screen. Samples by the wall clock are read as the program's own
 * code, unless the selection says how: where a thread waits, the innermost functions are those of
 * the kernel and the C library, in which every wait looks the same. */
int report_first_screen_load(struct report_dataset *dataset, struct store *store,
                             const struct report_selection *selection, unsigned parts,
                             struct sprof_error *error);

/* Writes functions by self time, and below them the hottest path, each where it has rows. The
 * dataset needs no parts. 0 or a
 * negative code with *error filled; failures to write are left in the stream's error indicator. */
int report_first_screen(FILE *out, struct report_dataset *dataset,
                        const struct report_first_screen *screen, struct sprof_error *error);

#endif
