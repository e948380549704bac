#include "report/select.h"

#include "report/error_text.h"
#include "report/near.h"
#include "report/utf8_text.h"

#include <stdio.h>
#include <string.h>

struct choosing {
    struct profile *profile;
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

static int copy_text(struct profile *profile, const char **text)
{
    if (*text && !(*text = report_utf8_copy(&profile->arena, *text)))
        return SPROF_ENOMEM;
    return 0;
}

static int take_run(void *context, const struct store_run *row)
{
    struct choosing *choosing = context;
    struct profile *profile = choosing->profile;
    profile->run_count++;
    if (choosing->wanted && row->id != choosing->wanted)
        return 0;
    profile->run = *row;
    profile->run_number = profile->run_count;
    for (size_t i = 0; i < sizeof run_texts / sizeof *run_texts; i++)
        if (copy_text(profile, (const char **)((char *)&profile->run + run_texts[i])))
            return SPROF_ENOMEM;
    return 0;
}

static int choose_run(struct profile *profile, struct store *store, uint32_t wanted,
                      struct sprof_error *error)
{
    struct choosing choosing = {profile, wanted};
    const int result = store_each_run(store, take_run, &choosing, error);
    if (result)
        return result;
    if (!profile->run.id && wanted)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "there is no run %u: the recording holds %u run%s", wanted,
                               profile->run_count, profile->run_count == 1 ? "" : "s");
    if (!profile->run.id)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "the recording holds no run");
    if (profile->run.state != STORE_COMPLETE)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "run %u is not finished: finish it with `sprof symbolize`",
                               profile->run.id);
    return 0;
}

/* The first event is the one that was asked for. */
static int take_event(void *context, const struct store_event *row)
{
    struct profile *profile = context;
    if (profile->event.id)
        return 0;
    profile->event = *row;
    return copy_text(profile, &profile->event.name);
}

/* Looks for what a filter names. */
struct filtering {
    struct profile *profile;
    const char *thread, *process; /* NULL: any */
    struct sprof_map processes;   /* ids of those that match */
    bool thread_found;
    struct near_names near_threads, near_processes;
};

static bool matches(const char *wanted, const char *name, int32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return !wanted || (name && !strcmp(wanted, name)) || !strcmp(wanted, text);
}

static int offer(struct profile *profile, struct near_names *near, const char *word,
                 const char *name)
{
    const char *copy = name ? report_utf8_copy(&profile->arena, name) : "";
    if (!copy)
        return SPROF_ENOMEM;
    near_offer(near, word, copy);
    return 0;
}

static int take_process(void *context, const struct store_process *row)
{
    struct filtering *filtering = context;
    filtering->profile->process_count++;
    if (matches(filtering->process, row->name, row->pid))
        return sprof_map_put(&filtering->processes, row->id, 1);
    return offer(filtering->profile, &filtering->near_processes, filtering->process, row->name);
}

static int take_thread(void *context, const struct store_thread *row)
{
    struct filtering *filtering = context;
    filtering->profile->thread_count++;
    if (!sprof_map_get(&filtering->processes, row->process_id))
        return 0;
    if (matches(filtering->thread, row->name, row->tid)) {
        filtering->thread_found = true;
        return 0;
    }
    return offer(filtering->profile, &filtering->near_threads, filtering->thread, row->name);
}

static int not_found(const char *what, const char *wanted, const struct near_names *near,
                     struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "no %s is called '%.200s'", what, wanted);
    near_append(&text, near);
    if (!near->count)
        sprof_str_appendf(&text, "; `sprof sql 'SELECT DISTINCT %s FROM v_thread'` lists them",
                          what);
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

static int check_filter(struct profile *profile, struct store *store,
                        const struct report_options *options, struct sprof_error *error)
{
    struct filtering filtering = {
        .profile = profile, .thread = options->thread, .process = options->process};
    int result = store_each_process(store, profile->run.id, take_process, &filtering, error);
    if (!result)
        result = store_each_thread(store, profile->run.id, take_thread, &filtering, error);
    if (!result && options->process && !filtering.processes.count)
        result = not_found("process", options->process, &filtering.near_processes, error);
    else if (!result && options->thread && !filtering.thread_found)
        result = not_found("thread", options->thread, &filtering.near_threads, error);
    sprof_map_release(&filtering.processes);
    profile->thread = options->thread;
    profile->process = options->process;
    if (!result && (copy_text(profile, &profile->thread) || copy_text(profile, &profile->process)))
        result = SPROF_ENOMEM;
    return result;
}

int profile_select(struct profile *profile, struct store *store,
                   const struct report_options *options, struct sprof_error *error)
{
    int result = choose_run(profile, store, options->run_id, error);
    if (!result)
        result = store_each_event(store, profile->run.id, take_event, profile, error);
    if (!result)
        result = check_filter(profile, store, options, error);
    if (!result)
        result = store_quality(store, profile->run.id, &profile->quality, error);
    return result;
}
