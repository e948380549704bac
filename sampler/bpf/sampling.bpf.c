/* Programs on sampling events and on the scheduler's tracepoints: they keep the samples of member
 * threads only, weigh them, and hand over what their slices do not hold. */
#include "sampler/bpf/kernel.h"

#include "agent/probe_window.h"
#include "sampler/bpf/ids.h" /* of members */
#include "sampler/bpf/tails.h"
#include "sampler/bpf/tick_weight.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { LOOKED_AT_ONCE = 64 /* samples of which each looks for an agent of the tracer's */ };

/* Set before the programs are loaded. */
const volatile bool captures;    /* what follows the slices, of samples that have any */
const volatile bool keeps_ticks; /* the events are clocks, and not of user mode alone */

const volatile __u32 keeps;      /* enum sampling_keeps */
const volatile struct sampling_choice choice;

/* == Members ================================================================================== */

/* task_newtask(task, flags), in its creator, before it may run: a new thread is a member exactly
 * where its creator is one, whatever had its number before. A number stays a member's beyond its
 * thread's end, whose last work is giving back memory, until it is given out again: the kernel
 * reports an end late, when the number may be another thread's already. */
SEC("raw_tp/task_newtask")
int take_new_thread(struct bpf_raw_tracepoint_args *ctx)
{
    struct task_struct *task = (void *)ctx->args[0];
    ids_put(BPF_CORE_READ(task, pid), ids_has(current_tid()));
    return 0;
}

/* == All threads of the machine ================================================================ */

/* The name of a process is its first thread's. Behind the name the kernel's buffer may hold what an
 * older one left. */
static __always_inline bool has_chosen_name(const struct task_struct *task)
{
    char name[SAMPLING_NAME_BYTES] = {0};
    const struct task_struct *leader = BPF_CORE_READ(task, group_leader);
    if (bpf_core_read_str(name, sizeof name, &leader->comm) < 0)
        return false;
    const __u64 *words = (const __u64 *)name;
    return words[0] == choice.name[0] && words[1] == choice.name[1];
}

static __always_inline bool is_chosen(void)
{
    const struct task_struct *task = bpf_get_current_task_btf();
    if (choice.cgroup_id &&
        bpf_get_current_ancestor_cgroup_id((int)choice.cgroup_level) != choice.cgroup_id)
        return false;
    if (choice.by_user && (__u32)bpf_get_current_uid_gid() != choice.user)
        return false;
    return !choice.by_name || has_chosen_name(task);
}

/* == Calls in flight of traced threads ========================================================= */

bool sees_calls;  /* some thread has an agent of the tracer's */
__u32 looked_for; /* samples so far */

struct open_calls {
    struct sampling_tail *tail;
    __u64 record;           /* the next of the chain */
    __u64 near;             /* the first slot next to the stack pointer; 0: none is looked at */
    __u64 near_interrupted; /* … to that of what a signal interrupted */
    __u32 count;
};

/* Takes the call of a record, all zeroes where there is none; returns where its caller's is, or 0.
 * (What cannot be read the kernel fills with zeroes; but each such read is a fault, of
 * microseconds in some virtual machines.) */
static __always_inline __u64 take_call(struct sampling_call *call, __u64 at)
{
    __u64 record[PROBE_RECORD_SLOT / sizeof(__u64) + 1] = {0};
    if (at - PROBE_RECORDS < PROBE_RECORDS_BYTES)
        bpf_probe_read_user(record, sizeof record, (void *)at);
    /* That of a call which has jumped has no return address: the call's that it has jumped to has.
     */
    const bool has_jumped = at - PROBE_JUMPERS_AT < PROBE_JUMPERS_BYTES;
    call->slot = has_jumped ? 0 : record[PROBE_RECORD_SLOT / sizeof(__u64)];
    call->return_address = record[PROBE_RECORD_RETURN / sizeof(__u64)];
    call->began = record[PROBE_RECORD_BEGAN / sizeof(__u64)];
    return record[PROBE_RECORD_PARENT / sizeof(__u64)];
}

static long take_parent(__u32 index, struct open_calls *calls)
{
    if (index >= SAMPLING_CALLS || (!calls->record && !calls->near && !calls->near_interrupted))
        return 1;
    calls->record = take_call((struct sampling_call *)calls->tail->bytes + index, calls->record);
    calls->count = index + 1;
    return 0;
}

/* In the middle of a probe, the call may be out of the chain already, or not in it yet. */
static long take_near(__u32 index, struct open_calls *calls)
{
    const __u64 near = index < SAMPLING_CALLS_NEAR ? calls->near : calls->near_interrupted;
    const __u64 slot = near + 8 * (index % SAMPLING_CALLS_NEAR);
    if (index >= 2 * SAMPLING_CALLS_NEAR)
        return 1;
    take_call((struct sampling_call *)calls->tail->bytes + SAMPLING_CALLS + index,
              near ? PROBE_RECORDS + 8 * (slot & PROBE_SLOT_MASK) : 0);
    return 0;
}

