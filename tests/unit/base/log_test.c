#include "base/base.h"

#include <CUnit/CUnit.h>

struct heard {
    int messages, progresses;
    enum sprof_log_level level;
    char text[2048];
    const char *phase;
    uint64_t done, total;
};

static void hear_message(void *context, enum sprof_log_level level, const char *text)
{
    struct heard *heard = context;
    heard->messages++;
    heard->level = level;
    strncpy(heard->text, text, sizeof heard->text - 1);
}

static void hear_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct heard *heard = context;
    heard->progresses++;
    heard->phase = phase;
    heard->done = done;
    heard->total = total;
}

static void test_both_call_back(void)
{
    struct heard heard = {0};
    const struct sprof_log log = {hear_message, hear_progress, &heard};
    sprof_log_message(&log, SPROF_LOG_WARNING, "%s:%d", "x.folded", 3);
    sprof_log_progress(&log, "naming functions", 2, 9);
    CU_ASSERT_EQUAL(heard.messages, 1);
    CU_ASSERT_EQUAL(heard.level, SPROF_LOG_WARNING);
    CU_ASSERT_STRING_EQUAL(heard.text, "x.folded:3");
    CU_ASSERT_EQUAL(heard.progresses, 1);
    CU_ASSERT_STRING_EQUAL(heard.phase, "naming functions");
    CU_ASSERT_EQUAL(heard.done, 2);
    CU_ASSERT_EQUAL(heard.total, 9);
}

static void test_silence(void)
{
    struct heard heard = {0};
    const struct sprof_log deaf = {.context = &heard};
    const struct sprof_log message_only = {.message = hear_message, .context = &heard};
    sprof_log_message(NULL, SPROF_LOG_NOTE, "x");
    sprof_log_progress(NULL, "x", 0, 0);
    sprof_log_message(&deaf, SPROF_LOG_NOTE, "x");
    sprof_log_progress(&deaf, "x", 0, 0);
    sprof_log_progress(&message_only, "x", 0, 0);
    CU_ASSERT_EQUAL(heard.messages + heard.progresses, 0);
    sprof_log_message(&message_only, SPROF_LOG_NOTE, "x");
    CU_ASSERT_EQUAL(heard.messages, 1);
}

static void test_long_messages_are_cut(void)
{
    struct heard heard = {0};
    const struct sprof_log log = {.message = hear_message, .context = &heard};
    sprof_log_message(&log, SPROF_LOG_DEBUG, "%01500d", 7);
    CU_ASSERT_EQUAL(heard.messages, 1);
    CU_ASSERT_EQUAL(strlen(heard.text), 1023);
}

void sprof_suite_base_log(void);
void sprof_suite_base_log(void)
{
    CU_pSuite suite = CU_add_suite("base/log", NULL, NULL);
    CU_add_test(suite, "both call back", test_both_call_back);
    CU_add_test(suite, "silence", test_silence);
    CU_add_test(suite, "long messages are cut", test_long_messages_are_cut);
}
