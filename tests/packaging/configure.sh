#!/bin/bash
# CMake's questions to the system: what was absent is looked for again, an answer that was given stays, and
# archives that do not link give way to shared libraries.
#     configure.sh SOURCE
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    cat "$work/log" >&2
    exit 1
}

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(questions LANGUAGES C)
list(APPEND CMAKE_MODULE_PATH $source/cmake)
include(SprofLookFor)
set(CMAKE_REQUIRED_INCLUDES $work/include)
sprof_look_for(HAS_LATER "#include <later.h>
    int main(void) { return 0; }")
sprof_look_for(HAS_GIVEN "int main(void) { return 0; }")
message(STATUS "later <\${HAS_LATER}> given <\${HAS_GIVEN}>")
END
configure() {
    cmake -S "$work/project" -B "$work/build" "$@" >"$work/log" 2>&1 || fail "the project does not configure"
}
configure -DHAS_GIVEN=OFF
grep -q 'later <> given <OFF>' "$work/log" || fail "something absent was found"
mkdir "$work/include"
touch "$work/include/later.h"
configure
grep -q 'later <1> given <OFF>' "$work/log" || fail "what came later was not found, or a given answer was overruled"
rm -r "$work/include"
configure
grep -q 'later <1>' "$work/log" || fail "what was found was looked for again"

printf '!<arch>\n' >"$work/libelf.a"
cmake -S "$source" -B "$work/sprof" -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=OFF \
    -DSPROF_ARCHIVE_elf="$work/libelf.a" >"$work/log" 2>&1 || fail "archives that do not link end the configuration"
grep -q 'linked with shared libraries' "$work/log" || fail "CMake does not say that libraries are shared"

mkdir "$work/old"
printf '#define SQLITE_VERSION_NUMBER 3034001\nint sqlite3_libversion_number(void);\n' >"$work/old/sqlite3.h"
cmake -S "$source" -B "$work/sprof-old" -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=OFF -DCMAKE_C_FLAGS="-I$work/old" \
    >"$work/log" 2>&1 && fail "an old SQLite is taken"
grep -q 'sprof needs SQLite 3.37 or later' "$work/log" || fail "CMake does not say which SQLite is needed"
