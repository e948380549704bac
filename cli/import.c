/* sprof import: stacks from elsewhere become a recording. */
#include "import/import.h"
#include "cli/commands.h"
#include "cli/values.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

struct arguments {
    struct cli_rules rules; /* first: see cli_release_rules */
    const char *folded, *output;
    bool overwrite;
    const struct import_format *format;
};

static int set_format(void *field, const char *value, struct sprof_error *error)
{
    const struct import_format *format = import_format_find(value, error);
    *(const struct import_format **)field = format;
    return format ? 0 : SPROF_EUSAGE;
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"format", 'f', "perf.data|perf-script|pprof|folded|rows",
     "what FILE is (told from its content)", FIELD(format), set_format},
    {"folded", 0, "FILE", "the same as -f folded FILE", FIELD(folded), cli_set_text},
    {"output", 'o', "FILE", "the recording to write (sprof.db); an existing one becomes FILE.old.1",
     FIELD(output), cli_set_text},
    {"overwrite", 0, NULL, "keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {"app-module", 0, "GLOB", "these modules are application", FIELD(rules), cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {0},
};

/* Rows of a fleet's database may be in several files, or in directories of them. */
static bool are_rows(const struct arguments *arguments, const struct cli_operands *operands)
{
    struct stat status;
    return import_format_is_rows(arguments->format) ||
           (!arguments->format && operands->count && !stat(operands->items[0], &status) &&
            S_ISDIR(status.st_mode));
}

static void say_imported(struct cli_terminal *terminal, const struct import_result *result,
                         const char *output)
{
    char runs[64] = "";
    if (result->runs > 1)
        snprintf(runs, sizeof runs, " of %zu runs", result->runs);
    cli_say(terminal, "%s sample%s%s imported to %s (%s)", sprof_digits_of(result->samples).text,
            sprof_plural(result->samples), runs, output, result->format);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    const struct arguments *arguments = all;
    const bool rows = !arguments->folded && are_rows(arguments, operands);
    const bool both = arguments->folded && (operands->count || arguments->format);
    const char *input = arguments->folded ? arguments->folded : operands->items[0];
    if (both || (operands->count > 1 && !rows))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one input at a time: give `-f folded FILE` or `--folded FILE`; "
                               "several hold rows, with -f rows");
    if (!input)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to import: give a FILE, or - for standard input");
    const char *output = arguments->output ? arguments->output : CLI_DEFAULT_RECORDING;
    const struct import_options import = {
        .input = input,
        .output = output,
        .overwrite = arguments->overwrite,
        .format = arguments->folded ? import_format_find("folded", error) : arguments->format,
        .rules = cli_rules_of(&arguments->rules),
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
    };
    struct import_result result;
    const int status = rows ? import_rows(&import, (const char *const *)operands->items,
                                          (size_t)operands->count, &result, error)
                            : import_file(&import, &result, error);
    if (!status)
        say_imported(terminal, &result, output);
    return status;
}

const struct cli_command cli_import_command = {
    .name = "import",
    .summary = "Turn what other profilers took into a recording",
    .operands = "FILE …",
    .options = options,
    .details =
        "FILE (- for standard input) is folded stacks, `root;…;leaf COUNT` a line with\n"
        "`module!function` or `function` for a frame; the text that `perf script` prints;\n"
        "perf.data, for which perf must be there; or a pprof profile. It may be gzip'd.\n"
        "Rows are what `sprof export -f rows` writes, any number of files and directories of "
        "them,\n"
        "or a query with FORMAT TSVWithNames: each service, version and host becomes a run.\n"
        "Malformed input is reported, for texts with the line number, and nothing is written.\n",
    .arguments_size = sizeof(struct arguments),
    .release = cli_release_rules,
    .run = run,
};
