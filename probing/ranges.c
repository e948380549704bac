/* Switches probes by ranges, which add or remove functions. The last range that is on and holds the
 * function decides. */
#include "probing/empty_range.h"
#include "probing/outside.h"
#include "probing/points.h"
#include "probing/probes.h"
#include "probing/program.h"
#include "probing/range_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* each takes a byte per probe */
enum { RANGES_MOST = 1000 };
static struct probing_range *find_range(struct probing_program *program, uint32_t number)
{
    for (size_t r = 0; r < program->ranges.count; r++)
        if (program->ranges.items[r].number == number)
            return &program->ranges.items[r];
    return NULL;
}

/* The range keeps its number and becomes the last. */
static bool repeat_range(struct probing_program *program, const char *text)
{
    struct probing_range *ranges = program->ranges.items;
    const size_t last = program->ranges.count - 1;
    for (size_t r = 1; r <= last; r++) {
        if (strcmp(ranges[r].text, text) != 0)
            continue;
        struct probing_range range = ranges[r];
        range.is_on = true;
        range.since_ns = sprof_clock_monotonic_ns() - program->times.start.ns;
        memmove(&ranges[r], &ranges[r + 1], (last - r) * sizeof *ranges);
        ranges[last] = range;
        return true;
    }
    return false;
}

static int check_range(struct probing_program *program, const struct probing_range *range,
                       struct sprof_error *error)
{
    if (program->ranges.count == RANGES_MOST)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "there are %d ranges, and room for no more: `sprof ctl list` shows "
                               "them, `probe -#N +#N` switches them by their numbers",
                               RANGES_MOST);
    if (range->sites || program->group->may_grow)
        return 0;
    return probing_refuse_empty_range(program, range->text + 1, error);
}

static int hold_in_programs(const struct probing_program *common, struct probing_range *range,
                            struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < common->group->programs.count && !result; i++) {
        struct probing_program *program = common->group->programs.items[i];
        struct probing_range there = {
            .number = range->number,
            .text = range->text,
            .holds = calloc(program->capacity + 1, 1),
        };
        result =
            there.holds ? probing_range_hold(program, &there, 0, error) : sprof_error_memory(error);
        range->sites += there.sites;
        free(there.holds);
    }
    return result;
}

static int add_range(struct probing_program *program, const char *text, struct sprof_error *error)
{
    struct probing_range range = {
        .number = (uint32_t)program->ranges.count + 1,
        .text = text,
        .holds = calloc(program->capacity + 1, 1),
        .is_on = true,
        .since_ns = sprof_clock_monotonic_ns() - program->times.start.ns,
    };
    int result =
        range.holds ? probing_range_hold(program, &range, 0, error) : sprof_error_memory(error);
    if (!result && program->stands_for_all)
        result = hold_in_programs(program, &range, error);
    if (!result)
        result = check_range(program, &range, error);
    uint8_t *holds = range.holds; /* a refused text leaves nothing */
    if (!result) {
        range.text = sprof_arena_text(&program->arena, text);
        range.holds = sprof_arena_alloc(&program->arena, program->capacity + 1);
        if (!range.text || !range.holds || sprof_vec_push(&program->ranges, range))
            result = sprof_error_memory(error);
        else
            memcpy(range.holds, holds, program->capacity + 1);
    }
    free(holds);
    return result;
}

int probing_ranges_extend(struct probing_program *program, size_t first)
{
    int result = 0;
    for (size_t r = 0; r < program->ranges.count && !result; r++)
        result = probing_range_hold(program, &program->ranges.items[r], first, NULL);
    return result;
}

int probing_ranges_adopt(struct probing_program *program, const struct probing_program *from)
{
    const struct probing_range *all = from->ranges.items;
    const size_t count = from->ranges.count;
    struct probing_range *adopted = calloc(count + 1, sizeof *adopted);
    if (!adopted || sprof_vec_reserve(&program->ranges, count)) {
        free(adopted);
        return SPROF_ENOMEM;
    }
    bool failed = false;
    for (size_t r = 0; r < count; r++) {
        const struct probing_range *own = find_range(program, all[r].number);
        adopted[r] = all[r];
        adopted[r].holds =
            own ? own->holds : sprof_arena_alloc(&program->arena, program->capacity + 1);
        adopted[r].sites = 0;
        failed |= !adopted[r].holds;
    }
    if (!failed) {
        memcpy(program->ranges.items, adopted, count * sizeof *adopted);
        program->ranges.count = count;
    }
    free(adopted);
    return failed ? SPROF_ENOMEM : probing_ranges_extend(program, 0);
}

