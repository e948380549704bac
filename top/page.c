/* Draws the screen: lines of text, none wider than the terminal. */
#include "top/parts.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_ABOVE = 2, LINES_BELOW = 1 };

void top_page_release(struct top_page *page)
{
    for (size_t i = 0; i < page->lines.count; i++)
        free(page->lines.items[i].text);
    sprof_vec_release(&page->lines);
}

/* Adds the beginning of a text, which ends in "…" where it is wider than the screen. */
static int add_line(struct top_page *page, const char *text, size_t length, unsigned columns,
                    enum top_style style)
{
    struct top_line line = {.style = style};
    size_t width = 0, cut = 0, at = 0;
    while (at < length && width <= columns) {
        const size_t bytes = sprof_utf8_length(text + at);
        cut = width + 1 < columns ? at + (bytes ? bytes : 1) : cut;
        at += bytes ? bytes : 1;
        width++;
    }
    const bool is_cut = width > columns;
    struct sprof_str out = {0};
    if (!sprof_str_append_bytes(&out, text, is_cut ? cut : length) && is_cut)
        sprof_str_append(&out, "…");
    sprof_str_append(&out, "");
    line.text = out.failed ? NULL : sprof_str_take(&out);
    if (line.text && !sprof_vec_push(&page->lines, line))
        return 0;
    sprof_str_release(&out);
    free(line.text);
    return SPROF_ENOMEM;
}

static int add_str(struct top_page *page, struct sprof_str *text, unsigned columns,
                   enum top_style style)
{
    const int result =
        text->failed ? SPROF_ENOMEM
                     : add_line(page, text->text ? text->text : "", text->length, columns, style);
    sprof_str_release(text);
    return result;
}

static int draw_bar(const struct top *top, struct top_page *page, unsigned columns)
{
    struct sprof_str text = {0}, clean = {0};
    sprof_str_append(&text, "sprof top");
    if (top->frozen)
        sprof_str_append(&text, " · frozen");
    if (top->thread)
        sprof_str_appendf(&text, " · thread %s", top->thread);
    if (top->module)
        sprof_str_appendf(&text, " · module %s", top->module);
    if (top->event && top->view != REPORT_SCREEN_EVENTS)
        sprof_str_appendf(&text, " · event %s", top->event);
    sprof_str_appendf(&text, " · %s", top->target);
    if (!text.failed)
        sprof_utf8_clean(&clean, text.text);
    sprof_str_release(&text);
    return add_str(page, &clean, columns, TOP_BAR);
}

static int draw_quality(const struct top *top, struct top_page *page, unsigned columns)
{
    struct sprof_str text = {0};
    if (top->moment && report_moment_line(top->moment, &text))
        text.failed = 1;
    return add_str(page, &text, columns, TOP_PLAIN);
}

/* Scrolls so far that the chosen row can be seen, and no further than to the last one. */
static void scroll(struct top *top, size_t rows)
{
    const size_t count = top->screen.count;
    top->page_rows = rows ? rows : 1;
    if (top->row < top->first)
        top->first = top->row;
    if (top->row >= top->first + top->page_rows)
        top->first = top->row - top->page_rows + 1;
    if (top->first + top->page_rows > count)
        top->first = count > top->page_rows ? count - top->page_rows : 0;
}

/* The text of as many rows as there is room for; the lines above them are counted first. */
static int write_rows(struct top *top, size_t room, unsigned columns, char **text)
{
    for (int attempt = 0;; attempt++) {
        size_t head;
        scroll(top, room > top->head ? room - top->head : 1);
        const int result =
            report_screen_write(&top->screen, top->first, top->page_rows, columns, text, &head);
        if (result || head == top->head || attempt == 2)
            return result;
        top->head = head;
        free(*text);
    }
}

