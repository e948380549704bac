/* sprof completion: prints what a shell needs to complete sprof's command lines, made from the
 * tables of options that the parser and the help read. */
#include "cli/commands.h"

#include <string.h>

struct arguments {
    char unused;
};

static const struct cli_option options[] = {{0}};

/* The columns of the tables that sprof report shows most. */
#define REPORT_COLUMNS                                                                             \
    "exclusive_percent|exclusive_interval|exclusive_seconds|exclusive_samples|exclusive_weight|"   \
    "inclusive_percent|inclusive_interval|inclusive_seconds|inclusive_samples|inclusive_weight|"   \
    "function|module|file|line|address|thread|tid|process|pid|host|run|cpu|event|phase|mark|kind|" \
    "path|place|at|depth|build_id|mode|short_command|command|user|cgroup|container|role"

/* What a shell can offer for a value, by how the help writes it. */
enum value_kind { VALUE_NONE, VALUE_OTHER, VALUE_WORDS, VALUE_FILE, VALUE_PID };

static enum value_kind kind_of(const char *argument)
{
    if (!argument || !strncmp(argument, "[=", 2)) /* shells offer the option alone */
        return VALUE_NONE;
    if (strstr(argument, "PID"))
        return VALUE_PID;
    if (strstr(argument, "FILE") || strstr(argument, ".db") || strstr(argument, "DIR"))
        return VALUE_FILE;
    const bool words = strchr(argument, '|') && !strpbrk(argument, " ,[]…");
    return words || !strcmp(argument, "app") ? VALUE_WORDS : VALUE_OTHER;
}

#define CALL_COLUMNS                                                                               \
    "self|self-percent|outside|total|total-percent|calls|average|self-average|min|p50|p90|p99|"    \
    "p999|max|"                                                                                    \
    "open|abnormal|tails|tail-cuts|recursive|counted|uncertain|untimed|address|probe|mechanism|"   \
    "pid|process|tid|thread|module|caller|function|stack-bytes|heap-self|heap-total|"              \
    "allocations"

/* What an option takes where its argument stands for the words instead of being them. */
static const struct {
    const char *command, *option, *values;
} known_values[] = {
    {"report", "by",
     "run|host|process|command|user|cgroup|container|thread|cpu|event|state|wait|lock|holder|"
     "phase|module|function|file|line|address"},
    {"diff", "by",
     "function|module|path|line|process|command|user|cgroup|container|thread|cpu|state|wait|lock|"
     "holder|phase"},
    {"export", "by",
     "process|command|user|cgroup|container|thread|cpu|event|state|wait|lock|holder|phase"},
    {"export", "without", "user|cgroup|container"},
    {"push", "without", "user|cgroup|container"},
    {"record", "without", "user|cgroup|container"},
    {"report", "sort", REPORT_COLUMNS},
    {"report", "show", REPORT_COLUMNS},
    {"stats", "sort", CALL_COLUMNS},
    {"stats", "show", CALL_COLUMNS},
};

/* "a|b|c", or NULL where nothing is known about the value. */
static const char *values_of(const struct cli_command *command, const struct cli_option *option)
{
    for (size_t i = 0; i < sizeof known_values / sizeof *known_values; i++)
        if (!strcmp(known_values[i].command, command->name) &&
            !strcmp(known_values[i].option, option->name))
            return known_values[i].values;
    return kind_of(option->argument) == VALUE_WORDS ? option->argument : NULL;
}

/* Several values can follow each other with commas. */
static bool is_list(const struct cli_option *option)
{
    return option->argument && strchr(option->argument, ',');
}

/* Prints `text` for between single quotes of the shell; other characters of `drop` are left out. */
static void print_quoted(FILE *out, const char *text, const char *drop)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else if (!strchr(drop, *text))
            fputc(*text, out);
}

/* "a|b|c" as "a b c"; words that stand for something ("HZ") are left out. */
static void print_words(FILE *out, const char *argument)
{
    bool first = true;
    while (*argument) {
        const size_t length = strcspn(argument, "|");
        if (argument[0] < 'A' || argument[0] > 'Z') {
            fprintf(out, "%s%.*s", first ? "" : " ", (int)length, argument);
            first = false;
        }
        argument += length + (argument[length] == '|');
    }
}

/* The first words of operands such as "start [T]|stop|mode MODE"; nothing for other operands. */
static void print_operand_words(FILE *out, const struct cli_command *command)
{
    const char *at = command->operands ? command->operands : "";
    for (bool first = true; strchr(command->operands ? command->operands : "", '|') && *at;
         first = false) {
        fprintf(out, "%s%.*s", first ? "" : " ", (int)strcspn(at, " |"), at);
        at += strcspn(at, "|");
        at += *at == '|';
    }
}

