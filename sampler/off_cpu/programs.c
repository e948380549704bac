/* Loads the BPF programs that measure waits, and reads their records. */
#include "sampler/off_cpu/programs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool off_cpu_record_is_whole(const struct off_cpu_record *record, size_t bytes)
{
    return bytes >= sizeof *record && record->chain_count <= OFF_CPU_CHAIN_MAX &&
           record->stack_bytes <= OFF_CPU_STACK_MAX && record->stack_bytes % 8 == 0 &&
           record->stack_bytes <= bytes - sizeof *record;
}

#ifdef SPROF_BPF

#include "sampler/bpf/off_cpu.lskel.h"

enum { PROCESSES_BYTES = SAMPLER_ID_WORDS * sizeof(uint64_t), PIECE_BYTES = 64 << 10 };

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* == Loading == */

static int load(struct off_cpu_programs *programs, const struct off_cpu_wanted *wanted)
{
    struct off_cpu_bpf *bpf = off_cpu_bpf__open();
    if (!bpf)
        return -ENOMEM;
    bpf->rodata->only_tid = (uint32_t)wanted->only_tid;
    bpf->rodata->takes_all = wanted->all;
    bpf->rodata->command_pid = (uint32_t)wanted->command_pid;
    bpf->rodata->only_gaps = wanted->only_gaps;
    bpf->maps.records.max_entries = (uint32_t)wanted->ring_bytes;
    const int result = off_cpu_bpf__load(bpf);
    if (result) {
        off_cpu_bpf__destroy(bpf);
        return result < 0 ? result : -EINVAL;
    }
    programs->bpf = bpf;
    programs->ring_bytes = wanted->ring_bytes;
    return 0;
}

static int map(struct off_cpu_programs *programs)
{
    const size_t page = page_size();
    const int ring_fd = programs->bpf->maps.records.map_fd;
    void *processes = mmap(NULL, PROCESSES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                           programs->bpf->maps.ids.map_fd, 0);
    void *ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
    void *theirs =
        mmap(NULL, page + 2 * programs->ring_bytes, PROT_READ, MAP_SHARED, ring_fd, (off_t)page);
    programs->processes = processes == MAP_FAILED ? NULL : processes;
    programs->read = ours == MAP_FAILED ? NULL : ours;
    programs->written = theirs == MAP_FAILED ? NULL : theirs;
    return programs->processes && programs->read && programs->written ? 0 : -ENOMEM;
}

/* The end of a switch, on kernels without a tracepoint there: compilers add a suffix to the name of
 * the function. */
static bool find_switch(char *name, size_t size)
{
    char line[512];
    bool found = false;
    FILE *symbols = fopen("/proc/kallsyms", "re");
    while (symbols && !found && fgets(line, sizeof line, symbols)) {
        char *at = strstr(line, " finish_task_switch");
        if (!at)
            continue;
        at++;
        at[strcspn(at, "\t\n ")] = 0;
        const char end = at[strlen("finish_task_switch")];
        found = (!end || end == '.') && !strstr(at, ".cold") && strlen(at) < size;
        if (found)
            snprintf(name, size, "%s", at);
    }
    if (symbols)
        fclose(symbols);
    return found;
}

static int probe_type(void)
{
    int type = -1;
    FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
    if (file && fscanf(file, "%d", &type) != 1)
        type = -1;
    if (file)
        fclose(file);
    return type;
}

static int attach_probe(struct off_cpu_programs *programs)
{
    char name[128];
    const int type = probe_type();
    if (type < 0 || !find_switch(name, sizeof name))
        return -ENOTSUP;
    struct perf_event_attr attr = {
        .type = (uint32_t)type, .size = sizeof attr, .config1 = (uintptr_t)name};
    programs->probe_fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (programs->probe_fd < 0)
        return -errno;
    return ioctl(programs->probe_fd, PERF_EVENT_IOC_SET_BPF,
                 programs->bpf->progs.leave_switch.prog_fd) ||
                   ioctl(programs->probe_fd, PERF_EVENT_IOC_ENABLE, 0)
               ? -errno
               : 0;
}

