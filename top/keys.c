/* Says what each key does: one table for the keys and for their help. */
#include "top/parts.h"

#include <ctype.h>
#include <string.h>

/* == Moving == */

static enum top_action move_by(struct top *top, long rows)
{
    const size_t far = (size_t)(rows < 0 ? -rows : rows);
    if (top->text.count) {
        const size_t last = top->text.count > top->page_rows ? top->text.count - top->page_rows : 0;
        const size_t first =
            rows > 0 ? top->text_first + far
                     : top->text_first - (far < top->text_first ? far : top->text_first);
        top->text_first = first < last ? first : last;
        return TOP_NOTHING;
    }
    top->moved = true;
    top_choose(top, rows > 0 ? top->row + far : top->row - (far < top->row ? far : top->row));
    return TOP_NOTHING;
}

static enum top_action up(struct top *top)
{
    return move_by(top, -1);
}

static enum top_action down(struct top *top)
{
    return move_by(top, 1);
}

static enum top_action page_up(struct top *top)
{
    return move_by(top, -(long)top->page_rows);
}

static enum top_action page_down(struct top *top)
{
    return move_by(top, (long)top->page_rows);
}

/* The first row stays chosen, whichever it is. */
static enum top_action home(struct top *top)
{
    top->text_first = 0;
    top_choose(top, 0);
    top->moved = false;
    return TOP_NOTHING;
}

static enum top_action end(struct top *top)
{
    return move_by(top, (long)(top->text.count + top->screen.count));
}

/* == Opening == */

/* A glob that only this name matches. */
static int append_glob(struct sprof_str *glob, const char *name)
{
    int result = 0;
    for (; *name && !result; name++)
        result = sprof_str_appendf(glob, strchr("*?[]\\", *name) ? "\\%c" : "%c", *name);
    return result;
}

static enum top_action open_thread(struct top *top, int32_t tid)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)tid);
    top_enter(top, REPORT_SCREEN_FUNCTIONS);
    top_select(top, number, NULL, NULL);
    return TOP_NOTHING;
}

static enum top_action open_module(struct top *top, const char *name)
{
    struct sprof_str glob = {0};
    const bool failed = append_glob(&glob, name) != 0;
    if (!failed) {
        top_enter(top, REPORT_SCREEN_FUNCTIONS);
        top_select(top, NULL, glob.text, NULL);
    }
    sprof_str_release(&glob);
    return TOP_NOTHING;
}

/* Where threads were for it: the tree, since what waits is the kernel in any case. */
static enum top_action open_event(struct top *top, const char *name)
{
    char *event = strdup(name);
    if (event) {
        top_enter(top, REPORT_SCREEN_TREE);
        top_select(top, NULL, NULL, event);
    }
    free(event);
    return TOP_NOTHING;
}

/* The ways into a function: its root in the tree turned round, open. */
static enum top_action open_function(struct top *top, const struct report_screen_row *row)
{
    const char *name = row->name, *module = row->module; /* of the moment, which stays */
    top_enter(top, REPORT_SCREEN_CALLERS);
    if (top_make(top, NULL))
        return TOP_NOTHING;
    for (size_t i = 0; i < top->screen.count; i++) {
        const struct report_screen_row *root = &top->screen.rows[i];
        if (root->depth || strcmp(root->name, name) != 0 || strcmp(root->module, module) != 0)
            continue;
        top_choose(top, i);
        top->moved = true;
        if (root->below != REPORT_BELOW_NONE)
            top_toggle(top, root->id, true);
        return TOP_NOTHING;
    }
    top_leave(top);
    top_say(top, "it has too little by itself for the ways into it to be shown");
    return TOP_NOTHING;
}

static bool is_tree(const struct top *top)
{
    return top->view == REPORT_SCREEN_TREE || top->view == REPORT_SCREEN_CALLERS;
}

