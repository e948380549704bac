#include "sampler/perf/bpf_refusal.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <string.h>

static void test_each_cause_has_its_cure(void)
{
    const struct {
        int errnum;
        struct perf_bpf_circumstances circumstances;
        const char *reason, *cure;
        bool needs_rights;
    } cases[] = {
        {EPERM, {0}, "not permitted", "CAP_BPF", true},
        {EACCES, {0}, "not permitted", "CAP_PERFMON", true}, /* of perf events */
        {EPERM, {.has_filter = true}, "not permitted", "as root", true},
        {EPERM, {true, true, false, false}, "seccomp", "seccomp=unconfined", true},
        {EPERM, {true, false, true, true}, "may be locked", "ulimit -l", true},
        {EPERM, {.has_rights = true}, "security module", "lockdown", true},
        {EACCES, {.has_rights = true}, "verifier refuses", "uname -a", false},
        {EINVAL, {0}, "verifier refuses", "uname -a", false},
        {E2BIG, {.has_rights = true}, "too long", "uname -a", false},
        {EACCES, {.has_rights = true, .is_old = true}, "does not take", "Linux 5.18", false},
        {E2BIG, {.is_old = true}, "does not take", "Linux 5.18", false},
        {ENOSPC, {.has_rights = true}, "no memory", "memory.max", false},
        {ENOMEM, {0}, "no memory", "memory.max", false},
        {ENOSYS, {0}, "built without", "on the host", false},
        {ENOENT, {.has_rights = true}, "pid namespace", "on the host", false},
        {EBUSY, {.has_rights = true}, "does not take", "on the host", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct perf_bpf_refusal refusal =
            perf_bpf_refusal(-cases[i].errnum, &cases[i].circumstances);
        CU_ASSERT_PTR_NOT_NULL(strstr(refusal.reason, cases[i].reason));
        CU_ASSERT_PTR_NOT_NULL(strstr(refusal.cure, cases[i].cure));
        CU_ASSERT_EQUAL(refusal.needs_rights, cases[i].needs_rights);
    }
}

static void test_an_error_has_both(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(perf_bpf_refuse(-ENOENT, "waits cannot be seen", "; or else", &error),
                    SPROF_EUNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(error.message,
                           "waits cannot be seen by BPF (sprof runs in a pid namespace of its own)"
                           "\nrun sprof as root on the host, with Linux 5.18 or later; or else");
}

void sprof_suite_sampler_bpf_refusal(void);
void sprof_suite_sampler_bpf_refusal(void)
{
    CU_pSuite suite = CU_add_suite("sampler/bpf_refusal", NULL, NULL);
    CU_add_test(suite, "each cause has its cure", test_each_cause_has_its_cure);
    CU_add_test(suite, "an error has both", test_an_error_has_both);
}
