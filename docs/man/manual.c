/* Writes a manual page: sprof_manual VERSION FILE
 * FILE is guide.md or schema.md of docs/, or a text in this directory, COMMAND.1, whose page also
 * has the command's table of options. Lines of the form @NAME@
 * stand for what is generated: @OPTIONS@ for the options, @DETAILS@ for what the help says behind
 * them, @STATUS@ for the usual exit statuses,
 * @COMMANDS@ for the list of all commands, "@SEE@ NAME…" for the end of the page. */
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/markdown.h"

#include <stdlib.h>
#include <string.h>

/* == Text == */

/* The code point at *text, which moves on behind it. */
static unsigned next_code_point(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    const int more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : 0;
    unsigned code = more ? *at & (0x3fu >> more) : *at;
    for (int i = 1; i <= more; i++)
        code = code << 6 | (at[i] & 0x3fu);
    *text += more + 1;
    return code;
}

/* Plain text as it has to stand in a page; what begins a line must not be taken for a request. */
static void put_text(const char *text)
{
    bool line_begins = true;
    while (*text) {
        const char c = *text;
        if (line_begins && (c == '.' || c == '\''))
            fputs("\\&", stdout);
        const unsigned code = next_code_point(&text);
        if (c == '\\')
            fputs("\\e", stdout);
        else if (c == '-')
            fputs("\\-", stdout);
        else if (c == '\'' || c == '`' || c == '^' || c == '~')
            fputs(c == '\'' ? "\\(aq" : c == '`' ? "\\(ga" : c == '^' ? "\\(ha" : "\\(ti", stdout);
        else if (code > 126)
            printf("\\[u%04X]", code);
        else
            fputs(c == '|' ? "|\\:" : (char[]){c, '\0'}, stdout); /* a line may end behind a bar */
        line_begins = c == '\n';
    }
}

/* == What is generated == */

