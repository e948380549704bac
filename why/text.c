/* Writes a verdict for people. */
#include "why/parts.h"

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

/* == The first line == */

static void append_many(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    const struct why_many *many = &verdict->many;
    sprof_str_appendf(text, "%s calls %s %s%s times%s (", why_name_of(table, many->caller),
                      why_name_of(table, many->callee), verdict->slow.of ? "some " : "",
                      sprof_digits_of((uint64_t)(many->each + 0.5)).text,
                      verdict->slow.of ? "" : " in each of its own calls");
    why_append_time(text, many->mean_ns);
    sprof_str_append(text, " each)");
    if (many->callee != verdict->function)
        sprof_str_appendf(text, "; %s", why_name_of(table, verdict->function));
}

static void append_what(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    if (verdict->many.caller)
        append_many(text, table, verdict);
    else
        sprof_str_append(text, why_name_of(table, verdict->function));
    if (!verdict->many.caller || verdict->many.callee != verdict->function)
        sprof_str_appendf(text, " %s", why_cause_text(verdict->cause));
    if (verdict->entry)
        sprof_str_appendf(text, " in %s", table->functions.items[verdict->entry].name);
    if (verdict->cause == WHY_LOCK && verdict->holder.function) {
        sprof_str_appendf(text, ": the lock is held by %s",
                          table->functions.items[verdict->holder.function].name);
        sprof_str_append(text, verdict->holder.has_thread ? " of thread " : " of several threads");
        if (verdict->holder.has_thread)
            why_append_thread(text, table, verdict->holder.thread);
    } else if (verdict->cause == WHY_LOCK)
        sprof_str_append(text, "; no sample shows what holds it");
    if (verdict->in_bursts)
        sprof_str_append(text, ", in bursts");
    if (verdict->only_thread) {
        sprof_str_append(text, ", only in thread ");
        why_append_thread(text, table, verdict->thread);
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
    why_append_time(text, slow->usual_ns);
    sprof_str_append(text, ", the longest takes ");
    why_append_time(text, (double)slow->longest_ns);
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
        sprof_str_appendf(text, "%d %% is spread below %s, ", why_percent(verdict->below_share),
                          why_name_of(table, verdict->below));
    sprof_str_append(text, verdict->is_below ? "the largest there has " : "the largest has ");
    why_append_share(text, &verdict->share);
    sprof_str_appendf(text, " (%s)", why_name_of(table, verdict->function));
}

static void append_idle(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    const double idle = verdict->all_ns ? (double)verdict->idle_ns / (double)verdict->all_ns : 1;
    sprof_str_appendf(text, "Nothing: its threads are idle for %d %% of their time",
                      why_percent(idle));
    if (!verdict->idle_ns)
        return;
    sprof_str_appendf(text, "; %s %s", why_name_of(table, verdict->function),
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
                          why_percent(verdict->ready_share));
        break;
    case WHY_TOO_FEW:
        sprof_str_append(text, "Too few samples to name a function: ");
        sprof_str_appendf(text, "the largest has ");
        why_append_share(text, &verdict->share);
        sprof_str_appendf(text, " (%s)", why_name_of(table, verdict->function));
        break;
    case WHY_FLAT: append_flat(text, table, verdict); break;
    case WHY_UNSEEN:
        sprof_str_appendf(text,
                          "It waits, or has no CPU, for %d %% of the time, which this recording "
                          "does not hold: look by `sprof why` or `sprof record --off-cpu`, as root",
                          why_percent(verdict->unseen));
        break;
    case WHY_FUNCTION: append_what(text, table, verdict); break;
    }
    if (verdict->answer == WHY_FUNCTION || verdict->answer == WHY_FLAT)
        append_when(text, &verdict->slow);
    return text->failed ? SPROF_ENOMEM : 0;
}
/* == The lines below == */

static int append_evidence(void *context, const char *what, const char *command)
{
    struct sprof_str *text = context;
    sprof_str_appendf(text, "\n    %s", what);
    if (command)
        sprof_str_appendf(text, ": %s", command);
    return text->failed ? SPROF_ENOMEM : 0;
}

