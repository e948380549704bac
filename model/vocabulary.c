/* The words of the shared enums. */
#include "model/vocabulary.h"

#include <stddef.h>
#include <string.h>

const char *const model_mode_words[] = {
    [MODEL_MODE_PC] = "pc",
    [MODEL_MODE_FULL] = "full",
    [MODEL_MODE_APP] = "app",
    NULL,
};

const char *const model_kind_words[] = {
    [MODEL_KIND_NONE] = "none",     [MODEL_KIND_APP] = "app", [MODEL_KIND_SYSTEM] = "system",
    [MODEL_KIND_KERNEL] = "kernel", [MODEL_KIND_JIT] = "jit", NULL,
};

const char *const model_found_by_words[] = {
    [MODEL_BY_CFI] = "cfi",       [MODEL_BY_PLT] = "plt",   [MODEL_BY_SIGNAL] = "signal",
    [MODEL_BY_FP] = "fp",         [MODEL_BY_SCAN] = "scan", [MODEL_BY_KERNEL] = "kernel",
    [MODEL_BY_INLINE] = "inline", [MODEL_BY_LEAF] = "leaf", NULL,
};

const char *const model_end_words[] = {
    [MODEL_END_ROOT] = "root",
    [MODEL_END_TRUNCATED] = "truncated",
    [MODEL_END_NO_CFI] = "no-cfi",
    [MODEL_END_BAD_MEMORY] = "bad-memory",
    [MODEL_END_DEPTH_LIMIT] = "depth-limit",
    [MODEL_END_PENDING] = "pending",
    [MODEL_END_NO_STACK] = "no-stack",
    NULL,
};

static const char *word(const char *const *words, size_t count, size_t index)
{
    return index + 1 < count ? words[index] : "?";
}

#define WORD(words, index) word(words, sizeof words / sizeof *words, (size_t)(index))

const char *model_mode_text(enum model_mode mode)
{
    return WORD(model_mode_words, mode);
}

const char *model_kind_text(enum model_kind kind)
{
    return WORD(model_kind_words, kind);
}

const char *model_found_by_text(enum model_found_by found_by)
{
    return WORD(model_found_by_words, found_by);
}

const char *model_end_text(enum model_end end)
{
    return WORD(model_end_words, end);
}

enum model_mode model_mode_of(const char *text)
{
    for (int mode = 0; text && model_mode_words[mode]; mode++)
        if (!strcmp(model_mode_words[mode], text))
            return (enum model_mode)mode;
    return MODEL_MODE_FULL;
}

const char *model_mode_options_text(enum model_mode mode, bool frame_app, bool drop_interior)
{
    if (mode == MODEL_MODE_PC && frame_app)
        return "pc --frame app";
    if (mode == MODEL_MODE_APP && drop_interior)
        return "app --app-interior drop";
    return model_mode_text(mode);
}

const char *model_event_wait(const char *event)
{
    const size_t length = sizeof MODEL_EVENT_OFF_CPU_PREFIX - 1;
    return event && !strncmp(event, MODEL_EVENT_OFF_CPU_PREFIX, length) ? event + length : NULL;
}

bool model_event_of_one_mode(const char *event)
{
    const char *modifier = strrchr(event, ':');
    return modifier && (!strcmp(modifier, ":u") || !strcmp(modifier, ":k"));
}

bool model_kind_is_app(enum model_kind kind)
{
    return kind == MODEL_KIND_APP || kind == MODEL_KIND_JIT;
}

bool model_source_is_import(const char *source)
{
    return !strcmp(source, MODEL_SOURCE_IMPORT) || !strcmp(source, MODEL_SOURCE_ROWS);
}
