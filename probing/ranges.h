/* Ranges of functions that are switched together. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_PROBING_RANGES_H
#define SPROF_PROBING_RANGES_H

#include "base/base.h"

#include <stdbool.h>

struct probing_program;

struct probing_range {
    uint32_t number;
    bool is_on;
    const char *text; /* "+RE", "-0xA-0xB" */
    uint8_t *holds;   /* by probe */
    size_t sites;
    uint64_t since_ns; /* of the last command, time in the run */
};

/* Range 1 holds what was chosen at the start. */
int probing_ranges_begin(struct probing_program *program, struct sprof_error *error);

/* Changes ranges: "+RE -RE +children:RE:DEPTH +0xA-0xB +MODULE!0xA-0xB -#1,3-5 +#N". Spare probes
 * that are turned on become chosen. Modifies `text`. SPROF_EUSAGE: nothing has changed. */
int probing_change_ranges(struct probing_program *program, char *text, struct sprof_error *error);

int probing_ranges_adopt(struct probing_program *program, const struct probing_program *from);

/* Applies ranges to new probes from `first` on. */
int probing_ranges_extend(struct probing_program *program, size_t first);

/* Returns the deciding command's sign: '+', '-', or 0. */
char probing_ranges_decide(const struct probing_program *program, size_t number);

void probing_switch(struct probing_program *program);

#endif
