/* Where processes belong: names of containers in lines of /proc/PID/cgroup, and this process. */
#include "target/target.h"

#include <CUnit/CUnit.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_names_of_containers(void)
{
    static const struct {
        const char *lines, *name; /* NULL: none */
    } cases[] = {
        {"0::/\n", NULL},
        {"0::/system.slice/ssh.service\n", NULL},
        {"0::/system.slice/docker-" ID ".scope\n", ID},
        {"12:cpu:/docker/" ID "\n0::/\n", ID},
        {"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n", ID},
        {"1:name=systemd:/kubepods/besteffort/pod6/" ID "\n", ID},
        {"0::/machine.slice/libpod-" ID ".scope/container\n", ID},
        {"0::/x" ID "\n", NULL},
        {"0::/" ID "0\n", NULL},
        {"0::/lxc.payload.web/init.scope\n", "web"},
        {"2:cpu:/lxc/db\n0::/\n", "db"},
        {"0::/machine.slice/machine-debian.scope/payload\n", "debian"},
        {"0::/machine.slice/machine-.scope\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[TARGET_CONTAINER_MAX] = "";
        CU_ASSERT_EQUAL(target_container_find(cases[i].lines, name), cases[i].name != NULL);
        CU_ASSERT_STRING_EQUAL(name, cases[i].name ? cases[i].name : "");
    }
}

static void test_this_process(void)
{
    struct target_origin origin;
    struct target_user last = {0};
    struct sprof_arena arena = {0};
    char cgroup[TARGET_PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(target_origin_read(&origin, getpid(), &last, &arena), 0);
    const struct passwd *entry = getpwuid(getuid());
    target_cgroup_of(getpid(), cgroup, sizeof cgroup);
    CU_ASSERT_EQUAL(origin.uid, getuid());
    CU_ASSERT_EQUAL(origin.user != NULL, entry != NULL);
    if (entry && origin.user)
        CU_ASSERT_STRING_EQUAL(origin.user, entry->pw_name);
    CU_ASSERT_STRING_EQUAL(origin.cgroup ? origin.cgroup : "", cgroup);
    CU_ASSERT_EQUAL(target_origin_read(&origin, 1 << 30, &last, &arena), SPROF_ENOTFOUND);
    sprof_arena_release(&arena);
}

void sprof_suite_target_origin(void);
void sprof_suite_target_origin(void)
{
    CU_pSuite suite = CU_add_suite("target/origin", NULL, NULL);
    CU_add_test(suite, "names of containers", test_names_of_containers);
    CU_add_test(suite, "this process", test_this_process);
}
