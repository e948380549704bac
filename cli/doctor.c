/* sprof doctor: what will work before anything is recorded, and what helps. */
#include "cli/doctor.h"

#include "cli/commands.h"
#include "cli/values.h"

#include <stddef.h>

struct arguments {
    struct cli_pids pids;
    bool as_json;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"pid", 'p', "PID|NAME[,…]", "measure a second of running processes, and check their files",
     FIELD(pids), cli_set_pids},
    {"format", 0, "text|json", "for people (text), or for programs", FIELD(as_json),
     cli_set_text_or_json},
    {0},
};

static int check_modules(struct cli_doctor *found, const struct cli_pids *pids)
{
    int result = 0;
    for (size_t i = 0; !result && i < pids->list.count; i++)
        result = doctor_check_process(&found->modules, "", pids->list.items[i]);
    return result;
}

static int examine(struct cli_doctor *found, const struct cli_pids *pids, char *const *command)
{
    found->has_target = command || pids->list.count;
    doctor_facts_read(&found->facts, "");
    found->works = doctor_try(&found->points, pids->list.items, pids->list.count);
    doctor_check_facts(&found->points, &found->facts);
    int result = check_modules(found, pids);
    if (!result && found->works && found->has_target)
        result = cli_doctor_measure(found, pids->list.items, pids->list.count, command);
    return found->points.failed ? SPROF_ENOMEM : result;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct cli_doctor found = {0};
    if (operands->count && arguments->pids.list.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a command is launched, -p looks at running processes: give one of "
                               "them");
    cli_say_pids(terminal, &arguments->pids);
    int result = examine(&found, &arguments->pids, operands->count ? operands->items : NULL);
    if (!result)
        result = cli_doctor_show(stdout, &found, arguments->as_json);
    const bool works = found.works;
    doctor_points_release(&found.points);
    doctor_modules_release(&found.modules);
    sprof_vec_release(&found.measured.notes);
    sprof_arena_release(&found.measured.texts);
    if (!result)
        result = cli_finish_output(error);
    else
        sprof_error_memory(error);
    return result ? result : works ? 0 : 1;
}

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->pids.list);
}

const struct cli_command cli_doctor_command = {
    .name = "doctor",
    .summary = "Say what recording will lack on this machine, and what helps",
    .operands = "[--] [COMMAND …]",
    .command_follows = true,
    .options = options,
    .details = "With -p or a COMMAND a second of it is sampled, for the share of whole stacks and\n"
               "of frames with names, and its files are checked. The command is ended by SIGTERM\n"
               "after that second; what it prints goes to standard error.\n"
               "\n"
               "Exit status: 0 recording works, 1 it does not, 2 the command line is wrong.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
