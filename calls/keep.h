/* Calls that rules keep. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_KEEP_H
#define SPROF_CALLS_KEEP_H

#include "calls/program.h"

/* Reads a unit of a chosen function, followed by `more` units of values. */
int calls_keep_take(struct calls_program *program, struct calls_thread *thread,
                    const struct probe_kept *unit, uint32_t more);

/* Records the program's id for its open call `number`. */
int calls_keep_ask(struct calls_program *program, struct calls_thread *thread, uint32_t number,
                   uint64_t id);

/* Writes open callers when a thread or the trace ends. */
int calls_keep_end(struct calls_program *program, struct calls_thread *thread,
                   enum store_exit exit);

/* Counts calls of the functions of a rule, given as a bit. */
uint64_t calls_keep_count_tested(const struct calls_program *program, uint64_t rule);

void calls_keep_read(struct calls_program *program);

int calls_keep_serve(struct calls_program *program);

/* Appends text like ", 7 calls kept (over 20ms: 2, throws: 5)". */
void calls_keep_describe(const struct calls_program *program, struct sprof_str *text);

/* Drops kept calls. Open callers begin now. */
void calls_keep_clear(struct calls_program *program);

#endif
