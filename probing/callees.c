/* Finds callees by direct calls and jumps, and through GOT slots. Calls through registers or data
 * count as open. */
#include "probing/callees.h"
#include "names/names.h"
#include "plan/plan.h"
#include "probing/program.h"

#include <stdlib.h>
#include <string.h>

enum {
    WITHOUT_END = 255, /* wanted levels + 1; 0: not wanted */
    LEVELS_MOST = 253,
    NAMES_SHOWN = 6,
};

struct position {
    uint32_t file, function;
};

struct probing_callees {
    struct probing_program *program;
    SPROF_VEC(uint8_t *) levels; /* by file and function */
    SPROF_VEC(struct position) waiting;
    struct sprof_map by_name;  /* hash of linkage name → by_address */
    struct sprof_map by_start; /* address → by_address */
    SPROF_VEC(struct position) by_address;
    SPROF_VEC(uint8_t *)
    probed; /* by file and function; empty: no callee is replaced */
};

/* == Looking up == */

static const struct plan_function *function_at(const struct probing_callees *callees,
                                               struct position position)
{
    return &callees->program->files.items[position.file].plan.functions[position.function];
}

static int list_functions(struct probing_callees *callees)
{
    const struct probing_program *program = callees->program;
    for (uint32_t f = 0; f < program->files.count; f++) {
        const struct probing_file *file = &program->files.items[f];
        uint8_t *levels = calloc(file->plan.function_count + 1, 1);
        if (!levels || sprof_vec_push(&callees->levels, levels)) {
            free(levels);
            return SPROF_ENOMEM;
        }
        for (uint32_t i = 0; i < file->plan.function_count; i++) {
            const struct plan_function *function = &file->plan.functions[i];
            const struct position position = {f, i};
            const uint64_t number = callees->by_address.count;
            if (sprof_vec_push(&callees->by_address, position) ||
                sprof_map_put(&callees->by_start, file->bias + function->start, number))
                return SPROF_ENOMEM;
            const char *name = function->linkage_name;
            if (!name || !file->is_chosen)
                continue;
            const uint64_t key = sprof_hash_bytes(name, strcspn(name, "@"));
            if (!sprof_map_get(&callees->by_name, key) &&
                sprof_map_put(&callees->by_name, key, number))
                return SPROF_ENOMEM;
        }
    }
    return 0;
}

/* Callees replace a function without a probe. */
static bool is_passed_through(const struct probing_callees *callees, struct position position)
{
    return callees->probed.count && !callees->probed.items[position.file][position.function] &&
           callees->program->files.items[position.file].is_chosen;
}

static int want(struct probing_callees *callees, struct position position, uint8_t level)
{
    level = (uint8_t)(level + is_passed_through(callees, position));
    uint8_t *known = &callees->levels.items[position.file][position.function];
    if (*known >= level)
        return 0;
    *known = level;
    return sprof_vec_push(&callees->waiting, position) ? SPROF_ENOMEM : 0;
}

static int want_address(struct probing_callees *callees, uint64_t address, uint8_t level)
{
    const uint64_t *number = sprof_map_get(&callees->by_start, address);
    return number ? want(callees, callees->by_address.items[*number], level) : 0;
}

static int want_name(struct probing_callees *callees, const char *name, uint8_t level)
{
    const uint64_t *number =
        sprof_map_get(&callees->by_name, sprof_hash_bytes(name, strcspn(name, "@")));
    return number ? want(callees, callees->by_address.items[*number], level) : 0;
}

/* == Following == */

/* Until the loader fills the slot, the symbol's name identifies the function. */
static int follow_slot(struct probing_callees *callees, const struct probing_file *file,
                       const struct plan_callee *callee, uint8_t level)
{
    uint64_t target = 0;
    const bool is_read =
        target_read_memory(callees->program->process.pid, file->bias + callee->address, &target,
                           sizeof target) == sizeof target;
    if (is_read && sprof_map_get(&callees->by_start, target))
        return want_address(callees, target, level);
    return callee->imported ? want_name(callees, callee->imported, level) : 0;
}

