/* Checks and passes on the options that say what is sampled. */
#include "cli/target.h"

int cli_target_check(const struct cli_target *target, const struct cli_operands *operands,
                     const char *command, struct sprof_error *error)
{
    const bool attaches = target->pids.list.count > 0 || target->tid > 0;
    const char *machine = cli_machine_option(&target->machine);
    if (machine && attaches)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is for the whole machine, -p and -t attach: give one of them",
                               machine);
    if (target->children && !target->pids.list.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--children belongs to -p PID: what a command starts is recorded "
                               "with it");
    if (!operands->count && !attaches && !machine)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to record: give a command (`sprof %s -- PROGRAM`), -p PID, "
                               "-t TID or -a",
                               command);
    if (operands->count && attaches)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a command is launched, -p and -t attach: give one of them");
    if (target->pids.list.count && target->tid > 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "-p and -t exclude each other: give one of them");
    return 0;
}

void cli_target_choose(struct cli_target *target, const struct cli_operands *operands,
                       struct record_options *record)
{
    cli_machine_choose(&target->machine);
    record->command = operands->count ? operands->items : NULL;
    record->pids = target->pids.list.items;
    record->pid_count = target->pids.list.count;
    record->tid = target->tid;
    record->all_cpus = cli_machine_option(&target->machine) != NULL;
    record->choice = &target->machine.choice;
}

void cli_target_release(struct cli_target *target)
{
    sprof_vec_release(&target->pids.list);
    sprof_vec_release(&target->machine.cpus);
}
