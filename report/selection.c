/* Chooses which run, threads, processes and phases of a recording a dataset holds. */
#include "report/dataset_parts.h"

#include "report/during.h"
#include "report/error_text.h"
#include "report/services.h"
#include "report/utf8_text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    offsetof(struct store_run, no_call_states),
    offsetof(struct store_run, boot_id),
};

static int copy_text(struct report_dataset *dataset, const char **text)
{
    if (*text && !(*text = report_utf8_copy(&dataset->arena, *text)))
        return SPROF_ENOMEM;
    return 0;
}

/* == Runs == */

static int take_run(void *context, const struct store_run *row)
{
    struct report_dataset *dataset = context;
    struct store_run run = *row;
    for (size_t i = 0; i < sizeof run_texts / sizeof *run_texts; i++)
        if (copy_text(dataset, (const char **)((char *)&run + run_texts[i])))
            return SPROF_ENOMEM;
    return sprof_vec_push(&dataset->runs, run);
}

static int no_such_run(const struct report_dataset *dataset,
                       const struct report_selection *selection, struct sprof_error *error)
{
    if (!dataset->run_count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "the recording holds no run");
    if (selection->host)
        return sprof_error_set(
            error, SPROF_ENOTFOUND, 0,
            "no run was recorded on a host '%.200s'; `sprof sql 'SELECT id, host "
            "FROM run'` lists them",
            selection->host);
    return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                           "there is no run %u: the recording holds %u run%s", selection->run_id,
                           dataset->run_count, dataset->run_count == 1 ? "" : "s");
}

/* Reads all runs and keeps the selected ones. */
static int choose_runs(struct report_loading *loading, const struct report_selection *selection,
                       struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    uint32_t sampled = 0; /* beside calls, samples are read */
    int result = store_each_run(loading->store, take_run, dataset, error);
    if (!result && selection->during)
        result = report_during_run(loading, &sampled, error);
    if (result)
        return result;
    const size_t count = dataset->runs.count;
    dataset->run_count = (uint32_t)count;
    dataset->runs.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct store_run *run = &dataset->runs.items[i];
        const bool on_host =
            !selection->host || (run->host && !fnmatch(selection->host, run->host, 0));
        const bool is_newest = sampled ? run->id == sampled : i + 1 == count;
        const bool wanted = selection->run_id ? run->id == selection->run_id
                                              : selection->all_runs || selection->host || is_newest;
        if (!wanted || !on_host)
            continue;
        if (run->state != STORE_COMPLETE)
            return sprof_error_set(error, SPROF_ESTATE, 0,
                                   "run %u is not finished: finish it with `sprof symbolize`",
                                   run->id);
        dataset->run = *run;
        dataset->run_number = (uint32_t)i + 1;
        dataset->running = run->id == store_running(loading->store);
        dataset->runs.items[dataset->runs.count++] = *run;
    }
    return dataset->runs.count ? 0 : no_such_run(dataset, selection, error);
}

/* == Users == */

static int take_user(void *context, const struct store_sampled_user *row)
{
    struct report_dataset *dataset = context;
    const char *groups = sprof_arena_text(&dataset->arena, row->groups ? row->groups : "");
    const struct image_source_user user = {row->uid, row->gid, groups};
    return groups ? sprof_vec_push(&dataset->source_users, user) : SPROF_ENOMEM;
}

/* Only the caller's own file is believed, and only where each run has its users. */
static int load_users(struct report_loading *loading, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    int result = 0;
    if (store_owner(loading->store) != geteuid())
        return 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        const size_t before = dataset->source_users.count;
        result = store_each_sampled_user(loading->store, dataset->runs.items[i].id, take_user,
                                         dataset, error);
        if (!result && dataset->source_users.count == before) {
            dataset->source_users.count = 0;
            return 0;
        }
    }
    return result;
}

/* == Processes and threads == */

struct filtering {
    struct report_dataset *dataset;
    const char *thread, *process; /* NULL: any */
    const struct report_service_choice *service;
    SPROF_VEC(bool) processes; /* [number - 1]: it matches */
    bool process_found, thread_found;
    struct sprof_map bearers; /* of numbers of processes, how many there were */
    struct sprof_suggestions near_threads, near_processes;
};

