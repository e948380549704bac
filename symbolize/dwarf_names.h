/* symbolize, inside: DWARF's texts in an index: source files, and what functions are called. */
#ifndef SPROF_SYMBOLIZE_DWARF_NAMES_H
#define SPROF_SYMBOLIZE_DWARF_NAMES_H

#include "symbolize/cxx_names.h"
#include "symbolize/dwarf_lines.h"
#include "symbolize/dwarf_unit.h"
#include "symbolize/function_index.h"

/* A unit's line table, and the texts of those of its files that were needed. */
struct dwarf_source_files {
    struct dwarf_line_table lines;
    uint32_t *texts;
};

struct dwarf_names {
    struct dwarf dwarf;
    struct cxx_names cxx;
    struct function_index *index;               /* borrowed */
    SPROF_VEC(struct dwarf_source_files) files; /* of units, by line_table - 1 */
};

enum { DWARF_ORIGINS_MAX = 16 }; /* links from a call to what it calls; real ones have three */

/* What a function is called and where it is declared, as the sections have it. */
struct dwarf_said {
    const char *linkage_name; /* the section's text, or made; the name where there is neither; NULL
                                 unknown */
    uint32_t line;            /* 0 unknown */
    uint32_t file_count, files_before_name; /* the order in which all this was met */
    struct {
        uint64_t number;
        size_t unit;            /* among the units */
    } files[DWARF_ORIGINS_MAX]; /* the first that has a text is it */
};

/* Release in either case. */
void symbolize_dwarf_names_open(struct dwarf_names *names, const struct dwarf_sections *sections,
                                struct function_index *index);
void symbolize_dwarf_names_release(struct dwarf_names *names);

/* The unit's line table, read at the first call for it; NULL where memory runs out. It stays
 * valid until a call for another unit. */
struct dwarf_source_files *symbolize_dwarf_names_files(struct dwarf_names *names,
                                                       struct dwarf_unit *unit);

/* The text of a file of the unit, 0 unknown. */
uint32_t symbolize_dwarf_names_file(struct dwarf_names *names, struct dwarf_unit *unit,
                                    uint64_t number);

/* Reads what an entry says about a function, also through abstract origins and specifications.
 * Names of C++ functions that DWARF does not have are made in `cxx`, which is this reader's own. */
void symbolize_dwarf_names_read(struct dwarf *dwarf, struct cxx_names *cxx, uint64_t entry,
                                struct dwarf_said *said);

/* Puts what has been read of what an index's description refers to into it. */
void symbolize_dwarf_names_take(struct dwarf_names *names, struct index_description *description,
                                const struct dwarf_said *said);

/* Both. */
void symbolize_dwarf_names_describe(struct dwarf_names *names,
                                    struct index_description *description);

#endif
