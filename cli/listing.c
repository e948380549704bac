/* Writes rows of named cells as an aligned table, CSV or JSON. */
#include "cli/listing.h"

#include "names/names.h"

#include <stdlib.h>
#include <string.h>

int cli_set_format(void *field, const char *value, struct sprof_error *error)
{
    static const char *const names[] = {
        [CLI_TEXT] = "text", [CLI_CSV] = "csv", [CLI_JSON] = "json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(value, names[i])) {
            *(enum cli_format *)field = (enum cli_format)i;
            return 0;
        }
    return sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` is not a format: give text, csv or json",
                           value);
}

int cli_set_text_or_json(void *field, const char *value, struct sprof_error *error)
{
    enum cli_format *format = field;
    const int result = cli_set_format(field, value, error);
    if (!result && *format == CLI_CSV)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`csv` is not a format of this command: give text or json");
    return result;
}

/* Readers of JSON refuse what is not UTF-8, as names of files may be. */
static void write_json(FILE *out, const char *cell)
{
    fputc('"', out);
    while (*cell) {
        const unsigned char byte = (unsigned char)*cell;
        const size_t length = sprof_utf8_length(cell);
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20)
            fprintf(out, "\\u%04x", byte);
        else if (length)
            fwrite(cell, 1, length, out);
        else
            fputs("\uFFFD", out);
        cell += length ? length : 1;
    }
    fputc('"', out);
}

/* Characters, as a terminal is given them: one for each byte that is part of none. */
static int width_of(const char *cell)
{
    int width = 0;
    for (size_t length; *cell; cell += length ? length : 1, width++)
        length = sprof_utf8_length(cell);
    return width;
}

/* Names may hold anything; what would move a terminal's cursor does not reach it. */
static void write_text(FILE *out, const char *cell, int width, bool to_the_right)
{
    const int room = width - width_of(cell);
    for (int i = 0; to_the_right && i < room; i++)
        fputc(' ', out);
    sprof_utf8_put(out, cell);
    for (int i = 0; !to_the_right && i < room; i++)
        fputc(' ', out);
}

static void write_cell(struct cli_listing *listing, size_t i, const char *cell)
{
    const struct cli_column *column = &listing->columns[i];
    const bool is_last = i + 1 == listing->column_count;
    FILE *out = listing->out;
    switch (listing->format) {
    case CLI_CSV:
        fputs(i ? "," : "", out);
        sprof_utf8_put_csv(out, cell ? cell : "");
        return;
    case CLI_JSON:
        fputs(i ? ", " : "", out);
        write_json(out, column->name);
        fputs(": ", out);
        if (!cell || (column->is_number && !*cell))
            fputs("null", out);
        else if (column->is_number)
            fputs(cell, out);
        else
            write_json(out, cell);
        return;
    case CLI_TEXT: break;
    }
    fputs("  ", out);
    write_text(out, cell ? cell : "", is_last && !column->is_number ? 0 : (int)column->width,
               column->is_number);
}

void cli_listing_begin(struct cli_listing *listing)
{
    const char *names[CLI_COLUMNS_MAX];
    for (size_t i = 0; i < listing->column_count; i++)
        names[i] = listing->columns[i].name;
    if (listing->format == CLI_JSON) {
        fputs("[", listing->out);
        return;
    }
    for (size_t i = 0; i < listing->column_count; i++)
        write_cell(listing, i, names[i]);
    fputs(listing->format == CLI_CSV ? "\r\n" : "\n", listing->out);
}

static void write_row(struct cli_listing *listing, const char *const *cells)
{
    if (listing->format == CLI_JSON)
        fputs(listing->rows ? ",\n {" : "\n {", listing->out);
    for (size_t i = 0; i < listing->column_count; i++)
        write_cell(listing, i, cells[i]);
    fputs(listing->format == CLI_JSON  ? "}"
          : listing->format == CLI_CSV ? "\r\n"
                                       : "\n",
          listing->out);
}

static bool shortens(const struct cli_listing *listing)
{
    return listing->functions && listing->format == CLI_TEXT && !listing->full_names;
}

static int keep_row(struct cli_listing *listing, const char *const *cells)
{
    for (size_t i = 0; i < listing->column_count; i++) {
        const char *cell = cells[i] ? cells[i] : "";
        const char *copy = sprof_arena_copy(&listing->arena, cell, strlen(cell));
        if (!copy || sprof_vec_push(&listing->kept, copy))
            return SPROF_ENOMEM;
    }
    return 0;
}

void cli_listing_row(struct cli_listing *listing, const char *const *cells)
{
    if (!shortens(listing))
        write_row(listing, cells);
    else if (keep_row(listing, cells))
        listing->failed = true;
    listing->rows++;
}

/* Gives the names of all columns of functions their short forms: no two that differ look alike. */
static int shorten_kept(struct cli_listing *listing)
{
    const size_t cells = listing->kept.count, columns = listing->column_count;
    const char **names = calloc(cells + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names && i < cells; i++)
        if (listing->functions >> i % columns & 1)
            names[count++] = listing->kept.items[i];
    const int result = names ? names_shorten(&listing->arena, names, count, names) : SPROF_ENOMEM;
    count = 0;
    for (size_t i = 0; !result && i < cells; i++)
        if (listing->functions >> i % columns & 1)
            listing->kept.items[i] = names[count++];
    free(names);
    return result;
}

static void write_kept(struct cli_listing *listing)
{
    for (size_t i = 0; i < listing->kept.count; i += listing->column_count)
        write_row(listing, &listing->kept.items[i]);
}

int cli_listing_end(struct cli_listing *listing)
{
    int result = listing->failed ? SPROF_ENOMEM : 0;
    if (!result && shortens(listing))
        result = shorten_kept(listing);
    if (!result)
        write_kept(listing);
    if (listing->format == CLI_JSON)
        fputs(listing->rows ? "\n]\n" : "]\n", listing->out);
    sprof_vec_release(&listing->kept);
    sprof_arena_release(&listing->arena);
    return result;
}
