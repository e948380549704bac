/* Profiles of each service of a whole machine, from an event of a run that is loaded once. */
#include "report/format.h"
#include "report/key_text.h"
#include "report/services.h"

#include <stdlib.h>

struct report_profiles {
    struct report_dataset dataset;
    struct store *store;
    SPROF_VEC(struct report_cost) chosen; /* of the service at hand */
};

int report_profiles_open(struct report_profiles **out, struct store *store,
                         const struct report_selection *selection, struct sprof_error *error)
{
    struct report_profiles *profiles = *out = calloc(1, sizeof *profiles);
    if (!profiles)
        return sprof_error_memory(error);
    profiles->store = store;
    return report_dataset_load(&profiles->dataset, store, selection,
                               report_keys_tree_parts(NULL, 0) | REPORT_KEPT_CALLS, error);
}

static int choose(struct report_profiles *profiles, const struct report_service_choice *service)
{
    const struct report_dataset *dataset = &profiles->dataset;
    bool *takes = calloc(dataset->processes.count + 1, sizeof *takes);
    int result = takes ? 0 : SPROF_ENOMEM;
    profiles->chosen.count = 0;
    for (size_t i = 0; i < dataset->processes.count && !result; i++)
        takes[i] = report_service_takes(dataset, (uint32_t)i + 1, service);
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        const struct report_cost *cost = &dataset->costs.items[i];
        const uint32_t thread = cost->thread;
        if (thread && takes[dataset->threads.items[thread - 1].process - 1])
            result = sprof_vec_push(&profiles->chosen, *cost);
    }
    free(takes);
    return result;
}

int report_profiles_write(FILE *out, struct report_profiles *profiles,
                          const struct report_service_choice *service,
                          const struct report_format *format,
                          const struct report_export_options *options, struct sprof_error *error)
{
    struct report_dataset *dataset = &profiles->dataset;
    const struct report_style style = {.format = format};
    const struct report_content content = {.kind = REPORT_PROFILE,
                                           .dataset = dataset,
                                           .store = profiles->store,
                                           .labels = options->labels};
    struct report_cost *const all = dataset->costs.items;
    const size_t count = dataset->costs.count;
    if (report_run_is_of_machine(&dataset->run)) {
        if (choose(profiles, service))
            return sprof_error_memory(error);
        dataset->costs.items = profiles->chosen.items;
        dataset->costs.count = profiles->chosen.count;
    }
    dataset->packed.next = 0; /* a format may go over the costs once */
    const int result = report_content_write(out, &content, &style, error);
    dataset->costs.items = all;
    dataset->costs.count = count;
    return result;
}

void report_profiles_free(struct report_profiles *profiles)
{
    if (!profiles)
        return;
    report_dataset_release(&profiles->dataset);
    sprof_vec_release(&profiles->chosen);
    free(profiles);
}
