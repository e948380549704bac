#!/bin/bash
# Does layering_test.sh see what it is there for? Copies the libraries, breaks one rule at a time, and wants a
# failure that names the file.
#   self_test.sh SOURCE_DIRECTORY
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source"/cmake "$work"
while IFS='|' read -r library _; do
    cp -r "$source/${library%% *}" "$work"
done < <(grep '^[a-z]' "$source/cmake/layers")
"$source/tests/layering_test/layering_test.sh" "$work" || { echo "the copy itself breaks a rule" >&2; exit 1; }

failures=0
must_fail() { # FILE LINE
    printf '%s\n' "$2" >"$work/$1"
    if output=$("$source/tests/layering_test/layering_test.sh" "$work" 2>&1); then
        echo "not noticed: $1 with $2" >&2
        failures=$((failures + 1))
    elif ! grep -qF "$1" <<<"$output"; then
        echo "noticed, but not where: $1 with $2: $output" >&2
        failures=$((failures + 1))
    fi
    rm "$work/$1"
}

must_fail model/x.c '#include "store/store.h"'
must_fail unwind/x.c '#include "sampler/sampler.h"'
must_fail sampler/x.c '  #  include "unwind/unwind.h"'
must_fail record/x.c '#include "sampler/ring.h"'
must_fail record/x.c '#include <sqlite3.h>'
must_fail report/x.h '#include <libelf.h>'
must_fail symbolize/x.c '#include <linux/perf_event.h>'
must_fail base/x.c '#include <zlib.h>'
must_fail store/x.c 'int f(void) { return printf("x"); }'
must_fail report/x.c 'void f(void) { fputs("x", stderr); }'
must_fail trace/x.c 'int f(void) { return X86_RAX; }'
must_fail unwind/x.h '#ifdef __aarch64__'
must_fail trace/plan/x.c '#include "trace/tracing.h"'
[ "$failures" = 0 ]
