/* The flat tables: costs by function, module, line, thread, or any combination of such keys. */
#include "report/by_key.h"

#include "report/call_uses.h"
#include "report/columns.h"
#include "report/error_text.h"
#include "report/utf8_text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* What a key is; the order is that of enum report_key. */
static const struct {
    const char *word, *title;
    bool of_sample; /* the same for the whole stack */
    bool needs_frames;
} keys[] = {
    [REPORT_RUN] = {"run", "runs", true, false},
    [REPORT_HOST] = {"host", "hosts", true, false},
    [REPORT_PROCESS] = {"process", "processes", true, false},
    [REPORT_COMMAND] = {"command", "command lines", true, false},
    [REPORT_USER] = {"user", "users", true, false},
    [REPORT_CGROUP] = {"cgroup", "cgroups", true, false},
    [REPORT_CONTAINER] = {"container", "containers", true, false},
    [REPORT_THREAD] = {"thread", "threads", true, false},
    [REPORT_CPU] = {"cpu", "CPUs", true, false},
    [REPORT_EVENT] = {"event", "events", true, false},
    [REPORT_STATE] = {"state", "states", true, false},
    [REPORT_WAIT] = {"wait", "waits", true, false},
    [REPORT_LOCK] = {"lock", "locks", true, false},
    [REPORT_HOLDER] = {"holder", "holders", true, false},
    [REPORT_FIELD] = {"field", "values", true, false},
    [REPORT_PHASE] = {"phase", "phases", true, false},
    [REPORT_MODULE] = {"module", "modules", false, false},
    [REPORT_FUNCTION] = {"function", "functions", false, false},
    [REPORT_FILE] = {"file", "source files", false, true},
    [REPORT_LINE] = {"line", "lines", false, true},
    [REPORT_ADDRESS] = {"address", "addresses", false, true},
};

const char *report_key_word(enum report_key key)
{
    return key < REPORT_KEYS ? keys[key].word : NULL;
}

bool report_key_is_of_sample(enum report_key key)
{
    return keys[key].of_sample;
}

bool report_by_key_has(const struct by_key *by, enum report_key key)
{
    for (size_t i = 0; i < by->key_count; i++)
        if (by->keys[i] == key)
            return true;
    return false;
}

/* The keys asked for: functions where none is. */
static void choose_keys(struct by_key *by, const struct report_table_options *options)
{
    assert(options->key_count <= REPORT_KEYS);
    by->key_count = options->key_count;
    for (size_t i = 0; i < by->key_count; i++)
        by->keys[i] = options->keys[i];
    if (!by->key_count)
        by->keys[by->key_count++] = REPORT_FUNCTION;
    for (size_t i = 0; i < by->key_count; i++) {
        by->of_samples = by->of_samples || keys[by->keys[i]].of_sample;
        by->of_frames = by->of_frames || !keys[by->keys[i]].of_sample;
    }
    by->inclusive = options->inclusive || !by->of_frames;
}

unsigned report_keys_parts(const struct report_table_options *options,
                           const struct report_selection *selection)
{
    const bool all = report_selection_takes_all(selection);
    struct by_key by = {0};
    choose_keys(&by, options);
    bool needs_frames = false;
    unsigned places = 0;
    for (size_t i = 0; i < by.key_count; i++) {
        needs_frames = needs_frames || keys[by.keys[i]].needs_frames;
        places |= report_key_part(by.keys[i]);
    }
    const unsigned modes = by.of_frames ? 0 : REPORT_ANY_MODE;
    if (all && !by.of_frames && !(places & (REPORT_FIELDS | REPORT_LOCKS)))
        return REPORT_THREAD_COSTS | places | modes;
    if (places)
        return REPORT_STACKS | places | modes;
    if (all && by.key_count == 1 && by.keys[0] == REPORT_LINE)
        return REPORT_LINE_COSTS;
    return by.of_samples || needs_frames ? REPORT_STACKS | modes : 0;
}

/* == Columns and cells == */

static void name_column(struct table *table, const char *title, const char *key)
{
    report_table_column(
        table,
        (struct table_column){.title = title, .key = key, .kind = TABLE_NAME, .only_data = !title});
}

