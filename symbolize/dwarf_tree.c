/* Finds the parents of DWARF's entries, which hold only their children. */
#include "symbolize/dwarf_tree.h"

enum { MAX_DEPTH = 200, PLACES_MAX = 1 << 24 };

void symbolize_dwarf_tree_release(struct dwarf_tree *tree)
{
    sprof_vec_release(&tree->places);
    sprof_map_release(&tree->units);
}

struct expansion {
    struct dwarf_tree *tree;
    uint32_t parent;
};

static void note_child(void *context, uint64_t child, uint16_t tag)
{
    struct expansion *expansion = context;
    struct dwarf_tree *tree = expansion->tree;
    const struct dwarf_place made = {.self = child, .parent = expansion->parent, .tag = tag};
    if (tree->places.count >= PLACES_MAX || sprof_vec_push(&tree->places, made))
        tree->failed = true;
}

static void expand(struct dwarf_tree *tree, uint32_t index)
{
    struct expansion expansion = {tree, index + 1};
    const uint32_t first = (uint32_t)tree->places.count;
    if (tree->places.items[index].expanded)
        return;
    tree->calls->each_child(tree->source, tree->places.items[index].self, note_child, &expansion);
    struct dwarf_place *place = &tree->places.items[index];
    place->expanded = true;
    place->first = first;
    place->count = (uint32_t)tree->places.count - first;
}

/* The last child that does not begin behind a position; false where there is none. */
static bool find_child(const struct dwarf_tree *tree, const struct dwarf_place *parent,
                       uint64_t position, uint32_t *index)
{
    uint32_t low = parent->first, high = parent->first + parent->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (tree->calls->position(tree->source, tree->places.items[middle].self) <= position)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low - 1;
    return low > parent->first;
}

bool symbolize_dwarf_tree_parent(struct dwarf_tree *tree, uint64_t self, struct dwarf_node *parent)
{
    const uint64_t root = tree->calls->unit(tree->source, self);
    uint64_t *known = root ? sprof_map_at(&tree->units, root) : NULL;
    if (known && !*known && !sprof_vec_push(&tree->places, (struct dwarf_place){.self = root}))
        *known = tree->places.count;
    if (!known || !*known)
        return false;
    const uint64_t position = tree->calls->position(tree->source, self);
    uint32_t at = (uint32_t)*known - 1;
    for (int depth = 0; depth < MAX_DEPTH && !tree->failed; depth++) {
        uint32_t child;
        expand(tree, at);
        if (!find_child(tree, &tree->places.items[at], position, &child))
            return false;
        if (tree->calls->position(tree->source, tree->places.items[child].self) == position)
            return tree->places.items[at].parent &&
                   tree->calls->read(tree->source, tree->places.items[at].self, parent);
        at = child;
    }
    return false;
}
