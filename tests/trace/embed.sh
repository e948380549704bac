#!/bin/bash
# sprof probes --embed: a copy with probes does what the original does, other programs accept it, and every call is counted
# when it is traced.
#     embed.sh CASE
set -u
. "$(dirname "$0")/../system/lib.sh"

make_source() {
    cat >program.cc <<'END'
#include <cstdio>
#include <stdexcept>
#include <string>
#define NI extern "C" __attribute__((noinline))
NI int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n * 3 + 1; }
NI int thrower(int n) { if (n % 10 == 0) throw std::runtime_error("ten"); return leaf(n); }
NI int catcher(int n) { try { return thrower(n) + 1; } catch (std::exception &e) { return (int)std::string(e.what()).size(); } }
NI int chooser(int n) { switch (n % 5) { case 0: return 7; case 1: return leaf(n); case 2: return n; case 3: return 9; default: return -n; } }
int main()
{
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += catcher(i) + chooser(i);
    std::printf("%ld\n", sum);
    return 7;
}
END
}

embed() { # FILE OUTPUT [OPTION …]: what it says is in embed.txt
    "$SPROF" probes "$@" --embed -o "${output:?}" >embed.txt 2>err || fail "cannot embed into $1"
}

same() { # NAME: NAME.probes runs as NAME does
    ./"$1" >plain.txt 2>&1
    local plain=$?
    ./"$1".probes >embedded.txt 2>&1
    [ $? = $plain ] || fail "$1.probes ends with another status than $plain"
    cmp -s plain.txt embedded.txt || fail "$1.probes prints something else: $(cat embedded.txt)"
}

build_id() {
    readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

counts() { # RECORDING FUNCTION CALLS …
    local recording=$1
    shift
    "$SPROF" stats -i "$recording" --format csv >stats.csv 2>err || fail "no stats"
    python3 - "$@" <<'END' || fail "wrong counts: $(cat stats.csv)"
import csv, sys
rows = {row["function"].split("(")[0]: row for row in csv.DictReader(open("stats.csv"))}
for name, calls in zip(sys.argv[1::2], sys.argv[2::2]):
    assert rows[name]["calls"] == calls, (name, calls, rows[name])
    assert rows[name]["mechanism"] == "embedded", rows[name]
END
}

traced() { # NAME …: the copy is traced, and every call is counted
    "$SPROF" trace -o "$1.db" -- ./"$1".probes >traced.txt 2>err
    [ $? = 7 ] || fail "the traced copy of $1 ends with another status"
    cmp -s traced.txt embedded.txt || fail "the traced copy of $1 prints something else"
    counts "$1.db" leaf 1100 thrower 1000 catcher 1000 chooser 1000
}

accepted() { # NAME: by other programs
    [ "$(build_id "$1")" = "$(build_id "$1".probes)" ] || fail "$1.probes has another build id"
    readelf -aW "$1".probes >/dev/null 2>warnings.txt || fail "readelf does not read $1.probes"
    readelf -aW "$1" >/dev/null 2>plain_warnings.txt
    cmp -s warnings.txt plain_warnings.txt || fail "readelf warns of $1.probes: $(head -3 warnings.txt)"
    readelf -SW "$1".probes | grep -q '\.sprof\.probes' || fail "$1.probes is not marked"
    readelf -lW "$1".probes | grep -q 'RWE' && fail "$1.probes has code that may be written"
    cp "$1".probes stripped && strip stripped 2>err || fail "strip does not accept $1.probes"
    ./stripped >stripped.txt 2>&1
    [ $? = 7 ] || fail "the stripped copy of $1 ends with another status"
    cmp -s stripped.txt embedded.txt || fail "the stripped copy of $1 prints something else"
    gdb -nx -batch -ex 'break leaf' -ex run -ex bt ./"$1".probes >gdb.txt 2>&1
    grep -q '^#0 .*leaf' gdb.txt && grep -q ' main' gdb.txt || fail "gdb: $(cat gdb.txt)"
}

kind() { # NAME MECHANISM COMMAND …: what that builds
    local name=$1 mechanism=$2
    shift 2
    "$@" program.cc -o "$name" || fail "no compiler"
    output=$name.probes embed "$name"
    grep -q "$mechanism [0-9]" embed.txt || fail "$name: $(cat embed.txt)"
    same "$name"
    traced "$name"
    accepted "$name"
}

refused() { # STATUS PATTERN COMMAND …: and there is no output
    local status=$1 pattern=$2
    shift 2
    rm -f refused.out
    "$@" >refused.txt 2>&1
    local got=$?
    [ $got = "$status" ] || fail "status $got instead of $status: $*: $(cat refused.txt)"
    grep -qE -- "$pattern" refused.txt || fail "$*: $(cat refused.txt)"
    [ ! -e refused.out ] || fail "$*: there is a file"
    ls refused.out.* >/dev/null 2>&1 && fail "$*: half a file is left"
    return 0
}

make_source
case $1 in
prologue)
    kind pie prologue g++ -O2 -g
    kind fixed prologue g++ -O3 -g -no-pie -fno-pie
    kind landing prologue g++ -O2 -g -fcf-protection=full
    kind unoptimized prologue g++ -O0 -g
    ;;
