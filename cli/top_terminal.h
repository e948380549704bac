/* The terminal of `sprof top`, by ncurses: keys come in, pages go out. */
#ifndef SPROF_CLI_TOP_TERMINAL_H
#define SPROF_CLI_TOP_TERMINAL_H

#include "top/top.h"

struct cli_top_terminal;

/* Whether there is a terminal that can show a screen. SPROF_EUNSUPPORTED: sprof was built without
 * ncurses; SPROF_EUSAGE: standard input or output is no terminal, or its kind is not known;
 * SPROF_ESTATE: it is too small. */
int cli_top_terminal_check(struct sprof_error *error);

/* Whether $TERM names a terminal on which the cursor can be moved. */
bool cli_top_terminal_is_known(void);

/* Takes the screen. Errors as above. `color`: colours may be used. */
int cli_top_terminal_open(struct cli_top_terminal **terminal, bool color,
                          struct sprof_error *error);

/* Gives the screen back as it was. */
void cli_top_terminal_close(struct cli_top_terminal *terminal);

void cli_top_terminal_size(struct cli_top_terminal *terminal, unsigned *rows, unsigned *columns);
void cli_top_terminal_draw(struct cli_top_terminal *terminal, const struct top_page *page);

/* What was pressed. */
struct cli_top_input {
    enum cli_top_input_kind { CLI_TOP_NO_INPUT, CLI_TOP_KEY, CLI_TOP_CLICK, CLI_TOP_RESIZED } kind;
    int key;       /* as top_key takes it */
    unsigned line; /* of a click */
};

/* The next one, without waiting. */
struct cli_top_input cli_top_terminal_read(struct cli_top_terminal *terminal);

#endif
