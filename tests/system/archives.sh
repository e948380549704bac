#!/bin/bash
# The files that a recording needs, in an archive.
#   archives.sh elsewhere|dwz|hostile|killed
set -uf
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/subject.sh"

case $1 in
elsewhere)
    mkdir temporary && export TMPDIR=$PWD/temporary # others unpack theirs beside it
    record_subject
    "$SPROF" annotate work a.db --format csv >here.csv 2>err || fail "annotate"
    "$SPROF" archive a.db -o a.tar.zst 2>err || fail "archive: $(cat err)"
    grep -qE 'a.tar.zst: [1-9][0-9]* binaries, [0-9]+ debug files, [1-9][0-9]* sources' err || fail "$(cat err)"
    # Another machine: no program, no source, other names.
    "$SPROF" record --no-symbolize -o b.db -- ./subject >out 2>err || fail "record"
    mkdir away && mv subject subject.c away/
    "$SPROF" annotate work a.db --format csv >gone.csv 2>err
    cmp -s here.csv gone.csv && fail "it must need its files"
    for archive in a.tar.zst unpacked; do
        [ $archive = a.tar.zst ] || { mkdir unpacked && tar --zstd -xf a.tar.zst -C unpacked; } || fail "tar"
        "$SPROF" annotate work a.db --archive $archive --format csv >there.csv 2>err || fail "annotate --archive: $(cat err)"
        cmp here.csv there.csv || fail "annotate shows something else with $archive"
        grep -q 'sum = mix' there.csv || fail "no source"
    done
    "$SPROF" symbolize --no-cache b.db 2>err || fail "symbolize"
    "$SPROF" report b.db --format csv | grep -q ',work,subject' && fail "names from nowhere"
    "$SPROF" symbolize --archive a.tar.zst -i b.db 2>err || fail "symbolize --archive: $(cat err)"
    "$SPROF" report b.db --format csv | grep -q ',work,subject' || fail "no names from the archive"
    "$SPROF" symbolize --archive a.tar.zst -i b.db >out 2>err || fail "once more: $(cat err)"
    ! grep -q 'has its names already' out err || fail "the archive was not read once more"
    [ -z "$(ls "$TMPDIR")" ] || fail "unpacked files were left behind"
    # What was replaced is left out; without anything there is no archive, and the old one stays.
    cp /bin/true subject
    "$SPROF" archive a.db -o c.tar.zst 2>err || fail "archive: $(cat err)"
    grep -q 'left out: .*subject' err || fail "a replaced program: $(cat err)"
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o w.db 2>err
    sha256sum a.tar.zst >kept
    "$SPROF" archive w.db -o a.tar.zst 2>err && fail "an archive of nothing"
    sha256sum -c kept >/dev/null || fail "the old archive is gone"
    "$SPROF" archive a.db -o a.db 2>err && fail "over the recording"
    mkdir shared && chmod 777 shared && ln -s ../elsewhere shared/link.tar.zst
    "$SPROF" archive a.db -o shared/link.tar.zst 2>err && fail "through a symbolic link of a directory that others write"
    ;;
dwz)
    # Debug files of which dwz moved what they have in common into a file of its own.
    command -v dwz >/dev/null || { echo "dwz is not installed"; exit 77; }
    for name in one two; do
        cat >$name.cc <<END
