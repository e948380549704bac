/* Writes a verdict for people. */
#include "why/why.h"

#include <stdlib.h>
#include <string.h>

static const double much_ready = 0.3, ruled_out = 0.2;

/* Causes that are ruled out by name where they are small. */
static const struct {
    enum why_cause cause;
    const char *name;
    bool needs_waits; /* not known where waits are not seen */
} ruled[] = {
    {WHY_COMPUTES, "computing", false}, {WHY_ALLOCATES, "allocation", false},
    {WHY_FAULTS, "page faults", false}, {WHY_CALLS_SYSTEM, "system calls", false},
    {WHY_LOCK, "locks", true},          {WHY_SLEEP, "sleeping", true},
    {WHY_DISK, "disk", true},
};

enum { WAY_ENDS = 9, WAY_HEAD = 1 };

static int percent(double share)
{
    return (int)(share * 100 + 0.5);
}

static const char *name_of(const struct why_table *table, uint32_t function)
{
    return function ? table->functions.items[function].name : "code outside the program";
}

/* "36 % ± 8": never without doubt. */
static void append_share(struct sprof_str *text, const struct why_share *share)
{
    const int half = percent(share->half);
    sprof_str_appendf(text, "%d %% ± %d", percent(share->share), half > 1 ? half : 1);
}

static void append_time(struct sprof_str *text, double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    size_t unit = 0;
    while (unit < 3 && ns < units[unit].ns)
        unit++;
    const double value = ns / units[unit].ns;
    sprof_str_appendf(text, "%.*f %s",
                      value < 9.995   ? 2
                      : value < 99.95 ? 1
                                      : 0,
                      value, units[unit].unit);
}

static void append_thread(struct sprof_str *text, const struct why_table *table, uint32_t thread)
{
    const struct why_thread *of = &table->threads.items[thread];
    sprof_str_appendf(text, "%s/%d", of->name, (int)of->tid);
}

/* == The first line == */

static void append_many(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    const struct why_many *many = &verdict->many;
    sprof_str_appendf(text, "%s calls %s %s%s times%s (", name_of(table, many->caller),
                      name_of(table, many->callee), verdict->slow.of ? "some " : "",
                      sprof_digits_of((uint64_t)(many->each + 0.5)).text,
                      verdict->slow.of ? "" : " in each of its own calls");
    append_time(text, many->mean_ns);
    sprof_str_append(text, " each)");
    if (many->callee != verdict->function)
        sprof_str_appendf(text, "; %s", name_of(table, verdict->function));
}

static void append_what(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    if (verdict->many.caller)
        append_many(text, table, verdict);
    else
        sprof_str_append(text, name_of(table, verdict->function));
    if (!verdict->many.caller || verdict->many.callee != verdict->function)
        sprof_str_appendf(text, " %s", why_cause_text(verdict->cause));
    if (verdict->entry)
        sprof_str_appendf(text, " in %s", table->functions.items[verdict->entry].name);
    if (verdict->cause == WHY_LOCK && verdict->holder.function) {
        sprof_str_appendf(text, ": the lock is held by %s",
                          table->functions.items[verdict->holder.function].name);
        sprof_str_append(text, verdict->holder.has_thread ? " of thread " : " of several threads");
        if (verdict->holder.has_thread)
            append_thread(text, table, verdict->holder.thread);
    } else if (verdict->cause == WHY_LOCK)
        sprof_str_append(text, "; no sample shows what holds it");
    if (verdict->in_bursts)
        sprof_str_append(text, ", in bursts");
    if (verdict->only_thread) {
        sprof_str_append(text, ", only in thread ");
        append_thread(text, table, verdict->thread);
        sprof_str_appendf(text, " of %zu alike", verdict->threads_alike);
    }
}

/* Expressions for one name are shown as that. */
static void append_slow_of(struct sprof_str *text, const char *of)
{
    const size_t begins = *of == '^', length = strlen(of + begins);
    const bool ends = length && of[begins + length - 1] == '$';
    sprof_str_appendf(text, "%.*s", (int)(length - ends), of + begins);
}

static void append_when(struct sprof_str *text, const struct why_slow *slow)
{
    if (slow->name)
        sprof_str_appendf(text, ", when %s %s %s", slow->name, slow->is_least ? "≥" : "=",
                          slow->value);
}

