#!/bin/bash
# sprof diff on recordings whose counts are known: imported stacks, three runs a side.
#   diff.sh speed|uniform|same_names|verdicts|same|fail_if|too_few|runs_of_one_file|renamed|changed_mode|rates_and_kinds|usage|hostile
set -u
. "$(dirname "$0")/lib.sh"

# side NAME MODULE HOT COLD…: three recordings of a program in MODULE; the functions' counts, a little
# different from run to run.
side() {
    local name=$1 module=$2 run function count
    shift 2
    for run in 1 2 3; do
        for function in "$@"; do
            count=${function#*=}
            [ "$count" = 0 ] || echo "$module!main;$module!${function%=*} $((count + (run - 2) * 7))"
        done >"$name$run.folded"
        "$SPROF" import --folded "$name$run.folded" -o "$name$run.db" 2>>"$work/err" || fail "no import"
    done
}

# speed_side NAME "SPEED…" FUNCTION=COUNT…: three recordings, all counts times the run's speed in percent.
speed_side() {
    local name=$1 speeds=$2 run=0 speed function
    shift 2
    for speed in $speeds; do
        run=$((run + 1))
        for function in "$@"; do
            echo "prog!main;prog!${function%=*} $((${function#*=} * speed / 100))"
        done >"$name$run.folded"
        "$SPROF" import --folded "$name$run.folded" -o "$name$run.db" 2>>"$work/err" || fail "no import"
    done
}

# verdict FUNCTION: what the diff of both sides says of it.
verdict() {
    "$SPROF" diff --all --format csv "${more[@]}" a1.db,a2.db,a3.db b1.db,b2.db,b3.db >"$work/out" 2>"$work/err" ||
        fail "diff ended with $?"
    awk -F , -v name="$1" 'NR > 1 && $9 == name { print $3 }' "$work/out" | sort | paste -s -d +
}

expect() { # FUNCTION VERDICT
    local found
    found=$(verdict "$1")
    [ "$found" = "$2" ] || fail "$1 is '$found', not '$2'"
}

# status WANTED OPTION…: the exit status of a comparison of both sides.
status() {
    local wanted=$1
    shift
    "$SPROF" diff "$@" a1.db,a2.db,a3.db b1.db,b2.db,b3.db >"$work/out" 2>"$work/err"
    local found=$?
    [ "$found" = "$wanted" ] || fail "diff $* ended with $found, not $wanted"
}

more=()
case $1 in
speed)
    # The machine's speed varies by 2.1 × within a side; hot grows from 26.8 to 33.7 % of all.
    speed_side a "101 105 103" hot=2680 one=2000 two=2000 three=1500 four=1000 five=820
    speed_side b "120 250 160" hot=3721 one=2000 two=2000 three=1500 four=1000 five=820
    expect hot grown
    for function in one two three four five; do
        expect $function "within chance"
    done
    "$SPROF" diff a1.db,a2.db,a3.db b1.db,b2.db,b3.db >"$work/out"
    grep -q 'runs differ by 2.1 × in speed: judged by share' "$work/out" || fail "the spread of speeds is not said"
    ! grep -q 'cannot be told apart' "$work/out" || fail "the factor between the sides is within the spread"
    status 3 --fail-if '> 5 % of all'
    grep -q 'failed: hot (+10.4 % of all; limit 5 %)' "$work/err" || fail "the row is not named with its growth: $(cat "$work/err")"
    status 3 --fail-if 'total grown > 5 %'
    status 0 --fail-if '> 15 % of all'
    # Only the speed differs: nothing is called changed, not even the other way round.
    speed_side b "120 250 160" hot=2680 one=2000 two=2000 three=1500 four=1000 five=820
    status 0 --fail-if 'grown > 5 %' --fail-if '> 1 % of all' --fail-if 'total grown > 5 %'
    ! grep -Eq ' (grown|shrunk) ' <("$SPROF" diff --all a1.db,a2.db,a3.db b1.db,b2.db,b3.db) || fail "speed is called a change"
    # As they are, where that is asked for: nothing can be seen.
    more=(--per run)
    expect hot "within chance"
    ! grep -q 'judged by share' <("$SPROF" diff --per run a1.db,a2.db,a3.db b1.db,b2.db,b3.db) || fail "--per run judges by share"
    ;;
