/* Reads the rules of `sprof trace --keep`, and says what came of them. */
#include "cli/keep.h"
#include "cli/values.h"

#include <stdio.h>
#include <string.h>

int cli_add_keep_rule(void *field, const char *text, struct sprof_error *error)
{
    struct cli_keep_rules *rules = field;
    struct rules_keep rule;
    const int result = rules_keep_parse(&rule, text, error);
    if (result)
        return result;
    if (!sprof_vec_push(&rules->list, rule))
        return 0;
    rules_keep_release(&rule);
    return sprof_error_memory(error);
}

int cli_set_arguments(void *field, const char *expression, struct sprof_error *error)
{
    static const char both[] = "both";
    struct cli_keep_rules *rules = field;
    (void)error;
    rules->arguments = true;
    rules->arguments_both = expression && !strncmp(expression, both, sizeof both - 1) &&
                            (!expression[sizeof both - 1] || expression[sizeof both - 1] == ':');
    if (rules->arguments_both)
        expression = expression[sizeof both - 1] ? expression + sizeof both : NULL;
    rules->arguments_of = expression;
    return 0;
}

int cli_set_text_bytes(void *field, const char *size, struct sprof_error *error)
{
    size_t *bytes = field;
    return cli_parse_size(size, 1, "1", bytes, NULL) || *bytes > TRACE_TEXT_MOST
               ? sprof_error_set(error, SPROF_EUSAGE, 0, "not a size from 1 to %d bytes, as in 1K",
                                 (int)TRACE_TEXT_MOST)
               : 0;
}

int cli_add_capture(void *field, const char *text, struct sprof_error *error)
{
    struct cli_keep_rules *rules = field;
    struct rules_capture capture;
    if (rules->captures.count == RULES_CAPTURES)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a trace has at most %d of --capture",
                               (int)RULES_CAPTURES);
    const int result = rules_capture_parse(&capture, text, error);
    if (result)
        return result;
    if (!sprof_vec_push(&rules->captures, capture))
        return 0;
    rules_capture_release(&capture);
    return sprof_error_memory(error);
}

int cli_set_request(void *field, const char *text, struct sprof_error *error)
{
    struct cli_keep_rules *rules = field;
    rules_capture_release(&rules->requests_of);
    if (!*text)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the value is empty");
    return rules_request_parse(&rules->requests_of, text, error);
}

void cli_keep_rules_release(struct cli_keep_rules *rules)
{
    for (size_t i = 0; i < rules->list.count; i++)
        rules_keep_release(&rules->list.items[i]);
    for (size_t i = 0; i < rules->captures.count; i++)
        rules_capture_release(&rules->captures.items[i]);
    rules_capture_release(&rules->requests_of);
    sprof_vec_release(&rules->captures);
    sprof_vec_release(&rules->list);
}

void cli_say_kept(struct cli_terminal *terminal, const struct trace_result *result)
{
    char callers[64] = "", dropped[80] = "";
    if (result->kept_callers)
        snprintf(callers, sizeof callers, ", with %s caller%s",
                 sprof_digits_of(result->kept_callers).text, sprof_plural(result->kept_callers));
    if (result->kept_dropped)
        snprintf(dropped, sizeof dropped, ", %s not, for lack of room",
                 sprof_digits_of(result->kept_dropped).text);
    if (result->kept_unread)
        cli_say(terminal, "values that --keep rules test could not be read in %s call%s",
                sprof_digits_of(result->kept_unread).text, sprof_plural(result->kept_unread));
    if (result->requests_unread)
        cli_say(terminal, "the value that --request uses could not be read in %s call%s",
                sprof_digits_of(result->requests_unread).text,
                sprof_plural(result->requests_unread));
    if (!result->kept && !result->kept_dropped)
        cli_say(terminal, "no call met a rule of --keep");
    else
        cli_say(terminal, "%s call%s kept%s%s", sprof_digits_of(result->kept).text,
                sprof_plural(result->kept), callers, dropped);
    if (result->kept_cut)
        cli_say(terminal, "%s of these lack%s callers further out, for lack of room",
                sprof_digits_of(result->kept_cut).text, result->kept_cut == 1 ? "s" : "");
}