static __always_inline __u64 near_slots(const struct probe_window *window, __u64 pc, __u64 sp)
{
    return pc - window->code < window->code_end - window->code ? (sp & ~7ULL) - sizeof(__u64) : 0;
}

struct own_slot {
    struct probe_window window;
    __u64 pointer; /* of the thread */
    __u64 found;   /* 0: not yet */
    __u32 tid;
};

static long look_for_slot(__u32 look, struct own_slot *own)
{
    const struct probe_table *table = &own->window.table;
    const __u64 at = table->address +
                     (__u64)probe_table_place(own->pointer, look, table->mask) * table->slot_bytes;
    struct probe_table_owner owner;
    if (bpf_probe_read_user(&owner, sizeof owner, (void *)(at + table->owner)))
        return 1;
    if (owner.pointer == own->pointer && owner.tid == own->tid)
        own->found = at;
    return owner.pointer == own->pointer || !owner.pointer;
}

/* What the window's `innermost` is added to; 0: the thread has nothing. */
static __always_inline __u64 find_own(struct own_slot *own)
{
    if (!own->window.table.address)
        return own->pointer;
    if (!bpf_probe_read_user(&own->tid, sizeof own->tid,
                             (void *)(own->pointer + own->window.table.tid)))
        bpf_loop(PROBE_TABLE_LOOKS, look_for_slot, own, 0);
    return own->found;
}

/* The records change as fast as functions are called: they are copied with the sample. Where no
 * agent has been seen, the first samples look for it, and then one in 16. */
__attribute__((noinline)) int copy_calls(__u64 sp, __u64 pc, __u64 thread_pointer,
                                         __u64 interrupted_sp, __u64 interrupted_pc)
{
    const __u64 time_ns = bpf_ktime_get_ns();
    struct own_slot own = {.pointer = thread_pointer};
    const struct probe_window *window = &own.window;
    struct open_calls calls = {0};
    if (!sees_calls && looked_for++ >= LOOKED_AT_ONCE && looked_for % 16)
        return 0;
    if (bpf_probe_read_user(&own.window, sizeof own.window, (void *)PROBE_RECORDS) ||
        window->magic != PROBE_WINDOW_MAGIC)
        return 0;
    const __u64 thread = find_own(&own);
    if (!thread || bpf_probe_read_user(&calls.record, sizeof calls.record,
                                       (void *)(thread + window->innermost)))
        return 0;
    sees_calls = true;
    calls.tail = reserve(sizeof *calls.tail +
                         (SAMPLING_CALLS + 2 * SAMPLING_CALLS_NEAR) * sizeof(struct sampling_call));
    if (!calls.tail)
        return 0;
    calls.near = near_slots(window, pc, sp);
    calls.near_interrupted = near_slots(window, interrupted_pc, interrupted_sp);
    const bool is_near = calls.near || calls.near_interrupted;
    bpf_loop(SAMPLING_CALLS, take_parent, &calls, 0);
    if (is_near)
        bpf_loop(2 * SAMPLING_CALLS_NEAR, take_near, &calls, 0);
    const __u32 count = is_near ? SAMPLING_CALLS + 2 * SAMPLING_CALLS_NEAR : calls.count;
    submit(calls.tail, time_ns, sp, 0, count * sizeof(struct sampling_call), SAMPLING_TAIL_CALLS);
    return 0;
}

/* == Places of uprobes ========================================================================= */

/* Where a thread is that came to a uprobe, as the program sees it; 0: where its registers say. The
 * kernel steps the instruction on a page of its own ([uprobes]); and right behind the breakpoint,
 * before it looks for the probe, the instruction has not been executed either. */
static __always_inline __u64 place_at_uprobe(void *ctx, struct task_struct *task, __u64 pc)
{
    const struct bpf_perf_event_data_kern *kernel = ctx;
    const struct uprobe_task *probed = NULL;
    if (!bpf_core_field_exists(task->utask) || !bpf_core_field_exists(probed->vaddr) ||
        !bpf_core_field_exists(probed->xol_vaddr))
        return 0;
    probed = BPF_CORE_READ(task, utask);
    if (!probed)
        return 0;
    const __u64 beyond = pc - BPF_CORE_READ(probed, xol_vaddr);
    if (beyond < ARCH_BPF_STEPPED_BYTES)
        return BPF_CORE_READ(probed, vaddr) + beyond;
    const struct pt_regs *at = BPF_CORE_READ(kernel, regs);
    __u8 code;
    __u64 privilege;
    if (bpf_probe_read_kernel(&privilege, sizeof privilege, &ARCH_BPF_PRIVILEGE(at)) ||
        privilege & 3 || bpf_probe_read_user(&code, sizeof code, (void *)(pc - 1)) ||
        code != ARCH_BPF_BREAKPOINT)
        return 0;
    return pc - 1;
}

