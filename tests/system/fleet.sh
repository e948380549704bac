#!/bin/bash
# A database of many hosts: what is sent to a real ClickHouse comes back with the numbers of sprof merge and report.
#   fleet.sh numbers|tables|names|queries
set -uf
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fleet_lib.sh"

push() { # HOST VERSION FILE [OPTION …]
    expect 0 "$SPROF" push --to "$to" -l service.name=shop -l host.name="$1" -l service.version="$2" -l "of.team=red green" -l "of.note=it's \\ 'x'" "${@:3}"
}

# Functions with their samples and weights. Several of one name are added up: their keys differ where a recording met one alone.
table() { # INPUT [OPTION…]
    "$SPROF" report -i "$1" --run all -n 0 --format csv "${@:2}" >table.csv 2>table.err || fail "report: $(cat table.err)"
    python3 -c '
import collections, csv
sums = collections.defaultdict(collections.Counter)
for row in csv.DictReader(open("table.csv", encoding="utf-8")):
    for key in row:
        if key.endswith(("_samples", "_weight")):
            sums[row["function"], row["module"]][key] += int(row[key])
for name, numbers in sums.items():
    if any(numbers.values()):
        print(*name, *(numbers[key] for key in sorted(numbers)))' | sort
}

numbers() {
    engine
    recordings
    expect 0 "$SPROF" fleet init --to "$to"
    said 'database sprof: 6 tables made'
    push a 1.3 a.db
    push b 1.4 b.db
    expect 0 "$SPROF" merge -o all.db a.db b.db
    for how in '' --inclusive; do
        table all.db $how >merged
        table "$to?service=shop&last=1h" $how >fetched
        [ "$(wc -l <merged)" -gt 20 ] || fail "few functions"
        cmp merged fetched || fail "other numbers: $(diff merged fetched | head -n 5)"
    done
    table b.db >merged
    table "$to/sprof?version=1.4&host=b&event=cpu-clock&until=now" >fetched
    cmp merged fetched || fail "other numbers of one host"
    # The other readers.
    expect 0 "$SPROF" export -f folded -i "$to?service=shop" --run all -o fetched.folded
    expect 0 "$SPROF" export -f folded -i all.db --run all -o merged.folded
    cmp <(sort merged.folded) <(sort fetched.folded) || fail "other folded paths"
    expect 0 "$SPROF" html -i "$to?service=shop" -o page.html
    [ -s page.html ] || fail "no page"
    expect 0 "$SPROF" diff "$to?version=1.3" "$to?version=1.4" --all --format csv
    cut -d, -f7- out | sort >fetched # values and names, without intervals
    expect 0 "$SPROF" diff a.db b.db --all --format csv
    cut -d, -f7- out | sort >merged
    cmp merged fetched || fail "other differences: $(diff merged fetched | head -n 5)"
    # The same rows in the server's own format.
    expect 0 "$SPROF" fleet init --to "$to/native"
    expect 0 "$SPROF" export -f rows --native -l service.name=shop -l host.name=a -l service.version=1.3 -l "of=it's" a.db -o rows
    expect 0 "$SPROF" export -f rows -l service.name=shop -l host.name=a -l service.version=1.3 -l "of=it's" a.db -o rows
    for what in function path cost; do # run and labels have a Map, which this server lacks
        python3 - "$port" $what <<'END' || fail "the server refuses rows/$what.native"
import sys, urllib.parse, urllib.request
port, table = sys.argv[1:]
query = urllib.parse.quote("INSERT INTO native.%s FORMAT Native" % table)
urllib.request.urlopen("http://127.0.0.1:%s/?query=%s" % (port, query), open("rows/%s.native" % table, "rb").read()).read()
END
        query "SELECT * FROM native.$what FORMAT TSV" | sort >fetched
        tail -n +2 rows/$what.tsv | sort >merged
        cmp merged fetched || fail "other rows of $what: $(diff merged fetched | head -n 3)"
    done
    # Of the run, what a map looks like: a type, one pair, its name and its value.
    python3 -c '
data = open("rows/run.native", "rb").read()
assert b"Map(String, String)" + (1).to_bytes(8, "little") + b"\x02of\x04it\x27s" in data' || fail "the map of labels"
    # By what processes belong to: here there is one user, and one cgroup or none.
    user=$("$SPROF" report all.db --run all --by user --format csv | tr -d '\r' | sed -n '2s/.*,//p')
    if [ "$user" != '?' ]; then # it was known before the processes ended
        expect 0 "$SPROF" report -i "$to?user=$user&last=1h" --run all --by user --format csv
        tr -d '\r' <out | grep -q ",$user\$" || fail "no user: $(cat out)"
    fi
    table all.db >merged
    for label in of.team=red%20green of.note=it%27s%20%5C%20%27x%27; do
        table "$to?$label" >fetched
        cmp merged fetched || fail "other numbers of a label"
    done
    table "$to?process=sh" >fetched
    cmp merged fetched || fail "other numbers of a process"
    expect 1 "$SPROF" report -i "$to?process=none"
    said 'no rows of that'
    expect 1 "$SPROF" report -i "$to?container=none"
    said 'no rows of that'
    # Names that are escaped.
    python3 -c '
import sqlite3
with sqlite3.connect("a.db") as file:
    file.execute("INSERT OR REPLACE INTO process_origin SELECT id, 1000, ?, ?, ? FROM process", ("it\x27s \\b", "/c\\1", "\x27,x"))'
    push escaped 1 a.db
    for file in a.db "$to?host=escaped" "$to?user=it%27s%20%5Cb" "$to?cgroup=/c%5C1&container=%27,x"; do
        expect 0 "$SPROF" report -i "$file" --by user,cgroup,container --format csv
        python3 -c '
import csv
print(*[sorted((key, value) for key, value in row.items() if key in ("user", "cgroup", "container") or key.endswith(("_samples", "_weight")))
    for row in csv.DictReader(open("out", encoding="utf-8"))])' >fetched
        [ "$file" != a.db ] || mv fetched merged
        [ "$file" = a.db ] || cmp merged fetched || fail "escaped labels differ: $(cat merged fetched)"
    done
    grep -q "it's" merged || fail "no user: $(cat merged)"
    # What is not there, and what is too much.
    query 'CREATE DATABASE large'
    query "CREATE VIEW large.cost AS SELECT 'large' AS service, number AS path_key FROM (SELECT number FROM system.numbers LIMIT 8400000)"
    expect 1 "$SPROF" report -i "$to/large?service=large"
    said_only '8 400 000 rows of cost are chosen, and at most 8 388 608 can be taken: choose a shorter time'
    expect 1 "$SPROF" report -i "$to?service=shoop"
    said 'there are the services shop'
    expect 1 "$SPROF" report -i "$to?service=shop&until=2020-01-01T00:00:00Z"
    said 'no rows'
    expect 0 "$SPROF" fleet check --to "$to"
    [ "$(grep -c ' equal$' out)" = 3 ] || fail "not all is there"
}

