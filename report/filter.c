/* Leaves of the stacks what regular expressions and modules say, as pprof does. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "names/names.h"
#include "report/dataset_parts.h"
#include "report/error_text.h"
#include "report/function_search.h"
#include "report/library.h"

#include <pcre2.h>
#include <string.h>

/* Work that one name may take; an expression that backtracks without end is stopped by it. */
enum { MATCH_LIMIT = 200000, DEPTH_LIMIT = 20000, HEAP_LIMIT_KB = 20000 };

/* An expression with the option that gave it. */
struct expression {
    const char *option, *text;
    unsigned filter; /* enum report_filter */
    pcre2_code *code;
};

struct matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static int compile(struct expression *expression, struct sprof_error *error)
{
    int code;
    size_t offset;
    expression->code = pcre2_compile((PCRE2_SPTR)expression->text, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (expression->code)
        return 0;
    if (code == PCRE2_ERROR_NOMEMORY)
        return SPROF_ENOMEM;
    unsigned char message[200];
    pcre2_get_error_message(code, message, sizeof message);
    return sprof_error_set(
        error, SPROF_EUSAGE, 0,
        "--%s '%.200s': %s, at character %zu; write \\ before a character that is "
        "meant as it is",
        expression->option, expression->text, (const char *)message, offset + 1);
}

/* 1, 0, or a negative code. */
static int matches(const struct matcher *matcher, const struct expression *expression,
                   const char *text, struct sprof_error *error)
{
    if (!text)
        return 0;
    const int found = pcre2_match(expression->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0,
                                  PCRE2_NO_UTF_CHECK, matcher->data, matcher->context);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    if (found == PCRE2_ERROR_NOMEMORY)
        return SPROF_ENOMEM;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "--%s '%.200s' takes too long on the name '%.60s': write it without "
                           "repetitions inside repetitions",
                           expression->option, expression->text, text);
}

/* The same of a function's name, and of what reports make of it. */
static int matches_name(const struct matcher *matcher, const struct expression *expression,
                        const char *name, struct sprof_error *error)
{
    struct sprof_str shown = {0};
    int found = matches(matcher, expression, name, error);
    for (enum names_detail detail = NAMES_SHORT; detail < NAMES_FULL && !found; detail++) {
        sprof_str_clear(&shown);
        found = names_append(&shown, name, detail);
        if (!found && (!shown.text || !strcmp(shown.text, name)))
            break;
        if (!found)
            found = matches(matcher, expression, shown.text, error);
    }
    sprof_str_release(&shown);
    return found;
}

/* Sets the filter's bit at each function that the expression finds by name, source file or module.
 */
static int mark_functions(struct report_dataset *dataset, const struct matcher *matcher,
                          const struct expression *expression, struct sprof_error *error)
{
    int *in_module = calloc(dataset->modules.count + 1, sizeof *in_module);
    int found = in_module ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->modules.count && found >= 0; i++)
        found = in_module[i] = matches(matcher, expression, dataset->modules.items[i].path, error);
    for (size_t i = 0; i < dataset->functions.count && found >= 0; i++) {
        const struct report_function *function = &dataset->functions.items[i];
        found = in_module[dataset->facts.items[i].module - 1];
        if (!found)
            found = matches_name(matcher, expression, function->name, error);
        if (!found)
            found = matches(matcher, expression, function->file, error);
        if (!found && function->part)
            found = matches(matcher, expression, function->part, error);
        if (found > 0)
            dataset->chosen.function_filters[(function->owner ? function->owner : i + 1) - 1] |=
                (uint8_t)expression->filter;
    }
    free(in_module);
    return found < 0 ? found : 0;
}

/* "[kernel]" is a name, though it reads like one letter of six. */
static bool is_meant(const char *glob, const char *name)
{
    return !strcmp(glob, name) || model_path_matches(glob, name);
}