/* What rows are about, besides the first name. */
static void function_column(struct table *table)
{
    report_table_column(table, (struct table_column){.title = "function",
                                                     .key = "function",
                                                     .kind = TABLE_NAME,
                                                     .subject = true,
                                                     .functions = true});
}

/* A column that only refines the name before it. */
static void second_column(struct table *table, const char *word)
{
    report_table_column(
        table, (struct table_column){
                   .title = word, .key = word, .kind = TABLE_NAME, .optional = TABLE_SECOND});
}

static void count_column(struct table *table, const char *title, const char *key, unsigned optional)
{
    report_table_column(table, (struct table_column){.title = title,
                                                     .key = key,
                                                     .kind = TABLE_COUNT,
                                                     .optional = optional,
                                                     .only_data = !title});
}

/* What is shown beside a key where the key itself does not. */
static bool adds_function(const struct by_key *by, enum report_key key)
{
    return (key == REPORT_LINE || key == REPORT_ADDRESS) && !report_by_key_has(by, REPORT_FUNCTION);
}

static bool adds_module(const struct by_key *by, enum report_key key)
{
    return (key == REPORT_FUNCTION || adds_function(by, key)) &&
           !report_by_key_has(by, REPORT_MODULE) &&
           !(key == REPORT_ADDRESS && report_by_key_has(by, REPORT_LINE));
}

/* Paths and build ids of modules: people are shown them where names repeat, programs always. */
static void namesake_columns(struct table *table, struct report_namesakes namesakes)
{
    name_column(table, namesakes.paths ? "path" : NULL, "path");
    name_column(table, namesakes.builds ? "build id" : NULL, "build_id");
}

/* For people, cut at its end and reduced to what distinguishes command lines. */
static void command_columns(struct table *table, unsigned optional)
{
    report_table_column(table, (struct table_column){.title = "command",
                                                     .key = "short_command",
                                                     .kind = TABLE_CODE,
                                                     .optional = optional});
    name_column(table, NULL, "command");
}

static void key_columns(struct table *table, const struct by_key *by, enum report_key key)
{
    const char *word = keys[key].word;
    switch (key) {
    case REPORT_PROCESS:
        if (report_by_key_has(by, key))
            name_column(table, word, word);
        else
            second_column(table, word);
        count_column(table, "pid", "pid", TABLE_DETAIL);
        if (report_by_key_has(by, key) && !report_by_key_has(by, REPORT_COMMAND))
            command_columns(table, TABLE_SECOND);
        break;
    case REPORT_COMMAND: command_columns(table, TABLE_STAYS); break;
    case REPORT_THREAD:
        name_column(table, word, word);
        count_column(table, "tid", "tid", TABLE_DETAIL);
        if (!report_by_key_has(by, REPORT_PROCESS))
            key_columns(table, by, REPORT_PROCESS);
        break;
    case REPORT_RUN: count_column(table, word, word, TABLE_STAYS); break;
    case REPORT_PHASE:
        count_column(table, word, word, TABLE_STAYS);
        name_column(table, "mark", "mark");
        name_column(table, "mode", "mode");
        break;
    case REPORT_MODULE:
        name_column(table, word, word);
        second_column(table, "kind");
        namesake_columns(table, report_namesakes_find(by, false));
        break;
    case REPORT_LINE:
        name_column(table, "line", "place");
        name_column(table, NULL, "file");
        count_column(table, NULL, "line", TABLE_DETAIL);
        break;
    case REPORT_FUNCTION: function_column(table); break;
    case REPORT_FIELD: name_column(table, by->dataset->fields.name, word); break;
    default: name_column(table, word, word); break;
    }
    if (adds_function(by, key))
        function_column(table);
    if (adds_module(by, key))
        second_column(table, "module");
    if (adds_module(by, key) && key == REPORT_FUNCTION)
        namesake_columns(table, report_namesakes_find(by, true));
    if (key == REPORT_FUNCTION)
        report_table_column(table, (struct table_column){.title = "at",
                                                         .key = "at",
                                                         .kind = TABLE_NAME,
                                                         .place = true,
                                                         .only_data = !by->alike});
}

static void put_formatted(struct table *table, struct report_dataset *dataset, const char *text,
                          uint64_t number, const char *format)
{
    struct sprof_str out = {0};
    sprof_str_append(&out, text);
    sprof_str_appendf(&out, format, number);
    const char *kept = report_utf8_keep(&dataset->arena, &out);
    table->failed = table->failed || !kept;
    report_table_put_text(table, kept ? kept : "");
}