static enum top_action open_row(struct top *top)
{
    const struct report_screen_row *row = top_chosen(top);
    if (!row)
        return TOP_NOTHING;
    switch (top->view) {
    case REPORT_SCREEN_FUNCTIONS: return open_function(top, row);
    case REPORT_SCREEN_THREADS: return open_thread(top, row->tid);
    case REPORT_SCREEN_MODULES: return open_module(top, row->name);
    case REPORT_SCREEN_EVENTS: return open_event(top, row->name);
    default: return TOP_NOTHING;
    }
}

static enum top_action enter(struct top *top)
{
    const struct report_screen_row *row = top_chosen(top);
    if (top->text.count)
        top_close_text(top);
    else if (row && is_tree(top) && row->below != REPORT_BELOW_NONE)
        top_toggle(top, row->id, row->below == REPORT_BELOW_CLOSED);
    else
        return open_row(top);
    return TOP_NOTHING;
}

static enum top_action right(struct top *top)
{
    const struct report_screen_row *row = top_chosen(top);
    if (!is_tree(top))
        return open_row(top);
    if (row && row->below == REPORT_BELOW_CLOSED)
        top_toggle(top, row->id, true);
    else if (row && row->below == REPORT_BELOW_OPEN)
        move_by(top, 1);
    return TOP_NOTHING;
}

static enum top_action left(struct top *top)
{
    const struct report_screen_row *row = top_chosen(top);
    if (!is_tree(top))
        return top_leave(top);
    if (row && row->below == REPORT_BELOW_OPEN)
        top_toggle(top, row->id, false);
    else if (row && row->parent < top->screen.count)
        move_by(top, -(long)(top->row - row->parent));
    return TOP_NOTHING;
}

static enum top_action escape(struct top *top)
{
    if (!top->text.count)
        return top_leave(top);
    top_close_text(top);
    return TOP_NOTHING;
}

/* == Views == */

static enum top_action functions(struct top *top)
{
    top_show(top, REPORT_SCREEN_FUNCTIONS);
    return TOP_NOTHING;
}

static enum top_action tree(struct top *top)
{
    top_show(top, REPORT_SCREEN_TREE);
    return TOP_NOTHING;
}

static enum top_action invert(struct top *top)
{
    top_show(top, top->view == REPORT_SCREEN_CALLERS ? REPORT_SCREEN_TREE : REPORT_SCREEN_CALLERS);
    return TOP_NOTHING;
}

static enum top_action threads(struct top *top)
{
    top_show(top, REPORT_SCREEN_THREADS);
    return TOP_NOTHING;
}

static enum top_action modules(struct top *top)
{
    top_show(top, REPORT_SCREEN_MODULES);
    return TOP_NOTHING;
}

static enum top_action waits(struct top *top)
{
    top_show(top, REPORT_SCREEN_EVENTS);
    return TOP_NOTHING;
}

static enum top_action sort(struct top *top)
{
    if (top->view == REPORT_SCREEN_THREADS || top->view == REPORT_SCREEN_EVENTS)
        top_say(top, "these rows have one share, and are sorted by it");
    else if (top->view == REPORT_SCREEN_CALLERS)
        top_say(top, "the ways into functions share what these cost by themselves: `i` shows the "
                     "tree, which has totals");
    else
        top->inclusive[top->view] = !top->inclusive[top->view];
    top->made = false;
    return TOP_NOTHING;
}

static enum top_action freeze(struct top *top)
{
    top->frozen = !top->frozen;
    if (!top->frozen && top->newest) {
        struct report_moment *newest = top->newest;
        top->newest = NULL;
        top_take(top, newest);
    }
    return TOP_NOTHING;
}

/* == Prompts == */

static enum top_action ask(struct top *top, enum top_prompt prompt)
{
    top->prompt = prompt;
    sprof_str_clear(&top->typed);
    return TOP_NOTHING;
}

static enum top_action ask_search(struct top *top)
{
    top_close_text(top);
    return ask(top, TOP_PROMPT_SEARCH);
}

static enum top_action ask_mark(struct top *top)
{
    return ask(top, TOP_PROMPT_MARK);
}

