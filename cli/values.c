/* Turns the values of options into numbers, modes, lists and formats. */
#include "cli/values.h"

#include "cli/process_tree.h"
#include "report/report.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A word and what it stands for. */
struct choice {
    const char *word;
    int value;
};

/* A unit after a number, and how many of the base unit it is. */
struct unit {
    const char *name;
    double factor;
};

int cli_set_flag(void *field, const char *value, struct sprof_error *error)
{
    (void)value, (void)error;
    *(bool *)field = true;
    return 0;
}

int cli_set_text(void *field, const char *value, struct sprof_error *error)
{
    if (!*value)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the value is empty");
    *(const char **)field = value;
    return 0;
}

static int parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number,
                        struct sprof_error *error)
{
    char *end;
    errno = 0;
    const unsigned long long parsed = strtoull(text, &end, 10);
    char range[64] = "";
    if (!isdigit((unsigned char)*text) || *end || errno || parsed < least || parsed > most) {
        if (most < INT64_MAX)
            snprintf(range, sizeof range, " to %llu", (unsigned long long)most);
        return sprof_error_set(error, SPROF_EUSAGE, 0, "not a whole number from %llu%s",
                               (unsigned long long)least, *range ? range : " on");
    }
    *number = parsed;
    return 0;
}

int cli_set_number(void *field, const char *value, struct sprof_error *error)
{
    return parse_number(value, 0, INT64_MAX, field, error);
}

int cli_set_positive(void *field, const char *value, struct sprof_error *error)
{
    return parse_number(value, 1, INT64_MAX, field, error);
}

int cli_set_rows(void *field, const char *value, struct sprof_error *error)
{
    const int result = parse_number(value, 0, INT64_MAX, field, error);
    if (!result && !*(uint64_t *)field)
        *(uint64_t *)field = INT64_MAX;
    return result;
}

/* Accepts less than strtod: 0x10 and 1e3 are no numbers that people write as options. Negative
 * where there is none. */
static double parse_decimal(const char *text, const char **end)
{
    const size_t length = strspn(text, "0123456789.");
    char *parsed;
    const double number = length ? strtod(text, &parsed) : -1;
    *end = text + length;
    return number >= 0 && parsed == *end && isfinite(number) ? number : -1;
}

int cli_parse_percent(const char *text, double least, double most, double *percent,
                      struct sprof_error *error)
{
    const char *end;
    const double parsed = parse_decimal(text, &end);
    if ((*end && strcmp(end, "%") != 0) || !(parsed >= least && parsed <= most))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "not a percentage from %g to %g", least,
                               most);
    *percent = parsed;
    return 0;
}

int cli_set_percent(void *field, const char *value, struct sprof_error *error)
{
    return cli_parse_percent(value, 0, 100, field, error);
}

/* A decimal number and one of `units` (ended by a NULL name; the empty name is the unit where none
 * is written) as base units. Returns a negative number where the text has another form. */
static double parse_quantity(const char *text, const struct unit *units)
{
    const char *end;
    const double number = parse_decimal(text, &end);
    if (number < 0)
        return -1;
    for (; units->name; units++)
        if (!strcmp(end, units->name))
            return number * units->factor;
    return -1;
}

int cli_set_overhead(void *field, const char *value, struct sprof_error *error)
{
    return cli_parse_percent(value, 0.01, 100, field, error);
}

int cli_set_duration(void *field, const char *value, struct sprof_error *error)
{
    static const struct unit units[] = {{"", 1e9},     {"s", 1e9},    {"ms", 1e6},
                                        {"us", 1e3},   {"ns", 1},     {"m", 60e9},
                                        {"min", 60e9}, {"h", 3600e9}, {NULL, 0}};
    const double duration_ns = parse_quantity(value, units);
    if (duration_ns < 1 || duration_ns > 1e18)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "not a duration: write 10, 10s, 500ms, 2m or 1h");
    *(uint64_t *)field = (uint64_t)duration_ns;
    return 0;
}

int cli_set_threshold(void *field, const char *value, struct sprof_error *error)
{
    static const uint64_t most_ns = 4000000000;
    struct cli_threshold *threshold = field;
    *threshold = (struct cli_threshold){.given = true, .has_value = value != NULL};
    if (!value || !strcmp(value, "0"))
        return 0;
    if (cli_set_duration(&threshold->ns, value, error) || threshold->ns > most_ns)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "not a threshold from 0 to 4s: write 1ms, 100us or 0");
    return 0;
}

