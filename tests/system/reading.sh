#!/bin/bash
# The reading commands on a program that was really recorded.
#   reading.sh annotate|annotate_lost|filters|names|columns|import_back|import_perf|running|follow|archive|archive_dwz|archive_hostile|archive_killed|chrome_bounded|same_numbers
set -uf
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "no gcc"

# work() has nearly all of the time; mix() is inlined into it. It runs until it has used enough CPU time.
cat >subject.c <<'EOF'
#include <stdio.h>
#include <time.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}
__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 1;
	for (unsigned i = 0; i < n; i++) {
		sum = mix(sum + i);
		if (sum & 1)
			sum += sum / (i | 1);
	}
	return sum;
}
int main(int argc, char **argv)
{
	unsigned sum = 0;
	while (clock() < CLOCKS_PER_SEC / 2)
		sum += work(100000 + argc + sum % 3);
	printf("%u %s\n", sum, argv[0]);
	return 0;
}
EOF
gcc -O2 -g subject.c -o subject || fail "gcc"

record_subject() {
    "$SPROF" record -o a.db -- ./subject >out 2>err || fail "record"
}

# The sum of a column of a CSV on standard input, of rows whose column KIND is WORD.
sum_of() { # COLUMN KIND
    python3 -c '
import csv, sys
print(sum(int(row[sys.argv[1]]) for row in csv.DictReader(sys.stdin) if row["kind"] == sys.argv[2]))' "$@"
}

value_of() { # FUNCTION COLUMN : of the table of functions
    "$SPROF" report a.db --inclusive --format csv | python3 -c '
import csv, sys
print(sum(int(row[sys.argv[2]]) for row in csv.DictReader(sys.stdin) if row["function"] == sys.argv[1]))' "$@"
}

case $1 in
annotate)
    record_subject
    "$SPROF" annotate work a.db --format csv >work.csv 2>err || fail "annotate"
    self=$(value_of work exclusive_samples) inlined=$(value_of mix exclusive_samples)
    [ "$self" -gt 0 ] && [ "$inlined" -gt 0 ] || fail "work has $self samples, mix $inlined"
    # Lines are of the function; instructions also of what is inlined into it.
    lines=$(sum_of exclusive_samples source <work.csv)
    [ "$lines" = "$self" ] || fail "the lines have $lines samples, the function $self"
    instructions=$(sum_of exclusive_samples instruction <work.csv)
    [ "$instructions" = $((self + inlined)) ] ||
        fail "the instructions have $instructions samples, the function $self + $inlined"
    grep -q ',instruction,.*/subject.c,13,0x.*,"\?div' work.csv || grep -q '%' work.csv ||
        fail "no AT&T syntax"
    grep -q 'inlined mix' work.csv || fail "inlined instructions are not marked"
    grep -q 'inlines mix' work.csv || fail "the line that inlines is not marked"
    "$SPROF" annotate work a.db --syntax intel --no-source >out 2>err || fail "intel"
    grep -q '%e' out && fail "Intel's syntax has no %"
    "$SPROF" annotate mix a.db >out 2>err || fail "annotate an inlined function"
    grep -q 'x ^= x >> 17' out && grep -q 'only inlined' out || fail "an inlined function"
    ;;
annotate_lost)
    record_subject
    sleep 0.01
    touch subject.c
    "$SPROF" annotate work a.db >out 2>err || fail "annotate"
    grep -q 'subject.c has changed since it was recorded' out || fail "a changed source is not said"
    mkdir elsewhere && mv subject.c elsewhere/
    "$SPROF" annotate work a.db >out 2>err || fail "annotate without source"
    grep -q 'cannot be read.*--source' out || fail "a missing source is not said"
    "$SPROF" annotate work a.db --source elsewhere >out 2>err || fail "--source"
    grep -q 'sum = mix' out || fail "--source does not find it"
    gcc -O1 elsewhere/subject.c -o subject
    "$SPROF" annotate work a.db --source elsewhere >out 2>err || fail "annotate another build"
    grep -q 'another build id' out || fail "another build is not said"
    grep -q 'sum = mix' out || fail "the source must be there all the same"
    rm subject
    "$SPROF" annotate work a.db --no-source >out 2>err || fail "annotate without the program"
    grep -q 'retq' out && fail "instructions from nowhere"
    for bad in "" "nosuch a.db" "work a.db b.db" "work a.db --no-source --no-instructions" \
        "work a.db --syntax arm"; do
        "$SPROF" annotate $bad >out 2>err && fail "annotate $bad succeeded"
        [ -s err ] && [ ! -s out ] || fail "annotate $bad says nothing"
    done
    ;;
