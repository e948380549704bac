#!/usr/bin/env bash
# Programs whose handlers of faults throw, and are traced: who faults does so in instructions that were moved.
#
#   faults.sh gcc|clang|llvm|static|ada|walked|overflow|embedded|attach|switched|off
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/lib.sh"
rounds=200

# built COMPILER FLAG…
built() {
    "$@" -g -rdynamic "$here/faults.cc" "$here/faulting.cc" -lm -o faults || fail "$*: no program"
    ./faults 1 >out 2>err || fail "$*: $(cat err)"
    [ "$(cat out)" = "0 wrong" ] || fail "$*: untraced: $(cat out)"
}

# thrown FLAG…: traced, all are caught; every function that faults was counted, and left each time
thrown() {
    built "$@"
    for mode in "" "--mode log" "--mode coverage" "--callers"; do
        traced faults $mode -- ./faults $rounds
    done
    traced faults -- ./faults $rounds
    calls faults.db >counted || exit
    for name in divide divide_by_zero behind_branch; do
        has $name calls $rounds
        has $name abnormal $rounds
    done
}

ada() {
    cat >storm.adb <<'END'
with Ada.Text_IO; use Ada.Text_IO;
procedure Storm is
   pragma Suppress (All_Checks);
   type Cell is record A, B : Integer; end record;
   type Ref is access all Cell;
   Count, Depth : Natural := 0;
   Sum : Integer := 0;
   function Member (R : Ref) return Integer is (R.A + 1);
   pragma No_Inline (Member);
   function Divide (A, B : Integer) return Integer is (A / B);
   pragma No_Inline (Divide);
   function Deep (N : Integer) return Integer is
      Room : array (1 .. 40) of Integer := (others => N);
      pragma Volatile (Room);
   begin
      Depth := Depth + 1;
      return (if N = 0 then 0 else Deep (N + 1) + Room (3) - 1);
   end Deep;
   pragma No_Inline (Deep);
begin
   for I in 1 .. 1000 loop
      begin
         Sum := Sum + Member (null);
      exception
         when Constraint_Error | Storage_Error | Program_Error => Count := Count + 1;
      end;
      begin
         Sum := Sum + Divide (I, I - I);
      exception
         when Constraint_Error => Count := Count + 1;
      end;
   end loop;
   for I in 1 .. 3 loop
      begin
         Sum := Sum + Deep (1);
      exception
         when Storage_Error => Count := Count + 1;
      end;
   end loop;
   Put_Line (Count'Image & Sum'Image & Boolean'Image (Depth > 1000));
end Storm;
END
    gnatmake -q -g -O2 storm.adb || fail "no program"
    [ "$(./storm)" = " 2003 0TRUE" ] || fail "untraced: $(./storm)"
    traced storm -- ./storm
}

# What a handler, and a debugger, see of who faulted: the function, and its callers.
walked() {
    local wanted=$'_ZN4cell6memberEv\nmain' frames
    built g++ -O2 -fnon-call-exceptions
    SHOW=1 traced walked -- ./faults 1
    [ "$(grep -E 'member|^main' got)" = "$wanted" ] || fail "seen: $(cat got)"
    command -v gdb >debugger || return 0
    WAITS=1 "$SPROF" trace -o debugged.db -- ./faults 1 >got 2>err &
    children+=($!)
    wait_until 60 grep -q waits got
    target=$(pgrep -P $! -x faults | head -1)
    frames=$(timeout 60 gdb -batch -p "$target" -ex bt 2>err | grep '^#')
    kill "$target"
    echo "$frames" | grep -q ' cell::member' && echo "$frames" | grep -q ' main ' || fail "gdb: $frames"
}

begin() { # the program, in the background: `target`
    rm -f end
    ./faults 1 "$PWD/end" >sums 2>errors &
    target=$!
    children+=($target)
    wait_until 60 eval '[ "$(readlink /proc/$target/exe)" = "$PWD/faults" ]'
}

ends_well() {
    : >end
    wait $target
    status=$?
    [ $status = 0 ] && [ "$(cat sums)" = "0 wrong" ] || fail "ended with $status: $(cat sums errors)"
}

attach() {
    built g++ -O2 -fnon-call-exceptions
    begin
    for i in $(seq 6); do
        timeout 60 "$SPROF" trace -p $target -o attached.db --duration $((i * 40))ms 2>err || fail "not traced: $(cat err)"
        grep -q 'libsprof\|sprof-probe' /proc/$target/maps && fail "mappings stay: $(cat err)"
    done
    calls attached.db >counted
    [ "$(awk '$1 == "divide" { print $2 }' counted)" -gt 0 ] || fail "not counted: $(cat counted)"
    ends_well
}

# Probes go off and on meanwhile.
switched() {
    local tracer
    built g++ -O2 -fnon-call-exceptions
    begin
    "$SPROF" trace -p $target -o switched.db 2>err &
    tracer=$!
    children+=($tracer)
    wait_for_trace err -p $target
    for _ in $(seq 15); do
        "$SPROF" ctl -p $target off >status.txt 2>&1
        sleep 0.15
        "$SPROF" ctl -p $target on >status.txt 2>&1
        sleep 0.05
    done
    "$SPROF" ctl -p $target end >status.txt 2>&1 || fail "does not end: $(cat status.txt)"
    wait $tracer || fail "$(cat err)"
    ends_well
}

# Where the stack ends in a function whose probe is off, and nothing goes on to rest.
off() {
    local tracer flag
    for flag in -O0 -O1 -O2; do
        built g++ $flag -fnon-call-exceptions -DSTACK
        rm -f end
        "$SPROF" trace --paused --rest off -o off.db -- ./faults 1 "$PWD/end" >sums 2>err &
        tracer=$!
        children+=($tracer)
        sleep 1.5 # probes are looked at ten times a second
        : >end
        wait $tracer
        status=$?
        [ $status = 0 ] && [ "$(cat sums)" = "0 wrong" ] || fail "$flag: ended with $status: $(cat sums err)"
    done
}

# In files that probes were put into: what is caught where it faults has none there.
embedded() {
    local flag
    for flag in -O0 -O1 -O2; do
        built g++ $flag -fnon-call-exceptions -DOWN -DSTACK
        "$SPROF" probes faults --embed -o faults.probes >embed.txt 2>err || fail "$flag: not embedded: $(cat err)"
        [ $flag = -O0 ] || grep -q 'left out [12]: ' embed.txt || fail "$flag: $(cat embed.txt)"
        [ "$(timeout 60 ./faults.probes 3 2>err)" = "0 wrong" ] || fail "$flag: embedded: $(cat err)"
        traced embedded -- ./faults.probes $rounds
    done
    "$SPROF" probes faults --embed --function '^own' -o own.probes >embed.txt 2>err && fail "own is embedded"
    grep -q 'catches what its first instructions may throw' err || fail "$(cat err)"
}

# Where the stack ends handlers find what they find untraced, wherever in a page it is.
overflow() {
    local flags mode
    for flags in "-O0 -no-pie" -O2; do
        gcc $flags -g "$here/overflow.c" -pthread -o overflow || fail "$flags: no program"
        for mode in "" "--callers"; do
            (ulimit -s 1024; traced overflow $mode -- ./overflow) || exit
            grep -q ' 168 faults, 0 wrong' want || fail "untraced: $(cat want)"
        done
        grep -q 'were at the end of their stack' err || fail "not said which calls were only counted: $(cat err)"
    done
}

case $1 in
gcc)
    thrown g++ -O2 -fnon-call-exceptions -DOWN -DSTACK
    thrown g++ -O1 -fnon-call-exceptions -fcf-protection -DOWN
    thrown g++ -O0 -fnon-call-exceptions -DOWN -DSTACK
    thrown g++ -O2 -fnon-call-exceptions -no-pie -mavx
    ;;
clang)
    command -v clang++ >out || skip "no clang++"
    thrown clang++ -O2
    thrown clang++ -O0
    ;;
llvm)
    unwinder=$(ls /usr/lib/llvm-*/lib/libunwind.so.1 2>out | tail -1)
    [ -n "$unwinder" ] || skip "no unwinder of LLVM"
    thrown g++ -O2 -fnon-call-exceptions -DLATER -Wl,--no-as-needed "$unwinder" -Wl,-rpath,"$(dirname "$unwinder")"
    ;;
static) thrown g++ -O2 -fnon-call-exceptions -DSTACK -static-libgcc -static-libstdc++ ;;
ada)
    command -v gnatmake >out || skip "no gnatmake"
    ada
    ;;
*) "$1" ;;
esac
