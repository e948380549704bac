/* Packs an answer for a socket, and checks one that came from there. */
#include "symbolize/child_result.h"

#include "symbolize/function_index.h"

#include <stdlib.h>
#include <string.h>

/* == Sending == */

struct packing {
    struct sprof_map offsets; /* of texts → place + 1 */
    struct sprof_str texts;
    bool failed;
};

/* Equal texts of a result have one address. */
static uint32_t pack(struct packing *packing, const char *text)
{
    if (!text)
        return 0;
    uint64_t *place = sprof_map_at(&packing->offsets, (uint64_t)(uintptr_t)text);
    if (!place || (!*place && packing->texts.length > UINT32_MAX / 2)) {
        packing->failed = true;
        return 0;
    }
    if (!*place) {
        *place = packing->texts.length + 1;
        packing->failed |= sprof_str_append_bytes(&packing->texts, text, strlen(text) + 1) != 0;
    }
    return (uint32_t)*place;
}

bool symbolize_child_send_result(int socket, const struct symbolize_result *result,
                                 const char *problem)
{
    struct packing packing = {0};
    struct child_function *functions = calloc(result->function_count + 1, sizeof *functions);
    struct child_frame *frames = calloc(result->frame_count + 1, sizeof *frames);
    packing.failed = !functions || !frames;
    for (size_t i = 0; i < result->function_count && !packing.failed; i++) {
        const struct symbolize_function *from = &result->functions[i];
        functions[i] = (struct child_function){.start = from->start,
                                               .size = from->size,
                                               .name = pack(&packing, from->name),
                                               .linkage_name = pack(&packing, from->linkage_name),
                                               .inlined_name = pack(&packing, from->inlined_name),
                                               .file = pack(&packing, from->file),
                                               .line = from->line,
                                               .named = from->named};
    }
    for (size_t i = 0; i < result->frame_count && !packing.failed; i++)
        frames[i] =
            (struct child_frame){result->frames[i].function, pack(&packing, result->frames[i].file),
                                 result->frames[i].line};
    struct child_answer answer = {.functions = result->function_count,
                                  .frames = result->frame_count,
                                  .addresses = result->address_count,
                                  .problem = pack(&packing, problem)};
    answer.text_bytes = packing.texts.length;
    const struct sprof_bytes pieces[] = {
        {(const uint8_t *)&answer, sizeof answer},
        {(const uint8_t *)functions, result->function_count * sizeof *functions},
        {(const uint8_t *)frames, result->frame_count * sizeof *frames},
        {(const uint8_t *)result->first, (result->address_count + 1) * sizeof *result->first},
        {(const uint8_t *)packing.texts.text, packing.texts.length}};
    const bool sent = !packing.failed && symbolize_child_send(socket, CHILD_ANSWER, 0, pieces,
                                                              sizeof pieces / sizeof *pieces, -1);
    sprof_map_release(&packing.offsets);
    sprof_str_release(&packing.texts);
    free(functions);
    free(frames);
    return sent;
}

/* == Taking == */

struct taking {
    int socket;
    struct child_answer answer;
    struct child_function *functions;
    struct child_frame *frames;
    const char *texts;
    struct symbolize_result *result;
};

/* More functions than frames would be for nothing. */
static bool is_plausible(const struct child_answer *answer, uint64_t size, size_t count)
{
    enum { TEXT_BYTES_MAX = 1 << 30 };
    const uint64_t frames_max = (uint64_t)count * (INDEX_LEVELS_MAX + 1);
    return answer->addresses == count && answer->frames <= frames_max &&
           answer->frames <= UINT32_MAX && answer->functions <= answer->frames + 1 &&
           answer->text_bytes <= TEXT_BYTES_MAX &&
           size == sizeof *answer + answer->functions * sizeof(struct child_function) +
                       answer->frames * sizeof(struct child_frame) +
                       (answer->addresses + 1) * sizeof(uint32_t) + answer->text_bytes;
}

