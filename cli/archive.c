/* sprof archive: the files that a recording needs, for another machine. */
#include "archive/archive.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/values.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *input, *output, *source;
    bool no_source;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"output", 'o', "FILE", "the archive (sprof.tar.zst); -: standard output", FIELD(output),
     cli_set_text},
    {"source", 0, "DIR",
     "take sources below this directory, also where not all users may read them", FIELD(source),
     cli_set_text},
    {"no-source", 0, NULL, "leave the source files out", FIELD(no_source), cli_set_flag},
    {0},
};

static int pack(struct cli_terminal *terminal, const struct arguments *arguments, FILE *out,
                struct archive_counts *counts, struct sprof_error *error)
{
    struct store *store;
    struct archive_files files = {0};
    struct sprof_arena arena = {0};
    int status = cli_open_recording(&store, arguments->input, terminal, error);
    if (status)
        return status;
    status = archive_collect(&files, counts, &arena, store, !arguments->no_source,
                             arguments->source, &terminal->log, error);
    store_close(store, NULL);
    if (!status && !counts->binaries)
        status =
            sprof_error_set(error, SPROF_ENOTFOUND, 0,
                            "none of the files that were recorded is here: make the archive on "
                            "the machine that recorded");
    if (!status)
        status = archive_write(fileno(out), &files, counts, &terminal->log, error);
    archive_files_release(&files);
    sprof_arena_release(&arena);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct archive_counts counts;
    struct cli_output output;
    int status = cli_take_input(&arguments->input, operands, error);
    if (status)
        return status;
    const char *input = arguments->input ? arguments->input : CLI_DEFAULT_RECORDING;
    const char *path = arguments->output ? arguments->output : "sprof.tar.zst";
    status = cli_output_open(&output, path, input, error);
    if (status)
        return status;
    status =
        cli_output_close(&output, pack(terminal, arguments, output.file, &counts, error), error);
    if (!status && counts.missing)
        cli_say(terminal, "%zu files are not here any more, or have changed", counts.missing);
    if (!status && strcmp(path, "-") != 0)
        cli_say(terminal, "%s: %zu binaries, %zu debug files, %zu sources", path, counts.binaries,
                counts.debug_files, counts.sources);
    return status;
}

const struct cli_command cli_archive_command = {
    .name = "archive",
    .summary = "Pack the binaries, debug files and sources that a recording needs",
    .operands = "[RECORDING]",
    .options = options,
    .details =
        "Take recording and archive to another machine: `sprof annotate --archive FILE` and\n"
        "`sprof symbolize --again --archive FILE` find there what they need. The archive is\n"
        "a tar file: `tar xf` unpacks it, too.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
