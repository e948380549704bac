/* sprof fleet: makes the tables of a database of many hosts, and audits them. */
#include "cli/commands.h"
#include "cli/receiver.h"
#include "cli/values.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static const uint64_t ns_per_s = 1000000000;

struct arguments {
    struct cli_receiver receiver;
    uint64_t from_ns, until_ns; /* since 1970; 0: not given */
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    CLI_RECEIVER_OPTIONS(struct arguments),
    {"from", 0, "T", "check: runs that began then or later: 18:50, 2026-11-28T18:50:00Z, 10m (24h)",
     FIELD(from_ns), cli_set_time},
    {"until", 0, "T", "check: and before then (now)", FIELD(until_ns), cli_set_time},
    {0},
};

static int init(struct cli_terminal *terminal, struct fleet_link *link, struct sprof_error *error)
{
    struct fleet_made made;
    const struct fleet_target *target = link->options.target;
    const int status = fleet_tables_make(link, &made, error);
    if (!status) {
        cli_say(terminal, "%s: ClickHouse %u.%u, database %s: %u tables made%s%s%s", target->url,
                made.version / 100, made.version % 100, target->database, made.tables,
                made.added.length ? ", columns added: " : "",
                made.added.length ? made.added.text : "",
                made.tables || made.added.length ? "" : ", all is there");
        if (made.version < FLEET_CLICKHOUSE_TOKENS)
            cli_say(terminal, "this version cannot recognize repetitions: what is sent again "
                              "after a lost answer may count twice, which `sprof fleet check` "
                              "finds");
    }
    sprof_str_release(&made.added);
    return status;
}

/* == Check == */

struct checking {
    size_t rows, wrong;
};

static const char *verdict_of(const struct fleet_audit *audit)
{
    return audit->stored == audit->recorded  ? "equal"
           : audit->at_edge                  ? "cut"
           : audit->is_recent                ? "arriving"
           : audit->stored < audit->recorded ? "missing"
           : audit->recorded                 ? "doubled"
                                             : "no run";
}

/* A text of the receiver, in a column. */
static void put_text(const char *text, int width)
{
    struct sprof_str clean = {0};
    sprof_utf8_clean(&clean, text);
    printf("%-*s ", width, clean.text ? clean.text : "");
    sprof_str_release(&clean);
}

static int show(void *context, const struct fleet_audit *audit)
{
    struct checking *checking = context;
    const char *verdict = verdict_of(audit);
    if (!checking->rows++)
        printf("%-20s %-14s %-20s %-16s %12s %12s %8s  %s\n", "service", "version", "host", "event",
               "recorded", "stored", "lost", "samples");
    put_text(audit->service, 20);
    put_text(audit->version, 14);
    put_text(audit->host, 20);
    put_text(audit->event, 16);
    printf("%12" PRIu64 " %12" PRIu64 " %8" PRIu64 "  %s\n", audit->recorded, audit->stored,
           audit->lost, verdict);
    checking->wrong +=
        !strcmp(verdict, "missing") || !strcmp(verdict, "doubled") || !strcmp(verdict, "no run");
    return 0;
}

static int check_rows(struct cli_terminal *terminal, const struct arguments *arguments,
                      struct fleet_link *link, struct sprof_error *error)
{
    static const uint64_t day_s = 86400;
    const uint64_t now_s = sprof_clock_realtime_ns() / ns_per_s;
    struct checking checking = {0};
    const uint64_t from_s = arguments->from_ns ? arguments->from_ns / ns_per_s : now_s - day_s;
    const uint64_t until_s = arguments->until_ns ? arguments->until_ns / ns_per_s : now_s + day_s;
    const int status = fleet_tables_audit(link, from_s, until_s, show, &checking, error);
    if (status)
        return status;
    if (!checking.rows)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "there are no rows of that time");
    if (checking.wrong)
        cli_say(terminal, "%zu of %zu differ: samples are missing, or were stored twice",
                checking.wrong, checking.rows);
    return checking.wrong ? 1 : 0;
}

/* == The command == */

static int check(const struct arguments *arguments, const struct cli_operands *operands,
                 struct sprof_error *error)
{
    const char *word = operands->count ? operands->items[0] : "";
    if ((strcmp(word, "init") && strcmp(word, "check")) || operands->count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "there are `sprof fleet init --to URL`, which makes the tables, and "
                               "`sprof fleet check --to URL`, which counts what is in them");
    if (!strcmp(word, "init") && (arguments->from_ns || arguments->until_ns))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--from and --until belong to `sprof fleet check`");
    if (arguments->until_ns && arguments->from_ns >= arguments->until_ns)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--from is not before --until");
    return 0;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    const struct arguments *arguments = all;
    struct fleet_target target;
    struct fleet_link link;
    int status = check(arguments, operands, error);
    if (status)
        return status;
    status = cli_receiver_open(terminal, &arguments->receiver, -1, &target, &link, error);
    if (!status && target.kind != FLEET_CLICKHOUSE)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "tables are ClickHouse's: write clickhouse+http(s)://…");
    if (!status)
        status = !strcmp(operands->items[0], "init")
                     ? init(terminal, &link, error)
                     : check_rows(terminal, arguments, &link, error);
    cli_receiver_close(&target, &link);
    return status;
}

const struct cli_command cli_fleet_command = {
    .name = "fleet",
    .summary = "Make the tables of a database of many hosts, or check that all is in them",
    .operands = "init|check",
    .options = options,
    .details =
        "`init` makes the tables and columns that are missing, as the server's version takes them.\n"
        "A table `path` of an earlier sprof is made anew, with its rows. All else stays as it is.\n"
        "`check` compares, for each service, version, host and event, the samples that were\n"
        "recorded with those that are stored; exit status 1 where they differ.\n"
        "\"arriving\": rows of the last two minutes are there, more may come. \"cut\": a run is\n"
        "partly outside of the time.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
