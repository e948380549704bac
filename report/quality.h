/* How far the numbers of a profile can be trusted, in words. */
#ifndef SPROF_REPORT_QUALITY_H
#define SPROF_REPORT_QUALITY_H

#include "report/profile.h"

#include <stdio.h>

/* Lines of parts that are joined by " · " and broken where they get too long. */
enum { QUALITY_MOST = 12 };
struct quality_parts {
    const char *items[QUALITY_MOST];
    size_t count;
};

/* Formats one part into the profile's arena. 0 or SPROF_ENOMEM. */
int quality_part(struct profile *profile, struct quality_parts *parts, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the parts in lines of at most `columns`, each after `prefix`. */
void quality_write_parts(FILE *out, const struct quality_parts *parts, const char *prefix,
                         unsigned columns);

/* "3 612 samples in 3.63 s CPU (cpu-clock, 995 of 997 Hz)", lost, whole, named. */
int quality_of_samples(struct profile *profile, struct quality_parts *parts);

/* What the reader must know to understand the numbers, one sentence each. */
int quality_notes(struct profile *profile, struct quality_parts *notes);

/* The lines below a table. 0 or SPROF_ENOMEM. */
int quality_write(FILE *out, struct profile *profile, unsigned columns);

#endif
