/* Ranges: which probes are on. Each range adds functions or takes them out, and is itself on or
 * off. Of those that are on and hold a function, the last one decides. */
#include "plan/plan.h"
#include "trace/probes/points.h"
#include "trace/probes/probes.h"
#include "trace/several.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* each takes a byte for each probe */
enum { RANGES_MOST = 1000 };

/* == What a range holds == */

/* What an expression without probes finds otherwise. */
struct missed {
    const char *expression;
    size_t without;   /* functions that it finds without a probe */
    size_t refused;   /* of these: none can be placed */
    const char *name; /* of the first one */
    struct sprof_suggestions near, near_without;
};

static int look_for_missed(struct missed *missed, const struct trace_session *session,
                           struct plan_expressions *expressions, struct sprof_error *error)
{
    for (size_t i = 0; i < session->probes.count; i++)
        if (session->probes.items[i].is_chosen)
            sprof_suggest_offer(&missed->near, missed->expression,
                                session->probes.items[i].function->name);
    for (size_t f = 0; f < session->files.count; f++) {
        const struct plan *plan = &session->files.items[f].plan;
        for (size_t i = 0; i < plan->function_count && session->files.items[f].is_chosen; i++) {
            const struct plan_function *function = &plan->functions[i];
            if (!plan_is_true_start(function))
                continue;
            const int found = plan_expressions_match(expressions, function, error);
            if (found < 0)
                return found;
            if (!found) {
                sprof_suggest_offer(&missed->near_without, missed->expression, function->name);
                continue;
            }
            missed->without++;
            missed->refused += function->mechanism == PLAN_NOT;
            missed->name = missed->name ? missed->name : function->name;
        }
    }
    return 0;
}

/* Appends ", but …" or "; near it: …". */
static void tell_missed(const struct missed *missed, struct sprof_str *out)
{
    if (missed->without == 1) {
        sprof_str_appendf(out, ", but %.100s, which has none", missed->name);
    } else if (missed->without) {
        sprof_str_appendf(out, ", but %zu that have none, as %.100s", missed->without,
                          missed->name);
    } else if (missed->near.count) {
        sprof_suggest_append(out, &missed->near);
    } else if (missed->near_without.count) {
        sprof_suggest_append(out, &missed->near_without);
        sprof_str_append(out, " (without a probe)");
    }
}

/* "0xA-0xB", behind "MODULE!" where addresses are those of a file. */
struct addresses {
    const char *module; /* NULL: addresses of the process */
    size_t module_length;
    uint64_t from, to;
};

/* Else the text is an expression, as "operator!=" is. */
static bool are_addresses(const char *text)
{
    const char *mark = strrchr(text, '!');
    return !strncmp(mark ? mark + 1 : text, "0x", 2);
}

static bool read_address(const char *text, char **end, uint64_t *address)
{
    errno = 0;
    *address = isxdigit((unsigned char)*text) ? strtoull(text, end, 16) : 0;
    return isxdigit((unsigned char)*text) && !errno;
}

