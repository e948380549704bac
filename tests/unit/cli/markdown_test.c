/* Blocks of a page, cells of a row, pieces of a text. */
#include "cli/markdown.h"

#include "base/base.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char page[] = "# Page\n"
                           "\n"
                           "First line\n"
                           "and second, of **one `a|b` paragraph**.\n"
                           "## Chapter\n"
                           "![picture](a.png)\n"
                           "<!-- foreign -->\n"
                           "| a | b |\n"
                           "|---|---|\n"
                           "| `x\\|y` | |\n"
                           "| z | w |\n"
                           "* item [link](to.md) of\n"
                           "  two lines\n"
                           "12. second\n"
                           "\n"
                           "    code | here\n"
                           "\n"
                           "    # more\n"
                           "### Section\n"
                           "```sql\n"
                           "* not an item\n"
                           "```\n"
                           "end <!-- comment -->of it";

static void put(void *context, enum cli_font font, struct cli_text piece)
{
    const char *const marks[] = {"", "`", "*"};
    sprof_str_appendf(context, "%s%.*s%s", marks[font], (int)piece.length, piece.at, marks[font]);
}

static void append_block(struct sprof_str *out, const struct cli_block *block)
{
    static const char kinds[] = "#CSPIRc";
    struct cli_text cell;
    sprof_str_appendf(out, "%c ", kinds[block->kind]);
    if (block->kind == CLI_BLOCK_ROW)
        for (size_t i = 0; cli_markdown_cell(block->text, i, &cell); i++) {
            sprof_str_append(out, "[");
            cli_markdown_pieces(cell, put, out);
            sprof_str_append(out, "]");
        }
    else if (block->kind == CLI_BLOCK_CODE)
        sprof_str_append_bytes(out, block->text.at, block->text.length);
    else
        cli_markdown_pieces(block->text, put, out);
    sprof_str_append(out, "\n");
}

static void test_blocks(void)
{
    struct cli_markdown reader = {.at = page};
    struct cli_block block = {0};
    struct sprof_str out = {0};
    while (cli_markdown_next(&reader, &block))
        append_block(&out, &block);
    CU_ASSERT_STRING_EQUAL(out.text, "# Page\n"
                                     "P First line and second, of *one *`a|b`* paragraph*.\n"
                                     "C Chapter\n"
                                     "R [`x``|``y`][]\n"
                                     "R [z][w]\n"
                                     "I  item link of two lines\n"
                                     "I 12. second\n"
                                     "c code | here\n"
                                     "c \n"
                                     "c # more\n"
                                     "S Section\n"
                                     "c * not an item\n"
                                     "P end of it\n");
    sprof_str_release(&out);
}

/* Marks without an end, a table without rows, and a page that ends in each of them. */
static void test_broken(void)
{
    static const char *const pages[] = {
        "",   "|",  "| a |\n|---|", "```", "```\nx", "<!-- a",   "#",       "text `a", "[a](b",
        "\\", "**", "* ",           "1.",  "    ",   "a <!-- b", "| a\\|b", "![",      "x [y"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct cli_markdown reader = {.at = pages[i]};
        struct cli_block block = {0};
        struct sprof_str out = {0};
        for (int blocks = 0; cli_markdown_next(&reader, &block); blocks++) {
            CU_ASSERT_TRUE_FATAL(blocks < 10);
            append_block(&out, &block);
        }
        CU_ASSERT_TRUE(reader.at == pages[i] + strlen(pages[i]));
        sprof_str_release(&out);
    }
}

void sprof_suite_cli_markdown(void);
void sprof_suite_cli_markdown(void)
{
    CU_pSuite suite = CU_add_suite("cli/markdown", NULL, NULL);
    CU_add_test(suite, "blocks of a page", test_blocks);
    CU_add_test(suite, "pages that end within a mark", test_broken);
}
