/* Programs that look at all threads of the targets, and write a record for each that has no CPU:
 * what the clock of a CPU never meets.
 *
 * A thread that does not run has its registers on its kernel stack, and nothing of its own stack
 * changes. What it waited since the look before is what passed less what it ran, which the
 * scheduler counts exactly: so a thread that sprof itself has just driven from its CPU weighs next
 * to nothing. Kernel structs are declared with the members used here (CO-RE). */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "sampler/bpf/ids.h" /* of target processes */
#include "sampler/bpf/waiting.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define KERNEL_STRUCT __attribute__((preserve_access_index))

#include SPROF_ARCH_BPF_HEADER /* struct pt_regs, and which of its members is what */

#include "sampler/bpf/entry.h"

enum { PAGE_BYTES = 4096 };

struct sched_entity {
    __u64 sum_exec_runtime;
} KERNEL_STRUCT;

struct task_struct {
    int pid, tgid;
    int on_cpu, exit_state;
    unsigned int __state;
    unsigned int in_iowait : 1;
    __u64 start_time;
    struct sched_entity se;
    struct thread_info {
        __u32 cpu;
    } thread_info;
    unsigned long nvcsw, nivcsw; /* how often it left a CPU */
} KERNEL_STRUCT;

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
} KERNEL_STRUCT;

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} KERNEL_STRUCT;

const volatile __u32 only_tid; /* 0: all threads of the processes */

struct waiting_look look;
struct waiting_seen seen;

/* == Processes ================================================================================ */

/* task_newtask(task, flags), in its creator, before it may run: a new process is a target exactly
 * where its creator is one, whatever had its number before. */
SEC("raw_tp/task_newtask")
int take_new_process(struct bpf_raw_tracepoint_args *ctx)
{
    struct task_struct *task = (void *)ctx->args[0];
    const __u32 pid = BPF_CORE_READ(task, pid);
    if (pid == (__u32)BPF_CORE_READ(task, tgid))
        ids_put(pid, ids_has(bpf_get_current_pid_tgid() >> 32));
    return 0;
}

/* == Threads ================================================================================== */

/* Up to when a thread's time is booked, and what it had run by then. */
struct booked {
    __u64 until_ns, ran_ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct booked);
} threads SEC(".maps");

/* Where a record is put together. One look goes on at a time. */
struct room {
    struct waiting_record record;
    __u64 chain[WAITING_CHAIN_MAX];
    __u8 stack[WAITING_STACK_MAX + PAGE_BYTES];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct room);
} rooms SEC(".maps");

/* A thread's time is known for what passed since the look before; of one that began meanwhile all
 * of that is waited, as if it had begun with the look: those that end before a look make up for it.
 */
static __always_inline struct booked *booked_of(struct task_struct *task, __u64 ran_ns)
{
    struct booked fresh = {.until_ns = look.before_ns};
    struct booked *known = bpf_task_storage_get(&threads, task, NULL, 0);
    if (known)
        return known;
    if (task->start_time < look.before_ns)
        fresh.ran_ns = ran_ns;
    return bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Copies the stack from sp to the end of the page, and then page by page, as far as it is there. */
static __always_inline __u32 copy_stack(struct task_struct *task, struct room *room, __u64 sp)
{
    __u32 size = 0, piece = PAGE_BYTES - sp % PAGE_BYTES;
    for (int i = 0; i <= WAITING_STACK_PAGES && size < look.stack_bytes; i++) {
        if (size >= WAITING_STACK_MAX || piece > PAGE_BYTES)
            break;
        if (bpf_copy_from_user_task(room->stack + size, piece, (void *)(sp + size), task, 0))
            break;
        size += piece;
        piece = PAGE_BYTES;
    }
    if (size > look.stack_bytes)
        size = look.stack_bytes;
    return size & ~7U;
}

/* How it has no CPU at this moment, as flags of a record. */
static __always_inline __u32 state_of(struct task_struct *task)
{
    const unsigned int state = task->__state;
    if (!state)
        return OFF_CPU_READY;
    return (BPF_CORE_READ_BITFIELD(task, in_iowait) ? OFF_CPU_DISK : 0) |
           (state & TASK_STOPPED_OR_TRACED ? OFF_CPU_STOPPED : 0);
}

/* Fills the room with what a record of the thread says; false where the thread has moved on. */
static __always_inline bool describe(struct task_struct *task, struct room *room)
{
    struct waiting_record *record = &room->record;
    const unsigned long switches = task->nvcsw + task->nivcsw;
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
    const __u64 sp = ARCH_BPF_SP(registers);
    ARCH_BPF_COPY_REGISTERS(record->registers, registers);
    record->is_32bit = ARCH_BPF_IS_32BIT(registers);
    record->pid = task->tgid;
    record->tid = task->pid;
    record->cpu = task->thread_info.cpu;
    record->entry = entry_of(registers);
    record->is = state_of(task);
    record->chain_bytes = record->stack_bytes = 0;
    if (look.chain_bytes) {
        const long bytes = bpf_get_task_stack(task, room->chain, sizeof room->chain, 0);
        if (bytes > 0)
            record->chain_bytes = (__u32)bytes;
    }
    if (look.stack_bytes && !record->is_32bit)
        record->stack_bytes = copy_stack(task, room, sp);
    return !task->on_cpu && task->nvcsw + task->nivcsw == switches;
}

/* What does not fit goes into the next piece of the file, for which the program is called again. */
static __always_inline bool write_out(struct seq_file *file, struct room *room)
{
    __u32 chain = room->record.chain_bytes, stack = room->record.stack_bytes;
    if (chain > sizeof room->chain || stack > WAITING_STACK_MAX)
        return false;
    return !bpf_seq_write(file, &room->record, sizeof room->record) &&
           (!chain || !bpf_seq_write(file, room->chain, chain)) &&
           (!stack || !bpf_seq_write(file, room->stack, stack));
}

SEC("iter.s/task")
int look_at_thread(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    const __u32 zero = 0;
    if (!task || !ids_has(task->tgid) || task->exit_state ||
        (only_tid && (__u32)task->pid != only_tid))
        return 0;
    struct room *room = bpf_map_lookup_elem(&rooms, &zero);
    const __u64 now_ns = bpf_ktime_get_ns(), ran_ns = task->se.sum_exec_runtime;
    struct booked *booked = booked_of(task, ran_ns);
    if (!room || !booked)
        return 0;
    if (look.only_notes) {
        seen.waiting++;
        booked->until_ns = now_ns;
        booked->ran_ns = ran_ns;
        return 0;
    }
    const __u64 passed_ns = now_ns - booked->until_ns, ran_since_ns = ran_ns - booked->ran_ns;
    if (task->on_cpu || passed_ns < ran_since_ns || passed_ns - ran_since_ns < look.least_ns)
        return 0;
    const __u32 one_of = look.one_of ? look.one_of : 1;
    if ((seen.waiting + look.turn) % one_of == 0) {
        room->record.time_ns = now_ns;
        room->record.weight_ns = (passed_ns - ran_since_ns) * one_of;
        if (!describe(task, room) || !write_out(ctx->meta->seq, room))
            return 0;
    }
    seen.waiting++;
    booked->until_ns = now_ns;
    booked->ran_ns = ran_ns;
    return 0;
}
