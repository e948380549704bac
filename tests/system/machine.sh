#!/bin/bash
# The whole machine, and what is chosen of it.
#   machine.sh CASE
. "$(dirname "$0")/lib.sh"
needs_root "to sample the whole machine"
run "$SPROF" record -a -m pc --duration 50ms -o t.db
[ "$status" != 0 ] && grep -qE "refused|permitted" err && skip "the whole machine cannot be sampled here"
[ "$status" = 0 ] || fail "the whole machine is not recorded: $(cat err)"

# A program that spins for some milliseconds of its CPU time, under any name; with a third argument, in a child of its own.
cat >spins.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void spin_here(double seconds)
{
    struct timespec used;
    do {
        for (volatile int i = 0; i < 10000; i++)
            ; /* most of the time is its own, not the clock's */
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds);
}
int main(int count, char **arguments)
{
    if (count > 2 && fork() > 0)
        return wait(NULL) < 0;
    if (count > 1)
        spin_here(atof(arguments[1]) / 1000);
    return 0;
}
END
gcc -O1 -g -o spins spins.c || skip "no compiler"

# named FILE PROGRAM: the samples of programs of a name, and their weight in milliseconds.
named() {
    sql "$1" "SELECT count(*), coalesce(sum(s.weight), 0) / 1000000 FROM sample s JOIN thread t ON t.id = s.thread_id
        JOIN process p ON p.id = t.process_id WHERE p.name = '$2'"
}

# fits FILE PROGRAM MS: programs of that name have used so much, but for chance, what the end of a process uses, and what was
# lost: of which program that was is not known.
fits() {
    local samples weight lost
    IFS='|' read -r samples weight < <(named "$1" "$2")
    lost=$(sql "$1" "SELECT coalesce(sum(lost), 0) * 1000.0 / (SELECT min(frequency_hz) FROM run) FROM ledger")
    echo "$2: $samples samples, $weight ms of $3, $lost ms were lost"
    holds "$samples > 0 && $weight > 0.75 * $3 - $lost && $weight < 1.35 * $3 + 20" "weight of $2"
}

# What ran before, what begins and ends meanwhile, children, and the command itself; the CPU time is within the machine's.
all() {
    # Files of one content share their functions, under the name of the first: what ran before is a file of its own.
    gcc -O2 -g -o before spins.c || fail "no compiler"
    cp spins meanwhile && cp spins parent
    start ./before 100000
    wait_until 60 run_all before "$child"
    expect 7 "$SPROF" record -a -m pc --append -o t.db -- sh -c './meanwhile 300; ./parent 300 child; exit 7'
    fits t.db meanwhile 300
    fits t.db parent 300
    local samples weight
    IFS='|' read -r samples weight < <(named t.db before)
    holds "$samples > 0" "samples of a program that ran before"
    holds "$(sql t.db "SELECT count(*) FROM v_function WHERE function = 'spin_here' AND module = 'before'") > 0" \
        "the names of a program that ran before"
    holds "$(sql t.db 'SELECT count(*) FROM run WHERE target_cpu_ns > (duration_ns + 20000000) * cpus OR target_cpu_ns <= 0') == 0" \
        "used no more than there was"
    holds "$(sql t.db "SELECT count(*) FROM run WHERE targets = 'all that runs'") == 2" "the name of what was recorded"
}

# Programs of a name, those too that begin later; not the others.
match() {
    cp spins chosen && cp spins other
    start ./other 100000
    expect 0 "$SPROF" record --match chosen -o t.db -- sh -c './chosen 300; ./chosen 200'
    fits t.db chosen 500
    holds "$(sql t.db "SELECT count(DISTINCT p.name) FROM process p JOIN thread t ON t.process_id = p.id
        WHERE t.samples > 0") == 1" "nothing else"
    holds "$(sql t.db "SELECT count(*) FROM process WHERE name = 'other'") == 0" "no rows of what has no samples"
    holds "$(sql t.db 'SELECT abs(r.target_cpu_ns - (SELECT sum(weight) FROM sample)) < 1000 FROM run r') == 1" \
        "the CPU time is that of the samples"
}

# The programs of a user, whoever starts them; a tracepoint cannot be filtered in the kernel.
user() {
    cp spins theirs && chmod 755 theirs
    expect 0 "$SPROF" record --user 65534 -o t.db -- setpriv --reuid=65534 --clear-groups ./theirs 300
    fits t.db theirs 300
    holds "$(sql t.db "SELECT count(*) FROM process p JOIN thread t ON t.process_id = p.id
        WHERE t.samples > 0 AND p.name NOT IN ('theirs', 'setpriv')") == 0" "nothing else"
    "$SPROF" report -i t.db --by user,process --format csv | grep -q ",$(id -nu 65534),theirs," || fail "no row of the user"
}

