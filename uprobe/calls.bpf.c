/* BPF program at uprobes: counts and times calls by thread and function.
 *
 * Probes stand at entries and at instructions that leave functions. Return addresses stay
 * unchanged, for exceptions, coroutines and unwinders; the address of a return address identifies a
 * call. The program is one function without relocations (see UPROBE_MAP_MARK), for the bpf system
 * call. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "uprobe/calls.h"

#define KERNEL_STRUCT
#include SPROF_ARCH_BPF_HEADER

#define MAP(number) ((void *)((__u64)UPROBE_MAP_MARK << 32 | (number)))
#define IN_PLACE static __attribute__((always_inline))

enum { SIGNAL_STOP = 19 };

IN_PLACE struct uprobe_control *control_of(void)
{
    const __u32 first = 0;
    return bpf_map_lookup_elem(MAP(UPROBE_MAP_CONTROL), &first);
}

IN_PLACE void *find(int map, const void *key, struct uprobe_control *control)
{
    const __u32 first = 0;
    void *found = bpf_map_lookup_elem(MAP(map), key);
    if (found)
        return found;
    const void *empty = bpf_map_lookup_elem(MAP(UPROBE_MAP_EMPTY), &first);
    if (empty)
        bpf_map_update_elem(MAP(map), key, empty, BPF_NOEXIST);
    found = bpf_map_lookup_elem(MAP(map), key);
    if (!found)
        __sync_fetch_and_add(&control->lost, 1);
    return found;
}

/* The verifier needs the bound at each use. */
IN_PLACE struct uprobe_frame *frame_at(struct uprobe_thread *thread, __u32 index)
{
    asm volatile("%0 &= %1" : "+r"(index) : "i"(UPROBE_FRAMES - 1));
    return &thread->frames[index];
}

/* == Without branches ==
 *
 * The verifier follows every path, and loops once a round. So ends of calls use sums and masks of
 * values below 2^63. Shifts are assembly, because the compiler would branch. */

IN_PLACE __u64 is_above(__u64 value, __u64 limit)
{
    __u64 difference = limit - value;
    asm("%0 >>= 63" : "+r"(difference));
    return difference;
}

IN_PLACE __u64 is_same(__u64 value, __u64 other)
{
    return is_above(1, value ^ other);
}

IN_PLACE __u64 mask_of(__u64 flag)
{
    return 0 - flag;
}

/* Returns 0 for negative values. */
IN_PLACE __u64 positive(__s64 value)
{
    __s64 sign = value;
    asm("%0 s>>= 63" : "+r"(sign));
    return (__u64)(value & ~sign);
}

IN_PLACE __u64 higher(__u64 value, __u64 other)
{
    return other + positive((__s64)(value - other));
}

/* As in the agent: two buckets an octave, the second from 1.5 times the first. Octaves begin at 2^4
 * ns. */
IN_PLACE __u64 bucket_of(__u64 ns)
{
    const __u64 half = 3u << 30, /* 2^31 · 1.5 */
        first = 8, last = UPROBE_BUCKETS - 1;
    __u64 rest = ns | 1, octave = 0, step;
    step = is_above(rest, 0xffffffffu) << 5, rest >>= step, octave += step;
    step = is_above(rest, 0xffff) << 4, rest >>= step, octave += step;
    step = is_above(rest, 0xff) << 3, rest >>= step, octave += step;
    step = is_above(rest, 0xf) << 2, rest >>= step, octave += step;
    step = is_above(rest, 3) << 1, rest >>= step, octave += step;
    octave += is_above(rest, 1);
    const __u64 scaled = ((ns | 1) << (63 - octave)) >> 32;
    const __u64 bucket = positive((__s64)(2 * octave + is_above(scaled, half - 1) - first));
    return last - positive((__s64)(last - bucket));
}

/* == Ends == */

IN_PLACE void begin_anew(const struct uprobe_control *control, struct uprobe_frame *frame)
{
    const __u64 kept = mask_of(1 - is_above(control->cleared_ns, frame->start));
    frame->start = higher(frame->start, control->cleared_ns);
    frame->below &= kept;
    frame->taken &= kept;
    frame->entry &= kept;
    frame->child_calls &= kept;
    frame->child_counted &= kept;
}

