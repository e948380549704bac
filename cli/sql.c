/* sprof sql: statements on the recording's tables and views. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/recipes.h"
#include "cli/statements.h"
#include "cli/values.h"
#include "report/report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *input;
    const struct report_format *format;
    struct {
        bool given;
        const char *name; /* NULL: all are listed */
    } recipe;
};

static int set_recipe(void *field, const char *value, struct sprof_error *error)
{
    struct arguments *arguments = field;
    (void)error;
    arguments->recipe.given = true;
    arguments->recipe.name = value;
    return 0;
}

/* Where statements go, and what to do when one is wrong. */
struct shell {
    struct store *store;
    struct cli_terminal *terminal;
    const struct report_format *format;
    bool interactive; /* say it and go on */
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"format", 0, "text|csv|json|markdown", "an aligned table (text), CSV, JSON, Markdown",
     FIELD(format), cli_set_row_format},
    {"recipe", 0, "[NAME]", "run the query of that name; without NAME: list those there are", 0,
     set_recipe},
    {0},
};

static int run_statement(struct shell *shell, const char *text, size_t length,
                         struct sprof_error *error)
{
    if (cli_statement_is_empty(text, length))
        return 0;
    struct sprof_str statement = {0};
    const struct report_style style = {.format = shell->format};
    int status = sprof_str_append_bytes(&statement, text, length);
    if (!status)
        status = report_query(stdout, shell->store, statement.text, 0, &style, error);
    sprof_str_release(&statement);
    if (status && shell->interactive) {
        fflush(stdout);
        cli_say(shell->terminal, "%s", error->message);
        return 0;
    }
    return status;
}

#define SCHEMA "SELECT sql || ';' AS schema FROM sqlite_schema WHERE sql IS NOT NULL"

/* A table has no cells of several lines: each line of the definitions becomes a row. */
static int split_lines(struct sprof_str *statement)
{
    struct sprof_str lines = {0};
    int status = sprof_str_appendf(
        &lines,
        "WITH RECURSIVE whole(place, text) AS (SELECT row_number() OVER (), schema FROM (%s)),"
        " lines(place, number, line, rest) AS (SELECT place, 0, NULL, text || char(10) FROM whole"
        " UNION ALL SELECT place, number + 1, substr(rest, 1, instr(rest, char(10)) - 1),"
        " substr(rest, instr(rest, char(10)) + 1) FROM lines WHERE rest <> '')"
        " SELECT line AS schema FROM lines WHERE number ORDER BY place, number",
        statement->text);
    if (status) {
        sprof_str_release(&lines);
        return status;
    }
    sprof_str_release(statement);
    *statement = lines;
    return 0;
}

static int note_row(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns, (void)values, (void)names;
    *(bool *)context = true;
    return 0;
}

/* The schema of a table or view with its indexes, or a refusal where there is none. */
static int schema_of(struct shell *shell, const char *name, struct sprof_str *statement,
                     struct sprof_error *error)
{
    bool found = false;
    struct sprof_str quoted = {0}, test = {0};
    int status = store_quote(&quoted, name);
    if (!status)
        status = sprof_str_appendf(
            &test, "SELECT 1 FROM sqlite_schema WHERE tbl_name = %s COLLATE NOCASE", quoted.text);
    if (!status)
        status = store_query(shell->store, test.text, note_row, &found, error);
    if (!status && !found)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "there is no table or view `%.60s`: .tables lists them", name);
    if (!status)
        status = sprof_str_appendf(statement,
                                   SCHEMA " AND tbl_name = %s COLLATE NOCASE"
                                          " ORDER BY type DESC, name",
                                   quoted.text);
    sprof_str_release(&quoted);
    sprof_str_release(&test);
    return status;
}

