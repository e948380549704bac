/* Calls that were logged as evented profiles of speedscope's JSON (its file-format-spec.ts): events
 * open and close frames in the order of time, the innermost first. */
#include "report/export/speedscope_calls.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 2000000 }; /* some 200 MB of text, in two events each */

struct open_call {
    uint64_t end_ns;
    uint32_t frame;
};

struct writing {
    struct json *json;
    struct speedscope_calls *calls;
    uint32_t thread; /* id of the row of the one that is written; 0: none yet */
    uint64_t at_ns;  /* of the last event */
    SPROF_VEC(struct open_call) open;
};

static int frame_of(struct speedscope_calls *calls, const struct export_call *call, uint32_t *frame)
{
    uint64_t *number = sprof_map_at(&calls->frames, call->function_row);
    if (!number)
        return SPROF_ENOMEM;
    if (!*number) {
        char *name = strdup(call->function);
        if (!name || sprof_vec_push(&calls->names, name)) {
            free(name);
            return SPROF_ENOMEM;
        }
        *number = calls->names.count;
    }
    *frame = calls->first + (uint32_t)*number - 1;
    return 0;
}

static void put_event(struct writing *writing, const char *type, uint64_t at_ns, uint32_t frame)
{
    writing->at_ns = at_ns > writing->at_ns ? at_ns : writing->at_ns;
    report_json_open_object(writing->json, NULL);
    report_json_text(writing->json, "type", type);
    report_json_count(writing->json, "at", writing->at_ns);
    report_json_count(writing->json, "frame", frame);
    report_json_close_object(writing->json);
}

/* Ends what had ended by then. Calls whose end was not seen last as long as the rest. */
static void close_until(struct writing *writing, uint64_t until_ns)
{
    while (writing->open.count) {
        const struct open_call *call = &writing->open.items[writing->open.count - 1];
        if (call->end_ns > until_ns)
            break;
        put_event(writing, "C", call->end_ns < UINT64_MAX ? call->end_ns : 0, call->frame);
        writing->open.count--;
    }
}

static void end_thread(struct writing *writing)
{
    if (!writing->thread)
        return;
    close_until(writing, UINT64_MAX);
    report_json_close_array(writing->json);
    report_json_count(writing->json, "endValue", writing->at_ns);
    report_json_close_object(writing->json);
}

static void begin_thread(struct writing *writing, const struct export_call *call)
{
    char name[128];
    snprintf(name, sizeof name, "%s %d: calls", *call->thread ? call->thread : "thread",
             (int)call->tid);
    report_json_open_object(writing->json, NULL);
    report_json_text(writing->json, "type", "evented");
    report_json_text(writing->json, "name", name);
    report_json_text(writing->json, "unit", "nanoseconds");
    report_json_count(writing->json, "startValue", 0);
    report_json_open_array(writing->json, "events");
    writing->thread = call->thread_row;
    writing->at_ns = 0;
}

/* A call ends with the one that it lies in at the latest. */
static uint64_t end_of(const struct writing *writing, const struct export_call *call)
{
    const uint64_t end_ns = call->duration_ns ? call->start_ns + call->duration_ns : UINT64_MAX;
    const size_t count = writing->open.count;
    const uint64_t latest_ns = count ? writing->open.items[count - 1].end_ns : UINT64_MAX;
    return end_ns < latest_ns ? end_ns : latest_ns;
}

static int put_call(void *context, const struct export_call *call)
{
    struct writing *writing = context;
    struct open_call open = {0};
    int result = frame_of(writing->calls, call, &open.frame);
    if (result)
        return result;
    if (call->thread_row != writing->thread) {
        end_thread(writing);
        begin_thread(writing, call);
    }
    close_until(writing, call->start_ns);
    open.end_ns = end_of(writing, call);
    put_event(writing, "O", call->start_ns, open.frame);
    return sprof_vec_push(&writing->open, open) ? SPROF_ENOMEM : 0;
}

static int put_none(void *context, const struct export_call *call)
{
    (void)context;
    (void)call;
    return 0;
}

int speedscope_calls_open(struct speedscope_calls *calls, const struct report_content *content,
                          struct sprof_error *error)
{
    *calls = (struct speedscope_calls){.first = (uint32_t)content->dataset->functions.count};
    return report_export_calls(content, 0, &calls->calls, put_none, NULL, error);
}

int speedscope_calls_put(struct json *json, struct speedscope_calls *calls,
                         const struct report_content *content, struct sprof_error *error)
{
    struct writing writing = {.json = json, .calls = calls};
    int result = 0;
    if (calls->calls)
        result = report_export_calls(content, MOST_CALLS, NULL, put_call, &writing, error);
    end_thread(&writing);
    sprof_vec_release(&writing.open);
    return result;
}

void speedscope_calls_put_frames(struct json *json, const struct speedscope_calls *calls)
{
    for (size_t i = 0; i < calls->names.count; i++) {
        report_json_open_object(json, NULL);
        report_json_text(json, "name", calls->names.items[i]);
        report_json_close_object(json);
    }
}

void speedscope_calls_release(struct speedscope_calls *calls)
{
    for (size_t i = 0; i < calls->names.count; i++)
        free(calls->names.items[i]);
    sprof_vec_release(&calls->names);
    sprof_map_release(&calls->frames);
}