int probing_ranges_begin(struct probing_program *program, struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, "+");
    for (size_t i = 0; i < program->options.function_count; i++)
        sprof_str_appendf(&text, "%s%s", i ? " " : "", program->options.functions[i]);
    for (size_t i = 0; i < program->options.children_of_count; i++)
        sprof_str_appendf(&text, "%s%s and what it calls", text.length > 1 ? " " : "",
                          program->options.children_of[i]);
    struct probing_range range = {
        .number = 1,
        .text = text.failed
                    ? NULL
                    : sprof_arena_text(&program->arena, text.length > 1 ? text.text : "+.*"),
        .holds = sprof_arena_alloc(&program->arena, program->capacity + 1),
        .is_on = true,
    };
    sprof_str_release(&text);
    if (!range.text || !range.holds)
        return sprof_error_memory(error);
    for (size_t i = 0; i < program->probes.count; i++)
        range.sites += range.holds[i] = program->probes.items[i].is_chosen;
    return sprof_vec_push(&program->ranges, range) ? sprof_error_memory(error) : 0;
}

/* == Switching == */

/* Changes no code and stops no thread. Probes that watch for left frames or new threads stay on
 * without counting. */
void probing_switch(struct probing_program *program)
{
    bool switched = false; /* probes of allocators, which see bytes that checked calls allocate */
    for (size_t i = 0; i < program->probes.count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        probe->is_on = probe->is_drilled && (probe->is_chosen || probe->is_spare);
        for (size_t r = 0; r < program->ranges.count; r++) {
            const struct probing_range *range = &program->ranges.items[r];
            if (range->is_on && range->holds[i])
                probe->is_on = range->text[0] == '+';
        }
        probe->is_added |= probe->is_on && probe->is_spare;
        probe->is_chosen |= probe->is_on;
        probe->is_spare &= !probe->is_on;
        const bool stays = probing_stays_on(probe);
        const bool counts = probe->is_on && !program->paused;
        const uint8_t still = stays ? (uint8_t)(probe->tier | PROBE_QUIET) : PROBE_OFF;
        uint8_t tier = counts ? probing_governed_tier(probe, probe->tier) : still;
        if (program->mode == TRACE_COVERAGE)
            tier =
                counts && probe->is_chosen && !atomic_load(&program->process.shared->hits[i].first)
                    ? still | PROBE_COVER
                    : still;
        if (probe->operation && !program->paused && program->mode != TRACE_COVERAGE &&
            tier != PROBE_FULL)
            tier = PROBE_BYTES;
        if (tier != PROBE_OFF)
            probing_passed_end(program, i);
        switched |= probe->operation && tier != atomic_load(&program->process.shared->tiers[i]);
        atomic_store(&program->process.shared->tiers[i], tier);
    }
    if (switched)
        atomic_fetch_add(&program->process.shared->heap.epoch, 1);
    program->resting.at_once &= program->paused;
    probing_wake(program);
    if (program->way->switched)
        program->way->switched(program);
    probing_points_switch(program, !program->paused && !program->untimed.copier);
    probing_outside_switch(program, !program->paused && program->mode != TRACE_COVERAGE &&
                                        !program->untimed.copier && !program->untimed.runtime);
}

char probing_ranges_decide(const struct probing_program *program, size_t number)
{
    char sign = 0;
    for (size_t r = 1; r < program->ranges.count; r++) {
        const struct probing_range *range = &program->ranges.items[r];
        if (range->is_on && range->holds[number])
            sign = range->text[0];
    }
    return sign;
}

/* Reads "1,3-5". */
static int each_number(struct probing_program *program, const char *text, bool is_on,
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
        if (to > program->ranges.count)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "there is no range #%lu: `sprof ctl list` shows %zu", to,
                                   program->ranges.count);
        for (unsigned long n = from; n <= to; n++)
            find_range(program, (uint32_t)n)->is_on = is_on;
        at = end + 1;
    } while (*end);
    return 0;
}

static int change(struct probing_program *program, const char *token, struct sprof_error *error)
{
    if ((*token != '+' && *token != '-') || !token[1])
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%.100s` is no change of probes: write +RE, -RE, +0xA-0xB, "
                               "+MODULE!0xA-0xB, -#1,3-5 or +#N",
                               token);
    return token[1] == '#'                ? each_number(program, token + 2, *token == '+', error)
           : repeat_range(program, token) ? 0
                                          : add_range(program, token, error);
}

/* A change begins with a blank and a sign. */
static char *next_token(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == ' ' && (at[1] == '+' || at[1] == '-')) {
            *at = '\0';
            return at + 1;
        }
    return NULL;
}

int probing_change_ranges(struct probing_program *common, char *text, struct sprof_error *error)
{
    const size_t count = common->ranges.count;
    struct probing_range *before = calloc(count, sizeof *before);
    if (!before)
        return sprof_error_memory(error);
    int result = 0;
    memcpy(before, common->ranges.items, count * sizeof *before);
    for (char *token = text, *next; token && !result; token = next) {
        next = next_token(token);
        result = change(common, token, error);
    }
    if (result) {
        memcpy(common->ranges.items, before, count * sizeof *before);
        common->ranges.count = count;
    }
    free(before);
    for (size_t i = 0; i < common->group->programs.count && !result; i++) {
        struct probing_program *program = common->group->programs.items[i];
        if (program != common && probing_ranges_adopt(program, common))
            result = sprof_error_memory(error);
        probing_switch(program);
    }
    return result;
}
