/* sprof diff: what changed between two groups of runs. */
#include "cli/commands.h"
#include "cli/key_list.h"
#include "cli/open.h"
#include "cli/selection.h"
#include "cli/values.h"
#include "fleet/fleet.h"
#include "report/report.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    struct cli_selection selection; /* first: see cli_release_rules */
    struct cli_texts renamed;
    SPROF_VEC(struct report_diff_limit) limits;
    int by, per;
    struct cli_keys keys; /* of REPORT_DIFF_KEYS */
    bool per_given, inclusive, all;
    uint64_t limit;
    const struct report_format *format;
    uint64_t columns;
    bool full_names;
};

static int choose(const char *const *words, const char *value, int *choice,
                  struct sprof_error *error)
{
    for (*choice = 0; words[*choice]; ++*choice)
        if (!strcmp(words[*choice], value))
            return 0;
    struct sprof_str list = {0};
    for (size_t i = 0; words[i]; i++)
        sprof_str_appendf(&list, "%s%s", i ? ", " : "", words[i]);
    sprof_error_set(error, SPROF_EUSAGE, 0, "choose one of %s", list.text ? list.text : "few");
    sprof_str_release(&list);
    return SPROF_EUSAGE;
}

static int set_by(void *field, const char *value, struct sprof_error *error)
{
    static const char *const words[REPORT_DIFF_KEYS] = {"function", "module", "path", "line"};
    struct arguments *arguments = field;
    struct sprof_error wrong = {0};
    for (arguments->by = 0; arguments->by < REPORT_DIFF_KEYS; arguments->by++)
        if (!strcmp(words[arguments->by], value))
            return 0;
    if (cli_set_keys(&arguments->keys, value, &wrong))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "%s%s", wrong.message,
                               strncmp(wrong.message, "there is", 8) ? "" : ", or path");
    return 0;
}

static int set_per(void *field, const char *value, struct sprof_error *error)
{
    static const char *const words[] = {"run", "second", "sample", NULL};
    struct arguments *arguments = field;
    arguments->per_given = true;
    return choose(words, value, &arguments->per, error);
}

/* "grown > 5 %", "> 1 % of all", "total grown > 2 %". */
static int add_limit(void *field, const char *value, struct sprof_error *error)
{
    struct arguments *arguments = field;
    static const struct {
        const char *before, *after;
        enum report_diff_limit_kind kind;
    } forms[] = {{"total grown", "", REPORT_TOTAL_GROWN_BY},
                 {"grown", "", REPORT_GROWN_BY},
                 {"", "of all", REPORT_GROWN_OF_ALL}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        double percent;
        int end = 0;
        const size_t length = strlen(forms[i].before);
        if (strncmp(value, forms[i].before, length) != 0 ||
            sscanf(value + length, " > %lf %% %n", &percent, &end) < 1 || !end || percent < 0 ||
            strcmp(value + length + end, forms[i].after) != 0)
            continue;
        struct report_diff_limit limit = {.percent = percent};
        limit.kind = forms[i].kind;
        return sprof_vec_push(&arguments->limits, limit);
    }
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "not a limit: 'grown > 5 %%' (of the row's own cost), '> 1 %% of all', "
                           "or 'total grown > 2 %%'");
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"by", 0, "function|module|path|line|KEY[,KEY…]",
     "what a row is (function); KEYs are process, command, user, cgroup, container, thread, cpu, "
     "state, wait, lock, holder, phase, field:NAME, as in `sprof report`",
     0, set_by},
    {"inclusive", 0, NULL, "by total (with what functions call) instead of self", FIELD(inclusive),
     cli_set_flag},
    {"per", 0, "run|second|sample",
     "compare costs per run or second, or shares of all samples (default: per run, attached per "
     "second, scaled to equal speed)",
     0, set_per},
    {"fail-if", 0, "LIMIT",
     "'grown > 5 %', '> 1 % of all' or 'total grown > 2 %': exit 3 where beyond chance", 0,
     add_limit},
    {"map", 0, "OLD=NEW", "this module of the first side has another name in the second",
     FIELD(renamed), cli_add_renamed},
    {"all", 0, NULL, "rows within chance, too", FIELD(all), cli_set_flag},
    {"mode", 'm', "pc|full|app", "read full recordings as this mode", CLI_SELECTION_FIELD(mode),
     cli_set_mode},
    {"frame", 0, "app", "with --mode pc: the innermost application frame",
     CLI_SELECTION_FIELD(frame_app), cli_set_frame},
    {"app-interior", 0, "keep|drop", "with --mode app: system frames between application frames",
     CLI_SELECTION_FIELD(drop_interior), cli_set_interior},
    {"event", 0, "NAME", "which event (the first of the runs)", CLI_SELECTION_FIELD(event),
     cli_set_text},
    {"state", 0, "STATE",
     "only time of threads that were running, ready, waiting, or in a kind of wait, as futex",
     CLI_SELECTION_FIELD(state), cli_set_text},
    {"thread", 0, "NAME|TID", "only samples of these threads", CLI_SELECTION_FIELD(thread),
     cli_set_text},
    {"process", 0, "NAME|PID", "only samples of these processes", CLI_SELECTION_FIELD(process),
     cli_set_text},
    {"no-inline", 0, NULL, "costs of inlined functions go to the functions that they are part of",
     CLI_SELECTION_FIELD(no_inlined), cli_set_flag},
    {"no-std", 0, NULL, "time in standard libraries and runtimes counts for what called them",
     CLI_SELECTION_FIELD(no_standard), cli_set_flag},
    {"no-join-parts", 0, NULL, "compare f.cold, f.part.0, f.constprop.0 beside f, not in it",
     CLI_SELECTION_FIELD(parts_apart), cli_set_flag},
    {"limit", 'n', "ROWS", "at most so many rows; 0: all (for people: 40)", FIELD(limit),
     cli_set_rows},
    {"format", 0, "text|csv|json|markdown", "for people (text, markdown), or for programs",
     FIELD(format), cli_set_table_format},
    {"columns", 0, "N", "width of text (the terminal's, else 100)", FIELD(columns),
     cli_set_positive},
    {"full-names", 0, NULL, "functions with parameters and template arguments, in text too",
     FIELD(full_names), cli_set_flag},
    {0},
};

