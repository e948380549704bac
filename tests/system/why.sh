#!/bin/bash
# sprof why names what was planted, and nothing where nothing was.
#   why.sh CASE
. "$(dirname "$0")/lib.sh"
program=$PROGRAMS/culprit

# answer FILTER: a value of the last answer in JSON.
answer() {
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    value = value.get(key) if isinstance(value, dict) else None
print(value)' out "$1"
}

# begin ARGUMENT…: the program in the background, once the shell that begins it has become it.
begin() {
    "$program" "$@" &
    children+=($!)
    wait_until 60 test "/proc/$!/exe" -ef "$program"
}

# asks ARGUMENT…: an answer. Where other programs take the program's CPUs, that is the right answer, or there is too little for
# one in the time of a look: it is asked again.
asks() {
    local round status
    for round in 1 2 3 4 5; do
        "$SPROF" why --format json "$@" >out 2>err
        status=$?
        [ $status = 0 ] && [ "$(answer answer)" != starved ] && return
        [ $status = 0 ] || [ $status = 3 ] || fail "status $status"
    done
    [ $status = 0 ] || fail "status $status"
}

# looks KIND [ROUNDS]: the answer about a program with that culprit, which works so many times as long.
looks() {
    needs_root "waits are measured by BPF"
    asks -- "$program" "$@"
    [ "$(answer sees)" = states ] || skip "waits are not measured here: $(cat err)"
}

# is_next FUNCTION CAUSE: one of the next ones in the answer is.
is_next() {
    python3 -c 'import json, sys
assert any([one["function"], one["cause"]] == sys.argv[1:] for one in json.load(open("out"))["next"])' "$1" "${2/computing/cpu}"
}

# names FUNCTION CAUSE: that is the answer, or stands below the answer that there is no CPU.
names() {
    if [ "$(answer answer)" = starved ]; then
        is_next "$@" || fail "$1 is not named below"
        exit 0 # what else an answer holds is not in this one
    fi
    [ "$(answer answer)" = function ] || fail "no function is named"
    [ "$(answer function)" = "$1" ] || fail "not $1"
    [ "$(answer cause)" = "$2" ] || fail "not $2"
}

case $1 in
loop)
    looks loop
    names apply_rule computing
    ;;
sleep)
    looks sleep
    names ask_backend sleep
    ;;
lock)
    looks lock
    names store_row lock
    [ "$(answer lock)" = mutex ] || fail "the lock has no name"
    "$SPROF" report -i why.db --event off-cpu --by lock,holder --format csv | grep -q mutex || fail "the command for the lock shows another"
    [ "$(answer holder.function)" = rebuild_index ] || fail "another holder"
    ;;
# The program's own function is named that a compiler put into one of the C++ library.
inlined)
    needs_root "waits are measured by BPF"
    command -v g++ >/dev/null || skip "g++ is missing: apt-get install g++"
    cat >ledger.cc <<'END'
#include <mutex>
#include <thread>
#include <vector>
namespace shop {
struct Ledger {
    std::mutex mutex;
    unsigned long sum = 0;
    void book(unsigned amount)
    {
        std::lock_guard<std::mutex> hold(mutex);
        for (unsigned i = 0; i < 20000; i++)
            sum += sum * i + amount;
    }
};
}
int main()
{
    shop::Ledger ledger;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&ledger, i] { for (unsigned k = 0; k < 8000; k++) ledger.book(k + i); });
    for (auto &thread : threads)
        thread.join();
    return ledger.sum == 1;
}
END
    g++ -O2 -g -pthread -o ledger ledger.cc || fail "g++"
    "$SPROF" why --format json -- ./ledger >out 2>err || fail "status $?"
    [ "$(answer sees)" = states ] || skip "waits are not measured here: $(cat err)"
    # The sentence of the first screen is there where most of the time is waiting.
    "$SPROF" report -i why.db >screen 2>err || fail "no report"
    waiting=$(sql why.db "SELECT sum(CASE WHEN state = 'waiting' THEN weight ELSE 0 END) * 100.0 / sum(weight) FROM v_sample")
    awk -v waiting="$waiting" 'BEGIN { exit waiting >= 60 }' || grep -q "for a lock in shop::Ledger::book" screen ||
        fail "the first screen, of $waiting % waiting: $(cat screen)"
    names shop::Ledger::book lock
    ;;
