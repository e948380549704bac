/* Many recordings in one: opens the inputs one after the other, and exchanges the output at the
 * end. */
#include "store/merge.h"

#include "store/header.h"
#include "store/merge_input.h"
#include "store/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct merge {
    const struct store_merge_options *options;
    struct store_merge_result *result;
    bool *left_out; /* by input */
    char *path;     /* of the file that becomes the output */
    struct merge_output output;
};

/* == The output == */

static int check_output(const struct store_merge_options *options, struct sprof_error *error)
{
    struct store_file file;
    struct stat output, input;
    int status = store_refuse_link(options->output, error);
    if (!status)
        status = store_file_look(options->output, &file, error);
    if (status || stat(options->output, &output))
        return status;
    for (size_t i = 0; i < options->count; i++)
        if (!stat(options->inputs[i], &input) && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "%s is one of the recordings to be merged; name another output "
                                   "with -o",
                                   options->output);
    return 0;
}

static int open_output(struct merge *merge, struct sprof_error *error)
{
    merge->output = (struct merge_output){.stopped = merge->options->stopped};
    const int status = store_create(&merge->output.store, merge->path, error);
    if (status)
        return status;
    merge->output.store->only_new = true;
    /* Nothing of it is needed unless all of it is written. */
    return store_exec(merge->output.store,
                      "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF;"
                      "PRAGMA synchronous = OFF;"
                      "PRAGMA cache_size = -32768; BEGIN",
                      error);
}

static int close_output(struct merge *merge, int status, struct sprof_error *error)
{
    if (!status)
        status = store_exec(merge->output.store, "COMMIT", error);
    if (status && merge->output.store)
        store_exec(merge->output.store, "ROLLBACK", NULL);
    const int closed = store_close(merge->output.store, status ? NULL : error);
    merge_output_release(&merge->output);
    if (status || closed) {
        struct sprof_place place;
        if (!sprof_place_find(&place, merge->path)) {
            unlinkat(place.directory_fd, place.name, 0);
            store_remove_logs(&place, place.name);
            sprof_place_close(&place);
        }
    }
    return status ? status : closed;
}

static int exchange(const struct merge *merge, struct sprof_error *error)
{
    const char *output = merge->options->output;
    const char *slash = strrchr(merge->path, '/');
    const char *name = slash ? slash + 1 : merge->path;
    struct sprof_place place;
    struct store_former former = {.overwrite = merge->options->overwrite};
    int status = store_clear_the_way(output, &place, &former, error);
    if (!status && renameat(place.directory_fd, name, place.directory_fd, place.name))
        status = sprof_error_set(error, SPROF_EIO, errno, "cannot rename %s to %s: %s", merge->path,
                                 output, strerror(errno));
    if (status)
        store_former_undo(&former, &place);
    else
        store_former_settle(&former, &place);
    if (status && place.directory_fd >= 0)
        unlinkat(place.directory_fd, name, 0);
    sprof_place_close(&place);
    return status;
}

/* == The inputs == */

#define TAKE(id, name, row_type, rows)                                                             \
    static int take_##name(void *context, const struct row_type *row)                              \
    {                                                                                              \
        (void)context, (void)row;                                                                  \
        return 0;                                                                                  \
    }
STORE_BATCH_OF_RUN(TAKE)
STORE_BATCH_OF_ALL(TAKE)
STORE_DERIVED_OF_RUN(TAKE)
STORE_DERIVED_OF_ALL(TAKE)
TAKE(RUN, run, store_run, )
TAKE(SAMPLE, sample, store_sample, )

/* Whether every row can be read: what is left out must be left out as a whole. */
static int read_all(struct store *input, struct sprof_error *error)
{
    int status = store_each_run(input, take_run, NULL, error);
#define READ_OF_RUN(id, name, row, rows)                                                           \
    if (!status)                                                                                   \
        status = store_each_##name(input, 0, take_##name, NULL, error);
#define READ_OF_ALL(id, name, row, rows)                                                           \
    if (!status)                                                                                   \
        status = store_each_##name(input, take_##name, NULL, error);
    STORE_BATCH_OF_RUN(READ_OF_RUN)
    STORE_BATCH_OF_ALL(READ_OF_ALL)
    STORE_DERIVED_OF_RUN(READ_OF_RUN)
    STORE_DERIVED_OF_ALL(READ_OF_ALL)
    return status ? status : store_each_raw_sample(input, 0, take_sample, NULL, error);
}

/* What is wrong with an input, and not with the machine or the output. */
static bool is_fault_of_input(int status)
{
    return status == SPROF_EFORMAT || status == SPROF_ENOTFOUND || status == SPROF_EUNSUPPORTED ||
           status == SPROF_ESTATE || status == SPROF_EPERMISSION;
}

/* Leaves an input out where that was asked for. */
static bool skip(struct merge *merge, size_t index, int status, const struct sprof_error *error)
{
    if (!merge->options->skip_damaged || !is_fault_of_input(status))
        return false;
    sprof_log_message(merge->options->log, SPROF_LOG_WARNING, "left out: %s", error->message);
    merge->left_out[index] = true;
    merge->result->skipped++;
    return true;
}

/* Returns 1 where all must begin anew without this input, of which a part is in the output. */
static int add_input(struct merge *merge, size_t index, struct sprof_error *error)
{
    struct store *input;
    struct sprof_error why = {0};
    int status = store_open_read(&input, merge->options->inputs[index], &why);
    if (!status && merge->options->skip_damaged)
        status = read_all(input, &why);
    if (status && skip(merge, index, status, &why)) {
        store_close(input, NULL);
        return 0;
    }
    if (!status) {
        status = merge_input(&merge->output, input, &why);
        if (status == SPROF_EFORMAT && skip(merge, index, status, &why))
            status = 1;
    }
    store_close(input, NULL);
    if (status < 0 && error)
        *error = why;
    return status;
}

static int add_inputs(struct merge *merge, struct sprof_error *error)
{
    merge->result->recordings = 0;
    for (size_t i = 0; i < merge->options->count; i++) {
        sprof_log_progress(merge->options->log, "merging", i, merge->options->count);
        int status = merge_check_stopped(&merge->output, error);
        if (!status && !merge->left_out[i])
            status = add_input(merge, i, error);
        if (status)
            return status;
        merge->result->recordings += !merge->left_out[i];
    }
    if (!merge->result->recordings)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "no recording could be read: nothing was "
                               "merged");
    merge->result->runs = merge->output.runs;
    merge->result->repeated = merge->output.repeated;
    return 0;
}

static int write_all(struct merge *merge, struct sprof_error *error)
{
    int status;
    do {
        status = open_output(merge, error);
        if (!status)
            status = add_inputs(merge, error);
        status = close_output(merge, status, error);
    } while (status == 1);
    return status ? status : exchange(merge, error);
}

int store_merge(const struct store_merge_options *options, struct store_merge_result *result,
                struct sprof_error *error)
{
    struct merge merge = {.options = options, .result = result};
    struct sprof_str path = {0};
    *result = (struct store_merge_result){0};
    int status = check_output(options, error);
    if (status)
        return status;
    sprof_str_appendf(&path, "%s.merging-%d", options->output, (int)getpid());
    merge.path = sprof_str_take(&path);
    merge.left_out = calloc(options->count + 1, sizeof *merge.left_out);
    status = merge.path && merge.left_out ? write_all(&merge, error) : sprof_error_memory(error);
    free(merge.path);
    free(merge.left_out);
    return status;
}
