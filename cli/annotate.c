/* sprof annotate: a function's source and instructions with their costs. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/pager.h"
#include "cli/root.h"
#include "cli/selection.h"
#include "cli/style.h"
#include "report/report.h"

#include <stddef.h>
#include <string.h>

struct arguments {
    struct cli_selection selection; /* first: see cli_release_rules */
    enum syntax { SYNTAX_ATT, SYNTAX_INTEL } syntax;
    bool no_source, no_instructions;
    const char *source, *archive;
    struct {
        uint64_t lines;
        bool given;
    } context;
    uint64_t top;
    struct cli_style style;
};

static int set_syntax(void *field, const char *value, struct sprof_error *error)
{
    const bool intel = !strcmp(value, "intel");
    if (!intel && strcmp(value, "att") != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "choose att or intel");
    *(enum syntax *)field = intel ? SYNTAX_INTEL : SYNTAX_ATT;
    return 0;
}

static int set_context(void *field, const char *value, struct sprof_error *error)
{
    struct arguments *arguments = field;
    arguments->context.given = true;
    return cli_set_number(&arguments->context.lines, value, error);
}

static int set_top(void *field, const char *value, struct sprof_error *error)
{
    const int status = cli_set_number(field, value, error);
    if (status || *(uint64_t *)field)
        return status;
    return sprof_error_set(error, SPROF_EUSAGE, 0, "0 functions leave nothing to show");
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    CLI_SELECTION_OPTIONS,
    {"top", 0, "N", "instead of FUNC: the N functions with most self time", FIELD(top), set_top},
    {"syntax", 0, "att|intel", "of instructions (att)", FIELD(syntax), set_syntax},
    {"source", 0, "DIR", "where source files lie that are not where they were", FIELD(source),
     cli_set_text},
    CLI_ARCHIVE_OPTION(FIELD(archive)),
    {"no-source", 0, NULL, "only instructions", FIELD(no_source), cli_set_flag},
    {"no-instructions", 0, NULL, "only source lines", FIELD(no_instructions), cli_set_flag},
    {"context", 'C', "N", "so many lines and instructions around those with samples (4)", 0,
     set_context},
    CLI_STYLE_OPTIONS(FIELD(style)),
    CLI_VERBOSE_OPTION(FIELD(style)),
    {0},
};

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    enum { CONTEXT = 4, MOST_CONTEXT = 1000000 };
    struct arguments *arguments = all;
    struct store *store;
    struct cli_pager pager = {0};
    struct cli_root root;
    const int named = arguments->top ? 0 : 1;
    if (operands->count < named)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "name the function: `sprof annotate FUNC`; `sprof report` lists "
                               "them, and `sprof annotate --top 3` shows the hottest ones");
    if (arguments->no_source && arguments->no_instructions)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--no-source and --no-instructions leave nothing: drop one");
    const struct cli_operands files = {.items = operands->items + named,
                                       .count = operands->count - named};
    int status = cli_selection_finish(&arguments->selection, &files, error);
    if (!status)
        status = cli_root_open(&root, arguments->archive, error);
    if (status)
        return status;
    status = cli_open_recording(&store, arguments->selection.input, terminal, error);
    if (status) {
        cli_root_close(&root);
        return status;
    }
    const uint64_t context = arguments->context.given ? arguments->context.lines : CONTEXT;
    const struct report_selection selection = cli_selection_of(&arguments->selection);
    const struct report_annotate_options annotate = {
        .function = named ? operands->items[0] : NULL,
        .top = (size_t)arguments->top,
        .intel = arguments->syntax == SYNTAX_INTEL,
        .no_source = arguments->no_source,
        .no_instructions = arguments->no_instructions,
        .source_directory = arguments->source,
        .root = root.path,
        .context = (uint32_t)(context < MOST_CONTEXT ? context : MOST_CONTEXT),
    };
    const struct report_style style = {
        .format = arguments->style.format,
        .columns = cli_columns(stdout, arguments->style.columns),
        .color = cli_wants_color(arguments->style.color),
        .full_names = arguments->style.full_names,
        .verbose = arguments->style.verbose,
    };
    if (!arguments->style.no_pager)
        cli_pager_start(&pager);
    status = report_annotate(stdout, store, &selection, &annotate, &style, error);
    cli_pager_finish(&pager);
    store_close(store, NULL);
    cli_root_close(&root);
    return status;
}

const struct cli_command cli_annotate_command = {
    .name = "annotate",
    .summary = "Show what each line and instruction of a function cost",
    .operands = "FUNC [FILE]",
    .options = options,
    .details =
        "Self (exclusive in CSV, JSON and SQL) is what a line costs by itself, total (inclusive\n"
        "there) what it costs with all that it calls. Lines need debug information, instructions\n"
        "the file that was recorded.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
    .release = cli_release_rules,
};