/* A split-off part belongs to its function's level. */
static int follow(struct probing_callees *callees, struct position position)
{
    const struct probing_file *file = &callees->program->files.items[position.file];
    const struct plan_function *function = function_at(callees, position);
    const uint8_t level = callees->levels.items[position.file][position.function];
    int result = 0;
    for (uint32_t i = 0; i < function->callees && level > 1 && !result; i++) {
        const struct plan_callee *callee = &file->plan.callees[function->first_callee + i];
        const struct plan_function *part =
            callee->is_slot ? NULL : plan_find(&file->plan, callee->address);
        const bool is_part = part && part->why == PLAN_PART;
        const uint8_t below = level == WITHOUT_END || is_part ? level : (uint8_t)(level - 1);
        if (callee->is_slot)
            result = follow_slot(callees, file, callee, below);
        else if (part)
            result = want_address(callees, file->bias + part->start, below);
    }
    return result;
}

/* == Roots == */

/* Splits "RE:DEPTH". A name may contain "::". */
static char *cut_depth(struct probing_program *program, const char *text, uint8_t *level)
{
    char *expression = sprof_arena_text(&program->arena, text);
    char *colon = expression ? strrchr(expression, ':') : NULL;
    *level = WITHOUT_END;
    if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        (colon > expression && colon[-1] == ':'))
        return expression;
    const unsigned long depth = strtoul(colon + 1, NULL, 10);
    *level = (uint8_t)(depth > LEVELS_MOST ? WITHOUT_END : depth + 1);
    *colon = '\0';
    return expression;
}

static int add_roots(struct probing_callees *callees, const char *text, bool must_find,
                     struct sprof_error *error)
{
    const struct probing_program *program = callees->program;
    struct plan_expressions *expressions = NULL;
    struct sprof_suggestions near = {0};
    size_t seen = 0, nameless = 0, found = 0;
    uint8_t level;
    const char *expression = cut_depth(callees->program, text, &level);
    int result = expression ? plan_expressions_make(&expressions, &expression, 1, error)
                            : sprof_error_memory(error);
    for (size_t n = 0; n < callees->by_address.count && !result; n++) {
        const struct position position = callees->by_address.items[n];
        const struct plan_function *function = function_at(callees, position);
        if (!program->files.items[position.file].is_chosen || !plan_is_true_start(function))
            continue;
        const int matches = plan_expressions_match(expressions, function, error);
        seen++;
        nameless += !plan_has_name(function);
        found += matches > 0;
        if (matches < 0)
            result = matches;
        else if (!matches && must_find)
            sprof_suggest_offer(&near, expression, function->name);
        else if (matches && want(callees, position, level))
            result = sprof_error_memory(error);
    }
    plan_expressions_free(expressions);
    if (result || found || !must_find)
        return result;
    struct sprof_str names = {0};
    sprof_suggest_append(&names, &near);
    plan_append_nameless(&names, nameless, seen);
    result = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                             "--children-of '%.200s' finds none of %zu function%s%.300s", text,
                             seen, sprof_plural(seen), names.text ? names.text : "");
    sprof_str_release(&names);
    return result;
}

static int mark_probed(struct probing_callees *callees)
{
    const struct probing_program *program = callees->program;
    for (size_t f = 0; f < program->files.count; f++) {
        const struct probing_file *file = &program->files.items[f];
        uint8_t *probed = calloc(file->plan.function_count + 1, 1);
        if (!probed || sprof_vec_push(&callees->probed, probed)) {
            free(probed);
            return SPROF_ENOMEM;
        }
        for (size_t i = file->first; i < file->first + file->count; i++) {
            const struct probing_probe *probe = &program->probes.items[i];
            probed[probe->function - file->plan.functions] = probe->is_chosen || probe->is_spare;
        }
    }
    return 0;
}

static int begin(struct probing_callees **out, struct probing_program *program)
{
    struct probing_callees *callees = *out = calloc(1, sizeof *callees);
    if (!callees)
        return SPROF_ENOMEM;
    callees->program = program;
    return list_functions(callees);
}

static int follow_all(struct probing_callees *callees)
{
    int result = 0;
    while (callees->waiting.count && !result)
        result = follow(callees, callees->waiting.items[--callees->waiting.count]);
    return result;
}

const char *probing_callees_expression(struct probing_program *program, const char *text)
{
    uint8_t level;
    return cut_depth(program, text, &level);
}