static void put_line(struct table *table, struct report_dataset *dataset,
                     const struct report_frame *frame)
{
    if (!frame || !frame->file)
        report_table_put_text(table, "?");
    else
        put_formatted(table, dataset, report_utf8_short_path(frame->file), frame->line,
                      ":%" PRIu64);
    report_table_put_text(table, frame && frame->file ? frame->file : "");
    report_table_put_count(table, frame ? frame->line : 0);
}

static void put_namesake(struct table *table, const struct report_module *module)
{
    report_table_put_text(table, module ? module->path : "");
    report_table_put_text(table, module && module->build_id ? module->build_id : "");
}

/* Where a function is declared, or begins, for rows that look like another. Programs have the
 * column always, people where there are such rows. */
static void put_place(struct table *table, const struct by_key *by, const struct key_row *row)
{
    const bool alike = by->alike && by->alike[row - by->rows.items] != REPORT_UNLIKE;
    const struct report_function *function =
        alike && row->function ? &by->dataset->functions.items[row->function - 1] : NULL;
    if (!function)
        report_table_put_text(table, "");
    else if (by->alike[row - by->rows.items] == REPORT_ALIKE_FILES)
        put_formatted(table, by->dataset, function->file, function->line, ":%" PRIu64);
    else
        put_formatted(table, by->dataset, "", function->start, "+0x%" PRIx64);
}

static void put_command(struct table *table, const struct by_key *by, const char *command,
                        const char *unknown)
{
    struct sprof_str text = {0};
    const bool failed = report_commands_short(&by->commands, command, &text) != 0;
    const char *kept = failed ? NULL : report_utf8_keep(&by->dataset->arena, &text);
    sprof_str_release(&text);
    table->failed = table->failed || !kept;
    report_table_put_text(table, kept && *kept ? kept : unknown);
    report_table_put_text(table, command ? command : "");
}

static int take_commands(struct by_key *by)
{
    int result = 0;
    if (!report_by_key_has(by, REPORT_PROCESS) && !report_by_key_has(by, REPORT_COMMAND))
        return 0;
    for (size_t i = 0; i < by->rows.count && !result; i++) {
        const uint32_t thread = by->rows.items[i].thread;
        const uint32_t process = thread ? by->dataset->threads.items[thread - 1].process : 0;
        if (process)
            result = report_commands_add(&by->commands,
                                         by->dataset->processes.items[process - 1].command);
    }
    return result;
}

static void put_phase(struct table *table, const struct report_phase *phase)
{
    report_table_put_count(table, phase ? phase->number : 0);
    report_table_put_text(table, phase && phase->mark ? phase->mark : "");
    report_table_put_text(table,
                          phase ? model_mode_options_text(phase->view.mode, phase->view.frame_app,
                                                          phase->view.drop_interior)
                                : "");
}

static void put_cpu(struct table *table, struct report_dataset *dataset, int cpu)
{
    if (cpu < 0)
        report_table_put_text(table, "unknown");
    else
        put_formatted(table, dataset, "", (uint64_t)cpu, "%" PRIu64);
}

static void put_module_beside(struct table *table, const struct report_module *module,
                              enum report_key key)
{
    report_table_put_text(table, module ? module->name : "?");
    if (key == REPORT_FUNCTION)
        put_namesake(table, module);
}

