/* The options of commands that print tables for people: format, width, colour, pager. */
#ifndef SPROF_CLI_STYLE_H
#define SPROF_CLI_STYLE_H

#include "cli/terminal.h"
#include "cli/values.h"
#include "report/report.h"

#include <stddef.h>

struct cli_style {
    const struct report_format *format;
    uint64_t columns; /* 0: the terminal's */
    enum cli_color color;
    bool no_pager, full_names, verbose;
};

/* The options themselves, for a table of options: `at` is where the arguments have the style. */
/* clang-format off */
#define CLI_STYLE_OPTIONS(at)                                                                      \
    {"format", 0, "text|csv|json|markdown", "for people (text, markdown), or with full precision", \
     (at) + offsetof(struct cli_style, format), cli_set_table_format},                             \
    {"columns", 0, "N", "width of text (the terminal's, else 100)",                                \
     (at) + offsetof(struct cli_style, columns), cli_set_positive},                                \
    {"full-names", 0, NULL, "functions with parameters and template arguments, in text too",       \
     (at) + offsetof(struct cli_style, full_names), cli_set_flag},                                 \
    {"color", 0, "auto|always|never", "colour (auto: on a terminal, unless NO_COLOR is set)",      \
     (at) + offsetof(struct cli_style, color), cli_set_color},                                     \
    {"no-pager", 0, NULL, "do not send long output on a terminal to a pager",                      \
     (at) + offsetof(struct cli_style, no_pager), cli_set_flag}

/* Where the quality of the numbers stands below a table. */
#define CLI_VERBOSE_OPTION(at)                                                                     \
    {"verbose", 'v', NULL, "below the table all about how far to trust the numbers",               \
     (at) + offsetof(struct cli_style, verbose), cli_set_flag}
/* clang-format on */

#endif
