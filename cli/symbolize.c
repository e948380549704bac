/* sprof symbolize: names for a recording, here or on another machine. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/root.h"
#include "cli/selection.h"
#include "cli/values.h"
#include "recording/recording.h"

#include <stddef.h>

struct arguments {
    struct cli_rules rules; /* first: see cli_release_rules */
    const char *input, *archive;
    bool again, no_cache, verbose;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"again", 0, NULL, "look all names up anew, also those that were found", FIELD(again),
     cli_set_flag},
    CLI_ARCHIVE_OPTION(FIELD(archive)),
    {"no-cache", 0, NULL, "compute them anew, and keep none for the next recording",
     FIELD(no_cache), cli_set_flag},
    {"app-module", 0, "GLOB", "these modules are application (implies --again)", FIELD(rules),
     cli_set_app_module},
    {"system-module", 0, "GLOB", "these modules are system; the last match wins", FIELD(rules),
     cli_set_system_module},
    {"verbose", 'v', NULL, "say more", FIELD(verbose), cli_set_flag},
    {0},
};

static int look_for_unnamed(void *context, const struct store_function *function)
{
    bool *found = context;
    *found |= !function->named;
    return 0;
}

/* 1: every run is complete, and every function has its name; 0: not so; or a negative code. */
static int has_all_names(const char *path, struct sprof_error *error)
{
    struct store *store;
    const int status = store_open_read(&store, path, error);
    if (status)
        return status;
    bool unnamed = false;
    int result = cli_recording_complete(store, error);
    if (result > 0) {
        const int read = store_each_function(store, look_for_unnamed, &unnamed, error);
        result = read ? read : !unnamed;
    }
    store_close(store, NULL);
    return result;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    int status = cli_take_input(&arguments->input, operands, error);
    if (status)
        return status;
    const char *path = arguments->input ? arguments->input : CLI_DEFAULT_RECORDING;
    terminal->verbose = arguments->verbose;
    const bool again = arguments->again || arguments->rules.list.count || arguments->archive;
    const int all_named = has_all_names(path, error);
    if (all_named < 0)
        return all_named;
    if (all_named && !again) {
        cli_say(terminal, "%s has its names already; --again looks them up anew", path);
        return 0;
    }
    struct cli_root root;
    status = cli_root_open(&root, arguments->archive, error);
    if (status)
        return status;
    const struct recording_derive_options finish = {
        .again = again,
        .unnamed = true,
        .no_cache = arguments->no_cache,
        .rules = cli_rules_of(&arguments->rules),
        .root = root.path,
        .log = &terminal->log,
    };
    status = recording_derive(path, &finish, error);
    cli_root_close(&root);
    return status;
}

const struct cli_command cli_symbolize_command = {
    .name = "symbolize",
    .summary = "Find the names of a recording's functions",
    .operands = "[RECORDING]",
    .options = options,
    .details =
        "For recordings made with --no-symbolize, and after debug files were installed: what has\n"
        "no name yet is looked up; names that were found stay, unless --again is given.\n"
        "Debug files are searched below /usr/lib/debug, and with debuginfod where\n"
        "DEBUGINFOD_URLS is set.\n",
    .arguments_size = sizeof(struct arguments),
    .release = cli_release_rules,
    .run = run,
};
