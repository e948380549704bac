/* Words of perf, pprof, uftrace and their like that are no words of sprof. */
#include "cli/foreign.h"

#include <stddef.h>
#include <string.h>

struct foreign {
    const char *command; /* that takes the option; NULL: any, or the word is a command */
    const char *words;   /* with a blank before and behind each */
    const char *answer;
};

static const struct foreign options[] = {
    {"record", " -g --call-graph -G ",
     "stacks are recorded whole without it; `-m pc` records none"},
    {"record", " -d ", "`--duration T`"},
    {"record", " -r --rate ", "`-F HZ`"},
    {"record", " -b --branch-any --branch-filter ",
     "branches are not recorded: stacks are unwound by the program's unwind tables"},
    {"record", " --subprocesses --follow ",
     "children to come are recorded without it; `--children` adds those that run already"},
    {"record", " --native --nonblocking --gil ",
     "all threads are sampled, and their native stacks are whole, without it"},
    {"record", " --idle ",
     "`--off-cpu` measures how long threads wait, `--clock wall` samples them"},
    {"record", " --all-user ", "`-e cpu-clock:u` samples user mode alone"},
    {"report", " --diff-base --diff_base --base -base -diff_base ", "`sprof diff BASE RECORDING`"},
    {"report", " --off-cpu ", "`--event off-cpu`"},
    {"report", " --noinlines -noinlines --no-inlines ", "`--no-inline`"},
    {"report", " --stdio --tui --gtk ",
     "reports are text without it; `sprof html --open` shows a page"},
    {"report", " -g --call-graph --hierarchy ",
     "`--tree` goes from callers to callees, `--bottom-up` the other way"},
    {"report", " -G --inverted ", "`--bottom-up`"},
    {"report", " --no-children ",
     "functions have their own cost without it; `--inclusive` adds what they call"},
    {"report", " --children -cum ", "`--inclusive` adds what functions call"},
    {"report", " -s ", "`--by KEY` chooses the rows, `--sort COLUMN` their order"},
    {"report", " --percent-limit --percent ", "`--min-percent P`"},
    {"report", " --top --rows ", "`-n ROWS`"},
    {"report", " --flat ", "leave it out, rows are functions already"},
    {"report", " -f --csv --json --markdown ", "`--format csv`, `json` or `markdown`"},
    {"report", " --since --until --from --start ", "`--time FROM,TO`, in seconds from the start"},
    {"report", " --comm --comms --pid ", "`--process NAME|PID`"},
    {"report", " --dso --dsos ", "`--module GLOB`"},
    {"report", " --tid ", "`--thread NAME|TID`"},
    {"report", " --symbol --symbols --symbol-filter ", "`--focus REGEX`"},
    {"report", " -top -text ", "reports are text without it"},
    {"report", " -peek ", "`--peek REGEX`"},
    {"report", " -list -A ", "`sprof annotate FUNC`"},
    {"report", " -l ", "`--lines`"},
    {"report", " --tagfocus -tagfocus ", "`--thread NAME` or `--process NAME`"},
    {"report", " --sample_index -sample_index ", "`--event NAME`"},
    {"report", " -web -http ", "`sprof html --open`"},
    {"report", " --depth --max-stack ", "`--min-percent P` leaves out the deep and rare"},
    {"diff", " --base -base -diff_base ",
     "the recording before stands first: `sprof diff BASE RECORDING`"},
    {"export", " --pprof --folded --speedscope --svg ", "`-f FORMAT`"},
    {"annotate", " --stdio --tui --gtk ", "annotations are text without it"},
    {"annotate", " -s --symbol ", "the function's name stands alone: `sprof annotate FUNC`"},
    {"annotate", " -M --disassembler-style ", "`--syntax intel`"},
    {"script", " -F --fields ",
     "`--format csv` prints all fields of each sample, `sprof sql` chosen ones"},
    {"stats", " --callers --callees --tree --edges ",
     "`sprof report` shows it, of a trace with `--paths` or `--callers`"},
    {"trace", " -F -P --patch ", "`--function REGEX`"},
    {"trace", " -N --notrace ", "`--function '!REGEX'`"},
    {"trace", " -t --time-filter ", "`--keep 'over 10ms'` keeps the calls that take longer"},
    {"trace", " -D ", "`--depth N` with `--mode log`"},
    {"trace", " -g --call-graph ",
     "`--paths` counts by who called whom, `--mode log` keeps every call"},
};

