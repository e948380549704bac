/* lcov's tracefiles (geninfo(1)): for each source file its functions, where they are declared, and
 * whether they were called: in how many runs. The only lines that are known of are those. */
#include "report/export/export.h"

#include <stdlib.h>
#include <string.h>

struct writing {
    FILE *out;
    struct sprof_str file, counts, lines;
    size_t found, hit; /* functions of the file */
};

static int end_file(struct writing *writing)
{
    if (!writing->file.length)
        return 0;
    fprintf(writing->out, "%sFNF:%zu\nFNH:%zu\n%sLF:%zu\nLH:%zu\nend_of_record\n",
            writing->counts.text, writing->found, writing->hit, writing->lines.text, writing->found,
            writing->hit);
    writing->found = writing->hit = 0;
    writing->counts.length = writing->lines.length = writing->file.length = 0;
    return 0;
}

/* "file, line, name, runs": in the order of files. */
static int put_function(void *context, int columns, char *const *values, char *const *names)
{
    struct writing *writing = context;
    (void)names;
    if (columns < 4 || !values[0] || !values[2])
        return 0;
    if (!writing->file.length || strcmp(writing->file.text, values[0]) != 0) {
        end_file(writing);
        fprintf(writing->out, "TN:sprof\nSF:%s\n", values[0]);
        sprof_str_append(&writing->file, values[0]);
    }
    const bool is_hit = values[3] && strcmp(values[3], "0") != 0;
    fprintf(writing->out, "FN:%s,%s\n", values[1], values[2]);
    sprof_str_appendf(&writing->counts, "FNDA:%s,%s\n", values[3] ? values[3] : "0", values[2]);
    sprof_str_appendf(&writing->lines, "DA:%s,%s\n", values[1], values[3] ? values[3] : "0");
    writing->found++;
    writing->hit += is_hit;
    return writing->file.failed || writing->counts.failed || writing->lines.failed ? SPROF_ENOMEM
                                                                                   : 0;
}

int report_lcov_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    /* A name stands for one function of a file: copies of a function are one. */
    static const char functions[] =
        "SELECT file, min(line), linkage_name, sum(executed) FROM v_coverage"
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