static bool has_operand_words(const struct cli_command *command)
{
    return command->operands && strchr(command->operands, '|');
}

/* The modes that `sprof ctl mode` takes are those of `sprof record --mode`. */
static void print_modes(FILE *out)
{
    for (const struct cli_option *option = cli_record_command.options; option->name; option++)
        if (!strcmp(option->name, "mode"))
            print_words(out, option->argument);
}

static bool takes_file(const struct cli_command *command)
{
    return command->operands && kind_of(command->operands) == VALUE_FILE;
}

/* == bash == */

static void bash_values(FILE *out, const struct cli_command *command)
{
    for (const struct cli_option *option = command->options; option->name; option++) {
        const enum value_kind kind = kind_of(option->argument);
        const char *values = values_of(command, option);
        if (kind == VALUE_NONE)
            continue;
        fprintf(out, "        %s:--%s", command->name, option->name);
        if (option->letter)
            fprintf(out, "|%s:-%c", command->name, option->letter);
        fputs(") ", out);
        if (values) {
            fputs(is_list(option) ? "_sprof_list \"$word\" '" : "COMPREPLY=($(compgen -W '", out);
            print_words(out, values);
            fputs(is_list(option) ? "'" : "' -- \"$word\"))", out);
        } else if (kind == VALUE_FILE) {
            fputs("compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))", out);
        } else if (kind == VALUE_PID) {
            fputs("COMPREPLY=($(cd /proc && compgen -W \"$(echo [0-9]*)\" -- \"$word\"))", out);
        } else {
            fputs("COMPREPLY=()", out);
        }
        fputs("; return ;;\n", out);
    }
}

static void bash_names(FILE *out, const struct cli_command *command)
{
    fprintf(out, "        %s) names='--help", command->name);
    for (const struct cli_option *option = command->options; option->name; option++)
        if (option->help)
            fprintf(out, " --%s", option->name);
    fputs("' operands='", out);
    print_operand_words(out, command);
    fputs("' ;;\n", out);
}

static void print_bash(FILE *out)
{
    fputs("# bash completion for sprof; put it into ~/.bashrc as: source <(sprof completion bash)\n"
          "_sprof_list() { # WORD WORDS: what can follow the last comma\n"
          "    local before=\n"
          "    [[ $1 == *,* ]] && before=${1%,*},\n"
          "    COMPREPLY=($(compgen -P \"$before\" -W \"$2\" -- \"${1##*,}\"))\n}\n"
          "_sprof() {\n"
          "    local word=$2 before=$3 command=${COMP_WORDS[1]} names= operands= i\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '--help --version",
          out);
    for (size_t i = 0; i < cli_command_count; i++)
        fprintf(out, " %s", cli_commands[i]->name);
    fputs("' -- \"$word\"))\n        return\n    fi\n"
          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
          "            COMPREPLY=($(compgen -c -- \"$word\"; compgen -f -- \"$word\"))\n"
          "            return\n        fi\n    done\n"
          "    case $command:$before in\n",
          out);
    for (size_t i = 0; i < cli_command_count; i++)
        bash_values(out, cli_commands[i]);
    fputs("        ctl:mode) COMPREPLY=($(compgen -W '", out);
    print_modes(out);
    fputs("' -- \"$word\")); return ;;\n    esac\n    case $command in\n", out);
    for (size_t i = 0; i < cli_command_count; i++)
        bash_names(out, cli_commands[i]);
    fputs("    esac\n"
          "    if [ \"${word:0:1}\" = - ]; then\n"
          "        COMPREPLY=($(compgen -W \"$names\" -- \"$word\"))\n"
          "    elif [ \"$operands\" ]; then\n"
          "        [[ \" $operands \" == *\" $before \"* ]] ||\n"
          "            COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
          "    else\n"
          "        compopt -o filenames\n"
          "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "    fi\n}\ncomplete -F _sprof sprof\n",
          out);
}

/* == zsh == */

static void zsh_option(FILE *out, const struct cli_command *command,
                       const struct cli_option *option)
{
    const enum value_kind kind = kind_of(option->argument);
    const char *values = values_of(command, option);
    if (option->letter)
        fprintf(out, "        '(-%c --%s)'{-%c,--%s}'", option->letter, option->name,
                option->letter, option->name);
    else
        fprintf(out, "        '--%s", option->name);
    fputc('[', out);
    print_quoted(out, option->help, "[]:");
    fputc(']', out);
    if (kind != VALUE_NONE) {
        fputc(':', out);
        print_quoted(out, option->argument, "[]:");
        fputs(kind == VALUE_FILE ? ":_files" : kind == VALUE_PID ? ":_pids" : ":", out);
    }
    if (values) {
        fputs(is_list(option) ? "_values -s , value " : "(", out);
        print_words(out, values);
        fputs(is_list(option) ? "" : ")", out);
    }
    fputs("' \\\n", out);
}