static enum top_action ask_save(struct top *top)
{
    ask(top, TOP_PROMPT_SAVE);
    sprof_str_append(&top->typed, "sprof.db");
    return TOP_NOTHING;
}

static enum top_action annotate(struct top *top)
{
    const struct report_screen_row *row = top_chosen(top);
    if (!row || !*row->module) {
        top_say(top, "choose a function: the code of functions is shown");
        return TOP_NOTHING;
    }
    sprof_str_clear(&top->answer);
    if (sprof_str_appendf(&top->answer, "%s!%s", row->module, row->name))
        return TOP_NOTHING;
    top_say(top, "reading the code …");
    return TOP_ANNOTATE;
}

/* Capitals are looked for as they are where there are any. */
static bool is_found(const char *name, const char *text)
{
    for (const char *at = text; *at; at++)
        if (isupper((unsigned char)*at))
            return strstr(name, text) != NULL;
    return strcasestr(name, text) != NULL;
}

static enum top_action search(struct top *top, bool backwards)
{
    const size_t count = top->screen.count;
    const char *text = top->search.text;
    if (!text || !*text) {
        top_say(top, "nothing was searched for yet: `/` begins a search");
        return TOP_NOTHING;
    }
    for (size_t i = 1; i <= count; i++) {
        const size_t row = (top->row + (backwards ? count - i : i)) % count;
        if (!is_found(top->screen.rows[row].name, text))
            continue;
        top_choose(top, row);
        top->moved = true;
        return TOP_NOTHING;
    }
    char message[160];
    snprintf(message, sizeof message, "`%.80s` is in none of these rows", text);
    top_say(top, message);
    return TOP_NOTHING;
}

static enum top_action search_next(struct top *top)
{
    return search(top, false);
}

static enum top_action search_before(struct top *top)
{
    return search(top, true);
}

static enum top_action help(struct top *top)
{
    const bool shown = top->text.count > 0;
    top_close_text(top);
    if (!shown)
        top_show_help(top);
    return TOP_NOTHING;
}

static enum top_action quit(struct top *top)
{
    (void)top;
    return TOP_QUIT;
}

/* == The table == */

/* Keys without help do what the one before them does. */
static const struct {
    int code;
    const char *shown, *help;
    enum top_action (*run)(struct top *top);
} keys[] = {
    {'f', "f", "functions", functions},
    {'t', "t", "tree of call paths", tree},
    {'i', "i", "inverted: each function with the ways into it; and back", invert},
    {'T', "T", "threads", threads},
    {'m', "m", "modules", modules},
    {'w', "w", "waiting: kinds of waits (--off-cpu), and other events", waits},
    {'a', "a", "annotate: the code of the function, with its costs", annotate},
    {'s', "s", "sort by self, or by total", sort},
    {TOP_KEY_ENTER, "Enter", "open or close: a path, a function, a thread, a module, a wait",
     enter},
    {TOP_KEY_ESCAPE, "Esc", "back", escape},
    {TOP_KEY_UP, "up k", "a row up; down j", up},
    {'k', NULL, NULL, up},
    {TOP_KEY_DOWN, NULL, NULL, down},
    {'j', NULL, NULL, down},
    {TOP_KEY_LEFT, "left h", "close a path, or go to its caller", left},
    {'h', NULL, NULL, left},
    {TOP_KEY_RIGHT, "right l", "open", right},
    {'l', NULL, NULL, right},
    {TOP_KEY_PAGE_UP, "PgUp", "a screen up; PgDn", page_up},
    {TOP_KEY_PAGE_DOWN, NULL, NULL, page_down},
    {TOP_KEY_HOME, "Home", "stay at the first row; End the last", home},
    {TOP_KEY_END, NULL, NULL, end},
    {'/', "/", "search the rows for a part of a name", ask_search},
    {'n', "n", "the next one found; N the one before", search_next},
    {'N', NULL, NULL, search_before},
    {'z', "z", "freeze the screen; recording goes on", freeze},
    {'M', "M", "mark a phase of the recording by a name", ask_mark},
    {'S', "S", "save: the recording is kept at the end (else only with -o)", ask_save},
    {'?', "?", "this help", help},
    {'q', "q", "quit", quit},
};
static const size_t key_count = sizeof keys / sizeof *keys;

