#!/bin/bash
# security_files.sh CASE: files of another user that sprof, which root runs, reads: they make it neither wait nor read for
# ever. Each case keeps a promise of docs/security.md.
. "$(dirname "$0")/security_lib.sh"

# The file that a program names for what its debug information shares with others is a pipe, or not, at each look.
waiting() {
    prepare "$PROGRAMS/swapper"
    command -v dwz >/dev/null || skip "no dwz"
    for name in one two; do
        cat >$name.c <<END
struct shape { int sides; long area; const char *title; };
__attribute__((noipa)) int $name(struct shape *shape, int more) { return shape->sides + more; }
int main(void) { struct shape shape = {3, 4, "x"}; for (volatile int sum = 0;;) sum += $name(&shape, sum & 255); }
END
        gcc -g -O1 $name.c -o $name || skip "no compiler"
    done
    dwz -m common -M "$work/theirs/common" one two || fail "dwz"
    readelf -S one | grep -q gnu_debugaltlink || fail "nothing is shared"
    install -o 65534 one theirs/one
    install -m 644 common user/common
    start "${as_other[@]}" nice -n 10 "$work/theirs/one"
    local target=$child
    wait_until 60 has_used "$target" 20
    swap fifo common "$work/user/common"
    for _ in 1 2 3 4 5; do
        run timeout -k 2 60 "$SPROF" trace -p "$target" --function '^one$' --keep 'next 3' --args --duration 0.1 --overwrite -o trace.db
        [ "$status" = 0 ] || fail "sprof waits for a pipe: exit status $status"
    done
}

# A jitdump with holes claims terabytes, of which a few megabytes are on the disk.
jitdump() {
    prepare
    cat >user/jit.py <<'END'
import ctypes, mmap, os, struct, time
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("4889f848ffc875fbc3")) # counts down
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
pid, name, lines = os.getpid(), b"compiled_code\0", 64 << 20
file = os.open(f"jit-{pid}.dump", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
load = struct.pack("<IIQIIQQQQ", 0, 56 + len(name), 1, pid, pid, address, address, 9, 1) + name
os.write(file, struct.pack("<6IQQ", 0x4A695444, 1, 40, 62, 0, pid, 1, 0) + load)
at = os.lseek(file, 0, os.SEEK_CUR)
for i in range(4096):
    os.pwrite(file, struct.pack("<IIQ", 2, 16 + lines, 1), at)
    at += 16 + lines
named = mmap.mmap(file, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
open("ready", "w").close()
spin = ctypes.CFUNCTYPE(None, ctypes.c_long)(address)
end = time.time() + 300
while time.time() < end: spin(20000000)
END
    (cd theirs && exec "${as_other[@]}" /usr/bin/python3 ../user/jit.py) &
    child=$!
    children+=("$child")
    wait_until 60 test -e theirs/ready
    run timeout -k 2 120 "$SPROF" record -p "$child" --duration 0.5 -o jit.db
    [ "$status" = 0 ] || fail "sprof reads what is not there: exit status $status"
    "$SPROF" report -i jit.db >table 2>err && grep -q compiled_code table || fail "the code before the holes has no name: $(cat table err)"
    [ "$(sql jit.db "SELECT count(*) FROM module WHERE problem LIKE '%only the beginning%'")" = 1 ] || fail "it does not say that the rest was not read"
}

# All files that a process names are exchanged for pipes, directories and links to root's files while sprof reads them: no pipe is
# opened, nothing of root's is shown, and sprof ends.
exchanged() {
    prepare "$PROGRAMS/swapper"
    chmod 711 "$work/root"
    printf '1000 7fffffff0000 the_secret_of_root\n%.0s' 1 2 3 4 5 6 7 8 9 >"$victim"
    cp "$victim" before
    cat >theirs/p.c <<'END'
#include <string.h>
#include <sys/mman.h>
__attribute__((noipa)) int work(int x)
{
    for (volatile int i = 0; i < 1000; i++) x += i;
    return x;
}
int main(void)
{
    static const char counts_down[] = "\x48\x89\xf8\x48\xff\xc8\x75\xfb\xc3";
    void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*made)(long);
    memcpy(code, counts_down, sizeof counts_down);
    memcpy(&made, &code, sizeof code);
    for (int sum = 0;;) sum = work(sum), made(10000);
}
END
    (cd theirs && gcc -g -O1 -Wl,--build-id p.c -o p && objcopy --only-keep-debug p p.debug && strip -g p && objcopy --add-gnu-debuglink=p.debug p) ||
        skip "no compiler"
    chown -R 65534:65534 theirs
    start "${as_other[@]}" nice -n 10 "$work/theirs/p"
    local target=$child map=/tmp/perf-$child.map name command
    elsewhere+=("$map" "$map".{0..9})
    wait_until 60 has_used "$target" 20
    "${as_other[@]}" sh -c "echo 1000 7fffffff0000 the_made_code >$map"
    swappers=()
    for name in p p.c p.debug "$map"; do
        swap turns "$name" "$victim" 2>swapper.err
        swappers+=("$child")
    done
    local end=$((SECONDS + 2)) rounds=0
    while [ $SECONDS -lt $end ] || [ $rounds = 0 ]; do
        for command in "record -p $target --duration 0.2 --overwrite -o r.db" "report -i r.db" "annotate work -i r.db" "annotate work -i r.db --source $work/theirs" \
            "html -i r.db -o r.html" "trace -p $target --function ^work$ --duration 0.1 --overwrite -o t.db" "symbolize --again --no-cache -i r.db"; do
            timeout -k 2 60 "$SPROF" $command >out 2>err
            [ $? -lt 124 ] || fail "sprof waits, or ended by a signal: $command"
            ! grep -aq the_secret out err r.html r.db 2>grep.err || fail "root's file is shown: $command"
        done
        rounds=$((rounds + 1))
    done
    for child in "${swappers[@]}"; do
        kill -0 "$child" || fail "nothing was exchanged"
        end_child
    done
    unharmed exchanged
    for name in p p.c p.debug "$map"; do
        name=$([ "$name" = "$map" ] && echo "$map" || echo "theirs/$name")
        [ ! -e "$name.opened" ] || fail "a pipe in the place of $name was opened"
        rm -rf "$name" "$name".?
    done
}

