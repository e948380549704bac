#!/bin/bash
# dev/results, from what ctest itself writes of tests that pass, fail, are skipped, do not run, and pass when they are run again.
#     results.sh SOURCE
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    cat shown >&2
    exit 1
}

# tests OF: makes a directory of these tests.
project() {
    mkdir -p "$1"
    rm -f "$1/again"
    cat >"$1/CTestTestfile.cmake"
}

# counted DIRECTORY STATUS LAST-LINE [REPEATABLE]: what dev/results makes of it.
counted() {
    rm -f results
    ctest --test-dir "$1" --output-on-failure --output-junit "$PWD/junit.xml" --repeat until-pass:2 -j 2 >output 2>/dev/null
    "$source/dev/results" add results "$1" $? junit.xml output
    "$source/dev/results" show results ${4-} >shown 2>&1
    status=$?
    [ "$(tail -n 1 shown)" = "$3" ] || fail "$1: the last line is not: $3"
    [ $status = "$2" ] || fail "$1: exit status $status"
}

shown() {
    grep -qFx -- "$1" shown || fail "not shown: $1"
}

project good <<'END'
add_test(passes true)
add_test(skips sh -c "echo work; echo 'SKIPPED: no perf'; exit 77")
add_test(leaves sh -c "echo there is no dwz; exit 77")
set_tests_properties(skips leaves PROPERTIES SKIP_RETURN_CODE 77)
END
counted good 0 '1 passed, 0 failed, 2 skipped'
shown 'skipped: good/skips: no perf'
shown 'skipped: good/leaves: there is no dwz'

project bad <<'END'
add_test(passes true)
add_test(fails false)
add_test(waits sleep 20)
set_tests_properties(waits PROPERTIES TIMEOUT 1)
add_test(exits sh -c "exit 77")
END
counted bad 1 '1 passed, 3 failed, 0 skipped'

# The last lines of what failed are shown, above the names.
project ends <<'END'
add_test(long sh -c "seq 100; exit 1")
add_test(short sh -c "echo the only line; exit 1")
add_test(silent false)
add_test(passes echo nothing of interest)
END
counted ends 1 '1 passed, 3 failed, 0 skipped'
{
    echo '== ends/long failed (the last 60 of 100 lines):'
    seq 41 100
    echo '== ends/short failed:'
    echo 'the only line'
    printf 'failed: ends/%s\n' long short silent
    echo '1 passed, 3 failed, 0 skipped'
} >expected
diff expected shown || fail "the last lines of what failed"

project absent <<'END'
add_test(passes true)
add_test(missing /nonexistent/program)
add_test(needs true)
set_tests_properties(needs PROPERTIES REQUIRED_FILES /nonexistent/file)
add_test(off true)
set_tests_properties(off PROPERTIES DISABLED ON)
END
counted absent 1 '1 passed, 3 failed, 0 skipped'
grep -q '^failed: absent/missing: did not run' shown || fail "a program that is missing"

project again <<'END'
add_test(passes true)
add_test(second sh -c "test -e again && exit 0; touch again; echo the first time; exit 1")
END
counted again 1 '1 passed, 1 failed, 0 skipped'
shown 'the first time'
shown 'failed: again/second: passed only when it was run again'
rm -f again/again
echo 'sec.* it is known to' >list
counted again 0 '2 passed, 0 failed, 0 skipped' list
shown 'the first time'
rm -f again/again
echo 'sec it is known to' >list
counted again 1 '1 passed, 1 failed, 0 skipped' list
echo 'second' >list
"$source/dev/results" show results list >shown 2>&1 && fail "an entry without a reason"

# ctest itself fails.
rm -f results
: >output
"$source/dev/results" add results none 1 /nonexistent/junit.xml output
"$source/dev/results" show results >shown && fail "ctest failed, and nothing has"
shown '0 passed, 1 failed, 0 skipped'
exit 0
