/* Reads a list of events: names, patterns, modifiers, and rates of their own. */
#include "sampler/perf/event_list.h"

#include "sampler/perf/event_names.h"
#include "sampler/perf/pmu.h"
#include "sampler/perf/tracefs.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* One item of the list, cut into its parts. */
struct item {
    char name[128];     /* "page-faults", "sched:sched_*" */
    bool has_terms;     /* there are slashes, */
    char terms[128];    /* … and this between them: "period=10"; or empty */
    char modifiers[16]; /* "u"; or empty */
};

static int usage(struct sprof_error *error, const char *format, const char *what)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0, format, what);
}

/* == Cutting == */

static bool copy_part(char *part, size_t size, const char *from, size_t length)
{
    return snprintf(part, size, "%.*s", (int)length, from) < (int)size;
}

/* What follows the first colon of an event's own name, or the second of a tracepoint's, are
 * modifiers. */
static size_t name_length(const char *text, size_t length)
{
    const char *first = memchr(text, ':', length);
    if (!first)
        return length;
    char known[sizeof((struct item *)0)->name];
    const size_t before = (size_t)(first - text), after = length - before - 1;
    uint32_t type;
    uint64_t config;
    if (copy_part(known, sizeof known, text, before) &&
        (perf_event_name_find(known) || perf_event_counter_find(known, &type, &config)))
        return before;
    const char *second = memchr(first + 1, ':', after);
    return second ? (size_t)(second - text) : length;
}

/* Cuts the first item off. Returns where the rest begins, or NULL where it cannot be read. */
static const char *cut(const char *text, struct item *item)
{
    *item = (struct item){0};
    const size_t whole = strcspn(text, ",/");
    const size_t length = name_length(text, whole);
    bool fits = copy_part(item->name, sizeof item->name, text, length);
    const char *rest = text + length;
    if (*rest == '/') {
        const char *end = strchr(rest + 1, '/');
        if (!end)
            return NULL;
        item->has_terms = true;
        fits &= copy_part(item->terms, sizeof item->terms, rest + 1, (size_t)(end - rest - 1));
        rest = end + 1;
    }
    rest += *rest == ':';
    const size_t modifiers = strcspn(rest, ",");
    fits &= copy_part(item->modifiers, sizeof item->modifiers, rest, modifiers);
    rest += modifiers;
    return fits ? rest + (*rest == ',') : NULL;
}

/* == Terms and modifiers == */

/* The field that samples weigh is looked for when it is known which tracepoints these are. */
static int read_weight(const char *field, struct perf_event *event, struct sprof_error *error)
{
    if (!perf_event_is_tracepoint(event))
        return usage(error,
                     "`weight=%.60s` is for tracepoints, whose fields are numbers: leave it out",
                     field);
    if (!*field ||
        snprintf(event->weight, sizeof event->weight, "%s", field) >= (int)sizeof event->weight)
        return usage(error, "`%.60s` is no field of a tracepoint", field);
    return 0;
}

/* Terms of a PMU are part of the event's name. */
static int read_pmu_term(const struct item *item, const char *term, struct perf_event *event,
                         struct sprof_error *error)
{
    struct perf_pmu_event raw = {event->type, {event->config, event->config1, event->config2}};
    const size_t used = strlen(event->name);
    const int result = perf_pmu_term(PERF_PMU_ROOT, item->name, term, &raw, error);
    event->config = raw.config[0];
    event->config1 = raw.config[1];
    event->config2 = raw.config[2];
    if (!result && snprintf(event->name + used, sizeof event->name - used, "%s%s", used ? "," : "",
                            term) >= (int)(sizeof event->name - used))
        return usage(error, "`%s` has too many terms", item->name);
    return result;
}

static int read_term(const struct item *item, const char *term, struct perf_event *event,
                     struct sprof_error *error)
{
    const bool is_period = !strncmp(term, "period=", 7), is_rate = !strncmp(term, "freq=", 5);
    if (!strncmp(term, "weight=", 7))
        return read_weight(term + 7, event, error);
    if (event->is_pmu && !is_period && !is_rate)
        return read_pmu_term(item, term, event, error);
    char *end = NULL;
    errno = 0;
    const char *number = term + (is_period ? 7 : 5);
    const unsigned long long value = is_period || is_rate ? strtoull(number, &end, 10) : 0;
    if (!value || !isdigit((unsigned char)*number) || *end || errno)
        return usage(
            error,
            "`%.60s` is no term of an event: write /period=N/ for a sample every N events, "
            "/freq=N/ for N samples a second, or for a tracepoint /weight=FIELD/",
            term);
    *(is_period ? &event->period : &event->frequency_hz) = value;
    return 0;
}