# The other user holds leases on all files that are read, for which an open waits by default, 45 seconds each.
leased() {
    prepare
    cat >theirs/p.c <<'END'
__attribute__((noipa)) int work(int x)
{
    for (volatile int i = 0; i < 1000; i++) x += i;
    return x;
}
int main(void) { for (int sum = 0;;) sum = work(sum); }
END
    cat >user/lease.py <<'END'
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
files = [os.open(name, os.O_RDWR) for name in sys.argv[1:]]
for file in files:
    fcntl.fcntl(file, 1024, fcntl.F_WRLCK) # F_SETLEASE
os.close(os.open("leased", os.O_CREAT | os.O_WRONLY))
time.sleep(300)
END
    (cd theirs && gcc -g -O1 -Wl,--build-id p.c -o p && objcopy --only-keep-debug p p.debug && strip -g p && objcopy --add-gnu-debuglink=p.debug p) ||
        skip "no compiler"
    chown -R 65534:65534 theirs
    start "${as_other[@]}" nice -n 10 "$work/theirs/p"
    local target=$child map=/tmp/perf-$child.map command
    "${as_other[@]}" sh -c "echo 1000 7fffffff0000 the_made_code >$map"
    elsewhere+=("$map")
    wait_until 60 has_used "$target" 20
    # The kernel ends a lease so long after the first open that it is in the way of. Who waits for it takes longer.
    local seconds=$(($(cat /proc/sys/fs/lease-break-time) - 1))
    for command in "record -p $target --duration 1 -o r.db" "annotate work -i r.db" "html -i r.db -o r.html" "archive r.db -o r.tar" \
        "trace -p $target --function ^work$ --keep next\ 3 --args --duration 0.1 -o t.db"; do
        rm -f theirs/leased
        (cd theirs && exec "${as_other[@]}" /usr/bin/python3 ../user/lease.py p.c p.debug "$map" 2>../lease.err) &
        child=$!
        children+=("$child")
        wait_until 60 test -e theirs/leased || { [ ! -e r.db ] || fail "no lease again: $(cat lease.err)"; skip "no leases: $(cat lease.err)"; }
        eval "run timeout -k 2 $seconds \"\$SPROF\" $command"
        [ "$status" = 0 ] || fail "sprof waits for a lease: exit status $status: $command"
        end_child
    done
    run "$SPROF" report -i r.db
    grep -q '% .* work ' out || fail "the program's own names are gone"
}

