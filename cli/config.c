/* Reads files of options for programs and modules. */
#include "cli/config.h"
#include "model/kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 1 << 20 };

enum section { SECTION_NONE, SECTION_PROGRAM, SECTION_MODULE };

struct reader {
    struct cli_config *config;
    const char *path, *program;
    const struct cli_command *command;
    const uint64_t *given;
    void *arguments, *scratch; /* of the command: for the program, and for sections of others */
    unsigned line;
    enum section section;
    bool is_ours;         /* the section is for the program */
    unsigned ours, first; /* lines of its section and of the first one of any program; 0: none */
    struct sprof_error *error;
};

static int refuse(const struct reader *reader, const char *what, const char *word,
                  const char *const *near)
{
    const int nearest = near ? sprof_suggest_nearest(word, near) : -1;
    return sprof_error_set(reader->error, SPROF_EUSAGE, 0, "%s:%u: %s `%.100s`%s%s%s", reader->path,
                           reader->line, what, word, nearest < 0 ? "" : ": did you mean `",
                           nearest < 0 ? "" : near[nearest], nearest < 0 ? "" : "`?");
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* == Sections == */

static int begin_program(struct reader *reader, const char *glob)
{
    reader->section = SECTION_PROGRAM;
    reader->is_ours = model_path_matches(glob, reader->program);
    reader->first = reader->first ? reader->first : reader->line;
    if (sprof_vec_push(&reader->config->programs, glob))
        return sprof_error_memory(reader->error);
    if (reader->is_ours && reader->ours)
        return sprof_error_set(reader->error, SPROF_EUSAGE, 0,
                               "%s:%u: [program %.100s] is a second section for %.200s: the first "
                               "is in line %u",
                               reader->path, reader->line, glob, reader->program, reader->ours);
    reader->ours = reader->is_ours ? reader->line : reader->ours;
    return 0;
}

static int begin_section(struct reader *reader, char *text)
{
    static const char *const kinds[] = {"program", "module", NULL};
    const size_t length = strlen(text);
    if (text[length - 1] != ']')
        return refuse(reader, "no `]` ends the section", text, NULL);
    text[length - 1] = '\0';
    char *word = trim(text + 1);
    char *glob = word + strcspn(word, " \t");
    if (*glob)
        *glob++ = '\0';
    glob = trim(glob);
    const bool is_program = !strcmp(word, "program");
    if (!is_program && strcmp(word, "module") != 0)
        return refuse(reader, "unknown section", word, kinds);
    if (!*glob)
        return refuse(reader, "a name or pattern is missing behind", word, NULL);
    if (is_program)
        return begin_program(reader, glob);
    const struct trace_module_rule rule = {.glob = glob};
    reader->section = SECTION_MODULE;
    return sprof_vec_push(&reader->config->modules, rule) ? sprof_error_memory(reader->error) : 0;
}

/* == Lines of a section == */

static int set_probes(struct reader *reader, const char *name, const char *value)
{
    static const char *const names[] = {"probes", NULL};
    static const char *const whens[] = {[TRACE_MODULE_START] = "start",
                                        [TRACE_MODULE_DEMAND] = "demand",
                                        [TRACE_MODULE_NEVER] = "never",
                                        NULL};
    struct trace_module_rule *rule =
        &reader->config->modules.items[reader->config->modules.count - 1];
    if (strcmp(name, "probes") != 0)
        return refuse(reader, "unknown word of a module", name, names);
    for (int i = 0; value && whens[i]; i++)
        if (!strcmp(value, whens[i])) {
            rule->when = (enum trace_module_when)i;
            return 0;
        }
    return refuse(reader, "probes are `start`, `demand` or `never`, not", value ? value : "",
                  value ? whens : NULL);
}

static int refuse_option(const struct reader *reader, const char *name)
{
    SPROF_VEC(const char *) names = {0};
    for (const struct cli_option *option = reader->command->options; option->name; option++)
        if (option->help && sprof_vec_push(&names, option->name))
            break;
    const bool is_all = !sprof_vec_push(&names, NULL);
    const int code = refuse(reader, "unknown option", name, is_all ? names.items : NULL);
    sprof_vec_release(&names);
    return code;
}

/* Options that say which program it is, or which file. */
static bool is_outside(const char *name)
{
    return !strcmp(name, "pid") || !strcmp(name, "config");
}

static int set_option(struct reader *reader, const char *name, const char *value)
{
    const struct cli_option *option = reader->command->options;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    if (!option->name || is_outside(name))
        return refuse_option(reader, name);
    const size_t place = (size_t)(option - reader->command->options);
    if (option->argument && option->argument[0] != '[' && !value)
        return refuse(reader, "a value is missing: write `= …` behind", name, NULL);
    if (!option->argument && value)
        return refuse(reader, "no value belongs to", name, NULL);
    if (reader->is_ours && place < 128 && reader->given[place / 64] >> place % 64 & 1)
        return 0;
    struct sprof_error cause = {0};
    char *arguments = reader->is_ours ? reader->arguments : reader->scratch;
    const int result = option->set(arguments + option->offset, value, &cause);
    return result
               ? sprof_error_set(reader->error, result, 0, "%s:%u: %s = %.100s: %s", reader->path,
                                 reader->line, name, value ? value : "", cause.message)
               : 0;
}

static int read_line(struct reader *reader, char *line)
{
    line = trim(line);
    if (!*line || *line == '#' || *line == ';')
        return 0;
    if (*line == '[')
        return begin_section(reader, line);
    char *equals = strchr(line, '='), *value = NULL;
    if (equals) {
        *equals = '\0';
        value = trim(equals + 1);
    }
    const char *name = trim(line);
    if (reader->section == SECTION_NONE)
        return refuse(reader, "a section, as [program NAME], must come before", name, NULL);
    return reader->section == SECTION_MODULE ? set_probes(reader, name, value)
                                             : set_option(reader, name, value);
}

/* == Files == */

static int read_text(struct cli_config *config, const char *path, struct sprof_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", path,
                               strerror(errno));
    config->text = malloc(BYTES_MOST + 1);
    const size_t got = config->text ? fread(config->text, 1, BYTES_MOST + 1, file) : 0;
    const bool failed = ferror(file);
    const int errnum = errno;
    fclose(file);
    if (!config->text)
        return sprof_error_memory(error);
    if (failed)
        return sprof_error_set(error, SPROF_EIO, errnum, "cannot read %s: %s", path,
                               strerror(errnum));
    if (got > BYTES_MOST || memchr(config->text, '\0', got))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is no file of options: it has zero bytes, or more than %d", path,
                               BYTES_MOST);
    config->text[got] = '\0';
    return 0;
}