filters)
    record_subject
    for filter in "--focus ^work$" "--ignore ^work$" "--cpu 0-63" "--time 0%,100%" "--time 0,1000" \
        "--thread subj*" "--process subject" "--module subj*" "--run 1" "--run all" "--hide ^mix$"; do
        "$SPROF" report a.db $filter --format csv >out 2>err || fail "report $filter"
        "$SPROF" script a.db $filter --format csv >script.csv 2>err || fail "script $filter"
        # The table and the samples agree.
        python3 - "$filter" <<'EOF' || fail "report $filter and script $filter differ"
import csv, sys
table = sum(int(row["exclusive_samples"]) for row in csv.DictReader(open("out")))
samples = sum(int(row["count"]) for row in csv.DictReader(open("script.csv")))
if table != samples or (not table and "--ignore" not in sys.argv[1]):
    sys.exit(f"{table} in the table, {samples} samples")
EOF
    done
    first=$("$SPROF" script a.db --time ,50% --format csv | wc -l)
    second=$("$SPROF" script a.db --time 50%, --format csv | wc -l)
    all=$("$SPROF" script a.db --format csv | wc -l)
    [ $((first + second)) = $((all + 1)) ] || fail "halves of $first and $second lines, $all in all"
    for bad in "--cpu x" "--time 5" "--time 3,1" "--focus (" "--module nosuch*" "--thread nosuch" \
        "--run 9" "--event nosuch" "--host nosuch" "--by wat" "--by cpu,cpu" "--sort wat" "--show wat" \
        "--tree --edges" "--columns 0" "--color blue" "--min-percent 101"; do
        "$SPROF" report a.db $bad >out 2>err && fail "report $bad succeeded"
        [ -s err ] && [ ! -s out ] || fail "report $bad says nothing"
    done
    ;;
names)
    # Names with all that a format must escape.
    python3 - <<'EOF'
names = ["a\"b'c", "</script><b>", "x,y;z".replace(";", ":"), "caf\u00e9 \u2028", "tab\there", "back\\slash|pipe`",
         "\x01\x1b[31mred", "N" * 4096, "*bold* _it_ [l](u)"]
with open("names.folded", "wb") as out:
    for i, name in enumerate(names):
        out.write(b"main;" + name.encode() + b" %d\n" % (i + 1))
    out.write(b"main;bad\xff\xfeutf8 3\n")
EOF
    "$SPROF" import --folded names.folded -o n.db 2>err || fail "import"
    for view in "" --tree --edges "--callers main" "--by module,function" --inclusive; do
        for format in text csv json markdown; do
            "$SPROF" report n.db $view --format $format -n 0 >out 2>err || fail "$view $format"
            python3 - $format <<'EOF' || fail "$view $format is not valid"
import csv, io, json, sys
text = open("out", "rb").read().decode("utf-8")
controls = [c for c in text if ord(c) < 32 and c not in "\r\n"]
assert not controls, controls
if sys.argv[1] == "json":
    json.loads(text)
if sys.argv[1] == "csv":
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1
if sys.argv[1] == "markdown":
    assert "<b>" not in text
if sys.argv[1] == "text":
    assert max(map(len, text.splitlines()[2:])) <= 130, max(map(len, text.splitlines()))
EOF
        done
    done
    # Every export is valid in its own grammar, and none has a control character or broken UTF-8.
    for format in folded pprof speedscope firefox callgrind chrome tsv svg dot; do
        "$SPROF" export -f $format n.db -o n.$format 2>err || fail "export $format: $(cat err)"
    done
    "$SPROF" html n.db -o n.html 2>err || fail "html: $(cat err)"
    "$SPROF" import n.pprof -o again.db 2>err || fail "pprof: $(cat err)"
    [ "$("$SPROF" sql again.db --format csv 'SELECT sum(count) FROM sample' | tail -n 1 | tr -d '\r')" = 48 ] || fail "pprof: samples"
    python3 - <<'EOF' || fail "an export is not valid"
