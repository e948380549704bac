#!/bin/bash
# security.sh CASE: another user's program, directory, recording or peer attacks sprof, which root runs. Each case keeps a
# promise of docs/security.md. Attackers run as an ordinary user; where the attack is a race it is tried for some seconds.
. "$(dirname "$0")/security_lib.sh"

# The lying agent calls its function, beside the thread that waits for the agent.
is_ready() {
    is_called "$child" lying_agent && has_used "$child" 20
}

# A traced process answers a descriptor of its choice for the shared memory: nothing is written through it.
lying_agent() {
    prepare "$PROGRAMS/lying_agent"
    mkdir -m 711 "$work/open" && cp -p "$victim" "$work/open/secret" && victim=$work/open/secret
    install -m 600 -o 65534 "$work/before" "$work/theirs/file"
    for mode in path file huge; do
        # Three times, and on until it was in time once.
        for ((refusals = 0, tries = 0; tries < 3 || (refusals == 0 && tries < 30); tries++)); do
            start "${as_other[@]}" "$work/user/lying_agent" "$mode" \
                "$([ "$mode" = path ] && echo "$victim" || echo "$work/theirs/file")"
            wait_until 60 is_ready
            run timeout 120 "$SPROF" trace -p "$child" --function '^work$' --duration 0.2 -o trace.db
            unharmed "$mode"
            cmp -s "$work/theirs/file" "$work/before" || fail "$mode: the file of the process was changed"
            end_child
            [ "$status" != 0 ] || continue
            grep -q 'is not the new shared memory' err || fail "$mode: exit status $status for another reason"
            refusals=$((refusals + 1))
        done
        [ $refusals -gt 0 ] || fail "$mode: the agent was never replaced in $tries times: nothing was attacked"
    done
}

# It changes the size of the shared memory until that is sealed: sprof refuses or works, and never ends by SIGBUS.
shrinking() {
    prepare "$PROGRAMS/lying_agent"
    for _ in 1 2 3 4 5 6 7 8; do
        start "${as_other[@]}" "$work/user/lying_agent" shrink -
        wait_until 60 is_ready
        run timeout 120 "$SPROF" trace -p "$child" --function '^work$' --duration 0.1 -o trace.db
        [ "$status" -lt 124 ] || fail "sprof ended by a signal or not at all: $status"
        end_child
    done
}

# The program and its debug file are cut and written again all the time: sprof reads what is there, and never ends by SIGBUS.
cut_files() {
    prepare
    for i in $(seq 400); do
        echo "struct s$i { int a; struct s$i *next; }; __attribute__((noipa)) int f$i(int x, struct s$i *s) { return s ? s->a + x : x + $i; }"
    done >"$work/theirs/p.c"
    echo 'int main(void) { for (volatile int sum = 0;;) sum += f7(sum & 255, 0); }' >>"$work/theirs/p.c"
    (cd "$work/theirs" && gcc -O1 -g p.c -o p && objcopy --only-keep-debug p p.debug && strip -g p && objcopy --add-gnu-debuglink=p.debug p) ||
        skip "no compiler"
    cat >"$work/theirs/cut.py" <<'END'
import os, time
whole = open("p.debug", "rb").read()
file = os.open("p.debug", os.O_RDWR)
parent = os.getppid()
while os.getppid() == parent:
    os.ftruncate(file, 0)
    time.sleep(0.002)
    os.pwrite(file, whole, 0)
    time.sleep(0.004)
END
    chown -R 65534:65534 "$work/theirs"
    (cd "$work/theirs" && exec "${as_other[@]}" /usr/bin/python3 cut.py) &
    local cutter=$!
    children+=("$cutter")
    start "${as_other[@]}" "$work/theirs/p"
    for _ in 1 2 3 4 5; do
        run timeout 120 "$SPROF" trace -p "$child" --function '^f7$' --keep 'next 3' --args --duration 0.1 --overwrite -o trace.db
        [ "$status" -lt 124 ] || fail "sprof ended by a signal or not at all: $status"
        kill -0 "$cutter" || fail "nothing was cut"
    done
    end_child
    child=$cutter end_child
}

