/* Requests and notes that programs report by <sprof.h>. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_REMARKS_H
#define SPROF_CALLS_REMARKS_H

#include "calls/program.h"

/* `bytes`: the size of the texts after the unit. */
int calls_remark_take(struct calls_program *program, struct calls_thread *thread,
                      const struct probe_remark *unit, size_t bytes);

/* Makes the row of a part of a request. The thread, the run and the label, which may be NULL, are
 * filled in. Returns 0 or SPROF_ENOMEM. */
int calls_remarks_put_part(struct calls_program *program, const struct calls_thread *thread,
                           const struct store_request_part *part, const char *label);

/* The request that a call belongs to, by the ticks of its beginning and its end: the one at its
 * beginning, else the only one during it. 0: none, or several. */
uint64_t calls_remarks_request(const struct calls_thread *thread, uint64_t begin, uint64_t end);

/* Makes rows of the notes of a call that has a row of that number, 0: it has none, by the ticks of
 * its beginning; and drops them. Returns 0 or SPROF_ENOMEM. */
int calls_remarks_put_notes(struct calls_program *program, struct calls_thread *thread,
                            uint32_t function, uint64_t begin, uint32_t number);

/* Drops notes of ended calls, which began at `begin` or later. */
void calls_remarks_drop_notes(struct calls_thread *thread, uint64_t begin);

/* Writes current requests again after all rows were dropped. */
int calls_remarks_begin_anew(struct calls_program *program);

int calls_remarks_end(struct calls_program *program, struct calls_thread *thread);

void calls_remarks_release(struct calls_remarks *remarks);

#endif