/* The programs that only note come last: what was not seen to leave a CPU does not get one. */
static int attach(struct off_cpu_programs *programs)
{
    struct off_cpu_bpf *bpf = programs->bpf;
    int result = off_cpu_bpf__visit_thread__attach(bpf);
    if (result >= 0)
        result = off_cpu_bpf__leave_scheduler__attach(bpf);
    if (result == -ENOENT)
        result = attach_probe(programs);
    if (result >= 0)
        result = off_cpu_bpf__take_new_thread__attach(bpf);
    if (result >= 0)
        result = off_cpu_bpf__take_command__attach(bpf);
    if (result >= 0)
        result = off_cpu_bpf__take_waking__attach(bpf);
    if (result >= 0)
        result = off_cpu_bpf__take_switch__attach(bpf);
    return result < 0 ? result : 0;
}

/* == Visits == */

static int open_iterator(const struct off_cpu_programs *programs, enum off_cpu_visit visit)
{
    union bpf_attr attr = {0};
    programs->bpf->bss->settings.visit = visit;
    attr.iter_create.link_fd = (uint32_t)programs->bpf->links.visit_thread_fd;
    return (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof attr);
}

static ssize_t read_piece(int fd, void *bytes, size_t size)
{
    ssize_t got;
    do
        got = read(fd, bytes, size);
    while (got < 0 && (errno == EAGAIN || errno == EINTR));
    return got;
}

/* Once more for threads that began while the first visit went on, in places that it had passed. */
static int take_in(struct off_cpu_programs *programs, const struct off_cpu_wanted *wanted)
{
    char nothing[64];
    int result = 0;
    for (size_t i = 0; i < wanted->pid_count; i++)
        __atomic_fetch_or(&programs->processes[(uint32_t)wanted->pids[i] / 64 % SAMPLER_ID_WORDS],
                          UINT64_C(1) << wanted->pids[i] % 64, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2 && (wanted->pid_count || wanted->all) && !result; i++) {
        const int fd = open_iterator(programs, OFF_CPU_VISIT_BEGIN);
        if (fd < 0 || read_piece(fd, nothing, sizeof nothing) < 0)
            result = -errno;
        if (fd >= 0)
            close(fd);
    }
    return result;
}

int off_cpu_programs_end_waits(const struct off_cpu_programs *programs,
                               int (*take)(void *context, const struct off_cpu_record *record),
                               void *context)
{
    SPROF_VEC(uint64_t) words = {0};
    const int fd = open_iterator(programs, OFF_CPU_VISIT_END);
    ssize_t got = fd < 0 ? -1 : 1;
    int result = 0;
    while (got > 0 && !result) {
        result = sprof_vec_reserve(&words, words.count + PIECE_BYTES / sizeof *words.items);
        if (result)
            break;
        got = read_piece(fd, words.items + words.count, PIECE_BYTES);
        words.count += got > 0 ? (size_t)got / sizeof *words.items : 0;
    }
    for (size_t at = 0; at < words.count && !result;) {
        const struct off_cpu_record *record = (const void *)(words.items + at);
        if (!off_cpu_record_is_whole(record, (words.count - at) * sizeof *words.items))
            break;
        at += (sizeof *record + record->stack_bytes) / sizeof *words.items;
        result = take(context, record);
    }
    if (fd >= 0)
        close(fd);
    sprof_vec_release(&words);
    return result ? result : got < 0 ? SPROF_EIO : 0;
}

/* == The whole == */

int off_cpu_programs_open(struct off_cpu_programs *programs, const struct off_cpu_wanted *wanted)
{
    *programs = (struct off_cpu_programs){.probe_fd = -1};
    if (!sprof_proc_in_first_pid_namespace())
        return -ENOENT;
    const struct rlimit limit = sprof_kernel_lift_bpf_limit();
    int result = load(programs, wanted);
    sprof_kernel_restore_bpf_limit(&limit);
    if (!result)
        result = map(programs);
    if (!result)
        result = attach(programs);
    if (!result)
        result = take_in(programs, wanted);
    if (result)
        off_cpu_programs_close(programs);
    return result;
}

