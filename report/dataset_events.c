/* Chooses which event of a recording a dataset holds, or which several are read as one. */
#include "report/dataset_parts.h"

#include "report/error_text.h"
#include "report/utf8_text.h"

#include <fnmatch.h>
#include <string.h>

static int take_event(void *context, const struct store_event *row)
{
    struct report_dataset *dataset = context;
    struct store_event event = *row;
    event.name = report_utf8_copy(&dataset->arena, event.name ? event.name : "?");
    return event.name ? sprof_vec_push(&dataset->events, event) : SPROF_ENOMEM;
}

/* == States == */

static bool run_has_waits(const struct report_dataset *dataset, uint32_t run)
{
    for (size_t i = 0; i < dataset->events.count; i++)
        if (dataset->events.items[i].run_id == run &&
            model_event_wait(dataset->events.items[i].name))
            return true;
    return false;
}

static bool is_idle(const struct store_event *event)
{
    return event->name && !strcmp(event->name, MODEL_EVENT_IDLE); /* NULL: no event */
}

static const char unknown[] = "unknown", running[] = "running", waiting[] = "waiting";

const char *report_event_state(const struct store_event *event)
{
    const char *wait = model_event_wait(event->name);
    if (wait)
        return strcmp(wait, MODEL_WAIT_READY) ? waiting : MODEL_WAIT_READY;
    if (is_idle(event))
        return MODEL_EVENT_IDLE;
    const bool is_other =
        !strcmp(event->name, MODEL_EVENT_WALL) || !strcmp(event->name, MODEL_EVENT_WAKEUP);
    return event->unit == STORE_UNIT_SAMPLE && !is_other ? running : unknown;
}

const char *report_event_wait(const struct store_event *event)
{
    const char *wait = model_event_wait(event->name);
    return wait ? wait : report_event_state(event);
}

static bool is_in_state(const struct store_event *event, const char *state)
{
    return !state || !strcmp(report_event_state(event), state) ||
           !strcmp(report_event_wait(event), state);
}

/* What is there to choose from. */
static int no_such_state(const struct report_dataset *dataset, const char *wanted,
                         struct sprof_error *error)
{
    struct sprof_str text = {0}, words = {0};
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        const char *const known[] = {report_event_state(event), report_event_wait(event)};
        for (size_t w = 0; w < 2; w++)
            if (!words.text || !strstr(words.text, known[w]))
                sprof_str_appendf(&words, "%s%s", words.length ? ", " : "", known[w]);
    }
    sprof_str_appendf(&text, "no time in state '%.200s' was recorded; there is %.600s", wanted,
                      words.text ? words.text : "none");
    if (!run_has_waits(dataset, dataset->run.id))
        sprof_str_append(&text, "\n`sprof record --off-cpu` measures waits");
    sprof_str_release(&words);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

/* == Sums == */

/* The clock of CPU time of a run, to which waits are added; 0: it has none of all CPU time. */
static uint32_t cpu_clock_of(const struct report_dataset *dataset, uint32_t run)
{
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        if (event->run_id == run && event->is_clock && event->unit == STORE_UNIT_SAMPLE &&
            !model_event_wait(event->name) && strcmp(event->name, MODEL_EVENT_WALL) != 0 &&
            !is_idle(event) && !model_event_of_one_mode(event->name))
            return event->id;
    }
    return 0;
}

/* Whether an event is part of a sum. All the time of threads is that of the wall clock, too. */
static bool is_part(const struct report_dataset *dataset, enum report_event_sum sum,
                    const struct store_event *event)
{
    const bool is_wait = model_event_wait(event->name);
    if (sum == REPORT_OFF_CPU)
        return is_wait;
    if (!strcmp(event->name, MODEL_EVENT_WALL))
        return true;
    const uint32_t clock = cpu_clock_of(dataset, event->run_id);
    return clock && run_has_waits(dataset, event->run_id) && (is_wait || event->id == clock);
}

bool report_dataset_is_time(const struct report_dataset *dataset, const struct store_event *event)
{
    return is_part(dataset, REPORT_OFF_CPU, event) || is_part(dataset, REPORT_ON_AND_OFF, event);
}

static enum report_event_sum sum_called(const char *name)
{
    return !strcmp(name, MODEL_EVENT_OFF_CPU) ? REPORT_OFF_CPU
           : !strcmp(name, MODEL_EVENT_ON_AND_OFF) || !strcmp(name, MODEL_EVENT_WALL)
               ? REPORT_ON_AND_OFF
               : REPORT_ONE_EVENT;
}

bool report_dataset_is_by_looks(const struct report_dataset *dataset)
{
    const char *source = dataset->run.source;
    return source && strstr(source, MODEL_SOURCE_LOOKS) && run_has_waits(dataset, dataset->run.id);
}

/* Makes `event` that of a sum, where a selected run has a part of it. Where waits were sampled by a
 * clock, the period is that of all parts. */
static void choose_sum(struct report_dataset *dataset, enum report_event_sum sum)
{
    for (size_t i = 0; i < dataset->events.count; i++)
        if (is_part(dataset, sum, &dataset->events.items[i]) &&
            dataset->event.run_id != dataset->run.id)
            dataset->event = dataset->events.items[i];
    if (!dataset->event.id || !strcmp(dataset->event.name, MODEL_EVENT_WALL))
        return;
    dataset->event.name = sum == REPORT_OFF_CPU ? MODEL_EVENT_OFF_CPU : MODEL_EVENT_ON_AND_OFF;
    dataset->event.is_clock = dataset->event.varying = true;
    if (!report_dataset_is_by_looks(dataset))
        dataset->event.period = 0;
    dataset->event_sum = sum;
}

