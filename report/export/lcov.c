/* lcov's tracefiles (geninfo(1)): for each source file its functions, where they are declared, and
 * whether they were called: in how many runs. The only lines that are known of are those. */
#include "report/export/export.h"

#include <stdlib.h>
#include <string.h>

struct writing {
    FILE *out;
    struct sprof_str file, counts, lines;
    size_t found, hit; /* functions of the file */
    size_t lines_found, lines_hit;
    long long line, line_runs; /* the last one; 0: none yet */
};

/* Instances of a template are declared in one line, which counts once, as the one of most runs. */
static void end_line(struct writing *writing)
{
    if (!writing->line)
        return;
    sprof_str_appendf(&writing->lines, "DA:%lld,%lld\n", writing->line, writing->line_runs);
    writing->lines_found++;
    writing->lines_hit += writing->line_runs != 0;
    writing->line = writing->line_runs = 0;
}

static int end_file(struct writing *writing)
{
    if (!writing->file.length)
        return 0;
    end_line(writing);
    if (writing->lines.failed)
        return SPROF_ENOMEM;
    fprintf(writing->out, "%sFNF:%zu\nFNH:%zu\n%sLF:%zu\nLH:%zu\nend_of_record\n",
            writing->counts.text, writing->found, writing->hit, writing->lines.text,
            writing->lines_found, writing->lines_hit);
    writing->found = writing->hit = writing->lines_found = writing->lines_hit = 0;
    writing->counts.length = writing->lines.length = writing->file.length = 0;
    return 0;
}

/* "file, line, name, runs": in the order of files. */
static int put_function(void *context, int columns, char *const *values, char *const *names)
{
    struct writing *writing = context;
    (void)names;
    if (columns < 4 || !values[0] || !values[1] || !values[2] || !values[3])
        return 0;
    if (!writing->file.length || strcmp(writing->file.text, values[0]) != 0) {
        if (end_file(writing))
            return SPROF_ENOMEM;
        fprintf(writing->out, "TN:sprof\nSF:%s\n", values[0]);
        sprof_str_append(&writing->file, values[0]);
    }
    const long long line = atoll(values[1]), runs = atoll(values[3]);
    if (line != writing->line)
        end_line(writing);
    writing->line = line;
    writing->line_runs = runs > writing->line_runs ? runs : writing->line_runs;
    fprintf(writing->out, "FN:%lld,%s\n", line, values[2]);
    sprof_str_appendf(&writing->counts, "FNDA:%lld,%s\n", runs, values[2]);
    writing->found++;
    writing->hit += runs != 0;
    return writing->file.failed || writing->counts.failed || writing->lines.failed ? SPROF_ENOMEM
                                                                                   : 0;
}

int report_lcov_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    /* A name stands for one function of a file: copies of a function are one. */
    static const char functions[] =
        "SELECT file, min(line), linkage_name, count(DISTINCT iif(executed, run_id, NULL))"
        " FROM v_coverage"
        " WHERE %u IN (0, run_id) AND file IS NOT NULL AND line IS NOT NULL"
        " AND instr(file, char(10)) = 0 AND instr(linkage_name, char(10)) = 0"
        " GROUP BY file, linkage_name ORDER BY file, 2, 3";
    struct writing writing = {.out = out};
    char sql[512];
    snprintf(sql, sizeof sql, functions, content->run_id);
    int result = store_query(content->store, sql, put_function, &writing, error);
    const bool is_empty = !writing.file.length;
    if (!result)
        result = end_file(&writing);
    sprof_str_release(&writing.file);
    sprof_str_release(&writing.counts);
    sprof_str_release(&writing.lines);
    if (!result && is_empty)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "there is no coverage of functions whose source is known: `sprof "
                               "trace --mode coverage` makes it, of programs with debug "
                               "information (-g)");
    return result;
}
