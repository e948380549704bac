/* Sets the arguments of a command from its command line. */
#include "cli/options.h"

#include "cli/foreign.h"

#include <ctype.h>
#include <string.h>

/* Where the parser stands. */
struct cursor {
    const struct cli_command *command;
    char **argv;
    int argc, next;
    void *arguments;
    uint64_t *given;
};

static const struct cli_option *find_long(const struct cli_command *command, const char *name,
                                          size_t length)
{
    for (const struct cli_option *option = command->options; option->name; option++)
        if (strlen(option->name) == length && !memcmp(option->name, name, length))
            return option;
    return NULL;
}

static const struct cli_option *find_short(const struct cli_command *command, char letter)
{
    for (const struct cli_option *option = command->options; option->name; option++)
        if (option->letter && option->letter == letter)
            return option;
    return NULL;
}

static int unknown_option(const struct cli_command *command, const char *word,
                          struct sprof_error *error)
{
    const char *foreign = cli_foreign_option(command->name, word);
    if (foreign)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "%s is no option of sprof %s: %s", word,
                               command->name, foreign);
    SPROF_VEC(const char *) names = {0};
    for (const struct cli_option *option = command->options; option->name; option++)
        if (sprof_vec_push(&names, option->name))
            break;
    int nearest = -1;
    const char *start = word + (word[1] == '-' ? 2 : 1);
    if (strlen(word) > 2 && !sprof_vec_push(&names, NULL)) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
        nearest = sprof_suggest_nearest(name, names.items);
    }
    if (nearest >= 0)
        sprof_error_set(error, SPROF_EUSAGE, 0, "unknown option %s: did you mean --%s?", word,
                        names.items[nearest]);
    else
        sprof_error_set(error, SPROF_EUSAGE, 0, "unknown option %s: see `sprof %s --help`", word,
                        command->name);
    sprof_vec_release(&names);
    return SPROF_EUSAGE;
}

/* Calls the option's setter; names the option in front of what the setter complains about. */
static int set_option(struct cursor *cursor, const struct cli_option *option, const char *word,
                      const char *value, struct sprof_error *error)
{
    struct sprof_error cause = {0};
    const size_t place = (size_t)(option - cursor->command->options);
    if (place < 128)
        cursor->given[place / 64] |= UINT64_C(1) << place % 64;
    void *field = (char *)cursor->arguments + option->offset;
    const int status = option->set(field, value, &cause);
    if (status)
        sprof_error_set(error, status, 0, "%s%s%.200s%s: %s", word, value ? " " : "",
                        value ? value : "", value && strlen(value) > 200 ? "…" : "", cause.message);
    return status;
}

/* Whether the option has a value only where that stands behind a "=". */
static bool has_no_next(const struct cli_option *option)
{
    return !strncmp(option->argument, "[=", 2);
}

/* The value that follows an option as an argument of its own; NULL where it need not have one. */
static int next_value(struct cursor *cursor, const struct cli_option *option, const char *word,
                      const char **value, struct sprof_error *error)
{
    if (has_no_next(option))
        return 0;
    if (cursor->next >= cursor->argc && option->argument[0] == '[')
        return 0;
    if (cursor->next >= cursor->argc)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "%s wants a value: %s %s (%s)", word, word,
                               option->argument, option->help);
    *value = cursor->argv[cursor->next++];
    return 0;
}

static int parse_long(struct cursor *cursor, const char *word, struct sprof_error *error)
{
    const size_t length = strcspn(word + 2, "=");
    const struct cli_option *option = find_long(cursor->command, word + 2, length);
    if (!option)
        return unknown_option(cursor->command, word, error);
    char name[64];
    snprintf(name, sizeof name, "--%s", option->name);
    const char *value = word[2 + length] ? word + 2 + length + 1 : NULL;
    if (!option->argument && value)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "%s takes no value: write it without `=%s`",
                               name, value);
    if (option->argument && !value) {
        const int status = next_value(cursor, option, name, &value, error);
        if (status)
            return status;
    }
    return set_option(cursor, option, name, value, error);
}

/* Go's tools write long options with one dash: -focus is not -f with the value "ocus". */
static bool is_long_with_one_dash(const struct cli_command *command, const char *word)
{
    const size_t length = strcspn(word + 1, "=");
    return length > 1 &&
           (cli_foreign_option(command->name, word) || find_long(command, word + 1, length));
}