static __always_inline void hand_over_place(void *ctx, struct task_struct *task,
                                            const struct pt_regs *registers)
{
    const __u64 place = place_at_uprobe(ctx, task, ARCH_BPF_PC(registers));
    struct sampling_tail *tail = place ? reserve(sizeof *tail + sizeof place) : NULL;
    if (!tail)
        return;
    *(__u64 *)tail->bytes = place;
    submit(tail, bpf_ktime_get_ns(), ARCH_BPF_SP(registers), place, sizeof place,
           SAMPLING_TAIL_PLACE);
}

/* == Weights ================================================================================== */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* sprof sets one a CPU */
    __type(key, __u32);
    __type(value, struct sampling_clock);
} clocks SEC(".maps");

static __always_inline void publish(struct sampling_clock *clock, __u64 time_ns, __u64 weight_ns)
{
    const __u64 count = clock->count;
    struct sampling_tick *tick = &clock->ticks[count % SAMPLING_TICKS];
    tick->time_ns = time_ns;
    tick->weight_ns = weight_ns;
    __sync_fetch_and_add(&clock->count, 1);
}

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SAMPLING_THREADS);
    __type(key, __u32);
    __type(value, struct sampling_thread);
} threads SEC(".maps");

/* Works out what the tick at hand weighs, on any thread, and keeps the weight of a member's. */
static __always_inline void take_tick(void *ctx, bool kept)
{
    const __u32 cpu = bpf_get_smp_processor_id(), slot = current_tid() % SAMPLING_THREADS;
    const struct task_struct *task = bpf_get_current_task_btf();
    struct sampling_clock *clock = bpf_map_lookup_elem(&clocks, &cpu);
    const struct bpf_perf_event_data_kern *kernel = ctx;
    const struct perf_event *event = BPF_CORE_READ(kernel, event);
    struct sampling_due tick = {.due_ns = BPF_CORE_READ(event, hw.hrtimer.node.expires),
                                .now_ns = bpf_ktime_get_ns(),
                                .period_ns = BPF_CORE_READ(event, hw.sample_period)};
    const struct sampling_met met = {.thread = task->start_time ^ bpf_get_current_task(),
                                     .switches = task->nvcsw + task->nivcsw,
                                     .sleeps = task->nvcsw,
                                     .used_ns = task->se.sum_exec_runtime,
                                     .charged_ns = task->se.exec_start};
    struct sampling_thread *known = bpf_map_lookup_elem(&threads, &slot);
    if (!clock || !known || !tick.period_ns)
        return;
    tick.same = sampling_meet(clock, &met, &tick);
    const __u64 weight_ns = sampling_weigh_tick(clock, &tick);
    if (kept)
        publish(clock, tick.due_ns, sampling_weigh_thread(known, clock, &met, &tick, weight_ns));
}

/* == Samples ================================================================================== */

/* How much of the stack the samples of this event carry, which changes with the mode and by the
 * governor. */
static __always_inline __u64 slice_bytes(void *ctx)
{
    const struct bpf_perf_event_data_kern *kernel = ctx;
    const struct perf_event *event = BPF_CORE_READ(kernel, event);
    return BPF_CORE_READ(event, attr.sample_stack_user);
}

static __always_inline bool is_weighed(void *ctx)
{
    const struct bpf_perf_event_data_kern *kernel = ctx;
    const struct perf_event *event = BPF_CORE_READ(kernel, event);
    return BPF_CORE_READ(event, attr.config2) == SAMPLING_WEIGHED;
}

/* A worker that the kernel makes in a process, as io_uring's, never runs code of the program: its
 * registers are its creator's, but for the stack pointer (x86: copy_thread). */
static __always_inline bool has_user_stack(void)
{
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    return ARCH_BPF_SP(registers) != 0;
}

/* What a sample's slice, of so many bytes, does not hold. */
static __always_inline void capture_all(void *ctx, __u64 stack_bytes)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
    const struct interrupted interrupted = find_interrupted(task, ARCH_BPF_SP(registers));
    hand_over_place(ctx, task, registers);
    copy_calls(ARCH_BPF_SP(registers), ARCH_BPF_PC(registers),
               ARCH_BPF_THREAD_POINTER(task->thread), interrupted.sp, interrupted.pc);
    capture(stack_bytes, ARCH_BPF_SP(registers), ARCH_BPF_FP(registers), interrupted.sp);
}

/* Whether the sample is kept: it is a member's, or one of those chosen. The tail of its stack is written right before it.
 * (One program for samples with stacks and without: the verifier takes a millisecond for each.) */
SEC("perf_event")
int take_sample(void *ctx)
{
    const bool kept = keeps == SAMPLING_KEEPS_CHOSEN ? is_chosen() : ids_has(current_tid());
    if (keeps_ticks && is_weighed(ctx))
        take_tick(ctx, kept);
    if (kept && captures) {
        const __u64 bytes = slice_bytes(ctx);
        if (bytes && has_user_stack())
            capture_all(ctx, bytes);
    }
    return kept;
}