static int take(struct taking *taking)
{
    const struct child_answer *answer = &taking->answer;
    struct symbolize_result *result = taking->result;
    char *texts = sprof_arena_alloc(&result->texts, answer->text_bytes + 1);
    taking->texts = texts;
    taking->functions = malloc((answer->functions + 1) * sizeof *taking->functions);
    taking->frames = malloc((answer->frames + 1) * sizeof *taking->frames);
    result->functions = calloc(answer->functions + 1, sizeof *result->functions);
    result->frames = calloc(answer->frames + 1, sizeof *result->frames);
    result->first = malloc((answer->addresses + 1) * sizeof *result->first);
    if (!texts || !taking->functions || !taking->frames || !result->functions || !result->frames ||
        !result->first)
        return SPROF_ENOMEM;
    const int socket = taking->socket;
    const bool taken =
        symbolize_child_take(socket, taking->functions,
                             answer->functions * sizeof *taking->functions) &&
        symbolize_child_take(socket, taking->frames, answer->frames * sizeof *taking->frames) &&
        symbolize_child_take(socket, result->first,
                             (answer->addresses + 1) * sizeof *result->first) &&
        symbolize_child_take(socket, texts, answer->text_bytes);
    return taken && (!answer->text_bytes || !texts[answer->text_bytes - 1]) ? 0 : SPROF_EFORMAT;
}

/* False where it is none; 0 is no text. */
static bool text_of(const struct taking *taking, uint32_t place, const char **text)
{
    *text = place ? taking->texts + place - 1 : NULL;
    return place <= taking->answer.text_bytes;
}

static bool check_functions(const struct taking *taking)
{
    bool right = true;
    for (size_t i = 0; i < taking->answer.functions && right; i++) {
        const struct child_function *from = &taking->functions[i];
        struct symbolize_function *to = &taking->result->functions[i];
        *to = (struct symbolize_function){.start = from->start,
                                          .size = from->size,
                                          .line = from->line,
                                          .named = from->named != 0};
        right = text_of(taking, from->name, &to->name) && to->name &&
                text_of(taking, from->linkage_name, &to->linkage_name) && to->linkage_name &&
                text_of(taking, from->inlined_name, &to->inlined_name) &&
                text_of(taking, from->file, &to->file);
    }
    return right;
}

static bool check_frames(const struct taking *taking)
{
    const struct child_answer *answer = &taking->answer;
    const uint32_t *first = taking->result->first;
    bool right = first[0] == 0 && first[answer->addresses] == answer->frames;
    for (size_t i = 0; i < answer->addresses && right; i++)
        right = first[i] <= first[i + 1];
    for (size_t i = 0; i < answer->frames && right; i++) {
        const struct child_frame *from = &taking->frames[i];
        struct symbolize_frame *to = &taking->result->frames[i];
        *to = (struct symbolize_frame){.function = from->function, .line = from->line};
        right = from->function < answer->functions && text_of(taking, from->file, &to->file);
    }
    return right;
}

int symbolize_child_take_result(int socket, uint64_t size, size_t count,
                                struct symbolize_result *result, const char **problem)
{
    struct taking taking = {.socket = socket, .result = result};
    *result = (struct symbolize_result){0};
    int code = size >= sizeof taking.answer &&
                       symbolize_child_take(socket, &taking.answer, sizeof taking.answer) &&
                       is_plausible(&taking.answer, size, count)
                   ? take(&taking)
                   : SPROF_EFORMAT;
    if (!code && !(check_functions(&taking) && check_frames(&taking) &&
                   text_of(&taking, taking.answer.problem, problem)))
        code = SPROF_EFORMAT;
    free(taking.functions);
    free(taking.frames);
    if (code) {
        symbolize_result_release(result);
        return code;
    }
    result->function_count = taking.answer.functions;
    result->frame_count = taking.answer.frames;
    result->address_count = count;
    return 0;
}