static int parse_short(struct cursor *cursor, const char *word, struct sprof_error *error)
{
    if (is_long_with_one_dash(cursor->command, word))
        return unknown_option(cursor->command, word, error);
    for (const char *letter = word + 1; *letter; letter++) {
        const struct cli_option *option = find_short(cursor->command, *letter);
        if (!option)
            return unknown_option(cursor->command, word, error);
        const char name[] = {'-', *letter, '\0'};
        const char *value = NULL;
        int status = 0;
        if (option->argument && letter[1])
            value = letter + 1;
        else if (option->argument)
            status = next_value(cursor, option, name, &value, error);
        if (!status)
            status = set_option(cursor, option, name, value, error);
        if (status || option->argument)
            return status;
    }
    return 0;
}

static bool asks_for_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* One word that is not an operand. Returns 1 for a request for help. */
static int parse_word(struct cursor *cursor, const char *word, struct sprof_error *error)
{
    if (asks_for_help(word))
        return 1;
    return word[1] == '-' ? parse_long(cursor, word, error) : parse_short(cursor, word, error);
}

/* Are all words options of the command, one of them with a value? Their values are not judged. */
static bool are_options(const struct cli_command *command, char **words)
{
    bool has_value = false;
    for (; *words; words++) {
        const char *word = *words;
        const bool is_long = word[0] == '-' && word[1] == '-';
        const size_t length = is_long ? strcspn(word + 2, "=") : 0;
        const struct cli_option *option = is_long          ? find_long(command, word + 2, length)
                                          : word[0] == '-' ? find_short(command, word[1])
                                                           : NULL;
        const bool is_attached = is_long ? word[2 + length] : word[0] && word[1] && word[2];
        if (!option || (!option->argument && is_attached))
            return false;
        has_value |= option->argument != NULL;
        if (option->argument && !is_attached && !has_no_next(option) && !*++words)
            return false;
    }
    return has_value;
}

/* The first of sprof's options at the end of a command line; NULL: there are none. Behind other
 * words only what has a number counts: many programs have a -o FILE. */
static char *option_behind(const struct cli_command *command, char **words)
{
    for (char **at = words; *at; at++)
        if ((at == words || (at[1] && isdigit((unsigned char)*at[1]))) && are_options(command, at))
            return *at;
    return NULL;
}

static void take_rest(struct cursor *cursor, struct cli_operands *operands)
{
    while (cursor->next < cursor->argc)
        operands->items[operands->count++] = cursor->argv[cursor->next++];
}

int cli_exit_status(int code)
{
    switch (code) {
    case SPROF_EUSAGE: return 2;
    case SPROF_ENOEXEC: return 126;
    case SPROF_ENOCOMMAND: return 127;
    default: return 1;
    }
}

/* Whether all words behind an operand are operands; long options may stand there, too. */
static bool ends_options(const struct cli_command *command, const char *word, const char *next)
{
    bool ends = false;
    if (next && !strncmp(next, "--", 2))
        return false;
    for (size_t i = 0; i < sizeof command->rest_behind / sizeof *command->rest_behind; i++)
        ends |= command->rest_behind[i] && !strcmp(word, command->rest_behind[i]);
    return ends;
}

int cli_options_parse(const struct cli_command *command, int argc, char **argv, void *arguments,
                      struct cli_operands *operands, struct sprof_error *error)
{
    struct cursor cursor = {command, argv, argc, 0, arguments, operands->given};
    *operands = (struct cli_operands){.items = argv};
    while (cursor.next < argc) {
        char *word = argv[cursor.next];
        const bool is_operand = word[0] != '-' || !word[1];
        if (is_operand && command->command_follows) {
            operands->behind = option_behind(command, argv + cursor.next + 1);
            break;
        }
        cursor.next++;
        if (!strcmp(word, "--"))
            break;
        if (is_operand) {
            operands->items[operands->count++] = word;
            if (ends_options(command, word, argv[cursor.next]))
                break;
            continue;
        }
        const int status = parse_word(&cursor, word, error);
        if (status)
            return status;
    }
    take_rest(&cursor, operands);
    argv[operands->count] = NULL;
    if (!command->operands && operands->count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`sprof %s` takes no operand such as `%s`: see "
                               "`sprof %s --help`",
                               command->name, operands->items[0], command->name);
    return 0;
}