sled)
    kind sled sled g++ -O2 -g -fpatchable-function-entry=5
    kind landing_sled sled g++ -O2 -g -fcf-protection=full -fpatchable-function-entry=16
    kind clang_sled sled clang++ -O2 -g -fpatchable-function-entry=5
    kind xray xray clang++ -O2 -g -fxray-instrument -fxray-instruction-threshold=1
    ;;
chosen)
    g++ -O2 -g program.cc -o some || fail "no compiler"
    output=some.probes embed some --function '^(leaf|catcher)$' --function '!catcher'
    grep -q '^some.probes: 1 probes embedded (prologue 1), all off; entry only 0$' embed.txt || fail "$(cat embed.txt)"
    same some
    "$SPROF" probes some.probes --function leaf >one.txt 2>err || fail "no plan of the copy"
    grep -q 'leaf: .*: embedded at 0x' one.txt || fail "$(cat one.txt)"
    "$SPROF" trace -o some.db -- ./some.probes >traced.txt 2>err
    [ $? = 7 ] || fail "status"
    "$SPROF" sql some.db --format csv "SELECT function, mechanism FROM v_call_stats ORDER BY function" >both.csv 2>err ||
        fail "no rows"
    grep -q '^leaf,embedded' both.csv && grep -q '^catcher.*,prologue' both.csv || fail "$(cat both.csv)"
    # All but what is chosen, its header and sections stands where it did.
    python3 - <<'END' || fail "the copy differs elsewhere"
a, b = open("some", "rb").read(), open("some.probes", "rb").read()
different = [i for i in range(0x400, len(a)) if a[i] != b[i]]
assert 0 < len(different) <= 16 and different[-1] - different[0] < 16, different
END
    ;;
library)
    cat >library.c <<'END'
