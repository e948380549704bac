#!/bin/bash
# sprof push to receivers that fail: nothing is lost, nothing counts twice, and what is wrong is said.
#   push.sh again|refused|spool|credentials|loop|pyroscope|otlp|services|killed|full|usage
set -uf
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fleet_lib.sh"

# logged EXPRESSION: of the entries of the log, what python makes of it.
logged() {
    python3 -c "import json
entries = [json.loads(line) for line in open('log', encoding='utf-8')]
print($1)"
}

# What may pass is tried again, with the token that it had before.
again() {
    recordings
    receiver 500,503,ok,408,429:1,ok,close,cut,ok,garbage,html,error:252,ok
    expect 0 "$SPROF" push --to "$to" --spool spool -l team=x a.db
    said '1 batch, .* rows.* sent'
    [ "$(waiting spool)" = 0 ] || fail "a batch is left"
    [ "$(logged "[e['table'] for e in entries if e['what'] == 'ok']")" = "['function', 'path', 'labels', 'cost', 'run']" ] ||
        fail "other tables, or in another order: $(logged entries)"
    [ "$(logged "len({(e['table'], e['token'], e['lines']) for e in entries}), len(entries)")" = '5 14' ] ||
        fail "a repetition is another insert: $(logged entries)"
    # The same recording again has the same tokens; its other run has others.
    cp log before
    expect 0 "$SPROF" push --to "$to" -l team=x a.db
    [ "$(logged "entries[-1]['token'] == entries[-6]['token']")" = True ] || fail "other tokens for the same recording"
    expect 0 "$SPROF" push --to "$to" -l team=x b.db
    [ "$(logged "entries[-1]['token'] == entries[-6]['token']")" = False ] || fail "another recording has the same tokens"
    end "$receiver"

    # Patience ends: what is not sent waits, and an acknowledged table is not sent again.
    receiver ok,ok,500
    expect 1 "$SPROF" push --to "$to" --spool spool --retry 300ms -l team=x a.db
    said '1 batch waits in spool'
    [ "$(waiting spool)" = 1 ] || fail "the batch does not wait"
    end "$receiver"
    expect 1 "$SPROF" push --to "$to" --spool spool --retry 300ms
    said 'Failed to connect|[Cc]onnection refused'
    receiver ok
    expect 0 "$SPROF" push --to "$to" --spool spool
    [ "$(logged "[e['table'] for e in entries]")" = "['labels', 'cost', 'run']" ] || fail "tables were sent again: $(logged entries)"
    [ "$(waiting spool)" = 0 ] || fail "the batch waits still"
    end "$receiver"
    # A receiver that does not answer in time.
    receiver slow
    expect 1 "$SPROF" push --to "$to" --spool spool --retry 1s -l team=x a.db
    said 'time'
    [ "$(waiting spool)" = 1 ] || fail "the batch does not wait"
    end "$receiver"
    rm -rf spool
    receiver header
    expect 1 "$SPROF" push --to "$to" --spool spool --retry 1s -l team=x a.db
    said 'the header of its answer is too long'
    end "$receiver"
}

# What would never be taken.
refused() {
    local plan
    recordings
    receiver 400,413
    expect 1 "$SPROF" push --to "$to" --spool spool a.db b.db
    said 'is set aside as .*\.refused: it answers 400'
    said 'is set aside as .*\.refused: it answers 413'
    ! grep -q ' sent to ' err || fail "nothing was sent: $(cat err)"
    end "$receiver"
    # A query, which comes before all that is sent.
    rm -rf spool
    receiver ok --query 413
    expect 1 "$SPROF" push --to "$to" --spool spool a.db b.db
    said 'answers 413'
    said '2 batches wait in spool'
    end "$receiver"
    rm -rf spool
    receiver error:27,ok
    expect 1 "$SPROF" push --to "$to" --spool spool a.db b.db
    said 'is set aside as .*\.refused: it answers 500'
    ! grep -q $'\033' err || fail "what the receiver says reaches the terminal as it is"
    [ "$(find spool -name '*.refused' | wc -l)" = 1 ] || fail "it is not set aside"
    [ "$(logged "sum(e['table'] == 'run' for e in entries)")" = 1 ] || fail "the other one was not sent: $(logged entries)"
    end "$receiver"
    # People have to do something: all waits, and the next is not tried.
    for plan in 401 redirect error:60; do
        rm -rf spool
        receiver $plan,ok
        expect 1 "$SPROF" push --to "$to" --spool spool a.db b.db
        said '2 batches wait in spool'
        [ "$plan" != redirect ] || said 'moved to http://127.0.0.1:1/elsewhere'
        [ "$plan" != error:60 ] || said 'sprof fleet init'
        [ "$(logged 'len(entries)')" = 1 ] || fail "more was sent: $(logged entries)"
        end "$receiver"
    done
    # Tables of another version: nothing is sent.
    grep -v '^cost.total' columns >other
    mv other columns
    receiver ok
    expect 1 "$SPROF" push --to "$to" --spool spool
    said 'no column cost.total'
    [ ! -s log ] || fail "something was sent: $(cat log)"
    end "$receiver"
}

