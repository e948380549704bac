/* Finds the function that a person means by a name. */
#include "report/function_search.h"

#include "names/names.h"
#include "report/error_text.h"
#include "report/split_functions.h"

#include <string.h>

enum { CANDIDATES_SHOWN = 6 };

/* "operator()" and "operator<" hold brackets that are part of the name. */
static size_t operator_length(const char *text)
{
    static const char *const operators[] = {
        "operator()",  "operator<<=", "operator<=>", "operator<<", "operator<=", "operator<",
        "operator>>=", "operator>>",  "operator>=",  "operator->", "operator>",
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strncmp(text, operators[i], strlen(operators[i])))
            return strlen(operators[i]);
    return 0;
}

/* "(anonymous namespace)::" is a scope, not a list of parameters. */
static size_t anonymous_length(const char *text)
{
    static const char anonymous[] = "(anonymous namespace)";
    return strncmp(text, anonymous, sizeof anonymous - 1) ? 0 : sizeof anonymous - 1;
}

/* The length of what a bracket encloses, with both brackets; all of the text where it stays open.
 */
static size_t enclosed_length(const char *text, char open, char close)
{
    size_t length = 0, depth = 0;
    do {
        depth += text[length] == open;
        depth -= text[length] == close;
    } while (text[length++] && depth);
    return text[length - 1] ? length : length - 1;
}

/* Where the name goes on behind parameters of an enclosing function, as in
 * "f(int) const::{lambda()#1}"; NULL: the parameters are its own. */
static const char *inside_function(const char *parameters)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "&&", "&"};
    const char *at = parameters + enclosed_length(parameters, '(', ')');
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (!strncmp(at, qualifiers[i], strlen(qualifiers[i])))
            at += strlen(qualifiers[i]);
    return strncmp(at, "::", 2) ? NULL : at;
}

int report_function_bare_name(struct sprof_str *out, const char *name)
{
    size_t angles = 0;
    const size_t start = out->length;
    int result = sprof_str_append(out, "");
    while (*name && !result) {
        const size_t fixed = angles         ? 0
                             : *name == '{' ? enclosed_length(name, '{', '}')
                                            : operator_length(name) + anonymous_length(name);
        const bool ends = *name == '(' && !angles && !fixed && out->length > start;
        const char *inside = ends ? inside_function(name) : NULL;
        if (inside) {
            result = sprof_str_append(out, "()");
            name = inside;
            continue;
        }
        if (fixed) {
            result = sprof_str_append_bytes(out, name, fixed);
            name += fixed;
            continue;
        }
        /* Rust writes "<T as Trait>::f": what stands in front of everything else is kept. */
        if (*name == '<' && out->length > start) {
            angles++;
        } else if (*name == '>' && angles) {
            angles--;
        } else if (ends) {
            break;
        } else if (!angles && *name == ' ' && out->text[start] != '<' && name[1] != '(') {
            out->length = start; /* that was a return type */
        } else if (!angles) {
            result = sprof_str_append_bytes(out, name, 1);
        }
        name++;
    }
    if (out->text)
        out->text[out->length] = '\0';
    return result;
}

static const char *last_part(const char *bare)
{
    const char *part = bare;
    for (const char *at = strstr(bare, "::"); at; at = strstr(at + 2, "::"))
        part = at + 2;
    return part;
}

struct search {
    const struct report_dataset *dataset;
    const char *wanted;
    const char *module; /* NULL: any */
    size_t module_length;
    struct sprof_str bare;
    struct report_function_set found;
};

static bool same(const char *a, const char *b)
{
    return a && !strcmp(a, b);
}

static bool is_name(struct search *search, uint32_t function)
{
    const struct report_function *item = &search->dataset->functions.items[function - 1];
    return same(item->name, search->wanted) || same(item->linkage_name, search->wanted) ||
           same(item->part, search->wanted);
}

static bool is_plain(const char *name, const char *wanted)
{
    return name && report_split_base(name, NULL) == strlen(wanted) &&
           !strncmp(name, wanted, strlen(wanted));
}

