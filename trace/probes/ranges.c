/* Which probes are on: numbered ranges, each of which adds functions or takes them out, and is
 * itself on or off. The last one that holds a function and is on decides. */
#include "trace/governor.h"
#include "trace/plan/expressions.h"
#include "trace/probes/points.h"
#include "trace/probes/probes.h"
#include "trace/uprobe/uprobes.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* == What a range holds == */

/* What an expression that finds no probe would have found otherwise. */
struct missed {
    const char *expression;
    size_t without;   /* functions that it finds, and that have no probe … */
    size_t refused;   /* … because none can be placed there */
    const char *name; /* of the first of them */
    struct sprof_suggestions near, near_without;
};

static int look_for_missed(struct missed *missed, const struct trace_session *session,
                           struct trace_expressions *expressions, struct sprof_error *error)
{
    for (size_t i = 0; i < session->probes.count; i++)
        if (session->probes.items[i].is_chosen)
            sprof_suggest_offer(&missed->near, missed->expression,
                                session->probes.items[i].function->name);
    for (size_t f = 0; f < session->files.count; f++) {
        const struct trace_plan *plan = &session->files.items[f].plan;
        for (size_t i = 0; i < plan->function_count && session->files.items[f].is_chosen; i++) {
            const struct trace_function *function = &plan->functions[i];
            if (!trace_is_true_start(function))
                continue;
            const int found = trace_expressions_match(expressions, function, error);
            if (found < 0)
                return found;
            if (!found) {
                sprof_suggest_offer(&missed->near_without, missed->expression, function->name);
                continue;
            }
            missed->without++;
            missed->refused += function->mechanism == TRACE_NOT;
            missed->name = missed->name ? missed->name : function->name;
        }
    }
    return 0;
}

/* ", but …" or "; near it: …" */
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

static int refuse_expression(struct trace_session *session, const char *text,
                             struct trace_expressions *expressions, struct sprof_error *error)
{
    struct missed missed = {.expression = text};
    struct sprof_str names = {0};
    int result = look_for_missed(&missed, session, expressions, error);
    if (result)
        return result;
    tell_missed(&missed, &names);
    const bool refused = missed.without && missed.refused == missed.without;
    result = sprof_error_set(
        error, SPROF_EUSAGE, 0, "`%.100s` finds no function that has a probe%.400s\n%s", text,
        names.text ? names.text : "",
        refused ? "none can be placed there: `sprof probes --refused FILE` says why"
                : "probes are placed when the trace begins: choose more with --function or "
                  "--module, and switch them off until they are wanted");
    sprof_str_release(&names);
    return result;
}

static int hold_named(struct trace_session *session, struct trace_range *range,
                      struct sprof_error *error)
{
    struct trace_expressions *expressions = NULL;
    const char *text = range->text + 1;
    int result = trace_expressions_make(&expressions, &text, 1, error);
    for (size_t i = 0; i < session->probes.count && !result; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        if (!probe->is_chosen)
            continue;
        const int found = trace_expressions_match(expressions, probe->function, error);
        result = found < 0 ? found : 0;
        range->holds[i] = found > 0;
        range->sites += found > 0;
    }
    if (!result && !range->sites && !session->children) /* what is executed later may have it */
        result = refuse_expression(session, text, expressions, error);
    trace_expressions_free(expressions);
    return result;
}

/* "0xA-0xB", behind "MODULE!" where the addresses are those of a file. */
static bool read_addresses(const char *text, const char **module, size_t *module_length,
                           uint64_t *from, uint64_t *to)
{
    const char *mark = strrchr(text, '!');
    char *end;
    *module = mark ? text : NULL;
    *module_length = mark ? (size_t)(mark - text) : 0;
    text = mark ? mark + 1 : text;
    if (strncmp(text, "0x", 2) != 0)
        return false;
    errno = 0;
    *from = strtoull(text, &end, 16);
    if (*end != '-' || errno)
        return false;
    *to = strtoull(end + 1, &end, 16);
    return !*end && !errno;
}