static const struct foreign commands[] = {
    {NULL, " flamegraph flame flame-graph flamegraph.pl ",
     "`sprof html` writes a page with a flame graph, `sprof export -f svg` one picture"},
    {NULL, " convert ",
     "`sprof export -f FORMAT` writes other tools' files, `sprof import` reads them"},
    {NULL, " stat ", "`sprof record -e EVENT,EVENT -- PROGRAM`, then `sprof report --by event`"},
    {NULL, " -v -V version ", "`sprof --version`"},
    {NULL, " live watch ", "`sprof top -p PID`"},
    {NULL, " svg -svg ", "`sprof export -f svg`"},
    {NULL, " lock sched off-cpu offcpu timechart wall ", "`sprof record --off-cpu`"},
    {NULL, " iostat io disk ",
     "`sprof record --off-cpu`, then `sprof report --event off-cpu:block-io`"},
    {NULL, " perf uftrace py-spy ",
     "sprof does this itself: `sprof help coming` lists its commands beside theirs"},
    {NULL, " gprof ",
     "`sprof report` shows time, `sprof trace --callers` counts calls, without a new build"},
    {NULL, " gcov lcov coverage ",
     "`sprof trace --mode coverage` finds the functions that are called"},
    {NULL, " strace ", "`sprof record -e 'syscalls:sys_enter_*' -- PROGRAM`, as root"},
    {NULL, " memcheck valgrind leaks ",
     "`sprof trace --heap-check REGEX` finds calls that leave memory allocated"},
    {NULL, " kmem mem heap heaptrack memory malloc ",
     "`sprof trace --heap` counts the bytes that functions allocate, `sprof record -e page-faults` "
     "shows where memory is touched first, `-e LLC-load-misses` what comes from memory"},
    {NULL, " c2c ",
     "which threads share a cache line is not recorded; `sprof record -e cache-misses` shows where "
     "caches miss"},
    {NULL, " bench ",
     "sprof has no benchmarks; `sprof diff BEFORE AFTER` compares recordings of yours"},
    {NULL, " buildid-list buildids build-ids ", "`sprof sql 'SELECT name, build_id FROM module'`"},
    {NULL, " buildid-cache ", "`sprof archive` packs the files that a recording needs"},
    {NULL, " kvm ", "guests are seen from inside: run sprof in the guest"},
    {NULL, " ftrace ",
     "`sprof trace` traces functions of programs, `sprof record -e SYSTEM:NAME` the kernel's "
     "tracepoints"},
    {NULL, " evlist ", "`sprof report --by event`"},
    {NULL, " inject ", "`sprof symbolize` adds names to a recording"},
    {NULL, " probe uprobe uprobes kprobe ", "`sprof trace --function REGEX`"},
    {NULL, " daemon ", "`sprof record --loop T` records without end"},
    {NULL, " test check ", "`sprof doctor`"},
    {NULL, " -g --call-graph ", "stacks are recorded whole without it: `sprof record -- PROGRAM`"},
    {NULL, " callgrind folded pprof speedscope firefox ",
     "`sprof export -f FORMAT` writes other tools' files"},
    {NULL, " view web -web open ui gui serve -http show browse ", "`sprof html --open`"},
    {NULL, " run profile start exec collect ", "`sprof record -- PROGRAM`"},
    {NULL, " attach ", "`sprof record -p PID`"},
    {NULL, " graph tree ", "`sprof report --tree`"},
    {NULL, " peek ", "`sprof report --peek REGEX`"},
    {NULL, " dump replay ", "`sprof script`"},
    {NULL, " query ", "`sprof sql`"},
    {NULL, " compare ", "`sprof diff`"},
};

static const char *answer_of(const struct foreign *all, size_t count, const char *command,
                             const char *word)
{
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < count; i++) {
        if (all[i].command && strcmp(all[i].command, command) != 0)
            continue;
        for (const char *at = all[i].words + 1; *at; at = strchr(at, ' ') + 1)
            if (strcspn(at, " ") == length && !strncmp(at, word, length))
                return all[i].answer;
    }
    return NULL;
}

const char *cli_foreign_option(const char *command, const char *word)
{
    return answer_of(options, sizeof options / sizeof *options, command, word);
}

const char *cli_foreign_command(const char *word)
{
    return answer_of(commands, sizeof commands / sizeof *commands, NULL, word);
}
