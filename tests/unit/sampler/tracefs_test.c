/* Fields of tracepoints, as the files `format` describe them. */
#include "sampler/perf/tracefs.h"

#include <CUnit/CUnit.h>

static const char format[] = "name: block_rq_issue\nID: 2104\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
                             "\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
                             "\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n"
                             "\tfield:char flags[4];\toffset:44;\tsize:4;\tsigned:0;\n"
                             "\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n"
                             "\tfield:struct odd three;\toffset:64;\tsize:3;\tsigned:0;\n"
                             "\tfield:int far;\toffset:70000;\tsize:4;\tsigned:1;\n"
                             "\tfield:int cut;\toffset:4;\n"
                             "\nprint fmt: \"field:int printed;\", REC->bytes\n";

static void test_fields(void)
{
    static const struct {
        const char *name;
        struct perf_field field; /* bytes 0: none */
    } cases[] = {
        {"bytes", {28, 4, false}},
        {"sector", {16, 8, false}},
        {"common_pid", {4, 4, true}},
        {"rwbs", {0}},
        {"flags", {0}},
        {"cmd", {0}},
        {"three", {0}},
        {"far", {0}},
        {"cut", {0}},
        {"printed", {0}},
        {"byte", {0}},
        {"", {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_field field = {0};
        const struct perf_field *wanted = &cases[i].field;
        CU_ASSERT_EQUAL(perf_field_parse(format, cases[i].name, &field), wanted->bytes != 0);
        CU_ASSERT_TRUE(field.offset == wanted->offset && field.bytes == wanted->bytes &&
                       field.is_signed == wanted->is_signed);
    }
}

void sprof_suite_sampler_tracefs(void);
void sprof_suite_sampler_tracefs(void)
{
    CU_pSuite suite = CU_add_suite("sampler/tracefs", NULL, NULL);
    CU_add_test(suite, "fields", test_fields);
}
