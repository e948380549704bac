/* The guide in a terminal: chapters by title, and a search for words. */
#include "cli/guide.h"

#include "cli/documents.h"
#include "cli/markdown.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_WORDS = 8,
    MOST_TITLES = 3, /* parts that are printed whole because of their titles */
    MOST_BLOCKS = 20,
    MOST_ELSEWHERE = 8, /* chapters that are only named */
    MOST_LINES = 44,    /* what a search prints, about a screen: the rest is named */
    TERM_WIDTH = 22,    /* of a table's first column */
};

/* == Text == */

struct plain_text {
    struct sprof_str text;
    bool in_code;
};

/* Code stands in `…`. */
static void append_piece(void *context, enum cli_font font, struct cli_text piece)
{
    struct plain_text *out = context;
    const bool is_code = font == CLI_FONT_CODE;
    sprof_str_append(&out->text, is_code != out->in_code ? "`" : "");
    sprof_str_append_bytes(&out->text, piece.at, piece.length);
    out->in_code = is_code;
}

/* The plain text of a part of the page. The caller releases it. */
static struct sprof_str plain(struct cli_text text)
{
    struct plain_text result = {0};
    cli_markdown_pieces(text, append_piece, &result);
    sprof_str_append(&result.text, result.in_code ? "`" : "");
    return result.text;
}

/* Characters, not bytes. */
static unsigned width_of(const char *text, size_t length)
{
    unsigned width = 0;
    for (size_t i = 0; i < length; i++)
        width += (text[i] & 0xc0) != 0x80;
    return width;
}

struct writer {
    FILE *out;
    unsigned columns, column, indent, lines;
};

static void end_line(struct writer *writer)
{
    fputc('\n', writer->out);
    writer->lines++;
}

static void break_line(struct writer *writer, unsigned indent)
{
    if (writer->column)
        end_line(writer);
    writer->column = 0;
    writer->indent = indent;
}

/* Words of a text, in lines of the writer's width. */
static void put_words(struct writer *writer, struct cli_text text)
{
    struct sprof_str words = plain(text);
    for (const char *at = words.text; at && *at;) {
        const size_t length = strcspn(at, " ");
        const unsigned width = width_of(at, length);
        if (writer->column > writer->indent && writer->column + 1 + width > writer->columns)
            break_line(writer, writer->indent);
        if (writer->column < writer->indent) {
            fprintf(writer->out, "%*s", (int)(writer->indent - writer->column), "");
            writer->column = writer->indent;
        } else if (writer->column > writer->indent) {
            fputc(' ', writer->out);
            writer->column++;
        }
        fwrite(at, 1, length, writer->out);
        writer->column += width;
        at += length;
        at += strspn(at, " ");
    }
    sprof_str_release(&words);
}

/* == Blocks == */

static void put_row(struct writer *writer, const struct cli_block *row)
{
    struct cli_text cell, title, third;
    break_line(writer, 2);
    if (cli_markdown_cell(row->text, 0, &cell))
        put_words(writer, cell);
    if (writer->column + 2 > TERM_WIDTH)
        break_line(writer, 6);
    else
        writer->indent = TERM_WIDTH;
    const bool several = cli_markdown_cell(row->head, 2, &third) && third.length;
    for (size_t i = 1; cli_markdown_cell(row->text, i, &cell); i++) {
        if (!cell.length)
            continue;
        if (i > 1)
            break_line(writer, writer->indent);
        if (several && cli_markdown_cell(row->head, i, &title) && title.length) {
            put_words(writer, title);
            fputc(':', writer->out);
            writer->column++;
        }
        put_words(writer, cell);
    }
    break_line(writer, 0);
}

static void put_item(struct writer *writer, struct cli_text text)
{
    const size_t mark = strcspn(text.at, " ") + 1;
    fprintf(writer->out, "  %.*s", (int)mark, *text.at == '*' ? "- " : text.at);
    writer->indent = writer->column = 2 + (unsigned)mark;
    put_words(writer, (struct cli_text){text.at + mark, text.length - mark});
    break_line(writer, 0);
}