/* What stands before and behind the words for all time, where slow calls are judged. */
static void append_slow_begin(struct sprof_str *text, const struct why_verdict *verdict)
{
    if (!verdict->slow.of)
        return;
    sprof_str_append(text, "Slow calls of ");
    append_slow_of(text, verdict->slow.of);
    sprof_str_append(text, verdict->answer == WHY_FUNCTION ? " are slow because " : ": ");
}

static void append_no_slow(struct sprof_str *text, const struct why_slow *slow)
{
    sprof_str_append(text, "No calls of ");
    append_slow_of(text, slow->of);
    sprof_str_appendf(text, " are slow: of %s, half take at most ",
                      sprof_digits_of(slow->calls).text);
    append_time(text, slow->usual_ns);
    sprof_str_append(text, ", the longest takes ");
    append_time(text, (double)slow->longest_ns);
}

static void append_few_calls(struct sprof_str *text, const struct why_slow *slow)
{
    sprof_str_append(text, "Too few calls of ");
    append_slow_of(text, slow->of);
    sprof_str_appendf(text, " to compare: %s", sprof_digits_of(slow->calls).text);
}

static void append_flat(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    sprof_str_append(text, "No single function: ");
    if (verdict->below)
        sprof_str_appendf(text, "%d %% is spread below %s, the largest there has ",
                          percent(verdict->below_share), name_of(table, verdict->below));
    else
        sprof_str_append(text, "the largest has ");
    append_share(text, &verdict->share);
    sprof_str_appendf(text, " (%s)", name_of(table, verdict->function));
}

static void append_idle(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    const double idle = verdict->all_ns ? (double)verdict->idle_ns / (double)verdict->all_ns : 1;
    sprof_str_appendf(text, "Nothing: its threads are idle for %d %% of their time", percent(idle));
    if (!verdict->idle_ns)
        return;
    sprof_str_appendf(text, "; %s %s", name_of(table, verdict->function),
                      why_cause_text(verdict->cause));
    if (verdict->entry)
        sprof_str_appendf(text, " in %s", table->functions.items[verdict->entry].name);
}

int why_headline(struct sprof_str *text, const struct why_table *table,
                 const struct why_verdict *verdict)
{
    if (verdict->answer != WHY_NO_SLOW && verdict->answer != WHY_FEW_CALLS)
        append_slow_begin(text, verdict);
    switch (verdict->answer) {
    case WHY_NO_SLOW: append_no_slow(text, &verdict->slow); break;
    case WHY_FEW_CALLS: append_few_calls(text, &verdict->slow); break;
    case WHY_NOTHING_SEEN: sprof_str_append(text, "Nothing was seen: no sample was taken"); break;
    case WHY_IDLE: append_idle(text, table, verdict); break;
    case WHY_STARVED:
        sprof_str_appendf(text, "It has no CPU for %d %% of the time in which it wants one",
                          percent(verdict->ready_share));
        break;
    case WHY_TOO_FEW:
        sprof_str_append(text, "Too few samples to name a function: ");
        sprof_str_appendf(text, "the largest has ");
        append_share(text, &verdict->share);
        sprof_str_appendf(text, " (%s)", name_of(table, verdict->function));
        break;
    case WHY_FLAT: append_flat(text, table, verdict); break;
    case WHY_UNSEEN:
        sprof_str_appendf(text,
                          "It waits, or has no CPU, for %d %% of the time, which this recording "
                          "does not hold: look by `sprof why` or `sprof record --off-cpu`, as root",
                          percent(verdict->unseen));
        break;
    case WHY_FUNCTION: append_what(text, table, verdict); break;
    }
    if (verdict->answer == WHY_FUNCTION || verdict->answer == WHY_FLAT)
        append_when(text, &verdict->slow);
    return text->failed ? SPROF_ENOMEM : 0;
}

/* == Evidence == */

