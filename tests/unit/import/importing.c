#include "tests/unit/import/importing.h"

static void hear(void *context, enum sprof_log_level level, const char *text)
{
    struct importing *importing = context;
    CU_ASSERT_EQUAL(level, SPROF_LOG_WARNING);
    CU_ASSERT_TRUE_FATAL(strlen(text) > importing->skip);
    sprof_str_appendf(&importing->heard, "%s\n", text + importing->skip);
}

void importing_bytes(struct importing *importing, const char *format, const void *bytes,
                     size_t size)
{
    static const struct model_kind_rule rules[] = {{MODEL_KIND_SYSTEM, "*libsys*"}};
    *importing = (struct importing){0};
    fixture_open(&importing->made.fixture);
    fixture_write(&importing->made.fixture, "in", bytes, size);
    strcpy(importing->input, fixture_path(&importing->made.fixture, "in"));
    strcpy(importing->made.path, fixture_path(&importing->made.fixture, "out.db"));
    importing->skip = strlen(importing->made.fixture.directory) + 1;
    const struct sprof_log log = {.message = hear, .context = importing};
    const struct import_options options = {.input = importing->input,
                                           .output = importing->made.path,
                                           .format =
                                               format ? import_format_find(format, NULL) : NULL,
                                           .rules = {rules, 1},
                                           .sprof_version = "0.1.0",
                                           .log = &log};
    importing->result = import_file(&options, &importing->imported, &importing->error);
}

void importing_close(struct importing *importing)
{
    sprof_str_release(&importing->heard);
    fixture_close(&importing->made.fixture);
}

void importing_expect(const char *format, const void *bytes, size_t size, const char *sql,
                      const char *expected)
{
    struct importing importing;
    importing_bytes(&importing, format, bytes, size);
    CU_ASSERT_EQUAL(importing.result, 0);
    CU_ASSERT_STRING_EQUAL(importing.error.message, "");
    CU_ASSERT_PTR_NULL(importing.heard.text);
    if (!importing.result)
        ASSERT_HANDMADE(&importing.made, sql, expected);
    importing_close(&importing);
}

void importing_skips(const char *format, const void *bytes, size_t size, const char *messages,
                     const char *sql, const char *expected)
{
    struct importing importing;
    importing_bytes(&importing, format, bytes, size);
    CU_ASSERT_EQUAL(importing.result, 0);
    assert_text(importing.heard.text ? importing.heard.text : "", messages);
    if (!importing.result)
        ASSERT_HANDMADE(&importing.made, sql, expected);
    importing_close(&importing);
}

void importing_refused(const char *format, const void *bytes, size_t size, const char *messages,
                       const char *error)
{
    struct importing importing;
    importing_bytes(&importing, format, bytes, size);
    CU_ASSERT_EQUAL(importing.result, SPROF_EFORMAT);
    if (!strstr(importing.error.message, error))
        assert_text(importing.error.message, error);
    assert_text(importing.heard.text ? importing.heard.text : "", messages);
    CU_ASSERT_FALSE(file_exists(importing.made.path));
    importing_close(&importing);
}