static void put_key(struct table *table, const struct by_key *by, const struct key_row *row,
                    enum report_key key)
{
    struct report_dataset *dataset = by->dataset;
    const struct report_frame *frame = row->frame ? &dataset->frames.items[row->frame - 1] : NULL;
    const struct report_module *module =
        row->module ? &dataset->modules.items[row->module - 1] : NULL;
    const struct report_thread *thread =
        row->thread ? &dataset->threads.items[row->thread - 1] : NULL;
    const char *function =
        row->function ? report_dataset_function_name(dataset, row->function) : "?";
    switch (key) {
    case REPORT_RUN:
        report_table_put_count(table, dataset->processes.items[thread->process - 1].run);
        break;
    case REPORT_HOST:
        report_table_put_text(table, report_dataset_host(dataset, thread->process));
        break;
    case REPORT_PROCESS: {
        const struct report_process *process = &dataset->processes.items[thread->process - 1];
        report_table_put_text(table, process->name ? process->name : "[unnamed]");
        report_table_put_count(table, (uint64_t)process->pid);
        if (report_by_key_has(by, key) && !report_by_key_has(by, REPORT_COMMAND))
            put_command(table, by, process->command, "");
        break;
    }
    case REPORT_COMMAND:
        put_command(table, by, report_dataset_command(dataset, thread->process), "?");
        break;
    case REPORT_USER:
    case REPORT_CGROUP:
    case REPORT_CONTAINER:
        report_table_put_text(table, report_key_of_process(dataset, key, thread->process));
        break;
    case REPORT_THREAD:
        report_table_put_text(table, thread->name ? thread->name : "[unnamed]");
        report_table_put_count(table, (uint64_t)thread->tid);
        if (!report_by_key_has(by, REPORT_PROCESS))
            put_key(table, by, row, REPORT_PROCESS);
        break;
    case REPORT_CPU: put_cpu(table, dataset, row->cpu); break;
    case REPORT_EVENT:
        report_table_put_text(table, dataset->events.items[row->event - 1].name);
        break;
    case REPORT_STATE:
        report_table_put_text(table, report_event_state(&dataset->events.items[row->event - 1]));
        break;
    case REPORT_WAIT:
        report_table_put_text(table, report_event_wait(&dataset->events.items[row->event - 1]));
        break;
    case REPORT_LOCK:
    case REPORT_HOLDER:
    case REPORT_FIELD:
        report_table_put_text(
            table, report_dataset_field_text(dataset, row->fields, report_key_slot(key)));
        break;
    case REPORT_PHASE:
        put_phase(table, row->phase ? &dataset->phases.items[row->phase - 1] : NULL);
        break;
    case REPORT_MODULE:
        report_table_put_text(table, module ? module->name : "?");
        report_table_put_text(table, model_kind_text(module ? module->kind : MODEL_KIND_NONE));
        put_namesake(table, module);
        break;
    case REPORT_FUNCTION: report_table_put_text(table, function); break;
    case REPORT_FILE: report_table_put_text(table, frame && frame->file ? frame->file : "?"); break;
    case REPORT_LINE: put_line(table, dataset, frame); break;
    case REPORT_ADDRESS:
        put_formatted(table, dataset, module ? module->name : "?", frame ? frame->file_offset : 0,
                      "+0x%" PRIx64);
        break;
    case REPORT_KEYS: break;
    }
    if (adds_function(by, key))
        report_table_put_text(table, function);
    if (adds_module(by, key))
        put_module_beside(table, module, key);
    if (key == REPORT_FUNCTION)
        put_place(table, by, row);
}

/* == The table == */

/* "Functions by self time", "Processes, functions by total samples", "Threads". */
static const char *title_of(const struct by_key *by)
{
    struct sprof_str text = {0};
    for (size_t i = 0; i < by->key_count; i++)
        sprof_str_appendf(&text, "%s%s", i ? ", " : "", keys[by->keys[i]].title);
    if (by->of_frames)
        sprof_str_appendf(&text, " by %s %s",
                          by->inclusive ? "total" : report_columns_self(by->dataset),
                          report_columns_amount(by->dataset));
    if (text.text && text.text[0] >= 'a' && text.text[0] <= 'z')
        text.text[0] = (char)(text.text[0] - 'a' + 'A');
    return report_utf8_keep(&by->dataset->arena, &text);
}

static bool is_of_functions(const struct by_key *by)
{
    return by->key_count == 1 && by->keys[0] == REPORT_FUNCTION;
}

static bool knows_inclusive(const struct by_key *by)
{
    return !by->of_frames || !report_counts_calls(by->dataset) ||
           report_dataset_has_paths(by->dataset) ||
           (is_of_functions(by) && by->dataset->counted.totals.count) || !by->dataset->all.samples;
}

static int refuse_inclusive(struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "calls were measured without their paths, so that what they take with "
                           "all that they call is known by function and for whole runs only\n"
                           "leave out --inclusive, or trace with --paths");
}

/* A function that reading as another mode has added has no such figure. */
static uint64_t outside_of(const struct report_dataset *dataset, uint32_t function)
{
    return function && function <= dataset->counted.outside.count
               ? dataset->counted.outside.items[function - 1]
               : TABLE_UNKNOWN;
}

