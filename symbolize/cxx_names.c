/* Makes C++ names of functions from the entries around them, as libiberty prints mangled ones. */
#include "symbolize/cxx_names.h"

#include "symbolize/cxx_types.h"
#include "symbolize/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

void symbolize_cxx_names_release(struct cxx_names *names)
{
    symbolize_dwarf_tree_release(&names->tree);
    sprof_arena_release(&names->texts);
    sprof_map_release(&names->by_root);
    sprof_vec_release(&names->named);
}

/* A function of a class, or one that only its unit can call, has a mangled name; another one
 * without linkage name is main, or has C's linkage. */
static bool is_mangled(struct dwarf_tree *tree, const struct dwarf_node *root)
{
    struct dwarf_node parent;
    if (!root->external)
        return true;
    return symbolize_dwarf_tree_parent(tree, root->self, &parent) &&
           symbolize_cxx_is_class(parent.tag);
}

static const struct cxx_parts parts = {symbolize_cxx_put_scope, symbolize_cxx_put_own_name,
                                       symbolize_cxx_put_unnamed};

/* NULL: it could not be written. */
static const char *take_text(struct cxx_names *names, struct cxx_text *text)
{
    const bool is_there = !text->failed && !text->out.failed && text->out.length;
    const char *kept =
        is_there ? sprof_arena_copy(&names->texts, text->out.text, text->out.length) : NULL;
    sprof_str_release(&text->out);
    return kept;
}

static struct cxx_name name_of(struct cxx_names *names, uint64_t root)
{
    struct cxx_name made = {0};
    struct dwarf_node node, parent;
    struct cxx_text text = {.tree = &names->tree, .parts = &parts};
    if (!names->tree.calls->read(names->tree.source, root, &node) || !node.name)
        return made;
    if (!node.line && symbolize_dwarf_tree_parent(&names->tree, root, &parent) &&
        symbolize_cxx_is_class(parent.tag))
        made.declared = parent.self;
    if (node.linkage_name || !is_mangled(&names->tree, &node))
        return made;
    symbolize_cxx_put_function(&text, root, 0);
    made.text = take_text(names, &text);
    return made;
}

static struct cxx_name name_of_class(struct cxx_names *names, uint64_t class)
{
    struct cxx_text text = {.tree = &names->tree, .parts = &parts};
    symbolize_cxx_put_type(&text, class, "", 0);
    return (struct cxx_name){.text = take_text(names, &text)};
}

static struct cxx_name find_name(struct cxx_names *names, uint64_t root,
                                 struct cxx_name (*make)(struct cxx_names *names, uint64_t root))
{
    const uint64_t *known = sprof_map_get(&names->by_root, root);
    if (known)
        return names->named.items[*known - 1];
    const struct cxx_name made = make(names, root);
    if (sprof_vec_push(&names->named, made) ||
        sprof_map_put(&names->by_root, root, names->named.count))
        names->tree.failed = true;
    return made;
}

struct cxx_name symbolize_cxx_names_of(struct cxx_names *names, uint64_t root)
{
    return find_name(names, root, name_of);
}

const char *symbolize_cxx_names_of_class(struct cxx_names *names, uint64_t class)
{
    return class ? find_name(names, class, name_of_class).text : NULL;
}
