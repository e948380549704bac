/* What gives names to code that has none. */
#ifndef SPROF_REPORT_CURES_H
#define SPROF_REPORT_CURES_H

#include "base/base.h"
#include "model/model.h"

/* A module whose functions have no names, or no lines. */
struct report_unnamed {
    const char *name, *path, *build_id; /* build_id: NULL none */
    enum model_kind kind;
    const char *interpreter; /* name of a module of the program, such as "python3.11"; NULL none */
    bool cure_said;          /* what names the interpreter's functions: then it is left out */
    const char *lacks;       /* what it has none of: NULL "symbols", or "debug information" */
};

/* Appends one sentence: what is missing, and what to type. `root` is "" for this machine, else a
 * directory that stands for /; only the files of its package manager below /etc and /var/lib are
 * read, no program is run and no network used. Appends nothing where all was said. Returns 0 or
 * SPROF_ENOMEM. */
int report_cure_append(struct sprof_str *text, const char *root,
                       const struct report_unnamed *module);

/* What gives names to the functions that this interpreter runs, and their language; NULL where it
 * is none. */
const char *report_cure_of_interpreter(const char *module, const char **language);

/* Whether a module is an interpreter, whose own functions are not those of the program it runs. */
bool report_cure_is_interpreter(const char *module);

#endif
