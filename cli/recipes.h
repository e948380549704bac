/* Queries with a name: those of docs/schema.md that fit any recording. */
#ifndef SPROF_CLI_RECIPES_H
#define SPROF_CLI_RECIPES_H

#include "base/base.h"

#include <stdio.h>

/* Borrows from cli_schema_text. */
struct cli_recipe {
    const char *name, *title, *sql;
    size_t name_length, title_length, sql_length;
};

/* Appends the statement of a recipe: where it is of one run, of the newest. SPROF_EUSAGE: there is
 * none of that name; the message offers what is near. */
int cli_recipe_find(struct sprof_str *sql, const char *name, struct sprof_error *error);

/* One line for each: its name and what it answers. */
void cli_recipes_list(FILE *out);

#endif