# The other user's program in a mount namespace of its own, that forks, and changes its root in turns. In its roots are pipes, links to
# a file of root's, and files of terabytes of holes, in the place of itself and of maps of compiled code.
namespaces() {
    prepare
    chmod 711 "$work/root"
    "${as_other[@]}" unshare -Urm true 2>/dev/null || skip "no user namespaces for users here"
    cat >user/p.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static const char *secret;
__attribute__((noipa)) int inner_work(int x)
{
    for (volatile int i = 0; i < 2000; i++) x += i;
    return x;
}
static int put(int kind, const char *path)
{
    int file;
    if (kind == 0) return mkfifo(path, 0666);
    if (kind == 1) return symlink(secret, path);
    file = open(path, O_RDWR | O_CREAT, 0755);
    return ftruncate(file, (off_t)4 << 40) | close(file);
}
int main(int count, char **arguments)
{
    static const char counts_down[] = "\x48\x89\xf8\x48\xff\xc8\x75\xfb\xc3";
    static const char *const roots[] = {"/tmp/fifos", "/tmp/links", "/tmp/holes"};
    int old = open("/", O_PATH), ready = 3, sum = 0, failed = count != 2;
    void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*made)(long);
    char path[4096];
    memcpy(code, counts_down, sizeof counts_down);
    memcpy(&made, &code, sizeof code);
    secret = arguments[1];
    umask(0);
    for (int kind = 0; kind < 3; kind++) {
        failed |= mkdir(roots[kind], 0755);
        snprintf(path, sizeof path, "%s/tmp", roots[kind]);
        failed |= mkdir(path, 0777);
        for (int pid = getpid(); pid < getpid() + 300; pid++) {
            snprintf(path, sizeof path, "%s/tmp/perf-%d.map", roots[kind], pid);
            failed |= put(kind, path);
        }
    }
    if (failed || write(ready, "ready", 5) != 5) return 2;
    for (int round = 0, end = time(0) + 300; time(0) < end; round++) {
        const pid_t child = round % 4 ? -1 : fork();
        failed |= chroot(roots[round / (child ? 1 : 4) % 3]);
        for (int i = 0; i < (child ? 10 : 200); i++) sum = inner_work(sum), made(20000);
        if (!child) _exit(0);
        failed |= fchdir(old) | chroot(".");
        while (waitpid(-1, 0, WNOHANG) > 0) continue;
        if (failed) return 3;
    }
}
END
    gcc -g -O1 user/p.c -o user/p || skip "no compiler"
    chmod 755 user/p
    (cd theirs && exec "${as_other[@]}" unshare -Urm sh -c "exec 3>ready 4<$work/user/p && mount -t tmpfs none /tmp && exec /proc/self/fd/4 $victim" 2>../p.err) &
    local target=$! command
    children+=("$target")
    wait_until 30 test -s theirs/ready || fail "the program did not begin: $(cat p.err)"
    for command in "record -p $target --children --duration 0.7 -o p.db" "why -p $target --no-probes --seconds 1 -o w.db" \
        "record -a --duration 0.5 -o a.db" "report -i p.db" "annotate inner_work -i p.db" "html -i p.db -o p.html"; do
        run timeout -k 2 25 "$SPROF" $command
        # A busy machine may leave `why` too few samples.
        [ "$status" = 0 ] || [ "$status ${command%% *}" = "3 why" ] || fail "exit status $status: $command"
        ! grep -aq 'secret of root' out err p.db* w.db* a.db* p.html 2>grep.err || fail "root's file is shown: $command"
    done
    kill -0 "$target" || fail "the program ended: $(cat p.err)"
    expect 0 "$SPROF" report -i p.db
    grep -q '% .* inner_work ' out || fail "the program's own names are gone"
    unharmed namespaces
}

# Serves answers/BUILD_ID for each build id that it has.
start_server() {
    cat >server.py <<'END'
import http.server, os
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("asked", "w").close()
        answer = os.path.join("answers", self.path.split("/")[2])
        self.send_response(200 if os.path.exists(answer) else 404)
        self.end_headers()
        if os.path.exists(answer):
            self.wfile.write(open(answer, "rb").read())
server = http.server.HTTPServer(("127.0.0.1", 0), Server)
with open("port.new", "w") as port:
    print(server.server_port, file=port)
os.rename("port.new", "port")
server.serve_forever()
END
    mkdir answers
    start /usr/bin/python3 server.py
    wait_until 60 test -s port
}

build_id() {
    readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

# Names the functions of p.db with what the server has.
symbolize_by_server() {
    rm -rf asked downloads
    run env DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)" DEBUGINFOD_CACHE_PATH="$work/downloads" \
        "$SPROF" symbolize --again --no-cache -i p.db
    [ -e asked ] || skip "no debuginfod client"
    sql p.db "SELECT name FROM function" >names
}

# A debuginfod server answers with the file of another build: its names are not taken. One that sends nothing is given up.
other_build() {
    prepare
    mkdir kept # libdw looks beside the program
    for name in wanted_name another_name; do
        cat >$name.c <<END
#include <time.h>
__attribute__((noinline)) int $name(int x) { for (volatile int i = 0; i < 1000; i++) x += i; return x; }
int main(void) { int sum = 0; for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) sum += $name(sum); return sum == 1; }
END
        gcc -g -O1 -Wl,--build-id $name.c -o $name && objcopy --only-keep-debug $name kept/$name && strip $name || skip "no compiler"
    done
    start_server
    "$SPROF" record --no-symbolize -o p.db -- ./wanted_name 2>err || skip "no recording: $(cat err)"
    for answer in another_name wanted_name; do
        cp kept/$answer "answers/$(build_id wanted_name)"
        symbolize_by_server
        ! grep -q another_name names || fail "names of another build"
    done
    grep -qx wanted_name names || fail "no names of the right build"
    ! grep -q 'did not send' err || fail "the file did come: $(cat err)"
    rm "answers/$(build_id wanted_name)"
    mkfifo "answers/$(build_id wanted_name)"
    DEBUGINFOD_TIMEOUT=3 symbolize_by_server
    grep -q 'wanted_name.* may be missing: debuginfod did not send' err || fail "no word of what did not come: $(cat err)"
}

