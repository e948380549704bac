/* Shows pages on the terminal and reads its keys. */
#include "cli/top_terminal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define INSTEAD "`sprof record -o FILE …`, and `sprof report --follow FILE` meanwhile, need none"

#if SPROF_HAS_NCURSES

/* Wide characters, and none of the macros that have names of functions. */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>

struct cli_top_terminal {
    SCREEN *screen;
    bool color, ascii;
};

int cli_top_terminal_check(struct sprof_error *error)
{
    const char *kind = getenv("TERM");
    struct winsize size;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "standard %s is no terminal, which `sprof top` needs\n" INSTEAD,
                               isatty(STDIN_FILENO) ? "output" : "input");
    if (!cli_top_terminal_is_known())
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "this kind of terminal (TERM=%.40s) is not known, or has no "
                               "screen: set TERM to what it is, such as xterm-256color\n" INSTEAD,
                               kind ? kind : "");
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
        (size.ws_row < TOP_LEAST_ROWS || size.ws_col < TOP_LEAST_COLUMNS))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "the terminal has %u columns and %u rows: make it larger, %d and "
                               "%d are needed\n" INSTEAD,
                               size.ws_col, size.ws_row, TOP_LEAST_COLUMNS, TOP_LEAST_ROWS);
    return 0;
}

enum { BAR_PAIR = 1, PROMPT_PAIR };

int cli_top_terminal_open(struct cli_top_terminal **terminal, bool color, struct sprof_error *error)
{
    const int status = cli_top_terminal_check(error);
    if (status)
        return status;
    *terminal = calloc(1, sizeof **terminal);
    if (!*terminal)
        return sprof_error_memory(error);
    setlocale(LC_CTYPE, "");
    (*terminal)->ascii = MB_CUR_MAX == 1;
    (*terminal)->screen = newterm(NULL, stdout, stdin);
    if (!(*terminal)->screen) {
        free(*terminal);
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "ncurses cannot use this terminal\n" INSTEAD);
    }
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0);
    (*terminal)->color = color && has_colors() && start_color() != ERR;
    if ((*terminal)->color) {
        use_default_colors();
        init_pair(BAR_PAIR, COLOR_CYAN, -1);
        init_pair(PROMPT_PAIR, COLOR_YELLOW, -1);
    }
    return 0;
}

void cli_top_terminal_close(struct cli_top_terminal *terminal)
{
    if (!terminal)
        return;
    endwin();
    delscreen(terminal->screen);
    free(terminal);
}

void cli_top_terminal_size(struct cli_top_terminal *terminal, unsigned *rows, unsigned *columns)
{
    (void)terminal;
    *rows = (unsigned)getmaxy(stdscr);
    *columns = (unsigned)getmaxx(stdscr);
}

/* What reports draw with, where the locale is not UTF-8; "?" for other characters. */
static char plain_character(const char *text, size_t length)
{
    static const struct {
        const char *text;
        char plain;
    } known[] = {{"│", '|'}, {"├", '|'}, {"└", '`'}, {"…", '.'},
                 {"·", '-'}, {"±", '+'}, {"›", '>'}, {"µ", 'u'}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].text) == length && !memcmp(known[i].text, text, length))
            return known[i].plain;
    return '?';
}

static void put_plain(const char *text)
{
    while (*text) {
        const size_t length = sprof_utf8_length(text);
        addch((unsigned char)(length > 1 ? plain_character(text, length) : *text));
        text += length ? length : 1;
    }
}

static attr_t look_of(const struct cli_top_terminal *terminal, enum top_style style)
{
    switch (style) {
    case TOP_BAR: return A_BOLD | (terminal->color ? (attr_t)COLOR_PAIR(BAR_PAIR) : 0);
    case TOP_TITLES: return A_BOLD;
    case TOP_CHOSEN: return A_REVERSE;
    case TOP_PROMPT: return A_BOLD | (terminal->color ? (attr_t)COLOR_PAIR(PROMPT_PAIR) : 0);
    case TOP_HINT: return terminal->color ? A_DIM : A_NORMAL;
    default: return A_NORMAL;
    }
}

