/* Takes rows from streams, files and directories, and makes a recording of all of them. */
#include "import/rows.h"

#include <sys/stat.h>
#include <unistd.h>

/* Makes the recording of what was read, unless that failed. Releases the rows. */
static int finish(struct import_rows *rows, const struct import_options *options, int status,
                  struct import_result *result, struct sprof_error *error)
{
    if (!status)
        status = import_rows_check(rows, error);
    if (!status)
        status = import_rows_build(rows, options, result, error);
    import_rows_release(rows);
    return status;
}

int import_rows_opened(const struct import_options *options, struct import_input *input,
                       struct import_result *result, struct sprof_error *error)
{
    struct import_rows rows = {0};
    const int status = import_rows_read(&rows, input, error);
    return finish(&rows, options, status, result, error);
}

static int read_file(struct import_rows *rows, const char *path, struct sprof_error *error)
{
    struct import_input input;
    int status = import_input_open(&input, path, error);
    if (status)
        return status;
    status = import_rows_read(rows, &input, error);
    import_input_close(&input);
    return status;
}

/* The files of an export; older ones have no labels. */
static int read_directory(struct import_rows *rows, const char *directory,
                          struct sprof_error *error)
{
    static const char *const names[] = {"function.tsv", "path.tsv", "cost.tsv", "run.tsv",
                                        "labels.tsv"};
    enum { OPTIONAL = 4 };
    int status = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !status; i++) {
        struct sprof_str path = {0};
        status = sprof_str_appendf(&path, "%s/%s", directory, names[i]) ? sprof_error_memory(error)
                 : i >= OPTIONAL && access(path.text, F_OK)             ? 0
                                                            : read_file(rows, path.text, error);
        sprof_str_release(&path);
    }
    return status;
}

int import_rows(const struct import_options *options, const char *const *inputs, size_t count,
                struct import_result *result, struct sprof_error *error)
{
    struct import_rows rows = {0};
    struct stat status;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const bool is_directory = !stat(inputs[i], &status) && S_ISDIR(status.st_mode);
        code = (is_directory ? read_directory : read_file)(&rows, inputs[i], error);
        rows.name = inputs[i];
    }
    return finish(&rows, options, code, result, error);
}