static bool matches(const char *wanted, const char *name, int32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return !wanted || !strcmp(wanted, text) ||
           (name && (!strcmp(wanted, name) || !fnmatch(wanted, name, 0)));
}

static int take_process(void *context, const struct store_process *row)
{
    struct filtering *filtering = context;
    struct report_dataset *dataset = filtering->dataset;
    struct report_process process = {
        .run = row->run_id,
        .parent = report_dataset_number(&dataset->numbers.processes, row->parent_id),
        .pid = row->pid,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .name = row->name,
        .command = row->command,
        .user = "?",
        .cgroup = "?",
        .container = "?",
    };
    uint64_t *bearers =
        sprof_map_at(&filtering->bearers, sprof_hash_pair(row->run_id, (uint64_t)row->pid));
    if (!bearers || copy_text(dataset, &process.name) || copy_text(dataset, &process.command))
        return SPROF_ENOMEM;
    process.bearer = (uint32_t)(*bearers)++;
    const bool found = matches(filtering->process, process.name, row->pid);
    filtering->process_found = filtering->process_found || found;
    if (!found)
        sprof_suggest_offer(&filtering->near_processes, filtering->process,
                            process.name ? process.name : "");
    if (sprof_vec_push(&dataset->processes, process) ||
        sprof_vec_push(&filtering->processes, found))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&dataset->numbers.processes, row->id, dataset->processes.count);
}

static int take_thread(void *context, const struct store_thread *row)
{
    struct filtering *filtering = context;
    struct report_dataset *dataset = filtering->dataset;
    struct report_thread thread = {
        .process = report_dataset_number(&dataset->numbers.processes, row->process_id),
        .id = row->id,
        .tid = row->tid,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .name = row->name,
        .cpu_time_ns = row->cpu_time_ns,
        .cpu_time_known = row->cpu_time_known,
    };
    if (!thread.process)
        return SPROF_EFORMAT;
    if (!thread.name) /* threads begin with their process's name */
        thread.name = dataset->processes.items[thread.process - 1].name;
    if (copy_text(dataset, &thread.name))
        return SPROF_ENOMEM;
    if (filtering->processes.items[thread.process - 1] &&
        report_service_takes(dataset, thread.process, filtering->service)) {
        thread.selected = matches(filtering->thread, thread.name, row->tid);
        if (!thread.selected)
            sprof_suggest_offer(&filtering->near_threads, filtering->thread,
                                thread.name ? thread.name : "");
    }
    filtering->thread_found = filtering->thread_found || thread.selected;
    if (sprof_vec_push(&dataset->threads, thread))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&dataset->numbers.threads, row->id, dataset->threads.count);
}

static int not_found(const char *what, const char *wanted,
                     const struct sprof_suggestions *suggestions, struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "no %s is called '%.200s'", what, wanted);
    sprof_suggest_append(&text, suggestions);
    if (!suggestions->count)
        sprof_str_appendf(&text, "; `sprof report --%s` lists them",
                          *what == 't' ? "threads" : "processes");
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

static int choose_threads(struct report_loading *loading, const struct report_selection *selection,
                          struct sprof_error *error)
{
    struct filtering filtering = {
        .dataset = loading->dataset, .thread = selection->thread, .process = selection->process};
    int result = 0;
    for (size_t i = 0; i < loading->dataset->runs.count && !result; i++) {
        const struct store_run *one = &loading->dataset->runs.items[i];
        const uint32_t run = one->id;
        const bool of_machine = report_run_is_of_machine(one);
        filtering.service = of_machine ? selection->service : NULL;
        result = store_each_process(loading->store, run, take_process, &filtering, error);
        if (!result)
            result = report_dataset_load_origins(loading->dataset, loading->store, run, error);
        if (!result && of_machine)
            result = report_dataset_load_builds(loading->dataset, loading->store, run, error);
        if (!result)
            result = store_each_thread(loading->store, run, take_thread, &filtering, error);
    }
    if (!result && filtering.process && !filtering.process_found)
        result = not_found("process", filtering.process, &filtering.near_processes, error);
    else if (!result && filtering.thread && !filtering.thread_found)
        result = not_found("thread", filtering.thread, &filtering.near_threads, error);
    sprof_map_release(&filtering.bearers);
    sprof_vec_release(&filtering.processes);
    return result;
}

/* == The whole == */

