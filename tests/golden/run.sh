#!/bin/sh
# Imports folded stacks, reports them and compares with what is expected, byte for byte.
#     run.sh SPROF CASE [update]
# "update" writes the expected text anew: read the diff before committing it.
set -u
sprof=$1 case=$2 update=${3-}
here=$(cd "$(dirname "$0")" && pwd)

line=$(grep "^$case " "$here/cases") || { echo "no case $case in $here/cases"; exit 1; }
# The words of a case hold no quotes or blanks.
set -- $line
input=$2
shift 2

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp "$here/$input.folded" "$work/" && cd "$work" || exit 1
"$sprof" import --folded "$input.folded" -o "$input.db" --system-module lib.so 2>import.txt || {
    cat import.txt
    exit 1
}
"$sprof" report -i "$input.db" "$@" >actual 2>&1
status=$?
[ $status -eq 0 ] || echo "exit status $status" >>actual
# What differs from day to day and from version to version.
sed -e 's/\("start_seconds_since_1970": \)[0-9.]*/\1TIME/' \
    -e 's/\("sprof_version": \)"[^"]*"/\1"VERSION"/' actual >normal

if [ "$update" = update ]; then
    cp normal "$here/expected/$case"
else
    diff -u "$here/expected/$case" normal
fi
