/* The answer of `sprof why` for programs. */
#include "cli/why_json.h"

#include "report/report.h"

static void real(struct json *json, const char *key, double value)
{
    char number[48];
    snprintf(number, sizeof number, "%.6g", value);
    report_json_number(json, key, number);
}

static void name(struct json *json, const char *key, const struct why_table *table,
                 uint32_t function)
{
    report_json_text(json, key, function ? table->functions.items[function].name : NULL);
}

static void thread(struct json *json, const char *key, const struct why_table *table,
                   uint32_t index)
{
    const struct why_thread *of = &table->threads.items[index];
    report_json_open_object(json, key);
    report_json_text(json, "name", of->name);
    report_json_count(json, "pid", (uint64_t)of->pid);
    report_json_count(json, "tid", (uint64_t)of->tid);
    report_json_close_object(json);
}

static void holder(struct json *json, const struct why_table *table,
                   const struct why_holder *holder)
{
    if (!holder->function) {
        report_json_null(json, "holder");
        return;
    }
    report_json_open_object(json, "holder");
    name(json, "function", table, holder->function);
    if (holder->has_thread)
        thread(json, "thread", table, holder->thread);
    real(json, "while_waiting", holder->waiting);
    real(json, "else", holder->else_);
    report_json_count(json, "looks", holder->looks);
    report_json_close_object(json);
}

/* What probes counted of the function, and the caller that calls it, or what calls it, too often.
 */
static void calls(struct json *json, const struct why_table *table,
                  const struct why_verdict *verdict)
{
    if (!(verdict->rate.per_second > 0)) {
        report_json_null(json, "calls");
        return;
    }
    report_json_open_object(json, "calls");
    real(json, "per_second", verdict->rate.per_second);
    real(json, "mean_ns", verdict->rate.mean_ns);
    name(json, "by", table, verdict->rate.by);
    real(json, "by_share", verdict->rate.by_share);
    name(json, "many_by", table, verdict->many.caller);
    name(json, "many_of", table, verdict->many.callee);
    if (verdict->many.caller)
        real(json, "many_each", verdict->many.each);
    report_json_close_object(json);
}

static void function(struct json *json, const struct why_table *table,
                     const struct why_verdict *verdict)
{
    name(json, "function", table, verdict->function);
    report_json_text(json, "cause", why_cause_word(verdict->cause));
    name(json, "in", table, verdict->entry);
    real(json, "share", verdict->share.share);
    real(json, "half_interval", verdict->share.half);
    real(json, "second_share", verdict->second);
    report_json_text(json, "wait", table->words.items[verdict->word]);
    report_json_count(json, "time_ns", verdict->word_ns);
    report_json_text(json, "lock", verdict->lock);
    report_json_bool(json, "in_bursts", verdict->in_bursts);
    holder(json, table, &verdict->holder);
    if (verdict->only_thread)
        thread(json, "only_thread", table, verdict->thread);
    report_json_open_array(json, "callers");
    for (size_t i = 0; i < WHY_CALLERS && verdict->callers[i]; i++)
        name(json, NULL, table, verdict->callers[i]);
    report_json_close_array(json);
    calls(json, table, verdict);
    report_json_text(json, "certainty", why_certainty_text(verdict->certainty));
}

/* Which calls are slow, and with which value. */
static void slow_calls(struct json *json, const struct why_slow *slow)
{
    report_json_open_object(json, "slow");
    report_json_text(json, "of", slow->of);
    report_json_count(json, "calls", slow->calls);
    report_json_count(json, "slow", slow->slow);
    real(json, "usual_ns", slow->usual_ns);
    real(json, "slow_ns", slow->slow_ns);
    report_json_count(json, "longest_ns", slow->longest_ns);
    report_json_text(json, "name", slow->name);
    if (slow->name) {
        report_json_text(json, "condition", slow->is_least ? ">=" : "=");
        report_json_text(json, "value", slow->value);
        real(json, "value_in_slow", slow->value_slow);
        real(json, "value_in_usual", slow->value_usual);
    }
    report_json_close_object(json);
}