static bool is_of_module(const struct trace_file *file, const char *module, size_t length)
{
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    return (strlen(name) == length && !strncmp(name, module, length)) ||
           (strlen(file->path) == length && !strncmp(file->path, module, length));
}

static int hold_addresses(struct trace_session *session, struct trace_range *range,
                          const char *module, size_t module_length, uint64_t from, uint64_t to,
                          struct sprof_error *error)
{
    if (from >= to)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the range %.100s is empty: its end must be behind its beginning",
                               range->text + 1);
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        const struct trace_file *file = &session->files.items[probe->file];
        const uint64_t at = probe->function->start + (module ? 0 : file->bias);
        range->holds[i] = probe->is_chosen && at >= from && at < to &&
                          (!module || is_of_module(file, module, module_length));
        range->sites += range->holds[i];
    }
    return range->sites || session->children
               ? 0
               : sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "the range %.100s covers the entry of no function that "
                                 "has a probe: `sprof ctl list` shows what has; addresses "
                                 "are those of the process, or behind MODULE! of the file",
                                 range->text + 1);
}

static int add_range(struct trace_session *session, const char *text, struct sprof_error *error)
{
    const char *module;
    size_t module_length;
    uint64_t from, to;
    struct trace_range range = {
        .number = (uint32_t)session->ranges.count + 1,
        .text = sprof_arena_text(&session->arena, text),
        .holds = sprof_arena_alloc(&session->arena, session->capacity + 1),
        .is_on = true,
        .since_ns = sprof_clock_monotonic_ns() - session->start_ns,
    };
    if (!range.text || !range.holds)
        return sprof_error_memory(error);
    const int result = read_addresses(text + 1, &module, &module_length, &from, &to)
                           ? hold_addresses(session, &range, module, module_length, from, to, error)
                           : hold_named(session, &range, error);
    if (result)
        return result;
    return sprof_vec_push(&session->ranges, range) ? sprof_error_memory(error) : 0;
}

static void extend_range(struct trace_session *session, struct trace_range *range, size_t first,
                         struct trace_expressions *expressions)
{
    const char *module;
    size_t module_length;
    uint64_t from = 0, to = 0;
    const bool by_address =
        range->number > 1 && read_addresses(range->text + 1, &module, &module_length, &from, &to);
    for (size_t i = first; i < session->probes.count; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        const struct trace_file *file = &session->files.items[probe->file];
        const uint64_t at = probe->function->start + (by_address && module ? 0 : file->bias);
        bool holds = range->number == 1;
        if (by_address)
            holds = at >= from && at < to && (!module || is_of_module(file, module, module_length));
        else if (expressions)
            holds = trace_expressions_match(expressions, probe->function, NULL) > 0;
        range->holds[i] = probe->is_chosen && holds;
        range->sites += range->holds[i];
    }
}

int trace_ranges_extend(struct trace_session *session, size_t first, struct sprof_error *error)
{
    int result = 0;
    for (size_t r = 0; r < session->ranges.count && !result; r++) {
        struct trace_range *range = &session->ranges.items[r];
        struct trace_expressions *expressions = NULL;
        const char *text = range->text + 1, *module;
        size_t module_length;
        uint64_t from, to;
        if (range->number > 1 && !read_addresses(text, &module, &module_length, &from, &to))
            result = trace_expressions_make(&expressions, &text, 1, error);
        if (!result)
            extend_range(session, range, first, expressions);
        trace_expressions_free(expressions);
    }
    return result;
}

