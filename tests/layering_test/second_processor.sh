#!/usr/bin/env bash
# Compiles every source that asks arch/ for something for a processor that does not exist: nothing
# outside may need what x86-64 happens to have. What runs inside other programs may: agent/.
#     second_processor.sh SOURCE GENERATED CC [CLANG]
# Without CLANG the BPF programs are left out, as they are when sprof is built.
set -u
generated=$2 cc=$3 clang=${4-}
cd "$1" || exit 1
processor=tests/layering_test/processor
failed=0 sources=0

while read -r file; do
    case $file in
    ./arch/* | ./agent/* | ./tests/* | ./bench/* | ./build/*) continue ;;
    *.bpf.c)
        [ -n "$clang" ] || continue
        command=("$clang" -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -c -o /dev/null
            -DSPROF_ARCH_BPF_HEADER="\"$processor/bpf.h\"" -idirafter /usr/include
            -idirafter "/usr/include/$("$cc" -print-multiarch)")
        ;;
    *) command=("$cc" -std=gnu17 -fms-extensions -D_GNU_SOURCE -Werror=implicit-function-declaration -fsyntax-only
        -DSPROF_ARCH_HEADER="\"$processor/machine.h\"" -I"$generated") ;;
    esac
    sources=$((sources + 1))
    "${command[@]}" -I. "$file" || { echo "FAILED: $file"; failed=1; }
done < <(grep -rlE --exclude-dir=build --exclude-dir=.git --include='*.c' 'ARCH_|arch_' .)

[ "$sources" -ge 20 ] || { echo "FAILED: only $sources sources ask arch/ for something"; failed=1; }
echo "$sources sources"
exit $failed
