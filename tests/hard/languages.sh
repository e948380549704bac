#!/bin/bash
# Programs in other languages, as their compilers build them.
#   languages.sh CASE
. "$(dirname "$0")/lib.sh"
rate=1499

# ---- Go -----------------------------------------------------------------------------------------

go_roots='runtime\.(goexit|clone|mstart|mstart0|rt0_go|mcall|morestack|systemstack|gogo)(\.abi0)?|_rt0_amd64.*'
go_build() { # OUTPUT FLAGS… SOURCE
    needs go golang-go
    local output=$1
    shift
    GOCACHE=$work/cache GOFLAGS='' GO111MODULE=off CGO_ENABLED=${cgo:-0} \
        go build -o "$output" "$@" >build.log 2>&1 || fail "go build: $(cat build.log)"
}
go_worker='runtime\.goexit(\.abi0)?;main\.main\.func[0-9];main\.worker'

goroutines() {
    go_build goroutines "$PROGRAMS/goroutines.go"
    record -- ./goroutines
    whole 0.995 # the rest is on the way between a goroutine's stack and the scheduler's
    root_symbols=$go_roots
    roots 0.999
    local recursion='(;main\.goRecurse){40}' panic='main\.recovered;(runtime\.[^;]*;)+main\.recovered\.func1'
    chain main.goMiddle "$go_worker($recursion|;$panic);main\.goMiddle(;main\.goLeaf)?"
    chain main.goLeaf "($go_worker($recursion|;$panic);main\.goMiddle|runtime\.goexit(\.abi0)?;runtime\.main;main\.main(;sort\.$any)*(;main\.main\.func[0-9])?);main\.goLeaf"
}

# Without symbols Go still carries its own table.
goroutines_stripped() {
    go_build goroutines '-ldflags=-s -w' "$PROGRAMS/goroutines.go"
    readelf -SW goroutines | grep -q ' \.symtab ' && fail "not stripped"
    record -- ./goroutines
    whole 0.995
    root_symbols=$go_roots
    go_build named "$PROGRAMS/goroutines.go"
    image_of() { [ "${1##*/}" = goroutines ] && echo "$work/named" || echo "$1"; }
    roots 0.999
    [ "$(query "SELECT sum(count) FROM v_sample WHERE depth BETWEEN 45 AND 46")" -ge 200 ] ||
        fail "no stacks of the recursion's depth"
}

# Go calls the vdso and C on the thread's own stack; the goroutine's is another one, which no slice
# has. It is captured with the sample: two spends twice the time of one, and not about so.
goroutine_behind() { # FUNCTION CHAIN
    whole 0.99
    root_symbols=$go_roots
    roots 0.999
    chain "$1" "$2" 0.99 300
    local one two
    one=$(query "SELECT sum(count) FROM v_sample WHERE leaf = '$1' AND path GLOB '*;main.one;*'")
    two=$(query "SELECT sum(count) FROM v_sample WHERE leaf = '$1' AND path GLOB '*;main.two;*'")
    echo "$1: $one below one, $two below two"
    holds "(2 * $one - $two) ^ 2 < 25 * 2 * ($one + $two)" "the split of one and two (5 sigma)"
}

clock() {
    needs_root "to capture another stack with the sample"
    go_build clock "$PROGRAMS/clock.go"
    record -- ./clock
    local now='time\.Now;time\.now;(__vdso_)?clock_gettime'
    goroutine_behind clock_gettime "runtime\.goexit(\.abi0)?;runtime\.main;main\.main;main\.(one|two);main\.stamp;$now"
}

calls_of_c() {
    needs_root "to capture another stack with the sample"
    cgo=1 go_build cgo "$PROGRAMS/cgo.go"
    record -- ./cgo
    local call='runtime\.cgocall;runtime\.asmcgocall(\.abi0)?'
    goroutine_behind cLeaf "runtime\.goexit(\.abi0)?;main\.main\.func[0-9];main\.work;main\.(one|two);main\._Cfunc_cMiddle(\.abi0)?;$call;cMiddle;cLeaf"
}

systemstack() {
    needs_root "to capture another stack with the sample"
    go_build systemstack "$PROGRAMS/systemstack.go"
    record -- ./systemstack
    local main='runtime\.goexit(\.abi0)?;runtime\.main;main\.main;main\.(one|two);main\.askFor'
    goroutine_behind runtime.gentraceback "$main;runtime\.Callers;runtime\.callers;runtime\.systemstack(\.abi0)?;runtime\.callers\.func1;runtime\.gentraceback"
}

# ---- Rust ---------------------------------------------------------------------------------------

closures() {
    needs rustc rustc
    local compiler=/usr/bin/rustc
    [ -x "$compiler" ] || compiler=rustc
    "$compiler" -O -g "$PROGRAMS/closures.rs" -o closures >build.log 2>&1 ||
        fail "rustc: $(cat build.log)"
    record -- ./closures
    # While a panic's landing pad is being installed, a frame belongs to two functions.
    whole 0.99
    roots 0.99
    local leaf='closures::rust_middle;closures::rust_leaf' closure='.*\{\{closure\}\}'
    # The innermost recurse leaves by a jump.
    local call=';closures::apply;closures::main::\{\{closure\}\}'
    chain closures::rust_leaf "_start;.*;closures::main($call|(;closures::recurse){59,60});$leaf|(__)?clone3?;$closure(;closures::recurse){29,30};$leaf"
    chain closures::panics "_start;.*;closures::main;.*;closures::panics" 0.97
}

# ---- Ada, Fortran, Pascal -----------------------------------------------------------------------

nested() {
    needs gnatmake gnat
    gnatmake -O2 -g "$PROGRAMS/nested.adb" -o nested >build.log 2>&1 ||
        fail "gnatmake: $(cat build.log)"
    record -- ./nested
    whole 0.995 # exceptions, as above
    roots 0.995
    local inner='nested\.apply;nested\.recurse\.inner;nested\.ada_leaf'
    chain nested.ada_leaf "$start;nested(;nested\.recurse){20};$inner|clone3?;$any;$any;$any(;nested\.recurse){10};$inner|$start;nested;nested[._]+raises[^;]*;nested\.ada_leaf"
}

arrays() {
    needs gfortran gfortran
    build arrays gfortran -O2 -g "$PROGRAMS/arrays.f90"
    record -- ./arrays
    whole
    roots
    local work=__work_MOD_
    chain ${work}fortran_leaf "$start;MAIN__(;${work}recurse){25};${work}apply;inner;${work}automatic;${work}fortran_leaf"
}

procedures() {
    needs fpc fp-compiler
    mkdir units
    fpc -O2 -g -FUunits "$PROGRAMS/procedures.pas" -o./procedures >build.log 2>&1 ||
        fail "fpc: $(cat build.log)"
    record -- ./procedures
    whole
    root_symbols+='|SI_PRC_\$\$__FPC_PROC_START|_start|__FPC_PROC_START'
    roots
    chain 'P$PROCEDURES_$$_PASCAL_LEAF$LONGINT' \
        "(.*;)?main((;[^;]*_PASCAL_RECURSE[^;]*){20};[^;]*_INNER[^;]*|;[^;]*_RAISES[^;]*);[^;]*_PASCAL_LEAF[^;]*"
}

"$1"
