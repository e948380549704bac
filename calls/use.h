/* Stack and heap use by function. */
#ifndef SPROF_CALLS_USE_H
#define SPROF_CALLS_USE_H

struct calls_program;

/* Writes changed rows. Returns 0 or SPROF_ENOMEM. */
int calls_use_write(struct calls_program *program);

void calls_use_clear(struct calls_program *program);

#endif