static int read_terms(const struct item *item, struct perf_event *event, struct sprof_error *error)
{
    char terms[sizeof item->terms], *rest = NULL;
    memcpy(terms, item->terms, sizeof terms);
    int result = 0;
    for (char *term = strtok_r(terms, ",", &rest); term && !result;
         term = strtok_r(NULL, ",", &rest))
        result = read_term(item, term, event, error);
    if (!result && event->period && event->frequency_hz)
        return usage(error, "`%s` has a period and a frequency, which exclude each other: give one",
                     item->name);
    return result;
}

bool perf_event_is_tracepoint(const struct perf_event *event)
{
    return event->type == PERF_TYPE_TRACEPOINT;
}

/* The processor alone can say where an instruction was. */
static bool is_of_processor(const struct perf_event *event)
{
    return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
           event->type == PERF_TYPE_RAW || event->is_pmu;
}

static int read_modifiers(const struct item *item, struct perf_event *event,
                          struct sprof_error *error)
{
    enum { MOST_PRECISE = 3 };
    const char *modifiers = item->modifiers;
    unsigned precise = 0;
    for (const char *at = modifiers; *at; at++)
        precise += *at == 'p';
    if (modifiers[strspn(modifiers, "ukhp")] || precise > MOST_PRECISE)
        return usage(error,
                     "`%s` is no modifier of an event: write :u for user mode alone, :k for the "
                     "kernel alone, :h for a hypervisor, or :p to :ppp for instructions that are "
                     "found more precisely",
                     modifiers);
    const bool hypervisor = strchr(modifiers, 'h');
    if ((precise || hypervisor) && !is_of_processor(event))
        return usage(error, "`:%s` is for counters of the processor, such as cycles:p", modifiers);
    const bool user = strchr(modifiers, 'u'), kernel = strchr(modifiers, 'k');
    event->exclude_kernel = (user || hypervisor) && !kernel;
    event->exclude_user = (kernel || hypervisor) && !user;
    event->has_hypervisor = hypervisor;
    event->precise = precise;
    return 0;
}

/* What its modifiers change, in one order. */
static void name_event(struct perf_event *event, const char *name)
{
    const char *modes = event->has_hypervisor   ? event->exclude_kernel && event->exclude_user ? "h"
                                                  : event->exclude_kernel                      ? "uh"
                                                  : event->exclude_user                        ? "kh"
                                                                                               : "ukh"
                        : event->exclude_kernel ? "u"
                        : event->exclude_user   ? "k"
                                                : "";
    snprintf(event->name, sizeof event->name, "%s%s%s%.*s", name,
             *modes || event->precise ? ":" : "", modes, (int)event->precise, "ppp");
}

