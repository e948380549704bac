/* Puts the rows of recordings into a spool, a batch for each run. */
#include "cli/spooling.h"

#include "cli/labels.h"
#include "cli/open.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { TABLES = REPORT_ROWS_TABLES };

struct adding {
    const struct cli_spooling *spooling;
    struct store *store;
    struct sprof_error *error;
};

static int open_tables(FILE *tables[TABLES], struct sprof_error *error)
{
    for (size_t i = 0; i < TABLES; i++)
        if (!(tables[i] = tmpfile()))
            return sprof_system_error(error, "make", "a temporary file");
    return 0;
}

/* Servers before 22 have no Maps, and take these as texts. */
static bool has_map(size_t table)
{
    return table == REPORT_ROWS_LABELS || table == REPORT_ROWS_RUN;
}

/* The costs alone are the key: better names of functions, or a newer sprof, make no other batch. */
static int fill_batch(struct fleet_batch *batch, FILE *const tables[TABLES], uint64_t run_key,
                      bool native, struct sprof_error *error)
{
    uint64_t key = 0;
    int status = 0;
    for (size_t i = 0; i < TABLES && !status; i++) {
        if (fflush(tables[i]) || ferror(tables[i]))
            return sprof_system_error(error, "write", "a temporary file");
        rewind(tables[i]);
        batch->key = run_key;
        batch->to_native = native && !has_map(i) ? report_rows_native : NULL;
        status = fleet_batch_add_table(batch, report_rows_tables[i], tables[i], error);
        key = i == REPORT_ROWS_COST ? batch->key : key;
    }
    batch->key = key;
    return status;
}

/* == Profiles == */

/* Columns of `run` that a profile needs. */
enum { SERVICE, VERSION, HOST, EVENT, FACTS };
static const char *const facts[FACTS] = {"service", "version", "host", "event"};

/* Cuts a line at its tabs, and takes the fields at the places of `facts`. */
static void take_facts(char *line, const size_t places[FACTS], const char *values[FACTS])
{
    size_t place = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *field; (field = strsep(&line, "\t")); place++)
        for (size_t i = 0; i < FACTS; i++)
            if (places[i] == place) {
                sprof_unescape(field);
                values[i] = field;
            }
}

static void find_facts(char *heading, size_t places[FACTS])
{
    size_t place = 0;
    heading[strcspn(heading, "\n")] = '\0';
    for (char *field; (field = strsep(&heading, "\t")); place++)
        for (size_t i = 0; i < FACTS; i++)
            if (!strcmp(field, facts[i]))
                places[i] = place;
}

/* With the labels of its service, unless they were given for all. */
static int write_labeled(FILE *out, const struct adding *adding, struct report_profiles *profiles,
                         const struct report_service_choice *choice,
                         const char *const values[FACTS])
{
    const struct cli_spooling *spooling = adding->spooling;
    const struct report_labels *given = &spooling->rows.labels;
    struct sprof_str service = {0}, version = {0};
    const char **labels = calloc(given->count + 2, sizeof *labels);
    struct report_export_options options = {.labels = {labels, 0}};
    sprof_str_appendf(&service, "service.name=%s", values[SERVICE]);
    sprof_str_appendf(&version, "service.version=%s", values[VERSION]);
    int status = labels && !service.failed && !version.failed ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < given->count && !status; i++)
        labels[options.labels.count++] = given->items[i];
    if (!status && !cli_labels_have(given, "service.name"))
        labels[options.labels.count++] = service.text;
    if (!status && !cli_labels_have(given, "service.version"))
        labels[options.labels.count++] = version.text;
    status = status ? sprof_error_memory(adding->error)
                    : report_profiles_write(out, profiles, choice,
                                            spooling->spool->kind == FLEET_OTLP
                                                ? &report_format_of_otlp_series
                                                : &report_format_of_series,
                                            &options, adding->error);
    sprof_str_release(&service);
    sprof_str_release(&version);
    free(labels);
    return status;
}