/* What was asked for, in words behind "% of 6 samples". A host stands for its runs, and a state for
 * its events, of which all samples are read. */
static int say_selection(struct report_dataset *dataset, const struct report_selection *selection)
{
    const struct {
        const char *words, *value;
    } parts[] = {
        {"on host", selection->host},     {"in process", selection->process},
        {"in thread", selection->thread}, {"on CPU", selection->cpus},
        {"in time", selection->time},     {"in phase", selection->phase},
        {"during", selection->during},    {"after mark", selection->mark},
        {"in module", selection->module}, {"with", selection->focus},
        {"without", selection->ignore},   {"from", selection->show_from},
        {"in state", selection->state},
    };
    struct sprof_str text = {0};
    sprof_str_append(&text, "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value) {
            sprof_str_appendf(&text, " %s %.60s", parts[i].words, parts[i].value);
            dataset->chosen.is_part =
                dataset->chosen.is_part ||
                (parts[i].value != selection->host && parts[i].value != selection->state);
        }
    dataset->chosen.thread = selection->thread;
    dataset->chosen.by_phase = selection->phase || selection->mark;
    dataset->chosen.by_sample = selection->cpus || selection->time || selection->during ||
                                dataset->chosen.by_phase || selection->module || selection->focus ||
                                selection->ignore || selection->hide || selection->show_from ||
                                selection->no_standard || selection->other_mode;
    dataset->chosen.process = selection->process;
    dataset->chosen.of_service = selection->service;
    if (copy_text(dataset, &dataset->chosen.thread) || copy_text(dataset, &dataset->chosen.process))
        text.failed = 1;
    if (!text.failed)
        dataset->chosen.text = report_utf8_copy(&dataset->arena, text.text);
    sprof_str_release(&text);
    return dataset->chosen.text ? 0 : SPROF_ENOMEM;
}

/* Whether the selection of phases is true of whole runs: each had one, and it is selected. */
static bool phases_are_runs(const struct report_dataset *dataset)
{
    if (dataset->phases.count != dataset->runs.count)
        return false;
    for (size_t i = 0; i < dataset->phases.count; i++)
        if (dataset->phases.items[i].run != dataset->runs.items[i].id ||
            !dataset->phases.items[i].selected)
            return false;
    return true;
}

int report_dataset_has_places(const struct report_loading *loading, uint32_t run_id, bool *costs,
                              bool *blocks, struct sprof_error *error)
{
    const struct report_dataset *dataset = loading->dataset;
    int result = 0;
    *costs = *blocks = true;
    for (size_t i = 0; i < dataset->events.count && !result; i++) {
        const struct store_event *event = &dataset->events.items[i];
        bool has_costs = true, has_blocks = true;
        if (event->run_id == run_id &&
            report_dataset_number(&loading->dataset->numbers.events, event->id))
            result =
                store_has_places(loading->store, run_id, event->id, &has_costs, &has_blocks, error);
        *costs = *costs && has_costs;
        *blocks = *blocks && has_blocks;
    }
    return result;
}

/* Where costs by thread, CPU and phase are stored, nothing else is needed; else stacks are read. */
static int choose_place_costs(struct report_loading *loading, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    bool stored = true;
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && stored && !result; i++)
        result = report_dataset_has_places(loading, dataset->runs.items[i].id, &stored,
                                           &(bool){false}, error);
    loading->from_samples = !stored;
    loading->by_place = stored;
    if (!stored)
        dataset->parts = (dataset->parts & ~(unsigned)REPORT_THREAD_COSTS) | REPORT_STACKS;
    return result;
}

uint64_t report_dataset_begin_ns(const struct report_dataset *dataset, const struct store_run *run)
{
    const struct report_phase *first = NULL, *last = NULL;
    for (size_t i = 0; i < dataset->phases.count; i++) {
        const struct report_phase *phase = &dataset->phases.items[i];
        first = phase->run == run->id && !first ? phase : first;
        last = phase->run == run->id ? phase : last;
    }
    if (!first)
        return 0;
    const bool has_end = last->end_ns != UINT64_MAX && last->end_ns > run->duration_ns;
    return has_end ? last->end_ns - run->duration_ns : first->start_ns;
}

