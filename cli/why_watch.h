/* Ends the recording of `sprof why -p` as soon as it holds enough. */
#ifndef SPROF_CLI_WHY_WATCH_H
#define SPROF_CLI_WHY_WATCH_H

#include "cli/values.h"
#include "record/record.h"

#include <pthread.h>

struct cli_why_watch {
    struct record_session *session;
    const struct cli_pids *pids;
    uint64_t step_ns;
    struct sprof_threads threads;
    pthread_mutex_t lock;
    pthread_cond_t ended_now;
    bool ended;
};

/* Looks after each step whether the processes have worked and waited often enough, or hardly at
 * all, and ends the recording then. Without a thread for it the recording lasts as long as it was
 * asked to. The session and the list are borrowed until cli_why_watch_end. */
void cli_why_watch_start(struct cli_why_watch *watch, struct record_session *session,
                         const struct cli_pids *pids, uint64_t step_ns);

void cli_why_watch_end(struct cli_why_watch *watch);

#endif