/* The command that has a row with what the function does. */
static void append_command(struct sprof_str *command, const struct why_table *table,
                           const char *recording, uint32_t function)
{
    sprof_str_appendf(command, "sprof report -i %s%s", recording,
                      table->sight == WHY_SEES_STATES ? " --event wall" : "");
    if (table->system_module)
        sprof_str_appendf(command, " --system-module %s", table->system_module);
    const bool is_inlined = function && table->functions.items[function].is_inlined;
    sprof_str_appendf(command, " --mode app --no-std%s --by function,wait",
                      is_inlined ? "" : " --no-inline");
}

static int put_main_evidence(const struct why_table *table, const struct why_verdict *verdict,
                             const char *recording, int (*put)(void *, const char *, const char *),
                             void *context)
{
    struct sprof_str what = {0}, command = {0};
    append_time(&what, (double)verdict->word_ns);
    sprof_str_appendf(&what, " of %s, %s",
                      verdict->function ? name_of(table, verdict->function)
                                        : table->functions.items[0].name,
                      table->words.items[verdict->word]);
    append_command(&command, table, recording, verdict->function);
    const int result =
        what.failed || command.failed ? SPROF_ENOMEM : put(context, what.text, command.text);
    sprof_str_release(&what);
    sprof_str_release(&command);
    return result;
}

static int put_note(const struct why_table *table, const struct why_verdict *verdict,
                    int (*put)(void *, const char *, const char *), void *context)
{
    struct sprof_str what = {0};
    if (verdict->holder.function) {
        const char *holder = table->functions.items[verdict->holder.function].name;
        sprof_str_appendf(&what, "while %s waits, %s is on ", name_of(table, verdict->function),
                          holder);
        if (verdict->holder.has_thread) {
            sprof_str_append(&what, "the stack of thread ");
            append_thread(&what, table, verdict->holder.thread);
        } else
            sprof_str_append(&what, "another thread's stack");
        sprof_str_appendf(&what, " in %d %% of %zu looks, else in %d %%",
                          percent(verdict->holder.waiting), verdict->holder.looks,
                          percent(verdict->holder.else_));
    } else if (verdict->in_bursts)
        sprof_str_appendf(&what, "its share differs over time by more than chance: %d to %d %%",
                          percent(verdict->share.share > verdict->share.half
                                      ? verdict->share.share - verdict->share.half
                                      : 0),
                          percent(verdict->share.share + verdict->share.half));
    else if (verdict->thread_share.share > 0) {
        append_share(&what, &verdict->thread_share);
        sprof_str_append(&what, " of what thread ");
        append_thread(&what, table, verdict->thread);
        sprof_str_appendf(&what, " does, %.1f %% of what the %zu others do",
                          verdict->alike_share * 100, verdict->threads_alike - 1);
    }
    const int result = what.failed ? SPROF_ENOMEM : what.text ? put(context, what.text, NULL) : 0;
    sprof_str_release(&what);
    return result;
}

static int put_counts(const struct why_table *table, const struct why_verdict *verdict,
                      const char *counts, int (*put)(void *, const char *, const char *),
                      void *context)
{
    struct sprof_str what = {0}, command = {0};
    sprof_str_appendf(&what, "calls of %s, and by what", name_of(table, verdict->function));
    sprof_str_appendf(&command, "sprof report -i %s --edges", counts);
    const int result =
        what.failed || command.failed ? SPROF_ENOMEM : put(context, what.text, command.text);
    sprof_str_release(&what);
    sprof_str_release(&command);
    return result;
}

static int put_slow(const struct why_verdict *verdict, const char *calls,
                    int (*put)(void *, const char *, const char *), void *context)
{
    const struct why_slow *slow = &verdict->slow;
    struct sprof_str what = {0}, command = {0};
    if (slow->name)
        sprof_str_appendf(&what, "%s %s %s in %d %% of the slow calls, in %d %% of the others",
                          slow->name, slow->is_least ? "≥" : "=", slow->value,
                          percent(slow->value_slow), percent(slow->value_usual));
    else
        sprof_str_append(&what, "the slow calls, and what called them");
    sprof_str_appendf(&command, "sprof report -i %s --kept --sort duration", calls);
    const int result =
        what.failed || command.failed ? SPROF_ENOMEM : put(context, what.text, command.text);
    sprof_str_release(&what);
    sprof_str_release(&command);
    return result;
}

