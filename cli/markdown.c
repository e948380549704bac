/* Splits a page into blocks, and the text of a block into pieces of one font. */
#include "cli/markdown.h"

#include <string.h>

static bool begins(const char *at, const char *mark)
{
    return !strncmp(at, mark, strlen(mark));
}

/* The bytes of an item's mark at `at`; 0: none is there. */
static size_t item_mark(const char *at)
{
    const size_t digits = strspn(at, "0123456789");
    if (begins(at, "* "))
        return 2;
    return digits && begins(at + digits, ". ") ? digits + 2 : 0;
}

static bool begins_block(const char *line)
{
    return strchr("\n#|", *line) || begins(line, "    ") || begins(line, "```") ||
           begins(line, "![") || begins(line, "<!--") || item_mark(line);
}

/* The line at *at, which moves behind it. */
static struct cli_text take_line(const char **at)
{
    const struct cli_text line = {*at, strcspn(*at, "\n")};
    *at += line.length + (line.at[line.length] == '\n');
    return line;
}

static struct cli_text behind(struct cli_text text, size_t bytes)
{
    return (struct cli_text){text.at + bytes, text.length - bytes};
}

/* A line of a table: its head, the rule below that, or a row, which alone is a block. */
static bool take_row(struct cli_markdown *page, struct cli_text line, struct cli_block *block)
{
    if (!page->head.length) {
        page->head = line;
        return false;
    }
    if (begins(line.at, "|--"))
        return false;
    *block = (struct cli_block){CLI_BLOCK_ROW, line, page->head};
    return true;
}

/* A paragraph or item: all lines until one that begins something else. */
static void take_prose(struct cli_markdown *page, struct cli_text line, struct cli_block *block)
{
    while (*page->at && !begins_block(page->at))
        take_line(&page->at);
    line.length = (size_t)(page->at - line.at);
    block->kind = item_mark(line.at) ? CLI_BLOCK_ITEM : CLI_BLOCK_PARAGRAPH;
    block->text = line;
}

/* Whether a line of code, or a blank one within it, is at hand. */
static bool take_code(const struct cli_markdown *page, struct cli_text line,
                      struct cli_block *block)
{
    const bool indented = begins(line.at, "    "),
               between = !line.length && begins(page->at, "    ") && block->kind == CLI_BLOCK_CODE;
    if (!page->fenced && !indented && !between)
        return false;
    block->kind = CLI_BLOCK_CODE;
    block->text = indented && !page->fenced ? behind(line, 4) : line;
    return true;
}

bool cli_markdown_next(struct cli_markdown *page, struct cli_block *block)
{
    while (*page->at) {
        const struct cli_text line = take_line(&page->at);
        const size_t level = strspn(line.at, "#");
        if (*line.at != '|')
            page->head = (struct cli_text){0};
        if (begins(line.at, "```")) {
            page->fenced = !page->fenced;
            continue;
        }
        if (take_code(page, line, block))
            return true;
        block->kind = CLI_BLOCK_PARAGRAPH;
        if (level && level < 4 && line.at[level] == ' ') {
            block->kind = (enum cli_block_kind)(CLI_BLOCK_PAGE + level - 1);
            block->text = behind(line, level + 1);
            return true;
        }
        if (*line.at == '|' && take_row(page, line, block))
            return true;
        if (!begins_block(line.at) || item_mark(line.at)) {
            take_prose(page, line, block);
            return true;
        }
    }
    return false;
}

bool cli_markdown_cell(struct cli_text row, size_t index, struct cli_text *cell)
{
    const char *at = row.at + 1, *end = row.at + row.length;
    for (size_t i = 0; at < end; i++) {
        const char *bar = at;
        while (bar < end && (*bar != '|' || bar[-1] == '\\'))
            bar++;
        if (i == index) {
            while (at < bar && *at == ' ')
                at++;
            while (bar > at && bar[-1] == ' ')
                bar--;
            *cell = (struct cli_text){at, (size_t)(bar - at)};
            return true;
        }
        at = bar + 1;
    }
    return false;
}

/* What stands at `at` and is no text of its own; 0: nothing. */
static size_t mark_length(const char *at, bool code)
{
    if (*at == '\\' && at[1] == '|')
        return 1;
    if (*at == '`' || (*at == '*' && !code))
        return at[0] == '*' && at[1] == '*' ? 2 : 1;
    if (code)
        return 0;
    if (begins(at, "<!--")) {
        const char *end = strstr(at, "-->");
        return end ? (size_t)(end - at) + 3 : 0;
    }
    if (begins(at, "]("))
        return strcspn(at, ")") + 1;
    const char *end = *at == '[' ? strchr(at, ']') : NULL;
    return end && end[1] == '(' ? 1 : 0;
}

/* The bytes until the next mark or end of a line. */
static size_t piece_length(const char *at, const char *end, bool code)
{
    const char *next = at;
    while (next < end && *next != '\n' && !mark_length(next, code))
        next++;
    return (size_t)(next - at);
}

/* How the text at hand is set. */
struct setting {
    bool code, strong;
};

static void pass_mark(struct setting *setting, const char *at, size_t length)
{
    if (*at == '`')
        setting->code = !setting->code;
    else if (*at == '*' && length == 2)
        setting->strong = !setting->strong;
}

void cli_markdown_pieces(struct cli_text text,
                         void (*put)(void *context, enum cli_font font, struct cli_text piece),
                         void *context)
{
    const char *at = text.at, *end = text.at + text.length;
    struct setting setting = {0};
    while (at < end) {
        const enum cli_font font = setting.code     ? CLI_FONT_CODE
                                   : setting.strong ? CLI_FONT_STRONG
                                                    : CLI_FONT_PLAIN;
        size_t length = mark_length(at, setting.code);
        if (*at == '\n') {
            at += 1 + strspn(at + 1, " ");
            if (at < end)
                put(context, font, (struct cli_text){" ", 1});
        } else if (length) {
            pass_mark(&setting, at, length);
            at += length;
            if (at[-1] == '\\') /* the bar behind it is text */
                put(context, font, (struct cli_text){at++, 1});
        } else {
            length = piece_length(at, end, setting.code);
            put(context, font, (struct cli_text){at, length});
            at += length;
        }
    }
}