static void print_zsh(FILE *out)
{
    fputs(
        "#compdef sprof\n# zsh completion for sprof; put it into a directory of $fpath as _sprof\n"
        "_sprof() {\n    local -a commands\n    commands=(\n",
        out);
    for (size_t i = 0; i < cli_command_count; i++) {
        fprintf(out, "        '%s:", cli_commands[i]->name);
        print_quoted(out, cli_commands[i]->summary, ":");
        fputs("'\n", out);
    }
    fputs(
        "    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n"
        "    fi\n    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
        "    case $command in\n",
        out);
    for (size_t i = 0; i < cli_command_count; i++) {
        const struct cli_command *command = cli_commands[i];
        fprintf(out, "    %s) _arguments -s \\\n", command->name);
        for (const struct cli_option *option = command->options; option->name; option++)
            if (option->help)
                zsh_option(out, command, option);
        fputs("        '(-h --help)'{-h,--help}'[print the help]' \\\n", out);
        if (has_operand_words(command)) {
            fputs("        '1:what:(", out);
            print_operand_words(out, command);
            fputs(")' '*:value:{ [[ $words[CURRENT-1] == mode ]] && compadd ", out);
            print_modes(out);
            fputs(" }' ;;\n", out);
            continue;
        }
        fputs(command->command_follows
                  ? "        '(-)1:command:_command_names' '*::arguments:_normal' ;;\n"
              : takes_file(command) ? "        '*:file:_files' ;;\n"
                                    : "        '*:operand:' ;;\n",
              out);
    }
    fputs("    esac\n}\n_sprof \"$@\"\n", out);
}

/* == fish == */

static void fish_option(FILE *out, const struct cli_command *command,
                        const struct cli_option *option)
{
    const enum value_kind kind = kind_of(option->argument);
    const char *values = values_of(command, option);
    fprintf(out, "complete -c sprof -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (kind == VALUE_FILE)
        fputs(" -r -F", out);
    else if (kind == VALUE_PID)
        fputs(" -x -a '(__fish_complete_pids)'", out);
    else if (kind != VALUE_NONE)
        fputs(" -x", out);
    if (values) {
        fputs(is_list(option) ? " -a '(__fish_append , " : " -a '", out);
        print_words(out, values);
        fputs(is_list(option) ? ")'" : "'", out);
    }
    fputs(" -d '", out);
    print_quoted(out, option->help, "\\");
    fputs("'\n", out);
}

static void fish_operands(FILE *out, const struct cli_command *command)
{
    fprintf(out,
            "complete -c sprof -f -n '__fish_seen_subcommand_from %s; and not "
            "__fish_seen_subcommand_from ",
            command->name);
    print_operand_words(out, command);
    fputs("' -a '", out);
    print_operand_words(out, command);
    fputs("'\n", out);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion for sprof; put it into ~/.config/fish/completions/sprof.fish\n", out);
    for (size_t i = 0; i < cli_command_count; i++) {
        const struct cli_command *command = cli_commands[i];
        fprintf(out, "complete -c sprof -f -n __fish_use_subcommand -a %s -d '", command->name);
        print_quoted(out, command->summary, "\\");
        fputs("'\n", out);
        for (const struct cli_option *option = command->options; option->name; option++)
            if (option->help)
                fish_option(out, command, option);
        if (command->command_follows)
            fprintf(out,
                    "complete -c sprof -n '__fish_seen_subcommand_from %s' -a "
                    "'(__fish_complete_subcommand)'\n",
                    command->name);
        if (has_operand_words(command))
            fish_operands(out, command);
    }
    fputs("complete -c sprof -f -n '__fish_seen_subcommand_from ctl; and "
          "__fish_seen_subcommand_from mode' -a '",
          out);
    print_modes(out);
    fputs("'\n", out);
}

static int run_completion(struct cli_terminal *terminal, void *unused,
                          const struct cli_operands *operands, struct sprof_error *error)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    (void)terminal, (void)unused;
    for (size_t i = 0; operands->count == 1 && i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(operands->items[0], shells[i].shell)) {
            shells[i].print(stdout);
            return 0;
        }
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "for which shell? `sprof completion bash`, `zsh` or `fish`");
}

const struct cli_command cli_completion_command = {
    .name = "completion",
    .summary = "Print what bash, zsh or fish need to complete sprof's command lines",
    .operands = "bash|zsh|fish",
    .options = options,
    .details = "bash:  source <(sprof completion bash)      in ~/.bashrc\n"
               "zsh:   sprof completion zsh > DIRECTORY/_sprof, in a directory of $fpath\n"
               "fish:  sprof completion fish > ~/.config/fish/completions/sprof.fish\n",
    .arguments_size = sizeof(struct arguments),
    .run = run_completion,
};