# A cgroup and those below it; its CPU time is known.
cgroup() {
    local root name=sprof_test_$$
    root=$(cgroup_root)
    [ -n "$root" ] && mkdir -p "$root/$name/below" 2>/dev/null || skip "no cgroup can be made"
    cp spins inside && cp spins outside
    start ./outside 100000
    run "$SPROF" record --cgroup "$name" -o t.db -- \
        sh -c "echo \$\$ >$root/$name/below/cgroup.procs; ./inside 400; echo \$\$ >$root/cgroup.procs"
    local recorded=$status
    rmdir "$root/$name/below" "$root/$name"
    [ "$recorded" = 0 ] || fail "exit status $recorded"
    fits t.db inside 400
    holds "$(sql t.db "SELECT count(*) FROM process p JOIN thread t ON t.process_id = p.id
        WHERE t.samples > 0 AND p.name NOT IN ('inside', 'sh')") == 0" "nothing else"
    holds "$(sql t.db 'SELECT target_cpu_ns / 1000000 FROM run') > 300" "the CPU time of the cgroup"
    "$SPROF" report -i t.db --by process,cgroup --format csv | grep -q ",inside,.*,/$name/below" || fail "no row of the cgroup"
    "$SPROF" report -i t.db --tree --by cgroup,user | grep -q "cgroup /$name/below" || fail "no tree of the cgroup"
    expect 1 "$SPROF" record --cgroup "$name" -- true
    said 'no cgroup'
    said '/proc/PID/cgroup'
    expect 0 "$SPROF" record --match no_such_program --duration 0.2 -o t.db
    said 'no process that fits had a CPU'
}

# One CPU: all samples are of it.
cpu() {
    local cpu
    cpu=$(taskset -cp $$ | sed -E 's/.*[ ,-]//')
    expect 0 "$SPROF" record --cpu "$cpu" -o t.db -- taskset -c "$cpu" ./spins 200
    fits t.db spins 200
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE cpu NOT IN ($cpu, -1)") == 0" "no other CPU"
}

# What CPUs were idle, by a /proc/stat of known growth: 0.7 s on one, out of every base, and there where it is asked for.
idle() {
    local cpu
    cpu=$(cut -d- -f1 /sys/devices/system/cpu/online | cut -d, -f1)
    printf 'cpu  1 0 1 100 0 0 0 0 0 0\ncpu%s 1 0 1 100 5 0 0 0 0 0\n' "$cpu" >stat
    printf 'cpu  1 0 1 160 0 0 0 0 0 0\ncpu%s 1 0 1 160 15 0 0 0 0 0\n' "$cpu" >grown
    unshare -m true || skip "no mount namespace can be made"
    # shellcheck disable=SC2016
    expect 0 unshare -m sh -c 'mount --bind stat /proc/stat && "$1" record -a -m pc -o t.db -- sh -c "sleep 0.1; cat grown >stat; sleep 0.1"' sh "$SPROF"
    [ "$(sql t.db "SELECT sum(s.weight), max(s.cpu), count(DISTINCT s.thread_id), max(p.name) FROM sample s JOIN event e ON e.id = s.event_id
        JOIN thread t ON t.id = s.thread_id JOIN process p ON p.id = t.process_id WHERE e.name = 'idle'")" = "700000000|$cpu|1|[idle]" ] ||
        fail "the idle time is not what /proc/stat shows"
    [ "$(sql t.db "SELECT DISTINCT leaf FROM v_sample WHERE event = 'idle'")" = '[idle]' ] || fail "idle time has another name"
    "$SPROF" report -i t.db --by cpu,function --format csv | grep -q '\[idle\]' && fail "idle time is in a base"
    "$SPROF" report -i t.db --by event --format csv | grep -q ',idle' && fail "idle time is in the base of events"
    "$SPROF" report -i t.db --idle --by function,cpu --format csv -n 0 | grep -q "700000000.*\[idle\].*,$cpu" || fail "no row of the idle time"
    "$SPROF" report -i t.db --idle --by state --format csv | grep -q ',idle' || fail "no state of the idle time"
    "$SPROF" report -i t.db --event idle --format csv | grep -q '\[idle\]' || fail "no event of the idle time"
}

