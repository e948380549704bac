/* Fields of tracepoints, as the files `format` describe them. */
#include "sampler/perf/tracefs.h"

#include <CUnit/CUnit.h>
#include <string.h>

static const char format[] = "name: block_rq_issue\nID: 2104\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
                             "\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
                             "\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n"
                             "\tfield:char flags[4];\toffset:44;\tsize:4;\tsigned:0;\n"
                             "\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n"
                             "\tfield:struct odd three;\toffset:64;\tsize:3;\tsigned:0;\n"
                             "\tfield:const char * buf;\toffset:72;\tsize:8;\tsigned:0;\n"
                             "\tfield:int ret;\toffset:80;\tsize:4;\tsigned:1;\n"
                             "\tfield:unsigned long args[6];\toffset:88;\tsize:48;\tsigned:0;\n"
                             "\tfield:int far;\toffset:70000;\tsize:4;\tsigned:1;\n"
                             "\tfield:int cut;\toffset:4;\n"
                             "\nprint fmt: \"field:int printed;\", REC->bytes\n";

static void test_fields(void)
{
    static const struct model_field wanted[] = {
        {"sector", 16, 8, MODEL_FIELD_NUMBER}, {"bytes", 28, 4, MODEL_FIELD_NUMBER},
        {"rwbs", 34, 10, MODEL_FIELD_TEXT},    {"flags", 44, 4, MODEL_FIELD_TEXT},
        {"cmd", 60, 4, MODEL_FIELD_TEXT_AT},   {"buf", 72, 8, MODEL_FIELD_POINTER},
        {"ret", 80, 4, MODEL_FIELD_SIGNED},
    };
    const size_t count = sizeof wanted / sizeof *wanted;
    struct model_fields fields = {0};
    CU_ASSERT_EQUAL_FATAL(perf_fields_parse(format, &fields), 0);
    CU_ASSERT_EQUAL_FATAL(fields.count, count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_STRING_EQUAL(fields.items[i].name, wanted[i].name);
        CU_ASSERT_TRUE(fields.items[i].offset == wanted[i].offset &&
                       fields.items[i].bytes == wanted[i].bytes &&
                       fields.items[i].kind == wanted[i].kind);
    }
    sprof_vec_release(&fields);
}

static void test_find_number(void)
{
    struct model_fields fields = {0};
    struct model_field found = {0};
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(perf_fields_parse(format, &fields), 0);
    CU_ASSERT_EQUAL(perf_fields_find_number(&fields, "a:b", "bytes", &found, &error), 0);
    CU_ASSERT_EQUAL(found.offset, 28);
    CU_ASSERT_EQUAL(perf_fields_find_number(&fields, "a:b", "rwbs", &found, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(perf_fields_find_number(&fields, "a:b", "byte", &found, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "near it: bytes"));
    sprof_vec_release(&fields);
}

void sprof_suite_sampler_tracefs(void);
void sprof_suite_sampler_tracefs(void)
{
    CU_pSuite suite = CU_add_suite("sampler/tracefs", NULL, NULL);
    CU_add_test(suite, "fields", test_fields);
    CU_add_test(suite, "a number, or names near it", test_find_number);
}
