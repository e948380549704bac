/* Lists what an answer follows from, with the commands that print it. */
#include "why/parts.h"

#include <string.h>

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
    why_append_time(&what, (double)verdict->word_ns);
    sprof_str_appendf(&what, " of %s, %s",
                      verdict->function ? why_name_of(table, verdict->function)
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
        sprof_str_appendf(&what, "while %s waits, %s is on ", why_name_of(table, verdict->function),
                          holder);
        if (verdict->holder.has_thread) {
            sprof_str_append(&what, "the stack of thread ");
            why_append_thread(&what, table, verdict->holder.thread);
        } else
            sprof_str_append(&what, "another thread's stack");
        sprof_str_appendf(&what, " in %d %% of %zu looks, else in %d %%",
                          why_percent(verdict->holder.waiting), verdict->holder.looks,
                          why_percent(verdict->holder.else_));
    } else if (verdict->in_bursts)
        sprof_str_appendf(&what, "its share differs over time by more than chance: %d to %d %%",
                          why_percent(verdict->share.share > verdict->share.half
                                          ? verdict->share.share - verdict->share.half
                                          : 0),
                          why_percent(verdict->share.share + verdict->share.half));
    else if (verdict->thread_share.share > 0) {
        why_append_share(&what, &verdict->thread_share);
        sprof_str_append(&what, " of what thread ");
        why_append_thread(&what, table, verdict->thread);
        sprof_str_appendf(&what, " does, %.1f %% of what the %zu others do",
                          verdict->alike_share * 100, verdict->threads_alike - 1);
    }
    const int result = what.failed ? SPROF_ENOMEM : what.text ? put(context, what.text, NULL) : 0;
    sprof_str_release(&what);
    return result;
}

/* Which lock it is, where it has a name. */
static int put_lock(const struct why_verdict *verdict, const char *recording,
                    int (*put)(void *, const char *, const char *), void *context)
{
    struct sprof_str what = {0}, command = {0};
    sprof_str_appendf(&what, "for %d %% of that, the lock %s", why_percent(verdict->lock_share),
                      verdict->lock);
    sprof_str_appendf(&command, "sprof report -i %s --event off-cpu --by lock,holder", recording);
    const int result =
        what.failed || command.failed ? SPROF_ENOMEM : put(context, what.text, command.text);
    sprof_str_release(&what);
    sprof_str_release(&command);
    return result;
}

static int put_counts(const struct why_table *table, const struct why_verdict *verdict,
                      const char *counts, int (*put)(void *, const char *, const char *),
                      void *context)
{
    struct sprof_str what = {0}, command = {0};
    sprof_str_appendf(&what, "calls of %s, and by what", why_name_of(table, verdict->function));
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
                          why_percent(slow->value_slow), why_percent(slow->value_usual));
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
    if (has_function && verdict->lock && verdict->cause == WHY_LOCK && recording && !result)
        result = put_lock(verdict, recording, put, context);
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