import csv, gzip, json, re, xml.dom.minidom
texts = {}
for format in "folded speedscope firefox callgrind chrome tsv svg dot html".split():
    raw = open("n." + format, "rb").read()
    texts[format] = text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    controls = {c for c in text if ord(c) < 32 and c not in "\r\n\t"} | ({"\x1b"} & set(text))
    assert not controls, (format, controls)
def total(lines):
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)
assert total(texts["folded"].splitlines()) == 48
for format in ("speedscope", "firefox", "chrome"):
    json.loads(texts[format])
rows = list(csv.reader(texts["tsv"].splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
assert len({len(row) for row in rows}) == 1 and len(rows) == 11, rows
xml.dom.minidom.parseString(texts["svg"].encode())
for line in texts["dot"].splitlines():  # quotes come in pairs
    assert len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) % 2 == 0, line
for line in texts["callgrind"].splitlines():
    assert re.match(r"$|#|\w+: |c?(fn|fl|ob|fi|fe)=|calls=|[-+*\d]", line), line
# Nothing in the page's data ends its element.
for data in re.findall(r"<script[^>]*>(.*?)</script>", texts["html"], re.S):
    assert "</script" not in data
assert texts["html"].count("</script") == texts["html"].count("<script"), "an element ends early"
EOF
    ;;
columns)
    record_subject
    for columns in 40 60 80 100 200; do
        for view in "" --inclusive --tree --lines --threads --edges "--callers work" --modules \
            "--by address" "--by process,thread,function"; do
            "$SPROF" report a.db $view --columns $columns >out 2>err || fail "$view"
            python3 - $columns >wide <<'EOF' || fail "$view is wider than $columns: $(cat wide)"
import sys
table = open("out", encoding="utf-8").read().split("\n\n")[0].splitlines()[1:]
wide = [line for line in table if len(line) > int(sys.argv[1]) and not line.startswith("  …")]
sys.exit(wide[0] if wide else 0)
EOF
        done
    done
    "$SPROF" report a.db --color always | grep -q $'\033\[1m' || fail "no colour"
    NO_COLOR=1 "$SPROF" report a.db | grep -q $'\033' && fail "colour"
    SPROF_PAGER='sed s/^/PAGED/' script -qec "$SPROF report a.db" /dev/null >out </dev/null
    grep -q '^PAGED' out || fail "no pager on a terminal"
    SPROF_PAGER='sed s/^/PAGED/' script -qec "$SPROF report a.db --no-pager" /dev/null >out </dev/null
    grep -q '^PAGED' out && fail "a pager in spite of --no-pager"
    ;;
import_back)
    # What was exported comes back with the same numbers, by every way to count that the format holds.
    record_subject
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o w.db --system-module lib.so 2>err || fail "import"
    for recording in a w; do
        "$SPROF" report $recording.db -n 0 --format csv >functions.csv 2>err || fail "report"
        for format in folded pprof; do
            "$SPROF" export -f $format $recording.db -o x.$format 2>err || fail "export $format"
            "$SPROF" import x.$format -o back.db --system-module lib.so 2>err || fail "import $format"
            grep -q "($format)" err || fail "$format was not recognized"
            views=("" --inclusive --tree --bottom-up --edges)
            [ $format = folded ] || views+=(--modules --threads --processes)
            for view in "${views[@]}"; do
                for file in $recording back; do
                    "$SPROF" report $file.db $view -n 0 --format csv >$file.csv 2>err || fail "report $view"
                done
                python3 - $format $recording.csv back.csv <<'EOF' || fail "$recording as $format: report $view"
import collections, csv, sys
def rows(path):
    return csv.DictReader(open(path, encoding="utf-8", newline=""))
# Functions of one name in two modules (clock_gettime of libc calls that of the vdso) are one in folded stacks.
modules = collections.Counter(row["function"] for row in rows("functions.csv"))
def table(path):
    sums = {}
    for row in rows(path):
        if sys.argv[1] == "folded" and any(modules[row[key]] > 1 for key in ("function", "caller", "callee") if key in row):
            continue
        # Folded stacks have neither modules nor weights; ± needs the weight of each sample.
        words = tuple(row[key] for key in ("function", "caller", "callee", "thread", "tid", "process", "pid", "depth") if key in row)
        if sys.argv[1] != "folded":
            words += tuple(value for key, value in row.items() if "module" in key)
        numbers = [int(value) for key, value in row.items()
                   if key.endswith("samples") or (sys.argv[1] == "pprof" and key.endswith("weight"))]
        sums[words] = [a + b for a, b in zip(sums.get(words, [0] * len(numbers)), numbers)]
    return sums
