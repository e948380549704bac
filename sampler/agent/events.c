/* Keeps the records that the recorder makes, in the order of time. */
#include "sampler/agent/events.h"

#include <string.h>

static const char **text_of(struct model_record *record)
{
    return record->type == MODEL_RECORD_COMM   ? &record->comm.name
           : record->type == MODEL_RECORD_MMAP ? &record->mapping.file.path
                                               : NULL;
}

static void drop_taken(struct sigprof_events *events)
{
    enum { KEPT = 1024 };
    if (events->next < KEPT && events->next < events->items.count)
        return;
    memmove(events->items.items, events->items.items + events->next,
            (events->items.count - events->next) * sizeof *events->items.items);
    events->items.count -= events->next;
    events->next = 0;
}

int sigprof_events_add(struct sigprof_events *events, const struct model_record *record)
{
    struct sigprof_event event = {.record = *record};
    const char **text = text_of(&event.record);
    if (text && *text && !(*text = event.text = strdup(*text)))
        return SPROF_ENOMEM;
    if (events->next)
        drop_taken(events);
    if (sprof_vec_push(&events->items, event)) {
        free(event.text);
        return SPROF_ENOMEM;
    }
    struct sigprof_event *items = events->items.items;
    size_t at = events->items.count - 1;
    for (; at > events->next && items[at - 1].record.time_ns > record->time_ns; at--)
        items[at] = items[at - 1];
    items[at] = event;
    return 0;
}

uint64_t sigprof_events_time_ns(const struct sigprof_events *events)
{
    return events->next < events->items.count ? events->items.items[events->next].record.time_ns
                                              : UINT64_MAX;
}

void sigprof_events_take(struct sigprof_events *events, struct model_record *record)
{
    struct sigprof_event *event = &events->items.items[events->next++];
    free(events->taken);
    events->taken = event->text;
    event->text = NULL;
    *record = event->record;
}

void sigprof_events_release(struct sigprof_events *events)
{
    for (size_t i = events->next; i < events->items.count; i++)
        free(events->items.items[i].text);
    free(events->taken);
    sprof_vec_release(&events->items);
    *events = (struct sigprof_events){0};
}