/* == Sides: FILE or FILE:RUN or FILE:FIRST-LAST, several with commas == */

struct side {
    SPROF_VEC(struct report_diff_run) runs;
};

struct sides {
    struct side sides[2];
    SPROF_VEC(struct store *) stores;
    bool attached;
};

struct taking {
    struct sides *sides;
    struct side *side;
    struct store *store;
    uint64_t first, last;
};

static int take_run(void *context, const struct store_run *run)
{
    struct taking *taking = context;
    if (run->id < taking->first || run->id > taking->last)
        return 0;
    taking->sides->attached = taking->sides->attached || !run->command;
    return sprof_vec_push(&taking->side->runs, (struct report_diff_run){taking->store, run->id});
}

/* Cuts ":3" or ":1-3" off a name that is not that of a file as it stands. */
static void cut_runs(char *name, uint64_t *first, uint64_t *last)
{
    char *colon = strrchr(name, ':');
    char *end;
    *first = 0;
    *last = UINT64_MAX;
    if (!colon || fleet_is_url(name) || !access(name, F_OK) || !isdigit((unsigned char)colon[1]))
        return;
    const unsigned long long from = strtoull(colon + 1, &end, 10);
    const unsigned long long to = *end == '-' ? strtoull(end + 1, &end, 10) : from;
    if (*end)
        return;
    *colon = '\0';
    *first = from;
    *last = to;
}

static int open_one(struct sides *sides, struct side *side, char *name,
                    struct cli_terminal *terminal, struct sprof_error *error)
{
    struct taking taking = {.sides = sides, .side = side};
    const size_t before = side->runs.count;
    cut_runs(name, &taking.first, &taking.last);
    int result = cli_open_recording(&taking.store, name, terminal, error);
    if (result)
        return result;
    if (sprof_vec_push(&sides->stores, taking.store)) {
        store_close(taking.store, NULL);
        return sprof_error_memory(error);
    }
    result = store_each_run(taking.store, take_run, &taking, error);
    if (!result && side->runs.count == before)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "%s has no such run", name);
    return result;
}

static int open_side(struct sides *sides, size_t which, const char *operand,
                     struct cli_terminal *terminal, struct sprof_error *error)
{
    char *list = strdup(operand), *rest = list, *name;
    int result = list ? 0 : sprof_error_memory(error);
    while (!result && (name = strsep(&rest, ",")))
        result = *name ? open_one(sides, &sides->sides[which], name, terminal, error)
                       : sprof_error_set(error, SPROF_EUSAGE, 0, "a file name is empty in `%s`",
                                         operand);
    free(list);
    return result;
}

