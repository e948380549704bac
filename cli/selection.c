/* Turns the options that all reading commands share into the library's selection. */
#include "cli/selection.h"

#include <stdlib.h>
#include <string.h>

int cli_set_run(void *field, const char *value, struct sprof_error *error)
{
    struct cli_run *run = field;
    run->all = !strcmp(value, "all");
    const int status = run->all ? 0 : cli_set_positive(&run->number, value, NULL);
    if (status || run->number > UINT32_MAX)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "write the number of a run, or all");
    return 0;
}

int cli_set_during(void *field, const char *value, struct sprof_error *error)
{
    static const char mark[] = ",over ";
    struct cli_during *during = field;
    const char *over = strstr(value, mark);
    for (const char *next = over; next; next = strstr(next + 1, mark))
        over = next;
    const size_t length = over ? (size_t)(over - value) : strlen(value);
    *during = (struct cli_during){0};
    if (!length || length >= sizeof during->expression)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "write an expression for functions, as in '^work$,over 10ms'");
    memcpy(during->expression, value, length);
    return over ? cli_set_duration(&during->least_ns, over + sizeof mark - 1, error) : 0;
}

int cli_take_input(const char **input, const struct cli_operands *operands,
                   struct sprof_error *error)
{
    if (!operands->count)
        return 0;
    if (operands->count > 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one recording at a time: `%s` is one too many; a name with blanks "
                               "needs quotes",
                               operands->items[1]);
    if (*input)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the recording is named twice: leave out `-i %s` or `%s`", *input,
                               operands->items[0]);
    *input = operands->items[0];
    return 0;
}

int cli_selection_finish(struct cli_selection *selection, const struct cli_operands *operands,
                         struct sprof_error *error)
{
    const bool given = selection->mode.given;
    if (selection->frame_app && !(given && selection->mode.mode == MODEL_MODE_PC))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--frame app belongs to --mode pc: add it");
    if (selection->drop_interior && !(given && selection->mode.mode == MODEL_MODE_APP))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--app-interior drop belongs to --mode app: add it");
    return cli_take_input(&selection->input, operands, error);
}

struct report_selection cli_selection_of(const struct cli_selection *selection)
{
    return (struct report_selection){
        .run_id = (uint32_t)selection->run.number,
        .all_runs = selection->run.all,
        .host = selection->host,
        .event = selection->event,
        .state = selection->state,
        .thread = selection->thread,
        .process = selection->process,
        .module = selection->module,
        .cpus = selection->cpus,
        .time = selection->time,
        .during = *selection->during.expression ? selection->during.expression : NULL,
        .during_least_ns = selection->during.least_ns,
        .phase = selection->phase,
        .mark = selection->mark,
        .focus = selection->focus,
        .ignore = selection->ignore,
        .hide = selection->hide,
        .show_from = selection->show_from,
        .no_inlined = selection->no_inlined,
        .no_standard = selection->no_standard,
        .parts_apart = selection->parts_apart,
        .other_mode = selection->mode.given,
        .mode = selection->mode.mode,
        .frame_app = selection->frame_app,
        .drop_interior = selection->drop_interior,
        .rules = cli_rules_of(&selection->rules),
    };
}