static void make_rows(struct table *table, const struct by_key *by)
{
    const struct measure *all = by->of_frames ? &report_measure_inclusive : &report_measure_share,
                         *measures[] = {&report_measure_exclusive, all};
    const bool inclusive = by->inclusive;
    const bool of_functions = is_of_functions(by),
               both = by->of_frames && !by->without_inclusive && (inclusive || !of_functions);
    report_columns_measure(table, by->dataset, measures[inclusive]);
    if (both)
        report_columns_measure(table, by->dataset, measures[!inclusive]);
    const bool has_outside = of_functions && by->dataset->counted.outside.count;
    if (has_outside)
        report_columns_outside(table);
    if (of_functions)
        report_call_uses_columns(table, by->dataset);
    for (size_t i = 0; i < by->key_count; i++)
        key_columns(table, by, by->keys[i]);
    for (size_t i = 0; i < by->rows.count; i++) {
        const struct key_row *row = &by->rows.items[i];
        const struct model_cost *costs[] = {&row->costs.exclusive, &row->costs.inclusive};
        report_cells_measure(table, by->dataset, measures[inclusive], *costs[inclusive]);
        if (both)
            report_cells_measure(table, by->dataset, measures[!inclusive], *costs[!inclusive]);
        if (has_outside)
            report_table_put_count(table, outside_of(by->dataset, row->function));
        report_call_uses_cells(table, by->dataset, row->function);
        for (size_t k = 0; k < by->key_count; k++)
            put_key(table, by, row, by->keys[k]);
    }
}

/* Sorts, cuts to the limit, and says what was left out. */
static int cut_rows(struct table *table, struct by_key *by, const char *sort,
                    struct sprof_error *error)
{
    uint32_t *order = NULL;
    const size_t count = by->rows.count, kept = by->cut.most < count ? by->cut.most : count;
    int result = report_table_sort(table, sort, &order, error);
    for (size_t i = kept; i < count && !result; i++)
        report_by_key_drop_row(by, &by->rows.items[order[i]]);
    if (!result)
        result = report_table_take(table, order, kept);
    if (!result)
        result = report_columns_left_out(by->dataset, table, by->cut.dropped,
                                         by->key_count == 1 ? keys[by->keys[0]].word : "row",
                                         by->key_count == 1 ? keys[by->keys[0]].title : "rows",
                                         &by->cut.cost);
    free(order);
    return result;
}

static int refuse_places_of_rows(const struct by_key *by, struct sprof_error *error)
{
    for (size_t i = 0; i < by->key_count; i++)
        if (by->keys[i] == REPORT_FILE || by->keys[i] == REPORT_LINE ||
            by->keys[i] == REPORT_ADDRESS || by->keys[i] == REPORT_CPU)
            return report_error_of_rows(by->dataset, "lines, addresses and CPUs", error);
    return 0;
}

int report_table_by_keys(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error)
{
    struct by_key by = {.dataset = dataset};
    choose_keys(&by, options);
    const bool modules = by.key_count == 1 && by.keys[0] == REPORT_MODULE;
    by.cut.most = options->no_limit ? SIZE_MAX
                  : options->limit  ? options->limit
                  : modules         ? SIZE_MAX
                                    : 40;
    by.cut.largest_first = !options->sort;
    by.cut.min_percent = options->min_percent;
    by.without_inclusive = !knows_inclusive(&by);
    int result = refuse_places_of_rows(&by, error);
    if (!result)
        result =
            by.without_inclusive && by.inclusive ? refuse_inclusive(error) : report_by_key_add(&by);
    if (!result)
        result = report_by_key_drop(&by);
    if (!result)
        result = take_commands(&by);
    if (!result && report_by_key_has(&by, REPORT_FUNCTION))
        result = report_namesakes_mark(&by);
    if (!result) {
        report_columns_begin(table, dataset, title_of(&by), report_columns_base(dataset));
        make_rows(table, &by);
        result = table->failed || !table->title || !table->note
                     ? SPROF_ENOMEM
                     : cut_rows(table, &by, options->sort, error);
    }
    report_commands_release(&by.commands);
    report_by_key_release(&by);
    return result;
}
