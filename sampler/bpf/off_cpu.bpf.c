/* Programs that measure how long threads of the targets have no CPU, and write a record of the
 * waits that are kept.
 *
 * When a thread leaves its CPU, and when it is woken, only the time is noted. When it gets a CPU
 * again, its wait is known, and whether it is kept: then its registers and the kernel's frames are
 * copied while it is still switched off, and its stack right after, where it is the thread at work.
 * Kernel structs are declared with the members used here (CO-RE). */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "sampler/bpf/ids.h" /* of processes to take in */
#include "sampler/bpf/off_cpu.h"
#include "sampler/bpf/off_cpu_weight.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define KERNEL_STRUCT __attribute__((preserve_access_index))

#include SPROF_ARCH_BPF_HEADER /* struct pt_regs, and which of its members is what */

#include "sampler/bpf/entry.h"

enum {
    PAGE_BYTES = 4096,
    TASK_DEAD = 0x80,
    KERNEL_THREAD = 0x200000,   /* of task_struct.flags: PF_KTHREAD */
    KERNEL_STACK_BYTES = 16384, /* at least, where threads are in the kernel */
};

struct task_struct {
    void *stack;
    int pid, tgid;
    int on_cpu, exit_state;
    unsigned int __state, flags;
    unsigned int in_iowait : 1;
    struct thread_info {
        __u32 cpu;
    } thread_info;
} KERNEL_STRUCT;

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
} KERNEL_STRUCT;

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} KERNEL_STRUCT;

const volatile __u32 only_tid;    /* 0: all threads of the processes, and what these start */
const volatile __u32 takes_all;   /* every thread of the machine that is not the kernel's */
const volatile __u32 command_pid; /* taken in by its execve; 0: none */
const volatile __u32 only_gaps;   /* each wait is written as a struct off_cpu_gap */

struct off_cpu_settings settings;
struct off_cpu_counts counts;

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, PAGE_BYTES); /* sprof sets more */
} records SEC(".maps");

/* == Threads ================================================================================== */

/* A thread of the targets: those that have this are. */
struct thread {
    __u64 out_ns;             /* when it left its CPU; 0: it has one, or that was not seen */
    __u64 woken_ns;           /* when it was woken last */
    __u32 blocks, is_stopped; /* as it left */
    __u32 random;             /* decides whether its wait is kept */
    __u32 holder_tid;         /* of the mutex that it left for; 0: not known */
    __u32 waker_pid, waker_tid;
    __u64 wake_ns;              /* when that woke it; 0: it is not known */
    __u64 blocked_ns, ready_ns; /* so far, where gaps are written */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

static __always_inline struct thread *thread_of(struct task_struct *task)
{
    return bpf_task_storage_get(&threads, task, NULL, 0);
}

/* task_newtask(task, flags), in its creator, before it may run. It is ready from then on. */
SEC("tp_btf/task_newtask")
int take_new_thread(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    struct thread fresh = {.out_ns = bpf_ktime_get_ns(), .random = bpf_get_prandom_u32()};
    if (takes_all ? !(task->flags & KERNEL_THREAD)
                  : !only_tid && thread_of(bpf_get_current_task_btf()))
        bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
    return 0;
}

/* sched_process_exec(task, pid, program): a command that sprof launches is one from here on. */
SEC("tp_btf/sched_process_exec")
int take_command(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    struct thread fresh = {0};
    if (command_pid && (__u32)task->tgid == command_pid)
        bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
    return 0;
}

/* == Locks ====================================================================================
 *
 * futex(2): the first argument is the word's address, the second what is to be done with it. */
enum {
    FUTEX_COMMANDS = ~(128 | 256), /* less FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
    FUTEX_WAIT = 0,
    FUTEX_LOCK_PI = 6,
    FUTEX_LOCK_PI2 = 13,
    MUTEX_OWNER = 8, /* glibc's __data.__owner of pthread_mutex_t, whose first word is waited for */
};

static __always_inline bool is_in_futex(const struct pt_regs *registers)
{
    return ARCH_BPF_SYSTEM_CALL(registers) == ARCH_BPF_FUTEX_CALL &&
           ARCH_BPF_IN_SYSTEM_CALL(registers) && !ARCH_BPF_IS_32BIT(registers);
}

/* Which thread holds the mutex that the thread at work is about to wait for. Conditions, semaphores
 * and joins are waited for by other commands; where a word is that of another sort of lock, the
 * number is no thread of its process. */
static __always_inline __u32 holder_of_lock(struct task_struct *task)
{
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
    __u32 holder_tid = 0;
    if (!is_in_futex(registers))
        return 0;
    const int command = (int)ARCH_BPF_SECOND_ARGUMENT(registers) & FUTEX_COMMANDS;
    if (command != FUTEX_WAIT && command != FUTEX_LOCK_PI && command != FUTEX_LOCK_PI2)
        return 0;
    bpf_probe_read_user(&holder_tid, sizeof holder_tid,
                        (const void *)(ARCH_BPF_FIRST_ARGUMENT(registers) + MUTEX_OWNER));
    return holder_tid;
}

/* == Records ================================================================================== */

/* Where a record is put together: on each CPU one of the thread that gets it. */
struct room {
    __u32 is_waiting; /* for the bytes of the stack */
    __u32 seen_tid;   /* the thread that got the CPU last, by the tracepoint */
    struct off_cpu_record record;
    __u8 stack[OFF_CPU_STACK_MAX + PAGE_BYTES];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct room);
} rooms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY); /* the iterator's: it is one at a time, and may move */
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct room);
} visiting_rooms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); /* of threads that wake others */
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct room);
} waking_rooms SEC(".maps");

