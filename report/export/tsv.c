/* Tab-separated values for databases and spreadsheets: a row for each thread and call path. */
#include "report/export/export.h"

#include <inttypes.h>
#include <string.h>

static void put_text(FILE *out, const char *text)
{
    if (text)
        fputs_unlocked(text, out); /* clean texts have no tabs and no ends of lines */
    putc_unlocked('\t', out);
}

/* `lengths` are those of the functions' names, [number]. */
static int put_row(FILE *out, const struct report_dataset *dataset, const struct report_cost *cost,
                   uint32_t path, struct export_chain *chain, const size_t *lengths)
{
    const struct report_thread *thread = &dataset->threads.items[cost->thread - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    if (report_export_chain(dataset, path, chain))
        return SPROF_ENOMEM;
    const size_t depth = chain->functions.count;
    const uint32_t leaf = depth ? chain->functions.items[depth - 1] : 0;
    fprintf(out, "%u\t", dataset->run.id);
    put_text(out, dataset->event.name);
    fprintf(out, "%d\t%d\t", process->pid, thread->tid);
    put_text(out, process->name);
    put_text(out, thread->name);
    fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t", cost->cost.samples, cost->cost.weight);
    put_text(out, leaf ? report_dataset_function_name(dataset, leaf) : NULL);
    put_text(out, leaf ? report_dataset_module_name(dataset, leaf) : NULL);
    for (size_t i = 0; i < depth; i++) {
        const uint32_t function = chain->functions.items[i];
        if (i)
            putc_unlocked(';', out);
        fwrite_unlocked(dataset->functions.items[function - 1].name, 1, lengths[function], out);
    }
    putc_unlocked('\n', out);
    return 0;
}

int report_tsv_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    struct export_chain chain = {0};
    uint32_t *paths = report_export_paths(dataset);
    size_t *lengths = calloc(dataset->functions.count + 1, sizeof *lengths);
    int result = paths && lengths ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->functions.count && !result; i++)
        lengths[i + 1] = strlen(dataset->functions.items[i].name);
    fputs("run\tevent\tpid\ttid\tprocess\tthread\tsamples\tweight\tfunction\tmodule\t"
          "stack_root_first\n",
          out);
    for (size_t i = 0; i < dataset->costs.count && !result; i++)
        result = put_row(out, dataset, &dataset->costs.items[i],
                         paths[dataset->costs.items[i].node], &chain, lengths);
    free(paths);
    free(lengths);
    sprof_vec_release(&chain.functions);
    return result ? sprof_error_memory(error) : 0;
}
