/* The result of a statement as an aligned table. */
#include "report/format.h"
#include "report/utf8_text.h"

#include <string.h>

/* Rows that are looked at before the widths of columns are settled. */
enum { ROWS_MEASURED = 1000, GAP = 2 };

struct result {
    FILE *out;
    struct sprof_arena arena;
    size_t columns, rows;
    size_t *widths;
    bool *numeric;
    SPROF_VEC(const char **) kept; /* text: rows until the widths are settled, titles first */
    bool settled;
    struct sprof_str line;
};

static bool is_number(const char *text)
{
    const size_t length = strlen(text);
    return length && strspn(text, "0123456789.-+eE") == length && strpbrk(text, "0123456789");
}

static const char **keep(struct result *result, char *const *values)
{
    const char **row = sprof_arena_alloc(&result->arena, result->columns * sizeof *row);
    for (size_t c = 0; row && c < result->columns; c++) {
        row[c] = report_utf8_copy(&result->arena, values[c] ? values[c] : "");
        if (!row[c])
            return NULL;
    }
    return row;
}

static int write_row(struct result *result, const char *const *row)
{
    sprof_str_clear(&result->line);
    for (size_t c = 0; c < result->columns; c++) {
        const size_t own = report_utf8_width(row[c]);
        const size_t width = own > result->widths[c] ? own : result->widths[c];
        if (c && report_utf8_spaces(&result->line, GAP))
            return SPROF_ENOMEM;
        if ((result->numeric[c] ? report_utf8_right : report_utf8_left)(&result->line, row[c],
                                                                        width))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int print_row(struct result *result, const char *const *row)
{
    if (write_row(result, row))
        return SPROF_ENOMEM;
    size_t length = result->line.length;
    while (length && result->line.text[length - 1] == ' ')
        length--;
    fprintf(result->out, "%.*s\n", (int)length, result->line.text ? result->line.text : "");
    return 0;
}

/* Settles the widths and writes what was kept. */
static int settle(struct result *result)
{
    for (size_t c = 0; c < result->columns; c++) {
        bool any = false, other = false;
        for (size_t r = 0; r < result->kept.count; r++) {
            const char *text = result->kept.items[r][c];
            const size_t width = report_utf8_width(text);
            result->widths[c] = width > result->widths[c] ? width : result->widths[c];
            any = any || (r && *text);
            other = other || (r && *text && !is_number(text));
        }
        result->numeric[c] = any && !other;
    }
    result->settled = true;
    int status = 0;
    for (size_t r = 0; r < result->kept.count && !status; r++)
        status = print_row(result, result->kept.items[r]);
    result->kept.count = 0;
    return status;
}

static int begin_text(struct result *result, int columns, char *const *names)
{
    result->columns = (size_t)columns;
    result->widths = sprof_arena_alloc(&result->arena, result->columns * sizeof *result->widths);
    result->numeric = sprof_arena_alloc(&result->arena, result->columns * sizeof *result->numeric);
    const char **titles = result->widths && result->numeric ? keep(result, names) : NULL;
    return titles ? sprof_vec_push(&result->kept, titles) : SPROF_ENOMEM;
}

static int text_row(void *context, int columns, char *const *values, char *const *names)
{
    struct result *result = context;
    if (!result->rows++ && begin_text(result, columns, names))
        return SPROF_ENOMEM;
    if (!result->settled) {
        const char **row = keep(result, values);
        if (!row || sprof_vec_push(&result->kept, row))
            return SPROF_ENOMEM;
        return result->kept.count > ROWS_MEASURED ? settle(result) : 0;
    }
    struct sprof_arena arena = result->arena;
    result->arena = (struct sprof_arena){0};
    const char **row = keep(result, values);
    const int status = row ? print_row(result, row) : SPROF_ENOMEM;
    sprof_arena_release(&result->arena);
    result->arena = arena;
    return status;
}

int report_text_rows(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct result result = {.out = out};
    int status = store_query(content->store, content->sql, text_row, &result, error);
    if (!status && !result.settled)
        status = settle(&result);
    sprof_vec_release(&result.kept);
    sprof_str_release(&result.line);
    sprof_arena_release(&result.arena);
    return status;
}
