/* Collects what was found of a machine, and what helps. */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *doctor_state_name(enum doctor_state state)
{
    static const char *const names[] = {"good", "less", "bad"};
    return names[state];
}

/* A text of the arena; NULL: no memory. */
static const char *format_text(struct doctor_points *points, const char *format, va_list values)
{
    char *text;
    if (vasprintf(&text, format, values) < 0)
        return NULL;
    const char *copy = sprof_arena_text(&points->texts, text);
    free(text);
    return copy;
}

void doctor_find(struct doctor_points *points, const char *topic, const char *name,
                 enum doctor_state state, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *found = format_text(points, format, values);
    va_end(values);
    const struct doctor_point point = {
        .topic = topic, .name = name, .state = state, .found = found};
    points->failed |= !found || sprof_vec_push(&points->list, point);
}

void doctor_cure(struct doctor_points *points, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *cure = format_text(points, format, values);
    va_end(values);
    points->failed |= !cure || !points->list.count;
    if (!points->failed)
        points->list.items[points->list.count - 1].cure = cure;
}

void doctor_points_release(struct doctor_points *points)
{
    sprof_vec_release(&points->list);
    sprof_arena_release(&points->texts);
}