static int read_addresses(const char *text, struct addresses *addresses, struct sprof_error *error)
{
    const char *mark = strrchr(text, '!'), *first = mark ? mark + 1 : text;
    char *end;
    addresses->module = mark ? text : NULL;
    addresses->module_length = mark ? (size_t)(mark - text) : 0;
    if (!read_address(first, &end, &addresses->from) || *end != '-' ||
        !read_address(end + 1, &end, &addresses->to) || *end)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%.100s` is no range of addresses: write %.*s0xA-0xB, two numbers "
                               "of at most 16 hexadecimal digits; B is behind the last one",
                               text, (int)(first - text < 100 ? first - text : 100), text);
    if (addresses->from >= addresses->to)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the range %.100s is empty: its end must be behind its beginning",
                               text);
    return 0;
}

static bool is_of_module(const struct trace_file *file, const struct addresses *addresses)
{
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    const char *module = addresses->module;
    const size_t length = addresses->module_length;
    return (strlen(name) == length && !strncmp(name, module, length)) ||
           (strlen(file->path) == length && !strncmp(file->path, module, length));
}

static bool is_within(const struct trace_session *session, const struct addresses *addresses,
                      const struct trace_probe *probe)
{
    const struct trace_file *file = &session->files.items[probe->file];
    const uint64_t at = probe->function->start + (addresses->module ? 0 : file->bias);
    return at >= addresses->from && at < addresses->to &&
           (!addresses->module || is_of_module(file, addresses));
}

/* Finds the probes from `first` on that a range holds. Without `error`, a name that takes too long
 * is not held. */
static int hold(const struct trace_session *session, struct trace_range *range, size_t first,
                struct sprof_error *error)
{
    const char *text = range->text + 1;
    const bool is_chosen = range->number == 1, by_address = !is_chosen && are_addresses(text);
    struct addresses addresses;
    struct plan_expressions *expressions = NULL;
    int result = by_address  ? read_addresses(text, &addresses, error)
                 : is_chosen ? 0
                             : plan_expressions_make(&expressions, &text, 1, error);
    for (size_t i = first; i < session->probes.count && !result; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        int found = probe->is_chosen;
        if (found && by_address)
            found = is_within(session, &addresses, probe);
        else if (found && expressions)
            found = plan_expressions_match(expressions, probe->function, error);
        range->holds[i] = found > 0;
        range->sites += found > 0;
        result = error && found < 0 ? found : 0;
    }
    plan_expressions_free(expressions);
    return result;
}

/* == Ranges that hold nothing == */

/* What may be meant in the place of an expression that finds nothing. */
static const char *guess_meaning(const char *expression)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const size_t first = strspn(expression, digits);
    if (first && expression[first] == '-' && strspn(expression + first + 1, digits))
        return "\naddresses begin with 0x: +0xA-0xB";
    if (strchr(expression + 1, '!'))
        return "\nof one file only addresses can be chosen, +FILE!0xA-0xB; an expression is for "
               "all files";
    if (strchr(expression, ' '))
        return "\neach change begins with + or -";
    return "";
}

static int refuse_expression(const struct trace_session *session, const char *text,
                             struct sprof_error *error)
{
    struct plan_expressions *expressions = NULL;
    struct missed missed = {.expression = text};
    struct sprof_str names = {0};
    int result = plan_expressions_make(&expressions, &text, 1, error);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++)
        result = look_for_missed(&missed, session->trace->programs.items[i], expressions, error);
    plan_expressions_free(expressions);
    if (result)
        return result;
    tell_missed(&missed, &names);
    const bool refused = missed.without && missed.refused == missed.without;
    result = sprof_error_set(
        error, SPROF_EUSAGE, 0, "`%.100s` finds no function that has a probe%.400s%s\n%s", text,
        names.text ? names.text : "", guess_meaning(text),
        refused ? "none can be placed there: `sprof probes --refused FILE` says why"
                : "probes are placed when the trace begins: choose more with --function or "
                  "--module, and switch them off until they are wanted");
    sprof_str_release(&names);
    return result;
}

static int refuse_module(const struct trace_session *session, const struct addresses *addresses,
                         struct sprof_error *error)
{
    struct sprof_str names = {0};
    for (size_t f = 0; f < session->files.count; f++) {
        const struct trace_file *file = &session->files.items[f];
        const char *slash = strrchr(file->path, '/');
        if (file->is_chosen && file->count)
            sprof_str_appendf(&names, "%s%s", names.length ? ", " : "",
                              slash ? slash + 1 : file->path);
    }
    const int result = sprof_error_set(
        error, SPROF_EUSAGE, 0, "there are no probes in a file `%.*s`: there are in %.300s",
        (int)(addresses->module_length < 100 ? addresses->module_length : 100), addresses->module,
        names.text ? names.text : "none");
    sprof_str_release(&names);
    return result;
}

/* The distance of a probe's function from the first address. */
static uint64_t distance(const struct trace_session *session, const struct addresses *addresses,
                         const struct trace_probe *probe)
{
    const struct trace_file *file = &session->files.items[probe->file];
    const uint64_t at = probe->function->start + (addresses->module ? 0 : file->bias);
    return at > addresses->from ? at - addresses->from : addresses->from - at;
}

static int refuse_addresses(const struct trace_session *session, const char *text,
                            struct sprof_error *error)
{
    struct addresses addresses;
    const struct trace_probe *nearest = NULL;
    const int result = read_addresses(text, &addresses, error);
    if (result)
        return result;
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        if (probe->is_chosen &&
            (!addresses.module || is_of_module(&session->files.items[probe->file], &addresses)) &&
            (!nearest ||
             distance(session, &addresses, probe) < distance(session, &addresses, nearest)))
            nearest = probe;
    }
    if (!nearest)
        return refuse_module(session, &addresses, error);
    const struct trace_file *file = &session->files.items[nearest->file];
    const char *slash = strrchr(file->path, '/');
    const uint64_t start = nearest->function->start;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "the range %.100s covers the entry of no function that has a probe\n"
                           "the nearest is %.100s, at 0x%llx in the process, %.100s!0x%llx in its "
                           "file: `sprof stats --wide` shows addresses",
                           text, nearest->function->name, (unsigned long long)(start + file->bias),
                           slash ? slash + 1 : file->path, (unsigned long long)start);
}

/* == The list == */

static struct trace_range *find_range(struct trace_session *session, uint32_t number)
{
    for (size_t r = 0; r < session->ranges.count; r++)
        if (session->ranges.items[r].number == number)
            return &session->ranges.items[r];
    return NULL;
}

/* A range that is said again keeps its number, and is the last one from then on. */
static bool repeat_range(struct trace_session *session, const char *text)
{
    struct trace_range *ranges = session->ranges.items;
    const size_t last = session->ranges.count - 1;
    for (size_t r = 1; r <= last; r++) {
        if (strcmp(ranges[r].text, text) != 0)
            continue;
        struct trace_range range = ranges[r];
        range.is_on = true;
        range.since_ns = sprof_clock_monotonic_ns() - session->start.ns;
        memmove(&ranges[r], &ranges[r + 1], (last - r) * sizeof *ranges);
        ranges[last] = range;
        return true;
    }
    return false;
}

static int check_range(const struct trace_session *session, const struct trace_range *range,
                       struct sprof_error *error)
{
    if (session->ranges.count == RANGES_MOST)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "there are %d ranges, and room for no more: `sprof ctl list` shows "
                               "them, `probe -#N +#N` switches them by their numbers",
                               RANGES_MOST);
    if (range->sites || session->trace->membership->may_grow)
        return 0;
    const struct trace_session *any =
        session->trace->programs.count ? session->trace->programs.items[0] : session;
    return are_addresses(range->text + 1) ? refuse_addresses(any, range->text + 1, error)
                                          : refuse_expression(session, range->text + 1, error);
}

