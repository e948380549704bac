#!/bin/bash
# The reading commands on a program that was really recorded.
#   reading.sh annotate|annotate_lost|filters|names|columns|running|follow
set -uf
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/subject.sh"

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
    # The division is of its own line; registers are written as AT&T's assemblers do.
    grep -qE ',instruction,.*/subject.c,15,0x[0-9a-f]+,"?div.*%' work.csv || fail "no division in its line"
    grep -q 'inlined mix' work.csv || fail "inlined instructions are not marked"
    grep -q 'inlines mix' work.csv || fail "the line that inlines is not marked"
    "$SPROF" annotate work a.db --syntax intel --no-source >out 2>err || fail "intel"
    grep -q '%e' out && fail "Intel's syntax has no %"
    grep -q 'idiv\|div' out || fail "no instruction"
    "$SPROF" annotate work a.db --no-instructions --format csv >lines.csv 2>err || fail "--no-instructions"
    grep -q ',source,' lines.csv || fail "--no-instructions: no line"
    grep -q ',instruction,' lines.csv && fail "--no-instructions shows instructions"
    "$SPROF" annotate main a.db --format csv >main.csv 2>err || fail "annotate main"
    grep -qE ',instruction,.*,work,main' main.csv || fail "the call of work does not name it"
    "$SPROF" annotate --top 2 a.db --no-source >out 2>err || fail "--top"
    [ "$(grep -c '── ' out)" = 2 ] || fail "--top 2: $(cat out)"
    "$SPROF" annotate main a.db --no-source >out 2>err || fail "annotate main as text"
    grep -q 'call.* <work>' out || fail "the call of work is shown without its name"
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
    # What is of the application is decided anew; the last match wins.
    for rules in "--system-module *subject system" "--app-module *subject app" "--app-module *subject --system-module sub* system"; do
        "$SPROF" symbolize a.db ${rules% *} 2>err || fail "symbolize $rules"
        [ "$(sql a.db "SELECT DISTINCT kind FROM v_module WHERE module = 'subject'")" = "${rules##* }" ] || fail "symbolize $rules"
    done
    "$SPROF" symbolize a.db --app-module '*subject' 2>err || fail "symbolize"
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
running)
    # Reports of a recording that goes on have names; the file stays as it is for its recorder.
    start "$SPROF" record -o t.db -- "$PROGRAMS/split" forever
    recorder=$child
    wait_until 60 has_begun t.db
    running() { "$SPROF" report t.db --format csv >out.csv 2>err && grep -q '^[1-9].*,delta,split' out.csv; }
    wait_until 60 running
    "$SPROF" report t.db >out 2>err || fail "report: $(cat err)"
    grep -q '· running, as of [0-9.]* m*s' out || fail "it is not said that it goes on: $(tail -n 4 out)"
    "$SPROF" report t.db --format json | grep -q '"running": *true' || fail "JSON does not say it"
    first=$("$SPROF" sql t.db --format csv 'SELECT samples FROM v_quality' | tail -n 1 | tr -d '\r')
    for command in "script --limit 3" "report --tree" "report --bottom-up" "annotate delta" "export -f folded -o -" "html -o t.html"; do
        "$SPROF" $command t.db >out 2>err || fail "$command: $(cat err)"
    done
    more() { [ "$("$SPROF" sql t.db --format csv 'SELECT samples FROM v_quality' | tail -n 1 | tr -d '\r')" -gt "$first" ]; }
    wait_until 60 more
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
    wait_until 60 has_begun t.db
    "$SPROF" report --follow --interval 300ms t.db >f.txt 2>err &
    follower=$!
    several() { [ "$(grep -c '^Functions by' f.txt)" -ge 3 ]; }
    wait_until 60 several
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
*) fail "no case $1" ;;
esac
exit 0
