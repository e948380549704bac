/* Measures the cost of uprobes with empty functions of sprof. The fastest series counts, because
 * others were interrupted. */
#include "uprobe/own_cost.h"
#include "arch/probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROWS = 24, CALLS = 8 };

enum { SUBJECTS = ARCH_UPROBE_SUBJECTS };

static uint32_t entry_of(const struct arch_uprobe_subject *subject)
{
    return subject->entry == ARCH_UPROBE_EMULATES ? UPROBE_ENTRY_PUSH
           : subject->entry == ARCH_UPROBE_SKIPS  ? UPROBE_ENTRY_NOP
                                                  : UPROBE_ENTRY_STEP;
}

static uint32_t exit_of(const struct arch_uprobe_subject *subject)
{
    return subject->jumps ? UPROBE_EXIT_TAIL : UPROBE_EXIT_RETURN;
}

/* *difference: address minus file offset. */
static bool find_own_code(const void *code, uint64_t *difference)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
            continue;
        found = (uintptr_t)code >= start && (uintptr_t)code < end;
        *difference = start - offset;
    }
    if (maps)
        fclose(maps);
    return found;
}

static void refuse(void *context, const struct uprobe_site *site)
{
    (void)site;
    *(bool *)context = true;
}

static int attach(struct uprobe_kernel *kernel, struct sprof_error *error)
{
    struct uprobe_site sites[2 * SUBJECTS];
    uint64_t difference;
    size_t count = 0;
    bool is_refused = !find_own_code(arch_uprobe_subjects->end, &difference);
    for (uint32_t i = 0; i < SUBJECTS && !is_refused; i++) {
        const struct arch_uprobe_subject *subject = &arch_uprobe_subjects[i];
        sites[count++] =
            (struct uprobe_site){.offset = (uint64_t)(uintptr_t)subject->function - difference,
                                 .cookie = UPROBE_COOKIE(i, entry_of(subject), UPROBE_EXIT_NOT, 0)};
        if (subject->end)
            sites[count++] = (struct uprobe_site){
                .offset = (uint64_t)(uintptr_t)subject->end - difference,
                .cookie = UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, exit_of(subject), 0)};
        kernel->control->tiers[i] = subject->end ? UPROBE_TIME : UPROBE_COUNT;
    }
    const int result = uprobe_kernel_attach(kernel, "/proc/self/exe", sites, count, getpid(),
                                            refuse, &is_refused, error);
    return result        ? result
           : !is_refused ? 0
                         : sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                           "the kernel places no uprobes in sprof itself, by "
                                           "which it finds out what they take");
}

struct measuring {
    uint64_t shortest[SUBJECTS]; /* series, ns */
    uint32_t tid;
};

/* Runs in its own thread, because some kernels see only the first. */
static void *call_all(void *context)
{
    struct measuring *measuring = context;
    measuring->tid = (uint32_t)syscall(SYS_gettid);
    for (size_t i = 0; i < SUBJECTS; i++) {
        measuring->shortest[i] = UINT64_MAX;
        for (int row = 0; row < ROWS; row++) {
            const uint64_t begin_ns = sprof_clock_monotonic_ns();
            for (int call = 0; call < CALLS; call++)
                arch_uprobe_subjects[i].function();
            const uint64_t took_ns = sprof_clock_monotonic_ns() - begin_ns;
            measuring->shortest[i] =
                took_ns < measuring->shortest[i] ? took_ns : measuring->shortest[i];
        }
    }
    return NULL;
}

static void note(struct uprobe_control *control, const struct arch_uprobe_subject *subject,
                 uint64_t row_ns, const struct uprobe_stat *stat)
{
    const uint32_t whole = (uint32_t)(row_ns / CALLS);
    if (!subject->end) {
        control->count[entry_of(subject)] = whole;
        return;
    }
    const uint64_t shortest = UPROBE_LONG - stat->most_below;
    const uint32_t inside = shortest < whole ? (uint32_t)shortest : whole;
    if (!subject->jumps)
        control->inside[entry_of(subject)] = inside;
    if (subject->jumps || subject->entry == ARCH_UPROBE_EMULATES)
        control->outside[subject->jumps ? UPROBE_TAILS : UPROBE_RETURNS] = whole - inside;
}

static int take_figures(struct uprobe_kernel *kernel, const struct measuring *measuring,
                        struct sprof_error *error)
{
    struct uprobe_figures figures = {0};
    size_t exact = 0;
    const int result = uprobe_kernel_read(kernel, &figures);
    for (size_t i = 0; i < figures.keys.count && !result; i++) {
        const struct uprobe_key *key = &figures.keys.items[i];
        const struct uprobe_stat *stat = &figures.stats.items[i];
        if (key->tid == measuring->tid && key->function < SUBJECTS) {
            exact += stat->calls + stat->counted == ROWS * CALLS;
            note(kernel->control, &arch_uprobe_subjects[key->function],
                 measuring->shortest[key->function], stat);
        }
        uprobe_kernel_forget(kernel, key);
    }
    uprobe_kernel_forget_thread(kernel, measuring->tid);
    uprobe_figures_release(&figures);
    memset(kernel->control->tiers, UPROBE_OFF, sizeof kernel->control->tiers);
    if (result)
        return sprof_error_memory(error);
    return exact == SUBJECTS ? 0
                             : sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                               "this kernel's uprobes miss calls of threads other "
                                               "than a process's first: update it to Linux 6.10 "
                                               "or later");
}

int uprobe_own_cost_measure(struct uprobe_kernel *kernel, struct sprof_error *error)
{
    struct measuring measuring = {0};
    pthread_t thread;
    int result = attach(kernel, error);
    if (result)
        return result;
    const int failed = pthread_create(&thread, NULL, call_all, &measuring);
    if (!failed)
        pthread_join(thread, NULL);
    result = failed ? sprof_error_set(error, SPROF_ELIMIT, failed,
                                      "cannot make a thread: %s\nsee `ulimit -u`", strerror(failed))
                    : take_figures(kernel, &measuring, error);
    uprobe_kernel_detach(kernel);
    return result;
}