static void put_block(struct writer *writer, const struct cli_block *block)
{
    switch (block->kind) {
    case CLI_BLOCK_PAGE:
    case CLI_BLOCK_CHAPTER:
    case CLI_BLOCK_SECTION:
        put_words(writer, block->text);
        break_line(writer, 0);
        break;
    case CLI_BLOCK_PARAGRAPH:
        writer->indent = 2;
        put_words(writer, block->text);
        break_line(writer, 0);
        break;
    case CLI_BLOCK_ITEM: put_item(writer, block->text); break;
    case CLI_BLOCK_ROW: put_row(writer, block); break;
    case CLI_BLOCK_CODE:
        fprintf(writer->out, "      %.*s", (int)block->text.length, block->text.at);
        end_line(writer);
        break;
    }
}

/* A block below the one before (zero: none): those of one list or table without an empty line. */
static void put_below(struct writer *writer, const struct cli_block *before,
                      const struct cli_block *block)
{
    if (before->text.at && (block->kind != before->kind || block->kind == CLI_BLOCK_PARAGRAPH))
        end_line(writer);
    put_block(writer, block);
}

/* == Search == */

struct query {
    struct cli_text words[MOST_WORDS];
    size_t count;
};

/* A word without an ending, so that "waiting" finds "waits". */
static struct cli_text stem(struct cli_text word)
{
    static const char *const endings[] = {"ing", "ed", "s"};
    enum { SHORTEST = 4 };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(endings[i]);
        if (word.length >= SHORTEST + length &&
            !strncasecmp(word.at + word.length - length, endings[i], length))
            return (struct cli_text){word.at, word.length - length};
    }
    return word;
}

/* Whether a list with a blank before and behind each of its words has this one. */
static bool is_whole_word(const char *list, struct cli_text word)
{
    for (const char *at = list; at[1]; at = strchr(at + 1, ' '))
        if (strcspn(at + 1, " ") == word.length && !strncasecmp(at + 1, word.at, word.length))
            return true;
    return false;
}

/* The words of a question, all of them, or those that say what it is about. */
static struct query split(const char *text, bool all)
{
    static const char small[] = " a an and are at be by can do does for from how i in is it me my "
                                "of on one or show the there this to use want what when where which "
                                "why with ";
    struct query query = {0};
    for (text += strspn(text, " ?"); *text && query.count < MOST_WORDS;
         text += strspn(text, " ?")) {
        const struct cli_text word = {text, strcspn(text, " ?")};
        if (all || !is_whole_word(small, word))
            query.words[query.count++] = stem(word);
        text += word.length;
    }
    return query;
}

/* Whether a word stands in a text, at the beginning of one of its words. */
static bool holds(struct cli_text text, struct cli_text word)
{
    enum { WHOLE = 3 }; /* shorter words are not the beginning of others: "go", "ci" */
    for (size_t i = 0; i + word.length <= text.length; i++) {
        const size_t end = i + word.length;
        if ((!i || !isalnum((unsigned char)text.at[i - 1]) || !isalnum((unsigned char)*word.at)) &&
            !strncasecmp(text.at + i, word.at, word.length) &&
            (word.length >= WHOLE || end == text.length || !isalnum((unsigned char)text.at[end])))
            return true;
    }
    return false;
}

static bool holds_all(struct cli_text text, const struct query *query)
{
    for (size_t i = 0; i < query->count; i++)
        if (!holds(text, query->words[i]))
            return false;
    return query->count > 0;
}

/* Blocks in which words are looked for: of code only commands, since the rest is output. */
static bool is_match(const struct cli_block *block, const struct query *query)
{
    static const struct cli_text command = {"sprof ", 6};
    return (block->kind != CLI_BLOCK_CODE || holds(block->text, command)) &&
           holds_all(block->text, query);
}

