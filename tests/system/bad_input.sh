#!/bin/bash
# What users, kernels and files do wrong: the message and the exit status of each, and nothing is lost.
#   bad_input.sh CASE
. "$(dirname "$0")/lib.sh"

# A recording that must survive what follows.
keep() {
    printf 'main;work 3\n' >good.folded
    expect 0 "$SPROF" import --folded good.folded -o sprof.db
    sha256sum sprof.db >kept
}
kept() {
    sha256sum -c kept >/dev/null 2>&1 || fail "the recording that was there has changed or gone"
}

usage() {
    local cases=0 wanted
    while IFS='|' read -r arguments wanted; do
        expect 2 "$SPROF" $arguments
        said_only "$wanted"
        [ ! -s out ] || fail "a usage error on standard output: $arguments"
        cases=$((cases + 1))
    done <<'END'
|no command given
recrod|did you mean .sprof record
help recrod|did you mean .sprof help record
help frobnicate|sprof help. lists
frobnicate|sprof --help
record|nothing to record
record -p 1 -- true|give one of them
record -p 1 -t 1|give one of them
record -a -p 1|give one of them
record --cpu 0 -p 1|give one of them
record --all-cpus -t 1|give one of them
record -a -F 100 -c 1000|exclude each other
record --source sigprof -a|the SIGPROF agent samples a command
record -p one|not a process id
record --mdoe pc true|did you mean --mode
record -m whole true|choose pc, full or app
record --frame app true|-m pc
record --app-interior drop true|-m app
record -F 100 -c 1000 true|exclude each other
record -F 0 true|whole number
record -F|-F HZ
record --duration 10x true|10s
record --stack-bytes lots true|64K
record -e no-such-event true|no-such-event
record -e cpu-clock,page-fauts true|near it: page-faults
report --callers a --callees b|one table
report --frame app|--mode pc
report --min-percent 200|0 to 100
report --interval 1s|--follow
report stray other|one recording
sql a b c|quotes
import|standard input
import -f wat x|pprof, perf-script, folded
import a b|one input
script --format xml|text, csv, json
END
    [ "$cases" = 35 ] || fail "$cases cases"
    [ ! -e sprof.db ] || fail "a usage error made a recording"
}

help() {
    for command in record report script sql import symbolize unwind-replay; do
        expect 0 "$SPROF" $command --help
        grep -q "^Usage: sprof $command" out || fail "no usage"
        [ ! -s err ] || fail "help on standard error"
        expect 0 "$SPROF" --help
        grep -q "^  $command " out || fail "$command is not listed"
    done
    expect 0 "$SPROF" --version
    grep -qE '^sprof [0-9]+\.[0-9]+' out || fail "no version"
}

command_missing() {
    keep
    expect 127 "$SPROF" record -- no-such-program
    said_only 'no-such-program'
    kept
    expect 127 "$SPROF" record -- ./no/such/program
    said_only 'no/such/program'
    kept
    for more in trace "record --source sigprof"; do
        expect 127 "$SPROF" $more -- ./no/such/program
        kept
    done
    [ ! -e sprof.db.old.1 ] || fail "the recording was moved away"
}

command_not_executable() {
    keep
    echo text >file
    expect 126 "$SPROF" record -- ./file
    said_only 'chmod \+x|not executable'
    kept
    chmod +x file
    mkdir directory
    expect 126 "$SPROF" record -- ./directory
    said_only directory
    kept
    printf '\177ELF\nexit 9\n' >foreign
    chmod +x foreign
    expect 126 "$SPROF" record -- ./foreign
    said_only 'foreign: not executable on this system'
    kept
    mkfifo pipe
    for command in record trace; do
        for mode in -x +x; do
            chmod $mode pipe
            expect 126 timeout 60 "$SPROF" $command -- ./pipe
            said_only 'pipe: not executable'
            kept
        done
    done
}

process_missing() {
    keep
    expect 1 "$SPROF" record -p 4194300
    said_only 'no process|4194300'
    expect 1 "$SPROF" record -t 4194300
    said_only 4194300
    kept
}

