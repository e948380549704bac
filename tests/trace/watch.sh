#!/bin/bash
# sprof watch: programs are traced that start while it runs.
#   watch.sh starts | refused
set -u
. "$(dirname "$0")/lib.sh"

# until_said TEXT COUNT: the watch and its traces have said it so often.
until_said() {
    for ((i = 0; i < 60 * 20; i++)); do
        [ "$(grep -c -e "$1" notes)" -ge "$2" ] && return
        kill -0 "$watch" 2>/dev/null || fail "the watch has ended: $(cat notes)"
        sleep 0.05
    done
    fail "waited in vain for '$1': $(cat notes)"
}

start_watch() { # OPTION…
    : >notes # not those of the watch before
    "$SPROF" watch --config options.ini -o d "$@" 2>notes &
    watch=$!
    children+=("$watch")
    for ((i = 0; i < 60 * 20; i++)); do
        grep -q "traced as they start" notes && return
        kill -0 "$watch" 2>/dev/null || break
        sleep 0.05
    done
    grep -q "from outside of containers" notes && skip "$(cat notes)"
    fail "no watch: $(cat notes)"
}

end_watch() {
    kill -INT "$watch"
    wait "$watch" || fail "the watch: status $?: $(cat notes)"
}

case $1 in
# Two processes of one program are traced, with a recording each; another program is not, and no third one.
starts)
    needs_root "the kernel reports programs to root"
    cat >worker.c <<'C'
#include <unistd.h>
__attribute__((noinline)) void work(void) { usleep(1000); }
int main(void)
{
    while (access("end", F_OK))
        work();
    return 0;
}
C
    gcc -O1 -g worker.c -o worker || fail "no C compiler"
    cp worker other
    printf '[program work?r]\nfunction = ^work$\n[program nothing]\npaths\n' >options.ini
    start_watch --at-once 2
    ./other &
    children+=($!)
    ./worker &
    first=$!
    ./worker &
    second=$!
    children+=("$first" "$second")
    until_said "1 probe is in process" 2
    ./worker &
    children+=($!)
    until_said "is not traced: there are 2 already" 1
    touch end
    wait "$first" "$second" || fail "a program: status $?"
    for pid in "$first" "$second"; do
        for ((i = 0; i < 60 * 20; i++)); do
            "$SPROF" stats -i "d/worker.$pid.db" --format csv >stats.csv 2>/dev/null && grep -qw work stats.csv && break
            sleep 0.05
        done
        [ "$(tail -n +2 stats.csv | wc -l)" = 1 ] || fail "no calls of process $pid: $(cat notes)"
    done
    end_watch
    [ "$(ls d/*.db)" = "$(printf 'd/worker.%s.db\n' "$first" "$second" | sort)" ] || fail "other recordings: $(ls d)"
    grep -q "2 processes traced; 1 not, for there were too many at once" notes || fail "another end: $(cat notes)"
    # A watch that ends ends its traces, and the program goes on.
    rm end
    start_watch
    ./worker &
    first=$!
    children+=("$first")
    until_said "1 probe is in process" 1
    end_watch
    kill -0 "$first" || fail "the program has ended"
    "$SPROF" stats -i "d/worker.$first.db" >out 2>err || fail "no recording: $(cat notes)"
    touch end
    wait "$first" || fail "the program: status $?"
    ;;
refused)
    expect 2 "$SPROF" watch
    grep -q -e "--config FILE" err || fail "no cure"
    expect 1 "$SPROF" watch --config nosuch.ini
    printf '[module libc*]\nprobes = never\n' >empty.ini
    expect 2 "$SPROF" watch --config empty.ini
    grep -q "empty.ini names no program: write a section" err || fail "no cure"
    printf '[program *]\n\nfuction = x\n' >wrong.ini
    expect 2 "$SPROF" watch --config wrong.ini
    grep -q 'wrong.ini:3: unknown option `fuction`: did you mean `function`' err || fail "another message: $(cat err)"
    ;;
*) fail "no case $1" ;;
esac