static bool is_title(const struct cli_block *block)
{
    return block->kind <= CLI_BLOCK_SECTION;
}

/* The words by which readers look for a block that says it in others. They stand in a comment:
 * <!-- also: … -->, below a title, else within the block. */
static struct cli_text also(const struct cli_block *block)
{
    static const char mark[] = "<!-- also: ";
    const char *end = block->text.at + block->text.length, *at = end + strspn(end, "\n");
    if (!is_title(block))
        at = memmem(block->text.at, block->text.length, mark, strlen(mark));
    if (!at || strncmp(at, mark, strlen(mark)) != 0)
        return (struct cli_text){0};
    at += strlen(mark);
    end = strstr(at, "-->");
    return (struct cli_text){at, end ? (size_t)(end - at) : 0};
}

/* Whether a block is looked for by all words, which it has in its comment or title. */
static bool is_also(const struct cli_block *block, const struct query *query)
{
    const struct cli_text words = also(block),
                          title = is_title(block) ? block->text : (struct cli_text){0};
    size_t here = 0;
    for (size_t i = 0; i < query->count; i++) {
        here += holds(words, query->words[i]);
        if (!holds(words, query->words[i]) && !holds(title, query->words[i]))
            return false;
    }
    return here > 0;
}

static bool is_named(struct cli_text title, const char *name)
{
    return title.length == strlen(name) && !strncasecmp(title.at, name, title.length);
}

/* How a title is looked up. */
struct wanted {
    const char *name;          /* its exact words; NULL: */
    const struct query *query; /* words that it holds */
    bool also;                 /* they are in the comment below it, too */
};

static bool is_wanted(const struct cli_block *block, const struct wanted *wanted)
{
    if (block->kind != CLI_BLOCK_CHAPTER && block->kind != CLI_BLOCK_SECTION)
        return false;
    return wanted->name   ? is_named(block->text, wanted->name)
           : wanted->also ? is_also(block, wanted->query)
                          : holds_all(block->text, wanted->query);
}

/* Says where the rest of a part is that was too long. */
static void put_rest(struct writer *writer, struct cli_text title)
{
    struct sprof_str text = plain(title);
    fprintf(writer->out, "\n… more: `sprof help '%s'`", text.text ? text.text : "");
    end_line(writer);
    sprof_str_release(&text);
}

/* Prints the parts of a page with titles that are wanted, each to the next title of its level, at
 * most `most`; of those that were looked for by words no more than a screen. Returns how many. */
static unsigned put_parts(struct writer *writer, const char *page, const struct wanted *wanted,
                          unsigned most)
{
    struct cli_markdown reader = {.at = page};
    struct cli_block block = {0}, before = {0};
    struct cli_text title = {0}, cut = {0};
    enum cli_block_kind level = CLI_BLOCK_PAGE;
    unsigned count = 0;
    for (bool inside = false; cli_markdown_next(&reader, &block);) {
        if (is_title(&block) && !(inside && block.kind > level)) {
            inside = count < most && is_wanted(&block, wanted);
            level = block.kind;
            title = block.text;
            count += inside;
        }
        if (!inside)
            continue;
        if (wanted->name || writer->lines < MOST_LINES) {
            put_below(writer, &before, &block);
            before = block;
        } else if (cut.at != title.at) {
            put_rest(writer, cut = title);
        }
    }
    return count;
}

static unsigned put_whole(struct writer *writer, const char *page)
{
    struct cli_markdown reader = {.at = page};
    struct cli_block block = {0}, before = {0};
    for (; cli_markdown_next(&reader, &block); before = block)
        put_below(writer, &before, &block);
    return 1;
}

