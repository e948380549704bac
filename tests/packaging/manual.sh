#!/bin/bash
# There is a manual page for sprof and for each command; each is well-formed and says all that the help says.
#     manual.sh SOURCE BUILD SPROF
set -u
pages=$2/man sprof=$3

fail() {
    echo "$*" >&2
    exit 1
}

# The text of a page as a reader sees it, on lines as long as needed.
text_of() {
    MANWIDTH=1000 man -E UTF-8 -l "$1" 2>/dev/null | sed 's/.\x08//g'
}

commands=$("$sprof" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 18 ] || fail "only these commands were found: $commands"
all=$(text_of "$pages/sprof.1")
for command in '' $commands; do
    page=$pages/sprof${command:+-$command}.1
    [ -s "$page" ] || fail "there is no page for $command: docs/man/$command.1 is missing"
    errors=$(MANWIDTH=80 man --warnings=w -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$errors" ] || fail "$page: $errors"
    grep -n '^@' "$page" && fail "$page: something was not put in"
    text=$(text_of "$page")
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qx "$section" <<<"$text" || fail "$page has no section $section"
    done
    [ "$command" ] || continue
    grep -q "sprof-$command(1)" <<<"$all" || fail "sprof.1 does not name $command"
    # Every line of the table of options: the option with its letter and value, and what it does.
    options=$("$sprof" "$command" --help | sed -n '/^Options:/,/^$/p' | grep -E '^  .*--' | grep -v -- '--help')
    count=0
    while IFS= read -r line; do
        [ "$line" ] || continue
        line=${line#"${line%%[! ]*}"}
        left=${line%%  *} help=${line#*  }
        help=${help#"${help%%[! ]*}"}
        grep -qF -- "$left" <<<"$text" || fail "$page lacks '$left'"
        grep -qF -- "$help" <<<"$text" || fail "$page does not say '$help' of '$left'"
        count=$((count + 1))
    done <<<"$options"
    asked=$("$sprof" "$command" --help | grep -cE '^  (-.,|   ) --')
    [ "$count" = $((asked - 1)) ] || fail "$page: $count options compared, the help has $((asked - 1))"
done

# The guide and the page on the database have all chapters of their sources, and nothing of their marks.
for name in guide schema; do
    page=$pages/sprof-$name.7
    errors=$(MANWIDTH=80 man --warnings=w -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$errors" ] || fail "$page: $errors"
    lines=$(text_of "$page" | sed 's/^   //')
    missing=$(sed -n 's/^##* //p' "$1/docs/$name.md" | tail -n +2 | tr -d '`' | grep -vxF -f <(echo "$lines"))
    [ -z "$missing" ] || fail "$page lacks the chapters $missing"
    grep -nE '\*\*|<!--|^ *\|' <<<"$lines" && fail "$page: marks of Markdown"
done
exit 0
