/* Loads the BPF programs of a recording, and keeps the set of threads whose samples they keep. */
#include "sampler/perf/filter_bpf.h"

#include "base/base.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#ifdef SPROF_BPF

#include "sampler/bpf/sampling.h"
#include "sampler/bpf/sampling.lskel.h"

enum { MEMBERS_BYTES = SAMPLER_ID_WORDS * sizeof(uint64_t) };

/* Loads the programs as the kernel's verifier shall see them: what is constant decides what of them
 * is there at all. */
static int load(struct perf_filter_bpf *filter, const struct sampling_choice *choice,
                const struct perf_filter_bpf_tails *tails, size_t clock_count)
{
    struct sampling_bpf *programs = sampling_bpf__open();
    if (!programs)
        return -ENOMEM;
    programs->rodata->keeps = choice ? SAMPLING_KEEPS_CHOSEN : SAMPLING_KEEPS_MEMBERS;
    if (choice)
        memcpy(&programs->rodata->choice, choice, sizeof *choice);
    programs->rodata->captures = tails->wanted;
    programs->rodata->tail_bytes = tails->most_bytes;
    programs->rodata->wake_bytes = tails->ring_bytes / 2;
    programs->rodata->keeps_ticks = clock_count > 0;
    if (clock_count)
        programs->maps.clocks.max_entries = (uint32_t)clock_count;
    if (tails->wanted)
        programs->maps.tails.max_entries = (uint32_t)tails->ring_bytes;
    const int result = sampling_bpf__load(programs);
    if (result) {
        sampling_bpf__destroy(programs);
        return result < 0 ? result : -EINVAL;
    }
    filter->programs = programs;
    filter->captures = tails->wanted;
    filter->ring_bytes = tails->ring_bytes;
    return 0;
}

