/* Opens the recording of `sprof why`. */
#include "cli/why_open.h"

#include <unistd.h>

int cli_why_turn_output(void)
{
    const int output = dup(STDOUT_FILENO);
    if (output >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return output;
}

void cli_why_return_output(int output)
{
    if (output < 0)
        return;
    dup2(output, STDOUT_FILENO);
    close(output);
}

static int open_session(struct record_session **session, const struct record_options *record,
                        struct sprof_error *error)
{
    const int output = record->command ? cli_why_turn_output() : -1;
    const int status = record_open(session, record, error);
    cli_why_return_output(output);
    return status;
}

int cli_why_open(struct record_session **session, struct record_options *record,
                 struct sprof_error *unseen, struct sprof_error *error)
{
    record->off_cpu = record->off_cpu_stacks = true;
    int status = open_session(session, record, unseen);
    if (status != SPROF_EPERMISSION && status != SPROF_EUNSUPPORTED) {
        *error = *unseen;
        return status;
    }
    record->off_cpu = false;
    record->wall_clock = true;
    status = open_session(session, record, error);
    if (status != SPROF_EPERMISSION && status != SPROF_EUNSUPPORTED)
        return status;
    record->wall_clock = false;
    *error = (struct sprof_error){0};
    return open_session(session, record, error);
}
