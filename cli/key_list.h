/* The keys of --by. */
#ifndef SPROF_CLI_KEY_LIST_H
#define SPROF_CLI_KEY_LIST_H

#include "report/report.h"

/* Zero is valid: none. */
struct cli_keys {
    enum report_key items[REPORT_KEYS];
    size_t count;
    char field[64]; /* of `field:NAME` */
};

/* "thread,field:bytes": a setter as those of cli/values.h, of a struct cli_keys. */
int cli_set_keys(void *field, const char *value, struct sprof_error *error);

/* Selects what the keys need: all runs, all events, a field. */
void cli_keys_select(const struct cli_keys *keys, struct report_selection *selection);

#endif
