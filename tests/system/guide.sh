#!/bin/bash
# Is what docs/guide.md says true today?
#   guide.sh options    it names every option of every command, and none that does not exist
#   guide.sh commands   its commands run, one after the other, as a reader would type them
#   guide.sh help       `sprof help WORD` finds in it what readers look for
set -u
guide=$(cd "$(dirname "$0")/../../docs" && pwd)/guide.md
. "$(dirname "$0")/lib.sh"

# Programs of the names that the guide uses. `program` goes on until a file named stop is there.
make_programs() {
    cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) void count_words(const char *text) { for (; *text; text++) sum += *text == ' '; }
__attribute__((noinline)) unsigned lookup(unsigned key) { return key * 2654435761u >> 7; }
__attribute__((noinline)) void find_customer(unsigned key) { for (unsigned i = 0; i < 20; i++) sum += i == key % 20; }
__attribute__((noinline)) void parse(unsigned n) { find_customer(n); char line[64]; snprintf(line, sizeof line, "order %u of %u", n, lookup(n)); count_words(line); }
int main(int count, char **arguments) {
    const int on = count > 1 && !strcmp(arguments[1], "on");
    for (unsigned n = 0; on ? access("stop", F_OK) : n < 1000000; n++) parse(n);
}
END
    "${CC:-cc}" -O2 -g "$work/program.c" -o "$work/program" || fail "the program does not compile"
    cp "$work/program" "$work/orders"
    cp "$work/program" "$work/app"
}

case $1 in
options)
    for command in $("$SPROF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        cmp -s <("$SPROF" help "$command") <("$SPROF" "$command" --help) || fail "sprof help $command"
    done
    # An option is documented where its command is, or in another command's section whose options it is said to have.
    python3 - "$SPROF" "$guide" >"$work/known" <<'END' || fail "options of commands are not in the guide"
import re, subprocess, sys
sprof, guide = sys.argv[1:]
text = open(guide, encoding="utf-8").read()
sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.M | re.S))

def help_of(*words):
    return subprocess.run([sprof, *words, "--help"], check=True, stdout=subprocess.PIPE).stdout.decode()

def chapters(command):
    return "".join(body for title, body in sections.items() if re.fullmatch(rf"sprof {command}(: .*)?", title))

def about(command):
    own = chapters(command) + "".join(body for title, body in sections.items() if re.match("sprof |The other commands$", title) and
                                      re.search(rf"^(\* `|    (\$ )?|### )sprof {command}\b", body, re.M))
    return own + "".join(map(chapters, set(re.findall(r"(?:options|those) of `sprof ([a-z]+)`", own))))

commands = re.findall(r"^  ([a-z-]+) ", re.search(r"^Commands:\n(.*?)\n\n", help_of(), re.M | re.S)[1], re.M)
everywhere = {"help", "input", "output", "verbose"}
missing, count = [], 0
for command in commands:
    there = about(command)
    for letter, option in re.findall(r"^  (-.|  )[, ] --([a-z-]+)", help_of(command), re.M):
        print(option)
        count += 1
        letter = letter.strip()
        if option not in everywhere and not re.search(rf"--{option}\b", there) and not (letter and re.search(rf"[` ]{letter}\b", there)):
            missing.append(f"sprof {command} --{option}")
if missing or count < 150:
    sys.exit(f"of {count} options these are not where their commands are: {', '.join(missing)}")
END
    # An option that --help leaves out.
    "$SPROF" trace --all-points --help >/dev/null 2>&1 && echo all-points >>"$work/known"
    # Options of other programs stand in the first column of tables behind a line <!-- foreign -->, which say
    # what sprof has instead, and between <!-- foreign --> and <!-- end --> within a line.
    python3 - "$guide" >"$work/guide" <<'END' || fail "tables of other programs' options"
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()

def own_columns(table):
    rows = [re.split(r" (?<!\\)\| ", row.strip("| \n"), maxsplit=1) for row in table[1].splitlines()[2:]]
    for row in rows:
        if len(row) != 2 or not row[1].strip():
            sys.exit(f"a row says nothing of sprof's: {row}")
    return "\n".join(row[1] for row in rows) + "\n"

text, tables = re.subn(r"^<!-- foreign -->\n((?:\|.*\n)+)", own_columns, text, flags=re.M)
text = re.sub(r"<!-- foreign -->[^\n]*?<!-- end -->", "", text)
if "<!-- foreign" in text or tables < 1:
    sys.exit("marks of other programs' options without an end")
print(text)
END
    for option in $(grep -o -- '--[a-z][a-z-]*' "$work/guide" | sed 's/^--//' | sort -u); do
        grep -qx -- "$option" "$work/known" || fail "the guide names --$option, which no command has"
    done
    ;;
help)
    # A word, and what the answer holds.
    while IFS='|' read -r words answer; do
        # shellcheck disable=SC2086 # several words are several arguments
        "$SPROF" help $words >out 2>err || fail "help $words: $(cat err)"
        grep -qF -- "$answer" out || fail "help $words does not answer '$answer': $(cat out)"
        awk 'length > 400 { exit 1 }' out || fail "help $words has lines that are too long"
    done <<'END'
