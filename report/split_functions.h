/* The parts and copies that compilers make of a function: "f.cold", "f.part.0", "f.constprop.0". */
#ifndef SPROF_REPORT_SPLIT_FUNCTIONS_H
#define SPROF_REPORT_SPLIT_FUNCTIONS_H

#include "report/dataset.h"

/* The length of a name without the suffixes of parts and copies, as in "f.part.0.cold" and
 * "f(int) [clone .isra.0]"; that of the whole name where it has none. *called_parts is how many of
 * them mark code that the function calls (GCC's ".part.N", clang's ".cold.N"), not jumps to; NULL:
 * not needed. */
size_t report_split_base(const char *name, unsigned *called_parts);

/* Sets `owner`, `part` and `called_parts` of the dataset's functions; a part of a function that the
 * dataset does not have bears its name and counts for it. One that may be of several functions
 * bears their name and counts for itself. Needs modules and functions. Returns 0 or SPROF_ENOMEM.
 */
int report_split_functions_join(struct report_dataset *dataset);

#endif