process_zombie() {
    keep
    # The child ends when its parent is no shell any more, which would take its status.
    start bash -c '{ until grep -q sleep /proc/$$/comm; do :; done } & echo $! >zombie
        exec sleep 60'
    wait_until 60 test -s zombie
    local zombie
    zombie=$(cat zombie)
    wait_until 60 grep -q '^State:.Z' "/proc/$zombie/status"
    expect 1 "$SPROF" record -p "$zombie"
    said_only '[Zz]ombie|has ended'
    kept
}

process_of_another_user() {
    needs_root "to be two users"
    prepare_ordinary_user split libknown.so
    start sleep 60
    cd "$work/home" || exit 1
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" record -p "$child"
    said_only 'root'
    said 'sudo'
    for command in "trace" "probes" "stats" "ctl status"; do
        expect 1 "${as_ordinary_user[@]}" "$user_sprof" $command -p "$child"
        said_only 'it belongs to user root'
        said 'sudo sprof'
    done
    [ ! -e sprof.db ] || fail "a recording of nothing"
    # A file of theirs that is in the way stays.
    echo theirs >theirs.db && chmod 600 theirs.db
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" record -o theirs.db -- true
    said_only 'theirs.db: Permission denied; name another file, or one in a directory of your own, with -o'
    [ "$(cat theirs.db)" = theirs ] || fail "a foreign file was touched"
    # ... while one's own can be attached to.
    start "${as_ordinary_user[@]}" "$user_split" forever
    wait_until 60 is_called "$child" split
    wait_until 60 has_used "$child" 50
    expect 0 "${as_ordinary_user[@]}" "$user_sprof" record -o own.db -p "$child" --duration 1s
}

# An ordinary user: what the present setting permits is recorded, and what is not is said.
ordinary_user() {
    prepare_ordinary_user split libknown.so
    local paranoid
    paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
    cd "$work/home" || exit 1
    run "${as_ordinary_user[@]}" "$user_sprof" record -o t.db -- "$user_split" once 8000
    if [ "$paranoid" -gt 2 ]; then
        [ "$status" = 1 ] || fail "exit status $status with perf_event_paranoid $paranoid"
        said perf_event_paranoid
        return
    fi
    [ "$status" = 0 ] || fail "exit status $status with perf_event_paranoid $paranoid"
    [ "$paranoid" -lt 2 ] || said perf_event_paranoid
    expect 0 "${as_ordinary_user[@]}" "$user_sprof" sql -i t.db --format csv \
        "SELECT samples, lost, whole_stacks * 1.0 / user_stacks FROM v_quality"
    local samples lost whole
    IFS=, read -r samples lost whole < <(tail -n +2 "$work/out" | tr -d '\r')
    holds "$samples > 0 && $samples + $lost > 800 && $whole > 0.99" "quality of an ordinary user's recording"
}

# A launched command is then sampled by the agent (agent.sh); what only perf events can do, fails.
refused() { # ERRNO
    keep
    start sleep 60
    for how in "--source perf -- true" "-e cpu-clock -- true" "-p $child" "-t $child" "-a" "-a -- true"; do
        expect 1 "$PROGRAMS/refuse" perf_event_open "$1" "$SPROF" record $how
        said 'perf_event_open|perf events'
        said 'seccomp|perf_event_paranoid|CONFIG_PERF_EVENTS'
        said '^sprof: run '
        [ "$(wc -l <err)" -le 2 ] || fail "more than one message"
    done
    kept
}
refused_eperm() { refused EPERM; }
refused_eacces() { refused EACCES; }
refused_enosys() { refused ENOSYS; }