IN_PLACE void end_call(struct uprobe_control *control, struct uprobe_thread *thread, __u32 tid,
                       __u64 now, __u64 how, __u64 is_far)
{
    const __u32 depth = thread->depth;
    struct uprobe_frame *frame = frame_at(thread, depth), *caller = frame_at(thread, depth - 1);
    thread->depth = depth - 1;
    begin_anew(control, frame);
    begin_anew(control, caller);
    const struct uprobe_key key = {tid, (__u32)frame->function};
    const __u64 whole = positive((__s64)(now - frame->start));
    const __u64 inside = control->inside[frame->entry & (UPROBE_ENTRIES - 1)];
    const __u64 outside = control->outside[how & (UPROBE_HOWS - 1)];
    caller->below += whole + outside;
    caller->taken += frame->taken + inside + outside;
    caller->child_calls++;
    struct uprobe_stat *stat = bpf_map_lookup_elem(MAP(UPROBE_MAP_STATS), &key);
    if (!stat)
        return;
    const __s64 total = (__s64)(whole - inside - frame->taken);
    const __u64 length = positive(total);
    stat->ends[how & (UPROBE_HOWS - 1)]++;
    stat->self += (__s64)(whole - inside - frame->below);
    stat->child_calls += frame->child_calls;
    stat->child_counted += frame->child_counted;
    stat->uncertain += is_far;
    const __u64 ended =
        stat->ends[UPROBE_RETURNS] + stat->ends[UPROBE_TAILS] + stat->ends[UPROBE_IS_LEFT];
    const __u64 outermost = mask_of(is_same(stat->calls, ended));
    stat->total += (__s64)((__u64)total & outermost);
    stat->probe_ns += frame->taken & outermost;
    const __u64 goes_on = mask_of(is_same(stat->period, control->period));
    stat->period = control->period;
    stat->max = higher(stat->max & goes_on, length);
    stat->most_below = higher(stat->most_below & goes_on, UPROBE_LONG - length);
    stat->buckets[bucket_of(length) & (UPROBE_BUCKETS - 1)]++;
}

/* Ends calls below the stack pointer, and the one at it with `how`. Distant calls are on another
 * stack and end only with `all`, when a call outside of them ends. */
IN_PLACE void end_calls(struct uprobe_control *control, struct uprobe_thread *thread, __u32 tid,
                        __u64 now, __u64 sp, __u64 how, __u64 all)
{
    for (__u32 i = 1; i < UPROBE_FRAMES; i++) {
        const __u64 slot = frame_at(thread, thread->depth)->slot;
        const __u64 is_there = is_same(slot, sp), is_below = is_above(sp, slot);
        const __u64 is_far = is_below & is_above(sp, slot + UPROBE_NEAR);
        if (!thread->depth || !(is_there | (is_below & (1 - is_far)) | all))
            break;
        end_call(control, thread, tid, now,
                 (how & mask_of(is_there)) | (UPROBE_IS_LEFT & mask_of(1 - is_there)), is_far);
        if (is_there)
            break;
    }
}

IN_PLACE bool is_open(struct uprobe_thread *thread, __u64 slot)
{
    const __u32 depth = thread->depth;
    for (__u32 i = 0; i < UPROBE_FRAMES && i < depth; i++)
        if (frame_at(thread, depth - i)->slot == slot)
            return true;
    return false;
}

/* == Beginnings == */

IN_PLACE void enter(struct uprobe_control *control, struct uprobe_thread *thread,
                    struct uprobe_stat *stat, __u64 sp, __u64 function, __u64 entry, bool is_timed)
{
    const __u32 depth = thread->depth;
    if (!is_timed || depth >= UPROBE_FRAMES - 1) {
        struct uprobe_frame *caller = frame_at(thread, depth);
        begin_anew(control, caller);
        caller->below += control->count[entry & (UPROBE_ENTRIES - 1)];
        caller->taken += control->count[entry & (UPROBE_ENTRIES - 1)];
        caller->child_counted++;
        stat->counted++;
        return;
    }
    const __u64 ended =
        stat->ends[UPROBE_RETURNS] + stat->ends[UPROBE_TAILS] + stat->ends[UPROBE_IS_LEFT];
    stat->recursive += is_above(stat->calls, ended);
    stat->calls++;
    struct uprobe_frame *frame = frame_at(thread, depth + 1);
    frame->slot = sp;
    frame->below = frame->taken = 0;
    frame->function = function;
    frame->entry = entry;
    frame->child_calls = frame->child_counted = 0;
    thread->depth = depth + 1;
    frame->start = bpf_ktime_get_ns();
}