static bool is_plain_name(struct search *search, uint32_t function)
{
    const struct report_function *item = &search->dataset->functions.items[function - 1];
    return is_plain(item->name, search->wanted) || is_plain(item->linkage_name, search->wanted);
}

static bool make_bare(struct search *search, uint32_t function)
{
    sprof_str_clear(&search->bare);
    if (report_function_bare_name(&search->bare,
                                  report_dataset_function_name(search->dataset, function)))
        return false;
    if (search->bare.text)
        search->bare.text[report_split_base(search->bare.text, NULL)] = '\0';
    return true;
}

static bool is_bare_name(struct search *search, uint32_t function)
{
    return make_bare(search, function) && same(search->bare.text, search->wanted);
}

static bool is_last_part(struct search *search, uint32_t function)
{
    return make_bare(search, function) && same(last_part(search->bare.text), search->wanted);
}

/* What reports call it, with any detail. */
static bool is_shown_name(struct search *search, uint32_t function)
{
    const char *name = report_dataset_function_name(search->dataset, function);
    for (enum names_detail detail = NAMES_SHORT; detail < NAMES_FULL; detail++) {
        sprof_str_clear(&search->bare);
        if (names_append(&search->bare, name, detail) || !search->bare.text)
            return false;
        if (same(search->bare.text, search->wanted))
            return true;
    }
    return false;
}

static bool in_module(const struct search *search, uint32_t function)
{
    if (!search->module)
        return true;
    const struct report_dataset *dataset = search->dataset;
    const uint32_t id = dataset->facts.items[function - 1].module;
    const struct report_module *module = &dataset->modules.items[id - 1];
    const char *const names[] = {module->name, module->path};
    for (int i = 0; i < 2; i++)
        if (strlen(names[i]) == search->module_length &&
            !memcmp(names[i], search->module, search->module_length))
            return true;
    return false;
}

/* Which functions occur in the tree, themselves or as parts of one that does. */
static bool *mark_present(const struct report_dataset *dataset)
{
    bool *present = calloc(dataset->functions.count + 1, sizeof *present);
    for (size_t i = 0; present && i < dataset->paths.items.count; i++)
        present[dataset->paths.items.items[i].function] = true;
    for (size_t i = 0; present && i < dataset->functions.count; i++)
        if (dataset->functions.items[i].owner)
            present[i + 1] = present[dataset->functions.items[i].owner];
    return present;
}

/* A part stands for its function. */
static int add_found(struct search *search, uint32_t function)
{
    const uint32_t owner = search->dataset->functions.items[function - 1].owner;
    const uint32_t meant = owner ? owner : function;
    for (size_t i = 0; i < search->found.count; i++)
        if (search->found.items[i] == meant)
            return 0;
    return sprof_vec_push(&search->found, meant);
}

/* The most exact way of matching that finds anything. */
static int look(struct search *search, const bool *present)
{
    static bool (*const ways[])(struct search *, uint32_t) = {is_name, is_plain_name, is_bare_name,
                                                              is_shown_name, is_last_part};
    for (size_t way = 0; way < sizeof ways / sizeof *ways && !search->found.count; way++)
        for (uint32_t id = 1; id <= search->dataset->functions.count; id++)
            if (present[id] && in_module(search, id) && ways[way](search, id) &&
                add_found(search, id))
                return SPROF_ENOMEM;
    return 0;
}

static int look_everywhere(struct search *search, const char *wanted, const bool *present)
{
    search->wanted = wanted;
    int result = look(search, present);
    const char *mark = strchr(wanted, '!');
    if (result || search->found.count || !mark)
        return result;
    search->wanted = mark + 1;
    search->module = wanted;
    search->module_length = (size_t)(mark - wanted);
    return look(search, present);
}

static const struct report_module *module_of(const struct search *search, uint32_t function)
{
    const struct report_dataset *dataset = search->dataset;
    return &dataset->modules.items[dataset->facts.items[function - 1].module - 1];
}