#include <algorithm>
#include <map>
#include <string>
#include <vector>
struct item { int key; std::string text; std::vector<int> more; };
volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned mix_of_both(unsigned x) { for (int i = 0; i < 50; i++) x ^= x << 13, x ^= x >> 17, x ^= x << 5; return x; }
__attribute__((noinline)) unsigned work_$name(unsigned n) { unsigned x = n; while (n--) x = mix_of_both(x + n); return x; }
int main() { std::map<int, item> all; all[1].text = "x"; for (int i = 0; i < 100; i++) sink = sink + work_$name(30000) + all.size(); }
END
        g++ -O2 -g -o $name $name.cc && objcopy --only-keep-debug $name $name.debug && strip --strip-all $name &&
            objcopy --add-gnu-debuglink=$name.debug $name || fail "the program $name"
    done
    mkdir shared
    dwz -m shared/common.debug -M "$PWD/shared/common.debug" one.debug two.debug 2>err || fail "dwz: $(cat err)"
    readelf -S one.debug | grep -q gnu_debugaltlink && [ -s shared/common.debug ] || fail "dwz shares nothing"
    "$SPROF" record --no-symbolize -o a.db -- ./one >out 2>err || fail "record: $(cat err)"
    for copy in b c d e f; do cp a.db $copy.db; done
    names() { "$SPROF" report "$1" --by function --module one --format csv | grep -oE '(mix_of_both|work_one)' | sort -u | tr '\n' ' '; }
    "$SPROF" symbolize --no-cache -i a.db 2>err || fail "symbolize: $(cat err)"
    [ "$(names a.db)" = "mix_of_both work_one " ] || fail "here: $(names a.db)"
    "$SPROF" archive a.db -o a.tar.zst 2>err || fail "archive: $(cat err)"
    mkdir away && mv one one.debug shared away/
    "$SPROF" symbolize --no-cache --archive a.tar.zst -i b.db 2>err || fail "symbolize --archive: $(cat err)"
    [ "$(names b.db)" = "mix_of_both work_one " ] || fail "from the archive: $(names b.db)"
    # Without the shared file: said, and what needs none of it is there.
    mv away/one away/one.debug .
    "$SPROF" symbolize --no-cache -i c.db 2>err || fail "symbolize without the shared file: $(cat err)"
    grep -q 'one.debug refers to .*common.debug' err || fail "a missing file is not said: $(cat err)"
    names c.db | grep -q work_one || fail "without the shared file: $(names c.db)"
    "$SPROF" archive a.db -o c.tar.zst 2>err || fail "archive without it: $(cat err)"
    grep -q 'left out: .*common.debug' err || fail "the archive says nothing: $(cat err)"
    # What was kept of then is no answer any more when the file is there.
    export XDG_CACHE_HOME=$PWD/kept
    "$SPROF" symbolize -i e.db 2>err || fail "symbolize without it, with a cache: $(cat err)"
    without=$(ls kept/sprof | grep -c '^lines-')
    mv away/shared .
    "$SPROF" symbolize -i f.db 2>err || fail "symbolize with it again: $(cat err)"
    [ "$(ls kept/sprof | grep -c '^lines-')" -gt "$without" ] || fail "kept with the shared file as without it"
    [ "$(names f.db)" = "mix_of_both work_one " ] || fail "found without the shared file, and kept: $(names f.db)"
    # A shared file that claims to unpack to more than any memory.
    objcopy --compress-debug-sections=zlib-gabi shared/common.debug || fail "objcopy"
    offset=$(readelf -SW shared/common.debug | sed -n 's/.*\.debug_[a-z]* *PROGBITS *[0-9a-f]* \([0-9a-f]*\) [0-9a-f]* [0-9a-f]* *M\?S\?C.*/\1/p' | head -n 1)
    [ -n "$offset" ] || fail "nothing is compressed"
    printf '\377\377\377\377\377\377' | dd of=shared/common.debug bs=1 conv=notrunc status=none seek=$((0x$offset + 8))
    "$SPROF" symbolize --no-cache -i d.db 2>err || fail "symbolize with a bomb: $(cat err)"
    grep -q 'common.debug would unpack to more than' err || fail "a bomb is not said: $(cat err)"
    names d.db | grep -q work_one || fail "with a bomb: $(names d.db)"
    ;;
hostile)
    record_subject
    # Each is an archive with one thing wrong; the message names it.
    python3 - <<'EOF' || fail "python"
import io, tarfile
def archive(name, members, listed=None, head=b"sprof-archive 1\n", cut=None):
    listed = listed if listed is not None else "".join(f"{len(data)} {path[5:]}\n" for path, data, _ in members)
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.PAX_FORMAT) as out:
        for path, data, change in [("sprof-archive", head + listed.encode(), None)] + members:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            if change:
                change(info)
            out.addfile(info, io.BytesIO(data) if info.isreg() else None)
    open(name + ".tar.gz", "wb").write(raw.getvalue()[:cut])
def link(kind, to):
    def change(info):
        info.type, info.linkname, info.size = kind, to, 0
    return change