static unsigned put_titles(struct writer *writer, const char *page)
{
    struct cli_markdown reader = {.at = page};
    struct cli_block block = {0};
    while (cli_markdown_next(&reader, &block))
        if (block.kind == CLI_BLOCK_CHAPTER || block.kind == CLI_BLOCK_SECTION) {
            writer->indent = block.kind == CLI_BLOCK_SECTION ? 2 : 0;
            put_words(writer, block.text);
            break_line(writer, 0);
        }
    return 1;
}

/* The titles of other chapters that hold the words. */
static void put_elsewhere(struct writer *writer, const struct query *query)
{
    struct cli_markdown reader = {.at = cli_guide_text};
    struct cli_block block = {0};
    struct cli_text chapter = {0}, shown = {0};
    for (unsigned count = 0; count < MOST_ELSEWHERE && cli_markdown_next(&reader, &block);) {
        if (block.kind <= CLI_BLOCK_CHAPTER)
            chapter = block.text;
        if (is_title(&block) && (block.kind == CLI_BLOCK_PAGE || holds_all(block.text, query) ||
                                 is_also(&block, query)))
            chapter = shown;
        if (is_title(&block) || chapter.at == shown.at || !is_match(&block, query) ||
            is_also(&block, query))
            continue;
        put_words(writer, shown.at ? (struct cli_text){"·", strlen("·")}
                                   : (struct cli_text){"Also in:", strlen("Also in:")});
        put_words(writer, chapter);
        shown = chapter;
        count++;
    }
    break_line(writer, 0);
}

/* What is printed first. */
enum rank {
    RANK_ALSO, /* blocks with the words in their comment */
    RANK_LEAD, /* with all words, beginning with the first of them */
    RANK_REST, /* with all words */
    RANK_NONE,
};

/* A search through the pages for blocks with the words. */
struct search {
    const struct query *query;
    struct cli_text chapter, section; /* where it is */
    struct cli_text shown;            /* the title that was printed last */
    enum rank rank;                   /* of those alone */
    size_t words;                     /* not 0: instead those with so many of the words */
    unsigned found, left_out;
};

/* Whether a block is about the words: it begins with the first of them. */
static bool is_lead(const struct cli_block *block, const struct query *query)
{
    struct cli_text text = block->text;
    while (text.length && strchr("*`[| ", *text.at))
        text = (struct cli_text){text.at + 1, text.length - 1};
    const struct cli_text first = query->words[0];
    return text.length >= first.length && !strncasecmp(text.at, first.at, first.length);
}

static enum rank rank_of(const struct cli_block *block, const struct query *query)
{
    if (is_also(block, query))
        return RANK_ALSO;
    if (!is_match(block, query))
        return RANK_NONE;
    return is_lead(block, query) ? RANK_LEAD : RANK_REST;
}

static size_t words_in(const struct cli_block *block, const struct query *query)
{
    size_t count = 0;
    for (size_t i = 0; block->kind != CLI_BLOCK_CODE && i < query->count; i++)
        count += holds(block->text, query->words[i]);
    return count;
}

static bool is_found(const struct cli_block *block, const struct search *search)
{
    return search->words ? words_in(block, search->query) == search->words
                         : rank_of(block, search->query) == search->rank;
}

static void put_found(struct writer *writer, struct search *search, const struct cli_block *block)
{
    const struct cli_text title = search->section.at ? search->section : search->chapter;
    if (search->found++ >= MOST_BLOCKS || writer->lines >= MOST_LINES) {
        search->left_out++;
        return;
    }
    if (title.at != search->shown.at) {
        if (search->shown.at)
            end_line(writer);
        put_words(writer, search->chapter);
        if (search->section.at) {
            put_words(writer, (struct cli_text){"›", strlen("›")});
            put_words(writer, search->section);
        }
        break_line(writer, 0);
        search->shown = title;
    }
    put_block(writer, block);
}

