/* Takes labels apart, and says what a run is of. */
#include "report/export/labels.h"

#include "report/services.h"

#include <stdio.h>
#include <string.h>

bool report_export_label_has_name(const struct export_label *label, const char *name)
{
    return strlen(name) == label->name_length && !strncmp(label->text, name, label->name_length);
}

uint64_t report_export_label_key(uint64_t key, const struct export_label *label)
{
    return sprof_hash_pair(key, sprof_hash_text(label->text));
}

static int add_label(struct export_labels *labels, const char *text, struct sprof_error *error)
{
    const char *equals = strchr(text, '=');
    const struct export_label label = {text, equals ? (size_t)(equals - text) : 0,
                                       equals ? equals + 1 : NULL};
    if (!label.name_length)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "-l %s: write KEY=VALUE, as in -l service.name=shop", text);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "-l %.*s: a label holds no control characters",
                                   (int)label.name_length, text);
    const struct {
        const char *name, **field;
    } known[] = {{"service.name", &labels->service},
                 {"service.version", &labels->version},
                 {"host.name", &labels->host}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (report_export_label_has_name(&label, known[i].name)) {
            *known[i].field = label.value;
            return 0;
        }
    labels->key = report_export_label_key(labels->key, &label);
    return sprof_vec_push(&labels->others, label) ? sprof_error_memory(error) : 0;
}

/* Labels in another order are other labels: equal keys need equal order. */
static int compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int report_export_labels(struct export_labels *labels, const struct report_labels *given,
                         struct sprof_error *error)
{
    const char **sorted = calloc(given->count + 1, sizeof *sorted);
    int result = sorted ? 0 : sprof_error_memory(error);
    *labels = (struct export_labels){.key = 0};
    if (!result && given->count) {
        memcpy(sorted, given->items, given->count * sizeof *sorted);
        qsort(sorted, given->count, sizeof *sorted, compare);
    }
    for (size_t i = 0; i < given->count && !result; i++)
        result = add_label(labels, sorted[i], error);
    free(sorted);
    return result;
}

void report_export_labels_release(struct export_labels *labels)
{
    sprof_vec_release(&labels->others);
}

/* The program that the run began with. */
static const struct report_module *main_module(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->modules.count; i++)
        if (dataset->modules.items[i].main_executable)
            return &dataset->modules.items[i];
    return NULL;
}

static const char *service_of(const struct report_dataset *dataset,
                              const struct report_module *module)
{
    const struct report_process *first =
        dataset->processes.count ? &dataset->processes.items[0] : NULL;
    if (report_run_is_of_machine(&dataset->run))
        return REPORT_SERVICE_MACHINE;
    return module ? module->name : first && first->name ? first->name : "";
}

struct export_identity report_export_identity(const struct export_labels *labels,
                                              const struct report_dataset *dataset)
{
    enum { BUILD_ID_DIGITS = 12 };
    const struct report_module *module =
        report_run_is_of_machine(&dataset->run) ? NULL : main_module(dataset);
    struct export_identity identity = {
        .service = labels->service ? labels->service : service_of(dataset, module),
        .host = labels->host        ? labels->host
                : dataset->run.host ? dataset->run.host
                                    : "",
        .version = labels->version,
    };
    if (!labels->version && module && module->build_id)
        snprintf(identity.build, sizeof identity.build, "%.*s", BUILD_ID_DIGITS, module->build_id);
    return identity;
}

const char *report_export_version(const struct export_identity *identity)
{
    return identity->version ? identity->version : identity->build;
}
