/* Which recording of a process `sprof ctl -p` means. */
#ifndef SPROF_CLI_CONTROLLED_H
#define SPROF_CLI_CONTROLLED_H

#include "inject/inject.h"

enum cli_controlled {
    CLI_CONTROL_ANY,
    CLI_CONTROL_RECORD, /* of samples */
    CLI_CONTROL_TRACE,  /* of calls */
};

/* Finds the file. *is_alive: a recorder writes it; else a tracer was killed, whose probes may
 * be in the process. SPROF_EUSAGE: there are several, which the message names; SPROF_ESTATE: there
 * is none; else as of inject_find_owner. */
int cli_find_controlled(pid_t pid, enum cli_controlled wanted, char output[INJECT_OUTPUT_BYTES],
                        bool *is_alive, struct sprof_error *error);

#endif
