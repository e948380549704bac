/* sprof import: stacks from elsewhere become a recording. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/values.h"
#include "record/record.h"

#include <stddef.h>

struct arguments {
    struct cli_rules rules; /* first: see cli_release_rules */
    const char *folded, *output;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"folded", 0, "FILE", "folded stacks, `root;…;leaf COUNT` a line; - for standard input",
     FIELD(folded), cli_set_text},
    {"output", 'o', "FILE", "the recording to write (sprof.db)", FIELD(output), cli_set_text},
    {"app-module", 0, "GLOB", "these modules are application", FIELD(rules), cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {0},
};

static int say_result(struct cli_terminal *terminal, const char *path, struct sprof_error *error)
{
    struct store *store;
    int status = cli_open_recording(&store, path, terminal, error);
    if (status)
        return status;
    struct store_quality quality;
    status = store_quality(store, 1, &quality, error);
    store_close(store, NULL);
    if (!status)
        cli_say(terminal, "%llu samples imported to %s", (unsigned long long)quality.samples, path);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    (void)operands;
    const struct arguments *arguments = all;
    if (!arguments->folded)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to import: give --folded FILE, or --folded - for standard "
                               "input");
    const char *output = arguments->output ? arguments->output : CLI_DEFAULT_RECORDING;
    const struct record_import_options import = {
        .input = arguments->folded,
        .output = output,
        .rules = cli_rules_of(&arguments->rules),
        .sprof_version = SPROF_VERSION,
        .log = &terminal->log,
    };
    const int status = record_import_folded(&import, error);
    return status ? status : say_result(terminal, output, error);
}

const struct cli_command cli_import_command = {
    .name = "import",
    .summary = "Turn folded stacks into a recording",
    .options = options,
    .details =
        "A frame may be `module!function`. Where a line is malformed, its number is told and\n"
        "nothing is written.\n",
    .arguments_size = sizeof(struct arguments),
    .release = cli_release_rules,
    .run = run,
};
