/* Reports expressions that match no function. */
#include "probing/probes.h"
#include "probing/program.h"

bool probing_may_be_chosen(const struct probing_program *program, const struct probing_probe *probe)
{
    return probe->is_chosen || (program->options.drill.adaptive && probe->is_spare);
}

int probing_report_unfound(const struct probing_program *program, const char *option,
                           const char *expression, const struct plan_expressions *expressions,
                           bool timed, struct sprof_error *error)
{
    struct sprof_suggestions near = {0};
    struct sprof_str names = {0};
    int found = 0;
    for (size_t i = 0; i < program->probes.count && !found; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        if (!probing_may_be_chosen(program, probe) || (timed && probe->tier != PROBE_FULL))
            continue;
        found = plan_expressions_match(expressions, probe->function, error);
        if (!found)
            sprof_suggest_offer(&near, expression, probe->function->name);
    }
    if (!found && !sprof_suggest_append(&names, &near))
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "--%s '%s' finds none of the functions that %s%s", option, expression,
                          timed ? "are timed" : "have probes", names.text ? names.text : "");
    sprof_str_release(&names);
    return found < 0 ? found : 0;
}
