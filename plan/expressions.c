/* Regular expressions over the names of functions (PCRE2). One that takes too long is refused. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "plan/expressions.h"

#include "names/names.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Work that one name may take; an expression that backtracks without end is stopped by it. */
enum { MATCH_LIMIT = 200000, DEPTH_LIMIT = 20000 };

struct expression {
    pcre2_code *code;
    const char *text;
    bool excludes;
};

struct plan_expressions {
    SPROF_VEC(struct expression) list;
    pcre2_match_data *data;
    pcre2_match_context *context;
    bool any_includes;
};

static int add_expression(struct plan_expressions *expressions, const char *text,
                          struct sprof_error *error)
{
    struct expression expression = {.text = text, .excludes = *text == '!'};
    int code;
    size_t offset;
    const char *pattern = text + expression.excludes;
    expression.code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (!expression.code) {
        unsigned char message[200];
        pcre2_get_error_message(code, message, sizeof message);
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "the regular expression '%.200s': %s, at character %zu; write \\ before a "
            "character that is meant as it is",
            text, (const char *)message, offset + 1 + expression.excludes);
    }
    expressions->any_includes |= !expression.excludes;
    if (sprof_vec_push(&expressions->list, expression)) {
        pcre2_code_free(expression.code);
        return sprof_error_memory(error);
    }
    return 0;
}

int plan_expressions_make(struct plan_expressions **out, const char *const *texts, size_t count,
                          struct sprof_error *error)
{
    struct plan_expressions *expressions = *out = calloc(1, sizeof *expressions);
    if (!expressions)
        return sprof_error_memory(error);
    expressions->data = pcre2_match_data_create(1, NULL);
    expressions->context = pcre2_match_context_create(NULL);
    int result = expressions->data && expressions->context ? 0 : sprof_error_memory(error);
    if (!result) {
        pcre2_set_match_limit(expressions->context, MATCH_LIMIT);
        pcre2_set_depth_limit(expressions->context, DEPTH_LIMIT);
    }
    for (size_t i = 0; i < count && !result; i++)
        result = add_expression(expressions, texts[i], error);
    if (result) {
        plan_expressions_free(expressions);
        *out = NULL;
    }
    return result;
}

void plan_expressions_free(struct plan_expressions *expressions)
{
    if (!expressions)
        return;
    for (size_t i = 0; i < expressions->list.count; i++)
        pcre2_code_free(expressions->list.items[i].code);
    sprof_vec_release(&expressions->list);
    pcre2_match_data_free(expressions->data);
    pcre2_match_context_free(expressions->context);
    free(expressions);
}

static int find(const struct plan_expressions *expressions, const struct expression *expression,
                const char *name, struct sprof_error *error)
{
    if (!name)
        return 0;
    const int found = pcre2_match(expression->code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0,
                                  expressions->data, expressions->context);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH ||
        (found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21))
        return 0;
    return sprof_error_set(
        error, SPROF_EUSAGE, 0,
        "the regular expression '%.200s' takes too long on the name '%.60s': write it "
        "without repetitions inside repetitions",
        expression->text, name);
}

/* Whether an expression of that kind finds it by its name, its linkage name, or what reports call
 * it. */
static int find_any(const struct plan_expressions *expressions,
                    const struct plan_function *function, bool excludes, struct sprof_error *error)
{
    struct sprof_str shown = {0};
    int found = 0;
    for (size_t i = 0; expressions && i < expressions->list.count && !found; i++) {
        const struct expression *expression = &expressions->list.items[i];
        if (expression->excludes != excludes)
            continue;
        found = find(expressions, expression, function->name, error);
        if (!found && function->linkage_name != function->name)
            found = find(expressions, expression, function->linkage_name, error);
        if (!found && !shown.length && function->name)
            found = names_append(&shown, function->name, NAMES_SHORT);
        if (!found && shown.length && strcmp(shown.text, function->name))
            found = find(expressions, expression, shown.text, error);
    }
    sprof_str_release(&shown);
    return found;
}

bool plan_expressions_include(const struct plan_expressions *expressions)
{
    return expressions && expressions->any_includes;
}

int plan_expressions_exclude(const struct plan_expressions *expressions,
                             const struct plan_function *function, struct sprof_error *error)
{
    return find_any(expressions, function, true, error);
}

int plan_expressions_match(const struct plan_expressions *expressions,
                           const struct plan_function *function, struct sprof_error *error)
{
    const int excluded = find_any(expressions, function, true, error);
    if (excluded)
        return excluded < 0 ? excluded : 0;
    return plan_expressions_include(expressions) ? find_any(expressions, function, false, error)
                                                 : 1;
}