uniform)
    # All of it 1.2 ×, beyond what runs differ by: program or machine.
    speed_side a "99 100 101" hot=2680 one=2000 two=2000 three=1500 four=1000 five=820
    speed_side b "119 120 121" hot=2680 one=2000 two=2000 three=1500 four=1000 five=820
    for limit in 'grown > 5 %' '> 5 % of all' 'total grown > 2 %'; do
        status 4 --fail-if "$limit"
        grep -q 'everything 1.2 ×: program or machine, cannot be told apart' "$work/err" || fail "not said: $(cat "$work/err")"
        grep -q 'everything 1.2 ×: program or machine' "$work/out" || fail "not in the table"
    done
    expect hot "within chance"
    # A faster machine may hide a slower program; what grows beside is named, unless it only lags behind.
    speed_side b "79 80 81" hot=2680 one=2000 two=2000 three=1500 four=1000 five=820
    status 4 --fail-if 'total grown > 2 %'
    speed_side b "79 80 81" hot=3200 one=2000 two=2000 three=1500 four=1000 five=820
    status 4 --fail-if 'grown > 5 %'
    speed_side b "119 120 121" hot=3800 one=2000 two=2000 three=1500 four=1000 five=820
    status 3 --fail-if 'grown > 5 %'
    grep -q 'failed: hot' "$work/err" || fail "hot is not named: $(cat "$work/err")"
    # Smaller than the limit: passed.
    speed_side b "102 103 104" hot=2680 one=2000 two=2000 three=1500 four=1000 five=820
    status 0 --fail-if 'grown > 10 %'
    ;;
same_names)
    # outer calls itself, and two functions share a name: a sample counts once, and the slower build fails.
    for side in a b; do
        new=0
        [ $side = a ] || new=2500
        for run in 1 2 3; do
            {
                echo "prog!main;prog!outer;prog!outer;prog!outer $((5000 + run * 9))"
                echo "prog!main;prog!outer;other!outer;prog!outer;prog!cold $((3000 - run * 8))"
                echo "prog!main;prog!run;prog!rest $((1000 + run * 5))"
                [ $new = 0 ] || echo "prog!main;prog!run;prog!slow $((new + run * 6))"
            } >$side$run.folded
            "$SPROF" import --folded $side$run.folded -o $side$run.db 2>>"$work/err" || fail "no import"
        done
    done
    status 3 --inclusive --fail-if '> 5 % of all'
    grep -q 'slow' "$work/err" || fail "the new function is not named"
    expect slow new
    more=(--inclusive)
    expect slow new
    expect run grown
    "$SPROF" diff --all --inclusive --format csv a1.db,a2.db,a3.db b1.db,b2.db,b3.db >"$work/out"
    awk -F , 'NR > 1 && $7 > most { most = $7 } NR > 1 && $9 == "main" { all = $7 } END { exit !(all && most <= all) }' "$work/out" ||
        fail "a row has more than all: $(cat "$work/out")"
    ;;
verdicts)
    side a prog hot=3000 cold=5000 left=2000 before=500
    side b prog hot=3600 cold=4000 left=2010 after=400
    expect hot grown
    expect cold shrunk
    expect left "within chance"
    expect after new
    expect before gone
    # Each format has the rows; JSON and CSV the numbers.
    for format in text markdown json; do
        "$SPROF" diff --format $format a1.db,a2.db,a3.db b1.db,b2.db,b3.db | grep -q hot || fail "$format lacks a row"
    done
    "$SPROF" diff --by path a1.db,a2.db,a3.db b1.db,b2.db,b3.db | grep -q 'main › hot' || fail "no call path"
    "$SPROF" diff --by module --all a1.db,a2.db,a3.db b1.db,b2.db,b3.db | grep -q prog || fail "no module"
    ;;