/* "84 % ± 11 of the excess: 9 of 18 001 calls take 193 ms instead of 180 ns". */
static void append_how_slow(struct sprof_str *text, const struct why_verdict *verdict)
{
    const struct why_slow *slow = &verdict->slow;
    sprof_str_append(text, "\n  ");
    if (verdict->answer == WHY_FUNCTION) {
        why_append_share(text, &verdict->share);
        sprof_str_append(text, verdict->many.is_pair ? ", both together, of the excess: "
                                                     : " of the excess: ");
    }
    sprof_str_appendf(text, "%s of ", sprof_digits_of(slow->slow).text);
    sprof_str_appendf(text, "%s calls take ", sprof_digits_of(slow->calls).text);
    why_append_time(text, slow->slow_ns);
    sprof_str_append(text, " instead of ");
    why_append_time(text, slow->usual_ns);
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
    if (!verdict->useful_ns)
        return;
    const double seconds = table->duration_ns ? (double)table->duration_ns / 1e9 : 1;
    if (verdict->answer == WHY_FUNCTION) {
        sprof_str_append(text, "\n  ");
        why_append_share(text, &verdict->share);
        sprof_str_append(text, verdict->many.is_pair ? ", both together, of the " : " of the ");
    } else
        sprof_str_append(text, "\n  of ");
    why_append_time(text, (double)verdict->useful_ns / seconds);
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
        const uint64_t times = (uint64_t)(verdict->rate.per_second + 0.5);
        sprof_str_appendf(text, "called %s time%s a second", sprof_digits_of(times).text,
                          sprof_plural(times));
        if (verdict->rate.by)
            sprof_str_appendf(text, ", %d %% by %s", why_percent(verdict->rate.by_share),
                              why_name_of(table, verdict->rate.by));
        if (verdict->rate.mean_ns > 0) { /* else no call has ended */
            sprof_str_append(text, ", ");
            why_append_time(text, verdict->rate.mean_ns);
            sprof_str_append(text, " each");
        }
        sprof_str_append(text, "; ");
    } else if (verdict->callers[0]) {
        sprof_str_append(text, "called by ");
        for (size_t i = 0; i < WHY_CALLERS && verdict->callers[i]; i++)
            sprof_str_appendf(text, "%s%s", i ? ", " : "", why_name_of(table, verdict->callers[i]));
        sprof_str_append(text, "; ");
    }
    sprof_str_append(text, "way: ");
    for (size_t i = 0; i < count; i++) {
        if (count > WAY_ENDS + WAY_HEAD && i == WAY_HEAD) {
            sprof_str_append(text, " → …");
            i = count - WAY_ENDS;
        }
        sprof_str_appendf(text, "%s%s", i ? " → " : "", why_name_of(table, verdict->way.items[i]));
    }
}

static void append_machine(struct sprof_str *text, const struct why_verdict *verdict,
                           const struct why_circumstances *circumstances)
{
    if (verdict->ready_share <= much_ready || verdict->answer == WHY_IDLE)
        return;
    sprof_str_append(text, "\n  machine: ");
    if (verdict->answer == WHY_STARVED)
        sprof_str_append(text, "other threads use the processors");
    else
        sprof_str_appendf(text, "it has no CPU for %d %% of the time in which it wants one",
                          why_percent(verdict->ready_share));
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
                          why_percent(share));
        any = true;
    }
}

static void append_next(struct sprof_str *text, const struct why_table *table,
                        const struct why_verdict *verdict)
{
    for (size_t i = 0; i < verdict->next_count; i++) {
        const struct why_candidate *next = &verdict->next[i];
        sprof_str_appendf(text, "%s%s (%s) %d %%",
                          i ? " · " : "\n  next: ", why_name_of(table, next->function),
                          next->cause == WHY_COMPUTES ? "cpu" : why_cause_word(next->cause),
                          why_percent(next->share));
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
            sprof_str_appendf(text, ": the other is %s",
                              why_name_of(table, verdict->next[0].function));
        break;
    case WHY_FLAT:
        sprof_str_appendf(text, "sure: no function has more than %d %% (95 %%)",
                          why_percent(verdict->share.share + verdict->share.half));
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
        why_append_time(text, (double)circumstances->stopped_ns);
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

static void append_nothing(struct sprof_str *text, const struct why_circumstances *circumstances)
{
    if (circumstances->has_ended)
        sprof_str_append(text, "\n  it ended too early");
    else if (circumstances->took_s > 0)
        sprof_str_appendf(
            text,
            "\n  none of its threads ran for %.1f s: look while it has work to do, or "
            "longer: --seconds 60",
            circumstances->took_s);
}

int why_text(struct sprof_str *text, const struct why_table *table,
             const struct why_verdict *verdict, const struct why_circumstances *circumstances)
{
    sprof_str_append(text, "▶ ");
    int result = why_headline(text, table, verdict);
    if (verdict->answer == WHY_NO_SLOW || verdict->answer == WHY_FEW_CALLS)
        append_calls_end(text, verdict, circumstances);
    else if (verdict->answer == WHY_NOTHING_SEEN)
        append_nothing(text, circumstances);
    else if (!result) {
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