# How long threads wait, of all that runs: of what began before, what is launched, and not of the kernel's threads.
waits() {
    run "$SPROF" record --off-cpu -o t.db -- true
    [ "$status" = 0 ] || skip "waits cannot be measured here: $(head -n1 err)"
    cp "$(command -v sleep)" waits_before && cp "$(command -v sleep)" waits_launched
    start ./waits_before 100000
    wait_until 60 run_all waits_before "$child"
    expect 0 "$SPROF" record -a -m pc --off-cpu=1ms -o t.db -- ./waits_launched 0.5
    waited() { sql t.db "SELECT coalesce(sum(s.weight), 0) / 1e9 FROM sample s JOIN event e ON e.id = s.event_id JOIN thread t ON t.id = s.thread_id
        JOIN process p ON p.id = t.process_id WHERE e.name GLOB 'off-cpu:*' AND e.name <> 'off-cpu:ready' AND p.name GLOB '$1'"; }
    local passed
    passed=$(sql t.db 'SELECT duration_ns / 1e9 FROM run')
    holds "$(waited waits_launched) >= 0.49 && $(waited waits_launched) <= $passed + 2" "the wait of what was launched, in $passed s"
    holds "$(waited waits_before) >= 0.49 && $(waited waits_before) <= $passed + 2" "the wait of what began before, in $passed s"
    holds "$(waited 'kworker*') == 0 && $(waited 'rcu*') == 0" "no waits of the kernel's threads"
    expect 2 "$SPROF" record --user root --off-cpu -- true
    said 'cannot choose by CPU'
}

# Threads of the kernel, at a tracepoint, which no program in the kernel filters.
kernel_threads() {
    local thread
    expect 0 "$SPROF" record -a -m pc -e cpu-clock,sched:sched_switch -o t.db -- sh -c 'sync; sleep 0.2'
    thread=$(sql t.db "SELECT count(*) FROM sample s JOIN thread t ON t.id = s.thread_id JOIN process p ON p.id = t.process_id
        WHERE p.pid = 2 OR p.name LIKE 'kworker%' OR p.name LIKE 'rcu%' OR p.name LIKE 'ksoftirqd%'")
    holds "$thread > 0" "samples of the kernel's threads"
}

# run_all NAME PID…: processes have begun the program of that name.
run_all() {
    local name=$1 pid
    shift
    for pid; do
        [ "$(cat "/proc/$pid/comm")" = "$name" ] || return
    done
}

# Programs of some milliseconds in a root directory of their own: most have ended before their files are opened.
another_root() {
    cat >starts.c <<'END'
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    char name[32], *child[] = {name, "3", NULL}, *none[] = {NULL};
    pid_t pid;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "/below/%d/short", i);
        if (posix_spawn(&pid, name, NULL, NULL, child, none) || waitpid(pid, NULL, 0) < 0)
            return 1;
    }
    return sleep(2) + (count && !arguments[0]);
}
END
    mkdir -p root/below
    gcc -static -O1 -Wl,--build-id=none -o root/starts starts.c && gcc -static -O1 -Wl,--build-id=none -o short spins.c ||
        skip "no static library of C"
    for i in $(seq 0 39); do
        mkdir "root/below/$i" && cp short "root/below/$i/short"
    done
    expect 0 "$SPROF" record --match short -o t.db -- chroot root /starts
    local whole all
    whole=$(sql t.db "SELECT count(*) FROM v_sample WHERE module = 'short' AND end_reason = 'root'")
    all=$(sql t.db "SELECT count(*) FROM v_sample WHERE module = 'short'")
    holds "$all > 0 && $whole > 0.85 * $all" "$whole of $all stacks are whole"
}

# In a pid namespace of its own sprof sees what runs outside, and not what it is.
enclosed() {
    unshare -pf --mount-proc true || skip "no pid namespace can be made"
    cp spins outside && cp spins within
    start ./outside 100000
    wait_until 60 run_all outside "$child"
    expect 0 unshare -pf --mount-proc "$SPROF" record -a -o t.db -- sh -c './within 100; sleep 0.3'
    said '% of the samples are of processes outside this container'
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE process = '[outside the container]'") > 0" "samples of what is outside"
    holds "$(sql t.db "SELECT count(DISTINCT id) FROM process WHERE pid = 0") == 1" "one process outside"
    holds "$(sql t.db "SELECT count(*) FROM process WHERE pid < 0 AND name <> '[idle]'") == 0" "idle time of its own"
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE process = '[outside the container]'
        AND module NOT IN ('[unknown]', '[kernel]', '[none]') AND module NOT GLOB '*.ko'") == 0" "no code of what is outside"
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE process = 'within' AND leaf = 'spin_here'") > 0" "names of what is within"
}

# Attaching by name takes all that run.
by_name() {
    cp spins named
    start ./named 100000
    start ./named 100000
    wait_until 60 run_all named "${children[@]}"
    expect 0 "$SPROF" record -p named --duration 300ms -o t.db
    said "attached to [0-9]+ named, [0-9]+ named"
    holds "$(sql t.db "SELECT count(*) FROM process WHERE name = 'named'") == 2" "both"
}

# Pauses, modes and rates change as for one program.
control() {
    cp spins steady
    start ./steady 100000
    expect 0 "$SPROF" record -a -m app --paused -o t.db -- sh -c "sleep 0.3; '$SPROF' ctl start && sleep 0.3 &&
        '$SPROF' ctl mode pc && sleep 0.3 && '$SPROF' ctl rate 200 && sleep 0.3 && '$SPROF' ctl stop"
    holds "$(sql t.db 'SELECT count(*) FROM sample') > 20" "samples"
    holds "$(sql t.db 'SELECT count(*) FROM phase') >= 3" "phases"
    holds "$(sql t.db 'SELECT count(*) FROM run WHERE target_cpu_ns > (duration_ns + 20000000) * cpus') == 0" "CPU time of pauses"
}

"$1"
