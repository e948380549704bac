#include "sampler/btf.h"

#include <CUnit/CUnit.h>
#include <linux/btf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An int, and "struct task { int state; int pid; }", with pid at byte 4. */
struct tiny {
    struct btf_header header;
    struct {
        struct btf_type integer;
        uint32_t encoding;
        struct btf_type structure;
        struct btf_member members[2];
    } types;
    char strings[24];
};

static struct tiny tiny_btf(void)
{
    struct tiny tiny = {
        .header = {.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(struct btf_header)},
        .strings = "\0int\0task\0state\0pid",
    };
    tiny.header.type_len = sizeof tiny.types;
    tiny.header.str_off = sizeof tiny.types;
    tiny.header.str_len = sizeof tiny.strings;
    tiny.types.integer = (struct btf_type){.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4};
    tiny.types.structure =
        (struct btf_type){.name_off = 5, .info = BTF_KIND_STRUCT << 24 | 2, .size = 8};
    tiny.types.members[0] = (struct btf_member){.name_off = 10, .type = 1, .offset = 0};
    tiny.types.members[1] = (struct btf_member){.name_off = 16, .type = 1, .offset = 32};
    return tiny;
}

static int find(const void *bytes, size_t size, const char *structure, const char *member)
{
    uint32_t offset = 4711;
    const int result =
        btf_member_offset((struct sprof_bytes){bytes, size}, structure, member, &offset);
    return result ? result : (int)offset;
}

static void test_member_is_found(void)
{
    const struct tiny tiny = tiny_btf();
    CU_ASSERT_EQUAL(find(&tiny, sizeof tiny, "task", "pid"), 4);
    CU_ASSERT_EQUAL(find(&tiny, sizeof tiny, "task", "state"), 0);
    CU_ASSERT_EQUAL(find(&tiny, sizeof tiny, "task", "tgid"), SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(find(&tiny, sizeof tiny, "tas", "pid"), SPROF_ENOTFOUND);
}

static void test_damage_is_survived(void)
{
    const struct tiny tiny = tiny_btf();
    for (size_t size = 0; size < sizeof tiny; size++) {
        uint8_t cut[sizeof tiny];
        memcpy(cut, &tiny, size);
        CU_ASSERT_TRUE(find(cut, size, "task", "pid") < 0);
    }
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof tiny * 8; i++) {
        struct tiny damaged = tiny;
        ((uint8_t *)&damaged)[i / 8] ^= (uint8_t)(1u << i % 8);
        wrong += find(&damaged, sizeof damaged, "task", "pid") != 4;
    }
    CU_ASSERT_TRUE(wrong > 100);
}

/* The offset must be the one where our own number stands; only a program in the kernel can look, so
 * it is the filter's test that proves it. Here: both numbers are there, side by side. */
static void test_running_kernel(void)
{
    if (access("/sys/kernel/btf/vmlinux", R_OK)) {
        printf(" skipped: this kernel has no BTF");
        return;
    }
    uint32_t pid = 0, tgid = 0;
    CU_ASSERT_EQUAL(btf_kernel_member_offset("task_struct", "pid", &pid), 0);
    CU_ASSERT_EQUAL(btf_kernel_member_offset("task_struct", "tgid", &tgid), 0);
    CU_ASSERT_EQUAL(tgid, pid + 4);
}

void sprof_suite_sampler_btf(void);
void sprof_suite_sampler_btf(void)
{
    CU_pSuite suite = CU_add_suite("sampler/btf", NULL, NULL);
    CU_add_test(suite, "a member is found", test_member_is_found);
    CU_add_test(suite, "damage is survived", test_damage_is_survived);
    CU_add_test(suite, "the running kernel", test_running_kernel);
}
