/* Reads the names of functions and of source files from DWARF into an index. */
#include "symbolize/dwarf_names.h"

#include "symbolize/dwarf_entry.h"
#include "symbolize/dwarf_nodes.h"

#include <stdlib.h>

void symbolize_dwarf_names_open(struct dwarf_names *names, const struct dwarf_sections *sections,
                                struct function_index *index)
{
    *names = (struct dwarf_names){.index = index};
    symbolize_dwarf_open(&names->dwarf, sections);
}

void symbolize_dwarf_names_release(struct dwarf_names *names)
{
    for (size_t i = 0; i < names->files.count; i++) {
        symbolize_dwarf_line_table_release(&names->files.items[i].lines);
        free(names->files.items[i].texts);
    }
    sprof_vec_release(&names->files);
    symbolize_cxx_names_release(&names->cxx);
    symbolize_dwarf_release(&names->dwarf);
}

struct dwarf_source_files *symbolize_dwarf_names_files(struct dwarf_names *names,
                                                       struct dwarf_unit *unit)
{
    if (!unit->line_table) {
        struct dwarf_source_files made = {0};
        if (!symbolize_dwarf_line_table_open(&made.lines, &names->dwarf, unit))
            symbolize_dwarf_line_table_release(&made.lines);
        made.texts = calloc(made.lines.files.count + 1, sizeof *made.texts);
        if (!made.texts || sprof_vec_push(&names->files, made)) {
            symbolize_dwarf_line_table_release(&made.lines);
            free(made.texts);
            names->index->failed = true;
            return NULL;
        }
        unit->line_table = (uint32_t)names->files.count;
    }
    return &names->files.items[unit->line_table - 1];
}

uint32_t symbolize_dwarf_names_file(struct dwarf_names *names, struct dwarf_unit *unit,
                                    uint64_t number)
{
    const struct dwarf_source_files *files = symbolize_dwarf_names_files(names, unit);
    if (!files || number >= files->lines.files.count)
        return 0;
    if (files->texts[number])
        return files->texts[number];
    struct sprof_str name = {0};
    if (symbolize_dwarf_line_table_file(&files->lines, number, &name))
        files->texts[number] = symbolize_function_index_text(names->index, name.text);
    sprof_str_release(&name);
    return files->texts[number];
}

static const char *text_of(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                           const struct dwarf_value *value)
{
    const char *text = unit ? symbolize_dwarf_text(dwarf, unit, value) : NULL;
    return text && text[0] ? text : NULL;
}

static void note_place(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                       const struct dwarf_naming *naming, struct dwarf_said *said)
{
    if (!said->line && naming->line <= UINT32_MAX)
        said->line = (uint32_t)naming->line;
    if (naming->file && said->file_count < DWARF_ORIGINS_MAX) {
        said->files[said->file_count].number = naming->file - 1;
        said->files[said->file_count++].unit = (size_t)(unit - dwarf->units.items);
    }
}

/* The name that DWARF leaves out, and the place of the lambda or class of a function that is
 * declared nowhere: it distinguishes those of the same name. */
static void read_cxx(struct dwarf *dwarf, struct cxx_names *cxx, uint64_t root,
                     struct dwarf_said *said)
{
    const struct dwarf_unit *unit = symbolize_dwarf_unit_of(dwarf, root);
    struct dwarf_naming naming;
    if (!unit || !unit->cxx || (said->linkage_name && said->line))
        return;
    cxx->tree.calls = &dwarf_nodes;
    cxx->tree.source = dwarf;
    const struct cxx_name name = symbolize_cxx_names_of(cxx, root);
    if (!said->linkage_name && name.text)
        said->linkage_name = name.text;
    if (!said->line && name.declared &&
        symbolize_dwarf_naming_read(dwarf, unit, name.declared, &naming))
        note_place(dwarf, unit, &naming, said);
}

void symbolize_dwarf_names_read(struct dwarf *dwarf, struct cxx_names *cxx, uint64_t entry,
                                struct dwarf_said *said)
{
    struct dwarf_value name = {0};
    const struct dwarf_unit *name_unit = NULL;
    uint64_t root = 0;
    struct dwarf_unit *unit;
    struct dwarf_naming naming;
    said->linkage_name = NULL;
    said->line = said->file_count = said->files_before_name = 0;
    for (int i = 0;
         i < DWARF_ORIGINS_MAX && entry && (unit = symbolize_dwarf_unit_of(dwarf, entry)) &&
         symbolize_dwarf_naming_read(dwarf, unit, entry, &naming);
         i++) {
        if (!said->linkage_name) {
            said->linkage_name = text_of(dwarf, unit, &naming.linkage_name);
            said->files_before_name = said->file_count;
        }
        if (name.class == DWARF_NONE) {
            name = naming.name;
            name_unit = unit;
        }
        note_place(dwarf, unit, &naming, said);
        root = entry;
        entry = naming.origin ? naming.origin : naming.specification;
    }
    if (root)
        read_cxx(dwarf, cxx, root, said);
    if (!said->linkage_name) {
        said->linkage_name = text_of(dwarf, name_unit, &name);
        said->files_before_name = said->file_count;
    }
}

/* Texts get their numbers in the order in which they were met. */
void symbolize_dwarf_names_take(struct dwarf_names *names, struct index_description *description,
                                const struct dwarf_said *said)
{
    for (uint32_t i = 0; i <= said->file_count; i++) {
        if (i == said->files_before_name && said->linkage_name)
            description->linkage_name =
                symbolize_function_index_text(names->index, said->linkage_name);
        if (i == said->file_count || description->file)
            continue;
        struct dwarf_unit *unit = &names->dwarf.units.items[said->files[i].unit];
        if (unit->line_table || symbolize_dwarf_unit_open(&names->dwarf, unit))
            description->file = symbolize_dwarf_names_file(names, unit, said->files[i].number);
    }
    description->line = said->line;
    description->entry = 0;
}

void symbolize_dwarf_names_describe(struct dwarf_names *names,
                                    struct index_description *description)
{
    struct dwarf_said said;
    symbolize_dwarf_names_read(&names->dwarf, &names->cxx, description->entry, &said);
    symbolize_dwarf_names_take(names, description, &said);
}