IN_PLACE void make_room(struct uprobe_thread *thread, __u64 sp)
{
    const __u64 slot = frame_at(thread, UPROBE_FRAMES - 1)->slot;
    if (thread->depth >= UPROBE_FRAMES - 1 && (slot < sp || slot - sp >= UPROBE_NEAR))
        thread->depth = 0;
}

/* Counts a function whose entry is its end. */
IN_PLACE void pass(const struct uprobe_control *control, struct uprobe_stat *stat, __u64 how)
{
    const __u64 goes_on = mask_of(is_same(stat->period, control->period));
    stat->period = control->period;
    stat->max &= goes_on;
    stat->most_below = UPROBE_LONG;
    stat->calls++;
    stat->ends[how & (UPROBE_HOWS - 1)]++;
    stat->buckets[0]++;
}

IN_PLACE void stop(struct uprobe_control *control)
{
    __sync_fetch_and_add(&control->stopped, 1);
    bpf_send_signal(SIGNAL_STOP);
}

/* Hides a value from the verifier. */
#define HIDE(number) asm volatile("" : "+r"(number))

IN_PLACE __u32 tier_of(const struct uprobe_control *control, __u64 cookie)
{
    __u32 function = UPROBE_COOKIE_FUNCTION(cookie);
    asm volatile("%0 &= %1" : "+r"(function) : "i"(UPROBE_FUNCTIONS - 1));
    return UPROBE_COOKIE_ENTRY(cookie) ? control->tiers[function] : UPROBE_OFF;
}

IN_PLACE bool may_end(__u64 cookie, __u64 flags)
{
    const __u64 exit = UPROBE_COOKIE_EXIT(cookie);
    return exit == UPROBE_EXIT_RETURN || exit == UPROBE_EXIT_TAIL ||
           (exit == UPROBE_EXIT_BRANCH &&
            arch_bpf_condition_holds(UPROBE_COOKIE_CONDITION(cookie), flags));
}

/* Decides again, because the verifier would follow end_calls for each earlier way. */
__attribute__((section("at_probe"), used)) int probe_reached(struct pt_regs *registers)
{
    const __u64 now = bpf_ktime_get_ns(), sp = ARCH_BPF_SP(registers);
    const __u32 tid = (__u32)bpf_get_current_pid_tgid();
    __u64 cookie = bpf_get_attach_cookie(registers);
    struct uprobe_control *control = control_of();
    if (!control)
        return 0;
    if (UPROBE_COOKIE_EXIT(cookie) == UPROBE_EXIT_STOP) {
        stop(control);
        return 0;
    }
    const bool begins = tier_of(control, cookie) != UPROBE_OFF;
    struct uprobe_thread *thread = begins ? find(UPROBE_MAP_THREADS, &tid, control)
                                          : bpf_map_lookup_elem(MAP(UPROBE_MAP_THREADS), &tid);
    if (!thread)
        return 0;
    thread->all = !begins && may_end(cookie, ARCH_BPF_FLAGS(registers)) && is_open(thread, sp);
    if (!begins && !thread->all && UPROBE_COOKIE_EXIT(cookie) != UPROBE_EXIT_LEAVE)
        return 0;
    /* at an entry, calls at or below this stack pointer have ended */
    HIDE(cookie);
    end_calls(control, thread, tid, now, sp, UPROBE_COOKIE_HOW(cookie), thread->all);
    HIDE(cookie);
    const __u32 tier = tier_of(control, cookie);
    const struct uprobe_key key = {tid, UPROBE_COOKIE_FUNCTION(cookie)};
    struct uprobe_stat *stat = tier ? find(UPROBE_MAP_STATS, &key, control) : NULL;
    if (!stat)
        return 0;
    if (tier == UPROBE_TIME && may_end(cookie, ARCH_BPF_FLAGS(registers))) {
        pass(control, stat,
             UPROBE_COOKIE_EXIT(cookie) == UPROBE_EXIT_RETURN ? UPROBE_RETURNS : UPROBE_TAILS);
    } else {
        make_room(thread, sp);
        enter(control, thread, stat, sp, key.function, UPROBE_COOKIE_ENTRY(cookie),
              tier == UPROBE_TIME);
    }
    return 0;
}

/* Stops the command after its execve. */
__attribute__((section("at_exec"), used)) int program_executed(void *context)
{
    struct uprobe_control *control = control_of();
    const __u32 process = (__u32)(bpf_get_current_pid_tgid() >> 32);
    if (control && control->stop_at_exec == process) {
        control->stop_at_exec = 0;
        stop(control);
    }
    return 0;
}
