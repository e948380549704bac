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
    complete_in_bash ctl ""
    for word in start stop status clear mode rate mark list stats end; do
        offers "$word"
    done
    complete_in_bash ctl mode ""
    [ "$offered" = " pc full app " ] || fail "the modes of ctl are$offered"
    complete_in_bash ctl mode pc ""
    [ "$offered" = " full " ] && fail "behind a whole command of ctl there is$offered"
    complete_in_bash export -f ""
    for format in folded pprof speedscope firefox callgrind chrome tsv svg dot; do
        offers "$format"
    done
    complete_in_bash report --by ""
    offers thread
    complete_in_bash report --by thread,fun
    [ "$offered" = " thread,function " ] || fail "behind a comma there is$offered"
    complete_in_bash completion f
    [ "$offered" = " fish " ] || fail "the shells are$offered"
    # What is offered for columns and keys is what the commands take.
    printf 'main;work 3\n' >"$work/folded"
    "$SPROF" import --folded "$work/folded" -o "$work/g.db" 2>/dev/null || fail "import"
    for more in "" --inclusive "--peek work" "--by run,host,process,command,user,cgroup,container,thread,cpu,event,phase,module,function,file,line,address"; do
        complete_in_bash report --sort ""
        # shellcheck disable=SC2086
        columns=$("$SPROF" report -i "$work/g.db" $more --format csv | head -1 | tr -d '\r' | tr , ' ')
        [ "$(wc -w <<<"$columns")" -ge 2 ] || fail "the table has no columns: $more"
        for column in $columns; do
            offers "$column"
        done
    done
    complete_in_bash stats --sort ""
    for column in self self-percent total p99 untimed tid thread caller function; do
        offers $column
    done
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
    # What an interactive zsh lists behind each line.
    for case in "ctl sta:start status stats" "ctl mode :pc full app" "export -f s:speedscope svg" "report --by p:process phase" \
            "report --by thread,f:function file" "rec:record" "completion :bash zsh fish"; do
        offered=" $(WORK=$work LINE="sprof ${case%%:*}" zsh -f <<'END' | tr -d '\r' | tr -c 'a-z\n-' ' ' | tr '\n' ' '
zmodload zsh/zpty
zpty shell env TERM=dumb COLUMNS=200 LINES=60 zsh -f -i
zpty -w shell "PROMPT=; fpath=($WORK \$fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' verbose no; setopt bash_auto_list no_auto_menu list_packed; unsetopt zle_bracketed_paste; bindkey '^I' complete-word; print REA''DY"
zpty -r shell out '*READY*'
zpty -w -n shell "$LINE"$'\t\t'
zpty -w -n shell $'\C-a'"print DO''NE-"$'\n'
zpty -r shell out '*DONE-*'
print -r -- "$out"
zpty -d shell
END
) "
        for word in ${case#*:}; do
            offers "$word"
        done
    done
    ;;
fish)
    command -v fish >/dev/null || skip "fish is not installed"
    "$SPROF" completion fish >"$work/sprof.fish"
    offered=" $(HOME=$work fish -c "source $work/sprof.fish; complete -C 'sprof report --format '" | cut -f 1 | tr '\n' ' ')"
    offers csv
    offers json
    for case in "ctl sta:start status stats" "ctl mode :pc full app" "export -f s:speedscope svg" "report --by thread,f:thread,function thread,file" \
            "completion :bash zsh fish"; do
        offered=" $(HOME=$work fish -c "source $work/sprof.fish; complete -C 'sprof ${case%%:*}'" | cut -f 1 | tr '\n' ' ') "
        for word in ${case#*:}; do
            offers "$word"
        done
    done
    ;;
usage)
    "$SPROF" completion tcsh >"$work/out" 2>"$work/err"
    [ $? = 2 ] || fail "an unknown shell is not an error of usage"
    grep -q 'zsh' "$work/err" || fail "the message does not name the shells"
    [ ! -s "$work/out" ] || fail "something was printed"
    ;;
esac
