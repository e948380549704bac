/* Makes the labels of processes: where each belonged, besides what was given for all. */
#include "report/export/rows.h"

#include <stdlib.h>
#include <string.h>

/* == Maps == */

static int append_quoted(struct sprof_str *text, const char *bytes, size_t length)
{
    static const char bytes_escaped[] = "\\'\t\n\r", letters[] = "\\'tnr";
    int result = sprof_str_append(text, "'");
    for (size_t i = 0; i < length && !result; i++) {
        const char *escaped = strchr(bytes_escaped, bytes[i]);
        if (escaped)
            result = sprof_str_append(text, "\\");
        if (!result)
            result = sprof_str_append_bytes(
                text, escaped ? &letters[escaped - bytes_escaped] : &bytes[i], 1);
    }
    return result ? result : sprof_str_append(text, "'");
}

int report_row_labels_write(struct sprof_str *map, const struct export_label *labels, size_t count)
{
    int result = sprof_str_append(map, "{");
    for (size_t i = 0; i < count && !result; i++)
        result = sprof_str_append(map, i ? "," : "") ||
                 append_quoted(map, labels[i].text, labels[i].name_length) ||
                 sprof_str_append(map, ":") ||
                 append_quoted(map, labels[i].value, strlen(labels[i].value));
    return result || sprof_str_append(map, "}") ? SPROF_ENOMEM : 0;
}

/* == Processes == */

struct set {
    SPROF_VEC(struct export_label) labels; /* sorted once they are all there */
    SPROF_VEC(char *) texts;               /* that the set owns */
};

static bool has_name(const struct set *set, const char *name)
{
    for (size_t i = 0; i < set->labels.count; i++)
        if (set->labels.items[i].name_length == strlen(name) &&
            !strncmp(set->labels.items[i].text, name, strlen(name)))
            return true;
    return false;
}

/* What was given for all prevails. */
static int add_label(struct set *set, const char *name, const char *value)
{
    struct sprof_str text = {0};
    if (!strcmp(value, "?") || !strcmp(value, "none") || has_name(set, name))
        return 0;
    sprof_str_appendf(&text, "%s=%s", name, value);
    char *taken = sprof_str_take(&text);
    const size_t length = strlen(name);
    if (!taken || sprof_vec_push(&set->texts, taken)) {
        free(taken);
        return SPROF_ENOMEM;
    }
    const struct export_label label = {taken, length, taken + length + 1};
    return sprof_vec_push(&set->labels, label);
}

static int compare(const void *left, const void *right)
{
    const struct export_label *a = left, *b = right;
    return strcmp(a->text, b->text);
}

static int fill(struct set *set, const struct report_process *process,
                const struct export_labels *given, unsigned without)
{
    int result = 0;
    for (size_t i = 0; i < given->others.count && !result; i++)
        result = sprof_vec_push(&set->labels, given->others.items[i]);
    if (!result && !(without & REPORT_ROWS_USER))
        result = add_label(set, EXPORT_LABEL_USER, process->user);
    if (!result && !(without & REPORT_ROWS_CGROUP))
        result = add_label(set, EXPORT_LABEL_CGROUP, process->cgroup);
    if (!result && !(without & REPORT_ROWS_CONTAINER))
        result = add_label(set, EXPORT_LABEL_CONTAINER, process->container);
    if (set->labels.count)
        qsort(set->labels.items, set->labels.count, sizeof *set->labels.items, compare);
    return result;
}

static int add_process(struct report_row_labels *labels, const struct set *set)
{
    struct sprof_str map = {0};
    uint64_t key = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < set->labels.count; i++)
        key = report_export_label_key(key, &set->labels.items[i]);
    int result = report_row_labels_write(&map, set->labels.items, set->labels.count);
    if (!result)
        result = sprof_intern_put(&labels->maps, map.text, &number);
    if (!result && number > labels->keys.count)
        result = sprof_vec_push(&labels->keys, key);
    sprof_str_release(&map);
    return result ? result : sprof_vec_push(&labels->processes, number);
}

int report_row_labels_make(struct report_row_labels *labels, const struct report_dataset *dataset,
                           const struct export_labels *given, unsigned without)
{
    int result = 0;
    *labels = (struct report_row_labels){.keys = {0}};
    for (size_t i = 0; i < dataset->processes.count && !result; i++) {
        struct set set = {.texts = {0}};
        result = fill(&set, &dataset->processes.items[i], given, without);
        if (!result)
            result = add_process(labels, &set);
        for (size_t j = 0; j < set.texts.count; j++)
            free(set.texts.items[j]);
        sprof_vec_release(&set.texts);
        sprof_vec_release(&set.labels);
    }
    return result ? SPROF_ENOMEM : 0;
}

void report_row_labels_release(struct report_row_labels *labels)
{
    sprof_intern_release(&labels->maps);
    sprof_vec_release(&labels->keys);
    sprof_vec_release(&labels->processes);
}
