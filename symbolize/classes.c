/* Finds the classes that a member function's object is of, by libdw's entries. */
#include "symbolize/classes.h"
#include "symbolize/libdw_text.h"
#include "symbolize/paths_find.h"

#include <dwarf.h>
#include <string.h>

enum { ENTRIES_MOST = 1 << 12, DEPTH_MOST = 16 };

/* Damaged entries may be bases of themselves. */
struct bases {
    struct types *types;
    const char *names[SYMBOLIZE_BASES];
    uint32_t count, entries;
};

static void add_name(struct bases *bases, Dwarf_Die *class)
{
    struct types *types = bases->types;
    if (bases->count == SYMBOLIZE_BASES)
        return;
    types->cxx.tree.calls = &libdw_nodes;
    types->cxx.tree.source = &types->nodes;
    const char *scoped = symbolize_cxx_names_of_class(
        &types->cxx, symbolize_libdw_nodes_number(&types->nodes, class));
    const char *name = scoped ? scoped : symbolize_libdw_name(class);
    const char *kept = name ? sprof_arena_text(types->arena, name) : NULL;
    if (kept)
        bases->names[bases->count++] = kept;
}

static void add_bases(struct bases *bases, Dwarf_Die *class, unsigned depth)
{
    Dwarf_Die die, of;
    if (depth > DEPTH_MOST)
        return;
    add_name(bases, class);
    for (int more = dwarf_child(class, &die); !more && bases->entries++ < ENTRIES_MOST;
         more = dwarf_siblingof(&die, &die))
        if (dwarf_tag(&die) == DW_TAG_inheritance && symbolize_paths_type(&die, &of))
            add_bases(bases, &of, depth + 1);
}

void symbolize_classes_find(struct types *types, Dwarf_Die *self,
                            struct symbolize_signature *signature)
{
    struct bases bases = {.types = types};
    Dwarf_Die pointer, class;
    if (!symbolize_paths_type(self, &pointer) || dwarf_tag(&pointer) != DW_TAG_pointer_type ||
        !symbolize_paths_type(&pointer, &class))
        return;
    add_bases(&bases, &class, 0);
    const char **classes = sprof_arena_alloc(types->arena, bases.count * sizeof *classes);
    types->failed |= !classes;
    if (classes)
        memcpy(classes, bases.names, bases.count * sizeof *classes);
    signature->classes = classes;
    signature->class_count = classes ? bases.count : 0;
}
