/* Shortens command lines to what distinguishes them: which of forty `cc1plus` was it? */
#include "report/command_text.h"

#include <string.h>

/* What the command lines of one program begin with, from its first argument on. */
struct report_command_start {
    const char *arguments;
    size_t common; /* bytes, up to the blank before the first word that differs */
    bool differs;
};

/* The end of the first word; a quoted one may hold blanks. */
static const char *end_of_program(const char *command)
{
    const char quote = *command == '\'' || *command == '"' ? *command : ' ';
    const char *end = strchr(command + (quote != ' '), quote);
    return end ? end + (quote != ' ') : command + strlen(command);
}

/* The last part of the program's path, without its quotes. */
static struct sprof_bytes program_of(const char *command, const char *end)
{
    const bool quoted = *command == '\'' || *command == '"';
    const char *at = end - (quoted && end > command + 1);
    struct sprof_bytes program = {.size = 0};
    while (at > command + quoted && at[-1] != '/') {
        at--;
        program.size++;
    }
    program.data = (const void *)at;
    return program;
}

static uint64_t hash_of(const char *command, const char *end)
{
    const struct sprof_bytes program = program_of(command, end);
    return sprof_hash_bytes(program.data, program.size);
}

int report_commands_add(struct report_commands *commands, const char *command)
{
    if (!command)
        return 0;
    const char *arguments = end_of_program(command);
    uint64_t *at = sprof_map_at(&commands->by_program, hash_of(command, arguments));
    if (!at)
        return SPROF_ENOMEM;
    if (!*at) {
        const struct report_command_start start = {arguments, strlen(arguments), false};
        if (sprof_vec_push(&commands->starts, start))
            return SPROF_ENOMEM;
        *at = commands->starts.count;
        return 0;
    }
    struct report_command_start *start = &commands->starts.items[*at - 1];
    if (!strcmp(start->arguments, arguments))
        return 0;
    size_t length = 0, word = 0;
    for (; length < start->common && arguments[length] == start->arguments[length]; length++)
        if (arguments[length] == ' ')
            word = length;
    const bool ends = !arguments[length] || arguments[length] == ' ';
    const bool both = ends && (!start->arguments[length] || start->arguments[length] == ' ');
    start->common = both ? length : word;
    start->differs = true;
    return 0;
}

int report_commands_short(const struct report_commands *commands, const char *command,
                          struct sprof_str *out)
{
    if (!command)
        return sprof_str_append(out, "");
    const char *arguments = end_of_program(command);
    const struct sprof_bytes program = program_of(command, arguments);
    const uint64_t *number = sprof_map_get(&commands->by_program, hash_of(command, arguments));
    const struct report_command_start *start = number ? &commands->starts.items[*number - 1] : NULL;
    const size_t common = start && start->differs ? start->common : 0;
    if (sprof_str_append_bytes(out, (const char *)program.data, program.size))
        return SPROF_ENOMEM;
    if (common && sprof_str_append(out, " …"))
        return SPROF_ENOMEM;
    return sprof_str_append(out, arguments + common);
}

void report_commands_release(struct report_commands *commands)
{
    sprof_vec_release(&commands->starts);
    sprof_map_release(&commands->by_program);
}