# Each question of docs/fleet/queries.sql, with the numbers that reports have.
queries() {
    engine
    command -v gcc >/dev/null || skip "no gcc"
    cat >shop.c <<'CODE'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) void price(void) { for (unsigned i = 0; i < 50000; i++) sink = sink + i / (sink | 1); }
__attribute__((noinline)) void rebate(void) { for (unsigned i = 0; i < 20000; i++) sink = sink + i % (sink | 1); }
__attribute__((noinline)) void order(void)
{
	price();
#ifdef REBATE
	rebate();
#endif
	sink = sink + 1;
}
int main(void) { while (clock() < 200000) order(); }
CODE
    expect 0 "$SPROF" fleet init --to "$to"
    for version in 1.3 1.4; do
        gcc -O1 -g $([ $version = 1.3 ] || echo -DREBATE) shop.c -o shop || fail gcc
        expect 0 "$SPROF" record -e cpu-clock -F 1997 -o $version.db -- ./shop
        push "host${version#1.}" $version $version.db $([ $version = 1.3 ] || echo --native)
    done
    expect 0 "$SPROF" merge -o all.db 1.3.db 1.4.db
    for how in --inclusive --modules; do
        expect 0 "$SPROF" report -i all.db --run all -n 0 --full-names $how --format csv
        mv out report$how
    done
    expect 0 "$SPROF" export -f folded -i all.db --run all -o folded
    python3 - "$port" "$here/../../docs" <<'CODE' || fail "an answer is wrong"