/* A service of a recording in the receiver's format. The caller frees, also on failure. */
static int write_profile(const struct adding *adding, struct report_profiles *profiles,
                         const char *const values[FACTS], char **bytes, size_t *size)
{
    const struct cli_spooling *spooling = adding->spooling;
    const struct report_labels *given = &spooling->rows.labels;
    const bool is_named = cli_labels_have(given, "service.name");
    const bool has_version = is_named || cli_labels_have(given, "service.version");
    const struct report_service_choice service = {.name = is_named ? NULL : values[SERVICE],
                                                  .build = has_version ? NULL : values[VERSION],
                                                  .without = spooling->rows.without};
    FILE *out = open_memstream(bytes, size);
    int status = out ? write_labeled(out, adding, profiles, &service, values)
                     : sprof_error_memory(adding->error);
    if (out && fclose(out) && !status)
        status = sprof_error_memory(adding->error);
    return status;
}

/* Whether -l names a fact by this label, under which it is sent already. */
static bool is_fact(const char *name)
{
    static const char *const known[] = {"service.name", "service.version", "host.name", "event"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], name))
            return true;
    return false;
}

static int add_series(const struct adding *adding, struct fleet_batch *batch,
                      const char *const values[FACTS], struct sprof_bytes profile)
{
    const bool is_cpu = !strcmp(values[EVENT], "cpu-clock") || !strcmp(values[EVENT], "cycles");
    const struct report_labels *given = &adding->spooling->rows.labels;
    const struct fleet_label facts_sent[] = {
        {"__name__", is_cpu ? "process_cpu" : values[EVENT]},
        {"service.name", values[SERVICE]},
        {"service.version", values[VERSION]},
        {"host.name", values[HOST]},
        {"event", values[EVENT]},
    };
    SPROF_VEC(struct fleet_label) labels = {0};
    struct sprof_arena arena = {0};
    int result = 0;
    for (size_t i = 0; i < sizeof facts_sent / sizeof *facts_sent && !result; i++)
        result = sprof_vec_push(&labels, facts_sent[i]);
    for (size_t i = 0; i < given->count && !result; i++) {
        const char *text = given->items[i], *equals = strchr(text, '='); /* was checked */
        const char *name = sprof_arena_copy(&arena, text, (size_t)(equals - text));
        const struct fleet_label label = {name, equals + 1};
        if (!name || (!is_fact(name) && sprof_vec_push(&labels, label)))
            result = SPROF_ENOMEM;
    }
    result =
        result ? sprof_error_memory(adding->error)
               : fleet_batch_add_profile(batch, labels.items, labels.count, profile, adding->error);
    sprof_vec_release(&labels);
    sprof_arena_release(&arena);
    return result;
}

static int add_profile(const struct adding *adding, struct fleet_batch *batch,
                       struct report_profiles *profiles, const char *const values[FACTS])
{
    char *bytes = NULL;
    size_t size = 0;
    int status = write_profile(adding, profiles, values, &bytes, &size);
    const struct sprof_bytes profile = {(const uint8_t *)bytes, size};
    if (!status)
        status = adding->spooling->spool->kind == FLEET_OTLP
                     ? fleet_batch_add_bytes(batch, "profiles", profile, adding->error)
                     : add_series(adding, batch, values, profile);
    free(bytes);
    return status;
}

/* An event of a run, loaded for all services that have it. Zero is none. */
struct loaded {
    char *event;
    struct report_profiles *profiles;
};

static void loaded_release(struct loaded *loaded)
{
    report_profiles_free(loaded->profiles);
    free(loaded->event);
    *loaded = (struct loaded){0};
}

static int load_event(struct loaded *loaded, const struct adding *adding, uint32_t run_id,
                      const char *event)
{
    if (loaded->event && !strcmp(loaded->event, event))
        return 0;
    loaded_release(loaded);
    loaded->event = strdup(event);
    const struct report_selection selection = {.run_id = run_id, .event = loaded->event};
    return loaded->event
               ? report_profiles_open(&loaded->profiles, adding->store, &selection, adding->error)
               : sprof_error_memory(adding->error);
}

/* A profile for each line of `run`, which has the services of an event together: service, version,
 * host and event are there already. */