static int read_lines(struct reader *reader)
{
    int result = 0;
    for (char *line = reader->config->text, *next; line && !result; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = '\0';
        reader->line++;
        result = read_line(reader, line);
    }
    return result;
}

static int read_file(struct reader *reader)
{
    const struct cli_command *command = reader->command;
    reader->scratch = calloc(1, command->arguments_size);
    int result = reader->scratch ? read_text(reader->config, reader->path, reader->error)
                                 : sprof_error_memory(reader->error);
    if (!result)
        result = read_lines(reader);
    if (reader->scratch && command->release)
        command->release(reader->scratch);
    free(reader->scratch);
    return result;
}

static int refuse_program(const struct reader *reader)
{
    struct sprof_str programs = {0};
    for (size_t i = 0; i < reader->config->programs.count; i++)
        sprof_str_appendf(&programs, "%s%.100s", i ? ", " : "", reader->config->programs.items[i]);
    const int code =
        sprof_error_set(reader->error, SPROF_EUSAGE, 0,
                        "%s has no section for %.200s: there are [program] sections for %.200s",
                        reader->path, reader->program, programs.failed ? "others" : programs.text);
    sprof_str_release(&programs);
    return code;
}

int cli_config_read(struct cli_config *config, const char *path, const char *program,
                    const struct cli_command *command, const uint64_t given[2], void *arguments,
                    struct sprof_error *error)
{
    struct reader reader = {.config = config,
                            .path = path,
                            .program = program,
                            .command = command,
                            .given = given,
                            .arguments = arguments,
                            .error = error};
    const int result = read_file(&reader);
    return !result && reader.first && !reader.ours ? refuse_program(&reader) : result;
}

int cli_config_check(struct cli_config *config, const char *path, const struct cli_command *command,
                     struct sprof_error *error)
{
    static const uint64_t none[2];
    struct reader reader = {.config = config,
                            .path = path,
                            .program = "",
                            .command = command,
                            .given = none,
                            .error = error};
    /* A pattern for all programs chooses the nameless one, too: its options go nowhere. */
    reader.arguments = calloc(1, command->arguments_size);
    int result = reader.arguments ? read_file(&reader) : sprof_error_memory(error);
    if (reader.arguments && command->release)
        command->release(reader.arguments);
    free(reader.arguments);
    if (!result && !config->programs.count)
        result = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "%s names no program: write a section, as [program NAME]", path);
    return result;
}

bool cli_config_has(const struct cli_config *config, const char *program)
{
    for (size_t i = 0; i < config->programs.count; i++)
        if (model_path_matches(config->programs.items[i], program))
            return true;
    return false;
}

void cli_config_release(struct cli_config *config)
{
    free(config->text);
    config->text = NULL;
    sprof_vec_release(&config->modules);
    sprof_vec_release(&config->programs);
}