container|--cap-add PERFMON
waiting|sprof report --by wait
svg|sprof export -f svg
rename|--map OLD=NEW
not sampled|CPU time, known from the kernel's accounts
phase|sprof ctl mark NAME
python|-X perf
java|-XX:+DumpPerfMapAtExit
node|--perf-basic-prof
events|sprof list [REGEX]
allocations|sprof trace --heap
mutex|sprof why -- ./shop
permission|CAP_PERFMON
slower|sprof diff before.db after.db
sprof record: waits|Measured waits
choose functions|--children-of
flame graph|top-down or bottom-up
compare differently named builds|--map OLD=NEW
only a part of the run|--time 1.5,3
v_call_tree|by call path
uftrace|sprof trace -- ./x
kmem|sprof trace --heap
c2c|sprof record -e cache-misses
buildid-list|build_id FROM module
END
    # What people call it, and the title that the answer begins with.
    while IFS='|' read -r words title; do
        # shellcheck disable=SC2086 # several words are several arguments
        "$SPROF" help $words >out 2>err || fail "help $words: $(cat err)"
        [ "$(grep -v -e '^$' -e "^$words: " out | head -n 1)" = "$title" ] || fail "help $words begins with $(head -n 3 out), not $title"
    done <<'END'
first profile|Where does the time go?
where is time spent|Where does the time go?
redis|A service
how do I profile a service|A service
slow requests|A service
latency|A service
make|A build
contention|A lock, or any other wait
lock contention|A lock, or any other wait
go|Python, Node, Java
rust|Python, Node, Java
node names|Python, Node, Java
ci gate|CI
fail the build|CI
regression|A test that became slower
compare renamed binaries|A test that became slower
diff path|sprof diff
how sure is it?|Can I trust it?
confidence|Can I trust it?
phase|A slow command
warm-up|A slow command
share with colleagues|A slow command
another machine|A service
inlining|sprof report: choose samples
threads by name|sprof report
kernel symbols|What the numbers mean
no symbols|What the numbers mean
stripped|What the numbers mean
remove files|What is kept between recordings
disk space|What is kept between recordings
no samples|When something is in the way
attach fails|When something is in the way
memory leak|Limits
sudo|Limits
kubernetes|A container
off-cpu|A lock, or any other wait
END
    # A comment leaves nothing behind.
    "$SPROF" help guide | grep -nE '<!--|also: | [,;]( |$)' && fail "comments are shown"
    # Where no place has all words, those with most of them are shown, and it is said.
    "$SPROF" help frobnicate lock holder >out || fail "help frobnicate lock holder"
    head -n 1 out | grep -q 'No place has all' || fail "help frobnicate lock holder does not say what it shows: $(head -n 3 out)"
    grep -q 'sprof report --by lock,holder' out || fail "help frobnicate lock holder does not find the lock's holder"
    # An answer is about a screen, and says where the rest is; what a paragraph begins with comes first.
    for words in waiting events 'not sampled' memory calls; do
        "$SPROF" help "$words" >out
        [ "$(wc -l <out)" -le 60 ] || fail "help $words has $(wc -l <out) lines"
    done
    "$SPROF" help waiting >out
    grep -qF "more: \`sprof help 'sprof record: waits'\`" out || fail "help waiting does not name the rest: $(cat out)"
    "$SPROF" help not sampled >out
    sed -n 2p out | grep -qF "CPU time, known from the kernel's accounts" || fail "help not sampled begins with $(sed -n 1,3p out)"
    for page in guide schema; do
        "$SPROF" help $page >out || fail "help $page"
        sed -n 's/^###* //p' "$guide" >titles
        [ $page = schema ] || while IFS= read -r title; do
            grep -qxF -- "$title" out || fail "help $page lacks '$title'"
            "$SPROF" help "$title" >part || fail "help '$title'"
            [ "$(head -n 1 part)" = "$title" ] || fail "help '$title' begins with $(head -n 1 part)"
        done <titles
    done
    "$SPROF" help record | cmp -s - <("$SPROF" record --help) || fail "help on a command is not its help"
    "$SPROF" help nothing of this kind >out 2>err && fail "help finds what is not there"
    grep -q 'sprof help topics' err || fail "no word on chapters: $(cat err)"
    ;;
commands)
    make_programs
    mkdir bin
    ln -s "$SPROF" bin/sprof
    printf '#!/bin/sh\nexit 0\n' >bin/xdg-open # the browser that --open starts
    chmod +x bin/xdg-open
    PATH=$work/bin:$PATH
    sed -n 's/^    \$ //p' "$guide" | sed 's/  *# .*//' >commands
    [ "$(wc -l <commands)" -ge 15 ] || fail "only these commands were found: $(cat commands)"
    traced=
    while IFS= read -r line; do
        if [ -z "$traced" ] && [[ $line == "sprof ctl"* ]]; then
            sprof trace -o sprof.db -- ./program on >trace.out 2>&1 &
            traced=$!
            children+=("$traced")
            for ((i = 0; i < 300; i++)); do
                sprof ctl list >/dev/null 2>&1 && break
                sleep 0.1
            done
        fi
        timeout 120 bash -c "$line" >out 2>err </dev/null || { touch stop; fail "\`$line\` ends with $?: $(tail -n 3 err) $(cat trace.out 2>/dev/null)"; }
    done <commands
    touch stop
    if [ "$traced" ]; then
        wait "$traced" || fail "the traced program ended with $?: $(cat trace.out)"
    fi
    ;;
esac