# Where the kernel cannot copy descriptors of processes, `trace -p` refuses and says so.
old_kernel() {
    prepare "$PROGRAMS/lying_agent"
    start "${as_other[@]}" "$work/user/lying_agent" none -
    wait_until 60 is_ready
    expect 1 "$PROGRAMS/refuse" pidfd_getfd ENOSYS "$SPROF" trace -p "$child" --function '^work$' --duration 0.1 -o trace.db
    said 'Linux 5.6'
}

# A recording to export, in `keep.db`.
make_recording() {
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o keep.db 2>import.err || fail "import: $(cat import.err)"
}

# Pages and exports go into a directory of the other user, who puts links there: none is followed.
outputs() {
    prepare "$PROGRAMS/swapper"
    make_recording
    swap fifo out.txt "$victim"
    start "${as_other[@]}" sh -c "cd theirs && while :; do cat out.txt; done >/dev/null 2>&1"
    local end=$((SECONDS + 6))
    while [ $SECONDS -lt $end ]; do
        timeout 5 "$SPROF" export -f folded -i keep.db -o theirs/out.txt 2>/dev/null
        unharmed "a FIFO or a link"
    done
    for kind in way file; do
        mkdir "root/$kind" && cp "$victim" "root/$kind/out.txt"
        swap $kind $kind.d "$work/root/$kind"
        end=$((SECONDS + 3))
        while [ $SECONDS -lt $end ]; do
            timeout 5 "$SPROF" export -f folded -i keep.db -o "theirs/$kind.d$([ $kind = file ] || echo /out.txt)" 2>/dev/null
            [ "$(ls "root/$kind")" = out.txt ] && cmp -s "root/$kind/out.txt" before || fail "$kind: root's directory was written"
        done
        end_child
    done
    umask 022
    for format in folded pprof; do
        "$SPROF" export -f $format -i keep.db -o own.out 2>err || fail "export"
        [ "$(stat -c %a own.out)" = 600 ] || fail "others can read an export"
    done
    "$SPROF" html -i keep.db -o own.html >out 2>err || fail "html"
    [ "$(stat -c %a own.html)" = 600 ] || fail "others can read a page"
    # What a user has use of: links of their own, descriptors, pipes.
    "$SPROF" export -f folded -i keep.db -o - 2>err >want
    ln -s own.out own.link
    "$SPROF" export -f folded -i keep.db -o own.link 2>err && [ -L own.link ] && cmp -s own.out want || fail "through a link of one's own"
    "$SPROF" export -f folded -i keep.db -o /dev/stdout 2>err | cmp -s - want || fail "/dev/stdout"
    "$SPROF" export -f folded -i keep.db -o /dev/fd/7 2>err 7>seventh && cmp -s seventh want || fail "/dev/fd/7"
    mkfifo own.fifo
    cat own.fifo >through &
    "$SPROF" export -f folded -i keep.db -o own.fifo 2>err && wait $! && cmp -s through want || fail "a FIFO"
}

