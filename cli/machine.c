/* Options of `record` that choose from all that runs on the machine. */
#include "cli/machine.h"

#include <ctype.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

int cli_set_cpus(void *field, const char *value, struct sprof_error *error)
{
    struct cli_machine *machine = field;
    if (sprof_proc_parse_ranges(value, &machine->cpus) && machine->cpus.count)
        return 0;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%s` is no list of CPUs: write numbers and ranges, as in 0-3,8", value);
}

int cli_set_user(void *field, const char *value, struct sprof_error *error)
{
    struct cli_machine *machine = field;
    const struct passwd *entry = getpwnam(value);
    char *end = NULL;
    const unsigned long number = isdigit((unsigned char)*value) ? strtoul(value, &end, 10) : 0;
    const bool is_number = end && !*end && number < (uid_t)-1;
    if (!entry && !is_number)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "there is no user `%s`\nrun `getent passwd` to see which there are, "
                               "or give a number",
                               value);
    machine->user_name = value;
    machine->user = entry ? entry->pw_uid : (uid_t)number;
    return 0;
}

int cli_set_program(void *field, const char *value, struct sprof_error *error)
{
    if (!*value || strchr(value, '/'))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no name of a program: write it without directories, as "
                               "`ps -e` shows it",
                               value);
    if (strpbrk(value, "*?"))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--match takes the name of one program and no pattern, as `%s` is\n"
                               "record all that runs with -a, then choose: `sprof report --by "
                               "process`, `--process NAME`",
                               value);
    *(const char **)field = value;
    return 0;
}

const char *cli_machine_option(const struct cli_machine *machine)
{
    return machine->all          ? "-a"
           : machine->cpus.count ? "--cpu"
           : machine->cgroup     ? "--cgroup"
           : machine->user_name  ? "--user"
           : machine->program    ? "--match"
                                 : NULL;
}

void cli_machine_choose(struct cli_machine *machine)
{
    machine->choice = (struct sampler_choice){
        .cpus = machine->cpus.items,
        .cpu_count = machine->cpus.count,
        .cgroup = machine->cgroup,
        .by_user = machine->user_name != NULL,
        .user = machine->user,
        .program = machine->program,
    };
}