/* What slow calls spend all their time on: both recordings together show it. */
static int put_slow_time(const struct why_table *table, const struct why_verdict *verdict,
                         const struct why_circumstances *circumstances,
                         int (*put)(void *, const char *, const char *), void *context)
{
    struct sprof_str command = {0};
    sprof_str_appendf(&command, "sprof merge -o slow.db %s %s && ", circumstances->calls,
                      circumstances->recording);
    append_command(&command, table, "slow.db", verdict->function);
    sprof_str_appendf(&command, " --during-calls-of '%s,over %lluus'", verdict->slow.of,
                      (unsigned long long)(verdict->slow.shortest_ns / 1000));
    const int result =
        command.failed ? SPROF_ENOMEM : put(context, "all time in slow calls", command.text);
    sprof_str_release(&command);
    return result;
}

int why_each_evidence(const struct why_table *table, const struct why_verdict *verdict,
                      const struct why_circumstances *circumstances,
                      int (*put)(void *context, const char *what, const char *command),
                      void *context)
{
    const bool has_function = verdict->answer == WHY_FUNCTION;
    const char *recording = circumstances->recording, *counts = circumstances->counts;
    int result = 0;
    if (verdict->answer == WHY_NOTHING_SEEN)
        return 0;
    if (verdict->slow.of && circumstances->calls)
        result = put_slow(verdict, circumstances->calls, put, context);
    const bool is_slow = verdict->slow.of && circumstances->calls;
    if (is_slow && verdict->slow.slow && recording && !result && !strchr(verdict->slow.of, '\''))
        result = put_slow_time(table, verdict, circumstances, put, context);
    else if (has_function && recording && !result)
        result = put_main_evidence(table, verdict, recording, put, context);
    if (has_function && !result)
        result = put_note(table, verdict, put, context);
    if (verdict->rate.per_second > 0 && counts && !result)
        result = put_counts(table, verdict, counts, put, context);
    if (!has_function && !is_slow && recording && !result) {
        struct sprof_str command = {0};
        append_command(&command, table, recording, verdict->function);
        result =
            command.failed ? SPROF_ENOMEM : put(context, "time by function and wait", command.text);
        sprof_str_release(&command);
    }
    return result;
}

static int append_evidence(void *context, const char *what, const char *command)
{
    struct sprof_str *text = context;
    sprof_str_appendf(text, "\n    %s", what);
    if (command)
        sprof_str_appendf(text, ": %s", command);
    return text->failed ? SPROF_ENOMEM : 0;
}

/* == The lines below == */

/* "84 % ± 11 of the excess: 9 of 18 001 calls take 193 ms instead of 180 ns". */
static void append_how_slow(struct sprof_str *text, const struct why_verdict *verdict)
{
    const struct why_slow *slow = &verdict->slow;
    sprof_str_append(text, "\n  ");
    if (verdict->answer == WHY_FUNCTION) {
        append_share(text, &verdict->share);
        sprof_str_append(text, verdict->many.is_pair ? ", both together, of the excess: "
                                                     : " of the excess: ");
    }
    sprof_str_appendf(text, "%s of ", sprof_digits_of(slow->slow).text);
    sprof_str_appendf(text, "%s calls take ", sprof_digits_of(slow->calls).text);
    append_time(text, slow->slow_ns);
    sprof_str_append(text, " instead of ");
    append_time(text, slow->usual_ns);
    if (verdict->ready_ns)
        sprof_str_append(text, ", without time in which they had no CPU");
}

static void append_how_much(struct sprof_str *text, const struct why_table *table,
                            const struct why_verdict *verdict)
{
    if (verdict->slow.of) {
        append_how_slow(text, verdict);
        return;
    }
    const double seconds = table->duration_ns ? (double)table->duration_ns / 1e9 : 1;
    if (verdict->answer == WHY_FUNCTION) {
        sprof_str_append(text, "\n  ");
        append_share(text, &verdict->share);
        sprof_str_append(text, verdict->many.is_pair ? ", both together, of the " : " of the ");
    } else
        sprof_str_append(text, "\n  of ");
    append_time(text, (double)verdict->useful_ns / seconds);
    sprof_str_append(text, table->sight == WHY_SEES_CPU
                               ? " that its threads work each second"
                               : " that its threads work or wait within work each second");
}