int trace_ranges_adopt(struct trace_session *session, const struct trace_session *from,
                       struct sprof_error *error)
{
    session->ranges.count = 1;
    session->ranges.items[0].is_on = from->ranges.items[0].is_on;
    session->ranges.items[0].sites = 0;
    for (size_t r = 1; r < from->ranges.count; r++) {
        struct trace_range range = from->ranges.items[r];
        range.holds = sprof_arena_alloc(&session->arena, session->capacity + 1);
        range.sites = 0;
        if (!range.holds || sprof_vec_push(&session->ranges, range))
            return sprof_error_memory(error);
    }
    return trace_ranges_extend(session, 0, error);
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

/* The thunks look at these bytes: nothing of the command's code changes, and nobody waits. A probe
 * that must see how frames are left goes on doing that, and counts nothing. */
void trace_switch(struct trace_session *session)
{
    bool switched = false; /* probes that see all bytes that checked calls allocate */
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        probe->is_on = false;
        for (size_t r = 0; r < session->ranges.count; r++) {
            const struct trace_range *range = &session->ranges.items[r];
            if (range->is_on && range->holds[i])
                probe->is_on = range->text[0] == '+';
        }
        const bool leaves = probe->tier == PROBE_LEAVE || probe->tier == PROBE_JUMP;
        const bool counts = probe->is_on && !session->paused;
        const uint8_t still = leaves ? (uint8_t)(probe->tier | PROBE_QUIET) : PROBE_OFF;
        uint8_t tier = counts ? trace_governed_tier(probe, probe->tier) : still;
        if (session->mode == TRACE_COVERAGE)
            tier = counts && probe->is_chosen && !atomic_load(&session->shared->hits[i].first)
                       ? still | PROBE_COVER
                       : still;
        if (probe->operation && !session->paused && session->mode != TRACE_COVERAGE &&
            tier != PROBE_FULL)
            tier = PROBE_BYTES;
        if (tier != PROBE_OFF)
            trace_bypass_end(session, i);
        switched |= probe->operation && tier != atomic_load(&session->shared->tiers[i]);
        atomic_store(&session->shared->tiers[i], tier);
    }
    if (switched)
        atomic_fetch_add(&session->shared->heap.epoch, 1);
    session->rests &= session->paused;
    trace_wake(session);
    if (session->uprobes)
        trace_uprobes_switch(session);
    trace_points_switch(session, !session->paused && !session->copier);
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
            session->ranges.items[n - 1].is_on = is_on;
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
    return token[1] == '#' ? each_number(session, token + 2, *token == '+', error)
                           : add_range(session, token, error);
}

/* Where the next change begins: behind a blank and a sign. */
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
    uint8_t *was_on = calloc(count + 1, 1);
    int result = was_on ? 0 : sprof_error_memory(error);
    for (size_t i = 0; i < count && !result; i++)
        was_on[i] = session->ranges.items[i].is_on;
    for (char *token = text, *next; token && !result; token = next) {
        next = next_token(token);
        result = change(session, token, error);
    }
    for (size_t i = 0; i < count && result && was_on; i++)
        session->ranges.items[i].is_on = was_on[i];
    if (result)
        session->ranges.count = count;
    free(was_on);
    for (size_t i = 0; i < session->programs.count && !result; i++) {
        struct trace_session *program = session->programs.items[i];
        result = program == session ? 0 : trace_ranges_adopt(program, session, error);
        trace_switch(program);
    }
    return result;
}

/* The range may be of functions that a program executed later has; then nothing is wrong with it.
 */
static int tell_empty(const struct trace_session *session, const struct trace_range *range,
                      struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_expressions *expressions = NULL;
    struct missed missed = {.expression = range->text + 1};
    int result = trace_expressions_make(&expressions, &missed.expression, 1, error);
    for (size_t i = 0; i < session->programs.count && !result; i++)
        result = look_for_missed(&missed, session->programs.items[i], expressions, error);
    trace_expressions_free(expressions);
    if (result)
        return result;
    sprof_str_appendf(answer, "\n`%.100s` finds no function that has a probe", range->text + 1);
    tell_missed(&missed, answer);
    sprof_str_append(answer, "; it holds for programs that are executed from now on");
    return 0;
}

int trace_ranges_tell_empty(const struct trace_session *session, size_t first,
                            struct sprof_str *answer, struct sprof_error *error)
{
    int result = 0;
    for (size_t r = first; r < session->ranges.count && !result; r++) {
        size_t sites = 0;
        for (size_t i = 0; i < session->programs.count; i++)
            sites += session->programs.items[i]->ranges.items[r].sites;
        if (!sites)
            result = tell_empty(session, &session->ranges.items[r], answer, error);
    }
    return result;
}
