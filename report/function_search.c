#include "report/function_search.h"

#include "report/error_text.h"
#include "report/near.h"

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

int report_function_bare_name(struct sprof_str *out, const char *name)
{
    size_t angles = 0;
    const size_t start = out->length;
    int result = sprof_str_append(out, "");
    while (*name && !result) {
        const size_t fixed = operator_length(name) + anonymous_length(name);
        if (fixed && !angles) {
            result = sprof_str_append_bytes(out, name, fixed);
            name += fixed;
            continue;
        }
        /* Rust writes "<T as Trait>::f": what stands in front of everything else is kept. */
        if (*name == '<' && out->length > start) {
            angles++;
        } else if (*name == '>' && angles) {
            angles--;
        } else if (!angles && *name == '(' && out->length > start) {
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
    struct profile *profile;
    const char *wanted;
    const char *module; /* NULL: any */
    size_t module_length;
    struct sprof_str bare;
    SPROF_VEC(uint32_t) found;
};

static bool same(const char *a, const char *b)
{
    return a && !strcmp(a, b);
}

static bool is_name(struct search *search, uint32_t function)
{
    const struct profile_function *item = &search->profile->functions.items[function - 1];
    return same(item->name, search->wanted) || same(item->linkage_name, search->wanted);
}

static bool make_bare(struct search *search, uint32_t function)
{
    sprof_str_clear(&search->bare);
    return !report_function_bare_name(&search->bare,
                                      profile_function_name(search->profile, function));
}

static bool is_bare_name(struct search *search, uint32_t function)
{
    return make_bare(search, function) && same(search->bare.text, search->wanted);
}

static bool is_last_part(struct search *search, uint32_t function)
{
    return make_bare(search, function) && same(last_part(search->bare.text), search->wanted);
}

static bool in_module(const struct search *search, uint32_t function)
{
    if (!search->module)
        return true;
    const struct profile *profile = search->profile;
    const uint32_t id = profile->facts.items[function - 1].module;
    const struct profile_module *module = &profile->modules.items[id - 1];
    const char *const names[] = {module->name, module->path};
    for (int i = 0; i < 2; i++)
        if (strlen(names[i]) == search->module_length &&
            !memcmp(names[i], search->module, search->module_length))
            return true;
    return false;
}

/* Which functions occur in the tree. */
static bool *mark_present(const struct profile *profile)
{
    bool *present = calloc(profile->functions.count + 1, sizeof *present);
    for (size_t i = 0; present && i < profile->paths.items.count; i++)
        present[profile->paths.items.items[i].function] = true;
    return present;
}

/* The most exact way of matching that finds anything. */
static int look(struct search *search, const bool *present)
{
    static bool (*const ways[])(struct search *, uint32_t) = {is_name, is_bare_name, is_last_part};
    for (size_t way = 0; way < sizeof ways / sizeof *ways && !search->found.count; way++)
        for (uint32_t id = 1; id <= search->profile->functions.count; id++)
            if (present[id] && in_module(search, id) && ways[way](search, id) &&
                sprof_vec_push(&search->found, id))
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

static bool all_alike(const struct search *search)
{
    const struct profile *profile = search->profile;
    const uint32_t first = search->found.items[0];
    for (size_t i = 1; i < search->found.count; i++)
        if (strcmp(profile_function_name(profile, search->found.items[i]),
                   profile_function_name(profile, first)) ||
            profile->facts.items[search->found.items[i] - 1].module !=
                profile->facts.items[first - 1].module)
            return false;
    return true;
}

/* Static functions of one name in several files, or the parts a compiler split one into. */
static int unite(const struct search *search)
{
    struct model_paths *old = &search->profile->paths, united = {0};
    uint32_t *moved = calloc(old->items.count + 1, sizeof *moved);
    int result = moved ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < old->items.count && !result; i++) {
        const struct model_path *path = &old->items.items[i];
        uint32_t function = path->function;
        for (size_t k = 1; k < search->found.count; k++)
            if (function == search->found.items[k])
                function = search->found.items[0];
        result = model_paths_child(&united, moved[path->parent], function, &moved[path->id]);
        if (!result)
            model_paths_add(&united, moved[path->id], path->costs.exclusive);
    }
    free(moved);
    if (result) {
        model_paths_release(&united);
        return result;
    }
    model_paths_sum(&united);
    model_paths_release(old);
    *old = united;
    return 0;
}

static int say_ambiguous(const struct search *search, const char *wanted, struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%zu functions are called '%.100s'; choose: ", search->found.count,
                      wanted);
    for (size_t i = 0; i < search->found.count && i < CANDIDATES_SHOWN; i++)
        sprof_str_appendf(&text, "%s'%.40s!%.80s'", i ? ", " : "",
                          profile_module_name(search->profile, search->found.items[i]),
                          profile_function_name(search->profile, search->found.items[i]));
    if (search->found.count > CANDIDATES_SHOWN)
        sprof_str_appendf(&text, " or %zu more", search->found.count - CANDIDATES_SHOWN);
    return report_error_text(error, SPROF_EUSAGE, &text);
}

static int say_unknown(const struct search *search, const bool *present, struct sprof_error *error)
{
    struct near_names near = {0};
    const struct profile *profile = search->profile;
    for (uint32_t id = 1; id <= profile->functions.count; id++)
        if (present[id])
            near_offer(&near, search->wanted, profile_function_name(profile, id));
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "no sample contains a function '%.200s'", search->wanted);
    near_append(&text, &near);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

int report_function_search(struct profile *profile, const char *wanted, uint32_t *function,
                           struct sprof_error *error)
{
    struct search search = {.profile = profile};
    bool *present = mark_present(profile);
    int result = present ? look_everywhere(&search, wanted, present) : SPROF_ENOMEM;
    if (result)
        result = sprof_error_memory(error);
    else if (!search.found.count)
        result = say_unknown(&search, present, error);
    else if (!all_alike(&search))
        result = say_ambiguous(&search, wanted, error);
    else if (search.found.count > 1 && unite(&search))
        result = sprof_error_memory(error);
    if (!result)
        *function = search.found.items[0];
    sprof_vec_release(&search.found);
    sprof_str_release(&search.bare);
    free(present);
    return result;
}
