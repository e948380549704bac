/* Sums of calls: of threads in a probe's, of probes in a program's. */
#include "probing/probing.h"

void probing_calls_replace(struct probing_calls *sums, struct probing_calls *before,
                           const struct probing_calls *now)
{
    sums->calls += now->calls - before->calls;
    sums->in_flight += now->in_flight - before->in_flight;
    sums->abnormal += now->abnormal - before->abnormal;
    sums->timed += now->timed - before->timed;
    sums->self_ns += now->self_ns - before->self_ns;
    sums->unlogged += now->unlogged - before->unlogged;
    *before = *now;
}

struct probing_calls probing_calls_sum(const struct probing_program *program)
{
    struct probing_calls sums = {0};
    for (size_t i = 0; i < program->probes.count; i++) {
        struct probing_calls none = {0};
        probing_calls_replace(&sums, &none, &program->probes.items[i].sums);
    }
    return sums;
}

void probing_probe_forget_calls(struct probing_probe *probe)
{
    probe->sums = (struct probing_calls){0};
    probe->governed_calls = probe->unlogged_written = 0;
}