static int map_members(struct perf_filter_bpf *filter)
{
    void *mapped = mmap(NULL, MEMBERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                        filter->programs->maps.ids.map_fd, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    filter->members = mapped;
    return 0;
}

static int map_clocks(struct perf_filter_bpf *filter, size_t count)
{
    if (!count)
        return 0;
    void *mapped = mmap(NULL, count * sizeof *filter->clocks, PROT_READ | PROT_WRITE, MAP_SHARED,
                        filter->programs->maps.clocks.map_fd, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    filter->clocks = mapped;
    filter->clock_count = count;
    return 0;
}

/* Descriptors are scarce where many threads are attached to: what is mapped, or works as long as
 * its link is open, needs none. */
static void close_spare(struct sampling_bpf *programs)
{
    int *const fds[] = {&programs->maps.ids.map_fd,     &programs->maps.clocks.map_fd,
                        &programs->maps.threads.map_fd, &programs->maps.rodata.map_fd,
                        &programs->maps.bss.map_fd,     &programs->progs.take_new_thread.prog_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        skel_closenz(*fds[i]);
        *fds[i] = 0;
    }
}

/* Whether a kernel that refused the programs may take those that need less of it. (A signal has
 * broken off the verification: -EAGAIN.) */
static bool may_take_less(int result)
{
    return result && result != -EPERM && result != -EAGAIN;
}

/* Loads as much of the programs as the kernel takes: its verifier may refuse weights, captures, or
 * both together. */
static int load_most(struct perf_filter_bpf *filter, const struct sampling_choice *choice,
                     const struct perf_filter_bpf_tails *tails, size_t *clock_count)
{
    static const struct perf_filter_bpf_tails none = {0};
    const bool both = tails->wanted && *clock_count;
    int result = load(filter, choice, tails, *clock_count);
    if (may_take_less(result) && both)
        result = load(filter, choice, &none, *clock_count);
    if (may_take_less(result) && both) {
        *clock_count = 0;
        result = load(filter, choice, tails, 0);
    }
    if (may_take_less(result)) {
        *clock_count = 0;
        result = load(filter, choice, &none, 0);
    }
    return result;
}

int perf_filter_bpf_open(struct perf_filter_bpf *filter, bool follow_forks,
                         const struct sampling_choice *choice,
                         const struct perf_filter_bpf_tails *tails, size_t clock_count)
{
    *filter = PERF_FILTER_BPF_NONE;
    if (!sprof_proc_in_first_pid_namespace())
        return -ENOENT;
    const size_t clocks_wanted = clock_count;
    const struct rlimit limit = sprof_kernel_lift_bpf_limit();
    int result = load_most(filter, choice, tails, &clock_count);
    sprof_kernel_restore_bpf_limit(&limit);
    filter->refuses_captures = !result && tails->wanted && !filter->captures;
    filter->refuses_weights = !result && clocks_wanted && !clock_count;
    if (!result)
        result = map_members(filter);
    if (!result)
        result = map_clocks(filter, clock_count);
    if (!result && follow_forks)
        result = sampling_bpf__attach(filter->programs);
    if (result)
        perf_filter_bpf_close(filter);
    else
        close_spare(filter->programs);
    return result;
}

static uint64_t *word_of(const struct perf_filter_bpf *filter, pid_t tid)
{
    return &filter->members[(uint32_t)tid / 64 % SAMPLER_ID_WORDS];
}

static uint64_t bit_of(pid_t tid)
{
    return UINT64_C(1) << tid % 64;
}

int perf_filter_bpf_add(const struct perf_filter_bpf *filter, pid_t tid)
{
    __atomic_fetch_or(word_of(filter, tid), bit_of(tid), __ATOMIC_SEQ_CST);
    return 0;
}

bool perf_filter_bpf_has(const struct perf_filter_bpf *filter, pid_t tid)
{
    return __atomic_load_n(word_of(filter, tid), __ATOMIC_SEQ_CST) & bit_of(tid);
}

int perf_filter_bpf_attach(const struct perf_filter_bpf *filter, int event_fd)
{
    return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, filter->programs->progs.take_sample.prog_fd)
               ? -errno
               : 0;
}

bool perf_filter_bpf_weigh(const struct perf_filter_bpf *filter, size_t cpu, uint64_t time_ns,
                           uint64_t *position, uint64_t *weight_ns)
{
    if (cpu >= filter->clock_count)
        return false;
    const struct sampling_clock *clock = &filter->clocks[cpu];
    const uint64_t count = __atomic_load_n(&clock->count, __ATOMIC_ACQUIRE);
    if (count - *position > SAMPLING_TICKS / 2) /* the other half may be being overwritten */
        *position = count - SAMPLING_TICKS / 2;
    bool found = false;
    for (; *position < count; ++*position) {
        const struct sampling_tick *tick = &clock->ticks[*position % SAMPLING_TICKS];
        if (tick->time_ns > time_ns)
            break;
        *weight_ns = tick->weight_ns;
        found = true;
    }
    return found;
}

void perf_filter_bpf_begin_anew(const struct perf_filter_bpf *filter, size_t cpu)
{
    if (cpu >= filter->clock_count)
        return;
    __atomic_store_n(&filter->clocks[cpu].grid_ns, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&filter->clocks[cpu].pauses, 1, __ATOMIC_RELEASE);
}

void perf_filter_bpf_note_change(const struct perf_filter_bpf *filter, size_t cpu, uint64_t now_ns)
{
    if (cpu < filter->clock_count)
        __atomic_store_n(&filter->clocks[cpu].change_ns, now_ns, __ATOMIC_RELEASE);
}

int perf_filter_bpf_stacks_fd(const struct perf_filter_bpf *filter)
{
    return filter->programs->maps.stacks.map_fd;
}

int perf_filter_bpf_tails_fd(const struct perf_filter_bpf *filter)
{
    return filter->programs->maps.tails.map_fd;
}

const struct sampling_counts *perf_filter_bpf_counts(const struct perf_filter_bpf *filter)
{
    return &filter->programs->bss->counts;
}

void perf_filter_bpf_close(struct perf_filter_bpf *filter)
{
    if (filter->members)
        munmap(filter->members, MEMBERS_BYTES);
    if (filter->clocks)
        munmap(filter->clocks, filter->clock_count * sizeof *filter->clocks);
    if (filter->programs)
        sampling_bpf__destroy(filter->programs);
    *filter = PERF_FILTER_BPF_NONE;
}

#else /* a build without BPF */

int perf_filter_bpf_open(struct perf_filter_bpf *filter, bool follow_forks,
                         const struct sampling_choice *choice,
                         const struct perf_filter_bpf_tails *tails, size_t clock_count)
{
    (void)follow_forks;
    (void)choice;
    (void)tails;
    (void)clock_count;
    *filter = PERF_FILTER_BPF_NONE;
    return -ENOSYS;
}

int perf_filter_bpf_add(const struct perf_filter_bpf *filter, pid_t tid)
{
    (void)filter;
    (void)tid;
    return -ENOSYS;
}

bool perf_filter_bpf_has(const struct perf_filter_bpf *filter, pid_t tid)
{
    (void)filter;
    (void)tid;
    return false;
}

int perf_filter_bpf_attach(const struct perf_filter_bpf *filter, int event_fd)
{
    (void)filter;
    (void)event_fd;
    return -ENOSYS;
}

bool perf_filter_bpf_weigh(const struct perf_filter_bpf *filter, size_t cpu, uint64_t time_ns,
                           uint64_t *position, uint64_t *weight_ns)
{
    (void)filter;
    (void)cpu;
    (void)time_ns;
    (void)position;
    (void)weight_ns;
    return false;
}

void perf_filter_bpf_begin_anew(const struct perf_filter_bpf *filter, size_t cpu)
{
    (void)filter;
    (void)cpu;
}

void perf_filter_bpf_note_change(const struct perf_filter_bpf *filter, size_t cpu, uint64_t now_ns)
{
    (void)filter;
    (void)cpu;
    (void)now_ns;
}

int perf_filter_bpf_stacks_fd(const struct perf_filter_bpf *filter)
{
    (void)filter;
    return -1;
}

int perf_filter_bpf_tails_fd(const struct perf_filter_bpf *filter)
{
    (void)filter;
    return -1;
}

const struct sampling_counts *perf_filter_bpf_counts(const struct perf_filter_bpf *filter)
{
    (void)filter;
    return NULL;
}

void perf_filter_bpf_close(struct perf_filter_bpf *filter)
{
    *filter = PERF_FILTER_BPF_NONE;
}

#endif
