/* sprof merge: many recordings in one. */
#include "cli/commands.h"
#include "cli/values.h"
#include "store/store.h"

#include <signal.h>
#include <stddef.h>

struct arguments {
    const char *output;
    bool skip_damaged, overwrite;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"output", 'o', "FILE", "the recording to write; an existing one becomes FILE.old.1",
     FIELD(output), cli_set_text},
    {"overwrite", 0, NULL, "keep no copy of the recording that is replaced", FIELD(overwrite),
     cli_set_flag},
    {"skip-damaged", 0, NULL, "leave out recordings that cannot be read, and name them",
     FIELD(skip_damaged), cli_set_flag},
    {0},
};

/* == Signals == */

/* They wait while the output is written, which is then taken away before they end sprof. */
static sigset_t ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

static bool is_to_end(void)
{
    const sigset_t ending = ending_signals();
    sigset_t waiting, both;
    return !sigpending(&waiting) && !sigandset(&both, &waiting, &ending) && !sigisemptyset(&both);
}

static int merge_whole(const struct store_merge_options *merge, struct store_merge_result *result,
                       struct sprof_error *error)
{
    const sigset_t ending = ending_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &ending, &before);
    const int status = store_merge(merge, result, error);
    sigprocmask(SIG_SETMASK, &before, NULL); /* a signal that came ends sprof here */
    return status;
}

/* == The command == */

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    const struct arguments *arguments = all;
    if (!operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to merge: name the recordings, as in `sprof merge a.db "
                               "b.db -o all.db`");
    if (!arguments->output)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "where to? name the recording to write with -o");
    const struct store_merge_options merge = {
        .output = arguments->output,
        .overwrite = arguments->overwrite,
        .inputs = (const char *const *)operands->items,
        .count = (size_t)operands->count,
        .skip_damaged = arguments->skip_damaged,
        .log = &terminal->log,
        .stopped = is_to_end,
    };
    struct store_merge_result result;
    const int status = merge_whole(&merge, &result, error);
    if (status)
        return status;
    cli_say(terminal, "%zu run%s of %zu recording%s in %s", result.runs, sprof_plural(result.runs),
            result.recordings, sprof_plural(result.recordings), arguments->output);
    if (result.repeated)
        cli_say(terminal, "%zu run%s came more than once and %s counted once", result.repeated,
                sprof_plural(result.repeated), result.repeated == 1 ? "was" : "were");
    if (result.skipped)
        cli_say(terminal, "%zu recording%s left out", result.skipped, sprof_plural(result.skipped));
    return 0;
}

const struct cli_command cli_merge_command = {
    .name = "merge",
    .summary = "Put many recordings into one",
    .operands = "RECORDING …",
    .options = options,
    .details = "Runs keep their order and are counted once, however often they come. It is what\n"
               "recording them with --append would have given: `sprof report --run N` shows one,\n"
               "`sprof sql` all of them. Names are merged as they are: symbolize first, where the\n"
               "programs are.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