# Bounded, private, one process at a time; damaged files are set aside and named.
spool() {
    local file
    recordings
    receiver 500
    expect 1 "$SPROF" push --to "$to" --spool spool --retry 1ms a.db b.db
    [ "$(stat -c %a spool)" = 700 ] || fail "others may look into the spool"
    [ "$(waiting spool)" = 2 ] || fail "not both wait"
    # Again, and they do not wait twice.
    expect 1 "$SPROF" push --to "$to" --spool spool --retry 1ms a.db b.db
    [ "$(waiting spool)" = 2 ] || fail "they wait twice"
    start bash -c 'exec 9>spool/lock && flock 9 && exec sleep 60'
    wait_until 10 sh -c '! flock -n spool/lock true'
    expect 1 "$SPROF" push --to "$to" --spool spool
    said 'another sprof sends from spool'
    end "$child"
    end "$receiver"

    receiver ok
    set +f
    file=$(ls spool/*.clickhouse | head -n 1)
    set -f
    printf x | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
    touch spool/new
    expect 1 "$SPROF" push --to "$to" --spool spool
    said "$file is set aside as .*\.damaged: it is damaged"
    said '1 batch,'
    [ "$(waiting spool)" = 0 ] && [ -e "$file.damaged" ] || fail "$(ls spool)"
    end "$receiver"

    # The oldest goes where there is no room, and is counted.
    rm -rf spool
    receiver 500
    expect 1 "$SPROF" push --to "$to" --spool spool --spool-size 8K --retry 1ms a.db b.db
    said 'the oldest batch in spool was dropped, unsent; 1 so far'
    [ "$(waiting spool)" = 1 ] && [ "$(cat spool/dropped)" = 1 ] || fail "$(ls spool)"
    end "$receiver"
    # A killed writer leaves nothing that would be sent.
    chmod 777 spool
    expect 1 "$SPROF" push --to "$to" --spool spool
    said 'others may write into spool'
}

credentials() {
    recordings
    receiver ok
    export SPROF_FLEET_USER=writer SPROF_FLEET_PASSWORD=se:cret
    expect 0 "$SPROF" push --to "$to" a.db
    [ "$(logged "entries[-1]['user']")" = writer:se:cret ] || fail "user and password of the environment"
    printf '# of the test\nuser = reader\npassword=other\n' >secret
    chmod 644 secret
    expect 1 "$SPROF" push --to "$to" --credentials secret a.db
    said 'others may read secret'
    chmod 600 secret
    expect 0 "$SPROF" push --to "$to" --credentials secret a.db
    [ "$(logged "entries[-1]['user']")" = reader:other ] || fail "user and password of the file"
    unset SPROF_FLEET_USER SPROF_FLEET_PASSWORD
    SPROF_FLEET_TOKEN=abc expect 0 "$SPROF" push --to "$to" a.db
    [ "$(logged "entries[-1]['user']")" = abc ] || fail "the token"
    printf 'pass word = x\n' >secret
    expect 2 "$SPROF" push --to "$to" --credentials secret a.db
    said 'secret:1: write'
    expect 2 "$SPROF" push --to "clickhouse+http://me:hidden@127.0.0.1:$port" a.db
    said 'leave name and password out'
    ! grep -q hidden err || fail "a password in a message"
    end "$receiver"

    # A certificate without a known issuer, and one that is trusted.
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost 2>openssl.err || skip "no openssl: $(cat openssl.err)"
    receiver ok --tls cert.pem key.pem
    expect 1 "$SPROF" push --to "clickhouse+https://localhost:$port" --spool spool -l team=x a.db
    said 'certificate'
    [ ! -s log ] || fail "something was sent: $(cat log)"
    SPROF_FLEET_CA=cert.pem expect 1 "$SPROF" push --to "clickhouse+https://127.0.0.1:$port" --spool spool
    said 'certificate|SSL'
    SPROF_FLEET_CA=cert.pem expect 0 "$SPROF" push --to "clickhouse+https://localhost:$port" --spool spool
    [ "$(logged 'len(entries)')" = 5 ] || fail "not all was sent: $(logged entries)"
    end "$receiver"
}

# A continuous recording sends its segments, also those that an absent receiver has missed.
loop() {
    local sent
    needs_root "for perf events of another process"
    start sh -c 'while :; do :; done'
    spins=$child
    receiver 503
    start "$SPROF" record --loop 1s -p "$spins" -F 199 -o d --push "$to" --label service.name=shop 2>loop.err
    recorder=$child
    wait_until 60 sh -c 'find d/spool -name "*.clickhouse" | grep -q .'
    end "$receiver" # another one on the same port
    rm -f port log
    start python3 "$here/receiver.py" log lose,ok --port-file port --columns columns --port "${to##*:}"
    wait_until 60 grep -q '"run"' log
    kill -INT "$recorder"
    wait "$recorder" || fail "exit status $?: $(cat loop.err)"
    [ "$(waiting d/spool)" = 0 ] || fail "segments wait still: $(cat loop.err)"
    sent=$(logged "len({e['token'] for e in entries if e['table'] == 'run'})")
    # A segment without samples has no rows, unless CPU time was booked without one.
    "$SPROF" loop list d >listed
    holds "$sent >= $(awk '$7 ~ /db$/ && $4 > 0' listed | wc -l) && $sent <= $(grep -c 'db$' listed)" "segments sent, of: $(cat listed)"
    # What was sent is not sent again; what was lost at first was sent twice with one token.
    cp log before
    expect 0 "$SPROF" push --to "$to" --spool d/spool d
    cmp log before || fail "segments are sent again"
    [ "$(logged "entries[0]['token'] == entries[1]['token']")" = True ] || fail "$(head -n 2 log)"
}

# Folded stacks as recordings 1.db, 2.db, …
small() { # COUNT
    local run
    for ((run = 1; run <= $1; run++)); do
        printf 'main;work%d %d\nmain;other 2\n' "$run" $((run + 2)) | "$SPROF" import --folded - -o $run.db 2>err || fail import
    done
}

# Killed at any time, with answers lost: every insert arrives, and its repetitions have its token.
killed() {
    local file run
    small 6
    receiver lose,ok,ok,lose,ok,lose,lose,ok,ok,ok,lose,ok,ok,ok,ok,lose,ok
    for run in 1 2 3 4 5 6; do
        start "$SPROF" push --to "$to" --spool spool --retry 60s 1.db 2.db 3.db 4.db 5.db 6.db 2>>killed.err
        sleep 0.0$((run * 3 % 10))
        kill -9 "$child" 2>/dev/null
        wait "$child" 2>/dev/null
    done
    # What was being written when it was killed is no batch.
    expect 0 "$SPROF" push --to "$to" --spool spool 1.db 2.db 3.db 4.db 5.db 6.db
    [ "$(waiting spool)" = 0 ] || fail "batches wait still"
    file="len({e['token'] for e in entries}), len({(e['token'], e['table'], e['lines']) for e in entries})"
    [ "$(logged "$file")" = '24 24' ] || fail "inserts are missing, or of two kinds: $(logged "$file")"
    end "$receiver"
}

# On a full disk the oldest go, counted, and the others arrive. A clock that is set back hides no segment.
full() {
    local dropped
    needs_root "to mount a small disk"
    small 10
    receiver ok
    mkdir -m 700 small
    unshare --mount --propagation private bash -c 'mount -t tmpfs -o size=28k,mode=700 none small && exec "$@"' x \
        sh -c '"$0" push --to clickhouse+http://127.0.0.1:1 --spool small/spool --retry 1ms 1.db 2.db 3.db 4.db 5.db 6.db 7.db 8.db 9.db \
            10.db >first 2>&1; cat small/spool/dropped >dropped; "$0" push --to "$1" --spool small/spool' \
        "$SPROF" "$to" 2>err || fail "$(cat err first)"
    grep -q 'the disk is full: the oldest batch in small/spool was dropped' first || fail "$(cat first)"
    dropped=$(cat dropped)
    [ "$dropped" -gt 0 ] && [ "$(logged "sum(e['table'] == 'run' for e in entries)")" = $((10 - dropped)) ] ||
        fail "$dropped dropped: $(logged "[e['table'] for e in entries]")"
    said "$dropped were dropped from small/spool so far"

    mkdir -m 700 d
    cp 1.db d/20300101T000000.000Z.db
    expect 0 "$SPROF" push --to "$to" --spool spool d
    cp 2.db d/20260101T000000.000Z.db
    expect 0 "$SPROF" push --to "$to" --spool spool d
    said '1 batch,'
    expect 0 "$SPROF" push --to "$to" --spool spool d
    said '0 batches'
    rm d/20300101T000000.000Z.db
    cp 3.db d/20260101T000001.000Z.db
    expect 0 "$SPROF" push --to "$to" --spool spool d
    said '1 batch,'
    [ "$(wc -l <spool/segments)" = 2 ] || fail "segments that are gone stay noted: $(cat spool/segments)"
    # One that is being made is not sent yet, one that is damaged is left out.
    : >d/20260101T000002.000Z.db
    expect 0 "$SPROF" push --to "$to" --spool spool d
    said '0 batches'
    cp 4.db d/20260101T000002.000Z.db && sqlite3 d/20260101T000002.000Z.db "DELETE FROM run" || fail sqlite3
    expect 0 "$SPROF" push --to "$to" --spool spool d # a segment is there before its run is
    said '0 batches'
    cp 4.db d/20260101T000002.000Z.db
    expect 0 "$SPROF" push --to "$to" --spool spool d
    said '1 batch,'
    touch -d '2 hours ago' d/20260101T000003.000Z.db
    expect 0 "$SPROF" push --to "$to" --spool spool d
    said '20260101T000003.000Z.db is left out'
    end "$receiver"
}

# A profile as Pyroscope takes it, with the numbers of the recording.
pyroscope() {
    recordings
    receiver 500,html,ok
    to=pyroscope+http://127.0.0.1:$port
    export SPROF_FLEET_TENANT=team
    expect 0 "$SPROF" push --to "$to" -l service.name='the \"shop"' -l host.name=a -l of.team='red\blue' a.db
    said 'may count twice'
    python3 - <<'END' || fail "$(cat log)"
import base64, gzip, json
entry = [json.loads(line) for line in open("log", encoding="utf-8")][-1]
assert entry["path"] == "/push.v1.PusherService/Push" and entry["Content-Type"] == "application/json" and entry["X-Scope-OrgID"] == "team", entry
(series,) = json.loads(base64.b64decode(entry["body"]))["series"]
labels = {label["name"]: label["value"] for label in series["labels"]}
assert (labels["__name__"], labels["service_name"], labels["host_name"]) == ("process_cpu", 'the \\"shop"', "a"), labels
assert labels["of_team"] == "red\\blue" and sum(label["name"] == "service_name" for label in json.loads(
    base64.b64decode(entry["body"]))["series"][0]["labels"]) == 1, labels
(sample,) = series["samples"]
profile = base64.b64decode(sample["rawProfile"])
open("sent.pb.gz", "wb").write(profile)
texts = gzip.decompress(profile)
assert b"\x32\x03pid" not in texts and b"\x32\x03tid" not in texts and b"\x32\x06thread" in texts
END
    expect 0 "$SPROF" import -f pprof sent.pb.gz -o sent.db
    for file in a sent; do
        "$SPROF" report -i $file.db -n 0 --format csv | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["exclusive_samples"] != "0":
        print(row["function"], row["exclusive_samples"], row["exclusive_weight"])' | sort >$file.table
    done
    cmp a.table sent.table || fail "other numbers: $(diff a.table sent.table | head -n 5)"
    expect 2 "$SPROF" fleet check --to "$to"
    end "$receiver"
}

# Of a whole machine each service is a series, or a profile, of its own.
services() {
    expect 0 "$SPROF" record -e cpu-clock -F 1997 -o a.db -- sh -c 'for n in 1 2 3; do (exec sh -c "i=0; while [ \$i -lt 40000 ]; do i=\$((i+1)); done"); done'
    sqlite3 a.db "UPDATE run SET targets = 'all that runs';
        INSERT OR REPLACE INTO process_origin SELECT id, 0, 'root', '/system.slice/' || iif(id % 2, 'one', 'two') || '.service', NULL FROM process" || fail sqlite3
    expect 0 "$SPROF" export -f otlp-profiles -o all.otlp.pb a.db
    expect 0 "$SPROF" export -f otlp-profiles -l service=shop -o one.otlp.pb a.db
    PYTHONPATH=$here python3 - <<'END' || fail "resources of a file"
import sqlite3
from protobuf import fields, packed

def services(path):
    counts, ids = {}, []
    request = fields(open(path, "rb").read())
    texts = [text.decode() for text in fields(request[2][0])[5]]
    for resource in map(fields, request[1]):
        of = {fields(one)[1][0].decode(): fields(fields(one)[2][0])[1][0].decode() for one in fields(resource[1][0])[1]}
        for profile in map(fields, fields(resource[2][0])[2]):
            ids.append(profile[7][0])
            if texts[fields(profile[1][0])[1][0]] == "samples":
                values = packed(b"".join(fields(sample)[4][0] for sample in profile[2]))
                counts[of["service.name"]] = counts.get(of["service.name"], 0) + sum(values)
    assert len(set(ids)) == len(ids), ids
    return counts

wanted = dict(sqlite3.connect("a.db").execute("""SELECT iif(t.process_id % 2, 'one', 'two') AS service, sum(s.count) AS n
    FROM sample s JOIN thread t ON t.id = s.thread_id GROUP BY service HAVING n > 0"""))
assert services("all.otlp.pb") == wanted and len(wanted) == 2, (services("all.otlp.pb"), wanted)
assert services("one.otlp.pb") == {"shop": sum(wanted.values())}, services("one.otlp.pb")
END
    for kind in pyroscope otlp; do
        receiver ok
        expect 0 "$SPROF" push --to $kind+http://127.0.0.1:$port a.db
        end "$receiver"
        python3 - $kind a.db <<'END' || fail "$(cut -c1-300 log)"
import base64, json, sqlite3, subprocess, sys
kind, recording = sys.argv[1:]
counts = {}
bodies = [base64.b64decode(json.loads(line)["body"]) for line in open("log", encoding="utf-8")]
if kind == "otlp":
    names = [[name for name in (b"\x0a\x03one", b"\x0a\x03two") if name in body] for body in bodies]
    assert all(len(one) == 1 for one in names) and len({one[0] for one in names}) == 2, names
    sys.exit(0)
for series in [one for body in bodies for one in json.loads(body)["series"]]:
    labels = {label["name"]: label["value"] for label in series["labels"]}
    open("x.pb.gz", "wb").write(base64.b64decode(series["samples"][0]["rawProfile"]))
    subprocess.run(["sh", "-c", '"$SPROF" import -f pprof x.pb.gz -o x.db'], check=True, stderr=subprocess.DEVNULL)
    counts.setdefault(labels["service_name"], 0)
    counts[labels["service_name"]] += sqlite3.connect("x.db").execute("SELECT sum(count) FROM sample").fetchone()[0]
wanted = dict(sqlite3.connect(recording).execute("""SELECT iif(t.process_id % 2, 'one', 'two') AS service, sum(s.count) AS n
    FROM sample s JOIN thread t ON t.id = s.thread_id GROUP BY service HAVING n > 0"""))
assert counts == wanted and len(wanted) == 2, (counts, wanted)
END
    done
}

# Profiles as a collector of OpenTelemetry takes them. The decoder here is one of the wire format alone.
otlp() {
    recordings
    receiver 500,html,ok
    to=otlp+http://127.0.0.1:$port
    OTEL_SERVICE_NAME=other OTEL_RESOURCE_ATTRIBUTES='host.name=b,region=eu%2Cwest,version=3' \
        expect 0 "$SPROF" push --to "$to/" -l service.name='the "shop"' -l host.name=a -l team=x a.db
    said 'may count twice'
    "$SPROF" report -i a.db -n 0 --format csv >table.csv || fail report
    PYTHONPATH=$here python3 - <<'END' || fail "$(cat log)"
import base64, collections, csv, json
from protobuf import fields, packed
entry = [json.loads(line) for line in open("log", encoding="utf-8")][-1]
assert (entry["path"], entry["Content-Type"], entry["OTLP-Profiles-Development-Version"]) == ("/v1development/profiles", "application/x-protobuf", "1"), entry

request = fields(base64.b64decode(entry["body"]))
(dictionary,), (resource,) = map(fields, request[2]), map(fields, request[1])
texts = [text.decode() for text in dictionary[5]]
tables = {number: [fields(one) for one in dictionary[number]] for number in (1, 2, 3, 4, 6, 7)}
assert texts[0] == "" and all(not table[0] for number, table in tables.items() if number != 4)
of = {fields(one)[1][0].decode(): fields(fields(one)[2][0])[1][0].decode() for one in fields(resource[1][0])[1]}
assert (of["service.name"], of["host.name"], of["team"]) == ('the "shop"', "a", "x") and of["service.version"], of
assert (of["region"], of["version"]) == ("eu,west", "3") and of["service.version"] != "3", of
names = {texts[one[1][0]] for one in tables[6][1:]}
assert names >= {"thread.name", "process.executable.name", "profile.frame.type"} and not names & {"process.pid", "thread.id"}, names
sums = collections.defaultdict(lambda: [0, 0])
for at, profile in enumerate(map(fields, fields(resource[2][0])[2])):
    kind = tuple(texts[fields(profile[1][0])[i][0]] for i in (1, 2))
    assert kind == (("cpu", "nanoseconds"), ("samples", "count"))[at] and len(profile[7][0]) == 16, kind
    for sample in map(fields, profile[2]):
        stack = packed(tables[7][sample[1][0]][1][0])
        line = fields(tables[2][stack[0]][3][0])
        sums[texts[tables[3][line[1][0]][1][0]]][1 - at] += packed(sample[4][0])[0]
expected = collections.defaultdict(lambda: [0, 0])
for row in csv.DictReader(open("table.csv", encoding="utf-8")):
    for at, column in enumerate(("exclusive_samples", "exclusive_weight")):
        expected[row["function"]][at] += int(row[column])
assert dict(sums) == {name: both for name, both in expected.items() if any(both)}, (sums, expected)
END
    end "$receiver"
    receiver rejected,404
    to=otlp+http://127.0.0.1:$port
    expect 1 "$SPROF" push --to "$to" --spool spool a.db
    said 'is set aside as .*\.refused: it rejects profiles: no room'
    expect 1 "$SPROF" push --to "$to" --spool spool b.db
    said 'service.profilesSupport'
    [ "$(waiting spool)" = 1 ] || fail "it does not wait"
    end "$receiver"
}

usage() {
    expect 2 "$SPROF" record --push clickhouse+http://host -p $$
    said '--push belongs to --loop'
    expect 2 "$SPROF" record --loop 1s --without user -p $$
    said 'belong to --push'
    expect 2 "$SPROF" push --to otlp+http://host --without user x.db
    said '--without is for rows'
    expect 2 "$SPROF" push --to pyroscope+http://host --native x.db
    said '--native is for rows'
    expect 2 "$SPROF" record --loop 1s --push http://host -p $$
    expect 2 "$SPROF" record --loop 1s --label a=b -p $$
    expect 2 "$SPROF" push
    said 'what is to be sent'
    expect 2 "$SPROF" push x.db
    said 'to which receiver'
    for to in http://host mysql+http://host clickhouse+ftp://host clickhouse+http:// clickhouse+http://:1 'clickhouse+http://host/a b' \
        clickhouse+http://host/a-b 'clickhouse+http://host?service' 'clickhouse+http://host?a=%zz'; do
        expect 2 "$SPROF" push --to "$to" x.db
    done
    expect 2 "$SPROF" push --to clickhouse+http://host --window 1500ms x.db
    expect 2 "$SPROF" push --to clickhouse+http://host --follow x.db
    expect 1 "$SPROF" push --to clickhouse+http://127.0.0.1:1 missing.db
    said missing.db
    expect 2 "$SPROF" fleet
    said 'sprof fleet init'
    expect 2 "$SPROF" fleet make --to clickhouse+http://host
    expect 2 "$SPROF" fleet init --from 1h --to clickhouse+http://host
    expect 2 "$SPROF" fleet init --to pyroscope+http://host
    said 'tables are ClickHouse'
    expect 2 "$SPROF" report -i 'clickhouse+http://127.0.0.1:1?servce=x'
    said 'servce.*service, version'
    expect 2 "$SPROF" report -i 'clickhouse+http://127.0.0.1:1?last=soon'
    expect 2 "$SPROF" report -i 'pyroscope+http://127.0.0.1:1?service=x'
    said 'clickhouse'
}

"$1"