import collections, csv, re, sys, urllib.request
port, docs = sys.argv[1:]

def ask(question):
    body = (question + "\nFORMAT TSVWithNames").encode()
    answer = urllib.request.urlopen("http://127.0.0.1:%s/" % port, body).read().decode()
    return list(csv.DictReader(answer.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))

answers = {}
for part in open(docs + "/fleet/queries.sql", encoding="utf-8").read().split(";\n"):
    number = re.search(r"^-- (\d+)\.", part, re.M)
    if number:
        answers[int(number[1])] = ask(part)
assert sorted(answers) == list(range(1, 13)), sorted(answers)
assert all(answers.values()), [number for number in answers if not answers[number]]

report = list(csv.DictReader(open("report--inclusive", encoding="utf-8")))
functions = collections.defaultdict(collections.Counter)
bearers = collections.Counter((row["module"], row["function"]) for row in report)
for row in report:
    for kind in ("inclusive", "exclusive"):
        functions[row["module"], row["function"]][kind] += int(row[kind + "_samples"])
        functions[row["module"], row["function"]][kind + " ns"] += int(row[kind + "_weight"])
samples = sum(one["exclusive"] for one in functions.values())
weight = sum(one["exclusive ns"] for one in functions.values())

def near(a, b):
    return abs(float(a) - float(b)) <= 1e-6 * abs(float(b)) + 1e-9

assert {"main", "order", "price"} <= {row["name"] for row in answers[1]}, answers[1]
for row in answers[1]:
    assert bearers[row["module"], row["name"]] > 1 or functions[row["module"], row["name"]]["inclusive"] == int(row["samples"]), row
for row in answers[2]:
    one = functions[row["module"], row["name"]]
    assert bearers[row["module"], row["name"]] > 1 or (
        one["exclusive"] == int(row["samples"]) and near(row["seconds"], one["exclusive ns"] / 1e9)), row

def stacks(lines):
    sums = collections.Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        sums[stack] += int(count)
    return {stack: count for stack, count in sums.items() if count}

assert stacks(row["line"] for row in answers[3]) == stacks(open("folded", encoding="utf-8").read().splitlines())
changed = {row["name"]: row for row in answers[4]}
assert float(changed["rebate"]["before_percent"]) == 0 and float(changed["rebate"]["after_percent"]) > 1, changed
assert [sorted(row["host"] for row in answers[5]), sum(int(row["samples"]) for row in answers[5])] == [["host3", "host4"], samples]
assert near(sum(float(row["seconds"]) for row in answers[6]), weight / 1e9), answers[6]
main = functions["shop", "main"]
money, = (row["money"] for row in answers[7] if row["name"] == "main")
assert near(money, main["inclusive ns"] / 1e9 / 3600 * 0.04), money
assert sum(int(row["samples"]) for row in answers[8]) == main["inclusive"], answers[8]
assert sum(int(row["samples"]) for row in answers[9]) == samples and answers[9][0]["process"] == "shop", answers[9]
modules = collections.Counter()
for row in csv.DictReader(open("report--modules", encoding="utf-8")):
    modules[row["module"]] += int(row["exclusive_samples"])
for row in answers[10]:
    assert modules[row["module"]] == int(row["samples"]), row
