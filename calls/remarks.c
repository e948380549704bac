/* Writes rows of requests that threads work for, and holds notes until calls end. The command can
 * overwrite rings. */
#include "calls/remarks.h"
#include "calls/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64, NOTES = 1024 /* per thread */ };

static void free_note(struct calls_note *note)
{
    free(note->name);
    free(note->value);
}

void calls_remarks_release(struct calls_remarks *remarks)
{
    for (size_t i = 0; i < remarks->notes.count; i++)
        free_note(&remarks->notes.items[i]);
    sprof_vec_release(&remarks->notes);
    sprof_vec_release(&remarks->parts);
    free(remarks->label);
    *remarks = (struct calls_remarks){0};
}

/* == Requests == */

/* Drops time before the last clear. The agent does so later. */
static uint64_t counts_from(const struct calls_program *program, uint64_t begin)
{
    const uint64_t cleared = program->times.cleared.ticks;
    return begin < cleared ? cleared : begin;
}

static struct calls_request_part *last_part(struct calls_thread *thread)
{
    struct calls_remarks *remarks = &thread->remarks;
    return remarks->parts.count ? &remarks->parts.items[remarks->parts.count - 1] : NULL;
}

int calls_remarks_put_part(struct calls_program *program, const struct calls_thread *thread,
                           const struct store_request_part *part, const char *label)
{
    const uint64_t now_ns = calls_time_of(program, probe_ticks());
    struct store_request_part row = *part;
    row.run_id = program->run->id;
    if (row.start_ns > now_ns) /* the program can overwrite times; views add them up */
        row.start_ns = now_ns;
    if (row.duration_ns > now_ns - row.start_ns)
        row.duration_ns = now_ns > row.start_ns ? now_ns - row.start_ns : 1;
    row.thread_id = thread->shares ? program->threads.others.row : thread->row;
    if (label && !(row.label = sprof_arena_text(recording_batch_arena(program->recording), label)))
        return SPROF_ENOMEM;
    return sprof_vec_push(&recording_batch(program->recording)->request_parts, row) ? SPROF_ENOMEM
                                                                                    : 0;
}

/* Writes the row of the thread's last part, again where it has ended meanwhile. */
static int put_part(struct calls_program *program, struct calls_thread *thread, bool is_end)
{
    const struct calls_request_part *part = last_part(thread);
    struct store_request_part row = {
        .number = part->number,
        .request = part->request,
        .start_ns = calls_time_of(program, counts_from(program, part->begin)),
        .is_end = is_end,
    };
    if (part->end < program->times.cleared.ticks)
        return 0;
    if (part->end != UINT64_MAX) {
        const uint64_t end_ns = calls_time_of(program, part->end);
        row.duration_ns = end_ns > row.start_ns ? end_ns - row.start_ns : 1;
    }
    return calls_remarks_put_part(program, thread, &row, thread->remarks.label);
}

static int end_part(struct calls_program *program, struct calls_thread *thread, uint64_t ticks,
                    bool is_end)
{
    struct calls_request_part *part = last_part(thread);
    if (!part || part->end != UINT64_MAX)
        return 0;
    part->end = ticks > part->begin ? ticks : part->begin;
    return put_part(program, thread, is_end);
}

int calls_remarks_end(struct calls_program *program, struct calls_thread *thread)
{
    return end_part(program, thread, probe_ticks(), false);
}

int calls_remarks_begin_anew(struct calls_program *program)
{
    int result = 0;
    for (size_t i = 0; i < PROBE_SLABS && !result; i++) {
        struct calls_thread *thread = program->threads.of_slab[i];
        const struct calls_request_part *part = thread ? last_part(thread) : NULL;
        if (part && part->end == UINT64_MAX)
            result = put_part(program, thread, false);
    }
    return result;
}

static int begin_part(struct calls_program *program, struct calls_thread *thread,
                      const struct probe_remark *remark, const char *label)
{
    struct calls_remarks *remarks = &thread->remarks;
    const struct calls_request_part part = {.request = remark->value,
                                            .begin = remark->time,
                                            .end = UINT64_MAX,
                                            .number = ++program->all->kept.request_parts};
    int result = end_part(program, thread, remark->time, false);
    if (result || !remark->value)
        return result;
    if (remarks->parts.count >= PARTS) {
        remarks->parts.count--;
        memmove(remarks->parts.items, remarks->parts.items + 1,
                remarks->parts.count * sizeof *remarks->parts.items);
        remarks->has_dropped = true;
    }
    free(remarks->label);
    remarks->label = *label ? strdup(label) : NULL;
    if ((*label && !remarks->label) || sprof_vec_push(&remarks->parts, part))
        return SPROF_ENOMEM;
    return put_part(program, thread, false);
}

uint64_t calls_remarks_request(const struct calls_thread *thread, uint64_t begin, uint64_t end)
{
    const struct calls_remarks *remarks = &thread->remarks;
    uint64_t during = 0;
    size_t count = 0;
    for (size_t i = remarks->parts.count; i-- > 0;) {
        const struct calls_request_part *part = &remarks->parts.items[i];
        if (part->begin <= begin && begin < part->end)
            return part->request;
        if (part->end <= begin)
            return count == 1 ? during : 0;
        count += part->begin < end;
        during = part->begin < end ? part->request : during;
    }
    return count == 1 && !remarks->has_dropped ? during : 0;
}

