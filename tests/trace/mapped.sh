#!/usr/bin/env bash
# The tracing agent for processes into which no loader puts it: its file, and what it does in static programs.
#   mapped.sh file | static | pie | musl
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$here/../..
agent=$(dirname "$SPROF")/libexec/sprof/libsprof-probe-mapped.so

# build COMPILER FLAG…: the program, with the agent's sources, as they are compiled for that file.
build() {
    local compiler=$1
    shift
    local header="arch/$(uname -m)/machine.h"
    local flags=(-c -O2 -fPIC -DPROBE_MAPPED -DSPROF_ARCH_HEADER="\"$header\"" -mgeneral-regs-only -ffreestanding -fno-tree-loop-distribute-patterns
        -fvisibility=hidden -U_FORTIFY_SOURCE -fno-stack-protector -fcf-protection=none -I"$top")
    cc "${flags[@]}" "$top"/agent/probe/*.c || fail "no agent"
    mkdir assembly && (cd assembly && cc "${flags[@]}" "$top/arch/$(uname -m)"/probe/[!f]*.S) || fail "no assembly of the agent"
    cc -c -O2 -fPIC -D_GNU_SOURCE -DSPROF_ARCH_HEADER="\"$header\"" -U_FORTIFY_SOURCE -fno-stack-protector -I"$top" "$top/arch/$(uname -m)/thunk.c" -o thunks.o || fail "no thunks"
    "$compiler" -O1 -g -D_GNU_SOURCE -DSPROF_ARCH_HEADER="\"$header\"" -Wall -Wextra -I"$top" -pthread "$@" "$here/mapped.c" ./*.o assembly/*.o -o program || fail "$compiler $*"
}

case $1 in
file)
    # No thread-local storage, nothing that a loader would have to do but relocations, and an end of the unwinding rules.
    python3 - "$agent" <<'END' >out || fail "the agent's file"
import struct, subprocess, sys
def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, sys.argv[1]], check=True, capture_output=True, text=True).stdout
assert "TLS" not in readelf("-l"), "there is a segment of thread-local storage"
assert "NEEDED" not in readelf("-d"), "another library is needed"
known = {"R_X86_64_RELATIVE", "R_X86_64_GLOB_DAT", "R_X86_64_64", "R_X86_64_JUMP_SLOT"}
kinds = {line.split()[2] for line in readelf("-r").splitlines() if " R_X86_64_" in line}
assert kinds and kinds <= known, kinds
names = [line.split()[-1] for line in readelf("--dyn-syms").splitlines() if " UND " in line and line.split()[-1] != "UND"]
assert set(names) <= {"_r_debug", "gnu_get_libc_version", "__errno_location"}, names  # weak ones
assert any(line.split()[-1] == "sprof_probe_asked" for line in readelf("--dyn-syms").splitlines() if line.strip()), "nobody can ask it"
frames = next(line.split("]")[1].split() for line in readelf("-S").splitlines() if " .eh_frame " in line)
at, size = int(frames[3], 16), int(frames[4], 16)
with open(sys.argv[1], "rb") as file:
    file.seek(at)
    rules = file.read(size)
place, records = 0, 0
while length := struct.unpack_from("<I", rules, place)[0]:
    place += 4 + length
    records += 1
assert records > 10 and place + 4 == size, (records, place, size)
print(records, "records of unwinding rules")
END
    cat out
    ;;
static) build cc -static ;;
pie) build cc -static-pie -fPIE ;;
musl)
    command -v musl-gcc >/dev/null || skip "no musl-gcc"
    build musl-gcc -static -U_FORTIFY_SOURCE
    ;;
*) fail "usage: $0 file | static | pie | musl" ;;
esac
[ "$1" = file ] && exit 0
timeout 100 ./program >out 2>err || fail "$1: $?"
cat out
