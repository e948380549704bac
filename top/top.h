/* top: what the screen of `sprof top` shows, and what keys do to it. Pure: moments of a recording
 * and keys go in, lines of text with a style come out; no terminal, clock or process is used.
 *
 *     struct top top;
 *     top_init(&top, "PID 4711");
 *     top_take(&top, moment);                         whenever there is a new one
 *     enum top_action action = top_key(&top, 't');    whenever a key was pressed
 *     top_draw(&top, 24, 80, &page);                  after each of these
 *     top_release(&top); */
#ifndef SPROF_TOP_TOP_H
#define SPROF_TOP_TOP_H

#include "base/base.h"
#include "report/report.h"

/* The smallest screen. */
enum { TOP_LEAST_ROWS = 8, TOP_LEAST_COLUMNS = 40 };

/* Keys that are no characters. */
enum top_key_code {
    TOP_KEY_ENTER = '\n',
    TOP_KEY_ESCAPE = 27,
    TOP_KEY_ERASE = 127,
    TOP_KEY_UP = 0x110000, /* behind all of Unicode */
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
};

/* What the caller does after a key. */
enum top_action {
    TOP_NOTHING,
    TOP_QUIT,
    TOP_SELECT,   /* read the recording anew, with top->selection */
    TOP_MARK,     /* mark a phase, as top->answer is called */
    TOP_SAVE,     /* keep the recording, as the file top->answer */
    TOP_ANNOTATE, /* show the code of the function top->answer, by top_show_code */
};

/* How a line looks. */
enum top_style {
    TOP_PLAIN,
    TOP_BAR,    /* the first line */
    TOP_TITLES, /* of columns */
    TOP_CHOSEN, /* the row that keys are about */
    TOP_PROMPT, /* the last line, with a question or an answer */
    TOP_HINT,   /* the last line else */
};

struct top_line {
    char *text; /* valid UTF-8, no control characters; owned */
    enum top_style style;
};

/* Zero is a valid empty page. */
struct top_page {
    SPROF_VEC(struct top_line) lines;
    int cursor; /* the column in the last line where text is typed; -1: none is */
};
void top_page_release(struct top_page *page);

/* Where Escape leads back to. */
struct top_place {
    enum report_screen_view view;
    uint64_t chosen;
    char *thread, *module, *event; /* owned */
};

enum top_prompt { TOP_NO_PROMPT, TOP_PROMPT_SEARCH, TOP_PROMPT_MARK, TOP_PROMPT_SAVE };

struct top {
    char *target;                          /* owned */
    struct report_moment *moment, *newest; /* owned; `newest`: what came while it was frozen */
    struct report_screen screen;           /* of `moment` */
    enum report_screen_view view;
    bool inclusive[REPORT_SCREEN_VIEWS]; /* each view is sorted by itself */
    bool frozen;
    bool made;                    /* `screen` is up to date with state and moment */
    bool moved;                   /* the chosen row is followed; else the first one is chosen */
    uint64_t chosen;              /* the id of a row */
    size_t row, first, page_rows; /* its number; the first one shown; how many there is room for */
    size_t head;                  /* lines above the rows, as drawn last */
    struct sprof_map toggled;     /* id of a row → 1 open, 2 closed, by the user */
    SPROF_VEC(struct top_place) places;
    char *thread, *module, *event; /* what was selected, the first two by globs; owned; NULL: all,
                                      or the first event */
    bool reselect;                 /* what was read was of another selection */
    SPROF_VEC(char *) text;        /* lines shown instead of rows, such as help; owned */
    size_t text_first;
    enum top_prompt prompt;
    struct sprof_str typed, search, message, answer;
};

/* `target` names in a few words what is recorded. 0 or SPROF_ENOMEM; to be released in both cases.
 */
int top_init(struct top *top, const char *target);
void top_release(struct top *top);

/* Takes over what was read last. */
void top_take(struct top *top, struct report_moment *moment);

/* Shows the lines of a text instead of rows, until Escape. */
void top_show_code(struct top *top, const char *text);

/* Shows a message in the last line until the next key. */
void top_say(struct top *top, const char *text);

/* What a key does: a character of Unicode, or one of enum top_key_code. */
enum top_action top_key(struct top *top, int key);

/* Chooses the row in a line of the page drawn last; the row chosen already is opened as by Enter.
 */
enum top_action top_click(struct top *top, unsigned line);

/* What is to be read, borrowed until the next key. */
struct report_selection top_selection(const struct top *top);

/* Draws all lines of a screen, of which there are at most `rows`. 0 or a negative code with *error
 * filled. */
int top_draw(struct top *top, unsigned rows, unsigned columns, struct top_page *page,
             struct sprof_error *error);

#endif