static void largest(struct json *json, const struct why_table *table,
                    const struct why_verdict *verdict)
{
    report_json_open_object(json, "largest");
    name(json, "function", table, verdict->function);
    real(json, "share", verdict->share.share);
    real(json, "half_interval", verdict->share.half);
    report_json_close_object(json);
    name(json, "below", table, verdict->below);
    real(json, "below_share", verdict->below_share);
    if (verdict->answer == WHY_TOO_FEW)
        report_json_decimal(json, "look_s", verdict->look_ns, 9);
}

static void shares(struct json *json, const struct why_table *table,
                   const struct why_verdict *verdict)
{
    report_json_open_object(json, "causes");
    for (int cause = 0; cause < WHY_CAUSES; cause++)
        if (cause != WHY_READY && verdict->causes[cause] > 0)
            real(json, why_cause_word((enum why_cause)cause), verdict->causes[cause]);
    report_json_close_object(json);
    report_json_open_array(json, "next");
    for (size_t i = 0; i < verdict->next_count; i++) {
        report_json_open_object(json, NULL);
        name(json, "function", table, verdict->next[i].function);
        report_json_text(json, "cause",
                         verdict->next[i].cause == WHY_COMPUTES
                             ? "cpu"
                             : why_cause_word(verdict->next[i].cause));
        real(json, "share", verdict->next[i].share);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static int put_evidence(void *context, const char *what, const char *command)
{
    struct json *json = context;
    report_json_open_object(json, NULL);
    report_json_text(json, "what", what);
    report_json_text(json, "command", command);
    report_json_close_object(json);
    return 0;
}

static int body(struct json *json, const struct why_table *table, const struct why_verdict *verdict,
                const struct why_circumstances *circumstances)
{
    static const char *const sights[] = {
        [WHY_SEES_STATES] = "states", [WHY_SEES_WALL] = "wall", [WHY_SEES_CPU] = "cpu"};
    struct sprof_str headline = {0};
    int status = why_headline(&headline, table, verdict);
    report_json_text(json, "answer", why_answer_word(verdict->answer));
    report_json_text(json, "headline", headline.text);
    report_json_text(json, "sees", sights[table->sight]);
    report_json_count(json, "useful_ns", verdict->useful_ns);
    report_json_count(json, "idle_ns", verdict->idle_ns);
    report_json_count(json, "ready_ns", verdict->ready_ns);
    real(json, "ready_share", verdict->ready_share);
    real(json, "useful_samples", verdict->useful_samples);
    if (verdict->slow.of)
        slow_calls(json, &verdict->slow);
    if (verdict->answer == WHY_FUNCTION)
        function(json, table, verdict);
    else if (verdict->answer == WHY_FLAT || verdict->answer == WHY_TOO_FEW ||
             verdict->answer == WHY_STARVED)
        largest(json, table, verdict);
    if (circumstances->stopped_ns)
        report_json_count(json, "stopped_ns", circumstances->stopped_ns);
    report_json_open_array(json, "way");
    for (size_t i = 0; i < verdict->way.count; i++)
        name(json, NULL, table, verdict->way.items[i]);
    report_json_close_array(json);
    shares(json, table, verdict);
    report_json_open_array(json, "evidence");
    if (!status)
        status = why_each_evidence(table, verdict, circumstances, put_evidence, json);
    report_json_close_array(json);
    sprof_str_release(&headline);
    return status;
}

int cli_why_json(FILE *out, const struct why_table *table, const struct why_verdict *verdict,
                 const struct why_circumstances *circumstances)
{
    struct json json;
    int status = report_json_begin(&json, out);
    if (!status) {
        report_json_open_object(&json, NULL);
        status = body(&json, table, verdict, circumstances);
        report_json_close_object(&json);
    }
    const int end = report_json_end(&json);
    return status ? status : end;
}
