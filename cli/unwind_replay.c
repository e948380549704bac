/* sprof unwind-replay: samples kept by `record --keep-failed`, unwound again. */
#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/values.h"
#include "record/record.h"

#include <stddef.h>
#include <string.h>

struct arguments {
    const char *input;
    bool stacks;
};

/* How often a stack that ended so before ends so now. */
struct change {
    char was[32], now[32];
    uint64_t count;
};

struct tally {
    bool stacks;
    SPROF_VEC(struct change) changes;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"stacks", 0, NULL, "print each stack as it is found now", FIELD(stacks), cli_set_flag},
    {0},
};

static void print_stack(const struct record_replay *replay)
{
    printf("sample %llu: %s, now %s\n", (unsigned long long)replay->id, replay->was, replay->now);
    for (size_t i = 0; i < replay->frames; i++)
        printf("    %s\n", replay->stack[i]);
}

static int count_change(struct tally *tally, const struct record_replay *replay)
{
    for (size_t i = 0; i < tally->changes.count; i++) {
        struct change *change = &tally->changes.items[i];
        if (!strcmp(change->was, replay->was) && !strcmp(change->now, replay->now)) {
            change->count++;
            return 0;
        }
    }
    struct change change = {.count = 1};
    snprintf(change.was, sizeof change.was, "%s", replay->was);
    snprintf(change.now, sizeof change.now, "%s", replay->now);
    return sprof_vec_push(&tally->changes, change);
}

static int on_replay(void *context, const struct record_replay *replay)
{
    struct tally *tally = context;
    if (tally->stacks)
        print_stack(replay);
    return count_change(tally, replay);
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    int status = cli_take_input(&arguments->input, operands, error);
    if (status)
        return status;
    const char *path = arguments->input ? arguments->input : CLI_DEFAULT_RECORDING;
    struct tally tally = {.stacks = arguments->stacks};
    status = record_replay_failed(path, on_replay, &tally, error);
    for (size_t i = 0; !status && i < tally.changes.count; i++)
        printf("%8llu  %s, now %s\n", (unsigned long long)tally.changes.items[i].count,
               tally.changes.items[i].was, tally.changes.items[i].now);
    if (!status && !tally.changes.count)
        cli_say(terminal, "%s holds no kept samples: record with --keep-failed", path);
    sprof_vec_release(&tally.changes);
    return status;
}

const struct cli_command cli_unwind_replay_command = {
    .name = "unwind-replay",
    .summary = "Unwind again the samples that `record --keep-failed` kept",
    .operands = "[RECORDING]",
    .options = options,
    .details =
        "Registers, stack slice and mappings come from the recording, so that a change of the\n"
        "unwinder can be tried on the stacks that were not whole.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