was, now = table(sys.argv[2]), table(sys.argv[3])
if not was or was != now:
    sys.exit(str(set(map(str, was.items())) ^ set(map(str, now.items()))))
EOF
            done
        done
    done
    # From standard input, too.
    "$SPROF" import - -o piped.db <x.pprof 2>err || fail "import -"
    "$SPROF" import -f pprof x.folded -o piped.db 2>err && fail "folded stacks taken for a profile"
    grep -q 'no pprof profile' err || fail "$(cat err)"
    ;;
import_perf)
    command -v perf >/dev/null || skip "no perf"
    # Of user code, without build ids: Debian's perf aborts on longer ones than it knows.
    perf record -B -N -e cpu-clock:u -c 1003009 -g -o p.data ./subject >out 2>err || skip "perf: $(tail -n1 err)"
    perf script -i p.data --no-inline >p.txt 2>err || fail "perf script"
    samples=$(grep -c 'cpu-clock' p.txt)
    work=$(awk '/cpu-clock/ { getline; if ($2 ~ /^work/) n++ } END { print n }' p.txt)
    [ "$work" -gt 0 ] || fail "no sample in work"
    for input in p.data p.txt; do
        "$SPROF" import $input -o p.db 2>err || fail "import $input: $(cat err)"
        "$SPROF" report p.db --inclusive -n 0 --format csv | python3 -c '
import csv, sys
rows = [row for row in csv.DictReader(sys.stdin) if row["function"] == "work"]
samples, weight = (sum(int(row[key]) for row in rows) for key in ("exclusive_samples", "inclusive_weight"))
if samples != int(sys.argv[1]) or weight < samples * 1003009:
    sys.exit(f"{samples} samples of {sys.argv[1]}, weight {weight}")' "$work" || fail "$input: work"
        [ "$("$SPROF" sql p.db --format csv 'SELECT samples FROM v_quality' | tail -n 1 | tr -d '\r')" = "$samples" ] ||
            fail "$input: not $samples samples"
    done
    # perf is missing, or cannot read the file.
    mkdir bin
    sha256sum p.db >kept
    PATH=$PWD/bin "$SPROF" import p.data -o p.db 2>err && fail "without perf"
    grep -q 'linux-perf' err && grep -q 'perf script' err || fail "no cure: $(cat err)"
    printf '#!/bin/sh\necho "warning: old" >&2\necho "incompatible file format" >&2\nexit 255\n' >bin/perf
    chmod +x bin/perf
    PATH=$PWD/bin:$PATH "$SPROF" import p.data -o p.db 2>err && fail "another version"
    grep -q 'incompatible file format' err && grep -q 'another version' err || fail "no cure: $(cat err)"
    printf '#!/bin/sh\necho "what is this"\n' >bin/perf
    PATH=$PWD/bin:$PATH "$SPROF" import p.data -o p.db 2>err && fail "output that nobody knows"
    grep -q 'perf script:1:' err || fail "no line: $(cat err)"
    head -c 300 p.data >cut.data
    "$SPROF" import cut.data -o p.db 2>err && fail "a cut file"
    grep -q 'perf cannot read cut.data' err || fail "$(cat err)"
    "$SPROF" import - -o p.db <p.data 2>err && fail "perf.data from standard input"
    grep -q 'give its name' err || fail "$(cat err)"
    sha256sum -c kept >/dev/null || fail "the recording that was there has changed"
    ;;
