/* Why BPF programs cannot be used, and what cures it. */
#ifndef SPROF_SAMPLER_PERF_BPF_REFUSAL_H
#define SPROF_SAMPLER_PERF_BPF_REFUSAL_H

#include "base/base.h"

#include <stdbool.h>

/* What the meaning of an error depends on. */
struct perf_bpf_circumstances {
    bool has_rights;   /* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN */
    bool has_filter;   /* of seccomp */
    bool is_old;       /* a kernel before 5.18 … */
    bool counts_locks; /* … and before 5.11, where programs need memory that may be locked */
};

/* Of a negative errno that loading programs has returned: a few words, and a line. */
struct perf_bpf_refusal {
    const char *reason, *cure;
    bool needs_rights;
};
struct perf_bpf_refusal perf_bpf_refusal(int result,
                                         const struct perf_bpf_circumstances *circumstances);

/* The reason, of this process. */
const char *perf_bpf_reason(int result);

/* Fills the error: "WHAT by BPF (REASON)", and the cure, with `instead` behind it. Returns its
 * code. */
int perf_bpf_refuse(int result, const char *what, const char *instead, struct sprof_error *error);

#endif
