#!/bin/bash
# dev/configure keeps what a preset sets, also where the compiler that it names is found at another path.
#     configure.sh SOURCE
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    cat said >&2
    exit 1
}

mkdir dev first second
cp "$1/dev/configure" dev
cat >CMakePresets.json <<'END'
{
  "version": 3,
  "configurePresets": [{
    "name": "some", "generator": "Ninja", "binaryDir": "${sourceDir}/build/some",
    "cacheVariables": { "CMAKE_C_COMPILER": "some-compiler", "SOME": "it is set" }
  }]
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(some LANGUAGES C)
set(SOME "it is lost" CACHE STRING "")
END
# configured DIRECTORY: with the compiler that stands there.
configured() {
    ln -sf "$(command -v cc)" "$1/some-compiler"
    PATH=$work/$1:$PATH dev/configure some >said 2>&1 || fail "exit status $?"
    grep -qx "SOME:[A-Z]*=it is set" build/some/CMakeCache.txt || fail "$1: what the preset sets is lost"
    grep -qF "set(CMAKE_C_COMPILER \"$work/$1/" build/some/CMakeFiles/*/CMakeCCompiler.cmake || fail "$1: another compiler"
}

configured first
configured first
! grep -q anew said || fail "configured anew without need"
configured second
dev/configure unknown >said 2>&1 && fail "an unknown preset"
exit 0
