/* Embedded probes of a listening process (agent/probe/listen.c): one byte switches each, without
 * ptrace and stopped or borrowed threads. */
#ifndef SPROF_PROBING_SWITCHES_H
#define SPROF_PROBING_SWITCHES_H

#include "probing/program.h"

/* Sets program->capacity. */
int probing_switches_number(struct probing_program *program, struct sprof_error *error);

/* Writes where a switch leads; `jump`: its bytes when on. */
int probing_switches_aim(struct probing_program *program, uint64_t site,
                         const struct plan_function *function, uint64_t thunk,
                         uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error);

int probing_switches_begin(struct probing_program *program, struct sprof_error *error);

/* The agent stays for open calls, the memory until its socket is closed. */
void probing_switches_leave(struct probing_program *program);

#endif