running)
    # Reports of a recording that goes on have names; the file stays as it is for its recorder.
    start "$SPROF" record -o t.db -- "$PROGRAMS/split" forever
    recorder=$child
    wait_until 20 test -s t.db
    running() { "$SPROF" report t.db --format csv >out.csv 2>err && grep -q '^[1-9].*,delta,split' out.csv; }
    wait_until 20 running
    "$SPROF" report t.db >out 2>err || fail "report: $(cat err)"
    grep -q '· running, as of [0-9.]* m*s' out || fail "it is not said that it goes on: $(tail -n 4 out)"
    "$SPROF" report t.db --format json | grep -q '"running": *true' || fail "JSON does not say it"
    first=$("$SPROF" sql t.db --format csv 'SELECT samples FROM v_quality' | tail -n 1 | tr -d '\r')
    for command in "script --limit 3" "report --tree" "report --bottom-up" "annotate delta" "export -f folded -o -" "html -o t.html"; do
        "$SPROF" $command t.db >out 2>err || fail "$command: $(cat err)"
    done
    more() { [ "$("$SPROF" sql t.db --format csv 'SELECT samples FROM v_quality' | tail -n 1 | tr -d '\r')" -gt "$first" ]; }
    wait_until 20 more
    kill -TERM "$recorder"
    wait "$recorder"
    "$SPROF" report t.db >out 2>err || fail "report: $(cat err)"
    grep -q 'running' out && fail "it has ended"
    [ ! -e t.db-wal ] || fail "the log was not folded back"
    sqlite3 t.db 'PRAGMA integrity_check' | grep -qx ok || fail "the database is damaged"
    ;;
follow)
    start "$SPROF" record -o t.db -- "$PROGRAMS/split" forever
    recorder=$child
    wait_until 20 test -s t.db
    "$SPROF" report --follow --interval 300ms t.db >f.txt 2>err &
    follower=$!
    several() { [ "$(grep -c '^Functions by' f.txt)" -ge 3 ]; }
    wait_until 40 several
    # On a terminal each takes the place of the one before, and Ctrl-C ends it. Of the shell around it,
    # which gets Ctrl-C as well, bash goes on when its command ended by itself; dash does not.
    screens() { [ "$(grep -o $'\033\[H' out | wc -l)" -ge 2 ]; }
    : >out
    ( (wait_until 60 screens); printf '\003') | SHELL=$(command -v bash) script -qec "stty rows 12; $SPROF report --follow --interval 200ms t.db; echo status \$?" typescript >>out 2>&1
    grep -q $'\033\[?1049h' out && grep -q $'\033\[?1049l' out || fail "no screen of its own"
    screens || fail "it was not shown anew"
    grep -q 'status 0' out || fail "Ctrl-C: $(tail -n 3 out)"
    kill -TERM "$recorder"
    wait "$recorder"
    wait "$follower" || fail "status $? at the end: $(cat err)"
    tail -n 3 f.txt | grep -q running && fail "the last one is not that of the whole recording"
    grep -q 'running, as of' f.txt || fail "no word of its going on"
    # One that has ended is shown once.
    "$SPROF" report --follow t.db >f.txt 2>err || fail "a finished recording"
    [ "$(grep -c '^Functions by' f.txt)" = 1 ] || fail "more than once"
    "$SPROF" report --follow nosuch.db >out 2>err && fail "no recording"
    grep -q 'no recording' err || fail "$(cat err)"
    ;;
archive)
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
    "$SPROF" symbolize --no-cache -i b.db 2>err || fail "symbolize"
    "$SPROF" report b.db --format csv | grep -q ',work,subject' && fail "names from nowhere"
    "$SPROF" symbolize --archive a.tar.zst -i b.db 2>err || fail "symbolize --archive: $(cat err)"
    "$SPROF" report b.db --format csv | grep -q ',work,subject' || fail "no names from the archive"
    [ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'sprof-archive-*' -user "$(id -un)" -newer here.csv)" ] || fail "unpacked files were left behind"
    # What was replaced is left out; without anything there is no archive, and the old one stays.
    cp /bin/true subject
    "$SPROF" archive a.db -o c.tar.zst 2>err || fail "archive: $(cat err)"
    grep -q 'left out: .*subject' err || fail "a replaced program: $(cat err)"
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o w.db 2>err
    sha256sum a.tar.zst >kept
    "$SPROF" archive w.db -o a.tar.zst 2>err && fail "an archive of nothing"
    sha256sum -c kept >/dev/null || fail "the old archive is gone"
    "$SPROF" archive a.db -o a.db 2>err && fail "over the recording"
    ln -s elsewhere link.tar.zst
    "$SPROF" archive a.db -o link.tar.zst 2>err && fail "through a symbolic link"
    ;;
archive_hostile)
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
same_numbers)
    # One recording: whoever is asked, a function has the same samples. The page is asked by the browser's tests.
    record_subject
    python3 - <<'EOF' || fail "they differ"