static int add_profiles(const struct adding *adding, struct fleet_batch *batch, FILE *runs,
                        const struct store_run *run)
{
    size_t places[FACTS] = {0}, capacity = 0;
    struct loaded loaded = {0};
    char *line = NULL;
    int status = 0;
    rewind(runs);
    batch->key = run->key;
    if (getline(&line, &capacity, runs) > 0)
        find_facts(line, places);
    while (!status && getline(&line, &capacity, runs) > 0) {
        const char *values[FACTS] = {"", "", "", ""};
        take_facts(line, places, values);
        status = load_event(&loaded, adding, run->id, values[EVENT]);
        if (!status)
            status = add_profile(adding, batch, loaded.profiles, values);
    }
    loaded_release(&loaded);
    free(line);
    return status;
}

/* == Runs == */

static int add_run(void *context, const struct store_run *run)
{
    const struct adding *adding = context;
    const struct cli_spooling *spooling = adding->spooling;
    const struct report_selection selection = {.run_id = run->id};
    struct fleet_batch batch = {.time_ns = run->start_realtime_ns};
    struct report_rows_count count = {0};
    struct report_rows_files files = {{NULL}};
    FILE **tables = files.tables;
    int status = open_tables(tables, adding->error);
    if (!status)
        status =
            report_rows(&files, adding->store, &selection, &spooling->rows, &count, adding->error);
    if (!status && count.costs)
        status = spooling->spool->kind == FLEET_CLICKHOUSE
                     ? fill_batch(&batch, tables, run->key, spooling->native, adding->error)
                     : add_profiles(adding, &batch, tables[REPORT_ROWS_RUN], run);
    if (!status && count.costs)
        status = fleet_spool_add(spooling->spool, &batch, adding->error);
    for (size_t i = 0; i < TABLES; i++)
        if (tables[i])
            fclose(tables[i]);
    fleet_batch_release(&batch);
    return status;
}

static int add_runs(const struct cli_spooling *spooling, struct store *store,
                    struct sprof_error *error)
{
    struct adding adding = {spooling, store, error};
    return store_each_run(store, add_run, &adding, error);
}

/* No newer than what was sent without them: names are dropped first where there is no room. */
static int add_names(const struct cli_spooling *spooling, struct store *store,
                     struct sprof_error *error)
{
    struct fleet_batch batch = {.time_ns = 0};
    uint64_t count = 0;
    FILE *names_found = tmpfile();
    if (!names_found)
        return sprof_system_error(error, "make", "a temporary file");
    int status = report_rows_names(names_found, store, &count, error);
    if (!status && (fflush(names_found) || ferror(names_found)))
        status = sprof_system_error(error, "write", "a temporary file");
    rewind(names_found);
    if (!status && count)
        status = fleet_batch_add_table(&batch, report_rows_tables[REPORT_ROWS_FUNCTION],
                                       names_found, error);
    if (!status && count)
        status = fleet_spool_add(spooling->spool, &batch, error);
    fclose(names_found);
    fleet_batch_release(&batch);
    return status;
}

int cli_spool_names(const struct cli_spooling *spooling, const char *path,
                    struct sprof_error *error)
{
    struct store *store;
    int status = cli_open_recording(&store, path, spooling->terminal, error);
    if (status)
        return status;
    status = add_names(spooling, store, error);
    store_close(store, NULL);
    return status;
}

int cli_spool_recording(const struct cli_spooling *spooling, const char *path,
                        struct sprof_error *error)
{
    struct store *store;
    int status = cli_open_recording(&store, path, spooling->terminal, error);
    if (status)
        return status;
    status = store_running(store) || cli_recording_complete(store, error) != 1
                 ? sprof_error_set(error, SPROF_ESTATE, 0,
                                   "%s is being recorded: send it when that has ended", path)
                 : add_runs(spooling, store, error);
    store_close(store, NULL);
    return status;
}

/* Whether it was written in the last minute: it may be in the making. */
static bool is_recent(const char *path)
{
    enum { RECENT_S = 60 };
    struct stat file;
    return !stat(path, &file) && labs(time(NULL) - file.st_mtime) < RECENT_S;
}