/* Counts what a range holds in all programs. */
static int hold_in_programs(const struct trace_session *session, struct trace_range *range,
                            struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < session->trace->programs.count && !result; i++) {
        const struct trace_session *program = session->trace->programs.items[i];
        struct trace_range there = {
            .number = range->number,
            .text = range->text,
            .holds = calloc(program->capacity + 1, 1),
        };
        result = there.holds ? hold(program, &there, 0, error) : sprof_error_memory(error);
        range->sites += there.sites;
        free(there.holds);
    }
    return result;
}

static int add_range(struct trace_session *session, const char *text, struct sprof_error *error)
{
    struct trace_range range = {
        .number = (uint32_t)session->ranges.count + 1,
        .text = text,
        .holds = calloc(session->capacity + 1, 1),
        .is_on = true,
        .since_ns = sprof_clock_monotonic_ns() - session->start.ns,
    };
    int result = range.holds ? hold(session, &range, 0, error) : sprof_error_memory(error);
    if (!result && trace_is_of_several(session))
        result = hold_in_programs(session, &range, error);
    if (!result)
        result = check_range(session, &range, error);
    uint8_t *holds = range.holds; /* a refused text leaves nothing behind */
    if (!result) {
        range.text = sprof_arena_text(&session->arena, text);
        range.holds = sprof_arena_alloc(&session->arena, session->capacity + 1);
        if (!range.text || !range.holds || sprof_vec_push(&session->ranges, range))
            result = sprof_error_memory(error);
        else
            memcpy(range.holds, holds, session->capacity + 1);
    }
    free(holds);
    return result;
}

