/* Says why the kernel refuses BPF programs: the right to load them, a filter, its verifier. */
#include "sampler/perf/bpf_refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ON_THE_HOST "run sprof as root on the host, with Linux 5.18 or later"
#define UNTESTED "report it with the output of `uname -a`: sprof was not tested with this kernel"

static const struct perf_bpf_refusal lacks_rights = {
    "not permitted", "run sprof as root, or with CAP_BPF and CAP_PERFMON", true};
static const struct perf_bpf_refusal filtered = {
    "a seccomp filter refuses bpf(2)",
    "run the container with `--security-opt seccomp=unconfined`, or sprof on the host", true};
static const struct perf_bpf_refusal too_few_locks = {"too little memory may be locked",
                                                      "run `ulimit -l unlimited` as root", true};
static const struct perf_bpf_refusal secured = {
    "a security module refuses it, though the rights suffice",
    "see `dmesg`; /sys/kernel/security/lockdown must not say [confidentiality]", true};
static const struct perf_bpf_refusal unverified = {"the kernel's verifier refuses the programs",
                                                   UNTESTED, false};
static const struct perf_bpf_refusal too_long = {
    "the kernel's verifier finds the programs too long", UNTESTED, false};
static const struct perf_bpf_refusal no_memory = {
    "the kernel has no memory for it",
    "free some, or raise the limit of the control group (memory.max)", false};
static const struct perf_bpf_refusal missing = {
    "sprof was built without it, or the kernel has none", ON_THE_HOST, false};
static const struct perf_bpf_refusal enclosed = {"sprof runs in a pid namespace of its own",
                                                 ON_THE_HOST, false};
static const struct perf_bpf_refusal untaken = {"this kernel does not take the programs",
                                                ON_THE_HOST, false};

/* The verifier returns EACCES, EINVAL and E2BIG; what is checked before it returns EPERM. */
struct perf_bpf_refusal perf_bpf_refusal(int result,
                                         const struct perf_bpf_circumstances *circumstances)
{
    switch (-result) {
    case ENOSYS: return missing;
    case ENOENT: return enclosed;
    case EPERM:
        return !circumstances->has_rights    ? lacks_rights
               : circumstances->has_filter   ? filtered
               : circumstances->counts_locks ? too_few_locks
                                             : secured;
    case EACCES:
    case EINVAL:
        return -result == EACCES && !circumstances->has_rights ? lacks_rights
               : circumstances->is_old                         ? untaken
                                                               : unverified;
    case E2BIG: return circumstances->is_old ? untaken : too_long;
    case ENOMEM:
    case ENOSPC: return no_memory;
    default: return untaken;
    }
}

static const char *behind(const struct sprof_str *text, const char *name)
{
    const char *line = text->text ? strstr(text->text, name) : NULL;
    return line ? line + strlen(name) : "";
}

static struct perf_bpf_refusal refusal_here(int result)
{
    enum { SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };
    struct sprof_str text = {0};
    sprof_proc_read("/proc/self/status", 16 << 10, &text);
    const unsigned long long rights = strtoull(behind(&text, "\nCapEff:"), NULL, 16);
    const struct perf_bpf_circumstances circumstances = {
        .has_rights = rights >> SYS_ADMIN & 1 || (rights >> PERFMON & rights >> BPF & 1),
        .has_filter = strtol(behind(&text, "\nSeccomp:"), NULL, 10) == 2,
        .is_old = sprof_kernel_is_before(5, 18),
        .counts_locks = sprof_kernel_is_before(5, 11),
    };
    sprof_str_release(&text);
    return perf_bpf_refusal(result, &circumstances);
}

const char *perf_bpf_reason(int result)
{
    return refusal_here(result).reason;
}

int perf_bpf_refuse(int result, const char *what, const char *instead, struct sprof_error *error)
{
    const struct perf_bpf_refusal refusal = refusal_here(result);
    return sprof_error_set(error, refusal.needs_rights ? SPROF_EPERMISSION : SPROF_EUNSUPPORTED,
                           -result, "%s by BPF (%s)\n%s%s", what, refusal.reason, refusal.cure,
                           instead);
}