/* == Notes == */

static void drop_note(struct calls_remarks *remarks, size_t at)
{
    free_note(&remarks->notes.items[at]);
    remarks->notes.count--;
    memmove(&remarks->notes.items[at], &remarks->notes.items[at + 1],
            (remarks->notes.count - at) * sizeof *remarks->notes.items);
}

/* Drops one note at least. Calls that began later have ended, and most calls of the same function
 * have: they were not kept. Others may be open, as may be those. */
static void make_room(struct calls_program *program, struct calls_thread *thread, uint64_t begin,
                      uint32_t function)
{
    struct calls_remarks *remarks = &thread->remarks;
    size_t at = 0;
    calls_remarks_drop_notes(thread, begin + 1);
    if (remarks->notes.count < NOTES)
        return;
    while (at < remarks->notes.count && (remarks->notes.items[at].function != function ||
                                         remarks->notes.items[at].begin == begin))
        at++;
    program->all->kept.remarks_lost += at == remarks->notes.count;
    drop_note(remarks, at < remarks->notes.count ? at : 0);
}

static int add_note(struct calls_program *program, struct calls_thread *thread,
                    const struct probe_remark *remark, const char *key, const char *text)
{
    struct calls_remarks *remarks = &thread->remarks;
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, (int64_t)remark->value);
    const struct calls_note note = {.begin = counts_from(program, remark->begin),
                                    .function = remark->function,
                                    .name = strdup(key),
                                    .value =
                                        strdup(remark->kind == PROBE_NOTE_NUMBER ? number : text)};
    if (remarks->notes.count >= NOTES)
        make_room(program, thread, note.begin, note.function);
    return !note.name || !note.value || sprof_vec_push(&remarks->notes, note) ? SPROF_ENOMEM : 0;
}

static int put_note(struct calls_program *program, const struct calls_note *note, uint32_t position,
                    uint32_t number)
{
    struct sprof_arena *arena = recording_batch_arena(program->recording);
    const struct store_call_value row = {.run_id = program->run->id,
                                         .call_number = number,
                                         .position = STORE_NOTE + position,
                                         .name = sprof_arena_text(arena, note->name),
                                         .value = sprof_arena_text(arena, note->value)};
    return !row.name || !row.value ||
                   sprof_vec_push(&recording_batch(program->recording)->call_values, row)
               ? SPROF_ENOMEM
               : 0;
}

int calls_remarks_put_notes(struct calls_program *program, struct calls_thread *thread,
                            uint32_t function, uint64_t begin, uint32_t number)
{
    struct calls_remarks *remarks = &thread->remarks;
    const uint64_t from = counts_from(program, begin);
    uint32_t put = 0;
    int result = 0;
    for (size_t i = 0; i < remarks->notes.count && !result;) {
        const struct calls_note *note = &remarks->notes.items[i];
        if (note->function != function || note->begin != from) {
            i++;
            continue;
        }
        result = number ? put_note(program, note, put++, number) : 0;
        drop_note(remarks, i);
    }
    return result;
}

void calls_remarks_drop_notes(struct calls_thread *thread, uint64_t begin)
{
    struct calls_remarks *remarks = &thread->remarks;
    size_t stay = 0;
    for (size_t i = 0; i < remarks->notes.count; i++) {
        struct calls_note *note = &remarks->notes.items[i];
        if (note->begin < begin)
            remarks->notes.items[stay++] = *note;
        else
            free_note(note);
    }
    remarks->notes.count = stay;
}

/* == Taking == */

/* Requests of --request have the numbers of their calls, which the program may give, too. */
static bool are_of_calls(const struct calls_program *program)
{
    bool *is_refused = &program->all->kept.requests_refused;
    if (!program->options.kept.requests_of)
        return false;
    if (!*is_refused)
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "--request: the program says by sprof_request() for which requests its "
                          "threads work, which is not recorded: without the option it is");
    *is_refused = true;
    return true;
}

int calls_remark_take(struct calls_program *program, struct calls_thread *thread,
                      const struct probe_remark *unit, size_t bytes)
{
    const struct probe_remark remark = *unit; /* the program can change it */
    const char *texts = (const char *)(unit + 1);
    char key[PROBE_KEY_BYTES + 1] = "", text[PROBE_TEXT_BYTES + 1] = "";
    if (remark.key_bytes > PROBE_KEY_BYTES || remark.text_bytes > PROBE_TEXT_BYTES ||
        (size_t)remark.key_bytes + remark.text_bytes > bytes)
        return 0;
    memcpy(key, texts, remark.key_bytes);
    memcpy(text, texts + remark.key_bytes, remark.text_bytes);
    switch (remark.kind) {
    case PROBE_REQUEST:
        return are_of_calls(program) ? 0 : begin_part(program, thread, &remark, text);
    case PROBE_REQUEST_END: return end_part(program, thread, remark.time, true);
    case PROBE_NOTE:
    case PROBE_NOTE_NUMBER:
        return remark.begin && remark.time >= program->times.cleared.ticks
                   ? add_note(program, thread, &remark, key, text)
                   : 0;
    default: return 0;
    }
}
