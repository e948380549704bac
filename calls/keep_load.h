/* Rules of kept calls that depend on load. */
#ifndef SPROF_CALLS_KEEP_LOAD_H
#define SPROF_CALLS_KEEP_LOAD_H

#include "calls/program.h"

/* Suspends or resumes rules by the load since the last check. */
void calls_keep_check_load(struct calls_program *program);

void calls_keep_forget_load(struct calls_program *program);

#endif
