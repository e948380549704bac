/* Finds the function to which each part or copy that a compiler made belongs. */
#include "report/split_functions.h"

#include <ctype.h>
#include <string.h>

/* == Names == */

/* What compilers append: ".WORD.N", or ".WORD" where a number may be missing. */
static const struct suffix {
    const char *word;
    bool bare;
    bool called; /* the function calls such code where its number is not 0 or the word never bare */
} suffixes[] = {
    /* GCC and LLVM's splitter of machine code jump to ".cold", BOLT jumps to ".cold.0"; LLVM's
     * splitter of cold regions calls ".cold.1" and further ones. */
    {"cold", true, true},        {"part", false, true},  {"__part", false, false},
    {"constprop", false, false}, {"isra", false, false}, {"specialized", false, false},
    {"lto_priv", false, false},  {"llvm", false, false}, {"__uniq", false, false},
};

/* Takes the last suffix off `length` characters where it begins at `from` or behind. */
static bool take_suffix(const char *name, size_t from, size_t *length, unsigned *called_parts)
{
    size_t number = *length;
    while (number > from && isdigit((unsigned char)name[number - 1]))
        number--;
    const bool numbered = number > from && number < *length && name[number - 1] == '.';
    const bool is_zero = numbered && *length - number == 1 && name[number] == '0';
    const size_t end = numbered ? number - 1 : *length;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const struct suffix *suffix = &suffixes[i];
        const size_t size = strlen(suffix->word) + 1;
        if (end < from + size || name[end - size] != '.' || (!numbered && !suffix->bare) ||
            memcmp(name + end - size + 1, suffix->word, size - 1) != 0)
            continue;
        *called_parts += suffix->called && numbered && !(suffix->bare && is_zero);
        *length = end - size;
        return true;
    }
    return false;
}

/* The same of " [clone .WORD.N]", as demanglers write it; all between the brackets must be such. */
static bool take_clone(const char *name, size_t *length, unsigned *called_parts)
{
    static const char mark[] = " [clone ";
    enum { MARK = sizeof mark - 1 };
    size_t end = *length - 1, open = end;
    while (open && name[open] != '[')
        open--;
    if (open < 2 || end - open < MARK - 1 || memcmp(name + open - 1, mark, MARK) != 0)
        return false;
    const size_t begin = open - 1 + MARK;
    if (begin >= end)
        return false;
    while (end > begin && take_suffix(name, begin, &end, called_parts))
        ;
    if (end > begin)
        return false;
    *length = open - 1;
    return true;
}

size_t report_split_base(const char *name, unsigned *called_parts)
{
    size_t length = strlen(name);
    unsigned called = 0;
    while (length && (name[length - 1] == ']' ? take_clone(name, &length, &called)
                                              : take_suffix(name, 1, &length, &called)))
        ;
    if (called_parts)
        *called_parts = called;
    return length;
}

/* == Functions == */

/* A function that bears the suffix of a part or copy. */
struct split {
    uint32_t function;
    uint32_t next; /* of the same base name in the same module, by index + 1; 0: the last */
    size_t length; /* of its base name */
    bool apart;    /* nothing says whose part it is */
};

/* A function that bears a base name itself. */
struct plain {
    uint32_t function, next;
};

/* All of one base name in one module; the lists are of indexes + 1. */
struct group {
    uint32_t splits, last_split, plains;
    size_t count;
};

struct joining {
    struct report_dataset *dataset;
    bool *dotted;            /* [module]: its language writes dots into names, as Go does */
    struct sprof_map groups; /* module and base name → index + 1 */
    SPROF_VEC(struct split) splits;
    SPROF_VEC(struct plain) plains;
    SPROF_VEC(struct group) group_items;
};

static bool ends_with(const char *text, const char *end)
{
    const size_t length = text ? strlen(text) : 0, size = strlen(end);
    return length >= size && !strcmp(text + length - size, end);
}

/* Languages that write "module.function". */
static bool is_dotted_source(const char *file)
{
    static const char *const ends[] = {".go", ".zig", ".ml", ".hs", ".cr", ".py", ".rb"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(file, ends[i]))
            return true;
    return false;
}

