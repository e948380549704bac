/* sprof push: sends recordings to a receiver of many hosts. */
#include "cli/commands.h"
#include "cli/export_rows.h"
#include "cli/labels.h"
#include "cli/receiver.h"
#include "cli/signals.h"
#include "cli/spooling.h"
#include "cli/values.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
    struct cli_receiver receiver;
    const char *spool, *names;
    size_t spool_bytes;
    uint64_t window_ns;
    struct cli_labels labels;
    unsigned without;
    const char *user;
    bool follow, native;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    CLI_RECEIVER_OPTIONS(struct arguments),
    {"spool", 0, "DIR", "what is not sent yet stays in this directory, for the next time",
     FIELD(spool), cli_set_text},
    {"spool-size", 0, "SIZE", "its oldest batches are dropped beyond this (1G)", FIELD(spool_bytes),
     cli_set_size},
    {"follow", 0, NULL, "go on with what `record --loop` adds to the directories, until a signal",
     FIELD(follow), cli_set_flag},
    {"names", 0, "RECORDING",
     "send names for functions that were sent without: after `sprof symbolize`", FIELD(names),
     cli_set_text},
    {"window", 0, "T", "costs are added up in windows of so many whole seconds (10s)", FIELD(window_ns),
     cli_set_window},
    {"label", 'l', "KEY=VALUE", "service.name, service.version, host.name, any other",
     FIELD(labels), cli_add_label},
    {"native", 0, NULL, "in ClickHouse's Native format, which costs the server less", FIELD(native),
     cli_set_flag},
    {"user", 0, "NAME", "only what this user's processes did", FIELD(user), cli_set_text},
    {"without", 0, "LIST", "leave out labels: user, cgroup, container", FIELD(without),
     cli_set_left_out},
    {0},
};

/* What is at work. */
struct pushing {
    struct cli_terminal *terminal;
    const struct arguments *arguments;
    const struct cli_operands *operands;
    struct fleet_target target;
    struct fleet_link link;
    struct fleet_spool spool;
    struct fleet_push *push;
    struct fleet_push_result result;
    int end_fd;
    char temporary[64]; /* a spool that does not outlive the command; "": none */
};

/* == The spool == */

static int open_spool(struct pushing *pushing, struct sprof_error *error)
{
    const struct arguments *arguments = pushing->arguments;
    const char *path = arguments->spool;
    if (!path) {
        strcpy(pushing->temporary, "/tmp/sprof-push-XXXXXX");
        path = mkdtemp(pushing->temporary);
        if (!path) {
            pushing->temporary[0] = '\0';
            return sprof_system_error(error, "make a directory in", "/tmp");
        }
    }
    return fleet_spool_open(&pushing->spool, path, pushing->target.kind,
                            arguments->spool_bytes ? arguments->spool_bytes : (size_t)1 << 30,
                            &pushing->terminal->log, error);
}

static void remove_temporary(const char *path)
{
    DIR *entries = *path ? opendir(path) : NULL;
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(path);
}

static bool is_directory(const char *path)
{
    struct stat facts;
    return !stat(path, &facts) && S_ISDIR(facts.st_mode);
}

/* Puts all that is named into the spool. */
static int fill_spool(struct pushing *pushing, struct sprof_error *error)
{
    static const uint64_t usual_window_ns = 10000000000;
    const struct arguments *arguments = pushing->arguments;
    const struct cli_spooling spooling = {
        .terminal = pushing->terminal,
        .spool = &pushing->spool,
        .native = arguments->native,
        .rows =
            {
                .window_ns = arguments->window_ns ? arguments->window_ns : usual_window_ns,
                .labels = cli_labels_of(&arguments->labels),
                .without = arguments->without,
                .user = arguments->user,
                .sprof_version = SPROF_VERSION,
            },
    };
    int status = arguments->names ? cli_spool_names(&spooling, arguments->names, error) : 0;
    for (int i = 0; i < pushing->operands->count && !status; i++) {
        const char *path = pushing->operands->items[i];
        status = is_directory(path) ? cli_spool_segments(&spooling, path, error)
                                    : cli_spool_recording(&spooling, path, error);
    }
    return status;
}

/* == Sending == */

static void say_sent(const struct pushing *pushing)
{
    const struct fleet_push_result *result = &pushing->result;
    const bool none = !result->batches && !result->bytes && (result->refused || result->damaged);
    const uint64_t dropped = fleet_spool_number(&pushing->spool, FLEET_SPOOL_DROPPED);
    if (!none)
        cli_say(pushing->terminal, "%s batch%s, %s rows, %s KiB sent to %s",
                sprof_digits_of(result->batches).text, result->batches == 1 ? "" : "es",
                sprof_digits_of(result->rows).text,
                sprof_digits_of((result->bytes + 1023) / 1024).text, pushing->target.url);
    if (dropped)
        cli_say(pushing->terminal, "%s were dropped from %s so far, for want of space",
                sprof_digits_of(dropped).text, pushing->spool.path);
    if (result->uncertain)
        cli_say(pushing->terminal,
                "%s request%s sent again may count twice, since this receiver cannot "
                "recognize repetitions%s",
                sprof_digits_of(result->uncertain).text, sprof_plural(result->uncertain),
                pushing->target.kind == FLEET_CLICKHOUSE
                    ? ": `sprof fleet check --to URL` finds them"
                    : "");
}

