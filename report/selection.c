/* Chooses which run, event, threads and processes of a recording a dataset holds. */
#include "report/dataset_parts.h"

#include "report/error_text.h"
#include "report/utf8_text.h"

#include <stdio.h>
#include <string.h>

struct choosing {
    struct report_dataset *dataset;
    uint32_t wanted; /* run id; 0: the newest */
};

/* The texts of a run, so that they can be copied in one go. */
static const size_t run_texts[] = {
    offsetof(struct store_run, sprof_version),
    offsetof(struct store_run, host),
    offsetof(struct store_run, kernel),
    offsetof(struct store_run, architecture),
    offsetof(struct store_run, command),
    offsetof(struct store_run, targets),
    offsetof(struct store_run, working_directory),
    offsetof(struct store_run, mode),
    offsetof(struct store_run, frame),
    offsetof(struct store_run, app_interior),
    offsetof(struct store_run, module_rules),
    offsetof(struct store_run, source),
    offsetof(struct store_run, kernel_excluded),
    offsetof(struct store_run, boot_id),
};

static int copy_text(struct report_dataset *dataset, const char **text)
{
    if (*text && !(*text = report_utf8_copy(&dataset->arena, *text)))
        return SPROF_ENOMEM;
    return 0;
}

static int take_run(void *context, const struct store_run *row)
{
    struct choosing *choosing = context;
    struct report_dataset *dataset = choosing->dataset;
    dataset->run_count++;
    if (choosing->wanted && row->id != choosing->wanted)
        return 0;
    dataset->run = *row;
    dataset->run_number = dataset->run_count;
    for (size_t i = 0; i < sizeof run_texts / sizeof *run_texts; i++)
        if (copy_text(dataset, (const char **)((char *)&dataset->run + run_texts[i])))
            return SPROF_ENOMEM;
    return 0;
}

static int choose_run(struct report_dataset *dataset, struct store *store, uint32_t wanted,
                      struct sprof_error *error)
{
    struct choosing choosing = {dataset, wanted};
    const int result = store_each_run(store, take_run, &choosing, error);
    if (result)
        return result;
    if (!dataset->run.id && wanted)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "there is no run %u: the recording holds %u run%s", wanted,
                               dataset->run_count, dataset->run_count == 1 ? "" : "s");
    if (!dataset->run.id)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "the recording holds no run");
    if (dataset->run.state != STORE_COMPLETE)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "run %u is not finished: finish it with `sprof symbolize`",
                               dataset->run.id);
    return 0;
}

/* The first event is the one that was asked for. */
static int take_event(void *context, const struct store_event *row)
{
    struct report_dataset *dataset = context;
    struct store_event event = *row;
    if (copy_text(dataset, &event.name) || sprof_vec_push(&dataset->events, event))
        return SPROF_ENOMEM;
    if (!dataset->event.id)
        dataset->event = event;
    return 0;
}

/* Reads processes and threads, and looks for what the filters name. */
struct filtering {
    struct report_dataset *dataset;
    const char *thread, *process; /* NULL: any */
    struct sprof_map processes;   /* numbers of those that match */
    bool thread_found;
    struct sprof_suggestions near_threads, near_processes;
};

static bool matches(const char *wanted, const char *name, int32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return !wanted || (name && !strcmp(wanted, name)) || !strcmp(wanted, text);
}

static int take_process(void *context, const struct store_process *row)
{
    struct filtering *filtering = context;
    struct report_dataset *dataset = filtering->dataset;
    struct report_process process = {
        .run = row->run_id,
        .parent = report_dataset_number(&dataset->process_numbers, row->parent_id),
        .pid = row->pid,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .name = row->name,
        .command = row->command,
    };
    if (copy_text(dataset, &process.name) || copy_text(dataset, &process.command) ||
        sprof_vec_push(&dataset->processes, process) ||
        sprof_map_put(&dataset->process_numbers, row->id, dataset->processes.count))
        return SPROF_ENOMEM;
    if (matches(filtering->process, process.name, row->pid))
        return sprof_map_put(&filtering->processes, dataset->processes.count, 1);
    sprof_suggest_offer(&filtering->near_processes, filtering->process, process.name ? process.name : "");
    return 0;
}

static int take_thread(void *context, const struct store_thread *row)
{
    struct filtering *filtering = context;
    struct report_dataset *dataset = filtering->dataset;
    struct report_thread thread = {
        .process = report_dataset_number(&dataset->process_numbers, row->process_id),
        .tid = row->tid,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .name = row->name,
        .cpu_time_ns = row->cpu_time_ns,
        .cpu_time_known = row->cpu_time_known,
    };
    if (!thread.process)
        return SPROF_EFORMAT;
    if (copy_text(dataset, &thread.name))
        return SPROF_ENOMEM;
    if (sprof_map_get(&filtering->processes, thread.process)) {
        thread.selected = matches(filtering->thread, thread.name, row->tid);
        if (!thread.selected)
            sprof_suggest_offer(&filtering->near_threads, filtering->thread, thread.name ? thread.name : "");
    }
    filtering->thread_found = filtering->thread_found || thread.selected;
    if (sprof_vec_push(&dataset->threads, thread))
        return SPROF_ENOMEM;
    return sprof_map_put(&dataset->thread_numbers, row->id, dataset->threads.count);
}

static int not_found(const char *what, const char *wanted, const struct sprof_suggestions *near,
                     struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "no %s is called '%.200s'", what, wanted);
    sprof_suggest_append(&text, near);
    if (!near->count)
        sprof_str_appendf(&text, "; `sprof sql 'SELECT DISTINCT %s FROM v_thread'` lists them",
                          what);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

static int check_filter(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, struct sprof_error *error)
{
    struct filtering filtering = {
        .dataset = dataset, .thread = selection->thread, .process = selection->process};
    int result = store_each_process(store, dataset->run.id, take_process, &filtering, error);
    if (!result)
        result = store_each_thread(store, dataset->run.id, take_thread, &filtering, error);
    if (!result && selection->process && !filtering.processes.count)
        result = not_found("process", selection->process, &filtering.near_processes, error);
    else if (!result && selection->thread && !filtering.thread_found)
        result = not_found("thread", selection->thread, &filtering.near_threads, error);
    sprof_map_release(&filtering.processes);
    dataset->thread = selection->thread;
    dataset->process = selection->process;
    if (!result && (copy_text(dataset, &dataset->thread) || copy_text(dataset, &dataset->process)))
        result = SPROF_ENOMEM;
    return result;
}

int report_dataset_select(struct report_dataset *dataset, struct store *store,
                          const struct report_selection *selection, struct sprof_error *error)
{
    int result = choose_run(dataset, store, selection->run_id, error);
    if (!result)
        result = store_each_event(store, dataset->run.id, take_event, dataset, error);
    if (!result)
        result = check_filter(dataset, store, selection, error);
    if (!result)
        result = store_quality(store, dataset->run.id, &dataset->quality, error);
    return result;
}