static void put_option(const struct cli_option *option)
{
    puts(".TP");
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    put_text(option->name);
    fputs("\\fR", stdout);
    if (option->argument) {
        fputs(strncmp(option->argument, "[=", 2) ? " \\fI" : "\\fI", stdout);
        put_text(option->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_text(option->help);
    puts(".");
}

static void put_options(const struct cli_command *command)
{
    puts(".SH OPTIONS");
    for (const struct cli_option *option = command->options; option->name; option++)
        if (option->help) /* else its page has a section of its own for it */
            put_option(option);
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint the help.");
}

/* Lines of the help stay as they are: some are tables. */
static void put_details(const struct cli_command *command)
{
    if (!command->details)
        return;
    puts(".SH NOTES\n.nf");
    put_text(command->details);
    if (command->details[strlen(command->details) - 1] != '\n')
        putchar('\n');
    puts(".fi");
}

static void put_commands(void)
{
    for (size_t i = 0; i < cli_command_count; i++) {
        fputs(".TP\n.BR sprof\\-", stdout);
        put_text(cli_commands[i]->name);
        puts(" (1)");
        put_text(cli_commands[i]->summary);
        puts(".");
    }
}

static void put_status(void)
{
    puts(".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nSomething failed; the message names the "
         "cure.\n"
         ".TP\n.B 2\nWhat was asked for makes no sense.");
}

/* "@SEE@ report html": those commands, and sprof itself. */
static void put_see(const char *names)
{
    char name[64];
    int length;
    puts(".SH SEE ALSO");
    for (; sscanf(names, " %63s%n", name, &length) == 1; names += length) {
        fputs(".BR sprof\\-", stdout);
        put_text(name);
        puts(" (1),");
    }
    puts(".BR sprof (1)");
}

static void put_head(const struct cli_command *command, const char *version)
{
    fputs(".TH SPROF\\-", stdout);
    for (const char *c = command->name; *c; c++)
        if (*c == '-')
            fputs("\\-", stdout);
        else
            putchar(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    printf(" 1 \"\" \"sprof %s\" \"User Commands\"\n.SH NAME\nsprof\\-", version);
    put_text(command->name);
    fputs(" \\- ", stdout);
    put_text(command->summary);
    fputs("\n.SH SYNOPSIS\n.B sprof ", stdout);
    put_text(command->name);
    fputs("\n[\\fIOPTION\\fR ...]", stdout);
    if (command->operands) {
        putchar(' ');
        put_text(command->operands);
    }
    putchar('\n');
}

/* == Documents == */

static void put_piece(void *unused, enum cli_font font, struct cli_text piece)
{
    (void)unused;
    char *text = strndup(piece.at, piece.length);
    fputs(font == CLI_FONT_PLAIN ? "" : "\\fB", stdout);
    put_text(text ? text : "");
    fputs(font == CLI_FONT_PLAIN ? "" : "\\fR", stdout);
    free(text);
}

static void put_pieces(const char *request, struct cli_text text)
{
    fputs(request, stdout);
    cli_markdown_pieces(text, put_piece, NULL);
    putchar('\n');
}

/* The first cell is the term, the others stand below it, with their titles where there are
 * several. */
static void put_row(const struct cli_block *row)
{
    struct cli_text cell, title, third;
    const bool several = cli_markdown_cell(row->head, 2, &third) && third.length;
    for (size_t i = 0; cli_markdown_cell(row->text, i, &cell); i++) {
        if (i && !cell.length)
            continue;
        fputs(i > 1 ? ".br\n" : "", stdout);
        if (i && several && cli_markdown_cell(row->head, i, &title) && title.length) {
            cli_markdown_pieces(title, put_piece, NULL);
            fputs(": ", stdout);
        }
        put_pieces(i ? "" : ".TP\n", cell);
    }
}

static void put_item(struct cli_text text)
{
    const size_t mark = strcspn(text.at, " ") + 1;
    if (*text.at == '*')
        puts(".IP \\(bu 2");
    else
        printf(".IP %.*s 4\n", (int)mark - 1, text.at);
    put_pieces("", (struct cli_text){text.at + mark, text.length - mark});
}

static void put_block(const struct cli_block *block)
{
    switch (block->kind) {
    case CLI_BLOCK_PAGE:
        put_pieces("", block->text);
        puts(".SH DESCRIPTION");
        break;
    case CLI_BLOCK_CHAPTER: put_pieces(".SH ", block->text); break;
    case CLI_BLOCK_SECTION: put_pieces(".SS ", block->text); break;
    case CLI_BLOCK_PARAGRAPH: put_pieces(".PP\n", block->text); break;
    case CLI_BLOCK_ITEM: put_item(block->text); break;
    case CLI_BLOCK_ROW: put_row(block); break;
    case CLI_BLOCK_CODE: {
        char *line = strndup(block->text.at, block->text.length);
        put_text(line ? line : "");
        putchar('\n');
        free(line);
        break;
    }
    }
}

static void put_document(const char *name, const char *page, const char *version)
{
    struct cli_markdown reader = {.at = page};
    struct cli_block block = {0};
    bool in_code = false;
    printf(".TH SPROF\\-%s 7 \"\" \"sprof %s\" \"sprof\"\n.SH NAME\nsprof\\-%s \\- ",
           *name == 'g' ? "GUIDE" : "SCHEMA", version, name);
    while (cli_markdown_next(&reader, &block)) {
        const bool is_code = block.kind == CLI_BLOCK_CODE;
        if (is_code != in_code)
            puts(is_code ? ".PP\n.RS 4\n.nf" : ".fi\n.RE");
        in_code = is_code;
        put_block(&block);
    }
    puts(in_code ? ".fi\n.RE" : "");
}

/* == The page == */

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < cli_command_count; i++)
        if (!strcmp(cli_commands[i]->name, name))
            return cli_commands[i];
    return NULL;
}

static void put_line(const char *line, const struct cli_command *command)
{
    if (!strcmp(line, "@COMMANDS@\n"))
        put_commands();
    else if (!strcmp(line, "@STATUS@\n"))
        put_status();
    else if (!strncmp(line, "@SEE@", 5))
        put_see(line + 5);
    else if (command && !strcmp(line, "@OPTIONS@\n"))
        put_options(command);
    else if (command && !strcmp(line, "@DETAILS@\n"))
        put_details(command);
    else
        fputs(line, stdout);
}

int main(int count, char **arguments)
{
    char name[64] = "", line[1024];
    const char *slash = count == 3 ? strrchr(arguments[2], '/') : NULL;
    if (!slash || sscanf(slash + 1, "%63[^.]", name) != 1) {
        fputs("usage: sprof_manual VERSION DIRECTORY/COMMAND.1|guide.md|schema.md\n", stderr);
        return 2;
    }
    if (strstr(slash, ".md")) {
        put_document(name, strcmp(name, "schema") ? cli_guide_text : cli_schema_text, arguments[1]);
        return fflush(stdout) || ferror(stdout);
    }
    const struct cli_command *command = find_command(name);
    FILE *file = fopen(arguments[2], "re");
    if (!file || (!command && strcmp(name, "sprof"))) {
        fprintf(stderr, "sprof_manual: %s: %s\n", arguments[2],
                file ? "there is no such command" : "cannot be read");
        return 1;
    }
    if (command)
        put_head(command, arguments[1]);
    while (fgets(line, sizeof line, file))
        put_line(line, command);
    fclose(file);
    return fflush(stdout) || ferror(stdout);
}