static int find_dotted(struct joining *joining)
{
    const struct report_dataset *dataset = joining->dataset;
    joining->dotted = calloc(dataset->modules.count + 1, sizeof *joining->dotted);
    for (size_t i = 0; joining->dotted && i < dataset->functions.count; i++) {
        const struct report_function *function = &dataset->functions.items[i];
        if (is_dotted_source(function->file) || !strncmp(function->name, "runtime.", 8))
            joining->dotted[dataset->facts.items[i].module] = true;
    }
    return joining->dotted ? 0 : SPROF_ENOMEM;
}

/* Whether a compiler of C, C++ or the like may have made the symbol of this function. */
static bool may_be_split(const struct joining *joining, size_t i)
{
    const struct model_function *facts = &joining->dataset->facts.items[i];
    const char *file = joining->dataset->functions.items[i].file;
    if (facts->kind == MODEL_KIND_JIT || facts->kind == MODEL_KIND_NONE || is_dotted_source(file))
        return false;
    return file || !joining->dotted[facts->module];
}

static uint64_t base_key(const struct joining *joining, size_t i, size_t length)
{
    const struct report_dataset *dataset = joining->dataset;
    return sprof_hash_pair(dataset->facts.items[i].module,
                           sprof_hash_bytes(dataset->functions.items[i].name, length));
}

static int add_split(struct joining *joining, size_t i, size_t length)
{
    const uint64_t key = base_key(joining, i, length);
    const struct split split = {.function = (uint32_t)i + 1, .length = length};
    uint64_t *known = sprof_map_at(&joining->groups, key);
    if (!known || (!*known && sprof_vec_push(&joining->group_items, (struct group){0})) ||
        sprof_vec_push(&joining->splits, split))
        return SPROF_ENOMEM;
    *known = *known ? *known : joining->group_items.count;
    struct group *group = &joining->group_items.items[*known - 1];
    const uint32_t number = (uint32_t)joining->splits.count;
    if (group->last_split)
        joining->splits.items[group->last_split - 1].next = number;
    else
        group->splits = number;
    group->last_split = number;
    group->count++;
    return 0;
}

static int add_plain(struct joining *joining, size_t i)
{
    const char *name = joining->dataset->functions.items[i].name;
    const uint64_t *known = sprof_map_get(&joining->groups, base_key(joining, i, strlen(name)));
    if (!known)
        return 0;
    struct group *group = &joining->group_items.items[*known - 1];
    if (sprof_vec_push(&joining->plains, (struct plain){(uint32_t)i + 1, group->plains}))
        return SPROF_ENOMEM;
    group->plains = (uint32_t)joining->plains.count;
    group->count++;
    return 0;
}

static int collect(struct joining *joining)
{
    const struct report_dataset *dataset = joining->dataset;
    int result = 0;
    for (size_t i = 0; i < dataset->functions.count && !result; i++) {
        const char *name = dataset->functions.items[i].name;
        const size_t length = report_split_base(name, NULL);
        if (name[length] && may_be_split(joining, i))
            result = add_split(joining, i, length);
    }
    for (size_t i = 0; i < dataset->functions.count && !result && joining->splits.count; i++)
        result = add_plain(joining, i);
    return result;
}

/* How surely two functions of one base name are the same one; 0: they are not. Static functions of
 * several sources have one name, and are distinguished by where they are declared. */
static int likeness(const struct report_function *a, const struct report_function *b)
{
    if (a->file && b->file)
        return !strcmp(a->file, b->file) && (a->line == b->line || !a->line || !b->line) ? 4 : 0;
    return 1;
}

/* Constructors have several symbols of one name. */
static bool same_linkage(const struct report_function *part, const struct report_function *function)
{
    if (!part->linkage_name || !function->linkage_name)
        return !part->linkage_name && !function->linkage_name;
    const size_t length = report_split_base(part->linkage_name, NULL);
    return strlen(function->linkage_name) == length &&
           !memcmp(part->linkage_name, function->linkage_name, length);
}

/* The function of a part among those that bear the base name: 0 where there is none, UINT32_MAX
 * where several are as likely. */
static uint32_t choose_plain(const struct joining *joining, const struct group *group,
                             const struct report_function *part)
{
    const struct report_function *functions = joining->dataset->functions.items;
    uint32_t found = 0;
    int best = 0;
    for (uint32_t at = group->plains; at; at = joining->plains.items[at - 1].next) {
        const uint32_t number = joining->plains.items[at - 1].function;
        const int like = likeness(part, &functions[number - 1]);
        const int score = like ? like + same_linkage(part, &functions[number - 1]) : 0;
        if (score > best)
            found = number;
        else if (score && score == best)
            found = UINT32_MAX;
        best = score > best ? score : best;
    }
    return found;
}

