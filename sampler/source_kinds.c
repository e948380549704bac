/* The kinds of sources there are. */
#include "sampler/agent/sigprof_source.h"
#include "sampler/perf/perf_source.h"
#include "sampler/source.h"

const struct source_kind *const sampler_source_kinds[] = {
    &perf_source_kind,
    &sampler_sigprof_kind,
    NULL,
};