/* Decides whether a wait is kept, and fills in what of the record is known while the thread has no
 * CPU. */
static __always_inline bool begin_record(struct task_struct *task, const struct thread *thread,
                                         const struct off_cpu_wait *wait, struct room *room)
{
    const struct off_cpu_parts parts = off_cpu_split(wait);
    const __u64 waited_ns = parts.blocked_ns + parts.ready_ns;
    const __u64 threshold_ns = settings.threshold_ns;
    struct off_cpu_record *record = &room->record;
    if (!settings.on || !waited_ns || !off_cpu_keep(waited_ns, threshold_ns, thread->random))
        return false;
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
    record->time_ns = wait->ended_ns;
    record->blocked_ns = off_cpu_weigh(parts.blocked_ns, waited_ns, threshold_ns);
    record->ready_ns = off_cpu_weigh(parts.ready_ns, waited_ns, threshold_ns);
    record->lasted_ns = waited_ns;
    record->pid = task->tgid;
    record->tid = task->pid;
    record->cpu = task->thread_info.cpu;
    record->is_32bit = ARCH_BPF_IS_32BIT(registers);
    record->entry = entry_of(registers);
    record->is = (BPF_CORE_READ_BITFIELD(task, in_iowait) ? OFF_CPU_DISK : 0) |
                 (thread->is_stopped ? OFF_CPU_STOPPED : 0);
    record->chain_count = record->stack_bytes = 0;
    record->waker_tid = thread->waker_tid;
    record->waker_pid = thread->waker_pid;
    record->holder_tid = thread->holder_tid;
    record->lock = is_in_futex(registers) ? ARCH_BPF_FIRST_ARGUMENT(registers) : 0;
    record->woken_ns = parts.blocked_ns ? thread->wake_ns : 0;
    ARCH_BPF_COPY_REGISTERS(record->registers, registers);
    if (settings.takes_chain) {
        const long bytes = bpf_get_task_stack(task, record->chain, sizeof record->chain, 0);
        if (bytes > 0)
            record->chain_count = (__u32)bytes / sizeof *record->chain;
    }
    __sync_fetch_and_add(&counts.kept, 1);
    return true;
}

static __always_inline void write_record(struct room *room)
{
    __u32 stack_bytes = room->record.stack_bytes;
    if (stack_bytes > OFF_CPU_STACK_MAX)
        stack_bytes = OFF_CPU_STACK_MAX;
    if (bpf_ringbuf_output(&records, &room->record, sizeof room->record + stack_bytes,
                           BPF_RB_NO_WAKEUP))
        __sync_fetch_and_add(&counts.lost, 1);
}

/* Copies the stack of the thread at work from sp to the end of the page, and then page by page, as
 * far as it is there. */
