/* Options of the commands that reach a receiver of a fleet. */
#ifndef SPROF_CLI_RECEIVER_H
#define SPROF_CLI_RECEIVER_H

#include "cli/terminal.h"
#include "fleet/fleet.h"

#include <stddef.h>

struct cli_receiver {
    const char *to, *credentials;
    uint64_t retry_ns; /* 0: not given */
};

/* For a table of options; `arguments` has the field `receiver`. */
#define CLI_RECEIVER_OPTIONS(arguments)                                                            \
    {"to",                                                                                         \
     0,                                                                                            \
     "URL",                                                                                        \
     "the receiver, such as clickhouse+https://host:8443/sprof",                                   \
     offsetof(arguments, receiver.to),                                                             \
     cli_set_text},                                                                                \
        {"credentials",                                                                            \
         0,                                                                                        \
         "FILE",                                                                                   \
         "user, password, token, tenant or ca of the receiver, in a file of mode 0600",            \
         offsetof(arguments, receiver.credentials),                                                \
         cli_set_text},                                                                            \
    {                                                                                              \
        "retry", 0, "T", "how long a receiver that fails is tried (30s)",                          \
            offsetof(arguments, receiver.retry_ns), cli_set_duration                               \
    }

/* Fills both from the options; nothing is sent. The caller closes with cli_receiver_close, also on
 * failure. `end_fd` as in fleet_link_options. */
int cli_receiver_open(struct cli_terminal *terminal, const struct cli_receiver *receiver,
                      int end_fd, struct fleet_target *target, struct fleet_link *link,
                      struct sprof_error *error);
void cli_receiver_close(struct fleet_target *target, struct fleet_link *link);

/* Makes a recording of what a URL chooses (?service=S&version=V&host=H&event=E&last=1h, or
 * from=T&until=T) in a new directory, both of which cli_fetched_release removes. */
struct cli_fetched {
    char directory[512]; /* "": none */
    char path[544];      /* of the recording */
};
int cli_fetch(struct cli_fetched *fetched, const char *url, struct cli_terminal *terminal,
              struct sprof_error *error);
void cli_fetched_release(struct cli_fetched *fetched);

#endif