static int mark_modules(struct report_dataset *dataset, const char *glob, struct sprof_error *error)
{
    struct sprof_suggestions near = {0};
    bool any = false;
    for (size_t i = 0; i < dataset->functions.count; i++) {
        const struct report_module *module =
            &dataset->modules.items[dataset->facts.items[i].module - 1];
        if (is_meant(glob, module->name) || is_meant(glob, module->path)) {
            dataset->chosen.function_filters[i] |= REPORT_IN_MODULE;
            any = true;
        } else {
            sprof_suggest_offer(&near, glob, module->name);
        }
    }
    struct sprof_str text = {0};
    if (any)
        return 0;
    sprof_str_append(&text, "");
    sprof_suggest_append(&text, &near);
    sprof_error_set(error, SPROF_ENOTFOUND, 0, "no module is called '%.200s'%.600s", glob,
                    text.text ? text.text : "");
    sprof_str_release(&text);
    return SPROF_ENOTFOUND;
}

/* Start-up code is the C library's, also where it is linked into the program. */
static bool is_standard(const struct report_dataset *dataset, size_t function)
{
    const struct model_function *facts = &dataset->facts.items[function];
    return facts->startup ||
           report_module_is_standard(dataset->modules.items[facts->module - 1].name) ||
           report_name_is_standard(dataset->functions.items[function].name);
}

bool report_dataset_is_own(const struct report_dataset *dataset, uint32_t function)
{
    return dataset->facts.items[function - 1].kind == MODEL_KIND_APP &&
           dataset->functions.items[function - 1].named && !is_standard(dataset, function - 1);
}

static void mark_standard(struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->functions.count; i++) {
        const uint32_t owner = dataset->functions.items[i].owner;
        const enum model_kind kind =
            dataset->modules.items[dataset->facts.items[i].module - 1].kind;
        if (kind != MODEL_KIND_NONE && kind != MODEL_KIND_KERNEL && is_standard(dataset, i))
            dataset->chosen.function_filters[(owner ? owner : i + 1) - 1] |= REPORT_STANDARD;
    }
    for (size_t i = 0; i < dataset->paths.items.count; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        if (!(dataset->chosen.function_filters[path->function - 1] & REPORT_STANDARD))
            continue;
        dataset->apart.standard.samples += path->costs.exclusive.samples;
        dataset->apart.standard.weight += path->costs.exclusive.weight;
    }
}