int probing_callees_find(struct probing_callees **out, struct probing_program *program,
                         const char *const *roots, size_t count, bool must_find,
                         struct sprof_error *error)
{
    int result = begin(out, program) ? sprof_error_memory(error) : 0;
    for (size_t i = 0; i < count && !result; i++)
        result = add_roots(*out, roots[i], must_find, error);
    if (!result && follow_all(*out))
        result = sprof_error_memory(error);
    return result;
}

/* Also counts slots without a symbol, which may hold data. */
static uint32_t open_calls(const struct probing_file *file, const struct plan_function *function)
{
    uint32_t open = function->open_calls;
    for (uint32_t i = 0; i < function->callees; i++) {
        const struct plan_callee *callee = &file->plan.callees[function->first_callee + i];
        open += callee->is_slot && !callee->imported;
    }
    return open;
}

int probing_callees_of(struct probing_callees **out, struct probing_program *program, uint32_t file,
                       size_t function, bool *open, bool *foreign)
{
    const struct position position = {file, (uint32_t)function};
    int result = begin(out, program);
    struct probing_callees *callees = *out;
    if (!result)
        result = mark_probed(callees);
    if (!result)
        result = want(callees, position, 2);
    if (!result)
        result = follow_all(callees);
    *open = *foreign = false;
    for (size_t n = 0; n < (result ? 0 : callees->by_address.count); n++) {
        const struct position at = callees->by_address.items[n];
        const struct probing_file *of = &program->files.items[at.file];
        if (!of->is_chosen || callees->levels.items[at.file][at.function] < 2)
            continue;
        *open |= open_calls(of, function_at(callees, at)) > 0;
        *foreign |= function_at(callees, at)->foreign_calls > 0;
    }
    return result;
}

int probing_callees_called(struct probing_callees **out, struct probing_program *program)
{
    int result = begin(out, program);
    struct probing_callees *callees = *out;
    for (size_t f = 0; f < program->files.count && !result; f++) {
        const struct probing_file *file = &program->files.items[f];
        for (size_t i = 0; i < file->plan.callee_count && !result; i++) {
            const struct plan_callee *callee = &file->plan.callees[i];
            result = callee->is_slot
                         ? callee->imported ? want_name(callees, callee->imported, 1) : 0
                         : want_address(callees, file->bias + callee->address, 1);
        }
    }
    return result;
}

bool probing_callees_wants(const struct probing_callees *callees, uint32_t file, size_t function)
{
    return callees && callees->levels.items[file][function];
}

/* == What is left open == */

void probing_callees_report_open(const struct probing_callees *callees)
{
    const struct probing_program *program = callees->program;
    struct sprof_str names = {0};
    size_t functions = 0, calls = 0;
    for (size_t n = 0; n < callees->by_address.count; n++) {
        const struct position position = callees->by_address.items[n];
        const struct probing_file *file = &program->files.items[position.file];
        const struct plan_function *function = function_at(callees, position);
        /* the last level's callees do not count */
        const uint32_t open =
            file->is_chosen && callees->levels.items[position.file][position.function] > 1
                ? open_calls(file, function)
                : 0;
        if (!open)
            continue;
        calls += open;
        if (functions++ < NAMES_SHOWN)
            sprof_str_appendf(&names, "%s%.100s (%u)", functions > 1 ? ", " : "",
                              names_screen_show(program->options.names, function->name), open);
    }
    if (calls)
        sprof_log_message(program->options.log, SPROF_LOG_NOTE,
                          "%zu indirect call%s in %zu function%s lead%s where --children-of cannot "
                          "see: %s%s; name what %s with --function",
                          calls, sprof_plural(calls), functions, sprof_plural(functions),
                          calls == 1 ? "s" : "", names.text ? names.text : "",
                          functions > NAMES_SHOWN ? ", …" : "",
                          functions == 1 ? "it calls" : "they call");
    sprof_str_release(&names);
}

void probing_callees_free(struct probing_callees *callees)
{
    if (!callees)
        return;
    for (size_t i = 0; i < callees->levels.count; i++)
        free(callees->levels.items[i]);
    for (size_t i = 0; i < callees->probed.count; i++)
        free(callees->probed.items[i]);
    sprof_vec_release(&callees->probed);
    sprof_vec_release(&callees->levels);
    sprof_vec_release(&callees->waiting);
    sprof_vec_release(&callees->by_address);
    sprof_map_release(&callees->by_name);
    sprof_map_release(&callees->by_start);
    free(callees);
}