static int count_run(void *count, const struct store_run *run)
{
    (void)run;
    ++*(size_t *)count;
    return 0;
}

/* Whether its run has ended and has its names. A segment is there before its run is. */
static int is_complete(struct store *store, const char *path, struct sprof_error *error)
{
    size_t runs = 0;
    const int status = store_each_run(store, count_run, &runs, error);
    if (status || (!runs && is_recent(path)))
        return status;
    return cli_recording_complete(store, error);
}

/* 0, 1 where it is not complete yet, or a negative code. */
static int add_segment(const struct cli_spooling *spooling, const char *path,
                       struct sprof_error *error)
{
    struct store *store = NULL;
    int status = store_open_read(&store, path, error);
    if (status == SPROF_ESTATE)
        return 1;
    if (status == SPROF_ENOTFOUND) /* no longer kept */
        return 0;
    if (!status) {
        const int complete = is_complete(store, path, error);
        status = complete < 0 ? complete : !complete;
    }
    if (!status)
        status = add_runs(spooling, store, error);
    store_close(store, NULL);
    if (status != SPROF_EFORMAT)
        return status;
    if (is_recent(path))
        return 1;
    cli_say(spooling->terminal, "%s is left out: %s", path, error->message);
    return 0;
}

/* Segments by their names, not by their times: a clock may be set back. */
static int read_noted(const struct cli_spooling *spooling, struct sprof_map *noted,
                      struct sprof_error *error)
{
    struct sprof_str lines = {0};
    int status = fleet_spool_lines(spooling->spool, FLEET_SPOOL_SEGMENTS, &lines, error);
    char *rest = lines.text;
    for (char *name; !status && (name = strsep(&rest, "\n"));)
        if (sprof_map_put(noted, sprof_hash_text(name), 1))
            status = sprof_error_memory(error);
    sprof_str_release(&lines);
    return status;
}

/* Those that are no longer kept are forgotten. */
static int write_noted(const struct cli_spooling *spooling, const struct sprof_map *noted,
                       const struct record_segments *segments, struct sprof_error *error)
{
    struct sprof_str lines = {0};
    int status = sprof_str_append(&lines, "") ? sprof_error_memory(error) : 0;
    for (size_t i = 0; i < segments->list.count && !status; i++) {
        const char *name = segments->list.items[i].name;
        if (sprof_map_get(noted, sprof_hash_text(name)) && sprof_str_appendf(&lines, "%s\n", name))
            status = sprof_error_memory(error);
    }
    if (!status)
        status = fleet_spool_set_lines(spooling->spool, FLEET_SPOOL_SEGMENTS, lines.text, error);
    sprof_str_release(&lines);
    return status;
}

/* Adds one that is not noted yet, and notes it. */
static int take_segment(const struct cli_spooling *spooling, const char *directory,
                        const struct record_segments *segments, size_t number,
                        struct sprof_map *noted, struct sprof_error *error)
{
    const char *name = segments->list.items[number].name;
    const uint64_t key = sprof_hash_text(name);
    struct sprof_str path = {0};
    if (sprof_map_get(noted, key))
        return 0;
    int status = sprof_str_appendf(&path, "%s/%s", directory, name)
                     ? sprof_error_memory(error)
                     : add_segment(spooling, path.text, error);
    sprof_str_release(&path);
    if (status)
        return status == 1 ? 0 : status;
    return sprof_map_put(noted, key, 1) ? sprof_error_memory(error)
                                        : write_noted(spooling, noted, segments, error);
}

int cli_spool_segments(const struct cli_spooling *spooling, const char *directory,
                       struct sprof_error *error)
{
    struct sprof_map noted = {0};
    struct record_segments segments;
    int status = record_segments_list(&segments, directory, error);
    if (!status)
        status = read_noted(spooling, &noted, error);
    for (size_t i = 0; i < segments.list.count && !status; i++)
        status = take_segment(spooling, directory, &segments, i, &noted, error);
    record_segments_release(&segments);
    sprof_map_release(&noted);
    return status;
}