# Recordings are made there, too: nothing but a new file of root's own is written.
recordings() {
    prepare "$PROGRAMS/swapper"
    local end empty=$work/root/empty other=$work/root/other.db
    : >"$empty"
    chmod 600 "$empty"
    make_recording
    cp keep.db "$other"
    sha256sum "$other" >sums
    for kind in file log; do
        for target in "$victim" "$empty" "$other"; do
            swap $kind sprof.db "$target"
            end=$((SECONDS + 3))
            while [ $SECONDS -lt $end ]; do
                timeout 20 "$SPROF" import --folded "$GOLDEN/worked.folded" -o theirs/sprof.db >out 2>err
                timeout 20 "$SPROF" report -i theirs/sprof.db >/dev/null 2>&1
                unharmed "$kind"
                [ ! -s "$empty" ] || fail "$kind: an empty file of root's was written"
                sha256sum -c sums >/dev/null 2>&1 || fail "$kind: a database of root's was written"
            done
            end_child
            rm -rf theirs/*
        done
    done
    # Without an attack it works there, and what is beside it goes away.
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o theirs/quiet.db 2>err || fail "into another user's directory: $(cat err)"
    [ "$(ls theirs)" = quiet.db ] && [ "$(stat -c '%a %u' theirs/quiet.db)" = "600 0" ] || fail "the recording is not root's own: $(ls -l theirs)"
}

# A directory of root's, which another user's links may lead to.
make_way() {
    prepare "$PROGRAMS/swapper"
    mkdir -p root/way/loop keep theirs/way.d
    cp "$victim" root/way/out.txt
    for name in x.db.ctl loop/20200101T000000.000Z.db; do cp "$victim" "root/way/$name"; done
    chown -R 65534:65534 theirs
    find root/way | sort >before.names
    behind() {
        find root/way | sort | cmp -s - before.names && cmp -s root/way/out.txt before || fail "$1: root's directory was changed: $(ls -R root/way)"
    }
}

# A directory that the other user exchanges for a link while sprof works: no socket, file or segment of root's is made,
# replaced or removed behind it.
ways() {
    make_way
    led_away() { mv theirs/way.d theirs/aside && ln -s "$work/root/way" theirs/way.d; }
    led_back() { rm theirs/way.d && mv theirs/aside theirs/way.d; }
    start "$SPROF" record -o theirs/way.d/x.db -- sleep 300
    wait_until 60 test -S theirs/way.d/x.db.ctl
    led_away
    kill -TERM "$child" && wait "$child"
    behind "the end of a recording"
    led_back
    # Old segments in its own directory go, those behind the link do not.
    mkdir theirs/way.d/loop && cp "$victim" theirs/way.d/loop/20200101T000000.001Z.db
    start sleep 300
    start "$SPROF" record --loop 1s --keep 1h -o theirs/way.d/loop -p "$child"
    wait_until 60 eval '[ -e theirs/way.d/loop/lock ] && [ ! -e theirs/way.d/loop/20200101T000000.001Z.db ]'
    led_away
    sleep 1.5
    kill -TERM "$child" 2>/dev/null # it may have ended, for its file is gone
    wait "$child"
    behind "a continuous recording"
}

# It is exchanged all the time.
exchanged_ways() {
    make_way
    rm -rf theirs/way.d
    make_recording
    swap way way.d "$work/root/way"
    for command in "record -o theirs/way.d/x.db -- true" "export -f rows -i keep.db -o theirs/way.d/rows" \
        "probes --embed -o theirs/way.d/out.txt $PROGRAMS/swapper"; do
        local end=$((SECONDS + 1)) i
        for ((i = 0; i < 3 || SECONDS <= end; i++)); do
            timeout 20 "$SPROF" $command >out 2>err
            behind "$command"
        done
    done
    end_child
}

# Debug information, or a recording, names files of root's as sources: they are not shown and not handed on.
sources() {
    prepare "$PROGRAMS/split"
    mkdir -m 711 "$work/open"
    printf 'SECRET-LINE of root\n%.0s' 1 2 3 4 5 6 7 8 9 >"$work/open/secret"
    chmod 600 "$work/open/secret"
    mkfifo "$work/open/pipe"
    for name in secret pipe; do
        printf '# 1 "%s/open/%s"\nint main(void) {\nfor (volatile long i = 0; i < 300000000; i++)\n;\nreturn 0; }\n' "$work" $name >$name.c
        gcc -g -O1 $name.c -o user/$name || fail "no compiler"
        chmod a+rx user/$name
        "$SPROF" record -o $name.db -- "${as_other[@]}" "$work/user/$name" 2>err || skip "no recording: $(cat err)"
        timeout 60 "$SPROF" annotate main -i $name.db >annotated 2>&1
        [ $? -lt 124 ] || fail "$name: annotate waits"
        ! grep -q SECRET annotated || fail "annotate prints a file of root's"
        timeout 60 "$SPROF" html -i $name.db -o $name.html >out 2>&1 || fail "$name: html"
        ! grep -q SECRET $name.html || fail "a page has a file of root's"
        timeout 60 "$SPROF" archive -i $name.db -o $name.tar.zst >out 2>err || fail "$name: archive"
        ! zstd -dc $name.tar.zst | grep -aq SECRET || fail "an archive has a file of root's"
    done
    grep -q 'may not be read by all\|not a text file' annotated || fail "not said: $(cat annotated)"
    # It is packed where its directory is named.
    "$SPROF" archive -i secret.db --source "$work/open" -o named.tar.zst >out 2>err || fail "archive --source"
    zstd -dc named.tar.zst | grep -aq SECRET || fail "--source does not name it"
    "$SPROF" annotate main -i secret.db --source "$work/open" >annotated 2>&1
    grep -q SECRET annotated || fail "annotate --source"
}

# Recordings whose tables are views without end, or that have triggers, are refused at once.
hostile_recordings() {
    prepare
    make_recording
    python3 - <<'END' || fail "no python3 with sqlite3"
import shutil, sqlite3
endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
for table in ("function", "run", "frame"):
    shutil.copy("keep.db", f"view_{table}.db")
    base = sqlite3.connect(f"view_{table}.db")
    columns = [row[1] for row in base.execute(f'PRAGMA table_xinfo("{table}")')]
    base.execute("PRAGMA legacy_alter_table = ON")
    base.execute(f'ALTER TABLE "{table}" RENAME TO hidden')
    base.execute(f'CREATE VIEW "{table}" AS {endless} SELECT ' + ", ".join(f'x AS "{c}"' for c in columns) + " FROM n")
    base.commit()
shutil.copy("keep.db", "trigger.db")
base = sqlite3.connect("trigger.db")
base.execute(f"CREATE TRIGGER t BEFORE UPDATE ON function BEGIN SELECT count(*) FROM ({endless} SELECT x FROM n); END")
base.commit()
END
    for file in view_function.db view_run.db view_frame.db trigger.db; do
        for command in "report" "report --tree" "html -o page.html" "symbolize --again" "annotate main"; do
            run timeout 60 "$SPROF" $command -i $file
            [ "$status" -lt 124 ] && [ "$status" != 0 ] || fail "$command of $file: exit status $status"
            said 'hostile'
        done
    done
    cp view_run.db sprof.db
    run timeout 60 "$SPROF" import --folded "$GOLDEN/worked.folded" -o sprof.db
    [ "$status" -lt 124 ] || fail "a recorder does not begin over a hostile recording"
}

# A process of another user is called sprof, holds a pidfd of what root's is about to control, and answers in its place.
control() {
    prepare
    cat >user/fake.py <<'END'
import ctypes, os, socket, sys
ctypes.CDLL(None).prctl(15, b"sprof")
if sys.argv[2] == "hidden":
    ctypes.CDLL(None).prctl(4, 0)
pidfd = os.pidfd_open(int(sys.argv[1]))
output = open("fake.db", "w")
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind("fake.db.ctl")
os.chmod("fake.db.ctl", 0o777)
server.listen()
while True:
    peer, _ = server.accept()
    try:
        peer.recv(1000)
        peer.send(b"0the attacker answers\n")
    except OSError:
        pass
END
    chmod a+r user/fake.py
    start sleep 300
    local target=$child
    for how in plain hidden; do
        rm -f theirs/*
        (cd theirs && exec "${as_other[@]}" /usr/bin/python3 ../user/fake.py "$target" $how) &
        child=$!
        children+=("$child")
        wait_until 60 test -S theirs/fake.db.ctl
        for word in status stop; do
            run timeout 120 "$SPROF" ctl -p "$target" $word
            [ "$status" != 0 ] || fail "$how: root's $word was answered"
            ! grep -q 'attacker answers' out err || fail "$how: the attacker answered root's $word"
        done
        # Beside a recording of root's file, too.
        : >own.db
        ln -sf "$work/theirs/fake.db.ctl" own.db.ctl
        run timeout 120 "$SPROF" ctl -i own.db status
        ! grep -q 'attacker answers' out err || fail "$how: the attacker answered for a file of root's"
        end_child
    done
}

# In a namespace of its own a user mounts root's file in the place of a map of names of compiled code.
mounted_map() {
    prepare
    printf '%x %x the_secret_of_root\n' 0 4096 >"$victim"
    chmod 711 "$work/root"
    cat >user/mount.sh <<'END'
: >/tmp/perf-$$.map && mount --bind "$1" /tmp/perf-$$.map && touch "$2" || touch "$2.failed"
exec python3 -c '
import ctypes, mmap, time # spends its time in code of its own
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("4889f848ffc875fbc3")) # counts down
spin = ctypes.CFUNCTYPE(None, ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
end = time.time() + 300
while time.time() < end: spin(20000000)'
END
    chmod a+r user/mount.sh
    start "${as_other[@]}" unshare -Urm bash user/mount.sh "$victim" "$work/theirs/mounted"
    wait_until 60 test -e theirs/mounted -o -e theirs/mounted.failed
    [ -e theirs/mounted ] || skip "no mounts in namespaces of users"
    run timeout 200 "$SPROF" record -p "$child" --duration 1 -o map.db
    end_child
    rm -f "/tmp/perf-$child.map"
    ! "$SPROF" sql -i map.db "SELECT * FROM function" | grep -q the_secret || fail "root's file is in the recording"
    ! grep -aq the_secret map.db || fail "root's file is in the recording's file"
    grep -q 'belongs to root and may not be read by all users' err || fail "it does not say that the map was not read"
}

# theirs NAME ARGUMENT…: a C++ program of the other user that computes for some time, compiled with these arguments.
theirs() {
    local name=$1
    shift
    cat >"theirs/$name.cc" <<'END'
#include <algorithm>
#include <cstdlib>
#include <ctime>
struct Pair { int first, second; bool operator<(const Pair &other) const { return first < other.first; } };
static int digest(const Pair *all, int count) { int sum = 0; while (count-- > 0) sum = sum * 31 + all[count].second; return sum; }
__attribute__((noinline)) int NAME_work(int seed)
{
    Pair all[512];
    for (int i = 0; i < 512; i++) all[i] = Pair{(i * 7919 + seed) % 511, i};
    std::sort(all, all + 512);
    return digest(all, 512);
}
int main(int count, char **arguments)
{
    int sum = 0;
    for (clock_t end = clock() + CLOCKS_PER_SEC / 10 * (count > 1 ? std::atoi(arguments[1]) : 1); clock() < end;)
        sum += NAME_work(sum);
    return sum == 1;
}
END
    sed -i "s/NAME/$name/g" "theirs/$name.cc"
    (cd theirs && g++ -O2 "$@" "$name.cc" -o "$name") || skip "no compiler"
}

# All names and lines of a recording, and what is said about modules.
all_names() {
    sql "$1" "SELECT m.name, m.problem, r.inline_depth, f.name, f.linkage_name, f.start, f.size, f.file, f.line, f.named, r.file, r.line
        FROM frame r JOIN function f ON f.id = r.function_id JOIN module m ON m.id = r.module_id ORDER BY 1, 3, 4, 8, 9, 11, 12, 6" >"$2"
}

# What a child without rights reads, root's sprof names as it would itself.
same_names() {
    command -v strace >/dev/null || skip "no strace"
    prepare
    theirs plain -g
    theirs packed -g -gz
    theirs split -gsplit-dwarf
    theirs stripped -s
    theirs apart -g
    (cd theirs && objcopy --only-keep-debug apart apart.debug && strip apart && objcopy --add-gnu-debuglink=apart.debug apart)
    chown -R 4242:4242 theirs # not the user that the process of its own runs as
    "$SPROF" record -F 2000 -o all.db -- sh -c 'for name in plain packed split stripped apart; do theirs/$name 2; done' 2>err ||
        skip "no recording: $(cat err)"
    all_names all.db child
    [ "$(grep -c '_work' child)" -ge 4 ] && grep -q 'std::sort' child || fail "functions have no names: $(cat err)"
    for owner in 0 4242 65534; do
        chown -R $owner theirs
        strace -f -qq -o "calls.$owner" -e trace=execve "$SPROF" symbolize --again -i all.db >out 2>err || fail "symbolize: $(cat err)"
        all_names all.db again
        cmp -s child again || fail "names differ, files of $owner: $(diff child again | head -n 5)"
    done
    [ "$(grep -c sprof-reader calls.4242)" -ge 5 ] || fail "no process of its own reads a file: $(cat calls.4242)"
    ! grep -q sprof-reader calls.0 || fail "root's own files are read by a process of their own"
}

# The process of its own that a recorder has begun: its number is in $reader.
has_reader() {
    reader=$(pgrep -P "$child" -x sprof-reader | head -n 1)
    [ -n "$reader" ] && grep -q '^Seccomp:.*2' "/proc/$reader/status"
}

# Its rights are gone; where it ends, names are missing that it would have read, and nothing else.
reader() {
    command -v strace >/dev/null || skip "no strace"
    prepare
    theirs victim -g
    chown -R 65534:65534 theirs
    start "$SPROF" record -o live.db -- "${as_other[@]}" "$work/theirs/victim" 300
    wait_until 60 has_reader
    local recorder=$child facts
    facts=$(grep -E '^(Uid|Gid|Groups|NoNewPrivs|CapEff|CapPrm)' "/proc/$reader/status" | tr -s '\t ' ' ')
    [ "$facts" = "Uid: 65534 65534 65534 65534
Gid: 65534 65534 65534 65534
Groups: 
CapPrm: 0000000000000000
CapEff: 0000000000000000
NoNewPrivs: 1" ] || fail "it has rights: $facts"
    ! readlink "/proc/$reader/fd/"* | grep -vE "^(/dev/null|socket:.*|$work/theirs/victim)$" || fail "it has other files"
    kill -9 "$reader"
    kill -TERM "$recorder"
    wait "$recorder"
    all_names live.db names
    grep -q 'victim.*victim_work' names || fail "one that was killed meanwhile takes names away"
    # A crash, at the call with which its rights end: nothing else is missing.
    "$SPROF" record --no-symbolize -F 2000 -o crash.db -- "${as_other[@]}" "$work/theirs/victim" 3 2>err || fail "record"
    local samples
    samples=$(sed -nE 's/^sprof: ([0-9 ]+) samples.*/\1/p' err | tr -d ' ') # what reads a recording names it, too
    run strace -f -qq -o calls -e trace=seccomp -e inject=seccomp:signal=SIGKILL "$SPROF" symbolize -i crash.db
    [ "$status" = 0 ] || fail "symbolize: exit status $status"
    said 'victim: its names are missing: .* was ended by signal 9'
    [ "$(sql crash.db "SELECT sum(count) FROM sample")" = "$samples" ] || fail "samples are gone"
    all_names crash.db crashed
    ! grep -q victim_work crashed || fail "another process has read the file"
    # Without a filter nothing is read; with one all names come, and those of other files are as they were.
    "$PROGRAMS/refuse" seccomp EPERM "$SPROF" symbolize -i crash.db 2>err >out || fail "symbolize"
    said 'victim: its names are missing: .* ended while'
    "$SPROF" symbolize -i crash.db 2>err >out || fail "symbolize"
    all_names crash.db names
    grep -q 'victim.*victim_work' names || fail "names do not come later: $(cat names)"
    [ "$(grep -v '^victim' crashed)" = "$(grep -v '^victim' names)" ] || fail "names of other files differ: $(diff names crashed)"
}

