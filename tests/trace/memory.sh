#!/bin/bash
# sprof trace --memory: where figures would take more, percentiles go first, then functions that a thread calls for the first
# time are only counted; calls stay exact, and what was given up is said.
#   memory.sh cleared | given_up | lifted | held | log | bad
set -u
. "$(dirname "$0")/../system/lib.sh"

# Functions fill pages: 32 threads that call all 400 of them take 5 MB, and 2 without percentiles. With each line that the
# program reads there are 32 threads more, and all there are call all functions ten times; or all end, and later ones are named.
{
    echo '#define _GNU_SOURCE'
    echo '#include <pthread.h>'
    echo '#include <stdio.h>'
    for ((i = 0; i < 400; i++)); do
        echo "__attribute__((noinline)) long f$i(long n) { __asm__ volatile(\"nop; nop; nop; nop; nop\" : \"+r\"(n)); return n + $i; }"
    done
    echo 'static long (*const all[])(long) = {'
    for ((i = 0; i < 400; i++)); do echo "f$i,"; done
    cat <<'END'
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int threads, turn, done, is_over, is_late;
static void *work(void *first)
{
    long sum = 0;
    if (is_late)
        pthread_setname_np(pthread_self(), "late");
    for (int mine = (int)(long)first;; mine++) {
        pthread_mutex_lock(&mutex);
        while (turn < mine)
            pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        if (is_over)
            return first;
        for (int k = 0; k < 10; k++)
            for (int i = 0; i < 400; i++)
                sum += all[i](k);
        pthread_mutex_lock(&mutex);
        done += 1 + (sum == 1);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
}
int main(void)
{
    static pthread_t all_threads[1000];
    char line[80];
    while (fgets(line, sizeof line, stdin)) {
        is_over = line[0] == 'e';
        for (int i = 0; i < 32 && !is_over; i++, threads++)
            pthread_create(&all_threads[threads], 0, work, (void *)(long)(turn + 1));
        pthread_mutex_lock(&mutex);
        done = 0;
        turn++;
        pthread_cond_broadcast(&changed);
        while (done < threads && !is_over)
            pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        for (; threads && is_over; is_late = 1)
            pthread_join(all_threads[--threads], 0);
        puts("called");
        fflush(stdout);
    }
    return 5;
}
END
} >program.c
gcc -O1 -pthread program.c -o program || fail "no compiler"

# traced OPTION…: the program runs, and reads what is written to descriptor 7.
traced() {
    rm -f to && mkfifo to
    "$SPROF" trace -o t.db "$@" --function '^f[0-9]' -- ./program <to >got 2>err &
    recorder=$!
    children+=("$recorder")
    exec 7>to
}

# rounds N [end]: the N-th, in which there are 32 threads more, or all end.
rounds() {
    echo "${2:-more}" >&7
    wait_until 60 eval "[ \"\$(wc -l <got)\" -ge $1 ]"
}

ended() {
    exec 7>&-
    wait "$recorder"
    [ $? = 5 ] || fail "other exit status than untraced"
}

# Each of the functions was called so often, in all.
exact() {
    [ "$(sql t.db "SELECT count(*) FROM v_call_stats WHERE function GLOB 'f[0-9]*' AND calls = $1")" = 400 ] ||
        fail "not $1 calls of each: $(sql t.db 'SELECT function, calls FROM v_call_stats LIMIT 3')"
}

# All functions were timed in a thread that came later.
timed_late() {
    [ "$(sql t.db "SELECT count(DISTINCT c.node_id) FROM call_cost c JOIN thread t ON t.id = c.thread_id WHERE t.name = 'late' AND
        c.calls = 10 AND c.counted = 0")" = 400 ]
}

case $1 in
cleared)
    # What was given up stays so after a clear, and so do the rows that say it.
    traced --memory 1M
    rounds 1
    wait_until 60 grep -q 'is only counted from now on' err
    rounds 2
    "$SPROF" ctl -i t.db clear >out || fail "not cleared"
    rounds 3
    ended
    [ "$(sql t.db "SELECT count(*) > 0 FROM v_probe_event WHERE what = 'timed' AND cause = 'room'")" = 1 ] ||
        fail "no row says that percentiles are given up"
    [ "$(sql t.db "SELECT count(DISTINCT function) FROM v_probe_event WHERE what = 'counted' AND cause = 'room'")" = 400 ] ||
        fail "no row for each that is only counted"
    exact 960
    expect 0 "$SPROF" stats t.db
    grep -q 'to hold --memory no percentiles from' out || fail "stats do not say it"
    ;;