assert "rebate" in [row["name"] for row in answers[11]] and "price" not in [row["name"] for row in answers[11]], answers[11]
assert [(row["version"], row["recorded"]) for row in answers[12]] == [(row["version"], row["stored"]) for row in answers[12]], answers[12]
assert sum(int(row["stored"]) for row in answers[12]) == samples, answers[12]
CODE
}

# What was sent without a name has it once `push --names` has sent it, and what has one keeps it.
names() {
    engine
    command -v gcc >/dev/null || skip "no gcc"
    cat >program.c <<'END'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) void busy(void) { for (unsigned i = 0; i < 100000; i++) sink = sink + i / (sink | 1); }
int main(void) { while (clock() < 200000) busy(); }
END
    gcc -O1 -g program.c -o program.debug && objcopy --strip-all program.debug program || fail gcc
    "$SPROF" record -F 1997 --no-cache -o bare.db -- ./program 2>err || fail "record: $(cat err)"
    expect 0 "$SPROF" fleet init --to "$to"
    expect 0 "$SPROF" push --to "$to" bare.db
    table "$to?service=program" >before
    grep -q '^program+0x' before && ! grep -q ^busy before || fail "names: $(cat before)"
    # The same build where its names are; those of a recording without any are none.
    expect 0 "$SPROF" push --to "$to" --names bare.db
    table "$to?service=program" >after
    cmp before after || fail "other names from a recording that has none"
    cp bare.db named.db
    cp program.debug program
    expect 0 "$SPROF" symbolize -i named.db --again --no-cache
    expect 0 "$SPROF" push --to "$to" --names named.db
    said '1 batch, .* rows'
    expect 0 "$SPROF" push --to "$to" --names bare.db
    table "$to?service=program" >after
    grep -q ^busy after && ! grep -q '^program+0x' after || fail "names: $(cat after)"
    cmp <(awk '{ print $NF }' before | sort) <(awk '{ print $NF }' after | sort) || fail "other numbers: $(cat after)"
    expect 2 "$SPROF" push --to pyroscope+http://host --names named.db
    said '--names is for rows'
}