int trace_ranges_extend(struct trace_session *session, size_t first)
{
    int result = 0;
    for (size_t r = 0; r < session->ranges.count && !result; r++)
        result = hold(session, &session->ranges.items[r], first, NULL);
    return result;
}

int trace_ranges_adopt(struct trace_session *session, const struct trace_session *from)
{
    const struct trace_range *all = from->ranges.items;
    const size_t count = from->ranges.count;
    struct trace_range *adopted = calloc(count + 1, sizeof *adopted);
    if (!adopted || sprof_vec_reserve(&session->ranges, count)) {
        free(adopted);
        return SPROF_ENOMEM;
    }
    bool failed = false;
    for (size_t r = 0; r < count; r++) {
        const struct trace_range *own = find_range(session, all[r].number);
        adopted[r] = all[r];
        adopted[r].holds =
            own ? own->holds : sprof_arena_alloc(&session->arena, session->capacity + 1);
        adopted[r].sites = 0;
        failed |= !adopted[r].holds;
    }
    if (!failed) {
        memcpy(session->ranges.items, adopted, count * sizeof *adopted);
        session->ranges.count = count;
    }
    free(adopted);
    return failed ? SPROF_ENOMEM : trace_ranges_extend(session, 0);
}

int trace_ranges_begin(struct trace_session *session, struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, "+");
    for (size_t i = 0; i < session->options.function_count; i++)
        sprof_str_appendf(&text, "%s%s", i ? " " : "", session->options.functions[i]);
    for (size_t i = 0; i < session->options.children_of_count; i++)
        sprof_str_appendf(&text, "%s%s and what it calls", text.length > 1 ? " " : "",
                          session->options.children_of[i]);
    struct trace_range range = {
        .number = 1,
        .text = text.failed
                    ? NULL
                    : sprof_arena_text(&session->arena, text.length > 1 ? text.text : "+.*"),
        .holds = sprof_arena_alloc(&session->arena, session->capacity + 1),
        .is_on = true,
    };
    sprof_str_release(&text);
    if (!range.text || !range.holds)
        return sprof_error_memory(error);
    for (size_t i = 0; i < session->probes.count; i++)
        range.sites += range.holds[i] = session->probes.items[i].is_chosen;
    return sprof_vec_push(&session->ranges, range) ? sprof_error_memory(error) : 0;
}

/* == Switching == */

/* Writes the byte of each thunk. No code changes, and no thread waits. A probe that must see how
 * frames are left, or which threads begin, goes on doing that, and counts nothing. */
void trace_switch(struct trace_session *session)
{
    bool switched = false; /* these probes see all bytes that checked calls allocate */
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        probe->is_on = false;
        for (size_t r = 0; r < session->ranges.count; r++) {
            const struct trace_range *range = &session->ranges.items[r];
            if (range->is_on && range->holds[i])
                probe->is_on = range->text[0] == '+';
        }
        const bool stays = trace_stays_on(probe);
        const bool counts = probe->is_on && !session->paused;
        const uint8_t still = stays ? (uint8_t)(probe->tier | PROBE_QUIET) : PROBE_OFF;
        uint8_t tier = counts ? trace_governed_tier(probe, probe->tier) : still;
        if (session->mode == TRACE_COVERAGE)
            tier =
                counts && probe->is_chosen && !atomic_load(&session->process.shared->hits[i].first)
                    ? still | PROBE_COVER
                    : still;
        if (probe->operation && !session->paused && session->mode != TRACE_COVERAGE &&
            tier != PROBE_FULL)
            tier = PROBE_BYTES;
        if (tier != PROBE_OFF)
            trace_bypass_end(session, i);
        switched |= probe->operation && tier != atomic_load(&session->process.shared->tiers[i]);
        atomic_store(&session->process.shared->tiers[i], tier);
    }
    if (switched)
        atomic_fetch_add(&session->process.shared->heap.epoch, 1);
    session->resting.at_once &= session->paused;
    trace_wake(session);
    if (session->backend->switched)
        session->backend->switched(session);
    trace_points_switch(session, !session->paused && !session->untimed.copier);
}

