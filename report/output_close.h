/* The last step of every report. */
#ifndef SPROF_REPORT_OUTPUT_CLOSE_H
#define SPROF_REPORT_OUTPUT_CLOSE_H

#include "base/base.h"

#include <stdio.h>

/* Flushes, and checks whether everything could be written: 0, SPROF_EFULL or SPROF_EIO. */
int report_output_close(FILE *out, struct sprof_error *error);

#endif
