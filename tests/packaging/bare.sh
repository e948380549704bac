#!/bin/bash
# README's build, on a machine without CUnit and without nongnu libunwind: CMake says what is missing,
# and sprof works. An object that BUILD compiled by the same command is taken from there: what differs without the two is
# compiled, and everything is linked.
#     bare.sh SOURCE BUILD
set -u
source=$1 build=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# CMake calls the compiler by this: objects that are in `taken` are copied.
cat >"$work/compile" <<END
#!/bin/sh
for word; do
    [ "\$last" != -o ] || output=\$word
    last=\$word
done
[ -e "$work/taken/\$output" ] || exec "\$@"
echo "\$output:" >"\$output.d"
exec cp "$work/taken/\$output" "\$output"
END
chmod +x "$work/compile"

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
type=$(cached CMAKE_BUILD_TYPE)
compiler=$(cached CMAKE_C_COMPILER)
cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE="$type" -DCMAKE_C_FLAGS_"${type^^}"="$(cached CMAKE_C_FLAGS_"${type^^}")" \
    -DCMAKE_C_FLAGS="$(cached CMAKE_C_FLAGS)" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_COMPILER_LAUNCHER="$work/compile" -DSPROF_HAS_CUNIT=OFF -DSPROF_HAS_LIBUNWIND=OFF >"$work/log" 2>&1 ||
    fail "$(cat "$work/log")"
grep -q 'without tests' "$work/log" || fail "CMake does not say that there are no tests"
grep -q 'without nongnu libunwind' "$work/log" || fail "CMake does not say what libunwind is for"
python3 - "$build" "$work" "$compiler" <<'END' || fail "objects cannot be compared"
import json, os, subprocess, sys

def commands(directory):
    """{object: command that compiles it, without what calls the compiler}, with the directory's name taken out."""
    text = subprocess.run(["ninja", "-C", directory, "-t", "compdb"], capture_output=True, text=True).stdout
    entries = json.loads(text[text.index("["):].replace(directory, "BUILD")) if "[" in text else [] # of another generator
    return {entry["output"]: entry["command"].partition(f"{compiler} ")[2] for entry in entries if entry["output"].endswith(".o")}

build, work, compiler = sys.argv[1:]
there, here = commands(build), commands(work)
same = [name for name, command in here.items() if there.get(name) == command and os.path.exists(f"{build}/{name}")]
for name in same:
    os.makedirs(os.path.dirname(f"{work}/taken/{name}"), exist_ok=True)
    os.symlink(f"{build}/{name}", f"{work}/taken/{name}")
print(f"{len(same)} of {len(here)} objects are taken")
END
cmake --build "$work" --target sprof >"$work/log" 2>&1 || fail "$(tail -n 40 "$work/log")"
grep -A 5 'warning:' "$work/log" && fail "warnings"
"$work/sprof" --version | grep -q 'without libunwind' || fail "--version does not say it"
if ldd "$work/sprof" | grep -q libunwind; then
    fail "libunwind is linked all the same"
fi
printf 'main;work 3\n' | "$work/sprof" import --folded - -o "$work/a.db" >"$work/log" 2>&1 &&
    "$work/sprof" report -i "$work/a.db" | grep -q work || fail "no report: $(cat "$work/log")"

# The target is all that runs and all that is installed.
"$work/sprof" trace -o "$work/b.db" -- true >"$work/log" 2>&1 || fail "no trace: $(cat "$work/log")"
"$work/sprof" record --source sigprof -o "$work/c.db" -- true >"$work/log" 2>&1 || fail "no agent: $(cat "$work/log")"
DESTDIR=$work/root cmake --install "$work" >"$work/log" 2>&1 || fail "install: $(cat "$work/log")"