/* One file: its newest run against the one before. */
static int split_file(struct sides *sides, const char *operand, struct cli_terminal *terminal,
                      struct sprof_error *error)
{
    struct side *before = &sides->sides[0], *after = &sides->sides[1];
    const int result = open_side(sides, 0, operand, terminal, error);
    if (result)
        return result;
    const size_t count = before->runs.count;
    if (count < 2)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s has one run: name a second recording, or add a run with `sprof "
                               "record --append`",
                               operand);
    before->runs.items[0] = before->runs.items[count - 2];
    if (sprof_vec_push(&after->runs, before->runs.items[count - 1]))
        return sprof_error_memory(error);
    before->runs.count = 1;
    return 0;
}

static void close_sides(struct sides *sides)
{
    for (size_t i = 0; i < sides->stores.count; i++)
        store_close(sides->stores.items[i], NULL);
    sprof_vec_release(&sides->stores);
    sprof_vec_release(&sides->sides[0].runs);
    sprof_vec_release(&sides->sides[1].runs);
}

static int compare_sides(struct arguments *arguments, const struct sides *sides,
                         struct cli_terminal *terminal, struct sprof_error *error)
{
    enum report_diff_outcome outcome = REPORT_DIFF_PASSED;
    char why[512] = "";
    if (sprof_vec_push(&arguments->renamed.list, NULL))
        return sprof_error_memory(error);
    struct report_selection selection = cli_selection_of(&arguments->selection);
    if (arguments->by == REPORT_DIFF_KEYS)
        cli_keys_select(&arguments->keys, &selection);
    const struct report_diff diff = {
        .runs = {sides->sides[0].runs.items, sides->sides[1].runs.items},
        .counts = {sides->sides[0].runs.count, sides->sides[1].runs.count},
        .selection = selection,
        .by = (enum report_diff_by)arguments->by,
        .keys = arguments->keys.items,
        .key_count = arguments->by == REPORT_DIFF_KEYS ? arguments->keys.count : 0,
        .per = arguments->per_given ? (enum report_diff_per)arguments->per
               : sides->attached    ? REPORT_PER_SECOND
                                    : REPORT_PER_RUN,
        .at_equal_speed = !arguments->per_given,
        .inclusive = arguments->inclusive,
        .all_rows = arguments->all,
        .limit = (size_t)arguments->limit,
        .renamed = arguments->renamed.list.items,
        .limits = arguments->limits.items,
        .limit_count = arguments->limits.count,
    };
    const struct report_style style = {
        .format = arguments->format,
        .columns = cli_columns(stdout, arguments->columns),
        .color = false,
        .full_names = arguments->full_names,
    };
    const int result = report_diff(stdout, &diff, &style, &outcome, why, error);
    if (result == SPROF_EUSAGE && arguments->limits.count) {
        cli_say(terminal, "cannot be judged: %s", error->message);
        return REPORT_DIFF_CANNOT_JUDGE;
    }
    if (result)
        return result;
    if (why[0])
        cli_say(terminal, "%s", why);
    return (int)outcome;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    const struct cli_operands none = {.items = operands->items + operands->count};
    struct sides sides = {0};
    if (operands->count > 2)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "two sides at the most: `sprof diff BEFORE AFTER`, several "
                               "recordings of a side with commas");
    int result = cli_selection_finish(&arguments->selection, &none, error);
    if (!result && operands->count == 2) {
        for (size_t i = 0; i < 2 && !result; i++)
            result = open_side(&sides, i, operands->items[i], terminal, error);
    } else if (!result) {
        result = split_file(&sides, operands->count ? operands->items[0] : CLI_DEFAULT_RECORDING,
                            terminal, error);
    }
    if (!result)
        result = compare_sides(arguments, &sides, terminal, error);
    close_sides(&sides);
    return result;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->renamed.list);
    sprof_vec_release(&arguments->limits);
    cli_release_rules(all);
}

const struct cli_command cli_diff_command = {
    .name = "diff",
    .summary = "Show what changed between two recordings, and what of it is beyond chance",
    .operands = "[BEFORE [AFTER]]",
    .options = options,
    .details =
        "A side is FILE (all its runs), FILE:RUN, FILE:FIRST-LAST, or several of these with "
        "commas.\nOne file alone: its newest run against the one before. Verdicts need three "
        "runs a side.\n\nExit status with --fail-if: 0 passed; 3 failed, the rows are named; 4 "
        "it cannot be\njudged (too few runs, another event or mode, under half of the cost "
        "matched, or everything\nchanged: program or machine, cannot be told apart).\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
