/* Records a second of a target into a file that is removed again. */
#include "cli/doctor.h"

#include "cli/signals.h"
#include "record/record.h"
#include "report/report.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEASURED_NS = 1000000000 };

static const char topic[] = "recording", name[] = "a second of it";

/* == The file == */

static bool make_directory(char *path, size_t size)
{
    const char *temporary = getenv("TMPDIR");
    const int length = snprintf(path, size, "%s/sprof-doctor-XXXXXX",
                                temporary && *temporary ? temporary : "/tmp");
    return length > 0 && (size_t)length < size && mkdtemp(path);
}

/* With all that a recording has left there. */
static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(path);
}

/* == What came of it == */

static int note_module(void *context, int columns, char *const *values, char *const *names)
{
    struct cli_doctor *found = context;
    (void)columns;
    (void)names;
    return doctor_check_module(&found->modules, "", values[0], 0, strtoull(values[1], NULL, 10));
}

static int take_note(void *context, const char *text)
{
    struct cli_doctor_measured *measured = context;
    const char *note = sprof_arena_text(&measured->texts, text);
    return note ? sprof_vec_push(&measured->notes, note) : SPROF_ENOMEM;
}

static int read_store(struct cli_doctor *found, struct store *store, uint32_t run_id)
{
    struct cli_doctor_measured *measured = &found->measured;
    struct store_quality quality;
    int result = store_quality(store, run_id, &quality, NULL);
    if (!result)
        result = store_query(store,
                             "SELECT path, max(inclusive_samples) FROM v_module WHERE path LIKE "
                             "'/%' AND path NOT LIKE '//%' GROUP BY path",
                             note_module, found, NULL);
    if (!result)
        result = report_each_note(store, take_note, measured, NULL);
    if (result)
        return result;
    measured->is_there = true;
    measured->samples = quality.samples;
    measured->lost = quality.lost;
    measured->user_stacks = quality.user_stacks;
    measured->whole_stacks = quality.whole_stacks;
    measured->frames = quality.frames;
    measured->named_frames = quality.named_frames;
    return 0;
}

/* == A second == */

static int record(struct cli_doctor *found, const struct record_options *options,
                  struct sprof_error *error)
{
    struct record_session *session;
    struct record_result result = {0};
    /* The command inherits standard output, which is for what was found. */
    const int output = options->command ? dup(STDOUT_FILENO) : -1;
    if (output >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    int status = record_open(&session, options, error);
    if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        close(output);
    }
    if (status)
        return status;
    cli_signals_catch(session, record_command_pid(session));
    status = record_run(session, &result, error);
    cli_signals_forget_session();
    if (!status)
        status = read_store(found, record_store(session), result.run_id);
    record_free(session);
    return status;
}

int cli_doctor_measure(struct cli_doctor *found, const pid_t *pids, size_t pid_count,
                       char *const *command)
{
    char directory[512], output[sizeof directory + 16];
    struct sprof_error error = {0};
    if (!make_directory(directory, sizeof directory)) {
        doctor_find(&found->points, topic, name, DOCTOR_LESS,
                    "not measured: no directory could be made: %s", strerror(errno));
        doctor_cure(&found->points, "set TMPDIR to a directory that you may write to");
        return 0;
    }
    snprintf(output, sizeof output, "%s/sprof.db", directory);
    const struct record_options options = {
        .mode = MODEL_MODE_FULL,
        .output = output,
        .command = command,
        .pids = pids,
        .pid_count = pid_count,
        .duration_ns = MEASURED_NS,
        .ends_command = true,
        .sprof_version = SPROF_VERSION,
    };
    const int status = record(found, &options, &error);
    remove_directory(directory);
    if (!status || status == SPROF_ENOMEM)
        return status;
    const size_t length = strcspn(error.message, "\n");
    doctor_find(&found->points, topic, name, DOCTOR_BAD, "%.*s", (int)length, error.message);
    if (error.message[length])
        doctor_cure(&found->points, "%s", error.message + length + 1);
    found->works = false;
    return 0;
}