# What cannot be chosen of the whole machine, each with its cure.
whole_machine() {
    run "$SPROF" record --source perf -o t.db -- true
    [ "$status" = 0 ] || skip "perf events are refused here"
    keep
    local offline
    offline=$(($(nproc --all) + 4000))
    while IFS='|' read -r wanted how message cure; do
        expect "$wanted" "$SPROF" record $how -- true
        said_only "$message"
        said "$cure"
    done <<END
2|-a --clock wall|leave -a out|--clock wall
2|--cpu 0 --per-thread|leave one of them out|--cpu
2|--cpu x|no list of CPUs|0-3,8
2|--cpu $offline|CPU $offline is not online|/sys/devices/system/cpu/online
2|--match /bin/true|without directories|ps -e
2|--match ngi*|no pattern|sprof report --by process
2|--user no-such-user|no user .no-such-user.|getent passwd
2|-p no-such-program|not a process id|ps -e
END
    kept
}

# An ordinary user gets what the kernel permits, and the command for more.
whole_machine_ordinary_user() {
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] ||
        skip "the kernel permits everything to everybody, or nothing"
    prepare_ordinary_user
    cd "$work/home" || exit 1
    expect 3 "${as_ordinary_user[@]}" "$user_sprof" record -a -o t.db -- sh -c 'exit 3'
    said 'only the command is recorded'
    said 'sudo sprof record -a'
    start "${as_ordinary_user[@]}" sleep 60
    wait_until 60 is_called "$child" sleep
    expect 0 "${as_ordinary_user[@]}" "$user_sprof" record -a --duration 100ms -o t.db
    said 'only your own [0-9]+ process(es are| is) recorded'
    said 'sudo sprof record -a'
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" record --cpu 0 -o u.db -- true
    said_only 'lets root alone sample the whole machine'
    said 'sudo sprof record -a'
    [ ! -e u.db ] || fail "a recording of nothing"
}

no_room_for_rings() {
    needs_root "to change perf_event_mlock_kb for a moment"
    setting=/proc/sys/kernel/perf_event_mlock_kb # the trap has these two
    before=$(cat "$setting")
    prepare_ordinary_user
    cd "$work/home" || exit 1
    # One whose end comes before that of this test leaves the setting as it was.
    trap 'result=$?; echo "$before" >"$setting"; (exit $result); finish' EXIT
    trap 'exit 1' TERM INT
    echo 0 >"$setting" 2>/dev/null || skip "perf_event_mlock_kb cannot be changed here"
    run "${as_ordinary_user[@]}" bash -c 'ulimit -l 0; exec "$0" record -- true' "$user_sprof"
    echo "$before" >"$setting"
    [ "$status" = 1 ] || fail "exit status $status"
    said 'perf_event_mlock_kb|ulimit -l'
    [ ! -e sprof.db ] || fail "a recording of nothing"
}

disk_full() {
    needs_root "to mount a small file system"
    mkdir small
    unshare -m true 2>/dev/null || skip "no mount namespace"
    cat >inside <<'END'
mount -t tmpfs -o size=704k none small || exit 99
"$1" record -F 1999 -m pc -o small/t.db -- "$2" processes 2 9000
status=$?
cp small/t.db* .
exit $status
END
    run unshare -m bash inside "$SPROF" "$PROGRAMS/split"
    [ "$status" != 99 ] || skip "no tmpfs"
    [ "$status" = 1 ] || fail "exit status $status"
    said '[Ss]pace|full'
    expect 0 "$SPROF" report -i t.db
    holds "$(sql t.db 'SELECT samples FROM v_quality') > 1000" "what was committed"
}

output_directory() {
    expect 1 "$SPROF" record -o no/such/directory/t.db -- true
    said_only 'no/such/directory'
    mkdir directory
    expect 1 "$SPROF" record -o directory -- true
    said_only directory
}

output_is_something_else() {
    echo 'my thesis' >thesis.txt
    sha256sum thesis.txt >kept
    expect 1 "$SPROF" record -o thesis.txt -- true
    said_only thesis.txt
    kept
    [ ! -e thesis.txt.old.1 ] || fail "it was moved away"
}