/* Parts and copies of one function; in a recording of several runs also those of other builds of
 * its file. */
static bool all_alike(const struct search *search)
{
    const struct report_dataset *dataset = search->dataset;
    const uint32_t first = search->found.items[0];
    const char *name = report_dataset_function_name(dataset, first);
    const size_t length = report_split_base(name, NULL);
    for (size_t i = 1; i < search->found.count; i++) {
        const char *other = report_dataset_function_name(dataset, search->found.items[i]);
        if (report_split_base(other, NULL) != length || strncmp(other, name, length) != 0 ||
            strcmp(module_of(search, search->found.items[i])->path,
                   module_of(search, first)->path) != 0)
            return false;
    }
    return true;
}

/* Whether another module that was found is called the same. */
static bool has_namesake(const struct search *search, const struct report_module *module)
{
    for (size_t i = 0; i < search->found.count; i++) {
        const struct report_module *other = module_of(search, search->found.items[i]);
        if (strcmp(other->path, module->path) != 0 && !strcmp(other->name, module->name))
            return true;
    }
    return false;
}

/* Names of functions as tables show them, each distinct. NULL when out of memory. */
static const char **short_names(const struct search *search, struct sprof_arena *arena,
                                const uint32_t *functions, size_t count)
{
    const char **names = malloc((count + 1) * sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        names[i] = report_dataset_function_name(search->dataset, functions[i]);
    if (names && names_shorten(arena, names, count, names)) {
        free(names);
        return NULL;
    }
    return names;
}

static int say_ambiguous(const struct search *search, const char *wanted, struct sprof_error *error)
{
    struct sprof_str text = {0};
    struct sprof_arena arena = {0};
    const char **names = short_names(search, &arena, search->found.items, search->found.count);
    text.failed = !names;
    sprof_str_appendf(&text, "%zu functions are called '%.100s'; choose: ", search->found.count,
                      wanted);
    for (size_t i = 0; names && i < search->found.count && i < CANDIDATES_SHOWN; i++) {
        const struct report_module *module = module_of(search, search->found.items[i]);
        sprof_str_appendf(&text, "%s'%s!%.120s'", i ? ", " : "",
                          has_namesake(search, module) ? module->path : module->name, names[i]);
    }
    free(names);
    sprof_arena_release(&arena);
    if (search->found.count > CANDIDATES_SHOWN)
        sprof_str_appendf(&text, " or %zu more", search->found.count - CANDIDATES_SHOWN);
    return report_error_text(error, SPROF_EUSAGE, &text);
}

/* Offers each function that occurs, as names are shown where no two need be different.
 * `arena` keeps the names. *holding counts those in the wanted module in which what is searched for
 * occurs. */
static int offer_present(const struct search *search, const bool *present,
                         struct sprof_arena *arena, struct sprof_suggestions *near, size_t *holding)
{
    struct sprof_str shown = {0};
    int result = 0;
    for (uint32_t id = 1; id <= search->dataset->functions.count && !result; id++) {
        if (!present[id])
            continue;
        sprof_str_clear(&shown);
        result =
            names_append(&shown, report_dataset_function_name(search->dataset, id), NAMES_SHORT);
        const char *name = result || !shown.text ? NULL : sprof_arena_text(arena, shown.text);
        if (name)
            sprof_suggest_offer(near, search->wanted, name);
        *holding += name && in_module(search, id) && strstr(name, search->wanted);
    }
    sprof_str_release(&shown);
    return result;
}

/* Whether a name means itself in a shell and as a regular expression. */
static bool is_literal(const char *name)
{
    static const char literal[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:";
    return *name && !name[strspn(name, literal)];
}

/* Reads "FILE" or "FILE:LINE". *line: 0 where there is none. Returns the length of FILE. */
static size_t read_place(const char *text, uint32_t *line)
{
    const char *colon = strrchr(text, ':');
    const bool has_line = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
    *line = has_line ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
    return has_line ? (size_t)(colon - text) : strlen(text);
}

/* Whether a path is `file`, or ends with it below a directory. */
static bool is_file(const char *path, const char *file, size_t length)
{
    const size_t all = path ? strlen(path) : 0;
    return length && all >= length && !memcmp(path + all - length, file, length) &&
           (all == length || path[all - length - 1] == '/');
}

/* The functions at a place: of a file the first that are found, of a line the one that begins last
 * above it. */
static int find_at_place(const struct search *search, const bool *present,
                         struct report_function_set *set)
{
    uint32_t line, best = 0;
    const struct report_function *functions = search->dataset->functions.items;
    const size_t length = read_place(search->wanted, &line);
    for (uint32_t id = 1; id <= search->dataset->functions.count; id++) {
        const struct report_function *function = &functions[id - 1];
        if (!present[id] || function->owner || !is_file(function->file, search->wanted, length))
            continue;
        if (!line && sprof_vec_push(set, id))
            return SPROF_ENOMEM;
        if (line && function->line <= line && (!best || function->line > functions[best - 1].line))
            best = id;
    }
    return best ? sprof_vec_push(set, best) : 0;
}

/* What a person typed is a place in a source file. */
static int say_place(const struct search *search, const struct report_function_set *set,
                     struct sprof_error *error)
{
    struct sprof_str text = {0};
    struct sprof_arena arena = {0};
    uint32_t line;
    read_place(search->wanted, &line);
    const char **names = short_names(search, &arena, set->items, set->count);
    text.failed = !names;
    sprof_str_appendf(&text, "'%.200s' is a %s, and a function is wanted: ", search->wanted,
                      line ? "line" : "file");
    for (size_t i = 0; names && i < set->count && i < CANDIDATES_SHOWN; i++)
        sprof_str_appendf(&text, "%s'%.120s'", i ? ", " : "", names[i]);
    if (set->count > CANDIDATES_SHOWN)
        sprof_str_appendf(&text, " or %zu more", set->count - CANDIDATES_SHOWN);
    sprof_str_appendf(&text, "%s; `sprof report --by line` lists the lines of all",
                      line             ? " begins above it"
                      : set->count > 1 ? " are in it"
                                       : " is in it");
    free(names);
    sprof_arena_release(&arena);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

static int say_unknown(const struct search *search, const bool *present, struct sprof_error *error)
{
    struct report_function_set at_place = {0};
    int result = find_at_place(search, present, &at_place);
    if (result || at_place.count) {
        result = result ? sprof_error_memory(error) : say_place(search, &at_place, error);
        sprof_vec_release(&at_place);
        return result;
    }
    struct sprof_suggestions near = {0};
    struct sprof_arena arena = {0};
    struct sprof_str text = {0};
    size_t holding = 0;
    text.failed = offer_present(search, present, &arena, &near, &holding) != 0;
    sprof_str_appendf(&text,
                      report_counts_calls(search->dataset)
                          ? "no call of a function '%.200s' was counted"
                          : "no sample contains a function '%.200s'",
                      search->wanted);
    sprof_suggest_append(&text, &near);
    if (holding)
        sprof_str_appendf(&text, "; %zu function%s it in the name", holding,
                          holding == 1 ? " has" : "s have");
    if (holding && !search->module && is_literal(search->wanted))
        sprof_str_appendf(
            &text, ": `sprof report -i %s --peek %.200s` shows callers and callees of all",
            search->dataset->recording ? search->dataset->recording : "FILE", search->wanted);
    sprof_arena_release(&arena);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

int report_function_search(const struct report_dataset *dataset, const char *wanted,
                           struct report_function_set *set, struct sprof_error *error)
{
    struct search search = {.dataset = dataset};
    bool *present = mark_present(dataset);
    int result = present ? look_everywhere(&search, wanted, present) : SPROF_ENOMEM;
    if (result)
        result = sprof_error_memory(error);
    else if (!search.found.count)
        result = say_unknown(&search, present, error);
    else if (!all_alike(&search))
        result = say_ambiguous(&search, wanted, error);
    *set = search.found;
    sprof_str_release(&search.bare);
    free(present);
    return result;
}
