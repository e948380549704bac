#include "sampler/filter_bpf.h"

#include "sampler/bpf.h"
#include "sampler/btf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MEMBERS_MAX = 1 << 16 };

/* Where the programs keep a thread id: at the top of their stack. */
enum { KEY = -4, CHILD = -8 };

/* r0 = whether the current thread is a member: the low half of the helper's answer is its id. */
#define LOOK_UP_CURRENT(map)                                                                       \
    CALL(BPF_FUNC_get_current_pid_tgid), STORE_32(BPF_REG_10, KEY, BPF_REG_0),                     \
        LOAD_MAP(BPF_REG_1, map), MOVE(BPF_REG_2, BPF_REG_10), ADD_CONSTANT(BPF_REG_2, KEY),       \
        CALL(BPF_FUNC_map_lookup_elem)

/* *(u32 *)(stack + CHILD) = task->pid, where r6 points to the tracepoint's arguments and the task
 * is number `argument`; r0 = 0 when that worked. */
#define READ_TASK_ID(argument, offset_of_pid)                                                      \
    MOVE(BPF_REG_1, BPF_REG_10), ADD_CONSTANT(BPF_REG_1, CHILD), MOVE_CONSTANT(BPF_REG_2, 4),      \
        LOAD_64(BPF_REG_3, BPF_REG_6, 8 * (argument)), ADD_CONSTANT(BPF_REG_3, offset_of_pid),     \
        CALL(BPF_FUNC_probe_read_kernel)

#define LOAD_PROGRAM(type, program) bpf_load(type, program, sizeof(program) / sizeof *(program))

/* Whether the sample is kept; the program in the slot, if there is one, goes on from there. */
static int load_sample_program(int map, int slot)
{
    const struct bpf_insn program[] = {
        MOVE(BPF_REG_6, BPF_REG_1), LOOK_UP_CURRENT(map),        JUMP_IF_ZERO(BPF_REG_0, 6),
        MOVE(BPF_REG_1, BPF_REG_6), LOAD_MAP(BPF_REG_2, slot),   MOVE_CONSTANT(BPF_REG_3, 0),
        CALL(BPF_FUNC_tail_call),   MOVE_CONSTANT(BPF_REG_0, 1), EXIT,
    };
    return LOAD_PROGRAM(BPF_PROG_TYPE_PERF_EVENT, program);
}

/* sched_process_fork(parent, child), in the parent, before the child may run. */
static int load_fork_program(int map, int32_t offset_of_pid)
{
    const struct bpf_insn program[] = {
        MOVE(BPF_REG_6, BPF_REG_1),
        LOOK_UP_CURRENT(map),
        JUMP_IF_ZERO(BPF_REG_0, 14),
        READ_TASK_ID(1, offset_of_pid),
        JUMP_IF_NOT_ZERO(BPF_REG_0, 7),
        LOAD_MAP(BPF_REG_1, map),
        MOVE(BPF_REG_2, BPF_REG_10),
        ADD_CONSTANT(BPF_REG_2, CHILD),
        MOVE(BPF_REG_3, BPF_REG_2),
        MOVE_CONSTANT(BPF_REG_4, BPF_ANY),
        CALL(BPF_FUNC_map_update_elem),
        MOVE_CONSTANT(BPF_REG_0, 0),
        EXIT,
    };
    return LOAD_PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, program);
}

/* sched_process_free(task): when the last trace of a thread goes. (At sched_process_exit it still
 * has its address space to give back, which is a good part of the CPU time of a short process.) */
static int load_free_program(int map, int32_t offset_of_pid)
{
    const struct bpf_insn program[] = {
        MOVE(BPF_REG_6, BPF_REG_1),
        READ_TASK_ID(0, offset_of_pid),
        JUMP_IF_NOT_ZERO(BPF_REG_0, 5),
        LOAD_MAP(BPF_REG_1, map),
        MOVE(BPF_REG_2, BPF_REG_10),
        ADD_CONSTANT(BPF_REG_2, CHILD),
        CALL(BPF_FUNC_map_delete_elem),
        MOVE_CONSTANT(BPF_REG_0, 0),
        EXIT,
    };
    return LOAD_PROGRAM(BPF_PROG_TYPE_RAW_TRACEPOINT, program);
}

