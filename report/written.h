/* The last step of every report. */
#ifndef SPROF_REPORT_WRITTEN_H
#define SPROF_REPORT_WRITTEN_H

#include "base/base.h"

#include <stdio.h>

/* Flushes, and tells whether everything could be written: 0, SPROF_EFULL or SPROF_EIO. */
int report_written(FILE *out, struct sprof_error *error);

#endif
