#!/bin/bash
# tests/repeatable names tests that exist, and only shrinks: each of its names was in the first version that git has.
#     repeatable.sh SOURCE BUILD
set -u
list=tests/repeatable
cd "$1" || exit 1

patterns() {
    grep -v '^#' | awk 'NF { print $1 }'
}

failed=0
names=$(ctest --test-dir "$2" -N | sed -n 's/^ *Test *#[0-9]*: //p')
while read -r pattern; do
    grep -qxE -- "$pattern" <<<"$names" || { echo "FAILED: $list: no test is called $pattern"; failed=1; }
done < <(patterns <$list)

if first=$(git log --diff-filter=A --format=%H -- $list 2>/dev/null | tail -n 1) && [ -n "$first" ]; then
    grown=$(comm -13 <(git show "$first:$list" | patterns | sort) <(patterns <$list | sort))
    [ -z "$grown" ] || { echo "FAILED: $list has grown by: $grown"; failed=1; }
fi
exit $failed
