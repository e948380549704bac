/* Writes the tables of `sprof export -f rows` to a directory, or one behind the other to a stream.
 */
#include "cli/export_rows.h"

#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { TABLES = REPORT_ROWS_TABLES };

/* In the order of enum report_rows_label. */
const char *const cli_left_out_words[CLI_LEFT_OUT_WORDS] = {"user", "cgroup", "container"};

int cli_set_left_out(void *left_out, const char *value, struct sprof_error *error)
{
    for (size_t length; length = strcspn(value, ","), true; value += length + 1) {
        size_t i = 0;
        while (i < CLI_LEFT_OUT_WORDS && (strncmp(value, cli_left_out_words[i], length) != 0 ||
                                          cli_left_out_words[i][length]))
            i++;
        if (i == CLI_LEFT_OUT_WORDS)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "`%.*s` cannot be left out: write user, cgroup or container, "
                                   "with commas between several",
                                   (int)length, value);
        *(unsigned *)left_out |= 1u << i;
        if (!value[length])
            return 0;
    }
}

struct tables {
    struct cli_output outputs[TABLES];
    char *paths[TABLES];
};

static int make_directory(const char *path, struct sprof_error *error)
{
    const int result = cli_make_directory(path, error);
    if (result != SPROF_EUSAGE)
        return result;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "%s is no directory: rows are five files in a directory, or one stream "
                           "with -o -",
                           path);
}

static int open_tables(struct tables *tables, const struct cli_export_rows *wanted,
                       struct sprof_error *error)
{
    int status = make_directory(wanted->path, error);
    for (size_t i = 0; i < TABLES && !status; i++) {
        struct sprof_str text = {0};
        sprof_str_appendf(&text, "%s/%s.%s", wanted->path, report_rows_tables[i],
                          wanted->native ? "native" : "tsv");
        tables->paths[i] = sprof_str_take(&text);
        status = tables->paths[i]
                     ? cli_output_open(&tables->outputs[i], tables->paths[i], wanted->input, error)
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

static int write_rows(const struct cli_export_rows *wanted, FILE *const files[TABLES],
                      struct report_rows_count *count, struct sprof_error *error)
{
    struct report_rows_files all;
    memcpy(all.tables, files, sizeof all.tables);
    const int status =
        report_rows(&all, wanted->store, wanted->selection, &wanted->options, count, error);
    if (!status && wanted->options.user && !count->costs)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no process of the user %s was recorded: `sprof report --by user "
                               "%s` lists the users",
                               wanted->options.user, wanted->input);
    return status;
}

/* == Temporary files == */

static int open_temporary(FILE *files[TABLES], struct sprof_error *error)
{
    int status = 0;
    for (size_t i = 0; i < TABLES; i++)
        if (!(files[i] = tmpfile()) && !status)
            status = sprof_error_set(error, SPROF_EIO, errno, "cannot make a temporary file: %s",
                                     strerror(errno));
    return status;
}

static int check_temporary(FILE *const files[TABLES], struct sprof_error *error)
{
    for (size_t i = 0; i < TABLES; i++)
        if (fflush(files[i]) || ferror(files[i]))
            return sprof_error_set(error, SPROF_EFULL, errno, "cannot write a temporary file: %s",
                                   strerror(errno));
    return 0;
}

static void close_temporary(FILE *const files[TABLES])
{
    for (size_t i = 0; i < TABLES; i++)
        if (files[i])
            fclose(files[i]);
}

/* Columns stand together, so that rows are there before the first is written. */
static int write_native(const struct cli_export_rows *wanted, FILE *const outputs[TABLES],
                        struct report_rows_count *count, struct sprof_error *error)
{
    FILE *files[TABLES];
    int status = open_temporary(files, error);
    if (!status)
        status = write_rows(wanted, files, count, error);
    if (!status)
        status = check_temporary(files, error);
    for (size_t i = 0; i < TABLES && !status; i++)
        status = report_rows_native(outputs[i], files[i], error);
    close_temporary(files);
    return status;
}

/* == Writing == */

static int write_directory(const struct cli_export_rows *wanted, struct report_rows_count *count,
                           struct sprof_error *error)
{
    struct tables tables = {0};
    FILE *files[TABLES];
    int status = open_tables(&tables, wanted, error);
    for (size_t i = 0; i < TABLES; i++)
        files[i] = tables.outputs[i].file;
    if (!status)
        status = (wanted->native ? write_native : write_rows)(wanted, files, count, error);
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
static int write_stream(const struct cli_export_rows *wanted, struct report_rows_count *count,
                        struct sprof_error *error)
{
    struct cli_output output;
    FILE *files[TABLES];
    int status = open_temporary(files, error);
    if (!status)
        status = write_rows(wanted, files, count, error);
    if (!status)
        status = check_temporary(files, error);
    if (!status && !(status = cli_output_open(&output, "-", wanted->input, error))) {
        for (size_t i = 0; i < TABLES && !status; i++)
            status = append(output.file, files[i], error);
        status = cli_output_close(&output, status, error);
    }
    close_temporary(files);
    return status;
}

int cli_export_rows(const struct cli_export_rows *wanted, struct sprof_error *error)
{
    const bool is_stream = !strcmp(wanted->path, "-");
    struct report_rows_count count;
    if (is_stream && wanted->native)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--native makes a file for each table: -o DIR");
    int status = (is_stream ? write_stream : write_directory)(wanted, &count, error);
    if (!status && !is_stream)
        cli_say(wanted->terminal, "%s: %s rows of cost, %s paths, %s functions", wanted->path,
                sprof_digits_of(count.costs).text, sprof_digits_of(count.paths).text,
                sprof_digits_of(count.functions).text);
    return status;
}
