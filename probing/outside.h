/* Measures the time that probed functions spend outside of the traced modules, as in libc and
 * system calls.
 *
 * A GOT slot that code only calls gets a thunk's address. The thunk measures the call, and the
 * agent subtracts it from the caller's self time. Calls through other pointers stay in self time.
 *
 * Until the loader fills a slot, the function is found by a unique name, or later. Slots that are
 * data, too, stay (called_slots.h). Functions that need their return address, have a probe, or read
 * a clock get no thunk. */
#ifndef SPROF_PROBING_OUTSIDE_H
#define SPROF_PROBING_OUTSIDE_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct probe_stat;
struct probing_program;

/* Call it when the shared memory's size is known. */
void probing_outside_number(struct probing_program *program);

uint32_t probing_outside_room(const struct probing_program *program);

/* Returns 0 or SPROF_ENOMEM; failures leave time in self. */
int probing_outside_place(struct probing_program *program);

/* Handles new modules and slots now and then. */
int probing_outside_serve(struct probing_program *program);

void probing_outside_switch(struct probing_program *program, bool are_on);

void probing_outside_free(struct probing_program *program);

#endif
