#include "sampler/filter_bpf.h"

#include "sampler/btf.h"
#include "sampler/proc.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MEMBERS_MAX = 1 << 16 };

/* One instruction each (Documentation/bpf/standardization/instruction-set.rst). */
#define INSN(op, dst, src, offset, value)                                                          \
    ((struct bpf_insn){                                                                            \
        .code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (value)})
#define MOVE(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOVE_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define LOAD_64(dst, src, offset) INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define STORE_32(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_W, dst, src, offset, 0)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define JUMP_IF_ZERO(dst, skip) INSN(BPF_JMP | BPF_JEQ | BPF_K, dst, 0, skip, 0)
#define JUMP_IF_NOT_ZERO(dst, skip) INSN(BPF_JMP | BPF_JNE | BPF_K, dst, 0, skip, 0)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Two instructions' room for one 64-bit constant: the map behind a descriptor. */
#define LOAD_MAP(dst, fd)                                                                          \
    INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)

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

static int bpf(int command, union bpf_attr *attr)
{
    const long result = syscall(SYS_bpf, command, attr, sizeof *attr);
    return result < 0 ? -errno : (int)result;
}

static int load(enum bpf_prog_type type, const struct bpf_insn *instructions, size_t count)
{
    /* The helpers that read kernel memory are for programs under a licence GPL code may use. */
    static const char licence[] = "Dual MIT/GPL";
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = type;
    attr.insns = (uint64_t)(uintptr_t)instructions;
    attr.insn_cnt = (uint32_t)count;
    attr.license = (uint64_t)(uintptr_t)licence;
    return bpf(BPF_PROG_LOAD, &attr);
}

#define LOAD_PROGRAM(type, program) load(type, program, sizeof(program) / sizeof *(program))

/* Whether the sample is kept. */
static int load_sample_program(int map)
{
    const struct bpf_insn program[] = {
        LOOK_UP_CURRENT(map),
        JUMP_IF_ZERO(BPF_REG_0, 1),
        MOVE_CONSTANT(BPF_REG_0, 1),
        EXIT,
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
    const int fd = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
    close(program_fd);
    return fd;
}

/* Before Linux 6.1 programs on perf events may use preallocated maps only; those take 10 MiB. */
static int open_set(struct filter_bpf *filter)
{
    static const uint32_t flags[] = {BPF_F_NO_PREALLOC, 0};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        union bpf_attr attr;
        memset(&attr, 0, sizeof attr); /* all of it: the kernel refuses what it does not know */
        attr.map_type = BPF_MAP_TYPE_HASH;
        attr.key_size = attr.value_size = sizeof(uint32_t);
        attr.max_entries = MEMBERS_MAX;
        attr.map_flags = flags[i];
        filter->map_fd = bpf(BPF_MAP_CREATE, &attr);
        if (filter->map_fd < 0)
            return filter->map_fd;
        filter->sample_program_fd = load_sample_program(filter->map_fd);
        if (filter->sample_program_fd >= 0)
            return 0;
        close(filter->map_fd);
        filter->map_fd = -1;
    }
    return filter->sample_program_fd;
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
    if (!proc_in_first_pid_namespace() ||
        (follow_forks && btf_kernel_member_offset("task_struct", "pid", &offset_of_pid)))
        return -ENOENT;
    int result = open_set(filter);
    if (!result && follow_forks)
        result = open_tracepoints(filter, (int32_t)offset_of_pid);
    if (result)
        filter_bpf_close(filter);
    return result;
}

int filter_bpf_add(const struct filter_bpf *filter, pid_t tid)
{
    const uint32_t key = (uint32_t)tid;
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)filter->map_fd;
    attr.key = attr.value = (uint64_t)(uintptr_t)&key;
    attr.flags = BPF_ANY;
    return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

int filter_bpf_attach(const struct filter_bpf *filter, int event_fd)
{
    return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, filter->sample_program_fd) ? -errno : 0;
}

void filter_bpf_close(struct filter_bpf *filter)
{
    int *const fds[] = {&filter->tracepoint_fds[0], &filter->tracepoint_fds[1],
                        &filter->sample_program_fd, &filter->map_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
