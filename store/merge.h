/* Many recordings in one. */
#ifndef SPROF_STORE_MERGE_H
#define SPROF_STORE_MERGE_H

#include "base/base.h"

#include <stdbool.h>

struct store_merge_options {
    const char *output;        /* an existing recording there is set aside (store/former.h) */
    bool overwrite;            /* it is not kept */
    const char *const *inputs; /* in the order that their runs shall have */
    size_t count;
    bool skip_damaged; /* inputs that cannot be read are left out, with a warning */
    const struct sprof_log *log;
    bool (*stopped)(void); /* called now and then: true ends the merge; NULL: never */
};

struct store_merge_result {
    size_t recordings, skipped; /* inputs that were read, and that could not be */
    size_t runs, repeated;      /* runs in the output, and those that came more than once */
};

/* Writes the runs of all inputs to one recording, each once: a run is known by its key. It is what
 * recording them with --append would have given: modules, functions, frames, stacks and call paths
 * of equal content are shared. Costs are not added up anew, so runs that are not complete stay so.
 * Errors name the input. The output appears at the end, complete; until then, and on failure, what
 * was there stays. SPROF_EUSAGE where the output is one of the inputs, SPROF_EPERMISSION where it
 * is a symbolic link, SPROF_ESTATE where it was stopped. */
int store_merge(const struct store_merge_options *options, struct store_merge_result *result,
                struct sprof_error *error);

#endif