# What debuginfod's client keeps in a directory that another user may write is not read, and nothing is put there.
kept_by_others() {
    prepare
    mkdir kept
    for name in wanted_name another_name; do
        cat >$name.c <<END
#include <time.h>
__attribute__((noinline)) int $name(int x) { for (volatile int i = 0; i < 1000; i++) x += i; return x; }
int main(void) { int sum = 0; for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) sum += $name(sum); return sum == 1; }
END
        gcc -g -O1 -Wl,--build-id=0x1234567890123456 $name.c -o $name && objcopy --only-keep-debug $name kept/$name && strip $name || skip "no compiler"
    done
    start_server
    cp kept/wanted_name "answers/$(build_id wanted_name)"
    "$SPROF" record --no-symbolize -o p.db -- ./wanted_name 2>err || skip "no recording: $(cat err)"
    mkdir -p theirs/.cache/debuginfod_client theirs/open
    chmod 777 theirs/open
    # names of the other user's choice
    for place in theirs/.cache/debuginfod_client theirs/open/kept; do
        mkdir -p "$place/$(build_id wanted_name)" && cp kept/another_name "$place/$(build_id wanted_name)/debuginfo"
    done
    chown -R 65534:65534 theirs
    chown 0:0 theirs/open/kept
    find theirs | sort >before.names
    for place in "HOME=$work/theirs" "DEBUGINFOD_CACHE_PATH=$work/theirs/open/kept" "DEBUGINFOD_CACHE_PATH=$work/theirs/new"; do
        rm -f asked
        run env -u XDG_CACHE_HOME -u DEBUGINFOD_CACHE_PATH "$place" DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)" "$SPROF" symbolize --again -i p.db
        [ "$status" = 0 ] || fail "$place: exit status $status"
        sql p.db "SELECT name FROM function" >names
        ! grep -q another_name names || fail "$place: names of the other user's choice"
        [ ! -e asked ] || fail "$place: debuginfod was asked"
        said "debuginfod is not asked: another user can write to $work/theirs/"
        find theirs | sort | cmp -s - before.names || fail "$place: something was written: $(find theirs)"
    done
    symbolize_by_server
    grep -qx wanted_name names || fail "no names with a directory of root's own"
}

# The server also has the file in which dwz has put what two debug files have in common, and once that of another build.
alternate() {
    prepare
    command -v dwz >/dev/null || skip "no dwz"
    mkdir kept
    cat >shared.h <<END
struct ledger { int entries[4]; long total; const char *title; struct ledger *next; };
static inline __attribute__((always_inline)) int shared_step(struct ledger *ledger, int sum) {
    for (volatile int i = 0; i < 1000; i++) sum += ledger->entries[i & 3];
    return sum;
}
END
    for name in one two; do
        cat >$name.c <<END
#include "shared.h"
#include <time.h>
__attribute__((noinline)) int $name(struct ledger *ledger, int sum) { return shared_step(ledger, sum); }
int main(void) { struct ledger ledger = {{1, 2}, 3, "x", 0}; int sum = 0; for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) sum += $name(&ledger, sum); return sum == 1; }
END
        gcc -g -O1 -Wl,--build-id $name.c -o $name && objcopy --only-keep-debug $name kept/$name && strip $name || skip "no compiler"
    done
    dwz -m common -M "$work/nowhere/common" kept/one kept/two || fail "dwz"
    grep -q shared_step common || skip "dwz shares nothing"
    start_server
    "$SPROF" record --no-symbolize -o p.db -- ./one 2>err || skip "no recording: $(cat err)"
    cp kept/one "answers/$(build_id one)"
    cp kept/two "answers/$(build_id common)"
    symbolize_by_server
    grep -q "another build" err || fail "a shared file of another build is read: $(cat err)"
    cp common "answers/$(build_id common)"
    symbolize_by_server
    grep -qx one names && grep -q shared_step names || fail "names that dwz moved are missing: $(cat err names)"
}

case $1 in
waiting | jitdump | exchanged | namespaces | leased | other_build | kept_by_others | alternate) "$1" ;;
*) fail "no such case: $1" ;;
esac
