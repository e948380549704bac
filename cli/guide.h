/* Finds and prints parts of the guide and of the page on the database. */
#ifndef SPROF_CLI_GUIDE_H
#define SPROF_CLI_GUIDE_H

#include "base/base.h"

#include <stdio.h>

/* Prints what answers `query`: a chapter or section of that title, else those with its words in the
 * title, else all places where it stands, else those where its words stand, case and endings aside.
 * "guide", "schema": the whole page; "topics": the titles of chapters. Returns 0, or 1 where
 * nothing was found and printed. */
int cli_guide_print(FILE *out, const char *query, unsigned columns);

#endif