int cli_parse_size(const char *text, size_t least, const char *least_text, size_t *bytes,
                   struct sprof_error *error)
{
    static const struct unit units[] = {{"", 1},          {"B", 1},          {"K", 1024},
                                        {"k", 1024},      {"KiB", 1024},     {"M", 1048576},
                                        {"MiB", 1048576}, {"G", 1073741824}, {NULL, 0}};
    const double parsed = parse_quantity(text, units);
    if (parsed < (double)least || parsed > 1024 * 1073741824.0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "not a size from %s to 1024G: write bytes, 65536, or 64K",
                               least_text);
    *bytes = (size_t)parsed;
    return 0;
}

int cli_set_size(void *field, const char *value, struct sprof_error *error)
{
    return cli_parse_size(value, 1, "1", field, error);
}

/* Finds the word's value; the error lists the words there are. */
static int choose(const struct choice *choices, const char *word, int *value,
                  struct sprof_error *error)
{
    struct sprof_str words = {0};
    for (const struct choice *choice = choices; choice->word; choice++) {
        if (!strcmp(choice->word, word)) {
            *value = choice->value;
            sprof_str_release(&words);
            return 0;
        }
        sprof_str_appendf(&words, "%s%s", words.length ? choice[1].word ? ", " : " or " : "",
                          choice->word);
    }
    sprof_error_set(error, SPROF_EUSAGE, 0, "choose %s", words.text ? words.text : "another");
    sprof_str_release(&words);
    return SPROF_EUSAGE;
}

int cli_set_mode(void *field, const char *value, struct sprof_error *error)
{
    static const struct choice choices[] = {
        {"pc", MODEL_MODE_PC}, {"full", MODEL_MODE_FULL}, {"app", MODEL_MODE_APP}, {NULL, 0}};
    int mode;
    const int status = choose(choices, value, &mode, error);
    if (!status)
        *(struct cli_mode *)field = (struct cli_mode){true, (enum model_mode)mode};
    return status;
}

int cli_set_frame(void *field, const char *value, struct sprof_error *error)
{
    static const struct choice choices[] = {{"app", true}, {NULL, 0}};
    int app;
    const int status = choose(choices, value, &app, error);
    if (!status)
        *(bool *)field = true;
    return status;
}

int cli_set_clock(void *field, const char *value, struct sprof_error *error)
{
    static const struct choice choices[] = {{"cpu", false}, {"wall", true}, {NULL, 0}};
    int wall;
    const int status = choose(choices, value, &wall, error);
    if (!status)
        *(bool *)field = wall;
    return status;
}

int cli_set_agent_clock(void *field, const char *value, struct sprof_error *error)
{
    static const struct choice choices[] = {{"tick", false}, {"fine", true}, {NULL, 0}};
    int fine;
    const int status = choose(choices, value, &fine, error);
    if (!status)
        *(bool *)field = fine;
    return status;
}

int cli_set_interior(void *field, const char *value, struct sprof_error *error)
{
    static const struct choice choices[] = {{"keep", false}, {"drop", true}, {NULL, 0}};
    int drop;
    const int status = choose(choices, value, &drop, error);
    if (!status)
        *(bool *)field = drop != 0;
    return status;
}

int cli_set_color(void *field, const char *value, struct sprof_error *error)
{
    static const struct choice choices[] = {{"auto", CLI_COLOR_AUTO},
                                            {"always", CLI_COLOR_ALWAYS},
                                            {"never", CLI_COLOR_NEVER},
                                            {NULL, 0}};
    int color;
    const int status = choose(choices, value, &color, error);
    if (!status)
        *(enum cli_color *)field = (enum cli_color)color;
    return status;
}

static int set_format(void *field, const char *value, enum report_kind kind,
                      struct sprof_error *error)
{
    const struct report_format *format = report_format_find(value, kind, error);
    *(const struct report_format **)field = format;
    return format ? 0 : SPROF_EUSAGE;
}

int cli_set_table_format(void *field, const char *value, struct sprof_error *error)
{
    return set_format(field, value, REPORT_TABLE, error);
}