void off_cpu_programs_close(struct off_cpu_programs *programs)
{
    if (programs->processes)
        munmap(programs->processes, PROCESSES_BYTES);
    if (programs->read)
        munmap(programs->read, page_size());
    if (programs->written)
        munmap((void *)(uintptr_t)programs->written, page_size() + 2 * programs->ring_bytes);
    if (programs->bpf) {
        if (programs->probe_fd >= 0)
            close(programs->probe_fd);
        off_cpu_bpf__destroy(programs->bpf);
    }
    *programs = (struct off_cpu_programs){.probe_fd = -1};
}

struct off_cpu_settings *off_cpu_programs_settings(const struct off_cpu_programs *programs)
{
    return &programs->bpf->bss->settings;
}

const struct off_cpu_counts *off_cpu_programs_counts(const struct off_cpu_programs *programs)
{
    return &programs->bpf->bss->counts;
}

/* The bytes of the next record; NULL: there is none. */
static const void *next_bytes(struct off_cpu_programs *programs, size_t *count)
{
    const uint64_t mask = programs->ring_bytes - 1;
    for (;;) {
        __atomic_store_n(programs->read, programs->position, __ATOMIC_RELEASE);
        const uint64_t end = __atomic_load_n((const uint64_t *)programs->written, __ATOMIC_ACQUIRE);
        const uint64_t left = end - programs->position;
        if (!left || left > programs->ring_bytes)
            return NULL;
        const uint8_t *at = programs->written + page_size() + (programs->position & mask);
        const uint32_t head = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
        const size_t bytes = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        const size_t size = (BPF_RINGBUF_HDR_SZ + bytes + 7) / 8 * 8;
        if (head & BPF_RINGBUF_BUSY_BIT || size > left)
            return NULL;
        programs->position += size;
        *count = bytes;
        if (!(head & BPF_RINGBUF_DISCARD_BIT))
            return at + BPF_RINGBUF_HDR_SZ;
    }
}

/* A record whose bytes make no sense is passed over. */
const struct off_cpu_record *off_cpu_programs_next(struct off_cpu_programs *programs)
{
    const struct off_cpu_record *record;
    size_t bytes;
    do
        record = next_bytes(programs, &bytes);
    while (record && !off_cpu_record_is_whole(record, bytes));
    return record;
}

const struct off_cpu_gap *off_cpu_programs_next_gap(struct off_cpu_programs *programs)
{
    const struct off_cpu_gap *gap;
    size_t bytes;
    do
        gap = next_bytes(programs, &bytes);
    while (gap && bytes < sizeof *gap);
    return gap;
}

#else /* a build without BPF */

int off_cpu_programs_open(struct off_cpu_programs *programs, const struct off_cpu_wanted *wanted)
{
    (void)wanted;
    *programs = (struct off_cpu_programs){.probe_fd = -1};
    return -ENOSYS;
}

void off_cpu_programs_close(struct off_cpu_programs *programs)
{
    *programs = (struct off_cpu_programs){.probe_fd = -1};
}

struct off_cpu_settings *off_cpu_programs_settings(const struct off_cpu_programs *programs)
{
    (void)programs;
    return NULL;
}

const struct off_cpu_counts *off_cpu_programs_counts(const struct off_cpu_programs *programs)
{
    (void)programs;
    return NULL;
}

const struct off_cpu_record *off_cpu_programs_next(struct off_cpu_programs *programs)
{
    (void)programs;
    return NULL;
}

const struct off_cpu_gap *off_cpu_programs_next_gap(struct off_cpu_programs *programs)
{
    (void)programs;
    return NULL;
}

int off_cpu_programs_end_waits(const struct off_cpu_programs *programs,
                               int (*take)(void *context, const struct off_cpu_record *record),
                               void *context)
{
    (void)programs;
    (void)take;
    (void)context;
    return 0;
}

#endif
