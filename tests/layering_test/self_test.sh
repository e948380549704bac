#!/bin/bash
# Checks layering_test.py itself: copies the libraries, breaks a rule in each of several new files, and
# requires that each file is named.
#   self_test.sh SOURCE_DIRECTORY
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source"/cmake "$work"
while IFS='|' read -r library _; do
    cp -r "$source/${library%% *}" "$work"
done < <(grep '^[a-z]' "$source/cmake/layers")
"$source/tests/layering_test/layering_test.py" "$work" || { echo "the copy itself breaks a rule" >&2; exit 1; }

planted=()
plant() { # FILE LINE
    printf '%s\n' "$2" >"$work/$1"
    planted+=("$1")
}

plant model/x.c '#include "store/store.h"'
plant unwind/x.c '#include "sampler/sampler.h"'
plant sampler/x.c '  #  include "unwind/unwind.h"'
plant record/x.c '#include "sampler/ring.h"'
plant record/y.c '#include <sqlite3.h>'
plant report/x.h '#include <libelf.h>'
plant symbolize/x.c '#include <linux/perf_event.h>'
plant base/x.c '#include <zlib.h>'
plant store/x.c 'int f(void) { return printf("x"); }'
plant report/x.c 'void f(void) { fputs("x", stderr); }'
plant trace/x.c 'int f(void) { return X86_RAX; }'
plant unwind/x.h '#ifdef __aarch64__'
plant plan/x.c '#include "trace/tracing.h"'
plant inject/x.c '#include "trace/tracing.h"'
plant probing/x.c '#include "calls/calls.h"'
plant calls/x.c '#include "trace/tracing.h"'
plant sampler/agent/x.c '#include "sampler/perf/perf_source.h"'
plant report/html/x.c '#include "report/export/export.h"'

output=$("$source/tests/layering_test/layering_test.py" "$work" 2>&1) && { echo "nothing was noticed" >&2; exit 1; }
failures=0
for file in "${planted[@]}"; do
    [ "$(grep -cF "$file" <<<"$output")" = 1 ] && continue
    echo "not noticed: $file with $(cat "$work/$file")" >&2
    failures=$((failures + 1))
done
[ "$failures" = 0 ]
