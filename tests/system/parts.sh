#!/bin/bash
# Parts and copies that compilers make of functions count for their function, in every view.
#   parts.sh CASE      folded: known stacks, without a compiler; page: the same in a page; gcc, clang: a program that spins
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

is() { # WANTED COMMAND…: what it prints, without what differs from one to the next
    local wanted=$1
    shift
    expect 0 "$@"
    [ "$(sort out)" = "$wanted" ] || fail "$* printed something else than: $wanted"
}

known_stacks() {
    cat >known.txt <<'END'
main;f;f.part.0;g 30
main;f;g 5
main;f.cold 7
main;f;f 3
main;f;f.cold 2
main;f.part.0;f 4
main;f;f.part.0 6
main;h.constprop.0 8
main;h 1
main;list.cold 2
END
    expect 0 "$SPROF" import -f folded known.txt -o known.db
}

joined="main;f 13
main;f;f 9
main;f;g 35
main;h 9
main;list.cold 2"

functions() { # FILE [OPTION…]: name, inclusive and exclusive samples, by name
    local file=$1
    shift
    "$SPROF" report -i "$file" --inclusive --sort function:asc --show function,inclusive_samples,exclusive_samples --format csv -n 0 "$@" |
        tr -d '\r' | tail -n +2
}

case $1 in
folded)
    known_stacks
    is "$joined" "$SPROF" export -i known.db -f folded -o -
    is "$(sort known.txt)" "$SPROF" export -i known.db -f folded -o - --no-join-parts
    functions known.db >out
    [ "$(cat out)" = "f,57,22
g,35,35
h,9,9
list.cold,2,2
main,68,0" ] || fail "other functions"
    functions known.db --by function,thread >threads # from stacks, not from the tree
    [ "$(cut -d, -f1-3 threads)" = "$(cat out)" ] || fail "threads give others: $(cat threads)"
    functions known.db --by line >lines # a call of a part from its own line is one, too
    [ "$(cat lines)" = "$(cat out)" ] || fail "lines give others: $(cat lines)"
    "$SPROF" report -i known.db --by line --no-join-parts --format csv | grep -q ',f\.part\.0,' || fail "no lines of the part"
    expect 0 "$SPROF" diff known.db known.db --by line --inclusive --all --format csv
    grep -q ',57,57,57,57,f,' out || fail "the difference of lines has other sums: $(cat out)"
    functions known.db >out
    functions known.db --no-join-parts | grep -q '^f\.part\.0,40,6$' || fail "the part is not apart"
    # A part's name means its function; an expression finds it by either name.
    for name in f f.part.0 f.cold; do
        "$SPROF" report -i known.db --callees "$name" --format csv | tr -d '\r' | grep -q '^57,' || fail "$name has other callees"
        "$SPROF" export -i known.db -f folded --focus "^${name//./\\.}\$" -o - >out
        [ "$(cat out)" = "$(grep ';f' <<<"$joined")" ] || fail "$name is not what --focus finds"
    done
    expect 0 "$SPROF" annotate -i known.db f.cold
    grep -q '^Annotation of f ' out || fail "the annotation is of another function"
    sed 's/f\.part\.0;g/g/; s/f\.cold/f/' known.txt | sed 's/;f;f\.part\.0/;f/' >after.txt # by another compiler
    expect 0 "$SPROF" import -f folded after.txt -o after.db
    expect 0 "$SPROF" diff known.db after.db --inclusive --all --format csv
    grep -q 'f\.cold' out && fail "the difference is of parts"
    expect 0 "$SPROF" diff known.db after.db --inclusive --all --format csv --no-join-parts
    grep -q 'f\.cold' out || fail "the difference is not of parts"
    ;;
page)
    command -v node >/dev/null || skip "no node"
    known_stacks
    "$SPROF" html known.db -o page.html 2>err && node "$here/page_numbers.js" page.html >page.json 2>err || fail "the page"
    node -e 'const page = JSON.parse(require("fs").readFileSync("page.json", "utf8"));
        for (const [stack, own] of page.topDown) console.log(stack.join(";") + " " + own);' | sort >out
    [ "$(cat out)" = "$joined" ] || fail "the page has other stacks"
    "$SPROF" html known.db --no-join-parts -o page.html 2>err && node "$here/page_numbers.js" page.html >page.json 2>err || fail "the page"
    node -e 'const page = JSON.parse(require("fs").readFileSync("page.json", "utf8"));
        for (const [stack, own] of page.topDown) console.log(stack.join(";") + " " + own);' | sort >out
    [ "$(cat out)" = "$(sort known.txt)" ] || fail "the page has no parts: $(cat out)"
    # Nor has the comparison of several runs.
    sed 's/ 30$/ 50/' known.txt >more.txt
    "$SPROF" import -f folded more.txt -o more.db 2>err && "$SPROF" merge known.db more.db -o both.db 2>err || fail "two runs"
    for apart in "" --no-join-parts; do
        # shellcheck disable=SC2086
        "$SPROF" html both.db more.db $apart -o page.html 2>err && node "$here/page_numbers.js" page.html >page.json 2>err || fail "the page"
        node -e 'const {differences} = JSON.parse(require("fs").readFileSync("page.json", "utf8"));
            console.log(Object.values(differences).map(table => table.includes("f.part.0")).join(" "));' >out
        [ "$(cat out)" = "$([ $apart ] && echo true true true true || echo false false false false)" ] || fail "parts in the comparison $apart: $(cat out)"
    done
    ;;
