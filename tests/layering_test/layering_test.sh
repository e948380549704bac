#!/bin/bash
# The rule of the layers: looks at every #include of every library, and fails where it uses one that the
# table cmake/layers does not put below it; where a third-party header stands outside the library that
# owns it; and where a library other than cli prints.
#   layering_test.sh SOURCE_DIRECTORY
set -u
cd "$1" || exit 2

# library: what it may use, as the table of the build says. A library may always use itself.
declare -A may_use=()
while IFS='|' read -r name uses _; do
    read -r name <<<"$name"
    read -r uses <<<"$uses"
    may_use[$name]=$uses
done < <(grep '^[a-z]' cmake/layers)

# header (a pattern): the libraries that own it.
declare -A owners=(
    ["linux/perf_event.h"]="sampler agent"
    ["bpf/bpf_helpers.h"]="sampler symbolize trace" ["bpf/bpf_core_read.h"]="sampler"
    ["libelf.h"]="image symbolize" ["gelf.h"]="image symbolize"
    ["elfutils/libdw.h"]="symbolize" ["elfutils/libdwfl.h"]="symbolize"
    ["elfutils/libdwelf.h"]="symbolize" ["elfutils/debuginfod.h"]="symbolize" ["dwarf.h"]="symbolize"
    ["libiberty/demangle.h"]="symbolize" ["demangle.h"]="symbolize"
    ["libunwind.h"]="unwind" ["libunwind-x86_64.h"]="unwind"
    ["sqlite3.h"]="store" ["zlib.h"]="report import"
    ["pprof.pb-c.h"]="formats"
    ["xxhash.h"]="base"
    ["archive.h"]="archive" ["archive_entry.h"]="archive"
    ["pcre2.h"]="report trace" ["capstone/capstone.h"]="report"
    ["yajl/yajl_gen.h"]="report" ["yajl/yajl_parse.h"]="report" ["yajl/yajl_tree.h"]="report"
)

# Headers that come with libc, the compiler or the kernel: everybody's.
everybody="^(sys|linux|asm|arpa|netinet)/|^(alloca|assert|ctype|dirent|dlfcn|elf|endian|errno|fcntl|fnmatch|ftw|glob|inttypes|libgen|limits|link|math|poll|pthread|pwd|sched|semaphore|setjmp|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|syscall|termios|time|ucontext|unistd)\\.h$"

failures=0
fail() {
    echo "$1" >&2
    failures=$((failures + 1))
}

has_word() { # WORD "LIST OF WORDS"
    [[ " $2 " == *" $1 "* ]]
}

# The headers a library shows to others: library/library.h and, of agent, base, model, recording, store and trace, what it includes.
is_public() { # LIBRARY HEADER
    [ "$2" = "$1/$1.h" ] && return
    has_word "$1" "agent base model recording store trace" &&
        grep -qrF "#include \"$2\"" "$1/$1.h" $(sed -n "s/^#include \"\($1\/.*\)\"/\1/p" "$1/$1.h")
}

check_own_header() { # LIBRARY FILE HEADER
    local other=${3%%/*}
    [ "$other" = "$1" ] && return
    if ! has_word "$other" "${may_use[$1]}"; then
        fail "$2: includes \"$3\": $1 must not use $other"
    elif ! is_public "$other" "$3"; then
        fail "$2: includes \"$3\", which is private to $other: include $other/$other.h"
    fi
}

check_system_header() { # LIBRARY FILE HEADER
    if [ -n "${owners[$3]-}" ]; then
        has_word "$1" "${owners[$3]}" || fail "$2: includes <$3>: only ${owners[$3]} may"
    elif ! [[ $3 =~ $everybody ]]; then
        fail "$2: includes <$3>: say in $0 which library owns it"
    fi
}

check_includes() { # LIBRARY
    local file kind header
    while IFS=: read -r file _ header; do
        kind=${header:0:1}
        header=${header:1:-1}
        if [ "$kind" = '"' ]; then
            check_own_header "$1" "$file" "$header"
        else
            check_system_header "$1" "$file" "$header"
        fi
    done < <(grep -rnoE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]*[">]' "$1" |
        sed -E 's/:[^:]*include[[:space:]]*/:/')
}

# Only cli prints: no other library names a standard stream or calls what writes to one.
check_printing() { # LIBRARY
    local found
    found=$(grep -rnE --include='*.c' '(^|[^_[:alnum:]])(printf|vprintf|puts|putchar|perror|psignal)[[:space:]]*\(|(^|[^_[:alnum:]])(stdout|stderr)([^_[:alnum:]]|$)' "$1" |
        grep -vE ':[[:space:]]*(/?\*|//)')
    [ -z "$found" ] || fail "only cli/ prints, but: $found"
}

# Only arch knows a processor, and what runs inside other programs and the kernel: agent, BPF programs.
check_processor() { # LIBRARY
    local found
    case $1 in arch | agent) return ;; esac
    found=$(grep -rnE --include='*.[ch]' --exclude='*.bpf.c' \
        '__x86_64__|__aarch64__|(^|[^[:alnum:]_])(X86_|R_X86_64_|EM_X86_64|PERF_REG_X86)|asm/perf_regs\.h' "$1")
    [ -z "$found" ] || fail "only arch/ knows a processor, but: $found"
}

# A plan depends on a file's bytes alone: it is kept by their digest.
check_plans() {
    local found
    found=$(grep -rnE '#[[:space:]]*include "trace/' trace/plan | grep -vE '"trace/(plan/|embed/embedded\.h")')
    [ -z "$found" ] || fail "trace/plan/ knows no session and no process, but: $found"
}

check_plans
for library in "${!may_use[@]}"; do
    if [ ! -d "$library" ]; then
        fail "$library: no such library"
        continue
    fi
    check_includes "$library"
    check_processor "$library"
    [ "$library" = cli ] || check_printing "$library"
done
[ "$failures" = 0 ]
