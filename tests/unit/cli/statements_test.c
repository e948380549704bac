#include "cli/statements.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_where_a_statement_ends(void)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"", 0},
        {"select 1", 0},
        {"select 1;", 9},
        {"select 1; select 2;", 9},
        {"select ';';", 11},
        {"select 'it''s;';", 16},
        {"select \";\" from [a;b];", 22},
        {"select 1 -- no; end\n;", 21},
        {"select /* ; */ 1;", 17},
        {"select 'open;", 0},
        {"select 1 -- open;", 0},
        {"select /* open;", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(cli_statement_length(cases[i].text), cases[i].length);
}

static void test_what_is_empty(void)
{
    static const char *const empty[] = {"",    " \n\t", ";", "-- only this", "/* a */ ; -- b\n",
                                        "/* a"};
    static const char *const full[] = {"x", "-- a\nx", "'", "/**/''"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        CU_ASSERT_TRUE(cli_statement_is_empty(empty[i], strlen(empty[i])));
    for (size_t i = 0; i < sizeof full / sizeof *full; i++)
        CU_ASSERT_FALSE(cli_statement_is_empty(full[i], strlen(full[i])));
    CU_ASSERT_TRUE(cli_statement_is_empty("; select 1", 1));
}

void sprof_suite_cli_statements(void);
void sprof_suite_cli_statements(void)
{
    CU_pSuite suite = CU_add_suite("cli/statements", NULL, NULL);
    CU_add_test(suite, "where a statement ends", test_where_a_statement_ends);
    CU_add_test(suite, "what is empty", test_what_is_empty);
}
