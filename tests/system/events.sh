#!/bin/bash
# Several events in one recording: each with its own counts, unit and bases, launched, attached and changed meanwhile.
#   events.sh CASE
. "$(dirname "$0")/lib.sh"

# Does known numbers of things, each in a function of its own: `acts` begins at once, `acts wait` when a line comes.
cat >acts.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void touch_pages(volatile char *memory, long pages)
{
    for (long i = 0; i < pages; i++)
        memory[i * 4096] = 1;
}
volatile char *new_pages(long pages)
{
    char *memory = mmap(0, (size_t)pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return madvise(memory, (size_t)pages * 4096, MADV_NOHUGEPAGE), memory;
}
__attribute__((noinline)) void write_bytes(int fd, long times)
{
    for (long i = 0; i < times; i++)
        if (write(fd, "x", 1) != 1)
            _exit(1);
}
__attribute__((noinline)) void spin(long turns)
{
    for (volatile long i = 0; i < turns; i++);
}
int main(int count, char **arguments)
{
    char line[8];
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int round = 0; count < 2 ? round < 1 : fgets(line, sizeof line, stdin) != 0; round++) {
        touch_pages(new_pages(1000), 1000);
        write_bytes(fd, 300);
        spin(400000000);
    }
    return (void)arguments, 0;
}
END

build() {
    gcc -O1 -g -o acts acts.c || skip "no compiler"
}

# counted FILE EVENT FUNCTION NUMBER: so many samples have the function on their stacks, less those that were lost: of which
# event of a ring a lost one was, the kernel says of the last only.
counted() {
    local samples lost
    samples=$(sql "$1" "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE event = '$2' AND function = '$3'")
    lost=$(sql "$1" "SELECT lost FROM v_quality")
    echo "$2 in $3: $samples samples, $lost lost"
    holds "$samples <= $4 && $samples + $lost >= $4" "$2 has $4 samples in $3"
}