/* Attaches a freshly loaded program; the attachment keeps it alive. */
static int attach_tracepoint(const char *name, int program_fd)
{
    if (program_fd < 0)
        return program_fd;
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.raw_tracepoint.name = (uint64_t)(uintptr_t)name;
    attr.raw_tracepoint.prog_fd = (uint32_t)program_fd;
    const int fd = bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr);
    close(program_fd);
    return fd;
}

/* Before Linux 6.1 programs on perf events may use preallocated maps only; those take 10 MiB. */
static int open_set(struct filter_bpf *filter)
{
    static const uint32_t flags[] = {BPF_F_NO_PREALLOC, 0};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        filter->map_fd = bpf_open_map(BPF_MAP_TYPE_HASH, sizeof(uint32_t), sizeof(uint32_t),
                                      MEMBERS_MAX, flags[i]);
        if (filter->map_fd < 0)
            return filter->map_fd;
        filter->sample_program_fd = load_sample_program(filter->map_fd, filter->slot_fd);
        if (filter->sample_program_fd >= 0)
            return 0;
        close(filter->map_fd);
        filter->map_fd = -1;
    }
    return filter->sample_program_fd;
}

static int open_slot(struct filter_bpf *filter)
{
    filter->slot_fd =
        bpf_open_map(BPF_MAP_TYPE_PROG_ARRAY, sizeof(uint32_t), sizeof(uint32_t), 1, 0);
    return filter->slot_fd < 0 ? filter->slot_fd : 0;
}

static int open_tracepoints(struct filter_bpf *filter, int32_t offset_of_pid)
{
    static const struct {
        const char *name;
        int (*load)(int map, int32_t offset_of_pid);
    } tracepoints[] = {{"sched_process_fork", load_fork_program},
                       {"sched_process_free", load_free_program}};
    for (size_t i = 0; i < 2; i++) {
        const int program = tracepoints[i].load(filter->map_fd, offset_of_pid);
        filter->tracepoint_fds[i] = attach_tracepoint(tracepoints[i].name, program);
        if (filter->tracepoint_fds[i] < 0)
            return filter->tracepoint_fds[i];
    }
    return 0;
}

int filter_bpf_open(struct filter_bpf *filter, bool follow_forks)
{
    *filter = FILTER_BPF_NONE;
    uint32_t offset_of_pid = 0;
    if (!sprof_proc_in_first_pid_namespace() ||
        (follow_forks && btf_kernel_member_offset("task_struct", "pid", &offset_of_pid)))
        return -ENOENT;
    int result = open_slot(filter);
    if (!result)
        result = open_set(filter);
    if (!result && follow_forks)
        result = open_tracepoints(filter, (int32_t)offset_of_pid);
    if (result)
        filter_bpf_close(filter);
    return result;
}

int filter_bpf_add(const struct filter_bpf *filter, pid_t tid)
{
    const uint32_t key = (uint32_t)tid;
    return bpf_put(filter->map_fd, &key, &key);
}

int filter_bpf_go_on_to(const struct filter_bpf *filter, int program_fd)
{
    const uint32_t slot = 0, program = (uint32_t)program_fd;
    return bpf_put(filter->slot_fd, &slot, &program);
}

int filter_bpf_attach(const struct filter_bpf *filter, int event_fd)
{
    return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, filter->sample_program_fd) ? -errno : 0;
}

void filter_bpf_close(struct filter_bpf *filter)
{
    int *const fds[] = {&filter->tracepoint_fds[0], &filter->tracepoint_fds[1],
                        &filter->sample_program_fd, &filter->slot_fd, &filter->map_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
