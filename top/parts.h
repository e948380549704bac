/* What the files of top/ share. */
#ifndef SPROF_TOP_PARTS_H
#define SPROF_TOP_PARTS_H

#include "top/top.h"

/* Makes the rows where state or moment have changed, and finds the chosen one among them. 0 or a
 * negative code with *error filled. */
int top_make(struct top *top, struct sprof_error *error);

/* The chosen row; NULL where there are none. */
const struct report_screen_row *top_chosen(const struct top *top);

/* Chooses a row by its number; one behind the last is the last. */
void top_choose(struct top *top, size_t row);

/* Opens or closes a row of a tree. */
void top_toggle(struct top *top, uint64_t id, bool open);

/* Shows another view, from its beginning. */
void top_show(struct top *top, enum report_screen_view view);

/* As top_show; Escape leads back to where the user was. */
void top_enter(struct top *top, enum report_screen_view view);

/* Goes back to where the user was before. */
enum top_action top_leave(struct top *top);

/* Reads another part of the recording; borrowed; NULL: as before. */
void top_select(struct top *top, const char *thread, const char *module, const char *event);

/* Shows lines instead of rows, or rows again. */
void top_add_text(struct top *top, const char *line);
void top_close_text(struct top *top);

/* The lines of help: a line for each key. */
void top_show_help(struct top *top);

#endif