static void append_way(struct sprof_str *text, const struct why_table *table,
                       const struct why_verdict *verdict)
{
    const size_t count = verdict->way.count;
    if (count < 2 && !verdict->callers[0])
        return;
    sprof_str_append(text, "\n  ");
    if (verdict->rate.per_second > 0) {
        sprof_str_appendf(text, "called %s times a second, ",
                          sprof_digits_of((uint64_t)(verdict->rate.per_second + 0.5)).text);
        if (verdict->rate.by)
            sprof_str_appendf(text, "%d %% by %s, ", percent(verdict->rate.by_share),
                              name_of(table, verdict->rate.by));
        append_time(text, verdict->rate.mean_ns);
        sprof_str_append(text, " each; ");
    } else if (verdict->callers[0]) {
        sprof_str_append(text, "called by ");
        for (size_t i = 0; i < WHY_CALLERS && verdict->callers[i]; i++)
            sprof_str_appendf(text, "%s%s", i ? ", " : "", name_of(table, verdict->callers[i]));
        sprof_str_append(text, "; ");
    }
    sprof_str_append(text, "way: ");
    for (size_t i = 0; i < count; i++) {
        if (count > WAY_ENDS + WAY_HEAD && i == WAY_HEAD) {
            sprof_str_append(text, " → …");
            i = count - WAY_ENDS;
        }
        sprof_str_appendf(text, "%s%s", i ? " → " : "", name_of(table, verdict->way.items[i]));
    }
}

static void append_machine(struct sprof_str *text, const struct why_verdict *verdict,
                           const struct why_circumstances *circumstances)
{
    if (verdict->ready_share <= much_ready)
        return;
    sprof_str_append(text, "\n  machine: ");
    if (verdict->answer == WHY_STARVED)
        sprof_str_append(text, "other threads use the processors");
    else
        sprof_str_appendf(text, "it has no CPU for %d %% of the time in which it wants one",
                          percent(verdict->ready_share));
    if (circumstances->load >= 0)
        sprof_str_appendf(text, " (load %.0f on %u)", circumstances->load, circumstances->cpus);
}

static void append_ruled_out(struct sprof_str *text, const struct why_table *table,
                             const struct why_verdict *verdict)
{
    bool any = false;
    for (size_t i = 0; i < sizeof ruled / sizeof *ruled; i++) {
        const double share = verdict->causes[ruled[i].cause];
        const bool is_it = verdict->answer == WHY_FUNCTION && ruled[i].cause == verdict->cause;
        if (share >= ruled_out || is_it || (ruled[i].needs_waits && table->sight == WHY_SEES_CPU))
            continue;
        sprof_str_appendf(text, "%s%s %d %%", any ? " · " : "\n  ruled out: ", ruled[i].name,
                          percent(share));
        any = true;
    }
}

static void append_next(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    for (size_t i = 0; i < verdict->next_count; i++) {
        const struct why_candidate *next = &verdict->next[i];
        if (next->share < 0.01 && i)
            break;
        sprof_str_appendf(text, "%s%s (%s) %d %%",
                          i ? " · " : "\n  next: ", name_of(table, next->function),
                          next->cause == WHY_COMPUTES ? "cpu" : why_cause_word(next->cause),
                          percent(next->share));
    }
}

static void append_certainty(struct sprof_str *text, const struct why_table *table,
                             const struct why_verdict *verdict,
                             const struct why_circumstances *circumstances)
{
    sprof_str_append(text, "\n  ");
    switch (verdict->answer) {
    case WHY_FUNCTION:
        sprof_str_append(text, why_certainty_text(verdict->certainty));
        if (verdict->certainty == WHY_ONE_OF_TWO && verdict->next_count)
            sprof_str_appendf(text, ": the other is %s", name_of(table, verdict->next[0].function));
        break;
    case WHY_FLAT:
        sprof_str_appendf(text, "sure: no function has more than %d %% (95 %%)",
                          percent(verdict->share.share + verdict->share.half));
        break;
    case WHY_TOO_FEW:
        if (circumstances->has_ended)
            sprof_str_appendf(text, "it ended too early: %.0f samples of work, some 300 are needed",
                              verdict->useful_samples);
        else
            sprof_str_appendf(text, "look longer: --seconds %llu",
                              (unsigned long long)(verdict->look_ns / 1000000000));
        break;
    default: sprof_str_append(text, "sure"); break;
    }
    sprof_str_appendf(text, " · %s samples' worth of useful time",
                      sprof_digits_of((uint64_t)(verdict->useful_samples + 0.5)).text);
    if (circumstances->took_s > 0)
        sprof_str_appendf(text, " · %.1f s", circumstances->took_s);
    if (circumstances->stopped_ns) {
        sprof_str_append(text, " · threads stood still for ");
        append_time(text, (double)circumstances->stopped_ns);
        sprof_str_append(text, " at most");
    }
}