static int matcher_open(struct matcher *matcher)
{
    *matcher = (struct matcher){pcre2_match_data_create(1, NULL), pcre2_match_context_create(NULL)};
    if (!matcher->data || !matcher->context)
        return SPROF_ENOMEM;
    pcre2_set_match_limit(matcher->context, MATCH_LIMIT);
    pcre2_set_depth_limit(matcher->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(matcher->context, HEAP_LIMIT_KB);
    return 0;
}

static void matcher_close(struct matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
}

/* Says which names are near to what is in none. */
static int say_none(const char *const *names, size_t count, const char *option, const char *text,
                    struct sprof_error *error)
{
    struct sprof_suggestions near = {0};
    struct sprof_arena arena = {0};
    struct sprof_str shown = {0}, message = {0};
    for (size_t i = 0; i < count; i++) {
        sprof_str_clear(&shown);
        const char *name = !names[i] || names_append(&shown, names[i], NAMES_SHORT) || !shown.text
                               ? NULL
                               : sprof_arena_text(&arena, shown.text);
        if (name)
            sprof_suggest_offer(&near, text, name);
    }
    sprof_str_appendf(&message, "no function has a name in which --%s '%.200s' is found", option,
                      text);
    sprof_suggest_append(&message, &near);
    sprof_str_release(&shown);
    sprof_arena_release(&arena);
    return report_error_text(error, SPROF_ENOTFOUND, &message);
}

int report_names_matching(const char *const *names, size_t count, const char *option,
                          const char *text, struct report_function_set *set,
                          struct sprof_error *error)
{
    struct expression expression = {option, text, 0, NULL};
    struct matcher matcher;
    int found = matcher_open(&matcher);
    if (!found)
        found = compile(&expression, error);
    for (size_t i = 0; i < count && found >= 0; i++) {
        found = matches_name(&matcher, &expression, names[i], error);
        if (found > 0 && sprof_vec_push(set, (uint32_t)i + 1))
            found = SPROF_ENOMEM;
    }
    pcre2_code_free(expression.code);
    matcher_close(&matcher);
    if (found >= 0 && !set->count)
        return say_none(names, count, option, text, error);
    return found < 0 ? found : 0;
}

int report_functions_matching(const struct report_dataset *dataset, const char *option,
                              const char *text, struct report_function_set *set,
                              struct sprof_error *error)
{
    const size_t count = dataset->functions.count;
    const char **names = malloc((count + 1) * sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        names[i] = dataset->functions.items[i].name;
    const int result =
        names ? report_names_matching(names, count, option, text, set, error) : SPROF_ENOMEM;
    free(names);
    return result;
}

static int mark(struct report_dataset *dataset, const struct report_selection *selection,
                struct sprof_error *error)
{
    struct expression expressions[] = {
        {"focus", selection->focus, REPORT_FOCUS, NULL},
        {"ignore", selection->ignore, REPORT_IGNORE, NULL},
        {"hide", selection->hide, REPORT_HIDE, NULL},
        {"show-from", selection->show_from, REPORT_SHOW_FROM, NULL},
    };
    struct matcher matcher;
    int result = matcher_open(&matcher);
    dataset->chosen.function_filters = calloc(dataset->functions.count + 1, 1);
    result = dataset->chosen.function_filters ? result : SPROF_ENOMEM;
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions && !result; i++) {
        if (!expressions[i].text)
            continue;
        dataset->chosen.filters |= expressions[i].filter;
        result = compile(&expressions[i], error);
        if (!result)
            result = mark_functions(dataset, &matcher, &expressions[i], error);
        pcre2_code_free(expressions[i].code);
    }
    if (!result && selection->module) {
        dataset->chosen.filters |= REPORT_IN_MODULE;
        result = mark_modules(dataset, selection->module, error);
    }
    if (!result && selection->no_standard) {
        dataset->chosen.filters |= REPORT_STANDARD;
        mark_standard(dataset);
    }
    matcher_close(&matcher);
    return result;
}

/* A path while the tree is filtered; [id], 0 stands above all roots. A stack is left with the
 * functions of the program alone, or, where it has none, as a whole: so there are two copies. */
struct filter_walk {
    uint32_t copies[2]; /* in the new tree: of the program's functions, and of whole stacks */
    uint32_t own, any;  /* the innermost one left: of the program, of all; 0: none */
    uint8_t seen;       /* filters of the functions from the root to here */
    bool visible;       /* it is not taken out by an expression */
    bool standard;      /* it counts for what called it */
    bool needed[2];     /* samples that stay pass through */
};

static uint32_t left_of(const struct filter_walk *walk)
{
    return walk->own ? walk->own : walk->any;
}

static bool stays(const struct report_dataset *dataset, const struct filter_walk *walk)
{
    const unsigned wanted = dataset->chosen.filters & (REPORT_FOCUS | REPORT_SHOW_FROM);
    const uint32_t function = left_of(walk);
    if (!function || walk->seen & REPORT_IGNORE || (walk->seen & wanted) != wanted)
        return false;
    return !(dataset->chosen.filters & REPORT_IN_MODULE) ||
           dataset->chosen.function_filters[function - 1] & REPORT_IN_MODULE;
}

static void look_at(const struct report_dataset *dataset, struct filter_walk *walks,
                    const struct model_path *path)
{
    const struct filter_walk *parent = &walks[path->parent];
    struct filter_walk *walk = &walks[path->id];
    const uint8_t own = dataset->chosen.function_filters[path->function - 1];
    const bool hidden = own & REPORT_HIDE;
    walk->seen = parent->seen | (own & (REPORT_FOCUS | REPORT_IGNORE)) |
                 (hidden ? 0 : own & REPORT_SHOW_FROM);
    walk->visible =
        !hidden && (!(dataset->chosen.filters & REPORT_SHOW_FROM) || walk->seen & REPORT_SHOW_FROM);
    walk->standard = own & REPORT_STANDARD;
    walk->any = walk->visible ? path->function : parent->any;
    walk->own = walk->visible && !walk->standard ? path->function : parent->own;
}

static int copy_path(struct model_paths *out, const struct filter_walk *parent,
                     struct filter_walk *walk, uint32_t function)
{
    int result = 0;
    for (size_t whole = 0; whole < 2 && !result; whole++) {
        walk->copies[whole] = parent->copies[whole];
        if (walk->needed[whole] && walk->visible && (whole || !walk->standard))
            result = model_paths_child(out, parent->copies[whole], function, &walk->copies[whole]);
    }
    return result;
}

static int filter_tree(const struct report_dataset *dataset, struct model_paths *out)
{
    const struct model_paths *paths = &dataset->paths;
    struct filter_walk *walks = calloc(paths->items.count + 1, sizeof *walks);
    int result = walks ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < paths->items.count && !result; i++)
        look_at(dataset, walks, &paths->items.items[i]);
    for (size_t i = paths->items.count; i-- > 0 && !result;) {
        const struct model_path *path = &paths->items.items[i];
        const struct model_cost own = path->costs.exclusive;
        struct filter_walk *walk = &walks[path->id], *parent = &walks[path->parent];
        if ((own.samples || own.weight) && stays(dataset, walk))
            walk->needed[!walk->own] = true;
        for (size_t whole = 0; whole < 2; whole++)
            parent->needed[whole] = parent->needed[whole] || walk->needed[whole];
    }
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        struct filter_walk *walk = &walks[path->id];
        result = copy_path(out, &walks[path->parent], walk, path->function);
        const uint32_t copy = walk->copies[!walk->own];
        if (!result && copy && stays(dataset, walk))
            model_paths_add(out, copy, path->costs.exclusive);
    }
    free(walks);
    model_paths_sum(out);
    return result;
}

