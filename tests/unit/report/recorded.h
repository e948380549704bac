/* Reports of the store's example recording. */
#ifndef SPROF_TESTS_REPORT_RECORDED_H
#define SPROF_TESTS_REPORT_RECORDED_H

#include "report/report.h"
#include "tests/unit/store/recording.h"

#include <CUnit/CUnit.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* A stream into memory. */
struct captured {
    FILE *out;
    char *text;
    size_t size;
};

static inline struct captured *capture(void)
{
    struct captured *captured = calloc(1, sizeof *captured);
    captured->out = open_memstream(&captured->text, &captured->size);
    return captured;
}

/* What was written; valid until capture_free. */
static inline const char *captured_text(struct captured *captured)
{
    fflush(captured->out);
    return captured->text;
}

static inline void capture_free(struct captured *captured)
{
    fclose(captured->out);
    free(captured->text);
    free(captured);
}

/* The example after a change by `sql`, open for reading. */
static inline struct store *example_changed(const struct place *place, const char *sql)
{
    struct store *store;
    sqlite3 *database;
    example_make(place);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place->path, &database), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_text(sqlite3_errmsg(database), "not an error");
    sqlite3_close(database);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place->path, NULL), 0);
    return store;
}

/* A style of the format of that name. */
static inline struct report_style style_of(const char *format)
{
    return (struct report_style){.format = report_format_find(format, REPORT_TABLE, NULL)};
}

#endif