# sprof's own code and file are hardened, as its linked libraries are; agents have no code that may be written.
hardened() {
    readelf -dlW "$SPROF" >headers
    for mark in 'FLAGS_1.*NOW.*PIE' 'GNU_RELRO' 'GNU_STACK.* RW '; do
        grep -q "$mark" headers || fail "$SPROF lacks $mark"
    done
    readelf -sW "$SPROF" | grep -q ' __stack_chk_fail' || fail "no stack protector"
    readelf -sW "$SPROF" | grep -q ' __snprintf_chk' || fail "no checks of sizes"
    objdump -d --no-show-raw-insn --disassemble=sprof_proc_comm "$SPROF" >code
    grep -q 'endbr64' code || [ "$(uname -m)" != x86_64 ] || fail "functions are no marked targets of jumps"
    grep -q '__stack_chk_fail' code || fail "functions of sprof's own have no stack protector"
    for file in "$SPROF" "$(dirname "$SPROF")"/libexec/sprof/*.so; do
        ! readelf -lW "$file" | grep -q ' RWE ' || fail "$file has code that may be written"
        readelf -dW "$file" | grep -q NOW || fail "$file binds symbols late"
    done
}

# only_known FILE: what sessions opened for writing, made, cut, moved or removed is on the list of known places. Their
# command, which writes nothing, is traced, too.
only_known() {
    python3 - "$1" "$work/mine" "$XDG_CACHE_HOME" >places <<'END' || fail "another place is written to: $(cat places)"
import os, re, sys
known = re.compile("|".join([re.escape(place) for place in sys.argv[2:]] + [
    "/dev/null$", "/dev/tty$", "/proc/(self|[0-9]+)/oom_score_adj$", "/proc/(self|[0-9]+)/(task/[0-9]+/)?mem$", "/proc/(self|[0-9]+)/fd/[0-9]+/?", "/sys/kernel/(debug/)?tracing"]))
wrong = 0
for line in open(sys.argv[1], errors="replace"):
    call = re.match(r"(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += \d+(<(.*)>)?$", line.strip())
    if not call or (call[1].startswith("open") and not re.search("O_(WRONLY|RDWR|CREAT|TRUNC)", call[2])):
        continue
    # what a descriptor leads to, or the names of the call, below the descriptor's directory
    places = [call[4]] if call[4] else []
    for directory, name in re.findall(r'(?:<([^>]*)>, )?"([^"]*)"', "" if call[4] else call[2]):
        places.append(os.path.join(directory or os.getcwd(), name))
    places += re.findall(r"^\d+<([^>]*)>", call[2]) if "truncate" in call[1] else []
    for place in places:
        anonymous = re.match(r"/memfd:|anon_inode|socket:|pipe:", place)
        if not anonymous and not known.match(place.removesuffix(" (deleted)")):
            wrong = 1
            print(place, "of", line.strip())
sys.exit(wrong)
END
}

# Each file that a session opens for writing, cuts, moves or removes is one of those that docs/security.md names.
writes() {
    command -v strace >/dev/null || skip "no strace"
    mkdir -p mine cache
    local calls=open,openat,openat2,creat,truncate,ftruncate,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink,symlinkat,mkdir,mkdirat,mknod,mknodat,chmod,fchmodat,chown
    watched() { # NAME ARGUMENT…
        TMPDIR=$work/mine strace -f --seccomp-bpf -y -qq -o own.calls -e trace=$calls "$SPROF" "$@" >out 2>err || fail "$*: $(cat err)"
        cat own.calls >>all.calls
    }
    export XDG_CACHE_HOME=$work/cache XDG_RUNTIME_DIR=$work/mine
    watched record -o mine/t.db -- "$PROGRAMS/split" once 20
    watched record --source sigprof -o mine/s.db -- "$PROGRAMS/split" once 20
    watched export -i mine/t.db -f folded -o mine/t.txt
    watched html mine/t.db -o mine/t.html
    watched archive mine/t.db -o mine/t.tar
    only_known all.calls
    grep -q 'mine/t\.db' all.calls || fail "the recording itself was not seen"
    # The rule does not hold for what no session may do.
    echo 'openat(AT_FDCWD</>, "/etc/shadow", O_RDWR|O_CLOEXEC) = 3</etc/shadow>' >wrong.calls
    ! (only_known wrong.calls) >/dev/null 2>&1 || fail "anything may be written"
}

case $1 in
lying_agent | shrinking | cut_files | old_kernel | outputs | recordings | ways | exchanged_ways | sources | hostile_recordings | control | mounted_map | same_names | reader | hardened | writes) "$1" ;;
*) fail "no such case: $1" ;;
esac
