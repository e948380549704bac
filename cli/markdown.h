/* Reads the Markdown of the project's own pages: chapters, paragraphs, items, tables, code. */
#ifndef SPROF_CLI_MARKDOWN_H
#define SPROF_CLI_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

enum cli_block_kind {
    CLI_BLOCK_PAGE,    /* # the title of the page */
    CLI_BLOCK_CHAPTER, /* ## */
    CLI_BLOCK_SECTION, /* ### */
    CLI_BLOCK_PARAGRAPH,
    CLI_BLOCK_ITEM, /* of a list; its text begins with its mark, "* " or "1. " */
    CLI_BLOCK_ROW,  /* of a table, behind its head */
    CLI_BLOCK_CODE, /* a line of it, which may be empty */
};

/* Borrows from the page. */
struct cli_text {
    const char *at;
    size_t length;
};

struct cli_block {
    enum cli_block_kind kind;
    struct cli_text text; /* as it stands in the page, without the mark of its kind */
    struct cli_text head; /* of a row: the first row of its table */
};

/* Where a reader is in a page. It begins with the page's text in `at`, else zero. */
struct cli_markdown {
    const char *at;
    struct cli_text head;
    bool fenced; /* between two lines of ``` */
};

/* The next block. False: the page has ended. Pictures, comments and rules of tables are none. */
bool cli_markdown_next(struct cli_markdown *page, struct cli_block *block);

/* A cell of a row or head, from 0. False: it has fewer. */
bool cli_markdown_cell(struct cli_text row, size_t index, struct cli_text *cell);

enum cli_font { CLI_FONT_PLAIN, CLI_FONT_CODE, CLI_FONT_STRONG };

/* Calls `put` with the pieces of a text as people read it: lines are joined, of links their words
 * are left, and comments are left out. Pieces of code that follow each other are of one span. */
void cli_markdown_pieces(struct cli_text text,
                         void (*put)(void *context, enum cli_font font, struct cli_text piece),
                         void *context);

#endif
