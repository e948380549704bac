/* Finds the named queries in the page that describes the database. */
#include "cli/recipes.h"

#include "cli/documents.h"

#include <string.h>

/* A recipe in the page: "N. TITLE (`--recipe NAME`):", a blank line, and its statement. */
static const char mark[] = " (`--recipe ", opening[] = "```sql\n", closing[] = "```";

/* The recipe after *at (the first after cli_schema_text), which moves on. False: there is none. */
static bool next_recipe(const char **at, struct cli_recipe *recipe)
{
    const char *found = strstr(*at, mark);
    if (!found)
        return false;
    const char *title = found;
    while (title > *at && title[-1] != '\n')
        title--;
    title += strspn(title, "0123456789. ");
    recipe->title = title;
    recipe->title_length = (size_t)(found - title);
    recipe->name = found + strlen(mark);
    recipe->name_length = strcspn(recipe->name, "`");
    recipe->sql = strstr(recipe->name, opening);
    if (!recipe->sql)
        return false;
    recipe->sql += strlen(opening);
    *at = strstr(recipe->sql, closing);
    recipe->sql_length = *at ? (size_t)(*at - recipe->sql) : 0;
    return *at != NULL;
}

/* The page's queries are of run 1. */
static int append_of_newest(struct sprof_str *sql, const struct cli_recipe *recipe)
{
    static const char first[] = "WHERE run_id = 1",
                      newest[] = "WHERE run_id = (SELECT max(run_id) FROM v_run)";
    const char *at = recipe->sql, *end = at + recipe->sql_length;
    for (const char *next; (next = strstr(at, first)) && next < end; at = next + strlen(first)) {
        const bool compares = next > recipe->sql && next[-1] == '('; /* FILTER (WHERE …) */
        if (sprof_str_append_bytes(sql, at, (size_t)(next - at)) ||
            sprof_str_append(sql, compares ? first : newest))
            return SPROF_ENOMEM;
    }
    return sprof_str_append_bytes(sql, at, (size_t)(end - at));
}

int cli_recipe_find(struct sprof_str *sql, const char *name, struct sprof_error *error)
{
    const char *at = cli_schema_text;
    struct cli_recipe recipe;
    enum { MOST = 64 };
    struct sprof_suggestions near = {0};
    char names[MOST][24]; /* borrowed by `near` */
    for (size_t i = 0; i < MOST && next_recipe(&at, &recipe); i++) {
        snprintf(names[i], sizeof names[i], "%.*s", (int)recipe.name_length, recipe.name);
        if (!strcmp(names[i], name))
            return append_of_newest(sql, &recipe) ? sprof_error_memory(error) : 0;
        sprof_suggest_offer(&near, name, names[i]);
    }
    struct sprof_str offered = {0};
    sprof_str_append(&offered, "");
    sprof_suggest_append(&offered, &near);
    sprof_error_set(error, SPROF_EUSAGE, 0,
                    "there is no recipe '%.60s'%.300s; `sprof sql --recipe` lists them", name,
                    offered.text ? offered.text : "");
    sprof_str_release(&offered);
    return SPROF_EUSAGE;
}

void cli_recipes_list(FILE *out)
{
    const char *at = cli_schema_text;
    struct cli_recipe recipe;
    while (next_recipe(&at, &recipe))
        fprintf(out, "%-12.*s  %.*s\n", (int)recipe.name_length, recipe.name,
                (int)recipe.title_length, recipe.title);
}
