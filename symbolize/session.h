/* What a session has read of an image, and the question that it answers. */
#ifndef SPROF_SYMBOLIZE_SESSION_H
#define SPROF_SYMBOLIZE_SESSION_H

#include "symbolize/addresses.h"
#include "symbolize/builder.h"
#include "symbolize/child.h"
#include "symbolize/dwarf_functions.h"
#include "symbolize/function_index.h"
#include "symbolize/libdw_nodes.h"
#include "symbolize/names_ahead.h"
#include "symbolize/plt.h"
#include "symbolize/symbols.h"
#include "symbolize/units.h"

/* The wanted addresses, and the answer while it grows. */
struct question {
    struct addresses addresses;
    const struct symbolize_bounds *bounds;
    struct builder builder;
    struct symbols symbols;
    struct addresses missing;    /* those that the index has not */
    struct addresses left;       /* of these what is left to libdw */
    struct sprof_map left_index; /* address → its place among them */
    struct flat flat;            /* of these */
    bool settled;                /* all this is known */
    size_t read;                 /* addresses that DWARF was read for */
    struct names_ahead ahead;
    struct sprof_map inlined; /* identity of an entry → its function */
};

struct symbolize_session {
    struct symbolize_child
        *child; /* reads the image, whose session this is; NULL: all below does */
    struct image *image;
    struct symbolize_options options;
    struct module module; /* opened when something is needed that the cache has not */
    bool module_opened, module_usable;
    struct symbol_table table;
    bool table_read, readable; /* `readable`: the image, as far as its symbols show */
    bool index_loaded;
    const atomic_bool *stop;        /* of what is prepared; NULL: a question, which is answered */
    struct image *debug;            /* the separate debug file, NULL where there is none */
    struct sprof_error other_debug; /* why there is none */
    struct sprof_str problem;       /* what could not be read; no text: nothing is known */
    bool certain;                   /* nothing more may come from debuginfod */
    bool keyed;                     /* what is found can be kept in the cache */
    bool has_dwarf;                 /* perhaps */
    bool has_index_key;
    struct sprof_digest index_key;
    struct function_index index;
    struct dwarf_names names;       /* what the index is filled from */
    struct cxx_names libdw_names;   /* made of what only libdw can read, */
    struct libdw_nodes libdw_nodes; /* its entries */
    Dwarf *dwarf;                   /* NULL: not opened, or there is none */
    uint64_t delta;                 /* DWARF's address = vaddr + delta */
    struct image_stretch *code;     /* the image's, in DWARF's addresses */
    bool dwarf_opened;
    struct plt plt;
    size_t asked, added, described; /* addresses, those that the index had not, and names read */
    struct question question;
};

bool symbolize_session_file_has_dwarf(const struct image *image);

/* The sections that names and lines are read from; NULL ends. */
extern const char *const session_debug_sections[];

/* The key of the session's index in the cache; up to `threads` threads read the files for it, the
 * first time. */
const struct sprof_digest *symbolize_session_index_key(struct symbolize_session *session,
                                                       unsigned threads);

/* Reads the symbols of the image and its debug file, once, and of its debug information what the
 * question needs. Returns 0 or SPROF_ENOMEM. */
int symbolize_session_read(struct symbolize_session *session);

/* How many threads may read for the session now, the caller included. */
unsigned symbolize_session_threads(const struct symbolize_session *session);

/* Opens its debug information, once; false: there is none. */
bool symbolize_session_open_dwarf(struct symbolize_session *session);

/* Whether what was read is more than the cache has by enough to be written. */
bool symbolize_session_is_worth_storing(const struct symbolize_session *session);

/* Notes what could not be read, the first thing only; `missing` are the question's split units. */
void symbolize_session_find_problem(struct symbolize_session *session,
                                    const struct flat_missing *missing);

/* Adds the chain of one of the question's addresses to its answer. */
void symbolize_session_add_chain(struct symbolize_session *session, size_t address);

#endif