void top_show_help(struct top *top)
{
    for (size_t i = 0; i < key_count; i++) {
        char line[120];
        snprintf(line, sizeof line, "  %-9s %s", keys[i].shown ? keys[i].shown : "", keys[i].help);
        if (keys[i].shown)
            top_add_text(top, line);
    }
}

/* == Typing == */

static void append_character(struct sprof_str *text, int code)
{
    const unsigned c = (unsigned)code;
    if (c < 0x80)
        sprof_str_appendf(text, "%c", c);
    else if (c < 0x800)
        sprof_str_appendf(text, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
    else if (c < 0x10000)
        sprof_str_appendf(text, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f),
                          0x80 | (c & 0x3f));
    else
        sprof_str_appendf(text, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 0x3f),
                          0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
}

static void erase_character(struct sprof_str *text)
{
    while (text->length && ((unsigned char)text->text[text->length - 1] & 0xc0) == 0x80)
        text->text[--text->length] = '\0';
    if (text->length)
        text->text[--text->length] = '\0';
}

/* What was typed was meant for: */
static enum top_action answer(struct top *top)
{
    const enum top_prompt prompt = top->prompt;
    const char *typed = top->typed.text ? top->typed.text : "";
    struct sprof_str *kept = prompt == TOP_PROMPT_SEARCH ? &top->search : &top->answer;
    top->prompt = TOP_NO_PROMPT;
    sprof_str_clear(kept);
    if (sprof_str_append(kept, typed) || !*typed)
        return TOP_NOTHING;
    return prompt == TOP_PROMPT_SEARCH ? search_next(top)
           : prompt == TOP_PROMPT_SAVE ? TOP_SAVE
                                       : TOP_MARK;
}

static enum top_action type(struct top *top, int key)
{
    enum { TYPED_MOST = 200 };
    if (key == TOP_KEY_ENTER)
        return answer(top);
    if (key == TOP_KEY_ESCAPE)
        top->prompt = TOP_NO_PROMPT;
    else if (key == TOP_KEY_ERASE)
        erase_character(&top->typed);
    else if (key >= ' ' && key < TOP_KEY_UP && !(key >= 0xd800 && key < 0xe000) &&
             !(key >= 0x7f && key < 0xa0) && top->typed.length < TYPED_MOST)
        append_character(&top->typed, key);
    return TOP_NOTHING;
}

/* Whatever was pressed: another selection is read. */
static enum top_action and_select(struct top *top, enum top_action action)
{
    const bool reselect = top->reselect;
    top->reselect = false;
    return reselect && action == TOP_NOTHING ? TOP_SELECT : action;
}

static enum top_action run_key(struct top *top, int key)
{
    for (size_t i = 0; i < key_count; i++)
        if (keys[i].code == key)
            return keys[i].run(top);
    return TOP_NOTHING;
}

enum top_action top_key(struct top *top, int key)
{
    sprof_str_clear(&top->message);
    if (top_make(top, NULL))
        return TOP_NOTHING;
    return top->prompt ? type(top, key) : and_select(top, run_key(top, key));
}

enum top_action top_click(struct top *top, unsigned line)
{
    const size_t above = 2 + top->head;
    if (top->prompt || top->text.count || top_make(top, NULL) || line < above)
        return TOP_NOTHING;
    const size_t row = top->first + line - above;
    if (line - above >= top->page_rows || row >= top->screen.count)
        return TOP_NOTHING;
    if (row == top->row && top->moved)
        return and_select(top, enter(top));
    top_choose(top, row);
    top->moved = true;
    return TOP_NOTHING;
}