#define NI __attribute__((noinline))
NI int part(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int whole(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += part(i); return sum; }
END
    cat >user.c <<'END'
#include <stdio.h>
int whole(int n);
int main(void) { printf("%d\n", whole(500)); return 7; }
END
    mkdir plain with
    gcc -O2 -g -shared -fPIC library.c -o plain/library.so && gcc -O2 -g user.c plain/library.so -o user || fail "no compiler"
    output=with/library.so embed plain/library.so
    for directory in plain with; do
        LD_LIBRARY_PATH=$directory:. ldd ./user >ldd.txt 2>&1
    done
    gcc -O2 -g user.c -Lwith -l:library.so -Wl,-rpath,"$PWD/with" -o user || fail "the linker does not accept the library"
    ./user >embedded.txt || [ $? = 7 ] || fail "the library does not run"
    [ "$(cat embedded.txt)" = 125250 ] || fail "$(cat embedded.txt)"
    "$SPROF" trace --module '*library.so' -o library.db -- ./user >traced.txt 2>err
    [ $? = 7 ] || fail "status"
    cmp -s traced.txt embedded.txt || fail "$(cat traced.txt)"
    counts library.db part 500 whole 1
    cp with/library.so stripped.so && strip stripped.so && cp stripped.so with/library.so || fail "strip"
    ./user >stripped.txt
    cmp -s stripped.txt embedded.txt || fail "the stripped library does something else"
    ;;
real)
    for program in xz bash perl; do
        file=$(readlink -f "$(command -v $program)")
        output=$program.probes embed "$file"
    done
    head -c 2000000 "$SPROF" >input
    xz -6 -k -c input >plain.xz && ./xz.probes -6 -k -c input >embedded.xz && cmp -s plain.xz embedded.xz || fail "xz"
    script='n=0; for i in 1 2 3; do echo $((i * i)); done | while read a; do n=$((n + a)); echo $n; done; exit 5'
    bash -c "$script" >plain.txt
    ./bash.probes -c "$script" >embedded.txt
    [ $? = 5 ] && cmp -s plain.txt embedded.txt || fail "bash"
    script='my %a = (b => 3, a => 4); print join(",", map { "$_=$a{$_}" } sort keys %a), "\n"; $_ = "xaay"; s/a+/b/; print; exit 6'
    perl -e "$script" >plain.txt
    ./perl.probes -e "$script" >embedded.txt
    [ $? = 6 ] && cmp -s plain.txt embedded.txt || fail "perl"
    ;;
refused)
    g++ -O2 -g program.cc -o program && gcc -x c -O1 -static - -o static <<<'int main(void) { return 0; }' &&
        gcc -x c -O1 -static-pie - -o static_pie <<<'int main(void) { return 0; }' && g++ -c program.cc -o program.o &&
        g++ -O1 -fsanitize=address program.cc -o sanitized || fail "no compiler"
    out="-o refused.out"
    refused 2 'another: .*--embed -o' "$SPROF" probes program --embed
    refused 2 '\-o names what --embed writes' "$SPROF" probes program $out
    refused 2 'goes with' "$SPROF" probes program --embed --all $out
    refused 2 'give one --function' "$SPROF" probes program --function a --function b
    refused 2 'regular expression' "$SPROF" probes program --embed --function 'a(' $out
    refused 2 'is the file that is read' "$SPROF" probes program --embed -o program
    refused 2 'no regular file' "$SPROF" probes program --embed -o /dev/null
    refused 1 "finds no function of program; near it: .*leaf" "$SPROF" probes program --embed --function '^leav$' $out
    refused 1 'none of 1 chosen' "$SPROF" probes "$(gcc -print-file-name=libc.so.6)" --embed \
        --function '^longjmp$|^_longjmp$|^siglongjmp$' $out
    refused 1 'linked statically' "$SPROF" probes static --embed $out
    refused 1 'linked statically' "$SPROF" probes static_pie --embed $out
    refused 1 'sanitizer' "$SPROF" probes sanitized --embed $out
    refused 1 'neither a program nor a shared library' "$SPROF" probes program.o --embed $out
    "$SPROF" probes program --embed -o again >/dev/null 2>err || fail "not embedded"
    refused 1 'has some already' "$SPROF" probes again --embed $out
    cp program special && chmod u+s special
    refused 1 'other rights' "$SPROF" probes special --embed $out
    cp program other && printf '\267\0' | dd of=other bs=1 seek=18 conv=notrunc status=none
    refused 1 'another processor' "$SPROF" probes other --embed $out
    head -c 3000 program >cut
    refused 1 'cut' "$SPROF" probes cut --embed $out
    echo text >text
    refused 1 'text' "$SPROF" probes text --embed $out
    refused 1 'missing' "$SPROF" probes missing --embed $out
    refused 1 'cannot write' "$SPROF" probes program --embed -o no/such/refused.out
    ;;
*) fail "no case $1" ;;
esac