malloc)
    looks malloc
    names copy_rows allocation
    ;;
thread)
    looks thread
    names apply_rule computing
    [ "$(answer only_thread.name)" = culprit ] || fail "no thread is named"
    ;;
flat)
    looks flat 5 # the start, which is much of a tenth of a second, is none of this
    [ "$(answer answer)" = flat ] || fail "something is named"
    ;;
idle)
    looks idle
    [ "$(answer answer)" = idle ] || fail "it is not idle"
    ;;

# The kept recording gives the same answer, and the command under "evidence" prints the figure.
evidence)
    looks loop
    for round in 1 2 3 4 5; do
        "$SPROF" why -o kept.db --overwrite -- "$program" loop >first 2>err || fail "status $?"
        head -1 first | grep -q "^▶ It has no CPU" || break
    done
    head -1 first | grep -q "^▶ apply_rule computes" || fail "another first line: $(head -1 first)"
    "$SPROF" why -i kept.db >second || fail "the recording has no answer"
    cmp -s <(grep -v -e samples -e machine: first) <(grep -v -e samples -e machine: second) || fail "another answer: $(diff first second)"
    "$SPROF" why -i kept.db --format json >out || fail "no JSON"
    time_ns=$(answer time_ns)
    command=$(sed -n 's/.* of apply_rule, running: sprof //p' second)
    [ -n "$command" ] || fail "no command"
    "$SPROF" $command --format csv >rows || fail "the command does not run"
    python3 - "$time_ns" <<'END' || fail "the command prints another time"
import csv, sys
rows = [row for row in csv.DictReader(open("rows")) if row["function"] == "apply_rule" and row["wait"] == "running"]
shown = [float(row["exclusive_weight"]) for row in rows]
assert shown == [float(sys.argv[1])], (shown, sys.argv[1])
END
    ;;

# Slow calls: what takes their time, and the value that they have in common; of a command and of a process.
slow)
    needs_root "waits are measured by BPF"
    is_explained() {
        [ "$(answer function)" = give_discount ] || fail "$1: another function: $(cat out)"
        [ "$(answer slow.name)$(answer slow.condition)$(answer slow.value)" = shop=42 ] || fail "$1: another value"
        grep -q '"headline": *"Slow calls of serve_shop are slow because give_discount computes, when shop = 42"' out || fail "$1: another first line"
    }
    "$SPROF" why --slow '^serve_shop$' --format json -- "$program" slow 2 >out 2>err || fail "status $?"
    is_explained "a command"
    [ "$(answer slow.slow)" = 24 ] || fail "other slow calls"
    "$SPROF" why -i why.db --slow '^serve_shop$' --format json >out || fail "no answer from the recordings"
    is_explained "its recordings"
    "$SPROF" why -i why.db --slow '^serve_shop$,over 10s' >out || fail "no answer with a limit"
    grep -q "^▶ No calls of serve_shop are slow: of 1.200, half take at most " out || fail "slow calls: $(cat out)"
    begin slow 300
    # A look in which it has a CPU for a short time holds too few slow calls.
    for seconds in 2 4 8 16; do
        "$SPROF" why -p ${children[-1]} --slow '^serve_shop$,over 3ms' --seconds $seconds --overwrite --format json >out 2>err
        status=$?
        [ $status = 0 ] && [ "$(answer slow.slow)" -ge 12 ] && break
    done
    [ $status = 0 ] || fail "status $status"
    is_explained "a process"
    "$SPROF" report -i why.db.slow --kept --format csv >rows || fail "no recording of the calls"
    grep -q 'serve_shop.*shop = 42' rows || fail "no such call"
    "$SPROF" why -p ${children[-1]} --slow '^serve_shopp$' >out 2>err && fail "no such function"
    grep -q -- "--slow .*near it: serve_shop" err || fail "no cure: $(cat err)"
    kill "${children[-1]}"
    cat >talks.c <<'END'