/* Says why what is not sent was not, and where it is. */
static int say_left(const struct pushing *pushing, int status, struct sprof_error *error)
{
    const struct sprof_error why = *error;
    const uint64_t left = pushing->result.left;
    if (!left || (status != SPROF_EIO && status != SPROF_ESTATE && status != SPROF_EUNSUPPORTED))
        return status;
    if (*pushing->temporary)
        return sprof_error_set(error, why.code, why.errnum,
                               "%s\nnothing is kept for another time: --spool DIR does that",
                               why.message);
    return sprof_error_set(error, why.code, why.errnum,
                           "%s\n%s batch%s wait%s in %s: `sprof push --to URL --spool %s` sends "
                           "what is there",
                           why.message, sprof_digits_of(left).text, left == 1 ? "" : "es",
                           left == 1 ? "s" : "", pushing->spool.path, pushing->spool.path);
}

static int push_once(struct pushing *pushing, struct sprof_error *error)
{
    int status = fill_spool(pushing, error);
    if (!status)
        status = fleet_push_all(pushing->push, &pushing->result, error);
    if (pushing->result.batches || !status)
        say_sent(pushing);
    if (status)
        return say_left(pushing, status, error);
    return pushing->result.refused || pushing->result.damaged ? 1 : 0;
}

static bool has_ended(int fd, int timeout_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, timeout_ms) > 0;
}

/* A receiver that fails, a full disk, tables that are missing: all of it may pass, and the
 * recording goes on meanwhile. */
static int push_and_follow(struct pushing *pushing, struct sprof_error *error)
{
    enum { LOOK_MS = 1000 };
    struct sprof_error said = {0};
    bool last = false;
    int status;
    do {
        last = has_ended(pushing->end_fd, LOOK_MS);
        status = fill_spool(pushing, error);
        if (!status || status == SPROF_EFULL)
            status = fleet_push_all(pushing->push, &pushing->result, error);
        if (status && status != SPROF_ENOMEM && strcmp(said.message, error->message) != 0) {
            cli_say(pushing->terminal, "%s", error->message);
            said = *error;
        }
    } while (!last && status != SPROF_ENOMEM);
    say_sent(pushing);
    return status ? say_left(pushing, status, error) : 0;
}

/* == The command == */

static int check(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    if (!operands->count && !arguments->spool && !arguments->names)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "what is to be sent? name recordings, directories of `record "
                               "--loop`, or a --spool that holds what was not sent before");
    if (!arguments->follow)
        return 0;
    if (!arguments->spool)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--follow needs --spool DIR: add it");
    for (int i = 0; i < operands->count; i++)
        if (!is_directory(operands->items[i]))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "--follow is for directories of `record --loop`, and %s is none",
                                   operands->items[i]);
    return 0;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct pushing pushing = {.terminal = terminal,
                              .arguments = arguments,
                              .operands = operands,
                              .spool = {.directory = SPROF_OWN_DIRECTORY_NONE},
                              .end_fd = -1};
    sigset_t before;
    int status = check(arguments, operands, error);
    if (status)
        return status;
    if (arguments->follow && (pushing.end_fd = cli_signals_open(&before)) < 0)
        return sprof_error_set(error, SPROF_ELIMIT, errno, "cannot wait for signals: %s",
                               strerror(errno));
    status = cli_receiver_open(terminal, &arguments->receiver, pushing.end_fd, &pushing.target,
                               &pushing.link, error);
    const char *of_rows = arguments->names     ? "--names"
                          : arguments->user    ? "--user"
                          : arguments->without ? "--without"
                          : arguments->native  ? "--native"
                                               : NULL;
    if (!status && of_rows && pushing.target.kind != FLEET_CLICKHOUSE)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "%s is for rows of tables: --to clickhouse+https://…", of_rows);
    if (!status && pushing.target.kind == FLEET_OTLP)
        status = cli_add_otel_labels(&arguments->labels, &terminal->log, error);
    if (!status)
        status = open_spool(&pushing, error);
    if (!status)
        status = fleet_push_open(&pushing.push, &pushing.link, &pushing.spool, error);
    if (!status)
        status = arguments->follow ? push_and_follow(&pushing, error) : push_once(&pushing, error);
    fleet_push_free(pushing.push);
    fleet_spool_close(&pushing.spool);
    remove_temporary(pushing.temporary);
    cli_receiver_close(&pushing.target, &pushing.link);
    if (pushing.end_fd >= 0)
        close(pushing.end_fd);
    return status;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    cli_labels_release(&arguments->labels);
}

const struct cli_command cli_push_command = {
    .name = "push",
    .summary = "Send recordings to a database of many hosts",
    .operands = "[RECORDING|DIR …]",
    .options = options,
    .details =
        "clickhouse+http://HOST:8123[/DATABASE] and clickhouse+https://… are ClickHouse servers\n"
        "whose tables `sprof fleet init` made. What is sent counts once, also when it is sent\n"
        "again, where the server has tokens of inserts (22.2 or newer).\n"
        "pyroscope+http://HOST:4040 and pyroscope+https://… take a profile for each run and "
        "event;\n"
        "one whose answer is lost may count twice there.\n"
        "otlp+http://HOST:4318 and otlp+https://… are collectors of OpenTelemetry, which take\n"
        "profiles of OTLP 1.10 and 1.11; the same holds there.\n"
        "OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES label these where -l does not.\n"
        "Name and password come from SPROF_FLEET_USER and SPROF_FLEET_PASSWORD, a token from\n"
        "SPROF_FLEET_TOKEN, or all of them from the file of --credentials, never from the URL.\n"
        "A DIR of `record --loop` stands for its segments that have ended and were not sent yet.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