/* Whether another function has the very symbol of a part, and nothing says which is whose. */
static bool has_twin(const struct joining *joining, const struct group *group,
                     const struct split *split)
{
    const struct report_function *functions = joining->dataset->functions.items;
    const struct report_function *own = &functions[split->function - 1];
    for (uint32_t at = group->splits; at; at = joining->splits.items[at - 1].next) {
        const uint32_t number = joining->splits.items[at - 1].function;
        const struct report_function *other = &functions[number - 1];
        const char *name = other->part ? other->part : other->name;
        if (number != split->function && likeness(own, other) == 1 &&
            !strcmp(name, own->part ? own->part : own->name) && own->start != other->start)
            return true;
    }
    return false;
}

/* The first part of the group that bears the function's name, for one without its function; 0:
 * none. */
static uint32_t choose_part(const struct joining *joining, const struct group *group,
                            uint32_t function)
{
    const struct report_function *functions = joining->dataset->functions.items;
    for (uint32_t at = group->splits; at; at = joining->splits.items[at - 1].next) {
        const struct split *split = &joining->splits.items[at - 1];
        const struct report_function *other = &functions[split->function - 1];
        if (split->function == function)
            break;
        if (other->part && !other->owner && !split->apart &&
            likeness(&functions[function - 1], other))
            return split->function;
    }
    return 0;
}

/* A part that counts for itself has the function's name, whatever else the recording holds: so the
 * rows of one recording and of many have one name for it. */
static int take_name(struct report_dataset *dataset, const struct split *split)
{
    struct report_function *function = &dataset->functions.items[split->function - 1];
    const char *linkage = function->linkage_name;
    if (!function->size)
        return 0;
    function->part = function->name;
    function->name = sprof_arena_copy(&dataset->arena, function->name, split->length);
    if (linkage)
        function->linkage_name =
            sprof_arena_copy(&dataset->arena, linkage, report_split_base(linkage, NULL));
    return function->name && (!linkage || function->linkage_name) ? 0 : SPROF_ENOMEM;
}

static int join_group(struct joining *joining, const struct group *group)
{
    enum { MOST = 256 }; /* each is compared with each */
    int result = 0;
    for (uint32_t at = group->splits; at && !result; at = joining->splits.items[at - 1].next) {
        struct split *split = &joining->splits.items[at - 1];
        struct report_function *function = &joining->dataset->functions.items[split->function - 1];
        uint32_t owner = group->count > MOST ? UINT32_MAX : choose_plain(joining, group, function);
        split->apart = owner == UINT32_MAX || has_twin(joining, group, split);
        if (split->apart)
            owner = 0;
        else if (!owner)
            owner = choose_part(joining, group, split->function);
        report_split_base(function->name, &function->called_parts);
        function->owner = owner;
        if (owner)
            function->part = function->name;
        else
            result = take_name(joining->dataset, split);
    }
    return result;
}

int report_split_functions_join(struct report_dataset *dataset)
{
    struct joining joining = {.dataset = dataset};
    int result = find_dotted(&joining);
    if (!result)
        result = collect(&joining);
    for (size_t i = 0; i < joining.group_items.count && !result; i++)
        result = join_group(&joining, &joining.group_items.items[i]);
    free(joining.dotted);
    sprof_map_release(&joining.groups);
    sprof_vec_release(&joining.splits);
    sprof_vec_release(&joining.plains);
    sprof_vec_release(&joining.group_items);
    return result;
}

/* Of a part that is kept apart its caller says whose it is. */
bool report_dataset_is_called_part(const struct report_dataset *dataset, uint32_t inner,
                                   uint32_t outer)
{
    const struct report_function *functions = dataset->functions.items;
    const struct report_function *part = &functions[inner - 1], *caller = &functions[outer - 1];
    const uint32_t owner = caller->owner ? caller->owner : outer;
    if (part->called_parts <= caller->called_parts)
        return false;
    if ((part->owner ? part->owner : inner) == owner)
        return true;
    return !part->owner && part->part && likeness(part, caller) &&
           dataset->facts.items[inner - 1].module == dataset->facts.items[outer - 1].module &&
           !strcmp(part->name, functions[owner - 1].name);
}