static void draw_line(const struct cli_top_terminal *terminal, int row, const struct top_line *line)
{
    const attr_t look = look_of(terminal, line->style);
    move(row, 0);
    attrset((int)look);
    if (terminal->ascii)
        put_plain(line->text);
    else
        addstr(line->text);
    if (line->style == TOP_CHOSEN && getcury(stdscr) == row)
        hline(' ' | look, getmaxx(stdscr) - getcurx(stdscr));
    attrset(A_NORMAL);
}

void cli_top_terminal_draw(struct cli_top_terminal *terminal, const struct top_page *page)
{
    erase();
    for (size_t i = 0; i < page->lines.count; i++)
        draw_line(terminal, (int)i, &page->lines.items[i]);
    curs_set(page->cursor >= 0);
    if (page->cursor >= 0)
        move((int)page->lines.count - 1, page->cursor);
    refresh();
}

static struct cli_top_input click(void)
{
    MEVENT event;
    if (getmouse(&event) == ERR)
        return (struct cli_top_input){CLI_TOP_NO_INPUT, 0, 0};
    if (event.bstate & BUTTON4_PRESSED)
        return (struct cli_top_input){CLI_TOP_KEY, TOP_KEY_UP, 0};
    if (event.bstate & BUTTON5_PRESSED)
        return (struct cli_top_input){CLI_TOP_KEY, TOP_KEY_DOWN, 0};
    return (struct cli_top_input){CLI_TOP_CLICK, 0, (unsigned)event.y};
}

/* Keys of the keyboard that are no characters; 0: not used. */
static int key_of(wint_t code)
{
    switch (code) {
    case KEY_UP: return TOP_KEY_UP;
    case KEY_DOWN: return TOP_KEY_DOWN;
    case KEY_LEFT: return TOP_KEY_LEFT;
    case KEY_RIGHT: return TOP_KEY_RIGHT;
    case KEY_PPAGE: return TOP_KEY_PAGE_UP;
    case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
    case KEY_HOME: return TOP_KEY_HOME;
    case KEY_END: return TOP_KEY_END;
    case KEY_ENTER: return TOP_KEY_ENTER;
    case KEY_BACKSPACE: return TOP_KEY_ERASE;
    default: return 0;
    }
}

struct cli_top_input cli_top_terminal_read(struct cli_top_terminal *terminal)
{
    wint_t code;
    (void)terminal;
    const int kind = get_wch(&code);
    struct cli_top_input input = {.kind = CLI_TOP_KEY, .key = (int)code};
    if (kind == ERR)
        input.kind = CLI_TOP_NO_INPUT;
    else if (kind == KEY_CODE_YES && code == KEY_RESIZE)
        input.kind = CLI_TOP_RESIZED;
    else if (kind == KEY_CODE_YES && code == KEY_MOUSE)
        input = click();
    else if (kind == KEY_CODE_YES)
        input.key = key_of(code);
    else if (code == '\r')
        input.key = TOP_KEY_ENTER;
    else if (code == '\b')
        input.key = TOP_KEY_ERASE;
    return input;
}

#else

int cli_top_terminal_check(struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "this sprof was built without ncurses, which `sprof top` draws with: "
                           "`apt install libncurses-dev`, and build sprof again\n" INSTEAD);
}

int cli_top_terminal_open(struct cli_top_terminal **terminal, bool color, struct sprof_error *error)
{
    (void)terminal;
    (void)color;
    return cli_top_terminal_check(error);
}

void cli_top_terminal_close(struct cli_top_terminal *terminal)
{
    (void)terminal;
}

void cli_top_terminal_size(struct cli_top_terminal *terminal, unsigned *rows, unsigned *columns)
{
    (void)terminal;
    *rows = *columns = 0;
}

void cli_top_terminal_draw(struct cli_top_terminal *terminal, const struct top_page *page)
{
    (void)terminal;
    (void)page;
}

struct cli_top_input cli_top_terminal_read(struct cli_top_terminal *terminal)
{
    (void)terminal;
    return (struct cli_top_input){CLI_TOP_NO_INPUT, 0, 0};
}

#endif
