/* Reads the keys of --by. */
#include "cli/key_list.h"

#include <stdio.h>
#include <string.h>

static int unknown_key(const char *word, int length, struct sprof_error *error)
{
    struct sprof_str words = {0};
    for (enum report_key key = 0; key < REPORT_KEYS; key++)
        sprof_str_appendf(&words, "%s%s%s", key ? ", " : "", report_key_word(key),
                          key == REPORT_FIELD ? ":NAME" : "");
    sprof_error_set(error, SPROF_EUSAGE, 0, "there is no key `%.*s`: choose one of %s", length,
                    word, words.text ? words.text : "others");
    sprof_str_release(&words);
    return SPROF_EUSAGE;
}

/* How a key is written, without the name of a field. */
static bool is_key(enum report_key key, const char *value, size_t length)
{
    const char *word = report_key_word(key);
    const size_t size = strlen(word);
    if (key == REPORT_FIELD)
        return length > size + 1 && !strncmp(value, "field:", size + 1);
    return size == length && !memcmp(word, value, length);
}

int cli_set_keys(void *field, const char *value, struct sprof_error *error)
{
    struct cli_keys *list = field;
    list->count = 0;
    do {
        const size_t length = strcspn(value, ",");
        enum report_key key = 0;
        while (key < REPORT_KEYS && !is_key(key, value, length))
            key++;
        if (key == REPORT_FIELD)
            snprintf(list->field, sizeof list->field, "%.*s", (int)length - 6, value + 6);
        if (key == REPORT_KEYS)
            return unknown_key(value, (int)(length < 60 ? length : 60), error);
        for (size_t i = 0; i < list->count; i++)
            if (list->items[i] == key)
                return sprof_error_set(error, SPROF_EUSAGE, 0, "%s is named twice",
                                       report_key_word(key));
        list->items[list->count++] = key;
        value += length;
    } while (*value++ == ',');
    return 0;
}

void cli_keys_select(const struct cli_keys *keys, struct report_selection *selection)
{
    bool by_event = false;
    selection->field = *keys->field ? keys->field : NULL;
    for (size_t i = 0; i < keys->count; i++) {
        const enum report_key key = keys->items[i];
        if ((key == REPORT_RUN || key == REPORT_HOST) && !selection->run_id)
            selection->all_runs = true;
        if ((key == REPORT_EVENT || key == REPORT_STATE || key == REPORT_WAIT) && !selection->event)
            selection->all_events = true;
        selection->only_time |= key == REPORT_STATE || key == REPORT_WAIT;
        by_event |= key == REPORT_EVENT;
    }
    selection->only_time &= !by_event;
}