static int draw_rows(struct top *top, struct top_page *page, size_t room, unsigned columns)
{
    char *text = NULL;
    int result = write_rows(top, room, columns, &text);
    const char *at = text;
    for (size_t line = 0; !result && *at && line < room; line++) {
        const size_t length = strcspn(at, "\n");
        const bool chosen = line >= top->head && line - top->head + top->first == top->row;
        result = add_line(page, at, length, columns,
                          chosen                  ? TOP_CHOSEN
                          : line + 1 == top->head ? TOP_TITLES
                                                  : TOP_PLAIN);
        at += length + (at[length] == '\n');
    }
    free(text);
    return result;
}

static int draw_text(struct top *top, struct top_page *page, size_t room, unsigned columns)
{
    int result = 0;
    top->page_rows = room;
    for (size_t i = top->text_first; i < top->text.count && i < top->text_first + room && !result;
         i++)
        result = add_line(page, top->text.items[i], strlen(top->text.items[i]), columns, TOP_PLAIN);
    return result;
}

/* What stands where no rows are. */
static const char *reason(const struct top *top)
{
    return !top->moment                         ? "reading the recording …"
           : report_moment_samples(top->moment) ? "no row has a share of this"
                                                : "no samples yet: nothing of it has run since "
                                                  "the recording began";
}

static int draw_body(struct top *top, struct top_page *page, size_t room, unsigned columns,
                     struct sprof_error *error)
{
    if (top->text.count)
        return draw_text(top, page, room, columns);
    const int result = top_make(top, error);
    if (result)
        return result;
    if (top->screen.count)
        return draw_rows(top, page, room, columns);
    return add_line(page, reason(top), strlen(reason(top)), columns, TOP_PLAIN);
}

static int draw_last(const struct top *top, struct top_page *page, unsigned columns)
{
    static const char hint[] =
        "t tree · T threads · m modules · s sort · / search · z freeze · ? help · q quit";
    static const char *const prompts[] = {[TOP_PROMPT_SEARCH] = "search: ",
                                          [TOP_PROMPT_MARK] = "name of the phase: ",
                                          [TOP_PROMPT_SAVE] = "save the recording as: "};
    struct sprof_str text = {0};
    enum top_style style = TOP_PROMPT;
    if (top->prompt) {
        sprof_str_append(&text, prompts[top->prompt]);
        sprof_str_append(&text, top->typed.text ? top->typed.text : "");
        size_t column = 0;
        for (size_t at = 0; at < text.length; column++)
            at += sprof_utf8_length(text.text + at) ? sprof_utf8_length(text.text + at) : 1;
        page->cursor = column < columns ? (int)column : (int)columns - 1;
    } else if (top->message.length) {
        sprof_str_append(&text, top->message.text);
    } else {
        sprof_str_append(&text, hint);
        style = TOP_HINT;
    }
    return add_str(page, &text, columns, style);
}

int top_draw(struct top *top, unsigned rows, unsigned columns, struct top_page *page,
             struct sprof_error *error)
{
    char small[80];
    top_page_release(page);
    *page = (struct top_page){.cursor = -1};
    int result = 0;
    if (rows < TOP_LEAST_ROWS || columns < TOP_LEAST_COLUMNS) {
        const int length =
            snprintf(small, sizeof small, "too small: %d columns and %d rows are needed",
                     TOP_LEAST_COLUMNS, TOP_LEAST_ROWS);
        result = add_line(page, small, (size_t)length, columns, TOP_PLAIN);
        return result ? sprof_error_memory(error) : 0;
    }
    if (draw_bar(top, page, columns) || draw_quality(top, page, columns))
        return sprof_error_memory(error);
    const size_t room = rows - LINES_ABOVE - LINES_BELOW;
    result = draw_body(top, page, room, columns, error);
    while (!result && page->lines.count < rows - LINES_BELOW)
        result = add_line(page, "", 0, columns, TOP_PLAIN);
    if (!result)
        result = draw_last(top, page, columns);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}