/* The stretch of each run. Times of day may lie in some of the runs alone, but not in none. */
static int choose_ranges(struct report_loading *loading, const char *time,
                         struct sprof_error *error)
{
    static const struct report_time_range none = {UINT64_MAX, UINT64_MAX};
    struct report_dataset *dataset = loading->dataset;
    size_t outside = 0;
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        const struct store_run *run = &dataset->runs.items[i];
        struct report_time_range range = none;
        result = report_time_range_parse(&range, time, run, report_dataset_begin_ns(dataset, run),
                                         error);
        if (result == SPROF_ENOTFOUND && ++outside < dataset->runs.count)
            result = 0;
        if (!result)
            result = sprof_vec_push(&dataset->chosen.ranges, range);
    }
    return result;
}

/* Reads the CPUs and the stretch of each run, and finds out whether only samples have them. */
static int choose_samples(struct report_loading *loading, const struct report_selection *selection,
                          struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    const bool asks_phases = dataset->parts & REPORT_PHASES || selection->phase || selection->mark;
    const bool asks_places = dataset->parts & REPORT_CPUS || selection->cpus ||
                             (asks_phases && !phases_are_runs(dataset));
    loading->from_samples =
        selection->time || selection->during || asks_places || report_dataset_asks_fields(dataset);
    int result = 0;
    if (asks_places && dataset->parts & REPORT_THREAD_COSTS)
        result = choose_place_costs(loading, error);
    if (selection->cpus) {
        struct report_cpu_set *cpus = sprof_arena_alloc(&dataset->arena, sizeof *cpus);
        result = cpus ? report_cpu_set_parse(cpus, selection->cpus, error) : SPROF_ENOMEM;
        dataset->chosen.cpus = cpus;
    }
    if (!result)
        result = report_dataset_choose_during(loading, selection, error);
    const char *time = selection->time ? selection->time : selection->during ? "0," : NULL;
    return result || !time ? result : choose_ranges(loading, time, error);
}

/* == Phases == */

struct phasing {
    struct report_dataset *dataset;
    const struct report_selection *selection;
    uint32_t count;
    bool found;
};

static int take_phase(void *context, const struct store_phase *row)
{
    struct phasing *phasing = context;
    const struct report_selection *selection = phasing->selection;
    char number[16];
    struct report_phase phase = {.run = row->run_id,
                                 .number = ++phasing->count,
                                 .start_ns = row->start_ns,
                                 .end_ns = row->end_ns ? row->end_ns : UINT64_MAX,
                                 .mark = row->mark,
                                 .view = model_view_of(row->mode, row->frame, row->app_interior),
                                 .paused = row->paused};
    snprintf(number, sizeof number, "%u", phase.number);
    if (copy_text(phasing->dataset, &phase.mark))
        return SPROF_ENOMEM;
    const char *mark = phase.mark ? phase.mark : "";
    phase.selected = (!selection->phase || !strcmp(selection->phase, number) ||
                      (phase.mark && !fnmatch(selection->phase, mark, 0))) &&
                     (!selection->mark || (phase.mark && !fnmatch(selection->mark, mark, 0)));
    phasing->found = phasing->found || phase.selected;
    return sprof_vec_push(&phasing->dataset->phases, phase);
}

static int choose_phases(struct report_loading *loading, const struct report_selection *selection,
                         struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    struct phasing phasing = {.dataset = dataset, .selection = selection};
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        phasing.count = 0;
        result = store_each_phase(loading->store, dataset->runs.items[i].id, take_phase, &phasing,
                                  error);
    }
    if (result || phasing.found || (!selection->phase && !selection->mark))
        return result;
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "there is no phase %s'%.200s'; there are ",
                      selection->phase ? "" : "that begins with the mark ",
                      selection->phase ? selection->phase : selection->mark);
    if (!dataset->phases.count)
        sprof_str_append(&text, "none");
    else if (report_dataset_list_phases(dataset, &text))
        text.failed = true;
    return report_error_text(error, SPROF_ENOTFOUND, &text);
}