int perf_event_check_user_mode(const struct perf_event *event, const char *why,
                               struct sprof_error *error)
{
    if (!event->is_of_kernel)
        return 0;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%s` happens in the kernel, which is left out (%s): there would be no "
                           "sample",
                           event->name, why);
}

/* == Adding == */

static int add(struct perf_event_list *events, const struct item *item, struct perf_event event,
               const char *name, struct sprof_error *error)
{
    int result = read_terms(item, &event, error);
    if (!result)
        result = read_modifiers(item, &event, error);
    if (result)
        return result;
    char full[sizeof event.name - sizeof ":ukhppp"];
    const bool has_part = event.is_pmu || *event.weight;
    const int length = snprintf(full, sizeof full, "%s%s%s%s%s", name, has_part ? "/" : "",
                                *event.weight ? "weight=" : "",
                                event.is_pmu ? event.name : event.weight, has_part ? "/" : "");
    if (length >= (int)sizeof full)
        return usage(error, "the event `%.60s` has too long a name", name);
    name_event(&event, full);
    if (event.exclude_kernel && perf_event_check_user_mode(&event, "by its modifier u", error))
        return SPROF_EUSAGE;
    for (size_t i = 0; i < events->count; i++)
        if (!strcmp(events->items[i].name, event.name))
            return usage(error, "`%s` is given twice: reports could not keep its two halves apart",
                         event.name);
    return sprof_vec_push(events, event) ? sprof_error_memory(error) : 0;
}

static int add_named(struct perf_event_list *events, const struct item *item,
                     const struct perf_event_name *named, struct sprof_error *error)
{
    const struct perf_event event = {.type = named->type,
                                     .config = named->config,
                                     .is_clock = named->is_clock,
                                     .is_of_kernel = named->is_of_kernel};
    return add(events, item, event, named->name, error);
}

/* The registers of a system call's tracepoints, and of a probe in a program, are the program's. */
static bool has_user_registers(const char *name)
{
    return !strncmp(name, "syscalls:", 9) || !strncmp(name, "uprobes:", 8);
}

static int add_tracepoint(struct perf_event_list *events, const struct item *item,
                          const struct perf_tracefs *tracefs, const char *name,
                          struct sprof_error *error)
{
    struct perf_event event = {.type = PERF_TYPE_TRACEPOINT,
                               .is_of_kernel = !has_user_registers(name)};
    const int result = perf_tracefs_id(tracefs, name, &event.config);
    if (result)
        return sprof_error_set(error, SPROF_EPERMISSION, -result,
                               "the tracepoint `%s` cannot be read (%s)\nrun sprof as root", name,
                               strerror(-result));
    const int added = add(events, item, event, name, error);
    struct perf_event *last = added ? NULL : &events->items[events->count - 1];
    if (last && perf_tracefs_fields(tracefs, name, &last->fields))
        return sprof_error_memory(error);
    return last && *last->weight ? perf_fields_find_number(&last->fields, name, last->weight,
                                                           &last->weight_field, error)
                                 : added;
}

/* == Names that are none == */

static int unknown(const char *name, const struct perf_tracepoints *tracepoints,
                   struct sprof_error *error)
{
    struct sprof_suggestions near = {0};
    struct sprof_str text = {0};
    char known[512];
    perf_event_name_list(known, sizeof known);
    for (size_t i = 0; perf_event_name_at(i); i++)
        sprof_suggest_offer(&near, name, perf_event_name_at(i)->name);
    for (size_t i = 0; i < tracepoints->count; i++)
        sprof_suggest_offer(&near, name, tracepoints->items[i]);
    sprof_suggest_append(&text, &near);
    if (!text.length && tracepoints->count)
        sprof_str_append(&text, ": no tracepoint fits");
    if (!text.length)
        sprof_str_appendf(&text, "; known are: %s", known);
    const int result =
        sprof_error_set(error, SPROF_EUSAGE, 0,
                        "unknown event `%s`%s\n`sprof list` shows the events of this machine", name,
                        text.text ? text.text : "");
    sprof_str_release(&text);
    return result;
}

static int add_tracepoints(struct perf_event_list *events, const struct item *item,
                           struct sprof_error *error)
{
    struct perf_tracefs tracefs = PERF_TRACEFS_NONE;
    struct perf_tracepoints names = {0};
    int result = perf_tracefs_open(&tracefs, error);
    if (!result && perf_tracefs_match(&tracefs, item->name, &names))
        result = sprof_error_memory(error);
    for (size_t i = 0; i < names.count && !result; i++)
        result = add_tracepoint(events, item, &tracefs, names.items[i], error);
    if (!result && !names.count) {
        result = perf_tracefs_match(&tracefs, "*:*", &names) ? sprof_error_memory(error)
                                                             : unknown(item->name, &names, error);
    }
    perf_tracepoints_release(&names);
    perf_tracefs_close(&tracefs);
    return result;
}

static int add_item(struct perf_event_list *events, const struct item *item,
                    struct sprof_error *error)
{
    static const struct perf_tracepoints none = {0};
    const struct perf_event_name *named = perf_event_name_find(item->name);
    struct perf_event counter = {0};
    if (named)
        return add_named(events, item, named, error);
    if (perf_event_counter_find(item->name, &counter.type, &counter.config))
        return add(events, item, counter, item->name, error);
    if (item->has_terms && perf_pmu_find(PERF_PMU_ROOT, item->name, &counter.type)) {
        counter.is_pmu = true;
        return add(events, item, counter, item->name, error);
    }
    return strchr(item->name, ':') ? add_tracepoints(events, item, error)
                                   : unknown(item->name, &none, error);
}

int perf_event_list_parse(struct perf_event_list *events, const char *text,
                          struct sprof_error *error)
{
    int result = 0;
    const char *rest = text;
    do {
        struct item item;
        const char *next = cut(rest, &item);
        if (!next)
            return usage(error, "`%.200s` cannot be read as an event", rest);
        if (!*item.name)
            return usage(error, "`%.200s` has an empty place for an event", text);
        result = add_item(events, &item, error);
        if (!result && !*next && next[-1] == ',')
            return usage(error, "`%.200s` has an empty place for an event", text);
        rest = next;
    } while (!result && *rest);
    return result;
}

void perf_event_list_release(struct perf_event_list *events)
{
    for (size_t i = 0; i < events->count; i++)
        sprof_vec_release(&events->items[i].fields);
    sprof_vec_release(events);
}