# What cannot be appended to is said before the command runs.
append_unwritable() {
    needs_root "to be two users"
    prepare_ordinary_user
    expect 0 "$SPROF" record -o home/t.db -- "$PROGRAMS/split" once 1000
    chmod 644 home/t.db
    cd home || exit 1
    sha256sum t.db >"$work/before"
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" record --append -o t.db -- touch ran
    said_only 'permission to write'
    [ ! -e ran ] || fail "the command ran for nothing"
    sha256sum -c "$work/before" >"$work/out" 2>&1 || fail "the recording has changed"
}
output_unwritable() {
    needs_root "to be two users"
    prepare_ordinary_user
    mkdir -m 755 closed
    cd closed || exit 1
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" record -- true
    said_only '[Pp]ermission|may not'
}

not_a_database() {
    expect 1 "$SPROF" report
    said_only 'sprof record'
    echo 'not a database, and long enough to be read as one: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' >t.db
    for command in report script symbolize 'sql -i t.db SELECT' unwind-replay; do
        expect 1 "$SPROF" ${command/ -i*/} -i t.db
        said_only 't\.db'
    done
    : >empty.db
    expect 1 "$SPROF" report -i empty.db
    said_only 'empty\.db'
    sqlite3 other.db 'CREATE TABLE t(a); INSERT INTO t VALUES (1);'
    expect 1 "$SPROF" report -i other.db
    said_only 'other\.db'
    expect 1 "$SPROF" report -i .
    said_only '\.'
}

