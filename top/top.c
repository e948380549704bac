/* Holds the state of the screen: which rows there are, which is chosen, which are open. */
#include "top/parts.h"

#include <stdlib.h>
#include <string.h>

/* Rows of the tree that have so much of all are open until they are closed. */
static const double OPEN_SHARE = 0.5;

enum { TOGGLED_OPEN = 1, TOGGLED_CLOSED = 2 };

int top_init(struct top *top, const char *target)
{
    *top = (struct top){
        .target = strdup(target), .page_rows = 1, .inclusive[REPORT_SCREEN_TREE] = true};
    return top->target ? 0 : SPROF_ENOMEM;
}

static void release_place(struct top_place *place)
{
    free(place->thread);
    free(place->module);
    free(place->event);
}

void top_release(struct top *top)
{
    report_screen_release(&top->screen);
    report_moment_free(top->moment);
    report_moment_free(top->newest);
    for (size_t i = 0; i < top->places.count; i++)
        release_place(&top->places.items[i]);
    sprof_vec_release(&top->places);
    top_close_text(top);
    sprof_vec_release(&top->text);
    sprof_map_release(&top->toggled);
    sprof_str_release(&top->typed);
    sprof_str_release(&top->search);
    sprof_str_release(&top->message);
    sprof_str_release(&top->answer);
    free(top->thread);
    free(top->module);
    free(top->event);
    free(top->target);
}

void top_take(struct top *top, struct report_moment *moment)
{
    struct report_moment **place = top->frozen && top->moment ? &top->newest : &top->moment;
    if (place == &top->moment) {
        report_screen_release(&top->screen);
        top->made = false;
    }
    report_moment_free(*place);
    *place = moment;
}

void top_say(struct top *top, const char *text)
{
    sprof_str_clear(&top->message);
    sprof_utf8_clean(&top->message, text);
}

struct report_selection top_selection(const struct top *top)
{
    const bool all_events = top->view == REPORT_SCREEN_EVENTS;
    return (struct report_selection){.thread = top->thread,
                                     .module = top->module,
                                     .event = all_events ? NULL : top->event,
                                     .all_events = all_events};
}

/* == Rows == */

static bool is_open(void *context, uint64_t id, double share)
{
    const struct top *top = context;
    const uint64_t *toggled = sprof_map_get(&top->toggled, id);
    if (toggled && *toggled)
        return *toggled == TOGGLED_OPEN;
    return top->view == REPORT_SCREEN_TREE && share >= OPEN_SHARE;
}

/* The chosen row stays the same thing, at the same height where it can. */
static void find_chosen(struct top *top)
{
    const struct report_screen *screen = &top->screen;
    const size_t before = top->row;
    size_t row = 0;
    while (top->moved && row < screen->count && screen->rows[row].id != top->chosen)
        row++;
    top_choose(top, row < screen->count ? row : before);
    top->first += top->row > before ? top->row - before : 0;
    if (before > top->row)
        top->first -= before - top->row < top->first ? before - top->row : top->first;
}

int top_make(struct top *top, struct sprof_error *error)
{
    if (top->made || !top->moment)
        return 0;
    const struct report_screen_request request = {.view = top->view,
                                                  .inclusive = top->inclusive[top->view],
                                                  .is_open = is_open,
                                                  .context = top};
    report_screen_release(&top->screen);
    const int result = report_screen_make(&top->screen, top->moment, &request, error);
    if (result)
        return result;
    top->made = true;
    find_chosen(top);
    return 0;
}

const struct report_screen_row *top_chosen(const struct top *top)
{
    return top->row < top->screen.count ? &top->screen.rows[top->row] : NULL;
}

void top_choose(struct top *top, size_t row)
{
    const size_t count = top->screen.count;
    top->row = row < count ? row : count ? count - 1 : 0;
    top->chosen = count ? top->screen.rows[top->row].id : 0;
}

void top_toggle(struct top *top, uint64_t id, bool open)
{
    sprof_map_put(&top->toggled, id, open ? TOGGLED_OPEN : TOGGLED_CLOSED);
    top->made = false;
    top->moved = true;
}

/* == Places == */

/* What was read does not belong to the new selection. */
static void forget_moment(struct top *top)
{
    report_screen_release(&top->screen);
    report_moment_free(top->moment);
    report_moment_free(top->newest);
    top->moment = top->newest = NULL;
    top->reselect = true;
}

void top_show(struct top *top, enum report_screen_view view)
{
    if ((view == REPORT_SCREEN_EVENTS) != (top->view == REPORT_SCREEN_EVENTS))
        forget_moment(top);
    top->view = view;
    top->moved = top->made = false;
    top->row = top->first = 0;
}

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

void top_enter(struct top *top, enum report_screen_view view)
{
    struct top_place place = {.view = top->view,
                              .chosen = top->chosen,
                              .thread = copy_of(top->thread),
                              .module = copy_of(top->module),
                              .event = copy_of(top->event)};
    if (sprof_vec_push(&top->places, place))
        release_place(&place);
    top_show(top, view);
}

void top_select(struct top *top, const char *thread, const char *module, const char *event)
{
    char **const kept[] = {&top->thread, &top->module, &top->event};
    const char *const given[] = {thread, module, event};
    for (int i = 0; i < 3; i++)
        if (given[i]) {
            free(*kept[i]);
            *kept[i] = strdup(given[i]);
        }
    forget_moment(top);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

enum top_action top_leave(struct top *top)
{
    if (!top->places.count)
        return TOP_NOTHING;
    struct top_place place = top->places.items[--top->places.count];
    top_show(top, place.view);
    top->chosen = place.chosen;
    top->moved = true;
    if (!same_text(place.thread, top->thread) || !same_text(place.module, top->module) ||
        !same_text(place.event, top->event))
        forget_moment(top);
    struct top_place now = {.thread = top->thread, .module = top->module, .event = top->event};
    top->thread = place.thread;
    top->module = place.module;
    top->event = place.event;
    release_place(&now);
    return TOP_NOTHING;
}

/* == Text == */

void top_close_text(struct top *top)
{
    for (size_t i = 0; i < top->text.count; i++)
        free(top->text.items[i]);
    top->text.count = top->text_first = 0;
}

void top_show_code(struct top *top, const char *text)
{
    top_close_text(top);
    sprof_str_clear(&top->message);
    while (*text) {
        const size_t length = strcspn(text, "\n");
        struct sprof_str line = {0}, clean = {0};
        sprof_str_append_bytes(&line, text, length);
        for (size_t i = 0; i < line.length; i++)
            line.text[i] = line.text[i] == '\t' ? ' ' : line.text[i];
        if (!line.failed && !sprof_utf8_clean(&clean, line.text ? line.text : ""))
            top_add_text(top, clean.text ? clean.text : "");
        sprof_str_release(&line);
        sprof_str_release(&clean);
        text += length + (text[length] == '\n');
    }
}

void top_add_text(struct top *top, const char *line)
{
    char *copy = strdup(line);
    if (!copy || sprof_vec_push(&top->text, copy))
        free(copy);
}