static __always_inline __u32 copy_own_stack(struct room *room, __u64 sp, __u32 most)
{
    __u32 size = 0, piece = PAGE_BYTES - sp % PAGE_BYTES;
    for (int i = 0; i <= OFF_CPU_STACK_PAGES && size < most; i++) {
        if (size >= OFF_CPU_STACK_MAX || piece > PAGE_BYTES)
            break;
        if (bpf_probe_read_user(room->stack + size, piece, (void *)(sp + size)))
            break;
        size += piece;
        piece = PAGE_BYTES;
    }
    return (size < most ? size : most) & ~7U;
}

/* The same of a thread that waits. */
static __always_inline __u32 copy_stack(struct task_struct *task, struct room *room, __u64 sp,
                                        __u32 most)
{
    __u32 size = 0, piece = PAGE_BYTES - sp % PAGE_BYTES;
    for (int i = 0; i <= OFF_CPU_STACK_PAGES && size < most; i++) {
        if (size >= OFF_CPU_STACK_MAX || piece > PAGE_BYTES)
            break;
        if (bpf_copy_from_user_task(room->stack + size, piece, (void *)(sp + size), task, 0))
            break;
        size += piece;
        piece = PAGE_BYTES;
    }
    return (size < most ? size : most) & ~7U;
}

/* == Switches ================================================================================= */

static __always_inline struct room *own_room(void)
{
    const __u32 zero = 0;
    return bpf_map_lookup_elem(&rooms, &zero);
}

static __always_inline struct off_cpu_wait wait_of(const struct thread *thread, __u64 now_ns)
{
    const __u64 since_ns = settings.since_ns;
    return (struct off_cpu_wait){
        .begun_ns = thread->out_ns > since_ns ? thread->out_ns : since_ns,
        .woken_ns = thread->woken_ns,
        .ended_ns = now_ns,
        .blocks = thread->blocks,
    };
}

/* What is missing here is in the next one of the thread, which has sums. */
static __always_inline void write_gap(struct task_struct *task, struct thread *thread,
                                      const struct off_cpu_wait *wait, bool is_last)
{
    const struct off_cpu_parts parts = off_cpu_split(wait);
    thread->blocked_ns += parts.blocked_ns;
    thread->ready_ns += parts.ready_ns;
    struct off_cpu_gap gap = {.begun_ns = wait->begun_ns,
                              .ended_ns = wait->ended_ns,
                              .blocked_ns = thread->blocked_ns,
                              .ready_ns = thread->ready_ns,
                              .pid = task->tgid,
                              .tid = task->pid,
                              .is_last = is_last};
    if (bpf_ringbuf_output(&records, &gap, sizeof gap, BPF_RB_NO_WAKEUP))
        __sync_fetch_and_add(&counts.lost, 1);
}

/* Counts a wait that ended at some time, where it would have been kept. */
static __always_inline void count_lost(const struct off_cpu_wait *wait, __u32 random)
{
    const struct off_cpu_parts parts = off_cpu_split(wait);
    if (settings.on &&
        off_cpu_keep(parts.blocked_ns + parts.ready_ns, settings.threshold_ns, random))
        __sync_fetch_and_add(&counts.lost, 1);
}

static __always_inline void leave_cpu(struct task_struct *task, struct thread *thread,
                                      struct room *room, bool is_preempted, __u32 state,
                                      __u64 now_ns)
{
    if (thread->out_ns) { /* its switch to this CPU was not seen, nor where it was then */
        const struct off_cpu_wait wait = wait_of(thread, now_ns);
        count_lost(&wait, thread->random);
    }
    thread->out_ns = now_ns;
    thread->blocks = !is_preempted && state;
    if (only_gaps) {
        const struct off_cpu_wait none = {.begun_ns = now_ns, .ended_ns = now_ns};
        if (state & TASK_DEAD)
            write_gap(task, thread, &none, true);
        return;
    }
    thread->is_stopped = thread->blocks && state & TASK_STOPPED_OR_TRACED;
    thread->random = bpf_get_prandom_u32();
    thread->holder_tid = thread->blocks ? holder_of_lock(task) : 0;
    thread->wake_ns = 0;
    if (room->is_waiting) { /* a new thread has not come by finish_switch */
        room->is_waiting = 0;
        write_record(room);
    }
}

static __always_inline void get_cpu(struct task_struct *task, struct thread *thread,
                                    struct room *room, __u64 now_ns)
{
    const struct off_cpu_wait wait = wait_of(thread, now_ns);
    if (thread->out_ns && only_gaps)
        write_gap(task, thread, &wait, false);
    else if (thread->out_ns)
        room->is_waiting = begin_record(task, thread, &wait, room);
    thread->out_ns = 0;
}

