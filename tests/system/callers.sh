#!/bin/bash
# Callers and callees of a function, each with inclusive and exclusive samples, of stacks that are known.
#   callers.sh CASE      report, peek, page
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

cat >known.txt <<'END'
main;a;work 4
main;a;work;leaf 3
main;b;work 1
main;b;work;leaf 6
main;b;c;work;work 2
main;b;c;work;leaf;work 5
main;leaf 7
END
expect 0 "$SPROF" import -f folded known.txt -o known.db

rows() { # OPTION FUNCTION [OPTION…]: function, number and parent's number, inclusive and exclusive samples
    "$SPROF" report -i known.db --format csv --min-percent 0 -n 0 "$@" --show function,id,parent,inclusive_samples,exclusive_samples |
        tr -d '\r' | tail -n +2
}

are() { # WANTED OPTION…
    local wanted=$1
    shift
    rows "$@" >out
    [ "$(cat out)" = "$wanted" ] || fail "$* shows something else than: $wanted"
}

case $1 in
report)
    # Inclusive: of all samples in which the function is called so; exclusive: of those that end in the function.
    are "work,1,0,21,12
a,2,1,7,4
main,3,2,7,4
b,4,1,7,1
main,5,4,7,1
c,6,1,7,7
b,7,6,7,7
main,8,7,7,7" --callers work
    are "work,1,0,21,5
leaf,2,1,14,9
work,3,2,5,5
work,4,1,2,2" --callees work
    "$SPROF" report -i known.db --callers leaf >out
    grep -qE '^  samples +of leaf +total +self +call path' out || fail "the text has other columns: $(cat out)"
    ! grep -q 'self .* together' out || fail "exclusive samples of ways are added up"
    ;;
peek)
    peek() { # EXPRESSION [OPTION…]: role, function and inclusive samples
        expect 0 "$SPROF" report -i known.db --format csv --peek "$@" --show role,function,inclusive_samples
        tr -d '\r' <out | tail -n +2
    }
    [ "$(peek '^work$' | sort)" = "callee,leaf,14
caller,a,7
caller,b,7
caller,c,7
caller,leaf,5
here,work,21
self,work,12" ] || fail "of one function: $(cat out)"
    # What they call of each other is neither above nor below.
    [ "$(peek '^[bc]$')" = "caller,main,14
here,2 functions that '^[bc]$' finds,14
self,2 functions that '^[bc]$' finds,0
callee,work,14" ] || fail "of several functions: $(cat out)"
    [ "$(peek '^work$' -n 1 | grep -c caller)" = 1 ] || fail "more callers than one"
    echo 'main;std::map<int, int>::at(int const&);leaf 3' >names.txt
    expect 0 "$SPROF" import -f folded names.txt -o names.db
    expect 0 "$SPROF" report -i names.db --peek '^std::map::at$'
    grep -q 'here .*std::map' out || fail "a short name is not found"
    ! grep -q 'int const' out || fail "names are not short: $(cat out)"
    expect 1 "$SPROF" report -i known.db --peek nothing
    said "--peek 'nothing'"
    expect 2 "$SPROF" report -i known.db --peek '('
    said 'closing parenthesis'
    ;;
page)
    command -v node >/dev/null || skip "no node"
    "$SPROF" html known.db -o page.html 2>err && node "$here/page_numbers.js" page.html >page.json 2>err || fail "the page"
    node -e 'const {edges} = JSON.parse(require("fs").readFileSync("page.json", "utf8"));
        for (const [name, ...counts] of edges.work[0]) console.log("caller", name, ...counts);
        for (const [name, ...counts] of edges.work[1]) console.log("callee", name, ...counts);' | sort >out
    [ "$(cat out)" = "callee leaf 14 9
callee work 2 2
caller a 7 4
caller b 7 1
caller c 7 7" ] || fail "the page has other callers or callees"
    ;;
*) fail "unknown case $1" ;;
esac
