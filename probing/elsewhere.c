/* Names modules that are not traced, where the chosen function is. */
#include "probing/elsewhere.h"
#include "base/base.h"
#include "names/names.h"
#include "plan/process_plan.h"
#include "probing/program.h"

#include <string.h>

struct elsewhere {
    const struct plan_expressions *expressions;
    struct names_screen *names;
    struct sprof_str *text;
    struct sprof_error error;
};

enum { FOUND = 1 };

static bool is_not_ours(void *context, const struct image_request *file)
{
    (void)context;
    const char *path = file->file.path, *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "libsprof-", strlen("libsprof-")) != 0;
}

static int look(void *context, struct plan_module *module)
{
    struct elsewhere *elsewhere = context;
    const char *slash = strrchr(module->path, '/');
    for (size_t i = 0; i < module->plan.function_count; i++) {
        const struct plan_function *function = &module->plan.functions[i];
        if (!plan_is_true_start(function) ||
            plan_expressions_match(elsewhere->expressions, function, &elsewhere->error) <= 0)
            continue;
        sprof_str_appendf(elsewhere->text, "; --module %s has %.200s",
                          slash ? slash + 1 : module->path,
                          names_screen_show(elsewhere->names, function->name));
        return FOUND;
    }
    return 0;
}

bool probing_append_elsewhere(struct sprof_str *text, const struct probing_program *program,
                              const struct plan_expressions *expressions, struct cache *cache)
{
    struct elsewhere elsewhere = {
        .expressions = expressions, .names = program->options.names, .text = text};
    struct sprof_error error = {0};
    bool generated;
    return plan_process(program->process.pid, -1, cache, NULL, is_not_ours, look, &elsewhere,
                        &generated, &error) == FOUND;
}
