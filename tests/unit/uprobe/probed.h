/* Functions of this program with uprobes, and their figures. */
#ifndef TESTS_UNIT_UPROBE_PROBED_H
#define TESTS_UNIT_UPROBE_PROBED_H

#include "arch/probe.h"
#include "tests/unit/skip.h"
#include "uprobe/kernel.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For functions of tests that get probes: called by a pointer that compilers do not see through. */
#define PROBED __attribute__((noinline, no_sanitize("address", "undefined")))

/* Where code is in this program's file. */
static inline uint64_t probed_offset(const void *code)
{
    char line[512];
    uint64_t offset = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !offset && fgets(line, sizeof line, maps)) {
        unsigned long start, end, from;
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &from) == 3 && (uintptr_t)code >= start &&
            (uintptr_t)code < end)
            offset = (uintptr_t)code - start + from;
    }
    if (maps)
        fclose(maps);
    return offset;
}

/* False, and skipped, where uprobes are not to be had. The caller closes where it is true. */
static inline bool probed_open(struct uprobe_kernel *kernel)
{
    struct sprof_error error = {0};
    const int result = uprobe_kernel_open(kernel, &error);
    if (!result)
        return true;
    CU_ASSERT(result == SPROF_EUNSUPPORTED || result == SPROF_EPERMISSION);
    sprof_test_skip("%s", error.message);
    uprobe_kernel_close(kernel);
    return false;
}

static inline uint32_t probed_entry(const void *code)
{
    switch (arch_uprobe_of(code, 16)) {
    case ARCH_UPROBE_EMULATES: return UPROBE_ENTRY_PUSH;
    case ARCH_UPROBE_SKIPS: return UPROBE_ENTRY_NOP;
    default: return UPROBE_ENTRY_STEP;
    }
}

static inline void probed_refuse(void *context, const struct uprobe_site *site)
{
    (void)site;
    (*(int *)context)++;
}

/* Puts probes at sites of this program, for a process that runs it. */
static inline void probed_place(struct uprobe_kernel *kernel, const struct uprobe_site *sites,
                                size_t count, pid_t pid)
{
    struct sprof_error error = {0};
    int refused = 0;
    CU_ASSERT_EQUAL_FATAL(uprobe_kernel_attach(kernel, "/proc/self/exe", sites, count, pid,
                                               probed_refuse, &refused, &error),
                          0);
    CU_ASSERT_EQUAL(refused, 0);
}

/* Puts a probe at a function's entry, and one at each of its returns, and turns them on. */
static inline void probed_function(struct uprobe_kernel *kernel, const void *function,
                                   uint32_t number)
{
    const uint8_t *code = function;
    struct uprobe_site sites[8] = {{probed_offset(code),
                                    UPROBE_COOKIE(number, probed_entry(code), UPROBE_EXIT_NOT, 0),
                                    number}};
    size_t count = 1, at = 0, reached = 0;
    bool ends = false;
    while (!ends) { /* up to an end that no branch leads over */
        struct arch_instruction instruction;
        if (!arch_instruction_decode(code + at, 16, &instruction))
            break;
        at += instruction.length;
        const int64_t target = (int64_t)at + instruction.value;
        const bool jumps = instruction.flow == ARCH_FLOW_JUMP,
                   returns = instruction.flow == ARCH_FLOW_RETURN;
        if ((jumps || instruction.flow == ARCH_FLOW_BRANCH) && target < 4096 &&
            target > (int64_t)reached)
            reached = (size_t)target;
        if (returns && count < sizeof sites / sizeof *sites)
            sites[count++] = (struct uprobe_site){
                probed_offset(code + at - instruction.length),
                UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0), number};
        ends = at > reached && (returns || jumps || instruction.flow == ARCH_FLOW_STOP);
    }
    CU_ASSERT_FATAL(count > 1);
    probed_place(kernel, sites, count, getpid());
    kernel->control->tiers[number] = UPROBE_TIME;
}

/* What was found of a function in this thread; NULL: nothing. It lasts until the next reading. */
static inline const struct uprobe_stat *
probed_stat(const struct uprobe_kernel *kernel, struct uprobe_figures *figures, uint32_t function)
{
    CU_ASSERT_EQUAL_FATAL(uprobe_kernel_read(kernel, figures), 0);
    for (size_t i = 0; i < figures->keys.count; i++)
        if (figures->keys.items[i].function == function &&
            figures->keys.items[i].tid == (uint32_t)syscall(SYS_gettid))
            return &figures->stats.items[i];
    return NULL;
}

#endif
