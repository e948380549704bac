/* The words of columns that hold one of a few. */
#include "store/words.h"

#include "store/columns.h"

const char *const store_state_words[] = {"recording", "recorded", "complete", NULL};
const char *const store_frame_words[] = {"app", NULL};
const char *const store_probe_event_words[] = {"timed",  "counted", "off",  "in",    "rests",
                                               "out",    "start",   "stop", "clear", "mode",
                                               "detach", "end",     NULL};
const char *const store_cause_words[] = {"start",    "command", "governor", "room",
                                         "adaptive", "load",    "rest",     "coverage",
                                         "deadline", "end",     NULL};
const char *const store_mechanism_words[] = {"sled", "fentry", "xray",     "prologue", "leave",
                                             "slot", "uprobe", "embedded", NULL};
const char *const store_warning_words[] = {"slow", "stuck", "stack", "heap", "chunk", NULL};
const char *const store_interior_words[] = {"keep", "drop", NULL};
const char *const store_unit_words[] = {"sample", "call", NULL};
const char *const store_exit_words[] = {"return",     "tail", "exception", "longjmp",  "left",
                                        "thread-end", "open", "unseen",    "tail-cut", NULL};
static const struct {
    const char *list;
    const char *const *words;
} word_lists[] = {
    {"state", store_state_words},
    {"mode", model_mode_words},
    {"frame", store_frame_words},
    {"app_interior", store_interior_words},
    {"probe_event", store_probe_event_words},
    {"cause", store_cause_words},
    {"unit", store_unit_words},
    {"kind", model_kind_words},
    {"found_by", model_found_by_words},
    {"warning", store_warning_words},
    {"end_reason", model_end_words},
    {"exit", store_exit_words},
    {"mechanism", store_mechanism_words},
};

int store_each_word(int (*word)(void *context, const struct store_word *row), void *context)
{
    int result = 0;
    for (size_t i = 0; i < sizeof word_lists / sizeof *word_lists; i++)
        for (uint32_t k = 0; word_lists[i].words[k] && !result; k++) {
            const struct store_word row = {word_lists[i].list, word_lists[i].words[k], k};
            result = word(context, &row);
        }
    return result;
}
