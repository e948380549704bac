/* Looks a kind of terminal up. The header of terminfo takes common words as macros, so that this
 * stands apart. */
#include "cli/top_terminal.h"

#if SPROF_HAS_NCURSES

#include <curses.h>
#include <term.h>

bool cli_top_terminal_is_known(void)
{
    int found = 0;
    const bool known = setupterm(NULL, 1, &found) == OK && cursor_address;
    if (found == 1)
        del_curterm(cur_term);
    return known;
}

#else

bool cli_top_terminal_is_known(void)
{
    return false;
}

#endif
