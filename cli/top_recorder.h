/* The process that records for `sprof top`: a child, whose messages and whose command's output come
 * over pipes, so that nothing but the screen is written to the terminal. */
#ifndef SPROF_CLI_TOP_RECORDER_H
#define SPROF_CLI_TOP_RECORDER_H

#include "record/record.h"

/* How a recorder ended. */
struct cli_top_end {
    int code;           /* of the failure; 0: none */
    char message[1024]; /* of it */
    bool has_wait_status;
    int wait_status; /* of the command */
};

struct cli_top_recorder {
    pid_t pid;                 /* 0: none, or reaped */
    int state_fd;              /* of type struct cli_top_end: readable at the end */
    int message_fd, output_fd; /* messages by lines; the output of the command */
    struct cli_top_end end;    /* by cli_top_recorder_wait */
};

#define CLI_TOP_RECORDER_NONE                                                                      \
    ((struct cli_top_recorder){.state_fd = -1, .message_fd = -1, .output_fd = -1})

/* Starts it, in a group of processes of its own. It ends in order when it gets a SIGTERM, or when
 * the caller's thread ends, and then ends a command that it launched. Returns when it has opened
 * its events: 0, or the error of record_open. To be released in both cases. */
int cli_top_recorder_start(struct cli_top_recorder *recorder, const struct record_options *options,
                           struct sprof_error *error);

/* Waits for its end; fills `end`. */
void cli_top_recorder_wait(struct cli_top_recorder *recorder);

/* Closes all, and ends and reaps the process where it still runs. */
void cli_top_recorder_release(struct cli_top_recorder *recorder);

#endif
