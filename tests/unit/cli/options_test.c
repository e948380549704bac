#include "cli/foreign.h"
#include "cli/options.h"
#include "cli/values.h"

#include <CUnit/CUnit.h>
#include <stddef.h>
#include <string.h>

struct arguments {
    const char *output;
    bool flag, other;
    uint64_t number;
    struct cli_pids pids;
};

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "a file", offsetof(struct arguments, output), cli_set_text},
    {"flag", 'f', NULL, "a flag", offsetof(struct arguments, flag), cli_set_flag},
    {"other", 'g', NULL, "another", offsetof(struct arguments, other), cli_set_flag},
    {"number", 0, "N", "a number", offsetof(struct arguments, number), cli_set_positive},
    {"pid", 'p', "PID", "processes", offsetof(struct arguments, pids), cli_set_pids},
    {0},
};
static const struct cli_command free_order = {
    .name = "x", .summary = "Test", .operands = "[WORD …]", .options = options};
static const struct cli_command command_last = {.name = "x",
                                                .summary = "Test",
                                                .operands = "COMMAND",
                                                .command_follows = true,
                                                .options = options};
static const struct cli_command no_operand = {.name = "x", .summary = "Test", .options = options};

/* A parse and all it needs; `line` is split at blanks. */
struct parse {
    char line[128], *words[16];
    struct arguments arguments;
    struct cli_operands operands;
    struct sprof_error error;
    int status;
};

static void parse(struct parse *parse, const struct cli_command *command, const char *line)
{
    *parse = (struct parse){0};
    snprintf(parse->line, sizeof parse->line, "%s", line);
    int count = 0;
    char *rest = parse->line;
    for (char *word; (word = strsep(&rest, " "));)
        parse->words[count++] = word;
    parse->status = cli_options_parse(command, count, parse->words, &parse->arguments,
                                      &parse->operands, &parse->error);
}

static void test_every_spelling(void)
{
    struct parse result;
    parse(&result, &free_order, "--output a -f one --number=7 two");
    CU_ASSERT_EQUAL(result.status, 0);
    CU_ASSERT_STRING_EQUAL(result.arguments.output, "a");
    CU_ASSERT_TRUE(result.arguments.flag);
    CU_ASSERT_EQUAL(result.arguments.number, 7);
    CU_ASSERT_EQUAL_FATAL(result.operands.count, 2);
    CU_ASSERT_STRING_EQUAL(result.operands.items[0], "one");
    CU_ASSERT_STRING_EQUAL(result.operands.items[1], "two");
    CU_ASSERT_PTR_NULL(result.operands.items[2]);
    parse(&result, &free_order, "-fgob");
    CU_ASSERT_EQUAL(result.status, 0);
    CU_ASSERT_TRUE(result.arguments.flag && result.arguments.other);
    CU_ASSERT_STRING_EQUAL(result.arguments.output, "b");
}

static void test_the_command_keeps_its_options(void)
{
    struct parse result;
    parse(&result, &command_last, "-f ls -g --output x");
    CU_ASSERT_EQUAL(result.status, 0);
    CU_ASSERT_TRUE(result.arguments.flag);
    CU_ASSERT_FALSE(result.arguments.other);
    CU_ASSERT_PTR_NULL(result.arguments.output);
    CU_ASSERT_EQUAL(result.operands.count, 4);
    parse(&result, &command_last, "-- -f");
    CU_ASSERT_EQUAL(result.status, 0);
    CU_ASSERT_FALSE(result.arguments.flag);
    CU_ASSERT_STRING_EQUAL(result.operands.items[0], "-f");
}

