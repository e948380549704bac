#!/bin/bash
# Distinct stacks of real programs: sprof's frames beside those of libunwind and libdwfl.
#   oracle.sh CASE
. "$(dirname "$0")/lib.sh"
: "${ORACLE:?the oracle program}"

# compare [options of oracle …] -- COMMAND …
compare() {
    timeout 60 "$ORACLE" "$@" || fail "the frames differ"
}

python() {
    compare -- /usr/bin/python3 -c 'import json, re
for i in range(10**7):
    text = json.dumps({"a": [i, {"b": sorted(range(i % 50))}]}, indent=1)
    re.sub("[0-9]+", lambda found: found.group()[::-1], text)'
}

gxx() {
    needs g++ g++
    local compiler
    compiler=$(g++ -print-prog-name=cc1plus)
    { echo '#include <regex>'; echo '#include <map>'; echo '#include <iostream>'
      for i in {1..60}; do
          echo "std::map<int, std::regex> f$i() { return {{$i, std::regex(\"a$i\")}}; }"
      done; } >source.cc
    g++ -E source.cc -o source.ii || fail "g++ -E"
    compare --every 8 --least 150 -- "$compiler" -quiet -O2 source.ii -o source.s
}

xz() {
    needs xz xz-utils
    head -c 30000000 /dev/urandom >noise
    compare --least 20 -- xz -9 -k -c noise
}

sqlite() {
    needs sqlite3 sqlite3
    compare -- sqlite3 :memory: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c
        LIMIT 20000000) SELECT count(*), sum(length(printf('%d', x))), group_concat(x % 10) FROM c
        WHERE x % 7 = 0 GROUP BY x % 1000"
}

git() {
    command -v git >/dev/null || skip "git is missing: apt-get install git"
    command git init -q repository || fail "git init"
    for i in {1..400}; do
        seq "$i" 3 9000 >"repository/file$i"
    done
    compare --least 20 --every 2 -- git -C repository add .
    rm -f repository/.git/index.lock # of the one that was ended
    command git -C repository add . || fail "git add"
    command git -C repository -c user.name=n -c user.email=e commit -qm all || fail "git commit"
    for i in {1..400}; do
        seq "$i" 2 9000 >"repository/file$i"
    done
    compare --least 20 --every 2 -- git -C repository diff --stat --patience
}

openssl() {
    command -v openssl >/dev/null || skip "openssl is missing: apt-get install openssl"
    compare --least 10 --stops 150 -- openssl speed -seconds 3 aes-256-cbc
    compare --least 10 --stops 150 -- openssl speed -seconds 3 sha256
    compare --least 10 --stops 150 -- openssl speed -seconds 3 sha512
    compare --least 50 --stops 250 -- openssl speed -seconds 3 rsa2048
    compare --least 50 --stops 250 -- openssl speed -seconds 3 ecdsap384
}

node() {
    command -v node >/dev/null || skip "node is missing: apt-get install nodejs"
    compare --every 4 --least 100 --explained 20 -- node "$PROGRAMS/mixed.js"
}

rust_compiler() {
    local compiler=/usr/bin/rustc i
    [ -x "$compiler" ] || skip "rustc is missing: apt-get install rustc"
    for i in {1..60}; do
        echo "pub fn f$i(x: &[u64]) -> Vec<String> { let mut v: Vec<_> = x.iter().map(|n| n * $i)
            .filter(|n| n % 3 != 1).collect(); v.sort_by(|a, b| b.cmp(a));
            v.chunks(3).map(|c| format!(\"{:?} $i\", c)).collect() }"
    done >crate.rs
    compare --every 4 --least 60 -- "$compiler" -C opt-level=3 --crate-type rlib crate.rs -o crate.rlib
}

debugger() {
    needs gdb gdb
    compare --every 2 --least 40 --explained 10 -- gdb --batch -ex 'info functions a' -ex 'info types b' \
        -ex 'info variables c' -ex 'info scope main' -ex 'maint check psymtabs' \
        -ex 'maint check symtabs' -ex 'disassemble main' "$(readlink -f "$SPROF")"
}

perl() {
    command -v perl >/dev/null || skip "perl is missing: apt-get install perl"
    compare -- perl -e 'my %h; for my $i (1 .. 10**8) { $h{$i % 1000} .= chr(65 + $i % 26);
        $h{$i % 1000} =~ s/A(.)B/$1/g; @x = sort { $a <=> $b } map { $_ * 7 % 13 } 1 .. 30; }'
}

sorting() {
    seq 1 2000000 | shuf --random-source=/dev/zero >numbers
    LC_ALL=C.UTF-8 compare --least 20 -- sort -k 1,1 -k 1n numbers -o sorted
}

finding() {
    compare --least 20 --every 2 -- find / -xdev -regex '.*/\(a\|b\)[^/]*\(c\|d\)+.*' -newer /etc/hostname
}

goroutines() {
    needs go golang-go
    GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 go build -o goroutines \
        "$PROGRAMS/goroutines.go" || fail "go build"
    compare --go --least 10 --explained 60 -- ./goroutines
}

# The programs of the other tests, whose frames are the hardest.
fixtures() {
    needs g++ g++
    local program
    for program in drap edges altstack callback tail; do
        build "$program" gcc "${flags[@]}" "$PROGRAMS/$program.c"
        compare --least 5 --stops 200 --every 2 -- "./$program"
    done
    build vfork gcc "${flags[@]}" "$PROGRAMS/vfork.c"
    compare --least 5 --stops 200 --every 2 -- ./vfork /bin/true
    build exceptions g++ "${flags[@]}" "$PROGRAMS/exceptions.cc"
    # How much of its time is outside of its loop depends on the processor.
    compare --least 5 --stops 600 --every 2 -- ./exceptions
}

"$1"
