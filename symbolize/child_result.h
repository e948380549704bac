/* symbolize, inside: an answer on its way from the process that read a file. */
#ifndef SPROF_SYMBOLIZE_CHILD_RESULT_H
#define SPROF_SYMBOLIZE_CHILD_RESULT_H

#include "symbolize/child_wire.h"
#include "symbolize/symbolize.h"

/* Sends an answer. False: memory ran out, or the other end is gone. */
bool symbolize_child_send_result(int socket, const struct symbolize_result *result,
                                 const char *problem);

/* Takes an answer of `size` bytes to `count` addresses and checks all of it: *result is as safe to
 * use as one that was made here. *problem (in the result's texts) comes with it.
 * Returns 0, SPROF_ENOMEM, or SPROF_EFORMAT where it is no such answer. */
int symbolize_child_take_result(int socket, uint64_t size, size_t count,
                                struct symbolize_result *result, const char **problem);

#endif