merge_inputs() {
    expect 2 "$SPROF" merge
    said_only 'nothing to merge'
    "$SPROF" record -o a.db -- "$PROGRAMS/split" once 200 2>/dev/null
    "$SPROF" record -o b.db -- "$PROGRAMS/split" once 200 2>/dev/null
    expect 2 "$SPROF" merge a.db b.db
    said_only '-o'
    expect 2 "$SPROF" merge a.db b.db -o a.db
    said_only 'one of the recordings'
    ln -s elsewhere.db link.db
    expect 1 "$SPROF" merge a.db b.db -o link.db
    said_only 'symbolic link'
    head -c 20000 b.db >cut.db
    expect 1 "$SPROF" merge a.db cut.db b.db -o all.db
    said_only 'cut\.db'
    [ ! -e all.db ] || fail "half a merge"
    expect 0 "$SPROF" merge --skip-damaged a.db cut.db b.db a.db -o all.db
    said 'left out: .*cut\.db'
    said 'came more than once'
    [ "$(sql all.db 'SELECT count(*) FROM v_run')" = 2 ] || fail "not two runs"
    expect 0 "$SPROF" report -i all.db --run 2
    sqlite3 b.db 'PRAGMA user_version = 9999'
    expect 1 "$SPROF" merge a.db b.db -o all.db
    said_only 'b\.db was written by a newer sprof'
    [ "$(sql all.db 'SELECT count(*) FROM v_run')" = 2 ] || fail "the old output is gone"
    # One cut file among more than can be open at a time is named, and can be left out; the output may be an input of the next merge.
    ulimit -n 200
    mkdir many
    for ((number = 1; number <= 250; number++)); do ln a.db many/$number.db; done
    head -c 20000 a.db >many/cut.db
    expect 1 "$SPROF" merge many/*.db -o united.db
    said_only 'many/cut\.db is cut short'
    [ ! -e united.db ] || fail "half a merge of many"
    expect 0 "$SPROF" merge --skip-damaged many/*.db all.db -o united.db
    said 'left out: many/cut\.db'
    [ "$(sql united.db 'SELECT count(*) FROM v_run')" = 2 ] || fail "not the two runs of many files"
    expect 0 "$SPROF" merge united.db all.db a.db -o again.db
    [ "$(sql again.db 'SELECT run_id, samples FROM v_quality')" = "$(sql all.db 'SELECT run_id, samples FROM v_quality')" ] ||
        fail "merged with its own output it holds something else"
    [ -z "$(find . -name "*merging*")" ] || fail "a part of a merge was left behind"
}

# A merge that is told to end leaves nothing behind, not even its unfinished output.
merge_stopped() {
    expect 0 "$SPROF" record -o a.db -- true
    local inputs=() signal
    for ((i = 0; i < 5000; i++)); do inputs+=(a.db); done
    for signal in TERM HUP; do
        start "$SPROF" merge "${inputs[@]}" -o all.db >out 2>err
        wait_until 60 eval "ls all.db.merging-* >/dev/null 2>&1"
        kill -$signal "$child"
        wait "$child"
        status=$?
        [ "$status" = $((128 + $(kill -l $signal))) ] || fail "exit status $status after $signal"
        [ -z "$(ls all.db* 2>/dev/null)" ] || fail "$signal left $(ls all.db*)"
    done
    expect 0 "$SPROF" merge a.db -o all.db
}

merge_disk_full() {
    needs_root "to mount a small file system"
    unshare -m true 2>/dev/null || skip "no mount namespace"
    mkdir small
    "$SPROF" record -F 1999 -o a.db -- "$PROGRAMS/split" once 3000 2>/dev/null
    "$SPROF" record -o old.db -- true 2>/dev/null
    cat >inside <<'END'
size=$(( ($(stat -c %s a.db) + $(stat -c %s old.db)) * 9 / 10 ))
mount -t tmpfs -o size=$size none small || exit 99
cp old.db small/all.db || exit 98
"$1" merge a.db -o small/all.db
status=$?
cmp old.db small/all.db || exit 97
[ "$(ls small)" = all.db ] || exit 96
exit $status
END
    run unshare -m bash inside "$SPROF"
    [ "$status" != 99 ] || skip "no tmpfs"
    [ "$status" = 1 ] || fail "exit status $status"
    said '[Ss]pace|full'
}

page_output() {
    keep
    cp sprof.db other.db
    echo 'an older page' >old.html
    expect 2 "$SPROF" html sprof.db other.db -o other.db
    said_only 'other\.db is the recording itself'
    kept
    mkdir shared && chmod 777 shared && ln -s ../old.html shared/link.html
    expect 2 "$SPROF" html -o shared/link.html
    said_only 'symbolic link'
    ln -s .. shared/up
    expect 1 "$SPROF" export -f rows -o shared/up/rows
    said_only 'symbolic link up'
    expect 1 "$SPROF" probes --embed -o shared/up/split "$PROGRAMS/split"
    said 'symbolic link up'
    expect 2 "$SPROF" html -o .
    said_only 'directory'
    expect 1 "$SPROF" html -o no/such/directory/page.html
    said_only 'no/such/directory'
    expect 1 "$SPROF" html sprof.db missing.db -o old.html
    said_only 'missing\.db'
    [ "$(cat old.html)" = 'an older page' ] || fail "the older page is gone"
    # Without a browser the path is said, and that is no failure; with one it is opened.
    mkdir bin
    PATH=$PWD/bin expect 0 "$SPROF" html --open -o page.html
    said_only 'no browser.*open page\.html'
    printf '#!/bin/sh\nexit 3\n' >bin/xdg-open
    chmod +x bin/xdg-open
    PATH=$PWD/bin:$PATH expect 0 "$SPROF" html --open -o page.html
    said_only 'no browser.*open page\.html'
    printf '#!/bin/sh\necho "$1" >opened\n' >bin/xdg-open
    PATH=$PWD/bin:$PATH expect 0 "$SPROF" html --open -o page.html
    [ "$(cat opened)" = page.html ] || fail "another page was opened"
    grep -q '</html>' page.html || fail "the page is not whole"
    expect 0 "$SPROF" html --no-source -o - && grep -q '</html>' out || fail "no page on standard output"
}

page_disk_full() {
    needs_root "to mount a small file system"
    unshare -m true 2>/dev/null || skip "no mount namespace"
    keep
    mkdir small
    cat >inside <<'END'
mount -t tmpfs -o size=32k none small || exit 99
echo 'an older page' >small/page.html
"$1" html -o small/page.html
status=$?
[ "$(cat small/page.html)" = 'an older page' ] || exit 97
[ "$(ls small)" = page.html ] || exit 96
exit $status
END
    run unshare -m bash inside "$SPROF"
    [ "$status" != 99 ] || skip "no tmpfs"
    [ "$status" = 1 ] || fail "exit status $status"
    said '[Ss]pace|full'
}

newer_schema() {
    keep
    sqlite3 sprof.db 'PRAGMA user_version = 9999'
    sha256sum sprof.db >kept
    for command in report script symbolize; do
        expect 1 "$SPROF" $command
        said_only 'newer|9999'
        kept
    done
    expect 1 "$SPROF" record --append -- true
    said_only 'newer|9999'
    kept
}

cut_database() {
    expect 0 "$SPROF" record -o whole.db -- "$PROGRAMS/split" once 3000
    local size
    size=$(stat -c %s whole.db)
    # What each command prints of the whole file: of a part it is the same, or the file is called damaged.
    cp whole.db t.db
    for command in report 'report --tree' script sql symbolize; do
        run "$SPROF" $command -i t.db <<<'SELECT count(*), sum(weight) FROM v_sample;'
        [ $status = 0 ] || fail "$command of the whole file"
        mv out "whole.$command"
    done
    for part in 2 10 30 50 70 90 99; do
        head -c $((size * part / 100)) whole.db >t.db
        for command in report 'report --tree' script 'sql' symbolize; do
            run "$SPROF" $command -i t.db <<<'SELECT count(*), sum(weight) FROM v_sample;'
            case $status in
            0)
                [ "$command" = symbolize ] || [ ! -s err ] || fail "exit status 0 with a message"
                cmp -s out "whole.$command" || fail "other numbers of $part % with $command, and no message"
                ;;
            1) said 't\.db|damaged|malformed' ;;
            *) fail "exit status $status at $part % with $command" ;;
            esac
        done
    done
    head -c $((size / 2)) whole.db >t.db
    expect 1 "$SPROF" report -i t.db
    said_only 't\.db'
}

unreadable_recording() {
    needs_root "to be two users"
    prepare_ordinary_user
    keep
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" report -i "$work/sprof.db"
    said_only '[Pp]ermission|may not'
}

# The target maps an ELF file whose tables are garbage: its samples count. One that is garbage altogether is named as a problem.
corrupted_elf() {
    cat >corrupt.py <<'END'
import random, struct, sys
path, what, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = bytearray(open(path, "rb").read())
random.seed(seed)
shoff, = struct.unpack_from("<Q", data, 40)
shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 58)
def header(i):
    return struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize)
names = header(shstrndx)[4]
sections = {}
for i in range(shnum):
    h = header(i)
    name = data[names + h[0]:data.index(0, names + h[0])].decode()
    sections[name] = (h[4], h[5])
def scramble(offset, size):
    for i in range(offset, offset + size):
        data[i] = random.randrange(256)
if what == "headers":
    scramble(shoff, shentsize * shnum)
elif what == "tables":
    for name in (".eh_frame", ".eh_frame_hdr", ".symtab", ".strtab", ".debug_info", ".debug_line",
                 ".debug_abbrev", ".debug_str"):
        if name in sections:
            scramble(*sections[name])
elif what == "some":
    for name in (".eh_frame", ".symtab", ".debug_info", ".debug_line", ".debug_abbrev"):
        offset, size = sections[name]
        for _ in range(size // 20 + 1):
            data[offset + random.randrange(size)] = random.randrange(256)
open(path, "wb").write(data)
END
    mkdir lib
    for what in headers tables some; do
        for seed in 1 2 3; do
            cp "$PROGRAMS/libknown.so" lib/libknown.so
            /usr/bin/python3 corrupt.py lib/libknown.so $what $seed || fail "corrupt.py"
            expect 0 env LD_LIBRARY_PATH="$work/lib" "$SPROF" record -o t.db -- \
                "$PROGRAMS/split" once 2000
            holds "$(sql t.db "SELECT coalesce(sum(exclusive_samples), 0) FROM v_module
                WHERE module LIKE 'libknown%'") > 20" "samples in the damaged library"
            # Without section headers what the loader reads has the names; of tables that are garbage none is made up.
            case $what in
            headers)
                holds "$(sql t.db "SELECT coalesce(sum(exclusive_samples), 0) FROM v_function
                    WHERE function = 'library_spin'") > 20" "the name in a library without section headers"
                ;;
            tables)
                [ "$(sql t.db "SELECT count(*) FROM function f JOIN module m ON m.id = f.module_id
                    WHERE m.name LIKE 'libknown%' AND f.named")" = 0 ] || fail "names of garbage"
                ;;
            esac
        done
    done
    # Damaged after it was mapped, its very first bytes too.
    cp "$PROGRAMS/libknown.so" lib/libknown.so
    start env LD_LIBRARY_PATH="$work/lib" "$PROGRAMS/split" forever
    wait_until 60 is_called "$child" split
    wait_until 60 has_used "$child" 100
    head -c 64 /dev/urandom | dd of=lib/libknown.so conv=notrunc 2>/dev/null
    expect 0 "$SPROF" record -o t.db -p "$child" --duration 1s
    expect 0 "$SPROF" report -i t.db
    goes_on "$child"
    [ -n "$(sql t.db "SELECT problem FROM module WHERE name LIKE 'libknown%'")" ] ||
        fail "the module's problem is not told"
}

malformed_folded() {
    keep
    printf 'main;work 3\nno count here\nmain;work 2\nmain;x -1\n;; 4\nmain 99999999999999999999999\n' >bad.folded
    expect 0 "$SPROF" import --folded bad.folded -o bad.db
    for line in 2 4 5 6; do
        said "(line |bad.folded:)$line([^0-9]|$)"
    done
    said '4 lines could not be read and are left out'
    ! grep -qE "(line |bad.folded:)[13]([^0-9]|$)" err || fail "a good line is called bad"
    [ "$(sql bad.db 'SELECT sum(count) FROM sample')" = 5 ] || fail "the good lines are not all there"
    sed -n '2p; 4,6p' bad.folded >worse.folded
    expect 1 "$SPROF" import --folded worse.folded
    kept
    expect 1 "$SPROF" import --folded missing.folded
    said_only 'missing.folded'
    kept
    head -c 100000 /dev/urandom | tr -d 0-9 >noise # without counts
    expect 1 "$SPROF" import --folded noise
    kept
    for format in pprof perf-script perf.data; do
        expect 1 "$SPROF" import -f $format noise
        kept
        expect 1 "$SPROF" import -f $format /dev/null
        kept
    done
    expect 1 "$SPROF" import noise
    kept
    # A bomb.
    head -c 300M /dev/zero | gzip -1 >bomb.gz
    expect 1 "$SPROF" import -f pprof bomb.gz
    said_only 'more than 256 MiB'
    kept
    expect 1 "$SPROF" import --folded /dev/null
    kept
}

# A reader that goes away is no error; a disk that is full is one.
output_lost() {
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/split" once 3000
    run bash -c '"$0" script -i t.db | head -n 1; exit ${PIPESTATUS[0]}' "$SPROF"
    [ "$status" = 141 ] || fail "exit status $status"
    [ ! -s err ] || fail "a closed pipe is complained about"
    "$SPROF" report -i t.db >/dev/full 2>err
    status=$?
    [ "$status" = 1 ] || fail "exit status $status"
    said_only 'No space left'
}

busy_recording() {
    start "$SPROF" record -o t.db -- "$PROGRAMS/split" forever
    local recorder=$child
    wait_until 60 has_begun t.db
    expect 1 "$SPROF" symbolize -i t.db
    said_only "$recorder"
    expect 1 "$SPROF" merge t.db -o all.db
    said_only "$recorder"
    expect 1 "$SPROF" record -o t.db -- true
    said_only "$recorder"
    kill -TERM "$recorder"
    wait "$recorder"
    expect 0 "$SPROF" report -i t.db
}

# Names that cannot be found are told, with what is near.
foreign_words() {
    expect 2 "$SPROF" flamegraph
    said_only 'not a command: `sprof html`'
    expect 2 "$SPROF" record -g -- true
    said_only '\-g is no option of sprof record: stacks are recorded whole'
    expect 2 "$SPROF" report --diff-base a.db
    said_only 'no option of sprof report: `sprof diff BASE RECORDING`'
    expect 2 "$SPROF" diff -base a.db b.db
    said_only 'no option of sprof diff: .*`sprof diff BASE RECORDING`'
    expect 2 "$SPROF" lock contention
    said_only 'not a command: `sprof record --off-cpu`'
    expect 2 "$SPROF" -http=:8080 a.db
    said_only 'not a command: `sprof html --open`'
    expect 2 "$SPROF" version
    said_only '`sprof --version`'
    expect 0 "$SPROF" record true -F 99
    said '`-F` is the command.s own: options of sprof stand before `true`'
    expect 2 "$SPROF" record -e list
    said_only '`sprof list` lists the events'
    expect 0 "$SPROF" record true 2000 2 -F 99
    said '`-F` is the command.s own'
    expect 0 "$SPROF" record true x.c -o x
    ! grep -q 'own: options' err || fail "a warning for a name that many programs have"
    expect 0 "$SPROF" record -- true -F 99
    ! grep -q 'own: options' err || fail "a warning behind --"
}

dot_commands() {
    keep
    expect 0 "$SPROF" sql .tables
    grep -q '^v_function  *view' out || fail "no view: $(cat out)"
    for format in text markdown; do
        expect 0 "$SPROF" sql --format $format '.schema run'
        grep -q '"id" INTEGER PRIMARY KEY' out && ! grep -q $'\xef\xbf\xbd' out || fail "no lines in $format: $(cat out)"
    done
    expect 0 "$SPROF" sql --format csv '.schema v_module'
    grep -q 'CREATE VIEW v_module' out || fail "no schema of a view"
    ! grep -q v_function out || fail "the schema of another view"
    printf '.schema run\nSELECT 1 AS one;\n.tables\n' >lines
    expect 0 "$SPROF" sql --format csv <lines
    grep -q 'CREATE TABLE .*run' out && grep -q '^one' out && grep -q '^v_line,view' out || fail "lines: $(cat out)"
    expect 0 "$SPROF" sql --format csv ' .schema V_MODULE; '
    grep -q 'CREATE VIEW v_module' out || fail "names of tables have no case"
    for name in '"x' "o'dd" 'no such' '%'; do
        expect 2 "$SPROF" sql ".schema $name"
        said_only 'there is no table or view `'"$name"
    done
    expect 2 "$SPROF" sql '.tables x'
    said_only '.tables, .schema'
    expect 2 "$SPROF" sql .dump
    said_only '.tables, .schema'
    expect 2 "$SPROF" sql 'SELECT * FROM v_functions'
    said_only 'no such table: v_functions; near it: v_function'
    kept
}

# Each runs on any recording.
recipes() {
    keep
    expect 0 "$SPROF" sql --recipe
    local names
    names=$(cut -d ' ' -f 1 out)
    [ "$(wc -w <<<"$names")" -ge 17 ] || fail "recipes: $names"
    for name in $names; do
        expect 0 "$SPROF" sql --recipe "$name" --format csv
    done
    expect 0 "$SPROF" sql sprof.db --recipe functions --format csv
    grep -q '^work,.*,3,100.0' out || fail "not the function: $(cat out)"
    expect 2 "$SPROF" sql --recipe function
    said_only "near it: functions"
    expect 2 "$SPROF" sql --recipe functions 'SELECT 1'
    said_only 'SELECT 1'
    kept
}

unknown_names() {
    keep
    expect 1 "$SPROF" report --callers wrok
    said_only 'work'
    expect 1 "$SPROF" report --thread nobody
    said_only nobody
    expect 1 "$SPROF" report --run 7
    said_only 7
    expect 2 "$SPROF" sql 'SELECT nothing'
    said_only nothing
    expect 2 "$SPROF" report --mode app --frame app
    said_only 'mode pc'
}

"$1"
