/* What sampling programs read of the kernel: its structs are declared with the members used here,
 * and it finds their offsets when the programs are loaded (CO-RE). */
#ifndef SPROF_SAMPLER_BPF_KERNEL_H
#define SPROF_SAMPLER_BPF_KERNEL_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#define KERNEL_STRUCT __attribute__((preserve_access_index))

#include SPROF_ARCH_BPF_HEADER /* struct pt_regs, struct thread_struct, and what of them is which */

struct mm_struct {
    unsigned long start_stack;
} KERNEL_STRUCT;

struct sched_entity {
    __u64 exec_start, sum_exec_runtime;
} KERNEL_STRUCT;

struct uprobe_task {
    unsigned long vaddr, xol_vaddr; /* of the instruction, and where it is stepped instead */
} KERNEL_STRUCT;

struct task_struct {
    int pid;
    char comm[16];
    struct task_struct *group_leader;
    __u64 start_time;
    struct mm_struct *mm;
    struct sched_entity se;
    struct thread_struct thread;
    unsigned long sas_ss_sp, sas_ss_size; /* the alternate stack for handlers of signals */
    struct uprobe_task *utask;            /* NULL: it never came to a uprobe */
    unsigned long nvcsw, nivcsw;          /* how often it left a CPU */
} KERNEL_STRUCT;

struct vm_area_struct {
    unsigned long vm_start, vm_end;
} KERNEL_STRUCT;

struct timerqueue_node {
    __s64 expires;
} KERNEL_STRUCT;

struct hrtimer {
    struct timerqueue_node node;
} KERNEL_STRUCT;

struct hw_perf_event {
    struct hrtimer hrtimer;
    __u64 sample_period;
} KERNEL_STRUCT;

struct perf_event_attr {
    __u32 sample_stack_user;
    __u64 config2;
} KERNEL_STRUCT;

struct perf_event {
    struct perf_event_attr attr;
    struct hw_perf_event hw;
} KERNEL_STRUCT;

/* What the context of a program on an event is in the kernel. */
struct bpf_perf_event_data_kern {
    struct pt_regs *regs;
    struct perf_event *event;
} KERNEL_STRUCT;

static __always_inline __u32 current_tid(void)
{
    return (__u32)bpf_get_current_pid_tgid();
}

#endif
