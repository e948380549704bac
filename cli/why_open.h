/* sprof why: opens its recording. */
#ifndef SPROF_CLI_WHY_OPEN_H
#define SPROF_CLI_WHY_OPEN_H

#include "record/record.h"

/* Standard output is for the answer: a command that is launched between these two gets standard
 * error instead. */
int cli_why_turn_output(void);
void cli_why_return_output(int output);

/* Opens the best recording that may be made here: CPU time and waits; samples by time; CPU time
 * alone. `unseen` holds why it is not the first. Returns as record_open. */
int cli_why_open(struct record_session **session, struct record_options *record,
                 struct sprof_error *unseen, struct sprof_error *error);

#endif