archive("good", [("files/tmp/x", b"x", None)])
archive("parent", [("files/../../escaped", b"x", None)])
archive("listed-parent", [("files/tmp/x", b"x", None)], listed="1 /tmp/../../x\n")
archive("absolute", [("/tmp/escaped", b"x", None)], listed="1 /tmp/escaped\n")
archive("unlisted", [("files/tmp/x", b"x", None), ("files/tmp/y", b"y", None)], listed="1 /tmp/x\n")
archive("symlink", [("files/tmp/x", b"", link(tarfile.SYMTYPE, "/etc/passwd"))], listed="0 /tmp/x\n")
archive("hardlink", [("files/tmp/x", b"", link(tarfile.LNKTYPE, "/etc/passwd"))], listed="0 /tmp/x\n")
archive("fifo", [("files/tmp/x", b"", link(tarfile.FIFOTYPE, ""))], listed="0 /tmp/x\n")
archive("short", [("files/tmp/x", b"x", None)], listed="2 /tmp/x\n")
archive("long", [("files/tmp/x", b"xyz", None)], listed="2 /tmp/x\n")
archive("twice", [("files/tmp/x", b"x", None)] * 2, listed="1 /tmp/x\n")
archive("missing", [("files/tmp/x", b"x", None)], listed="1 /tmp/x\n1 /tmp/y\n")
archive("huge", [("files/tmp/x", b"x", None)], listed="9000000000000000000 /tmp/x\n")
archive("bomb", [("files/tmp/x", bytes(100 << 20), None)])
archive("version", [("files/tmp/x", b"x", None)], head=b"sprof-archive 9\n")
archive("cut", [("files/tmp/x", bytes(range(256)) * 999, None)], cut=-60)
archive("under", [("files/tmp/x", b"x", None), ("files/tmp/x/y", b"y", None)])
with tarfile.open("other.tar.gz", "w:gz") as out:
    out.add("subject.c")
open("noise.tar.gz", "wb").write(bytes(range(256)) * 64)
EOF
    mkdir tmp
    export TMPDIR=$PWD/tmp
    "$SPROF" annotate work a.db --archive good.tar.gz >out 2>err || fail "a good one: $(cat err)"
    while IFS='|' read -r name wanted; do
        "$SPROF" annotate work a.db --archive $name.tar.gz >out 2>err && fail "$name was taken"
        [ ! -s out ] || fail "$name: something was shown"
        grep -qE "$wanted" err && grep -q "$name" err || fail "$name: $(cat err)"
        [ -z "$(ls tmp)" ] || fail "$name left something behind"
        "$SPROF" symbolize -i a.db --archive $name.tar.gz 2>err && fail "symbolize took $name"
    done <<'END'
parent|leads elsewhere
listed-parent|leads elsewhere
absolute|leads elsewhere
unlisted|not in its list
symlink|link
hardlink|link
fifo|no regular file
short|another size
long|another size
twice|comes twice
missing|not there
huge|would unpack to
bomb|would unpack to
version|version
cut|damaged|cut
under|below a file
other|does not begin
noise|no archive of sprof
nosuch|cannot read
END
    [ ! -e /tmp/escaped ] && [ ! -e escaped ] || fail "a file escaped"
    ;;
killed)
    # What --archive unpacked goes however sprof ends: here while nobody reads what it writes.
    record_subject
    "$SPROF" archive a.db -o a.tar.zst >out 2>err || fail "archive"
    mkdir place
    python3 - "$SPROF" <<'EOF' || fail "the directory of the archive stays, or never was there"
import os, signal, subprocess, sys, time
environment = dict(os.environ, TMPDIR=os.path.abspath("place"))

def until(wanted):
    for _ in range(3000):
        if bool(os.listdir("place")) == wanted:
            return
        time.sleep(0.02)
    sys.exit(f"place holds {os.listdir('place')}")

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"x" * 4096):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    child = subprocess.Popen([sys.argv[1], "annotate", "work", "a.db", "--archive", "a.tar.zst"], env=environment, stdout=writer,
                             preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGINT, signal.SIGHUP)])
    os.close(writer)
    until(True)
    child.send_signal(number)
    if child.wait() != -number:
        sys.exit(f"signal {number}: ended with {child.returncode}")
    until(False)
    os.close(reader)
EOF
    TMPDIR=$PWD/place "$SPROF" annotate work a.db --archive a.tar.zst >out 2>err || fail "annotate"
    [ -z "$(ls place)" ] || fail "the directory stays after an orderly end"
    ;;
vanishing)
    # While an archive is written, a program is removed, and another one becomes shorter. The archive waits for the pipe that takes
    # it, in the middle of a long source that comes first.
    head -c 8000000 /dev/urandom >noise.c && chmod 644 noise.c
    for name in gone cut; do
        cat >$name.c <<'END'