import collections, csv, html, io, json, os, re, subprocess, sys
sprof = os.environ["SPROF"]

def ask(*words):
    done = subprocess.run([sprof, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()

def rows(text, **how):
    return csv.DictReader(io.StringIO(text), **how)

def added(pairs):
    sums = collections.Counter()
    for name, samples in pairs:
        sums[name] += int(samples)
    return +sums

def by_leaf(stacks):  # (functions root first, samples)
    return added((stack[-1], samples) for stack, samples in stacks)

def by_any(stacks):
    return added((name, samples) for stack, samples in stacks for name in set(stack))

report = ("report", "a.db", "-n", "0")
exclusive = added((row["function"], row["exclusive_samples"]) for row in json.loads(ask(*report, "--format", "json"))["rows"])
inclusive = added((row["function"], row["inclusive_samples"])
                  for row in json.loads(ask(*report, "--inclusive", "--format", "json"))["rows"])
if exclusive["work"] < 10 or inclusive["main"] < exclusive["work"]:
    sys.exit(f"the recording is too small: {exclusive}")

answers = {"exclusive": {}, "inclusive": {}}
for measure, more in (("exclusive", ()), ("inclusive", ("--inclusive",))):
    answer = answers[measure]
    answer["csv"] = added((row["function"], row[measure + "_samples"]) for row in rows(ask(*report, *more, "--format", "csv")))
    shown = ask(*report, *more, "--show", f"function,{measure}_samples", "--columns", "500")
    answer["text"] = added((name, count.replace(" ", "")) for name, count in
                           re.findall(r"^  (\S.*?)  +(\d[\d \u202f\u00a0]*)$", shown, re.M))
    marked = ask(*report, *more, "--show", f"function,{measure}_samples", "--format", "markdown")
    answer["markdown"] = added((re.sub(r"\\(.)", r"\1", name).strip("`"), re.sub(r"\D", "", count)) for name, count in
                               re.findall(r"^\| *(.+?) *\| *(\d[^|]*?) *\|$", marked, re.M))
    answer["sql"] = added((row["function"], row["n"]) for row in rows(ask(
        "sql", "a.db", "--format", "csv", f"SELECT function, sum({measure}_samples) AS n FROM v_function GROUP BY function")))

# Stacks, each way to have them; all but these name functions as tables do.
def of_tree(text, leaf_first):
    parents, stacks = {}, []
    for row in json.loads(text)["rows"]:
        parents[row["id"]] = (row["parent"], row["function"])
        stack, at = [], row["id"]
        while at:
            at, name = parents[at]
            stack.append(name)
        samples = row["inclusive_samples"] if leaf_first else row["exclusive_samples"]
        stacks.append((stack if leaf_first else stack[::-1], samples, row["parent"]))
    return stacks

tree = [(stack, n) for stack, n, _ in of_tree(ask("report", "a.db", "--tree", "--format", "json"), False) if n]
turned = of_tree(ask("report", "a.db", "--bottom-up", "--format", "json"), True)
folded = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1]))
          for line in ask("export", "-f", "folded", "a.db", "-o", "-").splitlines()]
tsv = [(row["stack_root_first"].split(";"), int(row["samples"])) for row in
       rows(ask("export", "-f", "tsv", "a.db", "-o", "-"), delimiter="\t", quoting=csv.QUOTE_NONE)]
for name, stacks in (("tree", tree), ("folded", folded), ("tsv", tsv)):
    answers["exclusive"][name], answers["inclusive"][name] = by_leaf(stacks), by_any(stacks)
answers["exclusive"]["bottom-up"] = added((stack[0], n) for stack, n, parent in turned if not parent)
for format in ("pprof", "folded"):
    ask("export", "-f", format, "a.db", "-o", "x." + format)
    ask("import", "x." + format, "-o", format + ".db")
    for measure in answers:
        answers[measure][format + ", imported"] = added((row["function"], row[measure + "_samples"]) for row in rows(
            ask("report", format + ".db", "-n", "0", "--inclusive", "--format", "csv")))
listed = list(rows(ask("script", "a.db", "--format", "csv")))
script = [(row["stack_leaf_first"].split(";")[::-1], row["count"]) for row in listed]
answers["exclusive"]["script"], answers["inclusive"]["script"] = by_leaf(script), by_any(script)

