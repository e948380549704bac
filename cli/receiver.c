/* Reaches receivers of a fleet, and reads recordings from them. */
#include "cli/receiver.h"

#include "cli/values.h"
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int cli_receiver_open(struct cli_terminal *terminal, const struct cli_receiver *receiver,
                      int end_fd, struct fleet_target *target, struct fleet_link *link,
                      struct sprof_error *error)
{
    static const uint64_t usual_retry_ns = UINT64_C(30000000000);
    *target = (struct fleet_target){.url = NULL};
    *link = (struct fleet_link){.http = NULL};
    if (!receiver->to)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "to which receiver? with --to clickhouse+https://host:8443, for "
                               "example");
    const int result = fleet_target_parse(target, receiver->to, error);
    const struct fleet_link_options options = {
        .target = target,
        .credentials = receiver->credentials,
        .patience_ns = receiver->retry_ns ? receiver->retry_ns : usual_retry_ns,
        .end_fd = end_fd,
        .log = &terminal->log,
    };
    return result ? result : fleet_link_open(link, &options, error);
}

void cli_receiver_close(struct fleet_target *target, struct fleet_link *link)
{
    fleet_link_close(link);
    fleet_target_release(target);
}

/* == Reading == */

static int take_time(uint64_t *time_s, const char *name, const char *value,
                     struct sprof_error *error)
{
    const uint64_t second_ns = 1000000000;
    uint64_t time_ns;
    int result;
    if (strcmp(name, "last")) {
        result = cli_set_time(&time_ns, value, error);
    } else {
        const uint64_t now_ns = sprof_clock_realtime_ns();
        uint64_t length_ns;
        result = cli_set_duration(&length_ns, value, error);
        time_ns = result || length_ns > now_ns ? 0 : now_ns - length_ns;
    }
    *time_s = result ? 0 : time_ns / second_ns;
    return result;
}

static int take_parameter(struct fleet_selection *selection,
                          const struct fleet_parameter *parameter, struct sprof_error *error)
{
    const struct {
        const char *name, **text;
        uint64_t *time;
    } known[] = {
        {"service", &selection->service, NULL},
        {"version", &selection->version, NULL},
        {"host", &selection->host, NULL},
        {"event", &selection->event, NULL},
        {"process", &selection->process, NULL},
        {"service.name", &selection->service, NULL},
        {"service.version", &selection->version, NULL},
        {"host.name", &selection->host, NULL},
        {"last", NULL, &selection->from_s},
        {"from", NULL, &selection->from_s},
        {"until", NULL, &selection->until_s},
    };
    static const struct fleet_label places[] = {{"container", "container.id"},
                                                {"cgroup", "process.linux.cgroup"},
                                                {"user", "process.owner"}};
    struct fleet_label label = {parameter->name, parameter->value};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, parameter->name) != 0)
            continue;
        if (known[i].time)
            return take_time(known[i].time, parameter->name, parameter->value, error);
        *known[i].text = parameter->value;
        return 0;
    }
    bool is_label = strchr(parameter->name, '.');
    for (size_t i = 0; i < sizeof places / sizeof *places && !is_label; i++) {
        is_label = !strcmp(places[i].name, parameter->name);
        label.name = is_label ? places[i].value : label.name;
    }
    if (is_label)
        return sprof_vec_push(&selection->labels, label) ? sprof_error_memory(error) : 0;
    return sprof_error_set(
        error, SPROF_EUSAGE, 0,
        "`%.100s` chooses nothing: there are service, version, host, event, "
        "process, container, cgroup, user, last=1h, from=T, until=T, and labels with a "
        "dot in their names",
        parameter->name);
}

static int choose(struct fleet_selection *selection, const struct fleet_target *target,
                  struct sprof_error *error)
{
    int result = target->kind == FLEET_CLICKHOUSE
                     ? 0
                     : sprof_error_set(error, SPROF_EUSAGE, 0,
                                       "recordings are read from clickhouse+http(s)://… only");
    for (size_t i = 0; i < target->parameters.count && !result; i++)
        result = take_parameter(selection, &target->parameters.items[i], error);
    return result;
}

static int make_directory(struct cli_fetched *fetched, struct sprof_error *error)
{
    const char *temporary = getenv("TMPDIR");
    const int length =
        snprintf(fetched->directory, sizeof fetched->directory, "%s/sprof-fleet-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp");
    if (length >= (int)sizeof fetched->directory || !mkdtemp(fetched->directory)) {
        fetched->directory[0] = '\0';
        return sprof_system_error(error, "make a directory in", temporary ? temporary : "/tmp");
    }
    snprintf(fetched->path, sizeof fetched->path, "%s/fleet.db", fetched->directory);
    return 0;
}

static int fetch_rows(struct fleet_link *link, const struct fleet_selection *selection,
                      const char *path, struct sprof_error *error)
{
    FILE *file = fopen(path, "wx");
    int result = file ? fleet_fetch(link, selection, IMPORT_ROWS_MAX, file, error)
                      : sprof_system_error(error, "make", path);
    if (file && fclose(file) && !result)
        result = sprof_system_error(error, "write", path);
    return result;
}

static int import_them(const struct cli_fetched *fetched, const char *rows,
                       struct cli_terminal *terminal, struct sprof_error *error)
{
    const struct import_options import = {
        .output = fetched->path,
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
    };
    struct import_result result;
    return import_rows(&import, &rows, 1, &result, error);
}

int cli_fetch(struct cli_fetched *fetched, const char *url, struct cli_terminal *terminal,
              struct sprof_error *error)
{
    const struct cli_receiver receiver = {.to = url};
    struct fleet_selection selection = {.service = NULL};
    struct fleet_target target;
    struct fleet_link link;
    char rows[sizeof fetched->path];
    *fetched = (struct cli_fetched){.path = ""};
    int result = cli_receiver_open(terminal, &receiver, -1, &target, &link, error);
    if (!result)
        result = choose(&selection, &target, error);
    if (!result)
        result = make_directory(fetched, error);
    snprintf(rows, sizeof rows, "%s/rows.tsv", fetched->directory);
    if (!result)
        result = fetch_rows(&link, &selection, rows, error);
    if (!result)
        result = import_them(fetched, rows, terminal, error);
    if (*fetched->directory)
        unlink(rows);
    if (result)
        cli_fetched_release(fetched);
    sprof_vec_release(&selection.labels);
    cli_receiver_close(&target, &link);
    return result;
}

void cli_fetched_release(struct cli_fetched *fetched)
{
    if (!*fetched->directory)
        return;
    unlink(fetched->path);
    rmdir(fetched->directory);
    fetched->directory[0] = '\0';
}