/* "1,3-5": calls `set` for each number. */
static int each_number(struct trace_session *session, const char *text, bool is_on,
                       struct sprof_error *error)
{
    const char *at = text;
    char *end;
    do {
        errno = 0;
        const unsigned long from = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
        unsigned long to = from;
        if (from && *end == '-' && isdigit((unsigned char)end[1]))
            to = strtoul(end + 1, &end, 10);
        if (!from || errno || to < from || (*end && *end != ','))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "`#%.100s` is no list of numbers: write #1 or #1,3-5", text);
        if (to > session->ranges.count)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "there is no range #%lu: `sprof ctl list` shows %zu", to,
                                   session->ranges.count);
        for (unsigned long n = from; n <= to; n++)
            find_range(session, (uint32_t)n)->is_on = is_on;
        at = end + 1;
    } while (*end);
    return 0;
}

static int change(struct trace_session *session, const char *token, struct sprof_error *error)
{
    if ((*token != '+' && *token != '-') || !token[1])
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%.100s` is no change of probes: write +RE, -RE, +0xA-0xB, "
                               "+MODULE!0xA-0xB, -#1,3-5 or +#N",
                               token);
    return token[1] == '#'                ? each_number(session, token + 2, *token == '+', error)
           : repeat_range(session, token) ? 0
                                          : add_range(session, token, error);
}

/* The next change begins behind a blank and a sign. */
static char *next_token(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == ' ' && (at[1] == '+' || at[1] == '-')) {
            *at = '\0';
            return at + 1;
        }
    return NULL;
}

int trace_change_ranges(struct trace_session *session, char *text, struct sprof_error *error)
{
    const size_t count = session->ranges.count;
    struct trace_range *before = calloc(count, sizeof *before);
    if (!before)
        return sprof_error_memory(error);
    int result = 0;
    memcpy(before, session->ranges.items, count * sizeof *before);
    for (char *token = text, *next; token && !result; token = next) {
        next = next_token(token);
        result = change(session, token, error);
    }
    if (result) {
        memcpy(session->ranges.items, before, count * sizeof *before);
        session->ranges.count = count;
    }
    free(before);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++) {
        struct trace_session *program = session->trace->programs.items[i];
        if (program != session && trace_ranges_adopt(program, session))
            result = sprof_error_memory(error);
        trace_switch(program);
    }
    return result;
}

/* A range without functions is no mistake where a later program may have them. */
static int tell_empty(const struct trace_session *session, const struct trace_range *range,
                      struct sprof_str *answer, struct sprof_error *error)
{
    struct plan_expressions *expressions = NULL;
    struct missed missed = {.expression = range->text + 1};
    int result = plan_expressions_make(&expressions, &missed.expression, 1, error);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++)
        result = look_for_missed(&missed, session->trace->programs.items[i], expressions, error);
    plan_expressions_free(expressions);
    if (result)
        return result;
    sprof_str_appendf(answer, "\n`%.100s` finds no function that has a probe", range->text + 1);
    tell_missed(&missed, answer);
    sprof_str_append(answer, "; it holds for programs that are executed from now on");
    return 0;
}

int trace_ranges_tell_empty(const struct trace_session *session, uint64_t since_ns,
                            struct sprof_str *answer, struct sprof_error *error)
{
    int result = 0;
    for (size_t r = 0; r < session->ranges.count && !result; r++) {
        size_t sites = session->ranges.items[r].since_ns < since_ns;
        for (size_t i = 0; i < session->trace->programs.count; i++)
            sites += session->trace->programs.items[i]->ranges.items[r].sites;
        if (!sites)
            result = tell_empty(session, &session->ranges.items[r], answer, error);
    }
    return result;
}
