/* What is found on machines of which only a few files are there, and what is said to help. */
#include "doctor/doctor.h"
#include "tests/unit/image/fixture.h"

#include <CUnit/CUnit.h>
#include <sys/stat.h>

static struct fixture fixture;

/* With the directories that it is in. */
static void make(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s", fixture_path(&fixture, name));
    for (char *slash = path + strlen(fixture.directory) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    fixture_text(&fixture, name, text);
}

/* A machine as most are: nothing but `changed` is unusual. */
static void make_machine(const char *release, const char *capabilities, unsigned user)
{
    char status[256];
    fixture_open(&fixture);
    make("etc/os-release", release);
    make("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    make("proc/sys/kernel/hostname", "shop-7d9f\n");
    make("proc/sys/kernel/perf_event_paranoid", "3\n");
    make("proc/sys/kernel/kptr_restrict", "1\n");
    make("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    make("proc/sys/kernel/perf_event_mlock_kb", "516\n");
    make("proc/sys/kernel/yama/ptrace_scope", "1\n");
    make("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
    make("proc/kallsyms", "0000000000000000 T _stext\n");
    make("sys/devices/system/cpu/online", "0-3\n");
    make("sys/bus/event_source/devices/cpu_core/type", "4\n");
    make("sys/kernel/tracing/events/enable", "0\n");
    snprintf(status, sizeof status,
             "Name:\tsprof\nUid:\t%u\t%u\t%u\t%u\nCapEff:\t%s\nSeccomp:\t0\n", user, user, user,
             user, capabilities);
    make("proc/self/status", status);
    make("proc/self/limits",
         "Limit                     Soft Limit           Hard Limit           Units     \n"
         "Max locked memory         8388608              unlimited            bytes     \n"
         "Max open files            64                   1048576              files     \n");
    make("proc/self/cgroup", "0::/user.slice/own\n");
}

static const struct doctor_point *find(const struct doctor_points *points, const char *name)
{
    for (size_t i = 0; i < points->list.count; i++)
        if (!strcmp(points->list.items[i].name, name))
            return &points->list.items[i];
    CU_FAIL_FATAL("there is no such point");
    return NULL;
}

static void check(const struct doctor_points *points, const char *name, enum doctor_state state,
                  const char *cure)
{
    const struct doctor_point *point = find(points, name);
    if (point->state != state || !point->cure != !cure || (cure && strcmp(point->cure, cure) != 0))
        printf("\n%s: %s: %s > %s\n", name, doctor_state_name(point->state), point->found,
               point->cure ? point->cure : "(none)");
    CU_ASSERT_EQUAL(point->state, state);
    CU_ASSERT_EQUAL(!point->cure, !cure);
    if (cure && point->cure)
        CU_ASSERT_STRING_EQUAL(point->cure, cure);
}

static void read_points(struct doctor_facts *facts, struct doctor_points *points)
{
    *points = (struct doctor_points){0};
    doctor_facts_read(facts, fixture.directory);
    doctor_check_facts(points, facts);
    CU_ASSERT_FALSE(points->failed);
}

static void test_an_ordinary_user(void)
{
    struct doctor_facts facts;
    struct doctor_points points;
    make_machine("ID=fedora\nPRETTY_NAME=\"Fedora Linux 40\"\n", "0000000000000000", 1000);
    read_points(&facts, &points);
    CU_ASSERT_EQUAL(facts.distribution.family, REPORT_DISTRIBUTION_FEDORA);
    CU_ASSERT_STRING_EQUAL(facts.distribution.name, "Fedora Linux 40");
    CU_ASSERT_EQUAL(facts.cpus, 4);
    CU_ASSERT_EQUAL(facts.open_files, 64);
    CU_ASSERT_EQUAL(facts.open_files_most, 1048576);
    check(&points, "Linux", DOCTOR_GOOD, NULL);
    check(&points, "kernel.perf_event_paranoid", DOCTOR_LESS,
          "sudo sysctl kernel.perf_event_paranoid=1 (to keep it: echo "
          "kernel.perf_event_paranoid=1 | sudo tee -a /etc/sysctl.d/60-sprof.conf)");
    check(&points, "kernel.kptr_restrict", DOCTOR_LESS,
          "sudo sysctl kernel.kptr_restrict=0 (to keep it: echo kernel.kptr_restrict=0 | sudo tee "
          "-a /etc/sysctl.d/60-sprof.conf)");
    check(&points, "kernel.perf_event_max_sample_rate", DOCTOR_GOOD, NULL);
    check(&points, "kernel.yama.ptrace_scope", DOCTOR_LESS,
          "sudo sysctl kernel.yama.ptrace_scope=0 (to keep it: echo kernel.yama.ptrace_scope=0 | "
          "sudo tee -a /etc/sysctl.d/60-sprof.conf)");
    check(&points, "kernel.unprivileged_bpf_disabled", DOCTOR_LESS,
          "run sprof as root: sudo sprof …");
    check(&points, "counters of the processor", DOCTOR_GOOD, NULL);
    check(&points, "tracepoints", DOCTOR_GOOD, NULL);
    check(&points, "open files", DOCTOR_LESS, "ulimit -n $(ulimit -Hn)");
    check(&points, "container", DOCTOR_GOOD, NULL);
    doctor_points_release(&points);
    fixture_close(&fixture);
}

/* What root may do is not held against a setting for all others. */
static void test_root(void)
{
    struct doctor_facts facts;
    struct doctor_points points;
    make_machine("ID=debian\n", "000001ffffffffff", 0);
    make("proc/kallsyms", "ffffffff81000000 T _stext\n");
    make("proc/sys/kernel/perf_event_max_sample_rate", "750\n");
    make("proc/sys/kernel/osrelease", "5.10.0-31-amd64\n");
    read_points(&facts, &points);
    check(&points, "Linux", DOCTOR_LESS, "boot a kernel from 5.17 on");
    check(&points, "kernel.perf_event_paranoid", DOCTOR_GOOD, NULL);
    check(&points, "kernel.kptr_restrict", DOCTOR_GOOD, NULL);
    check(&points, "kernel.perf_event_max_sample_rate", DOCTOR_LESS,
          "sysctl kernel.perf_event_max_sample_rate=100000 (to keep it: echo "
          "kernel.perf_event_max_sample_rate=100000 | tee -a /etc/sysctl.d/60-sprof.conf)");
    check(&points, "kernel.yama.ptrace_scope", DOCTOR_GOOD, NULL);
    check(&points, "kernel.unprivileged_bpf_disabled", DOCTOR_GOOD, NULL);
    check(&points, "capabilities", DOCTOR_GOOD, NULL);
    doctor_points_release(&points);
    fixture_close(&fixture);
}

static void test_kubernetes(void)
{
    struct doctor_facts facts;
    struct doctor_points points;
    static const char rights[] =
        "securityContext: {capabilities: {add: [PERFMON, BPF, SYS_PTRACE, SYSLOG]}, "
        "seccompProfile: {type: Unconfined}} in the container's part of the pod's specification";
    make_machine("ID=arch\n", "00000000a80425fb", 0);
    make("run/secrets/kubernetes.io/serviceaccount/namespace", "default\n");
    make("sys/fs/cgroup/memory.max", "268435456\n");
    make("sys/fs/cgroup/user.slice/own/memory.max", "max\n");
    make("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    read_points(&facts, &points);
    CU_ASSERT_EQUAL(facts.place, DOCTOR_IN_KUBERNETES);
    CU_ASSERT_EQUAL(facts.memory_bytes, 256 << 20);
    CU_ASSERT_DOUBLE_EQUAL(facts.cpu_limit, 1.5, 1e-9);
    check(&points, "kernel.perf_event_paranoid", DOCTOR_LESS,
          "kubectl debug node/$(kubectl get pod shop-7d9f -o jsonpath='{.spec.nodeName}') -it "
          "--image=busybox --profile=sysadmin -- sysctl -w kernel.perf_event_paranoid=1");
    check(&points, "capabilities", DOCTOR_LESS, rights);
    CU_ASSERT_STRING_EQUAL(find(&points, "capabilities")->found,
                           "root, without CAP_PERFMON, CAP_BPF, CAP_SYS_PTRACE, CAP_SYSLOG");
    CU_ASSERT_EQUAL(find(&points, "memory of the cgroup")->state, DOCTOR_LESS);
    CU_ASSERT_EQUAL(find(&points, "CPUs of the cgroup")->state, DOCTOR_GOOD);
    doctor_points_release(&points);
    fixture_close(&fixture);
}

static void test_a_container(void)
{
    struct doctor_facts facts;
    struct doctor_points points;
    make_machine("ID=ubuntu\n", "0000000000000000", 1000);
    make(".dockerenv", "");
    make("proc/self/status", "Name:\tx\nUid:\t0\t1000\t0\t0\nCapEff:\t0\nSeccomp:\t2\n");
    read_points(&facts, &points);
    CU_ASSERT_EQUAL(facts.uid, 1000);
    check(&points, "kernel.perf_event_paranoid", DOCTOR_LESS,
          "on the container's host: sudo sysctl kernel.perf_event_paranoid=1");
    check(&points, "container", DOCTOR_LESS,
          "docker run --cap-add PERFMON --cap-add BPF --cap-add SYS_PTRACE --cap-add SYSLOG "
          "--security-opt seccomp=unconfined …");
    doctor_points_release(&points);
    fixture_close(&fixture);
}

/* Nothing can be read: nothing crashes, and what is missing is said to be. */
static void test_an_empty_machine(void)
{
    struct doctor_facts facts;
    struct doctor_points points;
    fixture_open(&fixture);
    read_points(&facts, &points);
    CU_ASSERT_EQUAL(facts.paranoid, DOCTOR_UNKNOWN);
    CU_ASSERT_EQUAL(facts.open_files, UINT64_MAX);
    CU_ASSERT_EQUAL(facts.memory_bytes, UINT64_MAX);
    check(&points, "kernel.perf_event_paranoid", DOCTOR_LESS,
          "run sprof outside the sandbox, on a kernel with CONFIG_PERF_EVENTS=y");
    doctor_points_release(&points);
    fixture_close(&fixture);
}

void sprof_suite_doctor_facts(void);
void sprof_suite_doctor_facts(void)
{
    CU_pSuite suite = CU_add_suite("doctor/facts", NULL, NULL);
    CU_add_test(suite, "an ordinary user", test_an_ordinary_user);
    CU_add_test(suite, "root", test_root);
    CU_add_test(suite, "kubernetes", test_kubernetes);
    CU_add_test(suite, "a container", test_a_container);
    CU_add_test(suite, "an empty machine", test_an_empty_machine);
}