/* How many phases there are up to a run's last one that begins by then. */
static size_t count_phases(const struct report_dataset *dataset, uint32_t run, uint64_t time_ns)
{
    size_t low = 0, high = dataset->phases.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct report_phase *phase = &dataset->phases.items[middle];
        if (phase->run < run || (phase->run == run && phase->start_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t report_dataset_phase(const struct report_dataset *dataset, uint32_t run, uint64_t time_ns)
{
    const size_t last = count_phases(dataset, run, UINT64_MAX);
    const size_t at = count_phases(dataset, run, time_ns);
    const struct report_phase *phase = at ? &dataset->phases.items[at - 1] : NULL;
    if (last && dataset->phases.items[last - 1].run == run &&
        dataset->phases.items[last - 1].number == 1)
        return (uint32_t)last; /* its only one */
    return phase && phase->run == run && time_ns < phase->end_ns ? (uint32_t)at : 0;
}

uint32_t report_dataset_numbered_phase(const struct report_dataset *dataset, uint32_t run,
                                       uint32_t number)
{
    const size_t last = count_phases(dataset, run, UINT64_MAX);
    const struct report_phase *phase = last ? &dataset->phases.items[last - 1] : NULL;
    if (!number || !phase || phase->run != run || number > phase->number)
        return 0;
    return (uint32_t)last - phase->number + number;
}

static bool takes_phase(const struct report_dataset *dataset, uint32_t phase)
{
    return !dataset->chosen.by_phase || (phase && dataset->phases.items[phase - 1].selected);
}

static bool takes_cpu(const struct report_dataset *dataset, int32_t cpu)
{
    const uint32_t bit = (uint32_t)cpu;
    return !dataset->chosen.cpus ||
           (bit < REPORT_CPUS_MAX && dataset->chosen.cpus->bits[bit / 64] >> (bit % 64) & 1);
}

bool report_dataset_takes_place(const struct report_dataset *dataset, uint32_t phase, int32_t cpu)
{
    return takes_phase(dataset, phase) && takes_cpu(dataset, cpu);
}

bool report_dataset_takes_sample(const struct report_dataset *dataset, size_t run,
                                 const struct store_sample *sample)
{
    if (dataset->chosen.by_phase &&
        !takes_phase(dataset, report_dataset_phase(dataset, sample->run_id, sample->time_ns)))
        return false;
    if (dataset->chosen.ranges.count &&
        (sample->time_ns < dataset->chosen.ranges.items[run].from_ns ||
         sample->time_ns >= dataset->chosen.ranges.items[run].to_ns))
        return false;
    if (!report_dataset_is_during(dataset, run, sample))
        return false;
    return takes_cpu(dataset, sample->cpu);
}

bool report_selection_takes_all(const struct report_selection *selection)
{
    return !selection->thread && !selection->process && !selection->module && !selection->cpus &&
           !selection->time && !selection->during && !selection->phase && !selection->mark &&
           !selection->focus && !selection->ignore && !selection->hide && !selection->show_from &&
           !selection->no_standard && !selection->no_inlined && !selection->other_mode;
}

const char *report_dataset_command(const struct report_dataset *dataset, uint32_t process)
{
    const char *command = dataset->processes.items[process - 1].command;
    return command ? command : "";
}

const char *report_dataset_host(const struct report_dataset *dataset, uint32_t process)
{
    const uint32_t run = dataset->processes.items[process - 1].run;
    for (size_t i = 0; i < dataset->runs.count; i++)
        if (dataset->runs.items[i].id == run && dataset->runs.items[i].host)
            return dataset->runs.items[i].host;
    return "?";
}

/* Sums that are stored hold idle time, too: what is left is added up from whole stacks. */
static void fold_idle(struct report_loading *loading)
{
    const unsigned sums = REPORT_THREAD_COSTS | REPORT_LINE_COSTS;
    if (loading->dataset->parts & sums)
        loading->dataset->parts = (loading->dataset->parts & ~sums) | REPORT_STACKS;
    loading->folds_idle = true;
}

int report_dataset_select(struct report_loading *loading, const struct report_selection *selection,
                          struct sprof_error *error)
{
    loading->rules = selection->rules;
    int result = choose_runs(loading, selection, error);
    if (!result)
        result = load_users(loading, error);
    if (!result)
        result = report_dataset_choose_events(loading, selection, error);
    if (!result && selection->fold_idle && report_dataset_reads_waits(loading->dataset))
        fold_idle(loading);
    if (!result)
        result = choose_threads(loading, selection, error);
    if (!result)
        result = choose_phases(loading, selection, error);
    if (!result)
        result = choose_samples(loading, selection, error);
    if (!result)
        result = report_dataset_load_quality(loading, error);
    return result ? result : say_selection(loading->dataset, selection);
}