/* Options of sprof that a user has put behind the command. */
static void test_options_behind_the_command(void)
{
    static const struct {
        const char *line, *behind;
    } cases[] = {
        {"./x --number 9", "--number"},
        {"./x -f -ob", "-f"},
        {"./x -o b --flag", "-o"},
        {"-f ./x --output=b", "--output=b"},
        {"./x", NULL},
        {"./x -f", NULL},
        {"./x -o b file", NULL},
        {"./x -o", NULL},
        {"./x -z 1", NULL},
        {"./x --numbers 9", NULL},
        {"-- ./x --number 9", NULL},
        {"./x --flag=1 -o b", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parse result;
        parse(&result, &command_last, cases[i].line);
        CU_ASSERT_EQUAL(result.status, 0);
        CU_ASSERT_EQUAL(!result.operands.behind, !cases[i].behind);
        if (result.operands.behind && cases[i].behind)
            CU_ASSERT_STRING_EQUAL(result.operands.behind, cases[i].behind);
    }
}

/* What is typed out of habit is answered, for the command that has the habit only. */
static void test_words_of_other_profilers(void)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_option("record", "-g"), "recorded whole"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(cli_foreign_option("record", "--call-graph=dwarf"), "recorded whole"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_option("report", "--no-children"), "--inclusive"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_option("record", "--idle"), "--off-cpu"));
    CU_ASSERT_PTR_NULL(cli_foreign_option("diff", "-g"));
    CU_ASSERT_PTR_NULL(cli_foreign_option("record", "--call-graphs"));
    CU_ASSERT_PTR_NULL(cli_foreign_option("record", ""));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_command("flamegraph"), "sprof html"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_command("flame"), "sprof html"));
    CU_ASSERT_PTR_NULL(cli_foreign_command("fla"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_command("kmem"), "--heap"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_command("c2c"), "cache-misses"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_command("lcov"), "--mode coverage"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cli_foreign_command("strace"), "sys_enter"));
    CU_ASSERT_PTR_NULL(cli_foreign_command("report"));
}

static void test_mistakes_name_the_cure(void)
{
    static const struct {
        const char *line, *hint;
    } cases[] = {
        {"--ouptut a", "did you mean --output"},
        {"--outputs=a", "did you mean --output"},
        {"--zzzzzzz", "sprof x --help"},
        {"-z", "sprof x --help"},
        {"--number", "--number N"},
        {"-o", "-o FILE"},
        {"-output a", "did you mean --output"},
        {"-pid 1", "did you mean --pid"},
        {"--flag=1", "without"},
        {"--number x", "--number x: not a whole number from 1"},
        {"--number -3", "not a whole number"},
        {"--number 99999999999999999999999", "not a whole number"},
        {"-p 1,two", "`two` is not a process id"},
        {"stray", "takes no operand such as `stray`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parse result;
        parse(&result, &no_operand, cases[i].line);
        CU_ASSERT_EQUAL(result.status, SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(result.error.message, cases[i].hint));
        sprof_vec_release(&result.arguments.pids.list);
    }
}

static void test_help_lists_every_option(void)
{
    struct parse result;
    parse(&result, &no_operand, "-f --help");
    CU_ASSERT_EQUAL(result.status, 1);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    cli_help_command(out, &no_operand);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "-o, --output FILE"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "    --number N"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "-h, --help"));
    free(text);
}

#define WORDS                                                                                      \
    "the-first-of-many|the-second-of-many|the-third-of-many|the-fourth-of-many|the-fifth-of-many"

static void test_help_cuts_nothing(void)
{
    static const struct cli_option words[] = {
        {"format", 'f', WORDS, "whose", offsetof(struct arguments, output), cli_set_text}, {0}};
    const struct cli_command command = {.name = "x", .summary = "Test", .options = words};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    cli_help_command(out, &command);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  -f, --format " WORDS "  whose\n"));
    free(text);
}

void sprof_suite_cli_options(void);
void sprof_suite_cli_options(void)
{
    CU_pSuite suite = CU_add_suite("cli/options", NULL, NULL);
    CU_add_test(suite, "every spelling", test_every_spelling);
    CU_add_test(suite, "the command keeps its options", test_the_command_keeps_its_options);
    CU_add_test(suite, "options behind the command", test_options_behind_the_command);
    CU_add_test(suite, "words of other profilers", test_words_of_other_profilers);
    CU_add_test(suite, "mistakes name the cure", test_mistakes_name_the_cure);
    CU_add_test(suite, "help lists every option", test_help_lists_every_option);
    CU_add_test(suite, "help cuts nothing", test_help_cuts_nothing);
}