# Made, upgraded, audited, refused.
tables() {
    engine
    recordings
    expect 1 "$SPROF" push --to "$to/other" --spool spool a.db
    said 'sprof fleet init'
    expect 0 "$SPROF" fleet init --to "$to/other"
    expect 0 "$SPROF" push --to "$to/other" --spool spool
    [ "$(query 'SELECT sum(samples) FROM other.cost')" -gt 0 ] || fail "no samples"
    # A column and a table that an older one has not.
    query 'ALTER TABLE other.cost DROP COLUMN total'
    query 'DROP TABLE other.labels'
    expect 1 "$SPROF" push --to "$to/other" --spool spool b.db
    said 'no column labels.labels_key'
    expect 0 "$SPROF" fleet init --to "$to/other"
    said '1 tables made, columns added: cost.total'
    expect 0 "$SPROF" push --to "$to/other" --spool spool
    expect 0 "$SPROF" fleet init --to "$to/other"
    said 'all is there'

    # Paths that had no service: made anew, also by an init that goes on behind one that was killed. Two services share all.
    expect 0 "$SPROF" push --to "$to/other" -l service.name=x a.db
    expect 0 "$SPROF" push --to "$to/other" -l service.name=y a.db
    [ "$(query "SELECT count() FROM other.path WHERE service = 'x'")" = "$(query "SELECT count() FROM other.path WHERE service = 'y'")" ] ||
        fail "a service has the paths of both"
    table "$to/other?service=x" >before
    query 'RENAME TABLE other.path TO other.path_after'
    query 'CREATE TABLE other.path (path_key UInt64, functions Array(UInt64)) ENGINE = ReplacingMergeTree ORDER BY path_key'
    query 'INSERT INTO other.path SELECT DISTINCT path_key, functions FROM other.path_after'
    query 'DROP TABLE other.path_after'
    expect 1 "$SPROF" push --to "$to/other" --spool spool b.db
    said 'no column path.service'
    for step in whole killed; do
        [ $step = whole ] || query 'RENAME TABLE other.path TO other.path_before'
        expect 0 "$SPROF" fleet init --to "$to/other"
        [ $step = killed ] || said 'columns added: path.service'
        [ "$(query "EXISTS TABLE other.path_before")" = 0 ] || fail "paths are set aside"
        for service in x y; do
            table "$to/other?service=$service" >after
            cmp before after || fail "$service lost paths: $(diff before after)"
        done
    done
    query 'DROP TABLE other.path'
    query 'CREATE TABLE other.path (path_key UInt64, functions Array(UInt64)) ENGINE = Memory'
    expect 1 "$SPROF" fleet init --to "$to/other"
    said 'an engine of its own'
    query 'DROP TABLE other.path'
    expect 0 "$SPROF" fleet init --to "$to/other"
    expect 0 "$SPROF" push --to "$to/other" --spool spool

    # An hour ago, so that nothing is on its way any more; then twice, as this old server takes it.
    python3 -c '
import sqlite3
with sqlite3.connect("a.db") as file:
    file.execute("UPDATE run SET start_realtime_ns = start_realtime_ns - 3600000000000")'
    expect 0 "$SPROF" fleet init --to "$to"
    push a 1 a.db
    expect 0 "$SPROF" fleet check --to "$to"
    push a 1 a.db
    expect 1 "$SPROF" fleet check --to "$to"
    grep -q ' doubled$' out || fail "it was stored twice"
    said '1 of 1 differ'
    query "INSERT INTO sprof.cost (service, time, event, samples) VALUES ('\\x1b[31mred', now() - 3600, 'e', 1)"
    expect 1 "$SPROF" fleet check --to "$to"
    grep -q 'red .* no run$' out || fail "costs without a run"
    ! grep -q $'\033' out || fail "what is stored reaches the terminal as it is"
    expect 1 "$SPROF" report -i "$to?service=none"
    ! grep -q $'\033' err || fail "what is stored reaches the terminal as it is"
    # Answers are lost, and what may count twice is said.
    receiver ok,ok,ok,lose,ok --to "$port"
    expect 0 "$SPROF" push --to "$to" -l service.name=lost -l team=x a.db
    said 'may count twice'
    end "$receiver"

    to=${to%:*}:$(sed -n 's/.*<http_port>\([0-9]*\).*/\1/p' engine/config.xml)
    port=${to##*:}
    # Names with every byte, as far as a report shows them.
    python3 -c '
import sys
letters = bytes(byte for byte in range(1, 256) if byte not in b"; \t\r\n")
sys.stdout.buffer.write(b"all;" + letters + b";leaf 3\n\\N;\x27\\ 4\n")' >bytes.folded
    expect 0 "$SPROF" import --folded bytes.folded -o bytes.db
    expect 0 "$SPROF" push --to "$to" -l service.name=bytes bytes.db
    for how in '' --inclusive; do
        table bytes.db $how >merged
        table "$to?service=bytes" $how >fetched
        [ "$(wc -l <merged)" -gt 1 ] || fail "few functions"
        cmp merged fetched || fail "other names: $(diff merged fetched)"
    done
    # Rights.
    SPROF_FLEET_USER=writer SPROF_FLEET_PASSWORD="se'cret" expect 0 "$SPROF" fleet init --to "$to"
    SPROF_FLEET_USER=writer SPROF_FLEET_PASSWORD=wrong expect 1 "$SPROF" fleet check --to "$to"
    said '401|403|193'
    ! grep -q wrong err || fail "a password in a message"
    end "$server"
    expect 1 "$SPROF" fleet check --to "$to" --retry 100ms
    said 'Failed to connect|[Cc]onnection refused'
}

"$1"