# 1 "noise.c"
__attribute__((noinline)) int work(int x) { for (volatile int i = 0; i < 1000; i++) x += i; return x; }
int main(void) { int sum = 0; for (int i = 0; i < 200000; i++) sum = work(sum); return sum == 1; }
END
        gcc -g -O1 $name.c -o $name || skip "no compiler"
        expect 0 "$SPROF" record -o $name.db -- ./$name
        mkfifo $name.pipe
        "$SPROF" archive $name.db -o - >$name.pipe 2>$name.err &
        child=$!
        exec 5<$name.pipe
        head -c 1 <&5 >$name.tar.zst
        [ $name = gone ] && rm gone || truncate -s 100 cut
        cat <&5 >>$name.tar.zst
        exec 5<&-
        wait "$child" || fail "archive, of which $name: $(cat $name.err)"
        tar --zstd -xf $name.tar.zst -C "$(mktemp -d -p "$PWD")" 2>tar.err || fail "the archive of $name is damaged"
    done
    ! grep -q 'left out: .*/gone:' gone.err || fail "what was there at first is left out: $(cat gone.err)"
    grep -q 'left out: .*/cut: it became shorter' cut.err || fail "it does not say what it lacks: $(cat cut.err)"
    grep -qE '^sprof: [1-9][0-9]* files are not here any more' cut.err || fail "it does not count what it lacks: $(cat cut.err)"
    expect 0 "$SPROF" annotate work gone.db --archive gone.tar.zst --no-source
    grep -q 'add ' out || grep -q 'addl ' out || fail "no instructions of the removed program"
    # A name that comes and goes while files are looked for.
    gcc -g -O1 gone.c -o gone && expect 0 "$SPROF" record -o gone.db -- ./gone
    (while :; do mv gone other; mv other gone; done) &
    children+=("$!")
    for round in {1..30}; do
        run "$SPROF" archive gone.db -o a.tar.zst
        [ "$status" = 0 ] || grep -q 'none of the files' err || fail "archive of what comes and goes"
    done
    ;;
names) # of files are bytes: no UTF-8, and " (deleted)" at the end of one that is there
    directory=$(printf 'bytes\377')
    mkdir "$directory"
    for program in "$directory/prog" "prog (deleted)"; do
        rm -f s.db packed
        cp "$PROGRAMS/run_time_code" "$program"
        expect 0 "$SPROF" record -o s.db -- "./$program" none
        expect 0 "$SPROF" archive -i s.db -o packed
        ! grep -q "left out: .*prog" err || fail "the program is left out"
    done
    expect 0 "$SPROF" annotate -i s.db --archive packed main
    grep -q "prog (deleted): 0x" out || fail "no instructions of the archived program"
    ;;
odd_paths) # directory, source and program with bytes that are no UTF-8, and with control characters
    command -v gcc >/dev/null || skip "no gcc"
    directory=$(printf 'd\377\033[31m')
    source=$(printf 'so\351\tur\007ce.c')
    mkdir "$directory"
    cat >"$directory/$source" <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) void burn(void) { for (unsigned long i = 0; i < 200000000; i++) sink += i; }
int main(void) { burn(); return 0; }
END
    program=$PWD/$directory/$(printf 'pr\033og')
    (cd "$directory" && gcc -O1 -g "$PWD/$source" -o "$program") || fail "gcc"
    expect 0 "$SPROF" record -o s.db -- "$program"
    clean() { # FILE: no control characters, and UTF-8
        ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$1" || fail "$1 holds control characters"
        iconv -f UTF-8 -t UTF-8 <"$1" >/dev/null || fail "$1 is no UTF-8"
    }
    shown() { # [OPTION…]
        expect 0 "$SPROF" annotate -i s.db "$@" burn
        clean out
        grep -q 'void burn(void)' out || fail "no source line ($*)"
        grep -qE 'addq|add ' out || fail "no instructions ($*)"
    }
    shown
    shown --format json
    python3 -c 'import json; json.load(open("out", encoding="utf-8"))' || fail "no JSON"
    expect 0 "$SPROF" archive -i s.db -o packed
    clean err
    ! grep -q "left out" err || fail "something is left out"
    if command -v node >/dev/null; then
        "$SPROF" html s.db -o page.html 2>err && node "$here/page_numbers.js" page.html >page.json 2>err || fail "the page"
        node -e 'const page = require("fs").readFileSync("page.html", "utf8");
            if (/[\x00-\x08\x0b-\x1f\x7f]/.test(page.replace(/\n/g, ""))) throw "control characters";' || fail "the page holds control characters"
    fi
    rm -r "$directory"
    shown --archive packed
    ;;
*) fail "no case $1" ;;
esac
exit 0
