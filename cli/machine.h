/* Options of `record` that choose from all that runs on the machine. */
#ifndef SPROF_CLI_MACHINE_H
#define SPROF_CLI_MACHINE_H

#include "base/base.h"
#include "sampler/sampler.h"

/* Zero: nothing was given. */
struct cli_machine {
    bool all;
    struct sprof_id_list cpus;
    const char *cgroup, *program, *user_name;
    uid_t user;
    struct sampler_choice choice; /* what they choose, by cli_machine_choose; borrows from here */
};

/* Setters; the first two take the whole struct, the third its `program`. */
int cli_set_cpus(void *machine, const char *value, struct sprof_error *error);
int cli_set_user(void *machine, const char *value, struct sprof_error *error);
int cli_set_program(void *field, const char *value, struct sprof_error *error);

/* One of the options given, as it is written; NULL: none was. */
const char *cli_machine_option(const struct cli_machine *machine);

void cli_machine_choose(struct cli_machine *machine);

#endif
