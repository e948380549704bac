/* Screens of the store's example recording. */
#ifndef SPROF_TESTS_TOP_SCREEN_H
#define SPROF_TESTS_TOP_SCREEN_H

#include "tests/unit/store/recording.h"
#include "top/top.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* What is selected of the example, read now. */
static inline struct report_moment *read_example(const struct top *top)
{
    struct report_moment *moment;
    const struct report_selection selection = top_selection(top);
    CU_ASSERT_EQUAL_FATAL(report_moment_load(&moment, example.store, &selection, NULL), 0);
    return moment;
}

/* A screen with the example on it. */
static inline struct top example_top(void)
{
    struct top top;
    CU_ASSERT_EQUAL_FATAL(top_init(&top, "PID 100"), 0);
    top_take(&top, read_example(&top));
    return top;
}

/* The lines of a screen, the chosen row behind a ">", in a buffer that the next call reuses. */
static inline const char *screen_of(struct top *top, unsigned rows, unsigned columns)
{
    static char text[1 << 16];
    struct top_page page = {0};
    size_t length = 0;
    CU_ASSERT_EQUAL_FATAL(top_draw(top, rows, columns, &page, NULL), 0);
    for (size_t i = 0; i < page.lines.count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s\n",
                                   page.lines.items[i].style == TOP_CHOSEN ? ">" : "",
                                   page.lines.items[i].text);
    top_page_release(&page);
    return text;
}

/* The lines between the second and the last one. */
static inline const char *rows_of(struct top *top)
{
    static char body[1 << 16];
    const char *text = screen_of(top, 24, 80);
    for (int i = 0; i < 2; i++)
        text = strchr(text, '\n') + 1;
    snprintf(body, sizeof body, "%s", text);
    char *end = strstr(body, "\n\n");
    if (end)
        end[1] = '\0';
    return body;
}

/* The last line. */
static inline const char *last_line_of(struct top *top)
{
    static char line[1 << 16];
    snprintf(line, sizeof line, "%s", screen_of(top, 24, 80));
    line[strlen(line) - 1] = '\0';
    return strrchr(line, '\n') + 1;
}

/* Presses one key after the other; the last one's action. */
static inline enum top_action type_keys(struct top *top, const char *keys)
{
    enum top_action action = TOP_NOTHING;
    for (; *keys; keys++)
        action = top_key(top, (unsigned char)*keys);
    return action;
}

#endif