static void append_notes(struct sprof_str *text, const struct why_table *table,
                         const struct why_circumstances *circumstances)
{
    if (table->sight == WHY_SEES_CPU)
        sprof_str_append(text, "\n  not known: what threads wait for, and whether they lack a CPU");
    else if (table->sight == WHY_SEES_WALL)
        sprof_str_append(text,
                         "\n  not known: whether threads lack a CPU; waits are found by names "
                         "of functions alone");
    if (table->sight != WHY_SEES_STATES && circumstances->unseen)
        sprof_str_appendf(text, " (%s)", circumstances->unseen);
    if (circumstances->uncounted)
        sprof_str_appendf(text, "\n  not known: how often it is called (%s)",
                          circumstances->uncounted);
    if (table->interpreter) {
        sprof_str_appendf(text,
                          "\n  note: %s is an interpreter, and functions of its script have no "
                          "names here",
                          table->interpreter);
        if (table->interpreter_cure)
            sprof_str_appendf(text, ": start it with %s", table->interpreter_cure);
    }
}

static void append_calls_end(struct sprof_str *text, const struct why_verdict *verdict,
                             const struct why_circumstances *circumstances)
{
    if (verdict->answer == WHY_FEW_CALLS)
        sprof_str_append(text, circumstances->has_ended ? "\n  it ended too early"
                                                        : "\n  look longer: --seconds 60");
    else if (!verdict->slow.over_ns)
        sprof_str_append(text, "\n  slow calls of these begin at three times the median; name a "
                               "limit of your own behind a comma: ,over 5ms");
    if (circumstances->calls)
        sprof_str_appendf(text, "\n  evidence:\n    its calls: sprof report -i %s",
                          circumstances->calls);
    if (circumstances->took_s > 0)
        sprof_str_appendf(text, "\n  %.1f s", circumstances->took_s);
}

int why_text(struct sprof_str *text, const struct why_table *table,
             const struct why_verdict *verdict, const struct why_circumstances *circumstances)
{
    sprof_str_append(text, "▶ ");
    int result = why_headline(text, table, verdict);
    if (verdict->answer == WHY_NO_SLOW || verdict->answer == WHY_FEW_CALLS)
        append_calls_end(text, verdict, circumstances);
    else if (verdict->answer != WHY_NOTHING_SEEN && !result) {
        append_how_much(text, table, verdict);
        append_way(text, table, verdict);
        append_machine(text, verdict, circumstances);
        sprof_str_append(text, "\n  evidence:");
        result = why_each_evidence(table, verdict, circumstances, append_evidence, text);
        append_ruled_out(text, table, verdict);
        append_next(text, table, verdict);
        append_certainty(text, table, verdict, circumstances);
        append_notes(text, table, circumstances);
    }
    sprof_str_append(text, "\n");
    return result ? result : text->failed ? SPROF_ENOMEM : 0;
}

const char *why_certainty_text(enum why_certainty certainty)
{
    return certainty == WHY_SURE ? "sure" : certainty == WHY_LIKELY ? "likely" : "one of two";
}

const char *why_answer_word(enum why_answer answer)
{
    static const char *const words[] = {
        [WHY_NOTHING_SEEN] = "nothing",
        [WHY_IDLE] = "idle",
        [WHY_STARVED] = "starved",
        [WHY_TOO_FEW] = "too-few",
        [WHY_FLAT] = "flat",
        [WHY_FUNCTION] = "function",
        [WHY_FEW_CALLS] = "few-calls",
        [WHY_NO_SLOW] = "no-slow-calls",
        [WHY_UNSEEN] = "unseen",
    };
    return words[answer];
}