static void search_page(struct writer *writer, const char *page, struct search *search)
{
    struct cli_markdown reader = {.at = page};
    struct cli_block block = {0};
    while (cli_markdown_next(&reader, &block))
        if (block.kind <= CLI_BLOCK_CHAPTER) {
            search->chapter = block.text;
            search->section = (struct cli_text){0};
        } else if (block.kind == CLI_BLOCK_SECTION)
            search->section = block.text;
        else if (is_found(&block, search))
            put_found(writer, search, &block);
}

static void search_pages(struct writer *writer, struct search *search)
{
    search_page(writer, cli_guide_text, search);
    search_page(writer, cli_schema_text, search);
}

static unsigned put_matches(struct writer *writer, const struct query *query)
{
    struct search search = {.query = query, .rank = RANK_LEAD};
    if (!query->count)
        return 0;
    for (; search.rank < RANK_NONE; search.rank++)
        search_pages(writer, &search);
    if (search.left_out)
        fprintf(writer->out, "\n… and %u more places: add a word, or `man sprof-guide`\n",
                search.left_out);
    return search.found;
}

/* Chapters, or blocks, or both, that readers look for by these words. */
static unsigned put_also(struct writer *writer, const struct query *query)
{
    const struct wanted wanted = {.query = query, .also = true};
    struct search search = {.query = query, .rank = RANK_ALSO};
    if (!query->count)
        return 0;
    search_page(writer, cli_guide_text, &search);
    if (search.found)
        end_line(writer);
    return search.found + put_parts(writer, cli_guide_text, &wanted, MOST_TITLES);
}

/* Chapters with these words in their titles. */
static unsigned put_titled(struct writer *writer, const struct query *query)
{
    const struct wanted wanted = {.query = query};
    return put_parts(writer, cli_guide_text, &wanted, MOST_TITLES);
}

/* Blocks with most of the words, where none has all. */
static unsigned put_nearest(struct writer *writer, const struct query *query)
{
    struct search search = {.query = query};
    struct cli_markdown reader = {.at = cli_guide_text};
    struct cli_block block = {0};
    while (cli_markdown_next(&reader, &block)) {
        const size_t count = is_title(&block) ? 0 : words_in(&block, query);
        search.words = count > search.words ? count : search.words;
    }
    if (2 * search.words <= query->count)
        return 0;
    fprintf(writer->out, "No place has all of these words. These have most:");
    end_line(writer);
    end_line(writer);
    search_page(writer, cli_guide_text, &search);
    return search.found;
}

/* Answers a question: by words that stand for a place, then by titles, then by text. */
static unsigned put_answer(struct writer *writer, const char *text)
{
    const struct query all = split(text, true), core = split(text, false),
                       phrase = {.words = {{text, strlen(text)}}, .count = 1};
    unsigned found = put_also(writer, &core);
    const struct query *titled = found ? &core : &all;
    if (!found)
        found = put_titled(writer, &all);
    if (found) {
        end_line(writer);
        put_elsewhere(writer, titled);
    }
    const struct wanted words = {.query = &all};
    if (!found && !strncmp(text, "v_", 2)) /* a view */
        found = put_parts(writer, cli_schema_text, &words, 1);
    if (!found && all.count > 1)
        found = put_matches(writer, &phrase);
    if (!found)
        found = put_matches(writer, &all);
    if (!found && core.count < all.count && !(found = put_titled(writer, &core)))
        found = put_matches(writer, &core);
    return found ? found : put_nearest(writer, &core);
}

int cli_guide_print(FILE *out, const char *text, unsigned columns)
{
    struct writer writer = {.out = out, .columns = columns};
    const struct wanted exact = {.name = text};
    unsigned found = !strcmp(text, "guide")    ? put_whole(&writer, cli_guide_text)
                     : !strcmp(text, "schema") ? put_whole(&writer, cli_schema_text)
                     : !strcmp(text, "topics") ? put_titles(&writer, cli_guide_text)
                                               : put_parts(&writer, cli_guide_text, &exact, 1);
    if (!found)
        found = put_parts(&writer, cli_schema_text, &exact, 1);
    return !found && !put_answer(&writer, text);
}
