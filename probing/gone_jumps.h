/* Jumps lost with dropped pages of code. */
#ifndef SPROF_PROBING_GONE_JUMPS_H
#define SPROF_PROBING_GONE_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

struct probing_program;

struct probing_gone_jumps {
    uint64_t next_ns;
    bool is_reported;
};

/* Writes lost jumps again each second, if probes may rest. */
void probing_gone_jumps_refresh(struct probing_program *program);

#endif