#include <stdio.h>
__attribute__((noinline)) int talk(int i) { return puts("to the terminal") + i; }
int main(void) { return talk(1) < 0; }
END
    gcc -O1 -g talks.c -o talks || fail "no compiler"
    "$SPROF" why --slow '^talk$' -- ./talks >out 2>err
    ! grep -q "to the terminal" out && grep -q "to the terminal" err || fail "the command writes into the answer: $(cat out err)"
    ;;

# Reasons that lie between threads or processes, or where a program starts.
rotate | readers | pool | inversion | straggler | semaphore | processes | start | churn | pages)
    program=$PROGRAMS/bottleneck
    case $1 in
    inversion) looks "$1" 300 ;;
    rotate | readers) looks "$1" 600 ;; # more looks at holders
    *) looks "$1" ;;
    esac
    case $1 in
    rotate)
        names write_journal lock
        [ "$(answer holder.function)" = append_entry ] || fail "another holder"
        ;;
    readers) names find_row lock ;;
    inversion)
        names answer_urgently lock
        [ "$(answer holder.function)" = write_statistics ] || fail "another holder"
        ;;
    processes | churn) names apply_rule computing ;;
    pool)
        ! is_next pool sleep 2>err || fail "the pause between jobs is taken for work"
        names apply_rule computing
        ;;
    straggler) # the others wait for what it computes
        case $(answer function) in
        wait_for_all) names wait_for_all barrier ;;
        *) names apply_rule computing ;;
        esac
        ;;
    semaphore) names take_connection semaphore ;;
    start) names read_settings computing ;;
    pages) # a hypervisor may handle page faults, which are computing then
        [ "$(answer answer)" = starved ] || [ "$(answer function)" = fill_buffer ] || fail "not fill_buffer"
        ;;
    esac
    ;;

# A running process, and what the command writes.
attached)
    begin loop 50
    asks -p ${children[-1]} --seconds 1
    [ -s why.db ] || fail "no recording is kept"
    names apply_rule computing
    [[ $(answer headline) = "apply_rule computes"* ]] || fail "another first line"
    ;;

# Threads that wait for each other for ever: waits that are over at no time of the look.
hangs)
    needs_root "waits are measured by BPF"
    cat >hangs.c <<'END'
#include <pthread.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, orders = PTHREAD_MUTEX_INITIALIZER;
static volatile int moved;
NI void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    usleep(200000);
    pthread_mutex_lock(second);
    moved++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}
