/* Reads the names of functions and of source files from DWARF into an index. */
#include "symbolize/dwarf_names.h"

#include "symbolize/dwarf_entry.h"

#include <stdlib.h>

enum { MAX_ORIGINS = 16 }; /* links from an inlined call to what it calls; real ones have three */

void dwarf_names_open(struct dwarf_names *names, const struct dwarf_sections *sections,
                      struct function_index *index)
{
    *names = (struct dwarf_names){.index = index};
    dwarf_open(&names->dwarf, sections);
}

void dwarf_names_release(struct dwarf_names *names)
{
    for (size_t i = 0; i < names->files.count; i++) {
        dwarf_line_table_release(&names->files.items[i].lines);
        free(names->files.items[i].texts);
    }
    sprof_vec_release(&names->files);
    dwarf_release(&names->dwarf);
}

struct dwarf_source_files *dwarf_names_files(struct dwarf_names *names, struct dwarf_unit *unit)
{
    if (!unit->line_table) {
        struct dwarf_source_files made = {0};
        if (!dwarf_line_table_open(&made.lines, &names->dwarf, unit))
            dwarf_line_table_release(&made.lines);
        made.texts = calloc(made.lines.files.count + 1, sizeof *made.texts);
        if (!made.texts || sprof_vec_push(&names->files, made)) {
            dwarf_line_table_release(&made.lines);
            free(made.texts);
            names->index->failed = true;
            return NULL;
        }
        unit->line_table = (uint32_t)names->files.count;
    }
    return &names->files.items[unit->line_table - 1];
}

uint32_t dwarf_names_file(struct dwarf_names *names, struct dwarf_unit *unit, uint64_t number)
{
    const struct dwarf_source_files *files = dwarf_names_files(names, unit);
    if (!files || number >= files->lines.files.count)
        return 0;
    if (files->texts[number])
        return files->texts[number];
    struct sprof_str name = {0};
    if (dwarf_line_table_file(&files->lines, number, &name))
        files->texts[number] = function_index_text(names->index, name.text);
    sprof_str_release(&name);
    return files->texts[number];
}

static uint32_t text_of(struct dwarf_names *names, const struct dwarf_unit *unit,
                        const struct dwarf_value *value)
{
    const char *text = dwarf_text(&names->dwarf, unit, value);
    return text && text[0] ? function_index_text(names->index, text) : 0;
}

void dwarf_names_describe(struct dwarf_names *names, struct index_description *description)
{
    uint64_t offset = description->entry;
    struct dwarf_value name = {0};
    const struct dwarf_unit *name_unit = NULL;
    struct dwarf_unit *unit;
    struct dwarf_naming naming;
    for (int i = 0; i < MAX_ORIGINS && offset && (unit = dwarf_unit_of(&names->dwarf, offset)) &&
                    dwarf_naming_read(&names->dwarf, unit, offset, &naming);
         i++) {
        if (!description->linkage_name)
            description->linkage_name = text_of(names, unit, &naming.linkage_name);
        if (name.class == DWARF_NONE) {
            name = naming.name;
            name_unit = unit;
        }
        if (!description->line && naming.line <= UINT32_MAX)
            description->line = (uint32_t)naming.line;
        if (!description->file && naming.file)
            description->file = dwarf_names_file(names, unit, naming.file - 1);
        offset = naming.origin ? naming.origin : naming.specification;
    }
    if (!description->linkage_name && name_unit)
        description->linkage_name = text_of(names, name_unit, &name);
    description->entry = 0;
}
