/* Finds the command of a request in a table, and runs it. */
#include "control/control.h"

#include <stdlib.h>
#include <string.h>

static const struct control_command *find(const struct control_commands *commands, const char *name)
{
    for (size_t i = 0; i < commands->count; i++) {
        const struct control_command *command = &commands->items[i];
        if (!strcmp(command->name, name) || (command->synonym && !strcmp(command->synonym, name)))
            return command;
    }
    return NULL;
}

/* Splits "rate 99" in place; the argument is "" where there is none. */
static char *split(char *request)
{
    char *space = strchr(request, ' ');
    if (!space)
        return request + strlen(request);
    *space = '\0';
    return space + 1;
}

int control_refuse_long(struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "a command has at most %d characters: give it in several",
                           CONTROL_REQUEST_MAX - 1);
}

bool control_parse_time(const char *text, uint64_t *nanoseconds)
{
    enum { DIGITS_MOST = 18 };
    const size_t digits = strspn(text, "0123456789");
    if (!digits || text[digits] || digits > DIGITS_MOST)
        return false;
    *nanoseconds = strtoull(text, NULL, 10);
    return *nanoseconds > 0;
}

int control_check(const struct control_commands *commands, const char *text,
                  struct sprof_error *error)
{
    char request[CONTROL_REQUEST_MAX];
    if (strlen(text) >= sizeof request)
        return control_refuse_long(error);
    strcpy(request, text);
    const char *argument = split(request);
    const struct control_command *command = find(commands, request);
    if (!command)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "unknown command `%s`; there are: %s",
                               request, commands->names);
    if (command->argument && !*argument && *command->argument != '[')
        return sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` needs %s", command->name,
                               command->argument);
    if (!command->argument && *argument)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` takes nothing more, but was given `%s`", command->name,
                               argument);
    return 0;
}

int control_carry_out(const struct control_commands *commands, void *context, char *request,
                      struct sprof_str *answer)
{
    struct sprof_error error = {0};
    int result = control_check(commands, request, &error);
    if (!result) {
        char *argument = split(request);
        result = find(commands, request)->run(context, argument, answer, &error);
    }
    if (result) {
        sprof_str_release(answer);
        sprof_str_append(answer, error.message);
    }
    return result;
}