given_up)
    traced --memory 1M
    rounds 1
    wait_until 60 grep -q 'percentiles are given up' err
    wait_until 60 grep -q 'is only counted from now on' err
    rounds 2
    rounds 3
    ended
    exact 1920
    # At least what the threads of the second and third round called found no room of its own: it is counted without them.
    # Threads of the first, which have room, go on being timed.
    [ "$(sql t.db "SELECT count(*) FROM v_call_stats WHERE function GLOB 'f[0-9]*' AND counted BETWEEN 960 AND 1919 AND max_ns > 0
        AND p50_ns IS NULL")" = 400 ] || fail "what is only counted: $(sql t.db 'SELECT function, calls, counted, p50_ns FROM v_call_stats LIMIT 3')"
    [ "$(sql t.db "SELECT count(DISTINCT function) FROM v_probe_event WHERE what = 'counted' AND cause = 'room'")" = 400 ] ||
        fail "no row for each that is only counted"
    grep -q 'to hold --memory there are no percentiles from' err || fail "the end does not tell it"
    grep -q '[0-9]* calls of 400 functions were only counted' err || fail "the end does not tell what is only counted"
    "$SPROF" stats -i t.db >out 2>err || fail "no stats"
    grep -q 'to hold --memory no percentiles from' out || fail "stats do not say that there are none"
    grep -q 'only counted for lack of room (in --memory' out || fail "stats do not say what is counted"
    ;;
lifted)
    # When threads have ended there is room again: those that come then are timed.
    traced --memory 1M
    rounds 1
    wait_until 60 grep -q 'is only counted from now on' err
    rounds 2 end
    wait_until 60 grep -q 'less than --memory allows again' err
    rounds 3
    # Threads have names while they live: sprof has to see them.
    wait_until 60 timed_late
    ended
    exact 640
    ;;
held)
    # There is enough of it: nothing is given up.
    traced --memory 64M
    rounds 1
    rounds 2
    ended
    exact 960
    [ "$(sql t.db "SELECT count(*) FROM v_call_stats WHERE function GLOB 'f[0-9]*' AND p50_ns > 0 AND counted = 0")" = 400 ] ||
        fail "no percentiles"
    ! grep -q -- '--memory' err || fail "something was given up"
    ;;
log)
    # What is only counted is not in the log, and is said not to be; paths keep to the pages there are.
    traced --memory 1M --mode log
    rounds 1
    wait_until 60 grep -q 'is only counted from now on' err
    rounds 2
    ended
    exact 960
    sed -n 's/^sprof: \([0-9 ]*\) calls written down, \([0-9 ]*\) not, for lack of room.*/\1,\2/p' err | tr -d ' ' | tr , ' ' |
        awk '{ exit !($1 + $2 == 384000 && $2 >= 128000 && $1 > 0) }' || fail "the log: $(tail -n 2 err)"
    traced --memory 1M --paths
    rounds 1
    wait_until 60 grep -q 'is only counted from now on' err
    rounds 2
    ended
    exact 960
    ;;
bad)
    for value in 0 1K x '' -1 1X; do
        expect 2 "$SPROF" trace -o t.db --memory "$value" -- ./program
        said 'memory .*: not a size from 1M to 1024G'
    done
    expect 2 "$SPROF" trace -o t.db --backend uprobe --memory 2M -- ./program && said 'memory needs the agent'
    ;;
*) fail "no such case" ;;
esac