# Formats that hold every sample. Firefox's stacks name the one outside them by their distance to it.
firefox = json.loads(ask("export", "-f", "firefox", "a.db", "-o", "-"))
shared, stacks, samples = firefox["shared"], [], []
for number, (frame, distance) in enumerate(zip(shared["stackTable"]["frame"], shared["stackTable"]["prefixOffset"])):
    name = shared["stringArray"][shared["funcTable"]["name"][shared["frameTable"]["func"][frame]]]
    stacks.append((stacks[number - distance] if distance else []) + [name])
for thread in firefox["threads"]:
    samples += [(stacks[stack], weight) for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"])]
answers["exclusive"]["firefox"], answers["inclusive"]["firefox"] = by_leaf(samples), by_any(samples)

# Speedscope's file has CPU time: of all threads together, and thread by thread.
speedscope = json.loads(ask("export", "-f", "speedscope", "a.db", "-o", "-"))
names = [frame["name"] for frame in speedscope["shared"]["frames"]]
table = list(rows(ask(*report, "--inclusive", "--format", "csv")))
of_one = {name for name, count in collections.Counter(row["function"] for row in table).items() if count == 1}
weighed = collections.Counter()

def timed(measure):
    return added((row["function"], row[measure + "_weight"]) for row in table if row["function"] in of_one)

def unique(sums):
    return added((name, time) for name, time in sums.items() if name in of_one)
for number, profile in enumerate(speedscope["profiles"]):
    stacks = [([names[frame] for frame in stack], weight) for stack, weight in zip(profile["samples"], profile["weights"])]
    if profile["unit"] != "nanoseconds" or profile["endValue"] - profile["startValue"] != sum(profile["weights"]):
        sys.exit(f"speedscope: {profile['name']} is not as long as its samples")
    if number:
        weighed += by_leaf(stacks)
    elif unique(by_leaf(stacks)) != timed("exclusive") or unique(by_any(stacks)) != timed("inclusive"):
        sys.exit(f"speedscope has {unique(by_any(stacks))}, the report {timed('inclusive')}")
if unique(weighed) != timed("exclusive"):
    sys.exit(f"speedscope has {unique(weighed)} by thread, the report {timed('exclusive')}")

# Chrome's slices: what is open when a sample is taken is its stack.
trace = [event for event in json.loads(ask("export", "-f", "chrome", "a.db", "-o", "-"))["traceEvents"] if event["ph"] in "BE"]
taken = {(int(row["tid"]), int(row["time_ns"])): stack for row, (stack, count) in zip(listed, script) if int(count)}
opened, at = {}, 0
for (tid, time_ns), stack in sorted(taken.items(), key=lambda item: item[0][1]):
    while at < len(trace) and round(trace[at]["ts"] * 1000) <= time_ns:
        event, at = trace[at], at + 1
        slices = opened.setdefault(event["tid"], [])
        if event["ph"] == "B":
            slices.append(event["name"])
        elif slices.pop() != event["name"]:
            sys.exit(f"chrome: {event} ends another slice")
    if opened[tid] != stack:
        sys.exit(f"chrome has {opened[tid]} at {time_ns}, the sample {stack}")

# Titles of the picture are inclusive; a block that is too narrow to be seen is not drawn.
drawn = collections.Counter()
for name, samples in re.findall(r"<title>(.*?) \((\d[^ ]*) samples?, [\d.]+ %\) in", ask("export", "-f", "svg", "a.db", "-o", "-")):
    drawn[html.unescape(name)] += int(re.sub(r"\D", "", samples))
recursive = {name for stack, _ in tree for name in stack if stack.count(name) > 1}
for name, samples in inclusive.items():
    if name not in recursive and samples > inclusive["main"] / 100 and drawn[name] != samples:
        sys.exit(f"svg has {drawn[name]} samples of {name}, the report {samples}")
if drawn.keys() - inclusive.keys():
    sys.exit(f"svg has {drawn.keys() - inclusive.keys()}, which the report has not")
calls = collections.Counter()
for row in json.loads(ask("report", "a.db", "--edges", "-n", "0", "--format", "json"))["rows"]:
    calls[row["caller"], row["callee"]] += next(value for key, value in row.items() if key.endswith("samples"))
for stack, n in tree:
    for call in set(zip(stack, stack[1:])):
        calls[call] -= n
if any(calls.values()):
    sys.exit(f"edges and the tree differ in {dict(+calls)}, {dict(-calls)}")
# Values of callgrind are the function's own, behind each line number.
names, own, skip = {}, collections.Counter(), False
for line in ask("export", "-f", "callgrind", "a.db", "-o", "-").splitlines():
    match = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
    if match:
        names.setdefault(match[2], match[3])
        current = names[match[2]] if match[1] == "fn" else current
    elif line.startswith("calls="):
        skip = True
    elif re.match(r"[+\-*\d]", line):
        if not skip:
            own[current] += int(line.split()[1])
        skip = False
answers["exclusive"]["callgrind"] = +own

# The graph for Graphviz has percentages of the functions that are large enough.
dot = ask("export", "-f", "dot", "a.db", "-o", "-")
keyed = [((row["function"], row["module"]), row) for row in rows(ask(*report, "--inclusive", "--format", "csv"))]
keys = collections.Counter(key for key, _ in keyed)
labels = re.findall(r'label="((?:[^"\\]|\\.)*?)\\n([\d.]+) % of ([\d.]+) %".*tooltip="((?:[^"\\]|\\.)*)"', dot)
drawn = {(re.sub(r"\\(.)", r"\1", name), re.sub(r"\\(.)", r"\1", module)): (float(own), float(all))
         for name, own, all, module in labels}
for key, row in keyed:
    if keys[key] > 1: # static functions of one name
        continue
    expected_percent = float(row["exclusive_percent"]), float(row["inclusive_percent"])
    if key in drawn:
        if any(abs(a - b) > 0.051 for a, b in zip(drawn[key], expected_percent)):
            sys.exit(f"dot says {drawn[key]} of {key}, the report {expected_percent}")
    elif expected_percent[1] > 0.55:
        sys.exit(f"dot lacks {key}")
if not drawn.keys() <= keys.keys():
    sys.exit(f"dot has {drawn.keys() - keys.keys()}, which the report has not")

# Two functions of one name (libc's and the vdso's clock_gettime) are one where modules are not told.
names = collections.Counter(row["function"] for row in rows(ask(*report, "--inclusive", "--format", "csv")))
wrong = False
for measure, expected in (("exclusive", exclusive), ("inclusive", inclusive)):
    for name, answer in answers[measure].items():
        for twice in [function for function, count in names.items() if count > 1]:
            answer.pop(twice, None)
            expected.pop(twice, None)
        if answer != expected:
            print(f"{measure} of {name}: {dict(answer - expected)} too many, {dict(expected - answer)} missing")
            wrong = True
sys.exit(wrong)
EOF
    ;;
archive_dwz)
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
    mv away/shared .
    "$SPROF" symbolize -i f.db 2>err || fail "symbolize with it again: $(cat err)"
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
archive_killed)
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
chrome_bounded)
    # Stacks of 120 frames with nothing in common: two slices of a sample each, more than a viewer opens.
    python3 - >deep.txt <<'EOF'
for sample in range(18000):
    print(f"p 7 {1 + sample / 1000:.6f}: cycles:")
    for frame in range(120):
        print(f"\t{frame + 1} {'ab'[sample % 2]}{frame} (/p)")
    print()
EOF
    "$SPROF" import deep.txt -o deep.db 2>err || fail "import"
    "$SPROF" export -f chrome deep.db -o deep.json 2>err || fail "export"
    python3 - <<'EOF' || fail "not a bounded, nested trace"
import json, sys
trace = json.load(open("deep.json"))
stride = trace["otherData"]["one_sample_shown_in"]
open, begun = [], 0
for event in trace["traceEvents"]:
    if event["ph"] == "B":
        open.append(event["name"])
        begun += 1
    elif event["ph"] == "E" and open.pop() != event["name"]:
        sys.exit("an end without its beginning")
print(stride, begun)
sys.exit(bool(open) or stride < 2 or not 120 <= begun <= 2000000)
EOF
    # A recording of the usual kind is shown whole.
    record_subject
    "$SPROF" export -f chrome a.db -o - 2>err | grep -q '"one_sample_shown_in":1[^0-9]' || fail "samples left out"
    ;;
*) fail "no case $1" ;;
esac
exit 0