static int dot_statement(struct shell *shell, const char *word, const char *name,
                         struct sprof_str *statement, struct sprof_error *error)
{
    if (!strcmp(word, ".tables") && !*name)
        return sprof_str_append(
            statement, "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')"
                       " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, name");
    if (!strcmp(word, ".schema")) {
        const int status = *name ? schema_of(shell, name, statement, error)
                                 : sprof_str_append(statement, SCHEMA " ORDER BY type, name");
        return status || (shell->format && !shell->format->brief) ? status : split_lines(statement);
    }
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%.20s%s%.40s` is no statement: there are .tables, .schema and .schema "
                           "NAME, and SQL",
                           word, *name ? " " : "", name);
}

/* What sqlite3's shell has for looking around. `text` begins with a dot. */
static int run_dot(struct shell *shell, const char *text, struct sprof_error *error)
{
    static const char blanks[] = " \t\r\n;";
    char *word = strdup(text + strspn(text, blanks));
    struct sprof_str statement = {0};
    if (!word)
        return sprof_error_memory(error);
    for (size_t length = strlen(word); length && strchr(blanks, word[length - 1]);)
        word[--length] = '\0';
    char *name = word + strcspn(word, blanks);
    if (*name)
        *name++ = '\0';
    int status = dot_statement(shell, word, name + strspn(name, blanks), &statement, error);
    free(word);
    if (!status)
        status = run_statement(shell, statement.text, statement.length, error);
    else if (shell->interactive) {
        cli_say(shell->terminal, "%s", error->message);
        status = 0;
    }
    sprof_str_release(&statement);
    return status;
}

/* Runs every complete statement of `text`; *used: the length of these. */
static int run_complete(struct shell *shell, const char *text, size_t *used,
                        struct sprof_error *error)
{
    *used = 0;
    int status = 0;
    size_t length;
    while (!status && (length = cli_statement_length(text + *used))) {
        status = run_statement(shell, text + *used, length, error);
        *used += length;
    }
    return status;
}

static int run_text(struct shell *shell, const char *text, struct sprof_error *error)
{
    size_t used;
    if (text[strspn(text, " \t")] == '.')
        return run_dot(shell, text, error);
    const int status = run_complete(shell, text, &used, error);
    return status ? status : run_statement(shell, text + used, strlen(text + used), error);
}

static void prompt(const struct shell *shell, const struct sprof_str *pending)
{
    if (!shell->interactive)
        return;
    fputs(cli_statement_is_empty(pending->text ? pending->text : "", pending->length) ? "sprof> "
                                                                                      : "  ...> ",
          stdout);
    fflush(stdout);
}

/* Adds a line to what is pending, and runs what is complete. */
static int take_line(struct shell *shell, struct sprof_str *pending, const char *line,
                     struct sprof_error *error)
{
    if (*line == '.' && cli_statement_is_empty(pending->text ? pending->text : "", pending->length))
        return run_dot(shell, line, error);
    if (sprof_str_append(pending, line))
        return sprof_error_memory(error);
    size_t used;
    const int status = run_complete(shell, pending->text, &used, error);
    char *rest = sprof_str_take(pending);
    if (!rest || sprof_str_append(pending, rest + used)) {
        free(rest);
        return sprof_error_memory(error);
    }
    free(rest);
    return status;
}

static int run_input(struct shell *shell, struct sprof_error *error)
{
    struct sprof_str pending = {0};
    char *line = NULL;
    size_t capacity = 0;
    int status = 0;
    prompt(shell, &pending);
    while (!status && getline(&line, &capacity, stdin) >= 0) {
        status = take_line(shell, &pending, line, error);
        prompt(shell, &pending);
    }
    if (!status && pending.text)
        status = run_text(shell, pending.text, error);
    if (shell->interactive)
        fputc('\n', stdout);
    free(line);
    sprof_str_release(&pending);
    return status;
}

/* [FILE] [QUERY]: a sole operand is the recording where there is such a file. */
static int sort_operands(const struct cli_operands *operands, const char **input,
                         const char **query, struct sprof_error *error)
{
    const int count = operands->count;
    const bool names_file =
        count == 2 || (count == 1 && !*input && !access(operands->items[0], F_OK));
    if (count > 2 || (names_file && *input))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "one QUERY only: put it in quotes");
    if (names_file)
        *input = operands->items[0];
    if (count > names_file)
        *query = operands->items[count - 1];
    return 0;
}

static int run_recipe(struct shell *shell, const char *name, struct sprof_error *error)
{
    struct sprof_str statement = {0};
    int status = cli_recipe_find(&statement, name, error);
    if (!status)
        status = run_statement(shell, statement.text, statement.length, error);
    sprof_str_release(&statement);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    const struct arguments *arguments = all;
    const char *input = arguments->input, *query = NULL;
    if (arguments->recipe.given && !arguments->recipe.name) {
        cli_recipes_list(stdout);
        return 0;
    }
    int status = sort_operands(operands, &input, &query, error);
    if (!status && query && arguments->recipe.given)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "`%s` is no file, and --recipe takes no query", query);
    if (status)
        return status;
    struct shell shell = {.terminal = terminal, .format = arguments->format};
    status = cli_open_recording(&shell.store, input, terminal, error);
    if (status)
        return status;
    if (arguments->recipe.given) {
        status = run_recipe(&shell, arguments->recipe.name, error);
        store_close(shell.store, NULL);
        return status;
    }
    shell.interactive = !query && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    status = query ? run_text(&shell, query, error) : run_input(&shell, error);
    store_close(shell.store, NULL);
    return status;
}

const struct cli_command cli_sql_command = {
    .name = "sql",
    .summary = "Query the recording, read-only",
    .operands = "[FILE] [QUERY]",
    .options = options,
    .details =
        "Without QUERY, statements come from standard input, each ended by a semicolon.\n"
        "`.tables` and `.schema [NAME]` show what there is, as in sqlite3.\n"
        "`sprof sql FILE --recipe runs` runs a query that is there already.\n"
        "The views v_function, v_module, v_call_tree, v_edge, v_line, v_thread, v_sample and\n"
        "v_quality stay as they are from version to version; `sprof help schema` describes them.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
