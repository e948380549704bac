/* What must hold of every table, however it came about. */
#ifndef SPROF_TESTS_FUZZ_TABLE_CHECKS_H
#define SPROF_TESTS_FUZZ_TABLE_CHECKS_H

#include "unwind/unwind.h"

/* Builds a table from the source, checks it where there is one, and frees it. */
void fuzz_table(const struct unwind_source *source);

#endif
