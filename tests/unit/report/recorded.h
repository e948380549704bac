/* Reports of the store's example recording. */
#ifndef SPROF_TESTS_REPORT_RECORDED_H
#define SPROF_TESTS_REPORT_RECORDED_H

#include "report/report.h"
#include "tests/unit/store/recording.h"

#include <CUnit/CUnit.h>
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

/* A style of the format of that name. */
static inline struct report_style style_of(const char *format)
{
    return (struct report_style){.format = report_format_find(format, REPORT_TABLE, NULL)};
}

#endif