# clock_fits FILE EVENT: the weights of a clock's samples, with what was booked without one, are the CPU time. What was lost
# is booked on the first clock only.
clock_fits() {
    local weight cpu chance lost
    IFS='|' read -r weight cpu chance lost < <(sql "$1" "SELECT sum(s.weight) / 1e9, r.target_cpu_ns / 1e9,
        5 * sqrt(sum(s.count * 1.0 * s.weight * s.weight)) / 1e9, (SELECT sum(lost) FROM ledger) * 1.0 / r.frequency_hz
        FROM sample s JOIN run r ON r.id = s.run_id JOIN event e ON e.id = s.event_id WHERE e.name = '$2'")
    echo "$2 weighs $weight s, CPU time $cpu s, $lost s were lost"
    holds "$weight < 1.3 * $cpu + $chance && $weight > 0.75 * $cpu - $chance - $lost" "$2 weighs the CPU time"
}

needs_tracepoints() {
    needs_root "tracepoints"
    "$SPROF" record -o none.db -e sched:sched_switch -- true 2>err || skip "$(head -n1 err)"
}

on_cpus() { # events of whole CPUs, and the clock's weights, as if it were alone
    build
    needs_root "events of whole CPUs"
    expect 0 "$SPROF" record -o t.db -e cpu-clock,page-faults/period=1/,task-clock -- ./acts
    counted t.db page-faults touch_pages 1000
    clock_fits t.db cpu-clock
    clock_fits t.db task-clock
    expect 0 "$SPROF" report -i t.db
    grep -q 'of CPU time' out || fail "the first event is not shown by default"
    expect 0 "$SPROF" report -i t.db --event page-faults
    grep -qE '· page-faults( ·|$)' out || fail "the footer does not name the event"
    expect 0 "$SPROF" report -i t.db --by event
    local all
    all=$(sql t.db "SELECT samples FROM v_quality")
    tr -d ' ' <out | grep -q "^${all}samples·" || fail "the footer of all events does not count all of the $all samples"
    [ "$(sql t.db "SELECT count(*) FROM sample s JOIN event e ON e.id = s.event_id WHERE e.name = 'page-faults'
        AND s.weight <> 1")" = 0 ] || fail "a page fault weighs more than one"
}

modes() { # one clock, cut into what it meets in user mode and in the kernel
    build
    needs_kernel_samples
    expect 0 "$SPROF" record -o t.db -e cpu-clock:u -e cpu-clock:k -- ./acts
    [ "$(sql t.db "SELECT count(*) FROM v_function WHERE event = 'cpu-clock:k' AND function = 'spin' AND exclusive_samples > 0")" = 0 ] ||
        fail "user mode is in what the kernel alone has"
    [ "$(sql t.db "SELECT count(*) FROM v_function WHERE event = 'cpu-clock:u' AND kind = 'kernel' AND exclusive_samples > 0")" = 0 ] ||
        fail "the kernel is in what user mode alone has"
    holds "$(sql t.db "SELECT coalesce(sum(exclusive_samples), 0) FROM v_function WHERE event = 'cpu-clock:u' AND function = 'spin'") > 0" "spin is sampled"
}

tracepoints() {
    build
    needs_tracepoints
    expect 0 "$SPROF" record -o t.db -e 'cpu-clock,syscalls:sys_enter_writ*,page-faults/period=1/' -- ./acts
    counted t.db syscalls:sys_enter_write write_bytes 300
    counted t.db page-faults touch_pages 1000
    counted t.db syscalls:sys_enter_writev write_bytes 0
    # Time, calls and faults have no common unit; an event that did not happen is not the program's idleness.
    expect 0 "$SPROF" report -i t.db --by event
    ! head -n 2 out | grep -q ' time ' || fail "numbers of events are shown as time"
    expect 0 "$SPROF" report -i t.db --event syscalls:sys_enter_writev
    grep -q 'no sample is of this event: .sprof report --by event. shows the others' out || fail "other events have samples"
    # A field as the weight: the descriptor, which is the same in each of the 300 calls, and not 1.
    expect 0 "$SPROF" record -o w.db -e 'syscalls:sys_enter_write/weight=fd/,cpu-clock' -- ./acts
    holds "$(sql w.db "SELECT count(*) > 0 AND min(weight) >= 3 AND min(weight) = max(weight) FROM v_sample
        WHERE event = 'syscalls:sys_enter_write/weight=fd/' AND path LIKE '%write_bytes%'") == 1" "each call weighs its descriptor"
    expect 0 "$SPROF" report -i w.db
    grep -qE '% of [0-9 ]+ fd of syscalls:sys_enter_write$' out || fail "the unit of the field"
    clock_fits w.db cpu-clock
    # Fields as keys: the first event that has it, unless another one is asked for.
    expect 0 "$SPROF" record -o f.db -e syscalls:sys_enter_write,cpu-clock -- ./acts
    expect 0 "$SPROF" report -i f.db --by field:fd,function --format csv
    grep -qE ',[0-9]+,[_a-zA-Z]*write' out || fail "no row of a descriptor"
    expect 0 "$SPROF" report -i f.db --tree --by field:fd
    grep -qE ' fd [0-9]+$' out || fail "no tree of a descriptor"
    expect 1 "$SPROF" report -i f.db --by field:fdd
    said "no event that was recorded has a field 'fdd'; near it: fd"
    expect 1 "$SPROF" report -i f.db --event cpu-clock --by field:fd
    said "has no field 'fd'; syscalls:sys_enter_write has: --event syscalls:sys_enter_write"
    expect 2 "$SPROF" report -i f.db --by field:
    said 'there is no key'
    expect 1 "$SPROF" report -i f.db --by lock
    said 'sprof record --off-cpu'
    run "$SPROF" record -o none.db -e syscalls:sys_enter_write/weight=count_/ -- true
    [ "$status" = 2 ] && said 'no field .count_. that is a number; near it: count' || fail "a field that is none"
    clock_fits t.db cpu-clock
}

attached() { # tracepoints of what runs already, and of what it does after a change of mode and rate
    build
    needs_tracepoints
    mkfifo lines
    ./acts wait <lines &
    children+=($!)
    local target=$!
    exec 7>lines
    "$SPROF" record -o t.db -e cpu-clock,syscalls:sys_enter_write -p "$target" 2>record.err 7>&- &
    local recorder=$!
    children+=("$recorder")
    until "$SPROF" ctl status -i t.db >/dev/null 2>&1; do
        kill -0 "$recorder" || fail "the recorder ended: $(cat record.err)"
        sleep 0.1
    done
    echo >&7
    until grep -q '^State:	S' "/proc/$target/status"; do sleep 0.1; done
    expect 0 "$SPROF" ctl mode app -i t.db
    expect 0 "$SPROF" ctl rate 500 -i t.db
    echo >&7
    exec 7>&-
    wait "$recorder" || fail "the recorder failed: $(cat record.err)"
    counted t.db syscalls:sys_enter_write write_bytes 600
}

list() { # what can be recorded, what this machine lacks, and names near one that is none
    expect 0 "$SPROF" list
    grep -qE '^cpu-clock +997 a second' out || fail "the clock is not listed"
    expect 0 "$SPROF" list --available '^page-faults$'
    [ "$(wc -l <out)" = 1 ] || fail "more than one event is called page-faults"
    "$SPROF" record -o none.db -e cycles -- true 2>/dev/null || {
        expect 0 "$SPROF" list '^cycles$'
        grep -qE '^cycles +not ' out || fail "it is not said that cycles cannot be counted"
        expect 1 "$SPROF" list --available '^cycles$'
    }
    expect 1 "$SPROF" list page-fauts
    said 'near it: page-faults'
    expect 2 "$SPROF" list '('
    said 'the regular expression'
    [ "$(id -u)" = 0 ] || return 0
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$SPROF" list
    said 'only root may read which tracepoints'
    needs_tracepoints
    expect 0 "$SPROF" list 'sched:sched_swi'
    grep -q '^sched:sched_switch ' out || fail "tracepoints are not listed"
}

refusals() { # each says what is wrong, and what cures it
    refuses() {
        run "$SPROF" record -o none.db -e "$1" -- true
        [ "$status" = 2 ] || [ "$status" = 1 ] || fail "-e $1 was not refused"
        said "$2"
        [ ! -e none.db ] || fail "-e $1 left a recording"
    }
    refuses page-fauts 'near it: page-faults'
    refuses context-switches:u 'happens in the kernel'
    refuses cpu-clock,cpu-clock 'given twice'
    refuses page-faults/period=x/ 'no term of an event'
    run "$SPROF" record -o none.db --max-overhead 1% -e page-faults/period=1/ -- true
    said 'each event has a period'
    [ "$(id -u)" = 0 ] || return 0
    refuses sched:sched_swich 'near it: sched:sched_switch'
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$SPROF" record -o none.db -e sched:sched_switch -- true
    said 'only root may read which tracepoints'
    said 'sudo sprof'
}

"$1"