int cli_set_text_or_json(void *field, const char *value, struct sprof_error *error)
{
    *(bool *)field = !strcmp(value, "json");
    return !strcmp(value, "json") || !strcmp(value, "text")
               ? 0
               : sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "`%s` is not a format of this command: give text or json", value);
}

int cli_set_sample_format(void *field, const char *value, struct sprof_error *error)
{
    return set_format(field, value, REPORT_SAMPLES, error);
}

int cli_set_row_format(void *field, const char *value, struct sprof_error *error)
{
    return set_format(field, value, REPORT_ROWS, error);
}

int cli_set_profile_format(void *field, const char *value, struct sprof_error *error)
{
    return set_format(field, value, REPORT_PROFILE | REPORT_FLEET, error);
}

int cli_set_tid(void *field, const char *value, struct sprof_error *error)
{
    uint64_t tid = 0;
    const int status = parse_number(value, 1, INT_MAX, &tid, error);
    if (!status)
        *(pid_t *)field = (pid_t)tid;
    return status;
}

static int add_named(struct cli_pids *pids, const char *name, struct sprof_error *error)
{
    const size_t before = pids->list.count;
    pids->by_name = true;
    if (cli_add_named(pids, name))
        return sprof_error_memory(error);
    return pids->list.count > before
               ? 0
               : sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "`%s` is not a process id, as in 4242,4243, and no program of "
                                 "that name runs\nrun `ps -e` to see which do",
                                 name);
}

static int add_pid(struct cli_pids *pids, const char *text, struct sprof_error *error)
{
    uint64_t pid = 0;
    const bool is_number = *text && !text[strspn(text, "-0123456789")];
    if (is_number && parse_number(text, 1, INT_MAX, &pid, NULL))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is not a process id: write numbers, as in 4242,4243", text);
    if (!is_number)
        return add_named(pids, text, error);
    if (sprof_vec_push(&pids->list, (pid_t)pid))
        return sprof_error_memory(error);
    return 0;
}

int cli_set_pids(void *field, const char *value, struct sprof_error *error)
{
    char *words = strdup(value);
    if (!words)
        return sprof_error_memory(error);
    int status = 0;
    char *rest = words;
    while (rest && !status)
        status = add_pid(field, strsep(&rest, ","), error);
    free(words);
    return status;
}

void cli_say_pids(struct cli_terminal *terminal, const struct cli_pids *pids)
{
    struct sprof_str text = {0};
    char name[16];
    for (size_t i = 0; i < pids->list.count; i++) {
        sprof_proc_comm(pids->list.items[i], pids->list.items[i], name);
        sprof_str_appendf(&text, "%s%d %s", i ? ", " : "", (int)pids->list.items[i], name);
    }
    if (pids->by_name && text.text)
        cli_say(terminal, "attached to %s", text.text);
    sprof_str_release(&text);
}

static int add_rule(struct cli_rules *rules, enum model_kind kind, const char *glob,
                    struct sprof_error *error)
{
    if (!*glob)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the pattern is empty: write one as in 'libfoo*'");
    const struct model_kind_rule rule = {kind, glob};
    return sprof_vec_push(&rules->list, rule) ? sprof_error_memory(error) : 0;
}

int cli_add_text(void *field, const char *value, struct sprof_error *error)
{
    struct cli_texts *texts = field;
    if (!*value)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the value is empty");
    return sprof_vec_push(&texts->list, value) ? sprof_error_memory(error) : 0;
}

int cli_add_renamed(void *field, const char *value, struct sprof_error *error)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value || !equals[1])
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "not of the form OLD=NEW, as in libfoo1.so=libfoo2.so");
    return cli_add_text(field, value, error);
}

int cli_set_app_module(void *field, const char *value, struct sprof_error *error)
{
    return add_rule(field, MODEL_KIND_APP, value, error);
}

int cli_set_system_module(void *field, const char *value, struct sprof_error *error)
{
    return add_rule(field, MODEL_KIND_SYSTEM, value, error);
}

struct model_kind_rules cli_rules_of(const struct cli_rules *rules)
{
    return (struct model_kind_rules){rules->list.items, rules->list.count};
}

void cli_release_rules(void *arguments)
{
    struct cli_rules *rules = arguments;
    sprof_vec_release(&rules->list);
}
