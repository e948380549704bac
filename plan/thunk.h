/* The code of one probe: its thunk, and the jump that leads there from anywhere. */
#ifndef SPROF_PLAN_THUNK_H
#define SPROF_PLAN_THUNK_H

#include "agent/probe.h"

#include <stdint.h>

/* Writes the thunk of function `number`, to stand at address `at`; it calls `body`. `enter` and
 * `leave` are the agent's, within 2 GiB. The probe is at `site`; 0: it is a place that calls. */
void plan_thunk_write(uint8_t thunk[PROBE_THUNK_BYTES], uint64_t at, uint32_t number,
                      uint64_t enter, uint64_t leave, uint64_t site, uint64_t body);

/* Writes a jump to anywhere. */
enum { PLAN_FAR_JUMP_BYTES = 14 };
void plan_far_jump_write(uint8_t code[PLAN_FAR_JUMP_BYTES], uint64_t target);

#endif