NI void move_stock(void) { both(&stock, &orders); moved++; }
NI void bill_order(void) { both(&orders, &stock); moved++; }
static void *moves(void *none) { for (;;) move_stock(); return none; }
static void *bills(void *none) { for (;;) bill_order(); return none; }
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, moves, 0);
    pthread_create(&threads[1], 0, bills, 0);
    pthread_join(threads[0], 0);
    return 0;
}
END
    cc -O2 -g -pthread hangs.c -o hangs || fail "no program"
    ./hangs &
    children+=($!)
    switches() { cat /proc/${children[-1]}/task/*/status 2>/dev/null | grep ctxt_switches; }
    waiting() {
        local before
        before=$(switches)
        sleep 0.7 # longer than each holds its first lock
        [ "$(echo "$before" | wc -l)" = 6 ] && [ "$(switches)" = "$before" ]
    }
    wait_until 60 waiting
    "$SPROF" why --format json -p ${children[-1]} >out 2>err || fail "status $?: $(cat out err)"
    [ "$(answer sees)" = states ] || skip "waits are not measured here: $(cat err)"
    [ "$(answer answer)" = function ] && [ "$(answer cause)" = lock ] || fail "no wait for a lock: $(cat out)"
    ;;

# Of a small function the caller is named that calls it so often: probes count the calls.
many)
    begin many 100
    # Calls are counted for a part of a second, in which it may have had no CPU.
    for round in 1 2 3 4 5; do
        rm -f why.db.calls
        asks -p ${children[-1]} --seconds 1
        orders=$([ ! -e why.db.calls ] || sql why.db.calls "SELECT calls FROM v_call_stats WHERE function = 'plan_order'")
        [ "${orders:-0}" -ge 3 ] && break
    done
    [ "${orders:-0}" -ge 3 ] || fail "${orders:-no} calls of plan_order are counted: $(cat err)"
    names read_item computing
    [ "$(answer calls.by)" = plan_order ] || fail "another caller: $(cat err)"
    # The first and the last of these calls may have been counted in part.
    python3 -c 'import json, sys; calls, orders = json.load(open("out"))["calls"], int(sys.argv[1])
assert calls["many_by"] == "plan_order" and calls["many_of"] == "read_item", calls
assert 20000 * (orders - 1) <= calls["many_each"] * orders + 1 and calls["many_each"] * orders - 1 <= 20000 * (orders + 1), (calls, orders)' "$orders" ||
        fail "other counts"
    "$SPROF" report -i why.db.calls --edges --format csv >rows || fail "no recording of the counts"
    grep -q '"*plan_order"*,.*read_item' rows || fail "no such call: $(cat rows)"
    rm -f why.db.calls
    asks -p ${children[-1]} --seconds 1 --no-probes
    [ ! -e why.db.calls ] && [ "$(answer calls)" = None ] || fail "probes were put in"
    names read_item computing
    [[ $(answer headline) = "read_item computes"* ]] || fail "another first line"
    ;;

# Without the right to BPF, samples by time show that threads wait, and the functions on their stacks what for.
user)
    prepare_ordinary_user culprit
    cd "$work/home" || fail "no directory"
    "${as_ordinary_user[@]}" "$user_sprof" why --format json -- "$work/user/culprit" sleep >out 2>err || fail "status $?"
    [ "$(answer sees)" = wall ] || fail "not by samples of time"
    names ask_backend sleep
    ;;

# An interpreter is named where functions of its script have no names.
interpreter)
    command -v perl >/dev/null || skip "perl is missing: apt-get install perl"
    "$SPROF" why -o script.db -- perl -e 'my $s = 0; for my $i (1 .. 40000000) { $s += $i * $i % 7 } print $s' >out 2>err || fail "status $?"
    grep -q 'note: perl is an interpreter, and functions of its script have no names here' out || fail "no note"
    ;;

usage)
    expect() { # expect STATUS TEXT ARGUMENTS…
        local status=$1 text=$2
        shift 2
        "$SPROF" why "$@" >out 2>err
        [ $? = "$status" ] || fail "sprof why $*: not status $status"
        grep -q -e "$text" err || fail "sprof why $*: no '$text'"
    }
    expect 2 "nothing to look at"
    expect 2 "give one of them" -p $$ -- true
    expect 2 "looks at no program" -i a.db -- true
    expect 2 "looks at no program" -i a.db --seconds 3
    expect 2 "belongs to -p" --children -- true
    expect 2 "belongs to -p" --no-probes -- true
    expect 2 "leave out --no-probes" -p $$ --slow work --no-probes
    expect 2 "write an expression" -p $$ --slow ""
    expect 2 "not a format of this command" --format csv -- true
    expect 1 "does not exist" -p 99999999
    expect 1 "a.db" -i a.db
    expect 127 "command not found" -- ./not-there
    "$SPROF" record -o empty.db -- true 2>err || fail "no recording"
    "$SPROF" why -i empty.db >out 2>err
    [ $? = 3 ] || fail "a recording with too little: not status 3"
    grep -q "^▶ " out || fail "no first line"
    # That waits were measured shows also where none came.
    if "$SPROF" record --off-cpu -o short.db -- true 2>err; then
        "$SPROF" why -i short.db --format json >out
        [ "$(answer sees)" = states ] || fail "waits of a short program are not seen"
    fi
    # A program that waits, of which only its work was recorded.
    "$SPROF" record -e cpu-clock -o works.db -- "$program" sleep 2>err || fail "no recording"
    "$SPROF" why -i works.db >out 2>err
    [ $? = 3 ] || fail "waits that were not recorded: not status 3"
    grep -q '^▶ It waits, or has no CPU, for .* look by `sprof why`' out || fail "waits that were not recorded: $(head -1 out)"
    "$SPROF" why -- sh -c 'echo to the terminal; exit 5' >out 2>err
    grep -q "to the terminal" out && fail "the command writes into the answer"
    grep -q "to the terminal" err || fail "the command's output is lost"
    grep -q "ended with status 5" err || fail "the command's status is not said"
    ;;
*) fail "no case $1" ;;
esac