/* sched_switch(preempt, previous, next, state of previous) */
SEC("tp_btf/sched_switch")
int take_switch(__u64 *ctx)
{
    struct task_struct *previous = (struct task_struct *)ctx[1];
    struct task_struct *next = (struct task_struct *)ctx[2];
    struct thread *left = thread_of(previous), *taken = thread_of(next);
    struct room *room = own_room();
    if (!room)
        return 0;
    room->seen_tid = (__u32)next->pid;
    __u64 now_ns = 0; /* read once, and not where neither is a target */
    if (left) {
        now_ns = bpf_ktime_get_ns();
        leave_cpu(previous, left, room, ctx[0] & 1, (__u32)ctx[3], now_ns);
    }
    if (taken)
        get_cpu(next, taken, room, now_ns ? now_ns : bpf_ktime_get_ns());
    return 0;
}

static __always_inline void end_record(struct task_struct *task, struct room *room)
{
    room->is_waiting = 0;
    if (settings.stack_bytes && !room->record.is_32bit) {
        const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
        room->record.stack_bytes =
            copy_own_stack(room, ARCH_BPF_SP(registers), settings.stack_bytes);
    }
    write_record(room);
}

/* The thread that gets the CPU is at work, with its own memory. Of some switches to a thread the
 * tracepoint has not: then its wait ends here, without the kernel's frames. After all others
 * there is nothing to be done where no record waits, and the thread need not be looked for. */
static __always_inline int finish_switch(void)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct room *room = own_room();
    if (!room || (!room->is_waiting && room->seen_tid == (__u32)task->pid))
        return 0;
    struct thread *thread = thread_of(task);
    if (!thread)
        return 0;
    if (thread->out_ns)
        get_cpu(task, thread, room, bpf_ktime_get_ns());
    if (room->is_waiting && room->record.tid == (__u32)task->pid)
        end_record(task, room);
    return 0;
}

/* sched_exit_tp(is_switch), since Linux 6.15; finish_task_switch before that. */
SEC("raw_tp/sched_exit_tp")
int leave_scheduler(void *ctx)
{
    return finish_switch();
}

SEC("kprobe/finish_task_switch")
int leave_switch(void *ctx)
{
    return finish_switch();
}

/* == Wakers =================================================================================== */

/* Writes what the thread at work does as it ends a wait, of which the blocked part is known and
 * whether it is kept: the ready part after it changes that for few. Its stack ends in the system
 * call by which it wakes the other. */
static __always_inline void write_waker(struct task_struct *task, const struct thread *thread,
                                        __u64 now_ns)
{
    const __u32 zero = 0;
    const __u64 threshold_ns = settings.threshold_ns, since_ns = settings.since_ns;
    const __u64 begun_ns = thread->out_ns > since_ns ? thread->out_ns : since_ns;
    const __u64 blocked_ns = now_ns > begun_ns ? now_ns - begun_ns : 0;
    struct room *room = bpf_map_lookup_elem(&waking_rooms, &zero);
    if (!room || !blocked_ns || !off_cpu_keep(blocked_ns, threshold_ns, thread->random))
        return;
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
    struct off_cpu_record *record = &room->record;
    record->time_ns = now_ns;
    record->blocked_ns = off_cpu_weigh(blocked_ns, blocked_ns, threshold_ns);
    record->ready_ns = record->woken_ns = 0;
    record->lasted_ns = blocked_ns;
    record->pid = task->tgid;
    record->tid = task->pid;
    record->waker_tid = record->waker_pid = record->holder_tid = 0;
    record->lock = 0;
    record->cpu = task->thread_info.cpu;
    record->is_32bit = ARCH_BPF_IS_32BIT(registers);
    record->entry = OFF_CPU_ENTRY_OTHER;
    record->is = OFF_CPU_WAKES;
    record->chain_count = record->stack_bytes = 0;
    ARCH_BPF_COPY_REGISTERS(record->registers, registers);
    if (settings.stack_bytes && !record->is_32bit)
        record->stack_bytes = copy_own_stack(room, ARCH_BPF_SP(registers), settings.stack_bytes);
    write_record(room);
}

