#!/bin/bash
# Do the shells accept what `sprof completion` prints, and complete with it?
#   completion.sh bash|zsh|fish|usage
set -u
. "$(dirname "$0")/lib.sh"

complete_in_bash() { # WORD… : what bash would offer for the last of them
    COMP_WORDS=(sprof "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _sprof sprof "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
    offered=" ${COMPREPLY[*]} "
}

offers() { # WORD
    [[ $offered == *" $1 "* ]] || fail "offered:$offered, but not $1"
}

case $1 in
bash)
    eval "$("$SPROF" completion bash)" || fail "bash does not accept it"
    complete_in_bash re
    offers record
    offers report
    complete_in_bash record --stack
    offers --stack-bytes
    complete_in_bash record -m ""
    offers full
    offers app
    complete_in_bash record -- tru
    offers true
    # Every option of every command's help is offered.
    for command in $("$SPROF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        complete_in_bash "$command" --
        for option in $("$SPROF" "$command" --help | sed -n 's/^  .. * --\([a-z-]*\).*/\1/p'); do
            offers "--$option"
        done
    done
    ;;
zsh)
    command -v zsh >/dev/null || skip "zsh is not installed"
    "$SPROF" completion zsh >"$work/_sprof"
    zsh -n "$work/_sprof" || fail "zsh does not accept it"
    ;;
fish)
    command -v fish >/dev/null || skip "fish is not installed"
    "$SPROF" completion fish >"$work/sprof.fish"
    offered=" $(HOME=$work fish -c "source $work/sprof.fish; complete -C 'sprof report --format '" | cut -f 1 | tr '\n' ' ')"
    offers csv
    offers json
    ;;
usage)
    "$SPROF" completion tcsh >"$work/out" 2>"$work/err"
    [ $? = 2 ] || fail "an unknown shell is not an error of usage"
    grep -q 'zsh' "$work/err" || fail "the message does not name the shells"
    [ ! -s "$work/out" ] || fail "something was printed"
    ;;
esac
