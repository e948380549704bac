/* The options that say what is sampled, of all commands that record. */
#ifndef SPROF_CLI_TARGET_H
#define SPROF_CLI_TARGET_H

#include "cli/machine.h"
#include "cli/options.h"
#include "cli/values.h"
#include "record/record.h"

/* Zero: nothing was given. */
struct cli_target {
    struct cli_pids pids;
    bool children;
    pid_t tid;
    struct cli_machine machine;
};

/* The options themselves, for the table of a command whose struct of arguments has a `target`. */
#define CLI_TARGET_OPTIONS(arguments)                                                              \
    {"pid",                                                                                        \
     'p',                                                                                          \
     "PID|NAME[,…]",                                                                               \
     "attach to running processes, all their threads",                                             \
     offsetof(arguments, target.pids),                                                             \
     cli_set_pids},                                                                                \
        {"children",                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "with -p: and to the processes that these have started",                                  \
         offsetof(arguments, target.children),                                                     \
         cli_set_flag},                                                                            \
        {"tid",      't', "TID", "attach to one running thread", offsetof(arguments, target.tid),  \
         cli_set_tid},                                                                             \
        {"all-cpus",                                                                               \
         'a',                                                                                      \
         NULL,                                                                                     \
         "all that runs on the machine, for as long as COMMAND does",                              \
         offsetof(arguments, target.machine.all),                                                  \
         cli_set_flag},                                                                            \
        {"cpu",                                                                                    \
         0,                                                                                        \
         "LIST",                                                                                   \
         "all that runs on these CPUs, such as 0-3,8",                                             \
         offsetof(arguments, target.machine),                                                      \
         cli_set_cpus},                                                                            \
        {"cgroup",                                                                                 \
         0,                                                                                        \
         "PATH",                                                                                   \
         "all that runs in this cgroup and those below it",                                        \
         offsetof(arguments, target.machine.cgroup),                                               \
         cli_set_text},                                                                            \
        {"user",      0, "NAME", "all that this user runs", offsetof(arguments, target.machine),   \
         cli_set_user},                                                                            \
    {                                                                                              \
        "match", 0, "NAME", "all programs of this name, those too that begin later",               \
            offsetof(arguments, target.machine.program), cli_set_program                           \
    }

/* Whether they go together, for the command of that name: 0 or SPROF_EUSAGE. */
int cli_target_check(const struct cli_target *target, const struct cli_operands *operands,
                     const char *command, struct sprof_error *error);

/* Fills the options of a recording that say what is sampled; borrows from both. */
void cli_target_choose(struct cli_target *target, const struct cli_operands *operands,
                       struct record_options *record);

void cli_target_release(struct cli_target *target);

#endif