same)
    side a prog hot=3000 cold=5000 left=2000
    side b prog hot=3020 cold=4985 left=1990
    for function in hot cold left; do
        expect $function "within chance"
    done
    status 0 --fail-if 'grown > 0 %' --fail-if '> 0 % of all' --fail-if 'total grown > 0 %'
    # A module that was mapped and met no sample is no other build: a function without a name is compared.
    for file in a1 a2 a3 b1 b2 b3; do
        sqlite3 $file.db "UPDATE function SET named = 0 WHERE name = 'hot'" || fail sqlite3
    done
    sqlite3 a1.db "INSERT INTO module (path, name, kind, main_executable) SELECT path, name, kind, 0 FROM module WHERE name = 'prog'" || fail sqlite3
    expect hot "within chance"
    ;;
fail_if)
    side a prog hot=3000 cold=5000 left=2000
    side b prog hot=3600 cold=5010 left=1990
    status 3 --fail-if 'grown > 5 %'
    grep -q 'failed: hot' "$work/err" || fail "the row is not named"
    status 0 --fail-if 'grown > 50 %'
    status 3 --fail-if '> 1 % of all'
    status 0 --fail-if '> 10 % of all'
    status 3 --fail-if 'total grown > 2 %'
    grep -q 'the total' "$work/err" || fail "the total is not named"
    status 0 --fail-if 'total grown > 20 %'
    ;;
too_few)
    side a prog hot=3000
    side b prog hot=9000
    "$SPROF" diff --fail-if 'grown > 5 %' a1.db b1.db >"$work/out" 2>"$work/err"
    [ $? = 4 ] || fail "one run a side was judged"
    grep -q 'needs 3 runs' "$work/err" || fail "the message does not say what is needed"
    "$SPROF" diff a1.db b1.db >"$work/out"
    grep -q 'needs 3 runs' "$work/out" || fail "a verdict without three runs"
    # What holds for all rows stands once below them; programs have it in each.
    grep 'hot' "$work/out" && ! grep 'hot' "$work/out" | grep -q 'needs 3 runs' || fail "rows repeat it: $(cat "$work/out")"
    [ "$(grep -c 'no row has a verdict: verdicts need 3 runs a side' "$work/out")" = 1 ] || fail "$(cat "$work/out")"
    "$SPROF" diff --format csv a1.db b1.db | grep hot | grep -q 'needs 3 runs' || fail "a row without its verdict"
    # Nothing in common cannot be judged either.
    side b other cold=3000
    status 4 --fail-if 'grown > 5 %'
    ;;
runs_of_one_file)
    "$SPROF" record -o two.db -- "$PROGRAMS/split" once 60 >/dev/null 2>&1 || fail "no recording"
    "$SPROF" record -o two.db --append -- "$PROGRAMS/split" once 60 >/dev/null 2>&1 || fail "no second run"
    "$SPROF" diff two.db >"$work/out" 2>"$work/err" || fail "the two runs of a file"
    "$SPROF" diff two.db:1 two.db:2 >"$work/again" || fail "runs by number"
    cmp -s "$work/out" "$work/again" || fail "two.db is not two.db:1 against two.db:2"
    "$SPROF" diff two.db:1 two.db:7 >"$work/out" 2>"$work/err"
    [ $? = 1 ] && grep -q 'no such run' "$work/err" || fail "a run that is not there"
    ;;