/* Whether a run has time of threads with and without a CPU. */
static bool has_all_time(const struct report_dataset *dataset, uint32_t run)
{
    return run_has_waits(dataset, run) && cpu_clock_of(dataset, run);
}

/* Whether all events are time of threads, with and without a CPU. */
static bool are_parts(const struct report_dataset *dataset)
{
    bool are = run_has_waits(dataset, dataset->run.id);
    for (size_t i = 0; i < dataset->events.count && are; i++)
        are = !strcmp(dataset->events.items[i].name, MODEL_EVENT_WAKEUP) ||
              is_idle(&dataset->events.items[i]) ||
              is_part(dataset, REPORT_ON_AND_OFF, &dataset->events.items[i]);
    return are;
}

/* == The choice == */

/* The first event of the newest run decides, or of those asked for that of the newest run that has
 * one. */
static void choose_event(struct report_dataset *dataset, const char *wanted)
{
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        const bool fits =
            wanted ? !fnmatch(wanted, event->name, 0) : event->run_id == dataset->run.id;
        if (fits && dataset->event.run_id != dataset->run.id)
            dataset->event = *event;
    }
    if (wanted && !dataset->event.id && sum_called(wanted))
        choose_sum(dataset, sum_called(wanted));
}

/* The other runs take part with theirs of the same name. What CPUs were idle is beside time in
 * which they were not. */
static bool is_taken(const struct report_dataset *dataset, const struct store_event *event,
                     bool with_idle)
{
    if (is_idle(event) && !is_idle(&dataset->event))
        return with_idle && (dataset->all_events ||
                             (dataset->event.is_clock && !model_event_wait(dataset->event.name)));
    return dataset->all_events ||
           (dataset->event.id && (dataset->event_sum ? is_part(dataset, dataset->event_sum, event)
                                                     : !strcmp(event->name, dataset->event.name)));
}

/* What is asked for; NULL: the first event. Of a state, it is all time in it; where waits were
 * sampled by a clock, all time. */
static const char *event_of(const struct report_dataset *dataset,
                            const struct report_selection *selection)
{
    if (selection->event)
        return selection->event;
    if (selection->state && run_has_waits(dataset, dataset->run.id))
        return strcmp(selection->state, running) ? MODEL_EVENT_OFF_CPU : NULL;
    const bool is_sum =
        selection->all_events ? !dataset->all_events : report_dataset_is_by_looks(dataset);
    return is_sum ? MODEL_EVENT_ON_AND_OFF : NULL;
}

static int no_such_event(const struct report_dataset *dataset, const char *wanted,
                         struct sprof_error *error)
{
    struct sprof_str names = {0}, text = {0};
    bool has_waits = false;
    for (size_t i = 0; i < dataset->events.count; i++) {
        const char *name = dataset->events.items[i].name;
        has_waits = has_waits || model_event_wait(name);
        if (!names.text || !strstr(names.text, name))
            sprof_str_appendf(&names, "%s%s", names.length ? ", " : "", name);
    }
    if (dataset->runs.count > 1)
        sprof_str_append(&text, "these runs have");
    else
        sprof_str_appendf(&text, "run %u has", dataset->run.id);
    sprof_str_appendf(&text, " no event '%.200s'; %s %.600s", wanted,
                      dataset->runs.count > 1 ? "they have" : "it has",
                      names.text ? names.text : "none");
    if (has_waits && !sum_called(wanted))
        sprof_str_append(&text,
                         ", and the sums " MODEL_EVENT_OFF_CPU " and " MODEL_EVENT_ON_AND_OFF);
    else if (has_waits)
        sprof_str_append(&text, "\nadd a clock of CPU time: `sprof record --off-cpu -e cpu-clock`");
    else if (sum_called(wanted))
        sprof_str_appendf(&text, "\n%s`sprof record --off-cpu` measures waits",
                          dataset->runs.count < dataset->run_count ? "--run N chooses another run; "
                                                                   : "");
    sprof_str_release(&names);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

int report_dataset_choose_events(struct report_loading *loading,
                                 const struct report_selection *selection,
                                 struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++)
        result =
            store_each_event(loading->store, dataset->runs.items[i].id, take_event, dataset, error);
    dataset->all_events = selection->all_events && !are_parts(dataset) &&
                          !(selection->only_time && has_all_time(dataset, dataset->run.id));
    const char *wanted = event_of(dataset, selection);
    if (!result && !selection->event && report_dataset_asks_fields(dataset))
        result = report_dataset_event_of_field(loading, &wanted, error);
    if (!result)
        choose_event(dataset, wanted);
    for (size_t i = 0; i < dataset->events.count && !result; i++)
        if (is_taken(dataset, &dataset->events.items[i], selection->with_idle) &&
            is_in_state(&dataset->events.items[i], selection->state))
            result = report_row_numbers_put(&dataset->numbers.events, dataset->events.items[i].id,
                                            i + 1);
    if (!result && selection->state && !dataset->numbers.events.count)
        result = no_such_state(dataset, selection->state, error);
    if (!result && selection->event && !dataset->event.id)
        result = no_such_event(dataset, selection->event, error);
    return result;
}