int report_dataset_filter_costs(struct report_dataset *dataset)
{
    enum { UNKNOWN, STAYS, GOES };
    struct report_stack stack = {0};
    size_t kept = 0;
    int result = 0;
    if (!dataset->chosen.filters)
        return 0;
    if (!dataset->node_stays && !(dataset->node_stays = calloc(dataset->nodes.count + 1, 1)))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        uint8_t *stays = &dataset->node_stays[dataset->costs.items[i].node - 1];
        if (*stays == UNKNOWN) {
            result = report_dataset_stack(dataset, dataset->costs.items[i].node, &stack);
            *stays = stack.frames.count ? STAYS : GOES;
        }
        if (*stays == STAYS)
            dataset->costs.items[kept++] = dataset->costs.items[i];
    }
    dataset->costs.count = kept;
    sprof_vec_release(&stack.frames);
    return result;
}

int report_dataset_filter(struct report_dataset *dataset, const struct report_selection *selection,
                          struct sprof_error *error)
{
    struct model_paths paths = {0};
    const double before = (double)dataset->total.samples;
    if (!selection->focus && !selection->ignore && !selection->hide && !selection->show_from &&
        !selection->module && !selection->no_standard)
        return 0;
    if (selection->no_standard && report_counts_calls(dataset))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--no-std is for samples: numbers of calls cannot be added to those "
                               "of the callers; --hide leaves functions out");
    int result = mark(dataset, selection, error);
    if (!result)
        result = filter_tree(dataset, &paths);
    if (result) {
        model_paths_release(&paths);
        return result;
    }
    model_paths_release(&dataset->paths);
    dataset->paths = paths;
    dataset->path_inlined.count = 0;
    report_dataset_total(dataset);
    if (before > 0)
        dataset->effective_samples *= (double)dataset->total.samples / before;
    return report_dataset_filter_costs(dataset);
}