renamed)
    side a old hot=3000 cold=5000
    side b new hot=3010 cold=4990
    expect hot gone+new
    "$SPROF" diff a1.db b1.db >"$work/out" || fail "no comparison"
    grep -q 'old is only before, new only after: if they are one, `--map old=new`' "$work/out" || fail "no word of --map"
    # A renaming that is of no module is said to be none.
    for wrong in "new=old|before comes first: .--map old=new." "nix=new|no module is called 'nix'"; do
        "$SPROF" diff a1.db b1.db --map "${wrong%|*}" >/dev/null 2>"$work/err" && fail "--map ${wrong%|*} is taken"
        grep -q "${wrong#*|}" "$work/err" || fail "--map ${wrong%|*}: $(cat "$work/err")"
    done
    "$SPROF" diff a1.db b1.db --map old=new >"$work/out"
    grep -q 'is only before' "$work/out" && fail "--map is offered again"
    more=(--map old=new)
    expect hot "within chance"
    ;;
changed_mode)
    side a prog hot=3000
    for run in 1 2 3; do
        "$SPROF" record -m pc -o b$run.db -- "$PROGRAMS/split" once 20 >/dev/null 2>&1 || fail "no recording"
    done
    "$SPROF" diff a1.db b1.db >"$work/out" 2>"$work/err"
    [ $? = 2 ] || fail "other events and modes were compared"
    status 4 --fail-if 'grown > 5 %'
    ;;
rates_and_kinds)
    # Different rates compare, and are said; samples do not compare with calls.
    "$SPROF" record -F 997 -o a.db -- "$PROGRAMS/split" once 30 >/dev/null 2>&1 || fail "no recording"
    "$SPROF" record -F 499 -o b.db -- "$PROGRAMS/split" once 30 >/dev/null 2>&1 || fail "no second recording"
    "$SPROF" diff a.db b.db >"$work/out" || fail "two rates"
    grep -q 'sampled at 499 to 997 Hz' "$work/out" || fail "the rates are not said"
    "$SPROF" diff a.db a.db | grep -q 'sampled at' && fail "one rate is called two"
    # The number of a line is never cut, and its function stands beside it.
    "$SPROF" diff a.db b.db --by line --all --columns 80 >"$work/out" || fail "no comparison by line"
    grep -qE ' programs/split\.c:[0-9]+ +[a-z_]+( |$)' "$work/out" || fail "lines without numbers: $(cat "$work/out")"
    "$SPROF" trace -o c.db -- "$PROGRAMS/split" once 5 >/dev/null 2>&1 || fail "no trace"
    for sides in "a.db c.db" "c.db a.db"; do
        "$SPROF" diff $sides >"$work/out" 2>"$work/err"
        [ $? = 2 ] && grep -q 'calls of probed functions' "$work/err" || fail "samples and calls: $sides"
    done
    "$SPROF" diff c.db c.db >"$work/out" || fail "two traces"
    ! grep -q '±' "$work/out" || fail "calls are counted: nothing is sampled"
    ;;
usage)
    side a prog hot=30
    for wrong in "--fail-if nonsense" "--by colour" "--per year" "--map nothing" "a1.db a2.db a3.db" "a1.db," "missing.db a1.db"; do
        "$SPROF" diff $wrong >"$work/out" 2>"$work/err"
        case $? in
        1 | 2) ;;
        *) fail "diff $wrong ended with $?" ;;
        esac
        [ -s "$work/err" ] || fail "diff $wrong: no message"
    done
    "$SPROF" diff a1.db >"$work/out" 2>"$work/err"
    [ $? = 2 ] && grep -q -- --append "$work/err" || fail "one run alone"
    ;;
hostile)
    printf 'a;%s 5\na;<b>|`c` 7\n' "$(printf 'x%.0s' {1..4000})" >x.folded
    "$SPROF" import --folded x.folded -o x.db 2>/dev/null || fail "no import"
    for format in text csv json markdown; do
        "$SPROF" diff --format $format x.db x.db >"$work/out" || fail "$format"
    done
    "$SPROF" diff --format json x.db x.db | python3 -c 'import json, sys; json.load(sys.stdin)' || fail "not JSON"
    ;;
esac
