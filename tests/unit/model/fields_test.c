/* What an event writes with its samples. */
#include "model/fields.h"

#include <CUnit/CUnit.h>
#include <string.h>

static const uint8_t bytes[] = {1,   0, 0, 0,  0xfe, 0xff, 'a', 'b', 0,
                                'x', 0, 0, 14, 0,    3,    0,   'c', 'm'};

static void test_values(void)
{
    static const struct {
        struct model_field field;
        const char *text;
    } cases[] = {
        {{"n", 0, 4, MODEL_FIELD_NUMBER}, "1"},
        {{"n", 4, 2, MODEL_FIELD_NUMBER}, "65534"},
        {{"s", 4, 2, MODEL_FIELD_SIGNED}, "-2"},
        {{"p", 4, 2, MODEL_FIELD_POINTER}, "0xfffe"},
        {{"t", 6, 4, MODEL_FIELD_TEXT}, "ab"},
        {{"behind", 40, 4, MODEL_FIELD_NUMBER}, "0"}, /* zeros were left out */
        {{"partly", 16, 8, MODEL_FIELD_NUMBER}, "28003"},
        {{"text behind", 40, 4, MODEL_FIELD_TEXT}, ""},
        {{"at", 12, 4, MODEL_FIELD_TEXT_AT}, "\x03"},
        {{"at nothing", 0, 4, MODEL_FIELD_TEXT_AT}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sprof_str text = {0};
        const struct sprof_bytes all = {bytes, sizeof bytes};
        CU_ASSERT_EQUAL(model_field_append(&text, &cases[i].field, all), 0);
        CU_ASSERT_STRING_EQUAL(text.text ? text.text : "", cases[i].text);
        sprof_str_release(&text);
    }
}

void sprof_suite_model_fields(void);
void sprof_suite_model_fields(void)
{
    CU_pSuite suite = CU_add_suite("model/fields", NULL, NULL);
    CU_add_test(suite, "values", test_values);
}