/* Whether the CPU handles an interrupt. One that came in user mode is on the thread's stack, and
 * how the thread entered the kernel says so; others have stacks of their own. The context of a
 * program lies on the stack that is in use; its address is read from memory, for as a pointer it
 * cannot be compared. */
static __always_inline bool is_in_interrupt(struct task_struct *task, __u64 *ctx)
{
    __u64 *volatile at = ctx;
    __u64 address = 0;
    if (!task->pid || bpf_probe_read_kernel(&address, sizeof address, (const void *)&at) ||
        address - (__u64)task->stack >= KERNEL_STACK_BYTES)
        return true;
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
    return !(task->flags & KERNEL_THREAD) && !ARCH_BPF_IN_SYSTEM_CALL(registers) &&
           !ARCH_BPF_IN_FAULT(registers);
}

/* An interrupt wakes threads on behalf of a clock or a device, whatever thread it interrupts. */
static __always_inline void note_waker(struct thread *thread, __u64 *ctx, __u64 now_ns)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const bool is_interrupt = is_in_interrupt(task, ctx);
    const bool is_target = !is_interrupt && !(task->flags & KERNEL_THREAD) && thread_of(task);
    thread->wake_ns = now_ns;
    thread->waker_tid = is_interrupt ? 0 : task->pid;
    thread->waker_pid = is_target ? task->tgid : 0;
    if (is_target && settings.on)
        write_waker(task, thread, now_ns);
}

/* sched_waking(task), by whatever wakes it. */
SEC("tp_btf/sched_waking")
int take_waking(__u64 *ctx)
{
    struct thread *thread = thread_of((struct task_struct *)ctx[0]);
    if (!thread)
        return 0;
    const __u64 now_ns = bpf_ktime_get_ns();
    thread->woken_ns = now_ns;
    if (settings.takes_wakers && thread->out_ns && thread->blocks && !thread->wake_ns)
        note_waker(thread, ctx, now_ns);
    return 0;
}

/* == Visits =================================================================================== */

/* Takes a thread in as it is: one without a CPU waits since now. */
static __always_inline int take_in(struct task_struct *task)
{
    struct thread fresh = {.random = bpf_get_prandom_u32()};
    if (takes_all ? task->flags & KERNEL_THREAD
                  : !ids_has(task->tgid) || (only_tid && (__u32)task->pid != only_tid))
        return 0;
    if (!task->on_cpu) {
        fresh.out_ns = bpf_ktime_get_ns();
        fresh.blocks = task->__state != 0;
        fresh.is_stopped = (task->__state & TASK_STOPPED_OR_TRACED) != 0;
    }
    bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
    return 0;
}

/* What does not fit goes into the next piece of the file, for which the program is called again:
 * the wait has ended only when it is written. */
static __always_inline void end_wait(struct task_struct *task, struct thread *thread,
                                     struct seq_file *file)
{
    const __u32 zero = 0;
    struct room *room = bpf_map_lookup_elem(&visiting_rooms, &zero);
    const __u64 now_ns = bpf_ktime_get_ns();
    struct off_cpu_wait wait = wait_of(thread, now_ns);
    if (thread->blocks && task->__state)
        wait.woken_ns = now_ns;
    if (!room || !begin_record(task, thread, &wait, room))
        return;
    if (settings.stack_bytes && !room->record.is_32bit) {
        const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
        room->record.stack_bytes =
            copy_stack(task, room, ARCH_BPF_SP(registers), settings.stack_bytes);
    }
    const __u32 stack_bytes = room->record.stack_bytes;
    if (task->on_cpu || stack_bytes > OFF_CPU_STACK_MAX)
        return;
    if (bpf_seq_write(file, &room->record, sizeof room->record))
        return;
    if (stack_bytes && bpf_seq_write(file, room->stack, stack_bytes))
        return;
    thread->out_ns = now_ns;
}

SEC("iter.s/task")
int visit_thread(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    if (!task || task->exit_state)
        return 0;
    struct thread *thread = thread_of(task);
    if (!thread)
        return settings.visit == OFF_CPU_VISIT_BEGIN ? take_in(task) : 0;
    if (settings.visit == OFF_CPU_VISIT_END && !task->on_cpu && thread->out_ns)
        end_wait(task, thread, ctx->meta->seq);
    return 0;
}
