/* Writes the tables of `sprof export -f rows` to a directory, or one behind the other to a stream.
 */
#include "cli/export_rows.h"

#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { FUNCTION, PATH, COST, RUN, TABLES }; /* the last one to come says that all are there */
static const char *const names[TABLES] = {"function", "path", "cost", "run"};

struct tables {
    struct cli_output outputs[TABLES];
    char *paths[TABLES];
};

static int make_directory(const char *path, struct sprof_error *error)
{
    struct stat status;
    if (!mkdir(path, 0700))
        return 0;
    if (errno == EEXIST && !stat(path, &status) && S_ISDIR(status.st_mode))
        return 0;
    if (errno == EEXIST)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is no directory: rows are four files in a directory, or one "
                               "stream with -o -",
                               path);
    return sprof_error_set(error, SPROF_ENOTFOUND, errno, "cannot make the directory %s: %s", path,
                           strerror(errno));
}

static int open_tables(struct tables *tables, const char *path, const char *input,
                       struct sprof_error *error)
{
    int status = make_directory(path, error);
    for (size_t i = 0; i < TABLES && !status; i++) {
        struct sprof_str text = {0};
        sprof_str_appendf(&text, "%s/%s.tsv", path, names[i]);
        tables->paths[i] = sprof_str_take(&text);
        status = tables->paths[i]
                     ? cli_output_open(&tables->outputs[i], tables->paths[i], input, error)
                     : sprof_error_memory(error);
    }
    return status;
}

static int close_tables(struct tables *tables, int status, struct sprof_error *error)
{
    for (size_t i = 0; i < TABLES; i++) {
        status = cli_output_close(&tables->outputs[i], status, error);
        free(tables->paths[i]);
    }
    return status;
}

static struct report_rows_files files_of(FILE *const files[TABLES])
{
    return (struct report_rows_files){files[FUNCTION], files[PATH], files[COST], files[RUN]};
}

static int write_directory(struct store *store, const char *input, const char *path,
                           const struct report_selection *selection,
                           const struct report_rows_options *options,
                           struct report_rows_count *count, struct sprof_error *error)
{
    struct tables tables = {0};
    FILE *files[TABLES];
    int status = open_tables(&tables, path, input, error);
    for (size_t i = 0; i < TABLES; i++)
        files[i] = tables.outputs[i].file;
    const struct report_rows_files all = files_of(files);
    if (!status)
        status = report_rows(&all, store, selection, options, count, error);
    return close_tables(&tables, status, error);
}

/* Appends a file to another one. */
static int append(FILE *out, FILE *from, struct sprof_error *error)
{
    char bytes[1 << 16];
    rewind(from);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, from));)
        fwrite(bytes, 1, got, out);
    return ferror(from) ? sprof_error_set(error, SPROF_EIO, errno,
                                          "cannot read a temporary file again: %s", strerror(errno))
                        : 0;
}

/* The tables grow together, and are in a stream one behind the other. */
static int write_stream(struct store *store, const char *input,
                        const struct report_selection *selection,
                        const struct report_rows_options *options, struct report_rows_count *count,
                        struct sprof_error *error)
{
    struct cli_output output;
    FILE *files[TABLES];
    int status = 0;
    for (size_t i = 0; i < TABLES; i++)
        if (!(files[i] = tmpfile()) && !status)
            status = sprof_error_set(error, SPROF_EIO, errno, "cannot make a temporary file: %s",
                                     strerror(errno));
    const struct report_rows_files all = files_of(files);
    if (!status)
        status = report_rows(&all, store, selection, options, count, error);
    if (!status)
        status = cli_output_open(&output, "-", input, error);
    for (size_t i = 0; i < TABLES; i++) {
        if (files[i] && !status && (fflush(files[i]) || ferror(files[i])))
            status = sprof_error_set(error, SPROF_EFULL, errno, "cannot write a temporary file: %s",
                                     strerror(errno));
        if (!status)
            status = append(output.file, files[i], error);
        if (files[i])
            fclose(files[i]);
    }
    return status ? status : cli_output_close(&output, 0, error);
}

int cli_export_rows(struct cli_terminal *terminal, struct store *store, const char *input,
                    const char *path, const struct report_selection *selection,
                    const struct report_rows_options *options, struct sprof_error *error)
{
    const bool is_stream = !strcmp(path, "-");
    struct report_rows_count count;
    const int status = is_stream
                           ? write_stream(store, input, selection, options, &count, error)
                           : write_directory(store, input, path, selection, options, &count, error);
    if (!status && !is_stream)
        cli_say(terminal, "%s: %s rows of cost, %s paths, %s functions", path,
                sprof_digits_of(count.costs).text, sprof_digits_of(count.paths).text,
                sprof_digits_of(count.functions).text);
    return status;
}
