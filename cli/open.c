/* Opens recordings for the reading commands, and finishes those that were left unfinished. */
#include "cli/open.h"

#include "cli/commands.h"
#include "cli/receiver.h"
#include "recording/recording.h"

#include <stdlib.h>

static int least_state(void *context, const struct store_run *run)
{
    enum store_state *least = context;
    if (run->state < *least)
        *least = run->state;
    return 0;
}

static int recording_state(struct store *store, enum store_state *state, struct sprof_error *error)
{
    *state = STORE_COMPLETE;
    return store_each_run(store, least_state, state, error);
}

int cli_recording_complete(struct store *store, struct sprof_error *error)
{
    enum store_state state;
    const int status = recording_state(store, &state, error);
    return status ? status : state == STORE_COMPLETE;
}

static int finish(const char *path, enum store_state state, struct cli_terminal *terminal,
                  struct sprof_error *error)
{
    cli_say(terminal,
            state == STORE_RECORDING ? "%s was left unfinished, its recorder has ended: finishing it"
                                     : "%s has no names yet: finding them",
            path);
    const struct recording_derive_options options = {.log = &terminal->log};
    return recording_derive(path, &options, error);
}

int cli_open_running(struct store **store, const char *path, const struct sprof_log *log,
                     struct sprof_error *error)
{
    const struct recording_derive_options options = {.log = log};
    int status = store_open_copy(store, path ? path : CLI_DEFAULT_RECORDING, error);
    if (status)
        return status;
    status = recording_derive_copy(*store, &options, error);
    if (status) {
        store_close(*store, NULL);
        *store = NULL;
    }
    return status;
}

/* What was fetched is gone with the last descriptor of it. */
static int open_fetched(struct store **store, const char *url, struct cli_terminal *terminal,
                        struct sprof_error *error)
{
    struct cli_fetched fetched;
    int status = cli_fetch(&fetched, url, terminal, error);
    if (!status)
        status = store_open_read(store, fetched.path, error);
    cli_fetched_release(&fetched);
    return status;
}

int cli_open_recording(struct store **store, const char *path, struct cli_terminal *terminal,
                       struct sprof_error *error)
{
    if (!path)
        path = CLI_DEFAULT_RECORDING;
    if (fleet_is_url(path))
        return open_fetched(store, path, terminal, error);
    int status = store_open_read(store, path, error);
    if (status == SPROF_ESTATE)
        return cli_open_running(store, path, &terminal->log, error);
    if (status)
        return status;
    enum store_state state;
    status = recording_state(*store, &state, error);
    if (!status && state == STORE_COMPLETE)
        return 0;
    const bool being_finished = !status && store_find_recorder(*store);
    store_close(*store, NULL);
    *store = NULL;
    if (being_finished)
        return cli_open_running(store, path, &terminal->log, error);
    if (!status)
        status = finish(path, state, terminal, error);
    if (status == SPROF_EPERMISSION || status == SPROF_EFULL) {
        cli_say(terminal, "it cannot be finished there, and is read as it is: %s", error->message);
        return cli_open_running(store, path, &terminal->log, error);
    }
    return status ? status : store_open_read(store, path, error);
}