gcc | clang)
    command -v "$1" >/dev/null || skip "no $1"
    cat >parts.c <<'END'
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void spin(unsigned long n)
{
    for (unsigned long i = 0; i < n * 1000; i++)
        sink += i;
}
__attribute__((cold, noinline)) static void mark(int n) { sink += (unsigned long)n; }
/* GCC moves the unlikely half to "chilly.cold", to which it jumps. */
__attribute__((noinline)) void chilly(int n)
{
    sink++;
    if (__builtin_expect(n > 0, 0)) {
        mark(n);
        spin(3000);
        mark(n);
    }
}
/* As compilers write it: two symbols of one declaration. */
#line 100
__attribute__((noinline)) void rest(int n) __asm__("halves.part.0"); void rest(int n)
{
    spin(2000ul * (unsigned long)n);
    __asm__ volatile("");
}
#line 100
__attribute__((noinline)) void halves(int n)
{
    spin(1000);
    rest(n);
    __asm__ volatile("");
}
__attribute__((noinline)) void copy(int n) __asm__("alone.constprop.0.isra.0");
void copy(int n) { spin(1000ul * (unsigned long)n); }
__attribute__((noinline)) void named(int n) __asm__("named.partition.0");
void named(int n) { spin(1000ul * (unsigned long)n); }
int main(void)
{
    for (int i = 0; i < 60; i++) {
        chilly(1);
        halves(1);
        copy(1);
        named(1);
    }
    return 0;
}
END
    expect 0 "$1" -O2 -g parts.c -o parts
    nm parts >symbols
    [ "$1" = clang ] || grep -q ' chilly\.cold$' symbols || fail "this compiler has no cold part"
    expect 0 "$SPROF" record -o parts.db -- ./parts
    functions parts.db --module parts >out
    for function in chilly halves alone named.partition.0; do
        grep -q "^$function," out || fail "no $function"
    done
    grep -qE '^(chilly\.cold|halves\.part\.0|alone\.)' out && fail "parts are functions of their own"
    "$SPROF" report -i parts.db --edges --format csv -n 0 | grep -qE ',halves,[^,]*,halves,' && fail "halves is recursive"
    inclusive=$(sed -n 's/^halves,\([0-9]*\),.*/\1/p' out)
    "$SPROF" annotate -i parts.db halves >annotated || fail "annotate"
    grep -qE 'parts: halves\.part\.0, 0x' annotated && grep -qE 'parts: 0x' annotated || fail "not both parts are annotated"
    "$SPROF" report -i parts.db --edges --no-join-parts --format csv -n 0 | grep -qE ',halves,[^,]*,halves\.part\.0,' || fail "not apart"
    functions parts.db --module parts --no-join-parts >out
    [ "$(sed -n 's/^halves,\([0-9]*\),.*/\1/p' out)" = "$inclusive" ] || fail "halves has another sum apart"
    ;;
*) fail "unknown case $1" ;;
esac
