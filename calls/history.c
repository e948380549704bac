/* Finds which functions are chosen, what changed for their probes, and why. */
#include "calls/history.h"

#include "calls/program.h"
#include "probing/probing.h"

#include <stdlib.h>

/* == Probes == */

enum state { NOT_YET, IN, OFF, RESTS, OUT };
static const char *const state_words[] = {
    [IN] = "in", [OFF] = "off", [RESTS] = "rests", [OUT] = "out"};

static enum state state_of(const struct calls_program *program, size_t number, enum state noted)
{
    const struct probing_probe *probe = &program->probes.items[number];
    const bool is_there = probe->is_placed || !program->way->has_agent;
    if (!probe->is_chosen)
        return noted;
    if (!is_there || probe->is_restored || program->is_out)
        return noted ? OUT : NOT_YET;
    return probe->rests ? RESTS : probe->is_on ? IN : OFF;
}

/* A drill-down decides if no range of a command does. */
static const char *chooser_of(const struct calls_program *program, size_t number)
{
    return program->options.drill.adaptive && !probing_ranges_decide(&program->probing, number)
               ? "adaptive"
               : "command";
}

static const char *cause_of(const struct calls_program *program, size_t number, enum state noted,
                            enum state state)
{
    const struct probing_probe *probe = &program->probes.items[number];
    const bool is_governed = probe->governed == PROBING_GOVERNED_OFF;
    const bool is_loaded = program->files.items[probe->file].is_loaded;
    if (state == OUT)
        return probe->is_restored && program->mode == TRACE_COVERAGE ? "coverage"
               : is_governed                                         ? "governor"
               : is_loaded && !program->is_out                       ? "load"
                                                                     : "end";
    if (noted == NOT_YET)
        return is_loaded                    ? "load"
               : !program->history.is_begun ? "start"
                                            : chooser_of(program, number);
    if (state == RESTS)
        return is_governed ? "governor" : "rest";
    return noted == RESTS && probe->governed ? "governor" : chooser_of(program, number);
}

/* Programs of the same file share functions: each start is recorded once. */
static bool is_news(struct calls_program *program, uint32_t number, bool *is_failed)
{
    const uint32_t node = program->probes.items[number].node;
    uint64_t *known = node ? sprof_map_at(&program->all->history.probes, node) : NULL;
    const bool is_known = known && *known;
    *is_failed |= node && !known;
    if (known)
        *known = 1;
    return node && !is_known;
}

static int note(struct calls_program *program, uint32_t number, uint64_t now_ns)
{
    struct calls_history_states *states = &program->history;
    const enum state noted = states->states[number], state = state_of(program, number, noted);
    bool is_failed = false;
    if (state == noted)
        return 0;
    const struct store_probe_event row = {.what = state_words[state],
                                          .cause = cause_of(program, number, noted, state)};
    states->states[number] = (uint8_t)state;
    if (calls_history_describe(program, number))
        return SPROF_ENOMEM;
    const bool is_news_of_it = is_news(program, number, &is_failed);
    if (is_failed)
        return SPROF_ENOMEM;
    return noted == NOT_YET && !is_news_of_it ? 0
                                              : calls_history_put(program, number, now_ns, &row);
}

int calls_history_serve(struct calls_program *program)
{
    struct calls_history_states *states = &program->history;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const size_t count = program->probes.count;
    int result = 0;
    if (states->count < count) {
        uint8_t *grown = realloc(states->states, count);
        if (!grown)
            return SPROF_ENOMEM;
        for (size_t i = states->count; i < count; i++)
            grown[i] = NOT_YET;
        states->states = grown;
        states->count = count;
    }
    for (uint32_t i = 0; i < count && !result; i++)
        result = note(program, i, now_ns);
    states->is_begun = true;
    return result;
}

/* == Ranges == */

static struct calls_history_range *find_range(struct calls_history *history, uint32_t number)
{
    for (size_t i = 0; i < history->ranges.count; i++)
        if (history->ranges.items[i].number == number)
            return &history->ranges.items[i];
    return NULL;
}

static int put_range(struct calls_program *program, const struct probing_range *range,
                     const struct calls_history_range *known, uint64_t end_ns)
{
    struct store_selection row = {
        .run_id = program->run->id,
        .number = range->number,
        .start_ns = known->since_ns,
        .end_ns = end_ns,
        .text = range->text,
        .functions = range->sites,
        .cause = known->is_first ? "start" : "command",
    };
    return sprof_vec_push(&recording_batch(program->recording)->selections, row) ? SPROF_ENOMEM : 0;
}

int calls_history_ranges(struct calls_program *program)
{
    struct calls_history *history = &program->all->history;
    const uint64_t now_ns = calls_history_time(program, sprof_clock_monotonic_ns());
    int result = 0;
    for (size_t i = 0; i < program->ranges.count && !result; i++) {
        const struct probing_range *range = &program->ranges.items[i];
        struct calls_history_range *known = find_range(history, range->number);
        if (range->is_on && !known) {
            const bool is_first = !history->has_ranges;
            const struct calls_history_range fresh = {range->number, is_first ? 0 : now_ns,
                                                      is_first};
            history->has_ranges = true;
            result = put_range(program, range, &fresh, 0) || sprof_vec_push(&history->ranges, fresh)
                         ? SPROF_ENOMEM
                         : 0;
        } else if (!range->is_on && known) {
            result = put_range(program, range, known, now_ns);
            *known = history->ranges.items[--history->ranges.count];
        }
    }
    return result;
}

void calls_history_release(struct calls_history *history)
{
    sprof_map_release(&history->probes);
    sprof_vec_release(&history->ranges);
}
