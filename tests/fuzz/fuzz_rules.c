/* Texts of --capture, --request and --keep: values lie within the text, and refused texts leave
 * nothing behind. */
#include "base/base.h"
#include "rules/capture.h"
#include "rules/keep_rule.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool is_in(const char *text, size_t length, const char *within, size_t within_length)
{
    return text >= within && length <= within_length &&
           (size_t)(text - within) <= within_length - length;
}

static void check_path(const struct symbolize_path *path, const char *text)
{
    FUZZ_REQUIRE(path->length && is_in(path->text, path->length, text, strlen(text)));
    FUZZ_REQUIRE(path->name_length &&
                 is_in(path->name, path->name_length, path->text, path->length));
    FUZZ_REQUIRE(path->step_count <= SYMBOLIZE_STEPS);
    for (uint32_t i = 0; i < path->step_count; i++)
        FUZZ_REQUIRE(path->steps[i].length &&
                     is_in(path->steps[i].name, path->steps[i].length, path->text, path->length));
}

typedef int parse(struct rules_capture *capture, const char *text, struct sprof_error *error);

/* Returns the number of paths. */
static uint32_t check(parse *of, const char *text, bool needs_function)
{
    struct rules_capture capture;
    struct sprof_error error = {0};
    const int result = of(&capture, text, &error);
    FUZZ_REQUIRE((result == 0) == (error.message[0] == '\0'));
    FUZZ_REQUIRE(result ? !capture.function : !needs_function || capture.function);
    FUZZ_REQUIRE(result || (capture.text == text && capture.path_count <= RULES_CAPTURE_PATHS));
    for (uint32_t i = 0; i < capture.path_count && !result; i++)
        check_path(&capture.paths[i], text);
    if (!result)
        rules_capture_release(&capture);
    return result ? 0 : capture.path_count;
}

static void check_rule(const char *text)
{
    struct rules_keep rule;
    struct sprof_error error = {0};
    const int result = rules_keep_parse(&rule, text, &error);
    FUZZ_REQUIRE((result == 0) == (error.message[0] == '\0'));
    if (result)
        return;
    FUZZ_REQUIRE(rule.test_count <= RULES_KEEP_TESTS && rule.late_count <= RULES_KEEP_TESTS);
    for (uint32_t i = 0; i < rule.late_count; i++)
        if (rule.late[i].path.name)
            check_path(&rule.late[i].path, text);
    rules_keep_release(&rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* of this size: the sanitizer sees reads behind it */
    FUZZ_REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check(rules_capture_parse, text, false);
    FUZZ_REQUIRE(check(rules_request_parse, text, true) <= 1);
    check_rule(text);
    free(text);
    return 0;
}
